//! What may be answered while something changes: what was true at some time between the question and the answer.

use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use howdah_tests::{Connection, Platform, Reply};

/// The states that a platform has been in, the last of which may not be committed yet.
pub(super) struct Versions<S> {
    states: RwLock<Vec<S>>,
    committed: AtomicUsize,
}

impl<S: Clone> Versions<S> {
    /// A platform in its first state.
    pub(super) fn of(first: S) -> Versions<S> {
        Versions { states: RwLock::new(vec![first]), committed: AtomicUsize::new(0) }
    }

    /// The last state.
    pub(super) fn last(&self) -> S {
        self.states.read().expect("no panic").last().expect("there is a first").clone()
    }

    /// Does what makes the next state true.
    pub(super) fn change(&self, next: S, work: impl FnOnce()) {
        self.states.write().expect("no panic").push(next);
        work();
        self.committed.store(self.states.read().expect("no panic").len() - 1, Ordering::SeqCst);
    }

    /// Asks, and returns the answer with every state that it may be of.
    fn ask<T>(&self, question: impl FnOnce() -> T) -> (T, Vec<S>) {
        let from = self.committed.load(Ordering::SeqCst);
        let answer = question();
        (answer, self.states.read().expect("no panic")[from..].to_vec())
    }
}

/// A question, and what is right for it.
pub(super) struct Question<S> {
    /// The method.
    pub method: &'static str,
    /// The target.
    pub target: String,
    /// Why an answer is wrong in a state.
    pub fault: Fault<S>,
}

/// Why an answer is wrong in a state; none if it is right.
pub(super) type Fault<S> = Box<dyn Fn(&S, &Reply) -> Option<String>>;

/// Asks questions on several connections, made by `question` from random numbers, while `changes` runs; and fails if an answer
/// was right in no state that the platform was in meanwhile. Between two changes each connection gets an answer, so that no
/// question meets more than one: PostgreSQL reads catalogs as they are now, and may mix two commits. Returns how many
/// were asked.
pub(super) fn compare_under<S: Clone + Send + Sync>(
    platform: &Platform,
    versions: &Versions<S>,
    random: &mut hunt::Rng,
    question: impl Fn(&mut hunt::Rng) -> Question<S> + Sync,
    mut change: impl FnMut(u32, &mut hunt::Rng),
    changes: u32,
) -> u64 {
    let over = AtomicBool::new(false);
    let asked: [AtomicU64; 3] = Default::default();
    thread::scope(|scope| {
        let askers: Vec<_> = asked
            .iter()
            .map(|asked| {
                let mut random = random.fork();
                let (over, question) = (&over, &question);
                scope.spawn(move || {
                    let mut connection = platform.connect();
                    while !over.load(Ordering::Relaxed) {
                        ask(&mut connection, versions, &question(&mut random));
                        asked.fetch_add(1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        // The askers end even if a change panics.
        let ended = Ended(&over);
        for number in 1..=changes {
            let before = asked.each_ref().map(|asked| asked.load(Ordering::SeqCst));
            // The question that is under way now, and one more.
            let is_answered =
                || asked.iter().zip(before).all(|(asked, before)| asked.load(Ordering::SeqCst) > before);
            while !is_answered() && !askers.iter().any(|asker| asker.is_finished()) {
                thread::yield_now();
            }
            change(number, random);
        }
        drop(ended);
        for asker in askers {
            if let Err(panic) = asker.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
    asked.iter().map(|asked| asked.load(Ordering::SeqCst)).sum()
}

struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn ask<S: Clone>(connection: &mut Connection, versions: &Versions<S>, question: &Question<S>) {
    let Question { method, target, fault } = question;
    let (reply, states) = versions.ask(|| connection.request(method, target, &[], b""));
    let faults: Vec<String> = states.iter().map_while(|state| fault(state, &reply)).collect();
    assert!(
        faults.len() < states.len(),
        "{method} {target} was answered with {} {}, which was never right: {}",
        reply.status,
        reply.text(),
        faults.join("; ")
    );
}
