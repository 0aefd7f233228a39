//! Looks for rows, of which one follows another (`line.rs`).

use std::cell::Cell;
use std::rc::Rc;

/// Looks that are under way, and what came of those that are not.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    pub(crate) under_way: Cell<usize>,
    /// Looks that shall follow.
    pub(crate) following: Cell<usize>,
    /// Rows that have come and for which nobody was sent.
    pub(crate) rows: Cell<u64>,
}

/// A look for any row. Unless it finds nothing, another follows when it is dropped.
#[derive(Debug)]
pub struct Look {
    looks: Rc<Looks>,
    is_in_vain: bool,
}

impl Look {
    pub(crate) fn new(looks: &Rc<Looks>) -> Look {
        looks.under_way.update(|count| count + 1);
        Look { looks: looks.clone(), is_in_vain: false }
    }

    pub(crate) fn find_nothing(mut self) {
        self.is_in_vain = true;
        self.looks.rows.set(0);
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        self.looks.under_way.update(|count| count - 1);
        if !self.is_in_vain {
            self.looks.following.update(|count| count + 1);
        }
    }
}
