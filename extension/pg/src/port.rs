//! What a process knows of its client's connection, which a worker has none of.
//!
//! Extensions read it without a look whether it is there: `MyProcPort` is null in other background workers, and sslinfo's
//! functions, which everybody may call, would crash the server. So a worker has one that tells of a session over a UNIX socket:
//! without TLS, without addresses.

use std::ffi::{c_char, c_int};

use pgrx::pg_sys;

/// The begin of `Port` of libpq/libpq-be.h, for which pgrx has no more than a name.
#[repr(C)]
struct Port {
    socket: c_int,
    is_non_blocking: bool,
    protocol: u32,
    local: Address,
    remote: Address,
    remote_host: *const c_char,
    remote_hostname: *const c_char,
    remote_hostname_resolves: c_int,
    remote_hostname_error: c_int,
    remote_port: *const c_char,
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    can_accept: c_int,
    #[cfg(feature = "pg18")]
    local_host: [c_char; 64],
    database: *const c_char,
    user: *const c_char,
    /// Nulls and zeros, and more of them than any version or build has.
    rest: [u64; 128],
}

/// `SockAddr` of libpq/pqcomm.h.
#[repr(C)]
struct Address {
    address: libc::sockaddr_storage,
    length: libc::socklen_t,
}

/// Makes it this process's, which is connected.
///
/// # Safety
/// Inside a transaction, once, after PostgreSQL has begun the process: a process that has it at its begin authenticates a client.
pub unsafe fn make(user: *const c_char) {
    // SAFETY: by contract. All zeros are valid; what it points to lives as long as the process.
    unsafe {
        let keep = |text| pg_sys::MemoryContextStrdup(pg_sys::TopMemoryContext, text).cast_const();
        let database = keep(pg_sys::get_database_name(pg_sys::MyDatabaseId));
        let size = size_of::<Port>();
        let port = pg_sys::MemoryContextAllocZero(pg_sys::TopMemoryContext, size).cast::<Port>();
        (*port).socket = -1;
        // What sets options of a TCP connection does nothing then, and addresses are null.
        (*port).local.address.ss_family = libc::AF_UNIX as libc::sa_family_t;
        (*port).remote.address.ss_family = libc::AF_UNIX as libc::sa_family_t;
        (*port).remote_host = c"[local]".as_ptr();
        (*port).remote_port = c"".as_ptr();
        (*port).database = database;
        (*port).user = keep(user);
        pg_sys::MyProcPort = port.cast();
    }
}
