//! The end of a connection.
//!
//! A socket that is closed while bytes wait in it sends a reset, and a reset can overtake the answer in the
//! client. So the server says that it sends no more, and reads on for a little while (RFC 9112, 9.6).

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use super::Connection;
use crate::places::WaitsFor;

/// How long a client that is sending may go on before it is cut off.
const TIME: Duration = Duration::from_secs(2);
/// How much it may send meanwhile.
const BYTES: usize = 1 << 20;

impl Connection {
    /// Ends a connection after its last reply. Where nothing has come that was not read, closing is enough.
    pub(super) async fn close(&mut self) {
        if !self.ended && !self.input.is_empty() {
            self.linger().await;
        }
    }

    /// Ends a connection whose client may still be sending.
    pub(super) async fn linger(&mut self) {
        self.input.clear();
        if self.stream.shut_down_writing().is_err() {
            return;
        }
        self.place.wait(WaitsFor::Reader);
        self.place.set_deadline(self.place.shared.clock.after(TIME));
        let mut left = BYTES;
        let shared = self.place.shared.clone();
        poll_fn(|context| {
            if self.place.link.is_aborted() || self.place.link.take_expired() {
                return Poll::Ready(());
            }
            shared.with_read_buffer(|buffer| {
                while left > 0 {
                    match self.poll_drain(context, buffer) {
                        Poll::Pending => return Poll::Pending,
                        Poll::Ready(None) => return Poll::Ready(()),
                        Poll::Ready(Some(read)) => left = left.saturating_sub(read),
                    }
                }
                Poll::Ready(())
            })
        })
        .await;
    }
}
