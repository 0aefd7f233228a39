//! A process without file descriptors left. Alone in its file, because the limit is the whole process's.

mod harness;

use std::io::Write;
use std::net::{SocketAddr, TcpStream};

use gateway::Limits;
use harness::Running;
use socket2::{Domain, Socket, Type};

#[test]
fn want_of_descriptors_neither_spins_nor_ends_the_server() {
    let running = Running::start(Limits::default());
    limit_descriptors(64);
    // More than there are descriptors for on the other side. Those that say nothing give way.
    let new = || Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let silent: Vec<_> = std::iter::repeat_with(new).take(40).collect();
    silent.iter().for_each(|socket| socket.connect(&running.address.into()).unwrap());
    running.until(|server| server.counters().accepted == 40);
    assert_eq!(running.run(|server| server.counters().accept_errors), 0);
    drop(silent);
    running.until(|server| server.counters().open == 0);

    const HOLD: &str = "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut busy: Vec<_> = std::iter::repeat_with(|| running.connect()).take(10).collect();
    busy.iter_mut().for_each(|client| _ = client.send(HOLD));
    running.until(|server| server.counters().requests == 10);
    // It accepts nobody meanwhile: all that are left are taken on the other side.
    let address = running.address;
    let clients = running.run(move |_| fill(address, HOLD));
    running.until(|server| server.counters().accept_errors > 0);
    // A loop that tries again at once fails thousands of times in the time that these commands take.
    (0..100).for_each(|_| running.run(|_| ()));
    assert!(running.run(|server| server.counters().accept_errors) < 20);
    drop((busy, clients));
    running.until(|server| server.counters().open == 0);
    assert_eq!(running.connect().get("/").status, 200);
}

/// Connects for as long as there are descriptors; each client sends something.
fn fill(address: SocketAddr, bytes: &str) -> Vec<TcpStream> {
    let mut clients = Vec::new();
    while let Ok(mut stream) = TcpStream::connect(address) {
        stream.write_all(bytes.as_bytes()).unwrap();
        clients.push(stream);
    }
    clients
}

fn limit_descriptors(count: u64) {
    let limit = libc::rlimit { rlim_cur: count, rlim_max: count };
    // SAFETY: the call reads the structure that it is given, which lives on.
    let result = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
    assert_eq!(result, 0);
}
