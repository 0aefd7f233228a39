//! Who receives: takes and leases by SQL and over HTTP. What is removed by SQL is noted in a table by the transaction that
//! removes it, so that there is no doubt of it.

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use cluster::postgres::Client;
use howdah_tests::{Connection, Reply};
use hunt::Rng;

use super::prepared::{Pending, settle};
use super::truth::{Given, Log, Read, Row};
use super::world::{Outcome, Queue, World, ask, now, run};

/// Takes rows, in transactions of every form.
pub(super) fn take(world: &World, worker: i32, mut random: Rng) -> Log {
    let mut log = Log::default();
    world.work(&mut log, |session, log| {
        let queue = world.any(&mut random, |_| true);
        let take_some = |session: &mut Client, random: &mut Rng| {
            let most = if random.bool() { 30 } else { 2000 };
            let count = random.i64(1..most);
            taken(session, &world.queues[queue], count).map(|rows| (queue, rows))
        };
        if random.u8(..10) < 3 {
            match take_some(session, &mut random) {
                Ok((_, rows)) if rows.is_empty() => rest(),
                Ok((queue, rows)) => log.taken.extend(rows.into_iter().map(|row| (queue, row))),
                Err(_) => {}
            }
            return;
        }
        let mut kept = Vec::new();
        let mut parts = || -> Result<(), Outcome> {
            ask(session, "begin")?;
            kept.push(take_some(session, &mut random)?);
            if random.bool() {
                ask(session, "savepoint s")?;
                take_some(session, &mut random)?;
                ask(session, "rollback to s")?;
            } else if random.bool() {
                ask(session, "savepoint s")?;
                kept.push(take_some(session, &mut random)?);
                ask(session, "release s")?;
            }
            kept.push(take_some(session, &mut random)?);
            Ok(())
        };
        if parts().is_err() {
            run(session, "rollback");
            return;
        }
        let outcome = match random.u8(..10) {
            0 | 1 => {
                run(session, "rollback");
                return;
            }
            2 => return *session = world.session(),
            3 | 4 => settle(world, session, &mut Pending::new(worker, &mut random)),
            _ => run(session, "commit"),
        };
        if outcome == Outcome::Done {
            log.taken.extend(
                kept.into_iter().flat_map(|(queue, rows)| rows.into_iter().map(move |row| (queue, row))),
            );
        }
    });
    log
}

fn rest() {
    thread::park_timeout(Duration::from_millis(5));
}

/// Takes rows and notes them in the table; they come in the order of arrival, and not before their time.
pub(super) fn taken(session: &mut Client, queue: &Queue, count: i64) -> Result<Vec<Row>, Outcome> {
    let name = &queue.name;
    let from = match queue.typed {
        true => format!("select origin, number, due from queue.take('{name}', {count}, null::item)"),
        false => format!(
            "select (message ->> 'origin')::int, (message ->> 'number')::bigint, (message ->> 'due')::bigint
             from queue.pop('{name}', {count})"
        ),
    };
    let rows = ask(
        session,
        &format!(
            "with gone (origin, number, due) as ({from})
             insert into taken select '{name}', * from gone returning origin, number, due"
        ),
    )?;
    let now = now();
    let rows = rows.iter().map(|row| {
        assert!(row.get::<_, i64>(2) <= now, "a row comes before its time");
        Row { origin: row.get(0), number: row.get(1) }
    });
    let rows: Vec<Row> = rows.collect();
    expect_order(&rows);
    Ok(rows)
}

/// What one call hands out is in the order of arrival, so the rows of a producer are in the order of their numbers.
pub(super) fn expect_order(rows: &[Row]) {
    let mut last: HashMap<i32, i64> = HashMap::new();
    for row in rows {
        let before = last.insert(row.origin, row.number).unwrap_or(0);
        assert!(before < row.number, "of producer {} row {} comes after {before}", row.origin, row.number);
    }
}

/// Leases rows and acknowledges them, gives them back, archives them, or leaves them.
pub(super) fn lease(world: &World, _worker: i32, mut random: Rng) -> Log {
    let mut log = Log::default();
    world.work(&mut log, |session, log| {
        let number = world.any(&mut random, |_| true);
        let queue = &world.queues[number];
        let most = if random.bool() { 20 } else { 500 };
        let count = random.i64(1..most);
        let Ok(reads) = leased(session, queue, count, random.i64(1..=2)) else { return };
        if reads.is_empty() {
            return rest();
        }
        let part: Vec<&Read> = reads.iter().filter(|_| random.u8(..8) > 0).collect();
        let ids = part.iter().map(|read| read.msg_id.to_string()).collect::<Vec<_>>().join(",");
        match random.u8(..12) {
            0 => *session = world.session(),
            1 => {}
            2 | 3 => {
                let delay = random.i64(0..=1);
                let back = match (queue.typed, random.bool()) {
                    (false, true) => format!(
                        "select msg_id from queue.set_vt('{}', array[{ids}]::bigint[], {delay})",
                        queue.name
                    ),
                    _ if queue.typed => {
                        format!("select * from queue.nack('{}', array[{ids}]::bigint[], {delay})", queue.name)
                    }
                    _ => format!(
                        "select msg_id from queue.set_vt('{}', array[{ids}]::bigint[], {delay})",
                        queue.name
                    ),
                };
                log.given.extend(part.iter().map(|read| Given {
                    queue: number,
                    msg_id: read.msg_id,
                    at: now(),
                }));
                let _ = ask(session, &back);
            }
            4 | 5 if !queue.typed => {
                let _ = ask(
                    session,
                    &format!("select * from queue.archive('{}', array[{ids}]::bigint[])", queue.name),
                );
            }
            6 => {
                let removal = removal(queue, &part, random.bool());
                if run(session, "begin") == Outcome::Done && ask(session, &removal).is_ok() {
                    run(session, "rollback");
                }
                run(session, "rollback");
            }
            _ => drop(ask(session, &removal(queue, &part, random.bool()))),
        }
        log.reads.extend(reads.into_iter().map(|read| (number, read)));
    });
    log
}

