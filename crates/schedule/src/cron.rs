//! Cron expressions: read strictly, so that none means something else than it says, and matched by croner.

use std::fmt;

use croner::parser::CronParser;
use jiff::civil::DateTime;

/// The longest expression, in bytes.
const LONGEST: usize = 250;

/// What an expression may say instead of its fields.
const NICKNAMES: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// A field of an expression.
struct Field {
    name: &'static str,
    first: u16,
    last: u16,
    /// Names of its values, from the first one on.
    names: &'static [&'static str],
}

const FIELDS: [Field; 6] = [
    Field { name: "second", first: 0, last: 59, names: &[] },
    Field { name: "minute", first: 0, last: 59, names: &[] },
    Field { name: "hour", first: 0, last: 23, names: &[] },
    Field { name: "day of month", first: 1, last: 31, names: &[] },
    Field { name: "month", first: 1, last: 12, names: &MONTHS },
    Field { name: "day of week", first: 0, last: 7, names: &WEEKDAYS },
];
const DAY_OF_MONTH: usize = 3;
const DAY_OF_WEEK: usize = 5;

/// Years in which each date has been each day of the week, 29 February included.
const ALL_WEEKDAYS: std::ops::Range<i16> = 2000..2028;

/// Why something is no schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unfit {
    /// What is wrong, with the name of the field.
    pub message: String,
    /// What to do instead.
    pub hint: Option<String>,
}

impl Unfit {
    pub(crate) fn new(message: impl Into<String>) -> Unfit {
        Unfit { message: message.into(), hint: None }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Unfit {
        Unfit { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(out, " ({hint})"))
    }
}

/// A cron expression: times by the clock on the wall.
#[derive(Clone, Debug)]
pub struct Cron {
    matcher: croner::Cron,
    is_fixed: bool,
}

impl Cron {
    /// Reads an expression of five fields, of six with seconds in front, or a nickname such as `@daily`.
    pub fn parse(expression: &str) -> Result<Cron, Unfit> {
        if expression.len() > LONGEST {
            return Err(Unfit::new(format!("a cron expression has at most {LONGEST} bytes")));
        }
        let expression = expression.trim();
        let expression = if expression.starts_with('@') { nickname(expression)? } else { expression };
        let mut given: Vec<&str> = expression.split_ascii_whitespace().collect();
        match given.len() {
            5 => given.insert(0, "0"),
            6 => {}
            7 => {
                return Err(Unfit::new(
                    "a cron expression has five fields, or six with seconds; this has seven",
                )
                .hint("Years cannot be given."));
            }
            count => {
                return Err(Unfit::new(format!(
                    "a cron expression has five fields (minute, hour, day of month, month, day of week), or six with seconds in front; this has {count}"
                )));
            }
        }
        let mut fields = Vec::with_capacity(FIELDS.len());
        for (place, text) in given.iter().enumerate() {
            fields.push(read_field(place, text)?);
        }
        let is_fixed = !fields[..DAY_OF_MONTH].iter().any(|field| field.contains('*'));
        let [day, weekday] = [&fields[DAY_OF_MONTH], &fields[DAY_OF_WEEK]];
        // As in Vixie's cron: of two days that are named either will do, beside a step both must.
        let are_both_needed = day.starts_with('*') || weekday.starts_with('*');
        let parser = CronParser::builder().dom_and_dow(are_both_needed).build();
        let matcher = parser.parse(&fields.join(" ")).map_err(|error| Unfit::new(error.to_string()))?;
        let cron = Cron { matcher, is_fixed };
        if !cron.has_a_day() {
            return Err(Unfit::new(format!(
                "there is no such day: day of month {}, month {}, day of week {}",
                given[DAY_OF_MONTH],
                given[DAY_OF_MONTH + 1],
                given[DAY_OF_WEEK]
            )));
        }
        Ok(cron)
    }

    /// Whether it names its times, without a `*` among seconds, minutes and hours. A time that is named comes once a day, whatever
    /// becomes of the clock; others go on in real time.
    pub(crate) fn is_fixed(&self) -> bool {
        self.is_fixed
    }

    /// The first time by the clock that matches, from one on; none if that is too far.
    pub(crate) fn first_from(&self, time: DateTime) -> Option<DateTime> {
        self.matcher.find_next_occurrence(&time, true).ok().filter(|found| *found >= time)
    }

    /// Whether it ever comes true.
    fn has_a_day(&self) -> bool {
        let pattern = &self.matcher.pattern;
        ALL_WEEKDAYS.flat_map(|year| (1..=12).map(move |month| (year, month))).any(|(year, month)| {
            pattern.month_match(month).unwrap_or(false)
                && jiff::civil::Date::new(year, month as i8, 1).is_ok_and(|first| {
                    let first_weekday = first.weekday().to_sunday_zero_offset() as u32;
                    (1..=first.days_in_month() as u32).any(|day| {
                        let weekday = croner::Weekday::from_days_from_sunday(first_weekday + day - 1);
                        pattern.day_match(i32::from(year), month, day, weekday).unwrap_or(false)
                    })
                })
        })
    }
}

fn nickname(expression: &str) -> Result<&'static str, Unfit> {
    let known = NICKNAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(expression));
    known.map(|(_, fields)| *fields).ok_or_else(|| {
        let unknown = Unfit::new(format!("there is no {}", shown(expression)));
        match expression.to_ascii_lowercase() {
            name if name.starts_with("@every") => {
                unknown.hint("Say every => '90 s' instead of an expression.")
            }
            name if name.starts_with("@reboot") => unknown.hint("Enqueue a job when that has happened."),
            _ => unknown.hint("There are @hourly, @daily, @weekly, @monthly and @yearly."),
        }
    })
}

