//! Statements of the extended protocol between two Syncs, as pipelines of libpq and batches of JDBC send them: one transaction without BEGIN.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use crate::platform::Platform;

/// A session that sends pipelines.
pub struct Pipeline(UnixStream);

impl Pipeline {
    /// A session in a database, as superuser.
    pub fn open(platform: &Platform, database: &str) -> Pipeline {
        Pipeline::try_open(platform, database).expect("a session")
    }

    /// The same; none if the server gives none now.
    pub fn try_open(platform: &Platform, database: &str) -> Option<Pipeline> {
        let [(_, folder), (_, port), (_, user), _] = platform.cluster.environment(database).ok()?;
        let path = format!("{}/.s.PGSQL.{}", folder.display(), port.display());
        let mut session = Pipeline(UnixStream::connect(path).ok()?);
        let parameters = format!("user\0{}\0database\0{database}\0\0", user.display());
        let mut start = (parameters.len() as u32 + 8).to_be_bytes().to_vec();
        start.extend_from_slice(&196_608_u32.to_be_bytes());
        start.extend_from_slice(parameters.as_bytes());
        session.0.write_all(&start).ok()?;
        session.until_ready().ok().map(|()| session)
    }

    /// Runs statements, of which none returns many rows; the message of the first that has failed, with which all are undone that had not committed by
    /// themselves.
    pub fn run(&mut self, statements: &[&str]) -> Result<(), String> {
        let mut bytes = Vec::new();
        for statement in statements {
            // Unnamed, without parameters, rows as text; all of them.
            message(&mut bytes, b'P', format!("\0{statement}\0\0\0").as_bytes());
            message(&mut bytes, b'B', &[0; 8]);
            message(&mut bytes, b'E', &[0; 5]);
        }
        message(&mut bytes, b'S', &[]);
        self.0.write_all(&bytes).map_err(|error| error.to_string())?;
        self.until_ready()
    }

    /// Reads until the server waits for the next.
    fn until_ready(&mut self) -> Result<(), String> {
        let mut result = Ok(());
        loop {
            let mut head = [0; 5];
            self.0.read_exact(&mut head).map_err(|error| error.to_string())?;
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            let mut body = vec![0; length - 4];
            self.0.read_exact(&mut body).map_err(|error| error.to_string())?;
            match head[0] {
                b'Z' => return result,
                b'E' if result.is_ok() => {
                    let fields = body.split(|byte| *byte == 0);
                    let text = fields.filter(|field| field.starts_with(b"M")).map(|field| &field[1..]);
                    result = Err(text.map(|text| String::from_utf8_lossy(text)).collect());
                }
                _ => {}
            }
        }
    }
}

fn message(bytes: &mut Vec<u8>, kind: u8, body: &[u8]) {
    bytes.push(kind);
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
}
