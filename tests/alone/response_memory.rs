//! A response for which a gateway has no memory.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use howdah_tests::{Platform, wait_for};

const ROUTES: &str = "
    create function large() returns text language sql as $$select repeat('x', 30000000)$$;
    create function fast() returns text language sql stable return 'fast';
    select http.route('GET', '/fast', 'fast'), http.route('POST', '/large', 'large')";

#[test]
fn want_of_memory_for_a_response_is_an_error_of_its_request_alone() {
    let platform = Platform::start();
    platform.sql(ROUTES);
    assert_eq!(platform.get("/fast").text(), "fast");
    let gateways = platform.workers("gateway");
    limit_memory(gateways[0], &(memory(gateways[0]) + (12 << 20)).to_string());
    let reply = platform.post("/large", "text/plain", b"");
    // It has run: 503 would say that nothing was committed.
    assert_eq!(reply.status, 502, "{}", reply.text());
    assert!(reply.text().contains("no memory for the response"), "{}", reply.text());
    assert_eq!(platform.get("/fast").text(), "fast");
    limit_memory(gateways[0], "unlimited");
    assert_eq!(platform.post("/large", "text/plain", b"").body.len(), 30_000_000);
    assert_eq!(platform.workers("gateway"), gateways, "it has lived on");
}

#[test]
fn a_value_that_is_too_large_is_refused_before_it_is_unpacked() {
    let platform = Platform::with(&[("howdah.min_executors", "1"), ("howdah.max_executors", "1")]);
    platform.sql(
        "create table packed as select repeat('x', 200000000) as body;
         grant select on packed to howdah_web;
         create function as_text() returns text language sql volatile return (select body from packed);
         create function quick() returns text language sql volatile return 'quick';
         select http.route('POST', '/' || name, name)
         from unnest(array['as_text', 'quick']) name",
    );
    assert_eq!(platform.post("/quick", "text/plain", b"").text(), "quick");
    let executors = platform.workers("executor");
    let before = figure(executors[0], "VmHWM");
    let reply = platform.post("/as_text", "text/plain", b"");
    assert_eq!(reply.status, 500, "{}", reply.text());
    assert!(reply.text().contains("howdah.max_response"), "{}", reply.text());
    let taken = figure(executors[0], "VmHWM") - before;
    assert!(taken < 100 << 20, "{} MB", taken >> 20);
}

/// Bytes of a process' address space.
fn memory(pid: i32) -> u64 {
    figure(pid, "VmSize")
}

/// What the kernel says of a process' memory, in bytes.
fn figure(pid: i32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(&format!("{name}:"))).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// The thread that compresses kept answers waits for memory; nobody waits for it, and an allocation that fails ends no process.
#[test]
fn want_of_memory_to_compress_a_kept_answer_ends_no_gateway() {
    let platform = Platform::start();
    platform.sql(
        "create function kept(words integer) returns text language sql stable return repeat('a word ', words);
         select http.route('GET', '/kept', 'kept'), http.cache('GET', '/kept')",
    );
    let ask = |words: u32, accept: &str| {
        let headers = [("accept-encoding", accept)];
        platform.connect().request("GET", &format!("/kept?words={words}"), &headers, b"")
    };
    let comes_packed =
        |words: u32| wait_for("it is packed", || ask(words, "br").header("content-encoding") == Some("br"));
    wait_for("the route", || ask(1000, "").status == 200);
    (0..3).for_each(|_| drop(ask(1000, "")));
    comes_packed(1000);
    let long = 3_000_000;
    (0..3).for_each(|_| assert_eq!(ask(long, "").body.len(), 21_000_000));
    let gateways = platform.workers("gateway");
    limit(gateways[0], "data", &(figure(gateways[0], "VmData") + (4 << 20)).to_string());
    for _ in 0..5 {
        let reply = ask(long, "br");
        assert_eq!((reply.status, reply.header("content-encoding")), (200, None));
        assert_eq!(ask(1000, "br").status, 200);
    }
    assert_eq!(platform.workers("gateway"), gateways, "it has lived on");
    limit(gateways[0], "data", "unlimited");
    comes_packed(long);
    assert_eq!(platform.workers("gateway"), gateways);
}

fn limit_memory(pid: i32, bytes: &str) {
    limit(pid, "as", bytes);
}

/// As the user of the process, to whom its limits belong.
fn limit(pid: i32, what: &str, bytes: &str) {
    let owner = fs::metadata(format!("/proc/{pid}")).unwrap();
    let mut prlimit = Command::new("prlimit");
    prlimit
        .args(["--pid", &pid.to_string(), &format!("--{what}={bytes}:")])
        .uid(owner.uid())
        .gid(owner.gid());
    assert!(prlimit.status().unwrap().success());
}
