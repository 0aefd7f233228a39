//! What is asked for on the command line.

use std::env;

/// The words of the command line.
pub struct Arguments {
    /// Where the server listens on 127.0.0.1.
    pub port: u16,
    /// How long connections begin.
    pub seconds: u64,
    /// How many connections there are at a time.
    pub connections: u32,
    /// Whether the tickets of earlier connections are used.
    pub resume: bool,
    /// The method of each request.
    pub method: String,
    /// The path of each request, in which `%d` becomes a number.
    pub path: String,
}

impl Arguments {
    /// Those of this process, or none if they are not as described.
    pub fn read() -> Option<Self> {
        let words: Vec<String> = env::args().skip(1).collect();
        let [port, seconds, connections, kind, method, path] = words.try_into().ok()?;
        let resume = match kind.as_str() {
            "full" => false,
            "resumed" => true,
            _ => return None,
        };
        Some(Arguments {
            port: port.parse().ok()?,
            seconds: seconds.parse().ok()?,
            connections: connections.parse().ok()?,
            resume,
            method,
            path,
        })
    }
}
