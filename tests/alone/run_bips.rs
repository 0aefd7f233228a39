//! `make run-bips` does what it says, with few records.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use howdah_tests::{command, free_port};

fn run_bips(data: &Path, port: u16, lines: u16) -> String {
    let stage = std::env::var("HOWDAH_STAGE").expect("HOWDAH_STAGE names a build of the extension");
    let output = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/run-bips"))
        .arg(command())
        .arg(stage)
        .env("DATA", data)
        .env("PORT", port.to_string())
        .env("LINES_PORT", lines.to_string())
        .env("RECORDS", "5000")
        .output()
        .expect("the script");
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    said
}

#[test]
fn records_are_loaded_and_drained_on_the_ports_that_are_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).expect("others may enter");
    let data = folder.path().join("platform");
    let port = free_port();
    // The second time nothing is loaded again, but the port is another.
    for lines in [free_port(), free_port()] {
        let said = run_bips(&data, port, lines);
        assert!(said.contains("Loaded 5,000 lines"), "{said}");
        assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err(), "the platform is stopped");
    }
}
