//! Rows in COPY's binary format.

use pgrx::pg_sys::{self, Datum, FmgrInfo, Oid};
use spool::Spool;

use super::columns::Column;
use super::convert::Kind;
use super::read::Rows;

/// What a file in this format begins with: the signature, no flags, no extension.
const HEAD: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// What it ends with.
const END: [u8; 2] = (-1i16).to_be_bytes();

/// Writes some rows of a bucket, as they are asked for.
pub(crate) struct Encoder<'r, 'a> {
    rows: &'r Rows<'a>,
    places: std::slice::Iter<'r, u32>,
    fields: Vec<Field>,
    /// What has been written, and not been fetched yet. A row may have a thousand times as much as is fetched at once.
    written: Spool,
    is_over: bool,
}

/// A column, and how its values are written.
struct Field {
    place: usize,
    form: Form,
}

enum Form {
    /// Its lowest bytes, the highest first.
    Number(usize),
    /// The content of a value of variable length.
    Content,
    /// So many bytes, as they are.
    Bytes(usize),
    /// By the type's own function.
    Send(Box<FmgrInfo>),
}

impl Form {
    fn of(column: &Column) -> Form {
        match column.kind {
            Kind::Bool => Form::Number(1),
            Kind::Int2 => Form::Number(2),
            Kind::Int4 | Kind::Float4 | Kind::Date => Form::Number(4),
            Kind::Int8 | Kind::Float8 | Kind::Timestamp | Kind::TimestampWithZone => Form::Number(8),
            Kind::Text | Kind::Varchar(_) | Kind::Bytes | Kind::Json => Form::Content,
            Kind::Uuid => Form::Bytes(16),
            Kind::Numeric(_) | Kind::Other => Form::Send(send_function(column.kind_of_data.0)),
        }
    }
}

fn send_function(kind: Oid) -> Box<FmgrInfo> {
    // SAFETY: look-ups inside a transaction.
    unsafe {
        let (mut name, mut is_varlena) = (Oid::INVALID, false);
        pg_sys::getTypeBinaryOutputInfo(kind, &mut name, &mut is_varlena);
        let mut function: Box<FmgrInfo> = Box::new(std::mem::zeroed());
        pg_sys::fmgr_info(name, &mut *function);
        function
    }
}

impl<'r, 'a> Encoder<'r, 'a> {
    /// The rows at these places, with the values of these columns.
    pub(crate) fn new(rows: &'r Rows<'a>, places: &'r [u32], columns: &[&Column]) -> Encoder<'r, 'a> {
        let field = |column: &&Column| Field { place: column.place, form: Form::of(column) };
        Encoder {
            rows,
            places: places.iter(),
            fields: columns.iter().map(field).collect(),
            written: Spool::from(HEAD.to_vec()),
            is_over: false,
        }
    }

    /// The next bytes, as many as there is room for; none at the end.
    pub(crate) fn fetch(&mut self, room: &mut [u8]) -> usize {
        while self.written.len() < room.len() && !self.is_over {
            match self.places.next() {
                Some(place) => self.write(*place as usize),
                None => {
                    self.written.end().extend_from_slice(&END);
                    self.is_over = true;
                }
            }
        }
        let count = room.len().min(self.written.len());
        room[..count].copy_from_slice(&self.written.rest()[..count]);
        self.written.take(count);
        count
    }

    fn write(&mut self, place: usize) {
        let (values, nulls) = self.rows.row(place);
        let to = self.written.end();
        to.extend_from_slice(&(self.fields.len() as i16).to_be_bytes());
        for field in &mut self.fields {
            if nulls[field.place] {
                to.extend_from_slice(&(-1i32).to_be_bytes());
            } else {
                field.form.write(values[field.place], to);
            }
        }
    }
}

impl Form {
    /// Writes a value of the column's type, after its length.
    fn write(&mut self, value: Datum, to: &mut Vec<u8>) {
        let mut write = |bytes: &[u8]| {
            to.extend_from_slice(&(bytes.len() as i32).to_be_bytes());
            to.extend_from_slice(bytes);
        };
        // SAFETY: the value is of the column's type, whose form this is.
        unsafe {
            match self {
                Form::Number(size) => write(&(value.value() as u64).to_be_bytes()[8 - *size..]),
                Form::Content => write(pgrx::varlena_to_byte_slice(value.cast_mut_ptr())),
                Form::Bytes(size) => write(std::slice::from_raw_parts(value.cast_mut_ptr(), *size)),
                Form::Send(function) => {
                    write(pgrx::varlena_to_byte_slice(pg::SendFunctionCall(&mut **function, value)));
                }
            }
        }
    }
}
