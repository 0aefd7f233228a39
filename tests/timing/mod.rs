//! What is about time: the [`bounds`](howdah_tests::bounds) of tests in `together` and `alone`, where time is measured.

use std::collections::BTreeSet;
use std::env;
use std::process::{Command, Stdio};

use howdah_tests::bounds::{ALL, COUNTS};

/// Runs of a test, of which the best counts.
const RUNS: usize = 3;

/// The names of the tests that have bounds, of those whose names hold what was asked for.
fn tests_with_bounds() -> BTreeSet<&'static str> {
    let asked = env::var("ONE").unwrap_or_default();
    ALL.iter().flat_map(|bound| bound.tests).copied().filter(|test| test.contains(&asked)).collect()
}

/// Whether a test passes alone, with its bounds.
fn keeps_its_bounds(test: &str) -> bool {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args([test, "--exact", "--nocapture", "--include-ignored"])
        .env(COUNTS, "yes")
        .stdin(Stdio::null());
    let ran = command.output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    let errors = String::from_utf8_lossy(&ran.stderr);
    let bounds = said.lines().filter(|line| line.starts_with("bound: "));
    println!("{test}: {}", if ran.status.success() { "in time" } else { "TOO LATE" });
    bounds.for_each(|line| println!("  {}", &line["bound: ".len()..]));
    if !ran.status.success() {
        println!("{errors}");
    }
    ran.status.success()
}

#[test]
#[ignore = "time is measured alone: make test-timing"]
fn every_bound_holds() {
    let late: Vec<_> =
        tests_with_bounds().into_iter().filter(|test| !(0..RUNS).any(|_| keeps_its_bounds(test))).collect();
    assert!(late.is_empty(), "too late in {RUNS} runs: {late:#?}");
}

#[test]
fn each_bound_is_of_tests_that_are_there() {
    let listed = Command::new(env::current_exe().unwrap()).arg("--list").output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let names: BTreeSet<&str> = listed.lines().filter_map(|line| line.strip_suffix(": test")).collect();
    let is_there = |test: &&str| {
        names.contains(test) || (cfg!(not(feature = "long")) && test.starts_with("alone::many_databases::"))
    };
    let gone: Vec<_> = ALL.iter().flat_map(|bound| bound.tests).filter(|test| !is_there(test)).collect();
    assert!(gone.is_empty(), "no tests have these names: {gone:#?}");
}
