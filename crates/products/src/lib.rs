//! Which calls of a plan may cost the product of two lengths.
//!
//! `body like '%' || q || '%'` compares each place of one text with all of the other: 16 kB that a client sends and a row of 100 kB take a
//! second, and PostgreSQL looks for no interrupts meanwhile. `translate`, `btrim`, `strpos`, `replace`, `&&` of arrays do likewise. So where
//! nothing could end such a call, a call of a function of two or more values of any length is taken for one, unless the function is known
//! to be linear, or no more than one of the values may be long.
//!
//! - [`tree`]: the text of a tree of PostgreSQL's, read.
//! - [`path`]: whether a JSON path multiplies.
//! - [`arithmetic`]: functions of numbers; [`numeric`]: how many digits a number may have, and what computing with it costs.
//! - [`linear`]: functions whose cost grows with the sum of the lengths.
//! - `calls`: what a node calls, and what of that is known elsewhere. Here: the calls of a tree.

pub mod arithmetic;
mod calls;
pub mod linear;
pub mod numeric;
pub mod path;
pub mod tree;

pub use calls::Catalog;

use arithmetic::Arithmetic;
use calls::{FIXED, function, inherited, is_of};
use numeric::{AFFORDED, Counter, MOST_STEPS, Position, cost};
use tree::{Item, Malformed, Node};

/// Bytes of a value that is short, and elements of an array whose elements are listed: so many passes over the other value.
const SHORT: usize = 64;
const FEW: usize = 16;

/// What is before the bytes of a value of variable length, and is counted by modifiers of types.
const HEADER: usize = 4;
/// Types of variable length whose modifier is the most characters of a value.
const WITH_LENGTH: [&str; 2] = ["1042", "1043"];
/// `jsonpath`'s number in pg_type.
const PATH: &str = "4072";

/// The first function that a tree calls so that the call may cost the product of two lengths. Numbers that are arguments of a tree have so
/// many digits at most, if that is known.
///
/// # Errors
///
/// The text is none that PostgreSQL writes of a tree, or is nested too deeply.
pub fn first_product(
    text: &str,
    argument: Option<u64>,
    catalog: &mut impl Catalog,
) -> Result<Option<u32>, Malformed> {
    // Most queries call none, and a list of thousands of constants need not be read.
    if !may_have_product(text, catalog) {
        return Ok(None);
    }
    let tree = tree::parse(text)?;
    let is_plan = matches!(&tree, Item::Node(node) if node.name != "QUERY");
    let mut search = ProductSearch { counter: Counter { catalog, argument, steps: MOST_STEPS }, spent: 0 };
    Ok(search.in_item(&tree, Position { is_plan, node: None }))
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
    let mut may_be = |function: u32| {
        catalog.arithmetic(function).is_costly()
            || !catalog.long_arguments(function).is_empty()
            || catalog.transition_of(function).is_some()
    };
    // An operator whose function is not known yet; what reads JSON without a function.
    [":opfuncid 0 ", ":consttype 4072 ", "{JSONEXPR "].iter().any(|part| text.contains(part))
        || [":funcid ", ":opfuncid ", ":winfnoid ", ":aggfnoid "]
            .iter()
            .any(|field| numbers(field).any(&mut may_be))
}

/// A search through one tree.
struct ProductSearch<'c, C> {
    counter: Counter<'c, C>,
    /// The cost of the calls of numbers that were found.
    spent: u64,
}

