//! Rows as JSON, as many as an answer over HTTP has room for.
//!
//! What a row becomes as JSON is known once it is made: short numbers may be long texts, and a cast of somebody's may make
//! anything. So the rows are claimed in a subtransaction. If they are too many it is rolled back, which is as if they had not been
//! read, and fewer are claimed. A row that no answer has room for, or that cannot be JSON, is leased like the others, which
//! counts, and not answered; so it becomes a dead letter in the end, and those behind it go on.

use std::ops::ControlFlow;

use pg::entry::{Returned, sql_function};
use pg::guard::{PgError, unwind};
use pg::scratch;
use pgrx::pg_sys::{self, Datum, FmgrInfo, MemoryContext, Oid, TupleDesc};
use queue::claim::claim;
use queue::claimed_rows::{Fate, Haul, Wanted};
use queue::definition::{self, Definition, Right};
use queue::functions::messages;
use queue::functions::typed::{hand_out_leased, microseconds, quantity};
use queue::tidy;
use queue::unfolded::{Form, Room};
use request::rows::to_json;
use session::subtransaction::attempted;
use shared::settings;

/// Bytes of an answer for each row beside its JSON: its number, and its part of the batch.
const AROUND_ROW: usize = 128;
/// JSON that is made for a page at most, in pages; a row that is too large counts as well.
const MADE_FOR_PAGE: usize = 4;
/// JSON that is made for an answer at most, in pages, where none of the rows can be answered.
const MADE_FOR_ANSWER: usize = 32;

sql_function!(
    /// `queue.read_as_json(queue_name, qty, vt)`
    howdah_queue_read_as_json,
    |call| {
        // SAFETY: inside a transaction.
        unsafe { pg_sys::PreventCommandIfReadOnly(c"taking from a queue".as_ptr()) };
        let queue = definition::find(call.need_text(0, "queue_name"));
        queue.check(Right::Take);
        // Casts to json are users' code.
        let shape = queue.shape();
        let fate = match call.argument(2) {
            Some(_) => Fate::Leased(microseconds(call, 2, "vt"), queue.max_reads),
            None => Fate::Consumed,
        };
        let returned = Returned::declared(call);
        let wanted = Wanted { count: quantity(call, 1), fate };
        for row in Reader::new(&queue).read(wanted) {
            let (number, reads) = (Datum::from(row.position), Datum::from(row.reads));
            // SAFETY: the columns as the function is declared.
            unsafe { returned.add_values(&mut [Some(number), Some(reads), row.json]) };
        }
        drop(shape);
        tidy::tidy_sometimes(&queue);
        returned.done()
    }
);

/// A row of an answer.
struct Answered {
    position: i64,
    reads: i32,
    /// The row, or the whole message; none if it cannot be answered.
    json: Option<Datum>,
}

/// Rows for an answer.
#[derive(Default)]
struct Page {
    rows: Vec<Answered>,
    /// Bytes of those that are answered.
    bytes: usize,
    /// Bytes of JSON that were made.
    made: usize,
    /// Whether there are more rows than may be answered.
    is_cut: bool,
}

/// What reads rows of a queue as JSON.
struct Reader<'a> {
    queue: &'a Definition,
    /// Of what rows are claimed as.
    descriptor: TupleDesc,
    /// The type of what becomes JSON.
    of_type: Oid,
    to_json: *mut FmgrInfo,
    /// Bytes of an answer.
    room: usize,
    /// Where the JSON of rows is.
    memory: MemoryContext,
}

