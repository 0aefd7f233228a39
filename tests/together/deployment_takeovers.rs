//! What whoever writes the files of an application tries by what is around a deployment: the command, the session, other applications.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use howdah_tests::abilities::brings_extension;
use howdah_tests::application::{Application, ITEMS, text};

const F: (&str, &str) =
    ("functions/f.sql", "create function f() returns text language sql immutable return 'f';\n");

/// A second folder, for the same platform.
fn other(shop: &Application, name: &str, files: &[(&str, &str)]) {
    for folder in ["migrations", "functions", "views", "routes.sql"] {
        let path = shop.folder.path().join(folder);
        let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
    }
    shop.write("howdah.toml", &format!("name = \"{name}\"\n"));
    files.iter().for_each(|(path, text)| shop.write(path, text));
}

#[test]
fn no_schema_says_what_the_commands_own_queries_mean() {
    let trap = "create function run() returns void language plpgsql as $$
  begin if current_user = 'postgres' then execute 'alter role shop_owner superuser'; end if; end $$;
create function ne(oid, regrole) returns boolean language plpgsql as $$ begin perform shop.run(); return $1 operator(pg_catalog.<>) $2::oid; end $$;
create operator <> (leftarg = oid, rightarg = regrole, function = ne);
create function agg(state text, r deploy.applications) returns text language plpgsql as $$ begin perform shop.run(); return '[]'; end $$;
create aggregate json_agg(deploy.applications) (sfunc = agg, stype = text);
";
    let shop = Application::of(&[("migrations/1.sql", trap)]);
    shop.ok("deploy");
    shop.platform.sql(
        "alter role postgres set search_path = shop, public; create schema old; create table old.t (n int)",
    );
    let is_safe = || shop.value("select rolsuper from pg_roles where rolname = 'shop_owner'") == "f";
    for task in ["plan", "deploy", "history"] {
        shop.ok(task);
        assert!(is_safe(), "{task}");
    }
    let status = Command::new(howdah_tests::command())
        .args(["status", "--json", "--to", &shop.to("postgres")])
        .output()
        .unwrap();
    assert!(status.status.success() && is_safe(), "{}", text(&status.stderr));
    other(&shop, "old", &[("migrations/1.sql", "create table t (n int);\n")]);
    shop.ok("adopt");
    assert!(is_safe());
}

#[test]
fn a_folder_has_git_run_nothing() {
    let shop = Application::of(&[ITEMS]);
    let ran = shop.folder.path().join("ran");
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tbare = BARE\n\tworktree = \".\"\n\tfsmonitor = \"touch {}; false\"\n",
        ran.display()
    );
    let repository = |top: &str, bare: &str| {
        shop.write(&format!("{top}HEAD"), "ref: refs/heads/main\n");
        shop.write(&format!("{top}objects/.keep"), "");
        shop.write(&format!("{top}refs/heads/.keep"), "");
        shop.write(&format!("{top}config"), &config.replace("BARE", bare));
    };
    repository("", "false");
    shop.ok("plan");
    assert!(!ran.exists(), "a repository in the folder itself");
    repository(".git/", "false");
    shop.ok("plan");
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "core.fsmonitor=false", "-c", "user.name=x", "-c", "user.email=x@example.com"]);
        let output = git.arg("-C").arg(shop.folder.path()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    };
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "one"]);
    // What would run for a file that looks as if it had changed.
    shop.write(".gitattributes", "*.sql filter=x\n");
    git(&["config", "filter.x.clean", &format!("touch {}; cat", ran.display())]);
    shop.write("migrations/1-item.sql", ITEMS.1);
    shop.ok("deploy");
    assert!(!ran.exists(), "a repository of its own");
    assert_eq!(shop.value("select length(source) from deploy.deployment"), "40");
}

