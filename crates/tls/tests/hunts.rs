//! Random attacks on the readers of files and settings.

use std::time::Duration;

use hunt::Hunt;
use hunt::bytes::{assembled, damage};
use tls::pem::Contents;
use tls::{Certificate, Pair, places};

use crate::made::{chain_of_three, fixture};

const PIECES: [&[u8]; 22] = [
    b"-----BEGIN CERTIFICATE-----\n",
    b"-----END CERTIFICATE-----\n",
    b"-----BEGIN PRIVATE KEY-----\n",
    b"-----END PRIVATE KEY-----\n",
    b"-----BEGIN TRUSTED CERTIFICATE-----\n",
    b"-----END TRUSTED CERTIFICATE-----\n",
    b"-----BEGIN ",
    b"-----END ",
    b"-----",
    b"Proc-Type: 4,ENCRYPTED\n\n",
    b"MAMCAQE=",
    b"MAA=",
    b"MIIF",
    b"=",
    b"\n",
    b"\r",
    b"\n\n",
    b"\xef\xbb\xbf",
    b"\x30\x82\xff\xff",
    b"\x02\x01\x03",
    b"\xff",
    b"\0",
];

#[test]
fn random_files() {
    let mut hunt = Hunt::begin("random files", Duration::from_millis(200));
    while let Some(mut random) = hunt.next_round() {
        let bytes: Vec<u8> = match random.u8(..4) {
            0 => (0..random.usize(..200)).map(|_| random.u8(..)).collect(),
            _ => assembled(&mut random, &PIECES, 20),
        };
        if let Err(reason) = Contents::read(&bytes) {
            assert!(!reason.is_empty() && reason.len() < 1000);
        }
        let _ = Certificate::read(&bytes);
        assert!(Pair::load(&bytes, None).is_err());
        assert!(Pair::load(fixture!("ec.certificate.pem").as_bytes(), Some(&bytes)).is_err());
    }
}

/// What is damaged is refused, or has all the blocks that its borders say.
#[test]
fn damaged_chains() {
    let (chain, key) = chain_of_three();
    let file = chain.concat() + &key;
    let whole = Pair::load(file.as_bytes(), None).unwrap();
    let mut hunt = Hunt::begin("damaged chains", Duration::from_millis(300));
    while let Some(mut random) = hunt.next_round() {
        let mut bytes = file.clone().into_bytes();
        damage(&mut random, &mut bytes, &PIECES);
        let Ok(pair) = Pair::load(&bytes, None) else { continue };
        assert!(pair.certified.cert.len() >= whole.certified.cert.len(), "{}", bytes.escape_ascii());
    }
}

/// Certificates are read by their own parser: whatever is in them, it ends with a value or a sentence.
#[test]
fn damaged_certificates() {
    let certificates = [fixture!("ec.certificate.pem"), fixture!("rsa.certificate.pem")];
    let certificates = certificates.map(|pem| Contents::read(pem.as_bytes()).unwrap().chain[0].to_vec());
    let mut hunt = Hunt::begin("damaged certificates", Duration::from_millis(200));
    while let Some(mut random) = hunt.next_round() {
        let mut bytes = certificates[random.usize(..2)].clone();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..bytes.len());
            bytes[at] = random.u8(..);
        }
        let Ok(certificate) = Certificate::read(&bytes) else { continue };
        assert!(!certificate.covers("unknown.example"));
        let _ = certificate.key.to_string();
        assert!(!certificate.subject.contains('\0') && certificate.names.iter().all(|name| name.is_ascii()));
    }
}

#[test]
fn random_settings() {
    const WORDS: [&[u8]; 12] =
        [b"/a", b"b", b":", b"=", b",", b" ", b"/etc/x.pem", b"shop", b"..", b"\xc3\xbc", b"\0", b"/"];
    let mut hunt = Hunt::begin("settings of certificates", Duration::from_millis(100));
    while let Some(mut random) = hunt.next_round() {
        let setting = String::from_utf8(assembled(&mut random, &WORDS, 12)).unwrap();
        let Ok(places) = places::parse(&setting) else { continue };
        assert!(places.len() <= setting.split(',').count());
        for place in places {
            assert!(
                place
                    .database
                    .as_deref()
                    .is_none_or(|database| !database.is_empty() && place.is_for(database))
            );
        }
    }
}
