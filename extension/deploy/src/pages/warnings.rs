//! What is said of pages that can be deployed and may be wrong.

use pages::{PageFile, UrlPattern};
use router::is_answered_by;
use serde_json::{Value, json};
use session::authority::rows_as_owner;

use super::super::application::Deployment;
use super::library;

/// Warnings of all pages of the deployment, in the order of their places: likely mistakes, and URLs that no route answers.
pub(crate) fn all(deployment: &Deployment) -> Vec<Value> {
    let patterns =
        rows_as_owner("select distinct pattern from http.route", &[], |row| row.get::<String>(1).ok()?);
    let mut warnings = library::with(deployment, |library| {
        library.pages().flat_map(|page| of_page(page, &patterns)).collect::<Vec<_>>()
    });
    warnings.sort_by(|one, other| (&one.0, one.1).cmp(&(&other.0, other.1)));
    let value = |(path, (line, column), message, hint): PageWarning| json!({ "path": path, "line": line, "column": column, "message": message, "hint": hint });
    warnings.into_iter().map(value).collect()
}

/// Path, line and column, text, and what to write instead.
type PageWarning = (String, (usize, usize), String, Option<String>);

fn of_page(page: &PageFile, patterns: &[String]) -> Vec<PageWarning> {
    let path = || page.path().to_owned();
    let likely = page.warnings().iter();
    let likely = likely.map(|one| (path(), (one.line, one.column), one.message.clone(), one.hint.clone()));
    let is_unanswered =
        |url: &UrlPattern| !patterns.iter().any(|pattern| is_answered_by(&url.pattern, pattern));
    let unanswered = page.url_patterns().into_iter().filter(is_unanswered).map(|url| {
        let hint = "If others than Howdah do, write the path without http.url().";
        (path(), (url.line, url.column), format!("no route answers {}", url.pattern), Some(hint.to_owned()))
    });
    likely.chain(unanswered).collect()
}
