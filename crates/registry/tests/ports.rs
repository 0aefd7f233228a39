//! A port belongs to one database.

use std::sync::Barrier;
use std::thread;

use registry::{PortEntry, Ports, Refused};

fn ports(entries: usize) -> Ports {
    let entries: Vec<PortEntry> = std::iter::repeat_with(PortEntry::default).take(entries).collect();
    Ports::new(entries.leak())
}

const ONE: u32 = 16384;
const OTHER: u32 = 16385;

#[test]
fn gateways_of_a_database_share_an_address_that_no_other_database_gets() {
    let ports = ports(8);
    assert_eq!(ports.claim("127.0.0.1", 9000, ONE, 0), Ok(()));
    let others = |gateway| ports.others("127.0.0.1", 9000, ONE, gateway).collect::<Vec<_>>();
    assert!(others(0).is_empty());
    assert_eq!(others(1), [0]);
    assert_eq!(ports.claim("127.0.0.1", 9000, ONE, 1), Ok(()));
    assert_eq!(ports.claim("127.0.0.1", 9000, OTHER, 2), Err(Refused::Taken(ONE)));
    ports.release("127.0.0.1", 9000, 0);
    assert_eq!(ports.holder("127.0.0.1", 9000, OTHER), Some(ONE));
    ports.release_all(1);
    assert_eq!(ports.holder("127.0.0.1", 9000, OTHER), None);
    assert_eq!(ports.claim("127.0.0.1", 9000, OTHER, 2), Ok(()));
}

#[test]
fn a_wildcard_overlaps_with_every_address_of_its_port() {
    let overlapping = [
        ("0.0.0.0", "127.0.0.1"),
        ("127.0.0.1", "0.0.0.0"),
        ("::", "127.0.0.1"),
        ("::1", "::"),
        ("0.0.0.0", "::"),
        ("::1", "0.0.0.0"),
        ("127.0.0.1", "127.0.0.1"),
    ];
    for (first, second) in overlapping {
        let ports = ports(4);
        ports.claim(first, 9000, ONE, 0).unwrap();
        assert_eq!(ports.claim(second, 9000, OTHER, 1), Err(Refused::Taken(ONE)), "{first} and {second}");
        assert_eq!(ports.claim(second, 9001, OTHER, 1), Ok(()), "another port than {first}'s");
    }
    let ports = ports(4);
    ports.claim("127.0.0.1", 9000, ONE, 0).unwrap();
    assert_eq!(ports.claim("127.0.0.2", 9000, OTHER, 1), Ok(()));
}

#[test]
fn sockets_in_the_file_system_overlap_with_their_own_path_alone() {
    let ports = ports(4);
    ports.claim("/run/app/.s.HOWDAH.9000", 0, ONE, 0).unwrap();
    assert_eq!(ports.claim("/run/app/.s.HOWDAH.9000", 0, OTHER, 1), Err(Refused::Taken(ONE)));
    assert_eq!(ports.claim("/run/app/.s.HOWDAH.9001", 0, OTHER, 1), Ok(()));
}

#[test]
fn what_could_not_be_bound_is_told_and_keeps_nobody_away() {
    let ports = ports(4);
    ports.complain("127.0.0.1", 9000, ONE, 0, "permission denied");
    ports.complain("127.0.0.1", 9000, ONE, 0, "in use");
    let told = ports.of_database(ONE);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((told[0].port, told[0].error.as_deref()), (9000, Some("in use")));
    assert_eq!(ports.claim("127.0.0.1", 9000, OTHER, 1), Ok(()));
    ports.forget_complaint("127.0.0.1", 9000, 0);
    assert!(ports.of_database(ONE).is_empty());
    assert_eq!(ports.of_database(OTHER)[0].error, None);
}

#[test]
fn a_full_registry_says_so_and_goes_on_once_there_is_room() {
    let ports = ports(2);
    ports.claim("127.0.0.1", 1, ONE, 0).unwrap();
    ports.claim("127.0.0.1", 2, ONE, 0).unwrap();
    assert_eq!(ports.claim("127.0.0.1", 3, ONE, 0), Err(Refused::Full));
    // There is no room to note it in either.
    ports.complain("127.0.0.1", 3, ONE, 0, "full");
    assert_eq!(ports.of_database(ONE).len(), 2);
    ports.release("127.0.0.1", 1, 0);
    assert_eq!(ports.claim("127.0.0.1", 3, ONE, 0), Ok(()));
}

/// A claim stands before the others are looked at.
#[test]
fn of_two_databases_that_claim_at_once_never_both_succeed() {
    const ROUNDS: usize = 20_000;
    let (ports, barrier) = (ports(8), Barrier::new(2));
    let claim = |address: &'static str, database: u32, gateway: usize| {
        let (ports, barrier) = (&ports, &barrier);
        move || -> Vec<bool> {
            let mut results = Vec::with_capacity(ROUNDS);
            for _ in 0..ROUNDS {
                barrier.wait();
                results.push(ports.claim(address, 9000, database, gateway).is_ok());
                barrier.wait();
                ports.release_all(gateway);
            }
            results
        }
    };
    let (one, other) = thread::scope(|threads| {
        let one = threads.spawn(claim("127.0.0.1", ONE, 0));
        let other = threads.spawn(claim("0.0.0.0", OTHER, 1));
        (one.join().unwrap(), other.join().unwrap())
    });
    assert!(one.iter().zip(&other).all(|(one, other)| !(*one && *other)), "both databases got the port");
    assert!(one.iter().chain(&other).any(|got| *got), "nobody ever got it");
}
