//! What stands between a browser and the platform of `howdah dev`: pages that load again, and the page of errors.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use crate::dev::Dev;
use crate::{Platform, answer, data, interrupt};

const PAGE: &str = "Accept: text/html\r\nSec-Fetch-Dest: document\r\n";
const ROUTES: &str =
    "select http.route('GET', '/entries', 'entries'), http.route('POST', '/entries', 'add_entry');
select http.route('GET', '/hello', 'hello');
";

/// An answer: its head in small letters, and its body.
struct Answer {
    head: String,
    body: String,
}

impl Dev {
    fn connect(&self) -> TcpStream {
        let client = TcpStream::connect(("127.0.0.1", self.platform.port)).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        client
    }

    /// Sends the bytes, and reads to the end.
    fn send(&self, request: &str) -> Answer {
        let mut client = self.connect();
        client.write_all(request.as_bytes()).unwrap();
        let all = answer(client);
        let (head, body) = all.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {all:?}"));
        Answer { head: head.to_lowercase(), body: body.to_owned() }
    }

    fn ask(&self, line: &str, headers: &str) -> Answer {
        self.send(&format!("{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n"))
    }

    /// As a browser does that is to show it.
    fn visit(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path}"), PAGE)
    }

    /// Makes the page `/hello`.
    fn say_hello(&self) {
        self.save("functions/hello.sql", &hello("'hello'"));
        self.says("Live after");
        self.save("routes.sql", ROUTES);
        self.says("Live after");
    }
}

fn hello(expression: &str) -> String {
    format!("create function hello() returns http.html language sql stable\nreturn {expression};\n")
}

/// The version of a page, and of the events.
fn version(page: &str) -> &str {
    let (_, rest) = page.split_once("data-made=\"").unwrap_or_else(|| panic!("no script: {page}"));
    rest.split('"').next().unwrap()
}

/// What a page listens to.
struct Events(BufReader<TcpStream>);

impl Events {
    fn listen(dev: &Dev) -> Events {
        let mut client = dev.connect();
        client.write_all(b"GET /.howdah/events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        Events(BufReader::new(client))
    }

    /// The next version.
    fn next(&mut self) -> String {
        let mut line = String::new();
        while !line.starts_with("data: ") {
            line.clear();
            assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "the events have ended");
        }
        line["data: ".len()..].trim_end().to_owned()
    }
}

#[test]
fn a_style_sheet_that_alone_was_saved_is_told_by_its_name_and_pages_stay() {
    let dev = Dev::start();
    dev.say_hello();
    fs::create_dir_all(dev.platform.folder.path().join("notes/static/css")).unwrap();
    dev.save("static/css/a.css", "a { color: red }\n");
    dev.says("Live after");
    let page = dev.visit("/hello");
    let mut events = Events::listen(&dev);
    let whole = events.next();
    assert_eq!(whole, version(&page.body));
    let mut before = String::new();
    for color in ["green", "blue"] {
        dev.save("static/css/a.css", &format!("a {{ color: {color} }}\n"));
        let told = events.next();
        let [now, since, styles]: [&str; 3] =
            told.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("{told}"));
        // A page of the first state needs other style sheets, and no more.
        assert!(since == whole && now != whole, "{told}");
        let styles: serde_json::Value = serde_json::from_str(styles).unwrap();
        let name = styles["css/a.css"].as_str().unwrap().to_owned();
        assert!(name != before && name.starts_with("css/a.") && name.ends_with(".css"), "{told}");
        assert!(dev.ask(&format!("GET /static/{name}"), "").body.contains(color));
        before = name;
    }
    // Another file with it, and pages load again.
    fs::write(dev.platform.folder.path().join("notes/static/css/a.css"), "a { color: black }\n").unwrap();
    dev.save("functions/hello.sql", &hello("'two'"));
    let told = events.next();
    assert!(!told.contains(' ') || events.next().len() < told.len(), "{told}");
}

