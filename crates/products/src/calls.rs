//! The function that a node of a tree calls, and what is known of it outside of the tree.

use crate::arithmetic::Arithmetic;
use crate::tree::{Item, Node};

/// Types that are short as text: `bool`, `"char"`, `name`, integers, `oid`, floating-point numbers, dates and times, `uuid`.
pub(crate) const FIXED: [&str; 16] = [
    "16", "18", "19", "20", "21", "23", "26", "700", "701", "1082", "1083", "1114", "1184", "1186", "1266",
    "2950",
];

/// What is known of functions and operators outside of the tree.
pub trait Catalog {
    /// Which arguments of a function may be of any length, if the function may cost the product of their lengths; empty for all
    /// others.
    fn long_arguments(&mut self, function: u32) -> Vec<bool>;

    /// What a function does with numbers.
    fn arithmetic(&mut self, function: u32) -> Arithmetic;

    /// Whether a constant of type `jsonpath`, by its bytes, multiplies or divides ([`crate::path::multiplies`]).
    fn multiplies(&mut self, path: &[u8]) -> bool;

    /// The function of an operator.
    fn function_of(&mut self, operator: u32) -> u32;

    /// The function that adds a value to the state of a user's aggregate; none of any other function.
    fn transition_of(&mut self, function: u32) -> Option<u32>;

    /// A domain's type and its modifier; any other type is its own, with the modifier that is given.
    fn base(&mut self, of_type: u32, modifier: i32) -> (u32, i32);
}

/// What a node's field has first. From 16 on PostgreSQL writes before a field what a node has it from: `scan.plan.lefttree`.
pub(crate) fn inherited<'t, 'a>(node: &'t Node<'a>, field: &str) -> Option<&'t Item<'a>> {
    let is_field = |name: &str| name.rsplit('.').next() == Some(field);
    node.fields.iter().find(|(name, _)| is_field(name)).and_then(|(_, items)| items.first())
}

/// The function that a node calls.
pub(crate) fn function(node: &Node<'_>, catalog: &mut impl Catalog) -> Option<u32> {
    let number =
        |field: &str| node.word(field).and_then(|word| word.parse::<u32>().ok()).filter(|oid| *oid > 0);
    match node.name {
        "FUNCEXPR" => number("funcid"),
        "WINDOWFUNC" => number("winfnoid"),
        "AGGREF" => number("aggfnoid"),
        "OPEXPR" | "DISTINCTEXPR" | "NULLIFEXPR" | "SCALARARRAYOPEXPR" => {
            number("opfuncid").or_else(|| number("opno").map(|operator| catalog.function_of(operator)))
        }
        _ => None,
    }
}

/// The number of a value's type.
pub(crate) fn is_of<'a>(node: &Node<'a>) -> Option<&'a str> {
    const FIELDS: [&str; 13] = [
        "vartype",
        "paramtype",
        "consttype",
        "funcresulttype",
        "opresulttype",
        "resulttype",
        "aggtype",
        "wintype",
        "casetype",
        "coalescetype",
        "minmaxtype",
        "refrestype",
        "firstColType",
    ];
    FIELDS.iter().find_map(|field| node.word(field))
}
