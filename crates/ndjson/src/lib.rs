//! Lines of JSON: cutting them, and reading each once, strictly and without a tree.
//!
//! - [`lines`]: bytes into lines: line ends, byte-order marks, empty lines.
//! - [`scanner`]: one line, member by member; what nobody wants is checked and passed over.
//! - [`text`]: strings as they are written, and what they say.
//! - [`fault`]: why a line is refused.
//!
//! What is accepted is JSON (RFC 8259) that a database can store: no `\u0000`, no half of a surrogate pair, no deeper
//! nesting than [`scanner::DEPTH`]. Knows nothing of PostgreSQL.

pub mod fault;
pub mod lines;
pub mod scanner;
pub mod text;

pub use fault::{Fault, Reason};
pub use lines::{Line, Lines};
pub use scanner::{Value, check, members};
pub use text::Text;