#[test]
fn pages_learn_of_each_save_and_show_what_is_wrong_until_it_is_mended() {
    let dev = Dev::start();
    dev.say_hello();
    let page = dev.visit("/hello");
    assert!(page.head.starts_with("http/1.1 200") && page.body.starts_with("hello<script"), "{}", page.body);
    let plain = dev.ask("GET /hello", "");
    assert_eq!(plain.body, "hello");
    let mut events = Events::listen(&dev);
    assert_eq!(events.next(), version(&page.body));
    // The command's own page for errors says more than the application's, which is shown where there is one.
    fs::remove_dir_all(dev.platform.folder.path().join("notes/pages/errors")).unwrap();
    events.next();

    dev.save("functions/hello.sql", &hello("'two'"));
    let live = events.next();
    let page = dev.visit("/hello");
    assert!(page.body.starts_with("two<script") && version(&page.body) == live, "{}", page.body);

    dev.save("functions/hello.sql", &hello("'</pre><script>' || helo()"));
    let broken = events.next();
    let page = dev.visit("/entries");
    assert!(
        page.head.starts_with("http/1.1 500") && page.head.contains("cache-control: no-store"),
        "{}",
        page.head
    );
    for part in [
        "<h2>functions/hello.sql:2</h2>",
        "function helo() does not exist",
        "<span class=\"wrong\"><i>2</i>return '&lt;/pre&gt;&lt;script&gt;' || helo();",
        "<dt>hint</dt>",
    ] {
        assert!(page.body.contains(part), "{part}: {}", page.body);
    }
    assert_eq!(version(&page.body), broken);
    // All others get the application as it was.
    assert_eq!(dev.ask("GET /hello", "").body, "two");
    let fetched = dev.ask("GET /hello", "Accept: text/html\r\nSec-Fetch-Dest: empty\r\n");
    assert_eq!(fetched.body, "two");
    assert!(dev.ask("HEAD /hello", PAGE).head.starts_with("http/1.1 200"));
    let form =
        "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 20\r\n\r\nauthor=Ada&message=A";
    let posted =
        dev.send(&format!("POST /entries HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{PAGE}{form}"));
    assert!(posted.head.starts_with("http/1.1 303"), "{}", posted.head);

    // It fails in another way.
    dev.save("functions/hello.sql", &hello("hola()"));
    let other = events.next();
    let page = dev.visit("/hello");
    assert!(page.body.contains("hola() does not exist") && version(&page.body) == other, "{}", page.body);
    dev.save("functions/hello.sql", &hello("'three'"));
    let mended = events.next();
    let page = dev.visit("/hello");
    assert!(page.body.starts_with("three<script") && version(&page.body) == mended, "{}", page.body);

    // What the application answers with an error is a page, for who looks at it.
    let missing = dev.visit("/nothing");
    assert!(
        missing.head.starts_with("http/1.1 404") && missing.head.contains("text/html"),
        "{}",
        missing.head
    );
    assert!(
        missing.body.contains("<h1>404 Not Found</h1>") && missing.body.contains("/.howdah/live.js"),
        "{}",
        missing.body
    );
    dev.save("functions/hello.sql", &hello("(1 / (select count(*) from pg_class where false))::text"));
    events.next();
    let failed = dev.visit("/hello");
    assert!(failed.body.contains("division by zero"), "{}", failed.body);
    assert!(dev.ask("GET /hello", "").head.contains("application/problem+json"));
}

#[test]
fn an_error_page_of_the_application_is_shown_as_it_is() {
    let dev = Dev::start();
    let mut events = Events::listen(&dev);
    events.next();
    fs::create_dir_all(dev.platform.folder.path().join("notes/pages/errors")).unwrap();
    dev.save("pages/errors/404.html", "<h1>Ours</h1>\n");
    events.next();
    let own = dev.visit("/nothing");
    assert!(own.head.starts_with("http/1.1 404"), "{}", own.head);
    assert!(
        own.body.starts_with("<h1>Ours</h1><script") || own.body.starts_with("<h1>Ours</h1>\n<script"),
        "{}",
        own.body
    );
}

