//! No input makes any parser panic.

use form::{ContentType, TrustedProxies, body, cookie, escape, multipart, urlencoded};

const PIECES: [&[u8]; 28] = [
    b"--X",
    b"--X--",
    b"--",
    b"\r\n",
    b"\r\n\r\n",
    b"Content-Disposition: form-data; name=a",
    b"; filename=\"",
    b"Content-Type: ",
    b"\"",
    b"\\",
    b";",
    b"=",
    b"&",
    b"%",
    b"%00",
    b"%C3%BC",
    b"+",
    b",",
    b"\0",
    b"\xff",
    "ü".as_bytes(),
    b"a",
    b"multipart/form-data; boundary=X",
    b"1.2.3.4",
    b"[::1]",
    b":",
    b"/8",
    b"<",
];

#[test]
fn random_bytes_never_panic() {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let type_of_forms = ContentType::parse("multipart/form-data; boundary=X").unwrap();
    let trusted = TrustedProxies::parse("0.0.0.0/0, ::/0, unix").unwrap();
    for _ in 0..30_000 {
        let bytes: Vec<u8> = (0..random(14)).flat_map(|_| PIECES[random(PIECES.len())].to_vec()).collect();
        let text = String::from_utf8_lossy(&bytes);
        let framed = [b"--X\r\nContent-Disposition: form-data; name=a", &*bytes, b"\r\n--X--"].concat();
        let _ = urlencoded::parse(&bytes, 5);
        let _ = multipart::parse(&bytes, "X", 5);
        let _ = multipart::parse(&framed, "X", 5);
        let _ = multipart::parse(&bytes, &text, 5);
        let _ = body::parse(&type_of_forms, &bytes, 5);
        let _ = ContentType::parse(&text);
        let _ = cookie::pairs(&text).count();
        let _ = cookie::SetCookie { path: Some(&text), ..cookie::SetCookie::new("a", &text) }.header();
        let _ = TrustedProxies::parse(&text);
        let _ = trusted.client(None, [&*text, "1.1.1.1"]);
        let _ = escape::html(&text);
    }
}
