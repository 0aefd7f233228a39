//! The exchange between real processes: a forked gateway's children are its executors.
#![cfg(not(loom))]

mod region;

use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

use exchange::wake::EventFd;
use exchange::{BLOCK, Cancel, Executor, Gateway, Interrupt, NO_GATE, Outcome, Share};
use region::{Region, SIZES, await_completion, await_work, respond};

/// A forked process that runs `body` and nothing else of the test.
struct Child(libc::pid_t);

impl Child {
    fn fork(body: impl FnOnce()) -> Child {
        // SAFETY: the child touches what it has inherited and the exchange, then ends without returning.
        match unsafe { libc::fork() } {
            0 => {
                let fine = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).is_ok();
                // SAFETY: ends the process at once; the test's harness belongs to the parent.
                unsafe { libc::_exit(i32::from(!fine)) }
            }
            pid => {
                assert!(pid > 0, "fork failed");
                Child(pid)
            }
        }
    }

    fn assert_ended_well(self) {
        let mut status = 0;
        // SAFETY: waits for this test's own child.
        let pid = unsafe { libc::waitpid(self.0, &mut status, 0) };
        assert_eq!((pid, status), (self.0, 0));
    }
}

/// Runs requests until one says "stop": answers each with its bytes in reverse.
fn reverse_until_stopped(mut executor: Executor) {
    loop {
        let mut work = await_work(&mut executor, Share::WakeNext);
        let mut response = executor.request(&work, &mut Vec::new()).to_vec();
        let stop = response == b"stop";
        response.reverse();
        let (first, second) = response.split_at(response.len() / 2);
        respond(&mut executor, &mut work, &[first, second], response.len() as u32);
        if stop {
            executor.leave();
            return;
        }
    }
}

/// The next whole response: its ticket's slot, its bytes and its outcome.
fn receive(gateway: &mut Gateway) -> (u32, Vec<u8>, Outcome) {
    let mut bytes = Vec::new();
    loop {
        if let Some(mut completion) = gateway.take() {
            completion.append_to(&mut bytes);
            if !completion.more() {
                return (completion.ticket().slot(), bytes, completion.outcome());
            }
        } else {
            await_completion(gateway);
        }
    }
}

#[test]
fn requests_and_responses_of_all_sizes_cross_processes() {
    let region = Region::new(&SIZES);
    let child = Child::fork(|| reverse_until_stopped(region.executor(0)));
    let mut gateway = region.gateway(0);
    for round in 0..400 {
        let request: Vec<u8> = (0..round * 149).map(|at| (at * round) as u8).collect();
        gateway.submit(0, NO_GATE, &[&request]).unwrap();
        let (_, mut response, outcome) = receive(&mut gateway);
        response.reverse();
        assert!(response == request, "round {round}");
        assert_eq!(outcome, Outcome::Answered(request.len() as u32));
    }
    gateway.submit(0, NO_GATE, &[b"stop"]).unwrap();
    assert_eq!(receive(&mut gateway).1, b"pots");
    child.assert_ended_well();
    region.assert_empty();
}

#[test]
fn several_executors_share_the_work_of_two_gateways() {
    let region = Region::new(&SIZES);
    let mut children: Vec<Child> =
        (0..3).map(|number| Child::fork(|| reverse_until_stopped(region.executor(number)))).collect();
    children.push(Child::fork(|| exchange_many(&region, 1, 3000)));
    exchange_many(&region, 0, 3000);
    children.pop().unwrap().assert_ended_well();
    let mut gateway = region.gateway(0);
    for _ in 0..3 {
        gateway.submit(0, NO_GATE, &[b"stop"]).unwrap();
        receive(&mut gateway);
    }
    children.into_iter().for_each(Child::assert_ended_well);
    region.assert_empty();
}

/// Submits `count` requests, three at a time, and checks every response.
fn exchange_many(region: &Region, number: u32, count: u32) {
    let mut gateway = region.gateway(number);
    let mut expected = vec![None; SIZES.slots as usize];
    for request in (0..count).step_by(3) {
        for offset in 0..3 {
            let bytes = [number, request + offset].map(u32::to_ne_bytes).concat();
            let ticket = gateway.submit(0, NO_GATE, &[&bytes]).unwrap();
            expected[ticket.slot() as usize] = Some(bytes);
        }
        gateway.flush();
        for _ in 0..3 {
            let (slot, mut response, _) = receive(&mut gateway);
            response.reverse();
            assert_eq!(expected[slot as usize].take(), Some(response));
        }
    }
    gateway.leave();
}

static INTERRUPT: AtomicPtr<Interrupt> = AtomicPtr::new(std::ptr::null_mut());
static NOTED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

