//! Files of `static/` beside nginx with the same files: equal answers, but where the docs say otherwise.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Child, Command};

use howdah_tests::application::Application;
use howdah_tests::{Connection, Reply, free_port, wait_for};

fn long(bytes: usize) -> String {
    "all work and no play makes jack a dull boy, he said. ".chars().cycle().take(bytes).collect()
}

/// nginx that serves a folder, stopped when it is dropped.
struct Nginx {
    process: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Nginx {
    fn of(root: &Path) -> Nginx {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let (at, root) = (folder.path().display(), root.display());
        let configuration = format!(
            "daemon off; master_process off; pid {at}/pid; error_log {at}/error.log;
             events {{ }}
             http {{
               access_log off; absolute_redirect off; max_ranges 1; if_modified_since before; charset utf-8; charset_types text/css text/javascript text/plain;
               client_body_temp_path {at}/body; proxy_temp_path {at}/temp; fastcgi_temp_path {at}/f; uwsgi_temp_path {at}/u; scgi_temp_path {at}/s;
               types {{ text/html html; text/css css; text/javascript js; image/svg+xml svg; text/plain txt; }}
               server {{ listen 127.0.0.1:{port}; location /static/ {{ alias {root}/; gzip_static on; }} }}
             }}"
        );
        let path = folder.path().join("nginx.conf");
        fs::write(&path, configuration).unwrap();
        let search = format!("{}:/usr/sbin", env::var("PATH").unwrap_or_default());
        let mut command = Command::new("nginx");
        let process = command.env("PATH", search).arg("-p").arg(folder.path()).arg("-c").arg(&path).spawn();
        let nginx = Nginx { process: process.expect("nginx"), port, _folder: folder };
        wait_for("nginx listens", || Connection::try_open(port).is_some());
        nginx
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The parts of an answer that are compared.
fn said(reply: &Reply) -> Vec<String> {
    let mut said = vec![reply.status.to_string()];
    // An error's document is each server's own.
    if reply.status < 400 {
        said.push(format!(
            "{} bytes, {:?}",
            reply.body.len(),
            String::from_utf8_lossy(&reply.body[..reply.body.len().min(40)])
        ));
        let names = [
            "content-type",
            "content-range",
            "content-length",
            "content-encoding",
            "accept-ranges",
            "location",
        ];
        for name in names {
            // A 304, and a redirect, have no body that a type would be of.
            if reply.status < 300 || name == "location" {
                said.push(format!("{name}: {:?}", reply.header(name)));
            }
        }
    } else {
        said.push(format!(
            "content-range: {:?}",
            reply.header("content-range").filter(|_| reply.status == 416)
        ));
    }
    said
}

/// Paths, our status, and nginx's: the docs say why.
const DIFFERENT: [(&str, u16, u16); 4] =
    [("docs", 308, 301), ("img/", 404, 403), ("%ff", 400, 404), ("..%2f..%2fhowdah.toml", 404, 400)];

#[test]
fn nginx_answers_the_same_but_where_the_docs_say_otherwise() {
    let shop = Application::of(&[
        ("static/img/a.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>\n"),
        ("static/docs/index.html", "<!doctype html><title>Docs</title>\n"),
        ("static/ä b.txt", "letters\n"),
        ("static/empty.txt", ""),
    ]);
    shop.write("static/long.js", &long(20_000));
    let packed = codings::pack(codings::Coding::Gzip, long(20_000).as_bytes()).unwrap();
    shop.ok("deploy");
    let platform = &shop.platform;
    wait_for("the files", || platform.get("/static/long.js").status == 200);
    let root = shop.folder.path().join("static");
    // Debian's nginx finds what is packed beside the file.
    fs::write(root.join("long.js.gz"), packed).unwrap();
    let nginx = Nginx::of(&root);
    let paths = [
        "long.js",
        "img/a.svg",
        "docs/",
        "docs/index.html",
        "%C3%A4%20b.txt",
        "empty.txt",
        "none",
        "long.js/",
        "img/",
        "LONG.js",
        "long%2Ejs",
        "l%6Fng.js",
        "long.js?v=1",
        "long.js%00",
        "%ff",
        "img/%61.svg",
        "docs",
        ".git/config",
        "long.js%20",
        "..%2f..%2fhowdah.toml",
        "%2e%2e/howdah.toml",
        "img/a.svg/x",
    ];
    let conditions: [&[(&str, &str)]; 10] = [
        &[],
        &[("range", "bytes=0-9")],
        &[("range", "bytes=-5")],
        &[("range", "bytes=5-")],
        &[("range", "bytes=999999-")],
        &[("range", "bytes=0-1,4-5")],
        &[("range", "lines=0-1")],
        &[("accept-encoding", "gzip")],
        &[("if-modified-since", "Fri, 01 Jan 2100 00:00:00 GMT")],
        &[("if-match", "\"nothing\"")],
    ];
    let (mut compared, mut differ) = (0, Vec::new());
    for path in paths {
        for headers in conditions {
            let target = format!("/static/{path}");
            let ours = platform.connect().request("GET", &target, headers, b"");
            let theirs = Connection::open(nginx.port).request("GET", &target, headers, b"");
            compared += 1;
            let known = DIFFERENT.iter().find(|(known, ..)| *known == path);
            if let Some((_, status, other)) = known {
                assert_eq!((ours.status, theirs.status), (*status, *other), "{target} {headers:?}");
            } else if said(&ours) != said(&theirs) {
                differ.push(format!(
                    "{target} {headers:?}\n  ours {:?}\n  nginx {:?}",
                    said(&ours),
                    said(&theirs)
                ));
            }
        }
    }
    for method in ["HEAD", "POST", "PUT", "DELETE"] {
        let ours = platform.connect().request(method, "/static/long.js", &[], b"");
        let theirs = Connection::open(nginx.port).request(method, "/static/long.js", &[], b"");
        compared += 1;
        if (ours.status, ours.header("content-length")) != (theirs.status, theirs.header("content-length"))
            && ours.status < 400
        {
            differ.push(format!("{method}: {ours:?} {theirs:?}"));
        }
        assert_eq!(ours.status, theirs.status, "{method}");
    }
    assert!(compared >= 200, "{compared}");
    assert_eq!(differ, Vec::<String>::new(), "{}", differ.join("\n"));
}
