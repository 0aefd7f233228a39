//! Atomics and byte areas: the real ones, or loom's when the models are built.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

#[cfg(loom)]
use loom::cell::UnsafeCell;
#[cfg(not(loom))]
use std::cell::UnsafeCell;

/// A value on cache lines of its own; 128 because the prefetcher of x86 fetches lines in pairs.
#[repr(C, align(128))]
pub(crate) struct Line<T>(pub(crate) T);

/// Bytes that belong to one process at a time: to whoever holds the slot or block that they are part of.
#[repr(C, align(128))]
pub(crate) struct Area<const N: usize>(UnsafeCell<[u8; N]>);

// SAFETY: access goes through `write` and `bytes`, whose callers hold the area.
unsafe impl<const N: usize> Sync for Area<N> {}
// SAFETY: plain bytes.
unsafe impl<const N: usize> Send for Area<N> {}

impl<const N: usize> Area<N> {
    /// An area of zeros. Only the models need one: elsewhere any bytes are a valid area.
    pub(crate) fn zeroed() -> Self {
        Area(UnsafeCell::new([0; N]))
    }

    /// Copies `bytes` to offset `at`.
    ///
    /// # Safety
    /// The caller holds the area, and nobody reads it meanwhile.
    pub(crate) unsafe fn write(&self, at: usize, bytes: &[u8]) {
        assert!(at <= N && bytes.len() <= N - at, "a message outgrew its area");
        let copy = |area: *mut [u8; N]| {
            // SAFETY: the range was checked above; the caller is alone with the area.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), area.cast::<u8>().add(at), bytes.len()) }
        };
        #[cfg(not(loom))]
        copy(self.0.get());
        #[cfg(loom)]
        self.0.with_mut(copy);
    }

    /// The first `length` bytes.
    ///
    /// # Safety
    /// The caller holds the area for as long as the slice lives, and nobody writes to it meanwhile.
    pub(crate) unsafe fn bytes(&self, length: usize) -> &[u8] {
        assert!(length <= N, "a message outgrew its area");
        #[cfg(not(loom))]
        let area: *const [u8; N] = self.0.get();
        #[cfg(loom)]
        let area: *const [u8; N] = self.0.with(|area| area);
        // SAFETY: the length was checked above; the caller keeps writers away.
        unsafe { std::slice::from_raw_parts(area.cast::<u8>(), length) }
    }
}
