//! Every interleaving of a commit's steps with a reader's, by loom.

use loom::sync::Arc;
use loom::thread;

use super::*;

/// What a database has: what can be seen of a thing, and who runs. Its steps are PostgreSQL's, each as one.
struct World {
    commits: Commits,
    /// What can be seen: 0 before the commit, 1 after it.
    visible: AtomicU64,
    /// What its client was told.
    told: AtomicU64,
    /// Of the transaction: 0 runs, 1 ends, 2 has ended.
    end: AtomicU64,
}

const THING: Thing = Thing(1);
const TRANSACTION: u32 = 7;

impl World {
    fn new() -> Arc<World> {
        fn leaked<T: Default>(count: usize) -> &'static [T] {
            std::iter::repeat_with(T::default).take(count).collect::<Vec<_>>().leak()
        }
        Arc::new(World {
            commits: Commits::new(Box::leak(Box::default()), leaked(2), leaked(1), leaked(1)),
            visible: AtomicU64::new(0),
            told: AtomicU64::new(0),
            end: AtomicU64::new(0),
        })
    }

    fn standing(&self) -> Standing {
        match self.end.load(SeqCst) {
            0 => Standing::Runs,
            1 => Standing::Ends,
            _ => Standing::Ended,
        }
    }

    /// It ends and can be seen: what one process sees of both is never the later of the one and the earlier of the other.
    fn show(&self) {
        self.end.store(1, SeqCst);
        self.visible.store(1, SeqCst);
    }

    fn commit(&self) {
        self.commits.mark(0, TRANSACTION, &[THING]);
        self.show();
        self.commits.count(0, &[THING]);
        self.told.store(1, SeqCst);
    }

    fn commit_prepared(&self) {
        assert!(self.commits.prepare(TRANSACTION, &[THING], |_, _| self.standing()));
        self.show();
        self.end.store(2, SeqCst);
        self.told.store(1, SeqCst);
    }

    /// Computes, and asks twice whether that holds.
    fn read(&self) {
        let since = self.commits.now();
        let computed = self.visible.load(SeqCst);
        for _ in 0..2 {
            let known = self.told.load(SeqCst).max(self.visible.load(SeqCst));
            if self.commits.hold(since, &[THING], |_, _| self.standing()) {
                assert_eq!(known, computed, "it is older than what is known");
            }
        }
    }
}

fn model(work: impl Fn(&World) + Sync + Send + Copy + 'static, readers: usize) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let world = World::new();
        let others: Vec<_> = (0..readers)
            .map(|_| {
                let world = Arc::clone(&world);
                thread::spawn(move || world.read())
            })
            .collect();
        work(&world);
        others.into_iter().for_each(|reader| reader.join().unwrap());
        // At the end all is counted, and nothing is left of the mark.
        world.commits.settle_ended(|_, _| world.standing());
        assert!(world.commits.hold(world.commits.now(), &[THING], |_, _| panic!("a mark is left")));
        assert_eq!(world.commits.counter(THING).marked.load(SeqCst), 0);
        assert_ne!(world.commits.last_change(THING).number(), 0);
    });
}

#[test]
fn a_commit_is_never_missed() {
    model(World::commit, 1);
}

#[test]
fn a_prepared_transaction_is_never_missed_and_counted_by_several() {
    model(World::commit_prepared, 1);
    model(World::commit_prepared, 2);
}
