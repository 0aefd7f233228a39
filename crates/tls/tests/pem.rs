//! Files as people have them: each loads whole, or is refused by its name.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tls::Pair;
use tls::pem::{Contents, MAX_CHAIN, MAX_FILE};

use crate::made::{Wanted, chain_of_three, fixture};

const EC: &str = fixture!("ec.certificate.pem");
const EC_KEY: &str = fixture!("ec.sec1.pem");
const RSA: &str = fixture!("rsa.certificate.pem");
const RSA_KEY: &str = fixture!("rsa.pkcs8.pem");

/// How many certificates and keys a file has.
fn count(file: impl AsRef<[u8]>) -> Result<(usize, bool), String> {
    Contents::read(file.as_ref()).map(|contents| (contents.chain.len(), contents.key.is_some()))
}

fn refusal(file: impl AsRef<[u8]>) -> String {
    count(file).unwrap_err()
}

/// The bytes of the first block.
fn der(pem: &str) -> Vec<u8> {
    let lines = pem.lines().skip_while(|line| !line.starts_with("-----BEGIN")).skip(1);
    let body: String = lines.take_while(|line| !line.starts_with("-----END")).collect();
    STANDARD.decode(body).unwrap()
}

#[test]
fn every_kind_of_file_loads() {
    let without_end = EC.trim_end();
    let old_mac = EC.replace('\n', "\r");
    let indented: String = EC.lines().map(|line| format!("    {line}  \n")).collect();
    let cases: [(&str, String, (usize, bool)); 18] = [
        ("a certificate", EC.into(), (1, false)),
        ("PKCS#8", RSA_KEY.into(), (0, true)),
        ("PKCS#1", fixture!("rsa.pkcs1.pem").into(), (0, true)),
        ("SEC1 with parameters", EC_KEY.into(), (0, true)),
        ("certificate, then key", format!("{EC}{EC_KEY}"), (1, true)),
        ("key, then certificate", format!("{EC_KEY}{EC}"), (1, true)),
        ("key between certificates", format!("{EC}{EC_KEY}{RSA}"), (2, true)),
        ("CRLF", format!("{EC}{EC_KEY}").replace('\n', "\r\n"), (1, true)),
        ("CR alone", old_mac, (1, false)),
        ("a byte order mark", format!("\u{feff}{EC}"), (1, false)),
        ("byte order marks within", format!("\u{feff}{EC}\u{feff}{EC_KEY}"), (1, true)),
        ("no line end before BEGIN", format!("{without_end}{EC_KEY}"), (1, true)),
        ("no line end at the end", without_end.into(), (1, false)),
        (
            "blank lines and text",
            format!("\nSubject: ec\n\n{EC}\n---\n--- the END of it ---\n{EC_KEY}\n  \n"),
            (1, true),
        ),
        ("indented", indented, (1, false)),
        ("as openssl x509 -text", fixture!("ec.with-text.pem").into(), (1, false)),
        ("as openssl pkcs12 -nodes", fixture!("ec.from-pkcs12.pem").into(), (1, true)),
        ("OpenSSL's trusted form", fixture!("rsa.trusted.pem").into(), (1, false)),
    ];
    for (kind, file, expected) in cases {
        assert_eq!(count(&file), Ok(expected), "{kind}");
    }
}

#[test]
fn other_labels_of_certificates_are_the_certificate() {
    let plain = Contents::read(RSA.as_bytes()).unwrap().chain;
    let old = Contents::read(RSA.replace("CERTIFICATE", "X509 CERTIFICATE").as_bytes()).unwrap().chain;
    let trusted = Contents::read(fixture!("rsa.trusted.pem").as_bytes()).unwrap().chain;
    assert!(plain == old && plain == trusted);
}

#[test]
fn text_that_is_not_utf_8_may_stand_between_blocks() {
    assert_eq!(count([b"friendlyName: M\xfcller\n", EC.as_bytes(), b"\xff\0\n"].concat()), Ok((1, false)));
}

#[test]
fn headers_before_a_block_are_passed_over() {
    let file = EC.replacen("-----\n", "-----\nComment: mine\nX-Of: me\n\n", 1);
    assert_eq!(count(file), Ok((1, false)));
}

