//! Every bound on time that an end-to-end test has.
//!
//! A bound says how quick something is, and that can be told on a machine that does nothing else. So `make test-timing`
//! runs the tests that have one alone, three times at most, and the bound holds if it holds once. Elsewhere, beside other tests
//! and on any machine, the same test shows that what it times ends at all.

use std::env;
use std::time::Duration;

/// What takes longer hangs.
pub const HANGS: Duration = Duration::from_secs(60);

/// The environment variable with which bounds count.
pub const COUNTS: &str = "HOWDAH_TIMING";

/// A bound on time.
#[derive(Debug)]
pub struct Bound {
    /// The tests that have it: by the beginning of their names.
    pub tests: &'static str,
    /// What is quick.
    pub what: &'static str,
    /// How quick.
    pub limit: Duration,
}

impl Bound {
    /// Asserts that it took no longer.
    #[track_caller]
    pub fn check(&self, took: Duration) {
        self.check_beside(took, Duration::ZERO);
    }

    /// Asserts that it took no longer, without the time for which the whole machine stood still.
    #[track_caller]
    pub fn check_beside(&self, took: Duration, stalled: Duration) {
        self.check_against(took, self.limit + stalled);
    }

    /// Asserts that it took no longer than what was measured, or computed, just now.
    #[track_caller]
    pub fn check_against(&self, took: Duration, limit: Duration) {
        let what = self.what;
        if !counts() {
            assert!(took < HANGS.max(limit), "{what}: it took {took:?}");
            return;
        }
        println!("bound: {what}: {took:?} of {limit:?}");
        assert!(took < limit, "{what}: it took {took:?}; the bound is {limit:?}");
    }
}

/// Whether bounds count: time is measured.
pub fn counts() -> bool {
    env::var_os(COUNTS).is_some()
}

macro_rules! bounds {
    ($($name:ident: $millis:literal ms, $tests:literal, $what:literal;)*) => {
        $(#[doc = $what] pub static $name: Bound =
            Bound { tests: $tests, what: $what, limit: Duration::from_millis($millis) };)*
        /// All of them.
        pub static ALL: &[&Bound] = &[$(&$name),*];
    };
}

