//! Texts of SQL in which a literal may name a moment that moves: `'today'`.
//!
//! PostgreSQL makes a constant of such a literal when it reads the statement, if that wants a date there; the plan does not show it any more. Which type a
//! literal has is not known here, so one is told by its words: besides those that move it has none but words of dates and times.

/// Words whose moment is another tomorrow.
const MOVING: [&str; 4] = ["now", "today", "tomorrow", "yesterday"];

/// Other words of dates and times, but zones that have a slash.
const WORDS: &str = "\
    january february march april may june july august september october november december \
    jan feb mar apr jun jul aug sep sept oct nov dec \
    sunday monday tuesday wednesday thursday friday saturday sun mon tue tues wed weds thu thur thurs fri sat \
    am pm ad bc at on t j jd julian y m d h s dow doy isodow isoyear dst epoch infinity allballs empty null \
    acdt acsst acst act acwst adt aedt aesst aest aft akdt akst almst almt amst amt anast anat aqtst aqtt arst art ast awsst awst azost azot \
    azst azt bdst bdt bnt bort bot bra brst brt bst btt cadt cast cat cct cdt cest cet cetdst chadt chast chost chot chst chut cit ckt clst clt \
    cot cst cvt cwst cxt davt ddut easst east eat ect edt eest eet eetdst egst egt eit est fet fjst fjt fkst fkt fnst fnt galt gamt gest get \
    gft gilt gmt gst gyt hadt hast hdt hkt hovst hovt hst ict idt iot irdt irkst irkt irst irt ist jayt jst kdt kgst kgt kost krast krat kst \
    lhdt lhst ligt lint lkt magst magt mart mawt mdt mest mesz met metdst mez mht mist mmt mpt msd msk mst must mut mvt myt nct ndt nft novst \
    novt npt nrt nst nut nzdt nzst nzt omsst omst orat pdt pet petst pett pgt phot pht pkst pkt pmdt pmst pont pst pwt pyst pyt qyzt ret rott \
    sadt sakst sakt samst samt sast sat sbt sct sgt sret srt sst syot taht tft tjt tkt tlt tmt tot trut tvt uct ulast ulat ut utc uyst uyt uzst \
    uzt vet vlast vlat volt vost vut wadt wakt wast wat wdt west wet wetdst wft wgst wgt wib wit wita wsdt wsst wst xjt yakst yakt yapt yekst \
    yekt z zulu \
    utc gmt";

/// Whether a text of SQL has a literal that may mean another moment tomorrow, as a value of some type.
///
/// ```
/// use literal::moving::names_moving_moment;
/// assert!(names_moving_moment("select * from log where day >= 'today' -- or so"));
/// assert!(names_moving_moment("select E'\\x74oday 12:00 Europe/Berlin'::timestamptz"));
/// assert!(!names_moving_moment("select 'Buy it today', today from book where name = 'now''s the time' -- 'now'"));
/// ```
pub fn names_moving_moment(sql: &str) -> bool {
    sql.contains(['\'', '$']) && Literals { rest: sql, hides: false }.any(|literal| may_move(&literal))
}

fn contains_word(text: &[u8]) -> bool {
    MOVING.iter().any(|word| text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes())))
}

/// Whether a value that PostgreSQL reads may have a moment that moves: of a date or time, an array or range of them, a row.
pub fn may_move(value: &str) -> bool {
    if !contains_word(value.as_bytes()) {
        return false;
    }
    let is_row =
        value.trim_start().starts_with('(') && value.contains(',') && value.trim_end().ends_with(')');
    let (mut moves, mut is_all_known) = (false, true);
    for word in value.split(|letter: char| !letter.is_alphabetic()).filter(|word| !word.is_empty()) {
        let word = word.to_lowercase();
        let is_moving = MOVING.contains(&&*word);
        moves |= is_moving;
        is_all_known &= is_moving || WORDS.split(' ').any(|known| known == word) || is_zone(value, &word);
    }
    // Of a row the other columns may be any text.
    moves && (is_row || is_all_known)
}

