//! What listeners may bind, with a resolver of the test's own.

mod allowed;
mod names;

use std::net::IpAddr;

/// A few names; `slow` means nothing before the test says so.
fn resolver(name: &str) -> Result<Vec<IpAddr>, String> {
    match name {
        "inner" => Ok(vec![ip("10.0.0.1"), ip("10.0.0.2")]),
        "outer" => Ok(vec![ip("192.0.2.7")]),
        other => Err(format!("nobody knows {other}")),
    }
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}
