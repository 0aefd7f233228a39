//! The body that belongs to a head.

use std::future::poll_fn;
use std::task::{Context, Poll};

use bytes::Buf;

use ::http1::{CONTINUE, Chunked, Framing, Limits, Reject};

use super::Connection;
use super::input::{READ, Started};
use crate::bodies::Charge;
use crate::clock::Millis;
use crate::places::WaitsFor;

/// Why there is no body.
pub(super) enum Ending {
    /// It is answered with an error.
    Reject(Reject),
    /// The client has gone.
    Gone,
}

/// How far a body has come.
struct Progress {
    coding: Coding,
    limits: Limits,
    charge: Charge,
    begun: Millis,
    /// Where the body begins in the message.
    start: usize,
}

enum Coding {
    /// So many bytes are to come.
    Length(u64),
    Chunked(Chunked),
}

impl Coding {
    /// Bytes that are read at once: what follows the body is kept until it has been answered.
    fn room(&self) -> usize {
        match self {
            Self::Length(left) => usize::try_from(*left).unwrap_or(usize::MAX).saturating_add(READ),
            Self::Chunked(_) => READ,
        }
    }

    fn is_done(&self) -> bool {
        match self {
            Self::Length(left) => *left == 0,
            Self::Chunked(chunked) => chunked.is_done(),
        }
    }
}

impl Progress {
    /// Appends what of the bytes belongs to the body, and gives how many do.
    fn feed(&mut self, bytes: &[u8], message: &mut Vec<u8>) -> Result<usize, Reject> {
        let used = match &mut self.coding {
            Coding::Length(left) => {
                let used = bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= used as u64;
                message.extend_from_slice(&bytes[..used]);
                used
            }
            Coding::Chunked(chunked) => chunked.decode(bytes, message, &self.limits)?,
        };
        self.charge.grow_to(message.len() - self.start, self.coding.is_done())?;
        Ok(used)
    }
}

impl Connection {
    /// Reads the body into the message, and gives what it holds of the memory for bodies.
    pub(super) async fn read_body(&mut self, started: &mut Started) -> Result<Option<Charge>, Ending> {
        let coding = match started.framing {
            Framing::Length(0) => return Ok(None),
            Framing::Length(length) => Coding::Length(length),
            Framing::Chunked => Coding::Chunked(Chunked::default()),
        };
        let shared = self.place.shared.clone();
        let mut progress = Progress {
            coding,
            limits: shared.limits().sizes(),
            charge: Charge::new(&shared),
            begun: shared.clock.now(),
            start: started.message.len(),
        };
        let mut input = std::mem::take(&mut self.input);
        let used = progress.feed(&input, &mut started.message).map_err(Ending::Reject)?;
        input.advance(used);
        if !input.is_empty() {
            self.input = input;
        } else if used == 0 && started.expects_continue {
            self.write_all(CONTINUE).await.map_err(|_| Ending::Gone)?;
        }
        self.set_body_deadline(&progress, started);
        if !progress.coding.is_done() {
            self.place.wait(WaitsFor::RestOfRequest);
            poll_fn(|context| self.poll_body(context, &mut progress, &mut started.message)).await?;
        }
        Ok(Some(progress.charge))
    }

    fn poll_body(
        &mut self,
        context: &mut Context<'_>,
        progress: &mut Progress,
        message: &mut Vec<u8>,
    ) -> Poll<Result<(), Ending>> {
        if self.place.link.is_aborted() {
            return Poll::Ready(Err(Ending::Gone));
        }
        let shared = self.place.shared.clone();
        shared.with_read_buffer(|buffer| {
            loop {
                if let Err(reject) = progress.charge.poll(context) {
                    return Poll::Ready(Err(Ending::Reject(reject)));
                }
                if self.place.link.take_expired() {
                    let late = self.body_deadline(progress, message.len()) <= shared.clock.now();
                    if late {
                        let reject = Reject::new(408, "the body of the request took too long");
                        return Poll::Ready(Err(Ending::Reject(reject)));
                    }
                }
                let room = progress.coding.room().min(buffer.len());
                let read = match self.poll_read(context, &mut buffer[..room]) {
                    Poll::Pending => {
                        self.place.set_deadline(self.body_deadline(progress, message.len()));
                        return Poll::Pending;
                    }
                    Poll::Ready(None) => return Poll::Ready(Err(Ending::Gone)),
                    Poll::Ready(Some(read)) => read,
                };
                let used = match progress.feed(&buffer[..read], message) {
                    Ok(used) => used,
                    Err(reject) => return Poll::Ready(Err(Ending::Reject(reject))),
                };
                if progress.coding.is_done() {
                    self.input.extend_from_slice(&buffer[used..read]);
                    return Poll::Ready(Ok(()));
                }
            }
        })
    }

    fn set_body_deadline(&self, progress: &Progress, started: &Started) {
        self.place.set_deadline(self.body_deadline(progress, started.message.len()));
    }

    /// When the body is late: after the time for all of it, or when it comes more slowly than it may.
    fn body_deadline(&self, progress: &Progress, message: usize) -> Millis {
        let time = self.place.shared.limits().body_time(message - progress.start);
        progress.begun.saturating_add(time.as_millis() as Millis)
    }
}
