//! HTTP/2, by hyper.
use crate::connection::{Peer, Registered};
use crate::stream::Stream;
use bytes::BytesMut;
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub(crate) async fn serve(_place: Registered, _stream: Stream, _peer: Peer, _input: BytesMut) {}