impl<'a> Reader<'a> {
    fn new(queue: &'a Definition) -> Reader<'a> {
        // The answer is copied some times while it is made.
        let memory = (settings::HANDLER_MEMORY.get() as usize) << 20;
        let room = (settings::MAX_RESPONSE.get() as usize).min(memory / 8) - AROUND_ROW;
        // SAFETY: look-ups inside a transaction; what is made is in the memory of this call.
        unsafe {
            let memory = scratch::new_in(pg_sys::CurrentMemoryContext);
            let (descriptor, of_type) = match queue.row_type {
                Some(row_type) => (leased_rows(row_type), row_type),
                None => {
                    let of_type = pg_sys::get_rel_type_id(definition::relation("message_record"));
                    (pg_sys::lookup_rowtype_tupdesc_copy(of_type, -1), of_type)
                }
            };
            Reader { queue, descriptor, of_type, to_json: to_json(of_type, memory), room, memory }
        }
    }

    /// Reads until there is something to answer, or no more rows.
    fn read(&self, wanted: Wanted) -> Vec<Answered> {
        let (mut rows, mut made) = (Vec::new(), 0);
        loop {
            let page = self.page(wanted);
            let is_over = page.bytes > 0 || page.rows.is_empty();
            made += page.made;
            rows.extend(page.rows);
            if is_over || made > MADE_FOR_ANSWER * self.room {
                return rows;
            }
        }
    }

    /// Claims rows of which there is room for all.
    fn page(&self, mut wanted: Wanted) -> Page {
        let mut alone = false;
        loop {
            let mut page = Page::default();
            let claimed = || {
                self.fill(&mut page, wanted, alone);
                if page.is_cut {
                    unwind(PgError { message: "a page is cut".into(), ..PgError::default() });
                }
            };
            match attempted(claimed) {
                Ok(()) => return page,
                Err(_) if page.is_cut => wanted.count = page.rows.len(),
                Err(error) if alone => unwind(error),
                // A row cannot be JSON. Which one shows where each has a subtransaction of its own, which costs time.
                Err(_) => alone = true,
            }
        }
    }

    fn fill(&self, page: &mut Page, wanted: Wanted, alone: bool) {
        let claimed = Returned::apart(self.descriptor);
        claim(self.queue, wanted, |haul| self.note(haul, &claimed));
        // SAFETY: the rows are apart.
        unsafe { claimed.show(|columns, whole| self.add(page, columns, whole, alone)) };
    }

    fn note(&self, haul: &Haul, claimed: &Returned) {
        match self.queue.row_type {
            Some(row_type) => hand_out_leased(self.queue, haul, row_type, claimed),
            None => messages::hand_out(self.queue, haul, claimed),
        }
    }

    /// Adds a row to a page, if there is room.
    fn add(&self, page: &mut Page, columns: &[Datum], whole: Datum, alone: bool) -> ControlFlow<()> {
        if page.made > MADE_FOR_PAGE * self.room {
            page.is_cut = true;
            return ControlFlow::Break(());
        }
        let row = if self.queue.row_type.is_some() { columns[2] } else { whole };
        let (json, bytes) = if alone { self.try_json(row) } else { self.json_of(row) };
        page.made += bytes;
        if json.is_some() && page.bytes + bytes > self.room {
            page.is_cut = true;
            return ControlFlow::Break(());
        }
        page.bytes += json.map_or(0, |_| bytes);
        page.rows.push(Answered {
            position: columns[0].value() as i64,
            reads: columns[1].value() as i32,
            json,
        });
        ControlFlow::Continue(())
    }

    /// A row as JSON, if an answer has room for it, and how many bytes were made for it.
    fn json_of(&self, row: Datum) -> (Option<Datum>, usize) {
        let scratch = scratch::Scratch::here();
        // SAFETY: a row of the type that the function was made for; its result is a varlena, which is copied.
        scratch.run(|| unsafe {
            if !Room::new(self.room, Form::Json).has(row, self.of_type) {
                return (None, AROUND_ROW);
            }
            let json = pg_sys::FunctionCall1Coll(self.to_json, Oid::INVALID, row);
            let json = pg_sys::pg_detoast_datum_packed(json.cast_mut_ptr());
            let bytes = pgrx::varsize_any_exhdr(json) + AROUND_ROW;
            let outer = pg_sys::MemoryContextSwitchTo(self.memory);
            let copy = (bytes <= self.room).then(|| Datum::from(pg_sys::pg_detoast_datum_copy(json)));
            pg_sys::MemoryContextSwitchTo(outer);
            (copy, bytes)
        })
    }

    /// The same of a row that may be none.
    fn try_json(&self, row: Datum) -> (Option<Datum>, usize) {
        attempted(|| self.json_of(row)).unwrap_or_else(|error| {
            let is_costly = error.sqlstate().starts_with("53") || error.sqlstate().starts_with("54");
            (None, if is_costly { MADE_FOR_ANSWER * self.room } else { AROUND_ROW })
        })
    }
}

/// The description of a row's number, how often it was read, and the row.
///
/// # Safety
/// A composite type, inside a transaction.
unsafe fn leased_rows(row_type: Oid) -> TupleDesc {
    // SAFETY: by contract; a description in the current memory context.
    unsafe {
        let descriptor = pg_sys::CreateTemplateTupleDesc(3);
        let columns = [(c"msg_id", pg_sys::INT8OID), (c"read_ct", pg_sys::INT4OID), (c"row", row_type)];
        for (place, (name, of_type)) in columns.into_iter().enumerate() {
            pg_sys::TupleDescInitEntry(descriptor, place as i16 + 1, name.as_ptr(), of_type, -1, 0);
        }
        descriptor
    }
}
