//! Why lines could not be loaded.

use std::{fmt, io};

/// Why lines could not be loaded. What was acknowledged before stays loaded.
#[derive(Debug)]
pub enum Error {
    /// A file cannot be read.
    Unreadable {
        /// Its name.
        name: String,
        /// Where reading ended: the number of the line in this file.
        line: Option<u64>,
        /// Why.
        cause: io::Error,
    },
    /// Nothing listens there.
    Refused {
        /// The address, as it was given.
        to: String,
    },
    /// There is no way to the server, or the connection broke and did not come back in time.
    Connection {
        /// The address, as it was given.
        to: String,
        /// Why.
        cause: io::Error,
    },
    /// What listens there does not speak the protocol.
    Foreign {
        /// The address, as it was given.
        to: String,
        /// What it said.
        said: String,
    },
    /// The server refuses.
    Server {
        /// The SQLSTATE or a word.
        code: String,
        /// The server's words.
        error: String,
    },
    /// The queue has more lines of this producer than there are.
    Short {
        /// The producer.
        producer: String,
        /// What the queue has.
        stored: u64,
        /// How many there are.
        lines: u64,
    },
    /// The queue has forgotten lines that it had acknowledged, and they cannot be read again.
    Forgotten {
        /// The sequence that was acknowledged.
        acknowledged: u64,
        /// The last that the queue has now.
        stored: u64,
    },
}

impl Error {
    /// Whether it may be gone in a moment.
    pub(crate) fn is_temporary(&self) -> bool {
        match self {
            Self::Connection { .. } | Self::Refused { .. } => true,
            // Connection, resources, shutdown, the system, what asks to be tried again, a lock that was not to be had.
            Self::Server { code, .. } => {
                ["08", "40", "53", "55P03", "57", "58"].iter().any(|begin| code.starts_with(begin))
            }
            _ => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { name, line: None, cause } => write!(f, "cannot read {name}: {cause}"),
            Self::Unreadable { name, line: Some(line), cause } => {
                write!(f, "cannot read {name} behind line {line}: {cause}\nThe lines before it are loaded.")
            }
            Self::Refused { to } => write!(
                f,
                "nothing listens on {to}\n\
                 Is the server running? If it is, make a listener: select queue.listen({}, queue => 'NAME')",
                to.rsplit_once(':').map_or("PORT", |(_, port)| port)
            ),
            Self::Connection { to, cause } => write!(f, "no connection to {to}: {cause}"),
            Self::Foreign { to, said } => write!(
                f,
                "{to} does not speak the protocol of queues; it said: {said}\nIs it the port of queue.listen?"
            ),
            Self::Server { code, error } => write!(f, "the server refuses: {error} ({code})"),
            Self::Short { producer, stored, lines } => write!(
                f,
                "the queue has {stored} lines of the producer {producer}, but there are only {lines} here\n\
                 Nothing of them was sent. If they are other lines, name another --producer."
            ),
            Self::Forgotten { acknowledged, stored } => write!(
                f,
                "the queue had acknowledged {acknowledged} lines and has only {stored} now: the others are lost, \
                 and the standard input cannot be read again"
            ),
        }
    }
}

impl std::error::Error for Error {}
