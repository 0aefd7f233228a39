//! What a function's arguments are, and what converts text into them.

use std::ffi::CStr;

use pg::text::string;
use pgrx::pg_sys::{self, Oid};
use session::kept_domains;

use super::secrecy::Secrecy;
use super::types::Types;

/// An argument that requests fill.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its type.
    pub type_oid: Oid,
    /// What converts text into it.
    pub input: Input,
    /// Whether its type is a domain: a null, and an array that is made here, must be checked.
    pub is_domain: bool,
    /// Whether it is true or false.
    pub is_boolean: bool,
    /// Whether an empty text is a value of its type, or of its elements' type.
    pub has_empty_text: bool,
    /// Whether its values are secrets.
    pub secrecy: Secrecy,
    /// The modifier of its type, such as the length of `varchar(20)`, as an attribute has it; -1 for none.
    pub typmod: i32,
    /// The attributes of its type, if that is a row type: each takes the value of its own name where the argument has none.
    pub attributes: Vec<Attribute>,
}

/// An attribute of a row type.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// Its place in the row, from 0.
    pub place: usize,
    /// It takes values as an argument does.
    pub argument: Argument,
}

impl Argument {
    /// Whether it takes values of this name: it has it, or an attribute of it has.
    pub fn takes(&self, name: &str) -> bool {
        let named = |argument: &Argument| argument.name.as_deref() == Some(name);
        named(self) || self.attributes.iter().any(|attribute| named(&attribute.argument))
    }

    /// Whether its attributes are still those that were looked up.
    ///
    /// # Safety
    /// Inside a transaction; errors unwind.
    pub(crate) unsafe fn is_up_to_date(&self) -> bool {
        // SAFETY: by contract; the description is a copy.
        self.attributes.is_empty()
            || unsafe {
                let base = pg_sys::getBaseType(self.type_oid);
                self.is_described_by(pg_sys::lookup_rowtype_tupdesc_copy(base, -1))
            }
    }

    /// Whether its attributes are those of a description.
    ///
    /// # Safety
    /// A description of PostgreSQL's.
    pub(super) unsafe fn is_described_by(&self, description: pg_sys::TupleDesc) -> bool {
        // SAFETY: by contract; each place is one of the description's.
        unsafe {
            let count = (*description).natts as usize;
            let live = (0..count).filter(|place| !pg::attribute(description, *place).attisdropped);
            let is_same = |known: &Attribute| {
                let now = (known.place < count).then(|| pg::attribute(description, known.place));
                now.is_some_and(|now| {
                    let name = CStr::from_ptr(now.attname.data.as_ptr()).to_bytes();
                    (now.atttypid, now.atttypmod) == (known.argument.type_oid, known.argument.typmod)
                        && known.argument.name.as_ref().is_some_and(|known| known.as_bytes() == name)
                })
            };
            live.count() == self.attributes.len() && self.attributes.iter().all(is_same)
        }
    }

    /// It, or its attributes if it has some.
    pub(crate) fn leaves(&self) -> impl Iterator<Item = (Option<usize>, &Argument)> {
        let own = std::iter::once((None, self));
        own.chain(self.attributes.iter().enumerate().map(|(number, it)| (Some(number), &it.argument)))
    }

    /// Whether the functions of its type compute from a text alone, and look nothing up: then they need no transaction.
    pub(crate) fn needs_no_transaction(&self) -> bool {
        // SAFETY: looked up with the plan, which lives.
        let is_alone = |input: &TypeInput| unsafe { ALONE.contains(&(*input.function).fn_oid.to_u32()) };
        match &self.input {
            Input::Text => !self.is_domain,
            Input::Value(input) | Input::Json(input) => is_alone(input),
            _ => false,
        }
    }

    /// Whether it takes the whole body: it has no name, and a type that can.
    pub fn takes_body(&self) -> bool {
        self.name.is_none() && matches!(self.input, Input::Text | Input::Bytes(_) | Input::Json(_))
    }
}

/// Input functions of PostgreSQL's that look nothing up: of numbers, money, booleans, texts with a length, JSON, times, bits, addresses, UUIDs.
const ALONE: [u32; 23] = [
    38, 42, 460, 200, 214, 886, 1242, 1044, 1046, 321, 3806, 1084, 1143, 1312, 1150, 1350, 1160, 1564, 1579,
    910, 1267, 2952, 1701,
];