#[test]
fn other_kinds_of_blocks_are_refused_by_their_name() {
    let cases = [
        (fixture!("encrypted.pkcs8.pem"), "encrypted", "openssl pkey"),
        (fixture!("encrypted.pkcs1.pem"), "encrypted", "openssl pkey"),
        (fixture!("dsa.pem"), "DSA", "openssl genpkey"),
        (fixture!("openssh.pem"), "Ed25519 key in the format of OpenSSH", "openssl genpkey"),
        (fixture!("openssh.ecdsa.pem"), "OpenSSH", "ssh-keygen"),
        (fixture!("ec.p7b.pem"), "PKCS#7", "openssl pkcs7"),
        (fixture!("request.pem"), "request", "authority"),
        ("-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n", "neither", "remove it"),
    ];
    for (file, what, command) in cases {
        let reason = refusal(format!("{EC}{file}"));
        assert!(reason.starts_with("block 2 (line 12, "), "{reason}");
        assert!(reason.contains(what) && reason.contains(command), "{reason}");
    }
}

#[test]
fn files_that_are_not_pem_are_refused_by_their_name() {
    let pkcs12 = STANDARD.decode(fixture!("ec.p12.base64").replace('\n', "")).unwrap();
    let utf_16: Vec<u8> = "\u{feff}-----BEGIN".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let cases = [
        (pkcs12[..100].to_vec(), "PKCS#12", "openssl pkcs12"),
        (pkcs12, "PKCS#12", "openssl pkcs12"),
        (b"\x30\x80\x02\x01\x03\x30\x80\x06".to_vec(), "PKCS#12", "openssl pkcs12"),
        (der(EC), "a certificate in DER", "openssl x509 -inform DER"),
        (der(RSA_KEY), "a key in DER", "openssl pkey -inform DER"),
        (der(fixture!("rsa.pkcs1.pem")), "a key in DER", "openssl pkey -inform DER"),
        (der(fixture!("secp256k1.sec1.pem")), "a key in DER", "openssl pkey -inform DER"),
        (der(fixture!("encrypted.pkcs8.pem")), "a key in DER", "openssl pkey -inform DER"),
        (der(fixture!("ec.p7b.pem")), "PKCS#7 in DER", "-inform DER"),
        (b"\xfe\xed\xfe\xed\0\0\0\x02".to_vec(), "JKS", "keytool"),
        (utf_16, "UTF-16", "iconv"),
        (b"PuTTY-User-Key-File-3: ssh-rsa\n".to_vec(), "PuTTY", "puttygen"),
        (b"hello\n".to_vec(), "neither", "-----BEGIN"),
        (Vec::new(), "empty", ""),
        (b" \r\n\n".to_vec(), "empty", ""),
    ];
    for (file, what, command) in cases {
        let reason = refusal(&file);
        assert!(reason.contains(what) && reason.contains(command), "{what}: {reason}");
    }
}

#[test]
fn keys_of_kinds_that_rustls_lacks_are_refused_by_their_name() {
    let cases = [
        (fixture!("rsa1024.pem"), "RSA of another size"),
        (fixture!("rsa-pss.pem"), "RSA-PSS alone"),
        (fixture!("secp256k1.sec1.pem"), "ECDSA with another curve"),
        (fixture!("secp256k1.pkcs8.pem"), "ECDSA with another curve"),
        (fixture!("dsa.pkcs8.pem"), "DSA"),
        (fixture!("ed448.pem"), "Ed448"),
    ];
    for (key, expected) in cases {
        let reason = Pair::load(EC.as_bytes(), Some(key.as_bytes())).unwrap_err();
        assert!(reason.contains(expected), "{reason}");
    }
}

#[test]
fn damaged_borders_are_errors_and_no_text() {
    let (first, second) = (EC, RSA);
    let cases = [
        (first.replace("-----END", "----END"), "no end before line 12"),
        (first.replace("-----BEGIN", "----BEGIN"), "line 1 is what is left"),
        (first.replace("CERTIFICATE-----\nMII", "CERTIFICATE----\nMII"), "line 1 is what is left"),
        (first.replace("-----BEGIN", "\u{2013}BEGIN"), "line 1 is what is left"),
        (first.replace("-----BEGIN CERTIFICATE-----", ""), "line 2 is of a block that does not begin"),
        ("text\n-----END CERTIFICATE-----\n".into(), "line 2 ends a block (CERTIFICATE) that has not begun"),
        (first.replace("-----END CERTIFICATE-----", ""), "no end before line 12"),
        (first.replace("-----END CERTIFICATE", "-----END KEY"), "ends in line 11 as another kind"),
        (first.replace("MII", "M!I"), "not base64"),
        (first.replace("MII", "MI"), "not base64"),
        (first.replace("MII", "MMMMMII"), "block 1 (line 1, CERTIFICATE) is damaged"),
        (first.replace("-----BEGIN", "-----begin"), "line 1 is what is left"),
        (
            first.replace("-----BEGIN", "- -----BEGIN").replace("-----END", "-----end"),
            "no end before line 12",
        ),
        (first.replace("-----BEGIN", "-----BEGIN\n"), "line 1 is what is left"),
        (first.replace("-----", "---- "), "line 1 is what is left"),
    ];
    for (file, expected) in cases {
        let reason = refusal(format!("{file}{second}"));
        assert!(reason.contains(expected), "{reason}");
    }
    assert!(refusal("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n").contains("is empty"));
}

