//! Connects by TLS 1.3 over and over, with one request on each connection, and counts the handshakes.
//!
//!     handshakes PORT SECONDS CONNECTIONS full|resumed METHOD PATH
//!
//! - `arguments`: what is asked for.
//! - `unverified`: accepts each certificate, and no signature is checked.
//! - `client`: the handshakes of one connection at a time.
//!
//! It prints one object of JSON. `%d` in the path becomes a number of 1 to 1,000.
//!
//! `openssl s_time` does not do for it: a second of its CPU made 700 full handshakes where one of this client's makes 3,000,
//! and it resumes by one and the same ticket, which servers need not take twice.

mod arguments;
mod client;
mod unverified;

use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use arguments::Arguments;
use client::{Client, Count};

fn main() -> ExitCode {
    let Some(arguments) = Arguments::read() else {
        eprintln!("usage: handshakes PORT SECONDS CONNECTIONS full|resumed METHOD PATH");
        return ExitCode::from(2);
    };
    let begin = Instant::now();
    let count = connect_until(begin + Duration::from_secs(arguments.seconds), Arc::new(arguments));
    if let Some(failure) = &count.first_failure {
        eprintln!("{failure}");
    }
    println!(
        r#"{{"handshakes": {}, "resumed": {}, "failed": {}, "bad_statuses": {}, "seconds": {:.6}}}"#,
        count.handshakes,
        count.resumed,
        count.failed,
        count.bad_statuses,
        begin.elapsed().as_secs_f64()
    );
    ExitCode::SUCCESS
}

/// Keeps as many connections busy as are asked for, each on a thread of its own.
fn connect_until(end: Instant, arguments: Arc<Arguments>) -> Count {
    let clients: Vec<_> = (0..arguments.connections)
        .map(|number| {
            let arguments = arguments.clone();
            thread::spawn(move || Client::new(&arguments, number).connect_until(end))
        })
        .collect();
    let mut total = Count::default();
    for client in clients {
        total.add(client.join().expect("a client does not panic"));
    }
    total
}