extern "C" fn on_sigusr2(_: libc::c_int) {
    // SAFETY: set before the handler is installed, and never freed.
    let interrupt = unsafe { &*INTERRUPT.load(Ordering::Acquire) };
    if interrupt.requested() {
        NOTED.store(true, Ordering::Release);
    }
}

/// Runs one request until it is interrupted, and answers 57; then others that nothing may interrupt.
fn run_until_interrupted(mut executor: Executor, runs: &EventFd) {
    INTERRUPT.store(Box::into_raw(Box::new(executor.interrupt())), Ordering::Release);
    // SAFETY: the handler is async-signal-safe.
    unsafe { libc::signal(libc::SIGUSR2, on_sigusr2 as *const () as libc::sighandler_t) };
    let mut work = await_work(&mut executor, Share::WakeNext);
    runs.notify();
    while !NOTED.load(Ordering::Acquire) {
        // The signal interrupts the call.
        executor.event_fd().poll(Duration::from_millis(100));
    }
    respond(&mut executor, &mut work, &[], 57);
    NOTED.store(false, Ordering::Release);
    let mut work = await_work(&mut executor, Share::WakeNext);
    while executor.request(&work, &mut Vec::new()) != b"last" {
        respond(&mut executor, &mut work, &[], u32::from(NOTED.load(Ordering::Acquire)));
        work = await_work(&mut executor, Share::WakeNext);
    }
    respond(&mut executor, &mut work, &[], 0);
}

#[test]
fn a_signal_interrupts_the_cancelled_request_and_no_other() {
    let region = Region::new(&SIZES);
    let child = Child::fork(|| run_until_interrupted(region.executor(0), region.wakers.gateway(1)));
    let mut gateway = region.gateway(0);
    let ticket = gateway.submit(0, NO_GATE, &[b"long"]).unwrap();
    gateway.flush();
    assert!(region.wakers.gateway(1).poll(region::SOON), "it runs");
    let Cancel::Running(target) = gateway.cancel(ticket) else { panic!("it runs") };
    assert_eq!(target.pid, child.0 as u32);
    target.signal();
    assert_eq!(receive(&mut gateway).2, Outcome::Answered(57));
    for _ in 0..100 {
        gateway.submit(0, NO_GATE, &[b"short"]).unwrap();
        gateway.flush();
        target.signal();
        assert_eq!(receive(&mut gateway).2, Outcome::Answered(0), "a late signal does nothing");
    }
    gateway.submit(0, NO_GATE, &[b"last"]).unwrap();
    receive(&mut gateway);
    child.assert_ended_well();
}

#[test]
fn a_region_is_formatted_again_after_a_crash() {
    let sizes = exchange::Sizes { slots: 4, ..SIZES };
    let mut memory = vec![0u8; sizes.bytes().unwrap() + exchange::ALIGNMENT];
    let offset = memory.as_ptr().align_offset(exchange::ALIGNMENT);
    let base = std::ptr::NonNull::new(memory[offset..].as_mut_ptr()).unwrap();
    // SAFETY: the memory is large enough, aligned, and outlives the handles.
    let format = || unsafe { exchange::Exchange::format(base, &sizes).unwrap() };
    // SAFETY: at least a header's bytes are readable.
    let attach = |base| unsafe { exchange::Exchange::attach(base) };
    assert_eq!(attach(base).unwrap_err(), exchange::RegionError::NotFormatted);
    let wakers = exchange::Wakers::new(sizes.executors, sizes.gateways).unwrap();

    let mut crashed = Gateway::join(format(), wakers.clone(), 0);
    for _ in 0..4 {
        crashed.submit(0, 0, &[&[7; BLOCK]]).unwrap();
    }
    let mut executor = Executor::join(attach(base).unwrap(), wakers.clone(), 0, 0);
    assert!(region::next(&mut executor).is_some());
    wakers.executor(1).notify();

    let exchange = format();
    wakers.drain();
    assert!(!wakers.executor(1).poll(Duration::ZERO));
    assert_eq!((exchange.free_slots(), exchange.free_blocks()), (4, SIZES.blocks));
    let mut gateway = Gateway::join(exchange, wakers.clone(), 0);
    let mut executor = Executor::join(exchange, wakers, 0, 0);
    gateway.submit(0, 0, &[b"after"]).unwrap();
    let mut work = region::next(&mut executor).unwrap();
    assert_eq!(executor.request(&work, &mut Vec::new()), b"after");
    respond(&mut executor, &mut work, &[b"fine"], 0);
    assert_eq!(region::answer(&mut gateway).unwrap().0, b"fine");
    // SAFETY: one byte further, within the memory.
    let crooked = unsafe { base.add(1) };
    assert_eq!(attach(crooked).unwrap_err(), exchange::RegionError::Misaligned);
}
