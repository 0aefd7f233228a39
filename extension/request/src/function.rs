//! A function as the catalog describes it.

use std::borrow::Cow;
use std::ffi::{CString, c_void};

use pg::catalog::SQL_LANGUAGE;
use pg::guard::direct;
use pg::text::string;
use pg::version::may_execute;
use pgrx::IntoDatum;
use pgrx::pg_sys::{self, Datum, Oid};
use session::temporary;

use super::admission;
use super::inputs::{Argument, Input, arguments};
use super::plan::{Origin, Plan, result_of};
use super::rows::ResultLayout;
use super::shape::{MediaType, Shape};
use super::standing::{FunctionVersion, PROCOID, version};
use super::types::{Types, is_html};

/// A function that answers a route.
pub struct Function {
    /// Where what lives as long as the function is kept.
    memory: pg_sys::MemoryContext,
    version: FunctionVersion,
    owner: Oid,
    schema: String,
    name: String,
    arguments: Vec<Argument>,
    defaults: usize,
    result: Oid,
    returns_set: bool,
    temporary: bool,
    volatile: bool,
    security_definer: bool,
    has_settings: bool,
    strict: bool,
    is_response: bool,
    in_sql: bool,
    variadic: bool,
    is_function: bool,
    source: String,
    /// Bytes of the body as it was parsed, if it was when the function was made.
    tree_size: Option<usize>,
    parse_info: *mut c_void,
}

impl Function {
    /// The oid of the function that the text names, for example `user_card(text)`. Raises PostgreSQL's error if
    /// there is none.
    ///
    /// # Safety
    /// Inside a transaction, with the endpoint's search_path in force.
    pub unsafe fn look_up(signature: &str) -> Oid {
        let text = CString::new(signature).unwrap_or_default();
        // SAFETY: by contract; pgrx guards the call.
        unsafe {
            pgrx::direct_function_call::<Oid>(pg_sys::regprocedurein, &[Some(Datum::from(text.as_ptr()))])
        }
        .unwrap_or(Oid::INVALID)
    }

    /// The same; none if there is none.
    ///
    /// # Safety
    /// As of [`Function::look_up`].
    pub(super) unsafe fn find(signature: &str) -> Option<Oid> {
        // SAFETY: by contract; pgrx guards the call.
        unsafe { pgrx::direct_function_call::<Oid>(pg_sys::to_regprocedure, &[signature.into_datum()]) }
    }

    /// The function of this oid.
    ///
    /// # Safety
    /// Inside a transaction.
    pub unsafe fn of(oid: Oid, types: &Types) -> Function {
        // SAFETY: by contract; pgrx guards each call. Strings of the catalog are copied before release.
        unsafe {
            let tuple = pg_sys::SearchSysCache1(PROCOID, Datum::from(oid));
            if tuple.is_null() {
                pgrx::error!("there is no function with the oid {oid}");
            }
            let function = Self::from_tuple(oid, tuple, types, pg::new_memory(c"howdah function"));
            pg_sys::ReleaseSysCache(tuple);
            function
        }
    }

    unsafe fn from_tuple(
        oid: Oid,
        tuple: pg_sys::HeapTuple,
        types: &Types,
        keep: pg_sys::MemoryContext,
    ) -> Function {
        // SAFETY: the tuple is a row of pg_proc held by `of`.
        unsafe {
            let row = &*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_proc>();
            let arguments = arguments(tuple, row.pronargs as usize, types, keep);
            // The parser cannot know polymorphic arguments without a call, and a route cannot have them. It would
            // take an argument for one of the default collation, whatever its type's.
            let in_sql = row.prolang.to_u32() == SQL_LANGUAGE
                && !arguments.iter().any(|argument| is_pseudo_type(argument.type_oid))
                && arguments.iter().all(|argument| has_default_collation(argument.type_oid));
            Function {
                memory: keep,
                version: version(oid, tuple),
                owner: row.proowner,
                schema: string(pg_sys::get_namespace_name(row.pronamespace)),
                name: string(row.proname.data.as_ptr()),
                arguments,
                defaults: row.pronargdefaults as usize,
                result: row.prorettype,
                returns_set: row.proretset,
                temporary: temporary::is_temporary(row.pronamespace),
                volatile: row.provolatile as u8 == pg_sys::PROVOLATILE_VOLATILE,
                security_definer: row.prosecdef,
                has_settings: attribute(tuple, pg_sys::Anum_pg_proc_proconfig).is_some(),
                strict: row.proisstrict,
                is_response: row.prorettype == types.response,
                in_sql,
                variadic: row.provariadic != Oid::INVALID,
                is_function: row.prokind as u8 == pg_sys::PROKIND_FUNCTION,
                source: attribute(tuple, pg_sys::Anum_pg_proc_prosrc).map(text_of).unwrap_or_default(),
                tree_size: attribute(tuple, pg_sys::Anum_pg_proc_prosqlbody)
                    .map(|tree| pg::toast_raw_datum_size(tree)),
                parse_info: if in_sql { keep_parse_info(tuple, keep) } else { std::ptr::null_mut() },
            }
        }
    }

