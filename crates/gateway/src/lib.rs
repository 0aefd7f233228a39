//! The event loop of HTTP and of lines of JSON: sockets, protocols, limits and timers, without knowing what answers.
//!
//! A [`Server`] lives on one thread and never starts another. Its owner calls [`Server::turn`] in a loop: a turn
//! polls the sockets, and ends when requests have arrived, clients have gone, a watched descriptor is readable
//! or time is up. Between two turns the owner runs the requests, outside of any task, and hands in replies.
//!
//! The public face:
//! - [`server`]: [`Server`], [`Arrived`], [`Poured`].
//! - [`turn`]: [`Turn`]: why a turn ended, and how it is made to end.
//! - [`limits`]: [`Limits`]: sizes, times and counts.
//! - [`listener`]: [`Listener`], [`Address`], [`Sharing`], and [`address_is_free`].
//! - [`tickets`]: [`Ticket`]: which request a reply belongs to.
//! - [`lines`]: [`Terms`] of listeners that take lines of JSON, and what the owner sees of them.
//! - [`counters`]: [`Counters`]: what the server has done.
//!
//! Inside, from the bottom to the top:
//! - `this_thread`: spawns futures that are not Send on a runtime that never leaves its thread.
//! - `clock`: the time, read once per turn. `deadlines`: one timer for all connections.
//! - `secured`: TLS between a socket and its protocol. `stream`: a TCP or UNIX socket, or one that speaks TLS.
//! - `reads`: how long a turn reads.
//! - `shared`: what all tasks of the thread share. `connection`: what is known of a connection from outside.
//! - `bodies`: how much memory bodies hold. `replies`: how much replies do. `memory`: gives it back to the system.
//! - `notes`: what the kernel has refused, for the owner's log.
//! - `refusal`: answers that the gateway gives by itself.
//! - `parting`: connections that are read on after their last answer.
//! - `places`: how many connections there are, and which of them gives way. `accept`: takes connections in.
//!   `turning_away`, `handshakes`: how it ends without resetting anybody. `watch`: watches descriptors of the owner.
//! - `lines`: takes lines of JSON into buckets.
//! - `http1`: serves HTTP/1, by a loop of our own. `http2`: serves HTTP/2, by h2.
//!
//! Why HTTP/1 is not by hyper: hyper drops a Content-Length beside Transfer-Encoding silently, closes a slow
//! head without an answer, and a prototype spent 9.1 µs of CPU per request with it where its own loop on
//! httparse spent 7.0.
//!
//! What a request costs (`examples/constant.rs`, 20 connections of wrk): one recvfrom, one sendto and a tenth of
//! an epoll_wait, by strace; about 8,000 instructions outside of the kernel for a head of three headers, by
//! callgrind, of which reading and building the message take 4,400, writing the response 900, and keeping and writing its
//! id 170. A request of HTTP/2 costs 46,000, its id 3,200 of them; hyper took 4,200 more than h2 by itself. An idle
//! connection of HTTP/1 holds 1.7 KB here.
//!
//! ```no_run
//! use gateway::{Address, Limits, Listener, Server};
//! use message::{Request, ResponseBuilder};
//!
//! let mut server = Server::new(Limits::default())?;
//! server.listen(&Listener::new(1, Address::Tcp("127.0.0.1:9000".parse()?)))?;
//! loop {
//!     server.turn(None, &mut || true);
//!     for arrived in server.arrived().collect::<Vec<_>>() {
//!         let request = Request::parse(&arrived.request)?;
//!         let reply = ResponseBuilder::new(200)?.finish(request.path().as_bytes());
//!         server.reply(arrived.ticket, reply);
//!     }
//! }
//! # #[allow(unreachable_code)]
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod accept;
mod announced;
mod bodies;
mod clock;
mod connection;
pub mod counters;
mod deadlines;
pub mod failures;
mod handshake_time;
mod handshakes;
mod http1;
mod http2;
pub mod limits;
pub mod lines;
pub mod listener;
mod memory;
mod notes;
mod origin;
pub mod parting;
pub mod parts;
mod places;
pub mod reads;
mod refusal;
mod replies;
mod secured;
pub mod server;
mod shared;
mod stream;
mod this_thread;
pub mod tickets;
pub mod turn;
mod turning_away;
mod watch;

pub use addresses::Address;
pub use counters::{Counters, ListenerCounters};
pub use failures::FailedHandshake;
pub use limits::Limits;
pub use lines::fair::FairQueue;
pub use lines::report::{ConnectionReport, LinesReport, Trouble};
pub use lines::shares::{LineShares, Room};
pub use lines::terms::Terms;
pub use listener::{Listener, Sharing, address_is_free};
pub use parting::Parting;
pub use parts::{Rest, WantedPart};
pub use replies::{SMALL_REPLY, grown};
pub use server::{Arrived, Poured, Server, Source};
pub use tickets::Ticket;
pub use turn::Turn;
