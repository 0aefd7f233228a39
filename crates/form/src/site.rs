//! Whether a page of another site has sent a request. A browser says so in headers that no script can set, and adds the cookies of the
//! site that it asks, whoever has written the page: a form of anybody's would act as whoever looks at it.

/// A site: scheme, host and port as a client addresses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site<'a> {
    /// `http` or `https`.
    pub scheme: &'a str,
    /// Host, and port if it is another than the scheme's.
    pub authority: &'a str,
}

/// A sign in a request of another site that has sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherSite<'a> {
    /// This is its `Sec-Fetch-Site`.
    FetchSite(&'a str),
    /// This is its `Origin`, and it has no `Sec-Fetch-Site`.
    Origin(&'a str),
}

/// The other site that has sent a request; none if it was a page of one of `here`, the user who wrote an address, or no browser.
///
/// `Sec-Fetch-Site` decides where it is: `Origin` is `null` in a page's own forms, too, if the page says `Referrer-Policy: no-referrer`. Browsers
/// leave it out where neither TLS nor localhost is. Of several values, and of those that no browser sends, none is believed.
///
/// ```
/// use form::site::{OtherSite, Site, other};
///
/// let here = [Site { scheme: "https", authority: "shop.example" }];
/// assert_eq!(other(["same-origin"], ["null"], &here), None);
/// assert_eq!(other(["cross-site"], [], &here), Some(OtherSite::FetchSite("cross-site")));
/// assert_eq!(other([], ["https://shop.example:443"], &here), None);
/// assert_eq!(other([], ["https://evil.example"], &here), Some(OtherSite::Origin("https://evil.example")));
/// assert_eq!(other([], [], &here), None);
/// ```
pub fn other<'a>(
    fetch_sites: impl IntoIterator<Item = &'a str>,
    origins: impl IntoIterator<Item = &'a str>,
    here: &[Site<'_>],
) -> Option<OtherSite<'a>> {
    let mut is_said = false;
    for said in fetch_sites {
        is_said = true;
        if !matches!(said.trim_ascii(), "same-origin" | "none") {
            return Some(OtherSite::FetchSite(said));
        }
    }
    if is_said {
        return None;
    }
    let is_here = |origin: &str| here.iter().any(|site| site.is_origin(origin.trim_ascii()));
    origins.into_iter().find(|origin| !is_here(origin)).map(OtherSite::Origin)
}

impl Site<'_> {
    /// Whether it is what an `Origin` names.
    fn is_origin(&self, origin: &str) -> bool {
        let Some((scheme, authority)) = origin.split_once("://") else { return false };
        let is_port_of_scheme = |port: &str| match self.scheme {
            "https" => port == "443",
            _ => port == "80",
        };
        let (host, port) = host_and_port(authority);
        let (own_host, own_port) = host_and_port(self.authority);
        let port = port.filter(|port| !is_port_of_scheme(port));
        let own_port = own_port.filter(|port| !is_port_of_scheme(port));
        !host.is_empty()
            && scheme.eq_ignore_ascii_case(self.scheme)
            && host.eq_ignore_ascii_case(own_host)
            && port == own_port
    }
}

/// An IPv6 address has colons of its own, and stands in brackets. An empty port is none.
fn host_and_port(authority: &str) -> (&str, Option<&str>) {
    let after_address = authority.rfind(']').map_or(0, |end| end + 1);
    match authority[after_address..].rfind(':') {
        Some(colon) => {
            let (host, port) = authority.split_at(after_address + colon);
            (host, Some(&port[1..]).filter(|port| !port.is_empty()))
        }
        None => (authority, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: [Site<'_>; 1] = [Site { scheme: "http", authority: "shop.example:9000" }];

    #[test]
    fn a_fetch_site_decides_before_an_origin() {
        for here in ["same-origin", "none", " same-origin "] {
            assert_eq!(other([here], ["https://evil.example"], &HERE), None, "{here}");
        }
        for elsewhere in ["same-site", "cross-site", "", "Same-Origin", "same-origin, cross-site", "other"] {
            let found = other([elsewhere], ["http://shop.example:9000"], &HERE);
            assert_eq!(found, Some(OtherSite::FetchSite(elsewhere)));
        }
    }

    #[test]
    fn of_several_each_has_to_be_from_here() {
        let found = other(["same-origin", "cross-site"], [], &HERE);
        assert_eq!(found, Some(OtherSite::FetchSite("cross-site")));
        let found = other([], ["http://shop.example:9000", "http://evil.example"], &HERE);
        assert_eq!(found, Some(OtherSite::Origin("http://evil.example")));
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let is_here =
            |scheme, authority, origin| other([], [origin], &[Site { scheme, authority }]).is_none();
        for (scheme, authority, origin) in [
            ("http", "a", "http://a"),
            ("http", "a:80", "http://a"),
            ("http", "a", "http://a:80"),
            ("https", "a:443", "https://a"),
            ("http", "A.Example", "http://a.example"),
            ("http", "a:", "http://a"),
            ("http", "[::1]:9000", "http://[::1]:9000"),
            ("http", "[::1]", "http://[::1]"),
        ] {
            assert!(is_here(scheme, authority, origin), "{scheme} {authority} {origin}");
        }
        for (scheme, authority, origin) in [
            ("http", "a", "https://a"),
            ("https", "a", "http://a"),
            ("http", "a:9000", "http://a"),
            ("http", "a", "http://a:9000"),
            ("https", "a:80", "https://a"),
            ("http", "a", "http://b"),
            ("http", "a", "http://b.a"),
            ("http", "a", "http://a.b"),
            ("http", "a", "null"),
            ("http", "a", ""),
            ("http", "a", "a"),
            ("http", "", "http://"),
            ("http", "a", "http://a/"),
            ("http", "a", "http://x@a"),
            ("http", "[::1]", "http://[::1]:9000"),
        ] {
            assert!(!is_here(scheme, authority, origin), "{scheme} {authority} {origin}");
        }
    }

    #[test]
    fn a_proxy_may_have_another_name_for_the_same_site() {
        let here = [HERE[0], Site { scheme: "https", authority: "shop.example" }];
        assert_eq!(other([], ["https://shop.example"], &here), None);
        assert_eq!(
            other([], ["https://shop.example:9000"], &here),
            Some(OtherSite::Origin("https://shop.example:9000"))
        );
    }
}
