//! Pages in applications: a file of HTML becomes a function, errors are told at their place, and what a page is put together of is followed.

use howdah_tests::application::Application;
use howdah_tests::{Platform, wait_for};

const ITEMS: (&str, &str) = (
    "migrations/001-item.sql",
    "create table item (id integer primary key, name text not null, price numeric, kind text);
     insert into item values (1, 'Tea & <cake>', 2.5, 'food'), (2, 'Pot', 10, null);
     grant select on item to howdah_web;",
);
const LAYOUT: (&str, &str) = (
    "pages/layout.html",
    "{{ arguments: title text, body http.html, head http.html default null }}
<!doctype html><title>{{ title }}</title>{{ head }}<nav>{{ (select count(*) from item) }} items</nav><main>{{ body }}</main>
",
);
const CARD: (&str, &str) =
    ("pages/card.html", "{{ arguments: i item }}\n<li>{{ i.name }}: {{ i.price }}</li>\n");
const LIST: (&str, &str) = (
    "pages/list.html",
    "{{ arguments: n integer default 10 }}
{{ layout: layout(title => 'All of it') }}
{{ for i in select * from item order by id limit args.n }}
{{ card(i) }}
{{ end }}
",
);
const ROUTES: (&str, &str) =
    ("routes.sql", "select http.route('GET', '/list', 'list'), http.cache('GET', '/list');");

fn shop(more: &[(&str, &str)]) -> Application {
    let files: Vec<_> = [ITEMS, LAYOUT, CARD, LIST, ROUTES].into_iter().chain(more.iter().copied()).collect();
    Application::of(&files)
}

fn list(shop: &Application) -> String {
    let reply = shop.platform.get("/list");
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.text().trim().to_owned()
}

const LISTED: &str =
    "<!doctype html><title>All of it</title><nav>2 items</nav><main><li>Tea &amp; &lt;cake&gt;: 2.5</li>
<li>Pot: 10</li>
</main>";

#[test]
fn a_page_its_parts_and_its_layout_are_one_function_each() {
    let shop = shop(&[]);
    let told = shop.ok("deploy");
    assert!(told.contains("pages/list.html  ran: function shop.list(integer)"), "{told}");
    assert_eq!(list(&shop), LISTED);
    assert_eq!(shop.platform.get("/list?n=0").text().matches("<li>").count(), 0);
    let declared = "select string_agg(concat_ws(' ', proname, provolatile, prosecdef, proconfig is null, prosqlbody is not null, prorettype::regtype), ', ' order by proname)
        from pg_proc where pronamespace = 'shop'::regnamespace";
    assert_eq!(
        shop.value(declared),
        "card s f t t http.html, layout s f t t http.html, list s f t t http.html"
    );
    // Parts stand in the page: it depends on what they read, and calls nothing.
    let body = shop.value("select pg_get_functiondef('shop.list(integer)'::regprocedure)");
    assert!(!body.contains("card(") && !body.contains("layout(") && body.contains("items</nav>"), "{body}");
    assert!(shop.ok("deploy").contains("Nothing has changed"), "no change");
}

#[test]
fn a_page_is_new_when_what_it_is_made_of_is() {
    let shop = shop(&[]);
    shop.ok("deploy");
    let kept = || {
        wait_for("it is kept", || {
            list(&shop);
            shop.value("select coalesce(sum(cached), 0)::text from http.stats where pattern = '/list'")
                .parse::<i64>()
                .is_ok_and(|count| count > 0)
        });
    };
    kept();
    shop.write("pages/card.html", "{{ arguments: i item }}\n<li>New: {{ i.name }}</li>\n");
    let told = shop.ok("deploy");
    assert!(told.contains("pages/card.html") && told.contains("pages/list.html"), "{told}");
    assert!(!told.contains("pages/layout.html"), "{told}");
    assert!(list(&shop).contains("<li>New: Pot</li>"));
    kept();
    shop.write("pages/layout.html", &LAYOUT.1.replace("<main>", "<main class=\"x\">"));
    shop.ok("deploy");
    assert!(list(&shop).contains("<main class=\"x\"><li>New: Tea"));
    kept();
    // The layout alone reads this.
    shop.platform.sql("insert into shop.item values (3, 'Cup', 1, null)");
    assert!(list(&shop).contains("<nav>3 items</nav>"), "{}", list(&shop));
    kept();
    assert!(shop.run("rollback", &[]).status.success());
    assert!(list(&shop).contains("<main><li>New: Tea"));
    // A part that is gone is missed.
    shop.remove("pages/card.html");
    let told = shop.fails("deploy");
    assert!(told.contains("pages/list.html:4") && told.contains("card"), "{told}");
    assert!(list(&shop).contains("<main><li>New: Tea"));
}

