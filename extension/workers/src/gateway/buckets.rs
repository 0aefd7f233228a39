//! Buckets of lines on their way to the executors of their lane.
//!
//! A bucket that finds no room in the exchange waits here, and its stream reads no more meanwhile. The order is fair to
//! connections: those of a flood let the few lines of others pass. Those of each listener have executors of their own, so that
//! none waits for what another's trigger does. Buckets get a part of the exchange's memory, so that requests find room
//! beside them.

use ::gateway::{FairQueue, Poured, Server};
use exchange::Full;

use super::bucket_answers::too_large;
use super::flights::Flights;

/// Buckets for which the exchange had no room.
#[derive(Default)]
pub(crate) struct Buckets {
    waiting: FairQueue<Poured>,
}

impl Buckets {
    /// Whether any waits.
    pub(super) fn any(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes in what the event loop has brought, and sends what there is room for.
    pub(super) fn send(&mut self, flights: &mut Flights, server: &mut Server) {
        for poured in server.poured() {
            // Each connection has the same share.
            self.waiting.push(poured.source.stream, poured.bytes() / poured.source.connections, poured);
        }
        // Where the bucket of one listener finds no room, that of another may.
        let mut stuck = Vec::new();
        loop {
            let may_go =
                |poured: &Poured| !stuck.contains(&poured.source.listener) && flights.has_line_share(poured);
            let Some((turn, poured)) = self.waiting.first(may_go) else { return };
            match flights.submit_bucket(poured) {
                Ok(()) => {}
                Err(Full::Slots | Full::Blocks) => {
                    stuck.push(poured.source.listener);
                    continue;
                }
                Err(Full::TooLarge) => {
                    server.reply(poured.ticket, too_large());
                }
            }
            self.waiting.take(turn);
        }
    }

    /// Drops the buckets of streams that have ended: they need not be written.
    pub(crate) fn forget_gone(&mut self, server: &Server) {
        self.waiting.retain(|poured| server.waits(poured.ticket));
    }
}
