//! A transaction that is held open, by a report or a backup, is nothing to a queue: no dead rows pile up, and what a take
//! touches stays the same.

use cluster::postgres::Client;
use howdah_tests::queues::{buffers, number};
use howdah_tests::shippers::{Intake, Shipper, bips};

/// Work with a batch: its name, and how `{n}` rows are put in and as many taken out.
struct Work {
    name: &'static str,
    put: Put,
    take: &'static str,
}

enum Put {
    /// By a statement.
    Sql(&'static str),
    /// Lines of a producer, until they are acknowledged.
    Wire,
}

const TAKE_ROWS: &str = "select count(*) from queue.take('bips', {n}, null::t_bip)";
const READ_AND_DELETE: &str =
    "select count(*) from (select array_agg(msg_id) ids from queue.read('m', 600, {n})) a,
    queue.delete('m', a.ids)";

const WORKS: [Work; 4] = [
    Work {
        name: "typed rows",
        put: Put::Sql(
            "select queue.put('bips', array(select row(null, n, 1, 2, 'bip ' || n, 'user')::t_bip from generate_series(1, {n}) n))",
        ),
        take: TAKE_ROWS,
    },
    Work { name: "lines by wire", put: Put::Wire, take: TAKE_ROWS },
    Work {
        name: "messages",
        put: Put::Sql(
            "select queue.send_batch('m', array(select to_jsonb('message ' || n) from generate_series(1, {n}) n))",
        ),
        take: READ_AND_DELETE,
    },
    Work {
        name: "messages that are sent one by one",
        put: Put::Sql(
            "do $$ begin for n in 1..{n} loop perform queue.send('m', to_jsonb('message ' || n)); commit; end loop; end $$",
        ),
        take: READ_AND_DELETE,
    },
];

/// Batches, and how many of them are worked off in the short test.
const BATCHES: [(i64, usize); 3] = [(1, 600), (100, 40), (1000, 14)];

/// A server, and who works with it.
struct Server {
    intake: Intake,
    session: Client,
    shipper: Shipper,
    /// Lines that the shipper has sent.
    sent: i64,
}

impl Server {
    fn start() -> Server {
        // Small segments, so that some are truncated.
        let intake = Intake::with(&[("howdah.queue_segment_size", "1MB")], "");
        intake.platform.sql("select queue.create('m')");
        let (session, shipper) = (intake.platform.session(), intake.hello("p", 1));
        Server { intake, session, shipper, sent: 0 }
    }

    /// A transaction that holds its snapshot for as long as the session lives.
    fn pin(&self) -> Client {
        let mut pin = self.intake.platform.session();
        pin.batch_execute("begin isolation level repeatable read; select count(*) from queue.queue").unwrap();
        pin
    }

    fn put(&mut self, work: &Work, batch: i64) {
        match work.put {
            Put::Sql(statement) => {
                self.session.batch_execute(&statement.replace("{n}", &batch.to_string())).unwrap();
            }
            Put::Wire => {
                self.shipper.send(&bips(1, batch));
                self.sent += batch;
                self.shipper.wait_for_ack(self.sent);
            }
        }
    }

    fn cycle(&mut self, work: &Work, batch: i64) {
        self.put(work, batch);
        self.session.batch_execute(&work.take.replace("{n}", &batch.to_string())).unwrap();
    }

