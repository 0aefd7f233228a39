//! What headers mean to whoever passes them on.

use std::mem;
use std::net::{IpAddr, Ipv6Addr};

use hyper::header::{
    CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRANSFER_ENCODING, UPGRADE,
};
use hyper::{Method, Request};

/// Of one connection alone (RFC 9110, section 7.6.1).
const OF_A_CONNECTION: [HeaderName; 8] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Takes out what concerns one connection, and what `Connection` names.
pub(super) fn leave_connection(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        // A client that names it would have its request go to nobody.
        .filter(|name| *name != HOST)
        .collect();
    // Removing one by one would change their order, which the application sees.
    let all = mem::take(headers);
    for (name, value) in &all {
        if !OF_A_CONNECTION.contains(name) && !named.contains(name) {
            headers.append(name, value.clone());
        }
    }
}

/// The text of a header that is there once.
pub(super) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?;
    if all.next().is_some() {
        return None;
    }
    HeaderValue::to_str(first).ok()
}

/// Whether a request comes by a name that a page of somebody else cannot have: one of this machine, an address, or one that is listened
/// on. Any other may be somebody's whose name server says that it is this machine (DNS rebinding).
pub(super) fn is_by_own_name<B>(request: &Request<B>, names: &[String]) -> bool {
    let authority = match request.uri().authority() {
        Some(authority) => Some(authority.as_str()),
        None => text(request.headers(), "host"),
    };
    let Some(host) = authority.and_then(host) else { return false };
    host.eq_ignore_ascii_case("localhost")
        || host.to_ascii_lowercase().ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok()
        || names.iter().any(|name| name.eq_ignore_ascii_case(host))
}

/// The name in `name:port`.
fn host(authority: &str) -> Option<&str> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (address, rest) = rest.split_once(']')?;
        let is_whole = rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port);
        return (is_whole && address.parse::<Ipv6Addr>().is_ok()).then_some(address);
    }
    match authority.split_once(':') {
        None => Some(authority),
        Some((name, port)) => is_port(port).then_some(name),
    }
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a method asks for something alone.
pub(super) fn only_reads(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_concerns_a_connection_is_left_out_and_nothing_else() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "keep-alive, X-Once"),
            ("connection", "x-twice,host"),
            ("keep-alive", "timeout=5"),
            ("x-once", "1"),
            ("x-twice", "1"),
            ("transfer-encoding", "chunked"),
            ("te", "trailers"),
            ("upgrade", "h2c"),
            ("host", "localhost"),
            ("cookie", "a=b"),
            ("accept", "*/*"),
            ("trailer", "x-sum"),
            ("authorization", "Basic eA=="),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        leave_connection(&mut headers);
        let left: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(left, ["host", "cookie", "accept", "trailer", "authorization"]);
    }

    #[test]
    fn names_that_others_can_have_are_not_our_own() {
        let asked = |host: &str| {
            let request = Request::builder().uri("/").header("host", host).body(()).unwrap();
            is_by_own_name(&request, &["dev.test".to_owned()])
        };
        for host in [
            "localhost",
            "LOCALHOST:9000",
            "shop.localhost:9000",
            "127.0.0.1:9000",
            "[::1]:9000",
            "[::1]",
            "192.168.1.5:80",
            "dev.test:9000",
        ] {
            assert!(asked(host), "{host}");
        }
        for host in [
            "",
            "evil.test",
            "localhost.evil.test",
            "127.0.0.1.evil.test:9000",
            "evil.test:9000",
            "[::1",
            "[::1]x",
            "localhost:x",
            "notlocalhost",
            "localhost@evil.test",
        ] {
            assert!(!asked(host), "{host}");
        }
        let twice = Request::builder().header("host", "localhost").header("host", "localhost");
        assert!(!is_by_own_name(&twice.body(()).unwrap(), &[]));
        let absolute = Request::builder().uri("http://evil.test/").header("host", "localhost");
        assert!(!is_by_own_name(&absolute.body(()).unwrap(), &[]));
    }
}
