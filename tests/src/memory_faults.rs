//! Functions of SQL's by which a test takes memory away from the process that runs it: `limit_memory(bytes)` lets the process
//! have so much address space more than it has, as on a machine that does not overcommit; `fail_allocation(n)` has one of
//! PostgreSQL's allocations fail, the one after `n` others.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use cluster::Installation;

use crate::Platform;

/// The library with the functions; the file goes with the value.
pub struct MemoryFaults(#[expect(dead_code)] tempfile::TempDir);

impl MemoryFaults {
    /// Builds the functions for the PostgreSQL that is tested, and creates them. Everybody may call them.
    pub fn install(platform: &Platform) -> MemoryFaults {
        let folder = tempfile::Builder::new()
            .prefix("howdah-faults-")
            .permissions(PermissionsExt::from_mode(0o711))
            .tempdir()
            .expect("a folder");
        let library = folder.path().join("memory_faults.so");
        build(&library);
        platform.sql(&format!(
            "create function limit_memory(bigint) returns void language c as '{0}';
             create function fail_allocation(bigint) returns void strict language c as '{0}'",
            library.display()
        ));
        MemoryFaults(folder)
    }
}

fn build(library: &Path) {
    let pg_config = Installation::find().expect("a PostgreSQL").pg_config;
    let headers = Command::new(pg_config).arg("--includedir-server").output().expect("pg_config runs");
    let headers = String::from_utf8(headers.stdout).expect("the path is text");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/memory_faults.c");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-I", headers.trim()])
        .arg(source)
        .arg("-o")
        .arg(library)
        .status()
        .expect("cc runs");
    assert!(built.success(), "the library is built");
}