    /// The name as an SQL statement writes it, with its schema.
    pub fn qualified_name(&self) -> String {
        let quote = pgrx::spi::quote_identifier::<&str>;
        format!("{}.{}", quote(&self.schema), quote(&self.name))
    }

    /// Whether it is a procedure, an aggregate or a window function.
    pub fn is_procedure(&self) -> bool {
        !self.is_function
    }

    /// Whether the role has the right EXECUTE.
    ///
    /// # Safety
    /// Inside a transaction.
    pub(crate) unsafe fn may_be_executed_by(&self, role: Oid) -> bool {
        // SAFETY: by contract.
        unsafe { may_execute(self.version.oid, role) }
    }

    /// Which version of the function this is.
    pub(crate) fn version(&self) -> FunctionVersion {
        self.version
    }

    /// Who owns this version of it.
    pub fn owner(&self) -> Oid {
        self.owner
    }

    /// Its arguments, in order.
    pub fn arguments(&self) -> &[Argument] {
        &self.arguments
    }

    /// Whether the argument at this place has a default.
    pub(crate) fn has_default(&self, place: usize) -> bool {
        place + self.defaults >= self.arguments.len()
    }

    /// The bit set in which all arguments are given.
    pub(crate) fn all_given(&self) -> u64 {
        (1u64 << self.arguments.len()) - 1
    }

