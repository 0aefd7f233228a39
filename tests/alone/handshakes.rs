//! Handshakes of TLS by the thousand, and connections that have shaken hands and wait.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{fs, mem, thread};

use howdah_tests::client::allow_as_many_files_as_possible;
use howdah_tests::https::Https;
use howdah_tests::{Connection, bounds, wait_for};
use rustls::pki_types::ServerName;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

type Client = StreamOwned<ClientConnection, TcpStream>;

/// What trusts the authority, and remembers no session: each handshake is a full one.
fn config(https: &Https) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    let authority = fs::read(https.folder.join("ca.pem")).unwrap();
    roots.add(rustls::pki_types::CertificateDer::from_pem_slice(&authority).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.resumption = rustls::client::Resumption::disabled();
    Arc::new(config)
}

/// A connection that has shaken hands.
fn connect(port: u16, config: &Arc<ClientConfig>) -> Client {
    let name = ServerName::try_from("localhost").unwrap();
    let socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(bounds::HANGS)).unwrap();
    socket.set_nodelay(true).unwrap();
    let mut client = StreamOwned::new(ClientConnection::new(Arc::clone(config), name).unwrap(), socket);
    while client.conn.is_handshaking() {
        client.conn.complete_io(&mut client.sock).unwrap();
    }
    client
}

/// Handshakes for each second, from so many threads.
const RATE: u32 = 1000;
const THREADS: u32 = 4;

/// The processors that this thread may run on.
fn processors() -> Vec<usize> {
    // SAFETY: a set is numbers alone, of which all may be zero.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: the set outlives the call.
    assert_eq!(unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) }, 0);
    // SAFETY: the numbers are those that a set has room for.
    (0..libc::CPU_SETSIZE as usize).filter(|&processor| unsafe { libc::CPU_ISSET(processor, &set) }).collect()
}

/// Has a process, or with 0 this thread, run on these processors alone.
fn keep_to(pid: i32, processors: &[usize]) {
    // SAFETY: as above.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: the numbers are those of a set.
    processors.iter().for_each(|&processor| unsafe { libc::CPU_SET(processor, &mut set) });
    // SAFETY: the set outlives the call.
    assert_eq!(unsafe { libc::sched_setaffinity(pid, size_of_val(&set), &raw const set) }, 0);
}

/// Has something run where servers do not, as a client's own part of a handshake costs as much as the server's and elsewhere it is
/// another machine that does it: the server has all processors but the last.
fn on_processors_of_their_own<T: Send>(server: i32, clients: impl FnOnce() -> T + Send) -> T {
    let processors = processors();
    let (of_server, of_clients) = processors.split_at(processors.len() - 1);
    keep_to(server, if of_server.is_empty() { of_clients } else { of_server });
    let kept = || {
        keep_to(0, of_clients);
        clients()
    };
    thread::scope(|scope| scope.spawn(kept).join().unwrap())
}

/// Has this thread run only where nobody else would.
fn give_way() {
    let nothing = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameters outlive the call, which is about the calling thread alone.
    assert_eq!(unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const nothing) }, 0);
}

/// Shakes hands at [`RATE`], and counts it, until it is over.
fn flood(https: &Https, over: &AtomicBool, count: &AtomicUsize) {
    let config = config(https);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                give_way();
                let begun = Instant::now();
                for number in 0.. {
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                    let at = begun + Duration::from_secs(1) * THREADS / RATE * number;
                    thread::sleep(at.saturating_duration_since(Instant::now()));
                    drop(connect(https.port, &config));
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
}

/// Ends what goes on until it is over, whatever becomes of the test.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// How long requests over one connection take, of a hundred the longest but one, in this time.
fn late(https: &Https, time: Duration) -> Duration {
    let mut connection = Connection::open(https.platform.port);
    let (begun, mut took) = (Instant::now(), Vec::new());
    while begun.elapsed() < time {
        let asked = Instant::now();
        assert_eq!(connection.request("GET", "/hello", &[], b"").text(), "hello");
        took.push(asked.elapsed());
        thread::sleep(Duration::from_millis(1));
    }
    took.sort();
    took[took.len() * 99 / 100]
}

#[test]
fn a_flood_of_handshakes_keeps_requests_waiting_no_longer_than_a_few_times() {
    let https = Https::serving();
    let time = if bounds::counts() { Duration::from_secs(8) } else { Duration::from_secs(1) };
    let (over, shaken) = (AtomicBool::new(false), AtomicUsize::new(0));
    let have_been = |count: usize| shaken.load(Ordering::Relaxed) >= count;
    let (alone, beside) = on_processors_of_their_own(https.platform.worker("gateway"), || {
        late(&https, Duration::from_millis(500));
        let alone = late(&https, time);
        thread::scope(|scope| {
            scope.spawn(|| flood(&https, &over, &shaken));
            let _over = Ends(&over);
            wait_for("it floods", || have_been(100));
            let beside = late(&https, time);
            wait_for("both go on", || have_been(300));
            (alone, beside)
        })
    });
    println!("{} handshakes; requests took {alone:?} alone and {beside:?} beside them", shaken.into_inner());
    bounds::BESIDE_HANDSHAKES.check_against(beside, alone * 3);
}

/// Bytes of a process that nobody shares.
fn memory(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// Connections that wait, in clear text and over TLS: a process may have no more than 20,000 descriptors on many machines.
const CLEAR: usize = 1000;
const SECURE: usize = if cfg!(feature = "long") { 10_000 } else { 1000 };
/// Bytes that one may have more because it speaks TLS.
const MORE: u64 = 20 << 10;

#[test]
fn connections_that_wait_hold_little_more_for_speaking_tls() {
    allow_as_many_files_as_possible();
    let https = Https::serving();
    https.platform.set("howdah.max_connections", "25000");
    let gateway = https.platform.worker("gateway");
    let open = |count: usize| {
        let connections = format!("http.workers where kind = 'gateway' and connections >= {count}");
        wait_for("all are open", || https.platform.count(&connections) == 1);
    };
    let config = config(&https);
    drop(connect(https.port, &config));
    let begin = memory(gateway);
    let clear: Vec<Connection> = (0..CLEAR)
        .map(|_| {
            let mut connection = Connection::open(https.platform.port);
            assert_eq!(connection.request("GET", "/hello", &[], b"").status, 200);
            connection
        })
        .collect();
    open(CLEAR);
    let between = memory(gateway);
    let secure: Vec<Client> = (0..SECURE)
        .map(|_| {
            let mut client = connect(https.port, &config);
            client.write_all(b"GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            let mut answer = Vec::new();
            while !answer.ends_with(b"hello") {
                let mut part = [0; 1024];
                let read = std::io::Read::read(&mut client, &mut part).unwrap();
                answer.extend_from_slice(&part[..read]);
            }
            client
        })
        .collect();
    open(CLEAR + SECURE);
    let of_clear = (between - begin) / CLEAR as u64;
    let more = ((memory(gateway) - between) / SECURE as u64).saturating_sub(of_clear);
    println!("a connection holds {of_clear} bytes in clear text, {more} more over TLS");
    assert!(more < MORE, "{more} bytes more each");
    drop((clear, secure));
}