bounds! {
    CATALOG_LOCKED: 500 ms, "together::locks_of_others::", "a request while somebody locks the catalogs";
    ROUTES_LOCKED: 250 ms, "together::changes::", "a request while somebody locks the routes";
    STOP_WITH_LINES: 8000 ms, "together::queue_wire_faults::", "the stop of a server whose lines cannot be written";
    REQUEST_BESIDE_BLOCKED_LINES: 2000 ms, "together::queue_wire_faults::", "a request while lines wait for a lock";
    REQUEST_BESIDE_HELD_FLOODS: 1000 ms, "together::queue_wire_faults::", "a request beside floods that are held back";
    REQUEST_BESIDE_FLOOD: 100 ms, "together::queue_wire_faults::", "half of the requests beside a flood";
    HELLO_BESIDE_SILENCE: 5000 ms, "together::queue_wire_silence::", "a hello and a line beside silent connections";
    SILENCE_ENDS: 10000 ms, "together::queue_wire_silence::", "the end of a connection that says nothing for half a second";
    LINES_BESIDE_BUSY_PRODUCERS: 10000 ms, "together::queue_producers::", "twenty lines beside producers that are busy elsewhere";
    TAKE_AMONG_CONSUMERS: 5000 ms, "together::queue_take::", "a take or read among sixteen consumers";
    POLL_IS_WOKEN: 500 ms, "together::queue_messages::", "a session that waits hears of a message";
    POLL_SEES_A_LEASE_END: 5000 ms, "together::queue_messages::", "a session that waits hears of a lease of a second that ends";
    POLL_AFTER_POP: 15000 ms, "together::queue_messages::", "a session that waits behind messages of another kind hears of its own";
    LISTENER_FOLLOWS: 1000 ms, "together::listeners::", "listeners follow howdah.listen_addresses";
    UNLISTEN_CUTS_OFF: 3000 ms, "together::listeners::", "what runs is cut off 300 ms after its listener went";
    PREPARED_EXTENSION: 3000 ms, "together::databases::", "a database is served once its prepared extension is committed";
    LARGE_LETTERS: 5000 ms, "together::queue_large_letters::", "a read that finds a row too large and buries it";
    READ_BEHIND_LARGE_ROWS: 500 ms, "together::queue_large_letters::", "a read over HTTP behind large rows";
    LEASE_ENDS_FOR_WHO_WAITS: 6000 ms, "together::queue_http::", "an answer that waits hears of a lease that ends";
    REQUEST_BESIDE_WAITING_ANSWERS: 250 ms, "together::queue_http::", "a request beside answers that wait";
    ROW_REACHES_WHO_WAITS: 900 ms, "together::queue_http::", "an answer that waits gets a row";
    READ_BEHIND_DEAD_LETTERS: 10000 ms, "together::queue_http::", "a read behind three thousand dead letters";
    WAITS_AS_TOLD: 2500 ms, "together::queue_http::", "an answer that waits for 1.5 s";
    ROUTE_BESIDE_SERIALIZABLE: 5000 ms, "together::settings::", "a new route beside a serializable transaction";
    LINES_WHEN_IDLE: 5000 ms, "together::queue_wire::", "twenty lines, one after the other";
    BUCKET_AFTER_PATIENCE: 6000 ms, "together::queue_wire::", "a line that waits 1.5 s for others";
    FULL_BUCKET: 1500 ms, "together::queue_wire::", "a full bucket, which waits for nothing";
    DROP_WAKES: 5000 ms, "together::queue_storage::", "a session that waits hears that its queue is dropped or back";
    READ_BEHIND_ROWS_TOO_LARGE: 20000 ms, "together::queue_poison::", "an answer behind rows that it has no room for";
    DATABASE_MADE_AND_DROPPED: 4000 ms, "alone::supervisor::", "create or drop database beside those that are served";
    FAST_BESIDE_STALLED_READERS: 300 ms, "alone::stalled_readers::", "a quick request beside a thousand readers that stall";
    OTHERS_BESIDE_FULL_EXECUTORS: 1000 ms, "alone::stalled_readers::", "twenty requests of another route";
    LIMIT_IS_KEPT: 0 ms, "alone::queue_bounds::", "a time limit is kept in half of the time of the whole";
    SEND_BESIDE_MUCH: 150 ms, "alone::queue_bounds::", "a send while somebody asks for much";
    BLOCKS_COST_LITTLE: 0 ms, "alone::queue_bounds::", "exception blocks take five times as long as none";
    SEND_BESIDE_UPKEEP: 300 ms, "alone::queue_bounds::", "a send while an executor makes room";
    LOCK_OF_UPKEEP: 150 ms, "alone::queue_bounds::", "a lock that upkeep holds is waited for";
    MUCH_IS_CANCELLED: 150 ms, "alone::queue_bounds::", "what is asked for much is cancelled";
    FAST_BESIDE_LOCKED_ROUTE: 250 ms, "alone::route_limits::", "a request beside a route that waits for a lock";
    REFUSAL_WAITS_ONCE: 4000 ms, "alone::route_limits::", "a refusal waits for an executor or a lock, not for both";
    REFUSAL_COMES: 6000 ms, "alone::route_limits::", "a refusal";
    FAST_BESIDE_SLOW: 250 ms, "alone::slow_handlers::", "a quick request beside slow handlers";
    FAST_BESIDE_FLOODS: 1000 ms, "alone::clients_that_flood::", "a quick request beside clients that flood or leave";
    DATABASE_BESIDE_FLOODS: 10000 ms, "alone::clients_that_flood::", "a database is made and dropped beside floods";
    ALL_WHO_WAIT_READ: 8000 ms, "alone::queue_waiting::", "answers that wait read all rows";
    WAITING_IS_TOLD: 2000 ms, "alone::queue_waiting::", "who waits hears of rows";
    SESSION_WAITS_AS_TOLD: 2000 ms, "alone::queue_waiting::", "a session that waits for 300 ms";
    FREE_ROWS_ARE_READ: 8000 ms, "alone::queue_waiting::", "rows that are free again find who waits";
    LINES_ARE_FAIR: 2000 ms, "alone::queue_wire_fairness::", "a line beside floods is acknowledged";
    PLAIN_LINES_ARE_FAIR: 8000 ms, "alone::queue_wire_fairness::", "a plain line beside floods is committed";
    SLOW_HEAD_IS_LATE: 2000 ms, "alone::bad_input::", "what comes too slowly is refused after its limit";
    IDLE_IS_CLOSED: 2000 ms, "alone::bad_input::", "a connection that idles for half a second is closed";
    NO_PROCESS_OUTLIVES: 1000 ms, "alone::deaths::", "no process outlives the postmaster";
    GONE_IS_CANCELLED: 100 ms, "alone::cancel::", "the query of who has gone is cancelled";
    LATE_IS_ANSWERED: 750 ms, "alone::cancel::", "an answer after half a second says that its time is over";
    ANY_IN_A_GATEWAY: 20 ms, "alone::runaway::", "a query of the inline lane gives the gateway back";
    DATABASE_AMONG_MANY: 1000 ms, "alone::many_databases::", "create or drop database beside a hundred";
}
