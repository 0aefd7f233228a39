//! Answers by a content coding, beside the same answers plain.

use codings::{Coding, Unpacked, unpack};
use howdah_tests::platform::{Platform, wait_for};
use howdah_tests::{Connection, Reply};

const ROUTES: &str = "
    create table item (id integer primary key, name text not null, kind text not null);
    insert into item select number, 'item ' || number || ' of a shop', 'kind ' || number % 7 from generate_series(1, 5000) number;
    grant select, update on item to howdah_web;
    create function items(most integer default 200) returns setof item language sql stable begin atomic select * from item order by id limit most; end;
    create function page() returns http.html language sql stable as $$select http.raw('<ul>' || string_agg('<li>' || name, '' order by id) || '</ul>') from item where id < 200$$;
    create function document() returns jsonb language sql stable as 'select jsonb_agg(i order by i.id) from item i where id < 150';
    create function picture() returns http.response language sql stable return http.response(convert_to(repeat('a', 5000), 'utf8'), headers => array[http.header('content-type', 'image/png')]);
    create function signing() returns http.response language sql stable return http.response(repeat('secret ', 500), headers => array[http.set_cookie('a', 'b')]);
    create function told(name text, value text) returns http.response language sql stable return http.response(repeat('words ', 500), headers => array[http.header(name, value)]);
    create function wrong(status integer default 409) returns http.response language sql stable return http.response(repeat('wrong ', 500), status);
    create function short() returns text language sql stable return repeat('a', 1000);
    create function changed(id integer, name text) returns item language sql volatile begin atomic update item set name = changed.name where id = changed.id returning item; end;
    create function one(id integer) returns http.response language sql stable begin atomic select http.response(repeat(to_json(i)::text, 100)) from item i where i.id = one.id; end;
    select http.route('GET', '/' || name, name) from unnest('{items,page,document,picture,signing,told,wrong,short}'::text[]) name;
    select http.route('GET', '/kept', 'items'), http.cache('GET', '/kept'), http.route('GET', '/tagged', 'items'), http.validate('GET', '/tagged'),
      http.route('GET', '/plain', 'items'), http.uncompressed('GET', '/plain'),
      http.route('GET', '/kept-plain', 'items'), http.cache('GET', '/kept-plain'), http.uncompressed('GET', '/kept-plain'),
      http.route('GET', '/one/{id}', 'one'), http.validate('GET', '/one/{id}'), http.route('PUT', '/one/{id}', 'changed')";

fn platform(settings: &[(&str, &str)]) -> Platform {
    let platform = Platform::with(settings);
    platform.sql(ROUTES);
    platform.wait_until_served();
    wait_for("the routes", || platform.get("/items").status == 200);
    platform
}

fn ask(platform: &Platform, method: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
    platform.connect().request(method, path, headers, b"")
}

fn get(platform: &Platform, path: &str, accept: &str) -> Reply {
    ask(platform, "GET", path, &[("accept-encoding", accept)])
}

/// The coding of an answer, which is plain afterwards.
fn taken_out(reply: &mut Reply) -> Option<Coding> {
    let coding = Coding::of(reply.header("content-encoding")?.as_bytes()).expect("a coding");
    let Ok(Unpacked::Whole(body)) = unpack(coding, &reply.body, 1 << 24) else {
        panic!("it is no {coding:?}")
    };
    assert!(reply.body.len() < body.len());
    reply.body = body;
    Some(coding)
}

/// The headers of an answer but those that depend on its coding and its moment.
fn said(reply: &Reply) -> Vec<(String, String)> {
    const OTHER: [&str; 6] = ["content-encoding", "content-length", "etag", "vary", "date", "x-request-id"];
    reply.headers.iter().filter(|(name, _)| !OTHER.contains(&name.as_str())).cloned().collect()
}

