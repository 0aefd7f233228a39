//! Where in HTML each hole of a page stands, and how its value is printed there. All is decided here; nothing is guessed when a page is made.

use crate::attributes::{self, AttributeClass};
use crate::elements::{self, ElementContent};
use crate::fault::{FaultList, Span};
use crate::lexer::SqlToken;
use crate::markup::{Markup, MarkupEvent, MarkupState};
use crate::nodes::{NodeBranch, PageNode, SlotNode, Sql};
use crate::open_elements::OpenElements;
use crate::page::{PlacedValue, ValuePlace};
use crate::pieces::{PagePiece, Printed, RowsPiece, SlotPiece, join_literals, push_literal};
use crate::tags;
use crate::urls::{self, OpenValue, UrlPrefix};

/// The pieces of a page.
pub(crate) struct FoundPieces {
    pub(crate) pieces: Vec<PagePiece>,
    pub(crate) slots: Vec<SlotPiece>,
    pub(crate) values: Vec<PlacedValue>,
}

const JSON_HINT: &str = "write <script type=\"application/json\">{{ json: … }}</script>, and read that in a script, or use a data attribute";

struct ContextFinder<'a> {
    text: &'a str,
    tokens: &'a [SqlToken],
    faults: &'a mut FaultList,
    warnings: &'a mut FaultList,
    markup: Markup,
    open: OpenElements,
    value: Option<OpenValue>,
    found: FoundPieces,
    /// Blocks around.
    level: usize,
    /// Whether the parser would leave out a line end here.
    eats_newline: bool,
    /// Holes of the present tag that depend on its other attributes.
    undecided: Vec<(usize, AttributeClass)>,
    /// Whether a branch has ended elsewhere than it began, so that nothing more can be said.
    is_lost: bool,
}

/// Finds out the place of each hole.
pub(crate) fn find(
    text: &str,
    nodes: &[PageNode],
    tokens: &[SqlToken],
    faults: &mut FaultList,
    warnings: &mut FaultList,
) -> FoundPieces {
    let found = FoundPieces { pieces: Vec::new(), slots: Vec::new(), values: Vec::new() };
    let mut finder = ContextFinder {
        text,
        tokens,
        faults,
        warnings,
        markup: Markup::new(),
        open: OpenElements::default(),
        value: None,
        found,
        level: 0,
        eats_newline: false,
        undecided: Vec::new(),
        is_lost: false,
    };
    let mut pieces = Vec::new();
    finder.nodes(nodes, &mut pieces);
    finder.end();
    finder.found.pieces = pieces;
    finder.found
}

