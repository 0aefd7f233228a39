//! Where a request in clear text is sent: to the same place by https.

use crate::certificate::{address_of, plain_host};
use crate::choice::Choice;

/// The port that clients of https take by themselves.
pub const HTTPS: u16 = 443;
/// The folder, below one that a setting names, in which who signs certificates looks for answers to its challenges (RFC 8555, 8.3).
pub const CHALLENGES: &str = "/.well-known/acme-challenge/";
/// Characters of a challenge's token at most; those that are used have 43.
const LONGEST_TOKEN: usize = 128;

impl Choice {
    /// The address by https of what was asked for in clear text: on the host that was asked for where a certificate covers it,
    /// otherwise on the first host of the default certificate. `authority` is a host as the header Host names it, `path` begins with
    /// a slash and is percent-encoded, as is the query string, `port` is where clients reach https. None where no certificate names
    /// a host.
    pub fn https_of(&self, authority: &str, path: &str, query: &str, port: u16) -> Option<String> {
        let asked = plain_host(authority);
        let host = if self.covers(asked) { Some(bracketed(asked)) } else { self.default_host() }?;
        let port = if port == HTTPS { String::new() } else { format!(":{port}") };
        // `OPTIONS *` asks for no place.
        let path = if path.starts_with('/') { path } else { "/" };
        let mark = if query.is_empty() { "" } else { "?" };
        Some(format!("https://{host}{port}{path}{mark}{query}"))
    }

    fn default_host(&self) -> Option<String> {
        let leaf = &self.default_pair()?.leaf;
        let named = leaf.names.iter().find(|name| !name.starts_with("*.")).cloned();
        named.or_else(|| leaf.addresses.first().map(|address| bracketed(&address.to_string())))
    }
}

/// A host as URLs write it.
fn bracketed(host: &str) -> String {
    match address_of(host) {
        Some(_) if host.contains(':') => format!("[{host}]"),
        _ => host.to_ascii_lowercase(),
    }
}

/// The token of a challenge that a path, as sent, asks for: a name of letters, digits, `-` and `_` right in [`CHALLENGES`], as
/// base64url has them. So it leads to no other folder.
///
/// ```
/// assert_eq!(tls::redirect::token("/.well-known/acme-challenge/aZ0_-"), Some("aZ0_-"));
/// assert_eq!(tls::redirect::token("/.well-known/acme-challenge/../private"), None);
/// ```
pub fn token(path: &str) -> Option<&str> {
    let token = path.strip_prefix(CHALLENGES)?;
    let is_sane = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    ((1..=LONGEST_TOKEN).contains(&token.len()) && token.bytes().all(is_sane)).then_some(token)
}
