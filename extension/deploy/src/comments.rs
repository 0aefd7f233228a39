//! Comments on what is dropped to be made again: where its file says nothing, they stay, as they do where PostgreSQL replaces a thing.

use std::cell::RefCell;

use pg::guard::PgError;
use pgrx::pg_sys::Oid;
use session::authority::{rows_as_owner, value_as_owner};
use session::deployer::as_deployer;

use super::application::Application;
use super::statements::{self, Use};

/// A comment on an object, or on a column.
#[derive(Clone)]
struct Comment {
    /// The object, as `pg_identify_object_as_address` names it: type, names, arguments.
    address: (String, Vec<String>, Vec<String>),
    /// COMMENT ON, as a statement.
    statement: String,
}

thread_local! {
    /// Of objects that this deployment has dropped and not made again.
    static KEPT: RefCell<Vec<Comment>> = const { RefCell::new(Vec::new()) };
}

/// PostgreSQL finds a column of anything as one of a table.
const COMMENTS: &str = "select case when a.type like '% column' then 'table column' else a.type end, a.object_names, a.object_args, format('comment on %s %s is %L',
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

/// A deployment begins.
pub(crate) fn begin() {
    KEPT.take();
}

/// Keeps the comments on an object that is about to be dropped.
pub(crate) fn keep(class: Oid, number: Oid) {
    let comments = rows_as_owner(COMMENTS, &[class.into(), number.into()], |row| {
        Some(Comment {
            address: (row.get(1).ok()??, row.get(2).ok()??, row.get(3).ok()??),
            statement: row.get(4).ok()??,
        })
    });
    KEPT.with_borrow_mut(|kept| kept.extend(comments));
}

/// Gives them back to what is there again and has none.
pub(crate) fn give_back(application: &Application) -> Result<(), PgError> {
    for comment in KEPT.take() {
        let (kind, names, arguments) = comment.address.clone();
        if value_as_owner::<bool>(HAS_NONE, &[kind.into(), names.into(), arguments.into()]).is_some() {
            let restore = || statements::run(&comment.statement, Use::Run);
            as_deployer(application.owner, &application.schema, restore)?;
        } else {
            KEPT.with_borrow_mut(|kept| kept.push(comment));
        }
    }
    Ok(())
}
