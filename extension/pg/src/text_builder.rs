//! A text that is written piece by piece into PostgreSQL's memory, as a value.

use pgrx::pg_sys::{self, Datum};

/// The longest that PostgreSQL makes: its `MaxAllocSize`.
const MOST: usize = 0x3fff_ffff;

/// A text that grows: `text`, or a type that is laid out like it. It owns nothing that has to be dropped: its memory is the current context's.
pub struct TextBuilder {
    text: *mut u8,
    /// The bytes that are written, with the head.
    size: usize,
    /// The bytes that there is room for.
    room: usize,
}

impl TextBuilder {
    /// A text with room for so many bytes; it grows when it gets more.
    ///
    /// # Safety
    /// Inside a guard, as all calls of it: a lack of memory is raised.
    pub unsafe fn with_room(bytes: usize) -> TextBuilder {
        let room = pg_sys::VARHDRSZ + bytes;
        // SAFETY: by contract.
        TextBuilder { text: unsafe { super::palloc(room) }.cast(), size: pg_sys::VARHDRSZ, room }
    }

    /// Adds a piece.
    ///
    /// # Safety
    /// As of [`TextBuilder::with_room`], in the same memory context.
    pub unsafe fn push(&mut self, piece: &[u8]) {
        // SAFETY: by contract; there is room.
        unsafe {
            if piece.len() > self.room - self.size {
                self.grow(piece.len());
            }
            std::ptr::copy_nonoverlapping(piece.as_ptr(), self.text.add(self.size), piece.len());
        }
        self.size += piece.len();
    }

    #[cold]
    unsafe fn grow(&mut self, more: usize) {
        let needed = self.size + more;
        self.room = needed.max((2 * self.room).min(MOST));
        // SAFETY: by contract; one that is too long is raised.
        self.text = unsafe { super::repalloc(self.text.cast(), self.room) }.cast();
    }

    /// The bytes that are written.
    pub fn written(&self) -> &[u8] {
        // SAFETY: so many are written behind the head.
        unsafe { std::slice::from_raw_parts(self.text.add(pg_sys::VARHDRSZ), self.size - pg_sys::VARHDRSZ) }
    }

    /// The value.
    pub fn finish(self) -> Datum {
        // SAFETY: there is room for the head, and PostgreSQL's memory is no longer than an `i32`.
        unsafe { pgrx::set_varsize_4b(self.text.cast(), self.size as i32) };
        Datum::from(self.text)
    }
}
