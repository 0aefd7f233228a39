//! The kinds of jobs as an executor runs them.

use std::ffi::CString;
use std::rc::Rc;

use pg::guard::Report;
use pg::log_line;
use pgrx::pg_sys::Oid;
use pgrx::spi::SpiClient;
use queue::count;
use queue::definition::{self, Definition};
use queue::items::{self, Outlook};
use request::apart::Callee;
use schedule::{Backoff, Priority, Rate};
use session::authority::run_as_owner;
use session::{own_transaction, temporary};
use shared::{Tick, tick};

use crate::memory::{Limits, jobs};
use crate::schedules;

/// A row of `job.kind`.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    pub(crate) id: u32,
    pub(crate) name: String,
    function: String,
    function_owner: String,
    /// The role that its jobs run as.
    pub role: Oid,
    search_path: String,
    pub(crate) attempts: u32,
    pub(crate) backoff: Backoff,
    pub(crate) timeout_us: Option<u64>,
    at_once: Option<u32>,
    per_second: Option<f64>,
    /// How many jobs one transaction may run.
    pub(crate) batch: u32,
    is_paused: bool,
    queues: [u32; Priority::ALL.len()],
    /// The role that has defined it.
    pub(crate) owner: Oid,
    /// The kind that alerts when a job dies, by its number; 0 for none.
    pub(crate) alert: u32,
    /// Its function has another oid than is noted.
    pub(crate) has_other_oid: bool,
}

/// Reads `job.kind`. Its caller has put a safe search_path in force.
pub fn read(client: &SpiClient<'_>) -> Result<Vec<Row>, pgrx::spi::Error> {
    const MICROSECONDS: &str = "least(extract(epoch from {}) * 1000000, 9e18)::bigint";
    let queue = |priority: Priority| {
        let of = format!("q.kind = job.kind.id and q.priority = '{}'", priority.word());
        format!("(select q.queue from job.kind_queue q where {of})")
    };
    let microseconds = |column: &str| MICROSECONDS.replace("{}", column);
    let rows = client.select(
        &format!(
            "select id, name, function, pg_get_userbyid(function_owner::oid)::text, role::oid, search_path, attempts, {}, {}, {}, at_once, per_second,
                    paused_at is not null, {}, batch, owner::oid, alert,
                    case when (select p.oid::regprocedure::text from pg_proc p where p.oid = function_oid) is distinct from function
                      then exists (
                        select from pg_proc p where p.proowner = function_owner::oid and p.oid::regprocedure::text = function) end
               from job.kind order by name",
            microseconds("backoff"),
            microseconds("longest_backoff"),
            microseconds("timeout"),
            Priority::ALL.map(queue).join(", "),
        ),
        None,
        &[],
    )?;
    rows.map(|row| {
        let text = |column: usize| Ok::<_, pgrx::spi::Error>(row.get::<String>(column)?.unwrap_or_default());
        let number =
            |column: usize| Ok::<_, pgrx::spi::Error>(row.get::<i32>(column)?.unwrap_or_default() as u32);
        let long = |column: usize| row.get::<i64>(column);
        Ok(Row {
            id: number(1)?,
            name: text(2)?,
            function: text(3)?,
            function_owner: text(4)?,
            role: row.get::<Oid>(5)?.unwrap_or(Oid::INVALID),
            search_path: temporary::lasting_path(text(6)?),
            attempts: number(7)?,
            backoff: Backoff { first: long(8)?.unwrap_or_default(), longest: long(9)?.unwrap_or_default() },
            timeout_us: long(10)?.map(i64::unsigned_abs),
            at_once: row.get::<i32>(11)?.map(i32::unsigned_abs),
            per_second: row.get::<f64>(12)?,
            is_paused: row.get::<bool>(13)?.unwrap_or_default(),
            queues: [number(14)?, number(15)?, number(16)?],
            batch: number(17)?,
            owner: row.get::<Oid>(18)?.unwrap_or(Oid::INVALID),
            alert: number(19)?,
            has_other_oid: row.get::<bool>(20)?.unwrap_or_default(),
        })
    })
    .collect()
}

