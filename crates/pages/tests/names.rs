//! Names of pages, and what is told of a page.

use pages::{HoleKind, KEYWORDS, PageKind, PageLibrary, PageNameFault, circles, layout_faults, name_of};

use crate::sql::page;

#[test]
fn paths_name_functions() {
    let names = [
        ("pages/index.html", "index", PageKind::Html),
        ("pages/books/edit.html", "books_edit", PageKind::Html),
        ("pages/books/new-one.html", "books_new_one", PageKind::Html),
        ("pages/errors/404.html", "errors_404", PageKind::Html),
        ("pages/mail/order.txt", "mail_order_text", PageKind::Text),
        ("pages/select.txt", "select_text", PageKind::Text),
        ("pages/_part.html", "_part", PageKind::Html),
    ];
    for (path, function, kind) in names {
        let name = name_of(path).expect(path);
        assert_eq!((name.function.as_str(), name.kind), (function, kind));
    }
}

#[test]
fn paths_that_name_none_say_why() {
    let long = format!("pages/{}.html", "a".repeat(64));
    let faults = [
        ("index.html", PageNameFault::Elsewhere),
        ("pages/index.htm", PageNameFault::Ending),
        ("pages/index.xml", PageNameFault::Ending),
        ("pages/.html", PageNameFault::Empty),
        ("pages//a.html", PageNameFault::Empty),
        ("pages/a/.html", PageNameFault::Empty),
        ("pages/../a.html", PageNameFault::Character('.')),
        ("pages/Index.html", PageNameFault::Character('I')),
        ("pages/büro.html", PageNameFault::Character('ü')),
        ("pages/a b.html", PageNameFault::Character(' ')),
        ("pages/a\"b.html", PageNameFault::Character('"')),
        ("pages/404.html", PageNameFault::Digit('4')),
        ("pages/order.html", PageNameFault::Keyword("order".into())),
        ("pages/values.html", PageNameFault::Keyword("values".into())),
        ("pages/current/user.html", PageNameFault::Keyword("current_user".into())),
        (&long, PageNameFault::Long("a".repeat(64))),
    ];
    for (path, fault) in faults {
        assert_eq!(name_of(path), Err(fault), "{path}");
    }
    assert!(name_of(&format!("pages/{}.html", "a".repeat(63))).is_ok());
}

#[test]
fn keywords_stand_in_order() {
    assert!(KEYWORDS.is_sorted());
}

#[test]
fn a_page_tells_its_holes_calls_and_patterns() {
    let text = "{{ arguments: q text default lower('X'), p shop.product }}\n\
                {{ layout: frame(title => t('x')) }}\n\
                {{ for r in select card(p) from f(1) as g(a), lateral shop.f2(p) where 'card(' = \"c(\" }}\n\
                {{ if Upper(q) in (1) and exists (select 1) and x::numeric(3) }}{{ http.raw(q) /* z( */ }}{{ end }}\n\
                {{ http.url('/a/{b}', 'x') }}{{ http.url('/it''s') }}{{ http.url('/a' || b) }}{{ http . url ( '/c' ) }}{{ end }}";
    let page = page("pages/x.html", text);
    let holes: Vec<(HoleKind, &str)> =
        page.holes().iter().map(|hole| (hole.kind, &text[hole.span.range()])).collect();
    use HoleKind::{ArgumentType, Condition, Default, Expression, Layout, Query};
    assert_eq!(
        holes[..6],
        [
            (ArgumentType, "text"),
            (Default, "lower('X')"),
            (ArgumentType, "shop.product"),
            (Layout, "frame(title => t('x'))"),
            (Query, "select card(p) from f(1) as g(a), lateral shop.f2(p) where 'card(' = \"c(\""),
            (Condition, "Upper(q) in (1) and exists (select 1) and x::numeric(3)"),
        ]
    );
    assert_eq!(holes[6], (Expression, "http.raw(q)"));
    let calls: Vec<String> = page
        .calls()
        .iter()
        .map(|call| {
            format!(
                "{}{}@{}:{}",
                call.schema.as_ref().map(|schema| format!("{schema}.")).unwrap_or_default(),
                call.name,
                call.line,
                call.column
            )
        })
        .collect();
    assert_eq!(
        calls[..9],
        [
            "lower@1:30",
            "frame@2:12",
            "t@2:27",
            "card@3:20",
            "f@3:33",
            "shop.f2@3:60",
            "upper@4:7",
            "http.raw@4:73",
            "http.url@5:9",
        ]
    );
    assert_eq!(page.raws().len(), 1);
    let patterns: Vec<_> =
        page.url_patterns().into_iter().map(|pattern| (pattern.pattern, pattern.line)).collect();
    assert_eq!(patterns, [("/a/{b}".to_owned(), 5), ("/it's".to_owned(), 5), ("/c".to_owned(), 5)]);
    assert!(!page.is_recursive());
}

