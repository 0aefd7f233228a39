//! Which calls of a plan may cost the product of two lengths.
//!
//! `body like '%' || q || '%'` compares each place of one text with all of the other: 16 kB that a client sends and a row of 100 kB take a
//! second, and PostgreSQL looks for no interrupts meanwhile. `translate`, `btrim`, `strpos`, `replace`, `&&` of arrays do likewise. So where
//! nothing could end such a call, a call of a function of two or more values of any length is taken for one, unless the function is known
//! to be linear, or no more than one of the values may be long.
//!
//! - [`tree`]: the text of a tree of PostgreSQL's, read.
//! - [`linear`]: functions whose cost grows with the sum of the lengths.
//! - here: the calls of a tree.

pub mod linear;
pub mod tree;

use tree::{Item, Malformed, Node};

/// Bytes of a value that is short, and elements of an array whose elements are listed: so many passes over the other value.
const SHORT: usize = 64;
const FEW: usize = 16;

/// What is before the bytes of a value of variable length, and is counted by modifiers of types.
const HEADER: usize = 4;
/// Types of variable length whose modifier is the most characters of a value.
const WITH_LENGTH: [&str; 2] = ["1042", "1043"];
/// Types that are short as text: `bool`, `"char"`, `name`, integers, `oid`, floating-point numbers, dates and times, `uuid`.
const FIXED: [&str; 16] = [
    "16", "18", "19", "20", "21", "23", "26", "700", "701", "1082", "1083", "1114", "1184", "1186", "1266",
    "2950",
];

/// What is known of functions and operators outside of the tree.
pub trait Catalog {
    /// Which arguments of a function may be of any length, if the function may cost the product of their lengths; empty for all
    /// others.
    fn long_arguments(&mut self, function: u32) -> Vec<bool>;

    /// The function of an operator.
    fn function_of(&mut self, operator: u32) -> u32;
}

/// The first function that a tree calls so that the call may cost the product of two lengths.
///
/// # Errors
///
/// The text is none that PostgreSQL writes of a tree, or is nested too deeply.
pub fn first_product(text: &str, catalog: &mut impl Catalog) -> Result<Option<u32>, Malformed> {
    // Most queries call none, and a list of thousands of constants need not be read.
    if may_have_product(text, catalog) { Ok(in_item(&tree::parse(text)?, catalog)) } else { Ok(None) }
}

/// Whether the text names a function that may cost the product of the lengths of its arguments.
fn may_have_product(text: &str, catalog: &mut impl Catalog) -> bool {
    let numbers = |field: &'static str| {
        text.match_indices(field).map(move |(place, _)| {
            let rest = &text[place + field.len()..];
            let digits = rest.len() - rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
            rest[..digits].parse::<u32>().unwrap_or_default()
        })
    };
    // An operator whose function is not known yet.
    text.contains(":opfuncid 0 ")
        || [":funcid ", ":opfuncid ", ":winfnoid "]
            .iter()
            .any(|field| numbers(field).any(|function| !catalog.long_arguments(function).is_empty()))
}

fn in_item(item: &Item<'_>, catalog: &mut impl Catalog) -> Option<u32> {
    match item {
        Item::Word(_) => None,
        Item::List(items) => items.iter().find_map(|item| in_item(item, catalog)),
        Item::Node(node) => called(node, catalog).or_else(|| {
            node.fields.iter().flat_map(|(_, items)| items).find_map(|item| in_item(item, catalog))
        }),
    }
}

