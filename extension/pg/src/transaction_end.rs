//! The end of a transaction, for those who keep something until then.

use std::cell::{Cell, RefCell};

use pgrx::pg_sys::SubXactEvent::{self, SUBXACT_EVENT_ABORT_SUB, SUBXACT_EVENT_COMMIT_SUB};
use pgrx::pg_sys::XactEvent::{
    self, XACT_EVENT_ABORT, XACT_EVENT_COMMIT, XACT_EVENT_PRE_COMMIT, XACT_EVENT_PRE_PREPARE,
    XACT_EVENT_PREPARE,
};
use pgrx::pg_sys::{self, SubTransactionId};

use crate::entry::{callback, enter_unfailing, infallible_callback};

/// How a session's transaction has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TransactionEnd {
    /// Its effects are there.
    Committed,
    /// It has had none.
    RolledBack,
    /// It is the session's no more: another may commit it or roll it back, now or after a restart.
    Prepared,
}

impl TransactionEnd {
    /// None if the event is not the end.
    fn of(event: XactEvent::Type) -> Option<TransactionEnd> {
        match event {
            XACT_EVENT_COMMIT => Some(TransactionEnd::Committed),
            XACT_EVENT_ABORT => Some(TransactionEnd::RolledBack),
            XACT_EVENT_PREPARE => Some(TransactionEnd::Prepared),
            _ => None,
        }
    }
}

/// A stage on the way to the end of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// It is about to commit; an error rolls it back.
    BeforeCommit,
    /// It is about to be prepared; an error rolls it back.
    BeforePrepare,
    /// Its locks are released: everybody has been told of what it has committed, or it was rolled back.
    Released {
        /// Whether it has committed, or was prepared.
        commits: bool,
    },
}

/// How a subtransaction has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SubtransactionEnd {
    /// The first has become part of the second, its parent.
    Committed(SubTransactionId, SubTransactionId),
    /// It has had no effects.
    RolledBack(SubTransactionId),
}

/// Functions that are told, in the order in which they have asked.
struct Told<T: 'static> {
    listeners: RefCell<Vec<Listener<T>>>,
    is_followed: Cell<bool>,
}

#[derive(Clone, Copy)]
struct Listener<T> {
    tell: fn(T),
    /// Whether there is anything to tell it of. Asked without a guard, which costs more than most of them have to do.
    is_due: fn() -> bool,
}

fn always() -> bool {
    true
}

thread_local! {
    static OF_TRANSACTIONS: Told<TransactionEnd> = const { Told::nobody() };
    static OF_STAGES: Told<Stage> = const { Told::nobody() };
    static OF_RELEASES: Told<bool> = const { Told::nobody() };
    static OF_SUBTRANSACTIONS: Told<SubtransactionEnd> = const { Told::nobody() };
}

impl<T: Copy> Told<T> {
    const fn nobody() -> Self {
        Told { listeners: RefCell::new(Vec::new()), is_followed: Cell::new(false) }
    }

    /// Adds one, if it is new. `follow` is called once.
    fn add(&self, tell: fn(T), is_due: fn() -> bool, follow: impl FnOnce()) {
        if !self.is_followed.replace(true) {
            follow();
        }
        let mut listeners = self.listeners.borrow_mut();
        if !listeners.iter().any(|known| std::ptr::fn_addr_eq(known.tell, tell)) {
            listeners.push(Listener { tell, is_due });
        }
    }

    /// Whether there is anything to tell anybody.
    fn is_due(&self) -> bool {
        self.listeners.borrow().iter().any(|listener| (listener.is_due)())
    }

    /// Tells all. Nothing is borrowed meanwhile: one may ask for another.
    fn tell(&self, end: T) {
        let mut place = 0;
        while let Some(listener) = self.at(place) {
            if (listener.is_due)() {
                // SAFETY: PostgreSQL has called, on the main thread. What fails is logged, and the others are told.
                unsafe { enter_unfailing(|| (listener.tell)(end)) };
            }
            place += 1;
        }
    }

    fn at(&self, place: usize) -> Option<Listener<T>> {
        self.listeners.borrow().get(place).copied()
    }
}

/// Has a function told of the end of each transaction of this session, from the current one on: once, however often it is asked for.
/// What fails in it is logged, and the others are told all the same.
pub fn at_transaction_end(tell: fn(TransactionEnd)) {
    // SAFETY: on the main thread; a callback for the life of this session, registered once.
    let follow = || unsafe { pg_sys::RegisterXactCallback(Some(transaction_ended), std::ptr::null_mut()) };
    OF_TRANSACTIONS.with(|told| told.add(tell, always, follow));
}

