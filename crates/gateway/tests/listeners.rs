//! Listeners: addresses, taken ports, draining.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::harness::{Client, Event, PATIENCE, Running};
use gateway::{Address, Limits, Listener, Server, Sharing, address_is_free};
use socket2::{Domain, SockAddr, SockFilter, Socket, Type};

#[test]
fn ipv6_is_served_beside_ipv4() {
    let running = Running::listening(Limits::default(), "[::1]:0".parse().unwrap());
    assert_eq!(running.connect().get("/").body, b"hello");
    let port = running.address.port();
    let listener = Listener::new(2, Address::Tcp(SocketAddr::from(([127, 0, 0, 1], port))));
    running.run(move |server| server.listen(&listener)).unwrap();
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    assert_eq!(Client::new(stream).get("/").body, b"hello");
}

fn socket_path(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("gateway-{name}-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

#[test]
fn unix_sockets_are_served_with_their_mode_and_removed_at_the_end() {
    let running = Running::start(Limits::default());
    let path = socket_path("mode");
    let listener = Listener { mode: 0o600, ..Listener::new(2, Address::Unix(path.clone())) };
    running.run(move |server| server.listen(&listener)).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let stream = UnixStream::connect(&path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut client = Client::new(stream);
    assert_eq!(client.get("/").body, b"hello");
    assert!(running.run(|server| server.unlisten(2)));
    assert!(client.is_closed());
    assert!(!path.exists());
}

#[test]
fn an_abandoned_unix_socket_is_replaced_and_a_live_one_is_not() {
    let running = Running::start(Limits::default());
    let path = socket_path("abandoned");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let listener = |id| Listener::new(id, Address::Unix(path.clone()));
    let (second, third) = (listener(2), listener(3));
    running.run(move |server| server.listen(&second)).unwrap();
    let taken = running.run(move |server| server.listen(&third).map_err(|error| error.kind()));
    assert_eq!(taken, Err(ErrorKind::AddrInUse));
    drop(running);
    assert!(!path.exists());
}

#[test]
fn of_many_that_replace_an_abandoned_unix_socket_at_once_one_succeeds() {
    let path = socket_path("race");
    let barrier = Barrier::new(4);
    let race = || {
        let mut server = Server::new(Limits::default()).unwrap();
        let mut won = 0;
        for _ in 0..200 {
            if barrier.wait().is_leader() {
                let _ = std::fs::remove_file(&path);
                drop(UnixListener::bind(&path));
            }
            barrier.wait();
            let bound = server.listen(&Listener::new(1, Address::Unix(path.clone()))).is_ok();
            barrier.wait();
            if bound {
                won += usize::from(UnixStream::connect(&path).is_ok());
                server = Server::new(Limits::default()).unwrap();
            }
            barrier.wait();
        }
        won
    };
    let won: usize = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..4).map(|_| scope.spawn(race)).collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).sum()
    });
    assert_eq!(won, 200);
}

/// Why an address is not free; none if it is.
fn why_not(address: &Address) -> Option<ErrorKind> {
    address_is_free(address).err().map(|error| error.kind())
}

#[test]
fn a_path_is_free_if_nobody_listens_on_it_and_a_socket_can_be_made_there() {
    let path = socket_path("taken");
    let address = Address::Unix(path.clone());
    assert_eq!(why_not(&address), None);
    let other = UnixListener::bind(&path).unwrap();
    assert_eq!(why_not(&address), Some(ErrorKind::AddrInUse));
    drop(other);
    assert_eq!(why_not(&address), None, "an abandoned socket is replaced");
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "no socket").unwrap();
    assert_eq!(why_not(&address), Some(ErrorKind::AddrInUse));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(why_not(&Address::Unix(path.join("no folder"))), Some(ErrorKind::NotFound));
    assert_eq!(why_not(&Address::Unix(path.join("x".repeat(108)))), Some(ErrorKind::InvalidInput));
}

