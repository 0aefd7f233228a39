//! Rows as JSON, written as PostgreSQL's `row_to_json` and `json_agg` write them.
//!
//! Those find out in every row what types its columns have and which functions write them. Here that is done once
//! for a plan, and ordinary values are written without a call.

use std::ffi::{CStr, c_int};

use pg::catalog::is_users;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::varlena::{vardata_any, varsize_any_exhdr};

use super::body::Body;
use super::fixed_functions::is_fixed;
use super::types::is_html;

/// How the columns of a plan's rows are written.
pub struct Columns {
    columns: Vec<Column>,
    /// Where the rows are taken apart, if each is the only column of its own.
    whole: Option<Whole>,
    /// Whether the only column is written, and no row.
    is_value: bool,
    /// The type of the rows, before the columns were read.
    row_type: RowType,
    /// Where the functions live that write them.
    memory: pg_sys::MemoryContext,
}

struct Column {
    /// Its place in the row.
    place: usize,
    /// Its type.
    of_type: Oid,
    /// Its name as JSON, and the colon.
    key: Vec<u8>,
    kind: Kind,
}

/// How the rows of a plan are those that a function returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultLayout {
    /// Their columns are the columns of the result, in order.
    Columns,
    /// Their only column is the row.
    Whole,
    /// Their only column is a value, which is no row and is written as one of JSON's.
    Value,
}

/// A row of a type, taken apart.
struct Whole {
    descriptor: pg_sys::TupleDesc,
    values: *mut Datum,
    nulls: *mut bool,
}

/// How a value is written: the categories of PostgreSQL's json.c, and more exactly where it pays.
#[derive(Clone, Copy)]
enum Kind {
    Bool,
    Int2,
    Int4,
    Int8,
    /// What the function writes, as it is if that is a number of JSON's.
    Number(*mut pg_sys::FmgrInfo),
    /// A value that is its own text.
    Text,
    /// A date or timestamp of this type, in the form of ISO 8601.
    Time(Oid),
    Json,
    Jsonb,
    /// What the function writes, as a string.
    Other(*mut pg_sys::FmgrInfo),
    /// By `to_json`: arrays, rows, and types with a cast to json.
    Nested(*mut pg_sys::FmgrInfo),
}

impl Columns {
    /// Of rows that are not written as JSON.
    pub const fn none() -> Columns {
        let memory = std::ptr::null_mut();
        Columns { columns: Vec::new(), whole: None, is_value: false, row_type: RowType::NONE, memory }
    }

    /// Of single values of a type.
    ///
    /// # Safety
    /// As for [`Columns::of`].
    pub(crate) unsafe fn of_value(of_type: Oid) -> Columns {
        // SAFETY: by contract.
        unsafe {
            let memory = pg::new_memory(c"howdah columns");
            let kind = kind_of(of_type, memory);
            let columns = vec![Column { place: 0, of_type, key: Vec::new(), kind }];
            Columns { columns, whole: None, is_value: true, row_type: RowType::NONE, memory }
        }
    }

    /// Those of a descriptor, for rows of a type as it was before the descriptor was made.
    ///
    /// # Safety
    /// Inside a transaction; pgrx guards each call, so values are dropped when one raises.
    pub(crate) unsafe fn of(descriptor: pg_sys::TupleDesc, row_type: RowType) -> Columns {
        // SAFETY: by contract: the rows are of the descriptor, in which nothing is dropped.
        unsafe { Columns::laid_out(descriptor, row_type, ResultLayout::Columns) }
    }

    /// Those of the descriptor of a function's result, for the rows of its body.
    ///
    /// # Safety
    /// As for [`Columns::of`].
    pub(crate) unsafe fn laid_out(
        descriptor: pg_sys::TupleDesc,
        row_type: RowType,
        layout: ResultLayout,
    ) -> Columns {
        // SAFETY: by contract; a descriptor of PostgreSQL's.
        unsafe {
            let memory = pg::new_memory(c"howdah columns");
            let mut all = Columns { columns: Vec::new(), whole: None, is_value: false, row_type, memory };
            if layout == ResultLayout::Whole {
                all.whole = Some(Whole::of(descriptor, memory));
            }
            for place in 0..(*descriptor).natts as usize {
                let attribute = pg::attribute(descriptor, place);
                if attribute.attisdropped {
                    continue;
                }
                // A body has no columns for what was dropped.
                let place = if layout == ResultLayout::Whole { place } else { all.columns.len() };
                let mut key = Body::default();
                key.start(1 << 10);
                key.put_string(CStr::from_ptr(attribute.attname.data.as_ptr()).to_bytes());
                key.put(b":");
                let kind = kind_of(attribute.atttypid, memory);
                all.columns.push(Column { place, of_type: attribute.atttypid, key: key.take(), kind });
            }
            all
        }
    }

