//! Short texts in shared memory.

use std::sync::atomic::{AtomicU64, Ordering};

/// A text of at most `WORDS * 8` bytes; longer ones are cut at a character.
///
/// One process writes it before it publishes the entry that the text is part of. A reader that meets a
/// writer sees a mixture of two texts, never anything invalid.
#[derive(Debug)]
#[repr(C)]
pub struct Text<const WORDS: usize>([AtomicU64; WORDS]);

impl<const WORDS: usize> Default for Text<WORDS> {
    fn default() -> Self {
        Text([const { AtomicU64::new(0) }; WORDS])
    }
}

impl<const WORDS: usize> Text<WORDS> {
    /// Writes `text`.
    pub fn set(&self, text: &str) {
        let bytes = &text.as_bytes()[..text.floor_char_boundary(WORDS * 8)];
        for (place, word) in self.0.iter().enumerate() {
            let rest = bytes.get(place * 8..).unwrap_or_default();
            let mut value = [0; 8];
            let length = rest.len().min(8);
            value[..length].copy_from_slice(&rest[..length]);
            word.store(u64::from_ne_bytes(value), Ordering::Relaxed);
        }
    }

    /// The text.
    pub fn get(&self) -> String {
        let bytes: Vec<u8> =
            self.0.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.0.first().is_none_or(|word| word.load(Ordering::Relaxed) == 0)
    }

    /// Whether it is `text`, as far as it fits.
    pub fn is(&self, text: &str) -> bool {
        self.get() == text[..text.floor_char_boundary(WORDS * 8)]
    }
}
