//! The compiler of pages: a file of HTML with SQL in it becomes an expression of SQL, with a map of positions. It knows no PostgreSQL and no
//! files on disk.
//!
//! From the file to SQL:
//!
//! - [`name_of`] (`name.rs`): the function that a page becomes; `keywords.rs` has the words that name none.
//! - [`read`] (`read.rs`): a file into a [`PageFile`], or all that is wrong with it.
//!   - `lexer.rs`: SQL's tokens, which find the end of a hole; `cut.rs`: text and holes; `arguments.rs`: the head; `reader.rs`: the tree
//!     (`nodes.rs`); `checks.rs`: what must stand where.
//!   - `contexts.rs`: the place of each hole in HTML, by `markup.rs` and `raw.rs`, the tokenizer of HTML's standard, `attributes.rs`, the table of
//!     attributes, `tags.rs`, `urls.rs`, `elements.rs`, `open_elements.rs` and `references.rs`. It makes `pieces.rs`. Pages of text have no places: `plain_text.rs`.
//!   - [`PageFile`] (`page.rs`): what can be asked of a page.
//! - [`compile`] (`emit.rs`): a page into SQL, twice, with `map.rs`. `parts.rs` says which pages of a [`PageLibrary`] may stand in the place
//!   of their calls, by `words.rs`.
//! - [`circles`] (`circle.rs`): pages that call each other in a circle.
//! - [`escape`]: what the functions do that the SQL calls.

mod arguments;
mod attributes;
mod checks;
mod circle;
mod compiled;
mod contexts;
mod cut;
mod directive;
mod elements;
mod emit;
pub mod escape;
mod fault;
mod habits;
mod keywords;
mod layouts;
mod lexer;
mod library;
mod links;
mod map;
mod markup;
mod name;
mod nodes;
mod open_elements;
mod page;
mod parts;
mod pieces;
mod plain_text;
mod raw;
mod read;
mod reader;
mod references;
mod tags;
mod urls;
mod words;

pub use arguments::PageArgument;
pub use circle::{PageCircle, circles};
pub use compiled::CompiledPage;
pub use emit::compile;
pub use fault::{PageFault, Span};
pub use keywords::KEYWORDS;
pub use layouts::layout_faults;
pub use library::PageLibrary;
pub use links::UrlPattern;
pub use map::{SqlMap, SqlPlace, SqlText};
pub use name::{PageKind, PageName, PageNameFault, name_of};
pub use nodes::HoleKind;
pub use page::{PageCall, PageFile, PageHole, PlacedValue, ValuePlace};
pub use read::read;
