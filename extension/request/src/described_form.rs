//! The fields of a form, as the arguments of its route's function say: types, domains with their checks, enums.
//!
//! They are looked up in the catalogs.

use std::ffi::CStr;

use fields::{Rules, TypeClass, checks};
use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::{self, Oid};
use pgrx::spi::{Spi, SpiClient};
use session::settings_in_force;

use super::function::Function;
use super::inputs::{Argument, Input};
use super::recording;
use super::secrecy::Secrecy;
use super::types::Types;

/// A field as an argument says.
#[derive(Debug, Default)]
pub struct DescribedField {
    /// The argument's name.
    pub name: String,
    /// Its type.
    pub class: TypeClass,
    /// Whether it is an array of that.
    pub is_array: bool,
    /// Rules that a browser can check.
    pub rules: Rules,
}

/// The fields of a form.
#[derive(Debug, Default)]
pub struct DescribedForm {
    fields: Vec<DescribedField>,
    /// Whether its function may read others: it takes the request, or all of the body.
    takes_all: bool,
}

impl DescribedForm {
    /// The field of a name, if there is an argument of that name.
    pub fn field(&self, name: &str) -> Option<&DescribedField> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Whether a field of this name may be taken by the function.
    pub fn takes(&self, name: &str) -> bool {
        self.takes_all || self.fields.is_empty() || self.field(name).is_some()
    }

    /// The names of its fields, for an error.
    pub fn names(&self) -> String {
        self.fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>().join(", ")
    }
}

impl DescribedForm {
    /// The fields of the function that a text names, as `regprocedure` reads it, in this search_path; none if there is none.
    ///
    /// # Safety
    /// On the main thread, inside a transaction; errors unwind.
    pub(super) unsafe fn look_up(function: &str, search_path: &CStr, types: &Types) -> DescribedForm {
        // The catalogs are a part of what every answer has read.
        let was_recorded = recording::stop();
        // SAFETY: by contract; the level of settings ends here, or with an error.
        let found = unsafe {
            let level = pg_sys::NewGUCNestLevel();
            settings_in_force::set_local(c"search_path", search_path);
            let function = Function::find(function).map(|oid| Function::of(oid, types));
            settings_in_force::set_local(c"search_path", settings_in_force::SAFE_PATH);
            let found = function.map(|function| described(&function, types)).unwrap_or_default();
            pg_sys::AtEOXact_GUC(true, level);
            found
        };
        if was_recorded {
            recording::start();
        }
        found
    }
}

/// A type, and those that it is made of, each below the one before.
const LEVELS: &str = "
    with recursive levels as (
      select n.place, t.oid, t.typtype, t.typbasetype, t.typtypmod, t.typnotnull, t.typelem, t.typcategory, 0 as level
      from unnest($1) with ordinality n (oid, place) join pg_type t on t.oid = n.oid
      union all
      select l.place, t.oid, t.typtype, t.typbasetype, t.typtypmod, t.typnotnull, t.typelem, t.typcategory, l.level + 1
      from levels l
      join pg_type t on t.oid = case when l.typtype = 'd' then l.typbasetype when l.typcategory = 'A' then nullif(l.typelem, 0) end)
    select
      l.place::integer - 1, l.oid, l.typtype = 'd', l.typcategory = 'A' and l.typtype = 'b', l.typtypmod, l.typnotnull,
      array(select pg_get_expr(c.conbin, 0) from pg_constraint c where c.contypid = l.oid and c.contype = 'c' order by c.conname),
      array(select e.enumlabel::text from pg_enum e where e.enumtypid = l.oid order by e.enumsortorder)
    from levels l
    order by l.place, l.level";

/// A row of [`LEVELS`].
struct Level {
    place: usize,
    oid: Oid,
    is_domain: bool,
    is_array: bool,
    typmod: i32,
    is_needed: bool,
    checks: Vec<String>,
    labels: Vec<String>,
}

fn levels(client: &SpiClient<'_>, types: Vec<Oid>) -> Result<Vec<Level>, pgrx::spi::Error> {
    let rows = client.select(LEVELS, None, &[DatumWithOid::from(types)])?;
    let texts = |texts: Option<Vec<Option<String>>>| texts.into_iter().flatten().flatten().collect();
    rows.map(|row| {
        Ok(Level {
            place: row.get::<i32>(1)?.unwrap_or_default() as usize,
            oid: row.get::<Oid>(2)?.unwrap_or(Oid::INVALID),
            is_domain: row.get(3)?.unwrap_or_default(),
            is_array: row.get(4)?.unwrap_or_default(),
            typmod: row.get(5)?.unwrap_or(-1),
            is_needed: row.get(6)?.unwrap_or_default(),
            checks: texts(row.get(7)?),
            labels: texts(row.get(8)?),
        })
    })
    .collect()
}

