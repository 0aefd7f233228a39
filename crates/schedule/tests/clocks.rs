//! When schedules are due, by zones whose clocks change.

use std::time::{Duration, Instant};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use schedule::{CatchUp, Cron, Missed, Rhythm, Zone};

const SECOND: i64 = 1_000_000;

/// A zone of the tests' own database.
struct Known(TimeZone);

impl Zone for Known {
    fn offset(&self, second: i64) -> i64 {
        let moment = Timestamp::from_second(second).unwrap();
        i64::from(self.0.to_offset(moment).seconds())
    }
}

fn zone(name: &str) -> Known {
    Known(TimeZone::get(name).unwrap())
}

/// A moment by the clock on the wall of a zone, or in UTC if it ends in Z.
fn moment(zone: &Known, text: &str) -> i64 {
    match text.strip_suffix('Z') {
        Some(_) => text.parse::<Timestamp>().unwrap().as_microsecond(),
        None => {
            let wall: DateTime = text.parse().unwrap();
            zone.0.to_ambiguous_timestamp(wall).earlier().unwrap().as_microsecond()
        }
    }
}

/// The next due times after a moment, in UTC.
fn upcoming(expression: &str, zone_name: &str, after: &str, count: usize) -> Vec<String> {
    let zone = zone(zone_name);
    let rhythm = Rhythm::cron(expression).unwrap();
    let mut time = moment(&zone, after);
    (0..count)
        .map(|_| {
            time = rhythm.next(time, &zone).unwrap();
            Timestamp::from_microsecond(time).unwrap().to_string()
        })
        .collect()
}

