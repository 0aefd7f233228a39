//! Requests that change something, sent by a page of another site: refused, unless the route says that it takes them.

use form::site::{OtherSite, Site, other};
use message::Request;
use problem::{Access, Problem};

use super::proxies;

/// An error if a page of another site has sent a request that may change something. Whether cookies came does not matter: whoever is
/// signed in as somebody else, by a form that he does not see, is harmed as well.
pub(crate) fn refuse_from_elsewhere(request: &Request<'_>) -> Result<(), Problem> {
    if Access::of_method(request.method()) == Access::ReadOnly {
        return Ok(());
    }
    let values = |wanted| request.headers().filter(move |(name, _)| *name == wanted).map(|(_, value)| value);
    // Programs send neither.
    if values("sec-fetch-site").next().is_none() && values("origin").next().is_none() {
        return Ok(());
    }
    let scheme = proxies::scheme(request).as_str();
    let hosts = [Some(request.authority()), proxies::host(request)];
    let here = hosts.map(|host| Site { scheme, authority: host.unwrap_or_default() });
    match other(values("sec-fetch-site"), values("origin"), &here) {
        None => Ok(()),
        Some(elsewhere) => Err(Problem::new(403, told(elsewhere, &here[0]))),
    }
}

fn told(elsewhere: OtherSite<'_>, here: &Site<'_>) -> String {
    match elsewhere {
        OtherSite::FetchSite(site) => format!(
            "a page of another site has sent this request (Sec-Fetch-Site: {site}); a route that takes such requests says so by http.cross_site()"
        ),
        OtherSite::Origin(origin) => format!(
            "a page of {origin} has sent this request, and this is {}://{}; a route that takes such requests says so by http.cross_site(). Behind a \
             proxy, let it pass Host on, and name it in howdah.trusted_proxies",
            here.scheme, here.authority
        ),
    }
}
