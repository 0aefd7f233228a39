//! Random pages of broken markup: the place that the compiler finds for a hole is the one in which a browser sees its value, and it sees
//! the very value.

use std::collections::HashMap;
use std::time::Duration;

use hunt::{Hunt, Rng};
use pages::{HoleKind, PageFile, PageLibrary, ValuePlace, compile, read};

use crate::browser::{self, Seen};
use crate::evaluate::{self, Names, Value};

/// Pieces of markup, of which most are broken in some place.
const MARKUP: &[&str] = &[
    "<p>",
    "</p>",
    "<b>",
    "</b>",
    "<i>",
    "<div>",
    "</div>",
    "<ul><li>",
    "<a href=\"/x\">",
    "</a>",
    "<br>",
    "<br/>",
    "<hr/>",
    "x",
    " ",
    "\n",
    "a b",
    "&amp;",
    "&lt;",
    "&copy;",
    "&copy",
    "&#60;",
    "&",
    "& ",
    "<",
    "< ",
    "<<",
    ">",
    "\"",
    "'",
    "=",
    "/",
    "</",
    "</>",
    "</ >",
    "<1>",
    "<!-->",
    "<!--->",
    "<!---->",
    "<!-- x -->",
    "<!-- -- -->",
    "<!-- x --!>",
    "<!-- --!x -->",
    "<!-- <!-- -->",
    "<!--",
    "-->",
    "--!>",
    "<!x>",
    "<!>",
    "<!",
    "<!doctype html>",
    "<!DOCTYPE a \"b>c\">",
    "<?x?>",
    "<?",
    "?>",
    "<![CDATA[x]]>",
    "<![CDATA[ > ]]>",
    "<![CDATA[",
    "]]>",
    "<svg>",
    "</svg>",
    "<svg/>",
    "<math>",
    "</math>",
    "<mi>",
    "<mtext>",
    "</mtext>",
    "<desc>",
    "</desc>",
    "<foreignObject>",
    "</foreignObject>",
    "<g/>",
    "<g>",
    "</g>",
    "<table>",
    "</table>",
    "<tr>",
    "<td>",
    "</td>",
    "</tr>",
    "<caption>",
    "<select>",
    "</select>",
    "<option>",
    "<optgroup>",
    "<title>",
    "</title>",
    "<textarea>",
    "</textarea>",
    "<TextArea>",
    "</TEXTAREA >",
    "<style>",
    "</style>",
    "<style>a<b</style>",
    "<style/>",
    "<title/>",
    "<script>",
    "</script>",
    "<script>x<y</script>",
    "<script><!--</script>",
    "<script><!--<script>",
    "<script><!--<script></script>--></script>",
    "<script type=\"application/json\">",
    "<xmp>",
    "</xmp>",
    "<xmp><p></xmp>",
    "<noscript>",
    "</noscript>",
    "<noscript><p></noscript>",
    "<iframe>",
    "</iframe>",
    "<noembed><!--</noembed>",
    "<pre>",
    "</pre>",
    "<pre>\n",
    "<listing>",
    "<p title=\"",
    "<p title='",
    "\">",
    "'>",
    "<p title=",
    "<p title=x",
    "<p x=\"y\"z>",
    "<p =x>",
    "<p =x=\"",
    "<p \"x=\"",
    "<p/title=\"x\"/>",
    "<p title = \"",
    "<p title\n=\n'",
    "<a/b=\"c\"d='e'>",
    "<x-y z=\"",
    "<p ",
    "<p",
    " x",
    " y=\"",
    " z='",
    "\"",
    "'",
    " title=\"a>b\"",
    ">",
    "/>",
    " >",
    "</p x=\"y\">",
    "</p x=\"",
    "</p/>",
    "</p ",
    "</title x='>'>",
    "<input value=\"",
    "<img alt='",
    "<image alt=\"",
    "<body class=\"",
    "<html lang=\"",
    "<form>",
    "</form>",
    "<template>",
    "</template>",
    "<button>",
    "</button>",
    "<h1>",
    "</h2>",
    "<nobr>",
    "<font color=\"",
    "<object>",
    "</object>",
    "<a>",
    "</br>",
    "<link>",
    "<meta>",
    "<base>",
    "<svg viewBox=\"",
    "<svg><title>",
    "<svg><style>",
    "<svg><script>",
    "<svg><p>",
    "<math><annotation-xml encoding=\"text/html\">",
    "<SVG>",
    "</SvG>",
    "<p\u{c}x=\"",
    "é",
    "<é>",
    "<pé x=\"",
    "\u{feff}",
    "<p tÏtle=\"",
    "<frameset>",
    "<col>",
    "<colgroup>",
];