/// Whether this database is a copy of the one in which its jobs run. Its caller has put a safe search_path in force.
pub(crate) fn is_copy(client: &SpiClient<'_>) -> Result<bool, pgrx::spi::Error> {
    let (cluster, database) = schedules::here();
    let rows = client.select(schedules::IS_COPY, None, &[cluster.into(), database.into()])?;
    rows.first().get::<bool>(1).map(Option::unwrap_or_default)
}

/// A kind cannot run: perhaps its function or the owner of that has another name now. Then the kinds are read again.
///
/// Outside a transaction.
pub(crate) fn follow(row: &Row) {
    // What fails is logged; the kind stays as it is.
    let _ = own_transaction::transaction(Report::Log, || {
        run_as_owner(
            "select job.follow($1, $2)",
            &[(row.id as i32).into(), row.function_owner.as_str().into()],
        );
    });
}

/// Notes the oids of functions by which they are found under another name, where they are not those that are noted. Outside a transaction.
pub(crate) fn note_oids(rows: &[Row]) {
    if rows.iter().any(|row| row.has_other_oid) {
        // What fails is logged; then names are not followed.
        let _ = own_transaction::transaction(Report::Log, || run_as_owner("select job.note_oids()", &[]));
    }
}

/// How many kinds there are.
pub fn count(client: &SpiClient<'_>) -> Result<u32, pgrx::spi::Error> {
    let count = client.select("select count(*) from job.kind", None, &[])?.first().get::<i64>(1)?;
    Ok(count.unwrap_or_default() as u32)
}

/// A kind, with what this process keeps of it.
pub(crate) struct Kind {
    pub(crate) row: Row,
    pub(crate) callee: Callee,
    /// The number of its entry in shared memory; none if there is no room.
    pub(crate) number: Option<usize>,
    pub(crate) limits: Limits,
    sources: [Option<Source>; Priority::ALL.len()],
    /// Before which time nothing of it is tried, by `now_us`, after something has failed that is no job's fault.
    pub(crate) rests_until: u64,
    /// Before which time each of its jobs has a transaction of its own, by `now_us`, after one of several has failed.
    pub(crate) singly_until: u64,
}

/// How often one looks at a queue whose rows wait for a time, in microseconds.
const LOOK_EVERY: u64 = 1_000_000;

/// Where jobs of a kind and priority come from, and what is known of it.
struct Source {
    queue: Rc<Definition>,
    /// The queue's news when it was last looked at, none before, and when that was.
    seen: Option<u64>,
    looked: Tick,
    outlook: Outlook,
    /// The last look has found a job: the next goes to take one without asking first, as where there was one there are more.
    had_one: bool,
}

impl Source {
    fn outlook(&mut self) -> Outlook {
        if std::mem::take(&mut self.had_one) {
            return Outlook::Now;
        }
        let news = self.queue.memory().news();
        let now = tick();
        // The server's clock may have been set forward.
        let is_over =
            matches!(self.outlook, Outlook::At(time) if time <= now || now.since(self.looked) >= LOOK_EVERY);
        if self.seen != Some(news) || is_over || self.outlook == Outlook::Now {
            self.outlook = items::outlook(&self.queue);
            (self.seen, self.looked) = (Some(news), now);
        }
        self.outlook
    }
}

impl Kind {
    fn new(row: Row, database: u32) -> Kind {
        let callee = Callee::new(
            ["job", &row.name],
            row.function.clone(),
            row.function_owner.clone(),
            row.role,
            CString::new(row.search_path.as_str()).unwrap_or_default(),
        );
        Kind {
            number: jobs().number_of_committed(database, row.id, row.owner.to_u32()),
            limits: Limits { at_once: row.at_once, rate: row.per_second.and_then(Rate::per_second) },
            sources: [const { None }; Priority::ALL.len()],
            callee,
            row,
            rests_until: 0,
            singly_until: 0,
        }
    }

