//! Standbys of a platform.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;

use cluster::{Life, Options, Shutdown, TemporaryCluster};

use crate::platform::{DATABASE, Platform};

/// Where the standby listens: the primary has the ports of 127.0.0.1.
pub const ADDRESS: &str = "127.0.0.2";

/// A standby of a platform, which listens on [`ADDRESS`].
pub fn standby_of(platform: &Platform) -> TemporaryCluster {
    let options = Options { preload: Some("howdah".into()), ..Options::default() }
        .set("howdah.databases", DATABASE)
        .set("howdah.listen_addresses", ADDRESS)
        // No fewer than the primary has.
        .set("max_prepared_transactions", 5)
        .set("max_worker_processes", 24);
    let mut standby = TemporaryCluster::start(options).expect("a cluster starts");
    standby.stop(Shutdown::Fast).expect("it stops");
    // The folder stays: the server's account cannot make it anew.
    for entry in fs::read_dir(standby.data()).expect("its data") {
        let path = entry.expect("a file").path();
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.expect("its data goes");
    }
    let mut backup = Command::new(platform.cluster.installation().program("pg_basebackup"));
    backup.arg("--pgdata").arg(standby.data()).args([
        "--write-recovery-conf",
        "--checkpoint=fast",
        "--no-sync",
    ]);
    backup.arg("--dbname").arg(platform.cluster.connection_string("postgres").expect("a socket"));
    backup.current_dir(standby.path());
    if let Some(account) = standby.account() {
        backup.uid(account.uid).gid(account.gid);
    }
    let backup = backup.output().expect("pg_basebackup runs");
    assert!(backup.status.success(), "{}", String::from_utf8_lossy(&backup.stderr));
    standby.start(Life::WithParent).expect("the standby starts");
    standby
}
