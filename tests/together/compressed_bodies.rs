//! Bodies of requests by a content coding, beside the same bodies plain.

use std::io::Write;

use codings::{Coding, pack};
use howdah_tests::Reply;
use howdah_tests::platform::{Platform, wait_for};
use serde_json::json;

const ROUTES: &str = "
    create domain amount as integer check (value > 0);
    create function named(title text, count amount default 1, tags text[] default '{}') returns json language sql volatile
      return json_build_object('title', title, 'count', count, 'tags', tags);
    create function take_text(text) returns text language sql volatile return $1;
    create function take_json(jsonb) returns jsonb language sql volatile return $1;
    create function take_bytes(bytea) returns text language sql volatile return md5($1);
    create function whole(http.request) returns text language sql volatile
      return concat_ws(' ', http.header_value($1.headers, 'content-encoding'), http.header_value($1.headers, 'content-length'), md5($1.body));
    create function current() returns text language sql volatile
      return concat_ws(' ', http.header_value('content-encoding'), md5((http.current_request()).body), http.form_value('title'));
    create function file(file http.file default null) returns text language sql volatile return concat_ws(' ', (file).name, length((file).body));
    create function guarding() returns http.response language sql stable
      return case when http.header_value('authorization') is null then http.response('who is it?', 401) end;
    select http.route('POST', '/' || name, name), http.compressed_body('POST', '/' || name),
      http.route('POST', '/guarded/' || name, name), http.compressed_body('POST', '/guarded/' || name)
    from unnest('{named,take_text,take_json,take_bytes,whole,current,file}'::text[]) name;
    select http.guard('/guarded', 'guarding'), http.route('POST', '/not', 'named')";

fn platform(settings: &[(&str, &str)]) -> Platform {
    let platform = Platform::with(settings);
    platform.sql(ROUTES);
    wait_for("the routes", || {
        platform.post("/named", "application/json", b"{\"title\": \"x\"}").status == 200
    });
    platform
}

fn post(platform: &Platform, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    platform.connect().request("POST", path, headers, body)
}

#[test]
fn a_body_is_taken_as_if_it_had_come_plain() {
    let platform = platform(&[]);
    let long = "x".repeat(100_000);
    let form = format!("title={long}&count=7&tags=a&tags=b");
    let multipart = format!(
        "--b\r\ncontent-disposition: form-data; name=file; filename=a.txt\r\n\r\n{long}\r\n--b--\r\n"
    );
    let bodies: Vec<(&str, Vec<u8>)> = vec![
        ("application/json", json!({"title": long, "count": 3, "tags": ["a"]}).to_string().into_bytes()),
        ("application/json", b"{\"title\": \"x\", \"count\": 0}".to_vec()),
        ("application/json", b"{\"count\": \"y\", \"tags\": 7}".to_vec()),
        ("application/json", b"{".to_vec()),
        ("application/x-www-form-urlencoded", form.into_bytes()),
        ("application/x-www-form-urlencoded", b"title=a&count=-1".to_vec()),
        ("multipart/form-data; boundary=b", multipart.into_bytes()),
        ("text/plain", b"caf\xc3\xa9".to_vec()),
        ("text/plain", b"\xff\xfe".to_vec()),
        ("application/octet-stream", (0..=255).cycle().take(70_000).collect()),
        ("text/plain", Vec::new()),
    ];
    for name in ["named", "take_text", "take_json", "take_bytes", "whole", "current", "file"] {
        for (content_type, body) in &bodies {
            let headers =
                [("content-type", *content_type), ("x-request-id", "the-same"), ("authorization", "me")];
            let plain = post(&platform, &format!("/{name}"), &headers, body);
            for coding in Coding::ALL {
                let packed = if body.is_empty() { Vec::new() } else { pack(coding, body).unwrap() };
                for path in [format!("/{name}"), format!("/guarded/{name}")] {
                    let all: Vec<_> =
                        headers.into_iter().chain([("content-encoding", coding.name())]).collect();
                    let reply = post(&platform, &path, &all, &packed);
                    assert_eq!(
                        (reply.status, reply.text()),
                        (plain.status, plain.text()),
                        "{path} {content_type} {coding:?}"
                    );
                    assert_eq!(reply.header("content-type"), plain.header("content-type"));
                }
            }
        }
    }
}

