//! A producer that sends little has its lines stored soon, whoever else sends all they can.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use howdah_tests::bounds;
use howdah_tests::shippers::{Intake, Shipper, bip, bips};
use howdah_tests::wait_for;

const PLAIN: usize = 8;
const ACKNOWLEDGED: usize = 20;
/// How long the floods last.
const TIME: Duration = Duration::from_secs(12);
/// What the gateway may hold beside `howdah.ingest_memory`: memory that the allocator has not given back.
const ALLOWANCE: u64 = 32 << 20;

/// A connection that sends for as long as it is let, and hears what it is told.
struct Flood {
    stream: TcpStream,
    threads: [JoinHandle<()>; 2],
}

impl Flood {
    fn by(stream: TcpStream) -> Flood {
        stream.set_read_timeout(None).unwrap();
        stream.set_write_timeout(None).unwrap();
        let (mut into, mut from) = (stream.try_clone().unwrap(), stream.try_clone().unwrap());
        let lines = bips(1, 10_000);
        let sends = std::thread::spawn(move || while into.write_all(&lines).is_ok() {});
        let hears = std::thread::spawn(move || drop(std::io::copy(&mut from, &mut std::io::sink())));
        Flood { stream, threads: [sends, hears] }
    }

    fn end(self) {
        let _ = self.stream.shutdown(Shutdown::Both);
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

/// How long one line takes until it is acknowledged.
fn acknowledged(shipper: &mut Shipper, number: i64) -> Duration {
    let begin = Instant::now();
    assert!(shipper.send(bip(number).as_bytes()));
    shipper.wait_for_ack(number);
    begin.elapsed()
}

/// How long one line by a plain connection takes until it is committed.
fn committed(intake: &Intake) -> Duration {
    let begin = Instant::now();
    let mut stream = intake.connect();
    stream.write_all(bip(1).as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0, "closed when it is committed");
    begin.elapsed()
}

/// Resident memory of a process that is its own, in bytes.
fn memory(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

#[test]
fn quiet_producers_are_served_beside_floods() {
    let intake = Intake::start();
    let gateway = intake.platform.worker("gateway");
    let limit = intake.platform.value("select pg_size_bytes(current_setting('howdah.ingest_memory'))");
    let limit: u64 = limit.unwrap().parse().unwrap();
    let before = memory(gateway);
    let mut quiet = intake.hello("quiet", 1);
    let acknowledging = (0..ACKNOWLEDGED).map(|number| {
        let shipper = intake.hello(&format!("flood {number}"), 1);
        shipper.socket().try_clone().unwrap()
    });
    let floods: Vec<Flood> =
        acknowledging.chain((0..PLAIN).map(|_| intake.connect())).map(Flood::by).collect();
    wait_for("lines are stored", || intake.view("stored").is_some_and(|stored| stored != "0"));
    let stored = || intake.view("stored").unwrap().parse::<u64>().unwrap();
    let (begin, stored_before) = (Instant::now(), stored());
    let (mut acknowledgements, mut commits, mut grown) = (Vec::new(), Vec::new(), 0);
    while begin.elapsed() < TIME {
        acknowledgements.push(acknowledged(&mut quiet, acknowledgements.len() as i64 + 1));
        commits.push(committed(&intake));
        grown = grown.max(memory(gateway).saturating_sub(before));
    }
    let rate = (stored() - stored_before) as f64 / begin.elapsed().as_secs_f64();
    floods.into_iter().for_each(Flood::end);
    let slowest = |times: &[Duration]| times.iter().max().copied().unwrap();
    let seen = format!(
        "{} lines, the slowest acknowledged after {:?}, committed after {:?}; the gateway grew by {} MB; \
         {rate:.0} lines/s were stored",
        acknowledgements.len(),
        slowest(&acknowledgements),
        slowest(&commits),
        grown >> 20
    );
    println!("{seen}");
    bounds::LINES_ARE_FAIR.check(slowest(&acknowledgements));
    bounds::PLAIN_LINES_ARE_FAIR.check(slowest(&commits));
    assert!(grown < limit + ALLOWANCE, "{seen}");
}
