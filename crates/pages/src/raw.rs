//! States of the tokenizer within elements whose content is not read as markup: text, and scripts with their escapes.

/// The beginning of a section of SVG, behind `<!`.
pub(crate) const CDATA: &str = "[CDATA[";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RawState {
    /// In a script: 1 within `<!--`, 2 within `<script` in that.
    escapes: u8,
    /// Dashes before, in these.
    dashes: u8,
    pub(crate) step: RawStep,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum RawStep {
    #[default]
    Inside,
    /// `<`
    Less,
    /// `</`
    EndOpen,
    /// `</` and a name.
    EndName(String),
    /// `<!` and so many dashes, in a script.
    EscapeStart(u8),
    /// `<` and a name, in a script within `<!--`.
    DoubleStart(String),
    /// `</` and a name, in a script within both.
    DoubleEnd(String),
    /// `<!` and this, where `<![CDATA[` may follow.
    Marked(String),
    /// Within that, behind so many closing brackets.
    CData(usize),
    /// `<` within that.
    CDataLess,
}

impl RawState {
    /// Whether no tag may have begun.
    pub(crate) fn is_certain(&self) -> bool {
        self.step == RawStep::Inside
    }

    fn inside(escapes: u8, dashes: u8) -> RawState {
        RawState { escapes, dashes, step: RawStep::Inside }
    }

    fn at(self, step: RawStep) -> RawState {
        RawState { step, dashes: 0, ..self }
    }

    /// The state behind a character.
    pub(crate) fn after(mut self, letter: char, is_script: bool) -> RawState {
        use RawStep::{DoubleEnd, DoubleStart, EndName, EndOpen, EscapeStart, Inside, Less};
        let is_letter = letter.is_ascii_alphabetic();
        let is_end = letter.is_ascii_whitespace() || "/>".contains(letter);
        let folded = letter.to_ascii_lowercase();
        let (escapes, step) = (self.escapes, std::mem::take(&mut self.step));
        match (step, letter) {
            (Inside, '<') => self.at(Less),
            (Inside, '-') if escapes > 0 => RawState::inside(escapes, (self.dashes + 1).min(2)),
            (Inside, '>') if self.dashes == 2 => RawState::inside(0, 0),
            (Inside, _) => RawState::inside(escapes, 0),
            (Less, '/') if escapes == 2 => self.at(DoubleEnd(String::new())),
            (Less, '/') => self.at(EndOpen),
            (Less, '!') if is_script && escapes == 0 => self.at(EscapeStart(0)),
            (Less, _) if is_letter && escapes == 1 => self.at(DoubleStart(folded.to_string())),
            (EndOpen, _) if is_letter => self.at(EndName(folded.to_string())),
            (EndName(name), _) if is_letter => self.at(EndName(name + folded.encode_utf8(&mut [0; 4]))),
            (EscapeStart(0), '-') => self.at(EscapeStart(1)),
            (EscapeStart(_), '-') => RawState::inside(1, 2),
            (DoubleStart(name), _) if is_letter => {
                self.at(DoubleStart(name + folded.encode_utf8(&mut [0; 4])))
            }
            (DoubleEnd(name), _) if is_letter => self.at(DoubleEnd(name + folded.encode_utf8(&mut [0; 4]))),
            (DoubleStart(name), _) if is_end => RawState::inside(if name == "script" { 2 } else { 1 }, 0),
            (DoubleEnd(name), _) if is_end => RawState::inside(if name == "script" { 1 } else { 2 }, 0),
            // Anything else is read again as what it is without the `<`.
            (_, _) => RawState::inside(escapes, 0).after(letter, is_script),
        }
    }

    /// The same where these rules may not hold: but for its end tag the element then has no `<`, or in a section alone. The second says
    /// whether it has.
    pub(crate) fn after_in_doubt(mut self, letter: char, may_mark: bool) -> (RawState, bool) {
        use RawStep::{CData, CDataLess, EndName, EndOpen, Inside, Less, Marked};
        let is_letter = letter.is_ascii_alphabetic();
        let step = match (std::mem::take(&mut self.step), letter) {
            (Inside, '<') => Less,
            (Inside, _) => Inside,
            (Less, '/') => EndOpen,
            (Less, '!') if may_mark => Marked(String::new()),
            (EndOpen, _) if is_letter => EndName(letter.to_ascii_lowercase().to_string()),
            (EndName(mut name), _) if is_letter => {
                name.push(letter.to_ascii_lowercase());
                EndName(name)
            }
            (Marked(before), _) if CDATA.starts_with(&format!("{before}{letter}")) => {
                match before.len() + 1 {
                    length if length == CDATA.len() => CData(0),
                    _ => Marked(format!("{before}{letter}")),
                }
            }
            (CData(brackets), ']') => CData(brackets + 1),
            (CData(2..), '>') => Inside,
            (CData(_) | CDataLess, '<') => CDataLess,
            (CDataLess, ']') => CData(1),
            (CData(_), _) => CData(0),
            (CDataLess, other) if other != '/' && other != '!' => CData(0),
            _ => return (RawState::default(), true),
        };
        (RawState { step, ..RawState::default() }, false)
    }
}
