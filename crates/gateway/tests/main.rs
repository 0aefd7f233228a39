//! The event loop, over real sockets.

mod error_pages;
mod floods;
mod frames;
mod harness;
mod http1;
mod http2;
mod http2_client;
mod line_fairness;
mod lines;
mod listeners;
mod noise;
mod parting;
mod parts;
mod reading;
mod refusals;
mod taking;
mod tls;
mod turns;
