//! What all processes of the platform share: the settings, and the shared memory: who runs, what is served, what was counted.
//! This crate knows neither transactions nor SQL, and nothing here waits.
//!
//! - [`settings`]: the `howdah.*` settings.
//! - [`Header`]: the supervisor, and what it has found about the sizes.
//! - [`databases`]: what is served.
//! - [`workers`]: gateways and executors.
//! - [`withdrawals`]: databases that commands need empty.
//! - [`Ports`]: which database a port belongs to.
//! - [`intakes`]: what gateways tell of lines that come in.
//! - [`routes`]: counters of routes and handlers.
//! - [`Part`]: what crates above this one keep here, such as queues.
//! - [`wake`]: the eventfds that all processes share.
//!
//! Everything here is atomic and never locked; parts may have locks of PostgreSQL's, which it gives back when a transaction
//! fails. A process may die at any point: the next start formats all of it anew. All-zero bytes
//! are the empty state of every part.

pub mod settings;
pub mod wake;

pub use registry::{AtomicTick, Lane, Tick, databases, intakes, routes, withdrawals, workers};

use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use exchange::{Exchange, Sizes};
use pg::entry::callback;
use pgrx::pg_sys;
use pgrx::prelude::*;
use registry::databases::Database;
use registry::intakes::{IntakeEntry, Intakes, ShipperEntry};
use registry::routes::{Room, Routes};
use registry::withdrawals::Withdrawals;
use registry::workers::WorkerEntry;
use registry::{PortEntry, Ports, Secrets};

/// Versions of the extension's SQL that this library serves.
pub const SERVED_VERSIONS: &[&str] = &[env!("CARGO_PKG_VERSION")];

/// Addresses that each worker that can exist can have.
const PORTS_PER_WORKER: usize = 8;

/// What concerns the whole platform.
#[repr(C)]
pub struct Header {
    /// The transactions of this start of the server have this number or a higher one; 0 until somebody asks for it.
    pub first_transaction: AtomicU64,
    /// Process id of the supervisor; 0 when none runs.
    pub supervisor: AtomicI32,
    /// When it started, as a `timestamptz`.
    pub supervisor_started: AtomicI64,
    /// Value of `max_worker_processes` that fits all that the settings ask for.
    pub worker_processes_wanted: AtomicU32,
    /// Value of `max_worker_processes` below which not even the smallest platform fits.
    pub worker_processes_needed: AtomicU32,
    /// Value of `howdah.max_workers` that fits all that the settings ask for.
    pub workers_wanted: AtomicU32,
    /// Databases that `howdah.databases` lists.
    pub databases_listed: AtomicU32,
    /// Whether a worker has lately been refused for want of a slot.
    pub short_of_slots: AtomicBool,
    /// Whether there are places for more routes.
    routes: Room,
    /// Whether a command has been committed, since the supervisor last looked, after which it may find another
    /// database to serve: the extension was created somewhere, or a database was made or renamed.
    changed: AtomicBool,
    /// Whether the platform is asked to leave every database, before the server stops.
    pub stopping: AtomicBool,
    /// Databases that commands need empty.
    pub withdrawals: Withdrawals,
    /// What the tickets of TLS are made with.
    pub ticket_secrets: Secrets,
}

/// The parts of the shared memory, as this process sees them.
pub struct Shared {
    /// What concerns the whole platform.
    pub header: &'static Header,
    /// One entry for each database that is listed, by its index.
    pub databases: &'static [Database],
    /// One entry for each gateway or executor, by its index.
    pub workers: &'static [WorkerEntry],
    /// The ports that gateways hold.
    pub ports: Ports,
    /// The listeners for lines, and who brings them.
    pub intakes: Intakes,
    /// The counters of routes.
    pub routes: Routes,
    /// Requests on their way. A worker's index is its number there, as a gateway and as an executor; the
    /// number of a route's counters is that of its gate.
    pub exchange: Exchange,
}

/// Null until the shared memory stands.
static SHARED: AtomicPtr<Shared> = AtomicPtr::new(std::ptr::null_mut());

/// The shared memory; an error in a session of a server that does not preload the library.
pub fn shared() -> &'static Shared {
    match attached() {
        Some(shared) => shared,
        None => not_preloaded(),
    }
}

/// The shared memory, if the server preloads the library.
pub fn attached() -> Option<&'static Shared> {
    // SAFETY: null, or a leaked box that is never freed.
    unsafe { SHARED.load(Ordering::Relaxed).as_ref() }
}

/// Raises the error that the server does not preload the library.
#[cold]
pub fn not_preloaded() -> ! {
    pgrx::pg_sys::panic::ErrorReport::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        "howdah must be loaded through shared_preload_libraries",
        "shared",
    )
    .set_hint("Add howdah to shared_preload_libraries and restart the server.")
    .report(PgLogLevel::ERROR);
    unreachable!("an error has been raised")
}