#[test]
fn a_listener_that_accepts_nothing_is_not_waited_for() {
    let path = socket_path("full");
    let busy = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
    busy.bind(&SockAddr::unix(&path).unwrap()).unwrap();
    busy.listen(0).unwrap();
    let _waits = UnixStream::connect(&path).unwrap();
    assert_eq!(why_not(&Address::Unix(path.clone())), Some(ErrorKind::AddrInUse));
    let mut server = Server::new(Limits::default()).unwrap();
    let taken = server.listen(&Listener::new(1, Address::Unix(path.clone())));
    assert_eq!(taken.map_err(|error| error.kind()), Err(ErrorKind::AddrInUse));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_taken_port_is_an_error_also_with_reuse_port() {
    let first = Running::start(Limits::default());
    let address = first.address;
    assert_eq!(why_not(&Address::Tcp(address)), Some(ErrorKind::AddrInUse));
    let mut server = Server::new(Limits::default()).unwrap();
    for sharing in [Sharing::Alone, Sharing::First] {
        let listener = Listener { sharing, ..Listener::new(1, Address::Tcp(address)) };
        assert_eq!(server.listen(&listener).map_err(|error| error.kind()), Err(ErrorKind::AddrInUse));
    }
    drop(first);
    assert_eq!(why_not(&Address::Tcp(address)), None);
}

#[test]
fn a_port_that_is_shared_is_taken_for_others_and_open_to_those_who_join() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let listener = Listener { sharing: Sharing::First, ..Listener::new(1, Address::Tcp(free)) };
    let mut first = Server::new(Limits::default()).unwrap();
    first.listen(&listener).unwrap();
    assert_eq!(why_not(&Address::Tcp(free)), Some(ErrorKind::AddrInUse));
    let mut second = Server::new(Limits::default()).unwrap();
    assert!(second.listen(&listener).is_err());
    second.listen(&Listener { sharing: Sharing::Joining, ..listener }).unwrap();
}

#[test]
fn an_id_is_given_once() {
    let running = Running::start(Limits::default());
    let again = Listener::new(1, Address::Tcp("127.0.0.1:0".parse().unwrap()));
    assert!(running.run(move |server| server.listen(&again)).is_err());
}

#[test]
fn unlisten_closes_what_idles_and_finishes_what_runs() {
    let running = Running::start(Limits::default());
    let (mut idle, mut busy, mut partial) = (running.connect(), running.connect(), running.connect());
    assert_eq!(idle.get("/").status, 200);
    assert_eq!(partial.get("/").status, 200);
    partial.send("GET / HT");
    busy.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    let ticket = running.held();
    assert!(running.run(|server| server.unlisten(1)));
    assert!(!running.run(|server| server.unlisten(1)));
    assert!(idle.is_closed());
    assert!(TcpStream::connect(running.address).is_err());
    assert!(!running.run(|server| server.is_drained()));
    assert!(partial.send("TP/1.1\r\nHost: a\r\n\r\n").reply().closes());
    assert!(running.release(ticket));
    assert!(busy.reply().closes());
    assert!(busy.is_closed());
    running.until(|server| server.is_drained());
    let listener = running.run(|server| server.counters().listeners.first().copied());
    assert_eq!(listener, None);
}

/// A client that has connected and sent this, and whom the server has not accepted yet when its listener goes.
fn connected_before_the_end(
    running: &Running,
    address: Address,
    sent: &'static str,
) -> Client<Box<dyn Wire>> {
    let stream = running.run(move |server| {
        let mut stream: Box<dyn Wire> = match address {
            Address::Tcp(address) => Box::new(TcpStream::connect(address).unwrap()),
            Address::Unix(path) => Box::new(UnixStream::connect(path).unwrap()),
        };
        stream.write_all(sent.as_bytes()).unwrap();
        for id in [1, 2] {
            server.unlisten(id);
        }
        stream
    });
    Client::new(stream)
}

/// Either kind of stream.
trait Wire: Read + Write + Send {}
impl<T: Read + Write + Send> Wire for T {}

#[test]
fn who_has_connected_before_the_listener_goes_is_served() {
    const REQUEST: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    for (place, sent) in [REQUEST, ""].into_iter().enumerate() {
        let running = Running::start(Limits::default());
        let mut client = connected_before_the_end(&running, Address::Tcp(running.address), sent);
        assert!(client.send(&REQUEST[sent.len()..]).reply().closes());
        running.until(|server| server.is_drained());

        let running = Running::start(Limits::default());
        let path = socket_path(&format!("waits-{place}"));
        let listener = Listener::new(2, Address::Unix(path.clone()));
        running.run(move |server| server.listen(&listener)).unwrap();
        let mut client = connected_before_the_end(&running, Address::Unix(path), sent);
        assert!(client.send(&REQUEST[sent.len()..]).reply().closes());
        running.until(|server| server.is_drained());
    }
}

/// A duplicate of the socket of this process that listens on a port.
fn listening(port: u16) -> Socket {
    (3..4096)
        .filter_map(|descriptor| {
            // SAFETY: a number that is none of a descriptor is an error of the duplication.
            unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned().ok()
        })
        .map(Socket::from)
        .find(|socket| {
            let address = socket.local_addr().ok().and_then(|address| address.as_socket());
            socket.is_listener().unwrap_or_default() && address.is_some_and(|address| address.port() == port)
        })
        .expect("the listener")
}

