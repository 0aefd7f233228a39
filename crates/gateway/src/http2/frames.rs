//! Follows a client's frames by their lengths, and holds nothing of them but the head that is coming.

use super::PREFACE;

/// Types of frames (RFC 9113, 6).
pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const SETTINGS: u8 = 4;
/// The flag of DATA that ends a stream.
pub(super) const END_STREAM: u8 = 1;

/// Bytes of a frame's head (RFC 9113, 4.1).
const HEAD: usize = 9;

/// What a frame's head says, but for its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub kind: u8,
    pub flags: u8,
    /// Bytes of its payload.
    pub length: usize,
}

/// A part of what a client has sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'b> {
    /// The head of the next frame, which has come whole.
    Head(Head),
    /// What has come of the preface, or of the payload of the frame whose head came last.
    Payload(&'b [u8]),
}

/// Where the client's bytes stand among its frames.
pub(super) struct Frames {
    /// Bytes before the next head: of the preface, then of payloads.
    left: usize,
    /// What of the next head has come.
    head: [u8; HEAD],
    come: usize,
}

impl Default for Frames {
    fn default() -> Self {
        Self { left: PREFACE.len(), head: [0; HEAD], come: 0 }
    }
}

impl Frames {
    /// Takes the next part off the bytes that have come; none once what is left is a part of a head.
    pub(super) fn next<'b>(&mut self, bytes: &mut &'b [u8]) -> Option<Part<'b>> {
        if self.left > 0 {
            let (payload, rest) = bytes.split_at(self.left.min(bytes.len()));
            *bytes = rest;
            self.left -= payload.len();
            return (!payload.is_empty()).then_some(Part::Payload(payload));
        }
        let (come, rest) = bytes.split_at(bytes.len().min(HEAD - self.come));
        *bytes = rest;
        self.head[self.come..self.come + come.len()].copy_from_slice(come);
        self.come += come.len();
        if self.come < HEAD {
            return None;
        }
        self.come = 0;
        let [high, middle, low, kind, flags, ..] = self.head;
        self.left = u32::from_be_bytes([0, high, middle, low]) as usize;
        Some(Part::Head(Head { kind, flags, length: self.left }))
    }
}

/// A frame for tests, of stream 1.
#[cfg(test)]
pub(super) fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, 1], payload].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_seen_however_they_are_cut() {
        let payloads: [(u8, &[u8]); 4] =
            [(SETTINGS, b""), (6, b"a ping.."), (DATA, &[7; 3000]), (HEADERS, b"x")];
        let sent = payloads.map(|(kind, payload)| frame(kind, 4, payload)).concat();
        let bytes = [PREFACE, &sent].concat();
        for size in [1, 2, 7, 9, 10, 64, 5000] {
            let (mut frames, mut heads, mut rest) = (Frames::default(), Vec::new(), Vec::new());
            for mut piece in bytes.chunks(size) {
                while let Some(part) = frames.next(&mut piece) {
                    match part {
                        Part::Head(head) => heads.push(head),
                        Part::Payload(payload) => rest.extend_from_slice(payload),
                    }
                }
            }
            let expected = payloads.map(|(kind, payload)| Head { kind, flags: 4, length: payload.len() });
            assert_eq!(heads, expected, "cut after {size}");
            assert_eq!(rest, [PREFACE, &payloads.map(|(_, payload)| payload).concat()].concat());
        }
    }
}
