//! Takes the rows of a plan and writes a response: of the first row, or of all as JSON.
//!
//! A DestReceiver of our own: the row is read where the executor left it, without the copy and the tuple
//! table that SPI makes.

use std::ffi::c_int;

use conditions::{Preconditions, Validators, Verdict};
use message::ResponseBuilder;
use pg::entry::callback;
use pg::guard::{PgError, raise};
use pg::out_of_memory::may_fail;
use pgrx::pg_sys::{self, Datum};

use super::body::{Body, Fault};
use super::caching::Outward;
use super::flash;
use super::headers::{Header, headers, may_be_packed};
use super::plan::Plan;
use super::recording::{FOR_EVER, is_blamed, lasts, records};
use super::rows::{Columns, contents, jsonb_text};
use super::shape::{MediaType, Shape};
use super::types::Types;

/// What a response has around its body: its frame, and the content type.
const FRAME: usize = 256;
/// What a response has around the name and the value of a header.
const PER_HEADER: usize = 16;

/// What a plan has returned.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// No row.
    Nothing,
    /// A row without a value: the function has returned null.
    Null,
    /// A response with this status is in the buffer.
    Response(u16),
    /// The row is no valid response. The text says why.
    Invalid(String),
    /// Something else is there than the request has named.
    Unmet,
    /// It was committed here, and no standby has confirmed that.
    Unconfirmed,
}

/// The receiver. PostgreSQL sees the first field alone.
#[repr(C)]
pub(crate) struct Receiver {
    callbacks: pg_sys::DestReceiver,
    shape: Shape,
    column: usize,
    scalar: bool,
    types: *const Types,
    columns: *const Columns,
    limit: usize,
    /// What the request says about its answer's entity tag; null if that has none.
    preconditions: *const Preconditions<'static>,
    /// What answers say to who keeps them outside, for the next plan; null if they say nothing.
    outward: *const Outward,
    /// Whether it is a page that answers.
    is_page: bool,
    /// Whether the answer is sent as it is to whoever asks.
    pub is_uncompressed: bool,
    /// Whether conditions of requests are compared with the answer's entity tag here, and not by the function.
    pub knows_tags: bool,
    /// Whether its gateway may keep the answer as a whole.
    pub is_kept: bool,
    /// What the first row was.
    pub answer: Answer,
    /// Rows as JSON, so far.
    body: Body,
    /// What writing a row allocates.
    memory: pg_sys::MemoryContext,
    /// Where the response is written, a [`message::Response`]; its memory is used again.
    pub buffer: Vec<u8>,
}

impl Receiver {
    /// A receiver. It is boxed: open plans keep its address.
    pub(crate) fn new() -> Box<Self> {
        Box::new(Receiver {
            callbacks: pg_sys::DestReceiver {
                receiveSlot: Some(receive),
                rStartup: Some(start_up),
                rShutdown: Some(shut_down),
                rDestroy: Some(shut_down),
                mydest: pg_sys::CommandDest::DestNone,
            },
            shape: Shape::Void,
            column: 0,
            scalar: false,
            types: std::ptr::null(),
            columns: std::ptr::null(),
            limit: 0,
            preconditions: std::ptr::null(),
            outward: std::ptr::null(),
            is_page: false,
            answer: Answer::Nothing,
            body: Body::default(),
            is_uncompressed: false,
            knows_tags: false,
            is_kept: false,
            memory: pg::new_memory(c"howdah row"),
            buffer: Vec::new(),
        })
    }

    /// Prepares for the next plan. A body larger than `limit` bytes is an error; `types` outlive the plan's run.
    pub(crate) fn expect(&mut self, plan: &Plan, types: &Types, limit: usize) {
        (self.shape, self.column, self.scalar) = (plan.shape, plan.column, plan.scalar);
        (self.types, self.limit) = (types, limit);
        (self.preconditions, self.outward) = (std::ptr::null(), std::ptr::null());
        self.answer = Answer::Nothing;
        if self.shape.has_columns() {
            self.columns = plan.columns();
            self.body.start(limit);
        }
    }

    /// Has the answer that comes next get an entity tag, and say to others what they may do with it. Both outlive the plan's run.
    pub(crate) fn validate(
        &mut self,
        preconditions: Option<&Preconditions<'_>>,
        outward: Option<&Outward>,
        is_page: bool,
    ) {
        self.is_page = is_page;
        self.outward = outward.map_or(std::ptr::null(), std::ptr::from_ref);
        self.preconditions =
            preconditions.map_or(std::ptr::null(), |preconditions| std::ptr::from_ref(preconditions).cast());
    }