    /// The arguments of a bit set.
    pub(crate) fn given_arguments(&self, given: u64) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().enumerate().filter(move |(place, _)| given >> place & 1 == 1).map(|(_, a)| a)
    }

    /// Whether it is declared VOLATILE.
    pub(crate) fn is_volatile(&self) -> bool {
        self.volatile
    }

    /// Why neither a route nor a job can call it, if so.
    pub fn obstacle(&self) -> Option<&'static str> {
        if self.temporary {
            Some("the function cannot be temporary: it is its session's alone; make it in a schema")
        } else if !self.is_function {
            Some("what is called is a function, not a procedure or an aggregate")
        } else if let Some(obstacle) = self.pseudo_types() {
            Some(obstacle)
        } else if self.returns_unknown_columns() {
            Some(
                "the function cannot return record alone; name the columns by returns table (…) or out arguments, or return json",
            )
        } else if self.variadic {
            Some("the function cannot be variadic; take an array")
        } else if self.arguments.len() > 60 {
            Some("the function has more than 60 arguments; take one of type jsonb or http.request")
        } else {
            None
        }
    }

    /// Whether its columns are known to each caller alone.
    fn returns_unknown_columns(&self) -> bool {
        // SAFETY: inside a transaction; the function exists.
        let class = unsafe {
            pg_sys::get_func_result_type(self.version.oid, std::ptr::null_mut(), std::ptr::null_mut())
        };
        class == pg_sys::TypeFuncClass::TYPEFUNC_RECORD
    }

    /// Whether it may take parameters of the path otherwise than by its arguments: it takes the request, or its text names
    /// what reads it.
    pub fn may_read_request(&self) -> bool {
        let text = self.text();
        self.arguments.iter().any(|argument| matches!(argument.input, Input::Request))
            || text.contains("path_value")
            || text.contains("current_request")
    }

    /// Types that are no type of a value: polymorphic ones, and those of PostgreSQL's inside.
    fn pseudo_types(&self) -> Option<&'static str> {
        if self.arguments.iter().any(|argument| is_pseudo_type(argument.type_oid)) {
            return Some("the function cannot take an argument of a pseudo-type, such as anyelement");
        }
        let result = is_pseudo_type(self.result)
            && !matches!(self.result, pg_sys::VOIDOID | pg_sys::RECORDOID | pg_sys::RECORDARRAYOID);
        result.then_some("the function cannot return a pseudo-type, such as trigger")
    }

    /// What its result is as a response, once [`Self::call`] has turned it into JSON where it must.
    pub fn shape(&self, types: &Types) -> Shape {
        if let Some(shape) = self.shape_of_rows() {
            return shape;
        }
        if self.returns_set && !self.is_response {
            return Shape::Text(MediaType::JSON);
        }
        Shape::of_value(self.result, types).unwrap_or(Shape::Text(MediaType::JSON))
    }

    /// The statement that calls it with the arguments in `given`.
    pub fn call(&self, given: u64) -> String {
        let mut parameters = Vec::new();
        let mut named = false;
        for (place, argument) in self.arguments.iter().enumerate() {
            if given >> place & 1 == 0 {
                // What follows an argument that is left out must be named.
                named = true;
                continue;
            }
            let number = parameters.len() + 1;
            parameters.push(match &argument.name {
                Some(name) if named => format!("{} => ${number}", pgrx::spi::quote_identifier(name)),
                _ => format!("${number}"),
            });
        }
        let call = format!("{}({})", self.qualified_name(), parameters.join(", "));
        self.select(&call)
    }

    /// The shape of the rows of its body as a response.
    pub(crate) fn shape_of_body(&self, types: &Types) -> Shape {
        if self.returns_json_value() { Shape::Row } else { self.shape(types) }
    }

    /// The shape of a result of rows with several columns.
    fn shape_of_rows(&self) -> Option<Shape> {
        // SAFETY: inside a transaction, as `of` was.
        let has_columns = unsafe { pg_sys::type_is_rowtype(self.result) } && !self.is_response;
        has_columns.then_some(if self.returns_set { Shape::Rows } else { Shape::Row })
    }

    /// The statement around the call: single values, rows and columns as they are, everything else as JSON.
    fn select(&self, call: &str) -> String {
        if self.shape_of_rows() == Some(Shape::Rows) {
            format!("select result.* from {call} result")
        } else if self.shape_of_rows().is_some() {
            // Taken apart here: PostgreSQL would keep the row in a table of its own to scan it.
            format!("select {call}")
        } else if self.returns_set && self.is_response {
            format!("select result from {call} result")
        } else if self.returns_set {
            format!("select coalesce(pg_catalog.json_agg(result), '[]') from {call} result")
        } else if self.is_response || self.is_single_value() {
            format!("select {call}")
        } else {
            format!("select pg_catalog.to_json({call})")
        }
    }

    fn is_single_value(&self) -> bool {
        // SAFETY: inside a transaction; the result's type exists.
        let base = unsafe { pg_sys::getBaseType(self.result) };
        matches!(
            base,
            pg_sys::TEXTOID
                | pg_sys::VARCHAROID
                | pg_sys::BPCHAROID
                | pg_sys::JSONOID
                | pg_sys::JSONBOID
                | pg_sys::XMLOID
                | pg_sys::BYTEAOID
                | pg_sys::VOIDOID
        ) || is_html(base)
    }

    /// Whether running the body instead of calling the function means the same.
    pub(crate) fn body_may_stand_for_call(&self) -> bool {
        // Who has hooks into calls wants to see them.
        self.in_sql
            && !admission::others_watch_calls()
            && !self.security_definer
            && !self.has_settings
            && !self.strict
            && (self.shape_of_rows().is_some()
                || !self.returns_set && (self.is_single_value() || self.is_response)
                || self.returns_json_value())
    }

    /// Whether it returns a single value that becomes one of JSON's, and is no domain's: that may get constraints.
    fn returns_json_value(&self) -> bool {
        // SAFETY: inside a transaction; the type exists.
        let is_domain = unsafe { pg_sys::getBaseType(self.result) } != self.result;
        let is_as_it_is = self.is_single_value() || self.is_response || self.shape_of_rows().is_some();
        !self.returns_set && !is_as_it_is && !is_domain
    }

    /// How rows of these columns, types and modifiers, are those that it returns, without any conversion or check; none if they are not.
    pub(crate) fn layout(&self, columns: &[(Oid, i32)]) -> Option<ResultLayout> {
        if self.returns_json_value() {
            let is_same = matches!(columns, [(only, _)] if *only == self.result);
            return is_same.then_some(ResultLayout::Value);
        }
        // SAFETY: inside a transaction; the types exist, and the descriptor has the places.
        unsafe {
            let base = pg_sys::getBaseType(self.result);
            if pg_sys::DomainHasConstraints(self.result) {
                return None;
            }
            if let [(only, _)] = columns
                && *only == base
                && base != pg_sys::RECORDOID
            {
                return Some(ResultLayout::Whole);
            }
            let descriptor = result_of(self.version.oid)?;
            let all = (0..(*descriptor).natts as usize).map(|place| pg::attribute(descriptor, place));
            let mut live = all.filter(|attribute| !attribute.attisdropped);
            let is_same = columns.iter().all(|(of_type, typmod)| {
                live.next().is_some_and(|attribute| {
                    attribute.atttypid == *of_type
                        && (attribute.atttypmod == -1 || attribute.atttypmod == *typmod)
                })
            });
            (is_same && live.next().is_none()).then_some(ResultLayout::Columns)
        }
    }

    /// Whether a value of this type is the function's result without any conversion or check.
    pub(crate) fn returns_as_is(&self, column: Oid) -> bool {
        let mut typmod = -1;
        // SAFETY: inside a transaction; both types exist.
        unsafe {
            let is_base = |base: Oid| base == column || is_html(base) && column == pg_sys::TEXTOID;
            column == self.result
                || (is_base(pg_sys::getBaseTypeAndTypmod(self.result, &mut typmod))
                    && typmod == -1
                    && !pg_sys::DomainHasConstraints(self.result))
        }
    }

    /// Whether the result is still what the plan takes it for: a domain's constraints and name, and a table's columns,
    /// may change while the function stays as it is.
    pub(crate) fn still_returns(&self, plan: &Plan, types: &Types) -> bool {
        // SAFETY: inside a transaction; the result's type exists as long as the function.
        let (base, are_current) =
            unsafe { (pg_sys::getBaseType(self.result), (*plan.columns()).are_current()) };
        if !are_current {
            return false;
        }
        base == self.result
            || (self.shape(types) == plan.shape && (plan.origin == Origin::Call || self.returns_as_is(base)))
    }

    /// Whether it is not called if an argument is null.
    pub(crate) fn is_strict(&self) -> bool {
        self.strict
    }

    /// Whether it returns a set.
    pub(crate) fn returns_set(&self) -> bool {
        self.returns_set
    }

    /// The type of its result.
    pub fn result(&self) -> Oid {
        self.result
    }

    /// Whether its body was parsed when it was made.
    pub(crate) fn has_tree(&self) -> bool {
        self.tree_size.is_some()
    }

    /// Where what lives as long as the function is kept.
    pub(crate) fn memory(&self) -> pg_sys::MemoryContext {
        self.memory
    }

    /// The text of the body. A body that was parsed when the function was made is written down, and means nothing: a name in it may be
    /// another's.
    fn text(&self) -> Cow<'_, str> {
        if !self.has_tree() {
            return Cow::Borrowed(&self.source);
        }
        let oid = Datum::from(self.version.oid);
        // SAFETY: inside a transaction; pgrx guards the call.
        let text =
            unsafe { pgrx::direct_function_call::<String>(pg_sys::pg_get_function_sqlbody, &[Some(oid)]) };
        let text = text.unwrap_or_default();
        let inner =
            text.trim().strip_prefix("BEGIN ATOMIC").and_then(|rest| rest.trim_end().strip_suffix("END"));
        Cow::Owned(inner.map(str::to_owned).unwrap_or(text))
    }

    /// The text as it is shown beside a plan: of a very long body that was parsed the name alone.
    pub(crate) fn body(&self) -> Cow<'_, str> {
        match self.tree_size {
            Some(size) if size > LONGEST_SHOWN => Cow::Owned(format!("/* {} */", self.qualified_name())),
            _ => self.text(),
        }
    }

    /// What the parser needs to know of the arguments; lives as long as the plan.
    pub(crate) fn parse_info(&self) -> *mut c_void {
        self.parse_info
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        // SAFETY: made by `new_memory`, and deleted once; the plans that use it have been released.
        unsafe { pg_sys::MemoryContextDelete(self.memory) }
    }
}

