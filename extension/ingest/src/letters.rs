//! Lines that were refused: counted, the first named in the answer, and kept as dead letters.

use ndjson::Line;
use pgrx::datum::DatumWithOid;
use pgrx::pg_sys;
use session::authority::{run_as_owner, value_as_owner};
use shared::settings;
use wire::work::NAMED;

use super::blame::Refusal;
use super::bucket::{Rejected, Written};
use super::target::{Place, Target};

/// Bytes of a line that are kept.
const KEPT: usize = 8 << 10;

/// Lines of a bucket that were refused.
pub(crate) struct Letters<'a> {
    count: u64,
    /// The first of them with their lengths, as many as could be kept.
    lines: Vec<(Line<'a>, u64, Refusal)>,
    most: usize,
}

impl Default for Letters<'_> {
    fn default() -> Self {
        Letters::new()
    }
}

impl<'a> Letters<'a> {
    /// None yet.
    pub(crate) fn new() -> Letters<'a> {
        Letters { count: 0, lines: Vec::new(), most: (settings::DEAD_LETTERS.get() as usize).max(NAMED) }
    }

    /// None yet of lines that are dead letters already: each that is refused again is named.
    pub(crate) fn named() -> Letters<'a> {
        Letters { most: usize::MAX, ..Letters::new() }
    }

    /// The lines that were refused, by their numbers.
    pub(crate) fn refused(self) -> impl Iterator<Item = (u64, Refusal)> {
        self.lines.into_iter().map(|(line, _, refusal)| (line.number, refusal))
    }

    /// Notes a line that is refused.
    pub(crate) fn add(&mut self, line: Line<'a>, refusal: Refusal) {
        self.add_cut(line, line.bytes.len() as u64, refusal);
    }

    /// Notes a line that is refused, and of which perhaps only the beginning is there.
    pub(crate) fn add_cut(&mut self, line: Line<'a>, length: u64, refusal: Refusal) {
        self.count += 1;
        if self.lines.len() < self.most {
            self.lines.push((line, length, refusal));
        }
    }

    /// Writes the dead letters, as far as the listener has room for them, and says in the answer what was refused.
    pub(crate) fn bury(mut self, target: &Target, listener: i32, written: &mut Written) {
        written.rejected_count = self.count;
        if self.lines.is_empty() {
            return;
        }
        self.lines.sort_by_key(|(line, ..)| line.number);
        let kept = room(target, listener).min(self.lines.len());
        written.dropped = self.count - kept as u64;
        insert(target, listener, &self.lines[..kept]);
        self.lines.truncate(NAMED);
        let named = self.lines.into_iter().map(|(line, _, refusal)| Rejected {
            line: line.number,
            sqlstate: refusal.sqlstate,
            message: refusal.message,
        });
        written.rejected = named.collect();
    }
}

/// The columns that say where letters were to go, and their values.
fn address(target: &Target, listener: i32) -> [DatumWithOid<'static>; 3] {
    let (queue, table): (Option<i32>, Option<pg_sys::Oid>) = match &target.place {
        Place::Queue(queue) => (Some(queue.id as i32), None),
        Place::Table(table) => (None, Some(*table)),
    };
    [queue.into(), table.into(), listener.into()]
}

/// How many more letters are kept.
fn room(target: &Target, listener: i32) -> usize {
    let most = settings::DEAD_LETTERS.get();
    let query = format!(
        "select count(*) from (
           select from queue.dead_letter
           where queue is not distinct from $1 and into_table is not distinct from $2 and listener = $3
             and line is not null
           limit {most}) letters"
    );
    let there = value_as_owner::<i64>(&query, &address(target, listener)).unwrap_or_default();
    (i64::from(most) - there).max(0) as usize
}

fn insert(target: &Target, listener: i32, letters: &[(Line<'_>, u64, Refusal)]) {
    let kept = |line: &Line<'_>| line.bytes[..line.bytes.len().min(KEPT)].to_vec();
    let lines: Vec<Vec<u8>> = letters.iter().map(|(line, ..)| kept(line)).collect();
    let lengths: Vec<i32> =
        letters.iter().map(|(_, length, _)| i32::try_from(*length).unwrap_or(i32::MAX)).collect();
    let states: Vec<String> =
        letters.iter().map(|(.., refusal)| String::from_utf8_lossy(&refusal.sqlstate).into_owned()).collect();
    let errors: Vec<&str> = letters.iter().map(|(.., refusal)| refusal.message.as_str()).collect();
    let [queue, table, listener] = address(target, listener);
    let arguments = [queue, table, listener, lines.into(), lengths.into(), states.into(), errors.into()];
    run_as_owner(
        "insert into queue.dead_letter (queue, into_table, listener, line, line_length, sqlstate, error)
         select $1, $2, $3, letter.* from unnest($4, $5, $6, $7) letter",
        &arguments,
    );
}