/// Whether a word is a part of a zone's name: `America/New_York`.
fn is_zone(value: &str, word: &str) -> bool {
    let pieces = value.split(|letter: char| !(letter.is_alphabetic() || "/_+-".contains(letter)));
    pieces.filter(|piece| piece.contains('/') && !piece.starts_with('/')).any(|zone| {
        zone.to_lowercase().split(|letter: char| !letter.is_alphabetic()).any(|part| part == word)
    })
}

/// The values of the literals of a text of SQL.
struct Literals<'s> {
    rest: &'s str,
    /// Whether one was found whose value cannot be told.
    hides: bool,
}

impl Iterator for Literals<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        if std::mem::take(&mut self.hides) {
            return Some(MOVING[0].into());
        }
        let mut before = ' ';
        while let Some(letter) = self.rest.chars().next() {
            let after = &self.rest[letter.len_utf8()..];
            match letter {
                '-' if after.starts_with('-') => {
                    self.rest = after.split_once('\n').map_or("", |(_, rest)| rest)
                }
                '/' if after.starts_with('*') => self.rest = after_comment(&after[1..]),
                '"' => self.rest = after.split_once('"').map_or("", |(_, rest)| rest),
                '\'' => return Some(self.quoted(before)),
                '$' if !(before.is_alphanumeric() || before == '_') => {
                    if let Some((body, rest)) = dollar_quoted(self.rest) {
                        self.rest = rest;
                        return Some(body.into());
                    }
                    self.rest = after;
                }
                _ => self.rest = after,
            }
            before = letter;
        }
        None
    }
}

impl Literals<'_> {
    /// The value of a literal in quotes and of those that go on with it; `before` is the letter in front of it.
    fn quoted(&mut self, before: char) -> String {
        let mut raw = String::new();
        loop {
            // The first is a quote.
            let mut letters = self.rest[1..].char_indices().peekable();
            let mut end = self.rest.len();
            while let Some((at, letter)) = letters.next() {
                match letter {
                    '\'' if letters.peek().is_some_and(|(_, next)| *next == '\'') => {
                        letters.next();
                        raw.push('\'');
                    }
                    '\'' => {
                        end = at + 2;
                        break;
                    }
                    '\\' if matches!(before, 'e' | 'E') => {
                        raw.push('\\');
                        raw.extend(letters.next().map(|(_, escaped)| escaped));
                    }
                    _ => raw.push(letter),
                }
            }
            self.rest = &self.rest[end..];
            let next = after_blanks(self.rest);
            if !next.starts_with('\'') {
                break;
            }
            self.rest = next;
        }
        if raw.contains('\\') {
            // Which escapes hold is a matter of settings and of what stands around it.
            for is_unicode in [false, true] {
                let value = unescaped(&raw, is_unicode);
                if may_move(&value) {
                    return value;
                }
            }
            self.hides = raw.ends_with('\\') || after_blanks(self.rest).get(..7).is_some_and(is_uescape);
        }
        raw
    }
}

fn is_uescape(word: &str) -> bool {
    word.eq_ignore_ascii_case("uescape")
}

/// What comes after blanks and comments of lines.
fn after_blanks(text: &str) -> &str {
    let rest = text.trim_start();
    match rest.strip_prefix("--") {
        Some(comment) => comment.split_once('\n').map_or("", |(_, rest)| after_blanks(rest)),
        None => rest,
    }
}

/// What comes after a comment that has begun; one may be in another.
fn after_comment(text: &str) -> &str {
    let (mut rest, mut depth) = (text, 1);
    while depth > 0 {
        let Some(at) = rest.find(['*', '/']) else { return "" };
        let two = rest.get(at..at + 2).unwrap_or_default();
        let (step, deeper) = match two {
            "*/" => (2, -1),
            "/*" => (2, 1),
            _ => (1, 0),
        };
        rest = &rest[at + step..];
        depth += deeper;
    }
    rest
}

