//! The rules about where each block of a page stands.

use std::ops::Range;

use crate::arguments::PageArgument;
use crate::fault::FaultList;
use crate::lexer::{self, SqlToken};
use crate::name::PageKind;
use crate::nodes::{NodeBranch, PageNode, RowsNode};
use crate::reader::ReadPage;

/// Whether the page is one `with`, beside which nothing stands.
pub(crate) fn is_one_with(text: &str, nodes: &[PageNode]) -> bool {
    let is_beside = |node: &PageNode| match node {
        PageNode::Text(span) => text[span.range()].trim_ascii().is_empty(),
        PageNode::Slot(_) => true,
        _ => false,
    };
    let mut content = nodes.iter().filter(|node| !is_beside(node));
    matches!(content.next(), Some(PageNode::Rows(rows)) if rows.is_single && rows.otherwise.is_none())
        && content.next().is_none()
}

struct PageChecks<'a> {
    text: &'a str,
    tokens: &'a [SqlToken],
    arguments: &'a [PageArgument],
    faults: &'a mut FaultList,
    slots: Vec<String>,
    has_layout: bool,
}

/// Looks at a page as a whole.
pub(crate) fn check(
    text: &str,
    kind: PageKind,
    page: &ReadPage,
    tokens: &[SqlToken],
    faults: &mut FaultList,
) {
    if kind == PageKind::Text
        && let Some((hole, _)) = page.layout
    {
        faults.add(hole.start, "a page of text has no layout", "");
    }
    let has_layout = page.layout.is_some();
    let mut checks =
        PageChecks { text, tokens, arguments: &page.arguments, faults, slots: Vec::new(), has_layout };
    let is_one_with = is_one_with(text, &page.nodes);
    checks.nodes(&page.nodes, true, is_one_with);
    for (_, sql) in &page.sql {
        checks.arguments(&sql.tokens);
    }
}

impl PageChecks<'_> {
    fn branch(&mut self, branch: &NodeBranch) {
        self.nodes(&branch.nodes, false, false);
    }

    fn nodes(&mut self, nodes: &[PageNode], is_top: bool, is_one_with: bool) {
        for node in nodes {
            match node {
                PageNode::Text(_) | PageNode::Value { .. } => {}
                PageNode::Rows(rows) => {
                    if rows.is_single && rows.otherwise.is_none() && !is_one_with {
                        let hint = "write {{ else }} and what stands there without a row";
                        let message = if is_top {
                            "a with without else holds the whole page, and here is more beside it"
                        } else {
                            "a with within other blocks needs an else"
                        };
                        self.faults.add(rows.hole.start, message, hint);
                    }
                    self.name(rows);
                    self.branch(&rows.body);
                    rows.otherwise.iter().for_each(|branch| self.branch(branch));
                }
                PageNode::Choice(choice) => {
                    choice.branches.iter().for_each(|(_, branch)| self.branch(branch));
                    choice.otherwise.iter().for_each(|branch| self.branch(branch));
                }
                PageNode::Slot(slot) => {
                    if !self.has_layout {
                        let hint = "write {{ layout: … }} at the beginning";
                        self.faults.add(
                            slot.hole.start,
                            "a slot is an argument of the layout, and there is none",
                            hint,
                        );
                    }
                    if slot.name == "body" {
                        self.faults.add(
                            slot.hole.start,
                            "no slot is called body",
                            "the content of the page is that",
                        );
                    } else if self.slots.contains(&slot.name) {
                        self.faults.add(
                            slot.hole.start,
                            format!("the slot {} is there twice", slot.name),
                            "",
                        );
                    }
                    self.slots.push(slot.name.clone());
                    self.branch(&slot.body);
                }
            }
        }
    }

    /// The word `args` is followed by an argument, whatever tables the hole has.
    fn arguments(&mut self, hole: &Range<usize>) {
        for at in hole.clone().filter(|at| self.tokens[*at].is_word(self.text, "args")) {
            let place = self.tokens[at].span.start;
            if at > hole.start && self.tokens[at - 1].is(b'.') {
                continue;
            }
            match &self.tokens[at..hole.end] {
                [_, dot, named, ..] if dot.is(b'.') && named.is_name() => {
                    let name = lexer::name(self.text, named);
                    if !self.arguments.iter().any(|argument| argument.name == name) {
                        let message = format!("the page has no argument {name}");
                        self.faults.add(place, message, "write {{ arguments: name type }} at the beginning");
                    }
                }
                _ => {
                    let hint = "write args.NAME, or \"args\" for a column or table of that name";
                    self.faults.add(place, "args stands for the arguments of the page", hint);
                }
            }
        }
    }

    /// Rows that are called as an argument would hide it in some places and not in others.
    fn name(&mut self, rows: &RowsNode) {
        let Some(span) = rows.name else { return };
        let token = self.tokens.partition_point(|token| token.span.start < span.start);
        let name = lexer::name(self.text, &self.tokens[token]);
        if self.arguments.iter().any(|argument| argument.name == name) {
            self.faults.add(
                span.start,
                format!("\"{name}\" is an argument of the page"),
                "call the rows otherwise",
            );
        }
    }
}
