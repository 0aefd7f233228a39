//! A pooler that gives each transaction another session.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use cluster::TemporaryCluster;

use crate::platform::{DATABASE, free_port, wait_for};

/// pgbouncer, which ends with this.
pub struct Pooler(Child);

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Pooler {
    /// One in transaction mode, and its port; it drops these of what a client says at the start.
    pub fn start(cluster: &TemporaryCluster, folder: &Path, ignored: &str) -> (Pooler, u16) {
        let port = free_port();
        let socket = cluster.path().join("socket");
        fs::write(folder.join("users"), "\"postgres\" \"\"\n").unwrap();
        let settings = format!(
            "[databases]\n{DATABASE} = host={} port=5432 dbname={DATABASE} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\nauth_type = any\nauth_file = {}\npool_mode = transaction\ndefault_pool_size = 4\n\
             server_round_robin = 1\nignore_startup_parameters = {ignored}\n",
            socket.display(),
            folder.join("users").display()
        );
        fs::write(folder.join("ini"), settings).unwrap();
        let mut pooler = Command::new(program());
        pooler.arg("-q").arg(folder.join("ini"));
        // It does not run as root.
        pooler.args(["-u", "postgres"]);
        Command::new("chmod").args(["-R", "a+rX"]).arg(folder).status().unwrap();
        let pooler = Pooler(pooler.spawn().unwrap());
        wait_for("the pooler listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        (pooler, port)
    }
}

fn program() -> PathBuf {
    let known = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].map(PathBuf::from);
    known.into_iter().find(|path| path.exists()).unwrap_or_else(|| "pgbouncer".into())
}
