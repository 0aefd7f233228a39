//! Elements that are open, for warnings, and to know where others than HTML's rules may hold.

use std::rc::Rc;

use crate::elements;

/// So many are followed; deeper pages are read with care and without warnings.
const MOST_OPEN: usize = 500;

#[derive(Clone, Debug, Default)]
pub(crate) struct OpenElements {
    stack: Vec<(Rc<str>, usize)>,
    /// Whether it is not certain any more that an element of other rules has ended.
    is_uncertain: bool,
    is_full: bool,
}

/// A warning: place and message.
pub(crate) type ElementWarning = (usize, String);

impl OpenElements {
    /// Whether what is read may be read by other rules than HTML's.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.is_uncertain || self.is_full || self.stack.iter().any(|(name, _)| elements::is_foreign(name))
    }

    pub(crate) fn open(&mut self, name: &str, is_self_closing: bool, at: usize) {
        if elements::is_void(name) {
            return;
        }
        let is_foreign = elements::is_foreign(name) || self.is_doubtful();
        if is_self_closing && is_foreign && name != "select" && name != "frameset" {
            // `<div/>` within HTML within SVG is open.
            self.is_uncertain |=
                self.stack.iter().any(|(name, _)| elements::is_integration(name) || &**name == "select");
            return;
        }
        match self.stack.len() < MOST_OPEN {
            true => self.stack.push((name.into(), at)),
            false => self.is_full = true,
        }
    }

    pub(crate) fn close(&mut self, name: &str, at: usize) -> Vec<ElementWarning> {
        if elements::is_void(name) || self.is_full {
            return Vec::new();
        }
        let Some(place) = self.stack.iter().rposition(|(open, _)| &**open == name) else {
            self.is_uncertain |= self.is_doubtful();
            // The parser makes a whole element of these.
            let is_made = matches!(name, "p" | "br");
            return if is_made { Vec::new() } else { vec![(at, format!("</{name}> closes nothing"))] };
        };
        let is_list = |open: &str| matches!(open, "option" | "optgroup" | "select");
        let is_doubtful = self.is_doubtful();
        let left = self.stack.split_off(place);
        let between = &left[1..];
        if is_doubtful && !between.is_empty() && !left.iter().all(|(open, _)| is_list(open)) {
            self.is_uncertain = true;
        }
        let unclosed = between.iter().filter(|(open, _)| !elements::may_stay_open(open));
        unclosed.map(|(open, at)| (*at, format!("<{open}> is never closed"))).collect()
    }

    /// Warnings at the end of the file.
    pub(crate) fn end(self) -> Vec<ElementWarning> {
        let open = self.stack.into_iter().filter(|(open, _)| !self.is_full && !elements::may_stay_open(open));
        open.map(|(open, at)| (at, format!("<{open}> is never closed"))).collect()
    }

    /// Goes on behind branches; whether they differ in what they leave open.
    pub(crate) fn join(&mut self, branches: Vec<OpenElements>) -> bool {
        let mut branches = branches.into_iter();
        let Some(first) = branches.next() else { return false };
        let names = |open: &OpenElements| open.stack.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let (mut differs, of_first) = (false, names(&first));
        let mut is_uncertain = first.is_uncertain;
        for branch in branches {
            differs |= names(&branch) != of_first;
            is_uncertain |= branch.is_uncertain || branch.is_doubtful() != first.is_doubtful();
        }
        *self = first;
        self.is_uncertain |= is_uncertain;
        differs
    }
}