#[test]
fn a_url_that_no_route_can_have_is_refused() {
    for (call, message) in [
        ("'books'", "the pattern books must begin with /"),
        ("'/a/{b'", "in /a/{b a parameter is not a whole segment"),
        ("'/a/{b}'", "/a/{b} has no value for b"),
        ("'/a/{b}/{c}', f(1, 2)", "/a/{b}/{c} has no value for c"),
        ("'/a/{b}', 1, 'page'", "the last name of the query of /a/{b} has no value"),
        ("'/a', array[1, 2]", "the last name of the query of /a has no value"),
    ] {
        let text = format!("<a\n title=\"x\" href=\"{{{{ http.url({call}) }}}}\">x</a>");
        let faults = pages::read("pages/a.html", &text).unwrap_err();
        assert_eq!((faults.len(), faults[0].line), (1, 2), "{call}: {faults:?}");
        assert!(faults[0].message.starts_with(message), "{call}: {}", faults[0].message);
        assert_eq!(faults[0].column, 30, "{call}");
    }
    for call in [
        "'/a/{b}', 1, 'page', 2",
        "'/{*a}', f(1, 2)",
        "pattern, 1",
        "'a' || b",
        "'/a/{b}', variadic c",
        "'/a', (1), 2",
    ] {
        pages::read("pages/a.html", &format!("<a href=\"{{{{ http.url({call}) }}}}\">x</a>")).expect(call);
    }
}

#[test]
fn each_hole_is_told_with_what_makes_a_statement_of_it() {
    assert_eq!(HoleKind::Expression.around(), ("select (", "\n)"));
    assert_eq!(HoleKind::Query.around(), ("select exists (", "\n)"));
    assert_eq!(HoleKind::Layout.around(), ("select ", "\n"));
    let around = ("create function f(a ", "\n) returns void language sql as ''");
    assert_eq!(HoleKind::ArgumentType.around(), around);
}

#[test]
fn circles_are_told_with_their_calls() {
    let pages = [
        page("pages/a.html", "{{ b() }}{{ self() }}"),
        page("pages/b.html", "\n{{ 'c()' }}{{ c(a()) }}"),
        page("pages/c.html", "{{ layout: b() }}"),
        page("pages/d.html", "{{ d() }}{{ a() }}"),
        page("pages/e.html", "{{ f_text() }}"),
        page("pages/f.txt", "{{ e() }}"),
    ];
    let told: Vec<Vec<String>> = circles(&pages)
        .into_iter()
        .map(|circle| {
            let calls = circle.calls.into_iter();
            calls.map(|(path, call)| format!("{path}:{}:{} {}", call.line, call.column, call.name)).collect()
        })
        .collect();
    assert_eq!(
        told,
        [
            vec!["pages/a.html:1:4 b", "pages/b.html:2:15 c", "pages/b.html:2:17 a", "pages/c.html:1:12 b"],
            vec!["pages/e.html:1:4 f_text", "pages/f.txt:1:4 e"],
        ]
    );
    assert!(pages[3].is_recursive());
}