    /// The type of the rows, as it was when the columns were read.
    pub(crate) fn row_type(&self) -> RowType {
        self.row_type
    }

    /// Whether the type has the same columns still, as far as PostgreSQL has told this process. Those of a function's
    /// own result change with the function alone.
    ///
    /// # Safety
    /// Inside a transaction.
    pub(crate) unsafe fn are_current(&self) -> bool {
        // SAFETY: by contract.
        unsafe { self.row_type == RowType::now(self.row_type.oid) }
    }

    /// The type of the first column that a function of a user's writes, of which nobody knows what it reads.
    ///
    /// # Safety
    /// Inside a guard and a transaction.
    pub(crate) unsafe fn first_of_user(&self) -> Option<Oid> {
        let is_closed = |column: &&Column| match column.kind {
            // SAFETY: by contract; the functions live as long as these.
            Kind::Number(function) | Kind::Other(function) => unsafe { !is_fixed((*function).fn_oid) },
            // SAFETY: by contract.
            Kind::Nested(_) => unsafe {
                let element = pg_sys::get_element_type(column.of_type);
                is_users(if element == Oid::INVALID { column.of_type } else { element })
            },
            _ => false,
        };
        self.columns.iter().find(is_closed).map(|column| column.of_type)
    }

    /// Writes a row as an object, or its only column as a value. False if all its columns are null; then nothing is written.
    ///
    /// # Safety
    /// Inside a guard; a row of the descriptor that these columns are of. What is allocated on the way is the
    /// current memory context's.
    pub(crate) unsafe fn write(&self, slot: *mut pg_sys::TupleTableSlot, body: &mut Body) -> bool {
        // SAFETY: by contract.
        unsafe {
            let all = (*(*slot).tts_tupleDescriptor).natts;
            if c_int::from((*slot).tts_nvalid) < all {
                pg::slot_getsomeattrs_int(slot, all);
            }
            let (values, nulls) = match &self.whole {
                Some(whole) => whole.take_apart(*(*slot).tts_values, *(*slot).tts_isnull),
                None => ((*slot).tts_values, (*slot).tts_isnull),
            };
            if self.is_value {
                let holds = !*nulls;
                if holds {
                    self.columns.iter().for_each(|column| write(column.kind, *values, body));
                }
                return holds;
            }
            let mut holds = false;
            let mut before: &[u8] = b"{";
            for column in &self.columns {
                body.put(before);
                before = b",";
                body.put(&column.key);
                if *nulls.add(column.place) {
                    body.put(b"null");
                } else {
                    holds = true;
                    write(column.kind, *values.add(column.place), body);
                }
            }
            body.put(if self.columns.is_empty() { b"{}" } else { b"}" });
            holds
        }
    }
}

impl Whole {
    /// Room for rows of a descriptor, in memory of their own.
    unsafe fn of(descriptor: pg_sys::TupleDesc, memory: pg_sys::MemoryContext) -> Whole {
        // SAFETY: a descriptor of PostgreSQL's; as many places as it has columns.
        unsafe {
            let previous = pg_sys::MemoryContextSwitchTo(memory);
            let count = (*descriptor).natts.max(1) as usize;
            let whole = Whole {
                descriptor: pg_sys::CreateTupleDescCopy(descriptor),
                values: pg_sys::palloc0(count * size_of::<Datum>()).cast(),
                nulls: pg_sys::palloc0(count).cast(),
            };
            pg_sys::MemoryContextSwitchTo(previous);
            whole
        }
    }

