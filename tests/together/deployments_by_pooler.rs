//! Deployments through a pooler that gives each transaction another session.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};

use howdah_tests::application::{Application, ITEMS, text};
use howdah_tests::platform::DATABASE;
use howdah_tests::{free_port, wait_for};

/// pgbouncer, which ends with this.
struct Pooler(Child);

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn program() -> PathBuf {
    let known = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].map(PathBuf::from);
    known.into_iter().find(|path| path.exists()).unwrap_or_else(|| "pgbouncer".into())
}

#[test]
fn a_pooler_in_transaction_mode_is_gone_through() {
    let shop = Application::of(&[
        ITEMS,
        ("views/v.sql", "create view v as select id from item;\n"),
        ("routes.sql", "\n"),
        ("tests/t.sql", "select count(*) = 0 from v;\n"),
    ]);
    let port = free_port();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let socket = shop.platform.cluster.path().join("socket");
    fs::write(folder.join("users"), "\"postgres\" \"\"\n").unwrap();
    let settings = format!(
        "[databases]\n{DATABASE} = host={} port=5432 dbname={DATABASE} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
         unix_socket_dir =\nauth_type = any\nauth_file = {}\npool_mode = transaction\ndefault_pool_size = 4\n\
         server_round_robin = 1\nignore_startup_parameters = extra_float_digits\n",
        socket.display(),
        folder.join("users").display()
    );
    fs::write(folder.join("ini"), settings).unwrap();
    let mut pooler = Command::new(program());
    pooler.arg("-q").arg(folder.join("ini"));
    // It does not run as root.
    pooler.args(["-u", "postgres"]);
    Command::new("chmod").args(["-R", "a+rX"]).arg(folder).status().unwrap();
    let _pooler = Pooler(pooler.spawn().unwrap());
    wait_for("the pooler listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    let to = format!("host=127.0.0.1 port={port} user=postgres dbname={DATABASE} sslmode=disable");
    let run = |task: &str, more: &[&str]| {
        let mut command = Command::new(howdah_tests::command());
        command.args([task, "--app"]).arg(shop.folder.path()).args(["--to", &to]).args(more);
        command.env("HOWDAH_LOCKS", "60").output().unwrap()
    };
    for (task, more, told) in [
        ("plan", &[][..], "Nothing of it was kept"),
        ("deploy", &["--watch", "0.5"], "Deployed as number 1."),
        ("deploy", &[], "Nothing has changed since deployment 1."),
        ("history", &[], "deployed_by"),
        ("status", &[], "shop"),
    ] {
        for _ in 0..3 {
            let output = run(task, more);
            let said = text(&output.stdout);
            assert!(output.status.success(), "{task}: {said}{}", text(&output.stderr));
            assert!(said.contains(told) || said.contains("Nothing has changed"), "{task}: {said}");
        }
    }
    shop.write("migrations/2.sql", "alter table item add column n int;\n");
    shop.write("views/v.sql", "create view v as select n from item;\n");
    assert!(text(&run("deploy", &[]).stdout).contains("Deployed as number 2."));
    assert!(text(&run("rollback", &[]).stdout).contains("Deployed as number 3."));
}
