//! What a setting allows.

use std::path::PathBuf;

use addresses::{Address, Names, expand, name, split};

use crate::resolver;

/// The addresses on port 9000 as they are written, and the names that mean nothing.
fn on_9000(address: &str, allowed: &[&str]) -> (Vec<String>, Vec<String>) {
    let allowed: Vec<String> = allowed.iter().map(|name| (*name).to_owned()).collect();
    let mut names = Names::waited_for(resolver);
    names.begin(&allowed);
    let (addresses, unresolved) = expand(address, 9000, &allowed, &mut names);
    (addresses.iter().map(name).collect(), unresolved.into_iter().map(|(name, _)| name).collect())
}

/// Only those of IPv4: a machine may have no other.
fn of_ipv4(addresses: Vec<String>) -> Vec<String> {
    addresses.into_iter().filter(|address| !address.starts_with("[:")).collect()
}

#[test]
fn without_an_address_a_listener_has_all_that_are_allowed() {
    let (addresses, unresolved) = on_9000("", &["127.0.0.1", "inner"]);
    assert_eq!(addresses, ["127.0.0.1:9000", "10.0.0.1:9000", "10.0.0.2:9000"]);
    assert!(unresolved.is_empty());
}

#[test]
fn an_address_that_is_not_allowed_is_left_out() {
    assert_eq!(on_9000("192.0.2.1", &["127.0.0.1", "inner"]).0, [""; 0]);
}

#[test]
fn nothing_is_allowed_by_an_empty_setting() {
    for address in ["", "127.0.0.1", "*", "inner", "/tmp"] {
        assert_eq!(on_9000(address, &[]).0, [""; 0], "{address}");
    }
}

#[test]
fn a_name_is_allowed_by_the_address_that_it_means() {
    assert_eq!(on_9000("outer", &["192.0.2.7"]).0, ["192.0.2.7:9000"]);
    assert_eq!(on_9000("192.0.2.7", &["outer"]).0, ["192.0.2.7:9000"]);
}

#[test]
fn of_a_name_those_addresses_count_that_are_allowed() {
    assert_eq!(on_9000("inner", &["10.0.0.2"]).0, ["10.0.0.2:9000"]);
}

#[test]
fn a_wildcard_allows_every_address_of_its_family_alone() {
    assert_eq!(on_9000("192.0.2.7", &["0.0.0.0"]).0, ["192.0.2.7:9000"]);
    assert_eq!(on_9000("192.0.2.7", &["::"]).0, [""; 0]);
    assert_eq!(of_ipv4(on_9000("192.0.2.7", &["*"]).0), ["192.0.2.7:9000"]);
}

#[test]
fn one_address_does_not_allow_the_wildcard() {
    assert_eq!(on_9000("*", &["127.0.0.1"]).0, [""; 0]);
    assert_eq!(on_9000("0.0.0.0", &["127.0.0.1", "10.0.0.1"]).0, [""; 0]);
}

#[test]
fn an_address_that_is_meant_twice_is_there_once() {
    assert_eq!(on_9000("", &["inner", "10.0.0.1", "inner"]).0, ["10.0.0.1:9000", "10.0.0.2:9000"]);
}

#[test]
fn a_name_that_means_nothing_is_told_and_the_others_are_bound() {
    let (addresses, unresolved) = on_9000("", &["nowhere", "outer"]);
    assert_eq!((addresses, unresolved), (vec!["192.0.2.7:9000".to_owned()], vec!["nowhere".to_owned()]));
    // One that is allowed and not asked for is nobody's error.
    assert_eq!(on_9000("outer", &["nowhere", "outer"]).1, [""; 0]);
}

#[test]
fn a_folder_is_for_unix_sockets_and_has_to_be_the_same() {
    assert_eq!(on_9000("/run/howdah", &["/run/howdah"]).0, ["/run/howdah/.s.howdah.9000"]);
    assert_eq!(on_9000("/run", &["/run/howdah"]).0, [""; 0]);
    assert_eq!(on_9000("/run/howdah/../x", &["/run/howdah"]).0, [""; 0]);
    assert_eq!(on_9000("/run/howdah", &["*"]).0, [""; 0], "a wildcard allows no folder");
}

#[test]
fn an_ipv6_address_may_stand_in_brackets() {
    let (with, without) =
        (on_9000("[2001:db8::1]", &["2001:db8::1"]), on_9000("2001:db8::1", &["[2001:db8::1]"]));
    assert_eq!(with, without);
}

#[test]
fn names_are_written_and_taken_apart() {
    let tcp = |text: &str| Address::Tcp(text.parse().expect("an address"));
    for (address, text, parts) in [
        (tcp("127.0.0.1:80"), "127.0.0.1:80", ("127.0.0.1", 80)),
        (tcp("[::1]:9000"), "[::1]:9000", ("::1", 9000)),
        (
            Address::Unix(PathBuf::from("/run/a:b/.s.howdah.1")),
            "/run/a:b/.s.howdah.1",
            ("/run/a:b/.s.howdah.1", 0),
        ),
    ] {
        assert_eq!(name(&address), text);
        assert_eq!(split(text), parts);
    }
}

#[test]
fn a_name_without_a_port_has_none() {
    assert_eq!(split("nowhere"), ("nowhere", 0));
    assert_eq!(split("nowhere:http"), ("nowhere", 0));
    assert_eq!(split(""), ("", 0));
}