impl Shared {
    /// The number of a database's lane in the exchange.
    pub fn lane_number(database: usize, lane: Lane) -> u32 {
        (database * Lane::COUNT + lane.place()) as u32
    }

    /// Asks the supervisor to look at the workers and queues now.
    pub fn nudge_supervisor(&self) {
        wake::wake_supervisor();
    }

    /// Tells the supervisor that there may be another database to serve.
    pub fn announce_change(&self) {
        self.header.changed.store(true, Ordering::SeqCst);
        self.nudge_supervisor();
    }

    /// Whether there may be another database to serve since the last call. For the supervisor.
    pub fn take_change(&self) -> bool {
        self.header.changed.swap(false, Ordering::SeqCst)
    }

    /// The database of this oid, if it is listed. Its workers may still be those of its old name, another entry.
    pub fn database_of(&self, oid: pg_sys::Oid) -> Option<&'static Database> {
        let known =
            self.databases.iter().filter(|database| !database.is_unused() && database.oid() == oid.to_u32());
        known.max_by_key(|database| database.is_there())
    }

    /// Whether a database has any worker, by its index.
    pub fn is_staffed(&self, database: usize) -> bool {
        self.workers.iter().any(|worker| !worker.is_free() && worker.database() == database)
    }

    /// The backend whose command now needs the database empty.
    pub fn withdrawn_by(&self, database: &Database) -> Option<i32> {
        self.header.withdrawals.of(database.oid())
    }

    /// The workers that are connected, or about to connect, to the database of this oid.
    pub fn workers_of(&self, oid: pg_sys::Oid) -> impl Iterator<Item = (usize, &'static WorkerEntry)> {
        self.workers
            .iter()
            .enumerate()
            .filter(move |(_, worker)| !worker.is_free() && worker.database_oid() == oid.to_u32())
    }
}

/// What a crate above this one keeps in shared memory.
pub struct Part {
    /// How many bytes it takes. In the postmaster, once all settings are known.
    pub bytes: fn() -> usize,
    /// Asks for locks of PostgreSQL's, when memory is asked for.
    pub request_locks: fn(),
    /// Takes over its memory, which is aligned to a page and full of zeros. In the postmaster, while nobody else is attached; again
    /// after a crash.
    pub lay_out: unsafe fn(NonNull<u8>),
}

/// The parts of crates above this one.
static PARTS: OnceLock<&'static [Part]> = OnceLock::new();

fn parts() -> &'static [Part] {
    PARTS.get().copied().unwrap_or_default()
}

/// Where each part begins, in bytes from the start.
struct Places {
    databases: usize,
    workers: usize,
    ports: usize,
    intakes: usize,
    shippers: usize,
    routes: usize,
    parts: Vec<usize>,
    exchange: usize,
    size: usize,
}

/// Counts of the parts, as the settings have them.
struct Counts {
    databases: usize,
    workers: usize,
    ports: usize,
    intakes: usize,
    shippers: usize,
    routes: usize,
    exchange: Sizes,
}

impl Counts {
    fn from_settings() -> Counts {
        let workers = settings::MAX_WORKERS.get() as usize;
        Counts {
            databases: settings::MAX_DATABASES.get() as usize,
            workers,
            ports: workers * PORTS_PER_WORKER,
            intakes: workers * intakes::PER_WORKER,
            shippers: settings::MAX_INGEST_CONNECTIONS.get() as usize,
            routes: settings::MAX_ROUTES.get() as usize,
            exchange: exchange_sizes(),
        }
    }

    fn places(&self) -> Places {
        let mut end = size_of::<Header>();
        let mut place = |size: usize, count: usize| {
            let start = end.next_multiple_of(routes::ALIGNMENT);
            end = start + size * count;
            start
        };
        let databases = place(size_of::<Database>(), self.databases);
        let workers = place(size_of::<WorkerEntry>(), self.workers);
        let ports = place(size_of::<PortEntry>(), self.ports);
        let intakes = place(size_of::<IntakeEntry>(), self.intakes);
        let shippers = place(size_of::<ShipperEntry>(), self.shippers);
        let routes = place(size_of::<routes::RouteCounters>(), self.routes);
        let parts = parts().iter().map(|part| place((part.bytes)(), 1)).collect();
        let exchange = place(self.exchange.bytes().unwrap_or_else(|error| error!("{error}")), 1);
        Places { databases, workers, ports, intakes, shippers, routes, parts, exchange, size: end }
    }
}

