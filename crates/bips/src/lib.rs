//! Records like short public messages, one JSON object a line, for examples and measurements.
//!
//! - [`Bips`]: the records of a seed, one after another.
//! - `random`: the numbers they are made from, which never change for a seed.
//! - `text`: what the messages say.
//!
//! A record has the keys uuid, userid, version, timestamp_ms (a number that comes as a string), bip and user,
//! and 200 to 500 bytes. Its text has links, escapes, emoji and other letters than those of ASCII.

mod random;
mod text;

use random::Random;

/// The time of the first record, in milliseconds since 1970.
const BEGIN_MS: u64 = 1_580_970_914_664;
/// User ids are below this.
const USERS: u32 = 2_000_000_000;
/// What the text of a record is between, in bytes; the rest of a record has 120 to 160.
const SHORTEST_TEXT: u32 = 85;
const LONGEST_TEXT: u32 = 300;

/// The records of a seed.
///
/// ```
/// let mut lines = Vec::new();
/// let mut bips = bips::Bips::new(1);
/// bips.append(&mut lines);
/// bips.append(&mut lines);
/// assert_eq!(lines.iter().filter(|byte| **byte == b'\n').count(), 2);
/// ```
#[derive(Debug)]
pub struct Bips {
    random: Random,
    time_ms: u64,
}

impl Bips {
    /// The records of this seed from the first on.
    pub fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), time_ms: BEGIN_MS }
    }

    /// Appends the next record and the end of its line.
    pub fn append(&mut self, line: &mut Vec<u8>) {
        let mut digits = itoa::Buffer::new();
        line.extend_from_slice(b"{\"uuid\":\"");
        append_uuid(self.random.next(), self.random.next(), line);
        line.extend_from_slice(b"\",\"userid\":");
        line.extend_from_slice(digits.format(self.random.below(USERS)).as_bytes());
        line.extend_from_slice(b",\"version\":1,\"timestamp_ms\":\"");
        self.time_ms += u64::from(self.random.below(20));
        line.extend_from_slice(digits.format(self.time_ms).as_bytes());
        line.extend_from_slice(b"\",\"bip\":\"");
        let length = SHORTEST_TEXT + self.random.below(LONGEST_TEXT - SHORTEST_TEXT);
        text::append(&mut self.random, length as usize, line);
        line.extend_from_slice(b"\",\"user\":\"");
        text::append_name(&mut self.random, line);
        line.extend_from_slice(b"\"}\n");
    }
}

/// A random UUID (version 4) as text.
fn append_uuid(high: u64, low: u64, line: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let high = (high & !0xf000) | 0x4000;
    let low = (low & !(0b11 << 62)) | (1 << 63);
    let mut text = [b'-'; 36];
    let places = (0..36).filter(|place| ![8, 13, 18, 23].contains(place));
    for (digit, place) in places.enumerate() {
        let half = if digit < 16 { high } else { low };
        text[place] = DIGITS[((half >> (60 - 4 * (digit % 16))) & 0xf) as usize];
    }
    line.extend_from_slice(&text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(seed: u64, count: usize) -> String {
        let mut bytes = Vec::new();
        let mut bips = Bips::new(seed);
        (0..count).for_each(|_| bips.append(&mut bytes));
        String::from_utf8(bytes).expect("UTF-8")
    }

    #[test]
    fn a_seed_always_gives_the_same_records() {
        assert_eq!(lines(7, 100), lines(7, 100));
        assert_ne!(lines(7, 100), lines(8, 100));
        let first = lines(1, 1);
        assert!(first.starts_with(FIRST_OF_SEED_1), "records of a seed may never change: {first}");
    }

    #[test]
    fn every_record_has_the_published_shape_and_size() {
        for line in lines(1, 20_000).lines() {
            assert!((200..=500).contains(&(line.len() + 1)), "{} bytes: {line}", line.len() + 1);
            let record: serde_json::Value = serde_json::from_str(line).expect(line);
            let keys: Vec<&str> = record.as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(keys.len(), 6, "{keys:?}");
            assert!(record["userid"].is_u64() && record["version"] == 1 && record["user"].is_string());
            assert!(record["timestamp_ms"].as_str().unwrap().parse::<u64>().unwrap() >= BEGIN_MS);
            let uuid = record["uuid"].as_str().unwrap();
            assert!(uuid.len() == 36 && &uuid[14..15] == "4" && "89ab".contains(&uuid[19..20]), "{uuid}");
        }
    }

    #[test]
    fn texts_have_links_escapes_emoji_and_other_letters() {
        let all = lines(1, 2_000);
        for part in ["https:\\/\\/", "\\n", "\\\"", "\\ud83d\\ude", "😂", "é", "の", "&amp;", "#", "@"] {
            assert!(all.contains(part), "{part}");
        }
    }

    const FIRST_OF_SEED_1: &str = "{\"uuid\":\"910a2dec-8902-4cc1-beeb-8da1658eec67\",\"userid\":1942005506,\
        \"version\":1,\"timestamp_ms\":\"1580970914672\",\"bip\":\"também où güzel também straße não año \\n über";
}
