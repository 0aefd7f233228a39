//! Random folders of an application, and random changes of them. Not each can be deployed: a fresh database tells.

use std::collections::BTreeMap;

use hunt::Rng;

/// A table: migrations make and change it.
#[derive(Clone)]
struct Table {
    name: String,
    /// Those beside `id`.
    columns: Vec<Column>,
}

#[derive(Clone)]
struct Column {
    name: String,
}

/// What files make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Enum,
    Composite,
    Domain,
    Function,
    /// One whose signature has the type.
    Typed,
    View,
    ViewOfView,
    Materialized,
    TriggerFunction,
    Trigger,
    Policy,
    Index,
    Rule,
    Aggregate,
    Statistics,
    Grant,
    Operator,
    /// A file of HTML.
    Page,
}

const KINDS: [Kind; 19] = [
    Kind::Enum,
    Kind::Composite,
    Kind::Domain,
    Kind::Function,
    Kind::Typed,
    Kind::View,
    Kind::ViewOfView,
    Kind::Materialized,
    Kind::TriggerFunction,
    Kind::Trigger,
    Kind::Policy,
    Kind::Index,
    Kind::Rule,
    Kind::Aggregate,
    Kind::Statistics,
    Kind::Grant,
    Kind::Operator,
    // Twice as often: they are put together of each other.
    Kind::Page,
    Kind::Page,
];

/// An object that a file makes.
#[derive(Clone)]
struct Object {
    kind: Kind,
    number: u32,
    file: String,
    /// Which of the ways to write it.
    variant: u32,
    /// The number of the table and of a column of it, for kinds that stand on one.
    table: usize,
    column: u32,
    /// The number of an object that it uses, if there is one of a fitting kind.
    used: u32,
}

/// A folder.
#[derive(Clone)]
pub(super) struct World {
    tables: Vec<Option<Table>>,
    migrations: Vec<String>,
    objects: Vec<Object>,
    /// The code as it was restored, until something is changed.
    restored: Option<BTreeMap<String, String>>,
    next: u32,
}

const FILES: [&str; 7] = [
    "functions/a.sql",
    "functions/b.sql",
    "functions/deep/c.sql",
    "functions/z.sql",
    "views/a.sql",
    "views/m.sql",
    "views/z.sql",
];

impl World {
    /// Two tables.
    pub(super) fn new() -> World {
        let mut world = World {
            tables: Vec::new(),
            migrations: Vec::new(),
            objects: Vec::new(),
            restored: None,
            next: 0,
        };
        world.add_table();
        world.add_table();
        world
    }

