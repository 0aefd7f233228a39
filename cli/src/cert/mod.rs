//! `howdah cert`: certificates of others for the server.
//!
//! - `check`: says what the server would find.
//! - `install`: copies a certificate that was renewed to where the server can read it.

pub(crate) mod check;
pub(crate) mod install;

use tls::Certificate;
use x509_parser::time::ASN1Time;

const DAY: i64 = 86_400;

/// What a certificate is for.
fn names(leaf: &Certificate) -> String {
    let addresses = leaf.addresses.iter().map(ToString::to_string);
    let names: Vec<String> = leaf.names.iter().cloned().chain(addresses).collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

/// A second of the UNIX clock as text.
fn date(second: i64) -> String {
    let Ok(time) = ASN1Time::from_timestamp(second) else {
        return format!("second {second} of the UNIX clock");
    };
    let time = time.to_datetime();
    let (month, hour, minute) = (u8::from(time.month()), time.hour(), time.minute());
    format!("{:04}-{month:02}-{:02} {hour:02}:{minute:02} UTC", time.year(), time.day())
}

/// How far a second is away from now.
fn distance(second: i64, now: i64) -> String {
    match ((second - now) / DAY, second < now) {
        (0, false) => "in less than a day".to_owned(),
        (0, true) => "less than a day ago".to_owned(),
        (1, _) => "in a day".to_owned(),
        (-1, _) => "a day ago".to_owned(),
        (days, false) => format!("in {days} days"),
        (days, true) => format!("{} days ago", -days),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates_and_days() {
        assert_eq!(date(1_780_272_000), "2026-06-01 00:00 UTC");
        assert_eq!(distance(DAY * 3, 0), "in 3 days");
        assert_eq!(distance(0, DAY * 3), "3 days ago");
        assert_eq!(distance(1, 0), "in less than a day");
        assert_eq!(distance(0, 1), "less than a day ago");
    }
}
