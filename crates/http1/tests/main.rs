//! HTTP/1.1 without sockets.

mod hunts;
mod reading;
mod refused;
mod understood;
mod written;