impl<C: Catalog> ProductSearch<'_, C> {
    fn in_item<'t, 'a>(&mut self, item: &'t Item<'a>, place: Position<'t, 'a>) -> Option<u32> {
        match item {
            Item::Word(_) => None,
            Item::List(items) => items.iter().find_map(|item| self.in_item(item, place)),
            Item::Node(node) => self.in_node(node, place),
        }
    }

    fn in_node<'t, 'a>(&mut self, node: &'t Node<'a>, place: Position<'t, 'a>) -> Option<u32> {
        let is_of_plan = inherited(node, "lefttree").is_some();
        let place = if is_of_plan { Position { node: Some(node), ..place } } else { place };
        self.called(node, place).or_else(|| self.multiplied_by_path(node)).or_else(|| {
            node.fields.iter().flat_map(|(_, items)| items).find_map(|item| self.in_item(item, place))
        })
    }

    /// The function, if the node itself is such a call, or one more that together cost too much.
    fn called<'t, 'a>(&mut self, node: &'t Node<'a>, place: Position<'t, 'a>) -> Option<u32> {
        let catalog = &mut *self.counter.catalog;
        let function = function(node, catalog)?;
        // The state of an aggregate, which grows, stands before the other arguments.
        let transition = catalog.transition_of(function);
        let (function, has_state) = (transition.unwrap_or(function), transition.is_some());
        let long = catalog.long_arguments(function);
        let arguments = node.list("args");
        // Each element of the array is an argument.
        let of_elements = node.name == "SCALARARRAYOPEXPR";
        let value = |place: usize| place.checked_sub(has_state.into()).and_then(|place| arguments.get(place));
        let is_long = |place: usize| !value(place).is_some_and(|value| is_short(value, of_elements));
        let count = long.iter().enumerate().filter(|(place, may_be)| **may_be && is_long(*place)).count();
        let arithmetic = catalog.arithmetic(function);
        if arithmetic.is_costly() {
            self.spent += cost(arithmetic, has_state, arguments, place, &mut self.counter);
        }
        (count > 1 || self.spent > AFFORDED).then_some(function)
    }
}

impl<C: Catalog> ProductSearch<'_, C> {
    /// The product of two numbers, if a path multiplies what a document has, or is not known.
    fn multiplied_by_path(&mut self, node: &Node<'_>) -> Option<u32> {
        const PRODUCT: u32 = 1726;
        let is_path = |node: &Node<'_>| node.name == "CONST" && node.word("consttype") == Some(PATH);
        let is_unknown = match node.name {
            "CONST" if is_path(node) => {
                numeric::bytes(node).is_some_and(|bytes| self.counter.catalog.multiplies(&bytes))
            }
            "JSONEXPR" => !matches!(inherited(node, "path_spec"), Some(Item::Node(path)) if is_path(path)),
            "FUNCEXPR" | "OPEXPR" => {
                let arithmetic =
                    function(node, self.counter.catalog).map(|of| self.counter.catalog.arithmetic(of));
                arithmetic == Some(Arithmetic::Path)
                    && !matches!(node.list("args").get(1), Some(Item::Node(path)) if is_path(path))
            }
            _ => false,
        };
        is_unknown.then_some(PRODUCT)
    }
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
        // The argument of an aggregate.
        "TARGETENTRY" => inherited(node, "expr").is_some_and(|value| is_short(value, of_elements)),
        "RELABELTYPE" | "COLLATEEXPR" => inner().is_some_and(|inner| is_short(inner, of_elements)),
        "COERCEVIAIO" => inner().is_some_and(is_fixed),
        "ARRAYEXPR" => !of_elements && node.list("elements").len() <= FEW,
        _ => false,
    }
}

