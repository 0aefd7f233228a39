//! A role that wants more rights, and functions of it that tell as whom they ran.

use cluster::postgres::Client;

/// What an attacker has made: `evil.trap(value)` notes who runs it, whatever becomes of the transaction, and makes its owner a
/// superuser if it can. `mallory` may create what it likes, `admin` is in howdah_admin, `other` has no rights.
const TRAPS: &str = "
create role mallory login; create role other login; create role admin login in role howdah_admin;
grant create on database postgres to mallory, admin;
create schema evil authorization mallory; grant all on schema evil to public;
create sequence evil.superuser; create sequence evil.mallory; create sequence evil.other;
create sequence evil.admin; create sequence evil.howdah_web; create sequence evil.howdah_nobody;
grant all on all sequences in schema evil to public;
set role mallory;
create function evil.note() returns boolean language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if (select rolsuper from pg_roles where rolname = current_user) then
    perform nextval('evil.superuser');
    execute 'alter role mallory superuser';
  else
    perform nextval('evil.' || current_user);
  end if;
  return true;
end $$;
create function evil.trap(anyelement) returns boolean immutable language plpgsql as
  'begin return evil.note(); end';
create function evil.trap() returns integer immutable language plpgsql as
  'begin perform evil.note(); return 1; end';
reset role;";

/// Makes the roles and the traps. The session is a superuser's.
pub fn set_up(session: &mut Client) {
    if let Err(error) = session.batch_execute(TRAPS) {
        panic!("{error:?}");
    }
}

/// As whom the traps ran, in the order of the names: `superuser` for whoever is one.
pub fn ran_as(session: &mut Client) -> Vec<String> {
    let query = "select sequencename::text from pg_sequences
                 where schemaname = 'evil' and last_value is not null order by 1";
    let rows = session.query(query, &[]).expect("the traps");
    rows.iter().map(|row| row.get(0)).collect()
}