/// The function, if the node itself is such a call.
fn called(node: &Node<'_>, catalog: &mut impl Catalog) -> Option<u32> {
    let number =
        |field: &str| node.word(field).and_then(|word| word.parse::<u32>().ok()).filter(|oid| *oid > 0);
    let function = match node.name {
        "FUNCEXPR" => number("funcid"),
        "WINDOWFUNC" => number("winfnoid"),
        "OPEXPR" | "DISTINCTEXPR" | "NULLIFEXPR" | "SCALARARRAYOPEXPR" => {
            number("opfuncid").or_else(|| number("opno").map(|operator| catalog.function_of(operator)))
        }
        _ => None,
    }?;
    let long = catalog.long_arguments(function);
    let arguments = node.list("args");
    // Each element of the array is an argument.
    let of_elements = node.name == "SCALARARRAYOPEXPR";
    let count = long
        .iter()
        .enumerate()
        .filter(|(place, is_long)| {
            **is_long && !arguments.get(*place).is_some_and(|value| is_short(value, of_elements))
        })
        .count();
    (count > 1).then_some(function)
}

/// Whether a value is short whatever comes.
fn is_short(value: &Item<'_>, of_elements: bool) -> bool {
    let Item::Node(node) = value else { return false };
    let inner = || node.fields.iter().find(|(name, _)| *name == "arg").and_then(|(_, items)| items.first());
    match node.name {
        "CONST" => {
            let size = node.word("constvalue").and_then(|size| size.parse::<usize>().ok());
            node.word("constisnull") == Some("true") || size.is_some_and(|size| size <= SHORT + HEADER)
        }
        "VAR" => {
            let most = node.word("vartypmod").and_then(|most| most.parse::<usize>().ok());
            let has_length = node.word("vartype").is_some_and(|of_type| WITH_LENGTH.contains(&of_type));
            has_length && most.is_some_and(|most| most <= SHORT + HEADER)
        }
        "RELABELTYPE" | "COLLATEEXPR" => inner().is_some_and(|inner| is_short(inner, of_elements)),
        "COERCEVIAIO" => inner().is_some_and(is_fixed),
        "ARRAYEXPR" => !of_elements && node.list("elements").len() <= FEW,
        _ => false,
    }
}

