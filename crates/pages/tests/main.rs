//! Pages into SQL, and what a browser makes of them.

mod sql;