#[test]
fn nothing_of_the_session_is_used_or_left() {
    let shop = Application::of(&[
        ITEMS,
        (
            "functions/f.sql",
            "create function reads() returns text language plpgsql as $$ begin
               return (select string_agg(case when fd = 0 then convert_from(loread(fd, 100), 'UTF8') end, '') from generate_series(0, 0) fd);
             end $$;\n",
        ),
        ("routes.sql", "select http.route('POST', '/reads', 'reads');\n"),
    ]);
    shop.ok("deploy");
    let mut session = shop.platform.session();
    session
        .batch_execute("begin; select lo_from_bytea(424242, 'a secret'); select lo_open(424242, 393216)")
        .unwrap();
    let refused = session.batch_execute("select http.call('POST', '/reads')").unwrap_err();
    assert!(
        refused.as_db_error().unwrap().message().contains("large objects of this session"),
        "{refused:?}"
    );
    session.batch_execute("rollback").unwrap();

    let run = |session: &mut cluster::postgres::Client, text: &str| -> String {
        let query = "with begun as materialized (
            select deploy.start('shop', json_build_object('functions/x.sql', encode(sha256(convert_to($1, 'UTF8')), 'hex'))) is not null ok)
          select deploy.run('functions/x.sql', $1)::text from begun where ok";
        session.query_one(query, &[&text]).unwrap().get(0)
    };
    session.batch_execute("begin").unwrap();
    let ran =
        run(&mut session, "do $$ declare n oid := lo_create(0); begin perform lo_open(n, 131072); end $$;");
    assert!(ran.contains("made"), "{ran}");
    let left = session.batch_execute("savepoint s; select lo_tell(0)").unwrap_err();
    assert_eq!(left.code().map(|code| code.code()), Some("42704"), "{left:?}");
    session.batch_execute("rollback to s").unwrap();
    for wanted in [
        "alter function reads() owner to howdah_web",
        "reassign owned by current_user to howdah_web",
        "alter default privileges for role howdah_web grant all on tables to shop_owner",
        "create schema more authorization howdah_web",
        "do $$ begin begin alter table item owner to howdah_web; raise 'x'; exception when raise_exception then null; end; end $$",
    ] {
        session.batch_execute("savepoint t").unwrap();
        let ran = run(&mut session, wanted);
        assert!(ran.contains("another role"), "{wanted}: {ran}");
        session.batch_execute("rollback to t").unwrap();
    }
    // The planner calls what an operator is made of, for the most common values.
    session.batch_execute("savepoint t").unwrap();
    let ran = run(
        &mut session,
        "create operator === (leftarg = int, rightarg = int, function = pg_catalog.pg_try_advisory_lock, restrict = eqsel)",
    );
    assert!(ran.contains("an operator cannot lock for the session"), "{ran}");
    session.batch_execute("rollback").unwrap();
    if brings_extension("dblink", "connections of dblink") {
        let to = shop.to("postgres").replace('\'', "''");
        shop.platform.sql("create extension dblink; grant execute on function dblink_connect_u(text), dblink_connect_u(text, text) to shop_owner");
        for name in ["", "'named', "] {
            session.batch_execute("begin").unwrap();
            let ran =
                run(&mut session, &format!("do $x$ begin perform dblink_connect_u({name}'{to}'); end $x$;"));
            assert!(ran.contains("made"), "{ran}");
            let ran = run(
                &mut session,
                &format!("do $x$ begin perform dblink_connect_u({name}'{to}'); raise 'x'; end $x$;"),
            );
            assert!(ran.contains("error"), "{ran}");
            session.batch_execute("rollback").unwrap();
            let speaks = format!("select * from dblink({name}'select 1') t (n int)");
            assert!(session.batch_execute(&speaks).is_err(), "{speaks}");
            session.batch_execute(&format!("select dblink_connect({name}'{to}')")).unwrap();
            let refused = session.batch_execute("select http.call('POST', '/reads')").unwrap_err();
            assert!(
                refused.as_db_error().unwrap().message().contains("connections of dblink"),
                "{refused:?}"
            );
            session
                .batch_execute(&format!("select dblink_disconnect({})", name.trim_end_matches(", ")))
                .unwrap();
        }
    }
}

#[test]
fn routes_are_of_functions_and_paths_of_ones_own() {
    let shop = Application::of(&[
        ITEMS,
        (
            "functions/f.sql",
            "create function page(page text) returns text language sql immutable return 'shop ' || page;\n",
        ),
        (
            "routes.sql",
            "select http.route('GET', '/shop/{page}', 'page');\nselect http.route('GET', '/files/{*page}', 'page');\n",
        ),
    ]);
    shop.ok("deploy");
    other(&shop, "evil", &[F]);
    shop.ok("deploy");
    for (route, told) in [
        (
            "'GET', '/x/{page}', (select p.oid::text from pg_proc p where p.proname = 'page' and p.pronargs = 1)",
            "is no function's name",
        ),
        ("'GET', '/x/{page}', 'shop.page'", "permission denied for schema shop"),
        ("'GET', '/x', 'now'", "belongs to postgres"),
        (
            "'GET', '/shop/login', 'f'",
            "route GET /shop/login would answer requests to /shop/{page}, which belongs to shop_owner",
        ),
        ("'POST', '/shop/login', 'f'", "would answer requests to /shop/{page}"),
        ("'POST', '/shop/{name}', 'f'", "would answer requests to /shop/{page}"),
        ("'GET', '/files/a/b', 'f'", "would answer requests to /files/{*page}"),
    ] {
        shop.write("routes.sql", &format!("select http.route({route});\n"));
        let error = shop.fails("deploy");
        assert!(error.contains(told), "{route}: {error}");
    }
    shop.platform.sql("grant usage on schema shop to evil_owner");
    shop.write("routes.sql", "select http.route('GET', '/x/{page}', 'shop.page');\n");
    assert!(shop.fails("deploy").contains("shop.page belongs to shop_owner"));
    shop.write(
        "routes.sql",
        "select http.route('GET', '/evil', 'f');\nselect http.route('GET', '/{*rest}', 'f');\n",
    );
    let error = shop.fails("deploy");
    assert!(error.contains("takes no argument rest"), "{error}");
    shop.write(
        "routes.sql",
        "do $$ begin for n in 1..1100 loop perform http.route('GET', '/evil/' || n, 'f'); end loop; end $$;\n",
    );
    let error = shop.fails("deploy");
    assert!(
        error.starts_with("howdah: routes.sql:1: evil_owner has 1024 routes already"),
        "not tried again: {error}"
    );
    shop.write("routes.sql", "select http.route('GET', '/evil', 'f');\n");
    shop.ok("deploy");
    assert_eq!(
        (shop.platform.get("/evil").text(), shop.platform.get("/shop/login").text()),
        ("f".into(), "shop login".into())
    );
}

