//! Random attacks on spellings, beside slower ways of reading them.

/// `make hunt` lets them run for long.
mod hunts {
    use std::time::Duration;

    use hunt::bytes::{assembled, damage};
    use hunt::{Hunt, Rng};
    use literal::{decimal, moment};

    /// The digits and the scale of what was built, read as numeric.c reads it.
    fn spelled(content: &[u8]) -> String {
        let words: Vec<u16> = content.chunks(2).map(|two| u16::from_ne_bytes([two[0], two[1]])).collect();
        let (header, digits) = (words[0], &words[1..]);
        assert!(header & 0xc000 == 0x8000 && content.len().is_multiple_of(2), "a short header");
        assert!(digits.iter().all(|digit| *digit < 10_000));
        assert!(digits.first() != Some(&0) && digits.last() != Some(&0), "no zeros at the ends");
        let scale = usize::from(header >> 7 & 0x3f);
        let weight = i32::from(header & 0x3f) - if header & 0x40 != 0 { 64 } else { 0 };
        let group = |at: i32| usize::try_from(weight - at).ok().and_then(|at| digits.get(at)).copied();
        let whole: String =
            (0..=weight.max(0)).rev().map(|at| format!("{:04}", group(at).unwrap_or(0))).collect();
        let fraction: String = (1..=16).map(|at| format!("{:04}", group(-at).unwrap_or(0))).collect();
        assert!(fraction[scale..].bytes().all(|digit| digit == b'0'), "nothing beyond the scale");
        let whole = whole.trim_start_matches('0');
        let point = if scale > 0 { "." } else { "" };
        let sign = if header & 0x2000 != 0 { "-" } else { "" };
        format!("{sign}{}{point}{}", if whole.is_empty() { "0" } else { whole }, &fraction[..scale])
    }

    fn number(random: &mut Rng) -> String {
        let mut digits = |most: usize| -> String {
            (0..random.usize(..=most)).map(|_| if random.bool() { '0' } else { random.digit(10) }).collect()
        };
        let (whole, fraction) = (digits(30), digits(20));
        let sign = if random.bool() { "-" } else { "" };
        if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
    }

    #[test]
    fn decimals_read_back_as_they_were_spelled() {
        let mut hunt = Hunt::begin("decimals", Duration::from_millis(400));
        while let Some(mut random) = hunt.next_round() {
            let mut bytes = number(&mut random).into_bytes();
            damage(&mut random, &mut bytes, &[b".", b"-", b"0000", b"e", b"+"]);
            let text = String::from_utf8_lossy(&bytes);
            let (precision, most) = (random.i32(1..40), random.i32(0..20));
            let modifier = if random.bool() { -1 } else { (precision << 16 | most) + 4 };
            let mut room = Vec::new();
            if decimal::numeric(&text, modifier, &mut room).is_none() {
                assert!(room.is_empty(), "{text}");
                continue;
            }
            let bare = text.strip_prefix('-').unwrap_or(&text);
            let (whole, fraction) = bare.split_once('.').unwrap_or((bare, ""));
            let scale = if modifier < 0 { fraction.len() } else { most as usize };
            assert!(fraction.len() <= scale && !whole.is_empty(), "{text}");
            let whole = match whole.trim_start_matches('0') {
                "" => "0",
                whole => whole,
            };
            let is_zero = bare.bytes().all(|byte| matches!(byte, b'0' | b'.'));
            let sign = if text.starts_with('-') && !is_zero { "-" } else { "" };
            let point = if scale > 0 { "." } else { "" };
            assert_eq!(
                spelled(&room),
                format!("{sign}{whole}{point}{fraction:0<scale$}"),
                "{text} {modifier}"
            );
        }
    }

    /// Days since 2000-01-01, a year and a month after the other.
    fn counted(year: i32, month: i32, day: i32) -> i32 {
        let leap = |year: i32| i32::from(year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
        let lengths = |year| [31, 28 + leap(year), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let years: i32 = if year >= 2000 {
            (2000..year).map(|year| 365 + leap(year)).sum()
        } else {
            -(year..2000).map(|year| 365 + leap(year)).sum::<i32>()
        };
        years + lengths(year)[..month as usize - 1].iter().sum::<i32>() + day - 1
    }

    #[test]
    fn moments_are_those_of_a_calendar_that_counts() {
        let mut hunt = Hunt::begin("moments", Duration::from_millis(400));
        while let Some(mut random) = hunt.next_round() {
            let (year, month, day) = (random.i32(1..=9999), random.i32(1..=12), random.i32(1..=28));
            let (hour, minute, second) = (random.i64(0..24), random.i64(0..60), random.i64(0..60));
            let (micros, east) = (random.i64(0..1_000_000), random.i64(-14 * 60..15 * 60));
            let date = format!("{year:04}-{month:02}-{day:02}");
            assert_eq!(moment::date(&date), Some(counted(year, month, day)), "{date}");
            let spelling = format!("{date}T{hour:02}:{minute:02}:{second:02}.{micros:06}");
            let days = i64::from(counted(year, month, day));
            let expected = (((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000 + micros;
            assert_eq!(moment::timestamp(&spelling), Some(expected), "{spelling}");
            let sign = if east < 0 { '-' } else { '+' };
            let zoned = format!("{spelling}{sign}{:02}:{:02}", east.abs() / 60, east.abs() % 60);
            assert_eq!(moment::timestamp_with_zone(&zoned), Some(expected - east * 60_000_000), "{zoned}");
        }
    }

    #[test]
    fn other_spellings_are_left_to_postgres() {
        let mut hunt = Hunt::begin("other spellings", Duration::from_millis(200));
        let pieces: [&[u8]; 9] =
            [b"2024-02-29", b"T", b" 23:59:59", b".5", b"Z", b"+02", b"-", b":", "ü".as_bytes()];
        while let Some(mut random) = hunt.next_round() {
            let mut bytes = assembled(&mut random, &pieces, 6);
            damage(&mut random, &mut bytes, &pieces);
            let text = String::from_utf8_lossy(&bytes);
            // What is read has the form whose days exist.
            if moment::date(&text).is_some() {
                assert!(text.len() == 10 && text.is_ascii(), "{text}");
            }
            if moment::timestamp(&text).is_some() {
                assert!(
                    text.len() >= 19 && moment::timestamp_with_zone(&format!("{text}Z")).is_some(),
                    "{text}"
                );
            }
            let _ = moment::timestamp_with_zone(&text);
        }
    }
}