/// Has a function told of the stages of each transaction of this session, from the current one on: once, however often it is asked for. An error
/// that it raises before the end rolls the transaction back; what fails at [`Stage::Released`] is logged. Asked for while the library
/// is loaded by the postmaster, it holds for all processes.
///
/// It is not told of a stage for which `is_due` says no, which raises nothing.
pub fn at_stages(tell: fn(Stage), is_due: fn() -> bool) {
    // SAFETY: as above.
    let follow = || unsafe {
        pg_sys::RegisterXactCallback(Some(transaction_ends), std::ptr::null_mut());
        pg_sys::RegisterResourceReleaseCallback(Some(resources_released), std::ptr::null_mut());
    };
    OF_STAGES.with(|told| told.add(tell, is_due, follow));
}

callback! {
    unsafe fn transaction_ends(event: XactEvent::Type, _argument: *mut std::ffi::c_void)
    if matches!(event, XACT_EVENT_PRE_COMMIT | XACT_EVENT_PRE_PREPARE) && OF_STAGES.with(Told::is_due) => {
        ends(if event == XACT_EVENT_PRE_PREPARE { Stage::BeforePrepare } else { Stage::BeforeCommit });
    }
}

/// Tells that the transaction is about to end; an error rolls it back.
#[inline(never)]
fn ends(stage: Stage) {
    OF_STAGES.with(|told| {
        let mut place = 0;
        while let Some(listener) = told.at(place) {
            if (listener.is_due)() {
                (listener.tell)(stage);
            }
            place += 1;
        }
    });
}

infallible_callback! {
    unsafe fn resources_released(
        phase: pg_sys::ResourceReleasePhase::Type,
        commits: bool,
        is_top: bool,
        _argument: *mut std::ffi::c_void,
    ) {
        if is_top && phase == pg_sys::ResourceReleasePhase::RESOURCE_RELEASE_AFTER_LOCKS {
            released(commits);
        }
    }
}

/// By itself, as its caller is called for each owner of resources and each phase, and has mostly nothing to do.
#[inline(never)]
fn released(commits: bool) {
    OF_STAGES.with(|told| told.tell(Stage::Released { commits }));
}

/// The same for the moment when its locks are released: after a commit everybody else has been told by then what it has changed, which they have
/// not when [`at_transaction_end`] tells. It hears whether the transaction has committed, or was prepared.
pub fn at_release(tell: fn(bool)) {
    // SAFETY: as above.
    let follow =
        || unsafe { pg_sys::RegisterResourceReleaseCallback(Some(locks_released), std::ptr::null_mut()) };
    OF_RELEASES.with(|told| told.add(tell, always, follow));
}

infallible_callback! {
    unsafe fn locks_released(
        phase: pg_sys::ResourceReleasePhase::Type,
        commits: bool,
        is_top: bool,
        _argument: *mut std::ffi::c_void,
    ) {
        if is_top && phase == pg_sys::ResourceReleasePhase::RESOURCE_RELEASE_AFTER_LOCKS {
            OF_RELEASES.with(|told| told.tell(commits));
        }
    }
}

/// The same for the end of each subtransaction.
pub fn at_subtransaction_end(tell: fn(SubtransactionEnd)) {
    // SAFETY: as above.
    let follow =
        || unsafe { pg_sys::RegisterSubXactCallback(Some(subtransaction_ended), std::ptr::null_mut()) };
    OF_SUBTRANSACTIONS.with(|told| told.add(tell, always, follow));
}

infallible_callback! {
    unsafe fn transaction_ended(event: XactEvent::Type, _argument: *mut std::ffi::c_void) {
        if let Some(end) = TransactionEnd::of(event) {
            OF_TRANSACTIONS.with(|told| told.tell(end));
        }
    }
}

infallible_callback! {
    unsafe fn subtransaction_ended(
        event: SubXactEvent::Type,
        own: SubTransactionId,
        parent: SubTransactionId,
        _argument: *mut std::ffi::c_void,
    ) {
        let end = match event {
            SUBXACT_EVENT_COMMIT_SUB => SubtransactionEnd::Committed(own, parent),
            SUBXACT_EVENT_ABORT_SUB => SubtransactionEnd::RolledBack(own),
            _ => return,
        };
        OF_SUBTRANSACTIONS.with(|told| told.tell(end));
    }
}
