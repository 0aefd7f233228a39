//! The end of a connection.

use bytes::BytesMut;

use super::Connection;
use crate::parting::{AT_THE_DOOR, read_on};

impl Connection {
    /// Ends a connection after its last reply. Where nothing has come that was not read, closing is enough.
    pub(super) async fn close(&mut self) {
        if !self.ended && !self.input.is_empty() {
            self.linger().await;
        }
    }

    /// Ends a connection whose client may still be sending.
    pub(super) async fn linger(&mut self) {
        self.input = BytesMut::new();
        if self.stream.shut_down_writing().is_err() {
            return;
        }
        let parting = if self.place.has_place() { self.place.shared.limits().parting } else { AT_THE_DOOR };
        read_on(&self.place, parting, |context, buffer| self.stream.poll_drain(context, buffer)).await;
    }
}
