//! The route table: what is configured in this database, compiled for this process.

use std::collections::{HashMap, HashSet};
use std::ffi::CString;
use std::time::Duration;

use files::Mounts;
use pg::guard::{PgError, Report, attempt};
use pg::log_line;
use pgrx::pg_sys::{self, Oid};
use pgrx::spi::SpiClient;
use router::is_below;
use session::{invalidations, leftovers, settings_in_force, temporary};
use shared::SERVED_VERSIONS;

use super::caching::Caching;
use super::endpoint::{Endpoint, Registration, Target};
use super::path_guards::PathGuard;
use super::routes::Routes;
use super::static_files;
use super::types::Types;

/// Routes and query handlers.
pub struct Table {
    /// OIDs of the extension's types.
    pub types: Types,
    /// The key that cookies are signed by; empty where somebody has taken it away.
    pub(crate) secret: Vec<u8>,
    /// Routes first, in no order; then the query handlers in the order in which they are tried.
    pub(crate) endpoints: Vec<Endpoint>,
    /// Which of them are query handlers.
    pub handlers: std::ops::Range<usize>,
    /// Functions that let requests pass first, each before those below it.
    pub(crate) guards: Vec<PathGuard>,
    /// Routes by method and path; the numbers are places in `endpoints`.
    pub routes: Routes,
}

/// What the tables say.
struct Configuration {
    types: Types,
    secret: Vec<u8>,
    tables: [Oid; invalidations::TABLES_WATCHED],
    registrations: Vec<Registration>,
    routes: usize,
    guards: Vec<(String, Registration)>,
    files: Mounts,
}

/// Why there is no table.
#[derive(Debug)]
pub enum NoTable {
    /// The extension is not, or no longer, in this database.
    NoExtension,
    /// The extension's SQL is of a version that this library does not serve.
    WrongVersion,
    /// PostgreSQL's error.
    Failed(PgError),
}