#[test]
fn unclosed_elements_are_warnings() {
    let warnings = |text: &str| -> Vec<String> {
        page("pages/x.html", text).warnings().iter().map(ToString::to_string).collect()
    };
    let none: Vec<String> = Vec::new();
    assert_eq!(warnings("<ul><li>a<li>b</ul><p>c<table><tr><td>d</table><br><input><p>"), none);
    // Nor where they stand in a loop, or differ from one branch to the other.
    assert_eq!(warnings("<ul>{{ for select 1 as n }}<li>{{ n }}{{ end }}</ul>"), none);
    let table = "<table>{{ for select 1 as n }}<tr><td>{{ n }}{{ if n = 1 }}<td>x{{ end }}{{ end }}</table>";
    assert_eq!(warnings(table), none);
    assert_eq!(warnings("{{ if a }}<div class=a>{{ else }}<div>{{ end }}</div>"), none);
    assert_eq!(warnings("<div>\n <b>{{ x }}</div>"), ["2:2: <b> is never closed"]);
    assert_eq!(warnings("<div>\n"), ["1:1: <div> is never closed"]);
    assert_eq!(warnings("</div>"), ["1:1: </div> closes nothing"]);
    assert_eq!(
        warnings("{{ if a }}<i>{{ end }}</i>"),
        ["1:1: the branches of this block leave different elements open", "1:23: </i> closes nothing",]
    );
}

#[test]
fn what_a_layout_has_not_and_what_it_needs_is_told() {
    let layout = "{{ arguments: title text, body http.html, head http.html default null }}{{ title }}{{ head }}{{ body }}";
    let library: PageLibrary =
        [page("pages/layout.html", layout), page("pages/bare.html", "<p>{{ now() }}")].into_iter().collect();
    for (text, expected) in [
        ("{{ layout: layout('x') }}", ""),
        ("{{ layout: layout(title => 'x') }}{{ slot head }}y{{ end }}", ""),
        ("{{ layout: layout() }}{{ slot title }}y{{ end }}", ""),
        ("{{ layout: shop.layout(titel => 'x') }}", ""),
        ("{{ layout: elsewhere(titel => 'x') }}", ""),
        (
            "{{ layout: layout(titel => f(title => 1)) }}",
            "1:12: the layout layout needs title (write layout(title => …), or give it a default in the layout); 1:19: the layout layout has no argument titel (it has title, body, head)",
        ),
        (
            "{{ layout: layout(/* of */ 'x') }}\\n{{ slot heads }}y{{ end }}",
            "2:9: the layout layout has no argument heads (it has title, body, head)",
        ),
        ("{{ layout: layout }}", ""),
        (
            "{{ layout: bare() }}",
            "1:12: the layout bare has no argument body (write {{ arguments: …, body http.html }} in it, and {{ body }} where the page goes)",
        ),
    ] {
        let Ok(page) = pages::read("pages/x.html", &text.replace("\\n", "\n")) else { continue };
        let told: Vec<String> = layout_faults(&page, &library).iter().map(ToString::to_string).collect();
        assert_eq!(told.join("; "), expected, "{text}");
    }
}

/// The router is what knows patterns.
#[test]
fn patterns_have_the_parameters_that_the_router_finds() {
    let mut random = fastrand::Rng::with_seed(56);
    let pieces = ["/", "a", "{", "}", "{n}", "{m}", "{*r}", "/", "*", "/{n}", "/b"];
    let mut accepted = 0;
    for _ in 0..20_000 {
        let pattern: String = (0..random.usize(1..7)).map(|_| pieces[random.usize(..pieces.len())]).collect();
        let Ok(names) = router::checked_parameters(&pattern) else { continue };
        accepted += 1;
        for missing in 0..=names.len() {
            let values = ", 1".repeat(names.len() - missing);
            let text = format!("<a href=\"{{{{ http.url('{pattern}'{values}) }}}}\">x</a>");
            assert_eq!(pages::read("pages/a.html", &text).is_ok(), missing == 0, "{text}");
        }
    }
    assert!(accepted > 2_000, "{accepted}");
}
