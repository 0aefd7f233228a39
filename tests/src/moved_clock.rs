//! A clock that a test sets, of one server alone.

use std::fs::{File, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use cluster::Options;

/// The clock; its files go with the value.
pub struct MovedClock {
    folder: tempfile::TempDir,
    file: File,
}

impl MovedClock {
    /// One that shows the time.
    ///
    /// # Panics
    /// If it cannot be made.
    pub fn start() -> MovedClock {
        let folder = tempfile::Builder::new()
            .prefix("howdah-clock-")
            .permissions(PermissionsExt::from_mode(0o711))
            .tempdir()
            .expect("a folder");
        let file = File::create(folder.path().join("later")).expect("a file");
        file.set_permissions(Permissions::from_mode(0o644)).expect("all may read it");
        let clock = MovedClock { folder, file };
        clock.set(0);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/moved_clock.c");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror"])
            .arg(source)
            .arg("-o")
            .arg(clock.library())
            .arg("-ldl")
            .status();
        assert!(built.expect("cc runs").success(), "the library is built");
        clock
    }

    fn library(&self) -> String {
        self.folder.path().join("moved_clock.so").display().to_string()
    }

    /// The options of a server that goes by it.
    pub fn options(&self) -> Options {
        let later = self.folder.path().join("later").display().to_string();
        let environment = vec![("LD_PRELOAD".to_owned(), self.library()), ("HOWDAH_CLOCK".to_owned(), later)];
        Options { environment, ..Options::default() }
    }

    /// Sets it to so many seconds after what it is.
    ///
    /// # Panics
    /// If its file cannot be written.
    pub fn set(&self, seconds: i64) {
        self.file.write_all_at(&(seconds * 1_000_000).to_ne_bytes(), 0).expect("the file is written");
    }
}
