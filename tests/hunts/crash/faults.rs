//! What goes wrong: processes that are killed, stopped, ended and cancelled, locks, and configurations that change.

use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::{Duration, Instant};

use cluster::process::Process;
use cluster::{Life, Shutdown};
use howdah_tests::platform::SOON;
use howdah_tests::{Platform, wait_for};
use hunt::Rng;

use super::world::{World, run};

/// One fault, and the end of it.
pub(super) fn strike(platform: &mut Platform, world: &World, random: &mut Rng) {
    let kind = random.u8(..18);
    world.faults.fetch_add(1, SeqCst);
    match kind {
        0..=4 => {
            world.crashes.fetch_add(1, SeqCst);
            match kind {
                0 | 1 => platform.cluster.kill().expect("it is gone"),
                2 => kill_all(platform),
                3 => platform.cluster.stop(Shutdown::Immediate).expect("it stops"),
                _ => kill_one(platform, random),
            }
            if kind != 4 {
                wait_until_gone(platform, kind);
            }
            if kind != 4 {
                platform.cluster.start(Life::WithParent).expect("it starts again");
            }
            world.crashes.fetch_add(1, SeqCst);
        }
        5 | 6 => {
            world.crashes.fetch_add(1, SeqCst);
            kill_one(platform, random);
            world.crashes.fetch_add(1, SeqCst);
        }
        7 => platform.cluster.restart(Shutdown::Fast, Life::WithParent).expect("it starts again"),
        8..=11 => end_some(platform, world, random, "pg_terminate_backend"),
        12..=14 => end_some(platform, world, random, "pg_cancel_backend"),
        15 => lock(world, random),
        _ => stop(platform, random),
    }
    world.faults.fetch_add(1, SeqCst);
}

/// Waits until the processes of a server have ended whose postmaster is gone.
fn wait_until_gone(platform: &Platform, kind: u8) {
    let begin = Instant::now();
    while !platform.cluster.processes().is_empty() {
        assert!(begin.elapsed() < SOON, "left by fault {kind}: {:?}", platform.cluster.processes());
        thread::park_timeout(Duration::from_millis(5));
    }
}

/// The server's processes but the postmaster.
fn children(platform: &Platform) -> Vec<Process> {
    let postmaster = platform.cluster.pid();
    platform.cluster.processes().into_iter().filter(|process| Some(process.pid) != postmaster).collect()
}

fn signal(process: &Process, signal: i32) {
    // SAFETY: a signal to a process of the server that this test has started.
    unsafe { libc::kill(process.pid as i32, signal) };
}

/// Kills the postmaster, and all others with it: who was left would wait for locks that the dead have.
fn kill_all(platform: &mut Platform) {
    platform.cluster.kill().expect("it is gone");
    wait_for("all are killed", || {
        let left = platform.cluster.processes();
        left.iter().for_each(|process| signal(process, libc::SIGKILL));
        left.is_empty()
    });
}

/// Kills a random process; the postmaster ends the others and starts again by itself.
fn kill_one(platform: &Platform, random: &mut Rng) {
    let Some((victim, mut before)) = choose(platform, random).map(|victim| (victim, children(platform)))
    else {
        return;
    };
    signal(&victim, libc::SIGKILL);
    before.retain(|process| process.pid != victim.pid);
    wait_for(&format!("{} ends", victim.title), || {
        children(platform).iter().all(|now| now.pid != victim.pid)
    });
    // One that was about to end anyway takes nobody with it; then the checkpointer stays, which the postmaster never ends alone.
    wait_for("the server is there", || platform.cluster.connect("postgres").is_ok());
}

/// A random process, each kind as likely as another.
fn choose(platform: &Platform, random: &mut Rng) -> Option<Process> {
    let kind =
        |process: &Process| process.title.chars().take_while(|c| !c.is_ascii_digit()).collect::<String>();
    let children = children(platform);
    let mut kinds: Vec<String> = children.iter().map(kind).collect();
    kinds.sort();
    kinds.dedup();
    let chosen = (!kinds.is_empty()).then(|| kinds.swap_remove(random.usize(..kinds.len())))?;
    let mut fit: Vec<Process> = children.into_iter().filter(|process| kind(process) == chosen).collect();
    Some(fit.swap_remove(random.usize(..fit.len())))
}

