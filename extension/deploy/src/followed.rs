//! Objects under their new names: a migration renames or moves what files have made, what they hang on, and what they have given rights to.
//!
//! What is noted names them, as numbers are a database's own, and not in a dump. So their numbers are looked up before a migration runs, and
//! their names after it.

use pgrx::pg_sys::Oid;
use session::authority::{rows_as_owner, run_as_owner};
use session::deployer::in_same_words;

use super::application::Application;

/// Notes of objects, by their places in the tables, and which objects they are of.
#[derive(Default)]
pub(crate) struct Followed {
    objects: (Vec<String>, Vec<Oid>, Vec<Oid>, Vec<i32>),
    rights: (Vec<String>, Vec<String>, Vec<Oid>, Vec<i32>),
}

const OBJECTS: &str = "select d.ctid::text, a.classid, a.objid, a.objsubid
    from deploy.object d cross join lateral deploy.address(d.type, d.names, d.arguments) a
    where d.application = $1 and a.objid is not null";

const RIGHTS: &str = "select g.ctid::text, g.kind, g.number, coalesce((
      select t.attnum from pg_attribute t where t.attrelid = g.number and quote_ident(t.attname) = g.part and not t.attisdropped), 0)::integer
    from (
      select d.ctid, d.part, k.kind,
        case k.kind when 'routine' then to_regprocedure(k.name)::oid when 'type' then to_regtype(k.name)::oid
          when 'schema' then null else to_regclass(k.name)::oid end as number
      from deploy.given d
      cross join lateral (select split_part(d.object, ' ', 1), substr(d.object, strpos(d.object, ' ') + 1)) k (kind, name)
      where d.application = $1) g
    where g.number is not null";

const RENAME_OBJECTS: &str =
    "update deploy.object d set type = i.type, names = i.object_names, arguments = i.object_args
    from unnest($1::text[], $2::oid[], $3::oid[], $4::integer[]) o (place, class, number, part)
    cross join lateral pg_identify_object_as_address(o.class, o.number, o.part) i
    where d.ctid = o.place::tid and i.object_names is not null
      and (i.type, i.object_names, i.object_args) is distinct from (d.type, d.names, d.arguments)";

const RENAME_RIGHTS: &str = "update deploy.given d set object = n.object, part = n.part
    from (
      select o.place::tid, coalesce(
          (select 'routine ' || p.oid::regprocedure from pg_proc p where o.kind = 'routine' and p.oid = o.number),
          (select format('type %I.%I', s.nspname, t.typname) from pg_type t join pg_namespace s on s.oid = t.typnamespace
           where o.kind = 'type' and t.oid = o.number),
          (select format('%s %I.%I', o.kind, s.nspname, c.relname) from pg_class c join pg_namespace s on s.oid = c.relnamespace
           where o.kind in ('table', 'sequence') and c.oid = o.number)),
        coalesce((select quote_ident(t.attname) from pg_attribute t where t.attrelid = o.number and t.attnum = o.part and o.part > 0), '')
      from unnest($1::text[], $2::text[], $3::oid[], $4::integer[]) o (place, kind, number, part)) n (place, object, part)
    where d.ctid = n.place and n.object is not null and (n.object, n.part) is distinct from (d.object, d.part)";

impl Followed {
    /// Looks up what is noted. Nothing else may be noted until [`Followed::rename`].
    pub(crate) fn of(application: &Application) -> Followed {
        let mut followed = Followed::default();
        let name = application.name.as_str();
        let objects = rows_as_owner(OBJECTS, &[name.into()], |row| {
            Some((row.get(1).ok()??, row.get(2).ok()??, row.get(3).ok()??, row.get(4).ok()??))
        });
        let rights = rows_as_owner(RIGHTS, &[name.into()], |row| {
            Some((row.get(1).ok()??, row.get(2).ok()??, row.get(3).ok()??, row.get(4).ok()??))
        });
        for (place, class, number, part) in objects {
            let (places, classes, numbers, parts) = &mut followed.objects;
            places.push(place);
            classes.push(class);
            numbers.push(number);
            parts.push(part);
        }
        for (place, kind, number, part) in rights {
            let (places, kinds, numbers, parts) = &mut followed.rights;
            places.push(place);
            kinds.push(kind);
            numbers.push(number);
            parts.push(part);
        }
        followed
    }

    /// Notes them by the names that they have now.
    pub(crate) fn rename(self) {
        let (places, classes, numbers, parts) = self.objects;
        if !places.is_empty() {
            in_same_words(|| {
                run_as_owner(RENAME_OBJECTS, &[places.into(), classes.into(), numbers.into(), parts.into()])
            });
        }
        let (places, kinds, numbers, parts) = self.rights;
        if !places.is_empty() {
            in_same_words(|| {
                run_as_owner(RENAME_RIGHTS, &[places.into(), kinds.into(), numbers.into(), parts.into()])
            });
        }
    }
}
