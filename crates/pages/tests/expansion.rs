//! Calls of pages that are replaced by what these put together, and those that stay calls.

use pages::{PageLibrary, compile};

use crate::sql::page;

/// Pages that others call.
const PARTS: &[(&str, &str)] = &[
    ("pages/menu.html", "<nav>{{ for m in select * from menu }}{{ m.name }}{{ end }}</nav>"),
    (
        "pages/card.html",
        "{{ arguments: p shop.product, n int = 1 + 1 }}<b>{{ p.slug }}{{ args.p.\"X\" }}{{ args.n }}{{ n }}</b>",
    ),
    ("pages/deep.html", "{{ arguments: t text }}{{ card(null, 5) }}{{ menu() }}{{ args.t }}"),
    (
        "pages/frame.html",
        "{{ arguments: title text, body http.html, head http.html default '' }}{{ title }}{{ head }}{{ body }}",
    ),
    (
        "pages/one.html",
        "{{ arguments: id int }}{{ with p in select * from t where t.id = args.id }}{{ p.x }}{{ end }}",
    ),
    ("pages/mail.txt", "{{ arguments: t text }}<{{ t }}>"),
    ("pages/filter.html", "<i>"),
    ("pages/chars.html", "{{ arguments: a varchar(3) }}{{ a }}"),
    ("pages/bit1.html", "{{ arguments: a bit }}{{ a }}"),
    ("pages/any1.html", "{{ arguments: a anyelement }}{{ a }}"),
    ("pages/typed.html", "{{ arguments: a text%type }}{{ a }}"),
    (
        "pages/long_type.html",
        "{{ arguments: a timestamp with time zone, b double precision[], \"C\" \"T\".\"U\"[][] }}{{ a }}",
    ),
    ("pages/itself.html", "{{ arguments: a int }}{{ itself(a - 1) }}"),
    ("pages/named.html", "{{ arguments: a int }}{{ named.a }}"),
    ("pages/round.html", "{{ square() }}"),
    ("pages/square.html", "{{ round() }}"),
    ("pages/around.html", "<i>{{ round() }}</i>"),
    ("pages/rows_of.html", "{{ for p in select * from t }}{{ card(p) }}{{ end }}"),
    ("pages/row2.html", "{{ (select to_json(t) from t) }}"),
    ("pages/clash.html", "{{ arguments: t int }}{{ (select x from t) }}"),
    ("pages/alias.html", "{{ arguments: z int }}{{ (select z.x from t z) }}"),
    ("pages/twice.html", "{{ arguments: a int }}{{ a }}{{ args.a }}"),
    ("pages/loop.html", "{{ arguments: a int }}{{ if a is null }}{{ for select 1 }}x{{ end }}{{ end }}"),
    ("pages/largest.html", "{{ arguments: a int }}{{ (select max(args.a) from t) }}"),
    (
        "pages/listed.html",
        "{{ arguments: a int }}{{ for r in select x.string_agg(a::text, ',') from t }}{{ end }}",
    ),
    ("pages/whole.html", "{{ arguments: p t }}{{ to_json(args.p.*) }}"),
    (
        "pages/lower.html",
        "{{ arguments: a text }}{{ (select count(*) from t where x = upper(a) and max(a) > 0) }}",
    ),
    ("pages/counted.html", "{{ arguments: a text }}{{ (select count(*) from t where x = upper(a)) }}"),
    ("pages/quoted.html", "{{ arguments: a int }}{{ (select \"args\".x from t \"args\") }}"),
    ("pages/fine.html", "{{ arguments: z int }}{{ (select 1 as z from t as y where y.a = z) }}"),
];

fn library() -> PageLibrary {
    PARTS.iter().map(|(path, text)| page(path, text)).collect()
}

/// The expanded SQL of a page, and the pages in it.
fn expanded(text: &str) -> (String, String) {
    let page = page("pages/x.html", text);
    let compiled = compile(&page, &library());
    (compiled.expanded.text, compiled.expands.join(" "))
}

const MENU: &str = "(select http.html_of('<nav>'::http.html, (select http.html_agg(\"row body\".\"body\") from (select * from menu) as m, lateral (select http.html_of(m.name) as \"body\") as \"row body\"), \
                    '</nav>'::http.html))";

fn card(p: &str, n: &str) -> String {
    format!(
        "(select http.html_of('<b>'::http.html, (args.p).slug, (args.p).\"X\", args.n, n, '</b>'::http.html) \
         from (select ({p})::shop.product as \"p\", ({n})::int as \"n\") as args)"
    )
}