/// How a value of the request becomes a value of the argument's type.
#[derive(Clone, Copy, Debug)]
pub enum Input {
    /// text and varchar without a length: the bytes as they are.
    Text,
    /// bytea: a file's or the body's bytes as they are; a text through the type's input function.
    Bytes(TypeInput),
    /// json and jsonb, and domains over them: JSON as it is written.
    Json(TypeInput),
    /// Any other type, through its input function.
    Value(TypeInput),
    /// An array, of elements converted by their type's input function.
    Array {
        /// The elements.
        element: TypeInput,
        /// The elements' type.
        element_type: Oid,
        /// Its length, or -1.
        length: i16,
        /// Whether it is passed by value.
        by_value: bool,
        /// Its alignment.
        align: i8,
        /// The array's own input function, for a text like `{1,2}`.
        whole: TypeInput,
        /// That of `cstring[]`, which finds the elements of a text as `whole` does; none if it does not.
        texts: Option<TypeInput>,
    },
    /// `http.request`: the request.
    Request,
    /// `http.file`: an uploaded file.
    File,
}

/// A type's input function and what it wants besides the text.
#[derive(Clone, Copy, Debug)]
pub struct TypeInput {
    /// The function, looked up; lives as long as the plan.
    function: *mut pg_sys::FmgrInfo,
    /// [`kept_domains::epoch`] when what it keeps was made.
    epoch: *mut u64,
    /// Its second argument.
    pub parameter: Oid,
    /// The typmod: that of a domain's base type is the domain's own concern.
    pub typmod: i32,
}

impl TypeInput {
    /// The function, which has kept nothing that must be made anew: plans of domains' constraints, say.
    ///
    /// # Safety
    /// Before its `keep` is gone; it does not run.
    pub unsafe fn function(&self) -> *mut pg_sys::FmgrInfo {
        let now = kept_domains::epoch();
        // SAFETY: by contract; what the function keeps is in a memory context that is its own.
        unsafe {
            if *self.epoch != now {
                *self.epoch = now;
                if !(*self.function).fn_extra.is_null() {
                    (*self.function).fn_extra = std::ptr::null_mut();
                    pg::MemoryContextReset((*self.function).fn_mcxt);
                }
            }
        }
        self.function
    }
}

