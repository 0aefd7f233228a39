//! Peers work, cancel, abandon, leave in an orderly way at random moments and join again. Afterwards every
//! request has had exactly one outcome and nothing is leaked. EXCHANGE_SEED chooses another course.
#![cfg(not(loom))]

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::region::Region;
use exchange::{
    BLOCK, Cancel, Executor, Full, Gateway, INLINE, NO_GATE, Outcome, Progress, Share, Sizes, Ticket, Work,
};

const SIZES: Sizes = Sizes { slots: 24, blocks: 24, lanes: 2, executors: 5, gateways: 3, gates: 2 };
const LIMITS: [u32; 2] = [1, 2];
const STEPS: u32 = 25_000;
/// How long a request may wait while its gateway looks after it.
const PATIENCE: Duration = Duration::from_micros(200);

/// Marsaglia's xorshift: the same course for the same seed, as far as the scheduler allows.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }

    fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// Mostly small, sometimes several blocks.
    fn length(&mut self) -> usize {
        let most = [64, 64, 64, INLINE, 2 * BLOCK, 9 * BLOCK][self.below(6) as usize];
        self.below(most as u64) as usize
    }
}

/// What all threads share.
struct Course {
    region: Region,
    inside: [AtomicU32; 2],
    stop: AtomicBool,
}

/// A request says which byte it is made of and how long its response is to be.
fn request(random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let mark = random.below(256) as u8;
    let response = vec![!mark; random.length()];
    let mut request = (response.len() as u32).to_ne_bytes().to_vec();
    request.resize(4 + 1 + random.length(), mark);
    (request, response)
}

/// The response that a request asks for.
fn response_to(request: &[u8]) -> Vec<u8> {
    let (length, marks) = request.split_at(4);
    assert!(marks.iter().all(|&mark| mark == marks[0]), "a request arrived damaged");
    vec![!marks[0]; u32::from_ne_bytes(length.try_into().unwrap()) as usize]
}

/// A gateway and what it awaits.
struct Client<'c> {
    course: &'c Course,
    gateway: Gateway,
    awaited: HashMap<Ticket, (Vec<u8>, Vec<u8>)>,
    random: Random,
    outcomes: [u64; 4],
}

impl Client<'_> {
    fn submit(&mut self) {
        let (request, response) = request(&mut self.random);
        let lane = self.random.below(2) as u32;
        let gate = [NO_GATE, NO_GATE, 0, 1][self.random.below(4) as usize];
        let (first, second) = request.split_at(request.len() / 2);
        match self.gateway.submit(lane, gate, &[first, second]) {
            Ok(ticket) => {
                assert!(self.awaited.insert(ticket, (response, Vec::new())).is_none(), "a ticket twice");
            }
            Err(full) => assert_ne!(full, Full::TooLarge),
        }
    }

    fn take_all(&mut self) {
        while let Some(mut completion) = self.gateway.take() {
            let ticket = completion.ticket();
            let (expected, bytes) = self.awaited.get_mut(&ticket).expect("an outcome too many");
            completion.append_to(bytes);
            if completion.more() {
                continue;
            }
            match completion.outcome() {
                Outcome::Answered(code) => {
                    assert!(bytes == expected, "a response arrived damaged");
                    assert_eq!(code as usize, expected.len());
                    self.outcomes[0] += 1;
                }
                Outcome::Died => self.outcomes[1] += 1,
            }
            self.awaited.remove(&ticket);
        }
    }

    /// Some ticket that has no outcome yet.
    fn any_ticket(&mut self) -> Option<Ticket> {
        let nth = self.random.below(self.awaited.len().max(1) as u64) as usize;
        self.awaited.keys().nth(nth).copied()
    }

    fn cancel(&mut self) {
        let Some(ticket) = self.any_ticket() else { return };
        match self.gateway.cancel(ticket) {
            Cancel::NeverRan => {
                self.awaited.remove(&ticket);
                self.outcomes[2] += 1;
            }
            Cancel::Running(target) => target.signal(),
            Cancel::TooLate => {}
        }
    }

    fn abandon(&mut self) {
        let Some(ticket) = self.any_ticket() else { return };
        self.gateway.abandon(ticket);
        self.awaited.remove(&ticket);
        self.outcomes[3] += 1;
    }

    fn leave_and_join(&mut self) {
        self.gateway.leave();
        self.outcomes[3] += self.awaited.drain().count() as u64;
        self.gateway = self.course.region.gateway(self.gateway_number());
    }

    fn gateway_number(&self) -> u32 {
        let own = std::ptr::from_ref(self.gateway.event_fd());
        (0..SIZES.gateways)
            .find(|&number| std::ptr::eq(self.course.region.wakers.gateway(number), own))
            .expect("every gateway has an eventfd")
    }

    /// A tick: sleeps a little unless a completion is there, and looks after the lanes.
    fn tick(&mut self) {
        if self.gateway.about_to_sleep() {
            self.gateway.event_fd().poll(Duration::from_millis(1));
            self.gateway.awake();
        }
        for lane in 0..SIZES.lanes {
            self.gateway.nudge(lane, PATIENCE);
        }
    }

    fn step(&mut self) {
        match self.random.below(200) {
            0..100 => self.submit(),
            100..180 => self.take_all(),
            180..190 => self.cancel(),
            190..195 => self.abandon(),
            195..199 => self.tick(),
            _ if self.random.once_in(5) => self.leave_and_join(),
            _ => self.gateway.flush(),
        }
        if self.course.region.exchange.free_slots() == 0 {
            self.take_all();
            self.tick();
        }
    }

    /// Awaits what is still without an outcome, and leaves.
    fn end(mut self) -> [u64; 4] {
        let begin = Instant::now();
        while !self.awaited.is_empty() {
            self.take_all();
            self.tick();
            assert!(begin.elapsed() < crate::region::SOON, "stranded: {:?}", self.course.region.exchange);
        }
        self.gateway.leave();
        self.outcomes
    }
}