#[test]
fn what_a_migration_changes_under_pages_is_as_in_a_fresh_database() {
    let shop = shop(&[
        ("pages/star.html", "{{ for i in select * from item order by id }}<i>{{ i.name }}</i>{{ end }}\n"),
        ("views/dear.sql", "create view dear as select id, name, price from item where price > 5;\n"),
        ("pages/dear.html", "{{ for d in select * from dear }}<b>{{ d.name }}</b>{{ end }}\n"),
        (
            "functions/duo.sql",
            "create function duo() returns http.html language sql stable begin atomic select star() || dear(); end;\n",
        ),
        ("pages/uses.html", "<p>{{ duo() }}</p>\n"),
    ]);
    shop.ok("deploy");
    let steps: [(&str, &[(&str, &str)]); 6] = [
        ("alter table item alter column price type double precision;", &[]),
        ("alter table item add column colour text not null default 'red';", &[]),
        (
            "alter table item rename column name to title;",
            &[
                ("pages/card.html", "{{ arguments: i item }}\n<li>{{ i.title }}: {{ i.price }}</li>\n"),
                (
                    "pages/star.html",
                    "{{ for i in select * from item order by id }}<i>{{ i.title }}</i>{{ end }}\n",
                ),
                (
                    "views/dear.sql",
                    "create view dear as select id, title as name, price from item where price > 5;\n",
                ),
            ],
        ),
        ("alter table item drop column kind;", &[]),
        (
            "alter table item rename to thing;",
            &[
                ("pages/card.html", "{{ arguments: i thing }}\n<li>{{ i.title }}: {{ i.price }}</li>\n"),
                (
                    "pages/star.html",
                    "{{ for i in select * from thing order by id }}<i>{{ i.title }}</i>{{ end }}\n",
                ),
                (
                    "pages/list.html",
                    "{{ arguments: n integer default 10 }}\n{{ for i in select * from thing order by id limit n }}{{ card(i) }}{{ end }}\n",
                ),
                (
                    "pages/layout.html",
                    "{{ arguments: title text, body http.html }}\n<title>{{ title }}</title><nav>{{ (select count(*) from thing) }}</nav>{{ body }}\n",
                ),
                (
                    "views/dear.sql",
                    "create view dear as select id, title as name, price from thing where price > 5;\n",
                ),
            ],
        ),
        (
            "create table other (id integer); insert into other values (1);",
            &[(
                "pages/list.html",
                "{{ arguments: m text default 'x', n integer default 10 }}\n{{ layout: layout(title => m) }}\n{{ for i in select * from thing order by id limit n }}{{ card(i) }}{{ end }}\n",
            )],
        ),
    ];
    let definitions = "select string_agg(pg_get_functiondef(oid), E'\\n' order by oid::regprocedure::text) from pg_proc where pronamespace = 'shop'::regnamespace";
    let mut files: Vec<(String, String)> = Vec::new();
    for (number, (migration, changed)) in steps.iter().enumerate() {
        let path = format!("migrations/{:03}-step.sql", number + 2);
        shop.write(&path, migration);
        files.push((path, (*migration).to_owned()));
        changed.iter().for_each(|(path, text)| shop.write(path, text));
        shop.ok("deploy");
        assert_eq!(shop.platform.get("/list").status, 200, "{migration}");
        assert_eq!(
            shop.value(
                "select coalesce(string_agg(object || ' ' || change, ', '), 'none') from deploy.drift('shop')"
            ),
            "none",
            "{migration}"
        );
        let fresh = shop.fresh();
        assert_eq!(shop.value(definitions), fresh.value(definitions), "{migration}");
    }
    // A column that a page reads and no file leaves out: refused, at the page's line.
    shop.write("migrations/010-wrong.sql", "alter table thing drop column title cascade;");
    let told = shop.fails("deploy");
    assert!(told.contains("pages/card.html:2") || told.contains("pages/star.html:1"), "{told}");
    assert_eq!(shop.platform.get("/list").status, 200);
    // It can be dumped and restored.
    let dump = shop.dump();
    assert!(dump.contains("CREATE FUNCTION shop.list("), "{dump}");
}

