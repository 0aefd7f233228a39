//! Futures that are not Send, on a runtime that never leaves its thread.
//!
//! tokio asks a spawned future to be Send, because its runtime can be moved. The alternative that asks nothing,
//! LocalSet, is a second scheduler on top of the first. Here the runtime is a field of [`crate::Server`], which
//! holds an `Rc` and so cannot leave its thread; it is driven and dropped there, tasks and hooks included.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tokio::task::JoinHandle;

pin_project! {
    /// Something that is used on the thread of the server alone.
    pub(crate) struct OnThisThread<T> {
        #[pin]
        inner: T,
    }
}

impl<T> OnThisThread<T> {
    /// Asserts that the value stays on this thread.
    ///
    /// # Safety
    ///
    /// Whoever holds the result must use and drop it on the thread that made it.
    pub(crate) unsafe fn new(inner: T) -> Self {
        Self { inner }
    }

    pub(crate) fn get(&self) -> &T {
        &self.inner
    }
}

// SAFETY: `new` has its caller promise that the value is used and dropped on the thread that made it.
unsafe impl<T> Send for OnThisThread<T> {}
// SAFETY: as above; references do not leave the thread either.
unsafe impl<T> Sync for OnThisThread<T> {}

impl<F: Future> Future for OnThisThread<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.project().inner.poll(context)
    }
}

/// Spawns on the runtime that this thread is in.
///
/// Panics outside of a runtime. All callers are tasks of the server, or methods of it that have entered its
/// runtime.
pub(crate) fn spawn<F: Future<Output = ()> + 'static>(future: F) -> JoinHandle<()> {
    // SAFETY: the only runtime that this crate enters is that of a `Server`, a current-thread runtime which is
    // driven and dropped on the thread that made it, because `Server` is not Send.
    tokio::spawn(unsafe { OnThisThread::new(future) })
}