    fn number(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn add_table(&mut self) {
        let number = self.number();
        let columns = ["value", "note"].map(|name| Column { name: format!("{name}_{number}") });
        let [value, note] = columns;
        let name = format!("table_{number}");
        self.migrations.push(format!(
            "create table {name} (id integer primary key, {} integer, {} text);\ngrant select on {name} to howdah_web;\n",
            value.name, note.name
        ));
        self.tables.push(Some(Table { name, columns: vec![value, note] }));
    }

    fn some_table(&self, random: &mut Rng) -> Option<usize> {
        {
            let there: Vec<usize> =
                (0..self.tables.len()).filter(|place| self.tables[*place].is_some()).collect();
            random.choice(there)
        }
    }

    fn add_object(&mut self, random: &mut Rng) {
        let number = self.number();
        let Some(table) = self.some_table(random) else { return };
        let kind = KINDS[random.usize(..KINDS.len())];
        let object = Object {
            kind,
            number,
            file: match kind {
                Kind::Grant => "grants.sql".to_owned(),
                Kind::Page => format!("pages/page_{number}.html"),
                _ => FILES[random.usize(..FILES.len())].to_owned(),
            },
            variant: random.u32(..6),
            table,
            column: random.u32(..2),
            used: random.u32(..8),
        };
        self.objects.push(object);
    }

    /// Changes something; what, for people.
    pub(super) fn change(&mut self, random: &mut Rng) -> String {
        self.restored = None;
        if self.objects.is_empty() {
            (0..random.usize(3..10)).for_each(|_| self.add_object(random));
            return "objects".into();
        }
        let count = random.usize(1..=4);
        let told: Vec<String> = (0..count).map(|_| self.change_once(random)).collect();
        told.join(", ")
    }

    fn change_once(&mut self, random: &mut Rng) -> String {
        let place = random.usize(..self.objects.len().max(1));
        match random.u8(..16) {
            0..4 => {
                self.add_object(random);
                "an object more".into()
            }
            4 | 5 if !self.objects.is_empty() => {
                let gone = self.objects.remove(place);
                format!("without {}", gone.name())
            }
            6..9 if !self.objects.is_empty() => {
                self.objects[place].variant = random.u32(..6);
                format!("{} written otherwise", self.objects[place].name())
            }
            9 | 10 if !self.objects.is_empty() => {
                if !matches!(self.objects[place].kind, Kind::Grant | Kind::Page) {
                    self.objects[place].file = FILES[random.usize(..FILES.len())].to_owned();
                }
                format!("{} moved", self.objects[place].name())
            }
            11 if !self.objects.is_empty() => {
                let from = self.objects[place].file.clone();
                let to = format!("functions/renamed_{}.sql", self.number());
                if matches!(self.objects[place].kind, Kind::Grant | Kind::Page) {
                    return "nothing".into();
                }
                self.objects
                    .iter_mut()
                    .filter(|object| object.file == from)
                    .for_each(|object| object.file = to.clone());
                format!("{from} renamed")
            }
            _ => self.migrate(random),
        }
    }

    fn migrate(&mut self, random: &mut Rng) -> String {
        let Some(place) = self.some_table(random) else {
            self.add_table();
            return "a table more".into();
        };
        let number = self.number();
        let Some(mut table) = self.tables[place].clone() else { return "nothing".into() };
        let column = random.usize(..table.columns.len().max(1));
        let (told, statement) = match random.u8(..7) {
            0 => {
                self.add_table();
                return "a table more".into();
            }
            1 => {
                let name = format!("added_{number}");
                let statement = format!("alter table {} add {name} integer default 3", table.name);
                table.columns.push(Column { name });
                ("a column more", statement)
            }
            2 if table.columns.len() > 1 => {
                let gone = table.columns.remove(column);
                ("a column less", format!("alter table {} drop {}", table.name, gone.name))
            }
            3 if !table.columns.is_empty() => {
                let name = format!("renamed_{number}");
                let statement =
                    format!("alter table {} rename {} to {name}", table.name, table.columns[column].name);
                table.columns[column].name = name;
                ("a column renamed", statement)
            }
            4 => {
                let name = format!("table_{number}");
                let statement = format!("alter table {} rename to {name}", table.name);
                table.name = name;
                ("a table renamed", statement)
            }
            5 => {
                let statement = format!("alter table {} alter id type bigint", table.name);
                ("another type of a column", statement)
            }
            _ => {
                let statement = format!("drop table {}", table.name);
                self.migrations.push(statement + ";\n");
                self.tables[place] = None;
                self.objects.retain(|object| object.table != place);
                return "a table less".into();
            }
        };
        self.migrations.push(statement + ";\n");
        self.tables[place] = Some(table);
        told.into()
    }

    /// Has the code of an earlier folder, as it was written then; migrations stay.
    pub(super) fn take_code_of(&mut self, earlier: &World) {
        self.restored = Some(earlier.restored.clone().unwrap_or_else(|| earlier.code()));
        self.objects = earlier.objects.clone();
        self.objects.retain(|object| self.tables[object.table].is_some());
    }

    /// All files.
    pub(super) fn files(&self) -> BTreeMap<String, String> {
        let mut files = self.restored.clone().unwrap_or_else(|| self.code());
        for (place, text) in self.migrations.iter().enumerate() {
            files.insert(format!("migrations/{:03}-step.sql", place + 1), text.clone());
        }
        files
    }

    fn code(&self) -> BTreeMap<String, String> {
        let mut files: BTreeMap<String, String> = BTreeMap::new();
        for object in &self.objects {
            if let Some(text) = self.text(object) {
                let file = files.entry(object.file.clone()).or_default();
                file.push_str(&text);
                file.push_str(";\n");
            }
        }
        let routes: String = self.objects.iter().filter_map(|object| self.route(object)).collect();
        if !routes.is_empty() {
            files.insert("routes.sql".into(), routes);
        }
        files
    }

    /// A page answers at a path of its own, for all or beside data.
    fn route(&self, object: &Object) -> Option<String> {
        let path = (object.kind == Kind::Page && self.text(object).is_some()).then(|| object.name())?;
        let routes: &[&str] = match object.variant % 4 {
            0 => return None,
            1 => &["route"],
            2 => &["page"],
            _ => &["page", "route"],
        };
        let line = |what: &&str| format!("select http.{what}('GET', '/{path}', '{path}');\n");
        Some(routes.iter().map(line).collect())
    }

    /// The name of an object of one of these kinds that another uses.
    fn used(&self, object: &Object, kinds: &[Kind]) -> Option<String> {
        let fitting: Vec<_> = self
            .objects
            .iter()
            .filter(|other| kinds.contains(&other.kind) && other.number != object.number)
            .collect();
        let place = object.used as usize;
        (!fitting.is_empty()).then(|| fitting[place % fitting.len()].name())
    }

    /// Statements that make an object; none where there is nothing to make it of.
    fn text(&self, object: &Object) -> Option<String> {
        let (name, variant) = (object.name(), object.variant);
        let table = self.tables[object.table].as_ref()?;
        let column = table.columns.get(object.column as usize % table.columns.len().max(1));
        let column = column.map_or("id", |column| column.name.as_str());
        let table = table.name.as_str();
        let function = || self.used(object, &[Kind::Function]);
        Some(match object.kind {
            Kind::Enum if variant > 3 => format!(
                "do $$ begin if to_regtype('shop.{name}') is null then create type {name} as enum ('a', 'b{variant}'); end if; end $$"
            ),
            Kind::Enum => format!("create type {name} as enum ('a', 'b{variant}')"),
            Kind::Composite => format!("create type {name} as (x integer, y{variant} text)"),
            Kind::Domain => format!("create domain {name} as integer check (value < {variant}00)"),
            Kind::Function => self.function(
                &name,
                variant,
                &format!("(select count(*) from {table} where {column} is not null)"),
                &function(),
            ),
            Kind::Typed => {
                let of = self.used(object, &[Kind::Enum, Kind::Composite, Kind::Domain, Kind::View])?;
                match variant % 3 {
                    0 => format!(
                        "create function {name}(one {of}) returns text language sql stable return one::text || '{variant}'"
                    ),
                    1 => format!(
                        "create function {name}(one text) returns {of} language sql stable as $$ select null::{of} $$"
                    ),
                    _ => format!(
                        "create function {name}(several {of}[]) returns integer language plpgsql as $$ declare one {of}; begin return {variant}; end $$"
                    ),
                }
            }
            Kind::View => {
                let replace = if variant > 2 { "or replace " } else { "" };
                let computed =
                    function().map(|function| format!(", {function}(1) as computed")).unwrap_or_default();
                match variant % 3 {
                    0 => format!("create {replace}view {name} as select id, {column} from {table}"),
                    1 => format!(
                        "create {replace}view {name} as select id{computed} from {table} where id > {variant}"
                    ),
                    _ => format!(
                        "create {replace}view {name} with (security_invoker = true) as select id, 1 as one, {column} from {table}"
                    ),
                }
            }
            Kind::ViewOfView => {
                let of = self.used(object, &[Kind::View, Kind::Materialized])?;
                match variant % 2 {
                    0 => format!("create view {name} as select id from {of} where id <> {variant}"),
                    _ => format!("create view {name} as select * from {of}"),
                }
            }
            Kind::Materialized => {
                let (unless, of) =
                    (if variant > 2 { "if not exists " } else { "" }, self.used(object, &[Kind::View]));
                let of = of.filter(|_| variant % 2 == 1).unwrap_or_else(|| table.to_owned());
                format!(
                    "create materialized view {unless}{name} as select id, {variant} as written from {of};\ncreate index {unless}{name}_id on {name} (id)"
                )
            }
            Kind::Aggregate => match variant % 2 {
                0 => format!(
                    "create aggregate {name} (integer) (sfunc = int4pl, stype = integer, initcond = '{variant}')"
                ),
                _ => format!(
                    "create aggregate {name} (text) (sfunc = textcat, stype = text, initcond = '{variant}')"
                ),
            },
            Kind::Operator => {
                let domain = self.used(object, &[Kind::Domain]).unwrap_or_else(|| "integer".into());
                format!(
                    "create function {name}(one {domain}, other text) returns boolean language sql immutable as $$ select {variant} > 0 $$;\n\
                     create operator {} (leftarg = {domain}, rightarg = text, function = {name})",
                    ["@@+", "##-", "@#@"][variant as usize % 3]
                )
            }
            Kind::Page => self.page(object, table, column),
            _ => return self.hung_on_table(object, table, column),
        })
    }

    /// HTML with rows of a table, and parts.
    fn page(&self, object: &Object, table: &str, column: &str) -> String {
        let variant = object.variant;
        let part = self.used(object, &[Kind::Page]).filter(|_| variant.is_multiple_of(2));
        let part = part.map(|part| format!("{{{{ {part}() }}}}")).unwrap_or_default();
        let function = self.used(object, &[Kind::Function]).filter(|_| variant == 3);
        let function = function.map(|function| format!("{{{{ {function}(1) }}}}")).unwrap_or_default();
        let from = self.used(object, &[Kind::View, Kind::ViewOfView]).filter(|_| variant > 3);
        let (from, column) = match from {
            Some(view) => (view, "id"),
            None => (table.to_owned(), column),
        };
        let arguments = match variant {
            1 => "{{ arguments: n integer default 2 }}\n",
            2 => "{{ arguments: n integer default 2, m text default 'x' }}\n",
            _ => "",
        };
        format!(
            "{arguments}<p title=\"{variant}\">{part}{function}{{{{ for r in select * from {from} order by id }}}}<b>{{{{ r.{column} }}}}</b>{{{{ else }}}}none{{{{ end }}}}</p>"
        )
    }

    /// The same for what hangs on a table.
    fn hung_on_table(&self, object: &Object, table: &str, column: &str) -> Option<String> {
        let (name, variant) = (object.name(), object.variant);
        Some(match object.kind {
            Kind::TriggerFunction => format!(
                "create or replace function {name}() returns trigger language plpgsql as $$ begin perform {variant}; return new; end $$"
            ),
            Kind::Trigger => {
                let of = self.used(object, &[Kind::TriggerFunction])?;
                let when = if variant % 2 == 0 { "before" } else { "after" };
                let replace = if variant > 3 { "or replace " } else { "" };
                format!(
                    "create {replace}trigger {name} {when} insert or update of {column} on {table} for each row execute function {of}()"
                )
            }
            Kind::Policy => {
                let condition = self.used(object, &[Kind::Function]).filter(|_| variant % 2 == 0);
                let condition = condition
                    .map_or(format!("{column} is not null"), |function| format!("{function}(1) > {variant}"));
                format!("create policy {name} on {table} using ({condition})")
            }
            Kind::Index => {
                let unless = if variant > 2 { "if not exists " } else { "" };
                let unique = if variant % 2 == 0 { "unique " } else { "" };
                format!("create {unique}index {unless}{name} on {table} ({column}, id)")
            }
            Kind::Rule => {
                let of = self.used(object, &[Kind::View])?;
                format!("create or replace rule {name} as on insert to {of} do instead select {variant}")
            }
            Kind::Statistics => format!(
                "create statistics {name} {} on id, {column} from {table}",
                if variant % 2 == 0 { "(ndistinct)" } else { "" }
            ),
            Kind::Grant if variant == 5 => "grant select on all tables in schema shop to howdah_web".into(),
            Kind::Grant => {
                let of = self
                    .used(object, &[Kind::View, Kind::Materialized, Kind::ViewOfView])
                    .filter(|_| variant < 4);
                let of = of.unwrap_or_else(|| table.to_owned());
                let right = if variant % 2 == 0 { "select" } else { "select, insert, update" };
                format!("grant {right} on {of} to howdah_web")
            }
            _ => return None,
        })
    }

    fn function(&self, name: &str, variant: u32, counts: &str, other: &Option<String>) -> String {
        let called = other.as_ref().map(|other| format!(" + {other}(n)")).unwrap_or_default();
        match variant {
            0 => format!(
                "create function {name}(n integer) returns integer language sql stable return n{called}"
            ),
            1 => format!(
                "create function {name}(n bigint) returns bigint language sql stable as $$ select {counts} $$"
            ),
            2 => format!(
                "create function {name}(n integer, m integer default 0) returns integer language sql stable begin atomic select n + m; end"
            ),
            3 => format!(
                "create function {name}(k integer) returns integer language plpgsql stable as $$ begin return {counts}; end $$"
            ),
            4 => format!(
                "create or replace function {name}(n integer) returns integer language sql stable return ({counts} + n)::integer"
            ),
            _ => format!(
                "create function {name}(n integer default 7) returns integer language plpgsql security definer set search_path = shop, pg_temp as $$ begin return n; end $$;\nrevoke all on function {name}(integer) from public"
            ),
        }
    }
}

impl Object {
    fn name(&self) -> String {
        format!("{}_{}", format!("{:?}", self.kind).to_lowercase(), self.number)
    }
}
