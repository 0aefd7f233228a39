//! Reading files of certificates and keys.
//!
//! What is checked is what is read: a file is opened once, and the check is of what was opened. Links are followed, as certbot and
//! Kubernetes put them everywhere.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use memchr::memmem;

use crate::pem::MAX_FILE;

/// Reads a file of certificates, which anybody may be able to read.
pub(crate) fn read_certificates(path: &Path) -> Result<Vec<u8>, String> {
    Ok(read("certificate file", path)?.0)
}

/// Reads a key. Its owner and its rights have to be as PostgreSQL wants them of its own.
pub(crate) fn read_key(path: &Path, server_uid: u32) -> Result<Vec<u8>, String> {
    let (bytes, about) = read(KEY_FILE, path)?;
    check_key(path, &about, server_uid)?;
    Ok(bytes)
}

/// Reads a file of certificates that has their key, too. One that has no key may be read by anybody.
pub(crate) fn read_both(path: &Path, server_uid: u32) -> Result<Vec<u8>, String> {
    let (bytes, about) = read("certificate file", path)?;
    if has_key(&bytes) {
        check_key(path, &about, server_uid)?;
    }
    Ok(bytes)
}

/// Whether there is a key in a file, or what looks like one.
fn has_key(bytes: &[u8]) -> bool {
    memmem::find(bytes, b"PRIVATE KEY").is_some()
}

const KEY_FILE: &str = "private key file";

fn read(what: &str, path: &Path) -> Result<(Vec<u8>, Metadata), String> {
    let name = path.display();
    let failed = |error: io::Error| format!("could not access {what} \"{name}\": {}", reason(&error));
    // Opening a pipe or a device would wait for whoever is at its other end.
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    if !about.is_file() {
        return Err(format!("{what} \"{name}\" is not a regular file"));
    }
    let bytes = read_bounded(file).map_err(failed)?;
    if bytes.len() > MAX_FILE {
        return Err(format!("{what} \"{name}\" is larger than {MAX_FILE} bytes"));
    }
    Ok((bytes, about))
}

/// Reads one byte more than may be, so that what is too large is seen to be.
fn read_bounded(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_FILE as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The rules of PostgreSQL for `ssl_key_file`, and their messages (`check_ssl_key_file_permissions` in be-secure-common.c).
fn check_key(path: &Path, about: &Metadata, server_uid: u32) -> Result<(), String> {
    let (name, owner) = (path.display(), about.uid());
    if owner != server_uid && owner != 0 {
        return Err(format!(
            "{KEY_FILE} \"{name}\" must be owned by the database user or root; mend it by: chown {server_uid} '{name}'"
        ));
    }
    let (forbidden, mode) = if owner == server_uid { (0o077, 600) } else { (0o037, 640) };
    if about.mode() & forbidden != 0 {
        return Err(format!(
            "{KEY_FILE} \"{name}\" has group or world access. File must have permissions u=rw (0600) or less if owned by the \
             database user, or permissions u=rw,g=r (0640) or less if owned by root; mend it by: chmod {mode} '{name}'"
        ));
    }
    Ok(())
}

/// What an error is, in the words of PostgreSQL's `%m`.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
