//! The lanes of a database.

/// Each has a run queue in the exchange, and executors of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Lane {
    /// Requests over HTTP.
    Http = 0,
    /// Lines that come in.
    Ingest,
    /// Jobs.
    Job,
}

impl Lane {
    /// How many there are.
    pub const COUNT: usize = Lane::ALL.len();
    /// All lanes, each at its own place.
    pub const ALL: [Lane; 3] = [Lane::Http, Lane::Ingest, Lane::Job];

    /// Its place among the lanes of a database.
    pub fn place(self) -> usize {
        self as usize
    }

    /// The word that views use.
    pub fn word(self) -> &'static str {
        match self {
            Lane::Http => "http",
            Lane::Ingest => "ingest",
            Lane::Job => "job",
        }
    }

    /// The lane at a place; that of requests if there is none.
    pub fn at(place: usize) -> Lane {
        Lane::ALL.get(place).copied().unwrap_or(Lane::Http)
    }
}
