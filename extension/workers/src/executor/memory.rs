//! Memory of an executor that writes buckets of lines. Each takes some megabytes in large pieces, which glibc would map
//! anew for every bucket, and the kernel fill with zeros page by page: 7 % of the time of a record.

/// From this size on a piece is mapped and given back on its own; glibc allows no more.
const MAPPED: i32 = 32 << 20;
/// Free memory that is kept.
const KEPT: i32 = 128 << 20;

/// Has this process keep what it frees.
pub(crate) fn keep() {
    #[cfg(target_env = "gnu")]
    // SAFETY: settings of the allocator; one that it does not take changes nothing.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
    }
}
