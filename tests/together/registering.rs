//! What can never answer is refused when it is registered; what no longer can is shown.

use howdah_tests::Platform;
use howdah_tests::platform::wait_for;

/// Message and hint of the error that a statement raises; none if it succeeds.
fn error(platform: &Platform, statement: &str) -> Option<(String, String)> {
    let error = platform.session().batch_execute(statement).err()?;
    let found = error.as_db_error().expect("an error of PostgreSQL's");
    Some((found.message().to_owned(), found.hint().unwrap_or_default().to_owned()))
}

#[test]
fn a_function_that_returns_record_without_columns_is_refused() {
    let platform = Platform::start();
    platform.sql(
        "create function bare() returns record language sql as 'select 1, 2';
         create function bares() returns setof record language sql as 'select 1, 2';
         create function named(out a int, out b int) language sql as 'select 1, 2';
         create function tabled() returns table (a int, b int) language sql as 'select 1, 2'",
    );
    for function in ["bare", "bares"] {
        let (message, _) =
            error(&platform, &format!("select http.route('GET', '/bare', '{function}')")).unwrap();
        assert!(message.contains("record") && message.contains("returns table"), "{message}");
    }
    platform.sql("select http.route('GET', '/named', 'named'), http.route('GET', '/tabled', 'tabled')");
    assert_eq!(platform.get("/named").text(), r#"{"a":1,"b":2}"#);
    assert_eq!(platform.get("/tabled").text(), r#"[{"a":1,"b":2}]"#);
}

#[test]
fn a_parameter_of_the_pattern_that_nothing_takes_is_refused() {
    let platform = Platform::start();
    platform.sql(
        "create function by_id(id int) returns int language sql return id;
         create function constant() returns int language sql return 1;
         create function by_request(r http.request) returns text language sql return http.path_value('name');
         create function by_value() returns text language sql return http.path_value('name');
         create function by_value_in_plpgsql() returns text language plpgsql as
           $$ begin return http.path_value('name'); end $$",
    );
    for (pattern, function, name) in
        [("/x/{ident}", "by_id", "ident"), ("/x/{id}/{*rest}", "by_id", "rest"), ("/x/{n}", "constant", "n")]
    {
        let (message, hint) =
            error(&platform, &format!("select http.route('GET', '{pattern}', '{function}')")).unwrap();
        assert!(
            message.contains(&format!("no argument {name}")) && hint.contains("http.request"),
            "{message} {hint}"
        );
    }
    assert_eq!(platform.count("http.route"), 0);
    for function in ["by_request", "by_value", "by_value_in_plpgsql"] {
        platform.sql(&format!("select http.route('GET', '/{function}/{{name}}', '{function}')"));
        assert_eq!(platform.get(&format!("/{function}/me")).text(), "me", "{function}");
    }
}

#[test]
fn a_function_whose_star_was_expanded_before_a_column_came_is_shown_as_broken() {
    let platform = Platform::start();
    platform.sql(
        "create table book (id int, title text);
         insert into book values (1, 'Dune');
         grant select, insert on book to howdah_web;
         create function starred(id int) returns book language sql stable
           begin atomic select * from book where book.id = starred.id; end;
         create function whole(id int) returns book language sql stable
           begin atomic select book from book where book.id = whole.id; end;
         create function added(id int) returns book language sql
           begin atomic insert into book (id) values (id) returning book; end;
         select http.route('GET', '/starred/{id}', 'starred'), http.route('GET', '/whole/{id}', 'whole'),
           http.route('POST', '/added/{id}', 'added')",
    );
    for path in ["/starred/1", "/whole/1"] {
        assert_eq!(platform.get(path).text(), r#"{"id":1,"title":"Dune"}"#);
    }
    platform.sql("alter table book add column year int default 1965");
    assert_eq!(platform.get("/whole/1").text(), r#"{"id":1,"title":"Dune","year":1965}"#);
    assert_eq!(platform.post("/added/2", "", b"").text(), r#"{"id":2,"title":null,"year":1965}"#);
    assert_eq!(platform.get("/starred/1").status, 500);
    let reason = "select broken from http.stats where pattern = '/starred/{id}'";
    wait_for("the view says why", || {
        platform.get("/starred/1");
        platform.value(reason).is_some_and(|reason| reason.contains("return type mismatch"))
    });
    platform.sql(
        "create or replace function starred(id int) returns book language sql stable
           begin atomic select * from book where book.id = starred.id; end",
    );
    assert_eq!(platform.get("/starred/1").status, 200);
    assert_eq!(platform.value(reason), None);
}
