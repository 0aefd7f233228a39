//! Plans that a process keeps: of however many routes, they take bounded memory, and whatever goes is made anew.

use howdah_tests::{Platform, wait_for};

/// Routes, whose plans take some 50 kB each.
const ROUTES: usize = 500;

/// How often each is asked for: a gateway takes a route once it has answered so many requests.
const ROUNDS: usize = 12;

/// Memory in kB that a process uses of what PostgreSQL gives, plans and catalogs among it, as the process itself counts it.
fn used_memory(platform: &Platform, kind: &str) -> usize {
    const WORDS: &str = "Grand total: ";
    let told = platform.log().matches(WORDS).count();
    platform.sql(&format!("select pg_log_backend_memory_contexts({})", platform.worker(kind)));
    let mut log = String::new();
    wait_for("the memory of a process", || {
        log = platform.log();
        log.matches(WORDS).count() > told
    });
    let line = log.rsplit(WORDS).next().expect("a line");
    let used = line.split(" chunks); ").nth(1).and_then(|rest| rest.split(' ').next());
    used.and_then(|used| used.parse::<usize>().ok()).expect("bytes that are used") >> 10
}

fn platform(settings: &[(&str, &str)]) -> Platform {
    let one = [("howdah.min_executors", "1"), ("howdah.max_executors", "1"), ("howdah.gateways", "1")];
    let platform = Platform::with(&[&one[..], settings].concat());
    platform.sql(&format!(
        "create table item (id integer primary key, name text, price numeric, made date);
         insert into item select i, 'n' || i, i, date '2026-01-01' + i from generate_series(1, 100) i;
         grant select on item to howdah_web;
         do $$ begin for n in 1..{ROUTES} loop
           execute format('create function f_%1$s(id integer) returns table (name text, total numeric, days bigint) language sql stable begin atomic
             select i.name || %1$L, sum(j.price + %1$s), count(distinct j.made) from item i join item j on j.id <= i.id
             left join lateral (select max(k.price) as most from item k where k.made < i.made) k on k.most > %1$s
             where i.id = f_%1$s.id group by i.name; end', n);
           perform http.route('GET', '/f/' || n || '/{{id}}', 'f_' || n || '(integer)');
         end loop; end $$"
    ));
    wait_for("the routes", || platform.get(&format!("/f/{ROUTES}/1")).status == 200);
    platform
}

/// Asks for all routes in turns, and says how many kB a process uses then.
fn after_all(platform: &Platform, kind: &str) -> usize {
    let mut client = platform.connect();
    for round in 0..ROUNDS {
        for number in 1..=ROUTES {
            let reply = client.request("GET", &format!("/f/{number}/3"), &[], b"");
            let total = 6 + 3 * number;
            assert_eq!(
                reply.text(),
                format!(r#"[{{"name":"n3{number}","total":{total},"days":3}}]"#),
                "round {round}"
            );
        }
    }
    used_memory(platform, kind)
}

#[test]
fn plans_that_are_used_in_turns_take_bounded_memory() {
    for (kind, inline) in [("executor", "off"), ("gateway", "on")] {
        // A gateway keeps its routes on a busy machine, too, where requests take long.
        let threshold = ("howdah.inline_threshold", "100000");
        let platform = platform(&[("howdah.max_plans", "2MB"), ("howdah.inline", inline), threshold]);
        let before = used_memory(&platform, kind);
        let few = after_all(&platform, kind);
        platform.set("howdah.max_plans", "256MB");
        let all = after_all(&platform, kind);
        // The catalogs that PostgreSQL keeps grow with all that was asked for, whatever becomes of the plans.
        assert!(few < before + (12 << 10), "{kind}: {before} kB, then {few} kB");
        assert!(all > few + (8 << 10), "{kind}: {few} kB, and {all} kB with room for all");
    }
}
