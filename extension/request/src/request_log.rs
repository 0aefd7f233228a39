//! Requests in the log.

use std::time::Duration;

use message::Request;
use pg::log_line;
use session::log_rate;
use shared::databases::LineKind;
use shared::settings;

use super::proxies;

/// Logs a request that `howdah.log_min_duration` asks for: how it was answered, and in what time.
pub fn log_request(request: &Request<'_>, status: u16, waited: Duration, took: Duration) {
    let minimum = settings::LOG_MIN_DURATION.get();
    let total = waited + took;
    let is_wanted = minimum >= 0 && total >= Duration::from_millis(minimum as u64);
    if !is_wanted || !log_rate::allows(LineKind::Request) {
        return;
    }
    log_rate::beside(|| {
        log_line::log!(
            "http request {}: {} {} answered {status} in {:.3} ms, of which it waited {:.3} ms",
            Whose(request),
            request.method(),
            request.raw_path(),
            total.as_secs_f64() * 1000.0,
            waited.as_secs_f64() * 1000.0
        )
    });
}

/// A request for the context of errors.
pub(crate) struct Shown<'r>(pub &'r Request<'r>);

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let request = self.0;
        write!(f, "http request {}: {} {}", Whose(request), request.method(), request.raw_path())
    }
}

/// A request for the log: its id, and its client's address where it has one. Neither has a blank in it, so nobody can
/// choose an id that looks like another's address.
pub(crate) struct Whose<'r>(pub &'r Request<'r>);

impl std::fmt::Display for Whose<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.id())?;
        match proxies::client(self.0) {
            Some(client) => write!(f, " from {client}"),
            None => Ok(()),
        }
    }
}