/// Expressions, zones and moments, with the next times by the clock on the wall, or in UTC, by hand.
const BY_HAND: &[(&str, &str, &str, &str)] = &[
    // Berlin sets its clock forward at 02:00 on 28 March 2027, and back at 03:00 on 31 October.
    (
        "30 2 * * *",
        "Europe/Berlin",
        "2027-03-27T00:00",
        "2027-03-27T01:30Z 2027-03-28T01:00Z 2027-03-29T00:30Z",
    ),
    ("0 2 * * *", "Europe/Berlin", "2027-03-27T12:00", "2027-03-28T01:00Z 2027-03-29T00:00Z"),
    ("0 3 * * *", "Europe/Berlin", "2027-03-27T12:00", "2027-03-28T01:00Z 2027-03-29T01:00Z"),
    (
        "0,30 2,3 * * *",
        "Europe/Berlin",
        "2027-03-28T00:00",
        "2027-03-28T01:00Z 2027-03-28T01:30Z 2027-03-29T00:00Z",
    ),
    ("59 1 * * *", "Europe/Berlin", "2027-03-28T00:00", "2027-03-28T00:59Z 2027-03-28T23:59Z"),
    (
        "*/30 * * * *",
        "Europe/Berlin",
        "2027-03-28T01:00",
        "2027-03-28T00:30Z 2027-03-28T01:00Z 2027-03-28T01:30Z",
    ),
    (
        "*/30 2 * * *",
        "Europe/Berlin",
        "2027-03-28T00:00",
        "2027-03-29T00:00Z 2027-03-29T00:30Z 2027-03-30T00:00Z",
    ),
    (
        "30 2 * * *",
        "Europe/Berlin",
        "2027-10-30T12:00",
        "2027-10-31T00:30Z 2027-11-01T01:30Z 2027-11-02T01:30Z",
    ),
    ("30 2 * * *", "Europe/Berlin", "2027-10-31T00:30Z", "2027-11-01T01:30Z"),
    ("0 3 * * *", "Europe/Berlin", "2027-10-31T01:30Z", "2027-10-31T02:00Z 2027-11-01T02:00Z"),
    (
        "*/30 * * * *",
        "Europe/Berlin",
        "2027-10-31T00:10Z",
        "2027-10-31T00:30Z 2027-10-31T01:00Z 2027-10-31T01:30Z 2027-10-31T02:00Z 2027-10-31T02:30Z",
    ),
    (
        "0 * * * *",
        "Europe/Berlin",
        "2027-10-30T23:30Z",
        "2027-10-31T00:00Z 2027-10-31T01:00Z 2027-10-31T02:00Z 2027-10-31T03:00Z",
    ),
    ("0 30 2 * * *", "Europe/Berlin", "2027-10-31T00:00Z", "2027-10-31T00:30Z 2027-11-01T01:30Z"),
    (
        "* 30 2 * * *",
        "Europe/Berlin",
        "2027-10-31T00:30:58Z",
        "2027-10-31T00:30:59Z 2027-10-31T01:30:00Z 2027-10-31T01:30:01Z",
    ),
    // Santiago sets its clock back at midnight into 4 April 2027, and forward at midnight into 5 September.
    ("30 23 * * *", "America/Santiago", "2027-04-03T12:00", "2027-04-04T02:30Z 2027-04-05T03:30Z"),
    ("0 0 * * *", "America/Santiago", "2027-04-03T12:00", "2027-04-04T04:00Z 2027-04-05T04:00Z"),
    ("0 0 * * *", "America/Santiago", "2027-09-04T12:00", "2027-09-05T04:00Z 2027-09-06T03:00Z"),
    ("30 0 * * SUN", "America/Santiago", "2027-09-04T12:00", "2027-09-05T04:00Z 2027-09-12T03:30Z"),
    // São Paulo had no midnight on 4 November 2018.
    ("0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00", "2018-11-04T03:00Z 2018-11-05T02:00Z"),
    ("0 0 4 11 *", "America/Sao_Paulo", "2018-11-03T12:00", "2018-11-04T03:00Z 2019-11-04T03:00Z"),
    ("15,45 * * * *", "America/Sao_Paulo", "2018-11-04T02:30Z", "2018-11-04T02:45Z 2018-11-04T03:15Z"),
    ("30 23 * * *", "America/Sao_Paulo", "2018-02-17T12:00", "2018-02-18T01:30Z 2018-02-19T02:30Z"),
    // Lord Howe changes by half an hour: at 02:00 on 4 April 2027 back to 01:30, on 3 October forward to 02:30.
    ("45 1 * * *", "Australia/Lord_Howe", "2027-04-03T12:00", "2027-04-03T14:45Z 2027-04-04T15:15Z"),
    (
        "*/15 * * * *",
        "Australia/Lord_Howe",
        "2027-04-03T14:40Z",
        "2027-04-03T14:45Z 2027-04-03T15:00Z 2027-04-03T15:15Z 2027-04-03T15:30Z 2027-04-03T15:45Z",
    ),
    ("15 2 * * *", "Australia/Lord_Howe", "2027-10-02T12:00", "2027-10-02T15:30Z 2027-10-03T15:15Z"),
    ("0 15 9 * * *", "Asia/Kolkata", "2026-11-26T09:15", "2026-11-27T03:45Z 2026-11-28T03:45Z"),
    ("0 0 * * *", "UTC", "2026-12-30T12:00", "2026-12-31T00:00Z 2027-01-01T00:00Z 2027-01-02T00:00Z"),
    ("0 12 29 2 *", "UTC", "2026-11-26T00:00", "2028-02-29T12:00Z 2032-02-29T12:00Z"),
    ("0 0 29 2 *", "UTC", "2096-03-01T00:00", "2104-02-29T00:00Z"),
    ("0 0 31 12 *", "Asia/Kolkata", "2026-12-31T12:00", "2027-12-30T18:30Z"),
    ("59 23 31 12 *", "UTC", "2026-12-31T23:58", "2026-12-31T23:59Z 2027-12-31T23:59Z"),
    // Either day will do; beside a step both must.
    ("0 0 13 * FRI", "UTC", "2026-11-01T00:00", "2026-11-06T00:00Z 2026-11-13T00:00Z 2026-11-20T00:00Z"),
    ("0 0 */2 * MON", "UTC", "2026-11-01T00:00", "2026-11-09T00:00Z 2026-11-23T00:00Z 2026-12-07T00:00Z"),
    ("0 0 1-7 * */7", "UTC", "2026-11-01T00:00", "2026-12-06T00:00Z"),
    // Sundays by all their names.
    ("0 0 * * 0", "UTC", "2026-11-26T00:00", "2026-11-29T00:00Z 2026-12-06T00:00Z"),
    ("0 0 * * 7", "UTC", "2026-11-26T00:00", "2026-11-29T00:00Z 2026-12-06T00:00Z"),
    ("0 0 * * SAT-SUN", "UTC", "2026-11-26T00:00", "2026-11-28T00:00Z 2026-11-29T00:00Z 2026-12-05T00:00Z"),
    ("0 0 * * 5-7", "UTC", "2026-11-26T00:00", "2026-11-27T00:00Z 2026-11-28T00:00Z 2026-11-29T00:00Z"),
    // The last, the nearest, the second.
    ("0 0 L * *", "UTC", "2028-02-01T00:00", "2028-02-29T00:00Z 2028-03-31T00:00Z"),
    ("0 0 LW * *", "UTC", "2026-10-31T00:00", "2026-11-30T00:00Z 2026-12-31T00:00Z 2027-01-29T00:00Z"),
    ("0 0 15W * *", "UTC", "2026-11-01T00:00", "2026-11-16T00:00Z 2026-12-15T00:00Z"),
    ("0 0 1W 8 *", "UTC", "2026-01-01T00:00", "2026-08-03T00:00Z"),
    ("0 0 * * FRI#2", "UTC", "2026-11-01T00:00", "2026-11-13T00:00Z 2026-12-11T00:00Z"),
    ("0 0 * * 1L", "UTC", "2026-11-01T00:00", "2026-11-30T00:00Z 2026-12-28T00:00Z"),
    ("0 0 * * 7L", "UTC", "2026-11-01T00:00", "2026-11-29T00:00Z 2026-12-27T00:00Z"),
    (
        "0 0 ? * mon-wed,fri",
        "UTC",
        "2026-11-26T00:00",
        "2026-11-27T00:00Z 2026-11-30T00:00Z 2026-12-01T00:00Z",
    ),
    ("0 0 1 JAN,jul *", "UTC", "2026-11-26T00:00", "2027-01-01T00:00Z 2027-07-01T00:00Z"),
    ("*/20 59 23 * * *", "UTC", "2026-12-31T23:59:20", "2026-12-31T23:59:40Z 2027-01-01T23:59:00Z"),
    ("@hourly", "Asia/Kolkata", "2026-11-26T00:00Z", "2026-11-26T00:30Z 2026-11-26T01:30Z"),
    ("@daily", "UTC", "2026-11-26T00:00", "2026-11-27T00:00Z"),
    ("@weekly", "UTC", "2026-11-26T00:00", "2026-11-29T00:00Z"),
    ("@monthly", "UTC", "2026-11-26T00:00", "2026-12-01T00:00Z"),
    ("@YEARLY", "UTC", "2026-11-26T00:00", "2027-01-01T00:00Z 2028-01-01T00:00Z"),
    // Samoa left 30 December 2011 out.
    (
        "0 8 * * *",
        "Pacific/Apia",
        "2011-12-29T12:00",
        "2011-12-30T10:00Z 2011-12-30T18:00Z 2011-12-31T18:00Z",
    ),
];

