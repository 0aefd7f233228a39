//! Tests of fields.

mod checks;
mod html;
