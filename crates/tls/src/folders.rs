//! Folders of certificates, as certbot, acme.sh, Kubernetes, mkcert and people make them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::files::reason;

/// What lies in a folder; more than a few thousand names are no folder of certificates.
const MAX_ENTRIES: usize = 10_000;

/// The files of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Files {
    pub certificate: PathBuf,
    /// None if the key is in the same file.
    pub key: Option<PathBuf>,
}

/// The files of a folder that is for one certificate by its form.
pub(crate) fn one(folder: &Path) -> Option<Files> {
    let is_there = |name: &str| folder.join(name).symlink_metadata().is_ok();
    // certbot, and what Kubernetes makes of a secret. One of the two may be gone for a moment, while it is being replaced.
    for (certificate, key) in [("fullchain.pem", "privkey.pem"), ("tls.crt", "tls.key")] {
        if is_there(certificate) || is_there(key) {
            return Some(Files { certificate: folder.join(certificate), key: Some(folder.join(key)) });
        }
    }
    // acme.sh, which makes the key long before there is a certificate.
    is_there("fullchain.cer")
        .then(|| Files { certificate: folder.join("fullchain.cer"), key: Some(key_of_acme_sh(folder)) })
}

/// `NAME.key` in `NAME` or `NAME_ecc`. In a folder that was given another name it is the first with that ending.
fn key_of_acme_sh(folder: &Path) -> PathBuf {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let named = folder.join(format!("{}.key", name.strip_suffix("_ecc").unwrap_or(&name)));
    if named.exists() {
        return named;
    }
    let others = entries(folder).unwrap_or_default();
    others.into_iter().find(|path| path.extension() == Some(OsStr::new("key"))).unwrap_or(named)
}

/// The files of a folder that may have any number of certificates: in folders of their own, or beside each other. A file whose key
/// has to be in it is among them, whether it has one or not.
pub(crate) fn many(folder: &Path) -> Result<Vec<Files>, String> {
    let mut all = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() {
            all.extend(one(&path).filter(|files| !is_leftover(&path, files)));
        } else {
            all.extend(beside(&path));
        }
    }
    Ok(all)
}

/// What certbot leaves when a certificate is removed by hand: `NAME-0001` whose links lead nowhere.
fn is_leftover(folder: &Path, files: &Files) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let is_number = |end: &str| end.len() == 4 && end.bytes().all(|byte| byte.is_ascii_digit());
    name.rsplit_once('-').is_some_and(|(_, end)| is_number(end)) && !files.certificate.exists()
}

/// The files of a certificate whose own file lies beside others: `NAME.pem` or `NAME.crt` with `NAME.key`, `NAME.pem` with
/// `NAME-key.pem`, or `NAME.pem` with the key in it. Where there are `NAME.crt` and `NAME.pem`, it is the latter, which has the
/// whole chain more often.
fn beside(path: &Path) -> Option<Files> {
    let name = path.file_stem()?.to_string_lossy();
    let ending = path.extension()?;
    let with_name = |name: String| Some(path.with_file_name(name)).filter(|path| path.exists());
    let key = with_name(format!("{name}.key")).or_else(|| with_name(format!("{name}-key.pem")));
    let is_certificate = match ending.to_str()? {
        "pem" => !is_key_of_another(path, &name),
        "crt" => key.is_some() && with_name(format!("{name}.pem")).is_none(),
        _ => false,
    };
    is_certificate.then(|| Files { certificate: path.to_owned(), key })
}

/// Whether it is `NAME-key.pem` of a `NAME.pem`.
fn is_key_of_another(path: &Path, name: &str) -> bool {
    name.strip_suffix("-key").is_some_and(|name| path.with_file_name(format!("{name}.pem")).exists())
}

/// What is in a folder and is not hidden, in the order of the names.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error| format!("could not open directory \"{}\": {}", folder.display(), reason(&error));
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        if paths.len() == MAX_ENTRIES {
            return Err(format!("directory \"{}\" has more than {MAX_ENTRIES} entries", folder.display()));
        }
        let entry = entry.map_err(failed)?;
        // Kubernetes keeps what its links lead to in `..data`.
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}
