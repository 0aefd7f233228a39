//! Answers a constant on a port, to measure what the event loop costs by itself.
//!
//! `cargo run --release -p gateway --example constant -- 127.0.0.1:9000 [tls]`

use std::error::Error;
use std::sync::Arc;

use gateway::{Address, Limits, Listener, Server};
use message::ResponseBuilder;
use rcgen::{CertificateParams, KeyPair};
use tls::{Choice, Configuration, Pair, Protocol, Terms};

/// A certificate that nobody has signed, for clients that do not look.
fn certified() -> Result<Configuration, Box<dyn Error>> {
    let key = KeyPair::generate()?;
    let leaf = CertificateParams::new(vec!["localhost".to_owned()])?.self_signed(&key)?.pem();
    let pair = Pair::load(leaf.as_bytes(), Some(key.serialize_pem().as_bytes()))?;
    let choice = Choice::new(vec![(Arc::new(pair), true)], 0);
    Ok(tls::configuration(Terms::new(Protocol::Http), Arc::new(choice))?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:9000".to_owned());
    let mut server = Server::new(Limits::default())?;
    let tls = if std::env::args().any(|argument| argument == "tls") { Some(certified()?) } else { None };
    let bound = server.listen(&Listener { tls, ..Listener::new(1, Address::Tcp(address.parse()?)) })?;
    println!("listening on {bound:?}");
    let mut builder = ResponseBuilder::new(200)?;
    builder.header("content-type", "text/plain")?;
    let response = builder.finish(b"Hello, World!");
    let mut tickets = Vec::new();
    loop {
        server.turn(None, &mut || true);
        tickets.extend(server.arrived().map(|arrived| arrived.ticket));
        for ticket in tickets.drain(..) {
            server.reply(ticket, response.clone());
        }
    }
}
