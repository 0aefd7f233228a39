//! Ports that only send clients to https, and what clients learn over it: the scheme, cookies, Strict-Transport-Security.

use std::fs;
use std::path::PathBuf;

use howdah_tests::https::{Https, run};
use howdah_tests::{free_port, wait_for};

/// A port of `https` that sends clients to https.
fn redirecting(https: &Https) -> u16 {
    let port = free_port();
    https.platform.sql(&format!("select http.listen({port}, '127.0.0.1', redirect => 'https')"));
    wait_for("it listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    port
}

/// What curl gets in clear text: status and Location, then the body.
fn ask(https: &Https, port: u16, arguments: &[&str], path: &str) -> String {
    let url = format!("http://127.0.0.1:{port}{path}");
    let common = ["-sS", "--path-as-is", "-w", "%{http_code} %header{location}", &url];
    let output = run(&https.folder, "curl", &[&common[..], arguments].concat());
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn a_client_is_sent_to_https_and_gets_there() {
    let https = Https::serving();
    https.platform.set("howdah.https_port", &https.port.to_string());
    let port = redirecting(&https);
    let (clear, target) =
        (format!("localhost:{port}:127.0.0.1"), format!("https://localhost:{}", https.port));
    let url = format!("http://localhost:{port}/hello?a=1");
    let resolve = format!("localhost:{}:127.0.0.1", https.port);
    let arguments = ["-sS", "-L", "--cacert", "ca.pem", "--resolve", &clear, "--resolve", &resolve, &url];
    let followed = run(&https.folder, "curl", &arguments);
    assert_eq!(String::from_utf8_lossy(&followed.stdout), "hello");
    for (arguments, path, location) in [
        (&["-H", "Host: localhost"][..], "/hello?a=1", format!("308 {target}/hello?a=1")),
        (&["-H", "Host: evil.test"], "/x", format!("308 {target}/x")),
        (&["-H", "Host: localhost"], "//evil.test/%0d%0aa:b", format!("308 {target}//evil.test/%0d%0aa:b")),
        (&["-d", "a=1"], "/hello", format!("308 https://127.0.0.1:{}/hello", https.port)),
        (&["--http2-prior-knowledge"], "/hello", format!("308 https://127.0.0.1:{}/hello", https.port)),
        (&["-X", "OPTIONS"], "/hello", format!("308 https://127.0.0.1:{}/hello", https.port)),
    ] {
        assert_eq!(ask(&https, port, arguments, path), location, "{arguments:?} {path}");
    }
    https.platform.set("howdah.redirect_reads_only", "on");
    let is_refused = || ask(&https, port, &["-d", "token=secret"], "/").contains("clear text");
    wait_for("it refuses what is no GET", is_refused);
    assert!(ask(&https, port, &["-I"], "/").contains("308 https://"));
}

#[test]
fn a_port_that_redirects_becomes_one_that_answers_and_the_other_way_round() {
    let https = Https::serving();
    let port = redirecting(&https);
    let says = |what: &str| wait_for(what, || ask(&https, port, &[], "/hello").contains(what));
    says("308 ");
    https.platform.sql(&format!("select http.listen({port}, '127.0.0.1')"));
    says("hello200");
    https.platform.sql(&format!("select http.listen({port}, '127.0.0.1', redirect => 'https')"));
    says("308 ");
    let shown = format!("select redirect from http.listeners where port = {port}");
    assert_eq!(https.platform.value(&shown).as_deref(), Some("https"));
    for bad in ["redirect => 'http'", "tls => true, redirect => 'https'"] {
        let error = https.platform.session().batch_execute(&format!("select http.listen({port}, '', {bad})"));
        assert_eq!(error.unwrap_err().code().unwrap().code(), "22023", "{bad}");
    }
}

#[test]
fn no_client_goes_in_circles() {
    let https = Https::start();
    let port = redirecting(&https);
    assert!(ask(&https, port, &[], "/").contains("no certificate names a host"), "there is none");
    https.certify("server", "localhost");
    https.set(&https.pair("server"));
    wait_for("there is one", || ask(&https, port, &[], "/").starts_with("308 "));
    let by_proxy = ["-H", "X-Forwarded-Proto: https"];
    assert!(ask(&https, port, &by_proxy, "/").starts_with("308 "), "anybody can say so");
    https.platform.set("howdah.trusted_proxies", "127.0.0.1");
    let is_told = || ask(&https, port, &by_proxy, "/").contains("the proxy should use another port");
    wait_for("a proxy that has come by https is told", is_told);
    // It has a line a second, and one is told already.
    let is_logged = || {
        is_told() && https.log_count("answered 421 by the gateway: this port only sends clients to https") > 0
    };
    wait_for("the log is told", is_logged);
    assert!(ask(&https, port, &["-H", "X-Forwarded-Proto: http"], "/").starts_with("308 "));
}

#[test]
fn challenges_are_answered_from_the_folder_and_nothing_else_of_it() {
    let https = Https::serving();
    let port = redirecting(&https);
    let folder: PathBuf = https.folder.join("webroot");
    let challenges = folder.join(".well-known/acme-challenge");
    fs::create_dir_all(&challenges).unwrap();
    fs::write(folder.join("secret"), "secret").unwrap();
    fs::write(challenges.join("a-Token_1"), "a-Token_1.thumbprint").unwrap();
    fs::write(challenges.join("long"), vec![b'x'; 5000]).unwrap();
    fs::create_dir(challenges.join("folder")).unwrap();
    std::os::unix::fs::symlink(folder.join("secret"), challenges.join("link")).unwrap();
    assert!(run(&challenges, "mkfifo", &["pipe"]).status.success());
    let get = |name: &str| ask(&https, port, &[], &format!("/.well-known/acme-challenge/{name}"));
    assert!(get("a-Token_1").starts_with("308 "), "no folder is set");
    let relative = https.platform.session().batch_execute("alter system set howdah.acme_folder = 'www'");
    let detail = relative.unwrap_err().as_db_error().and_then(|error| error.detail().map(str::to_owned));
    assert_eq!(detail.as_deref(), Some("\"www\" is not an absolute path."));
    https.platform.set("howdah.acme_folder", &folder.display().to_string());
    wait_for("the challenge is answered", || get("a-Token_1") == "a-Token_1.thumbprint200 ");
    let elsewhere = ["-H", "Host: never.heard.of"];
    let path = "/.well-known/acme-challenge/a-Token_1";
    assert_eq!(ask(&https, port, &elsewhere, path), "a-Token_1.thumbprint200 ", "for any host");
    for other in [
        "none",
        "",
        ".",
        "../../secret",
        "%2e%2e/%2e%2e/secret",
        "folder",
        "link",
        "pipe",
        "long",
        "a-Token_1/",
    ] {
        assert!(get(other).starts_with("308 "), "{other}: {}", get(other));
    }
    assert!(ask(&https, port, &["-d", ""], path).starts_with("308 "));
    assert!(https.curl(&[], "localhost").starts_with("hello"), "others answer");
}

#[test]
fn the_scheme_and_cookies_follow_how_the_client_came() {
    let https = Https::serving();
    https.platform.sql(
        "create function scheme() returns http.response language sql stable
         return http.response(
           (http.current_request()).scheme || ' ' || http.is_https(),
           headers => array[http.set_cookie('a', 'b'), http.set_cookie('c', 'd', secure => false)]);
         select http.route('GET', '/scheme', 'scheme');
         select http.handle($$select scheme || ' by handler' from request where path = '/handled'$$)",
    );
    let over_tls = |path: &str, arguments: &[&str]| {
        let url = format!("https://localhost:{}{path}", https.port);
        let resolve = format!("localhost:{}:127.0.0.1", https.port);
        let common = ["-sSi", "--cacert", "ca.pem", "--resolve", &resolve, &url];
        let output = run(&https.folder, "curl", &[&common[..], arguments].concat());
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let clear = |path: &str, arguments: &[&str]| {
        let url = format!("http://127.0.0.1:{}{path}", https.platform.port);
        let output = run(&https.folder, "curl", &[&["-sSi", &url][..], arguments].concat());
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let by_proxy = ["-H", "X-Forwarded-Proto: https"];
    for said in [over_tls("/scheme", &[]), over_tls("/scheme", &["--http1.1"])] {
        assert!(said.ends_with("https true"), "{said}");
        assert!(said.contains("a=b; Path=/; Secure") && said.contains("c=d; Path=/; HttpOnly"), "{said}");
    }
    assert!(over_tls("/handled", &[]).ends_with("https by handler"));
    assert!(over_tls("/scheme", &["-H", "X-Forwarded-Proto: http"]).ends_with("https true"));
    for said in [clear("/scheme", &[]), clear("/scheme", &by_proxy)] {
        assert!(said.ends_with("http false") && !said.contains("Secure"), "{said}");
    }
    https.platform.set("howdah.trusted_proxies", "127.0.0.1");
    wait_for("a proxy's word counts", || clear("/scheme", &by_proxy).ends_with("https true"));
    assert!(clear("/scheme", &by_proxy).contains("a=b; Path=/; Secure"));
    assert!(clear("/scheme", &["-H", "X-Forwarded-Proto: ftp"]).ends_with("http false"));
}
