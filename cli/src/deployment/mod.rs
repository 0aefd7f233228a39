//! `howdah new`, `plan`, `deploy`, `rollback`, `adopt` and `history`: a folder is an application, and a transaction is a deployment.
//!
//! - [`new`]: makes a folder.
//! - [`target`]: which folder goes to which database.
//! - [`source`]: what is deployed: a folder, or an earlier deployment.
//! - [`server`]: the functions of schema `deploy`, as this program calls them.
//! - [`difference`]: the sides of a test's comparison, for people.
//! - [`attempt`]: one deployment, in one transaction; [`code`]: its files in an order in which they can run; [`locks`]: what others wait
//!   for meanwhile; [`requirements`]: what the database has to have before; [`tested`]: where its tests run; [`watcher`]: looks at that from outside; [`commit`]: the commit of git that the folder is of;
//!   [`names`]: names as SQL writes them.
//! - [`request`]: what is to be deployed where; [`run`]: attempts until one succeeds, or fails for good.
//! - [`staged`]: a deployment of several transactions, with migrations between them that are part of none; [`outside`]: how these run;
//!   [`standbys`]: how far standbys are behind meanwhile.
//! - [`static_files`]: the bytes of static files, which go before it.
//! - [`errors`]: what goes wrong once it is in force.
//! - [`interrupt`]: what Ctrl-C does.
//! - [`report`]: what is told of it.
//! - [`adopt`]: what is there already becomes an application; [`comparison`]: what differs from what the folder makes.
//! - [`squash`]: one migration stands for many.
//! - [`accept`]: migrations whose comments have changed.
//! - [`history`]: deployments that were.

pub(crate) mod accept;
pub(crate) mod adopt;
mod attempt;
pub(crate) mod build;
mod code;
mod commit;
mod comparison;
mod difference;
mod errors;
pub(crate) mod history;
pub(crate) mod interrupt;
mod locks;
mod names;
pub(crate) mod new;
mod outside;
pub(crate) mod report;
pub(crate) mod request;
mod requirements;
pub(crate) mod run;
pub(crate) mod server;
mod source;
pub(crate) mod squash;
mod staged;
mod standbys;
mod static_files;
pub(crate) mod target;
mod tested;
mod watcher;