/// Whether a value is of a type whose values are short as text.
fn is_fixed(value: &Item<'_>) -> bool {
    matches!(value, Item::Node(node) if is_of(node).is_some_and(|of_type| FIXED.contains(&of_type)))
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

        fn arithmetic(&mut self, function: u32) -> Arithmetic {
            Arithmetic::of(match function {
                1726 => "numeric_mul",
                1727 => "numeric_div",
                1724 => "numeric_add",
                1703 | 1740 => "numeric",
                1707 => "round",
                2114 => "sum",
                2161 => "variance",
                320 => "width_bucket",
                3939 => "jsonb_path_exists",
                _ => "",
            })
        }

        fn multiplies(&mut self, path: &[u8]) -> bool {
            path.contains(&42)
        }

        fn function_of(&mut self, operator: u32) -> u32 {
            if operator == 1209 { 850 } else { 0 }
        }

        fn transition_of(&mut self, function: u32) -> Option<u32> {
            [(20_001, 1726), (20_002, 850)].into_iter().find(|(of, _)| *of == function).map(|(_, made)| made)
        }

        fn base(&mut self, of_type: u32, modifier: i32) -> (u32, i32) {
            if of_type == 20_003 { (1700, 655_366) } else { (of_type, modifier) }
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
        first_product(&plan, None, &mut Few).unwrap()
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
        assert_eq!(first_product(&broken, None, &mut Few), Ok(None));
        assert_eq!(first_product(&broken.replace("67", "850"), None, &mut Few), Err(Malformed));
        assert_eq!(first_product(&broken.replace("67", "0"), None, &mut Few), Err(Malformed));
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

    const PRICE: &str = "{VAR :varno 1 :varattno 1 :vartype 1700 :vartypmod 655366}";
    const RATE: &str = "{VAR :varno 1 :varattno 2 :vartype 1700 :vartypmod -1}";
    const COUNT: &str = "{VAR :varno 1 :varattno 3 :vartype 23 :vartypmod -1}";

    fn number_of(size: usize, bytes: &str) -> String {
        format!("{{CONST :consttype 1700 :consttypmod -1 :constisnull false :constvalue {size} [ {bytes} ]}}")
    }

    fn operation(function: u32, one: &str, other: &str) -> String {
        format!("{{OPEXPR :opno 7 :opfuncid {function} :opresulttype 1700 :args ({one} {other})}}")
    }

    fn call(function: u32, arguments: &str) -> String {
        format!("{{FUNCEXPR :funcid {function} :funcresulttype 1700 :args ({arguments})}}")
    }

    #[test]
    fn numbers_without_a_precision_are_long_and_others_are_not() {
        let three = number_of(8, "32 0 0 0 0 -128 3 0");
        let times = |one: &str, other: &str| found(&operation(1726, one, other));
        assert_eq!(times(RATE, RATE), Some(1726));
        assert_eq!(times(RATE, &RATE.replace("VAR", "PARAM").replace("var", "param")), Some(1726));
        assert_eq!(times(RATE, &format!("{{COERCEVIAIO :arg {BODY} :resulttype 1700}}")), Some(1726));
        for short in [
            PRICE,
            &three,
            COUNT,
            &call(1740, COUNT),
            &PRICE.replace("1700", "20003").replace("655366", "-1"),
        ] {
            assert_eq!((times(RATE, short), times(short, PRICE)), (None, None), "{short}");
        }
        assert_eq!(times(RATE, "{CONST :consttype 1700 :constisnull true :constvalue <>}"), None);
        // 1e131071 takes eight bytes.
        assert_eq!(times(RATE, &number_of(10, "40 0 0 0 0 0 -1 127 -24 3")), Some(1726));
        let cast = |modifier: &str| {
            call(
                1703,
                &format!("{RATE} {{CONST :consttype 23 :constisnull false :constvalue 4 [ {modifier} ]}}"),
            )
        };
        assert_eq!(times(RATE, &cast("6 0 10 0 0 0 0 0")), None);
        assert_eq!(times(RATE, &cast("-1 -1 -1 -1 -1 -1 -1 -1")), Some(1726));
        let rounded = |value: &str| {
            call(
                1707,
                &format!(
                    "{value} {{CONST :consttype 23 :constisnull false :constvalue 4 [ 2 0 0 0 0 0 0 0 ]}}"
                ),
            )
        };
        assert_eq!((times(RATE, &rounded(PRICE)), times(RATE, &rounded(RATE))), (None, Some(1726)));
        assert_eq!(found(&operation(1724, RATE, RATE)), None);
    }

    #[test]
    fn what_is_computed_is_as_long_as_what_it_is_of_and_all_calls_count_together() {
        let three = number_of(8, "32 0 0 0 0 -128 3 0");
        let sum = |of: &str| {
            format!("{{AGGREF :aggfnoid 2114 :aggtype 1700 :args ({{TARGETENTRY :expr {of} :resno 1}})}}")
        };
        let by = |one: &str, other: &str| found(&operation(1727, one, other));
        let product = operation(1726, PRICE, COUNT);
        assert_eq!((by(&sum(&product), &sum(PRICE)), by(&sum(PRICE), &sum(RATE))), (None, Some(1727)));
        assert_eq!((by(RATE, &three), by(RATE, COUNT), by(&three, RATE)), (None, None, Some(1727)));
        let mut many = operation(1726, RATE, PRICE);
        assert_eq!(found(&many), None);
        for _ in 0..9 {
            many = format!("{many} {many}");
        }
        assert_eq!(found(&many), Some(1726));
        let variance = |of: &str| found(&format!("{{WINDOWFUNC :winfnoid 2161 :wintype 1700 :args ({of})}}"));
        assert_eq!((variance(PRICE), variance(RATE)), (None, Some(2161)));
        let bucket = |low: &str| found(&call(320, &format!("{RATE} {low} {three} {COUNT}")));
        assert_eq!((bucket(&three), bucket(RATE)), (None, Some(320)));
    }

    #[test]
    fn a_column_of_what_stands_below_is_what_it_is_computed_of() {
        let total = "{VAR :varno 3 :varattno 2 :vartype 1700 :vartypmod -1}";
        let of = |below: &str| {
            format!(
                "{{SUBQUERYSCAN :scan.plan.targetlist ({{TARGETENTRY :expr {} :resno 1}}) :scan.plan.lefttree <> :scan.scanrelid 3 \
                 :subplan {{SORT :plan.targetlist ({{TARGETENTRY :expr {} :resno 2}}) \
                 :plan.lefttree {{AGG :plan.targetlist ({{TARGETENTRY :expr {below} :resno 5}}) :plan.lefttree <>}}}}}}",
                operation(1727, total, total),
                "{VAR :varno -2 :varattno 5 :vartype 1700 :vartypmod -1}"
            )
        };
        assert_eq!((found(&of(PRICE)), found(&of(COUNT)), found(&of(RATE))), (None, None, Some(1727)));
    }

    #[test]
    fn planning_computes_nothing_that_has_columns() {
        let query =
            |value: &str| first_product(&format!("{{QUERY :targetList ({value})}}"), None, &mut Few).unwrap();
        let param = "{PARAM :paramkind 0 :paramid 1 :paramtype 1700 :paramtypmod -1}";
        assert_eq!(query(&operation(1726, RATE, param)), None);
        assert_eq!(query(&operation(1726, param, param)), Some(1726));
    }

    #[test]
    fn arguments_have_no_more_digits_than_is_known_of_them() {
        let argument = "{PARAM :paramkind 0 :paramid 1 :paramtype 1700 :paramtypmod -1}";
        let of = |text: &str| first_product(text, Some(10_000), &mut Few).unwrap();
        assert_eq!(of(&operation(1726, argument, argument)), None);
        assert_eq!(of(&operation(1726, argument, RATE)), Some(1726));
        // A plan's own computing is none.
        assert_eq!(of(&operation(1726, argument, &argument.replace("kind 0", "kind 1"))), Some(1726));
    }

    #[test]
    fn the_state_of_an_aggregate_of_a_users_is_long() {
        let aggregate = |function: u32, of: &str| {
            found(&format!("{{AGGREF :aggfnoid {function} :args ({{TARGETENTRY :expr {of} :resno 1}})}}"))
        };
        assert_eq!((aggregate(20_001, RATE), aggregate(20_001, PRICE)), (Some(1726), None));
        assert_eq!((aggregate(20_002, BODY), aggregate(20_002, &constant(5))), (Some(850), None));
    }

    #[test]
    fn a_path_that_multiplies_or_is_not_known_makes_a_product() {
        let path =
            |byte: u8| format!("{{CONST :consttype 4072 :constisnull false :constvalue 2 [ {byte} -1 ]}}");
        let exists = |path: &str| found(&format!("{{FUNCEXPR :funcid 3939 :args ({BODY} {path})}}"));
        assert_eq!((exists(&path(41)), exists(&path(42)), exists(ASKED)), (None, Some(1726), Some(1726)));
        let value =
            |path: &str| found(&format!("{{JSONEXPR :op 2 :formatted_expr {BODY} :path_spec {path}}}"));
        assert_eq!((value(&path(41)), value(&path(42)), value(ASKED)), (None, Some(1726), Some(1726)));
    }
}
