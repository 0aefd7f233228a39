//! What a hand-off costs: `cargo run --release -p exchange --example measure`.
//!
//! With the argument `alone`, one thread plays both sides 100,000 times, for callgrind to count instructions.

use std::ptr::NonNull;
use std::time::{Duration, Instant};

use exchange::{Exchange, Executor, Gateway, NO_GATE, Progress, Share, Sizes, Wakers};

const SIZES: Sizes = Sizes { slots: 64, blocks: 64, lanes: 1, executors: 1, gateways: 1, gates: 1 };
const MESSAGE: [u8; 300] = [b'x'; 300];
/// Longer than any pause here: the executor never sleeps.
const LONG: Duration = Duration::from_secs(60);

fn main() {
    if std::env::args().any(|argument| argument == "alone") {
        return alone(100_000);
    }
    println!("submit, next, respond and take, 300 bytes each way, ns per round trip:");
    println!("{:>8.0}  one thread plays both sides", per_turn(1_000_000, alone));
    println!("{:>8.0}  two processes, both spin", between(200_000, LONG, true));
    println!("{:>8.0}  two processes, the gateway sleeps", between(20_000, LONG, false));
    println!("{:>8.0}  two processes, both sleep", between(20_000, Duration::ZERO, false));
}

fn per_turn(turns: u32, body: impl FnOnce(u32)) -> f64 {
    let begin = Instant::now();
    body(turns);
    begin.elapsed().as_nanos() as f64 / f64::from(turns)
}

/// An exchange in memory that forked processes share.
fn region() -> (Exchange, Wakers) {
    let bytes = SIZES.bytes().expect("the sizes are in range");
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: a new anonymous mapping, which stays.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
    let base = NonNull::new(base.cast()).filter(|_| base != libc::MAP_FAILED).expect("memory for the region");
    // SAFETY: the mapping is large enough and nobody else's.
    let exchange = unsafe { Exchange::format(base, &SIZES).expect("pages are aligned") };
    (exchange, Wakers::new(SIZES.executors, SIZES.gateways).expect("two file descriptors"))
}

fn alone(turns: u32) {
    let (exchange, wakers) = region();
    let mut gateway = Gateway::join(exchange, wakers.clone(), 0);
    let mut executor = Executor::join(exchange, wakers, 0, 0);
    let mut response = Vec::with_capacity(MESSAGE.len());
    for _ in 0..turns {
        gateway.submit(0, NO_GATE, &[&MESSAGE]).expect("a slot is free");
        gateway.flush();
        respond_to_one(&mut executor, Duration::ZERO);
        response.clear();
        gateway.take().expect("it has responded").append_to(&mut response);
    }
}

/// Runs the next request if there is one.
fn respond_to_one(executor: &mut Executor, spin: Duration) -> bool {
    let Some(mut work) = executor.next(spin, |_| Share::Keep) else { return false };
    assert_eq!(executor.request(&work, &mut Vec::new()).len(), MESSAGE.len());
    assert_eq!(executor.respond(&mut work, &[&MESSAGE], 200), Progress::Done);
    true
}

/// One request at a time between two processes.
fn between(turns: u32, executor_spins: Duration, gateway_spins: bool) -> f64 {
    let (exchange, wakers) = region();
    // SAFETY: this process has one thread; the child only runs the executor and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let mut executor = Executor::join(exchange, wakers, 0, 0);
        for _ in 0..turns {
            while !respond_to_one(&mut executor, executor_spins) {
                executor.event_fd().poll(LONG);
                executor.event_fd().drain();
            }
        }
        std::process::exit(0);
    }
    let mut gateway = Gateway::join(exchange, wakers, 0);
    let figure = per_turn(turns, |turns| (0..turns).for_each(|_| round_trip(&mut gateway, gateway_spins)));
    // SAFETY: waits for the child.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    figure
}

fn round_trip(gateway: &mut Gateway, spins: bool) {
    gateway.submit(0, NO_GATE, &[&MESSAGE]).expect("a slot is free");
    gateway.flush();
    let mut response = Vec::with_capacity(MESSAGE.len());
    loop {
        if let Some(mut completion) = gateway.take() {
            completion.append_to(&mut response);
            return;
        }
        if spins {
            std::hint::spin_loop();
        } else if gateway.about_to_sleep() {
            gateway.event_fd().poll(LONG);
            gateway.awake();
        }
    }
}