/// `Accept-Encoding`, and what a long answer comes by.
const ACCEPTED: [(&str, Option<Coding>); 11] = [
    ("gzip, deflate, br, zstd", Some(Coding::Zstd)),
    ("gzip, deflate, br", Some(Coding::Brotli)),
    ("gzip, deflate", Some(Coding::Gzip)),
    ("GZIP", Some(Coding::Gzip)),
    ("zstd;q=0, br;q=0.5, gzip;q=0.7", Some(Coding::Gzip)),
    ("*", Some(Coding::Zstd)),
    ("identity", None),
    ("", None),
    ("*;q=0", None),
    ("gzip;q=0", None),
    ("nonsense, ;;q=7", None),
];

fn each_client_gets_its_coding(platform: &Platform) {
    for path in
        ["/items", "/items?most=24", "/page", "/document", "/wrong", "/wrong?status=500", "/tagged", "/kept"]
    {
        let plain = ask(platform, "GET", path, &[]);
        assert!(plain.body.len() > 1024, "{path}: {}", plain.body.len());
        assert_eq!(
            (plain.header("content-encoding"), plain.header("vary")),
            (None, Some("accept-encoding")),
            "{path}"
        );
        for _ in 0..3 {
            for (accept, coding) in ACCEPTED {
                let mut packed = get(platform, path, accept);
                let (length, tag) = (packed.body.len().to_string(), packed.header("etag").map(str::to_owned));
                let head = ask(platform, "HEAD", path, &[("accept-encoding", accept)]);
                let got = taken_out(&mut packed);
                // An answer that is kept comes by another coding that the client takes until its own is there.
                assert!(got == coding || path == "/kept" && coding.is_some(), "{path} {accept}: {got:?}");
                assert_eq!((packed.status, &packed.body), (plain.status, &plain.body), "{path} {accept}");
                assert_eq!(said(&packed), said(&plain), "{path} {accept}");
                assert_eq!(packed.header("vary"), Some("accept-encoding"));
                assert_eq!(packed.header("content-length"), Some(length.as_str()));
                let suffix = got.map(|coding| format!("-{}\"", coding.name()));
                assert_eq!(
                    tag,
                    plain.header("etag").map(|tag| match &suffix {
                        Some(suffix) => format!("{}{suffix}", tag.trim_end_matches('"')),
                        None => tag.to_owned(),
                    }),
                    "{path} {accept}"
                );
                if path != "/kept" {
                    assert_eq!(head.header("content-length"), Some(length.as_str()), "HEAD {path} {accept}");
                    assert_eq!(head.header("etag"), tag.as_deref(), "HEAD {path} {accept}");
                }
                assert!(head.body.is_empty());
            }
        }
    }
}

#[test]
fn each_client_gets_an_answer_as_it_takes_it() {
    let platform = platform(&[("howdah.inline_threshold", "100000"), ("howdah.inline_deadline", "1s")]);
    each_client_gets_its_coding(&platform);
    for _ in 0..30 {
        get(&platform, "/items", "br");
    }
    assert!(platform.inline_count("/items") > 0, "the gateway packs");
    platform.set("howdah.inline", "off");
    each_client_gets_its_coding(&platform);
}