/// Leases rows.
pub(super) fn leased(
    session: &mut Client,
    queue: &Queue,
    count: i64,
    seconds: i64,
) -> Result<Vec<Read>, Outcome> {
    let name = &queue.name;
    let query = match queue.typed {
        true => format!(
            "select msg_id, read_ct, (\"row\").origin, (\"row\").number, (\"row\").due
             from queue.read('{name}', {count}, '{seconds} seconds', null::item)"
        ),
        false => format!(
            "select msg_id, read_ct, (message ->> 'origin')::int, (message ->> 'number')::bigint, (message ->> 'due')::bigint
             from queue.read('{name}', {seconds}, {count})"
        ),
    };
    let from = now();
    let rows = ask(session, &query)?;
    let to = now();
    let reads = rows.iter().map(|row| {
        assert!(row.get::<_, i64>(4) <= to, "a row comes before its time");
        let (origin, number) = (row.get(2), row.get(3));
        let until = from + seconds * 1_000_000;
        Read { msg_id: row.get(0), read_ct: row.get(1), row: Row { origin, number }, to, until }
    });
    let reads: Vec<Read> = reads.collect();
    assert!(reads.is_sorted_by(|a, b| a.msg_id < b.msg_id), "out of order");
    expect_order(&reads.iter().map(|read| read.row).collect::<Vec<_>>());
    Ok(reads)
}

/// Removes rows that were read, by receipt or not, and notes which were there.
pub(super) fn removal(queue: &Queue, reads: &[&Read], by_receipt: bool) -> String {
    let list = |of: &dyn Fn(&Read) -> i64| {
        reads.iter().map(|read| of(read).to_string()).collect::<Vec<_>>().join(",")
    };
    let (ids, origins) = (list(&|read| read.msg_id), list(&|read| i64::from(read.row.origin)));
    let numbers = list(&|read| read.row.number);
    let receipts = list(&|read| i64::from(read.read_ct));
    let receipts = if by_receipt { format!(", array[{receipts}]::int[]") } else { String::new() };
    let function = if queue.typed { "ack" } else { "delete" };
    let name = &queue.name;
    format!(
        "insert into taken select '{name}', origin, number
         from queue.{function}('{name}', array[{ids}]::bigint[]{receipts}) gone (id)
         join unnest(array[{ids}]::bigint[], array[{origins}]::int[], array[{numbers}]::bigint[]) known (id, origin, number)
         using (id)"
    )
}

/// Reads and acknowledges over HTTP.
pub(super) fn fetch(world: &World, _worker: i32, mut random: Rng) -> Log {
    let mut log = Log::default();
    let mut connection = None;
    while world.goes_on() {
        let number = world.any(&mut random, |_| true);
        let name = &world.queues[number].name;
        let (count, wait) = (random.u32(1..200), random.u32(..2));
        let path = format!("/queues/{name}/read?qty={count}&vt=2+seconds&wait={wait}+seconds");
        let Some(reply) = request(world, &mut connection, &path) else { continue };
        let answer = reply.json();
        let Some(batch) = answer["batch"].as_str() else { continue };
        let rows = answer["rows"].as_array().expect("rows").iter().map(|row| {
            let body = if row["row"].is_null() { &row["message"] } else { &row["row"] };
            let origin = body["origin"].as_i64().unwrap_or_else(|| panic!("no row: {row}")) as i32;
            Row { origin, number: body["number"].as_i64().expect("a number") }
        });
        let rows: Vec<(usize, Row)> = rows.map(|row| (number, row)).collect();
        if random.u8(..8) == 0 {
            continue;
        }
        let all = request(world, &mut connection, &format!("/queues/{name}/ack?batch={batch}"))
            .is_some_and(|reply| reply.json()["acknowledged"].as_u64() == Some(rows.len() as u64));
        // Who is not told, or not of all, does not know which are gone.
        if all { log.removed.extend(rows) } else { log.unsure.extend(rows) }
    }
    log
}

fn request(world: &World, connection: &mut Option<Connection>, path: &str) -> Option<Reply> {
    if connection.is_none() {
        *connection = Connection::try_open(world.web);
    }
    let reply = connection.as_mut().and_then(|open| open.try_request("POST", path, b""));
    let reply = reply.filter(|reply| reply.status < 500);
    if reply.is_none() {
        *connection = None;
        thread::park_timeout(Duration::from_millis(20));
    }
    let reply = reply?;
    assert_eq!(reply.status, 200, "{path}: {}", reply.text());
    Some(reply)
}
