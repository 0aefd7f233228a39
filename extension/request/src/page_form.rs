//! A form: a route that names a page of its own.

use std::cell::RefCell;
use std::ffi::CString;
use std::rc::Rc;

use session::invalidations;

use super::described_form::DescribedForm;
use super::endpoint::{Registration, Target};
use super::types::Types;

/// A form.
pub struct PageForm {
    /// The method of its route.
    pub method: String,
    /// The pattern of its route.
    pub pattern: String,
    /// The function of its route, as text that `regprocedure` reads.
    function: String,
    /// The path in which that is read.
    search_path: CString,
    /// The place of its route.
    pub(super) place: usize,
    /// Its fields, as of [`invalidations::epoch`].
    described: RefCell<Option<(u64, Rc<DescribedForm>)>>,
}

impl PageForm {
    /// The form of a route; none if it names no page.
    pub(super) fn of(registration: &Registration, place: usize) -> Option<PageForm> {
        registration.form_page.as_ref()?;
        let Target::Function { method, pattern, function, .. } = &registration.target else { return None };
        Some(PageForm {
            method: method.clone(),
            pattern: pattern.clone(),
            function: function.clone(),
            search_path: registration.search_path.clone(),
            place,
            described: RefCell::default(),
        })
    }

    /// Its fields: looked up once, and again when the catalogs have changed.
    ///
    /// # Safety
    /// On the main thread, inside a transaction; errors unwind.
    pub unsafe fn described(&self, types: &Types) -> Rc<DescribedForm> {
        let now = invalidations::epoch();
        if let Some((epoch, known)) = &*self.described.borrow()
            && *epoch == now
        {
            return known.clone();
        }
        // SAFETY: by contract.
        let found = unsafe { DescribedForm::look_up(&self.function, &self.search_path, types) };
        let found = Rc::new(found);
        *self.described.borrow_mut() = Some((now, found.clone()));
        found
    }
}