#[test]
fn what_says_so_or_is_short_is_left_as_it_is() {
    let platform = platform(&[]);
    let paths = [
        "/picture",
        "/signing",
        "/short",
        "/plain",
        "/told?name=content-encoding&value=x",
        "/told?name=cache-control&value=no-transform",
        "/told?name=content-digest&value=x",
        "/told?name=accept-ranges&value=bytes",
    ];
    for path in paths {
        for _ in 0..12 {
            let (packed, plain) = (get(&platform, path, "gzip, br, zstd"), ask(&platform, "GET", path, &[]));
            assert_eq!(packed.body, plain.body, "{path}");
            assert_eq!(said(&packed), said(&plain), "{path}");
            assert_eq!(
                (packed.header("vary"), packed.header("content-encoding")),
                (None, plain.header("content-encoding"))
            );
        }
    }
    for _ in 0..20 {
        let kept = get(&platform, "/kept-plain", "gzip, br, zstd");
        assert_eq!((kept.header("content-encoding"), kept.header("vary")), (None, None));
    }
    // An error's document stays one, and a page may take its place.
    let refused = ask(&platform, "GET", "/told", &[("accept-encoding", "br"), ("accept", "text/html")]);
    assert_eq!((refused.status, refused.header("content-type")), (400, Some("text/html; charset=utf-8")));
    assert!(refused.text().starts_with("<!doctype html>"), "{}", refused.text());
    // http.call gives the plain answer.
    let called = platform.value(
        "select length(body) || coalesce(http.header_value(headers, 'content-encoding'), ' plain')
         from http.call('GET', '/items', array[http.header('accept-encoding', 'br')])",
    );
    let plain = ask(&platform, "GET", "/items", &[]);
    assert_eq!(called, Some(format!("{} plain", plain.body.len())));
    platform.sql("select http.uncompressed('get', '/plain', false)");
    wait_for("it is packed", || get(&platform, "/plain", "br").header("content-encoding") == Some("br"));
    platform.sql("select http.route('GET', '/plain', 'items'), http.uncompressed('GET', '/plain')");
    platform.sql("select http.route('GET', '/plain', 'items')");
    wait_for("http.route takes it back", || {
        get(&platform, "/plain", "br").header("content-encoding") == Some("br")
    });
    platform.set("howdah.compression", "off");
    wait_for("nothing is packed", || get(&platform, "/items", "br").header("content-encoding").is_none());
    for path in ["/items", "/kept", "/tagged", "/page"] {
        for _ in 0..5 {
            let plain = get(&platform, path, "gzip, br, zstd");
            assert_eq!((plain.header("content-encoding"), plain.header("vary")), (None, None), "{path}");
        }
    }
    let error = platform.session().batch_execute("select http.uncompressed('GET', '/nowhere')").unwrap_err();
    assert!(
        error.to_string().contains("db error")
            && format!("{error:?}").contains("there is no route GET /nowhere")
    );
}

#[test]
fn a_tag_of_each_coding_is_one_of_the_same_answer() {
    let platform = platform(&[]);
    for path in ["/tagged", "/kept", "/one/7"] {
        let tags: Vec<String> = ["zstd", "br", "gzip", ""]
            .iter()
            .map(|accept| {
                let mut tag = None;
                wait_for("its own coding is there", || {
                    let reply = get(&platform, path, accept);
                    tag = reply.header("etag").map(str::to_owned);
                    reply.header("content-encoding").unwrap_or_default() == *accept
                });
                tag.unwrap()
            })
            .collect();
        let base = tags[3].trim_end_matches('"').to_owned();
        assert!(tags[..3].iter().all(|tag| tag.starts_with(&base) && tag.len() > base.len() + 1), "{tags:?}");
        for _ in 0..8 {
            for tag in &tags {
                for accept in ["zstd", "br", "gzip, br", ""] {
                    let headers = [("accept-encoding", accept), ("if-none-match", tag)];
                    let same = ask(&platform, "GET", path, &headers);
                    assert_eq!(
                        (same.status, same.header("etag")),
                        (304, Some(tag.as_str())),
                        "{path} {accept}"
                    );
                    assert!(same.header("content-encoding").is_none() && same.body.is_empty());
                    assert_eq!(same.header("vary"), Some("accept-encoding"), "{path} {accept} {tag}");
                    let headers = [("accept-encoding", accept), ("if-match", tag)];
                    assert_eq!(ask(&platform, "GET", path, &headers).status, 200, "{path} {accept}");
                    let other = format!("{base}x\"");
                    let headers = [("accept-encoding", accept), ("if-none-match", other.as_str())];
                    let other = ask(&platform, "GET", path, &headers);
                    assert_eq!(other.status, 200, "{path} {accept}");
                }
            }
        }
    }
    for accept in ["zstd", "br", "gzip", ""] {
        let tag = get(&platform, "/one/7", accept).header("etag").unwrap().to_owned();
        let headers = [("if-match", tag.as_str()), ("content-type", "application/json")];
        let body = format!("{{\"name\": \"by {accept}\"}}");
        let put =
            |headers: &[(&str, &str)]| platform.connect().request("PUT", "/one/7", headers, body.as_bytes());
        assert_eq!(put(&headers).status, 200, "{accept}");
        assert_eq!(put(&headers).status, 412, "{accept}: somebody has changed it");
    }
}