#[test]
fn a_server_that_drains_waits_for_the_end_of_handshakes() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let running = Running::listening(Limits::default(), address.parse().unwrap());
        let listener = listening(running.address.port());
        // What a client sends after its first packet, the SYN, gets lost until the server gives its listener a filter of its own.
        let filter = [(0x30, 0, 0, 13), (0x45, 0, 1, 2), (6, 0, 0, u32::MAX), (6, 0, 0, 0)];
        let filter = filter.map(|(code, jt, jf, k)| SockFilter::new(code, jt, jf, k));
        listener.attach_filter(&filter).unwrap();
        let mut client = running.connect();
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        std::thread::sleep(Duration::from_millis(20));
        drop(listener);
        running.run(Server::drain);
        // It sends again after 200 ms.
        assert_eq!(client.reply().body, b"hello", "{address}");
        running.until(|server| server.is_drained());
    }
}

#[test]
fn a_handshake_that_never_ends_does_not_keep_a_server_from_going() {
    let running = Running::start(Limits::default());
    let listener = listening(running.address.port());
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    // The answer to its first packet never reaches the client.
    let filter = [(0x30, 0, 0, 13), (0x45, 0, 1, 2), (6, 0, 0, 0), (6, 0, 0, u32::MAX)];
    socket.attach_filter(&filter.map(|(code, jt, jf, k)| SockFilter::new(code, jt, jf, k))).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket.connect(&SockAddr::from(running.address)).unwrap_err();
    std::thread::sleep(Duration::from_millis(20));
    drop(listener);
    let begin = Instant::now();
    running.run(Server::drain);
    running.until(|server| server.is_drained());
    let took = begin.elapsed();
    assert!((Duration::from_millis(500)..Duration::from_secs(5)).contains(&took), "{took:?}");
}

#[test]
fn who_connects_and_says_nothing_does_not_keep_a_listener_from_going() {
    let running = Running::start(Limits::default());
    let mut silent = connected_before_the_end(&running, Address::Tcp(running.address), "");
    running.until(|server| server.is_drained());
    assert!(silent.is_closed());
}

#[test]
fn a_path_that_is_handed_over_leads_to_a_listener_at_any_time() {
    let path = socket_path("handed-over");
    let listener = |sharing| Listener { sharing, ..Listener::new(2, Address::Unix(path.clone())) };
    let mut holder = Running::start(Limits::default());
    let first = listener(Sharing::First);
    holder.run(move |server| server.listen(&first)).unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut answers = 0;
            while !over.load(Ordering::Relaxed) {
                let mut client = Client::new(UnixStream::connect(&path).expect("somebody listens"));
                assert_eq!(client.get("/").status, 200);
                answers += 1;
            }
            answers
        });
        for _ in 0..50 {
            let next = Running::start(Limits::default());
            let joining = listener(Sharing::Joining);
            assert!(holder.run(|server| server.has_path(2)));
            next.run(move |server| server.listen(&joining)).unwrap();
            assert!(!holder.run(|server| server.has_path(2)));
            holder.run(|server| server.drain());
            holder.until(|server| server.is_drained());
            holder = next;
        }
        over.store(true, Ordering::Relaxed);
        assert!(asking.join().unwrap() > 0);
    });
}

#[test]
fn a_server_that_is_about_to_end_says_so_in_each_response_and_goes_on() {
    let running = Running::start(Limits::default());
    let mut client = running.connect();
    assert!(!client.get("/").closes());
    running.run(|server| server.announce_end(true));
    assert!(client.get("/").closes() && client.is_closed());
    assert!(running.connect().get("/").closes(), "it still accepts");
    running.run(|server| server.announce_end(false));
    assert!(!running.connect().get("/").closes());
}

#[test]
fn abort_ends_everything_at_once() {
    let running = Running::start(Limits::default());
    let (mut idle, mut busy) = (running.connect(), running.connect());
    assert_eq!(idle.get("/").status, 200);
    busy.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    let ticket = running.held();
    running.run(|server| {
        server.drain();
        server.abort();
    });
    assert_eq!(running.event(), Event::Gone(ticket));
    assert!(idle.is_closed() && busy.is_closed());
    running.until(|server| server.is_drained());
}

#[test]
fn a_thousand_connections_are_served_and_counted() {
    let running = Running::start(Limits::default());
    let mut clients: Vec<_> = (0..1000).map(|_| running.connect()).collect();
    for client in &mut clients {
        client.send("GET /facts HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    clients.iter_mut().for_each(|client| assert_eq!(client.reply().status, 200));
    let counters = running.run(|server| server.counters());
    assert_eq!((counters.open, counters.accepted, counters.requests), (1000, 1000, 1000));
    assert_eq!((counters.listeners[0].open, counters.listeners[0].accepted), (1000, 1000));
    drop(clients);
    running.until(|server| server.counters().open == 0);
}
