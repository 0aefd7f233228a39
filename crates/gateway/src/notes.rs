//! What the owner should write down: what a kernel has refused, and what is lost by it.

use std::cell::RefCell;
use std::io;

/// Notes, each of which is made once in the server's life.
#[derive(Default)]
pub(crate) struct Notes {
    made: RefCell<Vec<&'static str>>,
    new: RefCell<Vec<String>>,
}

impl Notes {
    /// The kernel has refused something; the text says what is lost by that.
    pub(crate) fn refused(&self, lost: &'static str, error: &io::Error) {
        let mut made = self.made.borrow_mut();
        if !made.contains(&lost) {
            made.push(lost);
            self.new
                .borrow_mut()
                .push(format!("{lost}, as the kernel refuses what would prevent it: {error}"));
        }
    }

    /// Those that have been made since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        self.new.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_made_once() {
        let notes = Notes::default();
        let error = io::Error::from(io::ErrorKind::PermissionDenied);
        notes.refused("this", &error);
        notes.refused("this", &error);
        notes.refused("that", &error);
        let taken = notes.take();
        assert_eq!(taken.len(), 2);
        assert!(taken[0].starts_with("this, as the kernel refuses"), "{taken:?}");
        notes.refused("this", &error);
        assert!(notes.take().is_empty());
    }
}
