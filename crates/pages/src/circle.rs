//! Pages that call each other in a circle.

use std::collections::HashMap;

use crate::page::{PageCall, PageFile};

/// Pages that call each other in a circle: PostgreSQL could make none before the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageCircle {
    /// The calls that make it, each with the path of the page in which it stands.
    pub calls: Vec<(String, PageCall)>,
}

/// Circles of several pages. A page that calls itself alone is none.
pub fn circles<'a>(pages: impl IntoIterator<Item = &'a PageFile>) -> Vec<PageCircle> {
    let pages: Vec<&PageFile> = pages.into_iter().collect();
    let edges = edges(&pages);
    let mut found = Vec::new();
    for component in components(&edges) {
        if component.len() < 2 {
            continue;
        }
        let names: Vec<&str> = component.iter().map(|page| pages[*page].name.function.as_str()).collect();
        let mut calls: Vec<(String, PageCall)> = Vec::new();
        for page in component.iter().map(|page| pages[*page]) {
            let is_other =
                |call: &PageCall| call.name != page.name.function && names.contains(&call.name.as_str());
            let of_circle = page.calls().into_iter().filter(|call| call.schema.is_none() && is_other(call));
            calls.extend(of_circle.map(|call| (page.path().to_owned(), call)));
        }
        calls.sort_by(|one, other| (&one.0, one.1.span).cmp(&(&other.0, other.1.span)));
        found.push(PageCircle { calls });
    }
    found
}

/// Which pages, by number, each calls.
pub(crate) fn edges(pages: &[&PageFile]) -> Vec<Vec<usize>> {
    let numbers: HashMap<&str, usize> =
        pages.iter().enumerate().map(|(number, page)| (page.name.function.as_str(), number)).collect();
    let of =
        |page: &&PageFile| page.called().filter_map(|name| numbers.get(name.as_str()).copied()).collect();
    pages.iter().map(of).collect()
}

/// Tarjan's strongly connected components, called ones first. Without recursion, as a chain of calls may be long.
pub(crate) fn components(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let mut found = Vec::new();
    let (mut order, mut lowest) = (vec![UNSEEN; edges.len()], vec![0; edges.len()]);
    let (mut is_open, mut open, mut count) = (vec![false; edges.len()], Vec::new(), 0);
    for root in 0..edges.len() {
        if order[root] != UNSEEN {
            continue;
        }
        let mut path = vec![(root, 0)];
        while let Some((node, next)) = path.pop() {
            if next == 0 {
                (order[node], lowest[node]) = (count, count);
                count += 1;
                open.push(node);
                is_open[node] = true;
            } else {
                let child: usize = edges[node][next - 1];
                lowest[node] = lowest[node].min(lowest[child]);
            }
            let mut at = next;
            let child = loop {
                let Some(&child) = edges[node].get(at) else { break None };
                at += 1;
                if order[child] == UNSEEN {
                    break Some(child);
                }
                if is_open[child] {
                    lowest[node] = lowest[node].min(order[child]);
                }
            };
            if let Some(child) = child {
                path.push((node, at));
                path.push((child, 0));
                continue;
            }
            if lowest[node] == order[node] {
                let first = open.iter().rposition(|other| *other == node).unwrap_or_default();
                let component = open.split_off(first);
                component.iter().for_each(|member| is_open[*member] = false);
                found.push(component);
            }
        }
    }
    found
}