impl ContextFinder<'_> {
    fn fault(&mut self, place: usize, message: impl Into<String>, hint: &str) {
        if !self.is_lost {
            self.faults.add(place, message, hint);
        }
    }

    fn nodes(&mut self, nodes: &[PageNode], out: &mut Vec<PagePiece>) {
        for node in nodes {
            match node {
                PageNode::Text(span) => self.literal(*span, out),
                PageNode::Value { hole, sql, is_json } => self.hole(*hole, sql, *is_json, out),
                PageNode::Rows(rows) => {
                    let branches: Vec<_> = [&rows.body].into_iter().chain(&rows.otherwise).collect();
                    let is_loop = !rows.is_single;
                    let mut found =
                        self.blocks(rows.hole, &branches, rows.otherwise.is_some(), is_loop, out).into_iter();
                    out.push(PagePiece::Rows(RowsPiece {
                        hole: rows.hole,
                        is_single: rows.is_single,
                        name: rows.name,
                        query: rows.query.clone(),
                        body: found.next().unwrap_or_default(),
                        otherwise: found.next(),
                    }));
                }
                PageNode::Choice(choice) => {
                    let branches = choice.branches.iter().map(|(_, branch)| branch);
                    let branches: Vec<_> = branches.chain(&choice.otherwise).collect();
                    let mut found =
                        self.blocks(choice.hole, &branches, choice.otherwise.is_some(), false, out);
                    let otherwise = choice.otherwise.is_some().then(|| found.pop().unwrap_or_default());
                    let conditions = choice.branches.iter().map(|(condition, _)| condition.clone());
                    let branches = conditions.zip(found).collect();
                    out.push(PagePiece::Choice { hole: choice.hole, branches, otherwise });
                }
                PageNode::Slot(slot) => self.slot(slot, out),
            }
        }
    }

    /// The first piece that text may be joined with.
    fn floor(&self) -> usize {
        self.value.as_ref().filter(|value| value.level == self.level).map_or(0, |value| value.floor)
    }

    fn push(&mut self, span: Span, out: &mut Vec<PagePiece>) {
        let text = &self.text[span.range()];
        push_literal(out, self.floor(), text, span);
        self.value.iter_mut().for_each(|value| value.add(text));
    }

    fn literal(&mut self, span: Span, out: &mut Vec<PagePiece>) {
        let mut from = span.start;
        let text = self.text;
        for (place, letter) in text[span.range()].char_indices() {
            let at = span.start + place;
            self.eats_newline = false;
            match self.markup.step(letter, at) {
                MarkupEvent::Nothing => {}
                MarkupEvent::ValueBegins => {
                    self.push(Span::new(from, at + 1), out);
                    from = at + 1;
                    self.begin_value(at + 1, out.len());
                }
                MarkupEvent::ValueEnds => {
                    self.push(Span::new(from, at), out);
                    from = at;
                    self.end_value(at, out);
                }
                MarkupEvent::TagEnds => self.tag_ends(at),
            }
        }
        self.push(Span::new(from, span.end), out);
        for (place, message, hint) in std::mem::take(&mut self.markup.problems) {
            self.fault(place, message, hint);
        }
    }

    fn begin_value(&mut self, start: usize, floor: usize) {
        let tag = &self.markup.tag;
        let Some(attribute) = tag.attributes.last().filter(|_| !tag.is_end) else { return };
        self.value = Some(OpenValue {
            class: attributes::class(&tag.name, &attribute.name),
            prefix: UrlPrefix::Open(String::new()),
            start,
            floor,
            level: self.level,
            is_unsure: false,
            whole: None,
        });
    }

    fn end_value(&mut self, end: usize, out: &mut Vec<PagePiece>) {
        // A block that begins in a value and does not end in it is a fault of its own.
        let Some(value) = self.value.take().filter(|value| value.level == self.level) else { return };
        if let Some(whole) = value.whole {
            let hint = "let the call make the whole URL, or begin with text as in \"/books/{{ … }}\"";
            self.fault(whole, "more stands beside the call that makes this URL", hint);
        }
        if !value.is_unsure {
            return join_literals(out, value.floor.saturating_sub(1));
        }
        let mut pieces = out.split_off(value.floor.min(out.len()));
        join_literals(&mut pieces, 0);
        for (place, reference) in urls::decode(&mut pieces) {
            self.unknown_reference(place, &reference);
        }
        out.push(PagePiece::Url { span: Span::new(value.start, end), pieces });
        for placed in self.found.values.iter_mut().rev().take_while(|placed| placed.span.start >= value.start)
        {
            if let ValuePlace::Attribute { tag, name } = &placed.place {
                placed.place = ValuePlace::Url { tag: tag.clone(), name: name.clone() };
            }
        }
    }

    fn unknown_reference(&mut self, place: usize, reference: &str) {
        let message = format!("{reference} in a URL that has a value");
        self.fault(place, message, "write the character itself, and &amp; for a &");
    }

    fn hole(&mut self, hole: Span, sql: &Sql, is_json: bool, out: &mut Vec<PagePiece>) {
        let before = self.markup.state.clone();
        let result = self.begins(hole, out);
        if let Err((message, hint)) = result.and_then(|()| self.markup.may_be_value(&before)) {
            // The rest is read as if nothing stood here.
            self.markup.undo_boundary(before);
            return self.fault(hole.start, message, hint);
        }
        let (printed, place) = match &self.markup.state {
            MarkupState::Text if is_json => {
                return self.fault(hole.start, "json: stands in no text", JSON_HINT);
            }
            MarkupState::Text => (Printed::AsItIs, ValuePlace::Text),
            MarkupState::Value(_) => match self.value_hole(hole, sql, is_json) {
                Some(found) => found,
                None => return,
            },
            MarkupState::Raw(_) => match self.raw_hole(is_json) {
                Ok(found) => found,
                Err((message, hint)) => return self.fault(hole.start, message, hint),
            },
            _ => return,
        };
        self.found.values.push(PlacedValue { span: sql.span, place });
        out.push(PagePiece::Value { hole, sql: sql.clone(), printed });
    }

    /// The rules for holes and blocks alike.
    fn begins(&mut self, at: Span, out: &mut Vec<PagePiece>) -> Result<(), (String, &'static str)> {
        let result = self.markup.boundary();
        self.markup.is_in_reference = false;
        if std::mem::take(&mut self.eats_newline) {
            push_literal(out, self.floor(), "\n", at);
        }
        result
    }

    fn raw_hole(&self, is_json: bool) -> Result<(Printed, ValuePlace), (String, &'static str)> {
        let Some(raw) = &self.markup.raw else { return Err((String::new(), "")) };
        let name = &raw.name;
        match raw.content {
            ElementContent::Plain if is_json => Err(("json: stands in no text".to_owned(), JSON_HINT)),
            ElementContent::Plain => Ok((Printed::Escaped, ValuePlace::PlainElement(name.clone()))),
            ElementContent::Script if raw.is_json && is_json => Ok((Printed::ScriptJson, ValuePlace::Json)),
            ElementContent::Script if raw.is_json => {
                Err(("this script holds JSON".to_owned(), "write {{ json: … }}"))
            }
            ElementContent::Script => Err(("a value would become code of this script".to_owned(), JSON_HINT)),
            _ if name == "style" => {
                Err(("a value would become a part of this style sheet".to_owned(), "choose a class instead"))
            }
            _ => Err((format!("what stands in {name} is never escaped"), "write it without holes")),
        }
    }

    fn value_hole(&mut self, hole: Span, sql: &Sql, is_json: bool) -> Option<(Printed, ValuePlace)> {
        let tag = self.markup.tag.name.clone();
        let attribute = self.markup.attribute()?;
        attribute.has_hole = true;
        let name = attribute.name.clone();
        let value = self.value.as_mut()?;
        let class = value.class;
        let place = ValuePlace::Attribute { tag, name: name.clone() };
        match class {
            AttributeClass::Plain => {}
            AttributeClass::Refused(hint) => {
                self.fault(hole.start, format!("a value in the attribute {name} is more than text"), hint);
                return None;
            }
            AttributeClass::Animated | AttributeClass::MetaContent => {
                self.undecided.push((hole.start, class))
            }
            AttributeClass::Load | AttributeClass::Code if is_json => {
                self.fault(hole.start, format!("the attribute {name} is a URL, not JSON"), "");
                return None;
            }
            AttributeClass::Load | AttributeClass::Code => {
                match value.hole(hole.start, urls::is_made(self.text, self.tokens, sql)) {
                    Err(reference) => self.unknown_reference(hole.start, &reference),
                    Ok(true) => {}
                    Ok(false) => {
                        let hint =
                            "begin with text as in \"/books/{{ … }}\", or write {{ http.url(…) }} alone";
                        self.fault(hole.start, format!("a value would decide where {name} leads"), hint);
                        return None;
                    }
                }
            }
        }
        Some((if is_json { Printed::EscapedJson } else { Printed::Escaped }, place))
    }

    fn slot(&mut self, slot: &SlotNode, out: &mut Vec<PagePiece>) {
        if self.markup.state != MarkupState::Text {
            self.fault(
                slot.hole.start,
                "a slot begins in text, not within a tag or another element's text",
                "",
            );
        }
        let found = self.blocks(slot.hole, &[&slot.body], true, false, out);
        let pieces = found.into_iter().next().unwrap_or_default();
        self.found.slots.push(SlotPiece {
            hole: slot.hole,
            written: slot.written,
            name: slot.name.clone(),
            pieces,
        });
    }

    /// Blocks of which one is written, or one again and again.
    fn blocks(
        &mut self,
        hole: Span,
        branches: &[&NodeBranch],
        is_complete: bool,
        is_loop: bool,
        out: &mut Vec<PagePiece>,
    ) -> Vec<Vec<PagePiece>> {
        if let Err((message, hint)) = self.begins(hole, out) {
            self.fault(hole.start, message, hint);
            self.is_lost = true;
        }
        if matches!(self.markup.state, MarkupState::Value(_)) {
            self.block_in_value(hole);
        }
        let (state, raw, key) = (self.markup.state.clone(), self.markup.raw.clone(), self.markup.key());
        let (prefix, open) = (self.value.as_ref().map(|value| value.prefix.clone()), self.open.clone());
        let first = self.markup.tag.attributes.len();
        let is_in_tag = matches!(state, MarkupState::Between { .. });
        let mut found = Vec::new();
        let (mut ends, mut prefixes) = (Vec::new(), Vec::new());
        let mut attributes = Vec::new();
        let mut needs_blank = false;
        if !is_complete {
            ends.push(open.clone());
            prefixes.extend(prefix.clone());
        }
        for branch in branches {
            (self.markup.state, self.markup.raw, self.open) = (state.clone(), raw.clone(), open.clone());
            if let (Some(value), Some(prefix)) = (&mut self.value, &prefix) {
                value.prefix = prefix.clone();
            }
            found.push(self.branch(branch, &key));
            needs_blank |= self.markup.state == (MarkupState::Between { needs_blank: true });
            prefixes.extend(self.value.as_ref().map(|value| value.prefix.clone()));
            ends.push(self.open.clone());
            if is_in_tag {
                attributes.extend(self.markup.take_attributes(first));
            }
        }
        self.markup.raw = raw;
        self.markup.state = match state {
            MarkupState::Between { needs_blank: before } => {
                MarkupState::Between { needs_blank: before || needs_blank }
            }
            state => state,
        };
        self.join_attributes(attributes, hole, is_loop);
        self.join_prefixes(prefixes, hole, is_loop);
        if self.open.join(ends) && !self.is_lost {
            let message = "the branches of this block leave different elements open";
            self.warnings.add(hole.start, message, "");
        }
        self.markup.is_in_reference = false;
        found
    }

    fn branch(&mut self, branch: &NodeBranch, key: &crate::markup::MarkupKey) -> Vec<PagePiece> {
        let mut pieces = Vec::new();
        self.level += 1;
        self.nodes(&branch.nodes, &mut pieces);
        let result = self.begins(branch.hole, &mut pieces);
        self.level -= 1;
        let hint = "begin and end tags, quotes and comments within the same branch";
        if let Err((message, hint)) = result {
            let message = format!("at the end of this branch: {message}");
            self.fault(branch.hole.start, message, hint);
            self.is_lost = true;
        } else if self.markup.key() != *key {
            self.fault(branch.hole.start, "this branch ends elsewhere in the markup than it begins", hint);
            self.is_lost = true;
        }
        pieces
    }

    /// A block within a value: of those that decide over others each case is written as a whole.
    fn block_in_value(&mut self, hole: Span) {
        let tag = self.markup.tag.name.clone();
        let Some(attribute) = self.markup.attribute() else { return };
        attribute.has_hole = true;
        let name = attribute.name.clone();
        if attributes::is_decisive(&tag, &name) {
            self.fault(
                hole.start,
                format!("the attribute {name} is the same in each case"),
                "write it without holes",
            );
        }
    }

    /// Attributes of all branches, as one of them is there.
    fn join_attributes(&mut self, own: Vec<crate::markup::MarkupAttribute>, hole: Span, is_loop: bool) {
        if is_loop && !own.is_empty() {
            self.fault(hole.start, "each row would write the attribute again", "use if, or with");
        }
        let tag = self.markup.tag.name.clone();
        for attribute in own {
            if attributes::is_decisive(&tag, &attribute.name) {
                let message = format!("the attribute {} is the same in each case", attribute.name);
                self.fault(
                    attribute.start,
                    message,
                    "write it outside of blocks, or the whole tag in each branch",
                );
            }
            if self.markup.tag.names.insert(attribute.name.clone()) {
                self.markup.tag.attributes.push(attribute);
            }
        }
    }

    fn join_prefixes(&mut self, prefixes: Vec<UrlPrefix>, hole: Span, is_loop: bool) {
        let Some(value) = &mut self.value else { return };
        if !matches!(value.class, AttributeClass::Load | AttributeClass::Code) {
            return;
        }
        match UrlPrefix::join(prefixes, value.class) {
            Ok(prefix) => {
                // A second row would write its URL behind the first.
                if let (UrlPrefix::Whole(place), true) = (&prefix, is_loop) {
                    value.whole = value.whole.or(Some(*place));
                }
                value.prefix = prefix;
            }
            Err(reference) => self.unknown_reference(hole.start, &reference),
        }
    }

    fn tag_ends(&mut self, end: usize) {
        let undecided = std::mem::take(&mut self.undecided);
        let (name, start) = (self.markup.tag.name.clone(), self.markup.tag.start);
        if self.markup.tag.is_end {
            for (place, message) in self.open.close(&name, start) {
                self.warnings.add(place, message, "");
            }
            return;
        }
        for (place, class) in undecided {
            if let Some((message, hint)) = tags::decided(&self.markup.tag, class) {
                self.fault(place, message, hint);
            }
        }
        let content = elements::content(&name);
        let is_doubtful = self.open.is_doubtful();
        let is_self_closing = self.markup.tag.is_self_closing;
        self.open.open(&name, is_self_closing, start);
        self.eats_newline = elements::eats_newline(&name);
        match content {
            ElementContent::Markup => {}
            ElementContent::Endless => self.fault(start, "plaintext never ends", "write <pre>"),
            _ if is_doubtful && is_self_closing => {
                let hint = format!("write <{name}></{name}>");
                self.fault(end, format!("within svg, math and select <{name}/> is read in two ways"), &hint);
            }
            _ => {
                let is_json = tags::is_json(&self.markup.tag);
                self.markup.enter(name, content, is_doubtful, is_json);
            }
        }
    }

    /// The end of the file, which is text.
    fn end(&mut self) {
        let start = self.markup.start;
        match &self.markup.state {
            MarkupState::Text => {}
            MarkupState::Raw(_) => {
                let (start, name) =
                    self.markup.raw.as_ref().map_or((start, ""), |raw| (raw.start, &*raw.name));
                let message = format!("<{name}> has no end tag");
                self.fault(start, message, "");
            }
            _ => self.fault(start, "the page ends within this tag or comment", "write &lt; for a <"),
        }
        for (place, message) in std::mem::take(&mut self.open).end() {
            self.warnings.add(place, message, "");
        }
    }
}
