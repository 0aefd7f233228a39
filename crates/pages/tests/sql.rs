//! The SQL of small pages, in full.

use pages::{PageFile, PageLibrary, compile, read};

pub(crate) fn page(path: &str, text: &str) -> PageFile {
    read(path, text).unwrap_or_else(|faults| {
        let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
        panic!("{path}: {text}\n{}", told.join("\n"))
    })
}

/// The SQL of a page; without other pages both texts are the same.
fn sql_of(path: &str, text: &str) -> String {
    let compiled = compile(&page(path, text), &PageLibrary::default());
    assert_eq!(compiled.plain.text, compiled.expanded.text);
    assert!(compiled.expands.is_empty());
    compiled.plain.text
}

/// Pages and their SQL.
const PAGES: &[(&str, &str)] = &[
    ("", "''::http.html"),
    ("<h1>Hi</h1>", "'<h1>Hi</h1>'::http.html"),
    ("it's \\ so", "E'it''s \\\\ so'::http.html"),
    ("{{ x }}", "http.html_of(x)"),
    ("a{{ x -- y }}b", "http.html_of('a'::http.html, x, 'b'::http.html)"),
    ("{{ x -- y\n + 1 }}", "http.html_of(x -- y\n + 1)"),
    (
        "<p title=\"{{ x }}\" class='{{ y }}'>{{ json }}",
        "http.html_of('<p title=\"'::http.html, http.attribute(x), '\" class='''::http.html, http.attribute(y), '''>'::http.html, json)",
    ),
    (
        "{{ if a }}x{{ elsif b is null }}{{ y }}{{ else }}{{ end }}",
        "http.html_of(case when (a) then 'x'::http.html when (b is null) then http.html_of(y) else ''::http.html end)",
    ),
    ("{{ IF a }}x{{ End }}", "http.html_of(case when (a) then 'x'::http.html end)"),
    (
        "{{ for p in select * from t }}{{ p.x }}{{ end }}",
        "http.html_of((select http.html_agg(\"row body\".\"body\") from (select * from t) as p, lateral (select http.html_of(p.x) as \"body\") as \"row body\"))",
    ),
    (
        "{{ for \"P q\" in (table t) -- all\n}}<b>{{ else }}none{{ end }}",
        "http.html_of(coalesce((select http.html_agg(\"row body\".\"body\") from ((table t)) as \"P q\", lateral (select '<b>'::http.html as \"body\") as \"row body\"), 'none'::http.html))",
    ),
    (
        "{{ for select 1 }}a{{ end }}{{ for values (1), (2) }}b{{ end }}",
        "http.html_of((select http.html_agg(\"row body\".\"body\") from (select 1) as \"row 1\", lateral (select 'a'::http.html as \"body\") as \"row body\"), \
         (select http.html_agg(\"row body\".\"body\") from (values (1), (2)) as \"row 2\", lateral (select 'b'::http.html as \"body\") as \"row body\"))",
    ),
    (
        "\n<b>{{ with p in select 1 as y }}{{ y }}{{ else }}no{{ end }}",
        "http.html_of('\n<b>'::http.html, coalesce((select http.single(\"row body\".\"body\", 'pages/x.html, line 2') from (select 1 as y) as p, lateral (select http.html_of(y) as \"body\") as \"row body\"), 'no'::http.html))",
    ),
    (
        "\n{{ with p in select 1 as y }}{{ y }}{{ end }}\n",
        "(select http.single(\"row body\".\"body\", 'pages/x.html, line 2') from (select 1 as y) as p, lateral (select http.html_of(y) as \"body\") as \"row body\")",
    ),
    ("{{ layout: l() }}x", "l(body => 'x'::http.html)"),
    ("{{ layout: \"L\".l( /* a */ ) }}x", "\"L\".l( /* a */ body => 'x'::http.html)"),
    ("{{ layout: l('a', b => 1 -- c\n) }}x", "l('a', b => 1 -- c\n\n, body => 'x'::http.html)"),
    (
        "{{ layout: l(t => 'T') }}\n{{ slot head }}<b>{{ end }}x{{ slot \"Foot\" }}{{ y }}{{ end }}",
        "l(t => 'T', body => 'x'::http.html, head => '<b>'::http.html, \"Foot\" => http.html_of(y))",
    ),
    (
        "{{ layout: l(p.t) }} {{ with p in select 1 as t }}{{ slot head }}{{ p.t }}{{ end }}<i>{{ end }}",
        "(select http.single(\"row body\".\"body\", 'pages/x.html, line 1') from (select 1 as t) as p, lateral (select l(p.t, body => '<i>'::http.html, head => http.html_of(p.t)) as \"body\") as \"row body\")",
    ),
    (
        "{{ arguments: a text, \"B\" int }}{{ args.a }}{{ ARGS . \"B\" + 1 }}{{ x.args.a }}{{ 'args.a' }}{{ \"args\".b }}{{ a }}",
        "http.html_of($1, $2 + 1, x.args.a, 'args.a', \"args\".b, a)",
    ),
    (
        "<a href=\"{{ x }}\" title='{{ y }}'>",
        "http.html_of('<a href=\"'::http.html, http.attribute(http.safe_url(http.text_of(x))), '\" title='''::http.html, \
         http.attribute(y), '''>'::http.html)",
    ),
    (
        "<a href=\" {{ if c }}/a?b=1&amp;{{ x }}&#38;{{ end }}\">",
        "http.html_of('<a href=\" '::http.html, case when (c) then http.html_of('/a?b=1&amp;'::http.html, http.attribute(x), \
         '&#38;'::http.html) end, '\">'::http.html)",
    ),
    (
        "<a href=\"{{ for select q }}{{ x }}&amp;{{ else }}'{{ end }}\">",
        "http.html_of('<a href=\"'::http.html, http.attribute(http.safe_url(http.text_of(coalesce((select \
         string_agg(\"row body\".\"body\", '') from (select q) as \"row 1\", lateral (select http.text_of(x, '&'::text) as \"body\") as \"row body\"), ''''::text)))), '\">'::http.html)",
    ),
    (
        "<form action=\"{{ http.url('/b/{id}', id) }}\">",
        "http.html_of('<form action=\"'::http.html, http.attribute(http.url('/b/{id}', id)), '\">'::http.html)",
    ),
    (
        "<script type=\"importmap\">{{ json: x }}</script><p data-x='{{ JSON: y }}'>",
        "http.html_of('<script type=\"importmap\">'::http.html, http.script_json(to_json(x)), '</script><p data-x='''::http.html, \
         http.attribute(to_json(y)), '''>'::http.html)",
    ),
    ("<pre>{{ x }}</pre>", "http.html_of('<pre>\n'::http.html, x, '</pre>'::http.html)"),
    ("<pre>\n{{ x }}</pre>", "http.html_of('<pre>\n'::http.html, x, '</pre>'::http.html)"),
    (
        "<textarea>{{ if c }}{{ x }}{{ end }}</textarea>",
        "http.html_of('<textarea>\n'::http.html, case when (c) then http.html_of(http.attribute(x)) end, '</textarea>'::http.html)",
    ),
    (
        "{{ verbatim }}<b>{{ x }}\n{{ ' }}{{ End }}{{ x }}",
        "http.html_of('<b>{{ x }}\n{{ '' }}'::http.html, x)",
    ),
    ("{{ '{{' }}{{ \"for\" }}{{ json::text }}", "http.html_of('{{', \"for\", json::text)"),
    (
        "a\n  {{ if c }}  \n  b\n{{ -- remark }}\t{{ else }}\r\nc{{ -- d }}\n  {{ end }}\n  {{ x }}\n",
        "http.html_of('a\n'::http.html, case when (c) then '  b\n'::http.html else 'c\n'::http.html end, '  '::http.html, x)",
    ),
    ("{{ -- remark }} {{ x }}\n\n", "http.html_of(' '::http.html, x, '\n'::http.html)"),
    (
        "<a href=\"{{ x }}&copy b&#128;&#x41&amp=1&unknown&quest;&#xD800;\">",
        "http.html_of('<a href=\"'::http.html, http.attribute(http.safe_url(http.text_of(x, \
         '\u{a9} b\u{20ac}A&amp=1&unknown?\u{fffd}'::text))), '\">'::http.html)",
    ),
];

