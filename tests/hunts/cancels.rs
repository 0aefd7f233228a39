//! Cancels of every kind, and ends of executors, at any time, while every request is logged: no cancel ends a worker, no request
//! that was committed is answered by an error, and none is committed twice.

use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use howdah_tests::{Connection, Platform, wait_for};
use hunt::{Hunt, Rng};

const SHORT: Duration = Duration::from_secs(if cfg!(feature = "long") { 12 } else { 6 });
/// Clients of a round, and what each sends.
const CLIENTS: u64 = 6;
const REQUESTS: u64 = 60;

/// What is posted is in a table, and in a queue, once for each time that it was committed. Some requests leave a temporary table.
const SCHEMA: &str = "
    create table note (id bigint); grant insert on note to howdah_web;
    grant temporary on database app to howdah_web;
    create function note(id bigint) returns text language sql volatile
      as $$ insert into note values (id) returning id::text $$;
    create function slow_note(id bigint) returns text language plpgsql volatile as
      $$ begin insert into note values (id); perform pg_sleep(random() * 0.002); return id; end $$;
    create function untidy_note(id bigint) returns text language plpgsql volatile as
      $$ begin
        create temporary table left_behind (id bigint); perform pg_advisory_lock(id);
        insert into note values (id); return id;
      end $$;
    create function one() returns int language sql stable as $$ select 1 $$;
    create function wrong() returns int language plpgsql stable as $$ begin return 1 / 0; end $$;
    select http.route('POST', '/note', 'note'), http.route('POST', '/slow', 'slow_note'),
      http.route('POST', '/untidy', 'untidy_note'), http.route('GET', '/one', 'one'),
      http.route('GET', '/wrong', 'wrong');
    create type noted as (id bigint);
    select queue.create('noted', row_type => 'noted'); select queue.serve();
    select queue.grant('noted', 'send', 'howdah_web');";

/// What is sent to workers all the time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Interrupt {
    None,
    /// A cancel, to every worker.
    Cancel,
    /// The end, to one executor after the other.
    End,
}

impl Interrupt {
    fn statement(self) -> Option<&'static str> {
        match self {
            Interrupt::None => None,
            Interrupt::Cancel => Some(
                "select pg_cancel_backend(pid), pg_sleep(random() * 0.0005) from http.workers
                 union all select pg_cancel_backend(pid), null from pg_stat_activity
                   where backend_type = 'howdah supervisor'",
            ),
            Interrupt::End => Some(
                "select pg_terminate_backend(pid), pg_sleep(random() * 0.05)
                 from (select pid from http.workers where kind = 'executor' order by random() limit 1) one",
            ),
        }
    }
}

/// How each request was answered, by its number; none for a client that has not waited.
type Answers = Vec<(u64, Option<u16>)>;

#[test]
fn no_cancel_ends_a_worker_or_hides_a_commit() {
    let platform = Platform::with(&[
        ("howdah.log_min_duration", "0"),
        ("howdah.log_rate", "-1"),
        ("howdah.min_executors", "3"),
        ("howdah.max_executors", "3"),
        ("synchronous_commit", "off"),
    ]);
    platform.sql(SCHEMA);
    wait_for("all executors run", || platform.workers("executor").len() == 3);
    let mut pids = platform.pids();
    let mut hunt = Hunt::begin("cancels", SHORT);
    let mut next = 0;
    while let Some(mut random) = hunt.next_round() {
        let timeout = ["30s", "1ms", "2ms", "5ms"][random.usize(..4)];
        platform.set("howdah.request_timeout", timeout);
        let interrupt =
            [Interrupt::None, Interrupt::Cancel, Interrupt::Cancel, Interrupt::End][random.usize(..4)];
        let answers = attack(&platform, &mut random, next, interrupt);
        next += CLIENTS * REQUESTS;
        if interrupt == Interrupt::End {
            wait_for("others have come", || platform.workers("executor").len() == 3);
            pids = platform.pids();
        }
        assert!(
            platform.still_run(&pids),
            "a worker has ended: {:?}",
            platform.log().lines().filter(|line| line.contains("exited")).collect::<Vec<_>>()
        );
        judge(&platform, &answers);
    }
}