/// Mistakes in a hole, each with the place in it where that is told: the number of characters from its first.
const WRONG: [(&str, usize); 65] = [
    ("nme", 0),
    ("i.nme", 0),
    ("name || nme", 8),
    ("upper(nme)", 6),
    ("uper(name)", 0),
    ("name + 1", 5),
    ("name || ", 8),
    ("|| name", 0),
    ("(name", 0),
    ("name)", 4),
    ("name) , ('b'", 4),
    ("\"nme\"", 0),
    ("name::integr", 6),
    ("name::", 6),
    ("case when 1 then 2 end", 10),
    ("case when true then 2", 21),
    ("(select name from itm)", 18),
    ("(select nme from item limit 1)", 8),
    ("(select name, id from item limit 1)", 0),
    ("(select)", 0),
    ("coalesce(name, 1)", 15),
    ("coalesce()", 9),
    ("array[1, 'a'::text]", 9),
    ("not name", 4),
    ("name like 1", 5),
    ("id between 1", 12),
    ("id in ()", 7),
    ("sum(id)", 0),
    ("max(sum(id)) over ()", 4),
    ("row_number()", 0),
    ("name collate \"nowhere\"", 5),
    ("$1", 0),
    ("id; drop table item", 2),
    ("name as x", 5),
    ("name, id", 4),
    ("select name", 0),
    ("http.url('/x', 1, 2) || http.nowhere(1)", 24),
    ("lower(http.url('/x/{y}', 'a', 'page'))", 15),
    ("http.url('x')", 9),
    ("args.nothing", 0),
    ("card('x')", 5),
    ("i.name.x", 0),
    ("to_char(price)", 0),
    ("price + kind", 6),
    ("'2026-13-45'::date", 0),
    ("'x'::integer", 0),
    ("interval 'x y'", 9),
    ("name is nul", 8),
    ("(select name from item where nme = 1)", 29),
    ("(select name from item order by nme limit 1)", 32),
    ("(select count(*) from item group by nme)", 36),
    ("(values (1), (2, 3))", 13),
    ("(select name from item union select id from item)", 36),
    ("array[1, 2][", 12),
    ("lower(name, )", 12),
    ("lower(name name)", 11),
    ("http.redirect(location => 'x', 2)", 31),
    ("abs(distinct id)", 0),
    ("json_build_object('a')::nope", 24),
    ("name <> any (1)", 5),
    ("(i).nme", 1),
    ("row(1, 2) = row(1)", 10),
    ("cast(name as)", 12),
    ("nullif(name)", 11),
    ("case name when 1 then 2 end", 10),
];

