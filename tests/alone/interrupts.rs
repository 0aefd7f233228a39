//! What comes for a request at its end, or when it has just ended: a cancel, a timeout, a signal. It is never raised in the next
//! request, nor between two. `make test-long` makes the build that has it come at each place, and names its folder in
//! HOWDAH_FAULTY_STAGE.

use howdah_tests::{Connection, Platform, wait_for};

/// What comes.
const WHAT: [&str; 9] = [
    "a cancel",
    "a signal to cancel",
    "a late signal",
    "a reload",
    "a barrier",
    "a catchup",
    "a bare interrupt",
    "the statement's timeout",
    "the lock's timeout",
];

/// Where it comes, whether the request may fail of it, and whether requests that share a transaction come by.
const WHERE: [(&str, bool, bool); 6] = [
    ("before the end", true, true),
    ("before the commit", true, false),
    ("after the commit", false, false),
    ("after the cleaning", false, false),
    ("after the request", false, true),
    ("after the answer", false, true),
];

fn platform() -> Platform {
    let stage =
        std::env::var_os("HOWDAH_FAULTY_STAGE").expect("HOWDAH_FAULTY_STAGE, as make test-long sets it");
    let platform = Platform::of_stage(Some(stage.into()), &[("howdah.inline", "off")]);
    platform.sql(
        "create table entry (id integer generated always as identity, note text);
         grant select, insert on entry to howdah_web;
         create function note(note text) returns text language sql as 'insert into entry (note) values (note) returning note';
         create function pid() returns integer language sql stable return pg_backend_pid();
         select http.route('POST', '/notes', 'note')",
    );
    platform
}

#[test]
fn what_comes_for_a_request_at_its_end_is_never_raised_in_the_next() {
    let platform = platform();
    let postmaster = platform.began();
    for inline in ["off", "on", "transaction"] {
        platform.set("howdah.inline", inline);
        let kind = if inline == "off" { "executor" } else { "gateway" };
        let runs_there = |path: &str| {
            Connection::try_open(platform.port)
                .and_then(|mut connection| connection.try_request("GET", path, b""))
                .and_then(|reply| reply.text().parse().ok())
                .is_some_and(|pid: i32| platform.workers(kind).contains(&pid))
        };
        for (place, may_fail, is_shared) in WHERE {
            if inline == "on" && !is_shared {
                continue;
            }
            for what in WHAT {
                let case = format!("{inline}: {what}, {place}");
                let note = case.replace([' ', ':', ',', '\''], "-");
                // One that was cancelled in the gateway is run elsewhere for a while.
                let path = format!("/pid-{note}");
                platform.sql(&format!("select http.route('GET', '{path}', 'pid')"));
                wait_for("requests run where they shall", || runs_there(&path));
                let pids = platform.pids();
                let mut connection = platform.connect();
                let asked = format!("{what}, {place}");
                let header = [("X-Interrupt", &*asked)];
                let reply = connection.request("GET", &path, &header, b"");
                assert!(reply.status == 200 || may_fail, "{case}: {} {}", reply.status, reply.text());
                assert_eq!(connection.request("GET", &path, &[], b"").status, 200, "{case}");
                let target = format!("/notes?note={note}");
                let reply = connection.request("POST", &target, &header, b"");
                assert!(reply.status == 200 || may_fail, "{case}: {} {}", reply.status, reply.text());
                let stored = platform.count(&format!("entry where note = '{note}'"));
                assert_eq!(
                    stored,
                    i64::from(reply.status == 200),
                    "{case}: it was answered {}",
                    reply.status
                );
                for _ in 0..3 {
                    let next = connection.request("POST", "/notes?note=next", &[], b"");
                    assert_eq!((next.status, next.text().as_str()), (200, "next"), "{case}");
                }
                assert!(platform.still_run(&pids), "{case}: {}", platform.log());
            }
        }
    }
    let log = platform.log();
    assert!(!log.contains("terminating any other active server processes"), "{log}");
    assert_eq!(platform.began(), postmaster);
}
