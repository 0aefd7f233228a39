//! Queues tell the truth, whatever dies: all that was acknowledged is there once, what was refused is not, leases are kept,
//! and what nobody acknowledged comes again.
//!
//! In a round producers and consumers of every kind use four queues while processes are killed, stopped, ended and
//! cancelled, and the server crashes. Each worker notes what it was told. In the end the queues are emptied, and what was
//! told is compared with what is there.

mod consumers;
mod faults;
mod prepared;
mod producers;
mod truth;
mod world;

use std::collections::HashMap;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use howdah_tests::platform::SOON;
use howdah_tests::{DATABASE, Platform, wait_for};
use hunt::{Hunt, Rng};

use truth::{Found, Log, Row, check_leases};
use world::{Queue, World};

const SHORT: Duration = Duration::from_secs(4);
/// Faults of a round.
const FAULTS: std::ops::Range<u32> = 3..8;
/// What is left of a queue's tables when nothing is left in it: the segment that is written to may have its size, and the
/// largest is 2 MB; a transaction that began before it was full may still be written to it.
const EMPTY: i64 = 4 << 20;

type Work = fn(&World, i32, Rng) -> Log;
/// What workers do.
const WORK: [Work; 12] = [
    producers::send,
    producers::send,
    producers::number,
    producers::number,
    producers::ship,
    producers::ship,
    producers::pour,
    producers::post,
    consumers::take,
    consumers::take,
    consumers::lease,
    consumers::fetch,
];

#[test]
fn queues_tell_the_truth_whatever_dies() {
    let mut hunt = Hunt::begin("crash", SHORT);
    let mut platform = Platform::with(&[
        ("howdah.queue_segment_size", "1MB"),
        ("howdah.queue_dead_letters", "10000000"),
        ("howdah.queue_maintenance", "1s"),
        ("max_prepared_transactions", "20"),
        ("max_connections", "60"),
        // What is acknowledged before it is flushed stays unflushed for long enough.
        ("wal_writer_delay", "10s"),
        ("deadlock_timeout", "100ms"),
        ("log_line_prefix", "%m [%p] %b %e "),
        ("log_statement", "none"),
    ]);
    platform.sql(
        "create type item as (origin integer, number bigint, due bigint, pad text);
         create table taken (queue text, origin integer, number bigint, due bigint);
         select queue.serve()",
    );
    let (web, ports) = (lasting_port(), [0; 4].map(|_| lasting_port()));
    platform.sql(&format!("select http.listen({web}, '127.0.0.1')"));
    let mut rows = 0;
    while let Some(random) = hunt.next_round() {
        rows += round(&mut platform, web, ports, hunt.rounds(), random);
    }
    assert!(rows > 0, "nothing was sent");
}