#[test]
fn each_mistake_is_told_at_its_line_and_column() {
    let shop = shop(&[]);
    shop.ok("deploy");
    let mut wrong = Vec::new();
    for (number, (hole, ahead)) in WRONG.iter().enumerate() {
        let (line, indent) = (7 * number % 290 + 5, number % 9);
        let mut page = "{{ arguments: q text default 'ü', \"Odd One\" integer default 1 }}\n<ul>\n{{ for i in select * from item }}\n".to_owned();
        for other in 4..=300 {
            if other == line {
                page.push_str(&format!("{}ü <b>{{{{ {hole} }}}}</b>\n", " ".repeat(indent)));
            } else {
                page.push_str(&format!(
                    "<p title=\"{{{{ args.q }}}}\">line {other} {{{{ i.name }}}}, {{{{ '}}}}' }}}}</p>\n"
                ));
            }
        }
        page.push_str("{{ end }}\n</ul>\n");
        shop.write("pages/long.html", &page);
        let deployed = shop.run("deploy", &[]);
        let told = String::from_utf8_lossy(&deployed.stderr).into_owned();
        let column = indent + "ü <b>{{ ".chars().count() + ahead + 1;
        let place = format!("pages/long.html:{line}:");
        if !told.contains(&place) {
            wrong.push(format!(
                "{hole}: not at line {line}\n{}",
                told.lines().take(6).collect::<Vec<_>>().join("\n")
            ));
            continue;
        }
        let said =
            told.split_once(&place).and_then(|(_, after)| after.split_once(':')?.0.parse::<usize>().ok());
        if said.is_none_or(|said| said.abs_diff(column) > 3) {
            wrong.push(format!(
                "{hole}: column {said:?}, and not {column}\n{}",
                told.lines().take(6).collect::<Vec<_>>().join("\n")
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), WRONG.len(), wrong.join("\n\n"));
}

#[test]
fn a_name_that_means_two_things_is_refused() {
    let shop = shop(&[]);
    shop.ok("deploy");
    for (page, refused) in [
        ("{{ arguments: name text }}\n{{ for i in select * from item }}{{ name }}{{ end }}\n", true),
        ("{{ arguments: name text }}\n{{ for i in select * from item where name = 'x' }}x{{ end }}\n", true),
        (
            "{{ arguments: name text }}\n{{ for i in select * from item where item.name = args.name }}{{ i.name }}{{ args.name }}{{ end }}\n",
            false,
        ),
        (
            "{{ arguments: id integer }}\n{{ for select kind from item where item.id = args.id }}{{ kind }}{{ end }}\n",
            false,
        ),
        (
            "{{ arguments: \"Name\" text }}\n{{ for i in select name as \"Name\" from item }}{{ \"Name\" }}{{ end }}\n",
            true,
        ),
        ("{{ arguments: i integer }}\n{{ for i in select * from item }}{{ to_json(i) }}{{ end }}\n", true),
        ("{{ arguments: n integer }}\n{{ for select * from item limit n }}{{ id }}{{ end }}{{ n }}\n", false),
        (
            "{{ arguments: kind text }}\n{{ for i in select * from item }}{{ (select max(o.name) from item o where o.kind = kind) }}{{ end }}\n",
            true,
        ),
    ] {
        shop.write("pages/two.html", page);
        let deployed = shop.run("deploy", &[]);
        let told = String::from_utf8_lossy(&deployed.stderr).into_owned();
        assert_eq!(deployed.status.success(), !refused, "{page}\n{told}");
        assert!(!refused || told.contains("is an argument of the page"), "{told}");
        assert!(!refused || told.contains("pages/two.html:2"), "{told}");
    }
}

#[test]
fn text_is_html_nowhere_unasked() {
    let shop = shop(&[]);
    shop.ok("deploy");
    for (page, refused) in [
        ("{{ arguments: q text }}\n{{ layout: layout(title => q, head => q) }}\nx\n", true),
        ("{{ arguments: q text }}\n{{ layout('x', q) }}\n", true),
        ("{{ arguments: q text }}\n{{ layout('x', q::varchar) }}\n", true),
        ("{{ arguments: q json }}\n{{ layout('x', q->>'a') }}\n", true),
        ("{{ arguments: q text }}\n{{ layout('x', coalesce(q, '<b>')) }}\n", true),
        ("{{ arguments: q text }}\n{{ layout('x', case when true then q else card(null) end) }}\n", true),
        (
            "{{ arguments: q text }}\n{{ for select card(i) as c from item i union all select q }}{{ c }}{{ end }}\n",
            true,
        ),
        ("{{ arguments: q text }}\n{{ layout('x', '<i>literal</i>') }}\n", false),
        ("{{ arguments: q text }}\n{{ layout('x', http.html_of(q)) }}\n", false),
        ("{{ arguments: q text }}\n{{ card(null) || q }}\n", false),
        ("{{ arguments: q text, h http.html default '<b>' }}\n{{ coalesce(h, '') }}{{ q }}\n", false),
    ] {
        shop.write("pages/try.html", page);
        let deployed = shop.run("deploy", &[]);
        let told = String::from_utf8_lossy(&deployed.stderr).into_owned();
        assert_eq!(deployed.status.success(), !refused, "{page}\n{told}");
        if refused {
            assert!(told.contains("pages/try.html:2"), "{told}");
        } else {
            let made = shop.value("select shop.try('<script>')::text");
            assert!(!made.contains("<script>"), "{page}: {made}");
        }
    }
}

#[test]
fn pages_of_text_pages_that_call_themselves_and_volatile_ones() {
    let shop = shop(&[
        (
            "pages/mail/order.txt",
            "{{ arguments: who text }}\nDear {{ who }},\n{{ for i in select * from item order by id }}\n- {{ i.name }}\n{{ end }}\n",
        ),
        ("pages/mail/order.html", "{{ arguments: who text }}\n<p>Dear {{ who }}</p>\n"),
        (
            "pages/tree.html",
            "{{ arguments: depth integer }}\n<i>{{ depth }}</i>{{ if args.depth > 0 }}{{ tree(args.depth - 1) }}{{ end }}\n",
        ),
        ("pages/random.html", "<p>{{ random() > 2 }}{{ stamp() }}</p>\n"),
        (
            "functions/stamp.sql",
            "create function stamp() returns text language plpgsql as $$ begin return 'now'; end $$;\n",
        ),
        ("pages/raw-one.html", "<p>\n{{ http.raw('<b>') }}</p>\n"),
        (
            "pages/bold.html",
            "{{ with i in select * from item where id = 1 }}\n<b>{{ name }}</b>\n{{ end }}\n",
        ),
        ("pages/many.html", "{{ with i in select * from item }}\n<b>{{ name }}</b>\n{{ end }}\n"),
        (
            "pages/nobody.html",
            "{{ layout: layout(title => name) }}\n{{ with i in select * from item where id = 0 }}\n<b>{{ name }}</b>\n{{ end }}\n",
        ),
    ]);
    let told = shop.ok("deploy");
    assert!(told.contains("is VOLATILE, as ") && told.contains("http.raw in line 2"), "{told}");
    assert_eq!(shop.value("select shop.mail_order_text('<Ada>')"), "Dear <Ada>,\n- Tea & <cake>\n- Pot\n");
    assert_eq!(shop.value("select shop.mail_order('<Ada>')::text"), "<p>Dear &lt;Ada&gt;</p>");
    assert_eq!(shop.value("select shop.tree(2)::text").replace('\n', ""), "<i>2</i><i>1</i><i>0</i>");
    assert_eq!(shop.value("select provolatile::text from pg_proc where proname = 'random' and pronamespace = 'shop'::regnamespace"), "v");
    assert_eq!(shop.value("select shop.random()::text"), "<p>falsenow</p>");
    assert_eq!(shop.value("select shop.raw_one()::text"), "<p>\n<b></p>");
    assert_eq!(shop.value("select shop.bold()::text"), "<b>Tea &amp; &lt;cake&gt;</b>\n");
    assert_eq!(shop.value("select (shop.nobody() is null)::text"), "true");
    let error = shop.platform.session().simple_query("select shop.many()").expect_err("an error");
    let message = error.as_db_error().map(|error| error.message().to_owned()).unwrap_or_default();
    assert!(message.contains("pages/many.html, line 1"), "{message}");
}

#[test]
fn a_form_whose_page_is_nowhere_is_told() {
    let take = "create function take(n int) returns text language sql stable return 'taken';\n";
    let routes = |page: &str| {
        format!(
            "select http.route('POST', '/take', 'take'), http.route('GET', '/take/{{id}}', 'take_form');\nselect http.form('POST', '/take', page => '{page}');\n"
        )
    };
    let page = (
        "pages/take-form.html",
        "{{ arguments: id text }}\n<form method=\"post\" action=\"/take\">{{ http.field('n') }}</form>\n",
    );
    let shop = shop(&[page, ("functions/take.sql", take), ("routes.sql", &routes("/tkae"))]);
    let told = shop.ok("deploy");
    let warning =
        "warning: routes.sql:2:43: no route answers /tkae, the page of the form POST /take. Browsers";
    assert!(told.contains(warning), "{told}");
    shop.write("routes.sql", &routes("/take/new"));
    let told = shop.ok("deploy");
    assert!(!told.contains("warning"), "{told}");
}

#[test]
fn links_that_no_route_answers_and_likely_mistakes_are_told() {
    let shop = shop(&[(
        "pages/links.html",
        "<p>
 <a href=\"{{ http.url('/list') }}\">1</a> <a href=\"{{ http.url('/items/{id}', 1) }}\">2</a>
 <a href=\"{{ http.url('/things/{x}', 1, 'n', 2) }}\">3</a></b>\n",
    )]);
    let told = shop.ok("deploy");
    assert!(
        told.contains("warning: pages/links.html:2:63: no route answers /items/{id}. If others"),
        "{told}"
    );
    assert!(told.contains("warning: pages/links.html:3:23: no route answers /things/{x}"), "{told}");
    assert!(told.contains("warning: pages/links.html:3:58: </b> closes nothing"), "{told}");
    assert_eq!(told.matches("warning: ").count(), 3, "{told}");
    // The page has not changed, and one of them is answered now.
    shop.write(
        "routes.sql",
        "select http.route('GET', '/list', 'list'), http.page('GET', '/items/{n}', 'list');",
    );
    let told = String::from_utf8_lossy(&shop.run("deploy", &["--json"]).stdout).into_owned();
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    let warning = &told["warnings"][0];
    assert_eq!(told["warnings"].as_array().unwrap().len(), 2, "{told}");
    assert_eq!(
        (&warning["path"], &warning["line"], &warning["column"]),
        (&"pages/links.html".into(), &3.into(), &23.into())
    );
}

#[test]
fn what_is_no_page_is_refused_before_anything_runs() {
    let shop = shop(&[]);
    shop.ok("deploy");
    for (path, text, told) in [
        ("pages/Upper.html", "x\n", "lower-case letters"),
        ("pages/order.html", "x\n", "is a word of SQL"),
        ("pages/404.html", "x\n", "begins with a letter"),
        ("pages/note.md", "x\n", "a page ends with .html or .txt"),
        ("pages/x.sql", "select 1;\n", "a page ends with .html or .txt"),
        ("pages/mail-list.html", "x\n", ""),
        ("pages/mail/list.html", "x\n", "becomes the function mail_list as well"),
        ("pages/one.html", "<a href={{ 1 }}>\n", "pages/one.html:1"),
        ("pages/one.html", "<script>{{ 1 }}</script>\n", "pages/one.html:1"),
        ("pages/one.html", "<p>\n{{ for select 1 }}\n", "pages/one.html:2"),
        ("pages/one.html", "{{ two() }}\n", "does not exist"),
        ("pages/two.html", "{{ one() }}\n", "in a circle"),
    ] {
        shop.write(path, text);
        let deployed = shop.run("deploy", &[]);
        let said = String::from_utf8_lossy(&deployed.stderr).into_owned();
        assert_eq!(deployed.status.success(), told.is_empty(), "{path}: {said}");
        assert!(said.contains(told), "{path}: {said}");
        if path != "pages/mail-list.html" && path != "pages/one.html" {
            shop.remove(path);
        }
    }
}

#[test]
fn no_word_of_the_grammar_is_taken_for_the_name_of_a_page() {
    let platform = Platform::start();
    let rows = platform.session().query("select word, catcode::text from pg_get_keywords()", &[]).unwrap();
    let mut refused = 0;
    for row in rows {
        let (word, code): (String, String) = (row.get(0), row.get(1));
        let is_no_function = matches!(code.as_str(), "R" | "C");
        // Of another version, it may be one there.
        assert!(!is_no_function || pages::KEYWORDS.contains(&word.as_str()), "{word} {code}");
        refused += usize::from(is_no_function);
    }
    assert!(refused > 120, "{refused}");
}

/// Pages that are called as what they read: PostgreSQL writes an argument as `FUNCTION.ARGUMENT`, and reads that as a column of the table.
#[test]
fn a_page_means_the_same_after_its_dump_whatever_it_is_called() {
    let shop = shop(&[
        (
            "pages/item.html",
            "{{ arguments: id integer }}\n{{ with i in select * from item where item.id = args.id }}<b>{{ i.name }}</b>{{ end }}\n",
        ),
        (
            "pages/kind.html",
            "{{ arguments: name text, n integer default 1 }}\n{{ for kind in select item.kind, item.name from item where item.name = args.name limit n }}[{{ kind.name }}{{ card(null) }}]{{ else }}none{{ end }}\n",
        ),
        (
            "pages/price.html",
            "{{ arguments: id integer }}\n{{ layout: layout(title => (select i.name from item i where i.id = args.id)) }}\n{{ (select price from item price where price.id = args.id) }}\n{{ item(args.id) }}\n",
        ),
        (
            "pages/part.html",
            "{{ arguments: id integer }}\n{{ for part in select max(i.name) as most from item i }}{{ part.most }} {{ args.id }}{{ end }}\n",
        ),
    ]);
    shop.ok("deploy");
    let asked =
        ["item(1)", "item(2)", "item(9)", "kind('Pot')", "kind('none')", "price(1)", "price(9)", "part(7)"];
    let ask = |shop: &Application| {
        asked.map(|call| shop.value(&format!("select coalesce(shop.{call}::text, 'null')")))
    };
    let before = ask(&shop);
    assert_eq!((before[0].as_str(), before[2].as_str()), ("<b>Tea &amp; &lt;cake&gt;</b>", "null"));
    assert_eq!(before[3].replace('\n', ""), "[Pot<li>: </li>]");
    // Which arguments each body has, and how often: a column in the place of one is not among them.
    let bodies = "select string_agg(proname || array(select m[1] from regexp_matches(prosqlbody::text, ':paramkind 0 :paramid (\\d+)', 'g') m order by 1)::text, ' ' order by proname)
        from pg_proc where pronamespace = 'shop'::regnamespace and prosqlbody is not null";
    let taken = shop.value(bodies);
    // As pg_dump writes them, and psql reads them.
    shop.platform.sql(
        "do $$ declare f record; begin
           for f in select pg_get_functiondef(oid) as text from pg_proc where pronamespace = 'shop'::regnamespace and prokind = 'f' loop execute f.text; end loop;
         end $$",
    );
    assert_eq!(shop.value(bodies), taken);
    assert_eq!(ask(&shop), before);
    // Where its arguments cannot be columns, it is refused.
    shop.write(
        "pages/kind.html",
        "{{ arguments: item item }}\n{{ for kind in select * from item }}{{ args.item.name }}{{ end }}\n",
    );
    let told = shop.fails("deploy");
    assert!(told.contains("pages/kind.html") && told.contains("another name"), "{told}");
}