#[test]
fn calls_are_replaced() {
    let cases = [
        ("{{ menu() }}", format!("http.html_of({MENU})"), "menu"),
        ("{{ menu( /* none */ ) }}", format!("http.html_of({MENU})"), "menu"),
        ("{{ card(x) }}", format!("http.html_of({})", card("x", "1 + 1")), "card"),
        ("{{ Card(x, 2) }}", format!("http.html_of({})", card("x", "2")), "card"),
        ("{{ \"card\"(n => (1, 2), p := a.b) }}", format!("http.html_of({})", card("a.b", "(1, 2)").replace(") as args", " offset 0) as args")), "card"),
        ("{{ card(x, n => case when a then 1 end) }}", format!("http.html_of({})", card("x", "case when a then 1 end")), "card"),
        (
            "{{ a || card(/* 1 */ x -- y\n, 3) || 'card(x)' || \"card\" }}",
            format!("http.html_of(a || {} || 'card(x)' || \"card\")", card("x", "3")),
            "card",
        ),
        (
            "{{ arguments: n text }}{{ card(args.n, args.n) }}{{ args.n }}",
            format!("http.html_of({}, $1)", card("$1", "$1")),
            "card",
        ),
        (
            "{{ coalesce(card(x), (select card(y) from z where w is not null)) }}",
            format!(
                "http.html_of(coalesce({}, (select {} from z where w is not null)))",
                card("x", "1 + 1"),
                card("y", "1 + 1").replace(") from (select (y)", ") as \"card\" from (select (y)")
            ),
            "card",
        ),
        (
            "{{ deep('x') }}",
            format!(
                "http.html_of((select http.html_of({}, {MENU}, args.t) from (select ('x')::text as \"t\") as args))",
                card("null", "5")
            ),
            "card deep menu",
        ),
        ("{{ if menu() is null }}x{{ end }}", format!("http.html_of(case when ({MENU} is null) then 'x'::http.html end)"), "menu"),
        (
            "{{ one(5) }}",
            "http.html_of((select (select http.single(\"row body\".\"body\", 'pages/one.html, line 1') from (select * from t where t.id = args.id) as p, lateral (select http.html_of(p.x) as \"body\") as \"row body\") from (select (5)::int as \"id\") as args))"
                .to_owned(),
            "one",
        ),
        ("{{ mail_text('x') }}", "http.html_of((select http.text_of('<'::text, t, '>'::text) from (select ('x')::text as \"t\") as args))".to_owned(), "mail_text"),
        (
            "{{ layout: frame('t') }}a{{ slot head }}{{ menu() }}{{ end }}",
            format!(
                "(select http.html_of(http.attribute(title), head, body) from (select ('t')::text as \"title\", ('a'::http.html)::http.html \
                 as \"body\", (http.html_of({MENU}))::http.html as \"head\") as args)"
            )
            .replace("http.attribute(title)", "title"),
            "frame menu",
        ),
        (
            "{{ layout: frame(p.t) }}{{ with p in select 1 as t }}{{ p.t }}{{ end }}",
            "(select http.single(\"row body\".\"body\", 'pages/x.html, line 1') from (select 1 as t) as p, lateral (select (select http.html_of(title, head, body) from (select (p.t)::text as \"title\", \
             (http.html_of(p.t))::http.html as \"body\", ('')::http.html as \"head\") as args) as \"body\") as \"row body\")"
                .to_owned(),
            "frame",
        ),
        (
            "{{ twice((1)) }}{{ twice(1) }}{{ fine((1)) }}",
            "http.html_of((select http.html_of(a, args.a) from (select ((1))::int as \"a\" offset 0) as args), \
             (select http.html_of(a, args.a) from (select (1)::int as \"a\") as args), \
             (select http.html_of((select 1 as z from t as y where y.a = z)) from (select ((1))::int as \"z\" offset 0) as args))"
                .to_owned(),
            "fine twice",
        ),
        (
            "{{ loop(f()) }}",
            "http.html_of((select http.html_of(case when (a is null) then http.html_of((select http.html_agg(\"row body\".\"body\") from (select 1) as \"row 1\", lateral (select 'x'::http.html as \"body\") as \"row body\")) end) from (select (f())::int as \"a\" offset 0) as args))"
                .to_owned(),
            "loop",
        ),
        (
            "{{ fine(1) }}",
            "http.html_of((select http.html_of((select 1 as z from t as y where y.a = z)) from (select (1)::int as \"z\") as args))".to_owned(),
            "fine",
        ),
        (
            "{{ long_type(1, 2, 3) }}",
            "http.html_of((select http.html_of(a) from (select (1)::timestamp with time zone as \"a\", (2)::double precision[] as \"b\", \
             (3)::\"T\".\"U\"[][] as \"C\") as args))"
                .to_owned(),
            "long_type",
        ),
        ("{{ around() }}", "http.html_of((select http.html_of('<i>'::http.html, round(), '</i>'::http.html)))".to_owned(), "around"),
    ];
    for (text, sql, pages) in cases {
        assert_eq!(expanded(text), (sql, pages.to_owned()), "{text}");
    }
}

