//! Certificates and keys, as people have them in files.

mod made;

use made::{Made, NOW, authority, leaf};
use tls::pem::Contents;
use tls::{Certificate, Choice, Pair};

fn refusal(bytes: &[u8]) -> String {
    Contents::read(bytes).map(drop).expect_err("it is read")
}

/// Another form of a key, by openssl.
fn converted(pem: &str, arguments: &[&str]) -> Vec<u8> {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let mut child = Command::new("openssl")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("openssl is there");
    child.stdin.take().unwrap().write_all(pem.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "openssl {arguments:?}");
    output.stdout
}

#[test]
fn every_usual_form_of_a_pair_is_read() {
    let Made { chain, key, .. } = leaf(&["example.test"]);
    let sec1 = String::from_utf8(converted(&key, &["ec"])).unwrap();
    let with_parameters =
        format!("{}{sec1}", String::from_utf8(converted("", &["ecparam", "-name", "prime256v1"])).unwrap());
    let crlf = |text: &str| text.replace('\n', "\r\n");
    let forms: [(&str, String, Option<String>); 10] = [
        ("two files", chain.clone(), Some(key.clone())),
        ("the key first", format!("{key}{chain}"), None),
        ("the key last", format!("{chain}{key}"), None),
        ("SEC1", chain.clone(), Some(sec1.clone())),
        ("SEC1 with its curve", chain.clone(), Some(with_parameters)),
        ("CRLF", crlf(&chain), Some(crlf(&key))),
        ("a byte order mark", format!("\u{feff}{chain}"), Some(format!("\u{feff}{key}"))),
        ("no line end between", format!("{}{}", chain.trim_end(), key.trim_end()), None),
        ("text between", format!("subject=CN = a\n{chain}\n\nBag Attributes\n{key}"), None),
        ("another name", chain.replace("CERTIFICATE", "X509 CERTIFICATE"), Some(key.clone())),
    ];
    for (form, certificates, key) in forms {
        let pair = Pair::read(certificates.as_bytes(), key.as_ref().map(String::as_bytes));
        let pair = pair.unwrap_or_else(|reason| panic!("{form}: {reason}"));
        assert_eq!(pair.certified.cert.len(), 2, "{form}");
        assert_eq!(pair.leaf.names, ["example.test"], "{form}");
        assert!(pair.warnings.is_empty(), "{form}: {:?}", pair.warnings);
    }
}

