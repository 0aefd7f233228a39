//! What a migration says that runs in batches, in a comment before its statement:
//!
//! ```sql
//! -- batches: 1000 by entry.id, pause 100 ms, standby delay 10 s
//! update entry set stars = 0 where id between $1 and $2;
//! ```

use std::time::Duration;

/// How such a comment begins.
const MARK: &str = "-- batches:";
/// Keys of a batch at most: a batch is one transaction.
const MOST: u32 = 1_000_000;

/// How a statement runs in batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batches {
    /// Keys of a batch.
    pub size: u32,
    /// The column of the key, with its table, as SQL writes it: `entry.id`.
    pub key: String,
    /// How long to wait between two batches.
    pub pause: Duration,
    /// How far behind a standby may be before the next batch waits; none is any.
    pub standby_delay: Option<Duration>,
}

impl Batches {
    /// Reads it from the comments at the head of a text; none if they have no such comment. An error says what is wrong.
    pub fn parse(text: &str) -> Result<Option<Batches>, String> {
        let head = text.lines().map(str::trim).take_while(|line| line.is_empty() || line.starts_with("--"));
        let is_alike = |line: &&str| {
            let word =
                line.strip_prefix("-- ").and_then(|line| line.split_once(':')).map(|(word, _)| word.trim());
            !line.starts_with(MARK) && word.is_some_and(|word| word.to_lowercase().starts_with("batch"))
        };
        if let Some(line) = head.clone().find(is_alike) {
            return Err(format!("{line:?} looks as if it were to run in batches; {SHAPE}"));
        }
        let mut said = head.filter_map(|line| line.strip_prefix(MARK));
        match (said.next(), said.next()) {
            (None, _) => Ok(None),
            (Some(said), None) => read(said).map(Some),
            (Some(_), Some(_)) => Err(format!("two lines begin with {MARK:?}")),
        }
    }
}

const SHAPE: &str = "write it as: -- batches: 1000 by entry.id, pause 100 ms, standby delay 10 s";

fn read(said: &str) -> Result<Batches, String> {
    let mut parts = said.split(',').map(str::trim);
    let first = parts.next().unwrap_or_default();
    let (size, key) = first.split_once(" by ").ok_or_else(|| SHAPE.to_owned())?;
    let size = size.trim().replace('_', "");
    let size = size.strip_suffix(" rows").unwrap_or(&size).parse().unwrap_or(0);
    if !(1..=MOST).contains(&size) {
        return Err(format!("a batch has 1 to {MOST} rows; {SHAPE}"));
    }
    let key = key.trim().to_owned();
    if !key.contains('.') {
        return Err(format!("the key {key:?} needs its table; {SHAPE}"));
    }
    let mut batches = Batches { size, key, pause: Duration::ZERO, standby_delay: None };
    for part in parts {
        match (part.strip_prefix("pause "), part.strip_prefix("standby delay ")) {
            (Some(time), _) => batches.pause = duration(time)?,
            (_, Some(time)) => batches.standby_delay = Some(duration(time)?),
            _ => return Err(format!("{part:?} is not known; {SHAPE}")),
        }
    }
    Ok(batches)
}

fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let (number, unit) =
        text.split_at(text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len()));
    let wrong = || format!("{text:?} is no time such as 100 ms or 10 s; {SHAPE}");
    let number: u64 = number.parse().map_err(|_| wrong())?;
    match unit.trim() {
        "ms" => Ok(Duration::from_millis(number)),
        "s" if number <= 86_400 => Ok(Duration::from_secs(number)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_the_statement_is_read() {
        let text = "-- Stars for all.\n\n  -- batches: 5_000 rows by \"Shop\".entry.id, pause 50 ms, standby delay 10 s\nupdate …";
        let batches = Batches::parse(text).unwrap().unwrap();
        assert_eq!((batches.size, batches.key.as_str()), (5000, "\"Shop\".entry.id"));
        assert_eq!(
            (batches.pause, batches.standby_delay),
            (Duration::from_millis(50), Some(Duration::from_secs(10)))
        );
        assert_eq!(Batches::parse("update x;\n-- batches: 1 by a.b\n"), Ok(None));
        assert_eq!(Batches::parse("-- many batches: 1\nselect 1;"), Ok(None));
        assert_eq!(Batches::parse("-- batches: 10 by a.b").unwrap().unwrap().standby_delay, None);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (said, why) in [
            ("", "write it as"),
            ("10 by id", "needs its table"),
            ("0 by a.b", "a batch has"),
            ("-1 by a.b", "a batch has"),
            ("10000000 by a.b", "a batch has"),
            ("10 by a.b, pause 5", "is no time"),
            ("10 by a.b, pause 99999999999999999999 s", "is no time"),
            ("10 by a.b, standby delay 100000 s", "is no time"),
            ("10 by a.b, sleep 5 s", "is not known"),
            ("10 by a.b\n-- batches: 10 by a.b", "two lines"),
            ("10 by a.b\n-- batch: 10 by a.b", "looks as if"),
        ] {
            let error = Batches::parse(&format!("-- batches: {said}\n")).unwrap_err();
            assert!(error.contains(why), "{said}: {error}");
        }
    }
}
