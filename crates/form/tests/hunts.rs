//! Random attacks on the readers of what comes with requests.

use std::net::IpAddr;
use std::time::Duration;

use form::flash::Flash;
use form::signed_cookie::{Signed, SigningKey};
use form::{FormError, TrustedProxies, Value, cookie, escape, multipart, urlencoded};
use hunt::Hunt;
use hunt::bytes::{assembled, damage};

const FORM: [&[u8]; 16] = [
    b"a",
    b"=",
    b"&",
    b"+",
    b"%",
    b"%20",
    b"%C3%BC",
    b"%c3",
    b"%ff",
    b"%00",
    b"%2",
    b"%zz",
    b"\0",
    b"\xff",
    "ü".as_bytes(),
    b"name",
];

#[test]
fn urlencoded_as_the_url_standard_reads_it() {
    let mut hunt = Hunt::begin("urlencoded forms", Duration::from_millis(400));
    while let Some(mut random) = hunt.next_round() {
        let mut bytes = assembled(&mut random, &FORM, 20);
        damage(&mut random, &mut bytes, &FORM);
        let expected: Vec<_> = form_urlencoded::parse(&bytes).collect();
        let has_fault = |text: &str| text.contains(['\0', char::REPLACEMENT_CHARACTER]);
        match urlencoded::parse(&bytes, 100) {
            Ok(pairs) => {
                assert_eq!(pairs, expected, "{}", bytes.escape_ascii());
                assert!(pairs.iter().all(|(name, value)| !name.contains('\0') && !value.contains('\0')));
            }
            Err(FormError::TooManyFields { .. }) => assert!(expected.len() > 100),
            Err(_) => {
                assert!(expected.iter().any(|(name, value)| has_fault(name) || has_fault(value)));
            }
        }
    }
}

const PARTS: [&[u8]; 20] = [
    b"\r\n--X\r\nContent-Disposition: form-data; name=a\r\n\r\nvalue",
    b"\r\n--X\r\nContent-Disposition: form-data; name=b; filename=\"\"\r\n\r\n",
    b"--X\r\n",
    b"--X--",
    b"\r\n",
    b"\r\n--X",
    b"--",
    b"\r\n\r\n",
    b"Content-Disposition: form-data; name=a\r\n\r\n",
    b"Content-Disposition: form-data; name=\"b\"; filename=\"c\\\"\"\r\n",
    b"Content-Type: text/plain\r\n",
    b";",
    b"=",
    b"\"",
    b"\\",
    b"\0",
    b"\xff",
    b" ",
    b"x",
    b"\r",
];

#[test]
fn multipart_forms() {
    let mut hunt = Hunt::begin("multipart forms", Duration::from_millis(400));
    while let Some(mut random) = hunt.next_round() {
        let mut bytes = [&b"--X\r\n"[..], &assembled(&mut random, &PARTS, 14), b"\r\n--X--"].concat();
        damage(&mut random, &mut bytes, &PARTS);
        let Ok(fields) = multipart::parse(&bytes, "X", 2) else { continue };
        assert!(fields.len() <= 2);
        for field in fields {
            assert!(!field.name.contains('\0'), "{}", bytes.escape_ascii());
            match field.value {
                Value::Text(text) => assert!(!text.contains('\0') && !text.contains("\r\n--X")),
                Value::File(file) => {
                    assert!(!file.name.contains('\0'));
                    assert!(memchr::memmem::find(file.bytes, b"\r\n--X").is_none());
                }
            }
        }
    }
}

#[test]
fn multipart_forms_arrive_as_they_were_written() {
    let mut hunt = Hunt::begin("multipart forms that are right", Duration::from_millis(300));
    while let Some(mut random) = hunt.next_round() {
        let (mut body, mut expected) = (Vec::new(), Vec::new());
        for _ in 0..random.usize(..5) {
            let name: String = (0..random.usize(1..6)).map(|_| random.alphanumeric()).collect();
            let content =
                assembled(&mut random, &[b"\r\n", b"--", b"X", b"\r\n--", b"y", b"\0", b"\xff", b"--Y"], 10);
            // Not the boundary, nor what becomes it by the line break before it.
            if memchr::memmem::find(&[b"\r\n", &*content, b"\r\n"].concat(), b"\r\n--boundary").is_some() {
                continue;
            }
            let head = format!(
                "--boundary\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"f\"\r\n\r\n"
            );
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(&content);
            body.extend_from_slice(b"\r\n");
            expected.push((name, content));
        }
        body.extend_from_slice(b"--boundary--\r\n");
        let fields = multipart::parse(&body, "boundary", 9).unwrap();
        assert_eq!(fields.len(), expected.len());
        for (field, (name, content)) in fields.into_iter().zip(expected) {
            let Value::File(file) = field.value else { panic!("a file is a file") };
            assert_eq!((&*field.name, file.bytes), (&*name, &*content));
        }
    }
}

