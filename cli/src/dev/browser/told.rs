//! What the terminal is told of an error, in parts, so that a page can say the same.

/// Something that is wrong.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fault<'a> {
    /// The file, and the line if it is known: `functions/entries.sql:3`.
    pub(super) place: &'a str,
    pub(super) message: Vec<&'a str>,
    /// The lines around.
    pub(super) code: Vec<Line<'a>>,
    /// Detail, hint, context.
    pub(super) notes: Vec<(&'a str, Vec<&'a str>)>,
}

/// A line of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) is_wrong: bool,
    pub(super) number: &'a str,
    pub(super) text: &'a str,
}

const LABELS: [&str; 4] = ["detail", "hint", "context", "note"];

/// All that is wrong.
pub(super) fn faults(told: &str) -> Vec<Fault<'_>> {
    let mut faults: Vec<Fault<'_>> = Vec::new();
    for line in told.lines() {
        let line = line.strip_prefix("howdah: ").unwrap_or(line);
        if let Some((place, message)) = begins(line) {
            faults.push(Fault { place, message: vec![message], ..Fault::default() });
            continue;
        }
        if faults.is_empty() {
            faults.push(Fault::default());
        }
        let Some(fault) = faults.last_mut() else { continue };
        if let Some(code) = code(line) {
            fault.code.push(code);
        } else if let Some((label, note)) = note(line) {
            fault.notes.push((label, vec![note]));
        } else if let Some((_, note)) = fault.notes.last_mut() {
            note.push(line);
        } else {
            fault.message.push(line);
        }
    }
    faults
}

/// `path:3: message`, `path:3:7: message`, or `path: message`.
fn begins(line: &str) -> Option<(&str, &str)> {
    let (place, message) = line.split_once(": ")?;
    let without_number = |place: &'_ str| match place.rsplit_once(':') {
        Some((path, number)) if number.parse::<usize>().is_ok() => path.len(),
        _ => place.len(),
    };
    let path = &place[..without_number(place)];
    let path = &path[..without_number(path)];
    let endings = [".sql", ".toml", ".html", ".txt"];
    endings.iter().any(|ending| path.ends_with(ending)).then_some((place, message))
}

/// `>    2 | text`.
fn code(line: &str) -> Option<Line<'_>> {
    let (is_wrong, rest) = match line.strip_prefix('>') {
        Some(rest) => (true, rest),
        None => (false, line.strip_prefix(' ')?),
    };
    let (number, text) = rest.split_once(" |")?;
    let number = number.trim_start();
    number.parse::<usize>().ok()?;
    Some(Line { is_wrong, number, text: text.strip_prefix(' ').unwrap_or(text) })
}

fn note(line: &str) -> Option<(&str, &str)> {
    line.split_once(": ").filter(|(label, _)| LABELS.contains(label))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_errors_come_with_their_lines_and_notes() {
        let told = "functions/a.sql:2: function helo() does not exist
     1 | create function a() returns text language sql
>    2 | return helo();
     3 |
hint: No function matches.
It has two lines.

migrations/001 a.sql: is twice
note: this file has not changed
howdah: howdah.toml:1: no name
Nothing of it was deployed.";
        let faults = faults(told);
        assert_eq!(faults.len(), 3, "{faults:#?}");
        assert_eq!(
            (faults[0].place, &faults[0].message[..]),
            ("functions/a.sql:2", &["function helo() does not exist"][..])
        );
        let lines: Vec<_> =
            faults[0].code.iter().map(|line| (line.is_wrong, line.number, line.text)).collect();
        assert_eq!(lines[1..], [(true, "2", "return helo();"), (false, "3", "")]);
        assert_eq!(faults[0].notes[0], ("hint", vec!["No function matches.", "It has two lines.", ""]));
        assert_eq!((faults[1].place, faults[1].notes.len()), ("migrations/001 a.sql", 1));
        assert_eq!(faults[2].message, ["no name", "Nothing of it was deployed."]);
    }

    #[test]
    fn whatever_is_told_is_kept() {
        for told in ["", "the connection was lost", "x: y", " 1 | x", "> | x", "hint: x", "a\n\nb"] {
            let faults = faults(told);
            let mut kept = 0;
            for fault in &faults {
                kept += fault.message.len()
                    + fault.code.len()
                    + fault.notes.iter().map(|(_, note)| note.len()).sum::<usize>();
            }
            assert_eq!(kept, told.lines().count(), "{told:?}: {faults:?}");
        }
    }
}