#[test]
fn what_is_put_back_is_live_again_and_the_terminal_offers_to_begin_anew() {
    let mut dev = Dev::start();
    let at = |path: &str| dev.platform.folder.path().join("notes").join(path);
    let mut events = Events::listen(&dev);
    events.next();
    // The folder itself cannot be read as an application.
    let manifest = fs::read_to_string(at("howdah.toml")).unwrap();
    dev.save("howdah.toml", "name = \"notes\"\ncolour = \"red\"\n");
    events.next();
    let page = dev.visit("/entries");
    assert!(page.head.starts_with("http/1.1 500") && page.body.contains("howdah.toml"), "{}", page.body);
    dev.save("howdah.toml", &manifest);
    events.next();
    assert!(dev.visit("/entries").head.starts_with("http/1.1 200"));

    let migration = fs::read_to_string(at("migrations/001-entry.sql")).unwrap();
    dev.save("migrations/001-entry.sql", &migration.replace("message text", "message varchar(100)"));
    events.next();
    let page = dev.visit("/entries");
    for part in ["<h2>migrations/001-entry.sql</h2>", "it has run and was changed since", "begin anew"] {
        assert!(page.body.contains(part), "{part}: {}", page.body);
    }
    dev.says("type anew");
    dev.typed.write_all(b"anew\n").unwrap();
    events.next();
    assert!(dev.visit("/entries").head.starts_with("http/1.1 200"));

    interrupt(&dev.child);
    assert!(dev.child.wait().unwrap().success());
    let mut rest = String::new();
    events.0.read_to_string(&mut rest).unwrap();
    assert!(!dev.platform.serves());
}

#[test]
fn a_platform_that_was_up_before_on_the_same_port_is_no_trouble() {
    let platform = Platform::new();
    platform.ok(&["new", "notes"]);
    let port = platform.port.to_string();
    platform.ok(&["up", "--app", "notes", "--port", &port, "--detach"]);
    platform.ok(&["stop"]);
    let mut dev = Dev::start_on(platform, "notes", &[]);
    assert!(dev.visit("/entries").body.contains("live.js"));
    let log = fs::read_to_string(data(&dev.platform).join("log")).unwrap();
    assert!(!log.contains("cannot listen"), "{log}");
    assert_eq!(dev.platform.query("select array_agg(distinct bound) from http.listeners"), "{127.0.0.1}");
    interrupt(&dev.child);
    assert!(dev.child.wait().unwrap().success());
    dev.platform.ok(&["up", "--port", &port, "--detach"]);
    let page = dev.visit("/entries");
    assert!(page.head.starts_with("http/1.1 200") && !page.body.contains("<script"), "{}", page.body);
    assert_eq!(
        dev.platform.query("select array_agg(distinct port) from http.listeners"),
        format!("{{{port}}}")
    );
}