/// Ends or cancels some sessions and workers; who is ended is gone soon.
fn end_some(platform: &Platform, world: &World, random: &mut Rng, how: &str) {
    let who = ["backend_type = 'client backend'", "backend_type like 'howdah%'", "true"][random.usize(..3)];
    for _ in 0..random.u32(1..8) {
        let query = format!(
            "select pid from pg_stat_activity
             where {who} and pid <> pg_backend_pid() and (backend_type = 'client backend' or backend_type like 'howdah%')"
        );
        let mut session = world.session();
        let Ok(rows) = session.query(&query, &[]) else { continue };
        let pids: Vec<i32> = rows.iter().map(|row| row.get(0)).collect();
        if pids.is_empty() {
            continue;
        }
        let pid = pids[random.usize(..pids.len())];
        run(&mut session, &format!("select {how}({pid})"));
        if how == "pg_terminate_backend" {
            wait_for("who is ended is gone", || {
                platform.cluster.processes().iter().all(|process| process.pid != pid as u32)
            });
        }
    }
}

/// Locks a queue's tables against the order of locks, for a moment.
fn lock(world: &World, random: &mut Rng) {
    let mut session = world.session();
    let tables = "select oid::regclass::text from pg_class
        where relnamespace = 'queue'::regnamespace and relkind = 'r' and relname ~ '^(rows|ledger)_' order by 1";
    let Ok(rows) = session.query(tables, &[]) else { return };
    let tables: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    run(&mut session, "set deadlock_timeout = '20ms'");
    run(&mut session, "begin");
    for _ in 0..2 {
        let (table, mode) = (
            &tables[random.usize(..tables.len())],
            ["access exclusive", "share", "exclusive"][random.usize(..3)],
        );
        run(&mut session, &format!("set local lock_timeout = '1s'; lock table {table} in {mode} mode"));
        thread::park_timeout(Duration::from_millis(random.u64(..100)));
    }
    run(&mut session, "rollback");
}

/// Stops a process for a moment.
fn stop(platform: &Platform, random: &mut Rng) {
    if let Some(victim) = choose(platform, random) {
        signal(&victim, libc::SIGSTOP);
        thread::park_timeout(Duration::from_millis(random.u64(10..400)));
        signal(&victim, libc::SIGCONT);
    }
}

/// Looks after the queues and changes how the server is configured, while all others work.
pub(super) fn upkeep(world: &World, mut random: Rng) {
    while world.goes_on() {
        let mut session = world.session();
        let queue = &world.queues[random.usize(..world.queues.len())];
        let name = &queue.name;
        let statement = match random.u8(..12) {
            0..=3 => format!("select queue.maintain('{name}')"),
            4 => "checkpoint".into(),
            5 => "vacuum (freeze)".into(),
            6 => rewrite(&mut session, &mut random),
            7 => format!(
                "alter system set howdah.queue_segment_size = '{}MB'; select pg_reload_conf()",
                random.u8(1..=2)
            )
            .replace("; ", ";\n"),
            8 => format!(
                "select queue.listen({}, queue => '{name}', address => '127.0.0.1', bucket_rows => {},
                   bucket_milliseconds => {})",
                queue.port,
                random.u32(1..200),
                random.u32(1..20)
            ),
            9 => "select pg_switch_wal()".into(),
            _ => format!(
                "select * from queue.metrics('{name}') where queue_length < queue_visible_length or queue_length < 0"
            ),
        };
        for statement in statement.split(";\n") {
            run(&mut session, statement);
        }
        thread::park_timeout(Duration::from_millis(random.u64(..60)));
    }
}

/// A statement that gives all rows of a table other places.
fn rewrite(session: &mut cluster::postgres::Client, random: &mut Rng) -> String {
    let tables = "select oid::regclass::text from pg_class
        where relnamespace = 'queue'::regnamespace and relkind = 'r' and relname ~ '^rows_' order by 1";
    match session.query(tables, &[]) {
        Ok(rows) if !rows.is_empty() => {
            format!("vacuum full {}", rows[random.usize(..rows.len())].get::<_, String>(0))
        }
        _ => "select 1".into(),
    }
}