#[test]
fn due_times_are_those_that_were_written_by_hand() {
    for (expression, zone, after, expected) in BY_HAND {
        let expected: Vec<String> = expected
            .split_whitespace()
            .map(|text| {
                let time: Timestamp = text.parse().unwrap_or_else(|_| panic!("{text}"));
                time.to_string()
            })
            .collect();
        assert_eq!(
            upcoming(expression, zone, after, expected.len()),
            expected,
            "{expression} in {zone} after {after}"
        );
    }
}

/// Values of a field, read in another way than by the crate: only numbers, ranges and steps.
fn values(field: &str, first: u8, last: u8) -> Vec<u8> {
    let mut all = Vec::new();
    for item in field.split(',') {
        let (range, step) = item.split_once('/').unwrap_or((item, "1"));
        let (from, to) = match range.split_once('-') {
            Some((from, to)) => (from.parse().unwrap(), to.parse().unwrap()),
            None if range == "*" => (first, last),
            None => (range.parse().unwrap(), range.parse().unwrap()),
        };
        all.extend((from..=to).step_by(step.parse().unwrap()));
    }
    all
}

/// All due minutes within some days, one minute after the other.
fn by_minutes(expression: &str, zone: &Known, after: i64, minutes: i64) -> Vec<i64> {
    let fields: Vec<&str> = expression.split(' ').collect();
    let [minute, hour] = [values(fields[0], 0, 59), values(fields[1], 0, 23)];
    let weekdays = values(fields[4], 0, 6);
    let is_fixed = !fields[0].contains('*') && !fields[1].contains('*');
    let matches = |wall: DateTime| {
        minute.contains(&(wall.minute() as u8))
            && hour.contains(&(wall.hour() as u8))
            && weekdays.contains(&(wall.weekday().to_sunday_zero_offset() as u8))
    };
    let mut due = Vec::new();
    let first = after.div_euclid(60 * SECOND) * 60;
    let wall_of = |second: i64| zone.0.to_datetime(Timestamp::from_second(second).unwrap());
    for second in (first..).step_by(60).take(minutes as usize + 1) {
        let wall = wall_of(second);
        let is_second_time =
            is_fixed && zone.0.to_ambiguous_timestamp(wall).earlier().unwrap().as_second() != second;
        // Times that the clock has just left out.
        let mut left_out = wall_of(second - 60).checked_add(1.minute()).unwrap();
        let mut is_due = matches(wall) && !is_second_time;
        while is_fixed && left_out < wall {
            is_due |= matches(left_out);
            left_out = left_out.checked_add(1.minute()).unwrap();
        }
        if is_due && second * SECOND > after {
            due.push(second * SECOND);
        }
    }
    due
}

