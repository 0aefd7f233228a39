//! Rights that a file gives, or takes from what everybody has. What it no longer declares goes; what somebody has given by hand stays, also
//! where the object is dropped and made again.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use folder::Kind;
use pg::guard::PgError;
use pgrx::spi::SpiHeapTupleData;
use session::authority::{rows_as_owner, run_as_owner};
use session::deployer::{as_deployer, in_same_words};

use super::application::Application;
use super::statements::{self, Use};

/// A right that is not as PostgreSQL gives it when an object is made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Right {
    /// The object, as GRANT names it.
    object: String,
    /// The column; empty if it is the right to the whole.
    part: String,
    /// Who has it, or has it no longer, as GRANT names them.
    grantee: String,
    privilege: String,
    is_grantable: bool,
    /// Whether it was taken away.
    is_taken: bool,
}

type Rights = BTreeSet<Right>;

impl Right {
    fn statement(&self, is_grant: bool) -> String {
        let part = if self.part.is_empty() { String::new() } else { format!(" ({})", self.part) };
        let Right { object, grantee, privilege, .. } = self;
        match is_grant {
            true => {
                let option = if self.is_grantable { " with grant option" } else { "" };
                format!("grant {privilege}{part} on {object} to {grantee}{option}")
            }
            false => format!("revoke {privilege}{part} on {object} from {grantee}"),
        }
    }

    /// Whether it differs in the privilege alone.
    fn is_beside(&self, other: &Right) -> bool {
        let but_privilege = |right: &Right| Right { privilege: String::new(), ..right.clone() };
        but_privilege(self) == but_privilege(other)
    }

    fn done(&self) -> String {
        self.statement(!self.is_taken)
    }

    fn undone(&self) -> String {
        self.statement(self.is_taken)
    }
}

/// The rights to what is in a schema, and to it, but for those of its owner.
const RIGHTS: &str = "with objects (object, part, acl, initial) as (
      select format('%s %I.%I', case c.relkind when 'S' then 'sequence' else 'table' end, n.nspname, c.relname), '', c.relacl,
        acldefault(case c.relkind when 'S' then 's'::\"char\" else 'r' end, c.relowner)
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
      union all
      select format('table %I.%I', n.nspname, c.relname), quote_ident(t.attname), t.attacl, acldefault('c', c.relowner)
      from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute t on t.attrelid = c.oid
      where n.nspname = $1 and t.attacl is not null and not t.attisdropped
      union all
      select 'routine ' || p.oid::regprocedure, '', p.proacl, acldefault('f', p.proowner)
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = $1
      union all
      select format('type %I.%I', n.nspname, t.typname), '', t.typacl, acldefault('T', t.typowner)
      from pg_type t join pg_namespace n on n.oid = t.typnamespace where n.nspname = $1 and t.typacl is not null
      union all
      select format('schema %I', n.nspname), '', n.nspacl, acldefault('n', n.nspowner) from pg_namespace n where n.nspname = $1
    ),
    have as (select o.object, o.part, a.* from objects o cross join lateral aclexplode(coalesce(o.acl, o.initial)) a),
    had as (select o.object, o.part, a.* from objects o cross join lateral aclexplode(o.initial) a),
    given as (
      select object, part, grantee, privilege_type, is_grantable from have
      except select object, part, grantee, privilege_type, is_grantable from had),
    taken as (
      select object, part, grantee, privilege_type, is_grantable from had
      except select object, part, grantee, privilege_type, is_grantable from have)
    select e.object, e.part, case e.grantee when 0 then 'public' else quote_ident(r.rolname) end, e.privilege_type, e.is_grantable, e.is_taken
    from (select *, false from given union all select *, true from taken) e (object, part, grantee, privilege_type, is_grantable, is_taken)
    left join pg_roles r on r.oid = e.grantee
    where e.grantee <> $2 and (e.grantee = 0 or r.oid is not null)";

