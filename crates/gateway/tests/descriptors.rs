//! A process without file descriptors left. Alone in its file, because the limit is the whole process's.

mod harness;

use std::net::TcpStream;

use gateway::Limits;
use harness::Running;

#[test]
fn want_of_descriptors_neither_spins_nor_ends_the_server() {
    let running = Running::start(Limits::default());
    limit_descriptors(64);
    let mut clients = Vec::new();
    while let Ok(stream) = TcpStream::connect(running.address) {
        clients.push(stream);
    }
    running.until(|server| server.counters().accept_errors > 0);
    // A loop that tries again at once fails thousands of times in the time that these commands take.
    (0..100).for_each(|_| running.run(|_| ()));
    assert!(running.run(|server| server.counters().accept_errors) < 20);
    drop(clients);
    running.until(|server| server.counters().open == 0);
    assert_eq!(running.connect().get("/").status, 200);
}

fn limit_descriptors(count: u64) {
    let limit = libc::rlimit { rlim_cur: count, rlim_max: count };
    // SAFETY: the call reads the structure that it is given, which lives on.
    let result = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
    assert_eq!(result, 0);
}