/// Those of which some are read by other rules.
const FOREIGN: &[&str] = &[
    "<svg>",
    "</svg>",
    "<math>",
    "</math>",
    "<desc>",
    "</desc>",
    "<foreignObject>",
    "</foreignObject>",
    "<p>",
    "</p>",
    "<table>",
    "</table>",
    "<td>",
    "<g>",
    "</g>",
    "<g/>",
    "<div/>",
    "<mi>",
    "</mi>",
    "<select>",
    "</select>",
    "<option>",
    "<b>",
    "</b>",
    "</br>",
    "<style><p title=\"</style>",
    "<style></style>",
    "<xmp><p title=\"</xmp>",
    "<title><p title=\"</title>",
    "\">",
    "<![CDATA[ ]]>",
    "<![CDATA[ > ]]>",
    "<style/>",
    "<script>1<2</script>",
    "<script/>",
    "<style><![CDATA[ <p title=\" ]]></style>",
    "<textarea>",
    "</textarea>",
];

struct RandomPage {
    markup: &'static [&'static str],
    text: String,
    count: usize,
}

impl RandomPage {
    fn of(random: &mut Rng) -> RandomPage {
        let markup = if random.u8(..3) == 0 { FOREIGN } else { MARKUP };
        let mut page = RandomPage { markup, text: String::new(), count: 0 };
        let length = random.usize(1..14);
        page.part(random, length, 0);
        page
    }

    fn hole(&mut self, random: &mut Rng) {
        self.count += 1;
        let json = if random.u8(..16) == 0 { "json: " } else { "" };
        self.text.push_str(&format!("{{{{ {json}v{} }}}}", self.count));
    }

    fn part(&mut self, random: &mut Rng, length: usize, depth: usize) {
        for _ in 0..length {
            match random.u8(..20) {
                0..=5 => self.hole(random),
                6 if depth < 3 => {
                    self.text.push_str(
                        random
                            .choice(["{{ if c }}", "{{ if d }}", "{{ for select q }}", "{{ with select q }}"])
                            .unwrap_or_default(),
                    );
                    let length = random.usize(..4);
                    self.part(random, length, depth + 1);
                    self.text.push_str("{{ else }}");
                    let length = random.usize(..4);
                    self.part(random, length, depth + 1);
                    self.text.push_str("{{ end }}");
                }
                7 => self.whole(random),
                8 => self.text.push_str("{{ -- remark }}"),
                _ => self.text.push_str(random.choice(self.markup).unwrap_or(&"")),
            }
        }
    }

    /// Markup that is right, with holes in it.
    fn whole(&mut self, random: &mut Rng) {
        let wholes = [
            "<p title=\"@\">@</p>",
            "<a href='@'>@</a>",
            "<input value=\"@\" alt='@'>",
            "<title>@</title>",
            "<textarea>@</textarea>",
            "<svg viewBox=\"@\"><a xlink:href=\"@\">@</a></svg>",
            "<svg><title>@</title></svg>",
            "<td class=\"@@\">@",
            "<option value='@'>@",
            "<script type=\"application/json\">@</script>",
            "<a href=\"/a/@?b=@&amp;c=@#@\">",
            "<img src='a@' alt=\"@\">",
            "<br title='@'/>",
        ];
        let mut rest = *random.choice(&wholes).unwrap_or(&"");
        let is_json = rest.contains("json");
        while let Some(place) = rest.find('@') {
            self.text.push_str(&rest[..place]);
            rest = &rest[place + 1..];
            self.count += 1;
            self.text.push_str(&format!("{{{{ {}v{} }}}}", if is_json { "json: " } else { "" }, self.count));
        }
        self.text.push_str(rest);
    }
}

/// The value of each hole that was computed: a mark that is found again, and anything.
struct RandomValues<'a> {
    random: &'a mut Rng,
    made: HashMap<String, String>,
}

impl Names for RandomValues<'_> {
    fn value(&mut self, name: &str) -> Value {
        let made = self.made.entry(name.to_owned()).or_insert_with(|| {
            let pieces = [
                "<",
                ">",
                "\"",
                "'",
                "&",
                "&amp;",
                "=",
                "/",
                "`",
                "\r",
                "\n",
                "\t",
                "\u{c}",
                "--",
                "!",
                "]]>",
                "</title>",
                "javascript:",
                "é",
                "𝒳",
                " ",
            ];
            let inside: String = (0..self.random.usize(..8))
                .map(|_| match self.random.u8(..3) {
                    0 => self.random.char('\u{1}'..).to_string(),
                    _ => (*self.random.choice(&pieces).unwrap_or(&"")).to_owned(),
                })
                .collect();
            format!("⟦{name}⟧{inside}⟧")
        });
        Value::Text(made.clone())
    }

    fn condition(&mut self, name: &str) -> bool {
        name == "c"
    }

    fn rows(&mut self, _: &str) -> usize {
        1
    }
}

/// Tags whose text a browser takes as it is.
const RAW: [&str; 8] = ["style", "script", "xmp", "iframe", "noembed", "noframes", "noscript", "plaintext"];

