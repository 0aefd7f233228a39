//! Numbers, dates and times as lines spell them, into what PostgreSQL keeps.
//!
//! Only the common spellings are read, those that mean the same under every setting; whatever else is left to PostgreSQL.

pub mod decimal;
pub mod exponent;
pub mod moment;
pub mod moving;