    /// The columns of a row; all null if it is.
    unsafe fn take_apart(&self, row: Datum, is_null: bool) -> (*mut Datum, *mut bool) {
        // SAFETY: a value of the descriptor's type; an error of PostgreSQL's jumps out, and nothing here owns memory.
        unsafe {
            if is_null {
                (0..(*self.descriptor).natts as usize).for_each(|place| *self.nulls.add(place) = true);
            } else {
                let header = pg::pg_detoast_datum(row.cast_mut_ptr()).cast::<pg_sys::HeapTupleHeaderData>();
                let mut tuple = pg_sys::HeapTupleData {
                    t_len: pgrx::varlena::varsize(header.cast()) as u32,
                    t_data: header,
                    ..Default::default()
                };
                pg::heap_deform_tuple(&mut tuple, self.descriptor, self.values, self.nulls);
            }
            (self.values, self.nulls)
        }
    }
}

impl Drop for Columns {
    fn drop(&mut self) {
        if !self.memory.is_null() {
            // SAFETY: made by `of`, and deleted once.
            unsafe { pg_sys::MemoryContextDelete(self.memory) }
        }
    }
}

/// A type of rows at some time. What is made of it is made after this: news that comes meanwhile makes it another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowType {
    oid: Oid,
    /// PostgreSQL's number for the columns; 0 for rows of no named type, which change with their function alone.
    version: u64,
}

impl RowType {
    /// Of no rows.
    const NONE: RowType = RowType { oid: Oid::INVALID, version: 0 };

    /// A type as it is now, as far as PostgreSQL has told this process.
    ///
    /// # Safety
    /// Inside a transaction.
    pub(crate) unsafe fn now(oid: Oid) -> RowType {
        if matches!(oid, Oid::INVALID | pg_sys::RECORDOID) {
            return RowType { oid, version: 0 };
        }
        // SAFETY: a look-up inside a transaction; the cache's entries live as long as the process.
        unsafe {
            let entry =
                pg_sys::lookup_type_cache(pg_sys::getBaseType(oid), pg_sys::TYPECACHE_TUPDESC as c_int);
            RowType { oid, version: (*entry).tupDesc_identifier }
        }
    }
}

/// As `json_categorize_type` decides.
unsafe fn kind_of(declared: Oid, memory: pg_sys::MemoryContext) -> Kind {
    // SAFETY: the contract of `Columns::of`.
    unsafe {
        let base = pg_sys::getBaseType(declared);
        match base {
            pg_sys::BOOLOID => Kind::Bool,
            pg_sys::INT2OID => Kind::Int2,
            pg_sys::INT4OID => Kind::Int4,
            pg_sys::INT8OID => Kind::Int8,
            pg_sys::FLOAT4OID | pg_sys::FLOAT8OID | pg_sys::NUMERICOID => Kind::Number(output(base, memory)),
            pg_sys::TEXTOID | pg_sys::VARCHAROID | pg_sys::BPCHAROID => Kind::Text,
            pg_sys::DATEOID | pg_sys::TIMESTAMPOID | pg_sys::TIMESTAMPTZOID => Kind::Time(base),
            pg_sys::JSONOID => Kind::Json,
            pg_sys::JSONBOID => Kind::Jsonb,
            _ if is_html(base) => Kind::Text,
            _ if is_nested(base) => Kind::Nested(to_json(declared, memory)),
            _ => Kind::Other(output(base, memory)),
        }
    }
}

unsafe fn is_nested(base: Oid) -> bool {
    let mut function = Oid::INVALID;
    // SAFETY: look-ups inside a transaction.
    unsafe {
        base == pg_sys::RECORDARRAYOID
            || pg_sys::get_element_type(base) != Oid::INVALID
            || pg_sys::type_is_rowtype(base)
            || is_users(base)
                && pg_sys::find_coercion_pathway(
                    pg_sys::JSONOID,
                    base,
                    pg_sys::CoercionContext::COERCION_EXPLICIT,
                    &mut function,
                ) == pg_sys::CoercionPathType::COERCION_PATH_FUNC
    }
}

/// The function that writes values of a type as text.
unsafe fn output(of_type: Oid, memory: pg_sys::MemoryContext) -> *mut pg_sys::FmgrInfo {
    let (mut function, mut is_varlena) = (Oid::INVALID, false);
    // SAFETY: look-ups inside a transaction.
    unsafe {
        pg_sys::getTypeOutputInfo(of_type, &mut function, &mut is_varlena);
        function_in(function, memory)
    }
}

