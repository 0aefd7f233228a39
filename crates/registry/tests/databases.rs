//! What is known of a database.

use std::sync::atomic::Ordering::SeqCst;

use registry::Lane;
use registry::databases::{Database, DatabaseState, LINE_KINDS};

use crate::zeroed;

use DatabaseState::*;

fn database() -> &'static Database {
    let database: &Database = &zeroed(1)[0];
    database.begin("app");
    database
}

#[test]
fn an_entry_is_unused_at_first_and_nobody_is_listed() {
    let database: &Database = &zeroed(1)[0];
    assert!(database.is_unused() && !database.is_listed() && !database.is_there());
    assert_eq!(database.oid(), 0);
}

#[test]
fn a_database_begins_as_missing() {
    let database = database();
    assert_eq!((database.name.get().as_str(), database.state(), database.oid()), ("app", Missing, 0));
    assert!(database.is_listed() && !database.is_there());
}

#[test]
fn whoever_sets_the_state_hears_of_the_one_before() {
    let database = database();
    assert_eq!(database.set_state(Probing), Missing);
    assert_eq!(database.set_state(Serving), Probing);
    assert!(database.is_there());
}

#[test]
fn a_worker_reports_what_it_has_found_inside() {
    for known in [Probing, Serving, NoExtension, WrongVersion] {
        let database = database();
        database.set_state(known);
        database.report(Serving);
        assert_eq!(database.state(), Serving, "{known:?}");
    }
}

#[test]
fn a_report_is_void_where_the_supervisor_knows_better() {
    for known in [Unused, Missing, Closed, WrongEncoding, Draining] {
        let database = database();
        database.set_state(known);
        database.report(Serving);
        assert_eq!(database.state(), known);
    }
}

#[test]
fn another_database_gets_nothing_of_the_one_before() {
    let database = database();
    database.set_oid(5);
    database.set_state(Serving);
    database.is_drained.store(true, SeqCst);
    // Its allowance is used up.
    while database.log[0].take(Some(1), 1) {}
    assert!(!database.log[0].take(Some(1), 1));
    database.begin("other");
    assert_eq!((database.name.get().as_str(), database.oid(), database.state()), ("other", 0, Missing));
    assert!(!database.is_drained.load(SeqCst));
    assert!(database.log[0].take(Some(1), 1));
}

#[test]
fn kinds_of_lines_take_nothing_from_each_other() {
    let database = database();
    while database.log[LINE_KINDS[0] as usize].take(Some(1), 1) {}
    assert!(LINE_KINDS[1..].iter().all(|kind| database.log[*kind as usize].take(Some(1), 1)));
}

#[test]
fn each_lane_wants_executors_of_its_own() {
    let database = database();
    database.executors_wanted(Lane::Ingest).store(3, SeqCst);
    assert_eq!(Lane::ALL.map(|lane| database.executors_wanted(lane).load(SeqCst)), [0, 3, 0]);
}

#[test]
fn every_state_has_a_word_of_its_own() {
    let all = [Unused, Probing, Serving, Missing, Closed, WrongEncoding, NoExtension, WrongVersion, Draining];
    let words = all.map(DatabaseState::word);
    assert!((1..words.len()).all(|place| !words[..place].contains(&words[place])), "{words:?}");
    let database = database();
    for state in all {
        database.set_state(state);
        assert_eq!(database.state(), state);
    }
}
