//! The PostgreSQL that `pg_config` names.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Error, Result};

/// Where Debian's packages put servers, each in a folder that is its major version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// An installed PostgreSQL: where its programs, libraries and shared files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// Its `pg_config`.
    pub pg_config: PathBuf,
    /// The folder of its programs.
    pub bindir: PathBuf,
    /// The folder of the libraries that the server loads.
    pub pkglibdir: PathBuf,
    /// The folder of the libraries that its programs are linked with.
    pub libdir: PathBuf,
    /// The folder of its shared files; extensions are in `extension` there.
    pub sharedir: PathBuf,
    /// Its major version, such as 15.
    pub major: u32,
}

impl Installation {
    /// The installation of the environment variable PG_CONFIG; without it of `pg_config` on the PATH, or the newest of
    /// those that Debian's packages have made.
    pub fn find() -> Result<Self> {
        Self::find_where(|_| true)
    }

    /// Likewise, but one that has an extension comes before one that has not.
    pub fn find_with(extension: &str) -> Result<Self> {
        Self::find_where(|found| found.require_extension(extension).is_ok())
    }

    /// The first of these that is wanted, or else the first that there is.
    pub fn find_where(is_wanted: impl Fn(&Self) -> bool) -> Result<Self> {
        if let Some(program) = env::var_os("PG_CONFIG").filter(|program| !program.is_empty()) {
            return Self::at(Path::new(&program));
        }
        let on_path = Self::at(Path::new("pg_config"));
        if on_path.as_ref().is_ok_and(&is_wanted) {
            return on_path;
        }
        let mut packaged = packaged(Path::new(DEBIAN));
        match packaged.iter().position(is_wanted) {
            Some(at) => Ok(packaged.swap_remove(at)),
            None => on_path.or_else(|error| packaged.into_iter().next().ok_or(error)),
        }
    }

    /// The installation of one `pg_config`.
    pub fn at(pg_config: &Path) -> Result<Self> {
        let options = ["--version", "--bindir", "--pkglibdir", "--libdir", "--sharedir"];
        let output = Command::new(pg_config)
            .args(options)
            .output()
            .map_err(|source| Error::NoPgConfig { program: pg_config.to_owned(), source })?;
        let said = String::from_utf8_lossy(&output.stdout);
        let odd = || Error::OddPgConfig {
            program: pg_config.to_owned(),
            said: format!("{said}{}", String::from_utf8_lossy(&output.stderr)),
        };
        let lines: Vec<&str> = said.lines().collect();
        let &[version, bindir, pkglibdir, libdir, sharedir] = &lines[..] else { return Err(odd()) };
        let found = Self {
            pg_config: pg_config.to_owned(),
            bindir: bindir.into(),
            pkglibdir: pkglibdir.into(),
            libdir: libdir.into(),
            sharedir: sharedir.into(),
            major: major(version).ok_or_else(odd)?,
        };
        found.require(
            &found.program("postgres"),
            "This pg_config belongs to an installation without a server; install the server's package \
             (make setup), or set PG_CONFIG to the pg_config of a server.",
        )?;
        Ok(found)
    }

    /// One of its programs.
    pub fn program(&self, name: &str) -> PathBuf {
        self.bindir.join(name)
    }

    /// An error with instructions unless the extension is in it.
    pub fn require_extension(&self, name: &str) -> Result<()> {
        let remedy = format!(
            "Install the extension first: apt install ./postgresql-{}-howdah_*.deb, or make install PG_CONFIG={}",
            self.major,
            self.pg_config.display()
        );
        self.require(&self.pkglibdir.join(format!("{name}.so")), &remedy)?;
        self.require(&self.sharedir.join("extension").join(format!("{name}.control")), &remedy)
    }

    fn require(&self, file: &Path, remedy: &str) -> Result<()> {
        if file.exists() {
            Ok(())
        } else {
            Err(Error::Missing { file: file.to_owned(), remedy: remedy.to_owned() })
        }
    }
}

/// The servers in a folder with one for each major version, the newest first.
fn packaged(folder: &Path) -> Vec<Installation> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<_> =
        entries.filter_map(|entry| Installation::at(&entry.path().join("bin/pg_config")).ok()).collect();
    found.sort_by_key(|installation| std::cmp::Reverse(installation.major));
    found
}

/// The major version of `PostgreSQL 15.20 (Debian 15.20-0+deb12u1)` or `PostgreSQL 18beta1`.
fn major(version: &str) -> Option<u32> {
    let number = version.strip_prefix("PostgreSQL ")?;
    let end = number.find(|character: char| !character.is_ascii_digit()).unwrap_or(number.len());
    number[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read_from_any_build() {
        assert_eq!(major("PostgreSQL 15.20 (Debian 15.20-0+deb12u1)"), Some(15));
        assert_eq!(major("PostgreSQL 18beta1"), Some(18));
        assert_eq!(major("PostgreSQL 17devel"), Some(17));
        assert_eq!(major("MySQL 8"), None);
        assert_eq!(major("PostgreSQL"), None);
    }

    #[test]
    fn a_missing_pg_config_says_what_to_do() {
        let error = Installation::at(Path::new("/nonexistent/pg_config")).unwrap_err().to_string();
        assert!(error.contains("PG_CONFIG"), "{error}");
        let error = Installation::at(Path::new("/bin/true")).unwrap_err().to_string();
        assert!(error.contains("not understood"), "{error}");
    }
}
