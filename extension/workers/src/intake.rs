//! Intakes: the listeners for lines, as `queue.listener` has them.

use std::rc::Rc;
use std::time::Duration;

use ::gateway::Terms;
use pgrx::pg_sys::Oid;
use pgrx::spi::SpiClient;
use session::temporary;
use shared::settings;
use wire::{Destination, Durability, Full};

use crate::listener::{ClientRule, Listener};

/// A row of `queue.listener`.
#[derive(Debug)]
pub(crate) struct Intake {
    /// Where it listens. The port is its key.
    pub listener: Listener,
    /// Where its lines go.
    pub destination: Destination,
    token: Option<wire::Token>,
    full: Full,
    patience: Duration,
    longest_line: Option<usize>,
    allow: Option<Vec<ipnet::IpNet>>,
}

impl Intake {
    /// The terms on which the event loop takes lines.
    pub(crate) fn terms(&self) -> Terms {
        Terms {
            number: self.listener.port.into(),
            destination: self.destination.clone(),
            token: self.token,
            allow: self.allow.clone(),
            full: self.full,
            patience: self.patience,
            longest_line: self.longest_line.unwrap_or(settings::LONGEST_LINE.get() as usize),
            streams: settings::MAX_INGEST_EXECUTORS.get() as usize,
        }
    }
}

/// The networks that may connect. What is none admits nobody: only an empty list means all.
fn networks(list: Vec<Option<String>>) -> Option<Vec<ipnet::IpNet>> {
    let parsed = list.iter().flatten().filter_map(|network| network.parse().ok()).collect();
    (!list.is_empty()).then_some(parsed)
}

fn durability(word: &str) -> Durability {
    match word {
        "remote_apply" => Durability::RemoteApply,
        "memory" => Durability::Memory,
        _ => Durability::Commit,
    }
}

/// Reads `queue.listener`. Its caller has put a safe search_path in force. Queues get their places along with that, before those of other
/// databases that are made later.
pub(crate) fn read(client: &SpiClient<'_>) -> Result<Vec<Rc<Intake>>, pgrx::spi::Error> {
    queue::definition::keep_places();
    let rows = client.select(
        "select port, address, queue, into_table::text, role::oid, search_path, token, durability, bucket_rows, bucket_bytes,
                bucket_milliseconds, longest_line, allow::text[], into_table::oid,
                line_column, rest_column, queue_owner, tls
           from queue.listener order by port",
        None,
        &[],
    )?;
    rows.map(|row| {
        let number = |column: usize| Ok::<_, pgrx::spi::Error>(row.get::<i32>(column)?.unwrap_or_default());
        let text = |column: usize| Ok::<_, pgrx::spi::Error>(row.get::<String>(column)?.unwrap_or_default());
        let port = number(1)?;
        let table = row.get::<Oid>(14)?.map(Oid::to_u32);
        let destination = Destination {
            name: text(if table.is_some() { 4 } else { 3 })?,
            queue_owner: row.get(17)?,
            table,
            role: row.get::<Oid>(5)?.unwrap_or(Oid::INVALID).to_u32(),
            search_path: temporary::lasting_path(text(6)?),
            durability: durability(&text(8)?),
            line_column: row.get(15)?,
            rest_column: row.get(16)?,
        };
        Ok(Rc::new(Intake {
            listener: Listener {
                port: u16::try_from(port).unwrap_or_default(),
                address: text(2)?,
                tls: row.get::<bool>(18)?.unwrap_or_default(),
                redirects: false,
                clients: ClientRule::Off,
            },
            destination,
            token: row.get::<Vec<u8>>(7)?.and_then(|token| token.try_into().ok()),
            full: Full { rows: number(9)? as u64, bytes: number(10)? as usize },
            patience: Duration::from_millis(number(11)? as u64),
            longest_line: row.get::<i32>(12)?.map(|bytes| bytes as usize),
            allow: networks(row.get(13)?.unwrap_or_default()),
        }))
    })
    .collect()
}
