//! How long values are as texts, before any text is made. `1e131071` takes some bytes where it is stored, and 131,072 where it is
//! written: a line of 38 kB is a row of half a gigabyte.

use std::mem::MaybeUninit;

use pg::catalog::{attributes, is_users};
use pg::guard::direct;
use pgrx::pg_sys::{self, Datum, Oid};

use super::values::{deformed, elements_of, release};

/// What values are to become.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// What their types write.
    Text,
    /// What `to_json` writes: a cast of a user's may make less of a value.
    Json,
}

/// Bytes that texts may have yet.
pub struct Room {
    left: usize,
    form: Form,
}

/// There is no room.
pub struct Full;

impl Room {
    /// So many bytes.
    pub fn new(bytes: usize, form: Form) -> Room {
        Room { left: bytes, form }
    }

    /// Takes bytes.
    pub fn take(&mut self, bytes: usize) -> Result<(), Full> {
        self.left = self.left.checked_sub(bytes).ok_or(Full)?;
        Ok(())
    }

    /// Whether there is room for a value, by what it has at least.
    ///
    /// # Safety
    /// A value of the type, inside a transaction.
    pub unsafe fn has(&self, value: Datum, of_type: Oid) -> bool {
        // SAFETY: by contract.
        unsafe { Room { ..*self }.add(value, of_type).is_ok() }
    }

    /// The same, and takes it if so.
    ///
    /// # Safety
    /// A value of the type, inside a transaction.
    pub(crate) unsafe fn add_whole(&mut self, value: Datum, of_type: Oid) -> Result<(), Full> {
        let mut after = Room { ..*self };
        // SAFETY: by contract.
        unsafe { after.add(value, of_type)? };
        *self = after;
        Ok(())
    }

    /// Takes what a value has at least. Numbers are what makes a text many times as long as its value; of other types what
    /// is not known is not counted.
    ///
    /// # Safety
    /// A value of the type, inside a transaction.
    pub unsafe fn add(&mut self, value: Datum, of_type: Oid) -> Result<(), Full> {
        pgrx::check_for_interrupts!();
        // SAFETY: by contract; each branch reads the value as what its type says.
        unsafe {
            let base = pg_sys::getBaseType(of_type);
            let element = pg_sys::get_element_type(base);
            match base {
                pg_sys::NUMERICOID => self.add_numeric(value.cast_mut_ptr()),
                pg_sys::JSONBOID => self.add_jsonb(value),
                pg_sys::TEXTOID | pg_sys::VARCHAROID | pg_sys::BPCHAROID | pg_sys::JSONOID => {
                    self.take(bytes(value))
                }
                // Two digits each; and a digit for each bit.
                pg_sys::BYTEAOID => self.take(bytes(value) * 2),
                pg_sys::BITOID | pg_sys::VARBITOID => self.take(bytes(value) * 8),
                _ if self.form == Form::Json && has_cast_to_json(base) => Ok(()),
                _ if element != Oid::INVALID => self.add_array(value, element),
                _ if pg_sys::type_is_rowtype(base) => self.add_row(value),
                _ if pg_sys::type_is_range(base) => self.add_range(value, base),
                _ if pg_sys::type_is_multirange(base) => self.add_multirange(value, base),
                _ => Ok(()),
            }
        }
    }

    unsafe fn add_numeric(&mut self, numeric: *mut pg_sys::varlena) -> Result<(), Full> {
        // SAFETY: a numeric, perhaps compressed.
        unsafe {
            let whole = pg_sys::pg_detoast_datum_packed(numeric);
            let size = digits(pgrx::varlena_to_byte_slice(whole));
            if whole != numeric {
                pg_sys::pfree(whole.cast());
            }
            self.take(size)
        }
    }

    unsafe fn add_jsonb(&mut self, json: Datum) -> Result<(), Full> {
        // SAFETY: a jsonb; what the iterator gives is of the type that it says.
        unsafe {
            let json = pg_sys::pg_detoast_datum(json.cast_mut_ptr()).cast::<pg_sys::Jsonb>();
            let mut iterator = pg_sys::JsonbIteratorInit(&mut (*json).root);
            let mut value = MaybeUninit::<pg_sys::JsonbValue>::zeroed();
            loop {
                let token = pg_sys::JsonbIteratorNext(&mut iterator, value.as_mut_ptr(), false);
                match token {
                    pg_sys::JsonbIteratorToken::WJB_DONE => return Ok(()),
                    pg_sys::JsonbIteratorToken::WJB_KEY
                    | pg_sys::JsonbIteratorToken::WJB_VALUE
                    | pg_sys::JsonbIteratorToken::WJB_ELEM => {}
                    _ => continue,
                }
                let value = value.assume_init_ref();
                match value.type_ {
                    pg_sys::jbvType::jbvNumeric => self.add_numeric(value.val.numeric.cast())?,
                    pg_sys::jbvType::jbvString => self.take(value.val.string.len as usize + 2)?,
                    _ => self.take(1)?,
                }
            }
        }
    }

    unsafe fn add_array(&mut self, array: Datum, element: Oid) -> Result<(), Full> {
        // SAFETY: an array of such elements.
        unsafe {
            if !may_unfold(element) {
                let array = pg_sys::pg_detoast_datum(array.cast_mut_ptr()).cast::<pg_sys::ArrayType>();
                let count = pg_sys::ArrayGetNItems((*array).ndim, array.add(1).cast());
                return self.take(count as usize * 2);
            }
            for value in elements_of(array, element) {
                self.take(1)?;
                value.map_or(Ok(()), |value| self.add(value, element))?;
            }
            Ok(())
        }
    }

