//! Pages of text: nothing is escaped, and no place differs from another.

use crate::fault::FaultList;
use crate::nodes::{NodeBranch, PageNode};
use crate::page::{PlacedValue, ValuePlace};
use crate::pieces::{PagePiece, Printed, RowsPiece, push_literal};

/// The pieces of a page of text.
pub(crate) fn pieces(text: &str, nodes: &[PageNode], faults: &mut FaultList) -> Vec<PagePiece> {
    let mut found = Vec::new();
    let branch = |branch: &NodeBranch, faults: &mut FaultList| pieces(text, &branch.nodes, faults);
    for node in nodes {
        match node {
            PageNode::Text(span) => push_literal(&mut found, 0, &text[span.range()], *span),
            PageNode::Value { hole, sql, is_json } => {
                if *is_json {
                    let hint = "write to_json(…)";
                    faults.add(hole.start, "json: stands in scripts and attributes of HTML", hint);
                }
                found.push(PagePiece::Value { hole: *hole, sql: sql.clone(), printed: Printed::AsItIs });
            }
            PageNode::Rows(rows) => found.push(PagePiece::Rows(RowsPiece {
                hole: rows.hole,
                is_single: rows.is_single,
                name: rows.name,
                query: rows.query.clone(),
                body: branch(&rows.body, faults),
                otherwise: rows.otherwise.as_ref().map(|otherwise| branch(otherwise, faults)),
            })),
            PageNode::Choice(choice) => {
                let branches = choice.branches.iter();
                found.push(PagePiece::Choice {
                    hole: choice.hole,
                    branches: branches.map(|(sql, body)| (sql.clone(), branch(body, faults))).collect(),
                    otherwise: choice.otherwise.as_ref().map(|otherwise| branch(otherwise, faults)),
                });
            }
            // Refused already: text has no layout.
            PageNode::Slot(_) => {}
        }
    }
    found
}

/// The places of all values of a page of text.
pub(crate) fn placed(pieces: &[PagePiece]) -> Vec<PlacedValue> {
    let mut found = Vec::new();
    for piece in pieces {
        match piece {
            PagePiece::Value { sql, .. } => {
                found.push(PlacedValue { span: sql.span, place: ValuePlace::Unescaped });
            }
            PagePiece::Rows(rows) => {
                found.extend(placed(&rows.body));
                found.extend(rows.otherwise.iter().flat_map(|otherwise| placed(otherwise)));
            }
            PagePiece::Choice { branches, otherwise, .. } => {
                found.extend(branches.iter().flat_map(|(_, body)| placed(body)));
                found.extend(otherwise.iter().flat_map(|otherwise| placed(otherwise)));
            }
            PagePiece::Literal { .. } | PagePiece::Url { .. } => {}
        }
    }
    found
}
