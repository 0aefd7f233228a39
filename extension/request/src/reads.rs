//! What an answer has read, and why that cannot be known.
//!
//! A request may be recorded while it runs. Each plan that starts then tells its relations, the endpoint's own and those of functions in SQL that it
//! calls; and each is looked through for what changes without a commit ([`read_plans`](super::read_plans)): the first such thing is the obstacle
//! for which the answer is not remembered. A function that is declared STABLE or IMMUTABLE is taken at its word, and an immutable one is not
//! looked into.
//!
//! What a handler takes of the request by `http.header_value` and `http.cookie` is noted as well ([`read_inputs`](super::read_inputs)).
//!
//! Statements of PostgreSQL's are known, and so are functions in SQL. Those of PL/pgSQL have expressions that start no plan, and are looked through when
//! they end ([`read_functions`](super::read_functions)).

use std::cell::Cell;
use std::ffi::c_char;

use changes::{Moment, Thing};
use pg::text::string;
use pgrx::pg_sys::{self, Oid};
use session::{file_settings, invalidations};
use shared::routes::RouteCounters;

use super::bound_value::{Bound, Value};
use super::caching::Caching;
use super::current::PathParameter;
use super::inputs::{Argument, Input};
pub use super::packed_answer::Plain;
use super::plan::Plan;
use super::read_conversions::{is_moment, is_plain, is_read_alike};
use super::read_inputs::{ReadInput, take_noted};
pub use super::recording::Obstacle;
use super::recording::{self, MOST, blame, records};
use super::{read_functions, read_inputs, read_literals, read_plans};

thread_local! {
    /// [`changes::now`] when it began.
    static SINCE: Cell<u64> = const { Cell::new(0) };
    /// The same when the request was taken, before anything was learned for it; none where none is.
    static TAKEN: Cell<Option<u64>> = const { Cell::new(None) };
}

/// What an answer has read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Read {
    /// From before its snapshot.
    pub since: Moment,
    /// Relations, each once.
    pub things: Vec<Thing>,
    /// Parts of the request beside its path.
    pub inputs: Vec<ReadInput>,
    /// [`file_settings::fingerprint`]: it ran by these settings.
    pub settings: u64,
    /// Whether it depends on the time, too, which the route allows.
    pub ages: bool,
    /// For how many seconds it holds at most: [`recording::FOR_EVER`] if it has no end.
    pub lasts: u32,
}

/// Bytes of a [`Read`] before its things.
const HEAD: usize = 29;
/// In place of the length of a plain answer: there is none, as nothing was packed, or it is not told.
const SAME: u32 = 0;
const UNKNOWN: u32 = u32::MAX;

/// Set in the code of a completion whose response begins with a [`Read`].
pub const READ: u32 = 1 << 30;

