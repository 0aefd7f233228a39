//! Error pages: for whom they are, which one it is, and how it is put together.

mod marks;
mod pages;
mod wishes;
