//! The codings that a client takes.

use crate::Coding;

/// Quality of what is taken without saying so, in thousandths.
const WHOLE: u16 = 1000;

/// Which codings a client takes, each with its quality in thousandths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Accepted {
    /// By the place of the coding in [`Coding::ALL`].
    codings: [u16; Coding::ALL.len()],
    /// That of the plain bytes.
    plain: u16,
}

impl Accepted {
    /// The values of the headers `Accept-Encoding`, read; without one a client takes the plain bytes alone. What cannot be read counts
    /// as not said.
    ///
    /// ```
    /// use codings::{Accepted, Coding};
    ///
    /// let accepted = Accepted::of(["gzip;q=0.5, br"].into_iter());
    /// assert_eq!(accepted.best(|coding| Some(if coding == Coding::Brotli { 10 } else { 5 }), 100), Some(Coding::Brotli));
    /// assert_eq!(Accepted::of(["*;q=0"].into_iter()).best(|_| Some(1), 100), None);
    /// ```
    pub fn of<'v>(values: impl Iterator<Item = &'v str>) -> Accepted {
        let mut named = [None; Coding::ALL.len()];
        let (mut plain, mut others) = (None, None);
        for member in values.flat_map(|value| value.split(',')) {
            let Some((name, quality)) = member_of(member) else { continue };
            if let Some(coding) = Coding::of(name.as_bytes()) {
                // Said twice: what is said first counts.
                named[coding as usize].get_or_insert(quality);
            } else if name.eq_ignore_ascii_case("identity") {
                plain.get_or_insert(quality);
            } else if name == "*" {
                others.get_or_insert(quality);
            }
        }
        let codings = named.map(|quality| quality.or(others).unwrap_or(0));
        Accepted { codings, plain: plain.or(others.filter(|quality| *quality == 0)).unwrap_or(WHOLE) }
    }

    /// The coding in which a client gets what has so many bytes plain; none is plain. Of what the client prefers alike the smallest; brotli, zstd, gzip in
    /// this order where they are alike. `sizes` says how many bytes there are by a coding, if there are any. Plain bytes are sent where
    /// nothing else is taken, even to a client that refuses them: an answer that can be read by most is worth more than 406.
    pub fn best(&self, sizes: impl Fn(Coding) -> Option<u64>, plain: u64) -> Option<Coding> {
        let takes = |coding: &Coding| self.codings[*coding as usize] > 0;
        let there = Coding::ALL.into_iter().filter(takes).filter_map(|coding| Some((coding, sizes(coding)?)));
        let (coding, size) =
            there.min_by_key(|(coding, size)| (WHOLE - self.codings[*coding as usize], *size))?;
        let quality = self.codings[coding as usize];
        let is_better = quality > self.plain || quality == self.plain && size < plain;
        // Clients that say gzip;q=0.5 mean that they take it, and not that they like to wait.
        let is_meant = self.plain == WHOLE && size < plain;
        (is_better || is_meant).then_some(coding)
    }
}

/// A member of the list: its name and its quality in thousandths.
fn member_of(member: &str) -> Option<(&str, u16)> {
    let mut parts = member.split(';').map(str::trim);
    let name = parts.next().filter(|name| !name.is_empty())?;
    let mut quality = WHOLE;
    for parameter in parts {
        let (key, value) = parameter.split_once('=')?;
        if key.trim().eq_ignore_ascii_case("q") {
            quality = quality_of(value.trim())?;
        }
    }
    Some((name, quality))
}

/// A quality of RFC 9110, section 12.4.2: three digits behind the point at most.
fn quality_of(text: &str) -> Option<u16> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if part.len() > 3 || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let thousandths: u16 = format!("{part:0<3}").parse().ok()?;
    match whole {
        "0" => Some(thousandths),
        "1" if thousandths == 0 => Some(WHOLE),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(header: &str) -> Option<Coding> {
        // Brotli is smallest.
        let size = |coding| {
            Some(match coding {
                Coding::Brotli => 10,
                Coding::Zstd => 11,
                Coding::Gzip => 12,
            })
        };
        Accepted::of([header].into_iter()).best(size, 100)
    }

    #[test]
    fn of_what_is_taken_the_best_liked_is_sent_and_of_these_the_smallest() {
        for (header, coding) in [
            ("", None),
            ("gzip, deflate, br, zstd", Some(Coding::Brotli)),
            ("gzip, deflate", Some(Coding::Gzip)),
            ("GZIP", Some(Coding::Gzip)),
            ("x-gzip", Some(Coding::Gzip)),
            ("br;q=0, gzip", Some(Coding::Gzip)),
            ("br;q=0.0, gzip;q=0.000", None),
            ("*", Some(Coding::Brotli)),
            ("*;q=0", None),
            ("*;q=0, zstd", Some(Coding::Zstd)),
            ("br;q=0.1, gzip;q=0.9", Some(Coding::Gzip)),
            ("gzip;q=0.5", Some(Coding::Gzip)),
            ("identity", None),
            ("identity;q=1, gzip;q=0.5", Some(Coding::Gzip)),
            ("identity;q=0.8, gzip;q=0.5", None),
            ("identity;q=0, gzip;q=0.001", Some(Coding::Gzip)),
            ("identity;q=0", None),
            // No member of these can be read.
            ("br;q=2, br;q=0.0001, br;q=-1, br;q=, br;q", None),
            ("br;q=1.0, br;q=0", Some(Coding::Brotli)),
            // Names are compared as a whole.
            ("brotli, xbr, gzipped", None),
            (" br ; q=0.5 ,, ;q=1", Some(Coding::Brotli)),
        ] {
            assert_eq!(best(header), coding, "{header}");
        }
    }

    #[test]
    fn what_is_no_smaller_is_sent_plain() {
        let accepted = Accepted::of(["br"].into_iter());
        assert_eq!(accepted.best(|_| Some(100), 100), None);
        assert_eq!(accepted.best(|_| None, 100), None);
    }
}
