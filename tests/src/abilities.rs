//! What some builds of PostgreSQL lack: extensions of contrib, libxml, ICU. A test leaves out what needs it, there
//! alone, and says so past the capture of its output.

use std::io::{Write, stderr};

use cluster::Installation;
use cluster::postgres::Client;
use cluster::postgres::error::SqlState;

/// Whether this PostgreSQL brings an extension. If not, says what the test leaves out.
pub fn brings_extension(name: &str, left_out: &str) -> bool {
    let installation = Installation::find().expect("a PostgreSQL");
    let control = installation.sharedir.join("extension").join(format!("{name}.control"));
    let brings = control.exists();
    if !brings {
        skip(left_out, &format!("this PostgreSQL has no extension {name}"));
    }
    brings
}

/// Whether this PostgreSQL is of this major version or a later one. If not, says what the test leaves out.
pub fn is_at_least(major: u32, left_out: &str) -> bool {
    let installation = Installation::find().expect("a PostgreSQL");
    if installation.major < major {
        skip(left_out, &format!("this is PostgreSQL {}", installation.major));
    }
    installation.major >= major
}

/// Whether a statement succeeds that needs a library. If this PostgreSQL was built without it, says what the test
/// leaves out; any other error is one of the test.
pub fn is_built_for(session: &mut Client, statement: &str, left_out: &str) -> bool {
    let Err(error) = session.batch_execute(statement) else { return true };
    let lacks = error.code() == Some(&SqlState::FEATURE_NOT_SUPPORTED);
    let message = error.as_db_error().map_or_else(|| error.to_string(), |error| error.message().to_owned());
    assert!(lacks, "{message}\n{statement}");
    skip(left_out, &message);
    false
}

/// Says past the capture of output what a test leaves out, and why.
pub fn skip(left_out: &str, reason: &str) {
    // Not eprintln!, which the test harness keeps to itself when a test passes.
    let _ = writeln!(stderr(), "SKIPPED: {left_out}: {reason}");
}
