//! What becomes of the disk of queues that nobody uses any more.

use howdah_tests::queues::{BIP, put, take};
use howdah_tests::{Platform, wait_for};

/// Bytes of the queue's tables of rows.
const SIZE: &str = "select sum(pg_relation_size(oid))::text from pg_class where relname like 'rows\\_1\\__'";

fn platform(maintenance: &str) -> Platform {
    let settings = [("howdah.queue_maintenance", maintenance), ("howdah.queue_segment_size", "1MB")];
    let platform = Platform::with(&settings);
    platform.sql(&format!("{BIP}; select queue.create('bips', row_type => 't_bip')"));
    let mut session = platform.session();
    (0..60).for_each(|part| put(&mut session, part * 1000 + 1, (part + 1) * 1000));
    assert_eq!(take(&mut session, 60_000).len(), 60_000);
    platform
}

#[test]
fn the_last_taker_leaves_no_rows_on_disk() {
    let platform = platform("200ms");
    wait_for("its segments are truncated", || platform.value(SIZE).as_deref() == Some("0"));
    let mut session = platform.session();
    put(&mut session, 1, 3);
    assert_eq!(take(&mut session, 10), [1, 2, 3]);
    assert!(!platform.log().contains("ERROR"), "{}", platform.log());
}

#[test]
fn maintaining_a_queue_frees_all_of_it() {
    let platform = platform("0");
    // Segments that are truncated are seen to be empty after the commit: then the last is left for one of them.
    let freed: Vec<_> = (0..3).filter_map(|_| platform.value("select queue.maintain('bips')")).collect();
    assert_eq!(freed, ["2", "0", "1"]);
    assert_eq!(platform.value(SIZE).as_deref(), Some("0"));
}
