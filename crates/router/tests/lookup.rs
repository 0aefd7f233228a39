//! What a method and a path lead to.

use router::{Found, InsertError, Match, PathError, Router};

fn table(routes: &[(&str, &str)]) -> Router {
    let mut router = Router::new();
    for (number, (method, pattern)) in (0..).zip(routes) {
        router.insert(method, pattern, number).unwrap();
    }
    router
}

fn found<'r, 'p>(router: &'r Router, method: &str, path: &'p str) -> Found<'r, 'p> {
    match router.lookup(method, path) {
        Ok(Match::Found(found)) => found,
        other => panic!("{method} {path} gave {other:?}"),
    }
}

fn params(router: &Router, path: &str) -> Vec<(String, String)> {
    let found = found(router, "GET", path);
    found.params.iter().map(|(name, value)| (name.to_owned(), value.into_owned())).collect()
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[test]
fn the_most_specific_pattern_wins_in_any_order_of_registration() {
    let patterns = ["/{*rest}", "/users/{handle}", "/users/me", "/users/{*rest}", "/{section}/me", "/"];
    for turn in 0..patterns.len() {
        let mut routes: Vec<_> = patterns.iter().map(|pattern| ("GET", *pattern)).collect();
        routes.rotate_left(turn);
        let router = table(&routes);
        let winner = |path| routes[found(&router, "GET", path).route as usize].1;
        assert_eq!(winner("/users/me"), "/users/me");
        assert_eq!(winner("/users/johndoe"), "/users/{handle}");
        assert_eq!(winner("/users/johndoe/card"), "/users/{*rest}");
        assert_eq!(winner("/users/"), "/users/{*rest}");
        assert_eq!(winner("/groups/me"), "/{section}/me");
        assert_eq!(winner("/groups/you"), "/{*rest}");
        assert_eq!(winner("/"), "/");
    }
}

#[test]
fn a_dead_end_is_left_for_a_less_specific_pattern() {
    let router = table(&[("GET", "/a/b/c"), ("GET", "/{x}/b/d"), ("GET", "/a/{*rest}")]);
    assert_eq!(params(&router, "/a/b/d"), [pair("rest", "b/d")]);
    assert_eq!(params(&router, "/z/b/d"), [pair("x", "z")]);
    let router = table(&[("GET", "/a/b/c"), ("GET", "/{x}/{y}/d")]);
    assert_eq!(params(&router, "/a/b/d"), [pair("x", "a"), pair("y", "b")]);
}

#[test]
fn a_parameter_takes_one_segment_that_is_not_empty() {
    let router = table(&[("GET", "/users/{handle}")]);
    for path in ["/users/", "/users", "/users/a/b", "/users/a/", "//users/a", "/Users/a", "", "users/a", "*"]
    {
        assert!(matches!(router.lookup("GET", path), Ok(Match::NotFound)), "{path}");
    }
}

#[test]
fn an_encoded_slash_belongs_to_its_segment() {
    let router = table(&[("GET", "/files/{name}"), ("GET", "/files/{name}/{*rest}")]);
    assert_eq!(params(&router, "/files/a%2Fb"), [pair("name", "a/b")]);
    assert_eq!(params(&router, "/files/a/b%2fc/d"), [pair("name", "a"), pair("rest", "b/c/d")]);
}

#[test]
fn literal_text_matches_whatever_the_path_encodes() {
    let router = table(&[("GET", "/café/100%"), ("GET", "/a b")]);
    for path in ["/caf%C3%A9/100%25", "/caf%c3%a9/%3100%25", "/café/100%25"] {
        assert_eq!(found(&router, "GET", path).route, 0, "{path}");
    }
    assert_eq!(found(&router, "GET", "/a%20b").route, 1);
    assert!(matches!(router.lookup("GET", "/a+b"), Ok(Match::NotFound)));
}

#[test]
fn a_path_that_postgres_cannot_hold_is_an_error_matched_or_not() {
    let router = table(&[("GET", "/users/{handle}")]);
    assert_eq!(router.lookup("GET", "/users/%00").unwrap_err(), PathError::Nul);
    assert_eq!(router.lookup("GET", "/nowhere/%ff").unwrap_err(), PathError::NotUtf8);
    assert_eq!(router.lookup("PUT", "/users/%g0").unwrap_err(), PathError::BadEscape);
}

#[test]
fn head_is_answered_by_get_unless_it_has_its_own() {
    let router = table(&[("GET", "/a"), ("GET", "/b"), ("HEAD", "/b"), ("POST", "/c")]);
    assert_eq!(found(&router, "HEAD", "/a").route, 0);
    assert_eq!(found(&router, "HEAD", "/b").route, 2);
    assert!(matches!(router.lookup("HEAD", "/c"), Ok(Match::MethodNotAllowed { .. })));
}

#[test]
fn allow_names_the_registered_methods_head_with_get_and_options() {
    let router = table(&[("POST", "/a/{x}"), ("GET", "/a/{y}"), ("DELETE", "/b")]);
    let allow = |method, path| match router.lookup(method, path) {
        Ok(Match::MethodNotAllowed { allow }) => allow.to_owned(),
        other => panic!("{other:?}"),
    };
    assert_eq!(allow("PUT", "/a/1"), "GET, HEAD, OPTIONS, POST");
    assert_eq!(allow("get", "/a/1"), "GET, HEAD, OPTIONS, POST");
    assert_eq!(allow("GET", "/b"), "DELETE, OPTIONS");
    assert!(matches!(router.lookup("OPTIONS", "/b"), Ok(Match::Options { allow: "DELETE, OPTIONS" })));
    assert!(matches!(router.lookup("OPTIONS", "/c"), Ok(Match::NotFound)));
}

#[test]
fn a_path_tells_its_methods_whatever_answers_it() {
    let router = table(&[("PUT", "/a/{b}"), ("OPTIONS", "/a/{b}"), ("*", "/star"), ("GET", "/a/c")]);
    assert_eq!(router.allow("/a/b%20"), Some("OPTIONS, PUT"));
    assert_eq!(router.allow("/a/c"), Some("GET, HEAD, OPTIONS"));
    assert_eq!(router.allow("/star"), Some("DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"));
    assert_eq!((router.allow("/b"), router.allow("a")), (None, None));
}

#[test]
fn a_star_answers_every_method_without_a_route_of_its_own() {
    let router = table(&[("*", "/a"), ("POST", "/a"), ("OPTIONS", "/b"), ("BREW", "/b")]);
    assert_eq!(found(&router, "POST", "/a").route, 1);
    for method in ["GET", "HEAD", "OPTIONS", "PROPFIND"] {
        assert_eq!(found(&router, method, "/a").route, 0, "{method}");
    }
    assert_eq!(found(&router, "OPTIONS", "/b").route, 2);
    assert_eq!(found(&router, "BREW", "/b").route, 3);
}

#[test]
fn the_path_alone_decides_which_pattern_wins() {
    let router = table(&[("GET", "/users/{handle}"), ("POST", "/users/search")]);
    assert!(matches!(router.lookup("GET", "/users/search"), Ok(Match::MethodNotAllowed { .. })));
}

#[test]
fn a_second_route_for_the_same_paths_names_the_first() {
    let mut router = table(&[("GET", "/users/{handle}"), ("GET", "/f/{*rest}")]);
    let message = |result: Result<(), InsertError>| result.unwrap_err().to_string();
    assert_eq!(
        message(router.insert("GET", "/users/{id}", 9)),
        "GET /users/{id} matches the same paths as GET /users/{handle}, which is registered already"
    );
    assert_eq!(
        message(router.insert("GET", "/users/{handle}", 9)),
        "GET /users/{handle} is registered already"
    );
    assert!(message(router.insert("GET", "/f/{*other}", 9)).contains("GET /f/{*rest}"));
    assert!(message(router.insert("get", "/x", 9)).contains("upper case"));
    assert!(message(router.insert("GET /x", "/x", 9)).contains("is not a method"));
    assert_eq!(router.len(), 2);
}

#[test]
fn methods_of_one_shape_keep_their_own_names() {
    let router = table(&[("GET", "/users/{handle}"), ("PUT", "/users/{id}")]);
    assert_eq!(found(&router, "GET", "/users/x").params.get("handle").as_deref(), Some("x"));
    assert_eq!(found(&router, "PUT", "/users/x").params.get("id").as_deref(), Some("x"));
    assert_eq!(found(&router, "PUT", "/users/x").params.get("handle"), None);
}

#[test]
fn many_parameters_are_all_given() {
    let pattern: String = (0..20).map(|n| format!("/{{p{n}}}")).collect();
    let path: String = (0..20).map(|n| format!("/v{n}")).collect();
    let expected: Vec<_> = (0..20).map(|n| pair(&format!("p{n}"), &format!("v{n}"))).collect();
    assert_eq!(params(&table(&[("GET", &pattern)]), &path), expected);
}

/// Branches at every level: a search that went back over the same nodes would take 2^20 steps here.
#[test]
fn a_hostile_path_costs_no_more_than_the_tree_is_big() {
    let mut router = Router::new();
    for depth in 0..20 {
        let literal = "/a".repeat(depth);
        router.insert("GET", &format!("{literal}/{{x}}{}/end", "/a".repeat(20 - depth)), 0).unwrap();
    }
    assert!(matches!(router.lookup("GET", &"/a".repeat(40_000)), Ok(Match::NotFound)));
}

#[test]
fn random_bytes_never_panic() {
    let router = table(&[("GET", "/{a}/b/{*rest}"), ("*", "/%/{x}"), ("GET", "/ü/{y}/"), ("POST", "/")]);
    let alphabet = ["/", "%", "2F", "ü", "%C3", "%BC", "a", "b", "\0", "{", "}", "*", "0", " ", "%00"];
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    for _ in 0..50_000 {
        let text: String = (0..random() % 12).map(|_| alphabet[random() % alphabet.len()]).collect();
        if let Ok(Match::Found(found)) = router.lookup("GET", &format!("/{text}")) {
            assert_eq!(found.params.iter().count(), found.params.len());
        }
        let _ = Router::new().insert("GET", &text, 0);
    }
}

#[test]
fn options_of_the_whole_server_names_every_method() {
    let router = table(&[("GET", "/a")]);
    let allow = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT";
    assert!(matches!(router.lookup("OPTIONS", "*"), Ok(Match::Options { allow: found }) if found == allow));
    assert!(matches!(router.lookup("GET", "*"), Ok(Match::NotFound)));
}
