//! Migrations that stand for others: `howdah squash` writes one in their place, which names them in comments at its head.

use std::collections::BTreeMap;

/// How such a comment begins; a path and the SHA-256 of the text that has run follow.
const MARK: &str = "-- squashed: ";

/// The comments for these migrations.
pub fn head(others: &BTreeMap<String, String>) -> String {
    others.iter().map(|(path, digest)| format!("{MARK}{path} {digest}\n")).collect()
}

/// The migrations that a text stands for, with the SHA-256 of their texts.
pub fn others(text: &str) -> BTreeMap<String, String> {
    let head = text.lines().take_while(|line| line.is_empty() || line.starts_with("--"));
    let named = head.filter_map(|line| line.strip_prefix(MARK)?.trim_end().rsplit_once(' '));
    named.map(|(path, digest)| (path.to_owned(), digest.to_owned())).collect()
}

pub(crate) fn stands_for_some(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.starts_with(MARK))
}

/// What `pg_dump` has written as a migration: what would last beyond a plan is said in another way.
pub fn of_dump(dump: &str) -> String {
    let mut text = String::with_capacity(dump.len());
    for line in
        dump.lines().filter(|line| !line.starts_with("\\restrict") && !line.starts_with("\\unrestrict"))
    {
        match sequence(line) {
            Some((name, next)) => text.push_str(&format!("ALTER SEQUENCE {name} RESTART WITH {next};")),
            None => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

/// The sequence and its next value, if a line sets it.
fn sequence(line: &str) -> Option<(&str, i64)> {
    let arguments = line.strip_prefix("SELECT pg_catalog.setval('")?.strip_suffix(");")?;
    let (name, rest) = arguments.rsplit_once("', ")?;
    let (value, is_called) = rest.split_once(", ")?;
    let value: i64 = value.parse().ok()?;
    Some((name, if is_called == "true" { value + 1 } else { value }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_names_what_it_stands_for() {
        let pairs = [("migrations/1 a.sql", "aa"), ("migrations/2.sql", "bb")];
        let named: BTreeMap<String, String> =
            pairs.into_iter().map(|(path, digest)| (path.to_owned(), digest.to_owned())).collect();
        let text =
            head(&named) + "--\n-- PostgreSQL database dump\n--\ncreate table t ();\n-- squashed: x y\n";
        assert_eq!(others(&text), named);
        assert!(stands_for_some(&text) && !stands_for_some("create table t ();"));
        assert!(others("create table t ();\n-- squashed: x y\n").is_empty());
    }

    #[test]
    fn sequences_are_set_by_what_a_plan_takes_back() {
        let dump = "\\restrict x\nSELECT pg_catalog.setval('shop.a_id_seq', 5, true);\nSELECT pg_catalog.setval('shop.\"B\"', 1, false);\nSELECT 1;\n";
        assert_eq!(
            of_dump(dump),
            "ALTER SEQUENCE shop.a_id_seq RESTART WITH 6;\nALTER SEQUENCE shop.\"B\" RESTART WITH 1;\nSELECT 1;\n"
        );
    }
}
