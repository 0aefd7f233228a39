//! The setting, and the files that it leads to.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use tls::places::{Found, parse};

/// A folder of a test, and the user who runs it.
pub(crate) struct Folder {
    pub root: TempDir,
    pub user: u32,
}

impl Folder {
    pub(crate) fn new() -> Folder {
        let root = tempfile::tempdir().unwrap();
        let user = root.path().metadata().unwrap().uid();
        Folder { root, user }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Writes a file that has its own name in it, a key's with the rights of one.
    pub(crate) fn write(&self, name: &str) {
        let is_key = name.contains("key");
        self.write_bytes(
            name,
            if is_key { format!("PRIVATE KEY-----{name}") } else { name.to_owned() }.as_bytes(),
        );
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(if is_key { 0o600 } else { 0o644 }))
            .unwrap();
    }

    pub(crate) fn write_bytes(&self, name: &str, bytes: &[u8]) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), bytes).unwrap();
    }

    pub(crate) fn link(&self, name: &str, target: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        symlink(target, self.path(name)).unwrap();
    }

    /// What an entry finds, each `%` of which stands for this folder.
    pub(crate) fn read(&self, entry: &str) -> Vec<Found> {
        let entry = entry.replace('%', self.root.path().to_str().unwrap());
        let places = parse(&entry).unwrap();
        assert_eq!(places.len(), 1);
        places[0].read(self.user)
    }

    pub(crate) fn reason(&self, entry: &str) -> String {
        let mut found = self.read(entry);
        assert_eq!(found.len(), 1, "{found:?}");
        let reason = found.remove(0).files.unwrap_err();
        reason.replace(self.root.path().to_str().unwrap(), "%")
    }

    fn chmod(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }
}

#[test]
fn entries_are_pairs_files_and_folders_for_one_database_or_all() {
    let places = parse(" /a.pem : /a.key , shop = /b.pem,/c=d , my=/e=f.pem:/g ,").unwrap();
    let databases: Vec<_> = places.iter().map(|place| place.database.as_deref()).collect();
    assert_eq!(databases, [None, Some("shop"), None, Some("my")]);
    assert!(places[1].is_for("shop") && !places[1].is_for("Shop") && places[0].is_for("anything"));
    assert_eq!(parse("/a.pem:/a.key").unwrap()[0], places[0]);
    assert_eq!(parse("").unwrap(), []);
    assert_eq!(parse(" , ").unwrap(), []);
    let found = &places[3].read(0)[0];
    assert_eq!(
        (found.certificate_file.as_path(), found.key_file.as_deref()),
        (Path::new("/e=f.pem"), Some(Path::new("/g")))
    );
}

#[test]
fn a_bad_entry_is_named_with_what_is_wrong() {
    let cases = [
        ("a.pem", "\"a.pem\" has a relative path, \"a.pem\""),
        ("/x, ./a.pem:/b", "\"./a.pem:/b\" has a relative path, \"./a.pem\""),
        ("/a.pem:b.key", "\"/a.pem:b.key\" has a relative path, \"b.key\""),
        ("shop=a.pem", "\"shop=a.pem\" has a relative path, \"a.pem\""),
        ("=/a.pem", "\"=/a.pem\" names no database"),
        (" = /a.pem", "names no database"),
        ("shop=", "\"shop=\" lacks a path"),
        ("/a.pem:", "\"/a.pem:\" lacks a path"),
        (":/a.key", "lacks a path"),
        ("/a:/b:/c", "two colons"),
    ];
    for (setting, expected) in cases {
        let reason = parse(setting).unwrap_err();
        assert!(reason.contains(expected), "{reason}");
    }
}

#[test]
fn pairs_and_files_are_read_and_may_be_the_default() {
    let folder = Folder::new();
    folder.write("a.pem");
    folder.write("a.key");
    folder.write("both-key.pem");
    let found = folder.read("%/a.pem:%/a.key");
    assert!(found[0].may_be_default);
    assert_eq!(found[0].files, Ok((b"a.pem".to_vec(), Some(b"PRIVATE KEY-----a.key".to_vec()))));
    for entry in ["%/both-key.pem", "%/both-key.pem:%/both-key.pem", "shop=%/both-key.pem"] {
        let found = folder.read(entry);
        assert!(found[0].may_be_default && found[0].key_file.is_none());
        assert_eq!(found[0].files, Ok((b"PRIVATE KEY-----both-key.pem".to_vec(), None)));
    }
}

