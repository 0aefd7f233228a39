//! Nothing that somebody asks of a queue keeps others from it, costs memory without bound, or cannot be cancelled.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cluster::postgres::Client;
use howdah_tests::Platform;
use howdah_tests::bounds;
use howdah_tests::platform::SOON;
use howdah_tests::queues::{BIP, Queues, error, number};
use howdah_tests::stalls::Stalls;

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

/// Runs a statement while others send; how long the slowest send took, without what the machine stood still.
fn slowest_send_during(queues: &Queues, statement: &str) -> Duration {
    let mut sender = queues.session();
    let send = "select queue.send('notes', '{}')";
    sender.batch_execute(send).unwrap();
    let stalls = Stalls::watch();
    let slowest = thread::scope(|scope| {
        let work = scope.spawn(|| queues.session().batch_execute(statement));
        let mut slowest = Duration::ZERO;
        while !work.is_finished() {
            let begin = Instant::now();
            sender.batch_execute(send).unwrap();
            slowest = slowest.max(begin.elapsed());
        }
        work.join().unwrap().unwrap();
        slowest
    });
    slowest.saturating_sub(stalls.longest())
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
    bounds::LIMIT_IS_KEPT.check_against(elapsed, whole / 2);
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
        println!("{statement}");
        bounds::SEND_BESIDE_MUCH.check(slowest);
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
        bounds::BLOCKS_COST_LITTLE.check_against(blocks, plain * 5);
    }
}

/// The longest wait for a lock, as the log has it of those that are worth a line.
fn longest_lock_wait(platform: &Platform) -> Duration {
    let log = platform.log();
    let waits = log.lines().filter_map(|line| {
        let (_, after) = line.split_once(" acquired ")?.1.rsplit_once(" after ")?;
        after.strip_suffix(" ms")?.parse().ok()
    });
    Duration::from_secs_f64(waits.fold(0.0, f64::max) / 1000.0)
}

/// An idle executor looks after queues all the time.
fn looked_after() -> Platform {
    let settings = [
        ("howdah.queue_maintenance", "100ms"),
        ("howdah.queue_segment_size", "16MB"),
        ("log_lock_waits", "on"),
        ("deadlock_timeout", "30ms"),
    ];
    let platform = Platform::with(&settings);
    platform.sql(&format!(
        "{BIP}; select queue.create('bips', row_type => 't_bip'); select queue.create('notes');
         select queue.create('other')"
    ));
    platform
}

/// Does something again and again until the tables of the first segment of a queue are small; how much longer it took at the longest
/// than what somebody does with another queue meanwhile: the machine may be busy.
fn slowest_until_truncated(
    platform: &Platform,
    queue: i32,
    mut work: impl FnMut(&mut Client, i64),
) -> Duration {
    let (mut session, mut watcher, mut elsewhere) =
        (platform.session(), platform.session(), platform.session());
    let size = format!(
        "select pg_relation_size('queue.rows_{queue}_1') + pg_relation_size('queue.ledger_{queue}_1')"
    );
    let (over, began) = (AtomicBool::new(false), Instant::now());
    let over = &over;
    thread::scope(|scope| {
        let others = scope.spawn(move || {
            let mut slowest = Duration::ZERO;
            while !over.load(Ordering::Relaxed) {
                slowest =
                    slowest.max(time(|| elsewhere.batch_execute("select queue.send('other', '1')").unwrap()));
            }
            slowest
        });
        let (mut slowest, mut count) = (Duration::ZERO, 0);
        while (count % 10 != 0 || count == 0 || number(&mut watcher, &size) > 1 << 20)
            && began.elapsed() < SOON * 3
        {
            count += 1;
            slowest = slowest.max(time(|| work(&mut session, count)));
        }
        over.store(true, Ordering::Relaxed);
        assert!(number(&mut watcher, &size) <= 1 << 20, "the segment is not truncated");
        slowest.saturating_sub(others.join().unwrap())
    })
}

