//! The tokenizer of HTML's standard (13.2.5), as far as it decides where a hole stands. It goes on from any state, character by character.

use std::collections::HashSet;

use crate::elements::ElementContent;
use crate::raw::{CDATA, RawState, RawStep};

/// Where the next character stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MarkupState {
    Text,
    TagOpen,
    EndTagOpen,
    TagName,
    BeforeName,
    Name,
    AfterName,
    BeforeValue,
    /// Within this quote.
    Value(char),
    Unquoted,
    AfterValue,
    SelfClosing,
    /// Between attributes, behind a block. Whether a blank must follow before the next attribute.
    Between {
        needs_blank: bool,
    },
    Bogus,
    /// `<!` and this.
    Declaration(String),
    CommentStart,
    CommentStartDash,
    Comment,
    CommentEndDash,
    CommentEnd,
    CommentEndBang,
    Doctype,
    /// Within `<![CDATA[`, behind so many closing brackets.
    CData(usize),
    /// The content of an element that is not read as markup.
    Raw(RawState),
}

/// The effect of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkupEvent {
    Nothing,
    /// The quote before a value.
    ValueBegins,
    /// The quote behind it.
    ValueEnds,
    /// The end of a tag.
    TagEnds,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct MarkupAttribute {
    pub(crate) name: String,
    /// The value as it is written, without holes.
    pub(crate) value: String,
    pub(crate) start: usize,
    pub(crate) has_hole: bool,
}

#[derive(Debug, Default)]
pub(crate) struct MarkupTag {
    pub(crate) name: String,
    pub(crate) is_end: bool,
    pub(crate) start: usize,
    pub(crate) is_self_closing: bool,
    pub(crate) attributes: Vec<MarkupAttribute>,
    /// Names so far, to find one that is there twice.
    pub(crate) names: HashSet<String>,
    serial: usize,
}

/// The element whose content is not read as markup.
#[derive(Clone, Debug)]
pub(crate) struct RawElement {
    pub(crate) name: String,
    pub(crate) content: ElementContent,
    pub(crate) start: usize,
    /// Whether other rules may hold, so that both must come to the same.
    pub(crate) is_doubtful: bool,
    /// Whether a script holds JSON.
    pub(crate) is_json: bool,
    serial: usize,
}

/// A state that can be compared: the same kind of place in the same tag, value or element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MarkupKey {
    state: MarkupState,
    serial: usize,
}

