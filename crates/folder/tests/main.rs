//! Folders on disk, texts as editors save them, and what a deployment would do.

mod own;
mod plans;
mod reading;
mod statics;
mod texts;