#[test]
fn due_times_are_those_of_one_minute_after_the_other() {
    const ZONES: [&str; 8] = [
        "Europe/Berlin",
        "America/Santiago",
        "America/Sao_Paulo",
        "Australia/Lord_Howe",
        "Asia/Kolkata",
        "UTC",
        "Africa/Casablanca",
        "America/St_Johns",
    ];
    let days = 5;
    let mut random = fastrand::Rng::with_seed(7);
    let one = |random: &mut fastrand::Rng, last: u8| match random.u8(..6) {
        0 => "*".to_owned(),
        1 => format!("*/{}", random.u8(1..=last)),
        2 => {
            let from = random.u8(..=last);
            format!("{from}-{}", random.u8(from..=last))
        }
        3 => format!("{},{}", random.u8(..=last), random.u8(..=last)),
        _ => random.u8(..=last).to_string(),
    };
    for round in 0..if cfg!(debug_assertions) { 150 } else { 600 } {
        let zone = zone(ZONES[round % ZONES.len()]);
        let hour = if random.bool() { one(&mut random, 23) } else { one(&mut random, 3) };
        let weekday = if random.bool() { "*".to_owned() } else { one(&mut random, 6) };
        let expression = format!("{} {hour} * * {weekday}", one(&mut random, 59));
        // Mostly around a change of the clock.
        let mut after: Timestamp = Timestamp::from_second(random.i64(1_500_000_000..1_800_000_000)).unwrap();
        if random.u8(..4) > 0
            && let Some(change) = zone.0.following(after).next()
        {
            after = change.timestamp() - random.i64(0..3 * 24 * 3600).seconds();
        }
        let after = after.as_microsecond();
        let Ok(rhythm) = Rhythm::cron(&expression) else { continue };
        let end = after + days * 86_400 * SECOND;
        let mut found = Vec::new();
        let mut due = rhythm.next(after, &zone);
        while let Some(time) = due.filter(|time| *time <= end) {
            found.push(time);
            due = rhythm.next(time, &zone);
        }
        let mut expected = by_minutes(&expression, &zone, after, days * 1440);
        expected.retain(|time| *time <= end);
        let name = zone.0.iana_name().unwrap_or_default();
        assert_eq!(
            found,
            expected,
            "{expression} in {name} after {}",
            Timestamp::from_microsecond(after).unwrap()
        );
    }
}

