//! Flash: the next page that somebody looks at shows a message, once, whatever is kept, asked for beside it, or fetched ahead.

use std::thread;

use fastrand::Rng;
use howdah_tests::{Connection, Platform, Reply, wait_for};

const BROWSER: (&str, &str) = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
const CLEARING: &str = "howdah_flash=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax";

const APPLICATION: &str = "
    create function save(message text, kind text default 'notice') returns http.response language sql stable
      return http.redirect('/kept', headers => array[http.flash(message, kind)]);
    create function shown() returns http.html language sql stable begin atomic
      select http.format('<p class=\"%s\">%s</p>', http.flash_kind(), http.flash_message()); end;
    create function shown_in_plpgsql() returns http.html language plpgsql as $$ begin
      return http.format('<p class=\"%s\">%s</p>', http.flash_kind(), http.flash_message()); end $$;
    create function shown_with_headers() returns http.response language sql stable begin atomic
      select http.response(shown(), headers => array[http.header('Cache-Control', 'max-age=60'), http.header('X-Own', 'a')]); end;
    create function shown_and_set() returns http.response language sql stable begin atomic
      select http.response(shown(), headers => array[http.flash('another')]); end;
    create function elsewhere() returns http.response language sql stable begin atomic
      select http.redirect('/plain#' || http.url_encode(http.flash_message())); end;
    create function untold() returns http.html language sql stable begin atomic select '<p></p>'::http.html; end;
    select http.route('POST', '/save', 'save'), http.route('GET', '/plain', 'shown'), http.route('GET', '/executor', 'shown_in_plpgsql'),
      http.route('GET', '/validated', 'shown'), http.validate('GET', '/validated'),
      http.route('GET', '/kept', 'shown'), http.cache('GET', '/kept'),
      http.route('GET', '/kept_a_while', 'shown'), http.cache('GET', '/kept_a_while', max_age => '1 hour'),
      http.route('GET', '/headers', 'shown_with_headers'), http.route('GET', '/set', 'shown_and_set'), http.route('GET', '/untold', 'untold'),
      http.route('GET', '/elsewhere', 'elsewhere'),
      http.cache('GET', '/untold'), http.page('GET', '/page', 'shown'), http.cache('GET', '/page');
";

/// Paths whose pages show messages.
const SHOWING: [&str; 7] =
    ["/plain", "/executor", "/validated", "/kept", "/kept_a_while", "/headers", "/page"];

fn application() -> Platform {
    let platform = Platform::start();
    platform.sql(APPLICATION);
    wait_for("the routes", || ask(&mut platform.connect(), "/page", &[BROWSER]).status == 200);
    platform
}

fn ask(client: &mut Connection, path: &str, headers: &[(&str, &str)]) -> Reply {
    client.request("GET", path, headers, b"")
}

fn page(kind: &str, message: &str) -> String {
    format!("<p class=\"{kind}\">{message}</p>")
}

