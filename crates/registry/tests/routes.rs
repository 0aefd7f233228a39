//! Counters of routes.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use registry::routes::{CLASSES, Known, Measured, Room, RouteCounters, RouteKey, RouteKind, Routes, Unrun};

use crate::zeroed;

fn routes(count: usize) -> Routes {
    Routes::new(zeroed::<RouteCounters>(count), &zeroed::<Room>(1)[0])
}

fn key(pattern: &str) -> RouteKey<'_> {
    RouteKey { database: 5, kind: RouteKind::Route, method: "GET", pattern }
}

/// The number of a pattern's counters, by a process that remembers nothing.
fn number(routes: &Routes, pattern: &str) -> Option<u32> {
    routes.number(&Cell::default(), || key(pattern), |_| {})
}

fn measured(total_us: u64) -> Measured {
    Measured { status: 200, total_us, sql_us: total_us, ..Measured::default() }
}

#[test]
fn a_route_has_one_number_for_every_process() {
    let routes = routes(4);
    let first = number(&routes, "/a");
    assert_eq!(number(&routes, "/a"), first);
    assert_ne!(number(&routes, "/b"), first);
    assert_eq!(routes.used(), 2);
}

#[test]
fn database_kind_and_method_tell_routes_apart() {
    let routes = routes(8);
    let other = [
        RouteKey { database: 6, ..key("/a") },
        RouteKey { kind: RouteKind::Handler, ..key("/a") },
        RouteKey { method: "POST", ..key("/a") },
    ];
    let mut numbers = vec![number(&routes, "/a")];
    numbers.extend(other.map(|other| routes.number(&Cell::default(), || other, |_| {})));
    assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), 4);
    assert_eq!(routes.of(5).count(), 3);
}

#[test]
fn what_is_remembered_is_not_looked_for_again() {
    let routes = routes(2);
    let known = Cell::<Known>::default();
    let first = routes.number(&known, || key("/a"), |_| {});
    let again = routes.number(&known, || panic!("it was looked for"), |_| {});
    assert_eq!(first, again);
}

#[test]
fn a_number_that_was_given_back_is_noticed() {
    let routes = routes(1);
    let known = Cell::<Known>::default();
    assert_eq!(routes.number(&known, || key("/a"), |_| {}), Some(0));
    routes.give_back(|_, _| true);
    assert_eq!(number(&routes, "/b"), Some(0));
    assert_eq!(routes.number(&known, || key("/a"), |_| {}), None, "it is another's now");
}

#[test]
fn the_first_that_finds_no_place_is_told_and_no_other() {
    let routes = routes(1);
    number(&routes, "/a");
    let told = Cell::new(0);
    let find = |pattern| routes.number(&Cell::default(), || key(pattern), |_| told.set(told.get() + 1));
    assert_eq!([find("/b"), find("/c"), find("/b")], [None, None, None]);
    assert_eq!(told.get(), 1);
    assert!(routes.has_overflowed());
    routes.give_back(|_, _| true);
    assert!(!routes.has_overflowed());
    assert_eq!([find("/b"), find("/c")], [Some(0), None]);
    assert_eq!(told.get(), 2);
}

#[test]
fn whoever_has_found_no_place_looks_again_once_one_is_free() {
    let routes = routes(1);
    number(&routes, "/a");
    let known = Cell::<Known>::default();
    assert_eq!(routes.number(&known, || key("/b"), |_| {}), None);
    assert_eq!(routes.number(&known, || panic!("nothing has changed"), |_| {}), None);
    routes.give_back(|_, _| true);
    assert_eq!(routes.number(&known, || key("/b"), |_| {}), Some(0));
}

#[test]
fn a_route_that_no_table_names_is_gone_since_then() {
    let routes = routes(2);
    let (a, b) = (number(&routes, "/a").expect("a place"), number(&routes, "/b").expect("a place"));
    routes.name(5, &HashSet::from([a]), 100);
    routes.name(5, &HashSet::from([a]), 200);
    let gone = |number: u32| routes.get(number as usize).gone_for(300);
    assert_eq!((gone(a), gone(b)), (None, Some(200)));
    routes.name(5, &HashSet::from([a, b]), 400);
    assert_eq!(gone(b), None, "it has come again");
}

#[test]
fn tables_of_one_database_say_nothing_of_another() {
    let routes = routes(1);
    number(&routes, "/a");
    routes.name(6, &HashSet::new(), 100);
    assert_eq!(routes.get(0).gone_for(300), None);
}

#[test]
fn requests_are_counted_by_class_of_status() {
    let routes = routes(1);
    number(&routes, "/a");
    let counters = routes.get(0);
    for status in [100, 200, 204, 301, 404, 499, 500, 599, 999] {
        counters.record(&Measured { status, ..measured(10) });
    }
    assert_eq!(counters.statuses.each_ref().map(|count| count.load(SeqCst)), [3, 1, 2, 3]);
}

