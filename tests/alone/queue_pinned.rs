//! A transaction that is held open, by a report or a backup, is nothing to a queue: no dead rows pile up, and what a take
//! touches stays the same.

use cluster::postgres::Client;
use howdah_tests::queues::{Queues, buffers, number};

/// Work with a batch: its name, and the statements that put `{n}` rows in and take as many out.
struct Work {
    name: &'static str,
    put: &'static str,
    take: &'static str,
}

const WORKS: [Work; 2] = [
    Work {
        name: "typed rows",
        put: "select queue.put('bips', array(select row(null, n, 1, 2, 'bip ' || n, 'user')::t_bip from generate_series(1, {n}) n))",
        take: "select count(*) from queue.take('bips', {n}, null::t_bip)",
    },
    Work {
        name: "messages",
        put: "select queue.send_batch('m', array(select to_jsonb('message ' || n) from generate_series(1, {n}) n))",
        take: "select count(*) from (select array_agg(msg_id) ids from queue.read('m', 600, {n})) a,
            queue.delete('m', a.ids)",
    },
];

/// Batches, and how many of them are worked off in the short test.
const BATCHES: [(i64, usize); 3] = [(1, 600), (100, 40), (1000, 14)];

fn start() -> Queues {
    // Small segments, so that some are truncated.
    let queues = Queues::with(&[("howdah.queue_segment_size", "1MB")]);
    queues.sql("select queue.create('m')");
    queues
}

/// A transaction that holds its snapshot for as long as the session lives.
fn pin(queues: &Queues) -> Client {
    let mut pin = queues.session();
    pin.batch_execute("begin isolation level repeatable read; select count(*) from queue.queue").unwrap();
    pin
}

impl Work {
    fn cycle(&self, session: &mut Client, batch: i64) {
        for statement in [self.put, self.take] {
            session.batch_execute(&statement.replace("{n}", &batch.to_string())).unwrap();
        }
    }

    /// Pages that taking a batch touches.
    fn pages(&self, session: &mut Client, batch: i64) -> i64 {
        let statement = |text: &str| text.replace("{n}", &batch.to_string());
        session.batch_execute(&statement(self.put)).unwrap();
        buffers(session, &statement(self.take))
    }
}

/// Dead rows in all tables, those of the catalog included.
fn dead_rows(session: &mut Client) -> i64 {
    session.batch_execute("select pg_stat_force_next_flush()").unwrap();
    number(session, "select sum(n_dead_tup)::bigint from pg_stat_all_tables")
}

#[test]
fn no_dead_rows_pile_up_and_a_take_touches_as_many_pages_as_before() {
    let queues = start();
    let mut session = queues.session();
    for work in &WORKS {
        for (batch, _) in BATCHES {
            // What is read once, and the first segments.
            (0..3).for_each(|_| work.cycle(&mut session, batch));
        }
    }
    let _pin = pin(&queues);
    for work in &WORKS {
        for (batch, count) in BATCHES {
            let (dead, pages) = (dead_rows(&mut session), work.pages(&mut session, batch));
            (0..count).for_each(|_| work.cycle(&mut session, batch));
            let (dead, later) = (dead_rows(&mut session) - dead, work.pages(&mut session, batch));
            let rows = batch * count as i64;
            assert!(100 * dead < rows, "{}, batches of {batch}: {dead} dead rows after {rows}", work.name);
            assert!(
                later <= pages + pages / 5 + 20,
                "{}, batches of {batch}: a take touches {later} pages, before {pages}",
                work.name
            );
        }
    }
}

#[cfg(feature = "long")]
mod for_two_minutes {
    use std::time::{Duration, Instant};

    use super::{BATCHES, WORKS, Work, pin, start};
    use cluster::postgres::Client;

    const PINNED: Duration = Duration::from_secs(120);
    const SLICE: Duration = Duration::from_millis(700);

    /// Rows per second that go in and out.
    fn rate(work: &Work, session: &mut Client, batch: i64) -> f64 {
        let (begin, mut rows) = (Instant::now(), 0);
        while begin.elapsed() < SLICE {
            work.cycle(session, batch);
            rows += batch;
        }
        rows as f64 / begin.elapsed().as_secs_f64()
    }

    fn median(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }

    /// Two servers work in turn, slice by slice: whatever else the machine does, it does to both.
    #[test]
    fn rates_stay_what_they_are_without_it() {
        let (free, pinned) = (start(), start());
        let _pin = pin(&pinned);
        let cases: Vec<_> = WORKS.iter().flat_map(|work| BATCHES.map(|(batch, _)| (work, batch))).collect();
        let mut rates = vec![(Vec::new(), Vec::new()); cases.len()];
        let (mut at_free, mut at_pinned) = (free.session(), pinned.session());
        let begin = Instant::now();
        while begin.elapsed() < PINNED {
            for ((work, batch), (free, pinned)) in cases.iter().zip(&mut rates) {
                free.push(rate(work, &mut at_free, *batch));
                pinned.push(rate(work, &mut at_pinned, *batch));
            }
        }
        for ((work, batch), (free, pinned)) in cases.iter().zip(rates) {
            let middle = median(free.clone());
            // How far the slices without it lie from each other.
            let noise = median(free.iter().map(|rate| (rate - middle).abs()).collect()) / middle;
            let ratio = median(free.iter().zip(&pinned).map(|(free, pinned)| pinned / free).collect());
            assert!(
                ratio >= 0.95 - noise.min(0.15),
                "{}, batches of {batch}: {:.0} % of the rate without it, noise {:.0} %",
                work.name,
                100.0 * ratio,
                100.0 * noise
            );
        }
    }
}