#[test]
fn the_next_page_shows_a_message_and_no_page_after_it() {
    let platform = application();
    let mut client = platform.connect();
    let form = [("content-type", "application/x-www-form-urlencoded"), BROWSER];
    for path in SHOWING {
        let saved = client.request(
            "POST",
            "/save",
            &form,
            "message=50%25 & Zoë; \"now\"&kind=good".replace(" & ", " %26 ").as_bytes(),
        );
        assert_eq!((saved.status, saved.header("location")), (303, Some("/kept")));
        let cookie = saved.header("set-cookie").unwrap();
        let (cookie, attributes) = cookie.split_once("; ").unwrap();
        assert_eq!(attributes, "Path=/; Max-Age=60; HttpOnly; SameSite=Lax");

        let tag = ask(&mut client, path, &[BROWSER]).header("etag").unwrap_or("\"none\"").to_owned();
        let untouched = |reply: &Reply| {
            assert_eq!((reply.status, reply.text()), (200, page("", "")), "{path}");
            assert!(reply.all_headers("set-cookie").is_empty(), "{path}");
        };
        // A request that brings a message, and does not navigate.
        for other in [
            ("sec-fetch-dest", "empty"),
            ("sec-fetch-dest", "image"),
            ("sec-fetch-dest", "iframe"),
            ("sec-purpose", "prefetch"),
            ("hx-request", "true"),
        ] {
            untouched(&ask(&mut client, path, &[BROWSER, ("cookie", cookie), other]));
        }
        let head = client.request("HEAD", path, &[BROWSER, ("cookie", cookie)], b"");
        assert_eq!((head.status, head.header("set-cookie")), (200, None), "{path}");
        // A page that shows no message leaves it, and so does one that leads elsewhere.
        let elsewhere = ask(&mut client, "/elsewhere", &[BROWSER, ("cookie", cookie)]);
        assert_eq!((elsewhere.status, elsewhere.header("set-cookie")), (303, None));
        let untold = ask(&mut client, "/untold", &[BROWSER, ("cookie", cookie)]);
        assert_eq!((untold.status, untold.header("set-cookie")), (200, None));

        let shown = ask(&mut client, path, &[BROWSER, ("cookie", cookie), ("if-none-match", &tag)]);
        assert_eq!(
            (shown.status, shown.text()),
            (200, page("good", "50% &amp; Zoë; &quot;now&quot;")),
            "{path}"
        );
        assert_eq!(shown.all_headers("set-cookie"), [CLEARING], "{path}");
        assert_eq!(shown.all_headers("cache-control"), ["no-store"], "{path}");
        assert_eq!(shown.header("etag"), None, "{path}");
        assert_eq!(shown.header("x-own"), (path == "/headers").then_some("a"));
        untouched(&ask(&mut client, path, &[BROWSER]));
        untouched(&ask(&mut client, path, &[BROWSER, ("cookie", "howdah_flash=")]));
        untouched(&ask(&mut client, path, &[BROWSER, ("cookie", "howdah_flash=%ff")]));
    }
    // The next message is not cleared with the one before.
    let set = ask(&mut client, "/set", &[BROWSER, ("cookie", "howdah_flash=notice:a")]);
    assert_eq!(set.text(), page("notice", "a"));
    assert_eq!(
        set.all_headers("set-cookie"),
        ["howdah_flash=notice:another; Path=/; Max-Age=60; HttpOnly; SameSite=Lax"]
    );
    assert_eq!(set.all_headers("cache-control"), ["no-store"]);
    assert_eq!(platform.value("select http.flash_message()"), None, "outside of a request");
    assert_eq!(platform.value("select http.flash(null)::text"), None, "no message is no header");
}

/// Whether somebody looks at the answer, by what the browser says.
fn navigates(headers: &[(&str, &str)]) -> bool {
    match headers.iter().find(|(name, _)| name.starts_with("sec-")) {
        Some(said) => *said == ("sec-fetch-dest", "document"),
        None => headers.contains(&BROWSER),
    }
}

/// Four clients, each with messages of its own, beside pages that are kept.
#[test]
fn nobody_sees_the_message_of_another() {
    let platform = application();
    let port = platform.port;
    let clients = (0..4).map(|number| {
        thread::spawn(move || {
            let mut random = Rng::with_seed(57 + number);
            let mut client = Connection::open(port);
            let mut shown = 0;
            for round in 0..500 {
                let path = SHOWING[random.usize(..SHOWING.len())];
                let cookie = format!("a=b; howdah_flash=kind:message%20{number}%20{round}");
                let mut headers = Vec::new();
                if random.u8(..4) > 0 {
                    headers.push(BROWSER);
                }
                if random.u8(..4) == 0 {
                    headers.push(
                        random
                            .choice([
                                ("sec-fetch-dest", "empty"),
                                ("sec-fetch-dest", "document"),
                                ("sec-purpose", "prefetch"),
                            ])
                            .unwrap(),
                    );
                }
                let brings = random.u8(..3) == 0;
                let is_shown = brings && navigates(&headers);
                if brings {
                    headers.push(("cookie", &cookie));
                }
                let reply = ask(&mut client, path, &headers);
                let expected =
                    if is_shown { page("kind", &format!("message {number} {round}")) } else { page("", "") };
                assert_eq!((reply.status, reply.text()), (200, expected), "{path} {headers:?}");
                assert_eq!(reply.header("set-cookie"), is_shown.then_some(CLEARING), "{path} {headers:?}");
                shown += usize::from(is_shown);
            }
            shown
        })
    });
    let clients: Vec<_> = clients.collect();
    let shown: usize = clients.into_iter().map(|client| client.join().unwrap()).sum();
    assert!(shown > 200, "{shown}");
    let kept = platform.value("select sum(cached) from http.stats where pattern = '/kept'");
    assert!(kept.is_some_and(|kept| kept.parse::<f64>().unwrap() > 100.0), "pages are kept beside them");
}
