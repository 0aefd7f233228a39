//! Hand-off of requests between processes through fixed shared memory.
//!
//! A [`Gateway`] submits requests and takes completions; an [`Executor`] takes requests and responds. Nothing
//! here knows PostgreSQL, HTTP or threads. README.md beside this crate tells states, transitions, invariants
//! and what each death leaves.
//!
//! | module | subject |
//! | --- | --- |
//! | `layout` | sizes, and where everything lies in the region |
//! | `region` | the [`Exchange`]: formatting, attaching, statistics |
//! | `slot` | a request in flight: phases, generation, [`Ticket`] |
//! | `arena` | messages in inline areas and chains of blocks |
//! | `gather` | a message given in parts, read as one |
//! | `queue` | bounded queue of slots: run queues, parked slots, completions |
//! | `stack` | free lists of slots and blocks |
//! | `lane` | who sleeps, who searches, whom to wake |
//! | `gate` | limits on how many requests of a kind run |
//! | `seat` | what the region knows of each process |
//! | `peer` | what both sides do to slots that they hold |
//! | `gateway`, `completion`, `cancel` | the submitting side |
//! | `executor`, `work`, `respond` | the running side |
//! | `wake` | eventfds |
//! | `clock` | the monotonic clock |
//! | `sync` | atomics, or loom's |
//! | `models` | every interleaving of the protocols, by loom |

mod arena;
mod cancel;
pub mod clock;
mod completion;
mod executor;
mod gate;
mod gateway;
mod gather;
mod lane;
mod layout;
#[cfg(all(test, loom))]
mod models;
mod peer;
mod queue;
mod region;
mod respond;
mod seat;
mod slot;
mod stack;
mod sync;
pub mod wake;
mod work;

pub use cancel::{Cancel, Interrupt, Target};
pub use completion::{Completion, Outcome};
pub use executor::{Executor, Share};
pub use gate::{GateCounts, NO_GATE};
pub use gateway::{Full, Gateway};
pub use lane::MAX_EXECUTORS;
pub use layout::{ALIGNMENT, BLOCK, INLINE, RegionError, Sizes};
pub use region::Exchange;
pub use respond::Progress;
pub use slot::Ticket;
pub use wake::Wakers;
pub use work::Work;
