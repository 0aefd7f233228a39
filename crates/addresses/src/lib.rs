//! What listeners may bind: host names, wildcards and what a setting allows. It opens no sockets.
//!
//! - [`Address`]: where a listener listens; [`name`] and [`split`]: how it is written.
//! - [`expand`]: the addresses of a listener, within what is allowed.
//! - [`Names`]: what host names mean, asked for on the side.
//!
//! ```
//! use addresses::{Address, Names, expand, look_up};
//!
//! let allowed = ["localhost".to_owned()];
//! let mut names = Names::waited_for(look_up);
//! let (addresses, unresolved) = expand("127.0.0.1", 9000, &allowed, &mut names);
//! assert_eq!(addresses, [Address::Tcp("127.0.0.1:9000".parse().unwrap())]);
//! assert!(unresolved.is_empty());
//! assert!(expand("192.0.2.1", 9000, &allowed, &mut names).0.is_empty());
//! ```

mod allowed;
mod names;

pub use allowed::{expand, name, split};
pub use names::{Names, Resolver, Wake, look_up};

use std::net::SocketAddr;
use std::path::PathBuf;

/// Where a listener listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// An IPv4 or IPv6 address; an IPv6 one takes no IPv4 connections. Port 0 takes any free port.
    Tcp(SocketAddr),
    /// The path of a UNIX socket, at most 107 bytes.
    Unix(PathBuf),
}