#[test]
fn cookies_and_escapes() {
    let mut hunt = Hunt::begin("cookies and escapes", Duration::from_millis(200));
    while let Some(mut random) = hunt.next_round() {
        let pieces: [&[u8]; 16] = [
            b"a",
            b"=",
            b"%",
            b"41",
            b";",
            b" ",
            b"\"",
            b",",
            b"\\",
            b"\r\n",
            b"<",
            b"&amp;",
            b"'",
            b"\0",
            "ü".as_bytes(),
            b"Secure",
        ];
        let mut bytes = assembled(&mut random, &pieces, 12);
        damage(&mut random, &mut bytes, &pieces);
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(header) = cookie::SetCookie::new("a", &text).header() {
            let sent: Vec<_> = cookie::pairs(&header).collect();
            let [("a", value)] = sent[..] else { panic!("{sent:?}") };
            // SQL has no text with a NUL.
            assert!(text.contains('\0') || cookie::decoded(value) == text, "{text:?} {value}");
        }
        let flash = Flash { kind: "notice".into(), message: text.replace('\0', "").into() };
        let header = flash.header(true);
        let (_, value) = cookie::pairs(&header).next().unwrap();
        assert_eq!(Flash::read(value), Some(flash));
        Flash::read(&text);
        let key = SigningKey { secret: b"secret", owner: 10 };
        let signed = Signed { value: &text, until: None };
        assert_eq!(key.read("a", &key.sign("a", &signed)), Some(signed));
        assert_eq!(key.read("a", &text), None);
        assert!(cookie::pairs(&text).all(|(name, value)| !name.is_empty() && !value.contains(';')));
        let escaped = escape::html(&text);
        assert!(!escaped.contains(['<', '>', '"', '\'']));
        let back =
            [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#13;", "\r"), ("&amp;", "&")];
        assert_eq!(back.iter().fold(escaped.into_owned(), |all, (from, to)| all.replace(from, to)), text);
    }
}

#[test]
fn forwarded_addresses() {
    let mut hunt = Hunt::begin("forwarded addresses", Duration::from_millis(200));
    let trusted = TrustedProxies::parse("10.0.0.0/8, fd00::/8").unwrap();
    let is_trusted = |address: IpAddr| match address {
        IpAddr::V4(address) => address.octets()[0] == 10,
        IpAddr::V6(address) => address.octets()[0] == 0xfd,
    };
    while let Some(mut random) = hunt.next_round() {
        let pieces: [&[u8]; 12] = [
            b"10.0.0.1",
            b"10.9.9.9",
            b"::ffff:10.1.1.1",
            b"fd00::1",
            b"[fd00::2]:80",
            b"6.6.6.6",
            b"10.0.0.3:80",
            b",",
            b", ",
            b" ",
            b"unknown",
            b":",
        ];
        let mut bytes = assembled(&mut random, &pieces, 9);
        damage(&mut random, &mut bytes, &pieces);
        let header = String::from_utf8_lossy(&bytes).into_owned();
        // A peer that is not trusted is the client, whatever it says.
        let stranger: IpAddr = "8.8.8.8".parse().unwrap();
        assert_eq!(trusted.client(Some(stranger), [&*header]), Some(stranger));
        // Nothing left of the first address that is not a proxy's can be chosen.
        let own = format!("{header}, 7.7.7.7");
        assert_eq!(trusted.client("10.0.0.1".parse().ok(), [&*own]), "7.7.7.7".parse().ok());
        // However the header is cut at its commas, it says the same.
        let cut: Vec<&str> = header.split(',').collect();
        let found = trusted.client("10.0.0.1".parse().ok(), [&*header]);
        assert_eq!(trusted.client("10.0.0.1".parse().ok(), cut.iter().copied()), found);
        let outside = cut.iter().rev().map_while(|entry| entry.trim().parse::<IpAddr>().ok());
        let plain = outside.map(|address| address.to_canonical()).find(|address| !is_trusted(*address));
        if let Some(plain) = plain {
            assert_eq!(found, Some(plain), "{header}");
        }
    }
}