    /// Whether jobs of it may begin, as far as its definition tells.
    pub(crate) fn is_open(&self) -> bool {
        !self.row.is_paused && self.number.is_some() && self.callee.obstacle().is_none()
    }

    /// When there may be a job of a priority.
    pub(crate) fn outlook(&mut self, priority: Priority) -> Outlook {
        self.sources[priority.place()].as_mut().map_or(Outlook::Never, Source::outlook)
    }

    /// A job of a priority was there.
    pub(crate) fn had_one(&mut self, priority: Priority) {
        if let Some(source) = &mut self.sources[priority.place()] {
            source.had_one = true;
        }
    }

    /// The priority of the jobs in a queue; none if they are of another kind.
    pub(crate) fn priority_of(&self, queue: u32) -> Option<Priority> {
        Priority::ALL.into_iter().find(|priority| self.row.queues[priority.place()] == queue)
    }

    /// The queue of a priority.
    pub(crate) fn queue(&self, priority: Priority) -> Option<Rc<Definition>> {
        self.sources[priority.place()].as_ref().map(|source| source.queue.clone())
    }

    /// Finds the queues, in a transaction, and hangs them on the bell.
    fn open(&mut self, bell: usize) {
        let mut lacks_place = false;
        for (source, number) in self.sources.iter_mut().zip(self.row.queues) {
            let known = source.take().filter(|source| source.queue.id == number);
            let queue = known
                .map(|source| source.queue)
                .or_else(|| if number == 0 { None } else { definition::of_number(number) });
            let placed = queue.filter(|queue| {
                let has_place = queue.place().is_some();
                lacks_place |= !has_place;
                has_place
            });
            *source = placed.map(|queue| {
                queue.memory().hang_on(bell);
                count::count_once(&queue);
                Source { queue, seen: None, looked: Tick::default(), outlook: Outlook::Now, had_one: false }
            });
        }
        if lacks_place {
            stop(self, NO_QUEUE);
        } else if let Some(number) = self.number
            && jobs().kind(number).reason.get() == NO_QUEUE
        {
            jobs().kind(number).reason.set("");
        }
    }
}

/// Why some jobs of a kind do not run.
const NO_QUEUE: &str = "there is no room for a queue of it: raise howdah.max_queues and restart the server";

/// Shows why no job of a kind runs; says it once in the log.
pub(crate) fn stop(kind: &Kind, reason: &str) {
    let Some(number) = kind.number else { return };
    let shown = &jobs().kind(number).reason;
    let is_new = shown.is_empty();
    shown.set(reason);
    if is_new {
        log_line::log!("howdah runs no jobs of kind {}: {reason}", kind.row.name);
    }
}

/// The kinds of these rows; those that have not changed are kept. The oldest have places first, of which there may be too few.
pub(crate) fn compile(rows: Vec<Row>, known: Vec<Kind>, database: u32, bell: usize) -> Vec<Kind> {
    jobs().keep(database, |kind| rows.iter().any(|row| row.id == kind));
    let mut oldest: Vec<(u32, Oid)> = rows.iter().map(|row| (row.id, row.owner)).collect();
    oldest.sort_unstable_by_key(|(id, _)| *id);
    oldest.iter().for_each(|(kind, owner)| _ = jobs().number_of_committed(database, *kind, owner.to_u32()));
    let mut known = known;
    let mut kinds: Vec<Kind> = rows
        .into_iter()
        .map(|row| match known.iter().position(|kind| kind.row == row) {
            Some(place) => {
                let mut kind = known.swap_remove(place);
                kind.number = jobs().number_of_committed(database, kind.row.id, kind.row.owner.to_u32());
                kind
            }
            None => Kind::new(row, database),
        })
        .collect();
    // What fails is logged; then the kinds have no jobs until the next change.
    let _ = own_transaction::transaction(Report::Log, || {
        definition::keep_places();
        kinds.iter_mut().for_each(|kind| kind.open(bell));
    });
    kinds
}
