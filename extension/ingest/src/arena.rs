//! The memory of a bucket's values: it only grows, nothing in it moves, and no call into PostgreSQL is needed for it.

/// Bytes of the first piece; each is twice as large as the one before, up to the largest.
const FIRST: usize = 8 << 10;
const LARGEST: usize = 1 << 20;

/// Memory that is given out piecemeal and freed as a whole.
#[derive(Default)]
pub(crate) struct Arena {
    pieces: Vec<Box<[u64]>>,
    used: usize,
}

impl Arena {
    /// So many bytes, aligned to eight. They stay where they are for as long as the arena.
    pub(crate) fn bytes(&mut self, count: usize) -> &mut [u8] {
        let size = count.next_multiple_of(8);
        let room = self.pieces.last().map_or(0, |piece| piece.len() * 8);
        if self.used + size > room {
            let piece = size.max((2 * room).clamp(FIRST, LARGEST));
            self.pieces.push(vec![0u64; piece / 8].into_boxed_slice());
            self.used = 0;
        }
        let start = self.used;
        self.used += size;
        let piece = self.pieces.last_mut().expect("there is a piece, it has just been looked at");
        // SAFETY: plain integers, seen as their bytes.
        let bytes = unsafe { piece.align_to_mut::<u8>().1 };
        &mut bytes[start..start + count]
    }

    /// A value of variable length, with the short header if it fits.
    pub(crate) fn varlena(&mut self, content: &[u8]) -> pgrx::pg_sys::Datum {
        const SHORT: usize = 127;
        let header = if content.len() < SHORT { 1 } else { 4 };
        let bytes = self.bytes(header + content.len());
        bytes[header..].copy_from_slice(content);
        let start = bytes.as_mut_ptr();
        // SAFETY: there is room for the header.
        unsafe {
            let length = (header + content.len()) as i32;
            match header {
                1 => pgrx::set_varsize_short(start.cast(), length),
                _ => pgrx::set_varsize_4b(start.cast(), length),
            }
        }
        pgrx::pg_sys::Datum::from(start)
    }
}