/// A port that no connection gets as its own while the server is down: below those that Linux gives to connections.
fn lasting_port() -> u16 {
    loop {
        let port = fastrand::u16(10_000..32_000);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// One round; how many rows were found to be what they should.
fn round(platform: &mut Platform, web: u16, ports: [u16; 4], number: u64, mut random: Rng) -> usize {
    let world = world(platform, web, ports, number, &mut random);
    let told = Told::from_here(platform);
    let crowd = crowd(&mut random);
    let workers: Vec<(Work, i32, Rng)> =
        (1..).zip(crowd).map(|(origin, work)| (work, origin, Rng::with_seed(random.u64(..)))).collect();
    let upkeep = Rng::with_seed(random.u64(..));
    let mut log = Log::default();
    thread::scope(|scope| {
        let world = &world;
        let workers: Vec<_> = workers
            .into_iter()
            .map(|(work, origin, random)| scope.spawn(move || work(world, origin, random)))
            .collect();
        let upkeep = (workers.len() > 3).then(|| scope.spawn(move || faults::upkeep(world, upkeep)));
        let over = End(world);
        for _ in 0..random.u32(FAULTS) {
            thread::park_timeout(Duration::from_millis(random.u64(20..400)));
            let before = world.steps.load(SeqCst);
            wait_for("something is done", || {
                world.steps.load(SeqCst) > before + 10 * workers.len()
                    || workers.iter().any(|worker| worker.is_finished())
            });
            if workers.iter().any(|worker| worker.is_finished()) {
                break;
            }
            faults::strike(platform, world, &mut random);
        }
        drop(over);
        workers.into_iter().for_each(|worker| log.add(worker.join().expect("no panic")));
        upkeep.into_iter().for_each(|upkeep| upkeep.join().expect("no panic"));
    });
    let rows = check(platform, &world, log, &mut random);
    told.expect_no_fault_of_ours();
    rows
}

/// What the server says in its log during a round.
struct Told {
    path: PathBuf,
    from: usize,
}

impl Told {
    fn from_here(platform: &Platform) -> Told {
        Told { path: platform.cluster.log(), from: platform.log().len() }
    }

    /// Lines that tell of processes that died, and of what must never be said.
    fn deaths(&self) -> Vec<String> {
        let log = fs::read(&self.path).unwrap_or_default();
        let log = String::from_utf8_lossy(log.get(self.from..).unwrap_or_default()).into_owned();
        let words = ["PANIC", "panicked", "by signal", "TRAP", " XX", "invalid page", "Failed process"];
        log.lines().filter(|line| words.iter().any(|word| line.contains(word))).map(str::to_owned).collect()
    }

    /// Who dies is killed; nobody dies otherwise, or finds what cannot be.
    fn expect_no_fault_of_ours(&self) {
        let is_killed =
            |line: &String| line.contains("by signal 9: Killed") || line.contains("Failed process");
        let others: Vec<String> = self.deaths().into_iter().filter(|line| !is_killed(line)).collect();
        assert!(others.is_empty(), "{others:#?}");
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("The server says: {:#?}", self.deaths());
        }
    }
}

/// Who takes part: mostly all; or some; or those alone whose rows nobody else's commit takes to the disk.
fn crowd(random: &mut Rng) -> Vec<Work> {
    let mut all = WORK.to_vec();
    match random.u8(..5) {
        0 => vec![producers::ship; random.usize(1..4)],
        1 => {
            random.shuffle(&mut all);
            all.truncate(random.usize(1..6));
            all
        }
        _ => all,
    }
}

/// Ends the round, also by a panic: else nobody would wait for it but the workers, for ever.
struct End<'a>(&'a World);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.failed.store(thread::panicking(), SeqCst);
        self.0.over.store(true, SeqCst);
    }
}

fn world(platform: &Platform, web: u16, ports: [u16; 4], number: u64, random: &mut Rng) -> World {
    let mut queue = |name: &str, port, unlogged, max_reads| {
        let queue =
            Queue { name: format!("{name}_{number}"), typed: random.bool(), unlogged, max_reads, port };
        let (name, port) = (&queue.name, queue.port);
        let row_type = if queue.typed { "'item'" } else { "null" };
        let max_reads = max_reads.map_or("null".into(), |reads: i32| reads.to_string());
        platform.sql(&format!(
            "select queue.create('{name}', row_type => {row_type}, unlogged => {unlogged}, max_reads => {max_reads});
             select queue.listen({port}, queue => '{name}', address => '127.0.0.1', bucket_rows => 50);
             select queue.grant('{name}', 'send', 'howdah_web'), queue.grant('{name}', 'take', 'howdah_web')"
        ));
        queue
    };
    let queues = vec![
        queue("first", ports[0], false, None),
        queue("second", ports[1], false, None),
        queue("light", ports[2], true, None),
        queue("worn", ports[3], false, Some(2)),
    ];
    World {
        connection: platform.cluster.connection_string(DATABASE).expect("a socket"),
        web,
        queues,
        over: AtomicBool::new(false),
        failed: AtomicBool::new(false),
        crashes: AtomicU32::new(0),
        faults: AtomicU32::new(0),
        steps: AtomicUsize::new(0),
    }
}

