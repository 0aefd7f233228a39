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