/// What the files have given and taken, as it was noted: of this file, or of those that the deployment has no more.
const RECORDED: &str = "select g.object, g.part, g.grantee, g.privilege, g.is_grantable, g.is_taken from deploy.given g
    where g.application = $1 and case when $2 is null then not exists (
      select from deploy.file f where f.application = $1 and f.number = $3 and f.path = g.path) else g.path = $2 end";

fn rights(query: &str, arguments: &[pgrx::datum::DatumWithOid<'_>]) -> Rights {
    let right = |row: SpiHeapTupleData| {
        Some(Right {
            object: row.get(1).ok()??,
            part: row.get(2).ok()??,
            grantee: row.get(3).ok()??,
            privilege: row.get(4).ok()??,
            is_grantable: row.get(5).ok()??,
            is_taken: row.get(6).ok()??,
        })
    };
    let rights = in_same_words(|| rows_as_owner(query, arguments, right));
    rights.into_iter().collect()
}

/// The rights as they are now.
pub(crate) fn now(application: &Application) -> Rights {
    rights(RIGHTS, &[application.schema.as_str().into(), application.owner.into()])
}

fn run(application: &Application, statement: &str) -> Result<(), PgError> {
    as_deployer(application.owner, &application.schema, || statements::run(statement, Use::Run))
}

/// Takes back what a file has given, and gives what it has taken; without a path what files did that the deployment has no more.
pub(crate) fn undo(application: &Application, path: Option<&str>, number: i32) -> Result<Undone, PgError> {
    let name = application.name.as_str();
    let recorded = rights(RECORDED, &[name.into(), path.into(), number.into()]);
    if recorded.is_empty() {
        return Ok(Undone::default());
    }
    let now = now(application);
    let undone: Rights = recorded.intersection(&now).cloned().collect();
    undone.iter().try_for_each(|right| run(application, &right.undone()))?;
    run_as_owner(
        "delete from deploy.given g where g.application = $1 and case when $2 is null then not exists (
           select from deploy.file f where f.application = $1 and f.number = $3 and f.path = g.path) else g.path = $2 end",
        &[name.into(), path.into(), number.into()],
    );
    Ok(Undone(undone))
}

/// Rights that were given and taken, and are as before that.
#[derive(Default)]
pub(crate) struct Undone(Rights);

impl Undone {
    /// Files of code that may say so, too, but for one: whoever said so second is noted nowhere. They have to run again.
    pub(crate) fn said_by_others(
        &self,
        application: &Application,
        number: i32,
        but: Option<&str>,
    ) -> BTreeSet<String> {
        if self.0.is_empty() {
            return BTreeSet::new();
        }
        let now = now(application);
        let names: BTreeSet<String> =
            self.0.difference(&now).map(|right| bare_name(&right.object).to_lowercase()).collect();
        if names.is_empty() {
            return BTreeSet::new();
        }
        let says = |text: &str| {
            let lower = text.to_lowercase();
            let names_one = lower.contains("in schema") || names.iter().any(|name| lower.contains(name));
            // What a DO or a call puts together names nothing.
            is_about_rights(&lower) && (names_one || statements::may_leave_out(text))
        };
        let texts = rows_as_owner(
            "select f.path, c.content from deploy.file f join deploy.content c on c.application = f.application and c.digest = f.digest
             where f.application = $1 and f.number = $2",
            &[application.name.as_str().into(), number.into()],
            |row| Some((row.get::<String>(1).ok()??, row.get::<String>(2).ok()??)),
        );
        let others = texts
            .into_iter()
            .filter(|(path, text)| but != Some(path) && Kind::of(path) == Some(Kind::Code) && says(text));
        others.map(|(path, _)| path).collect()
    }
}

/// The name alone of an object as GRANT names it, such as `routine shop.price(integer)`.
fn bare_name(object: &str) -> &str {
    let name = object.split('(').next().unwrap_or_default();
    name.rsplit(['.', ' ']).next().unwrap_or_default().trim_matches('"')
}