#[test]
fn rsa_keys_are_read_and_warned_of() {
    let key = String::from_utf8(converted("", &["genrsa", "-traditional", "2048"])).unwrap();
    assert!(key.contains("BEGIN RSA PRIVATE KEY"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    std::fs::write(&path, &key).unwrap();
    let path = path.to_str().unwrap();
    let certificate = converted(
        "",
        &[
            "req",
            "-x509",
            "-key",
            path,
            "-subj",
            "/CN=a.test",
            "-addext",
            "subjectAltName=DNS:a.test",
            "-days",
            "90",
        ],
    );
    let pair = Pair::read(&certificate, Some(key.as_bytes())).unwrap();
    assert_eq!(pair.leaf.key.to_string(), "RSA 2048");
    let warnings = pair.warnings.join("\n");
    assert!(warnings.contains("RSA") && warnings.contains("CA:TRUE"), "{warnings}");
}

#[test]
fn what_cannot_be_read_is_refused_by_its_name() {
    let Made { chain, key, .. } = leaf(&["example.test"]);
    let encrypted = converted(&key, &["pkcs8", "-topk8", "-passout", "pass:x"]);
    let traditional = converted(&key, &["ec", "-aes128", "-passout", "pass:x"]);
    let der = converted(&chain, &["x509", "-outform", "der"]);
    let trusted = converted(&chain, &["x509", "-trustout"]);
    let block = |label: &str| format!("-----BEGIN {label}-----\nAAAA\n-----END {label}-----\n").into_bytes();
    let cases: [(&str, Vec<u8>, &str); 15] = [
        ("nothing", Vec::new(), "the file is empty"),
        ("blanks", b" \r\n\n".to_vec(), "the file is empty"),
        ("text", b"hello".to_vec(), "no block of PEM"),
        ("an encrypted key", encrypted, "is encrypted; convert it by: openssl pkey"),
        ("an encrypted key of old", traditional, "is encrypted; convert it by: openssl pkey"),
        ("DER", der, "the file is DER"),
        ("OpenSSL's own", trusted, "openssl x509 -in FILE -out NEW"),
        ("SSH", block("OPENSSH PRIVATE KEY"), "ssh-keygen"),
        ("DSA", block("DSA PRIVATE KEY"), "TLS no longer has"),
        ("a request", block("CERTIFICATE REQUEST"), "is a request"),
        ("PKCS#7", block("PKCS7"), "openssl pkcs7"),
        ("a list", block("X509 CRL"), "is nothing that belongs here"),
        ("a Java key store", vec![0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2], "keytool"),
        ("two keys", format!("{key}{key}").into_bytes(), "is a second key"),
        ("too long", vec![b'x'; (1 << 20) + 1], "more than 1048576 bytes"),
    ];
    for (what, bytes, part) in cases {
        let reason = refusal(&bytes);
        assert!(reason.contains(part), "{what}: {reason}");
    }
    let many = chain.repeat(20);
    assert!(refusal(many.as_bytes()).contains("one too many"));
}

#[test]
fn a_chain_is_never_shorter_than_its_file() {
    let Made { chain, key, .. } = leaf(&["example.test"]);
    let whole = format!("{chain}{key}");
    let ends: Vec<usize> = whole
        .match_indices("-----END ")
        .map(|(at, _)| at + whole[at..].find("-----\n").unwrap() + 5)
        .collect();
    for cut in 0..whole.len() {
        let blocks = ends.iter().filter(|end| **end <= cut).count();
        let Ok(contents) = Contents::read(&whole.as_bytes()[..cut]) else { continue };
        let read = contents.chain.len() + usize::from(contents.key.is_some());
        let begun = whole[..cut].matches("-----BEGIN").count();
        assert_eq!((read, begun), (blocks, blocks), "cut at {cut}");
    }
    // A letter that is another one, anywhere in the file, makes no chain shorter either.
    for at in (0..chain.len()).step_by(3) {
        let mut bytes = chain.clone().into_bytes();
        bytes[at] = b'!';
        if let Ok(contents) = Contents::read(&bytes) {
            assert_eq!(contents.chain.len(), 2, "changed at {at}");
        }
    }
}

#[test]
fn random_bytes_are_refused_and_nothing_else() {
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..2000 {
        let length = random.usize(..400);
        let mut bytes: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
        if random.bool() {
            bytes.extend_from_slice(b"-----BEGIN CERTIFICATE-----\n");
        }
        assert!(Pair::read(&bytes, None).is_err());
    }
}

#[test]
fn a_pair_belongs_together() {
    let (one, two) = (leaf(&["one.test"]), leaf(&["two.test"]));
    let refused = |certificates: &str, key: &str| {
        Pair::read(certificates.as_bytes(), Some(key.as_bytes())).unwrap_err()
    };
    assert!(refused(&one.chain, &two.key).contains("the key is not that of the certificate of CN="));
    let turned = format!("{}{}", one.authority, one.alone);
    assert!(refused(&turned, &one.key).contains("the wrong order: the server's own, no. 2"));
    assert!(refused(&one.chain, &one.alone).contains("the key's file has no key"));
    assert!(Pair::read(one.chain.as_bytes(), None).unwrap_err().contains("the file has no key"));
    assert!(Pair::read(one.key.as_bytes(), None).unwrap_err().contains("no certificate"));
}

#[test]
fn what_clients_find_wrong_is_said() {
    let made = leaf(&["example.test"]);
    let alone = Pair::read(made.alone.as_bytes(), Some(made.key.as_bytes())).unwrap();
    assert!(alone.warnings.join("").contains("the file has no certificate of CN="), "{:?}", alone.warnings);
    let other = leaf(&["other.test"]);
    let gap = format!("{}{}", made.alone, other.authority);
    let gap = Pair::read(gap.as_bytes(), Some(made.key.as_bytes())).unwrap();
    assert!(gap.warnings.join("").contains("no. 1 is not signed by the next"), "{:?}", gap.warnings);
    let nameless = leaf(&[]);
    let nameless = Pair::read(nameless.chain.as_bytes(), Some(nameless.key.as_bytes())).unwrap();
    assert!(nameless.warnings.join("").contains("no subjectAltName"));
    let authority = authority();
    let authority = Pair::read(authority.chain.as_bytes(), Some(authority.key.as_bytes())).unwrap();
    assert!(authority.warnings.join("").contains("CA:TRUE"));
}

#[test]
fn the_end_of_a_certificate_is_warned_of() {
    let made = leaf(&["example.test"]);
    let pair = Pair::read(made.chain.as_bytes(), Some(made.key.as_bytes())).unwrap();
    let end = pair.leaf.not_after;
    let day = 86_400;
    let cases = [
        (pair.leaf.not_before - 1, Some("the certificate is not valid yet")),
        (pair.leaf.not_before, None),
        (end - 14 * day - 1, None),
        (end - 14 * day, Some("the certificate expires in 14 days")),
        (end - day, Some("the certificate expires in 24 hours")),
        (end - 600, Some("the certificate expires in 10 minutes")),
        (end + 1, Some("the certificate has expired")),
    ];
    for (at, said) in cases {
        assert_eq!(pair.trouble_at(at).as_deref(), said, "at {at}");
    }
}

#[test]
fn a_certificate_covers_hosts_as_clients_compare_them() {
    let made = leaf(&["Example.test", "*.example.test", "127.0.0.1", "::1"]);
    let contents = Contents::read(made.chain.as_bytes()).unwrap();
    let certificate = Certificate::read(&contents.chain[0]).unwrap();
    let cases = [
        ("example.test", true),
        ("EXAMPLE.test.", true),
        ("example.test:8443", true),
        ("a.example.test", true),
        ("a.b.example.test", false),
        (".example.test", false),
        ("xexample.test", false),
        ("test", false),
        ("", false),
        ("127.0.0.1", true),
        ("127.0.0.1:443", true),
        ("127.0.0.2", false),
        ("[::1]", true),
        ("[::1]:443", true),
        ("::1", true),
    ];
    for (host, covers) in cases {
        assert_eq!(certificate.covers(host), covers, "{host}");
    }
}

#[test]
fn a_client_gets_the_certificate_of_its_name() {
    let pair = |names: &[&str]| {
        let made = leaf(names);
        std::sync::Arc::new(Pair::read(made.chain.as_bytes(), Some(made.key.as_bytes())).unwrap())
    };
    let schemes = [rustls::SignatureScheme::ECDSA_NISTP256_SHA256];
    let (one, star, second) = (pair(&["one.test"]), pair(&["*.test"]), pair(&["second.test", "one.test"]));
    let choice = Choice::new(&[(one.clone(), false), (star.clone(), false), (second.clone(), true)], NOW);
    let chosen = |name| choice.pair_of(name, &schemes).map(|pair| pair.leaf.names.clone());
    assert_eq!(
        chosen(Some("one.test")),
        Some(one.leaf.names.clone()),
        "an exact name, the first of the setting"
    );
    assert_eq!(chosen(Some("ONE.TEST")), Some(one.leaf.names.clone()));
    assert_eq!(chosen(Some("three.test")), Some(star.leaf.names.clone()), "a wildcard");
    assert_eq!(chosen(Some("a.b.test")), Some(second.leaf.names.clone()), "the default");
    assert_eq!(chosen(None), Some(second.leaf.names.clone()), "the default");
    let choice = Choice::new(&[(one.clone(), false), (star, false)], NOW);
    assert!(choice.pair_of(Some("else.where"), &schemes).is_none(), "no default among several");
    let choice = Choice::new(&[(one, false)], NOW);
    assert!(choice.pair_of(None, &schemes).is_some(), "the only one");
    assert!(Choice::new(&[], NOW).is_empty());
}
