use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;

use registry::deployments::Deployments;

#[test]
fn what_runs_across_a_commit_may_be_mixed() {
    let deployments = Deployments::default();
    let before = deployments.ended();
    assert!(!deployments.may_be_mixed(before));
    deployments.begin();
    assert!(deployments.may_be_mixed(before), "it has begun before");
    assert!(deployments.may_be_mixed(deployments.ended()), "it begins meanwhile");
    let meanwhile = deployments.ended();
    deployments.end();
    assert!(deployments.may_be_mixed(before) && deployments.may_be_mixed(meanwhile));
    assert!(!deployments.may_be_mixed(deployments.ended()));
}

#[test]
fn of_two_at_once_the_last_counts() {
    let deployments = Deployments::default();
    deployments.begin();
    deployments.begin();
    deployments.end();
    assert!(deployments.is_under_way() && deployments.may_be_mixed(deployments.ended()));
    deployments.end();
    assert!(!deployments.may_be_mixed(deployments.ended()));
}

/// Two values that change one after the other between `begin` and `end`: nobody who is told that they fit has seen two that differ.
#[test]
fn nobody_takes_half_for_whole() {
    let shared =
        Arc::new((Deployments::default(), AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false)));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let shared = shared.clone();
            thread::spawn(move || {
                let (deployments, one, two, done) = &*shared;
                while !done.load(SeqCst) {
                    let ended = deployments.ended();
                    let seen = (one.load(SeqCst), two.load(SeqCst));
                    if !deployments.may_be_mixed(ended) {
                        assert_eq!(seen.0, seen.1);
                    }
                }
            })
        })
        .collect();
    let (deployments, one, two, done) = &*shared;
    for value in 1..20_000 {
        deployments.begin();
        one.store(value, SeqCst);
        two.store(value, SeqCst);
        deployments.end();
    }
    done.store(true, SeqCst);
    readers.into_iter().for_each(|reader| reader.join().unwrap());
}

#[test]
fn ten_may_come_at_once_and_then_one_each_second() {
    const SECOND: i64 = 1_000_000;
    let deployments = Deployments::default();
    let now = 1_000 * SECOND;
    let most = 3 * SECOND;
    let waits: Vec<Option<i64>> = (0..15).map(|_| deployments.turn(now, most)).collect();
    let later = [Some(SECOND), Some(2 * SECOND), Some(3 * SECOND), None, None];
    assert_eq!(waits, [vec![Some(0); 10], later.to_vec()].concat());
    // Those that got none have taken nothing: three seconds later the others have had their turns.
    assert_eq!(deployments.turn(now + 3 * SECOND, most), Some(SECOND));
    assert_eq!(deployments.turn(now + 60 * SECOND, most), Some(0));
}
