//! A route or a query handler: what is configured, and its compiled plans.

use std::cell::Cell;
use std::ffi::CString;
use std::sync::atomic::Ordering::Relaxed;

use pg::guard::PgError;
use pg::log_line;
use pgrx::pg_sys::{self, Oid};
use session::invalidations;
use shared::routes::{Known, RouteCounters, RouteKey, RouteKind};
use shared::shared;

use super::admission;
use super::caching::Caching;
use super::function::Function;
use super::plan::Plan;
use super::plan_memory::PlanMemory;
use super::standing::FunctionVersion;

/// What the user has registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A function, as text that `regprocedure` reads.
    Function {
        /// Method of the route, in upper case, or `*`.
        method: String,
        /// Pattern of the route.
        pattern: String,
        /// The function with its argument types.
        function: String,
        /// Who owned it when it was registered, if that is known.
        owner: Option<String>,
        /// Whether it is a page: where a route has the same method and pattern, it answers who prefers HTML.
        is_page: bool,
    },
    /// A statement over the relation `request`.
    Statement {
        /// Name of the handler.
        name: String,
        /// The text of the user.
        statement: String,
    },
}

/// The first route that finds no place for its counters is told, and no other before one is given back.
fn tell_no_room(key: &RouteKey<'_>) {
    log_line::log!(
        "howdah: no room for the statistics and the limit of {} {}: howdah.max_routes is {}; raise it and restart the server",
        key.method,
        key.pattern,
        shared().routes.capacity()
    );
}

impl Target {
    /// For people: `GET /users/{handle}`, `page GET /users/{handle}`, or `handler users`.
    pub(crate) fn title(&self) -> String {
        match self {
            Target::Function { method, pattern, is_page: true, .. } => format!("page {method} {pattern}"),
            Target::Function { method, pattern, .. } => format!("{method} {pattern}"),
            Target::Statement { name, .. } => format!("handler {name}"),
        }
    }

    /// The function as it is registered, if it is one.
    pub(crate) fn function(&self) -> Option<&str> {
        match self {
            Target::Function { function, .. } => Some(function),
            Target::Statement { .. } => None,
        }
    }

    /// Whether it is a page.
    pub(crate) fn is_page(&self) -> bool {
        matches!(self, Target::Function { is_page: true, .. })
    }

    /// The key of its counters.
    fn key(&self) -> RouteKey<'_> {
        // SAFETY: PostgreSQL's own variable.
        let database = unsafe { pg_sys::MyDatabaseId }.to_u32();
        match self {
            Target::Function { method, pattern, is_page, .. } => {
                let kind = if *is_page { RouteKind::Page } else { RouteKind::Route };
                RouteKey { database, kind, method, pattern }
            }
            Target::Statement { name, .. } => {
                RouteKey { database, kind: RouteKind::Handler, method: "", pattern: name }
            }
        }
    }
}

/// How an endpoint is registered; two equal ones are the same endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Registration {
    /// What runs.
    pub target: Target,
    /// As which role.
    pub role: Oid,
    /// With which search_path.
    pub search_path: CString,
    /// Whether its answers to GET have entity tags.
    pub validates: bool,
    /// How its answers to GET are kept; none if they are not.
    pub caching: Option<Caching>,
    /// Whether it takes requests that may change something from pages of other sites.
    pub takes_other_sites: bool,
    /// Where its form is shown again if it refuses a request: a path with parameters of its own; none if it is no form's.
    pub form_page: Option<String>,
    /// Whether its answers are sent as they are to whoever asks.
    pub uncompressed: bool,
    /// Whether bodies that are packed are unpacked for it.
    pub takes_compressed: bool,
    /// Whether `Accept` decides between it and another: it is a page beside a route, or a route beside a page.
    pub by_accept: bool,
}

impl Registration {
    /// One of which nothing more is said.
    pub(crate) fn new(target: Target, role: Oid, search_path: CString) -> Registration {
        Registration {
            target,
            role,
            search_path,
            validates: false,
            caching: None,
            takes_other_sites: false,
            form_page: None,
            uncompressed: false,
            takes_compressed: false,
            by_accept: false,
        }
    }

    /// Whether some of its answers have entity tags: all, or those that are kept.
    pub(crate) fn has_tags(&self) -> bool {
        self.validates || self.caching.is_some()
    }
}

/// A route or a query handler of this process.
pub(crate) struct Endpoint {
    /// How it is registered.
    pub registration: Registration,
    /// Shown in pg_stat_activity: [`Target::title`].
    pub title: CString,
    /// Its counters, as last looked for; none if it has none, as it is of one call alone.
    known: Option<Cell<Known>>,
    /// Its plans; made when it is first asked for.
    pub plans: Plans,
    /// The memory that they take.
    pub(super) memory: PlanMemory,
    /// A hash of the version of its function, as it was looked up last, or of its statement; 0 while it is not known.
    fingerprint: Cell<u64>,
}

