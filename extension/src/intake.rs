//! Intakes: the listeners for lines, as `queue.listener` has them.

use std::ffi::CString;
use std::rc::Rc;
use std::time::Duration;

use ::gateway::Terms;
use pgrx::pg_sys::Oid;
use pgrx::spi::SpiClient;
use wire::Full;

use crate::ingest::Keep;
use crate::request::table::Listener;
use crate::settings;

/// A row of `queue.listener`.
#[derive(Debug)]
pub struct Intake {
    /// Where it listens. The port is its key.
    pub listener: Listener,
    /// Where its lines go.
    pub target: Target,
    /// The role that writes them.
    pub role: Oid,
    /// The search_path in which triggers and the like resolve names.
    pub search_path: CString,
    /// When a line counts as committed.
    pub durability: Durability,
    /// Columns for what has no column.
    pub keep: Keep,
    /// What is shown while a bucket is written.
    pub title: CString,
    token: Option<wire::Token>,
    full: Full,
    patience: Duration,
    longest_line: Option<usize>,
    allow: Vec<ipnet::IpNet>,
}

/// Where lines go.
#[derive(Debug, PartialEq, Eq)]
pub enum Target {
    /// Into a queue of this name.
    Queue(String),
    /// Into a table, view or foreign table, which SQL names so.
    Table(Oid, String),
}

/// When a line counts as committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// When its commit is on this server's disk, and on those of the synchronous standbys, if there are any.
    Commit,
    /// When synchronous standbys show it, too.
    RemoteApply,
    /// At once: the last moments before a crash may be lost.
    Memory,
}

impl Target {
    /// The name that a hello may give.
    pub fn name(&self) -> &str {
        match self {
            Target::Queue(name) | Target::Table(_, name) => name,
        }
    }
}

impl Durability {
    /// The value of `synchronous_commit`.
    pub fn synchronous_commit(self) -> &'static std::ffi::CStr {
        match self {
            Durability::Commit => c"on",
            Durability::RemoteApply => c"remote_apply",
            Durability::Memory => c"off",
        }
    }

    fn of(word: &str) -> Durability {
        match word {
            "remote_apply" => Durability::RemoteApply,
            "memory" => Durability::Memory,
            _ => Durability::Commit,
        }
    }
}

impl Intake {
    /// Bytes of a line at most.
    pub fn longest_line(&self) -> usize {
        self.longest_line.unwrap_or(settings::LONGEST_LINE.get() as usize)
    }

    /// The terms on which the event loop takes lines.
    pub fn terms(&self) -> Terms {
        Terms {
            number: self.listener.port.into(),
            target: self.target.name().to_owned(),
            token: self.token,
            allow: self.allow.clone(),
            full: self.full,
            patience: self.patience,
            longest_line: self.longest_line(),
            streams: settings::MAX_INGEST_EXECUTORS.get() as usize,
        }
    }
}

/// Reads `queue.listener`.
pub fn read(client: &SpiClient<'_>) -> Result<Vec<Rc<Intake>>, pgrx::spi::Error> {
    let rows = client.select(
        "select port, address, queue, into_table::text, role::oid, search_path, token, durability, bucket_rows, bucket_bytes,
                bucket_milliseconds, longest_line, allow::text[], into_table::oid,
                line_column, rest_column
           from queue.listener order by port",
        None,
        &[],
    )?;
    rows.map(|row| {
        let number = |column: usize| Ok::<_, pgrx::spi::Error>(row.get::<i32>(column)?.unwrap_or_default());
        let text = |column: usize| Ok::<_, pgrx::spi::Error>(row.get::<String>(column)?.unwrap_or_default());
        let port = number(1)?;
        let target = match row.get::<String>(3)? {
            Some(queue) => Target::Queue(queue),
            None => Target::Table(row.get::<Oid>(14)?.unwrap_or(Oid::INVALID), text(4)?),
        };
        let title = format!("queue.listen({port}) {}", target.name());
        Ok(Rc::new(Intake {
            listener: Listener { port: u16::try_from(port).unwrap_or_default(), address: text(2)? },
            target,
            role: row.get::<Oid>(5)?.unwrap_or(Oid::INVALID),
            search_path: CString::new(text(6)?).unwrap_or_default(),
            durability: Durability::of(&text(8)?),
            title: CString::new(title).unwrap_or_default(),
            token: row.get::<Vec<u8>>(7)?.and_then(|token| token.try_into().ok()),
            full: Full { rows: number(9)? as u64, bytes: number(10)? as usize },
            patience: Duration::from_millis(number(11)? as u64),
            longest_line: row.get::<i32>(12)?.map(|bytes| bytes as usize),
            keep: Keep { line: row.get(15)?, rest: row.get(16)? },
            allow: row
                .get::<Vec<Option<String>>>(13)?
                .unwrap_or_default()
                .into_iter()
                .flatten()
                .filter_map(|network| network.parse().ok())
                .collect(),
        }))
    })
    .collect()
}