#[test]
fn the_next_time_is_later_in_every_zone() {
    let expressions: Vec<Rhythm> = ["30 2 * * *", "*/7 * * * *", "0 0 1 * *", "15 1,2,3 * * SUN"]
        .iter()
        .map(|expression| Rhythm::cron(expression).unwrap())
        .collect();
    for name in jiff::tz::db().available() {
        let zone = zone(name.as_str());
        for rhythm in &expressions {
            let mut time = 1_700_000_000 * SECOND;
            for _ in 0..50 {
                let next = rhythm.next(time, &zone).unwrap();
                assert!(next > time, "{name}");
                time = next + SECOND * 3600 * 9;
            }
        }
    }
}

#[test]
fn what_is_no_expression_is_refused_by_its_field_in_no_time() {
    let long = "1,".repeat(500_000);
    for (expression, says) in [
        (long.as_str(), "at most 250 bytes"),
        ("", "this has 0"),
        ("* * * *", "this has 4"),
        ("* * * * * * *", "Years cannot be given"),
        ("60 * * * *", "\"60\" in the field minute: it goes from 0 to 59"),
        ("* 24 * * *", "field hour"),
        ("* * 0 * *", "field day of month"),
        ("* * * 13 *", "field month"),
        ("* * * * 8", "field day of week: it goes from 0 to 7"),
        ("99 * * * * *", "field second"),
        ("*/0 * * * *", "a step is 1 or more"),
        ("*/90 * * * *", "every => '90 min'"),
        ("5/15 * * * *", "Say 5-59/15"),
        ("*/x * * * *", "a step is a number"),
        ("1,,2 * * * *", "something is missing"),
        ("*,5 * * * *", "a * stands alone"),
        ("30-10 * * * *", "smaller to the larger"),
        ("1-2-3 * * * *", "that is no number"),
        ("JAN * * * *", "that is no number"),
        ("* * * MON *", "no name such as FEB"),
        ("* * * * MONTUE", "no name such as MON"),
        ("* * * * FRI-MON", "Name two ranges"),
        ("* * * * L", "L goes with a day"),
        ("* * * * 5#6", "from 1 to 5"),
        ("* * L-3 * *", "L stands alone"),
        ("* * 1-5W * *", "W goes with one day"),
        ("* * W * *", "no number"),
        ("? * * * *", "field minute"),
        ("0 0 30 2 *", "there is no such day"),
        ("0 0 31 4,6,9,11 *", "there is no such day"),
        ("0 0 30 2 */8", "the range has 7 values"),
        ("1-5/30 * * * *", "the range has 5 values"),
        ("0 0 L,LW * *", "cannot stand there both"),
        ("-5 * * * *", "field minute"),
        ("+5 * * * *", "field minute"),
        ("１ * * * *", "field minute"),
        ("٣ * * * *", "field minute"),
        ("0 0 * * пн", "field day of week"),
        ("1\u{a0}* * * *", "this has 4"),
        ("H * * * *", "field minute"),
        ("99999999999999999999 * * * *", "field minute"),
        ("@every 5m", "every => '90 s'"),
        ("@reboot", "when that has happened"),
        ("@fortnightly", "@weekly"),
    ] {
        let begin = Instant::now();
        let refused = Cron::parse(expression).expect_err(expression).to_string();
        assert!(refused.contains(says), "{}: {refused}", &expression[..expression.len().min(40)]);
        assert!(begin.elapsed() < Duration::from_secs(1));
    }
    assert!(Cron::parse("0 0 29 2 *").is_ok());
    for interval in [0, -1, SECOND - 1, i64::MAX, i64::MIN] {
        assert!(Rhythm::every(interval, 0).is_err(), "{interval}");
    }
}