#[test]
fn pages_of_others_learn_nothing() {
    let dev = Dev::start();
    dev.save(
        "functions/secret.sql",
        "create function secret() returns text language sql return 'password' || x();\n",
    );
    dev.says("Nothing of it was deployed.");
    assert!(dev.visit("/entries").body.contains("password"));
    let by = |host: &str, path: &str| {
        dev.send(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{PAGE}\r\n"))
    };
    // A name of somebody else that leads here.
    for host in ["evil.test", "localhost.evil.test:9000", "127.0.0.1.evil.test"] {
        let page = by(host, "/entries");
        assert!(page.head.starts_with("http/1.1 200"), "{host}: {}", page.head);
        assert!(!page.body.contains("password") && !page.body.contains("<script"), "{host}: {}", page.body);
        for path in ["/.howdah/events", "/.howdah/live.js"] {
            assert!(by(host, path).head.starts_with("http/1.1 403"), "{host}{path}");
        }
    }
    assert!(by("127.0.0.1:9000", "/entries").body.contains("password"));
    for site in ["cross-site", "same-site"] {
        let headers = format!("Sec-Fetch-Site: {site}\r\nOrigin: http://evil.test\r\n");
        for path in ["/.howdah/events", "/.howdah/live.js"] {
            let refused = dev.ask(&format!("GET {path}"), &headers);
            assert!(refused.head.starts_with("http/1.1 403"), "{site} {path}: {}", refused.head);
        }
    }
    let script = dev.ask("GET /.howdah/live.js", "Sec-Fetch-Site: same-origin\r\n");
    assert!(
        script.head.starts_with("http/1.1 200") && !script.head.contains("access-control"),
        "{}",
        script.head
    );
    assert!(script.head.contains("cross-origin-resource-policy: same-origin"), "{}", script.head);
    let page = dev.visit("/entries");
    assert!(
        page.head.contains("frame-ancestors 'none'") && !page.head.contains("access-control"),
        "{}",
        page.head
    );
}

#[test]
fn the_application_sees_requests_as_without_it() {
    let dev = Dev::start_with(&["--set", "howdah.max_body=1MB"]);
    dev.save(
        "functions/hello.sql",
        "create function hello() returns json language sql volatile
         return (select to_json(r) from http.current_request() r);\n",
    );
    dev.says("Live after");
    dev.save("routes.sql", &format!("{ROUTES}select http.route('POST', '/hello', 'hello');\n"));
    dev.says("Live after");
    let seen = |answer: &Answer| -> serde_json::Value { serde_json::from_str(&answer.body).unwrap() };
    let request = seen(&dev.ask(
        "GET /hello?a=%20b",
        "Cookie: a=b\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Proto: https\r\nAccept-Encoding: gzip\r\nX-Once: 1\r\nConnection: x-once\r\n",
    ));
    assert_eq!(
        (&request["remote_address"], &request["scheme"], &request["query_string"]),
        (&"127.0.0.1".into(), &"http".into(), &"a=%20b".into()),
        "{request:#}"
    );
    let names: Vec<_> = request["headers"].as_array().unwrap().iter().map(|header| &header["name"]).collect();
    assert_eq!(names, ["host", "cookie", "x-forwarded-for", "x-forwarded-proto", "accept-encoding"]);

    // Two requests of one connection, one of them in chunks.
    let answers = dev.send(
        "POST /hello HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n\
         GET /hello?second HTTP/1.1\r\nHost: b\r\nConnection: close\r\n\r\n",
    );
    assert!(answers.body.contains("\\\\x616263") && answers.body.contains("\"second\""), "{}", answers.body);
    // Whoever waits for a word gets it, and is refused before it has sent what is too much.
    let mut client = dev.connect();
    client.write_all(b"POST /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n").unwrap();
    let mut said = [0; 25];
    client.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"HTTP/1.1 100 Continue\r\n\r\n");
    client.write_all(b"abc").unwrap();
    assert!(answer(client).contains("\\\\x616263"));
    let refused = dev.ask("POST /hello", "Expect: 100-continue\r\nContent-Length: 2000000\r\n");
    assert!(refused.head.starts_with("http/1.1 413"), "{}", refused.head);
    // HTTP/1.0 knows no such word.
    let old =
        dev.send("POST /hello HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc");
    assert!(old.body.contains("\\\\x616263"), "{}", old.body);
    let by_http2 = Command::new("curl")
        .args(["-sS", "--http2-prior-knowledge", "-H", "Accept: text/html", "-w", " by HTTP/%{http_version}"])
        .arg(format!("http://127.0.0.1:{}/hello", dev.platform.port))
        .output()
        .unwrap();
    let by_http2 = String::from_utf8(by_http2.stdout).unwrap();
    assert!(by_http2.contains("\"127.0.0.1\"") && by_http2.ends_with(" by HTTP/2"), "{by_http2}");
}