#[test]
fn a_key_that_others_can_read_is_refused_as_postgresql_does() {
    let folder = Folder::new();
    folder.write("a.pem");
    folder.write("a.key");
    folder.write("both-key.pem");
    for mode in [0o600, 0o400, 0o700] {
        folder.chmod("a.key", mode);
        assert!(folder.read("%/a.pem:%/a.key")[0].files.is_ok(), "{mode:o}");
    }
    for mode in [0o640, 0o604, 0o610, 0o620, 0o601, 0o602, 0o644] {
        folder.chmod("a.key", mode);
        folder.chmod("both-key.pem", mode);
        let reason = folder.reason("%/a.pem:%/a.key");
        assert!(
            reason.starts_with("private key file \"%/a.key\" has group or world access. File must"),
            "{reason}"
        );
        assert!(reason.ends_with("mend it by: chmod 600 '%/a.key'"), "{reason}");
        assert!(folder.reason("%/both-key.pem").contains("has group or world access"), "{mode:o}");
    }
}

/// Another user's number stands for that of the server, as a test cannot give files away unless it is root.
#[test]
fn a_key_of_another_user_is_refused_unless_that_is_root() {
    let mut folder = Folder::new();
    folder.write("a.pem");
    folder.write("a.key");
    let owner = folder.user;
    folder.user = 4_000_000;
    let entry = "%/a.pem:%/a.key";
    if owner != 0 {
        let reason = folder.reason(entry);
        assert!(
            reason.contains("must be owned by the database user or root; mend it by: chown 4000000 "),
            "{reason}"
        );
        return;
    }
    folder.chmod("a.key", 0o640);
    assert!(folder.read(entry)[0].files.is_ok());
    for mode in [0o660, 0o650, 0o644] {
        folder.chmod("a.key", mode);
        assert!(folder.reason(entry).ends_with("chmod 640 '%/a.key'"));
    }
    std::os::unix::fs::chown(folder.path("a.key"), Some(4_000_001), None).unwrap();
    folder.chmod("a.key", 0o600);
    assert!(folder.reason(entry).contains("must be owned by the database user or root"));
}

#[test]
fn a_file_without_a_key_may_be_read_by_anybody() {
    let folder = Folder::new();
    folder.write("a.pem");
    assert!(folder.read("%/a.pem")[0].files.is_ok());
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let folder = Folder::new();
    folder.write("a.pem");
    let made = Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap();
    assert!(made.success());
    fs::create_dir(folder.path("folder")).unwrap();
    folder.link("zero", "/dev/zero");
    let cases = [
        ("%/pipe", "certificate file \"%/pipe\" is not a regular file"),
        ("%/zero", "certificate file \"%/zero\" is not a regular file"),
        ("%/a.pem:%/pipe", "private key file \"%/pipe\" is not a regular file"),
        ("%/a.pem:%/folder", "private key file \"%/folder\" is not a regular file"),
        ("%/pipe:%/a.pem", "certificate file \"%/pipe\" is not a regular file"),
        ("%/none", "could not access certificate file \"%/none\": No such file or directory"),
        ("%/a.pem:%/none", "could not access private key file \"%/none\": No such file or directory"),
        ("%/a.pem/x", "could not access certificate file \"%/a.pem/x\": Not a directory"),
    ];
    for (entry, expected) in cases {
        assert_eq!(folder.reason(entry), expected);
    }
}

#[test]
fn links_are_followed_and_circles_are_not() {
    let folder = Folder::new();
    folder.write("real/a.pem");
    folder.write("real/a.key");
    folder.link("first", "real");
    folder.link("a.pem", "first/a.pem");
    folder.link("a.key", "first/a.key");
    folder.link("circle", "circle");
    assert!(folder.read("%/a.pem:%/a.key")[0].files.is_ok());
    assert!(folder.reason("%/circle").contains("Too many levels of symbolic links"));
}

#[test]
fn a_file_that_is_too_large_is_refused() {
    let folder = Folder::new();
    folder.write_bytes("a.pem", &vec![b'\n'; tls::pem::MAX_FILE]);
    assert!(folder.read("%/a.pem")[0].files.is_ok());
    folder.write_bytes("a.pem", &vec![b'\n'; tls::pem::MAX_FILE + 1]);
    assert_eq!(folder.reason("%/a.pem"), "certificate file \"%/a.pem\" is larger than 1048576 bytes");
}
