//! Functions of the extensions that PostgreSQL brings, called by handlers: whatever they want of a process, a worker has it.

use cluster::postgres::Client;
use howdah_tests::Platform;
use howdah_tests::abilities::brings_extension;

/// A value of a type, as a handler may have it: the first of some texts that is one.
const VALUE: &str = "
    create function value_of(type regtype) returns text language plpgsql as $$
    declare literal text;
    begin
      foreach literal in array array['1', '1/1', 'now', '{}', '[1]', '(1,1)', '10.0.0.1', 'a', 't', '(1)', 'pg_class', 'int', 'now()',
        '978-0-393-04002-9', '00000000-0000-0000-0000-000000000000', '0-19-853453-1', '1-1', '(1,1),1', ''] loop
        begin
          execute format('select %L::%s', literal, type);
          return format('%L::%s', literal, type);
        exception when others then null;
        end;
      end loop;
      return format('null::%s', type);
    end $$";

/// A call of each function that belongs to an extension and can be called by SQL.
const CALLS: &str = "
    select format('select %s(%s)', function.oid::regproc, (
        select string_agg(value_of(type), ', ' order by place) from unnest(proargtypes) with ordinality a(type, place)))
    from pg_proc function join pg_depend on objid = function.oid and classid = 'pg_proc'::regclass and deptype = 'e'
      join pg_extension extension on extension.oid = refobjid
    where prokind = 'f' and extname not in ('howdah', 'plpgsql') and not exists (
      select from unnest(proargtypes || prorettype) type where type in (select oid from pg_type where typtype = 'p')
        and type not in ('anyelement'::regtype, 'anyarray'::regtype, 'record'::regtype, 'void'::regtype, 'cstring'::regtype))
    order by extname, function.oid";

/// Makes every extension that can be made, and returns how many they are.
fn make_all(session: &mut Client) -> usize {
    let names = session
        .query("select name from pg_available_extensions where name <> 'howdah' order by name", &[])
        .expect("the extensions");
    let mut make =
        |name: String| session.batch_execute(&format!("create extension if not exists \"{name}\" cascade"));
    names.iter().filter(|row| make(row.get(0)).is_ok()).count()
}

#[test]
fn sslinfo_tells_that_a_request_has_no_tls() {
    if !brings_extension("sslinfo", "what sslinfo tells handlers") {
        return;
    }
    let platform =
        Platform::with(&[("howdah.inline_extensions", "sslinfo"), ("howdah.inline_threshold", "100000")]);
    platform.sql(
        "create extension sslinfo;
         do $$ declare function regprocedure; begin
           for function in select oid from pg_proc where probin = '$libdir/sslinfo' loop
             execute format('alter function %s stable', function);
           end loop;
         end $$;
         create function secure() returns text language sql stable return concat_ws(' ',
           ssl_is_used(), ssl_client_cert_present(), ssl_version(), ssl_cipher(), ssl_client_serial(), ssl_client_dn(),
           ssl_issuer_dn(), ssl_client_dn_field('CN'), ssl_issuer_field('CN'), (select count(*) from ssl_extension_info()),
           inet_client_addr(), inet_server_port());
         select http.route('GET', '/secure', 'secure')",
    );
    let began_before = platform.began();
    for _ in 0..30 {
        let reply = platform.get("/secure");
        assert_eq!((reply.status, reply.text().as_str()), (200, "f f 0"));
    }
    assert_eq!(platform.began(), began_before, "the server has restarted");
    let inline = platform.value("select inline > 0 from http.stats where pattern = '/secure'");
    assert_eq!(inline.as_deref(), Some("t"), "a gateway has run it as well");
}

#[test]
fn no_function_of_an_extension_crashes_the_server_from_a_handler() {
    let platform = Platform::start();
    let mut session = platform.session();
    if make_all(&mut session) < 5 {
        // It says so.
        assert!(!brings_extension("hstore", "calls of the functions of extensions"));
        return;
    }
    platform.sql(VALUE);
    platform.sql(
        "create function run(text) returns text language plpgsql as $$
         declare result text;
         begin execute $1 into result; return left(result, 10); end $$;
         select http.route('POST', '/run', 'run')",
    );
    let calls = session.query(CALLS, &[]).expect("calls");
    assert!(calls.len() > 200, "{}", calls.len());
    let began_before = platform.began();
    for row in calls {
        let statement: String = row.get(0);
        let reply = platform.post("/run", "text/plain", statement.as_bytes());
        assert_ne!(reply.status, 502, "{statement}: {}", reply.text());
    }
    assert_eq!(platform.began(), began_before, "the server has restarted");
}

#[test]
fn lines_of_the_log_name_database_and_role_of_a_worker() {
    let platform = Platform::with(&[("log_line_prefix", "%q%u@%d %h ")]);
    platform.sql(
        "create function fail() returns text language plpgsql as $$ begin raise 'failed'; end $$;
         select http.route('POST', '/fail', 'fail')",
    );
    assert_eq!(platform.post("/fail", "text/plain", b"").status, 400);
    let log = platform.log();
    assert!(log.contains("howdah_web@app [local] ERROR:  failed"), "{log}");
}
