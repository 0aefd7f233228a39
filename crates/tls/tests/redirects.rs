//! Where requests in clear text are sent.

use std::net::IpAddr;

use rcgen::SanType;
use tls::{Choice, redirect};

use crate::made::{NOW, Wanted};

/// For `www.a.test`, `*.b.test` and two addresses; who asks for another gets `www.a.test`.
fn choice() -> Choice {
    let mut wanted = Wanted::new(&["www.a.test", "*.b.test"]);
    for address in ["203.0.113.7", "2001:db8::7"] {
        let address: IpAddr = address.parse().unwrap();
        wanted.params.subject_alt_names.push(SanType::IpAddress(address));
    }
    Choice::new(vec![(wanted.alone().pair(), true)], NOW)
}

fn sent(authority: &str, path: &str, query: &str) -> String {
    choice().https_of(authority, path, query, redirect::HTTPS).unwrap()
}

#[test]
fn a_host_that_is_covered_keeps_its_name_and_loses_its_port() {
    assert_eq!(sent("www.a.test:80", "/x", "y=1"), "https://www.a.test/x?y=1");
    assert_eq!(sent("WWW.A.test.", "/", ""), "https://www.a.test/");
    assert_eq!(sent("any.b.test:8080", "/%C3%BC", ""), "https://any.b.test/%C3%BC");
    assert_eq!(sent("203.0.113.7", "/", ""), "https://203.0.113.7/");
    assert_eq!(sent("[2001:db8::7]:80", "/", ""), "https://[2001:db8::7]/");
}

#[test]
fn any_other_host_becomes_the_first_of_the_default() {
    for authority in ["evil.test", "", "b.test", "x.y.b.test", "10.0.0.1", "[::1]:80", "www.a.test@evil.test"]
    {
        assert_eq!(sent(authority, "/x", ""), "https://www.a.test/x", "{authority}");
    }
}

#[test]
fn the_port_is_where_clients_reach_https() {
    assert_eq!(choice().https_of("www.a.test:9000", "/x", "", 9443).unwrap(), "https://www.a.test:9443/x");
}

#[test]
fn a_path_leads_to_no_other_host() {
    assert_eq!(sent("www.a.test", "//evil.test/x", ""), "https://www.a.test//evil.test/x");
    assert_eq!(sent("www.a.test", "/%0d%0aSet-Cookie:a=b", ""), "https://www.a.test/%0d%0aSet-Cookie:a=b");
    assert_eq!(sent("www.a.test", "*", ""), "https://www.a.test/");
    assert_eq!(sent("www.a.test", "@evil.test", ""), "https://www.a.test/");
}

#[test]
fn a_default_without_a_plain_name_gives_its_address_or_nothing() {
    let mut wanted = Wanted::new(&["*.b.test"]);
    let wildcard = |wanted: Wanted| Choice::new(vec![(wanted.alone().pair(), true)], NOW);
    assert_eq!(wildcard(Wanted::new(&["*.b.test"])).https_of("c.test", "/", "", 443), None);
    wanted.params.subject_alt_names.push(SanType::IpAddress("::1".parse().unwrap()));
    assert_eq!(wildcard(wanted).https_of("c.test", "/", "", 443).unwrap(), "https://[::1]/");
    assert_eq!(Choice::new(Vec::new(), NOW).https_of("c.test", "/", "", 443), None);
    // A folder of several names no default.
    let named = |name: &str| (Wanted::new(&[name]).alone().pair(), false);
    let several = Choice::new(vec![named("a.test"), named("b.test")], NOW);
    assert_eq!(several.https_of("c.test", "/", "", 443), None);
    assert_eq!(several.https_of("b.test", "/", "", 443).unwrap(), "https://b.test/");
}

#[test]
fn a_token_is_a_name_in_one_folder() {
    let below = |name: &str| format!("{}{name}", redirect::CHALLENGES);
    let longest = "x".repeat(128);
    for sane in ["LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0", "a", "-", "_", &longest] {
        assert_eq!(redirect::token(&below(sane)), Some(sane));
    }
    for other in ["", ".", "..", "../x", "a/b", "a.b", "%61", "a%2fb", "a\0", "é", &format!("{longest}x")] {
        assert_eq!(redirect::token(&below(other)), None, "{other}");
    }
    assert_eq!(redirect::token("/.well-known/acme-challengeX/a"), None);
    assert_eq!(redirect::token("//.well-known/acme-challenge/a"), None);
}
