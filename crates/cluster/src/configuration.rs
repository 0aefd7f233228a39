//! `postgresql.conf` and `pg_hba.conf`.

use std::fs;
use std::path::Path;

use crate::account::Account;
use crate::folder::give;
use crate::{Error, Result};

/// Only the socket, which only the server's account and root can reach.
const ACCESS: &str =
    "# Whoever can enter the socket's folder is trusted.\nlocal all all trust\nlocal replication all trust\n";
const INCLUDED: &str = "howdah.conf";

/// Writes both for a data folder that initdb has just made.
pub(crate) fn initialize(data: &Path, account: Option<&Account>) -> Result<()> {
    write(&data.join("pg_hba.conf"), ACCESS, account)?;
    let main = data.join("postgresql.conf");
    let text = fs::read_to_string(&main).map_err(Error::file(&main, "read"))?;
    let include = format!("{text}\n# Written anew at each start.\ninclude '{INCLUDED}'\n");
    write(&main, &include, account)
}

/// Writes the settings of this start. Later ones override earlier ones of the same name.
pub(crate) fn write_settings(
    data: &Path,
    settings: &[(String, String)],
    account: Option<&Account>,
) -> Result<()> {
    let mut text = String::new();
    for (name, value) in settings {
        let valid = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.');
        if !valid || value.contains(['\n', '\r', '\0']) {
            return Err(Error::BadSetting { name: name.clone() });
        }
        let quoted = value.replace('\\', r"\\").replace('\'', "''");
        text.push_str(&format!("{name} = '{quoted}'\n"));
    }
    write(&data.join(INCLUDED), &text, account)
}

fn write(path: &Path, text: &str, account: Option<&Account>) -> Result<()> {
    fs::write(path, text).map_err(Error::file(path, "write"))?;
    give(path, account)
}
