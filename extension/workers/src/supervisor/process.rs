//! Processes of the platform, as PostgreSQL is asked for them.

use std::ffi::c_int;

use pgrx::pg_sys;

/// The description of a process of ours: its title and its main function. It never restarts by itself.
pub(super) fn process(title: &std::ffi::CStr, function: &std::ffi::CStr) -> pg_sys::BackgroundWorker {
    let mut worker = pg_sys::BackgroundWorker {
        bgw_flags: (pg_sys::BGWORKER_SHMEM_ACCESS | pg_sys::BGWORKER_BACKEND_DATABASE_CONNECTION) as c_int,
        // Standbys serve too.
        bgw_start_time: pg_sys::BgWorkerStartTime::BgWorkerStart_ConsistentState,
        bgw_restart_time: pg_sys::BGW_NEVER_RESTART,
        ..Default::default()
    };
    copy(title, &mut worker.bgw_name);
    copy(title, &mut worker.bgw_type);
    copy(c"howdah", &mut worker.bgw_library_name);
    copy(function, &mut worker.bgw_function_name);
    worker
}

/// The texts here are constants, shorter than the fields.
pub(super) fn copy<const SIZE: usize>(text: &std::ffi::CStr, field: &mut [std::ffi::c_char; SIZE]) {
    for (place, byte) in field.iter_mut().zip(text.to_bytes_with_nul()) {
        *place = *byte as std::ffi::c_char;
    }
}
