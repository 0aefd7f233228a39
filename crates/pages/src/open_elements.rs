//! Elements that are open, for warnings, and to know where others than HTML's rules may hold.

use std::iter;
use std::rc::Rc;

use crate::elements;

/// So many are followed; deeper pages are read with care and without warnings.
const MOST_OPEN: usize = 500;

/// An element and those around it. Branches share what was open before them.
#[derive(Debug)]
struct OpenElement {
    name: String,
    at: usize,
    around: Option<Rc<OpenElement>>,
    depth: usize,
    /// Whether it, or one around it, is of other rules.
    is_foreign: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct OpenElements {
    innermost: Option<Rc<OpenElement>>,
    /// Whether it is not certain any more that an element of other rules has ended.
    is_uncertain: bool,
    is_full: bool,
}

/// A warning: place and message.
pub(crate) type ElementWarning = (usize, String);

impl OpenElements {
    /// Elements from the innermost outwards.
    fn all(&self) -> impl Iterator<Item = &OpenElement> {
        iter::successors(self.innermost.as_deref(), |element| element.around.as_deref())
    }

    /// Whether what is read may be read by other rules than HTML's.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.is_uncertain || self.is_full || self.innermost.as_ref().is_some_and(|element| element.is_foreign)
    }

    pub(crate) fn open(&mut self, name: &str, is_self_closing: bool, at: usize) {
        if elements::is_void(name) {
            return;
        }
        let is_foreign =
            elements::is_foreign(name) || self.innermost.as_ref().is_some_and(|element| element.is_foreign);
        if is_self_closing && (is_foreign || self.is_doubtful()) && name != "select" && name != "frameset" {
            // `<div/>` within HTML within SVG is open.
            let is_open =
                |element: &OpenElement| elements::is_integration(&element.name) || element.name == "select";
            let may_be_open = self.all().any(is_open);
            self.is_uncertain |= may_be_open;
            return;
        }
        let depth = self.innermost.as_ref().map_or(0, |element| element.depth) + 1;
        if depth > MOST_OPEN {
            self.is_full = true;
            return;
        }
        let around = self.innermost.take();
        self.innermost = Some(Rc::new(OpenElement { name: name.to_owned(), at, around, depth, is_foreign }));
    }

    pub(crate) fn close(&mut self, name: &str, at: usize) -> Vec<ElementWarning> {
        if elements::is_void(name) || self.is_full {
            return Vec::new();
        }
        let is_doubtful = self.is_doubtful();
        let Some(closed) = self.all().find(|element| element.name == name) else {
            self.is_uncertain |= is_doubtful;
            // The parser makes a whole element of these.
            let is_made = matches!(name, "p" | "br");
            return if is_made { Vec::new() } else { vec![(at, format!("</{name}> closes nothing"))] };
        };
        let left: Vec<&OpenElement> = self.all().take_while(|element| element.depth > closed.depth).collect();
        let is_list = |element: &&OpenElement| matches!(element.name.as_str(), "option" | "optgroup");
        let is_uncertain = is_doubtful && !left.is_empty() && !(name == "select" && left.iter().all(is_list));
        let unclosed = left.iter().rev().filter(|element| !elements::may_stay_open(&element.name));
        let warnings =
            unclosed.map(|element| (element.at, format!("<{}> is never closed", element.name))).collect();
        let around = closed.around.clone();
        self.innermost = around;
        self.is_uncertain |= is_uncertain;
        warnings
    }

    /// Warnings at the end of the file.
    pub(crate) fn end(&self) -> Vec<ElementWarning> {
        let open = self.all().filter(|element| !self.is_full && !elements::may_stay_open(&element.name));
        open.map(|element| (element.at, format!("<{}> is never closed", element.name))).collect()
    }

    /// Goes on behind branches; whether they differ in what they leave open.
    pub(crate) fn join(&mut self, branches: Vec<OpenElements>) -> bool {
        let mut branches = branches.into_iter();
        let Some(first) = branches.next() else { return false };
        let (mut differs, mut is_uncertain) = (false, first.is_uncertain);
        for branch in branches {
            differs |= !branch.is_like(&first);
            is_uncertain |= branch.is_uncertain || branch.is_doubtful() != first.is_doubtful();
        }
        *self = first;
        self.is_uncertain |= is_uncertain;
        differs
    }

    /// Whether the same elements are open, but for those that need not be closed.
    fn is_like(&self, other: &OpenElements) -> bool {
        let (mut one, mut two) = (&self.innermost, &other.innermost);
        loop {
            (one, two) = (to_be_closed(one), to_be_closed(two));
            match (one, two) {
                (None, None) => return true,
                (Some(first), Some(second)) if Rc::ptr_eq(first, second) => return true,
                (Some(first), Some(second)) if first.name == second.name => {
                    (one, two) = (&first.around, &second.around)
                }
                _ => return false,
            }
        }
    }
}

/// The innermost element that has to be closed.
fn to_be_closed(mut element: &Option<Rc<OpenElement>>) -> &Option<Rc<OpenElement>> {
    while let Some(open) = element
        && elements::may_stay_open(&open.name)
    {
        element = &open.around;
    }
    element
}
