//! Warnings: pages that can be deployed and may be wrong.

use std::collections::BTreeSet;

use folder::places_in_text::place_at;
use pages::PageFile;
use serde_json::{Value, json};
use session::authority::rows_as_owner;

use super::super::application::Deployment;
use super::library;

/// URLs that no route answers.
const UNANSWERED: &str = "select u.url from unnest($1::text[]) u (url)
    where not exists (select from deploy.registered r where r.type in ('route', 'page') and deploy.answers(r.names[2], u.url))";

/// Forms of an owner whose page no route answers, with the text of the file that registers routes.
const WITHOUT_PAGE: &str = "select f.method, f.pattern, f.page, coalesce(
      (select c.content from deploy.file d join deploy.content c on c.application = d.application and c.digest = d.digest
       where d.application = $2 and d.number = $3 and d.path = 'routes.sql'), '')
    from deploy.forms f
    where f.owner = pg_get_userbyid($1) and not exists (
      select from deploy.registered r where r.type in ('route', 'page') and r.names[1] in ('GET', '*') and deploy.answers(r.names[2], f.page))";

/// Warnings of all pages of the deployment, in the order of their places: likely mistakes, and URLs that no route answers.
pub(crate) fn all(deployment: &Deployment) -> Vec<Value> {
    let mut warnings = library::with(deployment, |library| {
        let urls: BTreeSet<String> =
            library.pages().flat_map(PageFile::url_patterns).map(|url| url.pattern).collect();
        let urls = urls.into_iter().collect::<Vec<_>>();
        let unanswered: BTreeSet<String> =
            rows_as_owner(UNANSWERED, &[urls.into()], |row| row.get::<String>(1).ok()?).into_iter().collect();
        library.pages().flat_map(|page| of_page(page, &unanswered)).collect::<Vec<_>>()
    });
    warnings.extend(forms(deployment));
    warnings.sort_by(|one, other| (&one.0, one.1).cmp(&(&other.0, other.1)));
    let value = |(path, (line, column), message, hint): PageWarning| json!({ "path": path, "line": line, "column": column, "message": message, "hint": hint });
    warnings.into_iter().map(value).collect()
}

/// Forms whose page is nowhere: a refusal of theirs would be shown to nobody.
fn forms(deployment: &Deployment) -> Vec<PageWarning> {
    let application = &deployment.application;
    let arguments = [application.owner.into(), application.name.as_str().into(), deployment.number.into()];
    rows_as_owner(WITHOUT_PAGE, &arguments, |row| {
        let text = |place: usize| row.get::<String>(place).ok().flatten();
        let (method, pattern, page, routes) = (text(1)?, text(2)?, text(3)?, text(4)?);
        let place = routes.find(&format!("'{page}'")).map_or((1, 1), |at| place_at(&routes, at));
        let hint = "Browsers get the error of a form that is refused, and not the form.";
        Some((
            "routes.sql".into(),
            place,
            format!("no route answers {page}, the page of the form {method} {pattern}"),
            Some(hint.into()),
        ))
    })
}

/// Path, line and column, text, and what to write instead.
type PageWarning = (String, (usize, usize), String, Option<String>);

fn of_page(page: &PageFile, unanswered: &BTreeSet<String>) -> Vec<PageWarning> {
    let path = || page.path().to_owned();
    let likely = page.warnings().iter();
    let likely = likely.map(|one| (path(), (one.line, one.column), one.message.clone(), one.hint.clone()));
    let urls = page.url_patterns().into_iter().filter(|url| unanswered.contains(&url.pattern));
    let urls = urls.map(|url| {
        let hint = "If others than Howdah do, write the path without http.url().";
        (path(), (url.line, url.column), format!("no route answers {}", url.pattern), Some(hint.to_owned()))
    });
    likely.chain(urls).collect()
}
