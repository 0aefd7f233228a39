//! The page where an application has none: it says what is wrong and what to do, and needs nothing from elsewhere.

use form::escape::each_html_piece;

use crate::statuses::title;
use crate::template::PageValues;

const HEAD: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<title>";
const STYLE: &str = "</title>
<style>
:root { color-scheme: light dark }
body { font: 1.1rem/1.5 system-ui, sans-serif; max-width: 36rem; margin: 12vh auto; padding: 0 1.25rem; overflow-wrap: anywhere }
h1 { font-size: 1.6rem; line-height: 1.2 }
</style>
<main>
<h1>";

/// The texts of a status: what it means to a person, and what to do.
fn advice(status: u16) -> [&'static str; 2] {
    match status {
        400 | 422 => [
            "The site cannot read what was sent.",
            "Go back, check what you have entered, and send it again.",
        ],
        401 => ["You have to sign in to see this.", "Sign in, and try again."],
        403 => [
            "You may not see or do this.",
            "If you think that you should, sign in as somebody who may, or ask whom the site belongs to.",
        ],
        404 | 410 => [
            "There is nothing at this address.",
            "Check the address for typing errors, or begin at the start page.",
        ],
        405 => ["This address does not take what was sent to it.", "Go back, or begin at the start page."],
        408 => ["Your request did not arrive in time.", "Check your connection, and try again."],
        409 | 412 => {
            ["Somebody else may have changed this meanwhile.", "Go back, reload the page, and try again."]
        }
        413 => ["What was sent is too large.", "Go back, and send less, or a smaller file."],
        414 | 431 => [
            "The address or the cookies of this site are too long.",
            "Delete the cookies of this site, and begin at the start page.",
        ],
        429 => ["There were too many requests.", "Wait for a moment, and try again."],
        502..=504 => ["The site cannot answer right now.", "Wait for a moment, and reload the page."],
        500.. => [
            "Something went wrong here. It is not your fault.",
            "Try again later. If it happens again, tell whom the site belongs to, with the number below.",
        ],
        _ => ["The site cannot answer this.", "Go back, or begin at the start page."],
    }
}

/// Writes the page of a status.
pub(crate) fn write(status: u16, values: &PageValues<'_>, out: &mut Vec<u8>) {
    let number = status.to_string();
    let [meaning, advice] = advice(status);
    out.reserve(1200 + values.detail.len() + values.request_id.len());
    let mut put = |text: &str| out.extend_from_slice(text.as_bytes());
    for text in [
        HEAD,
        &number,
        " ",
        title(status),
        STYLE,
        title(status),
        "</h1>\n<p>",
        meaning,
        "\n<p>",
        advice,
        "\n",
    ] {
        put(text);
    }
    if !values.detail.is_empty() {
        put("<p>");
        each_html_piece(values.detail, &mut put);
        put("\n");
    }
    put("<p><a href=\"/\">Start page</a>\n<p><small>");
    put(&number);
    put(", request ");
    each_html_piece(values.request_id, &mut put);
    put("</small>\n</main>\n");
}