/// Whether a value is of a type whose values are short as text.
fn is_fixed(value: &Item<'_>) -> bool {
    let Item::Node(node) = value else { return false };
    let of_type =
        ["vartype", "paramtype", "consttype", "funcresulttype", "opresulttype"].map(|field| node.word(field));
    of_type.iter().flatten().next().is_some_and(|of_type| FIXED.contains(of_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// textlike, textcat, texteq, arraycontains; of operators that of `~~`.
    struct Few;

    impl Catalog for Few {
        fn long_arguments(&mut self, function: u32) -> Vec<bool> {
            match function {
                850 | 2748 | 868 => vec![true, true],
                2087 => vec![true; 3],
                _ => Vec::new(),
            }
        }

        fn function_of(&mut self, operator: u32) -> u32 {
            if operator == 1209 { 850 } else { 0 }
        }
    }

    const BODY: &str = "{VAR :varno 1 :varattno 1 :vartype 25 :vartypmod -1 :location 223}";
    const ASKED: &str = "{PARAM :paramkind 0 :paramid 1 :paramtype 25 :paramtypmod -1 :location 254}";
    const NAME: &str = "{RELABELTYPE :arg {VAR :varno 1 :varattno 2 :vartype 1043 :vartypmod 24 :varlevelsup 0} :resulttype 25}";

    fn constant(size: usize) -> String {
        format!(
            "{{CONST :consttype 25 :constlen -1 :constisnull false :location 1 :constvalue {size} [ {}]}}",
            "97 ".repeat(size)
        )
    }

    fn found(text: &str) -> Option<u32> {
        let plan = format!(
            "{{PLANNEDSTMT :commandType 1 :planTree {{SEQSCAN :startup_cost 0.00 :qual ({text}) :lefttree <> :extParam (b)}} :subplans <>}}"
        );
        first_product(&plan, &mut Few).unwrap()
    }

    fn like(one: &str, other: &str) -> String {
        format!("{{OPEXPR :opno 1209 :opfuncid 850 :opresulttype 16 :args ({one} {other}) :location 5}}")
    }

    #[test]
    fn two_values_of_any_length_are_a_product_and_a_short_one_makes_none() {
        let joined = format!("{{OPEXPR :opno 654 :opfuncid 1258 :args ({} {ASKED})}}", constant(5));
        assert_eq!(found(&like(BODY, &joined)), Some(850));
        assert_eq!(found(&like(BODY, ASKED)), Some(850));
        assert_eq!(found(&like(BODY, BODY)), Some(850));
        assert_eq!(found(&like(BODY, &constant(68))), None);
        assert_eq!(found(&like(BODY, &constant(69))), Some(850));
        assert_eq!(found(&like(&constant(900), ASKED)), Some(850));
        assert_eq!(found(&like(NAME, ASKED)), None);
        assert_eq!(found(&like(BODY, "{CONST :consttype 25 :constisnull true :constvalue <>}")), None);
        let number = "{COERCEVIAIO :arg {PARAM :paramkind 0 :paramtype 23 :paramtypmod -1} :resulttype 25}";
        assert_eq!(found(&like(BODY, number)), None);
        assert_eq!(found(&like(BODY, &number.replace("paramtype 23", "paramtype 3802"))), Some(850));
        let three = |last: &str| format!("{{FUNCEXPR :funcid 2087 :args ({BODY} {} {last})}}", constant(5));
        assert_eq!((found(&three(&constant(5))), found(&three(ASKED))), (None, Some(2087)));
    }

    #[test]
    fn calls_are_found_wherever_they_stand_and_by_their_operator() {
        let deep = format!(
            "{{BOOLEXPR :boolop and :args ({{OPEXPR :opno 98 :opfuncid 67 :args ({BODY} {ASKED})}} {{SUBLINK :testexpr <> \
             :subselect {{QUERY :targetList ({{TARGETENTRY :expr {} :resname \\{{x\\ y}})}}}})}}",
            like(BODY, ASKED)
        );
        assert_eq!(found(&deep), Some(850));
        assert_eq!(found(&like(BODY, ASKED).replace(":opfuncid 850", ":opfuncid 0")), Some(850));
        assert_eq!(found(&format!("{{OPEXPR :opno 98 :opfuncid 67 :args ({BODY} {ASKED})}}")), None);
        assert_eq!(found("<>"), None);
    }

    #[test]
    fn what_names_no_such_function_is_not_read() {
        // It could not be.
        let broken = format!("{{OPEXPR :opno 98 :opfuncid 67 :args ({BODY} {ASKED})");
        assert_eq!(first_product(&broken, &mut Few), Ok(None));
        assert_eq!(first_product(&broken.replace("67", "850"), &mut Few), Err(Malformed));
        assert_eq!(first_product(&broken.replace("67", "0"), &mut Few), Err(Malformed));
        let many = format!(
            "{{FUNCEXPR :funcid 2087 :args ({BODY} {} {ASKED} {})}}",
            constant(3),
            constant(3).repeat(50_000)
        );
        assert_eq!(found(&many), Some(2087));
    }

    #[test]
    fn an_array_of_few_elements_is_short_unless_each_of_them_is_an_argument() {
        let array = format!("{{ARRAYEXPR :array_typeid 1009 :elements ({ASKED}) :multidims false}}");
        let contains = |array: &str| format!("{{OPEXPR :opno 2751 :opfuncid 2748 :args ({BODY} {array})}}");
        assert_eq!(found(&contains(&array)), None);
        assert_eq!(found(&contains(&array.replace(ASKED, &ASKED.repeat(17)))), Some(2748));
        assert_eq!(found(&contains(ASKED)), Some(2748));
        let any = |array: &str| {
            format!("{{SCALARARRAYOPEXPR :opno 1209 :opfuncid 850 :useOr true :args ({BODY} {array})}}")
        };
        assert_eq!((found(&any(&array)), found(&any(&constant(60)))), (Some(850), None));
    }
}