/// Empties the queues and compares what was there with what workers were told.
fn check(platform: &Platform, world: &World, mut log: Log, random: &mut Rng) -> usize {
    wait_for("all lines are written", || {
        platform.count("queue.connections") == 0 && platform.count("queue.listeners where bound is null") == 0
    });
    let mut session = world.session();
    let mut found = Found::default();
    for (number, queue) in world.queues.iter().enumerate() {
        let name = &queue.name;
        let metrics = format!("select queue_length, queue_visible_length from queue.metrics('{name}')");
        // Leases and delays are over, and none has been forgotten.
        let mut length = 0;
        wait_for("all rows may be taken", || {
            let counts = session.query_one(&metrics, &[]).expect("metrics");
            length = counts.get(0);
            length == counts.get::<_, i64>(1)
        });
        let buried = platform.count("queue.dead_letter where listener is null");
        let mut left: Vec<Row> = Vec::new();
        loop {
            let count = random.i64(1..3000);
            let rows = match random.bool() {
                true => consumers::taken(&mut session, queue, count).expect("rows"),
                false => {
                    let reads = consumers::leased(&mut session, queue, count, 60).expect("rows");
                    if reads.is_empty() {
                        consumers::taken(&mut session, queue, count).expect("rows")
                    } else {
                        let all: Vec<&truth::Read> = reads.iter().collect();
                        session
                            .batch_execute(&consumers::removal(queue, &all, false))
                            .expect("they are removed");
                        let rows = reads.iter().map(|read| read.row).collect();
                        log.reads.extend(reads.into_iter().map(|read| (number, read)));
                        rows
                    }
                }
            };
            if rows.is_empty() {
                break;
            }
            left.extend(rows);
        }
        let buried = platform.count("queue.dead_letter where listener is null") - buried;
        assert_eq!(left.len() as i64 + buried, length, "{name} has as many rows as it says");
        left.iter().for_each(|row| *found.left.entry((number, *row)).or_default() += 1);
        look(platform, number, queue, &mut found);
    }
    found.check(world, &log);
    check_leases(world, &log);
    for queue in &world.queues {
        expect_space(platform, queue);
        platform.sql(&format!(
            "select queue.unlisten({}); select queue.drop_queue('{}')",
            queue.port, queue.name
        ));
    }
    platform.sql("truncate taken");
    log.sent.iter().map(|sent| sent.numbers.clone().count()).sum()
}

/// What consumers have noted, what was archived, and what is a dead letter.
fn look(platform: &Platform, number: usize, queue: &Queue, found: &mut Found) {
    let name = &queue.name;
    let mut session = platform.session();
    let mut gather = |query: &str, place: &mut HashMap<(usize, Row), u32>| {
        for row in session.query(query, &[]).unwrap_or_else(|error| panic!("{error:?}\n{query}")) {
            let row = Row { origin: row.get(0), number: row.get(1) };
            *place.entry((number, row)).or_default() += 1;
        }
    };
    gather(&format!("select origin, number from taken where queue = '{name}'"), &mut found.taken);
    // What was found by emptying the queue is in the table, too.
    for (at, count) in found.left.iter().filter(|(at, _)| at.0 == number) {
        let noted = found.taken.get_mut(at).expect("what was taken is noted");
        *noted = noted.saturating_sub(*count);
    }
    found.taken.retain(|_, count| *count > 0);
    let json = |of: &str| format!("({of} ->> 'origin')::int, ({of} ->> 'number')::bigint");
    if !queue.typed {
        gather(&format!("select {} from queue.\"a_{name}\"", json("message")), &mut found.archived);
    }
    let of_queue = format!("queue.dead_letters where queue_name = '{name}'");
    gather(&format!("select {} from {of_queue} and message is not null", json("message")), &mut found.buried);
    let line = "convert_from(line, 'UTF8')";
    gather(
        &format!(
            "select substring({line} from '\"origin\":(\\d+)')::int, substring({line} from '\"number\":(\\d+)')::bigint
             from {of_queue} and message is null and {line} ~ ',\"bad\"}}$'"
        ),
        &mut found.buried,
    );
    let reads = queue.max_reads.unwrap_or(0);
    let other = platform.count(&format!("{of_queue} and message is not null and read_ct <> {reads}"));
    assert_eq!(other, 0, "dead letters of {name} that were not read {reads} times");
}

/// What is empty takes no space.
fn expect_space(platform: &Platform, queue: &Queue) {
    let name = &queue.name;
    let tables = format!(
        "from pg_class c join queue.queue q on q.name = '{name}'
         where c.relnamespace = 'queue'::regnamespace and c.relname ~ ('^(rows|ledger)_' || q.id || '_[123]$')"
    );
    let sum = format!("select sum(pg_total_relation_size(c.oid))::bigint::text {tables}");
    let each = format!("select string_agg(c.relname || ' ' || pg_total_relation_size(c.oid), ', ') {tables}");
    let begin = Instant::now();
    let mut session = platform.session();
    loop {
        session.batch_execute(&format!("select queue.maintain('{name}')")).expect("upkeep");
        if platform.value(&sum).expect("a size").parse::<i64>().expect("a number") < EMPTY {
            return;
        }
        assert!(begin.elapsed() < SOON, "{name} is empty and takes space: {:?}", platform.value(&each));
        thread::park_timeout(Duration::from_millis(50));
    }
}
