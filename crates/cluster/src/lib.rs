//! A private PostgreSQL in one folder, for the `howdah` command and for tests.
//!
//! - [`Options`]: how a cluster is set up, and which PostgreSQL it takes.
//! - [`Installation`]: the PostgreSQL that `pg_config` names.
//! - [`Cluster`]: a data folder of it, started and stopped; [`Options`] say how.
//! - [`TemporaryCluster`]: one for a test, which ends with it whatever happens.
//! - [`Template`]: what such clusters are copies of, as making each anew takes long.
//! - `account`: as whom the server runs where we run as root.
//! - `folder`: where data, socket and log stand so that this account can reach them.
//! - [`private_installation`]: a copy of the installation, mostly links, into which the extension is put.
//! - `configuration`: `postgresql.conf` and `pg_hba.conf`.
//! - [`process`]: processes of a data folder, as `/proc` shows them.
//! - `keeper`: the thread from which servers of tests are started.
//!
//! # The folder
//!
//! | name | what |
//! | --- | --- |
//! | `data` | PostgreSQL's data folder |
//! | `socket` | the UNIX socket; a link to a short folder under `/tmp` where the path would be too long |
//! | `postgresql.conf`, `pg_hba.conf` | written anew at each start |
//! | `log` | what the server says |
//! | `server` | the private copy of the installation |
//!
//! `data` and `socket` belong to the server's account alone (mode 0700), the server listens nowhere but on
//! that socket, and so whoever reaches it is trusted. All else belongs to whoever runs us: as root we write no
//! file where another account could put a link in its way.

mod account;
mod cluster;
mod configuration;
mod error;
mod folder;
mod installation;
mod keeper;
mod options;
mod private_server;
pub mod process;
mod template;
mod temporary;

pub use account::Account;
pub use cluster::{Cluster, Life, Shutdown};
pub use error::Error;
pub use installation::Installation;
pub use options::Options;
pub use postgres;
pub use private_server::private_installation;
pub use template::Template;
pub use temporary::{TemporaryCluster, stage};

/// The result of everything here.
pub type Result<T, E = Error> = std::result::Result<T, E>;
