//! `Accept` (RFC 9110, 12.5.1): the kind of answer that a client prefers, as far as it is asked here.

/// Whether a client prefers HTML to JSON, by all its `Accept` headers: it names `text/html`, and does not like `application/json` better. A client
/// that takes anything (`*/*`: curl, `fetch`, scripts) is a program.
///
/// ```
/// use form::accept::prefers_html;
///
/// assert!(prefers_html(["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"]));
/// assert!(!prefers_html(["*/*"]) && !prefers_html(["application/json"]) && !prefers_html([]));
/// assert!(!prefers_html(["text/html;q=0.5, application/json"]));
/// ```
pub fn prefers_html<'a>(headers: impl IntoIterator<Item = &'a str>) -> bool {
    let mut html: Option<u16> = None;
    // The most specific range that JSON falls into counts: by how specific it is, and its weight.
    let mut json: (u8, u16) = (0, 0);
    for range in headers.into_iter().flat_map(|header| header.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let Some(weight) = weight(parts) else { continue };
        let is = |wanted: &str| name.eq_ignore_ascii_case(wanted);
        if is("text/html") {
            html = Some(html.map_or(weight, |known| known.max(weight)));
        }
        let specific = match () {
            () if is("application/json") => 3,
            () if is("application/*") => 2,
            () if is("*/*") => 1,
            () => continue,
        };
        if specific > json.0 {
            json = (specific, weight);
        } else if specific == json.0 {
            json.1 = json.1.max(weight);
        }
    }
    html.is_some_and(|html| html > 0 && html >= json.1)
}

/// The weight of a range in thousandths; none of one that has another parameter, or that cannot be read.
fn weight<'a>(mut parameters: impl Iterator<Item = &'a str>) -> Option<u16> {
    parameters.try_fold(1000, |weight, parameter| {
        let (name, value) = parameter.split_once('=')?;
        // Of the kind of HTML there is one.
        if !name.trim().eq_ignore_ascii_case("q") {
            return name.trim().eq_ignore_ascii_case("charset").then_some(weight);
        }
        let value = value.trim();
        let (whole, part) = value.split_once('.').unwrap_or((value, ""));
        let is_number =
            matches!(whole, "0" | "1") && part.len() <= 3 && part.bytes().all(|byte| byte.is_ascii_digit());
        let thousandths = format!("{part:0<3}").parse::<u16>().ok()?;
        let weight = if whole == "1" { 1000 } else { thousandths };
        (is_number && !(whole == "1" && thousandths > 0)).then_some(weight)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_get_html_and_programs_json() {
        for browser in [
            "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8",
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "text/html, application/xhtml+xml, image/jxr, */*",
            "text/html",
            "TEXT/HTML; Q=0.3",
            "text/html;charset=utf-8",
            "text/html;q=0.5,application/json;q=0.5",
            "text/html;q=0.9, application/json;q=0.4, */*",
        ] {
            assert!(prefers_html([browser]), "{browser}");
        }
        for program in [
            "",
            "*/*",
            "application/json",
            "application/json, text/plain, */*",
            "text/*",
            "application/*",
            "image/avif,image/webp,*/*;q=0.8",
            "text/html;q=0",
            "text/html;q=0.0,*/*",
            "application/json,text/html;q=0.9",
            "text/html;q=0.5,application/*",
            "text/html;level=1",
            "text/htmlx",
            "text/html;q=2",
            "text/html;q=x",
            "text/html;q=0.1234",
            "text/html;q=1.1",
            "application/vnd.api+json",
        ] {
            assert!(!prefers_html([program]), "{program}");
        }
        assert!(prefers_html(["application/xml", "text/html"]));
        assert!(!prefers_html(["text/html;q=0.1", "application/json"]));
        // The most specific range counts.
        assert!(prefers_html(["*/*, application/json;q=0.1, text/html;q=0.5"]));
    }
}