fn has_default_collation(type_oid: Oid) -> bool {
    // SAFETY: a look-up inside a transaction.
    let collation = unsafe { pg_sys::get_typcollation(type_oid) };
    collation == Oid::INVALID || collation == pg_sys::DEFAULT_COLLATION_OID
}

fn is_pseudo_type(type_oid: Oid) -> bool {
    // SAFETY: a look-up inside a transaction.
    unsafe { pg_sys::get_typtype(type_oid) as u8 == pg_sys::TYPTYPE_PSEUDO }
}

/// Of a function whose tree has more bytes the name is shown: its text would take milliseconds to write, and nobody reads it.
const LONGEST_SHOWN: usize = 200_000;

unsafe fn attribute(tuple: pg_sys::HeapTuple, number: u32) -> Option<Datum> {
    let mut null = false;
    // SAFETY: a row of pg_proc and one of its attributes.
    let value = unsafe { pg_sys::SysCacheGetAttr(PROCOID, tuple, number as i16, &mut null) };
    (!null).then_some(value)
}

fn text_of(value: Datum) -> String {
    // SAFETY: an attribute of type text.
    unsafe { string(pg_sys::text_to_cstring(value.cast_mut_ptr())) }
}

unsafe fn keep_parse_info(tuple: pg_sys::HeapTuple, keep: pg_sys::MemoryContext) -> *mut c_void {
    // SAFETY: a row of pg_proc; the info must outlive the plan, which may be analysed again at any time.
    unsafe {
        let previous = pg_sys::MemoryContextSwitchTo(keep);
        let info = direct(|| {
            pg::prepare_sql_fn_parse_info(tuple, std::ptr::null_mut(), pg_sys::DEFAULT_COLLATION_OID)
        });
        pg_sys::MemoryContextSwitchTo(previous);
        info
    }
}
