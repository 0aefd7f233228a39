//! How many digits a `numeric` may have, and what computing with it costs: a product of two of 100,000 digits takes 135 ms, a quotient as
//! much for a third of the digits.
//!
//! A number is short by what it is: a constant, a column or variable with a precision (`numeric(10,2)`), an integer, or what is computed of
//! such. Any other has as many digits as PostgreSQL stores: a column without a precision, a number that was text or JSON, an argument.

use crate::arithmetic::Arithmetic;
use crate::calls::{Catalog, FIXED, function, inherited, is_of};
use crate::tree::{Item, Node};

/// `numeric`'s number in pg_type.
const NUMERIC: &str = "1700";
/// Digits that any value may have: 131072 before the point, and 16383 behind it.
const MOST: u64 = 147_455;
/// Digits of integers, with their sign, and of floating-point numbers: 1e-307 with 17 digits.
const OF_INTEGER: u64 = 20;
const OF_FLOAT: u64 = 330;
/// Digits behind the point that `round` may ask for.
const MOST_ROUNDED: u64 = 16_383;
/// Digits that a quotient, an average or a sum has more than what it is of.
const MORE: u64 = 40;

/// The most that all calls of a tree may cost together, in products of two digits: 7 ms. PostgreSQL looks for
/// interrupts between two rows.
pub const AFFORDED: u64 = 500_000_000;
/// A quotient costs as much for each digit of the divisor and of the outcome.
const QUOTIENT_COSTS: u64 = 10;

/// Plans that are looked through for what a column is computed of, and expressions in each other.
const DEEPEST: usize = 100;
/// Expressions looked at for one tree at most: what is computed twice of what is computed twice of the next would take its time.
pub(crate) const MOST_STEPS: usize = 100_000;

/// Where an expression stands.
#[derive(Clone, Copy)]
pub(crate) struct Position<'t, 'a> {
    /// The tree is a plan. Planning computes nothing that has columns, so those of a query count with no digits.
    pub is_plan: bool,
    /// The node of the plan whose expression it is.
    pub node: Option<&'t Node<'a>>,
}

impl<'t, 'a> Position<'t, 'a> {
    /// The expression of a node below, and its place, that a column of a node's stands for.
    fn below(&self, column: &Node<'a>) -> Option<(&'t Item<'a>, Position<'t, 'a>)> {
        let node = self.node?;
        let number = column.word("varno")?;
        let branch = match number {
            // PostgreSQL's INNER_VAR and OUTER_VAR.
            "-1" => "righttree",
            "-2" => "lefttree",
            _ if node.name == "SUBQUERYSCAN" && inherited(node, "scanrelid") == Some(&Item::Word(number)) => {
                "subplan"
            }
            _ => return None,
        };
        let Some(Item::Node(below)) = inherited(node, branch) else { return None };
        let Some(Item::List(entries)) = inherited(below, "targetlist") else { return None };
        let of = column.word("varattno");
        let entry =
            entries.iter().find(|entry| matches!(entry, Item::Node(entry) if entry.word("resno") == of))?;
        Some((entry, Position { node: Some(below), ..*self }))
    }
}

/// The cost of a call. The state of an aggregate counts as an argument that is not written.
pub(crate) fn cost<'t, 'a>(
    arithmetic: Arithmetic,
    has_state: bool,
    arguments: &'t [Item<'a>],
    place: Position<'t, 'a>,
    counter: &mut Counter<'_, impl Catalog>,
) -> u64 {
    let state = has_state.then_some(MOST);
    let mut digits: Vec<u64> = state.into_iter().collect();
    digits.extend(arguments.iter().map(|argument| counter.digits(argument, place, 0)));
    let of = |place: usize| digits.get(place).copied().unwrap_or_default();
    let quotient = |dividend: u64, divisor: u64| {
        QUOTIENT_COSTS * divisor * if divisor == 0 { 0 } else { dividend + divisor + MORE }
    };
    match arithmetic {
        Arithmetic::Product => of(0) * of(1),
        Arithmetic::Square => of(0) * of(0),
        // An average is divided by a count.
        Arithmetic::Quotient if digits.len() == 1 => quotient(of(0), OF_INTEGER),
        Arithmetic::Quotient => quotient(of(0), of(1)),
        // One of an array compares.
        Arithmetic::Bucket if digits.len() == 4 => quotient(of(0) + of(1) + OF_INTEGER, of(1) + of(2)),
        _ => 0,
    }
}

