//! Finds peers that have vanished without a word: whoever says nothing for a time is sent a ping.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use h2::{Ping, PingPong};
use tokio::time::{Instant, Sleep, sleep};

use super::socket::Heard;
use crate::limits::Limits;
use crate::shared::Shared;

pub(super) struct KeepAlive {
    pings: Option<PingPong>,
    shared: Rc<Shared>,
    /// How long a peer may say nothing.
    silence: Duration,
    /// How long it may take for its answer to a ping.
    patience: Duration,
    /// A ping has been sent and not been answered.
    is_asked: bool,
    timer: Pin<Box<Sleep>>,
}

impl KeepAlive {
    pub(super) fn new(pings: Option<PingPong>, limits: &Limits, shared: Rc<Shared>) -> Self {
        let silence = limits.idle_timeout / 2;
        let timer = Box::pin(sleep(silence));
        Self { pings, shared, silence, patience: limits.write_timeout, is_asked: false, timer }
    }

    /// Ready when the peer has not answered.
    pub(super) fn poll(&mut self, context: &mut Context<'_>, heard: &Heard) -> Poll<()> {
        let Some(pings) = &mut self.pings else { return Poll::Pending };
        loop {
            if self.is_asked && pings.poll_pong(context).is_ready() {
                self.is_asked = false;
                self.timer.as_mut().reset(Instant::now() + self.silence);
            }
            ready!(self.timer.as_mut().poll(context));
            if self.is_asked {
                return Poll::Ready(());
            }
            let quiet = Duration::from_millis(self.shared.clock.now().saturating_sub(heard.last()));
            let next = match self.silence.checked_sub(quiet) {
                Some(left) if !left.is_zero() => left,
                _ => {
                    self.is_asked = pings.send_ping(Ping::opaque()).is_ok();
                    self.patience
                }
            };
            self.timer.as_mut().reset(Instant::now() + next);
        }
    }
}
