//! Pages that are wrong, each with all that is told of it.

use pages::read;

/// A page on each line, and behind two tabs its faults. Line ends are written `\n`, and tabs `\t`.
const REFUSALS: &str = include_str!("refusals.txt");

fn refusals() -> impl Iterator<Item = (String, &'static str)> {
    let lines = REFUSALS.lines().map(|line| line.split_once("\t\t").unwrap_or((line, "")));
    lines.map(|(page, faults)| (page.replace("\\n", "\n").replace("\\t", "\t"), faults))
}

fn told(path: &str, text: &str) -> String {
    match read(path, text) {
        Ok(_) => String::new(),
        Err(faults) => faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    }
}

#[test]
fn each_fault_is_told_at_its_place() {
    for (text, expected) in refusals() {
        assert_eq!(told("pages/x.html", &text), expected, "{text}");
    }
}

#[test]
fn pages_of_text_have_no_layout_slots_and_json() {
    assert_eq!(told("pages/x.txt", "{{ layout: l() }}x"), "1:1: a page of text has no layout");
    assert_eq!(
        told("pages/x.txt", "a{{ json: x }}"),
        "1:2: json: stands in scripts and attributes of HTML (write to_json(…))"
    );
    let slot = "1:1: a slot is an argument of the layout, and there is none (write {{ layout: … }} at the beginning)";
    assert_eq!(told("pages/x.txt", "{{ slot a }}x{{ end }}"), slot);
    assert_eq!(told("pages/x.txt", "<p title={{ x }}<!-- & {{ x }}"), "");
}

#[test]
fn nothing_but_the_path_is_told_of_a_page_without_a_name() {
    let told = told("pages/X.html", "{{ 'a }}");
    assert_eq!(
        told,
        "1:1: a page's path has lower-case letters from a to z, digits, _ and - alone, and no \"X\""
    );
}

#[test]
fn a_page_has_no_nul() {
    assert_eq!(told("pages/x.html", "a\n\0"), "2:1: a page has no character NUL");
}

#[test]
#[ignore = "writes the table anew, to be read"]
fn table() {
    let mut table = String::new();
    for (text, _) in refusals() {
        let line = format!(
            "{}\t\t{}\n",
            text.replace('\n', "\\n").replace('\t', "\\t"),
            told("pages/x.html", &text)
        );
        table.push_str(&line);
    }
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/refusals.txt"), table).expect("the table");
}