/// A field in digits, as croner reads it.
fn read_field(place: usize, text: &str) -> Result<String, Unfit> {
    let field = &FIELDS[place];
    let is_day = place == DAY_OF_MONTH || place == DAY_OF_WEEK;
    if text == "*" || text == "?" && is_day {
        return Ok("*".to_owned());
    }
    if text.contains(',') && text.contains('*') {
        return Err(field.unfit(text, "a * stands alone"));
    }
    let items: Result<Vec<String>, Unfit> =
        text.split(',').map(|item| field.read_item(place, item)).collect();
    let items = items?;
    // Of these two croner knows one at a time.
    if ["L", "LW"].iter().all(|last| items.iter().any(|item| item == last)) {
        return Err(field.unfit(text, "L and LW cannot stand there both"));
    }
    Ok(items.join(","))
}

impl Field {
    fn unfit(&self, text: &str, why: &str) -> Unfit {
        Unfit::new(format!("{} in the field {}: {why}", shown(text), self.name))
    }

    fn read_item(&self, place: usize, item: &str) -> Result<String, Unfit> {
        if item.is_empty() {
            return Err(self.unfit(item, "something is missing there"));
        }
        if let Some((range, step)) = item.split_once('/') {
            return self.read_step(item, range, step);
        }
        match place {
            DAY_OF_MONTH => {
                if let Some(day) = self.read_special_day(item)? {
                    return Ok(day);
                }
            }
            DAY_OF_WEEK => {
                if let Some(day) = self.read_special_weekday(item)? {
                    return Ok(day);
                }
            }
            _ => {}
        }
        if item.contains('-') {
            let (first, last) = self.read_range(item, item)?;
            return Ok(format!("{first}-{last}"));
        }
        Ok(self.value(item, item)?.to_string())
    }

    /// `*/5` and `10-30/5`.
    fn read_step(&self, item: &str, range: &str, step: &str) -> Result<String, Unfit> {
        let last = if self.last == 7 { 6 } else { self.last };
        let (range, count) = match range {
            "*" => ("*".to_owned(), last - self.first + 1),
            range if range.contains('-') => {
                let (from, to) = self.read_range(item, range)?;
                (format!("{from}-{to}"), to - from + 1)
            }
            range => {
                let first = self.value(item, range)?;
                let unfit = self.unfit(item, "a step needs a range");
                return Err(unfit.hint(format!("Say {first}-{last}/{step}.")));
            }
        };
        match digits(step) {
            Some(0) => Err(self.unfit(item, "a step is 1 or more")),
            Some(step) if step <= count => Ok(format!("{range}/{step}")),
            Some(_) => Err(self
                .unfit(item, &format!("the range has {count} values, and a step is no longer"))
                .hint("A step begins anew with each range: for other times in between say every => '90 min', for example.")),
            None => Err(self.unfit(item, "a step is a number")),
        }
    }

    /// The first and the last of a range.
    fn read_range(&self, item: &str, range: &str) -> Result<(u16, u16), Unfit> {
        let (first, last) = range.split_once('-').unwrap_or((range, ""));
        let (first, mut last) = (self.value(item, first)?, self.value(item, last)?);
        // Sunday is the last of a range, too.
        if self.last == 7 && last == 0 && first > 0 {
            last = 7;
        }
        if first > last {
            return Err(self
                .unfit(item, "a range goes from the smaller to the larger")
                .hint("Name two ranges, with a comma."));
        }
        Ok((first, last))
    }

    /// A number, or a name of one.
    fn value(&self, item: &str, text: &str) -> Result<u16, Unfit> {
        let named = self.names.iter().position(|name| name.eq_ignore_ascii_case(text));
        if let Some(place) = named {
            return Ok(self.first + place as u16);
        }
        match digits(text) {
            Some(value) if (self.first..=self.last).contains(&value) => Ok(value),
            Some(_) => Err(self.unfit(item, &format!("it goes from {} to {}", self.first, self.last))),
            None if self.names.is_empty() => Err(self.unfit(item, "that is no number")),
            None => {
                Err(self.unfit(item, &format!("that is no number and no name such as {}", self.names[1])))
            }
        }
    }

    /// `L`, `LW` and `15W`.
    fn read_special_day(&self, item: &str) -> Result<Option<String>, Unfit> {
        let upper = item.to_ascii_uppercase();
        if upper == "L" || upper == "LW" {
            return Ok(Some(upper));
        }
        if upper.starts_with('L') {
            return Err(self.unfit(item, "L stands alone, or is LW"));
        }
        match upper.strip_suffix('W') {
            Some(day) if day.contains('-') => Err(self.unfit(item, "W goes with one day")),
            Some(day) => Ok(Some(format!("{}W", self.value(item, day)?))),
            None => Ok(None),
        }
    }

    /// `FRI#2` and `FRIL`.
    fn read_special_weekday(&self, item: &str) -> Result<Option<String>, Unfit> {
        let upper = item.to_ascii_uppercase();
        if let Some((day, which)) = upper.split_once('#') {
            let day = self.value(item, day)? % 7;
            return match digits(which) {
                Some(which @ 1..=5) => Ok(Some(format!("{day}#{which}"))),
                _ => Err(self.unfit(item, "what stands behind # goes from 1 to 5")),
            };
        }
        match upper.strip_suffix('L') {
            Some("") => Err(self.unfit(item, "L goes with a day, as in FRIL")),
            Some(day) => Ok(Some(format!("{}L", self.value(item, day)? % 7))),
            None => Ok(None),
        }
    }
}

/// A number of few digits.
fn digits(text: &str) -> Option<u16> {
    let are_digits = (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if are_digits { text.parse().ok() } else { None }
}

/// What somebody has written, quoted.
fn shown(text: &str) -> String {
    format!("\"{text}\"")
}
