//! Places for kinds of jobs and for queues are few, and who has one keeps it: whoever is used first after a restart, and whatever else is made.

use cluster::postgres::Client;
use cluster::{Life, Shutdown};
use howdah_tests::platform::{DATABASE, Platform, wait_for};
use howdah_tests::queues::error;

/// Places for queues and kinds, as many as others make of them, and as many as are left by a restart.
struct Places {
    queues: usize,
    kinds: usize,
    left: (usize, usize),
}

const PLACES: Places = if cfg!(feature = "long") {
    Places { queues: 700, kinds: 400, left: (500, 300) }
} else {
    Places { queues: 12, kinds: 6, left: (9, 4) }
};

/// One owner has half of the kinds, and as many queues; another has the rest.
fn define_all(platform: &Platform) -> usize {
    let half = PLACES.kinds / 2;
    platform.sql(&format!(
        "create table ran (kind text);
         create role one; create role two; grant howdah_admin to one, two; grant usage, create on schema public to one, two;
         create function run() returns void language sql as 'insert into ran select kind from job.current()';
         grant insert on ran to one, two, howdah_web; grant set on parameter session_replication_role to one;
         set role one;
         select job.define('kind_' || n, 'run', role => 'one'), queue.create('queue_' || n) from generate_series(1, {half}) n"
    ));
    let mut two = platform.session();
    two.batch_execute("set role two").unwrap();
    for kind in half + 1..=PLACES.kinds {
        two.batch_execute(&format!("select job.define('kind_{kind}', 'run', role => 'two')")).unwrap();
    }
    let full = error(&mut two, "select job.define('other', 'run', role => 'two')");
    assert!(full.starts_with("53400") && full.contains("kinds of jobs"), "{full}");
    let mut queues = half;
    let full = loop {
        match two.batch_execute(&format!("select queue.create('queue_{}')", queues + 1)) {
            Ok(()) => queues += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(full.code().map(|code| code.code()), Some("53400"), "{full}");
    assert_eq!(queues + PLACES.kinds, PLACES.queues);
    // Another priority is another queue. The same kind again needs no more than it has.
    let refused = error(&mut two, &format!("select job.enqueue('kind_{}', priority => 'low')", PLACES.kinds));
    assert!(refused.starts_with("53400"), "{refused}");
    two.batch_execute(&format!(
        "select job.define('kind_{}', 'run', role => 'two', attempts => 7)",
        PLACES.kinds
    ))
    .unwrap();
    queues
}

/// The kinds of which a job runs, of those from here on.
fn runs(platform: &Platform, kinds: std::ops::RangeInclusive<usize>) {
    let (first, last) = (*kinds.start(), *kinds.end());
    platform.sql(&format!(
        "truncate ran; select job.enqueue('kind_' || n) from generate_series({first}, {last}) n"
    ));
    wait_for("their jobs", || {
        platform.count("(select distinct kind from ran) r") == (last + 1 - first) as i64
    });
}

fn send(session: &mut Client, queue: usize) -> String {
    match session.batch_execute(&format!("select queue.send('queue_{queue}', '1')")) {
        Ok(()) => String::new(),
        Err(error) => error.code().map(|code| code.code().to_owned()).unwrap_or_default(),
    }
}

#[test]
fn who_was_there_first_goes_on_whatever_else_is_made_also_after_a_restart_with_fewer_places() {
    let (places, kinds) = (PLACES.queues.to_string(), PLACES.kinds.to_string());
    let mut platform = Platform::with(&[("howdah.max_queues", &places), ("howdah.max_job_kinds", &kinds)]);
    let queues = define_all(&platform);
    runs(&platform, 1..=PLACES.kinds);
    let mut session = platform.session();
    (1..=queues).for_each(|queue| assert_eq!(send(&mut session, queue), "", "queue {queue}"));
    drop(session);

    platform.cluster.set("howdah.max_queues", PLACES.left.0);
    platform.cluster.set("howdah.max_job_kinds", PLACES.left.1);
    platform.cluster.restart(Shutdown::Fast, Life::WithParent).unwrap();
    // The youngest comes first.
    let mut session = platform.cluster.connect(DATABASE).unwrap();
    assert_eq!(send(&mut session, queues), "53400");
    assert_eq!(send(&mut session, 1), "");
    runs(&platform, 1..=PLACES.left.1);
    let shown = "job.overview where remark like 'stopped: there is no room%howdah.max\\_job\\_kinds%'";
    wait_for("what is stopped is shown", || platform.count(shown) == (PLACES.kinds - PLACES.left.1) as i64);
    assert_eq!(platform.count("job.kinds"), PLACES.kinds as i64);
    assert_eq!(platform.count("queue.metrics_all()"), PLACES.queues as i64);
    let unplaced = (PLACES.queues - PLACES.left.0) as i64;
    assert_eq!(
        platform.count("queue.metrics_all() where total_messages is null and queue_length = 1"),
        unplaced
    );
    // What has no place can go, and who has waited for one has it then.
    platform
        .sql(&format!("select queue.drop_queue('queue_{queues}'), job.undefine('kind_{}')", PLACES.kinds));
    platform.sql("select job.undefine('kind_1'), queue.drop_queue('queue_1')");
    runs(&platform, 2..=PLACES.left.1 + 1);
}