#[test]
fn a_folder_takes_over_no_role_that_has_rights() {
    let shop = Application::of(&[ITEMS]);
    shop.platform.sql("create role keeper noinherit; create table public.secret (n int); grant select on public.secret to keeper; create role \"a \"\"b\" nologin noinherit");
    shop.write("howdah.toml", "name = \"shop\"\nowner = \"keeper\"\n");
    for task in ["plan", "deploy"] {
        let error = shop.fails(task);
        assert!(
            error.contains("there is a role keeper already, which has rights")
                && error.contains("select deploy.create_application('shop', owner => 'keeper');"),
            "{error}"
        );
    }
    // One without any is taken, whatever it is called, and again later.
    shop.write("howdah.toml", "name = \"shop\"\nowner = 'a \"b'\n");
    shop.ok("deploy");
    shop.write("migrations/2.sql", "create table more (n int);\n");
    shop.ok("deploy");
    assert_eq!(shop.value("select max(number) from deploy.deployment"), "2");
    // A database of its own may have the same application, or have it again.
    shop.platform.sql("select deploy.drop_application('shop'); drop schema shop cascade");
    shop.ok("deploy");
}

#[test]
fn who_deploys_nothing_takes_no_turn_and_who_locks_a_table_holds_up_no_view() {
    let shop = Application::of(&[ITEMS, ("views/v.sql", "create view v as select id from item;\n")]);
    shop.ok("deploy");
    shop.platform.sql("create role mallory login in role shop_owner");
    let mut mallory = shop.platform.session();
    mallory.batch_execute("set session authorization mallory").unwrap();
    let begun = Instant::now();
    for _ in 0..20 {
        mallory
            .batch_execute(
                "begin; savepoint s; select deploy.start('shop', '{}'); select deploy.take_away(); rollback to s; commit;
                 begin; select deploy.start('shop', '{}'); commit",
            )
            .unwrap();
    }
    // Ten take turns at once, and one each second after them.
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    mallory
        .batch_execute("set role shop_owner; begin; lock table shop.item in access exclusive mode")
        .unwrap();
    let looked = shop.value("set statement_timeout = '30s'; select count(*) || ' ' || count(changed_by_hand) from deploy.applications");
    assert_eq!(looked, "1 0");
    mallory.batch_execute("rollback").unwrap();
    assert_eq!(shop.value("select count(changed_by_hand) from deploy.applications"), "1");
}

#[test]
fn a_commit_that_takes_something_back_is_no_old_folder_and_rolling_back_goes_on_back() {
    let shop = Application::of(&[ITEMS]);
    let git = |arguments: &[&str]| {
        let identity =
            ["-c", "user.name=a", "-c", "user.email=a@b", "-C", shop.folder.path().to_str().unwrap()];
        let output = Command::new("git").args(identity).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    let version = |number: usize| {
        let function = format!("create function f() returns int language sql immutable return {number};\n");
        shop.write("functions/f.sql", &function);
        git(&["add", "-A"]);
        git(&["commit", "-q", "-m", "x", "--allow-empty"]);
        shop.ok("deploy")
    };
    git(&["init", "-q"]);
    for number in 1..=3 {
        version(number);
    }
    assert!(version(2).contains("Deployed as number 4."), "a later commit");
    git(&["checkout", "-q", "HEAD~1"]);
    assert!(shop.fails("deploy").contains("the folder is deployment 3 again"));
    // A branch that goes on from there would take back what came after it as well.
    shop.write("functions/g.sql", "create function g() returns int language sql immutable return 1;\n");
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "x"]);
    let said = shop.fails("deploy");
    assert!(
        said.contains("deployment 4 is of commit ") && said.contains("Merge it, or say --back"),
        "{said}"
    );
    assert!(shop.run("plan", &["--back"]).status.success());
    git(&["checkout", "-q", "HEAD~1"]);
    for (back, value) in [("3", "3"), ("2", "2"), ("1", "1")] {
        let output = shop.run("rollback", &[]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(shop.value("select shop.f()::text"), value);
        let source = shop.value("select source from deploy.deployment order by number desc limit 1");
        assert_eq!(source, format!("deployment {back}"));
    }
    assert!(text(&shop.run("rollback", &[]).stderr).contains("shop has no deployment before this one"));
}
