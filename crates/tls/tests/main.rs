//! Certificates from the setting to the handshake.

mod certificates;
mod choices;
mod clients;
mod folders;
mod hunts;
mod made;
mod pairs;
mod pem;
mod places;
mod redirects;
