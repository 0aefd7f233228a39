//! Bytes to attack a parser with: put together from what its grammar knows, then damaged, and cut into pieces.

use crate::Rng;

/// Pieces of a grammar put together, up to `most` of them.
pub fn assembled(random: &mut Rng, pieces: &[&[u8]], most: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..random.usize(..=most) {
        bytes.extend_from_slice(pieces[random.usize(..pieces.len())]);
    }
    bytes
}

/// Changes some bytes: sets, removes, inserts, doubles or swaps them, or puts in a piece of the grammar. Half of the time it
/// changes nothing, so that parsers get to see their ends as well.
pub fn damage(random: &mut Rng, bytes: &mut Vec<u8>, pieces: &[&[u8]]) {
    if random.bool() {
        return;
    }
    for _ in 0..random.usize(1..6) {
        let at = random.usize(..=bytes.len());
        match random.u8(..6) {
            0 if at < bytes.len() => bytes[at] = random.u8(..),
            1 if at < bytes.len() => drop(bytes.remove(at)),
            2 => bytes.insert(at, random.u8(..)),
            3 => bytes.truncate(at),
            4 => {
                let end = (at + random.usize(..40)).min(bytes.len());
                bytes.extend_from_within(at..end);
            }
            _ => drop(bytes.splice(at..at, pieces[random.usize(..pieces.len())].iter().copied())),
        }
    }
}

/// The same bytes in pieces of random sizes; every fourth time byte by byte.
pub fn cut<'a>(random: &mut Rng, bytes: &'a [u8]) -> Vec<&'a [u8]> {
    if random.u8(..4) == 0 {
        return bytes.chunks(1).collect();
    }
    let (mut rest, mut pieces) = (bytes, Vec::new());
    while !rest.is_empty() {
        let (piece, others) = rest.split_at(random.usize(1..=rest.len()));
        pieces.push(piece);
        rest = others;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_cut_are_the_bytes_again() {
        let mut random = Rng::with_seed(1);
        for _ in 0..200 {
            let mut bytes = assembled(&mut random, &[b"ab", b"", b"c"], 20);
            damage(&mut random, &mut bytes, &[b"xyz"]);
            assert_eq!(cut(&mut random, &bytes).concat(), bytes);
        }
    }
}