#[test]
fn who_is_not_let_in_has_nothing_unpacked_and_what_is_no_coding_is_told() {
    let platform = platform(&[]);
    let of = |path: &str, coding: &str, body: &[u8]| {
        post(&platform, path, &[("content-type", "application/json"), ("content-encoding", coding)], body)
    };
    for coding in ["gzip", "br", "zstd", "x-gzip", "GZIP"] {
        let invalid = of("/named", coding, b"{\"title\": \"x\"}");
        assert_eq!(invalid.status, 400, "{coding}");
        assert!(invalid.text().contains("the body is no valid"), "{}", invalid.text());
        assert_eq!(of("/guarded/named", coding, b"{\"title\": \"x\"}").status, 401, "{coding}");
    }
    for coding in ["deflate", "gzip, br", "nonsense"] {
        let unknown = of("/named", coding, b"x");
        assert_eq!(
            (unknown.status, unknown.header("accept-encoding")),
            (415, Some("br, zstd, gzip, identity"))
        );
        assert!(
            unknown.text().contains(&format!("Content-Encoding {coding} is not known")),
            "{}",
            unknown.text()
        );
        assert_eq!(of("/guarded/named", coding, b"x").status, 401);
    }
    assert_eq!(of("/named", "identity", b"{\"title\": \"x\"}").status, 200);
    let packed = pack(Coding::Gzip, b"{\"title\": \"x\"}").unwrap();
    let refused = of("/not", "gzip", &packed);
    assert_eq!((refused.status, refused.header("accept-encoding")), (415, Some("identity")));
    platform.sql("select http.compressed_body('POST', '/not')");
    wait_for("it is taken", || of("/not", "gzip", &packed).status == 200);
    platform.sql("select http.compressed_body('POST', '/not', false)");
    wait_for("it is taken no more", || of("/not", "gzip", &packed).status == 415);
    let error = format!(
        "{:?}",
        platform.session().batch_execute("select http.compressed_body('GET', '/x')").unwrap_err()
    );
    assert!(error.contains("requests by GET have no body"), "{error}");
}

