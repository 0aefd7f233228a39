//! What the log is told of handshakes of TLS that have failed.

use std::fmt::Write;

use ::gateway::FailedHandshake;

/// Bytes of a host that are told at most; no name in the DNS is longer.
const LONGEST_NAME: usize = 253;

/// The line: who, where, why, and both names, that which was asked for and that of the certificate.
pub(crate) fn told(failed: &FailedHandshake) -> String {
    let mut line = format!("howdah: TLS on port {}", failed.port);
    // Writing into a string does not fail.
    let _ = failed.remote.map(|remote| write!(line, " from {}", remote.ip()));
    let _ = write!(line, ": {}", failed.reason);
    if let Some(named) = &failed.named {
        let named: String = named.chars().filter(|letter| !letter.is_control()).take(LONGEST_NAME).collect();
        let _ = write!(line, "; the client asked for {named}");
    }
    if let Some(certificate) = &failed.certificate {
        // As above.
        let _ = write!(line, "; the certificate is that of {certificate}");
    }
    line
}
