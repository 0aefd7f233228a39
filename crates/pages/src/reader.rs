//! Holes into a tree.

use crate::arguments::{self, PageArgument};
use crate::cut::{Cut, CutHole};
use crate::directive::Directive;
use crate::fault::{FaultList, Span};
use crate::lexer::{self, SqlToken, TokenKind};
use crate::nodes::{ChoiceNode, HoleKind, NodeBranch, PageNode, RowsNode, SlotNode, Sql};

/// Blocks stand in each other so deep at most.
const DEEPEST: usize = 100;

/// A page as it was written.
#[derive(Default)]
pub(crate) struct ReadPage {
    pub(crate) arguments: Vec<PageArgument>,
    /// The hole of the layout, and its call.
    pub(crate) layout: Option<(Span, Sql)>,
    pub(crate) nodes: Vec<PageNode>,
    /// All SQL, in the order of the file, but for the arguments.
    pub(crate) sql: Vec<(HoleKind, Sql)>,
    /// Names that rows have.
    pub(crate) rows: Vec<String>,
}

/// A block that is not ended yet.
struct OpenBlock {
    kind: OpenKind,
    branch: NodeBranch,
}

enum OpenKind {
    Rows { is_single: bool, hole: Span, name: Option<Span>, query: Sql, body: Option<NodeBranch> },
    Choice { hole: Span, before: Vec<(Sql, NodeBranch)>, condition: Option<Sql> },
    Slot { hole: Span, written: Span, name: String },
}

pub(crate) struct PageReader<'a> {
    text: &'a str,
    tokens: &'a [SqlToken],
    faults: &'a mut FaultList,
    page: ReadPage,
    open: Vec<OpenBlock>,
    /// Blocks that are too deep to be kept; their ends are still counted.
    too_deep: usize,
    has_arguments: bool,
    has_content: bool,
    /// The first block that was ended by an `end` which is indented less: as it was meant, that is another's.
    misled: Option<Span>,
}

/// Reads what a file was cut into.
pub(crate) fn read(text: &str, cuts: &[Cut], tokens: &[SqlToken], faults: &mut FaultList) -> ReadPage {
    let mut reader = PageReader {
        text,
        tokens,
        faults,
        page: ReadPage::default(),
        open: Vec::new(),
        too_deep: 0,
        has_arguments: false,
        has_content: false,
        misled: None,
    };
    for cut in cuts {
        match cut {
            Cut::Text(span) => reader.text(*span),
            Cut::Hole(hole) => reader.hole(hole),
        }
    }
    let misled = reader.misled.filter(|_| reader.open.len() == 1);
    for block in reader.open.drain(..) {
        let place = misled.unwrap_or(block.hole());
        reader.faults.add(place.start, "this block has no end", "write {{ end }} behind it");
    }
    reader.page
}

impl OpenBlock {
    fn hole(&self) -> Span {
        match self.kind {
            OpenKind::Rows { hole, .. } | OpenKind::Choice { hole, .. } | OpenKind::Slot { hole, .. } => hole,
        }
    }
}

