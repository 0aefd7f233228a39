//! Arms of a handler's statement that are written in the order asked for are run until one has a row.

use howdah_tests::Platform;

/// A first arm for one path, and a last one that fails when it is computed.
const FUNCTIONS: &str = "
    create table calls (path text);
    grant select, insert on calls to howdah_web;
    create function fail() returns text language plpgsql stable as
      $$ begin raise exception 'the last arm was computed'; end $$;
    create function last() returns text language sql stable return 'last'";

/// Registers `arms` as the one handler.
fn handle(platform: &Platform, arms: &str) {
    platform.sql(&format!("select http.handle($$ {arms} $$)"));
}

#[test]
fn arms_behind_the_first_row_are_not_computed() {
    let platform = Platform::start();
    platform.sql(FUNCTIONS);
    let mut connection = platform.connect();
    let mut ask = |path: &str| {
        let reply = connection.request("GET", path, &[], b"");
        (reply.status, reply.text())
    };
    let first = "select 'first' as body, 2 as priority from request where path = '/first'";
    let second = "select 'second', 1 from request where path = '/second'";
    let last = "select fail(), 0 from request";
    for (arms, computes_all) in [
        (format!("{first} union all {second} union all {last} order by priority desc"), false),
        (format!("{first} union all ({second} union all {last}) order by priority desc"), false),
        (format!("{first} union all {second} union all {last} order by 2 desc nulls last"), false),
        (format!("{last} union all {second} union all {first} order by 2 desc"), true),
        (format!("{first} union all {second} union all {last} order by -priority"), true),
        (format!("{first} union {second} union all {last} order by priority desc"), true),
        (format!("{first} union all {second} union all {last} order by body, priority desc"), true),
    ] {
        // `-priority` is no column of a UNION: it takes a subquery.
        let arms = match arms.strip_suffix(" order by -priority") {
            Some(inside) => format!("select * from ({inside}) arms order by -priority"),
            None => arms,
        };
        handle(&platform, &arms);
        // Enough requests for the gateway to run them itself.
        for _ in 0..20 {
            for path in ["first", "second", "third"] {
                let (status, body) = ask(&format!("/{path}"));
                if computes_all || path == "third" {
                    assert_eq!(status, 400, "{arms}: {body}");
                    assert!(body.contains("the last arm was computed"), "{arms}: {body}");
                } else {
                    assert_eq!((status, body.as_str()), (200, path), "{arms}");
                }
            }
        }
    }
}

#[test]
fn the_row_of_the_highest_number_answers_whatever_the_order_of_the_arms() {
    let platform = Platform::start();
    platform.sql(
        "create table rule (path text, word text);
         insert into rule values ('/both', 'rule');
         grant select on rule to howdah_web",
    );
    let mut connection = platform.connect();
    let rule = |number: i32| {
        format!("select word as body, {number} as priority from request join rule using (path)")
    };
    let other = |number: i32| format!("select 'other', {number} from request");
    for (arms, both) in [
        (format!("{} union all {} order by priority desc", rule(1), other(0)), "rule"),
        (format!("{} union all {} order by priority desc", rule(-1), other(0)), "other"),
        (format!("{} union all {} order by priority", rule(-1), other(0)), "rule"),
        (format!("{} union all {} order by priority asc", rule(1), other(0)), "other"),
        (format!("{} union all {} order by priority using >", rule(0), other(1)), "other"),
        (format!("{} union all {} order by priority limit 1", rule(1), other(2)), "rule"),
        (format!("{} union all {} order by priority offset 1", rule(1), other(2)), "other"),
        (
            format!(
                "({} union all {} order by body limit 2) union all select 'third', 0 order by 2 desc",
                rule(2),
                other(1)
            ),
            "rule",
        ),
        (
            format!(
                "{} union all select word, 1 from request join rule using (path) group by rollup (word, 2)
                   having word is not null
                 order by 2 desc",
                other(2)
            ),
            "rule",
        ),
    ] {
        handle(&platform, &arms);
        for _ in 0..20 {
            let reply = connection.request("GET", "/both", &[], b"");
            assert_eq!((reply.status, reply.text().as_str()), (200, both), "{arms}");
        }
    }
}

#[test]
fn an_arm_with_a_volatile_function_is_always_computed() {
    let platform = Platform::start();
    platform.sql(FUNCTIONS);
    let arms = "select 'first' as body, 1 as priority from request where path = '/first'
                union all select last(), 0 from request order by priority desc";
    handle(&platform, arms);
    let mut connection = platform.connect();
    let mut ask = || {
        let reply = connection.request("POST", "/first", &[], b"");
        assert_eq!((reply.status, reply.text().as_str()), (200, "first"));
    };
    ask();
    assert_eq!(platform.count("calls"), 0);
    // The handler's plan is there already.
    platform.sql(
        "create or replace function last() returns text language sql volatile as
           $$ insert into calls values ('last') returning path $$",
    );
    ask();
    assert_eq!(platform.count("calls"), 1, "a function that became volatile was not called");
    handle(&platform, arms);
    ask();
    assert_eq!(platform.count("calls"), 2, "a volatile function was not called");
}
