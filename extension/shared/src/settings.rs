//! The settings, all named `howdah.*`. docs/settings.md has the table with when to change which.

mod checks;

use std::ffi::CString;

use pgrx::guc::{GucContext, GucFlags, GucRegistry, GucSetting, PostgresGucEnum};

/// How a request that is known to be short and free of side effects is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PostgresGucEnum)]
pub enum Inline {
    /// Always by an executor.
    #[name = c"off"]
    Off,
    /// In the gateway; requests share a transaction while it sees what a new one would see.
    #[name = c"on"]
    On,
    /// In the gateway, each request in a transaction of its own.
    #[name = c"transaction"]
    Transaction,
}

/// Declares integer settings: name, default, range, context, unit, what it means.
macro_rules! integers {
    ($($setting:ident = $name:literal, $default:expr, $min:expr, $max:expr, $context:ident, $unit:ident, $text:literal;)*) => {
        $(#[doc = $text] pub static $setting: GucSetting<i32> = GucSetting::<i32>::new($default);)*
        fn define_integers() {
            $(GucRegistry::define_int_guc(
                cstr($name), cstr($text), c"", &$setting, $min, $max,
                GucContext::$context, unit::$unit,
            );)*
        }
    };
}

/// A literal that ends with a NUL byte, as PostgreSQL keeps the pointer for ever.
const fn cstr(text: &'static str) -> &'static std::ffi::CStr {
    match std::ffi::CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("the literal must end with a NUL byte"),
    }
}

/// Units of integer settings, as PostgreSQL's flags.
mod unit {
    use pgrx::guc::GucFlags;
    pub(super) const NONE: GucFlags = GucFlags::empty();
    pub(crate) const MS: GucFlags = GucFlags::UNIT_MS;
    pub(crate) const BYTE: GucFlags = GucFlags::UNIT_BYTE;
    pub(super) const MB: GucFlags = GucFlags::UNIT_MB;
}

const SECONDS: i32 = 1000;
const HOUR: i32 = 3600 * SECONDS;
const MIB: i32 = 1 << 20;

/// Gateways and executors that `howdah.max_workers` can ask for.
pub const MAX_WORKERS_EVER: usize = 256;

integers! {
    MAX_DATABASES = "howdah.max_databases\0", 4, 1, 64, Postmaster, NONE, "Databases that can be served at the same time.\0";
    MAX_WORKERS = "howdah.max_workers\0", 64, 2, MAX_WORKERS_EVER as i32, Postmaster, NONE, "Gateways and executors that can exist at the same time, over all databases.\0";
    MAX_REQUESTS = "howdah.max_requests\0", 1024, 16, 65536, Postmaster, NONE, "Requests that can be in flight between gateways and executors.\0";
    REQUEST_MEMORY = "howdah.request_memory\0", 64, 8, 4096, Postmaster, MB, "Shared memory for requests and responses larger than 2 KiB.\0";
    MAX_ROUTES = "howdah.max_routes\0", 2048, 64, 65536, Postmaster, NONE, "Routes and handlers, over all databases, that have statistics and a limit of their own.\0";
    MAX_QUEUES = "howdah.max_queues\0", 256, 1, 65536, Postmaster, NONE, "Queues that there may be over all databases, those of jobs among them.\0";
    SEGMENT_SIZE = "howdah.queue_segment_size\0", 64, 1, 65536, Sighup, MB, "Size from which a queue's segment is left for another, so that it can be truncated once it is drained.\0";
    QUEUE_MAINTENANCE = "howdah.queue_maintenance\0", 60 * SECONDS, 0, 24 * HOUR, Sighup, MS, "How often an idle executor truncates drained segments of queues that nobody takes from; 0 for never.\0";
    LONGEST_LINE = "howdah.queue_longest_line\0", MIB, 1 << 10, 64 * MIB, Sighup, BYTE, "Longest line of a stream; a longer one becomes a dead letter.\0";
    DEAD_LETTERS = "howdah.queue_dead_letters\0", 10_000, 0, 10_000_000, Sighup, NONE, "Lines of a listener that are kept as dead letters of a queue or table; of more their sender is told how many were dropped.\0";
    GATEWAYS = "howdah.gateways\0", 1, 1, 16, Sighup, NONE, "Gateways of each served database.\0";
    MIN_EXECUTORS = "howdah.min_executors\0", 2, 1, 128, Sighup, NONE, "Executors of a lane that are always kept.\0";
    MAX_EXECUTORS = "howdah.max_executors\0", 16, 1, 128, Sighup, NONE, "Executors that a lane may grow to while requests wait.\0";
    MIN_INGEST_EXECUTORS = "howdah.min_ingest_executors\0", 1, 1, 128, Sighup, NONE, "Executors that are always kept for lines while something listens for them.\0";
    MAX_INGEST_EXECUTORS = "howdah.max_ingest_executors\0", 4, 1, 128, Sighup, NONE, "Executors for lines that there may be while buckets wait, beside one for each further listener.\0";
    INGEST_MEMORY = "howdah.ingest_memory\0", 256 * MIB, 16 * MIB, i32::MAX, Sighup, BYTE, "Memory of a gateway for lines that are not committed yet; each listener has the same share, and reads no more beyond it.\0";
    MAX_INGEST_CONNECTIONS = "howdah.max_ingest_connections\0", 1000, 1, 100_000, Postmaster, NONE, "Connections for lines that a gateway holds at most.\0";
    MAX_INGEST_PER_ADDRESS = "howdah.max_ingest_per_address\0", 500, 1, 100_000, Sighup, NONE, "Connections for lines that a gateway holds at most of one address, or of a network of 64 bits of IPv6.\0";
    INGEST_FIRST_LINE_TIMEOUT = "howdah.ingest_first_line_timeout\0", 10 * 60 * SECONDS, 10, 24 * HOUR, Sighup, MS, "How long a connection for lines may stay open until its first line begins.\0";
    MIN_JOB_EXECUTORS = "howdah.min_job_executors\0", 1, 1, 128, Sighup, NONE, "Executors that are always kept for jobs while kinds of them are defined.\0";
    MAX_JOB_EXECUTORS = "howdah.max_job_executors\0", 8, 1, 128, Sighup, NONE, "Executors for jobs that there may be while jobs wait.\0";
    MAX_JOB_KINDS = "howdah.max_job_kinds\0", 256, 1, 65536, Postmaster, NONE, "Kinds of jobs that there may be over all databases.\0";
    JOB_CRASH_WAIT = "howdah.job_crash_wait\0", 60 * SECONDS, 0, 60 * SECONDS, Sighup, MS, "How long jobs wait at most, after a crash, while those that ran then run alone.\0";
    JOB_LONGEST_ARGUMENTS = "howdah.job_longest_arguments\0", 1 << 20, 1024, 64 << 20, Sighup, BYTE, "Longest arguments of a job, as text.\0";
    JOB_SHARE = "howdah.job_share\0", 50, 1, 100, Sighup, NONE, "Percentage of the executors for jobs that one kind may occupy of those that the others leave, unless it says at_once.\0";
    ROUTE_SHARE = "howdah.route_share\0", 50, 1, 100, Sighup, NONE, "Percentage of a lane's executors that one route may occupy of those that the others leave.\0";
    SPIN = "howdah.spin\0", 20, 0, 1000, Sighup, NONE, "Microseconds for which an executor that runs dry looks for work before it sleeps.\0";
    INLINE_DEADLINE = "howdah.inline_deadline\0", 5, 1, 1000, Sighup, MS, "A request that runs longer in the gateway is cancelled and given to an executor.\0";
    INLINE_THRESHOLD = "howdah.inline_threshold\0", 500, 1, 100_000, Sighup, NONE, "A route whose mean time is below this many microseconds counts as short.\0";
    HANDLER_MEMORY = "howdah.handler_memory\0", 1024, 16, 1 << 20, Sighup, MB, "Memory that a request may take in its executor; one that takes more is cancelled and answered with 503.\0";
    KEPT_MEMORY = "howdah.kept_memory\0", 256, 16, 1 << 20, Sighup, MB, "Memory that a gateway or an executor may keep of the requests that it has run; another takes the place of one that has kept more.\0";
    REQUEST_TIMEOUT = "howdah.request_timeout\0", 30 * SECONDS, 1, 24 * HOUR, Sighup, MS, "A request that takes longer is cancelled and answered with 504.\0";
    QUEUE_TIMEOUT = "howdah.queue_timeout\0", 5 * SECONDS, 1, HOUR, Sighup, MS, "A request that waits longer for an executor is answered with 503.\0";
    LOCK_TIMEOUT = "howdah.lock_timeout\0", 2 * SECONDS, 1, 24 * HOUR, Sighup, MS, "A request that waits longer for a lock is answered with 503.\0";
    DRAIN_TIMEOUT = "howdah.drain_timeout\0", 10 * SECONDS, 0, HOUR, Sighup, MS, "How long running requests may take to finish when a listener or a gateway is stopped.\0";
    LOG_MIN_DURATION = "howdah.log_min_duration\0", -1, -1, i32::MAX, Sighup, MS, "Requests that take at least this long are logged; -1 logs none, 0 all.\0";
    LOG_RATE = "howdah.log_rate\0", 10, -1, 1_000_000, Sighup, NONE, "Lines of each kind for each second that requests to a database may make its processes write to the log; -1 for no limit.\0";
    MAX_HEAD = "howdah.max_head\0", 16 << 10, 1 << 10, MIB, Sighup, BYTE, "Longest request line and headers; more is answered with 431.\0";
    MAX_URI = "howdah.max_uri\0", 8 << 10, 256, MIB, Sighup, BYTE, "Longest request target; more is answered with 414.\0";
    MAX_HEADERS = "howdah.max_headers\0", 100, 4, 10_000, Sighup, NONE, "Most header lines of a request; more is answered with 431.\0";
    MAX_BODY = "howdah.max_body\0", 8 * MIB, 0, 1 << 30, Sighup, BYTE, "Largest request body; more is answered with 413.\0";
    MAX_BODIES = "howdah.max_bodies\0", 256 * MIB, MIB, i32::MAX, Sighup, BYTE, "Memory of a gateway for all request bodies that it is reading; beyond it those that have stopped coming give way with 408, or the newest gets 503.\0";
    MAX_INFLATED_BODY = "howdah.max_inflated_body\0", 64 * MIB, MIB, 1 << 30, Sighup, BYTE, "Largest body of a request once it is unpacked; more is answered with 413, of lines for a queue with 400.\0";
    MAX_RESPONSES = "howdah.max_responses\0", 256 * MIB, MIB, i32::MAX, Sighup, BYTE, "Memory of a gateway for all responses that it holds; more is answered with 503.\0";
    MAX_REMEMBERED = "howdah.max_remembered\0", 8 * MIB, 0, i32::MAX, Sighup, BYTE, "Memory of a gateway for entity tags, by which requests are answered with 304 without running anything; 0 remembers none.\0";
    MAX_CACHED = "howdah.max_cached\0", 64 * MIB, 0, i32::MAX, Sighup, BYTE, "Memory of a gateway for answers that it keeps, of routes for which http.cache was called; 0 keeps none.\0";
    MAX_FILES = "howdah.max_files\0", 64 * MIB, 0, i32::MAX, Sighup, BYTE, "Memory of a gateway for static files; what has no room there is read anew when it is asked for.\0";
    MAX_PLANS = "howdah.max_plans\0", 128 * MIB, MIB, i32::MAX, Sighup, BYTE, "Memory of a gateway or an executor for plans of routes; beyond it those that were used least lately are made anew when they are asked for.\0";
    MAX_WAITING = "howdah.max_waiting\0", 128 * MIB, MIB, i32::MAX, Sighup, BYTE, "Memory of a gateway for requests that wait for an executor, for those that wait for rows and for those of the inline lane, each; more is answered with 503.\0";
    MAX_RESPONSE = "howdah.max_response\0", 32 * MIB, 1 << 10, 1 << 30, Sighup, BYTE, "Largest response; more is an error.\0";
    HEAD_TIMEOUT = "howdah.head_timeout\0", 10 * SECONDS, 10, HOUR, Sighup, MS, "How long a client may take to send a request line and headers, or the first line of JSON once it has begun.\0";
    BODY_TIMEOUT = "howdah.body_timeout\0", 60 * SECONDS, 10, HOUR, Sighup, MS, "How long a client may take to send a request body.\0";
    HTTPS_PORT = "howdah.https_port\0", 443, 1, 65_535, Sighup, NONE, "Port by which clients reach https, for listeners that redirect to it.\0";
    TLS_HANDSHAKE_TIMEOUT = "howdah.tls_handshake_timeout\0", 10 * SECONDS, 10, HOUR, Sighup, MS, "How long a client may take to connect by TLS.\0";
    IDLE_TIMEOUT = "howdah.idle_timeout\0", 60 * SECONDS, 10, 24 * HOUR, Sighup, MS, "How long a connection may stay open between two requests.\0";
    WRITE_TIMEOUT = "howdah.write_timeout\0", 30 * SECONDS, 10, HOUR, Sighup, MS, "How long a client may take to read what has been sent.\0";
    MAX_CONNECTIONS = "howdah.max_connections\0", 10_000, 1, 1_000_000, Sighup, NONE, "Connections that a gateway holds at most.\0";
    MAX_STREAMS = "howdah.max_streams\0", 128, 1, 10_000, Sighup, NONE, "Streams in flight on one HTTP/2 connection.\0";
}

/// Declares settings of text: name, default, context, who may see them, what they mean, and more of that.
macro_rules! texts {
    ($($setting:ident = $name:literal, $default:literal, $context:ident, $seen:ident, $text:literal, $more:literal;)*) => {
        $(#[doc = $text] pub static $setting: GucSetting<Option<CString>> =
            GucSetting::<Option<CString>>::new(Some($default));)*
        fn define_texts() {
            $(GucRegistry::define_string_guc(
                cstr($name), cstr($text), $more, &$setting, GucContext::$context, seen_by::$seen,
            );)*
        }
    };
}

/// Who may see a setting.
mod seen_by {
    use pgrx::guc::GucFlags;
    pub(super) const ALL: GucFlags = GucFlags::empty();
    pub(crate) const SUPERUSERS: GucFlags = GucFlags::SUPERUSER_ONLY;
}

texts! {
    DATABASES = "howdah.databases\0", c"postgres", Sighup, ALL, "Databases that are served, separated by commas.\0", c"";
    LISTEN_ADDRESSES = "howdah.listen_addresses\0", c"localhost", Sighup, SUPERUSERS, "Addresses that SQL may bind; empty means that nothing listens.\0",
        c"Host names, addresses, * for all, or absolute paths of folders for UNIX sockets, separated by commas.";
    TLS_CERTIFICATES = "howdah.tls_certificates\0", c"", Sighup, SUPERUSERS, "Certificates and keys for TLS, separated by commas: CERTIFICATE:KEY, one file with both, or a folder.\0",
        c"An entry that begins with DATABASE= is for the listeners of that database alone. The first pair or file is what clients get that name no other.";
    TLS_CLIENT_AUTHORITIES = "howdah.tls_client_authorities\0", c"", Sighup, SUPERUSERS, "Files with the certificates of who may sign clients' certificates, separated by commas.\0",
        c"An entry that begins with DATABASE= is for the listeners of that database alone.";
    TLS_REVOCATION_LISTS = "howdah.tls_revocation_lists\0", c"", Sighup, SUPERUSERS, "Files with lists of clients' certificates that have been revoked, separated by commas.\0",
        c"Where there are any, each authority that signs clients' certificates has to have one that has not expired.";
    HSTS = "howdah.hsts\0", c"", Sighup, ALL, "Value of Strict-Transport-Security in responses over TLS, such as max-age=31536000; empty for none.\0",
        c"Browsers then use https alone for the host until that many seconds have passed.";
    INLINE_EXTENSIONS = "howdah.inline_extensions\0", c"", Postmaster, ALL, "Extensions whose functions may run in a gateway, separated by commas.\0",
        c"They must be short, or look for interrupts.";
}

/// Declares switches: name, default, context, what they mean.
macro_rules! switches {
    ($($setting:ident = $name:literal, $default:literal, $context:ident, $text:literal;)*) => {
        $(#[doc = $text] pub static $setting: GucSetting<bool> = GucSetting::<bool>::new($default);)*
        fn define_switches() {
            $(GucRegistry::define_bool_guc(
                cstr($name), cstr($text), c"", &$setting, GucContext::$context, GucFlags::empty(),
            );)*
        }
    };
}

switches! {
    SHOW_ERRORS = "howdah.show_errors\0", false, Sighup, "Error responses carry details, hints and the messages of internal errors.\0";
    COMPRESSION = "howdah.compression\0", true, Sighup, "Answers are sent by zstd, brotli or gzip to clients that take them, if they become shorter.\0";
    BUILT_IN_ERROR_PAGES = "howdah.built_in_error_pages\0", true, Sighup, "Browsers get a page for an error that no application has a page for.\0";
    REDIRECT_READS_ONLY = "howdah.redirect_reads_only\0", false, Sighup, "Listeners that redirect to https refuse methods other than GET and HEAD.\0";
    JOBS = "howdah.jobs\0", true, Sighup, "Jobs run and schedules go on in this server.\0";
    TLS_STRICT_HOST = "howdah.tls_strict_host\0", false, Sighup, "Requests for a host that the connection's certificate does not cover are refused.\0";
}

/// Declares settings of text that are empty by default and whose values are checked: name, hook, who may see them, what they mean, and
/// more of that.
macro_rules! checked_texts {
    ($($setting:ident = $name:literal, $check:ident, $seen:ident, $text:literal, $more:literal;)*) => {
        $(#[doc = $text] pub static $setting: GucSetting<Option<CString>> =
            GucSetting::<Option<CString>>::new(Some(c""));)*
        fn define_checked_texts() {
            $(
                // SAFETY: a hook of the type that PostgreSQL calls.
                unsafe {
                    GucRegistry::define_string_guc_with_hooks(
                        cstr($name), cstr($text), $more, &$setting, GucContext::Sighup, seen_by::$seen,
                        Some(checks::$check), None, None,
                    );
                }
            )*
        }
    };
}

checked_texts! {
    TRUSTED_PROXIES = "howdah.trusted_proxies\0", trusted_proxies, ALL, "Networks of the proxies whose word for their clients is taken, separated by commas.\0",
        c"X-Forwarded-For and X-Forwarded-Proto are believed, and the PROXY protocol is spoken.";
    ACME_FOLDER = "howdah.acme_folder\0", acme_folder, SUPERUSERS, "Folder in which who signs certificates finds answers to its challenges, below .well-known/acme-challenge.\0",
        c"Listeners that redirect to https serve them. Certbot and acme.sh call it the webroot.";
}

/// The inline lane.
pub static INLINE: GucSetting<Inline> = GucSetting::<Inline>::new(Inline::On);

/// Defines all settings and reserves their prefix. Called once, while the library is loaded.
pub fn define() {
    define_integers();
    define_texts();
    define_checked_texts();
    define_switches();
    GucRegistry::define_enum_guc(
        c"howdah.inline",
        c"How short requests without side effects run: off (executors), on (in the gateway), transaction (in the gateway, a transaction each).",
        c"",
        &INLINE,
        GucContext::Sighup,
        GucFlags::empty(),
    );
    // SAFETY: called in the postmaster with a constant.
    unsafe { pgrx::pg_sys::MarkGUCPrefixReserved(c"howdah".as_ptr()) };
}

/// The items of a list setting, without blanks and empty items.
pub fn list(setting: &GucSetting<Option<CString>>) -> Vec<String> {
    let text = setting.get().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
}
