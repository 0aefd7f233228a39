//! Fields of forms: from the type of an argument, and from the text that was typed, to HTML.
//!
//! - [`Control`]: the controls that there are, and which of them is a type's own.
//! - [`Rules`]: the attributes that a type and its domain's checks ask of a browser. [`checks`] reads these checks, as PostgreSQL writes them.
//! - [`FormField`]: a control with its label, hint and error, as HTML.
//! - [`messages`]: errors in words for people.
//! - [`elements`]: the elements of an array, as PostgreSQL writes it.
//!
//! It knows neither PostgreSQL nor requests. A browser's checks are a help to people: the server makes its own.

pub mod checks;
mod control;
pub mod elements;
mod form_field;
pub mod messages;
mod rules;
mod shown;

pub use control::{Control, TypeClass};
pub use form_field::{Choice, FormField};
pub use rules::Rules;
