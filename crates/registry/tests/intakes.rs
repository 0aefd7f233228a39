//! Entries of listeners for lines, and of connections.

use std::sync::Barrier;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use registry::intakes::{IntakeEntry, Intakes, ShipperEntry};

use crate::zeroed;

fn intakes(count: usize) -> Intakes {
    Intakes { listeners: zeroed::<IntakeEntry>(count), shippers: zeroed::<ShipperEntry>(count) }
}

#[test]
fn a_listener_has_its_entry_until_it_is_given_back() {
    let intakes = intakes(1);
    let entry = intakes.take_listener(2, 5, 4000).expect("a place");
    assert_eq!((entry.gateway(5), entry.gateway(6), entry.port.load(SeqCst)), (Some(2), None, 4000));
    assert!(intakes.take_listener(3, 5, 4001).is_none(), "all are taken");
    entry.give_back();
    assert_eq!(entry.gateway(5), None);
    assert!(intakes.take_listener(3, 5, 4001).is_some());
}

#[test]
fn the_next_listener_finds_nothing_of_the_one_before() {
    let intakes = intakes(1);
    let entry = intakes.take_listener(0, 5, 4000).expect("a place");
    entry.error.set("something");
    entry.code.set("42501");
    entry.way.set("COPY");
    entry.error_at.store(7, SeqCst);
    entry.give_back();
    let entry = intakes.take_listener(1, 6, 4001).expect("a place");
    assert_eq!([entry.error.get(), entry.code.get(), entry.way.get()], ["", "", ""]);
    assert_eq!(entry.error_at.load(SeqCst), 0);
}

#[test]
fn a_gateway_that_ends_gives_back_all_of_its_own() {
    let intakes = intakes(4);
    for gateway in [0, 1] {
        assert!(intakes.take_listener(gateway, 5, 4000).is_some());
        assert!(intakes.take_shipper(gateway, 5).is_some());
    }
    intakes.release_all(0);
    let left = |count: usize| count == 1;
    assert!(left(intakes.listeners.iter().filter(|entry| entry.gateway(5).is_some()).count()));
    assert!(left(intakes.shippers.iter().filter(|entry| entry.gateway(5) == Some(1)).count()));
}

#[test]
fn an_executor_notes_the_way_at_the_listeners_of_its_database_and_port_alone() {
    let intakes = intakes(3);
    let ours = intakes.take_listener(0, 5, 4000).expect("a place");
    let port = intakes.take_listener(0, 5, 4001).expect("a place");
    let database = intakes.take_listener(1, 6, 4000).expect("a place");
    intakes.set_way(5, 4000, "COPY");
    assert_eq!([ours.way.get(), port.way.get(), database.way.get()], ["COPY", "", ""]);
}

#[test]
fn connections_that_find_no_entry_are_told() {
    let intakes = intakes(2);
    assert!(intakes.take_shipper(0, 5).is_some() && intakes.take_shipper(0, 5).is_some());
    assert!(intakes.take_shipper(0, 5).is_none());
}

#[test]
fn gateways_that_come_at_once_get_an_entry_each() {
    let intakes = intakes(64);
    let begin = Barrier::new(8);
    thread::scope(|scope| {
        for gateway in 0..8 {
            let (intakes, begin) = (&intakes, &begin);
            scope.spawn(move || {
                begin.wait();
                for port in 0..8 {
                    assert!(intakes.take_listener(gateway, 5, port).is_some());
                }
            });
        }
    });
    for gateway in 0..8 {
        let own = intakes.listeners.iter().filter(|entry| entry.gateway(5) == Some(gateway));
        assert_eq!(own.count(), 8, "gateway {gateway}");
    }
}
