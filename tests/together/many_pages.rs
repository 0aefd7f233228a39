//! An application of many large pages: how long it takes to deploy, and what its pages need in a process.

use std::fs;
use std::time::Instant;

use howdah_tests::application::Application;

const PAGES: usize = 200;
const HOLES: usize = 300;
/// The memory that an executor may take for all pages, in MB: 65 here. Nearly all of it are PostgreSQL's two trees of each plan.
const MOST: usize = 80;

/// A page with so many holes: loops with addresses, conditions, and values.
fn page(number: usize) -> String {
    let mut page = format!("{{{{ arguments: n integer default 10 }}}}\n<title>Page {number}</title>\n");
    let mut holes = 1;
    while holes < HOLES {
        let (part, more) = match holes % 4 {
            0 => (
                "{{ for i in select * from item where id > args.n order by id limit 5 }}<li><a href=\"{{ http.url('/p/{n}', i.id) }}\">{{ i.name }}</a> {{ i.price }} {{ i.kind }}\n{{ end }}".to_owned(),
                6,
            ),
            1 => (format!("<p title=\"{{{{ n }}}}\">{{{{ args.n + {holes} }}}} {{{{ upper('x') }}}}</p>\n"), 3),
            2 => (format!("{{{{ if n > {holes} }}}}<b>{{{{ n }}}}</b>{{{{ else }}}}<i>{{{{ n * 2 }}}}</i>{{{{ end }}}}\n"), 5),
            _ => ("<td>{{ to_char(args.n, '999') }}</td>\n".to_owned(), 1),
        };
        page.push_str(&part);
        holes += more;
    }
    page
}

/// Memory of a process that is its own, in MB.
fn own_memory(process: i32) -> usize {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("the process");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("kilobytes") / 1024
}

#[test]
#[ignore = "deploys two hundred large pages"]
fn two_hundred_large_pages_are_deployed_and_fit_into_a_process() {
    let items = "create table item (id integer primary key, name text not null, price numeric, kind text);
         insert into item select n, 'item ' || n, n * 1.5, 'kind' from generate_series(1, 100) n;
         grant select on item to howdah_web;";
    let pages: Vec<(String, String)> =
        (0..PAGES).map(|number| (format!("pages/p{number}.html"), page(number))).collect();
    let routes: String =
        (0..PAGES).map(|number| format!("select http.route('GET', '/p{number}', 'p{number}');\n")).collect();
    let routes = routes + "select http.route('GET', '/p/{n}', 'p1');\n";
    let mut files = vec![("migrations/1-item.sql", items), ("routes.sql", &routes)];
    files.extend(pages.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    let shop = Application::of(&files);
    let begin = Instant::now();
    shop.ok("deploy");
    println!("{PAGES} pages of {HOLES} holes were deployed in {:.1?}", begin.elapsed());
    shop.write("pages/p7.html", &(page(7) + "<hr>\n"));
    let begin = Instant::now();
    shop.ok("deploy");
    println!("one of them again in {:.1?}", begin.elapsed());
    let before: Vec<usize> = shop.platform.workers("executor").into_iter().map(own_memory).collect();
    for _ in 0..4 {
        for number in 0..PAGES {
            let reply = shop.platform.get(&format!("/p{number}"));
            assert_eq!(reply.status, 200, "{}", reply.text());
        }
    }
    let after: Vec<usize> = shop.platform.workers("executor").into_iter().map(own_memory).collect();
    println!("executors had {before:?} MB, and have {after:?} MB");
    assert!(after.iter().zip(&before).all(|(after, before)| after - before <= MOST), "{before:?} {after:?}");
}
