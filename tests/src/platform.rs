//! A cluster that serves one database.

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use cluster::postgres::{Client, SimpleQueryMessage};
use cluster::{Options, TemporaryCluster};

use crate::client::{Connection, Reply};
use crate::templates::Contents;

/// When a server has begun. What `pg_postmaster_start_time()` tells outlives a crash of its processes.
pub const SERVER_BEGAN: &str =
    "select backend_start::text from pg_stat_activity where backend_type = 'checkpointer'";

/// A platform for one test: PostgreSQL with the extension, a database that is served, a port.
pub struct Platform {
    /// The cluster; it ends with the value.
    pub cluster: TemporaryCluster,
    /// The port that the database listens on, on 127.0.0.1.
    pub port: u16,
}

/// The database that is served.
pub const DATABASE: &str = "app";

/// How long anything may take to happen that has no limit of its own.
pub const SOON: Duration = crate::bounds::HANGS;

impl Platform {
    /// A platform with the default settings, and with the messages of errors shown.
    pub fn start() -> Platform {
        Platform::with(&[])
    }

    /// A platform with some settings.
    pub fn with(settings: &[(&str, &str)]) -> Platform {
        Platform::of_stage(None, settings)
    }

    /// A platform of a stage other than that of HOWDAH_STAGE.
    pub fn of_stage(stage: Option<PathBuf>, settings: &[(&str, &str)]) -> Platform {
        Platform::of(Options { stage, ..Options::default() }, settings)
    }

    /// A platform of more options.
    pub fn of(options: Options, settings: &[(&str, &str)]) -> Platform {
        let mut options = options
            .set("howdah.databases", DATABASE)
            .set("howdah.show_errors", "on")
            .set("max_worker_processes", 24)
            .set("howdah.min_executors", 2);
        for (name, value) in settings {
            options = options.set(name, value);
        }
        let platform = Platform { cluster: Contents::Platform.start(options), port: free_port() };
        platform.sql(&format!("select http.listen({}, '127.0.0.1')", platform.port));
        platform.wait_until_served();
        platform
    }

    /// A session in the database that is served, as superuser.
    pub fn session(&self) -> Client {
        self.cluster.connect(DATABASE).expect("a session")
    }

    /// Runs SQL as superuser in a session of its own.
    pub fn sql(&self, text: &str) {
        if let Err(error) = self.session().batch_execute(text) {
            panic!("{error:?}\n{text}");
        }
    }

    /// The first column of the first row, as text.
    pub fn value(&self, query: &str) -> Option<String> {
        let messages =
            self.session().simple_query(query).unwrap_or_else(|error| panic!("{error:?}\n{query}"));
        messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row.get(0).map(str::to_owned)),
            _ => None,
        })?
    }

    /// Changes a setting of the server as a superuser would, and has the configuration read again.
    pub fn set(&self, name: &str, value: &str) {
        self.sql(&format!("alter system set {name} = '{value}'"));
        self.sql("select pg_reload_conf()");
    }

    /// How many rows a query has.
    pub fn count(&self, rows: &str) -> i64 {
        let count = self.value(&format!("select count(*) from {rows}"));
        count.and_then(|count| count.parse().ok()).expect("a number")
    }

    /// How many requests of a route or handler have run in gateways; there is no row before a gateway knows of it.
    pub fn inline_count(&self, pattern: &str) -> usize {
        let query = format!("select coalesce(sum(inline), 0) from http.stats where pattern = '{pattern}'");
        self.value(&query).and_then(|count| count.parse().ok()).expect("a sum")
    }

    /// How many workers run a route now: `GET /users`.
    pub fn running(&self, title: &str) -> i64 {
        self.count(&format!(
            "pg_stat_activity where backend_type like 'howdah%' and state = 'active' and query like '%{title}%'"
        ))
    }

    /// The processes of workers of a kind: `gateway` or `executor`.
    pub fn workers(&self, kind: &str) -> Vec<i32> {
        let query = format!("select pid from http.workers where kind = '{kind}' and state = 'running'");
        let rows = self.session().query(&query, &[]).expect("the workers");
        rows.iter().filter_map(|row| row.get(0)).collect()
    }

    /// The process of one of them, once there is one.
    pub fn worker(&self, kind: &str) -> i32 {
        let mut workers = Vec::new();
        wait_for(kind, || {
            workers = self.workers(kind);
            !workers.is_empty()
        });
        workers[0]
    }

    /// What the server has written to its log.
    pub fn log(&self) -> String {
        let bytes = std::fs::read(self.cluster.log()).expect("the log");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// A connection to the platform.
    pub fn connect(&self) -> Connection {
        Connection::open(self.port)
    }

    /// The answer to a GET on a connection of its own.
    pub fn get(&self, path: &str) -> Reply {
        self.connect().request("GET", path, &[], b"")
    }

    /// The answer to a POST on a connection of its own.
    pub fn post(&self, path: &str, content_type: &str, body: &[u8]) -> Reply {
        self.connect().request("POST", path, &[("Content-Type", content_type)], body)
    }

    /// Sends POSTs at once, each on a connection of its own, whose answer is to be read.
    pub fn post_at_once(&self, path: &str, count: usize) -> Vec<Connection> {
        let mut connections: Vec<_> = (0..count).map(|_| self.connect()).collect();
        connections.iter_mut().for_each(|connection| connection.send("POST", path, &[], b""));
        connections
    }

    /// When the server has begun, or begun again after one of its processes has crashed.
    pub fn began(&self) -> String {
        self.value(SERVER_BEGAN).expect("a checkpointer")
    }

    /// Process ids of the gateways and executors that run.
    pub fn pids(&self) -> Vec<i32> {
        ["gateway", "executor"].iter().flat_map(|kind| self.workers(kind)).collect()
    }

    /// Whether all of these workers still run; others may have come.
    pub fn still_run(&self, pids: &[i32]) -> bool {
        let now = self.pids();
        pids.iter().all(|pid| now.contains(pid))
    }

    /// Waits until the port answers.
    pub fn wait_until_served(&self) {
        wait_for("the port answers", || std::net::TcpStream::connect(("127.0.0.1", self.port)).is_ok());
    }
}

/// Between two looks.
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Waits until a condition holds: looked at again and again, and an error after [`SOON`].
pub fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < SOON, "waited in vain: {what}");
        std::thread::yield_now();
        // A look takes a session or a connection; between two the server shall get the processor, and the more the longer it takes.
        let pause = (begin.elapsed() / 4).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        std::thread::park_timeout(pause);
    }
}

/// The `howdah` command, as it is built beside the tests.
pub fn command() -> PathBuf {
    let test = std::env::current_exe().expect("the test's path");
    let folder = test.ancestors().nth(2).expect("the folder of programs");
    let command = folder.join("howdah");
    assert!(command.is_file(), "{} is missing; build howdah-cli by the same profile", command.display());
    command
}

/// A port that nobody listens on and no other test of this process is given. It is none of those that the kernel gives to
/// clients (`ip_local_port_range`), one of which might take it meanwhile.
pub fn free_port() -> u16 {
    const FIRST: u32 = 10_000;
    const COUNT: u32 = 22_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Processes that test at the same time begin far from each other.
    let begin = std::process::id().wrapping_mul(997);
    loop {
        let port = FIRST + begin.wrapping_add(NEXT.fetch_add(1, Relaxed)) % COUNT;
        let port = u16::try_from(port).expect("a port");
        if TcpListener::bind(("0.0.0.0", port)).is_ok() {
            return port;
        }
    }
}
