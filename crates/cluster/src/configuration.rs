//! `postgresql.conf` and `pg_hba.conf`, both outside of the data folder: what is in there belongs to the
//! server's account, and where we are root we do not write among another account's files.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::folder::Folder;
use crate::{Error, Result};

/// Only the socket, which only the server's account and root can reach.
const ACCESS: &str = "\
# Whoever can enter the socket's folder is trusted.
local all all trust
local replication all trust
";

/// Writes both for the next start. Later settings override earlier ones of the same name, and all of them
/// what initdb has found out.
pub(crate) fn write(folder: &Folder, settings: &[(String, String)]) -> Result<()> {
    let access = folder.access();
    let mut text = format!("# Written anew at each start.\ninclude '{}'\n", "data/postgresql.conf");
    text.push_str(&line("hba_file", &access.to_string_lossy())?);
    for (name, value) in settings {
        text.push_str(&line(name, value)?);
    }
    write_file(&access, ACCESS)?;
    write_file(&folder.configuration(), &text)
}

/// Changes a setting until the next start, which writes the file anew. The server must be told to reload. What the file
/// was before.
pub(crate) fn append(folder: &Folder, name: &str, value: &str) -> Result<String> {
    let path = folder.configuration();
    let text = fs::read_to_string(&path).map_err(Error::file(&path, "read"))?;
    write_file(&path, &(text.clone() + &line(name, value)?))?;
    Ok(text)
}

/// Takes back what [`append`] has changed.
pub(crate) fn replace(folder: &Folder, text: &str) -> Result<()> {
    write_file(&folder.configuration(), text)
}

fn line(name: &str, value: &str) -> Result<String> {
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
    if name.is_empty() || !name.bytes().all(valid) || value.contains(['\n', '\r', '\0']) {
        return Err(Error::BadSetting { name: name.to_owned() });
    }
    let quoted = value.replace('\\', r"\\").replace('\'', "''");
    Ok(format!("{name} = '{quoted}'\n"))
}

/// Replaces a file as a whole. The server reads it as another user.
fn write_file(path: &Path, text: &str) -> Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, text).map_err(Error::file(&new, "write"))?;
    fs::set_permissions(&new, Permissions::from_mode(0o644)).map_err(Error::file(&new, "open up"))?;
    fs::rename(&new, path).map_err(Error::file(path, "write"))
}