/// The fields of a function's arguments.
///
/// # Safety
/// Inside a transaction, with the safe search_path; errors unwind.
unsafe fn described(function: &Function, types: &Types) -> DescribedForm {
    let arguments = function.arguments().iter().enumerate();
    // An attribute may always be left empty, unless its domain says otherwise.
    let fields = arguments.flat_map(|(place, argument)| {
        argument
            .leaves()
            .map(move |(attribute, leaf)| (leaf, attribute.is_some() || function.has_default(place)))
    });
    let (oids, mut fields): (Vec<_>, Vec<_>) =
        fields.map(|(leaf, has_default)| (leaf.type_oid, begun(leaf, has_default))).unzip();
    let levels = Spi::connect(|client| levels(client, oids))
        .unwrap_or_else(|error| pgrx::error!("cannot look up the fields of a form: {error}"));
    for level in levels {
        if let Some(field) = fields.get_mut(level.place) {
            add(field, level, types);
        }
    }
    let reads_body = function.arguments().iter().any(Argument::takes_body);
    DescribedForm { fields, takes_all: reads_body || function.may_read_request() }
}

/// A field as an argument alone says.
fn begun(argument: &Argument, has_default: bool) -> DescribedField {
    let class = match argument.input {
        _ if argument.secrecy != Secrecy::Open => TypeClass::Secret,
        Input::File | Input::Bytes(_) => TypeClass::File,
        _ => TypeClass::Text,
    };
    let mut rules = Rules { required: !has_default && !argument.is_boolean, ..Rules::default() };
    if argument.typmod >= 0 {
        bound_by_modifier(&mut rules, argument.typmod, argument.type_oid);
    }
    DescribedField { name: argument.name.clone().unwrap_or_default(), class, is_array: false, rules }
}

/// Adds a level of its type, of which each is nearer to what is stored.
fn add(field: &mut DescribedField, level: Level, types: &Types) {
    let Level { oid, typmod, .. } = level;
    let is_array = field.is_array;
    field.is_array |= level.is_array;
    if level.is_domain {
        if typmod >= 0 {
            bound_by_modifier(&mut field.rules, typmod, oid);
        }
        field.rules.required |= level.is_needed && !is_array;
    } else if !level.is_array && field.class == TypeClass::Text {
        field.class = match class_of(oid) {
            _ if oid == types.file => TypeClass::File,
            TypeClass::Text if !level.labels.is_empty() => TypeClass::Enum,
            class => class,
        };
    }
    // A check of an array says nothing of its elements.
    if level.is_array {
        field.rules = Rules { required: field.rules.required, ..Rules::default() };
    }
    let rules = &mut field.rules;
    let is_whole = level.is_domain && is_whole(oid);
    let checks = level.checks.iter().flat_map(|check| checks::read(check));
    checks.for_each(|check| rules.add(check, is_whole));
    if !level.labels.is_empty() {
        rules.values = level.labels;
    }
    match field.class {
        TypeClass::Integer => {}
        TypeClass::Number if rules.step.is_none() => rules.step = Some("any".into()),
        TypeClass::Text if !rules.values.is_empty() => field.class = TypeClass::Enum,
        _ => {}
    }
}

/// Whether a domain is over whole numbers.
fn is_whole(domain: Oid) -> bool {
    // SAFETY: inside a transaction; the type exists.
    matches!(unsafe { pg_sys::getBaseType(domain) }, pg_sys::INT2OID | pg_sys::INT4OID | pg_sys::INT8OID)
}

/// The rules of `varchar(20)` or `numeric(6, 2)`, as a domain has it.
fn bound_by_modifier(rules: &mut Rules, typmod: i32, domain: Oid) {
    /// `VARHDRSZ`, which modifiers of texts and numerics have beside what they say.
    const HEAD: i32 = pg_sys::VARHDRSZ as i32;
    // SAFETY: inside a transaction; the type exists.
    match unsafe { pg_sys::getBaseType(domain) } {
        pg_sys::VARCHAROID | pg_sys::BPCHAROID if typmod > HEAD => {
            rules.add(checks::Check::MaxLength((typmod - HEAD) as u32), false);
        }
        pg_sys::NUMERICOID => {
            // utils/adt/numeric.c: the scale is signed, of eleven bits.
            let scale = (((typmod - HEAD) & 0x7ff) ^ 1024) - 1024;
            rules.step = match scale {
                0 => Some("1".into()),
                1..=30 => Some(format!("0.{}1", "0".repeat(scale as usize - 1))),
                _ => None,
            };
        }
        _ => {}
    }
}

/// The class of a type that is neither a domain nor an array.
fn class_of(oid: Oid) -> TypeClass {
    use pg_sys::*;
    match oid {
        BOOLOID => TypeClass::Boolean,
        INT2OID | INT4OID | INT8OID | OIDOID => TypeClass::Integer,
        NUMERICOID | FLOAT4OID | FLOAT8OID => TypeClass::Number,
        DATEOID => TypeClass::Date,
        TIMEOID | TIMETZOID => TypeClass::Time,
        TIMESTAMPOID | TIMESTAMPTZOID => TypeClass::DateTime,
        JSONOID | JSONBOID => TypeClass::Json,
        _ => TypeClass::Text,
    }
}