impl PageReader<'_> {
    fn text(&mut self, span: Span) {
        self.has_content |= !self.text[span.range()].trim_ascii().is_empty();
        self.push(PageNode::Text(span));
    }

    /// The white space before a hole, if nothing else stands before it in its line.
    fn indent(&self, hole: Span) -> Option<usize> {
        let line = self.text[..hole.start].rfind('\n').map_or(0, |end| end + 1);
        let before = &self.text[line..hole.start];
        before.trim_ascii().is_empty().then_some(before.len())
    }

    fn push(&mut self, node: PageNode) {
        if self.too_deep == 0 {
            self.open.last_mut().map_or(&mut self.page.nodes, |block| &mut block.branch.nodes).push(node);
        }
    }

    fn fault(&mut self, place: usize, message: impl Into<String>, hint: &str) {
        self.faults.add(place, message, hint);
    }

    fn hole(&mut self, hole: &CutHole) {
        let place = hole.span.start;
        match hole.directive {
            Directive::Remark => return,
            Directive::Arguments => return self.arguments(hole),
            Directive::Layout => return self.layout(hole),
            Directive::Expression | Directive::Json => self.value(hole),
            Directive::For | Directive::With => self.rows(hole),
            Directive::If => {
                let condition = self.expression(hole);
                self.begin(
                    OpenKind::Choice { hole: hole.span, before: Vec::new(), condition: Some(condition) },
                    hole,
                );
            }
            Directive::Slot => self.slot(hole),
            Directive::Elsif | Directive::Else => self.next_branch(hole),
            Directive::End if !hole.sql.is_empty() => {
                self.fault(hole.sql.start, "nothing stands behind end", "")
            }
            Directive::End if self.too_deep > 0 => self.too_deep -= 1,
            Directive::End => match self.open.pop() {
                Some(block) => {
                    let is_misled = self.indent(block.hole()).zip(self.indent(hole.span));
                    let is_misled = is_misled.is_some_and(|(begin, end)| end < begin);
                    self.misled = self.misled.or(is_misled.then(|| block.hole()));
                    self.end(block);
                }
                None => self.fault(place, "this end has no beginning", ""),
            },
        }
        self.has_content = true;
    }

    fn arguments(&mut self, hole: &CutHole) {
        if self.has_arguments {
            self.fault(hole.span.start, "a page has its arguments once", "");
        } else if self.has_content || self.page.layout.is_some() {
            self.fault(hole.span.start, "arguments stand before everything else", "");
        }
        self.has_arguments = true;
        self.page.arguments = arguments::read(self.text, hole, self.tokens, self.faults);
    }

    fn layout(&mut self, hole: &CutHole) {
        if self.page.layout.is_some() {
            self.fault(hole.span.start, "a page has one layout", "");
        } else if self.has_content {
            self.fault(
                hole.span.start,
                "the layout stands before the content",
                "write it behind the arguments",
            );
        }
        let own = &self.tokens[hole.tokens.clone()];
        let mut rest = own;
        let mut is_call = false;
        while let [name, after @ ..] = rest {
            match after {
                _ if !name.is_name() => break,
                [dot, more @ ..] if dot.is(b'.') => rest = more,
                [bracket, ..] if bracket.is(b'(') => {
                    is_call = bracket.partner.is_some_and(|partner| partner + 1 == hole.tokens.end);
                    break;
                }
                _ => break,
            }
        }
        if !is_call {
            self.fault(
                hole.sql.start,
                "a layout is one call of a page",
                "write {{ layout: layout(title => 'Title') }}",
            );
        }
        let call = Sql { span: hole.sql, tokens: hole.tokens.clone() };
        self.page.sql.push((HoleKind::Layout, call.clone()));
        self.page.layout = Some((hole.span, call));
    }

    fn value(&mut self, hole: &CutHole) {
        let sql = self.expression(hole);
        self.push(PageNode::Value { hole: hole.span, sql, is_json: hole.directive == Directive::Json });
    }

    /// Exactly one expression: two would be two pieces of the page, and a query needs its brackets.
    fn expression(&mut self, hole: &CutHole) -> Sql {
        let own = &self.tokens[hole.tokens.clone()];
        let word = &self.text[Span::new(hole.span.start + 2, hole.sql.start).range()];
        match own.first() {
            None => {
                self.fault(hole.span.start, format!("an expression is missing behind {}", word.trim()), "")
            }
            Some(first) => {
                const QUERIES: [&str; 3] = ["select", "values", "table"];
                if QUERIES.iter().any(|query| first.is_word(self.text, query)) {
                    let hint = "put a query that gives one value into brackets, or use for";
                    self.faults.add(
                        first.span.start,
                        "a hole holds an expression, and this is a query",
                        hint,
                    );
                }
                let after = arguments::at_commas(own).into_iter().next().map_or(0, <[SqlToken]>::len);
                if let Some(comma) = own.get(after) {
                    self.faults.add(comma.span.start, "a hole holds one expression", "write a hole for each");
                }
            }
        }
        let sql = Sql { span: hole.sql, tokens: hole.tokens.clone() };
        let is_value = matches!(hole.directive, Directive::Expression | Directive::Json);
        self.page.sql.push((if is_value { HoleKind::Expression } else { HoleKind::Condition }, sql.clone()));
        sql
    }

    fn rows(&mut self, hole: &CutHole) {
        let is_single = hole.directive == Directive::With;
        let word = if is_single { "with" } else { "for" };
        let own: Vec<usize> =
            hole.tokens.clone().filter(|at| self.tokens[*at].kind != TokenKind::Comment).collect();
        let (mut name, mut first) = (None, hole.tokens.start);
        if let [named, within, ..] = own[..]
            && self.tokens[named].is_name()
            && self.tokens[within].is_word(self.text, "in")
        {
            name = Some(self.tokens[named].span);
            first = own.get(2).copied().unwrap_or(hole.tokens.end);
            self.page.rows.push(lexer::name(self.text, &self.tokens[named]));
            if self.page.rows.last().is_some_and(|name| name == "args") {
                let place = self.tokens[named].span.start;
                self.fault(place, "rows cannot be called args", "args.NAME is an argument of the page");
            }
        }
        const QUERIES: [&str; 4] = ["select", "with", "values", "table"];
        let is_query = self.tokens[first..hole.tokens.end].first().is_some_and(|token| {
            token.is(b'(') || QUERIES.iter().any(|query| token.is_word(self.text, query))
        });
        if !is_query {
            let place =
                self.tokens[first..hole.tokens.end].first().map_or(hole.span.start, |token| token.span.start);
            let hint = format!("write {{{{ {word} row in select … from … }}}}");
            self.fault(place, format!("{word} needs a query"), &hint);
        }
        let start =
            self.tokens[first..hole.tokens.end].first().map_or(hole.sql.end, |token| token.span.start);
        let query = Sql { span: Span::new(start, hole.sql.end), tokens: first..hole.tokens.end };
        self.page.sql.push((HoleKind::Query, query.clone()));
        self.begin(OpenKind::Rows { is_single, hole: hole.span, name, query, body: None }, hole);
    }

    fn slot(&mut self, hole: &CutHole) {
        let is_within_with = matches!(&self.open[..], [block] if matches!(block.kind, OpenKind::Rows { is_single: true, body: None, .. }));
        if !self.open.is_empty() && !is_within_with {
            let hint = "it may stand within the with that holds the whole page";
            self.fault(hole.span.start, "a slot stands at the top of a page", hint);
        }
        let (written, name) = match &self.tokens[hole.tokens.clone()] {
            [name] if name.is_name() => (name.span, lexer::name(self.text, name)),
            _ => {
                self.fault(hole.span.start, "a slot has a name", "write {{ slot head }}…{{ end }}");
                (hole.sql, String::new())
            }
        };
        self.begin(OpenKind::Slot { hole: hole.span, written, name }, hole);
    }

    fn begin(&mut self, kind: OpenKind, hole: &CutHole) {
        if self.open.len() == DEEPEST {
            if self.too_deep == 0 {
                self.fault(
                    hole.span.start,
                    format!("more than {DEEPEST} blocks within each other"),
                    "make a part a page",
                );
            }
            self.too_deep += 1;
            return;
        }
        self.open.push(OpenBlock { kind, branch: NodeBranch { hole: hole.span, nodes: Vec::new() } });
    }

    /// `else` and `elsif`.
    fn next_branch(&mut self, hole: &CutHole) {
        if self.too_deep > 0 {
            return;
        }
        let place = hole.span.start;
        let is_else = hole.directive == Directive::Else;
        if is_else && !hole.sql.is_empty() {
            let is_if = self.tokens[hole.tokens.start].is_word(self.text, "if");
            let hint = if is_if { "write elsif" } else { "" };
            self.fault(hole.sql.start, "nothing stands behind else", hint);
        }
        let next = if is_else { None } else { Some(self.expression(hole)) };
        let Some(block) = self.open.last_mut() else {
            let word = if is_else { "else" } else { "elsif" };
            return self.faults.add(place, format!("{word} stands in no block"), "");
        };
        let branch = std::mem::replace(&mut block.branch, NodeBranch { hole: hole.span, nodes: Vec::new() });
        match (&mut block.kind, next) {
            (OpenKind::Choice { before, condition, .. }, next) if condition.is_some() => {
                before.extend(condition.take().map(|condition| (condition, branch)));
                *condition = next;
            }
            (OpenKind::Rows { body, .. }, None) if body.is_none() => *body = Some(branch),
            (OpenKind::Slot { .. }, _) => self.faults.add(place, "a slot has no else", ""),
            (OpenKind::Rows { .. }, Some(_)) => {
                self.faults.add(place, "elsif belongs to if", "rows have else alone")
            }
            _ => self.faults.add(place, "behind else nothing comes but end", ""),
        }
    }

    fn end(&mut self, block: OpenBlock) {
        let branch = block.branch;
        let node = match block.kind {
            OpenKind::Rows { is_single, hole, name, query, body } => {
                let (body, otherwise) = match body {
                    Some(body) => (body, Some(branch)),
                    None => (branch, None),
                };
                PageNode::Rows(RowsNode { hole, is_single, name, query, body, otherwise })
            }
            OpenKind::Choice { hole, mut before, condition } => {
                let otherwise = match condition {
                    Some(condition) => {
                        before.push((condition, branch));
                        None
                    }
                    None => Some(branch),
                };
                PageNode::Choice(ChoiceNode { hole, branches: before, otherwise })
            }
            OpenKind::Slot { hole, written, name } => {
                PageNode::Slot(SlotNode { hole, written, name, body: branch })
            }
        };
        self.push(node);
    }
}