/// Whether a text may give or take rights.
pub(crate) fn is_about_rights(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["grant", "revoke", "privileges"].iter().any(|word| text.contains(word))
}

/// Notes what a file has given and taken since `before`.
pub(crate) fn note(application: &Application, path: &str, before: &Rights) {
    for right in now(application).difference(before) {
        run_as_owner(
            "insert into deploy.given (application, path, object, part, grantee, privilege, is_grantable, is_taken)
             values ($1, $2, $3, $4, $5, $6, $7, $8)",
            &[
                application.name.as_str().into(),
                path.into(),
                right.object.as_str().into(),
                right.part.as_str().into(),
                right.grantee.as_str().into(),
                right.privilege.as_str().into(),
                right.is_grantable.into(),
                right.is_taken.into(),
            ],
        );
    }
}

thread_local! {
    /// The rights before the deployment.
    static BEFORE: RefCell<Rights> = const { RefCell::new(Rights::new()) };
    /// Rights that no file has given, of objects that this deployment has dropped, by the object.
    static KEPT: RefCell<BTreeMap<String, Vec<Right>>> = const { RefCell::new(BTreeMap::new()) };
}

/// A deployment begins.
pub(crate) fn begin(application: &Application) {
    KEPT.take();
    BEFORE.set(now(application));
}

/// What has changed since [`begin`], as statements; those that differ in the privilege alone are one.
pub(crate) fn changes(application: &Application) -> Vec<String> {
    let now = now(application);
    BEFORE.with_borrow(|before| {
        let given = now.difference(before).map(|right| (right, !right.is_taken));
        let taken = before.difference(&now).map(|right| (right, right.is_taken));
        let mut changes: Vec<(Right, bool)> = Vec::new();
        for (right, is_grant) in given.chain(taken) {
            match changes.last_mut() {
                Some((last, grants)) if *grants == is_grant && last.is_beside(right) => {
                    last.privilege.push_str(&format!(", {}", right.privilege));
                }
                _ => changes.push((right.clone(), is_grant)),
            }
        }
        changes.iter().map(|(right, is_grant)| right.statement(*is_grant)).collect()
    })
}

/// Sees to the rights that were gone with objects since `before`: keeps those that no file has given, and returns the files that have given
/// the others. They have to run again.
pub(crate) fn lost(application: &Application, before: &Rights) -> Vec<String> {
    let after = now(application);
    let mut paths = Vec::new();
    for right in before.difference(&after) {
        let files = rows_as_owner(
            "delete from deploy.given g where g.application = $1 and g.object = $2 and g.part = $3
               and g.grantee = $4 and g.privilege = $5 and g.is_taken = $6 returning g.path",
            &[
                application.name.as_str().into(),
                right.object.as_str().into(),
                right.part.as_str().into(),
                right.grantee.as_str().into(),
                right.privilege.as_str().into(),
                right.is_taken.into(),
            ],
            |row| row.get::<String>(1).ok()?,
        );
        if files.is_empty() {
            KEPT.with_borrow_mut(|kept| {
                kept.entry(right.object.clone()).or_default().push(right.clone());
            });
        }
        paths.extend(files);
    }
    paths
}

/// Gives back what was kept of objects that are there again.
pub(crate) fn give_back(application: &Application) -> Result<(), PgError> {
    for (object, rights) in KEPT.take() {
        if is_there(&object) {
            rights.iter().try_for_each(|right| run(application, &right.done()))?;
        } else {
            KEPT.with_borrow_mut(|kept| kept.insert(object, rights));
        }
    }
    Ok(())
}

fn is_there(object: &str) -> bool {
    let (kind, name) = object.split_once(' ').unwrap_or_default();
    let there = rows_as_owner("select deploy.is_there($1, $2)", &[kind.into(), name.into()], |row| {
        row.get::<bool>(1).ok()?
    });
    there == [true]
}