/// Counts digits of the expressions of one tree.
pub(crate) struct Counter<'c, C> {
    pub catalog: &'c mut C,
    /// Digits of an argument at most, if that is known.
    pub argument: Option<u64>,
    /// Steps that are left.
    pub steps: usize,
}

impl<C: Catalog> Counter<'_, C> {
    /// The most digits that a value may have.
    fn digits<'t, 'a>(&mut self, value: &'t Item<'a>, place: Position<'t, 'a>, depth: usize) -> u64 {
        let Item::Node(node) = value else { return MOST };
        if depth > DEEPEST || self.steps == 0 {
            return MOST;
        }
        self.steps -= 1;
        self.of_node(node, place, depth + 1).min(MOST)
    }

    fn of_node<'t, 'a>(&mut self, node: &'t Node<'a>, place: Position<'t, 'a>, depth: usize) -> u64 {
        if let Some(digits) = self.of_type(node) {
            return digits;
        }
        match node.name {
            "CONST" => constant(node).unwrap_or(MOST),
            "PARAM" if node.word("paramkind") == Some("0") => self.argument.unwrap_or(MOST),
            "VAR" | "SUBLINK" | "AGGREF" | "WINDOWFUNC" if !place.is_plan => 0,
            "VAR" => match place.below(node) {
                Some((column, below)) => self.digits(column, below, depth),
                None => MOST,
            },
            "FUNCEXPR" | "OPEXPR" | "AGGREF" | "WINDOWFUNC" => self.of_call(node, place, depth),
            // What it takes one of.
            "COALESCEEXPR" | "MINMAXEXPR" => self.together(node.list("args"), place, depth),
            "NULLIFEXPR" => node.list("args").first().map_or(MOST, |first| self.digits(first, place, depth)),
            "CASEEXPR" => {
                let otherwise =
                    inherited(node, "defresult").map_or(MOST, |value| self.digits(value, place, depth));
                self.together(node.list("args"), place, depth) + otherwise
            }
            "CASEWHEN" => inherited(node, "result").map_or(MOST, |value| self.digits(value, place, depth)),
            "TARGETENTRY" => inherited(node, "expr").map_or(MOST, |value| self.digits(value, place, depth)),
            "RELABELTYPE" | "COERCEVIAIO" | "COERCETODOMAIN" => match inherited(node, "arg") {
                // Text has no digits of its own.
                Some(value @ Item::Node(inner)) if is_number(self.catalog, inner) => {
                    self.digits(value, place, depth)
                }
                _ => MOST,
            },
            _ => MOST,
        }
    }

    /// By the type and its modifier alone.
    fn of_type(&mut self, node: &Node<'_>) -> Option<u64> {
        const MODIFIERS: [&str; 5] =
            ["vartypmod", "paramtypmod", "resulttypmod", "reftypmod", "firstColTypmod"];
        let of_type = is_of(node)?;
        if FIXED.contains(&of_type) {
            return Some(if matches!(of_type, "700" | "701") { OF_FLOAT } else { OF_INTEGER });
        }
        let modifier = MODIFIERS.iter().find_map(|field| node.word(field)).and_then(|word| word.parse().ok());
        let (base, modifier) = self.catalog.base(of_type.parse().ok()?, modifier.unwrap_or(-1));
        // `money` has as many digits as an integer.
        match base {
            790 => Some(OF_INTEGER),
            1700 => with_precision(modifier),
            _ => None,
        }
    }

    fn together<'t, 'a>(&mut self, values: &'t [Item<'a>], place: Position<'t, 'a>, depth: usize) -> u64 {
        values.iter().map(|value| self.digits(value, place, depth)).sum()
    }

    fn of_call<'t, 'a>(&mut self, node: &'t Node<'a>, place: Position<'t, 'a>, depth: usize) -> u64 {
        let Some(function) = function(node, self.catalog) else { return MOST };
        let arguments = node.list("args");
        match self.catalog.arithmetic(function) {
            Arithmetic::Other | Arithmetic::Path => MOST,
            Arithmetic::Short | Arithmetic::Bucket => OF_INTEGER,
            Arithmetic::Sum | Arithmetic::Product => self.together(arguments, place, depth) + MORE,
            Arithmetic::Quotient | Arithmetic::Square => 2 * (self.together(arguments, place, depth) + MORE),
            Arithmetic::Rounded => {
                let first = arguments.first().map_or(MOST, |value| self.digits(value, place, depth));
                first
                    + 1
                    + arguments.get(1).map_or(0, |places| {
                        integer(places).map_or(MOST_ROUNDED, |places| places.unsigned_abs().into())
                    })
            }
            Arithmetic::Cast => match arguments {
                [_, modifier] => integer(modifier).and_then(with_precision).unwrap_or(MOST),
                [Item::Node(value)] if is_of(value).is_some_and(|of_type| FIXED.contains(&of_type)) => {
                    OF_FLOAT
                }
                _ => MOST,
            },
        }
    }
}

