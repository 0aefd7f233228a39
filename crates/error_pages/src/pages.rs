//! The pages of a database, and the response with one of them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use message::{Response, ResponseBuilder, vary_by};
use serde::Deserialize;

use crate::built_in;
use crate::template::{PageTemplate, PageValues};
use crate::wish::PageWish;

/// The error pages of a database.
#[derive(Debug)]
pub struct ErrorPages {
    /// Whether there is a page where no other is.
    has_built_in: bool,
    /// Longer prefixes first: what lies below another is longer.
    sets: Vec<PageSet>,
}

/// The pages of an application.
#[derive(Debug)]
struct PageSet {
    prefix: Box<str>,
    /// By status, and whether the fault is told.
    pages: HashMap<(u16, bool), Rc<PageTemplate>>,
}

impl PageSet {
    fn has(&self, path: &str) -> bool {
        let below = path.strip_prefix(self.prefix.trim_end_matches('/'));
        &*self.prefix == "/" || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// The part of a problem document that a page shows.
#[derive(Deserialize)]
struct Told<'a> {
    #[serde(borrow, default)]
    detail: Option<Cow<'a, str>>,
}

/// The page that is built in, and no other.
impl Default for ErrorPages {
    fn default() -> Self {
        Self { has_built_in: true, sets: Vec::new() }
    }
}

impl ErrorPages {
    /// Says whether errors without another page get the one that is built in, or their documents.
    pub fn set_built_in(&mut self, has_built_in: bool) {
        self.has_built_in = has_built_in;
    }

    /// Adds the page that stands for some errors at a prefix and below it: for those whose fault is told, for the others, or for all.
    pub fn add(
        &mut self,
        prefix: &str,
        statuses: impl IntoIterator<Item = u16>,
        with_detail: Option<bool>,
        page: PageTemplate,
    ) {
        let place = self.sets.iter().position(|set| &*set.prefix == prefix);
        let place = place.unwrap_or_else(|| {
            let place = self.sets.partition_point(|set| set.prefix.len() > prefix.len());
            self.sets.insert(place, PageSet { prefix: prefix.into(), pages: HashMap::new() });
            place
        });
        let (pages, page) = (&mut self.sets[place].pages, Rc::new(page));
        for status in statuses {
            for told in [false, true] {
                if with_detail.is_none_or(|with| with == told) {
                    pages.insert((status, told), Rc::clone(&page));
                }
            }
        }
    }

    /// The response with a page, of one with the document of an error that no handler has written; none if it is no such response, or there is no page. Status and
    /// headers stay.
    pub fn response(&self, document: &[u8], wish: &PageWish) -> Option<Vec<u8>> {
        let problem = Response::parse(document).ok()?;
        if !problem.is_problem() || problem.status() < 400 || !wish.is_meant() {
            return None;
        }
        let told: Told<'_> = serde_json::from_slice(problem.body()).unwrap_or(Told { detail: None });
        let id = problem.headers().find(|(name, _)| *name == b"x-request-id").map(|(_, value)| value);
        let values = PageValues {
            detail: told.detail.as_deref().unwrap_or_default(),
            request_id: id.and_then(|id| std::str::from_utf8(id).ok()).unwrap_or_default(),
            path: wish.path(),
        };
        let mut response = head(&problem)?;
        match self.page(wish.path(), problem.status(), told.detail.is_some()) {
            Some(page) => page.write(&values, &mut response),
            None if self.has_built_in => built_in::write(problem.status(), &values, &mut response),
            None => return None,
        }
        Some(response)
    }

    fn page(&self, path: &str, status: u16, is_told: bool) -> Option<&PageTemplate> {
        let set = self.sets.iter().find(|set| set.has(path))?;
        set.pages.get(&(status, is_told)).map(|page| &**page)
    }
}

/// The response without its body, which is HTML from now on.
fn head(problem: &Response<'_>) -> Option<Vec<u8>> {
    let mut builder = ResponseBuilder::new(problem.status()).ok()?;
    builder.header("content-type", "text/html; charset=utf-8").ok()?;
    for (name, value) in problem.headers().filter(|(name, _)| *name != b"content-type") {
        builder.header(name, value).ok()?;
    }
    if problem.closes() {
        builder.close();
    }
    let mut head = builder.finish_head();
    vary_by(&mut head, "accept");
    Some(head)
}