fn run_client(course: &Course, number: u32, seed: u64) -> [u64; 4] {
    let gateway = course.region.gateway(number);
    let mut client =
        Client { course, gateway, awaited: HashMap::new(), random: Random(seed), outcomes: [0; 4] };
    (0..STEPS).for_each(|_| client.step());
    client.end()
}

/// One executor's life: requests until it leaves.
fn run_executor(course: &Course, number: u32, seed: u64) {
    let mut random = Random(seed);
    let lane = number % SIZES.lanes;
    let mut executor = course.region.executor_of(lane, number);
    while !course.stop.load(Ordering::Acquire) {
        let spin = Duration::from_micros(random.below(3));
        let share = if random.once_in(2) { Share::Keep } else { Share::WakeNext };
        match executor.next(spin, |_| share) {
            Some(work) => run(course, &mut executor, work, &mut random),
            None if random.once_in(50) => executor.leave(),
            None => {
                assert!(executor.event_fd().poll(crate::region::SOON), "an executor overslept");
                executor.event_fd().drain();
            }
        }
        if random.once_in(500) {
            executor.leave();
            executor = course.region.executor_of(lane, number);
        }
    }
    executor.leave();
}

/// Runs one request to its end, or leaves in the middle of it.
fn run(course: &Course, executor: &mut Executor, mut work: Work, random: &mut Random) {
    let inside = course.inside.get(work.gate() as usize);
    if let Some(inside) = inside {
        assert!(inside.fetch_add(1, Ordering::AcqRel) < LIMITS[work.gate() as usize], "a limit exceeded");
    }
    let response = response_to(executor.request(&work, &mut Vec::new()));
    executor.interrupt().requested();
    if random.once_in(20) {
        thread::yield_now();
    }
    if let Some(inside) = inside {
        inside.fetch_sub(1, Ordering::AcqRel);
    }
    if random.once_in(50) {
        return executor.leave();
    }
    let (first, second) = response.split_at(response.len() / 3);
    let mut progress = executor.respond(&mut work, &[first, second], response.len() as u32);
    while progress == Progress::Wait {
        if random.once_in(20) {
            return executor.leave();
        }
        assert!(executor.event_fd().poll(crate::region::SOON), "a part was never taken");
        executor.event_fd().drain();
        progress = executor.resume(&mut work, &[first, second]);
    }
}

/// What is left in queues after all have left is abandoned: whoever comes next frees it.
fn drain(region: &Region) {
    for lane in 0..SIZES.lanes {
        let mut executor = region.executor_of(lane, 0);
        assert!(crate::region::next(&mut executor).is_none(), "a request whose gateway has left");
        executor.leave();
    }
}

#[test]
fn every_request_has_one_outcome_and_nothing_leaks_whoever_leaves() {
    // SAFETY: the gateways signal the executors' process, which is this one.
    unsafe { libc::signal(libc::SIGUSR2, libc::SIG_IGN) };
    let seed = std::env::var("EXCHANGE_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    println!("EXCHANGE_SEED={seed}");
    let mut random = Random(seed | 1 << 63);
    let region = Region::new(&SIZES);
    let course = Course { region, inside: Default::default(), stop: AtomicBool::new(false) };
    let mut setter = course.region.gateway(0);
    LIMITS.iter().enumerate().for_each(|(gate, &limit)| setter.set_gate_limit(gate as u32, limit));
    let outcomes = thread::scope(|scope| {
        let course = &course;
        let executors: Vec<_> = (0..SIZES.executors)
            .map(|number| (number, random.below(u64::MAX) | 1))
            .map(|(number, seed)| scope.spawn(move || run_executor(course, number, seed)))
            .collect();
        let clients: Vec<_> = (0..SIZES.gateways)
            .map(|number| (number, random.below(u64::MAX) | 1))
            .map(|(number, seed)| scope.spawn(move || run_client(course, number, seed)))
            .collect();
        let outcomes: Vec<_> = clients.into_iter().map(|client| client.join()).collect();
        course.stop.store(true, Ordering::Release);
        (0..SIZES.executors).for_each(|number| course.region.wakers.executor(number).notify());
        executors.into_iter().for_each(|executor| executor.join().expect("an executor failed"));
        outcomes
    });
    for outcome in outcomes {
        let [answered, died, cancelled, abandoned] = outcome.expect("a gateway failed");
        println!("{answered} answered, {died} died, {cancelled} cancelled, {abandoned} abandoned");
        assert!(answered > 0);
    }
    drain(&course.region);
    course.region.assert_empty();
    for lane in 0..SIZES.lanes {
        assert_eq!((course.region.exchange.idle(lane), course.region.exchange.searching(lane)), (0, 0));
    }
}
