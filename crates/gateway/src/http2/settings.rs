//! Looks for a window in the client's settings that no window can have. h2 refuses it as well, by another reason than the
//! protocol names (RFC 9113, 6.5.2).

use super::frames::{Head, SETTINGS};

/// SETTINGS_INITIAL_WINDOW_SIZE.
const INITIAL_WINDOW: u64 = 4;
const LARGEST_WINDOW: u64 = (1 << 31) - 1;
/// Bytes of one setting.
const SETTING: usize = 6;

/// A window beyond 2^31-1.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WindowTooLarge;

/// Reads settings byte by byte, so that it holds nothing of them.
#[derive(Default)]
pub(super) struct Settings {
    /// Whether these are settings.
    are_read: bool,
    /// The setting that is being read, as a number: the bytes that have come of it, and how many these are.
    setting: u64,
    count: usize,
}

impl Settings {
    /// A frame begins.
    pub(super) fn begin(&mut self, frame: Head) {
        *self = Self { are_read: frame.kind == SETTINGS, ..Self::default() };
    }

    /// Looks at what has come of the frame.
    pub(super) fn look_at(&mut self, payload: &[u8]) -> Result<(), WindowTooLarge> {
        if !self.are_read {
            return Ok(());
        }
        for byte in payload {
            self.setting = self.setting << 8 | u64::from(*byte);
            self.count += 1;
            if self.count == SETTING {
                self.count = 0;
                let setting = std::mem::take(&mut self.setting);
                if setting >> 32 == INITIAL_WINDOW && setting & 0xffff_ffff > LARGEST_WINDOW {
                    return Err(WindowTooLarge);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::PREFACE;
    use super::super::frames::{self, Frames, Part};
    use super::*;

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        frames::frame(kind, 0, payload)
    }

    fn setting(id: u16, value: u32) -> Vec<u8> {
        [&id.to_be_bytes()[..], &value.to_be_bytes()].concat()
    }

    fn outcome(pieces: &[&[u8]]) -> Result<(), WindowTooLarge> {
        let (mut frames, mut settings) = (Frames::default(), Settings::default());
        for mut piece in pieces.iter().copied() {
            while let Some(part) = frames.next(&mut piece) {
                match part {
                    Part::Head(head) => settings.begin(head),
                    Part::Payload(payload) => settings.look_at(payload)?,
                }
            }
        }
        Ok(())
    }

    #[test]
    fn a_window_that_is_too_large_is_found_wherever_it_stands() {
        let others = [setting(1, u32::MAX), setting(4, (1 << 31) - 1), setting(5, 16384)].concat();
        let data = frame(0, &setting(4, u32::MAX));
        let fine = [
            PREFACE,
            &frame(4, &others),
            &data,
            &frame(4, b""),
            &frame(6, &[0, 4, 255, 255, 255, 255, 0, 0]),
        ];
        let fine = fine.concat();
        let bad = [&fine[..], &frame(4, &[others, setting(4, 1 << 31)].concat())].concat();
        for at in 0..=bad.len() {
            assert_eq!(outcome(&[&bad[..at], &bad[at..]]), Err(WindowTooLarge), "split at {at}");
        }
        assert_eq!(outcome(&bad.chunks(1).collect::<Vec<_>>()), Err(WindowTooLarge));
        assert_eq!(outcome(&[&bad[..bad.len() - 1]]), Ok(()), "not before its last byte");
        assert_eq!(outcome(&[&fine]), Ok(()));
        // The length is no multiple of six: h2's to refuse.
        let cut = [PREFACE, &frame(4, &setting(4, u32::MAX)[..5]), &frame(4, b"")].concat();
        assert_eq!(outcome(&[&cut]), Ok(()));
    }

    /// `make hunt` lets them run for long.
    mod hunts {
        use std::time::Duration;

        use hunt::Hunt;
        use hunt::bytes::cut;

        use super::*;

        #[test]
        fn settings_among_other_frames() {
            let mut hunt = Hunt::begin("settings of HTTP/2", Duration::from_millis(300));
            while let Some(mut random) = hunt.next_round() {
                let (mut stream, mut is_bad) = (PREFACE.to_vec(), false);
                for _ in 0..random.usize(..8) {
                    let kind = [SETTINGS, random.u8(..)][random.usize(..2)];
                    let mut payload = Vec::new();
                    for _ in 0..random.usize(..4) {
                        let (id, value) = ([4, random.u16(..6)][random.usize(..2)], random.u32(..));
                        is_bad |= kind == SETTINGS && id == 4 && value >= 1 << 31;
                        payload.extend(setting(id, value));
                    }
                    // The begin of another one.
                    payload.extend(&setting(4, u32::MAX)[..random.usize(..SETTING)]);
                    stream.extend(frame(kind, &payload));
                }
                let found = outcome(&cut(&mut random, &stream)).is_err();
                assert_eq!(found, is_bad, "{}", stream.escape_ascii());
            }
        }
    }
}
