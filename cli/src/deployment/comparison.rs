//! What `howdah adopt` finds, beside what the folder makes in an empty schema.

use std::collections::{BTreeMap, BTreeSet};

use cluster::postgres::Transaction;
use serde_json::Value;

use super::difference::Difference;
use super::report::Report;
use super::server::Stop;
use crate::failure::Failure;

/// Letters up to which two definitions stand in a line.
const SHORT: usize = 200;
/// Names of columns, in their order.
const ORDER: &str = ", order of columns";

/// Things that the folder has made in an empty schema.
pub(crate) struct Aside {
    /// Those of the migrations alone.
    pub(crate) made: Described,
    /// Those of the migrations and the code.
    pub(crate) code: Described,
    /// Names of those that code has neither made nor replaced.
    pub(crate) left: BTreeSet<String>,
    /// Files of code with the objects that each has made, as JSON.
    pub(crate) objects: Value,
}

/// Things by their names.
pub(crate) type Described = BTreeMap<String, Thing>;

/// A thing as the server describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Thing {
    definition: String,
    /// Who may do what with it, if that is not what PostgreSQL gives.
    rights: Option<String>,
}

/// All that is in a schema.
pub(crate) fn describe(transaction: &mut Transaction<'_>, schema: &str) -> Result<Described, Stop> {
    let query = "select d.object, coalesce(d.definition, ''), d.rights from deploy.describe($1) d";
    let rows = transaction.query(query, &[&schema])?;
    Ok(rows.iter().map(|row| (row.get(0), Thing { definition: row.get(1), rights: row.get(2) })).collect())
}

/// An error that tells all that the migrations make and is not so in the database. What only the database has stays, and rights are only told.
pub(crate) fn compare(aside: &Aside, there: &Described, report: &Report) -> Result<(), Stop> {
    let Aside { made, code, left, .. } = aside;
    // Code makes its own again, and may have changed what migrations have made.
    let compared = made.iter().filter(|(object, _)| left.contains(*object) && !is_of_a_role(object));
    let mut wrong = Vec::new();
    for (object, wanted) in compared {
        let found = there.get(object);
        let is_as_code_leaves_it =
            found.is_some() && found.map(definition) == code.get(object).map(definition);
        if found.map(definition) != Some(definition(wanted)) && !is_as_code_leaves_it {
            wrong.extend(told(object, found, wanted));
        }
    }
    if !wrong.is_empty() {
        return Err(Stop::Failed(Failure::Said(format!(
            "the database is not what the migrations make:\n{}\nChange the one or the others, and adopt then.",
            wrong.join("\n")
        ))));
    }
    for (object, wanted) in made.iter().filter(|(object, _)| left.contains(*object)) {
        let lacking = lacking(there.get(object), wanted);
        if !lacking.is_empty() {
            report.say(&format!("  {object} lacks rights that the migrations give: {}", lacking.join(", ")));
        }
    }
    let is_made = |object: &str| made.contains_key(object) || code.contains_key(object);
    let whole = |object: &&String| object.split_once(", ").is_none_or(|(whole, _)| is_made(whole));
    for object in there.keys().filter(|object| !is_made(object)).filter(whole) {
        report.say(&format!("  {object} stays, though no file makes it"));
    }
    Ok(())
}

fn definition(thing: &Thing) -> &str {
    &thing.definition
}

/// The schema itself, and what a role's objects are like: no migration has made the role that had all that until now.
fn is_of_a_role(object: &str) -> bool {
    object.starts_with("schema ") || object.starts_with("default rights ")
}

/// A line that tells what is wrong with a thing; nothing if it is only that there are more columns.
fn told(object: &str, found: Option<&Thing>, wanted: &Thing) -> Option<String> {
    let wanted = definition(wanted);
    let Some(found) = found.map(definition) else {
        let begin = wanted.split('\n').next().unwrap_or_default();
        return (!object.ends_with(ORDER)).then(|| match wanted {
            "" => format!("  {object} is missing"),
            _ => format!("  {object} is missing: {begin}"),
        });
    };
    if object.ends_with(ORDER) && is_order_kept(found, wanted) {
        return None;
    }
    let is_short = |text: &str| text.len() <= SHORT && !text.contains('\n');
    let shown = |text: &str| if text.is_empty() { "plain".to_owned() } else { text.to_owned() };
    Some(match is_short(found) && is_short(wanted) {
        true => format!("  {object} is {}, and would be {}", shown(found), shown(wanted)),
        false => {
            let lines = Difference::of(found, wanted).describe();
            format!("  {object} is another:{}", lines.replace('\n', "\n    "))
        }
    })
}

/// Whether columns that both have stand in the same order. One that either lacks is told itself.
fn is_order_kept(found: &str, wanted: &str) -> bool {
    let columns = |of: &str, other: &str| -> Vec<String> {
        let others: BTreeSet<&str> = other.split(", ").collect();
        of.split(", ").filter(|column| others.contains(column)).map(str::to_owned).collect()
    };
    columns(found, wanted) == columns(wanted, found)
}

/// Rights that somebody else than the owner is to have, and has not.
fn lacking(found: Option<&Thing>, wanted: &Thing) -> Vec<String> {
    let split = |rights: &Option<String>| -> Vec<String> {
        let parts = rights.iter().flat_map(|rights| rights.split("; "));
        parts
            .flat_map(|part| {
                let (column, rights) =
                    part.split_once(": ").map_or((None, part), |(column, rights)| (Some(column), rights));
                let named = move |right: &str| match column {
                    Some(column) => format!("{right} of column {column}"),
                    None => right.to_owned(),
                };
                rights.split(", ").map(named).collect::<Vec<_>>()
            })
            .collect()
    };
    let has: BTreeSet<String> = found.into_iter().flat_map(|found| split(&found.rights)).collect();
    // Public and the owner have theirs of PostgreSQL.
    let is_given = |right: &String| {
        has.contains(right)
            || right.starts_with("the owner ")
            || right.starts_with("public ") && has.is_empty()
    };
    split(&wanted.rights).into_iter().filter(|right| !is_given(right)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thing(definition: &str, rights: Option<&str>) -> Thing {
        Thing { definition: definition.into(), rights: rights.map(str::to_owned) }
    }

    #[test]
    fn what_is_missing_or_other_is_told_by_what_differs() {
        let wanted = thing("bigint", None);
        assert_eq!(told("column n", None, &wanted).unwrap(), "  column n is missing: bigint");
        let found = thing("integer", None);
        let other = "  column n is integer, and would be bigint";
        assert_eq!(told("column n", Some(&found), &wanted).unwrap(), other);
        let body = |middle: &str| thing(&format!("begin\n{middle}\nend"), None);
        let text = told("function f()", Some(&body("two")), &body("one")).unwrap();
        assert!(text.contains("-one") && text.contains("+two"), "{text}");
        let order = |columns: &str| thing(columns, None);
        let object = "table t, order of columns";
        assert_eq!(told(object, Some(&order("a, more, b")), &order("a, b, c")), None);
        assert!(told(object, Some(&order("b, a")), &order("a, b")).is_some());
    }

    #[test]
    fn rights_that_are_lacking_are_named() {
        let wanted = thing("", Some("public USAGE, web SELECT, the owner INSERT; price: web UPDATE"));
        assert_eq!(lacking(None, &wanted), ["web SELECT", "web UPDATE of column price"]);
        let found = thing("", Some("public USAGE, web SELECT, reader SELECT"));
        assert_eq!(lacking(Some(&found), &wanted), ["web UPDATE of column price"]);
    }
}
