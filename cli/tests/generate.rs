//! `howdah generate`: records of a fixed shape, the same for the same seed.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output};

use flate2::read::GzDecoder;

fn generate(folder: &Path, out: &str, seed: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_howdah"))
        .args(["generate", "bips", "--records", "3000", "--seed", seed, "--out", out])
        .current_dir(folder)
        .output()
        .unwrap()
}

#[test]
fn the_same_seed_gives_the_same_bytes_plain_and_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let made = |out: &str, seed: &str| {
        let output = generate(folder.path(), out, seed);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("Wrote 3,000 records to {out}.\n"));
        fs::read(folder.path().join(out)).unwrap()
    };
    let plain = made("a.ndjson", "7");
    assert_eq!(plain.iter().filter(|byte| **byte == b'\n').count(), 3000);
    assert!(plain == made("b.ndjson", "7"));
    assert!(plain != made("b.ndjson", "8"));
    assert!(made("a.gz", "7") == made("b.gz", "7"));

    let mut text = Vec::new();
    GzDecoder::new(File::open(folder.path().join("a.gz")).unwrap()).read_to_end(&mut text).unwrap();
    assert!(text == plain);
    assert!(zstd::decode_all(made("a.zst", "7").as_slice()).unwrap() == plain);
    assert!(generate(folder.path(), "-", "7").stdout == plain, "to the standard output");
}

#[test]
fn what_cannot_be_written_is_said_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("taken")).unwrap();
    for out in ["absent/a.gz", "taken"] {
        let output = generate(folder.path(), out, "1");
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(&format!("cannot write {out}: ")), "{said}");
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["taken"]);
}