#[test]
fn what_is_kept_is_packed_by_each_coding_and_never_old() {
    let platform = platform(&[]);
    let cached = || platform.value("select cached from http.stats where pattern = '/kept'").unwrap();
    for round in 0..5 {
        platform.sql(&format!("update item set name = 'round {round}' where id <= 200"));
        for accept in ["br", "gzip", "zstd", "", "gzip, br, zstd"] {
            let mut first = get(&platform, "/kept", accept);
            taken_out(&mut first);
            assert!(first.text().contains(&format!("round {round}")), "{accept}");
        }
        for (accept, coding) in ACCEPTED {
            wait_for("its own coding is there", || {
                let mut reply = get(&platform, "/kept", accept);
                let got = taken_out(&mut reply);
                assert!(reply.text().contains(&format!("round {round}")), "{accept}");
                got == coding
            });
        }
    }
    let before: i64 = cached().parse().unwrap();
    for (accept, coding) in ACCEPTED {
        assert_eq!(taken_out(&mut get(&platform, "/kept", accept)), coding);
    }
    let after: i64 = cached().parse().unwrap();
    assert_eq!(after - before, ACCEPTED.len() as i64, "nothing runs for them");
    // The first one gets it packed, and so does the next.
    platform.sql("update item set name = 'again' where id = 1");
    assert_eq!(get(&platform, "/kept", "br").header("content-encoding"), Some("br"));
    assert_eq!(get(&platform, "/kept", "br").header("content-encoding"), Some("br"));
}

#[test]
fn long_answers_are_packed_by_executors() {
    let platform = platform(&[("howdah.inline_threshold", "100000"), ("howdah.inline_deadline", "1s")]);
    // Plain, it is short enough to run in the gateway.
    for _ in 0..60 {
        assert_eq!(get(&platform, "/items?most=1500", "").body.len() / 1024, 81);
    }
    let before = platform.inline_count("/items");
    assert!(before > 0);
    let mut connection: Connection = platform.connect();
    for _ in 0..40 {
        let mut reply = connection.request("GET", "/items?most=1500", &[("accept-encoding", "zstd")], b"");
        assert_eq!(taken_out(&mut reply), Some(Coding::Zstd));
    }
    assert_eq!(platform.inline_count("/items"), before);
}

/// Random rows as random clients take them: side by side with the same plain, by whichever way they come.
#[test]
fn random_answers_are_the_same_packed_and_plain() {
    let platform = Platform::start();
    platform.sql(
        "create table noise (seed integer primary key, body text not null);
         insert into noise select number, (
           select coalesce(string_agg(case when number % 3 = 0 then md5(place::text || number) else 'word ' || place % (1 + number) end, ' '), '')
           from generate_series(1, number * number / 8) place)
         from generate_series(0, 150) number;
         grant select on noise to howdah_web;
         create function noise(seed integer) returns noise language sql stable begin atomic select noise from noise where noise.seed = $1; end;
         select http.route('GET', '/run/{seed}', 'noise'), http.route('GET', '/tagged/{seed}', 'noise'), http.validate('GET', '/tagged/{seed}'),
           http.route('GET', '/kept/{seed}', 'noise'), http.cache('GET', '/kept/{seed}')",
    );
    wait_for("the routes", || platform.get("/run/1").status == 200);
    let mut random = fastrand::Rng::with_seed(59);
    let mut connection = platform.connect();
    for _ in 0..2000 {
        let seed = random.usize(..151);
        let path = format!("/{}/{seed}", ["run", "tagged", "kept"][random.usize(..3)]);
        let (accept, _) = ACCEPTED[random.usize(..ACCEPTED.len())];
        let mut packed = connection.request("GET", &path, &[("accept-encoding", accept)], b"");
        taken_out(&mut packed);
        let plain = connection.request("GET", &format!("/run/{seed}"), &[], b"");
        assert_eq!((packed.status, packed.text()), (200, plain.text()), "{path} {accept}");
    }
}

