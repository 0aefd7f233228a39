//! Tables in shared memory.

mod commits;
mod databases;
mod deployments;
mod intakes;
mod places;
mod ports;
mod routes;
mod withdrawals;
mod workers;

/// So many entries as shared memory has them at the start: all-zero bytes are the empty state.
fn zeroed<T>(count: usize) -> &'static [T] {
    let entries = std::iter::repeat_with(|| {
        // SAFETY: entries of the registry, for which zeros are valid.
        unsafe { std::mem::zeroed::<T>() }
    });
    entries.take(count).collect::<Vec<T>>().leak()
}