impl Read {
    /// As bytes: their number, then how many things, then `since`, then the settings, then whether it ages and for how long it lasts, then the things; as the rest the inputs,
    /// each a line.
    pub fn write(&self) -> Vec<u8> {
        let inputs: String = self.inputs.iter().map(|input| input.text() + "\n").collect();
        let length = HEAD + 4 * self.things.len() + inputs.len();
        let mut bytes = Vec::with_capacity(length);
        bytes.extend_from_slice(&(length as u32).to_le_bytes());
        bytes.extend_from_slice(&(self.things.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&self.since.number().to_le_bytes());
        bytes.extend_from_slice(&self.settings.to_le_bytes());
        bytes.push(u8::from(self.ages));
        bytes.extend_from_slice(&self.lasts.to_le_bytes());
        self.things.iter().for_each(|thing| bytes.extend_from_slice(&thing.number().to_le_bytes()));
        bytes.extend_from_slice(inputs.as_bytes());
        bytes
    }

    /// The front of a response, for the gateway: this, and how long the answer is that follows in front of it as well, as it was before it was packed.
    pub fn write_front(&self, plain: Plain<'_>) -> Vec<u8> {
        let number = match plain {
            Plain::Same => SAME,
            Plain::Bytes(bytes) => bytes.len() as u32,
            Plain::Unknown => UNKNOWN,
        };
        let mut front = self.write();
        front.extend_from_slice(&number.to_le_bytes());
        front
    }

    /// The front that [`write_front`](Self::write_front) has written, the plain answer, and where the response begins.
    pub fn parse_front(bytes: &[u8]) -> Option<(Read, Plain<'_>, usize)> {
        let (read, length) = Read::parse(bytes)?;
        let number = bytes.get(length..)?.first_chunk().map(|number| u32::from_le_bytes(*number))?;
        let start = length + size_of::<u32>();
        match number {
            SAME => Some((read, Plain::Same, start)),
            UNKNOWN => Some((read, Plain::Unknown, start)),
            plain => {
                let end = start.checked_add(plain as usize)?;
                Some((read, Plain::Bytes(bytes.get(start..end)?), end))
            }
        }
    }

    /// What [`write`](Self::write) has written, and how many bytes it takes.
    pub fn parse(bytes: &[u8]) -> Option<(Read, usize)> {
        let number = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let (length, count) = (number(0)? as usize, number(4)? as usize);
        let long = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let (since, settings, ages) = (Moment::of_number(long(8)?), long(16)?, *bytes.get(24)? != 0);
        let lasts = number(25)?;
        let things = (0..count).map(|place| number(HEAD + 4 * place).map(changes::thing));
        let things = things.collect::<Option<_>>()?;
        let inputs = std::str::from_utf8(bytes.get(HEAD + 4 * count..length)?).ok()?;
        let inputs = inputs.lines().map(ReadInput::parse).collect::<Option<_>>()?;
        Some((Read { since, things, inputs, settings, ages, lasts }, length))
    }

    /// Whether what was computed from it would be the same now.
    ///
    /// # Safety
    /// On the main thread.
    pub unsafe fn holds(&self) -> bool {
        // SAFETY: by contract.
        unsafe { changes::hold(self.since, &self.things) }
    }
}

/// A request was taken. To be called before this process hears of what has changed meanwhile: settings of its role are put in force, and routes read,
/// before it is recorded, and what is committed in between is not in them.
pub fn taken() {
    TAKEN.set(Some(changes::now().number()));
}

/// Begins to record. To be called before the transaction's snapshot is taken. A route whose answers are kept has said what they vary by,
/// and whether they may be old.
pub(crate) fn begin(caching: Option<&Caching>) {
    recording::clear(caching.is_some_and(|caching| caching.max_age.is_some()));
    read_inputs::begin(caching.map(|caching| caching.vary.as_slice()));
    SINCE.set(TAKEN.get().unwrap_or_else(|| changes::now().number()));
    read_functions::begin();
    recording::start();
}

/// Records no more. False if nothing was recorded.
fn stop() -> bool {
    let was_recorded = recording::stop();
    if was_recorded {
        read_functions::end();
    }
    was_recorded
}

/// Ends to record: what was read, or why that is not known; none if nothing was recorded. Which routes there are was read as well.
pub fn end() -> Option<Result<Read, Obstacle>> {
    if !stop() {
        return None;
    }
    Some(match recording::obstacle() {
        Some(obstacle) => Err(obstacle),
        None => Ok(recording::with_relations(|relations| {
            let relations = relations.iter().copied().chain(invalidations::tables());
            let mut things: Vec<Thing> = relations.map(changes::relation).collect();
            things.sort_unstable();
            things.dedup();
            let (since, settings) = (Moment::of_number(SINCE.get()), file_settings::fingerprint());
            Read {
                since,
                things,
                inputs: take_noted(),
                settings,
                ages: recording::ages(),
                lasts: recording::lasts(),
            }
        })),
    })
}

/// What was read, by the numbers of relations, and why more is not known.
pub struct Named {
    /// Each once, in the order of their numbers.
    pub relations: Vec<Oid>,
    /// Parts of the request beside its path.
    pub inputs: Vec<ReadInput>,
    /// Why it cannot be known whether the answer still holds.
    pub obstacle: Option<Obstacle>,
}

/// The same as [`end`], for people.
pub(crate) fn end_named() -> Option<Named> {
    if !stop() {
        return None;
    }
    let mut relations: Vec<Oid> = recording::with_relations(|relations| relations.iter().copied().collect());
    relations.sort_unstable_by_key(|relation| relation.to_u32());
    Some(Named { relations, inputs: take_noted(), obstacle: recording::obstacle() })
}

/// Tells the counters of a route why its answers are not known to hold, if so.
///
/// # Safety
/// Inside a guard and a transaction; errors unwind.
pub(crate) unsafe fn tell(counters: Option<&RouteCounters>) {
    let Some(counters) = counters.filter(|_| records()) else { return };
    match recording::obstacle() {
        Some(obstacle) => {
            let reason = registry::hash((obstacle, read_inputs::unnamed()));
            // SAFETY: by contract.
            counters.obstruct(reason, || unsafe { obstacle.text() });
        }
        None => counters.clear_obstacle(),
    }
}

/// Notes what a plan that starts will read, and what its text says.
///
/// # Safety
/// Inside a guard and a transaction; errors unwind or jump, and nothing is owned meanwhile.
pub(crate) unsafe fn note_plan(statement: *const pg_sys::PlannedStmt, text: *const c_char) {
    if records() {
        // SAFETY: by contract.
        unsafe {
            read_plans::look(statement);
            read_literals::look(text);
            read_literals::look_at_functions((*statement).invalItems);
        }
    }
}

/// Notes what an endpoint's plan takes and gives besides what it reads. What is not in the path may be in the query string, where an argument that is
/// left to its default is looked for as well.
///
/// # Safety
/// Inside a guard and a transaction, when the plan was made.
pub(crate) unsafe fn note_ends(
    plan: &Plan,
    bound: &Bound<'_>,
    arguments: Option<&[Argument]>,
    path: &[PathParameter<'_>],
) {
    if !records() {
        return;
    }
    let leaves = arguments.into_iter().flatten().flat_map(Argument::leaves);
    let names = leaves.filter_map(|(_, leaf)| leaf.name.as_deref());
    for name in names.filter(|name| !path.iter().any(|(known, _)| known == name)) {
        ReadInput::Query(name.to_owned()).note();
    }
    // SAFETY: by contract.
    unsafe {
        if pg_sys::XactIsoLevel == pg_sys::XACT_SERIALIZABLE as i32 {
            blame(Obstacle::Transaction);
        }
        for (argument, value) in plan.arguments.iter().zip(&bound.values) {
            if matches!(argument.input, Input::Request | Input::File) || matches!(value, Value::Row(_)) {
                blame(Obstacle::Request);
            } else if !means_one_thing(argument.type_oid, value) {
                blame(Obstacle::Moment(argument.type_oid));
            }
        }
        if let Some(column) = (*plan.columns()).first_of_user() {
            blame(Obstacle::Column(column));
        }
    }
}

/// Whether a text means the same tomorrow, as a value of a type.
unsafe fn means_one_thing(of_type: Oid, value: &Value<'_>) -> bool {
    // SAFETY: a look-up inside a transaction.
    let element = unsafe { pg_sys::get_element_type(of_type) };
    let one = if element == Oid::INVALID { of_type } else { element };
    if is_moment(one) {
        return match value {
            Value::Null | Value::Empty => true,
            Value::Text(text) => is_plain(text),
            Value::Many(texts) => texts.iter().flatten().all(|text| is_plain(text)),
            _ => false,
        };
    }
    // SAFETY: as above.
    unsafe { is_read_alike(one) }
}

impl Obstacle {
    /// What it is, for people.
    ///
    /// # Safety
    /// On the main thread, inside a transaction; errors unwind.
    pub unsafe fn text(self) -> String {
        // SAFETY: by contract. Null is what is gone.
        let (relation, function, of_type) = unsafe {
            (
                |relation| string(pg_sys::get_rel_name(relation)),
                |function| string(pg_sys::get_func_name(function)),
                |of_type| string(pg_sys::format_type_be(of_type)),
            )
        };
        match self {
            Obstacle::Writes => "it writes or locks rows".into(),
            Obstacle::Relation(oid) => {
                format!("it reads {}, which no commit of this database changes", relation(oid))
            }
            Obstacle::Catalog(oid) => format!("it reads the catalog {}", relation(oid)),
            Obstacle::Sample => "it takes a sample of a table".into(),
            Obstacle::SystemColumn => "it reads a system column".into(),
            Obstacle::Volatile(oid) => format!("it calls {}(), which is volatile", function(oid)),
            Obstacle::Stable(oid) => {
                format!("it calls {}(), whose result changes without a commit", function(oid))
            }
            Obstacle::Closed(oid) => format!("it calls {}(), which cannot be looked into", function(oid)),
            Obstacle::Aggregate(oid) => format!("it calls the aggregate {}()", function(oid)),
            Obstacle::Time => "it asks for the time".into(),
            Obstacle::Domain(oid) => format!("it checks the constraints of {}", of_type(oid)),
            Obstacle::Node => "a part of its plan is not known".into(),
            Obstacle::Moment(oid) => format!("a text may be another {} tomorrow", of_type(oid)),
            Obstacle::Request => "it takes the whole request".into(),
            Obstacle::Column(oid) => {
                format!("a value of {} is written by a function of a user's", of_type(oid))
            }
            Obstacle::Many => format!("it reads more than {MOST} relations"),
            Obstacle::Inputs => "it takes too much of the request".into(),
            Obstacle::Unnamed => {
                let taken = read_inputs::unnamed().map(|input| input.text()).unwrap_or_default();
                format!("it takes the {taken}, which vary does not name")
            }
            Obstacle::Error => "it catches an error".into(),
            Obstacle::Settings => "its role's settings cannot be read now".into(),
            Obstacle::Transaction => "its transaction is serializable".into(),
        }
    }
}