/// Something wrong with the markup: place, message, hint.
pub(crate) type MarkupProblem = (usize, String, &'static str);

pub(crate) struct Markup {
    pub(crate) state: MarkupState,
    pub(crate) tag: MarkupTag,
    pub(crate) raw: Option<RawElement>,
    /// The place of the `<` of what is being read.
    pub(crate) start: usize,
    /// Whether an ampersand is followed by letters and digits alone so far.
    pub(crate) is_in_reference: bool,
    pub(crate) problems: Vec<MarkupProblem>,
    serial: usize,
}

const TWO_READINGS: &str = "write it without <, or outside of svg, math and select";

impl Markup {
    pub(crate) fn new() -> Markup {
        Markup {
            state: MarkupState::Text,
            tag: MarkupTag::default(),
            raw: None,
            start: 0,
            is_in_reference: false,
            problems: Vec::new(),
            serial: 0,
        }
    }

    /// The attribute that is being read.
    pub(crate) fn attribute(&mut self) -> Option<&mut MarkupAttribute> {
        self.tag.attributes.last_mut()
    }

    /// Takes the attributes out from one on, by number, as another branch may have the same.
    pub(crate) fn take_attributes(&mut self, first: usize) -> Vec<MarkupAttribute> {
        let own = self.tag.attributes.split_off(first.min(self.tag.attributes.len()));
        for attribute in &own {
            self.tag.names.remove(&attribute.name);
        }
        own
    }

    /// Begins the content of an element that is not read as markup.
    pub(crate) fn enter(&mut self, name: String, content: ElementContent, is_doubtful: bool, is_json: bool) {
        self.serial += 1;
        let start = self.tag.start;
        self.raw = Some(RawElement { name, content, start, is_doubtful, is_json, serial: self.serial });
        self.state = MarkupState::Raw(RawState::default());
    }

    /// Reads one character.
    pub(crate) fn step(&mut self, letter: char, at: usize) -> MarkupEvent {
        self.is_in_reference =
            letter == '&' || self.is_in_reference && (letter.is_ascii_alphanumeric() || letter == '#');
        match &self.state {
            MarkupState::Raw(_) => self.raw(letter, at),
            MarkupState::Text if letter != '<' => MarkupEvent::Nothing,
            MarkupState::Text | MarkupState::TagOpen | MarkupState::EndTagOpen => self.open(letter, at),
            MarkupState::Bogus
            | MarkupState::Declaration(_)
            | MarkupState::CommentStart
            | MarkupState::CommentStartDash
            | MarkupState::Comment
            | MarkupState::CommentEndDash
            | MarkupState::CommentEnd
            | MarkupState::CommentEndBang
            | MarkupState::Doctype
            | MarkupState::CData(_) => self.comment(letter, at),
            _ => self.in_tag(letter, at),
        }
    }

    fn open(&mut self, letter: char, at: usize) -> MarkupEvent {
        use MarkupState::{Bogus, Declaration, EndTagOpen, TagName, TagOpen, Text};
        let is_end = self.state == EndTagOpen;
        self.state = match (&self.state, letter) {
            (Text, '<') => {
                self.start = at;
                TagOpen
            }
            (TagOpen, '!') => Declaration(String::new()),
            (TagOpen, '/') => EndTagOpen,
            (TagOpen, '?') => Bogus,
            (TagOpen | EndTagOpen, letter) if letter.is_ascii_alphabetic() => {
                self.serial += 1;
                let serial = self.serial;
                self.tag = MarkupTag { is_end, start: self.start, serial, ..MarkupTag::default() };
                self.tag.name.push(letter.to_ascii_lowercase());
                TagName
            }
            (EndTagOpen, '>') => Text,
            (EndTagOpen, _) => Bogus,
            // `<<a>`
            (_, '<') => {
                self.start = at;
                TagOpen
            }
            _ => Text,
        };
        MarkupEvent::Nothing
    }

    fn comment(&mut self, letter: char, at: usize) -> MarkupEvent {
        use MarkupState::{
            Bogus, CData, Comment, CommentEnd, CommentEndBang, CommentEndDash, CommentStart,
            CommentStartDash, Declaration, Doctype, Text,
        };
        self.state = match (&self.state, letter) {
            (Declaration(before), _) => self.declaration(&format!("{before}{letter}"), letter),
            (Bogus | Doctype | CommentStart | CommentStartDash | CommentEnd | CommentEndBang, '>') => Text,
            (Bogus, _) => Bogus,
            (Doctype, _) => Doctype,
            (CommentStart, '-') => CommentStartDash,
            (CommentStartDash | CommentEndDash | CommentEnd, '-') => CommentEnd,
            (Comment | CommentEndBang, '-') => CommentEndDash,
            (CommentEnd, '!') => CommentEndBang,
            (CData(2..), '>') => Text,
            (CData(_), '>') => {
                let message = "HTML ends this at the first >, and SVG at ]]>";
                self.problems.push((at, message.to_owned(), "write &lt; and &amp; instead of CDATA"));
                Text
            }
            (CData(brackets), ']') => CData(brackets + 1),
            (CData(_), _) => CData(0),
            _ => Comment,
        };
        MarkupEvent::Nothing
    }

    fn declaration(&self, read: &str, letter: char) -> MarkupState {
        let begins =
            |whole: &str| whole.get(..read.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(read));
        match read {
            "--" => MarkupState::CommentStart,
            CDATA => MarkupState::CData(0),
            _ if read.eq_ignore_ascii_case("doctype") => MarkupState::Doctype,
            _ if "--".starts_with(read) || CDATA.starts_with(read) || begins("doctype") => {
                MarkupState::Declaration(read.to_owned())
            }
            _ if letter == '>' => MarkupState::Text,
            _ => MarkupState::Bogus,
        }
    }

    fn in_tag(&mut self, letter: char, at: usize) -> MarkupEvent {
        use MarkupState::{
            AfterName, AfterValue, BeforeName, BeforeValue, Between, Name, SelfClosing, TagName, Text,
            Unquoted, Value,
        };
        let is_blank = letter.is_ascii_whitespace();
        if let (Value(quote), attribute) = (&self.state, self.tag.attributes.last_mut()) {
            if *quote == letter {
                self.state = AfterValue;
                return MarkupEvent::ValueEnds;
            }
            attribute.into_iter().for_each(|attribute| attribute.value.push(letter));
            return MarkupEvent::Nothing;
        }
        let before = std::mem::replace(&mut self.state, BeforeName);
        if before == Name && (is_blank || "/>=".contains(letter)) {
            self.name_ends();
        }
        match (before, letter) {
            (_, '>') => {
                self.state = Text;
                return MarkupEvent::TagEnds;
            }
            (BeforeValue, '"' | '\'') => {
                self.state = Value(letter);
                return MarkupEvent::ValueBegins;
            }
            (BeforeValue, _) if is_blank => self.state = BeforeValue,
            (BeforeValue | Unquoted, _) if !is_blank => {
                self.state = Unquoted;
                self.attribute().into_iter().for_each(|attribute| attribute.value.push(letter));
            }
            (AfterName | Name, _) if is_blank => self.state = AfterName,
            (AfterName | Name, '=') => self.state = BeforeValue,
            (_, '/') => {
                self.state = SelfClosing;
                self.tag.is_self_closing = true;
                return MarkupEvent::Nothing;
            }
            (_, _) if is_blank => {}
            (TagName, _) => {
                self.tag.name.push(letter.to_ascii_lowercase());
                self.state = TagName;
            }
            (Name, _) => {
                self.attribute()
                    .into_iter()
                    .for_each(|attribute| attribute.name.push(letter.to_ascii_lowercase()));
                self.state = Name;
            }
            (before, _) => {
                if let Between { needs_blank } = before {
                    self.behind_block(needs_blank, letter, at);
                }
                self.begin_attribute(letter, at);
            }
        }
        self.tag.is_self_closing = false;
        MarkupEvent::Nothing
    }

    fn behind_block(&mut self, needs_blank: bool, letter: char, at: usize) {
        if letter == '=' {
            let message = "a value stands apart from its attribute".to_owned();
            self.problems.push((at, message, "put the whole attribute into the block"));
        } else if needs_blank {
            let message = "what stands before and behind a block would become one word".to_owned();
            self.problems.push((at, message, "write a blank between attributes"));
        }
    }

    fn begin_attribute(&mut self, letter: char, at: usize) {
        self.serial += 1;
        let name = letter.to_ascii_lowercase().to_string();
        self.tag.attributes.push(MarkupAttribute { name, start: at, ..MarkupAttribute::default() });
        self.state = MarkupState::Name;
    }

    fn name_ends(&mut self) {
        let Some(attribute) = self.tag.attributes.last() else { return };
        if !self.tag.names.insert(attribute.name.clone()) && !self.tag.is_end {
            let message =
                format!("the attribute {} is there twice, and browsers take the first", attribute.name);
            self.problems.push((attribute.start, message, ""));
        }
    }

    fn raw(&mut self, letter: char, at: usize) -> MarkupEvent {
        let Some(raw) = &self.raw else { return MarkupEvent::Nothing };
        let MarkupState::Raw(before) = std::mem::replace(&mut self.state, MarkupState::Text) else {
            return MarkupEvent::Nothing;
        };
        let (is_script, is_doubtful) = (raw.content == ElementContent::Script, raw.is_doubtful);
        let may_mark = is_doubtful && raw.content != ElementContent::Plain;
        if let RawStep::EndName(name) = &before.step
            && (letter.is_ascii_whitespace() || "/>".contains(letter))
            && *name == raw.name
        {
            self.serial += 1;
            self.tag = MarkupTag {
                name: name.clone(),
                is_end: true,
                start: self.start,
                serial: self.serial,
                ..MarkupTag::default()
            };
            self.raw = None;
            self.state = MarkupState::TagName;
            return self.in_tag(letter, at);
        }
        if before.step == RawStep::Inside && letter == '<' {
            self.start = at;
        }
        let (after, is_ambiguous) = match is_doubtful {
            true => before.after_in_doubt(letter, may_mark),
            false => (before.after(letter, is_script), false),
        };
        self.state = MarkupState::Raw(after);
        if is_ambiguous {
            let name = self.raw.as_mut().map_or("", |raw| {
                raw.is_doubtful = false;
                &raw.name
            });
            let message = format!("within svg, math and select {name} is read in two ways, and this differs");
            self.problems.push((self.start, message, TWO_READINGS));
        }
        MarkupEvent::Nothing
    }

    /// A hole or a block begins: whether it may, and if so what follows it is read from a state that can be compared. The error says what is
    /// wrong, and what to write.
    pub(crate) fn boundary(&mut self) -> Result<(), (String, &'static str)> {
        use MarkupState::{
            AfterName, AfterValue, BeforeName, BeforeValue, Between, Bogus, CData, Declaration, Doctype,
            EndTagOpen, Name, Raw, SelfClosing, TagName, TagOpen, Text, Unquoted, Value,
        };
        if self.is_in_reference && self.has_references() {
            return Err((
                "a & stands before this, which would become one word with it".to_owned(),
                "write &amp; for a &",
            ));
        }
        match &self.state {
            Text => {}
            Value(_) if !self.tag.is_end => {}
            Raw(raw) if raw.is_certain() => {}
            TagName | BeforeName | Name | AfterName | AfterValue | Unquoted | Between { .. }
                if !self.tag.is_end =>
            {
                let needs_blank = match self.state {
                    Between { needs_blank } => needs_blank,
                    BeforeName | AfterName => false,
                    _ => true,
                };
                if self.state == Name {
                    self.name_ends();
                }
                self.state = Between { needs_blank };
            }
            TagOpen | EndTagOpen | Raw(_) => {
                return Err((
                    "a < stands before this".to_owned(),
                    "write &lt; for a <; a tag's name is written out",
                ));
            }
            BeforeValue => {
                return Err(("the value of an attribute has no quotes here".to_owned(), "put \" around it"));
            }
            SelfClosing => return Err(("a / stands before this".to_owned(), "write it before the /")),
            Bogus | Doctype | CData(_) | Declaration(_) => {
                return Err(("this stands within a declaration".to_owned(), "write it without holes"));
            }
            _ if self.is_in_comment() => {
                return Err((
                    "this stands within a comment of HTML".to_owned(),
                    "a remark is written {{ -- … }}",
                ));
            }
            _ => return Err(("this stands within an end tag".to_owned(), "write the end tag without holes")),
        }
        Ok(())
    }

    /// Whether a value may stand where a block may, which was in this state before.
    pub(crate) fn may_be_value(&self, before: &MarkupState) -> Result<(), (String, &'static str)> {
        if !matches!(self.state, MarkupState::Between { .. }) {
            return Ok(());
        }
        let (message, hint) = match before {
            MarkupState::Unquoted => ("the value of an attribute has no quotes here", "put \" around it"),
            MarkupState::TagName => {
                ("a value would be a part of the tag's name", "write a tag for each case, in an if")
            }
            MarkupState::Name => (
                "a value would be a part of the attribute's name",
                "write an attribute for each case, in an if",
            ),
            _ => ("a value would be an attribute here", "write name=\"{{ … }}\", or {{ if … }}name{{ end }}"),
        };
        Err((message.to_owned(), hint))
    }

    /// Goes on from the state before a hole that may not stand there.
    pub(crate) fn undo_boundary(&mut self, before: MarkupState) {
        if let (MarkupState::Name, Some(attribute)) = (&before, self.tag.attributes.last()) {
            self.tag.names.remove(&attribute.name);
        }
        let is_open = matches!(before, MarkupState::TagOpen | MarkupState::EndTagOpen);
        self.state = if is_open { MarkupState::Text } else { before };
    }

    fn is_in_comment(&self) -> bool {
        use MarkupState::{
            Comment, CommentEnd, CommentEndBang, CommentEndDash, CommentStart, CommentStartDash,
        };
        matches!(
            self.state,
            Comment | CommentEnd | CommentEndBang | CommentEndDash | CommentStart | CommentStartDash
        )
    }

    /// Whether character references are read here.
    fn has_references(&self) -> bool {
        match self.state {
            MarkupState::Text | MarkupState::Value(_) | MarkupState::Unquoted => true,
            MarkupState::Raw(_) => self.raw.as_ref().is_some_and(|raw| raw.content == ElementContent::Plain),
            _ => false,
        }
    }

    /// The state for a comparison of branches.
    pub(crate) fn key(&self) -> MarkupKey {
        let (state, serial) = match &self.state {
            MarkupState::Text => (MarkupState::Text, 0),
            MarkupState::Between { .. } => (MarkupState::Between { needs_blank: true }, self.tag.serial),
            MarkupState::Raw(raw) => {
                (MarkupState::Raw(raw.clone()), self.raw.as_ref().map_or(0, |raw| raw.serial))
            }
            MarkupState::Value(quote) => {
                (MarkupState::Value(*quote), self.tag.serial + (self.tag.attributes.len() << 32))
            }
            other => (other.clone(), self.serial),
        };
        MarkupKey { state, serial }
    }
}
