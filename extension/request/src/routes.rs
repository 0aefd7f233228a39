//! Routes by method and path, and pages beside them: where a route and a page have the same method and pattern, `Accept` decides.

use std::collections::HashMap;

use files::Mounts;
use form::accept::prefers_html;
use message::Request;
use router::{InsertError, Match, Params, Router};

use super::endpoint::{Endpoint, Registration, Target};
use super::form_path;
use super::page_form::PageForm;

/// Which endpoint answers, by its place.
#[derive(Default)]
pub struct Routes {
    router: Router,
    /// Routes beside which there is a page, by method and pattern.
    paired: HashMap<(String, String), usize>,
    /// The page beside the route at a place, as far as there are some.
    pages: Vec<Option<u32>>,
    /// Where static files answer what no route does.
    pub files: Mounts,
    /// Forms, and the places of the endpoints that run the function of its page.
    forms: Vec<(PageForm, Vec<usize>)>,
}

/// The answering side of a request, as far as the request itself tells.
pub enum Way<'t, 'p> {
    /// The endpoint at this place, with the path's parameters.
    Route(usize, Params<'t, 'p>),
    /// The query handlers; if none answers, 405 with this Allow, or 404.
    Handlers(Option<&'t str>),
    /// OPTIONS, answered with this Allow.
    Options(&'t str),
    /// The path cannot be decoded.
    BadPath(String),
}

impl Routes {
    /// No routes yet; static files answer at these places.
    pub(crate) fn with_files(files: Mounts) -> Routes {
        Routes { files, ..Routes::default() }
    }

    /// Adds what is registered, at this place; a page beside a route after it. Query handlers have no path.
    pub(crate) fn add(&mut self, registered: &Registration, place: usize) -> Result<(), InsertError> {
        let Target::Function { method, pattern, is_page, .. } = &registered.target else { return Ok(()) };
        if !registered.by_accept {
            return self.router.insert(method, pattern, place as u32);
        }
        let named = (method.clone(), pattern.clone());
        match self.paired.get(&named) {
            Some(route) if *is_page => {
                self.pages.resize(self.pages.len().max(route + 1), None);
                self.pages[*route] = Some(place as u32);
            }
            _ => {
                self.router.insert(method, pattern, place as u32)?;
                self.paired.insert(named, place);
            }
        }
        Ok(())
    }

    /// Finds what answers. The gateway and the executor both do: an executor's table may be newer.
    pub fn way<'t, 'p>(&'t self, request: &Request<'p>) -> Way<'t, 'p> {
        match self.router.lookup(request.method(), request.raw_path()) {
            Err(error) => Way::BadPath(error.to_string()),
            Ok(Match::Found(found)) => Way::Route(self.accepted(found.route, request), found.params),
            Ok(Match::Options { allow }) => Way::Options(allow),
            Ok(Match::MethodNotAllowed { allow }) => Way::Handlers(Some(allow)),
            Ok(Match::NotFound) => Way::Handlers(None),
        }
    }

    /// The endpoint that answers GET where a request goes, as its client prefers it.
    pub(crate) fn read<'t, 'p>(&'t self, request: &Request<'p>) -> Option<(usize, Params<'t, 'p>)> {
        let Ok(Match::Found(found)) = self.router.lookup("GET", request.raw_path()) else { return None };
        Some((self.accepted(found.route, request), found.params))
    }

    /// Finds the forms among the endpoints, which have been added.
    pub(crate) fn add_forms(&mut self, endpoints: &[Endpoint]) {
        if endpoints.iter().all(|endpoint| endpoint.registration.form_page.is_none()) {
            return;
        }
        let mut by_function: HashMap<&str, Vec<usize>> = HashMap::new();
        for (place, endpoint) in endpoints.iter().enumerate() {
            if let Some(function) = endpoint.registration.target.function() {
                by_function.entry(function).or_default().push(place);
            }
        }
        let forms = endpoints.iter().enumerate().filter_map(|(place, endpoint)| {
            let registration = &endpoint.registration;
            // Browsers send forms to the page, where one stands beside the route.
            let is_of_programs = registration.by_accept && !registration.target.is_page();
            let form = PageForm::of(registration, place).filter(|_| !is_of_programs)?;
            let path =
                form_path::filled(registration.form_page.as_deref()?, |_| Some("a form's page".into()))?;
            let functions = self.places_at(&path).into_iter();
            let functions = functions.filter_map(|page| endpoints[page].registration.target.function());
            Some((form, functions.flat_map(|function| by_function[function].iter().copied()).collect()))
        });
        self.forms = forms.collect();
    }

    /// The places of the route that answers GET at a path, and of the page beside it.
    fn places_at(&self, raw_path: &str) -> Vec<usize> {
        let Ok(Match::Found(found)) = self.router.lookup("GET", raw_path) else { return Vec::new() };
        let page = self.pages.get(found.route as usize).copied().flatten();
        [Some(found.route), page].into_iter().flatten().map(|place| place as usize).collect()
    }

    /// The forms whose page is that of this place.
    pub(crate) fn forms_of(&self, place: usize) -> impl Iterator<Item = &PageForm> {
        self.forms.iter().filter(move |(_, pages)| pages.contains(&place)).map(|(form, _)| form)
    }

    /// The form of a pattern, or the one that answers a path.
    pub(crate) fn form_named(&self, name: &str) -> Option<&PageForm> {
        let mut forms = self.forms.iter().map(|(form, _)| form);
        forms.clone().find(|form| form.pattern == name).or_else(|| {
            let place = |method| self.place_for_browsers(method, name);
            let places = ["POST", "PUT", "PATCH", "DELETE"].map(place);
            forms.find(|form| places.contains(&Some(form.place)))
        })
    }

    /// The place of what answers a browser: the page, where one stands beside the route.
    fn place_for_browsers(&self, method: &str, raw_path: &str) -> Option<usize> {
        let Ok(Match::Found(found)) = self.router.lookup(method, raw_path) else { return None };
        let page = self.pages.get(found.route as usize).copied().flatten();
        Some(page.unwrap_or(found.route) as usize)
    }

    /// The methods that have a route where a request goes.
    pub(crate) fn allow(&self, request: &Request<'_>) -> Option<&str> {
        self.router.allow(request.raw_path())
    }

    /// The route, or the page beside it.
    fn accepted(&self, route: u32, request: &Request<'_>) -> usize {
        let page = self.pages.get(route as usize).copied().flatten();
        let accept = || request.headers().filter(|(name, _)| *name == "accept").map(|(_, value)| value);
        page.filter(|_| prefers_html(accept())).unwrap_or(route) as usize
    }
}