    /// Pages that taking a batch touches: the median of so many that the largest batches fill more than one segment, as a take
    /// touches more of a segment that is nearly full. After a truncation a session reads anew what the catalog says of the
    /// segment's tables, and a batch may lie in two segments.
    fn pages(&mut self, work: &Work, batch: i64) -> i64 {
        let mut counts = [0; 21].map(|_: i64| {
            self.put(work, batch);
            buffers(&mut self.session, &work.take.replace("{n}", &batch.to_string()))
        });
        counts.sort_unstable();
        counts[10]
    }
}

/// Dead rows in all tables, those of the catalog included: in `pg_class`, where a truncation leaves one for each table and
/// index, and in the others.
fn dead_rows(session: &mut Client) -> (i64, i64) {
    session.batch_execute("select pg_stat_force_next_flush()").unwrap();
    let mut of = |which: &str| {
        number(session, &format!("select sum(n_dead_tup)::bigint from pg_stat_all_tables where {which}"))
    };
    (of("relid = 'pg_class'::regclass"), of("relid <> 'pg_class'::regclass"))
}

#[test]
fn no_dead_rows_pile_up_and_a_take_touches_as_many_pages_as_before() {
    let mut server = Server::start();
    for work in &WORKS {
        for (batch, _) in BATCHES {
            // What is read once, and the first segments.
            (0..3).for_each(|_| server.cycle(work, batch));
        }
    }
    let _pin = server.pin();
    let (in_pg_class, _) = dead_rows(&mut server.session);
    let mut all = 0;
    for work in &WORKS {
        for (batch, count) in BATCHES {
            let ((_, dead), pages) = (dead_rows(&mut server.session), server.pages(work, batch));
            (0..count).for_each(|_| server.cycle(work, batch));
            let (dead, later) = (dead_rows(&mut server.session).1 - dead, server.pages(work, batch));
            let rows = batch * count as i64;
            all += rows;
            assert!(100 * dead < rows, "{}, batches of {batch}: {dead} dead rows after {rows}", work.name);
            assert!(
                later <= pages + pages / 5 + 20,
                "{}, batches of {batch}: a take touches {later} pages, before {pages}",
                work.name
            );
        }
    }
    // Segments are a 64th of what they usually are, and truncated as often as that.
    let dead = dead_rows(&mut server.session).0 - in_pg_class;
    assert!(100 * dead < all, "{dead} dead rows in pg_class after {all}");
}

#[cfg(feature = "long")]
mod for_minutes {
    use std::time::{Duration, Instant};

    use super::{BATCHES, Server, WORKS, Work};

    const PINNED: Duration = Duration::from_secs(300);
    const SLICE: Duration = Duration::from_millis(400);
    /// Two slices of the same work on the same server that differ by more say nothing.
    const NOISE: f64 = 0.1;
    /// Parts of each case that say something.
    const ENOUGH: usize = 11;

    /// Rows per second that go in and out.
    fn rate(server: &mut Server, work: &Work, batch: i64) -> f64 {
        let (begin, mut rows) = (Instant::now(), 0);
        while begin.elapsed() < SLICE {
            server.cycle(work, batch);
            rows += batch;
        }
        rows as f64 / begin.elapsed().as_secs_f64()
    }

    /// The pinned server's rate as a part of the other's, unless something else has had the machine meanwhile. Both have as
    /// many slices: one that had more would be further with its WAL, and one that reuses files of WAL is faster than one
    /// that still makes them.
    fn part(free: &mut Server, pinned: &mut Server, work: &Work, batch: i64) -> Option<f64> {
        let first = rate(free, work, batch);
        let between = [rate(pinned, work, batch), rate(pinned, work, batch)];
        let without = steady([first, rate(free, work, batch)])?;
        Some(steady(between)? / without)
    }

    /// The mean of two slices, if they say something.
    fn steady([one, other]: [f64; 2]) -> Option<f64> {
        let mean = f64::midpoint(one, other);
        ((one - other).abs() < NOISE * mean).then_some(mean)
    }

    fn median(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }

    #[test]
    fn rates_stay_what_they_are_without_it() {
        let (mut free, mut pinned) = (Server::start(), Server::start());
        let _pin = pinned.pin();
        let cases: Vec<_> = WORKS.iter().flat_map(|work| BATCHES.map(|(batch, _)| (work, batch))).collect();
        let mut parts = vec![Vec::new(); cases.len()];
        let begin = Instant::now();
        while begin.elapsed() < PINNED || parts.iter().any(|parts| parts.len() < ENOUGH) {
            assert!(begin.elapsed() < 4 * PINNED, "the machine is too busy to tell");
            let late = begin.elapsed() > PINNED;
            for ((work, batch), parts) in cases.iter().zip(&mut parts) {
                if !late || parts.len() < ENOUGH {
                    parts.extend(part(&mut free, &mut pinned, work, *batch));
                }
            }
        }
        for ((work, batch), parts) in cases.iter().zip(parts) {
            let part = median(parts);
            assert!(
                part >= 0.95,
                "{}, batches of {batch}: {:.0} % of the rate without it",
                work.name,
                100.0 * part
            );
        }
    }
}