/// A round: clients that stay, clients that leave, and perhaps somebody who interrupts workers all the time.
fn attack(platform: &Platform, random: &mut Rng, first: u64, interrupt: Interrupt) -> Answers {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let interrupter = interrupt.statement().map(|statement| {
            scope.spawn(|| {
                let mut session = platform.session();
                while !is_over.load(Ordering::Relaxed) {
                    session.batch_execute(statement).expect("an interrupt");
                }
            })
        });
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let seed = random.u64(..);
                let first = first + client * REQUESTS;
                scope.spawn(move || converse(platform.port, first, &mut Rng::with_seed(seed)))
            })
            .collect();
        let answers: Vec<_> = clients.into_iter().map(ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::Relaxed);
        interrupter.into_iter().for_each(|interrupter| interrupter.join().expect("who interrupts"));
        answers.into_iter().flat_map(|answers| answers.expect("a client")).collect()
    })
}

/// One client's requests.
fn converse(port: u16, first: u64, random: &mut Rng) -> Answers {
    let mut connection = Connection::open(port);
    let mut answers = Answers::new();
    for id in first..first + REQUESTS {
        let (method, path, body) = match random.u8(..8) {
            0 => ("GET", "/one".to_owned(), String::new()),
            1 => ("GET", "/wrong".to_owned(), String::new()),
            2 => ("POST", format!("/slow?id={id}"), String::new()),
            3 => ("POST", format!("/untidy?id={id}"), String::new()),
            4 | 5 => ("POST", "/queues/noted".to_owned(), format!("{{\"id\": {id}}}\n")),
            _ => ("POST", format!("/note?id={id}"), String::new()),
        };
        connection.send(method, &path, &[], body.as_bytes());
        if random.bool() {
            thread::sleep(Duration::from_micros(random.u64(..4000)));
            reset(connection);
            answers.push((id, None));
            connection = Connection::open(port);
            continue;
        }
        let reply = connection.read_reply(false).expect("an answer");
        if method == "GET" {
            let expected: &[u16] = if path == "/one" { &[200, 502, 503, 504] } else { &[400, 502, 503, 504] };
            assert!(expected.contains(&reply.status), "{path}: {} {}", reply.status, reply.text());
            continue;
        }
        answers.push((id, Some(reply.status)));
    }
    answers
}

/// Closes a connection at once: the gateway is told of a reset.
fn reset(connection: Connection) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    // SAFETY: an open socket, and an option of the right kind and size.
    unsafe {
        libc::setsockopt(
            connection.socket().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size_of::<libc::linger>() as libc::socklen_t,
        );
    }
}

/// What was answered is what has been committed.
fn judge(platform: &Platform, answers: &Answers) {
    wait_for("nothing runs", || platform.count("http.workers where busy_ms is not null") == 0);
    let mut session = platform.session();
    let ids: Vec<i64> = answers.iter().map(|(id, _)| *id as i64).collect();
    let rows = session
        .query(
            "with noted as (select id from note union all select id from queue.peek('noted', 1000000, null::noted))
             select asked, count(id) from unnest($1::bigint[]) asked left join noted on id = asked group by asked",
            &[&ids],
        )
        .expect("what was committed");
    let committed: std::collections::HashMap<i64, i64> =
        rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    for (id, status) in answers {
        let times = committed[&(*id as i64)];
        assert!(times <= 1, "request {id} was committed {times} times");
        if let Some(status) = status {
            assert_eq!(
                times == 1,
                *status < 300,
                "request {id} was answered {status} and committed {times} times"
            );
        }
    }
    session.batch_execute("truncate note; select queue.purge_queue('noted')").expect("an empty table");
}