#[test]
fn answers_that_wait_to_be_packed_have_a_bound() {
    let platform = Platform::with(&[("howdah.max_cached", "512MB"), ("howdah.max_responses", "512MB")]);
    platform.sql(
        "create table source (word text);
         insert into source values ('word');
         grant select on source to howdah_web;
         create function large(id integer) returns text language sql stable as
           'select string_agg(word || md5(id::text || place), '' '') from source, generate_series(1, 150000) place';
         select http.route('GET', '/large/{id}', 'large'), http.cache('GET', '/large/{id}')",
    );
    wait_for("the route", || platform.get("/large/0").status == 200);
    let mut connection = platform.connect();
    let mut get = |id: i32, accept: &str| {
        connection.request("GET", &format!("/large/{id}"), &[("accept-encoding", accept)], b"")
    };
    let plain: Vec<Reply> = (0..12).map(|id| get(id, "")).collect();
    // Together they have 65 MB, and 32 may wait.
    for (id, plain) in plain.iter().enumerate() {
        assert!(plain.body.len() > 5 << 20);
        let mut reply = get(id as i32, "gzip");
        taken_out(&mut reply);
        assert!(reply.body == plain.body);
    }
    for (id, plain) in plain.iter().enumerate() {
        wait_for("it is packed", || {
            let mut reply = get(id as i32, "gzip");
            let coding = taken_out(&mut reply);
            assert!(reply.body == plain.body);
            coding == Some(Coding::Gzip)
        });
    }
}

/// What a guard answers is packed for who has asked, and kept for nobody else.
#[test]
fn the_answer_of_a_guard_comes_to_others_as_they_take_it() {
    let platform = platform(&[]);
    platform.sql(
        "create function guards() returns http.response language sql stable
           return http.response(repeat('who are you? ', 400), headers => array[http.header('etag', '\"g\"')]);
         create function refuses() returns http.response language sql stable return http.response(repeat('who are you? ', 400), 401);
         select http.route('GET', '/' || prefix || '/kept', 'items'), http.cache('GET', '/' || prefix || '/kept'),
           http.route('GET', '/' || prefix || '/plain', 'items'), http.uncompressed('GET', '/' || prefix || '/plain')
         from unnest('{answers,refuses}'::text[]) prefix;
         select http.guard('/answers', 'guards'), http.guard('/refuses', 'refuses')",
    );
    wait_for("the guards", || {
        get(&platform, "/answers/plain", "").text().starts_with("who")
            && get(&platform, "/refuses/plain", "").status == 401
    });
    for prefix in ["answers", "refuses"] {
        let path = format!("/{prefix}/kept");
        for (accept, coding) in ACCEPTED.into_iter().chain(ACCEPTED) {
            let mut reply = get(&platform, &path, accept);
            let got = taken_out(&mut reply);
            // One that is kept is packed beside, once somebody has asked.
            let is_right = got == coding || prefix == "answers" && (got.is_none() || coding.is_some());
            assert!(is_right, "{path} {accept}: {got:?}");
            assert_eq!(reply.text(), "who are you? ".repeat(400), "{path} {accept}");
            assert_ne!(reply.header("etag").is_some(), prefix == "refuses", "{path}");
        }
        let plain = get(&platform, &format!("/{prefix}/plain"), "gzip");
        assert_eq!(plain.header("content-encoding"), None, "{prefix}");
    }
}