#[test]
fn what_is_due_every_so_often_begins_with_its_anchor() {
    let utc = zone("UTC");
    let rhythm = Rhythm::every(90 * SECOND, 1000 * SECOND).unwrap();
    for (after, next) in
        [(0, 1000), (999, 1000), (1000, 1090), (1089, 1090), (1090, 1180), (1_000_000, 1_000_090)]
    {
        assert_eq!(rhythm.next(after * SECOND, &utc), Some(next * SECOND), "after {after}");
    }
    assert_eq!(rhythm.next(i64::MAX, &utc), None);
    assert_eq!(Rhythm::every(SECOND, i64::MAX - 5).unwrap().next(i64::MAX - 5, &utc), None);
}

#[test]
fn what_was_missed_is_caught_up_with_as_told() {
    let utc = zone("UTC");
    let minute = 60 * SECOND;
    let rhythm = Rhythm::cron("* * * * *").unwrap();
    let look = |missed: Missed, within: i64, most: usize, now: i64| {
        let look = CatchUp { missed, within, most }.look(&rhythm, &utc, minute, now);
        let due: Vec<i64> = look.due.iter().map(|due| due / minute).collect();
        assert_eq!(look.next, Some((now / minute + 1) * minute));
        (due, look.missed)
    };
    let day = 1440 * minute;
    for missed in [Missed::None, Missed::Once, Missed::Each] {
        assert_eq!(look(missed, day, 100, minute), (vec![1], 0), "{missed:?}");
        assert_eq!(look(missed, day, 100, minute + 59 * SECOND), (vec![1], 0), "{missed:?}");
    }
    let after_ten = 10 * minute + 30 * SECOND;
    assert_eq!(look(Missed::None, day, 100, after_ten), (vec![10], 9));
    assert_eq!(look(Missed::Once, day, 100, after_ten), (vec![10], 9));
    assert_eq!(look(Missed::Each, day, 100, after_ten), ((1..=10).collect(), 0));
    assert_eq!(look(Missed::Each, day, 3, after_ten), (vec![8, 9, 10], 7));
    assert_eq!(look(Missed::Each, 5 * minute, 100, after_ten), ((6..=10).collect(), 5));
    // Of very many the last are found, and counted up to a thousand.
    let (due, counted) = look(Missed::Each, i64::MAX, 3, 10_000_000 * minute);
    assert_eq!(due, vec![9_999_998, 9_999_999, 10_000_000]);
    assert!((500..=1000).contains(&counted), "{counted}");

    let nightly = Rhythm::cron("0 3 * * *").unwrap();
    let (three, nine) = (180 * minute, 540 * minute);
    for (missed, within, due) in [
        (Missed::None, day, vec![]),
        (Missed::Once, day, vec![three]),
        (Missed::Once, 360 * minute, vec![three]),
        (Missed::Once, 359 * minute, vec![]),
    ] {
        let look = CatchUp { missed, within, most: 1 }.look(&nightly, &utc, three, nine);
        assert_eq!((look.missed, look.next), (1 - due.len() as u64, Some(day + three)));
        assert_eq!(look.due, due, "{missed:?} within {within}");
    }
}
