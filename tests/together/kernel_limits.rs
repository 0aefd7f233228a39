//! What the kernel does not give is said.

use howdah_tests::{Platform, wait_for};

/// The most that `howdah.max_connections` can be.
const MOST: u64 = 1_000_000;

#[test]
fn a_hard_limit_of_open_files_that_is_too_low_for_the_connections_is_said() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a place for the limit.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) }, 0);
    if limit.rlim_max > MOST {
        println!("no setting asks for more than the {} files that a process may have here", limit.rlim_max);
        return;
    }
    let platform = Platform::start();
    let said = || platform.log().matches("raise the hard limit (LimitNOFILE= of the service)").count();
    let before = said();
    platform.set("howdah.max_connections", &limit.rlim_max.to_string());
    platform.sql("select pg_terminate_backend(pid) from http.workers where kind = 'gateway'");
    wait_for("the next gateway says it", || said() > before);
    wait_for("it serves all the same", || platform.workers("gateway").len() == 1);
}
