//! Values in pages, read back by a browser's parser: whatever a value is and wherever it stands, it is there as PostgreSQL writes it.

use std::collections::BTreeMap;

use fastrand::Rng;
use howdah_tests::application::Application;

#[path = "../../crates/pages/tests/browser.rs"]
pub(crate) mod browser;

use browser::{Seen, seen, shape};

/// A value of each type of PostgreSQL's own that has an input; a dot stands for a blank.
const VALUES: &str = "bool:t bytea:\\x00ff char:< name:a<b\"c int8:-9223372036854775808 int2:-3 int2vector:1·2 int4:7 regproc:now text:<b>&\"'x' oid:4294967295
    tid:(1,2) xid:7 cid:8 oidvector:1·2 json:{\"a\":\"<b>\"} xml:<a·b=\"&quot;\"/> point:(1,2) lseg:[(1,2),(3,4)] path:((1,2),(3,4)) box:(3,4),(1,2)
    polygon:((1,2),(3,4)) line:{1,2,3} float4:0.1 float8:1e300 circle:<(1,2),3> money:$1,234.50 macaddr:08:00:2b:01:02:03 inet:10.0.0.1/8
    cidr:10.0.0.0/8 macaddr8:08:00:2b:01:02:03:04:05 aclitem:postgres=r/postgres bpchar:< varchar:<i>' date:2026-11-29 time:01:02:03.5
    timestamp:2026-11-29·01:02:03.5 timestamptz:infinity interval:1·day·02:00:00 timetz:01:02:03+02 bit:1 varbit:101 numeric:-1.50 refcursor:<c>
    regprocedure:abs(integer) regoper:^@ regoperator:<(integer,integer) regclass:pg_class regcollation:\"C\" regtype:integer regrole:postgres
    regnamespace:pg_catalog uuid:00000000-0000-0000-0000-00000000000f pg_lsn:16/B374D848 tsvector:'<a>':1·'b' tsquery:'<a>'&'b' regconfig:simple
    regdictionary:simple jsonb:{\"a\":\"<b>\"} jsonpath:$.\"a\"[*]?(@>1) txid_snapshot:1:2: pg_snapshot:1:2: int4range:[1,3) numrange:[1.5,3)
    tsrange:[2026-11-29,2026-11-30) tstzrange:(,infinity) daterange:[2026-11-29,2026-11-30) int8range:empty int4multirange:{[1,3)}
    nummultirange:{[1.5,3)} tsmultirange:{} tstzmultirange:{} datemultirange:{} int8multirange:{} xid8:9";

/// Each place in which a value may stand, as the page writes it; its text stands in `id`, in what has it.
const PAGE: &str = "<p>{{ v }}</p><i title=\"{{ v }}\">x</i><i title='{{ v }}'>y</i><textarea>{{ v }}</textarea><title>{{ v }}</title><pre>{{ v }}</pre>
<b data-a=\"a{{ v }}b{{ v }}\">{{ if true }}{{ v }}{{ end }}</b><option value=\"{{ v }}\">{{ v }}</option>";

/// A value, quoted.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The texts and attributes of a page that a value stands in.
fn places(html: &str) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut quotes = 0;
    for node in seen(html, true) {
        match node {
            Seen::Element { tag, attributes } => {
                for (name, value) in attributes {
                    quotes += 1;
                    found.insert(format!("{quotes} {tag} {name}"), value);
                }
            }
            Seen::Text { tag, text } if !matches!(tag.as_str(), "i" | "body" | "html" | "head") => {
                *found.entry(tag).or_default() += &text;
            }
            Seen::Text { .. } => {}
            Seen::Comment(text) => panic!("a comment {text}: {html}"),
        }
    }
    found
}

fn expect(html: &str, value: &str, what: &str) {
    let wanted: BTreeMap<String, String> = [
        ("p", value.to_owned()),
        ("1 i title", value.to_owned()),
        ("2 i title", value.to_owned()),
        ("textarea", value.to_owned()),
        ("title", value.to_owned()),
        ("pre", value.to_owned()),
        ("3 b data-a", format!("a{value}b{value}")),
        ("b", value.to_owned()),
        ("4 option value", value.to_owned()),
        ("option", value.to_owned()),
    ]
    .into_iter()
    .filter(|(place, value)| place.contains(' ') || !value.is_empty())
    .map(|(place, value)| (place.to_owned(), value))
    .collect();
    assert_eq!(places(html), wanted, "{what}: {html}");
}

#[test]
fn a_value_of_every_type_is_read_back_in_every_place() {
    let values: BTreeMap<&str, String> = VALUES
        .split_whitespace()
        .map(|pair| pair.split_once(':').expect("a type and its value"))
        .map(|(name, value)| (name, value.replace('·', " ")))
        .collect();
    let shop = Application::of(&[("pages/first.html", "<p>first</p>")]);
    let mut session = shop.platform.session();
    let types: Vec<String> = session
        .query(
            "select typname::text from pg_type where typnamespace = 'pg_catalog'::regnamespace and typtype in ('b', 'r', 'm', 'e') and typelem = 0
               and typname !~ '^(pg_node_tree|pg_ndistinct|pg_dependencies|pg_mcv_list|pg_brin_.*|gtsvector)$'
             union all select unnest(array['int2vector', 'oidvector', 'point', 'lseg', 'box', 'line', 'name'])
             except select 'cstring' order by 1",
            &[],
        )
        .unwrap()
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert!(types.len() > 70, "{types:?}");
    for name in &types {
        let head = format!("{{{{ arguments: v pg_catalog.\"{name}\" }}}}\n");
        shop.write(&format!("pages/of/{name}.html"), &format!("{head}{PAGE}"));
    }
    shop.write("pages/of_list.html", &format!("{{{{ arguments: v text[] }}}}\n{PAGE}"));
    shop.ok("deploy");
    for name in &types {
        let value = values.get(name.as_str()).unwrap_or_else(|| panic!("no value of type {name}"));
        let typed = format!("{}::pg_catalog.\"{name}\"", literal(value));
        let row = session
            .query_one(&format!("select shop.of_{name}({typed})::text, case '{name}' when 'bool' then 'true' else format('%s', {typed}) end"), &[])
            .unwrap_or_else(|error| panic!("{name}: {error:?}"));
        expect(row.get(0), row.get(1), name);
    }
    let list = "array['<', null, '\"', '''']";
    let row = session.query_one(&format!("select shop.of_list({list})::text, {list}::text"), &[]).unwrap();
    expect(row.get(0), row.get(1), "a list");
}

#[test]
fn random_texts_are_read_back_in_every_place_and_as_a_segment_and_as_json() {
    const PIECES: [&str; 30] = [
        "<",
        ">",
        "&",
        "\"",
        "'",
        "\r",
        "\n",
        "\r\n",
        "\t",
        " ",
        "&amp;",
        "&lt",
        "&#60;",
        "</textarea>",
        "</title>",
        "<!--",
        "-->",
        "</script>",
        "<script>",
        "]]>",
        "{{",
        "}}",
        "%2e",
        "\u{b}",
        "\u{85}",
        "ü",
        "フ",
        "\u{1f600}",
        "\u{feff}",
        "x",
    ];
    let shop = Application::of(&[
        ("pages/words.html", &format!("{{{{ arguments: v text }}}}\n{PAGE}")),
        ("pages/link.html", "{{ arguments: v text }}\n<a href=\"{{ http.url('/x/{v}', v, 'q', v) }}\">x</a>"),
        (
            "pages/data.html",
            "{{ arguments: v text }}\n<script type=\"application/json\">{{ json: to_json(v) }}</script>",
        ),
    ]);
    shop.ok("deploy");
    let mut session = shop.platform.session();
    let statement = session
        .prepare("select shop.words(v)::text, shop.link(v)::text, shop.data(v)::text from (select $1::text) one (v)")
        .unwrap();
    let mut random = Rng::with_seed(56);
    let plain: String = session.query_one(&statement, &[&"x"]).unwrap().get(0);
    let as_written = shape(&seen(&plain, true));
    for round in 0..1500 {
        let value: String = (0..random.usize(1..8)).map(|_| *random.choice(&PIECES).unwrap()).collect();
        let row = session.query_one(&statement, &[&value]).unwrap();
        let what = format!("{round}: {value:?}");
        expect(row.get(0), &value, &what);
        assert_eq!(shape(&seen(row.get(0), true)), as_written, "{what}");
        let link: &str = row.get(1);
        let href = match &seen(link, true)[3] {
            Seen::Element { attributes, .. } => attributes[0].1.clone(),
            other => panic!("{what}: {other:?}"),
        };
        let decoded = |part: &str| {
            let mut bytes = Vec::new();
            let mut rest = part.as_bytes();
            while let Some((first, after)) = rest.split_first() {
                let code = (*first == b'%').then(|| std::str::from_utf8(&after[..2]).unwrap());
                bytes.push(code.map_or(*first, |code| u8::from_str_radix(code, 16).unwrap()));
                rest = if code.is_some() { &after[2..] } else { after };
            }
            String::from_utf8(bytes).unwrap()
        };
        let (path, query) = href.split_once('?').unwrap_or_else(|| panic!("{what}: {href}"));
        assert_eq!(decoded(path.strip_prefix("/x/").expect("a path")), value, "{href}");
        assert_eq!(decoded(query.strip_prefix("q=").expect("a query")), value, "{href}");
        let data = seen(row.get(2), true).into_iter().find_map(|node| match node {
            Seen::Text { tag, text } if tag == "script" => Some(text),
            _ => None,
        });
        assert_eq!(serde_json::from_str::<String>(&data.unwrap()).unwrap(), value, "{what}");
    }
}