#[test]
fn pages_become_this_sql() {
    for (text, expected) in PAGES {
        assert_eq!(sql_of("pages/x.html", text), *expected, "{text}");
    }
}

#[test]
fn pages_of_text_become_this_sql() {
    const TEXTS: &[(&str, &str)] = &[
        ("", "''::text"),
        ("Hello <{{ x }}>\n", "http.text_of('Hello <'::text, x, '>'::text)"),
        (
            "{{ arguments: a int }}\n{{ for p in select 1 }}\n- {{ args.a }}\n{{ else }}\n{{ if c }}none{{ end }}\n{{ end }}\n",
            "http.text_of(coalesce((select string_agg(\"row body\".\"body\", '') from (select 1) as p, lateral (select http.text_of('- '::text, $1, '\n'::text) as \"body\") as \"row body\"), \
             http.text_of(case when (c) then 'none'::text end, '\n'::text)))",
        ),
        (
            "{{ with p in select 1 }}{{ <<p }}{{ end }}",
            "(select http.single(\"row body\".\"body\", 'pages/x.txt, line 1') from (select 1) as p, lateral (select http.text_of(<<p) as \"body\") as \"row body\")",
        ),
    ];
    for (text, expected) in TEXTS {
        assert_eq!(sql_of("pages/x.txt", text), *expected, "{text}");
    }
}

#[test]
fn no_call_has_more_arguments_than_postgresql_takes() {
    for count in [1, 44, 45, 46, 90, 300, 5000] {
        let text = "{{ x }}<".repeat(count) + " ";
        let sql = sql_of("pages/x.txt", &text);
        let calls = sql.matches("http.text_of(").count();
        assert_eq!(calls == 1, count <= 45, "{count}");
        assert_eq!(sql.matches("x, '<").count(), count);
    }
}

#[test]
fn what_stands_for_an_argument_leads_to_it() {
    let text = "{{ arguments: q text }}\né{{ lower(args . q) }}\n{{ if x }}\n <p>{{ end }}";
    let page = page("pages/x.html", text);
    let sql = compile(&page, &PageLibrary::default()).plain;
    let place = |part: &str| {
        let number = sql.text[..sql.text.find(part).expect(part)].chars().count();
        let place = sql.map.place(number);
        (place.line, place.column, text[place.span.range()].to_owned())
    };
    assert_eq!(place("$1"), (2, 11, "args . q".to_owned()));
    assert_eq!(place("lower"), (2, 5, "lower(".to_owned()));
    assert_eq!(place("(x)"), (3, 1, "{{ if x }}".to_owned()));
    assert_eq!(place("x)"), (3, 7, "x".to_owned()));
    assert_eq!(place(" <p>"), (4, 1, " <p>".to_owned()));
    assert_eq!(sql.map.place(0).path, "pages/x.html");
    // The call around all is made of the whole page.
    assert_eq!(sql.map.place(1_000_000).line, 1);
}