/// 10 GB in 10 MB: members of 100 MB, of which a hundred stand one behind the other, and as much in frames and in a stream.
#[test]
fn a_bomb_is_refused_at_the_bound() {
    let platform = platform(&[
        ("howdah.max_body", "16MB"),
        ("howdah.max_inflated_body", "8MB"),
        ("howdah.max_executors", "1"),
    ]);
    let zeros = vec![0; 100 << 20];
    let gzip = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
        encoder.write_all(&zeros).unwrap();
        encoder.finish().unwrap()
    };
    let zstd = zstd::bulk::compress(&zeros, 1).unwrap();
    let bombs = [
        ("gzip", gzip.repeat(100)),
        ("zstd", zstd.repeat(100)),
        ("br", pack(Coding::Brotli, &zeros).unwrap()),
    ];
    assert!((9 << 20..12 << 20).contains(&bombs[0].1.len()), "{}", bombs[0].1.len());
    let executor = platform.worker("executor");
    for (coding, bomb) in &bombs {
        for path in ["/take_bytes", "/whole", "/named"] {
            let headers = [("content-encoding", *coding), ("content-type", "application/json")];
            let refused = post(&platform, path, &headers, bomb);
            assert_eq!(refused.status, 413, "{coding} {path}: {}", refused.text());
            assert!(
                refused.text().contains("more than 8388608 bytes once it is unpacked"),
                "{}",
                refused.text()
            );
        }
    }
    assert_eq!(platform.worker("executor"), executor);
    let status = std::fs::read_to_string(format!("/proc/{executor}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 200 << 10, "{peak} kB");
    // The bound itself is taken.
    let most = pack(Coding::Gzip, &zeros[..8 << 20]).unwrap();
    assert_eq!(post(&platform, "/take_bytes", &[("content-encoding", "gzip")], &most).status, 200);
}

/// A request that runs once more, as another was in its way, is the same to its guard: a signature is of the bytes that were sent.
#[test]
fn a_guard_sees_the_body_as_it_was_sent_each_time() {
    let platform = platform(&[]);
    platform.sql(
        "create sequence tries; grant usage on sequence tries to howdah_web;
         create function looking() returns void language plpgsql volatile as $$
           begin raise warning 'seen % %', http.header_value('content-encoding'), length((http.current_request()).body); end $$;
         create function twice() returns text language plpgsql volatile as $$
           begin
             if nextval('tries') = 1 then raise 'once more' using errcode = 'serialization_failure'; end if;
             return length((http.current_request()).body)::text;
           end $$;
         select http.route('POST', '/twice', 'twice'), http.compressed_body('POST', '/twice'), http.guard('/twice', 'looking')",
    );
    let packed = pack(Coding::Gzip, "x".repeat(5000).as_bytes()).unwrap();
    let headers = [
        ("content-encoding", "gzip"),
        ("content-digest", "sha-256=:of the packed bytes:"),
        ("content-type", "text/plain"),
    ];
    wait_for("the route", || post(&platform, "/twice", &headers, &packed).status == 200);
    platform.sql("select setval('tries', 1, false)");
    let reply = post(&platform, "/twice", &headers, &packed);
    assert_eq!((reply.status, reply.text()), (200, "5000".into()));
    let log = platform.log();
    let seen: Vec<&str> =
        log.lines().filter_map(|line| line.split_once("seen ")).map(|(_, seen)| seen).collect();
    assert!(seen.len() >= 3, "{seen:?}");
    assert!(seen.iter().all(|seen| *seen == format!("gzip {}", packed.len())), "{seen:?}");
}

/// The bytes are others than those that were digested.
#[test]
fn headers_about_the_packed_bytes_are_left_out() {
    let platform = platform(&[]);
    platform.sql(
        "create function told() returns text language sql volatile
           return (select string_agg(h.name, ' ' order by h.name) from unnest((http.current_request()).headers) h where h.name ~ 'digest|content|md5');
         select http.route('POST', '/told', 'told'), http.compressed_body('POST', '/told')",
    );
    let body = pack(Coding::Zstd, b"abc").unwrap();
    let digests = ["content-digest", "repr-digest", "digest", "content-md5"].map(|name| (name, "x"));
    let headers: Vec<_> =
        digests.into_iter().chain([("content-encoding", "zstd"), ("content-type", "text/plain")]).collect();
    wait_for("the route", || post(&platform, "/told", &headers, &body).status == 200);
    assert_eq!(post(&platform, "/told", &headers, &body).text(), "content-length content-type");
    let plain: Vec<_> = headers.into_iter().filter(|(name, _)| *name != "content-encoding").collect();
    assert_eq!(
        post(&platform, "/told", &plain, b"abc").text(),
        "content-digest content-length content-md5 content-type digest repr-digest"
    );
}

/// Where there is no memory for a body, its client is told, and the process goes on.
#[test]
fn a_body_that_finds_no_memory_ends_no_process() {
    let platform = platform(&[("howdah.handler_memory", "32MB"), ("howdah.max_executors", "1")]);
    let executor = platform.worker("executor");
    let zeros = vec![b' '; 60 << 20];
    for coding in Coding::ALL {
        let packed = pack(coding, &zeros).unwrap();
        let refused = post(&platform, "/take_bytes", &[("content-encoding", coding.name())], &packed);
        assert_eq!(refused.status, 503, "{coding:?}: {}", refused.text());
        assert_eq!(platform.worker("executor"), executor, "{coding:?}");
    }
    assert_eq!(post(&platform, "/take_text", &[("content-type", "text/plain")], b"x").text(), "x");
}