    /// Prepares for a plan whose rows are nobody's.
    pub(crate) fn discard(&mut self) {
        (self.preconditions, self.outward) = (std::ptr::null(), std::ptr::null());
        (self.shape, self.column, self.scalar) = (Shape::Void, 0, false);
        self.answer = Answer::Nothing;
    }

    /// Answers, after the last row, for a function that returns rows, or nothing.
    pub(crate) fn complete(&mut self) {
        if self.answer != Answer::Nothing {
            return;
        }
        match self.shape {
            Shape::Void => self.write(204, None, &[], &[]),
            Shape::Rows => {
                self.body.put(if self.body.is_empty() { b"[]" } else { b"]" });
                self.write_body();
            }
            _ => {}
        }
    }

    /// What the first row was.
    pub(crate) fn take_answer(&mut self) -> Answer {
        std::mem::replace(&mut self.answer, Answer::Nothing)
    }

    /// What PostgreSQL calls.
    pub(crate) fn as_destination(&mut self) -> *mut pg_sys::DestReceiver {
        std::ptr::from_mut(self).cast()
    }
}

callback! {
    unsafe fn start_up(_: *mut pg_sys::DestReceiver, _: c_int, _: pg_sys::TupleDesc) {}
}

callback! {
    unsafe fn shut_down(_: *mut pg_sys::DestReceiver) {}
}

/// What PostgreSQL says of a subquery.
fn refuse_second_row() -> ! {
    raise(PgError {
        sqlstate: *b"21000",
        message: "more than one row returned by a subquery used as an expression".into(),
        ..PgError::default()
    })
}

callback! {
    /// Called for each row; the first one counts. Errors of PostgreSQL's jump out of it: nothing here owns memory
    /// while PostgreSQL is called.
    unsafe fn receive(slot: *mut pg_sys::TupleTableSlot, destination: *mut pg_sys::DestReceiver) -> bool {
        // SAFETY: PostgreSQL passes the pointer of `as_destination`, and a slot whose columns the plan's shape
        // describes.
        unsafe {
            let receiver = &mut *destination.cast::<Receiver>();
            if receiver.answer != Answer::Nothing {
                if receiver.scalar {
                    refuse_second_row();
                }
                return true;
            }
            match receiver.shape {
                // There may be no column.
                Shape::Void => {
                    receiver.write(204, None, &[], &[]);
                    return true;
                }
                Shape::Row => {
                    receiver.take_row(slot);
                    return true;
                }
                Shape::Rows => return receiver.add_row(slot),
                _ => {}
            }
            let wanted = receiver.column + 1;
            if ((*slot).tts_nvalid as usize) < wanted {
                pg::slot_getsomeattrs_int(slot, wanted as c_int);
            }
            if *(*slot).tts_isnull.add(receiver.column) {
                receiver.answer = Answer::Null;
            } else {
                receiver.take(*(*slot).tts_values.add(receiver.column));
            }
        }
        true
    }
}

impl Receiver {
    /// Writes a value that is not null.
    unsafe fn take(&mut self, value: Datum) {
        // SAFETY: the shape says of what type the value is.
        unsafe {
            match self.shape {
                Shape::Text(media) | Shape::Bytes(media) => {
                    if self.is_too_large(value, 1) {
                        return;
                    }
                    let body = pg::pg_detoast_datum_packed(value.cast_mut_ptr());
                    self.write(200, Some(media), &[], contents(body));
                }
                Shape::Jsonb => {
                    if self.is_too_large(value, LEAST_OF_JSONB) {
                        return;
                    }
                    let body = jsonb_text(value);
                    self.write(200, Some(MediaType::JSON), &[], body);
                }
                Shape::Response => self.take_response(value),
                Shape::Row | Shape::Rows | Shape::Void => {}
            }
        }
    }

    /// Whether a value is refused because its text, a byte of it for so many of the value at least, has more bytes than the
    /// limit. Asked before it is unpacked: a value that is compressed may have a thousand times as many.
    unsafe fn is_too_large(&mut self, value: Datum, bytes: usize) -> bool {
        // SAFETY: a value of variable length; nothing is read but its head.
        let length = unsafe { pg::toast_raw_datum_size(value) }.saturating_sub(pg_sys::VARHDRSZ) / bytes;
        if length > self.limit {
            self.refuse_large(length);
        }
        length > self.limit
    }

    fn refuse_large(&mut self, length: usize) {
        self.answer = Answer::Invalid(format!(
            "the response has {length} bytes at least, more than howdah.max_response allows ({})",
            self.limit
        ));
    }

    /// Writes the only row. One whose columns are all null is none.
    unsafe fn take_row(&mut self, slot: *mut pg_sys::TupleTableSlot) {
        // SAFETY: the contract of `receive`.
        if unsafe { self.write_row(slot) } {
            self.write_body();
        } else {
            self.answer = Answer::Null;
        }
    }

