//! Answers that wait, as bytes in front of a response.

use dispatch::{Later, Ticket};

#[test]
fn what_is_written_is_read() {
    for any_row in [false, true] {
        let later = Later { queue: u32::MAX - 1, milliseconds: 60_000, arrivals: u64::MAX / 3, any_row };
        assert_eq!(Later::read(&later.write()), Some(later));
    }
}

#[test]
fn what_stands_behind_it_is_not_its() {
    let later = Later { queue: 3, milliseconds: 5, arrivals: 7, any_row: true };
    let bytes = [&later.write()[..], b"HTTP"].concat();
    assert_eq!(Later::read(&bytes), Some(later));
    assert_eq!(&bytes[Later::LENGTH..], b"HTTP");
}

#[test]
fn bytes_that_are_too_few_are_none() {
    let bytes = Later { queue: 3, milliseconds: 5, arrivals: 7, any_row: true }.write();
    for length in 0..Later::LENGTH {
        assert_eq!(Later::read(&bytes[..length]), None, "{length} bytes");
    }
}

#[test]
fn a_ticket_keeps_place_and_generation_apart() {
    for (index, generation) in [(0, 0), (1, 0), (0, 1), (u32::MAX as usize, u32::MAX), (77, 1 << 31)] {
        let ticket = Ticket::new(index, generation);
        assert_eq!((ticket.index(), ticket.generation()), (index, generation));
    }
}
