//! What an SQLSTATE means, and what is answered.

mod document;
mod meaning;
