//! Nothing that somebody asks of a queue keeps others from it, costs memory without bound, or cannot be cancelled.

use std::thread;
use std::time::{Duration, Instant};

use cluster::postgres::Client;
use howdah_tests::queues::{Queues, error, number};

/// Longest that a send waits while others ask for much. It is milliseconds; the machine may be busy.
const LONGEST_SEND: Duration = Duration::from_millis(150);

fn messages(count: i64) -> Queues {
    let queues = Queues::start();
    queues.sql(&format!(
        "select queue.create('notes'); select queue.create('other');
         select count(*) from queue.send_batch('notes',
           array(select jsonb_build_object('n', n, 'text', repeat('x', 100)) from generate_series(1, {count}) n))"
    ));
    queues
}

/// The most memory of its own that a session's process has had, in kilobytes: all of it without PostgreSQL's shared memory.
fn peak_memory(session: &mut Client) -> i64 {
    let status = "select pg_read_file(format('/proc/%s/status', pg_backend_pid()))";
    let status: String = session.query_one(status, &[]).unwrap().get(0);
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<i64>().unwrap()
    };
    of("VmHWM") - of("RssShmem")
}

/// Runs a statement while others send; how long the slowest send took.
fn slowest_send_during(queues: &Queues, statement: &str) -> Duration {
    let mut sender = queues.session();
    let send = "select queue.send('notes', '{}')";
    sender.batch_execute(send).unwrap();
    thread::scope(|scope| {
        let work = scope.spawn(|| queues.session().batch_execute(statement));
        let mut slowest = Duration::ZERO;
        while !work.is_finished() {
            let begin = Instant::now();
            sender.batch_execute(send).unwrap();
            slowest = slowest.max(begin.elapsed());
        }
        work.join().unwrap().unwrap();
        slowest
    })
}

#[test]
fn a_conditional_read_can_be_cancelled_and_needs_little_memory() {
    let queues = messages(700_000);
    let mut session = queues.session();
    let nothing = "select count(*) from queue.read('notes', 60, 10, '{\"n\": -1}')";
    number(&mut session, "select count(*) from queue.read('other', 60, 10, '{\"n\": -1}')");
    let before = peak_memory(&mut session);
    let begin = Instant::now();
    assert_eq!(number(&mut session, nothing), 0);
    let whole = begin.elapsed();
    let last = "select msg_id from queue.read('notes', 60, 10, '{\"n\": 700000}')";
    assert_eq!(number(&mut session, last), 700_000);
    let grown = peak_memory(&mut session) - before;
    assert!(grown < 50_000, "{grown} kB more than {before}");
    session.batch_execute("set statement_timeout = '20ms'").unwrap();
    // The first error of a session takes time to be described.
    assert!(error(&mut session, nothing).starts_with("57014"));
    let begin = Instant::now();
    assert!(error(&mut session, nothing).starts_with("57014"));
    let elapsed = begin.elapsed();
    assert!(
        elapsed < whole / 2,
        "a time limit of 20 ms was kept after {elapsed:?}; the whole takes {whole:?}"
    );
    session.batch_execute("reset statement_timeout").unwrap();
}

#[test]
fn nobody_is_kept_waiting_by_who_asks_for_much() {
    let queues = messages(300_000);
    let ids = "array(select generate_series(1, 1000000)::bigint)";
    let unknown = "array(select generate_series(1, 1000000)::bigint * 128)";
    for statement in [
        "select count(*) from queue.read('notes', 60, 10, '{\"n\": -1}')".to_owned(),
        format!("select count(*) from queue.delete('notes', {unknown})"),
        format!("select count(*) from queue.set_vt('notes', {ids}, 0)"),
        "select count(*) from queue.peek('notes', 250000)".to_owned(),
        "select count(*) from queue.read('notes', 0, 250000)".to_owned(),
        format!("select count(*) from queue.delete('notes', {ids})"),
    ] {
        let slowest = slowest_send_during(&queues, &statement);
        assert!(slowest < LONGEST_SEND, "a send took {slowest:?} during {statement}");
    }
}

#[test]
fn exception_blocks_cost_little_whatever_else_is_open() {
    let queues = Queues::start();
    let work = |block: &str| {
        format!(
            "do $$ declare taken bigint[]; begin
               for n in 1..4000 loop {block} end loop;
             end $$"
        )
    };
    let read = "taken := array(select msg_id from queue.read('notes', 600, 1)); perform queue.delete('notes', taken);";
    let take = "perform queue.pop('notes', 1);";
    let mut open = queues.session();
    open.batch_execute("create table opened (n int); begin; insert into opened values (1)").unwrap();
    let mut session = queues.session();
    let mut timed = |block: &str| {
        session
            .batch_execute(
                "select queue.create('notes'); select queue.purge_queue('notes');
                 select count(*) from queue.send_batch('notes', array(select to_jsonb(n) from generate_series(1, 4000) n))",
            )
            .unwrap();
        let begin = Instant::now();
        session.batch_execute(&work(block)).unwrap();
        let elapsed = begin.elapsed();
        assert_eq!(number(&mut session, "select count(*) from queue.peek('notes', 1)"), 0);
        elapsed
    };
    for work in [take, read] {
        let plain = timed(work);
        let blocks = timed(&format!("begin {work} exception when others then raise; end;"));
        assert!(blocks < plain * 5, "{work}: {blocks:?} in blocks, {plain:?} without");
    }
}