/// Some pages show a certificate without its borders, and what is copied from there is part of the chain nevertheless.
#[test]
fn a_block_without_borders_is_an_error_and_no_text() {
    let lines: Vec<&str> = RSA.lines().filter(|line| !line.starts_with("---")).collect();
    let reason = "line 13 is of a block that does not begin";
    for body in [lines.join("\n"), lines.concat(), RSA.replace("BEGIN", "BEGlN").replace("END", "ENO")] {
        let file =
            format!("{EC}the authority:\n{body}\n{EC_KEY}").replace("authority:\n-----BEGlN", "-----BEGlN");
        assert!(refusal(&file).starts_with(reason), "{}", refusal(&file));
    }
    let sum = "c3ab8ff13720e8ad9047dd39466b3c8974e592c2fa383d4a3960714caef0c4f2";
    assert_eq!(count(format!("{sum}\n{EC}SHA256 Fingerprint={}\n", "AB:".repeat(32))), Ok((1, false)));
}

#[test]
fn a_second_key_is_refused() {
    assert!(
        refusal(format!("{EC_KEY}{EC}{RSA_KEY}")).contains("block 4 (line 20, PRIVATE KEY) is a second key")
    );
}

#[test]
fn files_and_chains_are_bounded() {
    assert_eq!(count(EC.repeat(MAX_CHAIN)), Ok((MAX_CHAIN, false)));
    assert!(
        refusal(EC.repeat(MAX_CHAIN + 1))
            .contains("block 33 (line 353, CERTIFICATE) is one certificate too many")
    );
    assert!(refusal(vec![b'\n'; MAX_FILE + 1]).contains("larger than"));
}

/// Whatever is lost of a file's end, its chain is whole or refused.
#[test]
fn a_file_that_is_cut_never_gives_a_shorter_chain() {
    let (chain, key) = chain_of_three();
    let with_text = format!("text\n{}\n---\n{}\n{}\nthe key\n\n{key}", chain[0], chain[1], chain[2]);
    let files = [
        format!("{}{}{}{key}", chain[0].trim_end(), chain[1].trim_end(), chain[2].trim_end()),
        with_text.replace('\n', "\r\n"),
    ];
    for file in files {
        let mut loaded = 0;
        for length in 0..=file.len() {
            if let Ok(pair) = Pair::load(&file.as_bytes()[..length], None) {
                assert_eq!(pair.certified.cert.len(), 3, "{length} of {} bytes", file.len());
                loaded += 1;
            }
        }
        // With and without the last line's end.
        assert!((2..=3).contains(&loaded), "{loaded}");
    }
}

/// Where the key comes first, or is elsewhere, a cut between two blocks leaves a file that nothing is wrong with. Any other is
/// refused.
#[test]
fn a_cut_is_seen_unless_it_is_between_blocks() {
    let (chain, _) = chain_of_three();
    let file = chain.concat();
    let ends: Vec<usize> = (1..=3).map(|many| chain[..many].concat().trim_end().len()).collect();
    for length in 1..=file.len() {
        let whole_blocks = ends.iter().filter(|&&end| end <= length).count();
        let since_end = ends.iter().rev().find(|&&end| end <= length).map(|end| length - end);
        // The line's end may be lost, or be CRLF.
        let is_between = since_end.is_some_and(|since| file[length - since..length].trim().is_empty());
        match count(&file.as_bytes()[..length]) {
            Ok(found) => assert!(is_between && found == (whole_blocks, false), "{length}: {found:?}"),
            Err(reason) => assert!(!is_between, "{length}: {reason}"),
        }
    }
}

#[test]
fn a_key_that_was_made_here_loads() {
    let made = Wanted::new(&["a.test"]).alone();
    assert_eq!(count(made.certificate + &made.key), Ok((1, true)));
}
