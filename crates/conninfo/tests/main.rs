//! Connection strings and files as people write them.

use conninfo::{Parameters, parse, password, service};

fn of(pairs: &[(&str, &str)]) -> Parameters {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn both_forms_say_the_same() {
    for (text, pairs) in [
        ("", vec![]),
        ("host=db port=5 dbname=a", vec![("host", "db"), ("port", "5"), ("dbname", "a")]),
        (
            "  host = db\n  user='a b'  password='it\\'s\\\\'",
            vec![("host", "db"), ("user", "a b"), ("password", "it's\\")],
        ),
        ("password=a\\ b options=''", vec![("password", "a b"), ("options", "")]),
        ("postgresql://", vec![]),
        ("postgres://db", vec![("host", "db")]),
        ("postgresql:///app", vec![("dbname", "app")]),
        (
            "postgresql://ada:p%40ss@db:6/app?sslmode=verify-full&sslrootcert=%2Fca.pem",
            vec![
                ("user", "ada"),
                ("password", "p@ss"),
                ("host", "db"),
                ("port", "6"),
                ("dbname", "app"),
                ("sslmode", "verify-full"),
                ("sslrootcert", "/ca.pem"),
            ],
        ),
        ("postgresql://a@b@c/d", vec![("user", "a@b"), ("host", "c"), ("dbname", "d")]),
        ("postgresql://[::1]:7,h2/x", vec![("host", "::1,h2"), ("port", "7,"), ("dbname", "x")]),
        ("postgresql://%2Frun%2Fpg/x", vec![("host", "/run/pg"), ("dbname", "x")]),
        ("postgresql:///x?host=/run&service=s", vec![("dbname", "x"), ("host", "/run"), ("service", "s")]),
    ] {
        assert_eq!(parse(text), Ok(of(&pairs)), "{text}");
    }
}

#[test]
fn what_cannot_be_read_is_told_without_its_values() {
    for text in [
        "secret",
        "=secret",
        "host",
        "password='secret",
        "postgresql://u:%zzsecret@h",
        "postgresql://[::1",
        "postgresql://[::1]secret/",
        "postgresql://h?secret",
        "postgresql://h/%ff",
        "postgresql://h/%00",
    ] {
        let error = parse(text).unwrap_err();
        assert!(!error.contains("secret") && !error.is_empty(), "{text}: {error}");
    }
}

#[test]
fn a_service_is_a_section_of_its_file() {
    let text = "# mine\n[one]\nhost=a\n\n[two]\nhost = b\nport=7\n[two]\nhost=c\n";
    assert_eq!(service(text, "one"), Some(of(&[("host", "a")])));
    assert_eq!(service(text, "two"), Some(of(&[("host", "b"), ("port", "7")])));
    assert_eq!(service(text, "three"), None);
}

#[test]
fn a_password_is_that_of_the_first_line_that_fits() {
    let lines = "# h:1:d:u:no\nh:2:*:u:other\nh:1:d:u:a\\:b\\\\\n*:*:*:*:last\nlocalhost:*:*:u:socket\n";
    assert_eq!(password(lines, ["h", "1", "d", "u"]).as_deref(), Some("a:b\\"));
    assert_eq!(password(lines, ["x", "1", "d", "u"]).as_deref(), Some("last"));
    assert_eq!(password("localhost:*:*:u:socket", ["/run", "1", "d", "u"]).as_deref(), Some("socket"));
    assert_eq!(password("h:1", ["h", "1", "d", "u"]), None);
}