/// How long something takes.
fn time(work: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    work();
    begin.elapsed()
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it takes long: make test-long")]
fn producers_by_the_hundred_thousand_are_carried_over_while_others_send() {
    const PRODUCERS: i64 = 200_000;
    let platform = looked_after();
    let put = |first: i64, last: i64| {
        format!(
            "select queue.put('bips', array(select row(null, n, 1, 2, repeat('x', 100), 'user')::t_bip
               from generate_series({first}, {last}) n))"
        )
    };
    // Each has sent one row, as a restore would have it.
    platform.sql(&format!(
        "{}; insert into queue.ledger_1_1
           select 1, now(), now(), now(), 0, 0, 0, 0, 'producer ' || n, 1, n from generate_series(1, {PRODUCERS}) n;
         {}; {}", put(1, 2), put(1, 150_000), put(1, 10)
    ));
    assert_eq!(platform.count("queue.take('bips', 150002, null::t_bip)"), 150_002);
    let slowest = slowest_until_truncated(&platform, 1, |session, sequence| {
        let one = "array[row(null, 1, 1, 2, 'bip', 'user')::t_bip]";
        let sent = format!("select queue.put('bips', {one}, 'sender', 1, {sequence})");
        assert_eq!(number(session, &sent), 1);
    });
    let waited = longest_lock_wait(&platform);
    bounds::LOCK_OF_UPKEEP.check(waited);
    bounds::SEND_BESIDE_UPKEEP.check(slowest);
    // Nobody is forgotten, be it where dumps look.
    assert_eq!(platform.count("queue.producers('bips')"), PRODUCERS + 1);
    let far = "queue.producers('bips') where producer = 'producer ' || sequence and epoch = 1";
    assert_eq!(platform.count(far), PRODUCERS);
    // It is done once: what is carried over is larger than a segment, and yet leaves room in it.
    let files = "select string_agg(pg_relation_filenode(oid)::text, ' ') from pg_class where relname ~ '^ledger_1_[1-3]$'";
    let before = platform.value(files);
    for _ in 0..20 {
        platform.sql(&put(1, 1));
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(platform.value(files), before);
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it takes long: make test-long")]
fn survivors_by_the_hundred_thousand_make_room_while_others_send() {
    const STAY: i64 = 150_000;
    let platform = looked_after();
    let send = |count: i64, delay: i64| {
        format!(
            "select count(*) from queue.send_batch('notes',
               array(select to_jsonb(repeat('x', 100)) from generate_series(1, {count}) n), {delay})"
        )
    };
    let mut session = platform.session();
    for _ in 0..10 {
        session
            .batch_execute(&format!("begin; {}; {}; commit", send(60_000, 0), send(STAY / 10, 86400)))
            .unwrap();
    }
    assert_eq!(platform.count("queue.pop('notes', 600000)"), 600_000);
    let mut sent = 0;
    let slowest = slowest_until_truncated(&platform, 2, |session, _| {
        sent += 1;
        session.batch_execute("select queue.send('notes', '\"sent\"')").unwrap();
    });
    let waited = longest_lock_wait(&platform);
    bounds::LOCK_OF_UPKEEP.check(waited);
    bounds::SEND_BESIDE_UPKEEP.check(slowest);
    let length = "select queue_length from queue.metrics('notes')";
    assert_eq!(number(&mut session, length), STAY + sent);
    let free =
        "select count(*) from queue.set_vt('notes', array(select generate_series(1, 750000)::bigint), 0)";
    assert_eq!(number(&mut session, free), STAY);
    // What an executor moves just then is left to the next call.
    let pop = "select count(*), count(*) filter (where before > msg_id)
        from (select msg_id, lag(msg_id) over () before from queue.pop('notes', 1000000)) popped";
    let (mut popped, began) = (0, Instant::now());
    while popped < STAY + sent && began.elapsed() < SOON {
        let row = session.query_one(pop, &[]).unwrap();
        popped += row.get::<_, i64>(0);
        assert_eq!(row.get::<_, i64>(1), 0, "all in order");
    }
    assert_eq!(popped, STAY + sent);
}

/// What takes long over much, and is to be cancelled in time. Nothing of it may have happened afterwards.
const MUCH: [&str; 15] = [
    "select count(*) from queue.delete('notes', array(select generate_series(1, 150000)::bigint))",
    "select count(*) from queue.set_vt('notes', array(select generate_series(1, 150000)::bigint), 60)",
    "select count(*) from queue.archive('notes', array(select generate_series(1, 150000)::bigint))",
    "select count(*) from queue.read('notes', 60, 150000)",
    "select count(*) from queue.pop('notes', 150000)",
    "select count(*) from queue.peek('notes', 150000)",
    "select queue_length from queue.metrics('notes')",
    "select queue.purge_queue('notes')",
    "select queue.maintain('gone')",
    "select count(*) from queue.read('bips', 150000, '1 minute', null::t_bip)",
    "select count(*) from queue.ack('bips', array(select generate_series(1, 150000)::bigint))",
    "select count(*) from queue.nack('bips', array(select generate_series(1, 150000)::bigint), 60)",
    "select count(*) from queue.producers('bips')",
    "select queue.redrive('notes')",
    "select queue.discard_dead_letters('notes')",
];

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it takes long: make test-long")]
fn whatever_is_asked_for_much_is_cancelled_in_time() {
    let queues = Queues::start();
    let send = |queue: &str| {
        format!(
            "select queue.create('{queue}'); select queue.send('{queue}', to_jsonb(n)) from generate_series(1, 150000) n"
        )
    };
    queues.sql(&format!(
        "{}; {};
         select count(*) from queue.delete('gone', array(select generate_series(1, 150000)::bigint));
         select queue.put('bips', row(null, n, 1, 2, 'bip', 'user')::t_bip) from generate_series(1, 150000) n;
         insert into queue.ledger_1_1
           select 1, now(), now(), now(), 0, 0, 0, 0, 'producer ' || n, 1, n from generate_series(1, 150000) n;
         insert into queue.dead_letter (queue, msg_id, read_ct, message, error)
           select id, n, 5, '1', 'read' from queue.queue, generate_series(1, 150000) n where name = 'notes'",
        send("notes"),
        send("gone")
    ));
    let state = "select (select queue_visible_length from queue.metrics('notes'))
        + (select queue_visible_length from queue.metrics('bips')) + (select count(*) from queue.dead_letters)
        + (select count(*) from queue.producers('bips')) + (select queue_length from queue.metrics('gone'))";
    let mut session = queues.session();
    session.batch_execute("set statement_timeout = '10ms'").unwrap();
    for statement in MUCH {
        let (stalls, begin) = (Stalls::watch(), Instant::now());
        let raised = error(&mut session, statement);
        let elapsed = begin.elapsed().saturating_sub(stalls.longest());
        assert!(raised.starts_with("57014"), "{raised}: {statement}");
        println!("{statement}");
        bounds::MUCH_IS_CANCELLED.check(elapsed);
        assert_eq!(queues.number(state), 600_000, "after {statement}");
    }
    assert_eq!(queues.number("select queue.maintain('gone')::bigint"), 0);
    let popped = "select count(*) from (select msg_id, lag(msg_id) over () before from queue.pop('notes', 1000000)) popped
        where before is null or before < msg_id";
    assert_eq!(queues.number(popped), 150_000);
}
