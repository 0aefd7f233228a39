//! The error pages of a database, as gateways and `http.call` send them.

use error_pages::{ErrorPages, PageTemplate, PageWish};
use message::Request;
use pg::log_line;
use pgrx::spi::{self, Spi, SpiClient};
use session::authority::as_owner;
use shared::settings;

/// Reads the error pages. Its caller has put a safe search_path in force.
///
/// # Errors
/// PostgreSQL's.
pub fn read(client: &SpiClient<'_>) -> Result<ErrorPages, spi::Error> {
    let mut pages = ErrorPages::default();
    pages.set_built_in(settings::BUILT_IN_ERROR_PAGES.get());
    let rows = client.select(
        "select prefix, statuses, with_detail, pieces from http.error_page order by prefix, number",
        None,
        &[],
    )?;
    for row in rows {
        let prefix = row.get::<String>(1)?.unwrap_or_default();
        let statuses = row.get::<Vec<Option<i32>>>(2)?.unwrap_or_default();
        let pieces = row.get::<Vec<Option<String>>>(4)?.unwrap_or_default();
        match PageTemplate::of(pieces.iter().map(|piece| piece.as_deref().unwrap_or_default())) {
            Ok(page) => {
                let statuses = statuses.into_iter().flatten().filter_map(|status| u16::try_from(status).ok());
                pages.add(&prefix, statuses, row.get::<bool>(3)?, page);
            }
            // A row that was written past deploy.finish().
            Err(error) => {
                log_line::warning!("howdah sends the error page that is built in below {prefix}: {error}")
            }
        }
    }
    Ok(pages)
}

/// The response that a client gets: the page of an error in the place of its document, if the request wants one, as the transaction sees the pages.
pub(crate) fn shown(request: &Request<'_>, response: Vec<u8>) -> Vec<u8> {
    let Some(wish) = PageWish::of_request(request) else { return response };
    let pages = as_owner(|| Spi::connect(read));
    let pages = pages.unwrap_or_else(|error| pgrx::error!("the error pages cannot be read: {error}"));
    pages.response(&response, &wish).unwrap_or(response)
}