/// `to_json` for values of a type, which it reads from the expression that calls it.
///
/// # Safety
/// Inside a transaction; the memory lives as long as the function.
pub unsafe fn to_json(of_type: Oid, memory: pg_sys::MemoryContext) -> *mut pg_sys::FmgrInfo {
    // SAFETY: nodes of PostgreSQL's, made in memory that lives as long as the function.
    unsafe {
        let function = function_in(Oid::from(pg_sys::F_TO_JSON), memory);
        let previous = pg_sys::MemoryContextSwitchTo(memory);
        let value = pg_sys::makeNullConst(of_type, -1, Oid::INVALID);
        let call = pg_sys::makeFuncExpr(
            Oid::from(pg_sys::F_TO_JSON),
            pg_sys::JSONOID,
            pg_sys::lcons(value.cast(), std::ptr::null_mut()),
            Oid::INVALID,
            Oid::INVALID,
            pg_sys::CoercionForm::COERCE_EXPLICIT_CALL,
        );
        pg_sys::MemoryContextSwitchTo(previous);
        (*function).fn_expr = call.cast();
        function
    }
}

unsafe fn function_in(function: Oid, memory: pg_sys::MemoryContext) -> *mut pg_sys::FmgrInfo {
    // SAFETY: the function exists: a type depends on it, or it is PostgreSQL's own.
    unsafe {
        let info = pg_sys::MemoryContextAllocZero(memory, size_of::<pg_sys::FmgrInfo>()).cast();
        pg_sys::fmgr_info_cxt(function, info, memory);
        info
    }
}

/// Writes a value that is not null. Errors of PostgreSQL's jump out: nothing here owns memory.
unsafe fn write(kind: Kind, value: Datum, body: &mut Body) {
    // SAFETY: the kind says of what type the value is; the functions are of that type.
    unsafe {
        match kind {
            Kind::Bool => body.put(if value.value() & 0xff != 0 { b"true" } else { b"false" }),
            Kind::Int2 => body.put_integer(i64::from(value.value() as i16)),
            Kind::Int4 => body.put_integer(i64::from(value.value() as i32)),
            Kind::Int8 => body.put_integer(value.value() as i64),
            Kind::Text => body.put_string(contents(pg::pg_detoast_datum_packed(value.cast_mut_ptr()))),
            Kind::Json => body.put(contents(pg::pg_detoast_datum_packed(value.cast_mut_ptr()))),
            Kind::Jsonb => body.put(jsonb_text(value)),
            Kind::Time(of_type) => {
                let mut text = [0; pg_sys::MAXDATELEN as usize + 1];
                let text = pg::JsonEncodeDateTime(text.as_mut_ptr(), value, of_type, std::ptr::null());
                body.put_string(CStr::from_ptr(text).to_bytes());
            }
            Kind::Number(function) => {
                let text = CStr::from_ptr(pg::OutputFunctionCall(function, value)).to_bytes();
                // NaN and the infinities are none of JSON's numbers.
                if text.last().is_some_and(u8::is_ascii_digit) {
                    body.put(text);
                } else {
                    body.put_string(text);
                }
            }
            Kind::Other(function) => {
                body.put_string(CStr::from_ptr(pg::OutputFunctionCall(function, value)).to_bytes());
            }
            Kind::Nested(function) => {
                let json = pg::FunctionCall1Coll(function, Oid::INVALID, value);
                body.put(contents(json.cast_mut_ptr()));
            }
        }
    }
}

/// The bytes of a value that is not compressed.
///
/// # Safety
/// A detoasted value.
pub unsafe fn contents<'a>(value: *const pg_sys::varlena) -> &'a [u8] {
    // SAFETY: by contract.
    unsafe { std::slice::from_raw_parts(vardata_any(value).cast::<u8>(), varsize_any_exhdr(value)) }
}

/// The text of a jsonb, in the current memory context.
///
/// # Safety
/// Inside a guard; a value of type jsonb.
pub(crate) unsafe fn jsonb_text<'a>(value: Datum) -> &'a [u8] {
    // SAFETY: by contract.
    unsafe {
        let jsonb = pg::pg_detoast_datum(value.cast_mut_ptr()).cast::<pg_sys::Jsonb>();
        let text = pg::JsonbToCString(
            std::ptr::null_mut(),
            &raw mut (*jsonb).root,
            pgrx::varlena::varsize(jsonb.cast()) as c_int,
        );
        CStr::from_ptr(text).to_bytes()
    }
}
