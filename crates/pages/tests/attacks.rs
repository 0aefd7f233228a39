//! Ways to break out of the place of a value. Each page is refused, or reads the same whatever the values are.

use pages::{PageLibrary, ValuePlace, compile, read};

use crate::browser::{self, Seen};
use crate::evaluate::{self, Given, Value};

/// Values of somebody who wants more than to be printed.
const HOSTILE: [&str; 26] = [
    "</script><script>alert(1)</script>",
    "</title></textarea></style></xmp></iframe></noscript></noembed></noframes><img src=x onerror=alert(1)>",
    "\" onmouseover=\"alert(1)\" x=\"",
    "' onmouseover='alert(1)' x='",
    "x onmouseover=alert(1)",
    "x>y<img src=x onerror=alert(1)>",
    "/x><svg/onload=alert(1)>",
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java\tscript:alert(1)",
    "\u{1}javascript:alert(1)",
    "  javascript:alert(1)",
    "javascript&colon;alert(1)",
    "&#106;avascript:alert(1)",
    "vbscript:msgbox(1)",
    "data:text/html,<script>alert(1)</script>",
    "//evil.example/x",
    "/\\evil.example/x",
    "\\\\evil.example/x",
    "--><script>alert(1)</script><!--",
    "--!><script>alert(1)</script>",
    "]]><script>alert(1)</script>",
    "`\"'<>&=\r\n\u{c}x",
    "<!--<script>x",
    "lt;script&gt;",
    "onerror",
];

/// Places of a hole, which is written `@`: a page, and behind a tab the faults that it has. Line ends are written `\n`.
const PLACES: &str = include_str!("places.txt");

/// The pages and their faults.
fn places() -> impl Iterator<Item = (String, &'static str)> {
    let lines = PLACES.lines().map(|line| line.split_once('\t').unwrap_or((line, "")));
    lines.map(|(page, faults)| (page.replace("\\n", "\n"), faults))
}

/// Addresses that a browser runs or sends something to.
fn is_dangerous(tag: &str, name: &str, value: &str) -> bool {
    const ADDRESSES: [&str; 14] = [
        "href",
        "src",
        "xlink:href",
        "action",
        "formaction",
        "data",
        "poster",
        "manifest",
        "codebase",
        "background",
        "cite",
        "hx-get",
        "hx-post",
        "srcset",
    ];
    let read: String = value
        .trim_matches(|letter: char| letter <= ' ')
        .chars()
        .filter(|letter| !"\t\r\n".contains(*letter))
        .collect();
    let folded = read.to_lowercase().replace('\\', "/");
    let is_run = ["javascript:", "vbscript:", "data:"].iter().any(|scheme| folded.starts_with(scheme));
    let is_link = matches!(
        tag,
        "a" | "area" | "img" | "image" | "audio" | "video" | "source" | "track" | "input" | "feimage"
    ) || matches!(name, "poster" | "background" | "cite" | "srcset");
    let without_scheme = folded.trim_start_matches("https:").trim_start_matches("http:");
    let host =
        without_scheme.strip_prefix("//").map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let is_elsewhere =
        host.is_some_and(|host| !matches!(host, "cdn.example" | "shop.example" | "shop.example:"));
    let is_address = ADDRESSES.contains(&name) && (name != "data" || tag == "object");
    is_address && (is_run || is_elsewhere && !is_link)
}

fn rendered(sql: &str, value: &Value) -> String {
    evaluate::html(sql, &mut Given(|_: &str| value.clone()))
}

fn dangers(seen: &[Seen]) -> Vec<String> {
    let mut found = Vec::new();
    for node in seen {
        if let Seen::Element { tag, attributes } = node {
            let bad = attributes.iter().filter(|(name, value)| is_dangerous(tag, name, value));
            found.extend(bad.map(|(name, value)| format!("{tag} {name} {value}")));
        }
    }
    found
}

/// Pages that are admitted, of those given.
fn admitted(pages: impl Iterator<Item = String>) -> Vec<String> {
    let mut all = Vec::new();
    for text in pages {
        let Ok(page) = read("pages/x.html", &text) else { continue };
        let sql = compile(&page, &PageLibrary::default()).expanded.text;
        for runs_scripts in [true, false] {
            let harmless = browser::shape(&browser::seen(&rendered(&sql, &Value::text("x")), runs_scripts));
            // A value that is HTML is text where no HTML may stand.
            let is_inside = page.values().iter().all(|value| value.place != ValuePlace::Text);
            let html = HOSTILE.iter().filter(|_| is_inside).map(|value| Value::Html((*value).to_owned()));
            for value in HOSTILE.iter().map(|value| Value::text(value)).chain(html) {
                let html = rendered(&sql, &value);
                let seen = browser::seen(&html, runs_scripts);
                assert_eq!(browser::shape(&seen), harmless, "{text}\n{html}");
                assert_eq!(dangers(&seen), Vec::<String>::new(), "{text}\n{html}");
            }
        }
        all.push(text);
    }
    all
}

#[test]
fn each_place_is_admitted_or_refused_with_what_to_write() {
    for (place, expected) in places() {
        let told = match read("pages/x.html", &place.replace('@', "{{ v }}")) {
            Ok(_) => String::new(),
            Err(faults) => faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        };
        assert_eq!(told, expected, "{place}");
    }
}

#[test]
fn no_value_becomes_more_than_its_place() {
    let pages = places().map(|(place, _)| place.replace('@', "{{ v }}"));
    let refused = places().filter(|(_, faults)| !faults.is_empty()).count();
    assert_eq!(admitted(pages).len() + refused, places().count());
}

#[test]
fn json_stays_json() {
    let pages = places().map(|(place, _)| place.replace('@', "{{ json: v }}"));
    assert!(admitted(pages).len() > 30);
}

#[test]
fn blocks_change_nothing_of_that() {
    for block in ["{{ if c }}{{ v }}{{ else }}x{{ v }}{{ end }}", "{{ for select q }}/{{ v }}{{ end }}"] {
        let pages = places().map(|(place, _)| place.replace('@', block));
        assert!(admitted(pages).len() > 80);
    }
}

#[test]
#[ignore = "writes the table anew, to be read"]
fn table() {
    let mut table = String::new();
    for (place, _) in places() {
        table.push_str(&place.replace('\n', "\\n"));
        if let Err(faults) = read("pages/x.html", &place.replace('@', "{{ v }}")) {
            table.push('\t');
            table.push_str(&faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "));
        }
        table.push('\n');
    }
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/places.txt"), table).expect("the table");
}