/// Where a browser sees a value; none if it sees it nowhere.
fn places(seen: &[Seen], mark: &str) -> Vec<(ValuePlace, String)> {
    let mut found = Vec::new();
    for node in seen {
        match node {
            Seen::Text { tag, text } if text.contains(mark) => {
                let place = match tag.as_str() {
                    "title" | "textarea" => ValuePlace::PlainElement(tag.clone()),
                    tag if RAW.contains(&tag) => ValuePlace::Json,
                    _ => ValuePlace::Text,
                };
                found.push((place, text.clone()));
            }
            Seen::Element { tag, attributes } => {
                let tag = if tag == "img" { "image" } else { tag };
                let marked = attributes.iter().filter(|(_, value)| value.contains(mark));
                found.extend(marked.map(|(name, value)| {
                    (ValuePlace::Attribute { tag: tag.to_owned(), name: name.clone() }, value.clone())
                }));
                let is_elsewhere =
                    tag.contains(mark) || attributes.iter().any(|(name, _)| name.contains(mark));
                assert!(!is_elsewhere, "{mark} is a name");
            }
            Seen::Comment(text) => assert!(!text.contains(mark), "{mark} is in a comment"),
            Seen::Text { .. } => {}
        }
    }
    found
}

fn check(page: &PageFile, html: &str, made: &HashMap<String, String>, counts: &mut [usize; 5]) {
    let seen = browser::seen(html, true);
    for placed in page.values() {
        let name = &page.text()[placed.span.range()];
        let Some(value) = made.get(name) else { continue };
        let json: String =
            value.chars().take_while(|letter| letter.is_alphanumeric() || "⟦⟧".contains(*letter)).collect();
        let is_json = page.text().contains(&format!("{{{{ json: {name} }}}}"));
        let value = if is_json { &json } else { value };
        let mark = format!("⟦{name}⟧");
        let is_there = html.contains(&mark);
        let found = places(&seen, &mark);
        let context = || format!("{name} as {:?}\n{}\n{html}\n{found:?}", placed.place, page.text());
        match &placed.place {
            ValuePlace::Url { .. } if !is_there => counts[3] += 1,
            // The other branch was taken.
            _ if !is_there => {}
            // A browser leaves some tags out, and all text of framesets and columns.
            ValuePlace::Attribute { .. } | ValuePlace::Url { .. } if found.is_empty() => counts[4] += 1,
            _ if found.is_empty() && ["<frameset", "<col"].iter().any(|tag| html.contains(tag)) => {
                counts[4] += 1
            }
            _ if found.is_empty() => panic!("{}", context()),
            ValuePlace::Text => {
                // Titles in foreign elements and in select are no titles.
                let is_text =
                    |place: &ValuePlace| matches!(place, ValuePlace::Text | ValuePlace::PlainElement(_));
                assert!(
                    found.iter().all(|(place, text)| is_text(place) && text.contains(value)),
                    "{}",
                    context()
                );
                counts[0] += 1;
            }
            ValuePlace::PlainElement(_) => {
                let is_text = |place: &ValuePlace| *place == placed.place || *place == ValuePlace::Text;
                assert!(
                    found.iter().all(|(place, text)| is_text(place) && text.contains(value)),
                    "{}",
                    context()
                );
                counts[1] += 1;
            }
            ValuePlace::Attribute { tag, name } | ValuePlace::Url { tag, name } => {
                let tag = if tag == "img" { "image" } else { tag.as_str() };
                let is_right = |place: &ValuePlace| {
                    *place == ValuePlace::Attribute { tag: tag.to_owned(), name: name.clone() }
                };
                assert!(
                    found.iter().all(|(place, text)| is_right(place) && (text.contains(value) || !is_there)),
                    "{}",
                    context()
                );
                counts[2] += 1;
            }
            ValuePlace::Json | ValuePlace::Unescaped => {
                let is_script = |place: &ValuePlace| matches!(place, ValuePlace::Json | ValuePlace::Text);
                assert!(
                    found.iter().all(|(place, text)| is_script(place) && text.contains(value)),
                    "{}",
                    context()
                );
            }
        }
    }
}

#[test]
fn a_browser_sees_each_value_where_the_compiler_says() {
    let mut hunt = Hunt::begin("random pages", Duration::from_millis(10));
    let (mut admitted, mut counts) = (0, [0; 5]);
    while let Some(mut random) = hunt.next_round_until(admitted >= 2000) {
        let made = RandomPage::of(&mut random);
        let Ok(page) = read("pages/x.html", &made.text) else { continue };
        let holes = page.holes().iter().filter(|hole| hole.kind == HoleKind::Expression).count();
        assert_eq!(page.values().len(), holes, "{}", made.text);
        let sql = compile(&page, &PageLibrary::default()).plain.text;
        let mut values = RandomValues { random: &mut random, made: HashMap::new() };
        let html = evaluate::html(&sql, &mut values);
        check(&page, &html, &values.made, &mut counts);
        admitted += 1;
    }
    let rounds = hunt.rounds();
    println!("{admitted} of {rounds} {counts:?}");
    assert!(admitted as u64 * 20 > rounds, "too many pages are refused: {admitted} of {rounds}");
    assert!(counts[..3].iter().all(|count| *count > 100), "{counts:?}");
}
