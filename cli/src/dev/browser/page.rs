//! The page that stands in place of the application's while something is wrong with it.

use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};
use serde_json::{Map, Value};

use super::body::{Answer, whole};
use super::live;
use super::state::{Now, State};
use super::told::{Fault, faults};
use crate::screen::harmless;

const STYLE: &str = include_str!("page.css");
/// Bytes of what was told that the page has; the terminal has all of it.
const MOST: usize = 200_000;
/// The page has no script but the one that loads it again, and is in no frame.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// What a browser is shown instead of the application; none if that is live.
pub(super) fn of(state: &State) -> Option<Response<Answer>> {
    let (status, html) = match &state.now {
        Now::Live => return None,
        Now::Starts => (StatusCode::SERVICE_UNAVAILABLE, starting()),
        Now::Failed(told) => (StatusCode::INTERNAL_SERVER_ERROR, failed(told, false)),
        Now::Outdated(told) => (StatusCode::INTERNAL_SERVER_ERROR, failed(told, true)),
    };
    Some(answer(state, status, html))
}

/// What a browser is shown instead of a problem document that the application has answered with.
pub(super) fn of_problem(state: &State, status: StatusCode, told: &Map<String, Value>) -> Response<Answer> {
    answer(state, status, problem(status, told))
}

fn answer(state: &State, status: StatusCode, html: String) -> Response<Answer> {
    let mut answer = Response::new(whole(html + &live::script(&state.version())));
    *answer.status_mut() = status;
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// The page of a problem document: its detail, and what else it has.
fn problem(status: StatusCode, told: &Map<String, Value>) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let title = told.get("title").map_or_else(String::new, text);
    let title = escaped(&harmless(&format!("{} {title}", status.as_u16())));
    let detail = told.get("detail").map_or_else(String::new, text);
    let mut html = head(&title);
    html += &format!("<main><h1>{title}</h1>\n<p class=\"message\">{}</p>", escaped(&harmless(&detail)));
    html +=
        "<p>The application has answered this, others get it as JSON. The terminal may say more.</p>\n<dl>";
    let shown = ["title", "detail", "status", "type"];
    for (name, value) in told.iter().filter(|(name, _)| !shown.contains(&name.as_str())) {
        html +=
            &format!("<dt>{}</dt><dd>{}</dd>", escaped(&harmless(name)), escaped(&harmless(&text(value))));
    }
    html + "</dl></main>\n"
}

fn starting() -> String {
    head("howdah dev")
        + "<main><h1 class=\"waits\">The platform starts</h1>\n<p>This page goes when it serves.</p></main>\n"
}

/// The page of what was told.
fn failed(told: &str, is_outdated: bool) -> String {
    // The page says it by itself.
    let told = told.strip_suffix("\nNothing of it was deployed.").unwrap_or(told);
    let told = harmless(beginning(told));
    let faults = faults(&told);
    let first = faults.first().map_or("", |fault| fault.place);
    let title = if first.is_empty() { "Not deployed".to_owned() } else { escaped(first) };
    let mut html = head(&title);
    html += "<main><h1>This was not deployed</h1>\n";
    html += match is_outdated {
        false => "<p>The application is as it was before. Mend it and save: this page goes by itself.</p>\n",
        true => {
            "<p>The application is as it was before. Put the migration back and save: this page goes by itself. Or begin anew: the terminal \
             of <code>howdah dev</code> offers to drop all rows and make the application again.</p>\n"
        }
    };
    faults.iter().for_each(|fault| section(&mut html, fault));
    html + "</main>\n"
}

fn head(title: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n"
    )
}

fn section(html: &mut String, fault: &Fault<'_>) {
    *html += "<section>";
    if !fault.place.is_empty() {
        *html += &format!("<h2>{}</h2>", escaped(fault.place));
    }
    *html += &format!("<p class=\"message\">{}</p>", escaped(fault.message.join("\n").trim_end()));
    if !fault.code.is_empty() {
        *html += "\n<pre>";
        for line in &fault.code {
            let class = if line.is_wrong { " class=\"wrong\"" } else { "" };
            *html += &format!("<span{class}><i>{}</i>{}\n</span>", line.number, escaped(line.text));
        }
        *html += "</pre>";
    }
    if !fault.notes.is_empty() {
        *html += "\n<dl>";
        for (label, note) in &fault.notes {
            *html += &format!("<dt>{label}</dt><dd>{}</dd>", escaped(note.join("\n").trim_end()));
        }
        *html += "</dl>";
    }
    *html += "</section>\n";
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(MOST)]
}

/// Text as HTML; it can stand in an element.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: &str = "functions/<b>.sql:2: function \"<script>alert(1)</script>\" & more
     1 | select '</pre><script>';
>    2 | return helo();
hint: use <i>hello</i>
Nothing of it was deployed.";

    #[test]
    fn the_page_has_file_line_the_lines_around_and_the_hint_and_nothing_that_was_written_is_html() {
        let page = failed(TOLD, false);
        assert!(page.contains("<h2>functions/&lt;b&gt;.sql:2</h2>"), "{page}");
        assert!(page.contains("<span class=\"wrong\"><i>2</i>return helo();\n</span>"), "{page}");
        assert!(page.contains("<dt>hint</dt><dd>use &lt;i&gt;hello&lt;/i&gt;"), "{page}");
        assert!(!page.contains("<script>") && !page.contains("<b>") && !page.contains("anew"), "{page}");
        assert!(!page.contains("Nothing of it"), "{page}");
        assert!(failed(TOLD, true).contains("begin anew"));
    }

    #[test]
    fn a_problem_document_is_a_page_of_what_it_says() {
        let told = serde_json::json!({"title": "Bad Request", "status": 400, "detail": "<script>division</script> by zero", "hint": "no \u{1b}[2J", "n": 1});
        let page = problem(StatusCode::BAD_REQUEST, told.as_object().unwrap());
        assert!(
            page.contains("<h1>400 Bad Request</h1>") && page.contains("&lt;script&gt;division"),
            "{page}"
        );
        assert!(page.contains("<dt>hint</dt>") && page.contains("<dt>n</dt><dd>1</dd>"), "{page}");
        assert!(!page.contains("<script>") && !page.contains('\u{1b}'), "{page}");
    }

    #[test]
    fn what_steers_terminals_and_what_is_endless_stays_out() {
        let page = failed(&format!("a.sql:1: \u{1b}[2J{}", "é".repeat(MOST)), false);
        assert!(!page.contains('\u{1b}') && page.len() < 2 * MOST, "{}", page.len());
    }

    #[test]
    fn while_it_is_live_there_is_no_page_of_ours() {
        let state = |now| State { now, run: 1, number: 2, whole: 2, styles: Default::default() };
        assert!(of(&state(Now::Live)).is_none());
        let answer = of(&state(Now::Starts)).unwrap();
        assert_eq!(answer.status(), 503);
        let answer = of(&state(Now::Failed(TOLD.into()))).unwrap();
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()[CACHE_CONTROL]),
            (500, &HeaderValue::from_static("no-store"))
        );
    }
}
