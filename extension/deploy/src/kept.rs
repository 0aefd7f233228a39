//! What somebody has said by hand of what is made again, and its file does not: comments, which stay where PostgreSQL replaces a thing,
//! too, and options of views, such as `security_invoker`, without which policies would not apply.

use std::cell::RefCell;

use pg::guard::PgError;
use pgrx::pg_sys::Oid;
use session::authority::{rows_as_owner, run_as_owner, value_as_owner};
use session::deployer::{as_deployer, in_same_words};

use super::application::Application;
use super::statements::{self, Use};

/// An object, or a column of one, as `pg_identify_object_as_address` names it: type, names, arguments.
type Address = (String, Vec<String>, Vec<String>);

thread_local! {
    /// Comments on objects that this deployment has dropped and not made again, as statements.
    static COMMENTS: RefCell<Vec<(Address, String)>> = const { RefCell::new(Vec::new()) };
    /// Options of views that were changed by hand, and are dropped or about to be replaced.
    static OPTIONS: RefCell<Vec<(Address, Vec<String>)>> = const { RefCell::new(Vec::new()) };
}

/// PostgreSQL finds a column of anything as one of a table.
const COMMENTED: &str = "select case when a.type like '% column' then 'table column' else a.type end, a.object_names, a.object_args,
      format('comment on %s %s is %L',
        case when i.type like '% column' then 'column' when i.type like '% constraint' then 'constraint' when i.type = 'composite type' then 'type'
          when i.type = 'statistics object' then 'statistics' else i.type end,
        case when i.type = 'aggregate' and i.identity like '%()' then left(i.identity, -1) || '*)' else i.identity end, d.description)
    from pg_description d
    cross join lateral pg_identify_object(d.classoid, d.objoid, d.objsubid) i
    cross join lateral pg_identify_object_as_address(d.classoid, d.objoid, d.objsubid) a
    where d.classoid = $1 and d.objoid = $2 order by d.objsubid";

/// Whether an object is there and has no comment.
const HAS_NONE: &str = "select true from deploy.address($1, $2, $3) a where a.objid is not null and not exists (
    select from pg_description d where d.classoid = a.classid and d.objoid = a.objid and d.objsubid = a.objsubid)";

/// The options of views of a file, or of one view, that were changed by hand.
const CHANGED: &str = "select o.type, o.names, o.arguments, c.reloptions from deploy.object o
    cross join lateral deploy.address(o.type, o.names, o.arguments) a
    join pg_class c on a.classid = 'pg_class'::regclass and c.oid = a.objid
    where o.application = $1 and o.is_drifted and c.relkind in ('v', 'm') and c.reloptions is not null
      and (o.path = $2 or c.oid = $3)";

/// Those of them that a view has not, as a statement; none if there is no such view.
const MISSING: &str = "select format('alter %s %s set (%s)', case c.relkind when 'v' then 'view' else 'materialized view' end, c.oid::regclass,
      string_agg(format('%I = %L', split_part(k.option, '=', 1), substr(k.option, strpos(k.option, '=') + 1)), ', '))
    from deploy.address($1, $2, $3) a
    join pg_class c on a.classid = 'pg_class'::regclass and c.oid = a.objid
    cross join unnest($4::text[]) k (option)
    where not exists (
      select from unnest(c.reloptions) now (option) where split_part(now.option, '=', 1) = split_part(k.option, '=', 1))
    group by c.oid, c.relkind";

/// A deployment begins.
pub(crate) fn begin() {
    COMMENTS.take();
    OPTIONS.take();
}

/// Keeps what was said by hand of an object that is about to be dropped.
pub(crate) fn keep(application: &Application, class: Oid, number: Oid) {
    let comments = rows_as_owner(COMMENTED, &[class.into(), number.into()], |row| {
        Some(((row.get(1).ok()??, row.get(2).ok()??, row.get(3).ok()??), row.get(4).ok()??))
    });
    COMMENTS.with_borrow_mut(|kept| kept.extend(comments));
    keep_options(application, None, Some(number));
}

/// Keeps what was said by hand of what a file is about to replace. Comments stay by themselves.
pub(crate) fn keep_of_file(application: &Application, path: &str) {
    keep_options(application, Some(path), None);
}

fn keep_options(application: &Application, path: Option<&str>, view: Option<Oid>) {
    let options =
        rows_as_owner(CHANGED, &[application.name.as_str().into(), path.into(), view.into()], |row| {
            Some(((row.get(1).ok()??, row.get(2).ok()??, row.get(3).ok()??), row.get(4).ok()??))
        });
    OPTIONS.with_borrow_mut(|kept| kept.extend(options));
}

/// Gives back to what is there again what its file does not say.
pub(crate) fn give_back(application: &Application) -> Result<(), PgError> {
    let run = |statement: &str| {
        as_deployer(application.owner, &application.schema, || statements::run(statement, Use::Run))
    };
    for ((kind, names, arguments), statement) in COMMENTS.take() {
        let address = [kind.as_str().into(), names.clone().into(), arguments.clone().into()];
        match value_as_owner::<bool>(HAS_NONE, &address) {
            Some(_) => run(&statement)?,
            None => COMMENTS.with_borrow_mut(|kept| kept.push(((kind, names, arguments), statement))),
        }
    }
    for ((kind, names, arguments), options) in OPTIONS.take() {
        let missing =
            [kind.as_str().into(), names.clone().into(), arguments.clone().into(), options.clone().into()];
        let Some(statement) = value_as_owner::<String>(MISSING, &missing) else {
            OPTIONS.with_borrow_mut(|kept| kept.push(((kind, names, arguments), options)));
            continue;
        };
        // As its file says it is now, and no longer.
        let note = || {
            run_as_owner(
                "update deploy.object o set is_drifted = true, definition = d.definition from deploy.described($1) d
                 where d.noted = o and o.application = $1 and o.type = $2 and o.names = $3 and o.arguments = $4",
                &[application.name.as_str().into(), kind.into(), names.into(), arguments.into()],
            );
        };
        in_same_words(note);
        run(&statement)?;
    }
    Ok(())
}