fn exchange_sizes() -> Sizes {
    let workers = settings::MAX_WORKERS.get() as u32;
    let memory = (settings::REQUEST_MEMORY.get() as usize) << 20;
    Sizes {
        slots: settings::MAX_REQUESTS.get() as u32,
        blocks: (memory / exchange::BLOCK) as u32,
        lanes: settings::MAX_DATABASES.get() as u32 * Lane::COUNT as u32,
        executors: workers,
        gateways: workers,
        gates: settings::MAX_ROUTES.get() as u32,
    }
}

static mut PREVIOUS_REQUEST: pg_sys::shmem_request_hook_type = None;
static mut PREVIOUS_STARTUP: pg_sys::shmem_startup_hook_type = None;

/// Makes the eventfds and asks for the shared memory, that of these parts too. Called once, in the postmaster, while the library
/// is loaded and the settings are known.
pub fn prepare(parts: &'static [Part]) {
    // It is called once.
    let _ = PARTS.set(parts);
    wake::create(settings::MAX_WORKERS.get() as u32);
    // SAFETY: the postmaster has one thread, and hooks are set while libraries are loaded.
    unsafe {
        PREVIOUS_REQUEST = pg_sys::shmem_request_hook;
        pg_sys::shmem_request_hook = Some(request);
        PREVIOUS_STARTUP = pg_sys::shmem_startup_hook;
        pg_sys::shmem_startup_hook = Some(start);
    }
}

/// A little more than is laid out, as PostgreSQL aligns the start.
const SLACK: usize = 4096;

callback! {
    unsafe fn request() {
        // SAFETY: PostgreSQL calls the hook in the postmaster, where the request is allowed.
        unsafe {
            if let Some(previous) = PREVIOUS_REQUEST {
                previous();
            }
            pg_sys::RequestAddinShmemSpace(Counts::from_settings().places().size + SLACK);
            parts().iter().for_each(|part| (part.request_locks)());
        }
    }
}

callback! {
    /// Runs at the start of the server, and again in the same postmaster after a crash: all is formatted anew.
    unsafe fn start() {
        // SAFETY: PostgreSQL calls the hook in the postmaster, while nobody else is attached.
        unsafe {
            if let Some(previous) = PREVIOUS_STARTUP {
                previous();
            }
            let counts = Counts::from_settings();
            let places = counts.places();
            let mut found = false;
            let memory: *mut u8 =
                pg_sys::ShmemInitStruct(c"howdah".as_ptr(), places.size + SLACK, &mut found).cast();
            let memory = memory.add(memory.align_offset(SLACK));
            // The exchange lays itself out.
            memory.write_bytes(0, places.exchange);
            wake::drain_all();
            let exchange = NonNull::new_unchecked(memory.add(places.exchange));
            let header = &*memory.cast::<Header>();
            let shared = Box::new(Shared {
                header,
                databases: slice(memory.add(places.databases), counts.databases),
                workers: slice(memory.add(places.workers), counts.workers),
                ports: Ports::new(slice(memory.add(places.ports), counts.ports)),
                intakes: Intakes {
                    listeners: slice(memory.add(places.intakes), counts.intakes),
                    shippers: slice(memory.add(places.shippers), counts.shippers),
                },
                routes: Routes::new(slice(memory.add(places.routes), counts.routes), &header.routes),
                exchange: Exchange::format(exchange, &counts.exchange).unwrap_or_else(|error| error!("{error}")),
            });
            for (part, place) in parts().iter().zip(places.parts) {
                (part.lay_out)(NonNull::new_unchecked(memory.add(place)));
            }
            // The few words of an earlier life are not given back: children forked before may use them.
            SHARED.store(Box::into_raw(shared), Ordering::Release);
        }
    }
}

/// # Safety
/// At `start` there are `count` values for as long as the process lives, aligned, and zero is valid for `T`.
unsafe fn slice<T>(start: *mut u8, count: usize) -> &'static [T] {
    // SAFETY: by contract.
    unsafe { std::slice::from_raw_parts(start.cast(), count) }
}

/// The secret of a period from which tickets of TLS are made. The first gateway that needs it makes it.
pub fn ticket_secret(period: u64) -> Option<[u8; 32]> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    shared().header.ticket_secrets.of(period, tls::tickets::period_of(now), || {
        let mut secret = [0; 32];
        // SAFETY: it writes so many bytes, and raises nothing.
        unsafe { pg_sys::pg_strong_random(secret.as_mut_ptr().cast(), secret.len()) }.then_some(secret)
    })
}

/// The time of the monotonic clock.
pub fn tick() -> Tick {
    Tick::at(now_us())
}

/// Microseconds of the monotonic clock, which all processes of the machine share. 0 never occurs.
pub fn now_us() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec, and the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    (time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1000).max(1)
}
