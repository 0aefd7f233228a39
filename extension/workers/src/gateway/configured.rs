//! The configuration that gateways alone follow, as it is read with the routes.

use std::rc::Rc;

use pgrx::spi::{self, SpiClient};

use crate::intake::{self, Intake};
use crate::listener::{self, Listener};

/// Requests of SQL's to listen, and how many kinds of jobs it has.
#[derive(Default)]
pub(super) struct Configured {
    /// The listeners for HTTP.
    pub http: Vec<Listener>,
    /// The listeners for lines.
    pub lines: Vec<Rc<Intake>>,
    /// How many kinds of jobs there are.
    pub job_kinds: u32,
}

impl Configured {
    /// Reads it. Its caller has put a safe search_path in force.
    pub(super) fn read(client: &SpiClient<'_>) -> Result<Configured, spi::Error> {
        Ok(Configured {
            http: listener::read(client)?,
            lines: intake::read(client)?,
            job_kinds: jobs::kinds::count(client)?,
        })
    }
}