/// A function may give its answers tags, and look for them in conditions itself.
#[test]
fn the_tags_of_a_function_that_looks_for_them_stay_as_they_are() {
    let platform = platform(&[]);
    platform.sql(
        "create function own() returns http.response language sql stable return
           case when http.header_value('if-none-match') = '\"v1\"' then http.response(304, array[http.header('etag', '\"v1\"')])
             else http.response(repeat('words ', 500), headers => array[http.header('etag', '\"v1\"')]) end;
         create function own_write() returns http.response language sql volatile return
           case when http.header_value('if-match') = '\"v1\"' then http.response(repeat('saved ', 500)) else http.response(repeat('stale ', 500), 412) end;
         create function own_weak() returns http.response language sql stable
           return http.response(repeat('words ', 500), headers => array[http.header('etag', 'W/\"v1\"')]);
         select http.route('GET', '/own', 'own'), http.route('PUT', '/own', 'own_write'), http.route('GET', '/weak', 'own_weak')",
    );
    wait_for("the routes", || get(&platform, "/weak", "").status == 200);
    for accept in ["", "gzip", "br", "zstd"] {
        let reply = get(&platform, "/own", accept);
        assert_eq!(
            (reply.header("content-encoding"), reply.header("etag")),
            (None, Some("\"v1\"")),
            "{accept}"
        );
        let tag = reply.header("etag").unwrap();
        let accepted = ("accept-encoding", accept);
        assert_eq!(
            ask(&platform, "GET", "/own", &[accepted, ("if-none-match", tag)]).status,
            304,
            "{accept}"
        );
        let mut saved = ask(&platform, "PUT", "/own", &[accepted, ("if-match", tag)]);
        assert_eq!(taken_out(&mut saved).map_or("", Coding::name), accept);
        assert_eq!(saved.status, 200, "{accept}");
        let mut weak = get(&platform, "/weak", accept);
        assert_eq!(taken_out(&mut weak).map_or("", Coding::name), accept);
        assert_eq!(weak.header("etag"), Some("W/\"v1\""), "{accept}");
    }
}

#[test]
fn an_answer_without_a_whole_body_says_nothing_of_a_coding() {
    let platform = platform(&[]);
    platform.sql("select http.route('POST', '/wrong', 'wrong')");
    wait_for("the route", || ask(&platform, "POST", "/wrong", &[]).status == 409);
    for status in [204, 205, 304] {
        for method in ["GET", "POST"] {
            let headers =
                [("accept-encoding", "gzip"), ("content-type", "application/x-www-form-urlencoded")];
            let reply = ask(&platform, method, &format!("/wrong?status={status}"), &headers);
            assert_eq!((reply.status, reply.header("content-encoding")), (status, None), "{method}");
        }
    }
}

/// A 304 says `Vary` as the answer would whose place it takes: wherever the function has put the type.
#[test]
fn an_answer_that_is_unchanged_says_what_it_varies_by() {
    let platform = platform(&[]);
    platform.sql(
        "create function typed(name text) returns http.response language sql stable begin atomic
           select http.response(repeat(i.name, 200)::text, headers => array[http.header('Content-Type', 'text/css')]
             || case when typed.name = 'fixed' then array[http.header('Cache-Control', 'no-transform')] else array[]::http.header[] end) from item i where id = 7;
         end;
         select http.route('GET', '/typed/{name}', 'typed'), http.validate('GET', '/typed/{name}')",
    );
    wait_for("the route", || get(&platform, "/typed/free", "").status == 200);
    for (path, vary) in [("/typed/free", Some("accept-encoding")), ("/typed/fixed", None)] {
        for accept in ["", "gzip"] {
            let reply = get(&platform, path, accept);
            let condition = ("if-none-match", reply.header("etag").expect("a tag"));
            let unchanged = ask(&platform, "GET", path, &[("accept-encoding", accept), condition]);
            assert_eq!((reply.header("vary"), unchanged.header("vary")), (vary, vary), "{path} {accept}");
            assert_eq!(unchanged.status, 304, "{path} {accept}");
        }
    }
}