/// The plans of an endpoint: one for each set of arguments that requests have left to their defaults.
pub(crate) enum Plans {
    /// Not asked for yet, or changed since.
    Unmade,
    /// Made.
    Made {
        /// The route's function; none for a handler.
        function: Option<Function>,
        /// The first has all arguments; the others leave some to their defaults.
        plans: Vec<Plan>,
        /// [`session::invalidations::epoch`] when role, function and right to execute it were last checked.
        checked: u64,
    },
    /// Could not be made. Tried again when the catalogs change.
    Broken {
        /// PostgreSQL's error.
        error: PgError,
        /// [`session::invalidations::epoch`] when it was tried.
        epoch: u64,
    },
}

/// `STATE_RUNNING` of utils/backend_status.h.
const RUNNING: i32 = pg_sys::BackendState::STATE_RUNNING as i32;

impl Endpoint {
    /// An endpoint without plans and counters: what it does is told to nobody, as its registration may never be committed.
    pub(crate) fn uncounted(registration: Registration) -> Self {
        let mut endpoint = Endpoint::new(registration);
        endpoint.known = None;
        endpoint
    }

    /// An endpoint without plans.
    pub(crate) fn new(registration: Registration) -> Self {
        let title = registration.target.title();
        let fingerprint = match &registration.target {
            Target::Function { .. } => 0,
            Target::Statement { statement, .. } => registry::hash(statement),
        };
        Endpoint {
            registration,
            // A NUL cannot be in a value that comes out of a table.
            title: CString::new(title).unwrap_or_default(),
            known: Some(Cell::default()),
            plans: Plans::Unmade,
            memory: PlanMemory::default(),
            fingerprint: Cell::new(fingerprint),
        }
    }

    /// Number of its counters, and of its gate in the exchange; none if there are more endpoints than
    /// `howdah.max_routes`.
    pub(crate) fn number(&self) -> Option<u32> {
        let known = self.known.as_ref()?;
        shared().routes.number(known, || self.registration.target.key(), tell_no_room)
    }

    /// Its counters.
    pub(crate) fn counters(&self) -> Option<&'static RouteCounters> {
        self.number().map(|number| shared().routes.get(number as usize))
    }

    /// Shows in pg_stat_activity that this endpoint runs.
    pub(crate) fn show(&self) {
        // SAFETY: on the main thread of a process that is connected; the text is copied.
        unsafe { pg::pgstat_report_activity(RUNNING, self.title.as_ptr()) };
    }

    /// Forgets the plans, so that the next request makes them anew.
    pub(crate) fn forget_plans(&mut self) {
        // The plans first: they use what the function keeps.
        if let Plans::Made { plans, .. } = &mut self.plans {
            plans.drain(..).for_each(Plan::release);
        }
        self.plans = Plans::Unmade;
        self.memory.forget();
    }

    /// Notes which version of its function is planned.
    pub(crate) fn note_version(&self, version: &FunctionVersion) {
        self.fingerprint.set(registry::hash((version.oid.to_u32(), version.xmin.into_inner(), version.tid)));
    }

    /// Keeps it with the executors until its function changes.
    pub(crate) fn keep_out(&self) {
        if let Some(counters) = self.counters() {
            counters.inline_unfit.store(self.fingerprint.get(), Relaxed);
        }
    }

    /// An error in a gateway, if it is to stay with the executors.
    pub(crate) fn refuse_unfit(&self) {
        let unfit = self.counters().map_or(0, |counters| counters.inline_unfit.load(Relaxed));
        admission::refuse_unfit(unfit, self.fingerprint.get());
    }

    /// Whether it is what was found unfit. If something has changed since it was looked at last, its plans are forgotten, and
    /// it is not: whoever makes them anew is told.
    pub(crate) fn is_unfit(&mut self, unfit: u64) -> bool {
        if unfit == 0 || self.fingerprint.get() != unfit {
            return false;
        }
        let checked = match &self.plans {
            Plans::Unmade => 0,
            Plans::Made { checked, .. } => *checked,
            Plans::Broken { epoch, .. } => *epoch,
        };
        let is_current =
            checked == invalidations::epoch() || matches!(self.registration.target, Target::Statement { .. });
        if !is_current {
            self.forget_plans();
        }
        is_current
    }

    /// Whether it is known what its plans are, or that there are none.
    pub(crate) fn is_made(&self) -> bool {
        match &self.plans {
            Plans::Unmade => false,
            Plans::Made { .. } => true,
            Plans::Broken { epoch, .. } => *epoch == invalidations::epoch(),
        }
    }

    /// Why there are no plans.
    pub(crate) fn reason(&self) -> Option<&PgError> {
        match &self.plans {
            Plans::Broken { error, .. } => Some(error),
            _ => None,
        }
    }

    /// Whether requests to it may run in the gateway as far as its plans tell: all that is made reads only
    /// and calls nothing volatile.
    pub(crate) fn reads_only(&self) -> bool {
        matches!(&self.plans, Plans::Made { plans, .. } if plans.iter().all(Plan::reads_only))
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.forget_plans();
    }
}
