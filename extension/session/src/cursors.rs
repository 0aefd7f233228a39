//! Cursors of a session while a request of `http.call` runs in it. It finds none of the caller's, who may read more than the request's
//! role. It leaves none: a cursor that is held runs its query at the commit, as whoever is current then.

use std::ffi::{CStr, c_char};

use pg::refuse::refuse;
use pgrx::pg_sys::{self, Portal};
use pgrx::prelude::*;

use super::process_tables::{ProcessTable, unknown_layout};

/// Bytes of a name (`MAX_PORTALNAME_LEN` of portalmem.c).
const NAME: usize = pg_sys::NAMEDATALEN as usize;

/// An entry of PostgreSQL's table of portals (`PortalHashEnt` of portalmem.c), the same from 15 to 18.
#[repr(C)]
struct Entry {
    name: [c_char; NAME],
    portal: Portal,
}

thread_local! {
    static PORTALS: ProcessTable = const { ProcessTable::named(c"Portal hash") };
}

/// Runs `work`, which neither finds nor closes what is open now.
pub(crate) fn hidden<T>(work: impl FnOnce() -> T) -> T {
    /// As they were, after an error as well.
    struct Hidden(Vec<HiddenPortal>);
    impl Drop for Hidden {
        fn drop(&mut self) {
            self.0.drain(..).for_each(HiddenPortal::show);
        }
    }
    let mut hidden = Hidden(Vec::new());
    for entry in entries() {
        let name = random_name();
        // SAFETY: an entry of the table, of which nothing has gone since.
        hidden.0.push(unsafe { HiddenPortal::hide(entry, name) });
    }
    let result = work();
    drop(hidden);
    result
}

/// Closes what the subtransaction that runs has opened.
///
/// # Safety
/// Inside a guard and a subtransaction.
pub(crate) unsafe fn close_own() {
    // SAFETY: by contract. Closing one closes no other.
    unsafe {
        let current = pg_sys::GetCurrentSubTransactionId();
        for entry in entries() {
            let portal = (*entry).portal;
            if (*portal).createSubid == current && (*portal).status != pg_sys::PortalStatus::PORTAL_ACTIVE {
                pg_sys::PortalDrop(portal, false);
            }
        }
    }
}

fn entries() -> Vec<*mut Entry> {
    let mut entries = Vec::new();
    // SAFETY: the table's entries. The portal says where its name is, or is laid out otherwise.
    unsafe {
        PORTALS.with(|table| {
            table.for_each(|entry: *mut Entry| {
                if !std::ptr::eq((*(*entry).portal).name, (*entry).name.as_ptr()) {
                    unknown_layout("portals");
                }
                entries.push(entry);
            });
        });
    }
    entries
}

/// A name that nobody can guess.
fn random_name() -> [c_char; NAME] {
    let mut random = [0u8; NAME / 2 - 1];
    // SAFETY: as many bytes as there is room for.
    if !unsafe { pg_sys::pg_strong_random(random.as_mut_ptr().cast(), random.len()) } {
        refuse(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, "there is no randomness for the name of a cursor");
    }
    let mut name = [0; NAME];
    for (place, byte) in random.into_iter().enumerate() {
        name[2 * place] = (b'a' + (byte >> 4)) as c_char;
        name[2 * place + 1] = (b'a' + (byte & 15)) as c_char;
    }
    name
}

/// A portal under another name, in no view, that looks as if it ran: so CLOSE ALL leaves it.
struct HiddenPortal {
    entry: *mut Entry,
    name: [c_char; NAME],
    visible: bool,
    status: pg_sys::PortalStatus::Type,
}

impl HiddenPortal {
    /// # Safety
    /// An entry of the table.
    unsafe fn hide(entry: *mut Entry, name: [c_char; NAME]) -> HiddenPortal {
        // SAFETY: by contract.
        unsafe {
            let portal = (*entry).portal;
            let mut before = [0; NAME];
            let length = CStr::from_ptr((*entry).name.as_ptr()).count_bytes().min(NAME - 1);
            before[..length].copy_from_slice(&(&(*entry).name)[..length]);
            let visible = std::mem::replace(&mut (*portal).visible, false);
            let status = std::mem::replace(&mut (*portal).status, pg_sys::PortalStatus::PORTAL_ACTIVE);
            rename(entry, &name);
            HiddenPortal { entry, name: before, visible, status }
        }
    }

    fn show(self) {
        // SAFETY: what looks as if it ran is there as long as the work above it.
        unsafe {
            let portal = (*self.entry).portal;
            rename(self.entry, &self.name);
            (*portal).visible = self.visible;
            (*portal).status = self.status;
        }
    }
}

/// # Safety
/// An entry of the table; no other has the name.
unsafe fn rename(entry: *mut Entry, name: &[c_char; NAME]) {
    // SAFETY: by contract.
    PORTALS.with(|table| unsafe { table.rename(entry, name.as_ptr().cast()) });
}
