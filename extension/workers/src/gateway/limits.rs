//! Limits of the event loop as the settings have them, and what the system limits.

use std::time::Duration;

use ::gateway::Limits;
use pg::{log_line, own_memory};
use pgrx::pg_sys;
use shared::settings;

/// The settings as the event loop wants them.
pub(super) fn in_force() -> Limits {
    let time = |milliseconds: i32| Duration::from_millis(milliseconds as u64);
    Limits {
        max_head: settings::MAX_HEAD.get() as usize,
        max_uri: settings::MAX_URI.get() as usize,
        max_headers: settings::MAX_HEADERS.get() as usize,
        max_body: settings::MAX_BODY.get() as usize,
        max_bodies: settings::MAX_BODIES.get() as usize,
        max_replies: settings::MAX_RESPONSES.get() as usize,
        head_timeout: time(settings::HEAD_TIMEOUT.get()),
        body_timeout: time(settings::BODY_TIMEOUT.get()),
        idle_timeout: time(settings::IDLE_TIMEOUT.get()),
        write_timeout: time(settings::WRITE_TIMEOUT.get()),
        max_connections: settings::MAX_CONNECTIONS.get() as usize,
        max_line_connections: settings::MAX_INGEST_CONNECTIONS.get() as usize,
        max_line_connections_of_one: settings::MAX_INGEST_PER_ADDRESS.get() as usize,
        first_line_timeout: time(settings::INGEST_FIRST_LINE_TIMEOUT.get()),
        max_lines: settings::INGEST_MEMORY.get() as usize,
        tls_handshake_timeout: time(settings::TLS_HANDSHAKE_TIMEOUT.get()),
        max_streams: settings::MAX_STREAMS.get() as u32,
        ..Limits::default()
    }
}

/// Connections are kept outside PostgreSQL's account of file descriptors: the soft limit is raised by as many
/// as there may be, as far as the hard limit lets it.
pub(super) fn raise_file_limit() {
    /// Listeners, and what wakes the process.
    const OTHERS: u64 = 64;
    let connections = (settings::MAX_CONNECTIONS.get() + settings::MAX_INGEST_CONNECTIONS.get()) as u64;
    // SAFETY: a variable of PostgreSQL's.
    let needed = connections + OTHERS + unsafe { pg_sys::max_files_per_process } as u64;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a valid struct for all calls.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
            limit.rlim_cur = (limit.rlim_cur + connections + OTHERS).max(needed).min(limit.rlim_max);
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
    }
    if limit.rlim_cur < needed {
        log_line::warning!(
            "the {connections} connections of howdah.max_connections and howdah.max_ingest_connections need {needed} open files, \
             and a gateway may have {}: raise the hard limit (LimitNOFILE= of the service), or lower the settings",
            limit.rlim_cur
        );
    }
}

/// Says what is not watched where the kernel does not tell how much memory a process has.
pub(super) fn say_what_is_not_watched() {
    if own_memory::bytes().is_none() {
        log_line::warning!(
            "howdah.handler_memory and howdah.kept_memory have no effect: /proc/self/statm cannot be read"
        );
    }
}
