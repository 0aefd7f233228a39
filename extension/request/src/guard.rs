//! A write that says what it is to find: If-Match and its like.
//!
//! What is there is what GET of the same path answers, if its route has entity tags. It runs in the write's transaction, in a subtransaction, as its own
//! role, and the entity tag that it would have is compared. Check and write are one step:
//!
//! - Writes of the same path wait for each other ([`request_transaction::begin_alone`]), so that of equal ones the first succeeds, and the others
//!   see what it has left.
//! - Both see one snapshot. Whoever else has changed a row meanwhile that the write changes, fails it, and the whole request runs again.
//! - A table that was rewritten meanwhile is empty in a snapshot from before. So if catalogs have changed, it runs again as well: once, as
//!   the write may be what changes them.
//!
//! [`request_transaction::begin_alone`]: session::request_transaction::begin_alone

use std::hash::{DefaultHasher, Hash, Hasher};

use conditions::Preconditions;
use message::Request;
use pg::guard::PgError;
use problem::Access;
use session::invalidations;

use super::current::PathParameter;
use super::endpoint::Endpoint;
use super::forms::FormContext;
use super::routes::Routes;

/// What a write has to find.
pub(crate) struct Guard<'g> {
    /// The path, hashed: who writes to the same waits.
    pub thing: u64,
    /// What answers GET there; none if it is what answers the write.
    pub endpoint: Option<&'g mut Endpoint>,
    /// The parameters of its path.
    pub(super) path: Vec<PathParameter<'g>>,
    /// The request that asks for what is there.
    pub(super) message: Vec<u8>,
    pub(super) preconditions: Preconditions<'g>,
    /// [`invalidations::epoch`] when the transaction began.
    pub(super) epoch: u64,
    /// Whether this is not the first try.
    pub again: bool,
    /// The forms that it may show.
    pub(super) form: FormContext<'g>,
}

impl<'g> Guard<'g> {
    /// The endpoint at this place, and what it has to find if it writes and the request says so.
    pub(crate) fn of(
        request: &Request<'g>,
        endpoints: &'g mut [Endpoint],
        place: usize,
        routes: &'g Routes,
    ) -> (&'g mut Endpoint, Option<Guard<'g>>) {
        let writes = Access::of_method(request.method()) != Access::ReadOnly;
        let Some((read, path, preconditions)) = writes.then(|| named(request, endpoints, routes)).flatten()
        else {
            return (&mut endpoints[place], None);
        };
        let guard = |endpoint| Guard {
            thing: hash(request.path()),
            endpoint,
            path,
            message: request.to_read(),
            preconditions,
            epoch: 0,
            again: false,
            form: FormContext { routes: Some(routes), page: read, sent: None },
        };
        if place == read {
            // One route for all methods.
            return (&mut endpoints[place], Some(guard(None)));
        }
        let (low, high) = endpoints.split_at_mut(place.max(read));
        let (own, read) =
            if place < read { (&mut low[place], &mut high[0]) } else { (&mut high[0], &mut low[read]) };
        (own, Some(guard(Some(read))))
    }

    /// Has the request run again if its snapshot may be older than a table.
    pub(crate) fn refuse_outdated(&self) {
        if self.is_outdated() {
            pg::guard::raise(outdated());
        }
    }

    /// Whether catalogs have changed since its transaction began, and it is the first try.
    pub(super) fn is_outdated(&self) -> bool {
        !self.again && invalidations::epoch() != self.epoch
    }
}

/// The place of what answers GET, its path's parameters and a write's conditions, if it has some.
fn named<'g>(
    request: &Request<'g>,
    endpoints: &[Endpoint],
    routes: &'g Routes,
) -> Option<(usize, Vec<PathParameter<'g>>, Preconditions<'g>)> {
    let headers = request.headers().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    let preconditions = Preconditions::of(headers);
    if !preconditions.guard_writes() {
        return None;
    }
    let (read, parameters) = routes.read(request)?;
    endpoints[read].registration.has_tags().then(|| (read, parameters.iter().collect(), preconditions))
}

/// The same in every process of a server.
fn hash(path: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}

/// Has the whole request run again.
pub(super) fn outdated() -> PgError {
    PgError {
        sqlstate: *b"40001",
        message: "tables or functions have changed while the request ran".into(),
        ..PgError::default()
    }
}