/// What is read with the routes, in the same transaction and of the same snapshot: what else follows the configuration's tables.
pub(crate) type Along<'a> = &'a mut dyn FnMut(&SpiClient<'_>) -> Result<(), pgrx::spi::Error>;

/// For whom the routes are enough.
pub fn nothing_along(_: &SpiClient<'_>) -> Result<(), pgrx::spi::Error> {
    Ok(())
}

impl Table {
    /// Reads the configuration, as the extension's owner, and what `along` reads of it. The plans of what has not changed are kept. The
    /// previous table is taken once that has succeeded. A lock is waited for no longer than [`invalidations::LOCK_TIMEOUT`].
    ///
    /// # Safety
    /// On the main thread, outside a transaction.
    pub unsafe fn load(previous: &mut Option<Table>, along: Along<'_>) -> Result<Table, NoTable> {
        invalidations::configuration_read();
        // SAFETY: by contract; inside, pgrx's guards raise panics, so values are dropped.
        let read = unsafe {
            attempt(Report::Log, || {
                session::own_transaction::begin();
                settings_in_force::set_local(c"lock_timeout", invalidations::LOCK_TIMEOUT);
                let configuration = read(along);
                pg_sys::CommitTransactionCommand();
                configuration
            })
        };
        match read {
            Ok(Ok(configuration)) => Ok(Self::compile(configuration, previous.take())),
            Ok(Err(none)) => Err(none),
            Err(error) => {
                invalidations::configuration_unread();
                // SAFETY: the transaction has failed.
                unsafe { leftovers::abort() };
                Err(NoTable::Failed(error))
            }
        }
    }

    /// The configuration as the transaction that runs sees it, its own changes included, for this transaction alone.
    ///
    /// # Safety
    /// Inside a guard and a transaction.
    pub(crate) unsafe fn of_transaction() -> Result<Table, NoTable> {
        // SAFETY: by contract.
        let configuration = unsafe { read(&mut nothing_along)? };
        Ok(Self::compiled(configuration, Endpoint::uncounted, Endpoint::uncounted))
    }

    fn compile(configuration: Configuration, previous: Option<Table>) -> Table {
        invalidations::set_tables(configuration.tables);
        let (endpoints, guards) = previous.map(|table| (table.endpoints, table.guards)).unwrap_or_default();
        let guards = guards.into_iter().map(|guard| guard.endpoint);
        Self::compiled(
            configuration,
            kept_or(endpoints.into_iter(), Endpoint::new),
            kept_or(guards, Endpoint::uncounted),
        )
    }

    fn compiled(
        configuration: Configuration,
        mut endpoint: impl FnMut(Registration) -> Endpoint,
        mut guard: impl FnMut(Registration) -> Endpoint,
    ) -> Table {
        let Configuration { types, secret, registrations, routes, guards, files, .. } = configuration;
        let mut router = Routes::with_files(files);
        let mut endpoints = Vec::with_capacity(registrations.len());
        for registration in registrations {
            let place = endpoints.len();
            if let Err(error) = router.add(&registration, place) {
                // http.route has checked it; a row written past it is not served.
                let title = registration.target.title();
                log_line::warning!("howdah does not serve the route {title}: {error}");
            }
            endpoints.push(endpoint(registration));
        }
        router.add_forms(&endpoints);
        let handlers = routes..endpoints.len();
        let guards = guards.into_iter();
        let guards = guards.map(|(prefix, registered)| PathGuard { prefix, endpoint: guard(registered) });
        Table { types, secret, endpoints, handlers, guards: guards.collect(), routes: router }
    }

    /// Whether a function has to let requests to a path pass, percent-decoded, before anything answers.
    pub fn is_guarded(&self, path: &str) -> bool {
        self.guards.iter().any(|guard| is_below(&guard.prefix, path))
    }

    /// The numbers of the endpoints' counters, which hear of what `Accept` decides.
    pub fn numbers(&self) -> HashSet<u32> {
        let told = |endpoint: &Endpoint| {
            endpoint.counters()?.set_by_accept(endpoint.registration.by_accept);
            endpoint.number()
        };
        self.endpoints.iter().filter_map(told).collect()
    }
}

/// Makes endpoints of registrations: those that there are already, with their plans, or new ones.
fn kept_or(
    known: impl Iterator<Item = Endpoint>,
    make: fn(Registration) -> Endpoint,
) -> impl FnMut(Registration) -> Endpoint {
    let mut kept: HashMap<String, Endpoint> =
        known.map(|endpoint| (endpoint.registration.target.title(), endpoint)).collect();
    move |registration| {
        let same =
            kept.remove(&registration.target.title()).filter(|known| known.registration == registration);
        same.unwrap_or_else(|| make(registration))
    }
}

/// Reads the tables, if the extension is there.
unsafe fn read(along: Along<'_>) -> Result<Configuration, NoTable> {
    // SAFETY: inside a transaction; errors unwind, and the transaction's end restores the user.
    unsafe {
        let extension = pg_sys::get_extension_oid(c"howdah".as_ptr(), true);
        if extension == Oid::INVALID {
            return Err(NoTable::NoExtension);
        }
        // What is in force is the search_path of some endpoint: operators in it could be a user's own.
        let path = settings_in_force::enter_safe_path();
        let (mut user, mut context) = (Oid::INVALID, 0);
        pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
        pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
        let (owner, version) = owner_and_version(extension);
        if !SERVED_VERSIONS.contains(&version.as_str()) {
            pg_sys::PopActiveSnapshot();
            return Err(NoTable::WrongVersion);
        }
        pg_sys::SetUserIdAndSecContext(
            owner,
            (pg_sys::SECURITY_LOCAL_USERID_CHANGE | pg_sys::SECURITY_RESTRICTED_OPERATION) as i32,
        );
        let schema = pg_sys::get_namespace_oid(c"http".as_ptr(), false);
        let tables = watched_tables(schema);
        let types = Types::look_up(schema);
        let read = pgrx::Spi::connect(|client| -> Result<_, pgrx::spi::Error> {
            let mut registrations = routes(client)?;
            note_pairs(&mut registrations);
            let count = registrations.len();
            registrations.extend(handlers(client)?);
            let guards = guards(client)?;
            let secret = secret(client)?;
            let files = static_files::mounts(client)?;
            along(client)?;
            Ok((registrations, count, guards, secret, files))
        });
        pg_sys::SetUserIdAndSecContext(user, context);
        pg_sys::PopActiveSnapshot();
        settings_in_force::leave_safe_path(path);
        match read {
            Ok((registrations, routes, guards, secret, files)) => {
                Ok(Configuration { types, secret, tables, registrations, routes, guards, files })
            }
            Err(error) => pgrx::error!("cannot read howdah's configuration: {error}"),
        }
    }
}

/// The tables whose changes change the configuration.
unsafe fn watched_tables(http: Oid) -> [Oid; invalidations::TABLES_WATCHED] {
    // SAFETY: look-ups inside a transaction; the schemas are the extension's.
    unsafe {
        let table = |schema, name: &std::ffi::CStr| pg_sys::get_relname_relid(name.as_ptr(), schema);
        let queue = pg_sys::get_namespace_oid(c"queue".as_ptr(), false);
        let job = pg_sys::get_namespace_oid(c"job".as_ptr(), false);
        [
            table(http, c"route"),
            table(http, c"handler"),
            table(http, c"guarded"),
            table(http, c"error_page"),
            table(http, c"file_prefix"),
            table(http, c"static_tree"),
            table(http, c"cookie_key"),
            table(http, c"listener"),
            table(queue, c"listener"),
            table(job, c"kind"),
            table(job, c"kind_queue"),
            table(job, c"home"),
        ]
    }
}

/// The key that cookies are signed by.
fn secret(client: &SpiClient<'_>) -> Result<Vec<u8>, pgrx::spi::Error> {
    let rows = client.select("select key from http.cookie_key", Some(1), &[])?;
    Ok(rows.first().get_one::<Vec<u8>>().ok().flatten().unwrap_or_default())
}

/// Without `Spi::get_two`, which takes a transaction id before it reads: a standby has none to give.
fn owner_and_version(extension: Oid) -> (Oid, String) {
    let found = pgrx::Spi::connect(|client| {
        let rows = client.select(
            "select extowner, extversion from pg_catalog.pg_extension where oid = $1",
            Some(1),
            &[extension.into()],
        )?;
        rows.first().get_two::<Oid, String>()
    });
    match found {
        Ok((Some(owner), Some(version))) => (owner, version),
        _ => pgrx::error!("cannot find the owner of the extension howdah"),
    }
}

fn routes(client: &SpiClient<'_>) -> Result<Vec<Registration>, pgrx::spi::Error> {
    let rows = client.select(
        "select method, pattern, function, role::oid, search_path, owner, validates, vary, max_entries, max_age, takes_other_sites, is_page, form_page, uncompressed, takes_compressed from http.route order by is_page, pattern, method",
        None,
        &[],
    )?;
    rows.map(|row| {
        Ok(Registration {
            target: Target::Function {
                method: row.get::<String>(1)?.unwrap_or_default(),
                pattern: row.get::<String>(2)?.unwrap_or_default(),
                function: row.get::<String>(3)?.unwrap_or_default(),
                owner: row.get::<String>(6)?,
                is_page: row.get::<bool>(12)?.unwrap_or_default(),
            },
            role: row.get::<Oid>(4)?.unwrap_or(Oid::INVALID),
            search_path: search_path(row.get(5)?),
            validates: row.get::<bool>(7)?.unwrap_or_default(),
            caching: match (row.get::<Vec<String>>(8)?, row.get::<i32>(9)?) {
                (Some(vary), Some(most)) => {
                    let max_age =
                        row.get::<i32>(10)?.map(|seconds| Duration::from_secs(seconds.max(0) as u64));
                    let is_uncompressed = row.get::<bool>(14)?.unwrap_or_default();
                    Some(Caching::of(&vary, most.max(0) as usize, max_age, !is_uncompressed))
                }
                _ => None,
            },
            takes_other_sites: row.get::<bool>(11)?.unwrap_or_default(),
            form_page: row.get::<String>(13)?,
            uncompressed: row.get::<bool>(14)?.unwrap_or_default(),
            takes_compressed: row.get::<bool>(15)?.unwrap_or_default(),
            by_accept: false,
        })
    })
    .collect()
}

/// Notes which pages stand beside a route, and which routes beside a page.
fn note_pairs(routes: &mut [Registration]) {
    let place = |target: &Target| match target {
        Target::Function { method, pattern, .. } => Some((method.clone(), pattern.clone())),
        Target::Statement { .. } => None,
    };
    let mut known: HashMap<(String, String), usize> = HashMap::new();
    for registration in routes.iter() {
        if let Some(place) = place(&registration.target) {
            *known.entry(place).or_default() += 1;
        }
    }
    for registration in routes {
        registration.by_accept =
            place(&registration.target).is_some_and(|place| known.get(&place) == Some(&2));
    }
}

fn search_path(stored: Option<String>) -> CString {
    CString::new(temporary::lasting_path(stored.unwrap_or_default())).unwrap_or_default()
}

fn handlers(client: &SpiClient<'_>) -> Result<Vec<Registration>, pgrx::spi::Error> {
    let rows = client.select(
        "select name, statement, role::oid, search_path from http.handler order by priority desc, name",
        None,
        &[],
    )?;
    rows.map(|row| {
        let target = Target::Statement {
            name: row.get::<String>(1)?.unwrap_or_default(),
            statement: row.get::<String>(2)?.unwrap_or_default(),
        };
        let role = row.get::<Oid>(3)?.unwrap_or(Oid::INVALID);
        Ok(Registration::new(target, role, search_path(row.get(4)?)))
    })
    .collect()
}

/// Outer ones first: what lies below a prefix is longer.
fn guards(client: &SpiClient<'_>) -> Result<Vec<(String, Registration)>, pgrx::spi::Error> {
    let rows = client.select(
        "select prefix, function, role::oid, search_path, owner from http.guarded order by length(prefix), prefix",
        None,
        &[],
    )?;
    rows.map(|row| {
        let prefix = row.get::<String>(1)?.unwrap_or_default();
        let target = Target::Function {
            method: "guard".into(),
            pattern: prefix.clone(),
            function: row.get::<String>(2)?.unwrap_or_default(),
            owner: row.get::<String>(5)?,
            is_page: false,
        };
        let role = row.get::<Oid>(3)?.unwrap_or(Oid::INVALID);
        let registration = Registration::new(target, role, search_path(row.get(4)?));
        Ok((prefix, registration))
    })
    .collect()
}
