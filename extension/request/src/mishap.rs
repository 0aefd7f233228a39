//! Why an attempt to answer has failed, before it is known whether it is tried again.

use pg::guard::PgError;
use problem::Problem;
use session::deployments;

/// An attempt's failure, before it is known whether it is tried again.
pub(crate) enum Mishap {
    Problem(Problem),
    Error(PgError),
}

impl From<PgError> for Mishap {
    fn from(error: PgError) -> Mishap {
        Mishap::Error(error)
    }
}

/// Something else is there than the request names.
pub(crate) fn unmet() -> Problem {
    Problem::new(412, "what is there is not what the request names in If-Match or another condition")
}

/// Has the request run again, under one deployment.
pub(crate) fn mixed() -> Mishap {
    Mishap::Error(PgError { sqlstate: deployments::MIXED, ..PgError::default() })
}

/// The SQLSTATE of what an executor may do, and a gateway may not.
const OF_GATEWAYS: [u8; 5] = *b"25006";

/// Has an executor run what runs in a gateway now.
pub(crate) fn elsewhere() -> Mishap {
    Mishap::Error(PgError { sqlstate: OF_GATEWAYS, ..PgError::default() })
}

/// Has an executor run what has failed in a gateway.
pub(crate) fn in_an_executor(problem: Problem) -> Problem {
    Problem { sqlstate: Some(OF_GATEWAYS), ..problem }
}