/// The IN and INOUT arguments of a function. What converts them is kept in `keep`.
///
/// # Safety
/// Inside a transaction; a row of pg_proc that has so many.
pub(crate) unsafe fn arguments(
    tuple: pg_sys::HeapTuple,
    inputs: usize,
    types: &Types,
    keep: pg_sys::MemoryContext,
) -> Vec<Argument> {
    // SAFETY: a row of pg_proc; the three arrays have as many elements as is returned.
    unsafe {
        let (mut kinds, mut names, mut modes) =
            (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
        let count = pg_sys::get_func_arg_info(tuple, &mut kinds, &mut names, &mut modes) as usize;
        let is_input =
            |place: usize| modes.is_null() || matches!(*modes.add(place) as u8, b'i' | b'b' | b'v');
        (0..count)
            .filter(|&place| is_input(place))
            .take(inputs)
            .map(|place| {
                let name = if names.is_null() { String::new() } else { string(*names.add(place)) };
                let type_oid = *kinds.add(place);
                Argument {
                    attributes: attributes(type_oid, types, keep),
                    ..argument(name, type_oid, -1, types, keep)
                }
            })
            .collect()
    }
}

/// An argument, or an attribute, without those of its own.
unsafe fn argument(
    name: String,
    type_oid: Oid,
    typmod: i32,
    types: &Types,
    keep: pg_sys::MemoryContext,
) -> Argument {
    // SAFETY: inside a transaction; the type exists.
    unsafe {
        let secrecy = Secrecy::of(&name, type_oid, types);
        Argument {
            name: (!name.is_empty()).then_some(name),
            type_oid,
            input: input(type_oid, typmod, types, keep),
            is_domain: is_domain(type_oid),
            is_boolean: pg_sys::getBaseType(type_oid) == pg_sys::BOOLOID,
            has_empty_text: has_empty_text(type_oid),
            secrecy,
            typmod,
            attributes: Vec::new(),
        }
    }
}

/// The attributes of a row type, or of a domain over one; none of those that have a meaning of their own.
unsafe fn attributes(type_oid: Oid, types: &Types, keep: pg_sys::MemoryContext) -> Vec<Attribute> {
    // SAFETY: inside a transaction; the type exists, and its description is a copy.
    unsafe {
        let base = pg_sys::getBaseType(type_oid);
        let is_row = pg_sys::get_typtype(base) as u8 == pg_sys::TYPTYPE_COMPOSITE;
        if !is_row || base == types.request || base == types.file {
            return Vec::new();
        }
        let description = pg_sys::lookup_rowtype_tupdesc_copy(base, -1);
        (0..(*description).natts as usize)
            .map(|place| (place, pg::attribute(description, place)))
            .filter(|(_, attribute)| !attribute.attisdropped)
            .map(|(place, attribute)| {
                let name = string(attribute.attname.data.as_ptr());
                let argument = argument(name, attribute.atttypid, attribute.atttypmod, types, keep);
                Attribute { place, argument }
            })
            .collect()
    }
}

/// How text becomes a value of this type.
unsafe fn input(type_oid: Oid, typmod: i32, types: &Types, keep: pg_sys::MemoryContext) -> Input {
    if type_oid == types.request {
        return Input::Request;
    }
    if type_oid == types.file {
        return Input::File;
    }
    // SAFETY: inside a transaction; the type of an argument exists.
    unsafe {
        match type_oid {
            pg_sys::TEXTOID | pg_sys::VARCHAROID if typmod < 0 => return Input::Text,
            pg_sys::BYTEAOID => return Input::Bytes(type_input(type_oid, -1, keep)),
            _ => {}
        }
        if matches!(pg_sys::getBaseType(type_oid), pg_sys::JSONOID | pg_sys::JSONBOID) {
            return Input::Json(type_input(type_oid, -1, keep));
        }
        let element_type = pg_sys::get_base_element_type(type_oid);
        if element_type == Oid::INVALID {
            return Input::Value(type_input(type_oid, typmod, keep));
        }
        let (mut length, mut by_value, mut align) = (0, false, 0);
        pg_sys::get_typlenbyvalalign(element_type, &mut length, &mut by_value, &mut align);
        Input::Array {
            element: type_input(element_type, typmod, keep),
            element_type,
            length,
            by_value,
            align,
            whole: type_input(type_oid, typmod, keep),
            texts: is_written_as_texts(type_oid, element_type).then(|| type_input(CSTRING_ARRAY, -1, keep)),
        }
    }
}

/// `cstring[]`.
const CSTRING_ARRAY: Oid = Oid::from_u32(1263);

/// Whether the elements of an array stand in its text like those of one of texts: with commas between them. A domain looks at the
/// whole array.
unsafe fn is_written_as_texts(array: Oid, element: Oid) -> bool {
    let (mut length, mut by_value, mut align, mut delimiter) = (0, false, 0, 0);
    let (mut parameter, mut function) = (Oid::INVALID, Oid::INVALID);
    // SAFETY: inside a transaction; the types exist.
    unsafe {
        pg_sys::get_type_io_data(
            element,
            pg_sys::IOFuncSelector::IOFunc_input,
            &mut length,
            &mut by_value,
            &mut align,
            &mut delimiter,
            &mut parameter,
            &mut function,
        );
        delimiter as u8 == b',' && !is_domain(array)
    }
}

/// Whether an empty text is a value of a type, or of its elements' type: of all that are texts, and of bytea.
unsafe fn has_empty_text(type_oid: Oid) -> bool {
    /// `TYPCATEGORY_STRING`, and `TYPCATEGORY_INTERNAL` for `"char"` (catalog/pg_type.h).
    const OF_TEXTS: [u8; 2] = *b"SZ";
    // SAFETY: inside a transaction; the types exist.
    unsafe {
        let element = pg_sys::get_base_element_type(type_oid);
        let base = pg_sys::getBaseType(if element == Oid::INVALID { type_oid } else { element });
        let (mut category, mut preferred) = (0, false);
        pg_sys::get_type_category_preferred(base, &mut category, &mut preferred);
        base == pg_sys::BYTEAOID || OF_TEXTS.contains(&(category as u8))
    }
}

unsafe fn is_domain(type_oid: Oid) -> bool {
    // SAFETY: inside a transaction.
    unsafe { pg_sys::get_typtype(type_oid) as u8 == pg_sys::TYPTYPE_DOMAIN }
}

unsafe fn type_input(type_oid: Oid, typmod: i32, keep: pg_sys::MemoryContext) -> TypeInput {
    // SAFETY: inside a transaction; the type exists. A type's input function may keep memory of its own
    // beside its FmgrInfo.
    unsafe {
        let (mut function, mut parameter) = (Oid::INVALID, Oid::INVALID);
        pg_sys::getTypeInputInfo(type_oid, &mut function, &mut parameter);
        let info = pg_sys::MemoryContextAllocZero(keep, std::mem::size_of::<pg_sys::FmgrInfo>())
            .cast::<pg_sys::FmgrInfo>();
        let epoch = pg_sys::MemoryContextAllocZero(keep, std::mem::size_of::<u64>()).cast::<u64>();
        *epoch = kept_domains::epoch();
        pg_sys::fmgr_info_cxt(function, info, pg::new_memory_in(keep, c"howdah input"));
        TypeInput { function: info, epoch, parameter, typmod }
    }
}