#[test]
fn times_are_counted_by_their_powers_of_two() {
    let routes = routes(1);
    number(&routes, "/a");
    let counters = routes.get(0);
    for (time, class) in
        [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (1023, 10), (1024, 11), (u64::MAX, CLASSES - 1)]
    {
        let before = counters.histogram[class].load(SeqCst);
        counters.record(&Measured { sql_us: 0, ..measured(time) });
        assert_eq!(counters.histogram[class].load(SeqCst), before + 1, "{time} µs");
    }
}

#[test]
fn the_average_follows_what_is_newest() {
    let routes = routes(1);
    number(&routes, "/a");
    let counters = routes.get(0);
    assert_eq!(counters.mean_us(), None);
    counters.record(&measured(100));
    assert_eq!(counters.mean_us(), Some(100.0));
    (0..200).for_each(|_| counters.record(&measured(1000)));
    assert!(counters.mean_us().is_some_and(|mean| mean > 990.0));
    counters.record_unrun(&Unrun { status: 503, cancelled: false, waited: Duration::from_secs(9) });
    assert!(counters.mean_us().is_some_and(|mean| mean <= 1000.0), "what has not run says nothing");
}

#[test]
fn what_has_not_run_counts_as_waiting() {
    let routes = routes(1);
    number(&routes, "/a");
    let counters = routes.get(0);
    counters.record_unrun(&Unrun { status: 504, cancelled: true, waited: Duration::from_micros(70) });
    let counts =
        [&counters.unrun, &counters.cancelled, &counters.queue_us, &counters.queue_max_us, &counters.sql_us];
    assert_eq!(counts.map(|count| count.load(SeqCst)), [1, 1, 70, 70, 0]);
}

#[test]
fn a_status_is_corrected_where_its_client_got_another() {
    let routes = routes(1);
    number(&routes, "/a");
    let counters = routes.get(0);
    counters.record(&measured(10));
    counters.correct(200, 503);
    assert_eq!(counters.statuses.each_ref().map(|count| count.load(SeqCst)), [0, 0, 0, 1]);
    // One that was never counted does not become less than none.
    counters.correct(404, 503);
    assert_eq!(counters.statuses.each_ref().map(|count| count.load(SeqCst)), [0, 0, 0, 1]);
}

#[test]
fn a_reason_why_it_cannot_be_served_is_news_once() {
    let routes = routes(1);
    number(&routes, "/a");
    let counters = routes.get(0);
    assert!(counters.break_down("no function") && !counters.break_down("no function"));
    assert_eq!(counters.reason().as_deref(), Some("no function"));
    assert!(counters.break_down("another"));
    counters.record(&measured(10));
    assert_eq!(counters.reason(), None, "it has answered");
}

#[test]
fn the_next_route_begins_with_nothing() {
    let routes = routes(1);
    number(&routes, "/a");
    let counters = routes.get(0);
    counters.record(&measured(1000));
    counters.break_down("broken");
    counters.inline_overruns.store(3, SeqCst);
    counters.inline_unfit.store(3, SeqCst);
    routes.give_back(|_, counters| counters.label().2 == "/a");
    assert_eq!(routes.used(), 0);
    number(&routes, "/b");
    assert_eq!((counters.mean_us(), counters.reason()), (None, None));
    let all = counters
        .statuses
        .iter()
        .chain(&counters.histogram)
        .chain([&counters.total_us, &counters.inline_unfit]);
    assert!(all.into_iter().all(|count| count.load(SeqCst) == 0));
    assert_eq!(counters.inline_overruns.load(SeqCst), 0);
}

#[test]
fn what_is_looked_for_in_vain_is_looked_for_seldom_until_it_is_found() {
    let routes = routes(2);
    let counters = routes.get(number(&routes, "/a").expect("a number") as usize);
    let run = |finds: bool| {
        let is_to_find_out = counters.is_to_find_out();
        match finds {
            _ if !is_to_find_out => {}
            true => counters.clear_obstacle(),
            false => counters.obstruct(7, || "the time".into()),
        }
        is_to_find_out
    };
    assert!((0..64).all(|_| run(false)));
    let seldom = (0..1600).filter(|_| run(false)).count();
    assert!((90..=110).contains(&seldom), "{seldom} of 1,600");
    assert_eq!(counters.obstacle().as_deref(), Some("the time"));
    // The first that finds it ends that.
    while !run(true) {}
    assert!((0..100).all(|_| run(true)) && counters.obstacle().is_none());
    // One client that asks for what cannot be kept does not have the others' runs left out.
    assert!((0..1000).all(|asked| run(asked % 32 == 0)));
}

#[test]
fn bytes_that_gateways_keep_are_their_sum() {
    let routes = routes(2);
    let counters = routes.get(number(&routes, "/a").expect("a number") as usize);
    counters.keep_bytes(0, 100);
    counters.keep_bytes(0, 50);
    counters.keep_bytes(100, 20);
    assert_eq!(counters.cached_bytes.load(SeqCst), 70);
    counters.keep_bytes(50, 0);
    // One whose counters were given back and are another's.
    counters.keep_bytes(90, 0);
    assert_eq!(counters.cached_bytes.load(SeqCst), 0);
}