    unsafe fn add_row(&mut self, row: Datum) -> Result<(), Full> {
        // SAFETY: a composite value.
        unsafe {
            let (descriptor, values) = deformed(row);
            let types: Vec<Oid> = attributes(descriptor)
                .iter()
                .map(|column| if column.attisdropped { Oid::INVALID } else { column.atttypid })
                .collect();
            release(descriptor);
            for (of_type, value) in types.into_iter().zip(values) {
                if let Some(value) = value.filter(|_| of_type != Oid::INVALID) {
                    self.add(value, of_type)?;
                }
            }
            Ok(())
        }
    }

    unsafe fn add_range(&mut self, range: Datum, of_type: Oid) -> Result<(), Full> {
        // SAFETY: a range of the type.
        unsafe {
            let range = pg_sys::pg_detoast_datum(range.cast_mut_ptr());
            self.add_bounds(range.cast(), range_type(of_type))
        }
    }

    unsafe fn add_multirange(&mut self, ranges: Datum, of_type: Oid) -> Result<(), Full> {
        // SAFETY: a multirange of the type: its size, its type, and how many ranges it has.
        unsafe {
            let ranges = pg_sys::pg_detoast_datum(ranges.cast_mut_ptr());
            let range = range_type(pg_sys::get_multirange_range(of_type));
            let count = *ranges.cast::<u32>().add(2);
            for place in 0..count {
                let one = direct(|| pg::multirange_get_range(range, ranges.cast(), place as i32));
                let result = self.add_bounds(one, range);
                pg_sys::pfree(one.cast());
                result?;
            }
            Ok(())
        }
    }

    unsafe fn add_bounds(
        &mut self,
        range: *const pg_sys::RangeType,
        of_type: *mut pg_sys::TypeCacheEntry,
    ) -> Result<(), Full> {
        let (mut lower, mut upper) = (pg_sys::RangeBound::default(), pg_sys::RangeBound::default());
        let mut is_empty = false;
        // SAFETY: a range of the type.
        unsafe {
            pg_sys::range_deserialize(of_type, range, &mut lower, &mut upper, &mut is_empty);
            self.take(3)?;
            for bound in [lower, upper] {
                if !is_empty && !bound.infinite {
                    self.add(bound.val, (*(*of_type).rngelemtype).type_id)?;
                }
            }
        }
        Ok(())
    }
}

/// The bytes of a varlena that are not its header.
unsafe fn bytes(value: Datum) -> usize {
    // SAFETY: by contract.
    unsafe { pg_sys::toast_raw_datum_size(value).saturating_sub(pg_sys::VARHDRSZ) }
}

unsafe fn range_type(of_type: Oid) -> *mut pg_sys::TypeCacheEntry {
    // SAFETY: a range type; the entry lives as long as the process.
    unsafe { pg_sys::lookup_type_cache(of_type, pg_sys::TYPECACHE_RANGE_INFO as i32) }
}

/// Whether the elements of an array are worth a look.
unsafe fn may_unfold(of_type: Oid) -> bool {
    // SAFETY: look-ups inside a transaction.
    unsafe {
        let base = pg_sys::getBaseType(of_type);
        matches!(
            base,
            pg_sys::NUMERICOID
                | pg_sys::JSONBOID
                | pg_sys::TEXTOID
                | pg_sys::VARCHAROID
                | pg_sys::BPCHAROID
                | pg_sys::JSONOID
                | pg_sys::BYTEAOID
                | pg_sys::BITOID
                | pg_sys::VARBITOID
        ) || pg_sys::get_element_type(base) != Oid::INVALID
            || pg_sys::type_is_rowtype(base)
            || pg_sys::type_is_range(base)
            || pg_sys::type_is_multirange(base)
    }
}

unsafe fn has_cast_to_json(base: Oid) -> bool {
    let mut function = Oid::INVALID;
    // SAFETY: look-ups inside a transaction.
    unsafe {
        is_users(base)
            && pg_sys::find_coercion_pathway(
                pg_sys::JSONOID,
                base,
                pg_sys::CoercionContext::COERCION_EXPLICIT,
                &mut function,
            ) == pg_sys::CoercionPathType::COERCION_PATH_FUNC
    }
}

/// The digits that a numeric is written with, from its header (NumericChoice in PostgreSQL's numeric.c). A digit of it is four.
fn digits(numeric: &[u8]) -> usize {
    let word =
        |place: usize| numeric.get(place..place + 2).map_or(0, |two| u16::from_ne_bytes([two[0], two[1]]));
    let header = word(0);
    let (weight, scale) = match header & 0xC000 {
        0xC000 => (0, 0),
        0x8000 => {
            let weight = (header & 0x3F) as i16;
            (if header & 0x40 == 0 { weight } else { weight - 0x40 }, (header & 0x1F80) >> 7)
        }
        _ => (word(2) as i16, header & 0x3FFF),
    };
    // The first may have leading zeros, which are not written.
    let whole = usize::try_from(weight).unwrap_or(0) * 4;
    whole + 1 + usize::from(scale)
}

#[cfg(test)]
mod tests {
    use super::digits;

    #[test]
    fn the_digits_of_a_number_are_counted_from_its_header() {
        let of =
            |words: &[u16]| digits(&words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>());
        assert_eq!(of(&[0x8000, 1]), 1);
        // 1e131071, and 1e-16383.
        assert_eq!(of(&[0x0000, 32767, 1000]), 131_069);
        assert_eq!(of(&[16383, -4096i16 as u16, 10]), 16_384);
        // 12.50, and 0.0001.
        assert_eq!(of(&[0x8100, 12, 5000]), 3);
        assert_eq!(of(&[0x8200 | 0x7F, 1]), 5);
        assert_eq!(of(&[0xC000]), 1);
    }
}
