//! Listeners in clear text that answer nothing themselves: they send clients to the same place by https, and answer the challenges of
//! who signs certificates.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use message::{Request, ResponseBuilder, Scheme};
use problem::Problem;
use request::proxies;
use shared::settings;
use tls::redirect::{CHALLENGES, token};

use super::certificates::Certificates;

/// Bytes of an answer to a challenge at most; those that are used have some ninety.
const LONGEST_ANSWER: u64 = 4096;
/// Seconds for which a client may remember where it was sent. Without them it would do so for ever, and names change.
const REMEMBERED: &str = "max-age=86400";

/// The response to a request on such a listener, and its status.
///
/// # Errors
///
/// A problem to answer with.
pub(super) fn answer(request: &Request<'_>, certificates: &Certificates) -> Result<(u16, Vec<u8>), Problem> {
    let reads = matches!(request.method(), "GET" | "HEAD");
    if let Some(token) = token(request.raw_path()).filter(|_| reads)
        && let Some(answer) = challenge(token)
    {
        return Ok(response(200, &[("content-type", "application/octet-stream")], &answer));
    }
    if proxies::scheme(request) == Scheme::Https {
        // It would come here again and again.
        return Err(Problem::new(
            421,
            "this port only sends clients to https, and a proxy says that this one came by https: the proxy should use another port",
        ));
    }
    if settings::REDIRECT_READS_ONLY.get() && !reads {
        return Err(Problem::new(403, "this has been sent in clear text, which is not answered: use https"));
    }
    let port = settings::HTTPS_PORT.get() as u16;
    let target = certificates.https_of(request.authority(), request.raw_path(), request.query_string(), port);
    let Some(target) = target else {
        return Err(Problem::new(503, "no certificate names a host to send clients to by https"));
    };
    let headers = [("location", target.as_str()), ("cache-control", REMEMBERED)];
    Ok(response(308, &headers, b""))
}

fn response(status: u16, headers: &[(&str, &str)], body: &[u8]) -> (u16, Vec<u8>) {
    let Ok(mut builder) = ResponseBuilder::new(status) else { return (status, Vec::new()) };
    for (name, value) in headers {
        // A host of a certificate's, and a path that has been checked: they cannot be refused.
        let _ = builder.header(name, value);
    }
    (status, builder.finish(body))
}

/// What the folder of the setting has for a token.
fn challenge(token: &str) -> Option<Vec<u8>> {
    let folder = settings::ACME_FOLDER.get()?;
    let folder = folder.to_str().ok().map(str::trim).filter(|folder| folder.starts_with('/'))?;
    let mut path = PathBuf::from(folder);
    path.push(CHALLENGES.trim_start_matches('/'));
    path.push(token);
    // Nothing waits for who writes into a pipe.
    let file =
        OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path).ok()?;
    read(file)
}

fn read(file: File) -> Option<Vec<u8>> {
    let is_small_file = file.metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= LONGEST_ANSWER);
    let mut answer = Vec::new();
    (is_small_file && file.take(LONGEST_ANSWER).read_to_end(&mut answer).is_ok()).then_some(answer)
}
