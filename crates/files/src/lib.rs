//! Static files of applications: what they are called, and what a request for one gets. Knows neither connections nor PostgreSQL, and reads
//! no file.
//!
//! - [`index`]: the list of an application's files, as it is deployed.
//! - [`hashed`]: names that say which bytes a file has, so that clients may keep it for ever.
//! - [`mount`]: the paths at which files answer; [`tree`]: the file that a path means.
//! - [`served`](mod@served): what becomes of a request there.
//! - [`answer`]: status, headers and bytes of an answer: conditions, [`range`]s, codings, types ([`media_type`]).
//! - [`css`]: addresses in style sheets.
//! - [`download`]: what users have sent, and others get.
//!
//! **A path is looked up, and never walked**: it is decoded segment by segment and compared with the names that there are. So no path leads out of
//! a folder: no name has a segment `..`, or an encoded slash.

pub mod answer;
pub mod css;
pub mod download;
pub mod hashed;
pub mod index;
pub mod media_type;
pub mod mount;
pub mod range;
pub mod served;
pub mod tree;

pub use index::{Index, IndexEntry};
pub use mount::{FilePlace, Mount, Mounts};
pub use served::{Served, served};
pub use tree::{PathFound, StaticFile, Tree, Version};

/// Bytes of a file at most.
pub const LONGEST: u64 = 256 << 20;
/// Files of an application at most.
pub const MOST: usize = 100_000;
