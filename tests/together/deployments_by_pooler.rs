//! Deployments through a pooler that gives each transaction another session.

use std::process::Command;

use howdah_tests::application::{Application, ITEMS, text};
use howdah_tests::platform::DATABASE;
use howdah_tests::pooler::Pooler;

#[test]
fn a_pooler_in_transaction_mode_is_gone_through() {
    let shop = Application::of(&[
        ITEMS,
        ("views/v.sql", "create view v as select id from item;\n"),
        ("routes.sql", "\n"),
        ("tests/t.sql", "select count(*) = 0 from v;\n"),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let (_pooler, port) = Pooler::start(&shop.platform.cluster, folder.path(), "extra_float_digits");
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
    shop.write("tests/t.sql", "select count(*) = 0 from item;\n");
    shop.ok("deploy");

    // What would run in a session that is everybody's does not, whether the pooler refuses or drops what makes it the owner's.
    shop.write("migrations/3.sql", "create index concurrently item_name on item (name);\n");
    let other = tempfile::tempdir().unwrap();
    let (_other, other) = Pooler::start(&shop.platform.cluster, other.path(), "extra_float_digits, options");
    for port in [port, other] {
        let to = format!("host=127.0.0.1 port={port} user=postgres dbname={DATABASE} sslmode=disable");
        let mut command = Command::new(howdah_tests::command());
        let output =
            command.args(["deploy", "--app"]).arg(shop.folder.path()).args(["--to", &to]).output().unwrap();
        let said = text(&output.stderr);
        assert!(said.contains("needs a session of its own") && said.contains("no pooler between"), "{said}");
        assert_eq!(shop.value("select (to_regclass('shop.item_name') is null)::text"), "true");
        assert_eq!(
            shop.value(
                "select count(*)::text from pg_locks where locktype = 'object' and mode = 'ExclusiveLock'"
            ),
            "0"
        );
    }
    shop.ok("deploy");
}
