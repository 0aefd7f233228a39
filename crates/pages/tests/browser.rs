//! HTML as a browser reads it: the truth that pages are compared with.

use html5ever::driver::ParseOpts;
use html5ever::tendril::TendrilSink;
use html5ever::tree_builder::TreeBuilderOpts;
use markup5ever_rcdom::{Handle, NodeData, RcDom};

/// A node of a document, without its place in the tree.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Seen {
    /// Names in lower case, and attributes in order.
    Element {
        tag: String,
        attributes: Vec<(String, String)>,
    },
    /// The text and the tag that it stands in.
    Text {
        tag: String,
        text: String,
    },
    Comment(String),
}

/// All nodes of a document in order.
pub(crate) fn seen(html: &str, runs_scripts: bool) -> Vec<Seen> {
    let tree_builder = TreeBuilderOpts { scripting_enabled: runs_scripts, ..TreeBuilderOpts::default() };
    let options = ParseOpts { tree_builder, ..ParseOpts::default() };
    let dom = html5ever::parse_document(RcDom::default(), options).one(html);
    let mut found = Vec::new();
    // A stack instead of recursion, as elements may stand deep in each other.
    let mut left: Vec<(Handle, String)> = vec![(dom.document.clone(), String::new())];
    while let Some((node, parent)) = left.pop() {
        let mut tag = parent;
        match &node.data {
            NodeData::Element { name, attrs, template_contents, .. } => {
                tag = name.local.to_string().to_ascii_lowercase();
                let attributes = attrs.borrow();
                let attributes = attributes.iter().map(|attribute| {
                    let prefix =
                        attribute.name.prefix.as_ref().map(|prefix| format!("{prefix}:")).unwrap_or_default();
                    (
                        prefix + &attribute.name.local.to_string().to_ascii_lowercase(),
                        attribute.value.to_string(),
                    )
                });
                found.push(Seen::Element { tag: tag.clone(), attributes: attributes.collect() });
                if let Some(contents) = &*template_contents.borrow() {
                    left.push((contents.clone(), tag.clone()));
                }
            }
            NodeData::Text { contents } => {
                found.push(Seen::Text { tag: tag.clone(), text: contents.borrow().to_string() });
            }
            NodeData::Comment { contents } => found.push(Seen::Comment(contents.to_string())),
            _ => {}
        }
        left.extend(node.children.borrow().iter().rev().map(|child| (child.clone(), tag.clone())));
    }
    found
}

/// Elements with the names of their attributes, and comments: what the author of a page has written, whatever the values are.
pub(crate) fn shape(seen: &[Seen]) -> Vec<String> {
    let told = seen.iter().filter_map(|node| match node {
        Seen::Element { tag, attributes } => {
            let names: Vec<&str> = attributes.iter().map(|(name, _)| name.as_str()).collect();
            Some(format!("{tag} {}", names.join(" ")))
        }
        Seen::Comment(text) => Some(format!("comment {text}")),
        Seen::Text { .. } => None,
    });
    told.collect()
}
