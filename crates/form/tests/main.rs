//! Forms, cookies and addresses.

mod hunts;
mod multipart;
mod random_bytes;