/// A text that begins with `$`, as a literal between two equal tags, and what comes after it.
fn dollar_quoted(text: &str) -> Option<(&str, &str)> {
    let tag = &text[..text[1..].find('$')? + 2];
    let name = &tag[1..tag.len() - 1];
    let is_tag = name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
        && !name.starts_with(|letter: char| letter.is_ascii_digit());
    if !is_tag {
        return None;
    }
    text[tag.len()..].split_once(tag)
}

/// A text with its escapes undone, those of `U&''` or of `E''`.
fn unescaped(text: &str, is_unicode: bool) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        result.push_str(before);
        let (skipped, radix, most) = match after.as_bytes().first() {
            Some(b'+') if is_unicode => (1, 16, 6),
            Some(_) if is_unicode => (0, 16, 4),
            Some(b'x') => (1, 16, 2),
            Some(b'u') => (1, 16, 4),
            Some(b'U') => (1, 16, 8),
            Some(b'0'..=b'7') => (0, 8, 3),
            _ => (0, 0, 0),
        };
        let count = if radix == 0 { 0 } else { digits(&after[skipped..], radix, most) };
        let number = &after[skipped..skipped + count];
        if count > 0 {
            result.extend(u32::from_str_radix(number, radix).ok().and_then(char::from_u32));
            rest = &after[skipped + count..];
        } else {
            let mut letters = after.chars();
            result.extend(letters.next().map(|letter| if "bfnrt".contains(letter) { ' ' } else { letter }));
            rest = letters.as_str();
        }
    }
    result + rest
}

fn digits(text: &str, radix: u32, most: usize) -> usize {
    text.chars().take(most).take_while(|letter| letter.is_digit(radix)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_that_may_move_is_found_however_it_is_written() {
        for sql in [
            "select 'today'",
            "select date 'TODAY'",
            "select ' now '::timestamptz",
            "select $$tomorrow$$::date",
            "select $a$yesterday$a$::date",
            "select '{2026-01-01,today}'::date[]",
            "select '[today,)'::daterange",
            "select '(1,today,any text)'::item",
            "select 'today 12:00 America/New_York'",
            "select 'now CEST'",
            "select 'to'\n'day'",
            "select 'to' -- a comment\n 'day'",
            "select E'to\\144ay'",
            "select e'\\x74oday'",
            "select E'\\u0074oday'",
            "select U&'\\0074oday'",
            "select U&'!0074oday' uescape '!', '\\'",
            "select 'it''s', 'now'",
            "select E'\\'', 'now'",
            "select \"'\", 'now'",
            "/* ' /* ' */ ' */ select 'now'",
            "select $1, 'now'",
            "select a$b, 'now'",
            "select 'now",
        ] {
            assert!(names_moving_moment(sql), "{sql}");
        }
    }

    #[test]
    fn other_texts_are_left_alone() {
        for sql in [
            "",
            "select now()",
            "select today, \"now\" from log",
            "select 'Buy now', 'today''s books'",
            "select '<button>now</button>'",
            "-- 'today'\nselect 1",
            "/* 'today' */ select 1",
            "select 'known', 'nowhere'",
            "select '2026-01-01', 'May'",
            "select E'\\x41nd then'",
            "select '(now or never)'",
        ] {
            assert!(!names_moving_moment(sql), "{sql}");
        }
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        let pieces = [
            "'", "''", "\\", "E'", "U&'", "$", "$a$", "--", "/*", "*/", "\"", "now", "\n", "ü", "x4", "(",
            ",",
        ];
        let mut random = hunt::Rng::with_seed(7);
        for _ in 0..20_000 {
            let text: String =
                (0..random.usize(..12)).map(|_| pieces[random.usize(..pieces.len())]).collect();
            names_moving_moment(&text);
        }
    }
}