    /// Adds a row to the array. False if there is no room for more.
    unsafe fn add_row(&mut self, slot: *mut pg_sys::TupleTableSlot) -> bool {
        self.body.put(if self.body.is_empty() { b"[" } else { b"," });
        // SAFETY: the contract of `receive`.
        unsafe { self.write_row(slot) };
        if self.body.fault().is_some() {
            self.write_body();
        }
        self.answer == Answer::Nothing
    }

    /// Writes a row into the body; false if all its columns are null.
    unsafe fn write_row(&mut self, slot: *mut pg_sys::TupleTableSlot) -> bool {
        // SAFETY: the contract of `receive`; the plan's columns live as long as it runs. An error leaves what was
        // allocated to the next row.
        unsafe {
            let previous = pg_sys::CurrentMemoryContext;
            pg_sys::CurrentMemoryContext = self.memory;
            let holds = (*self.columns).write(slot, &mut self.body);
            pg_sys::CurrentMemoryContext = previous;
            pg::MemoryContextReset(self.memory);
            holds
        }
    }

    /// Writes the body, which is JSON.
    fn write_body(&mut self) {
        match self.body.fault() {
            None => {
                let bytes = self.body.take();
                self.write(200, Some(MediaType::JSON), &[], &bytes);
                self.body.give_back(bytes);
            }
            Some(Fault::TooLarge) => {
                self.answer = Answer::Invalid(format!(
                    "the response has more bytes than howdah.max_response allows ({})",
                    self.limit
                ));
            }
            Some(Fault::NoMemory) => self.answer = Answer::Invalid("out of memory for the response".into()),
        }
    }

    /// Writes an `http.response`: status, content type, headers, body.
    unsafe fn take_response(&mut self, value: Datum) {
        const NAMES: [&str; 4] = ["status", "content_type", "headers", "body"];
        // SAFETY: a value of type http.response; every pointer below lives until the row is done with.
        unsafe {
            let row = pg::pg_detoast_datum(value.cast_mut_ptr()).cast::<pg_sys::HeapTupleHeaderData>();
            let mut tuple = pg_sys::HeapTupleData {
                t_len: pgrx::varlena::varsize(row.cast()) as u32,
                t_data: row,
                ..Default::default()
            };
            let mut values = [Datum::null(); NAMES.len()];
            let mut nulls = [true; NAMES.len()];
            pg::heap_deform_tuple(
                &mut tuple,
                (*self.types).response_row,
                values.as_mut_ptr(),
                nulls.as_mut_ptr(),
            );
            let body = if nulls[3] {
                &[][..]
            } else if self.is_too_large(values[3], 1) {
                return;
            } else {
                contents(pg::pg_detoast_datum_packed(values[3].cast_mut_ptr()))
            };
            let default = if nulls[3] { 204 } else { 200 };
            let status = if nulls[0] { default } else { values[0].value() as i32 };
            let content_type = if nulls[1] {
                &[][..]
            } else {
                contents(pg::pg_detoast_datum_packed(values[1].cast_mut_ptr()))
            };
            let headers = if nulls[2] { &[][..] } else { headers(values[2], &*self.types) };
            self.write_response(status, content_type, headers, body);
        }
    }