/// Whether a value is a number.
fn is_number(catalog: &mut impl Catalog, node: &Node<'_>) -> bool {
    let Some(of_type) = is_of(node) else { return false };
    let is_numeric = |of_type: u32| of_type.to_string() == NUMERIC;
    FIXED.contains(&of_type) || of_type.parse().is_ok_and(|of_type| is_numeric(catalog.base(of_type, -1).0))
}

/// Digits of a number with a precision, by its type's modifier.
fn with_precision(modifier: i32) -> Option<u64> {
    let packed = modifier.checked_sub(4).filter(|packed| *packed >= 0)?;
    let (precision, scale) = (packed >> 16 & 0xffff, (packed & 0x7ff ^ 1024) - 1024);
    Some(u64::from(precision.unsigned_abs() + scale.unsigned_abs()))
}

/// Bytes of a constant, with their header.
pub(crate) fn bytes(node: &Node<'_>) -> Option<Vec<u8>> {
    let (_, written) = node.fields.iter().find(|(name, _)| *name == "constvalue")?;
    let word = |item: &Item<'_>| match item {
        Item::Word(word) => word.parse::<i16>().ok().map(|byte| byte as u8),
        _ => None,
    };
    // Its size, and the bytes in brackets.
    written.get(2..written.len().checked_sub(1)?)?.iter().map(word).collect()
}

/// The value of a constant that is an integer.
fn integer(value: &Item<'_>) -> Option<i32> {
    let Item::Node(node) = value else { return None };
    let is_one = node.name == "CONST" && node.word("consttype") == Some("23");
    bytes(node).filter(|_| is_one)?.first_chunk().map(|bytes| i32::from_ne_bytes(*bytes))
}

/// Digits of a constant: those before the point, those behind it, and those that it has, as `1e1000` has one.
fn constant(node: &Node<'_>) -> Option<u64> {
    /// What stands in the first two bytes of a number that is none of the usual, or a short one.
    const SPECIAL: u16 = 0xc000;
    const SHORT: u16 = 0x8000;
    if node.word("constisnull") == Some("true") {
        return Some(0);
    }
    let is_numeric = node.word("consttype") == Some(NUMERIC);
    let bytes = bytes(node).filter(|_| is_numeric)?;
    let pair = |place: usize| bytes.get(place..place + 2).map(|pair| [pair[0], pair[1]]);
    let head = pair(4).map(u16::from_ne_bytes)?;
    let (weight, scale, begin) = match head & SPECIAL {
        SPECIAL => return Some(0),
        SHORT => {
            let weight = i32::from(head & 0x3f) - i32::from(head & 0x40);
            (weight, (head & 0x1f80) >> 7, 6)
        }
        _ => (i32::from(pair(6).map(i16::from_ne_bytes)?), head & 0x3fff, 8),
    };
    let stored = bytes.len().checked_sub(begin)? as u64 * 2;
    Some(stored + 4 * u64::from(weight.unsigned_abs() + 1) + u64::from(scale))
}
