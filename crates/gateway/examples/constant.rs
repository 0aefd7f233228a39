//! Answers a constant on a port, to measure what the event loop costs by itself.
//!
//! `cargo run --release -p gateway --example constant -- 127.0.0.1:9000`

use std::error::Error;

use gateway::{Address, Limits, Listener, Server};
use message::ResponseBuilder;

fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:9000".to_owned());
    let mut server = Server::new(Limits::default())?;
    let bound = server.listen(&Listener::new(1, Address::Tcp(address.parse()?)))?;
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