    /// Checks and writes what a handler has chosen. Pure Rust.
    fn write_response(&mut self, status: i32, content_type: &[u8], headers: &[Header<'_>], body: &[u8]) {
        let Some(status) = u16::try_from(status).ok().filter(|status| (200..=599).contains(status)) else {
            self.answer = Answer::Invalid(format!(
                "status {status} of the response is not from 200 to 599; use one of those"
            ));
            return;
        };
        let typed = headers.iter().any(|header| header.name.eq_ignore_ascii_case(b"content-type"));
        let content_type = (!typed && !content_type.is_empty()).then_some(content_type);
        self.write_parts(status, content_type, headers, body);
    }

    fn write(&mut self, status: u16, media: Option<MediaType>, headers: &[Header<'_>], body: &[u8]) {
        self.write_parts(status, media.map(|media| media.0.as_bytes()), headers, body);
    }

    fn write_parts(&mut self, status: u16, content_type: Option<&[u8]>, headers: &[Header<'_>], body: &[u8]) {
        if body.len() > self.limit {
            return self.refuse_large(body.len());
        }
        // The message of a redirect is for the page that it leads to.
        let clearing = flash::clearing().filter(|_| !(300..400).contains(&status));
        let of_one = clearing.as_ref().map(|cookie| flash::of_one(headers, cookie));
        let headers = of_one.as_deref().unwrap_or(headers);
        let Some(validated) = self.validated(status, content_type, headers, body) else {
            self.answer = Answer::Unmet;
            return;
        };
        // Its client may have it by a coding.
        let varies =
            validated.status == 304 && !self.is_uncompressed && may_be_packed(content_type, headers, body);
        let Validated { status, content_type, tag, body, .. } = &validated;
        let (status, content_type, body) = (*status, *content_type, *body);
        let mut buffer = std::mem::take(&mut self.buffer);
        let headers_len: usize =
            headers.iter().map(|header| header.name.len() + header.value.len() + PER_HEADER).sum();
        // More memory than there is must not end the process, and with it the cluster.
        if may_fail(|| buffer.try_reserve(body.len() + headers_len + FRAME)).is_err() {
            self.answer = Answer::Invalid("out of memory for the response".into());
            return;
        }
        let tag = tag.as_deref().map(|tag| Header { name: b"etag", value: tag.as_bytes() });
        // SAFETY: null, or set for the plan that runs.
        let outward = unsafe { self.outward.as_ref() }.filter(|_| validated.is_shown);
        let has = |name: &[u8]| headers.iter().any(|header| header.name.eq_ignore_ascii_case(name));
        let control = outward.filter(|_| !has(b"cache-control"));
        let control = control.map(|outward| {
            let lasting =
                outward.lasting.as_ref().filter(|_| records() && !is_blamed() && lasts() == FOR_EVER);
            let value = lasting.unwrap_or(&outward.cache_control).as_bytes();
            Header { name: b"cache-control", value }
        });
        let vary = outward.and_then(|outward| outward.vary.as_deref());
        let vary = vary.map(|vary| Header { name: b"vary", value: vary.as_bytes() });
        let headers = headers
            .iter()
            .chain(&tag)
            .chain(&control)
            .chain(&vary)
            .filter(|header| status != 304 || conditions::is_of_unmodified(header.name));
        match build(buffer, status, content_type, headers, body) {
            Ok(buffer) => {
                self.buffer = buffer;
                if varies {
                    message::vary_by(&mut self.buffer, "accept-encoding");
                }
                self.answer = Answer::Response(status);
            }
            Err(reason) => self.answer = Answer::Invalid(reason),
        }
    }
}

/// What is written of a response, once it is known what the client has.
struct Validated<'r> {
    status: u16,
    content_type: Option<&'r [u8]>,
    /// The entity tag that it gets.
    tag: Option<String>,
    /// Whether it shows what is there, and does nothing more.
    is_shown: bool,
    body: &'r [u8],
}

impl Receiver {
    /// What becomes of a response by the request's preconditions; none if one of them does not hold.
    fn validated<'r>(
        &self,
        status: u16,
        content_type: Option<&'r [u8]>,
        headers: &[Header<'_>],
        body: &'r [u8],
    ) -> Option<Validated<'r>> {
        let given = |name: &[u8]| {
            headers.iter().find(|header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value)
        };
        // What sets a cookie does more than show what is there.
        let is_shown = status == 200 && given(b"set-cookie").is_none();
        // SAFETY: null, or set for the plan that runs.
        let Some(preconditions) = unsafe { self.preconditions.as_ref() }.filter(|_| is_shown) else {
            return Some(Validated { status, content_type, tag: None, is_shown, body });
        };
        // A handler may know better.
        let tag = if given(b"etag").is_none() { Some(conditions::tag_of(body, self.is_page)) } else { None };
        let now = Validators {
            tag: tag.as_deref().map(str::as_bytes).or_else(|| given(b"etag")),
            last_modified: given(b"last-modified"),
        };
        match preconditions.judge(true, Some(now)) {
            Verdict::Perform => Some(Validated { status, content_type, tag, is_shown: true, body }),
            Verdict::NotModified => {
                Some(Validated { status: 304, content_type: None, tag, is_shown: true, body: &[] })
            }
            Verdict::Failed => None,
        }
    }
}

/// Bytes of a jsonb value for a byte of its text at most: a number of one digit has its entry, a header and its alignment.
const LEAST_OF_JSONB: usize = 8;

fn build<'h>(
    buffer: Vec<u8>,
    status: u16,
    content_type: Option<&[u8]>,
    headers: impl Iterator<Item = &'h Header<'h>>,
    body: &[u8],
) -> Result<Vec<u8>, String> {
    let mut builder = ResponseBuilder::in_buffer(buffer, status).map_err(|error| error.to_string())?;
    if let Some(content_type) = content_type {
        builder.header("content-type", content_type).map_err(|error| error.to_string())?;
    }
    for header in headers {
        builder.header(header.name, header.value).map_err(|error| error.to_string())?;
    }
    Ok(builder.finish(body))
}