#[test]
fn aggregates_of_own_columns_change_nothing() {
    assert_eq!(expanded("{{ counted('a') }}").1, "counted");
}

#[test]
fn other_calls_stay() {
    let calls = [
        "card()",
        "card(1, 2, 3)",
        "card(1, p => 2)",
        "card(p => 1, 2)",
        "card(x => 1)",
        "card(n => 1)",
        "card(variadic x)",
        "shop.menu()",
        "shop . menu()",
        "'menu()'",
        "\"menu()\"",
        "$$menu()$$",
        "1 /* menu() */ + 1",
        "x::menu(3)",
        "cast(x as menu(3))",
        "menu",
        "\"Menu\"()",
        "menu() over ()",
        "count(*) filter (where a)",
        "menu() filter (where a)",
        "(select a from menu())",
        "(select a from x, menu())",
        "(select a from x join menu() on true)",
        "(select a from x join y on true, menu())",
        "(select a from (menu() as m join t on true))",
        "(with menu(a) as (select 1) select 1)",
        "(select 1 from x menu(a))",
        "(select a from x as menu(a))",
        "(select card(count(*)) from x)",
        "(select 1 + card(max(a)) from x)",
        "chars('x')",
        "bit1('x')",
        "any1(1)",
        "typed('x')",
        "itself(1)",
        "named(1)",
        "round()",
        "rows_of()",
        "row2()",
        "clash(1)",
        "alias(1)",
        "quoted(1)",
        "largest(1)",
        "listed(1)",
        "whole(null)",
        "lower(1)",
        "x()",
        "long_type(1, 2)",
        "a.card(1)",
    ];
    for call in calls {
        let text = format!("{{{{ {call} }}}}");
        assert_eq!(expanded(&text), (format!("http.html_of({call})"), String::new()));
    }
    let (sql, _) = expanded("{{ layout: frame(1, 2) }}a{{ slot foot }}b{{ end }}");
    assert_eq!(sql, "frame(1, 2, body => 'a'::http.html, foot => 'b'::http.html)");
}

#[test]
fn expansion_is_bounded() {
    // Each page calls the next one twice: a million pages in the first.
    let mut pages: Vec<_> = (0..20)
        .map(|number| {
            page(
                &format!("pages/p{number}.html"),
                &format!("<b>{{{{ p{n}() }}}}</b>{{{{ p{n}() }}}}", n = number + 1),
            )
        })
        .collect();
    pages.push(page("pages/p20.html", "<i></i>"));
    let library: PageLibrary = pages.iter().cloned().collect();
    for page in &pages {
        let compiled = compile(page, &library);
        assert!(compiled.expanded.text.len() < 150_000, "{}", compiled.expanded.text.len());
        assert!(compiled.expands.len() <= 16);
    }
    assert!(compile(&pages[12], &library).expands.len() == 8);
    // And one that is called within its own arguments, again and again.
    let library: PageLibrary = [page("pages/w.html", "{{ arguments: x text }}{{ x }}")].into_iter().collect();
    let nested = page("pages/x.html", &format!("{{{{ {}1{} }}}}", "w(".repeat(1000), ")".repeat(1000)));
    let compiled = compile(&nested, &library);
    assert_eq!(compiled.expanded.text.matches("as args").count(), 16);
    // And many times beside each other.
    let many = page("pages/x.html", &"{{ w('0123456789') }}".repeat(3000));
    let compiled = compile(&many, &library);
    assert!(compiled.expanded.text.len() < 300_000);
    assert!(compiled.expanded.text.ends_with(", w('0123456789')))"));
}
