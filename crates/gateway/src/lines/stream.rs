//! A stream of buckets that are committed in order: one is under way, the next fills.
//!
//! A bucket is sent when it is full, or its first line has waited long enough. The first line after a pause is sent
//! at once, so an idle stream has small buckets; and what comes while a bucket commits goes into the next, so a busy
//! one has large ones.
//!
//! Of an acknowledged stream a full bucket is sent while another is under way: it is read meanwhile by another executor,
//! which then waits for the producer's lock. The numbers of its lines tell if it comes too early: then it is sent
//! again when the one before it is committed.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::sleep;
use wire::{Answer, Bucket, Failure, Origin, Rejected, Work, Written};

use super::account::{Account, Lines};
use super::part::{self, Part};
use super::terms::Terms;
use crate::clock::Millis;
use crate::server::Source;
use crate::shared::Shared;
use crate::this_thread::spawn;

/// The first pause after a failure; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How often a line does harm alone, in a row, until it is a dead letter: whoever ends a process may have meant another.
const HARMS: u32 = 3;

/// Buckets of an acknowledged stream that are under way at a time.
const UNDER_WAY: u64 = 2;

/// Neighbouring lines of a bucket that came by one connection.
struct Run {
    account: Rc<Account>,
    lines: u64,
}

/// What a stream tells the one connection that an acknowledged one has.
pub(crate) trait Listening {
    /// A bucket is committed.
    fn committed(&self, written: &Written, first: i64, last: i64);
    /// The stream has ended.
    fn failed(&self, failure: &Failure);
}

/// A bucket that no more lines go into.
struct Closed {
    /// Which of the stream's buckets it is, from 0.
    number: u64,
    work: Work,
    lines: Rc<Vec<u8>>,
    /// How many lines it has.
    count: u64,
    /// The sequence number of its first line.
    first: i64,
    runs: Vec<Run>,
    /// Given up with the bucket, committed or not.
    held: Held,
}

/// Memory of a bucket that the listener's account has.
struct Held {
    listener: Rc<Lines>,
    bytes: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.listener.in_buckets.set(self.listener.in_buckets.get() - self.bytes);
    }
}

pub(crate) struct Stream {
    shared: Rc<Shared>,
    lines: Rc<Lines>,
    listener: u32,
    /// Its number.
    number: u64,
    /// Of an acknowledged stream: who sends, and the sequence of the next bucket's first line.
    origin: RefCell<Option<Origin>>,
    hears: RefCell<Option<Rc<dyn Listening>>>,
    terms: Rc<Terms>,
    filling: RefCell<Bucket>,
    runs: RefCell<Vec<Run>>,
    /// Buckets that have been sent.
    sent: Cell<u64>,
    /// Buckets that are committed: those that were sent first.
    settled: Cell<u64>,
    /// A bucket could not be committed, or everything ends.
    has_failed: Cell<bool>,
    /// When the first line came into the bucket that fills.
    since: Cell<Millis>,
    /// When the last bucket was committed.
    last: Cell<Option<Millis>>,
    /// Somebody waits for the end of what has been sent.
    hurried: Cell<bool>,
    /// Connections that use it.
    users: Cell<usize>,
    waker: RefCell<Option<Waker>>,
}

impl Stream {
    pub(crate) fn new(
        shared: &Rc<Shared>,
        lines: &Rc<Lines>,
        listener: u32,
        terms: &Rc<Terms>,
        origin: Option<Origin>,
    ) -> Rc<Stream> {
        Rc::new(Stream {
            shared: Rc::clone(shared),
            lines: Rc::clone(lines),
            listener,
            number: shared.number_stream(),
            origin: RefCell::new(origin),
            hears: RefCell::default(),
            terms: Rc::clone(terms),
            filling: RefCell::default(),
            runs: RefCell::default(),
            sent: Cell::new(0),
            settled: Cell::new(0),
            has_failed: Cell::new(false),
            since: Cell::new(0),
            last: Cell::new(None),
            hurried: Cell::new(false),
            users: Cell::new(0),
            waker: RefCell::default(),
        })
    }

    pub(crate) fn tell(&self, hears: Rc<dyn Listening>) {
        self.hears.replace(Some(hears));
    }

    /// Starts its task.
    pub(crate) fn start(self: Rc<Self>) -> Rc<Self> {
        self.lines.streams.borrow_mut().push(Rc::downgrade(&self));
        spawn(Rc::clone(&self).run());
        self
    }

    /// Whether plain connections share it.
    pub(crate) fn is_plain(&self) -> bool {
        self.origin.borrow().is_none()
    }

    pub(crate) fn terms(&self) -> &Rc<Terms> {
        &self.terms
    }

    pub(crate) fn users(&self) -> usize {
        self.users.get()
    }

    pub(crate) fn join(&self) {
        self.users.set(self.users.get() + 1);
    }

    pub(crate) fn leave(&self) {
        self.users.set(self.users.get() - 1);
        self.wake();
    }

    /// Nobody waits for more lines: what there is goes at once.
    pub(crate) fn hurry(&self) {
        self.hurried.set(true);
        self.wake();
    }

    pub(crate) fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.filling.borrow().is_full(&self.terms.full)
    }

    /// Lets a connection put lines into the bucket that fills.
    pub(crate) fn fill<T>(&self, account: &Rc<Account>, put: impl FnOnce(&mut Bucket) -> T) -> T {
        let mut filling = self.filling.borrow_mut();
        if !filling.has_memory() {
            *filling = Bucket::reusing(self.lines.take_memory());
        }
        let (count, bytes) = (filling.count(), filling.bytes());
        let result = put(&mut filling);
        let more = filling.count() - count;
        if more > 0 {
            self.lines.in_buckets.set(self.lines.in_buckets.get() + filling.bytes() - bytes);
            account.received.set(account.received.get() + more);
            self.lines.received.set(self.lines.received.get() + more);
            self.note_run(account, more);
            if count == 0 {
                self.since.set(self.shared.clock.now());
            }
            if count == 0 || filling.is_full(&self.terms.full) {
                self.wake();
            }
        }
        result
    }

    fn note_run(&self, account: &Rc<Account>, lines: u64) {
        let mut runs = self.runs.borrow_mut();
        match runs.last_mut() {
            Some(run) if Rc::ptr_eq(&run.account, account) => run.lines += lines,
            _ => runs.push(Run { account: Rc::clone(account), lines }),
        }
    }

    /// Sends buckets until nobody uses the stream any more, or it fails for good.
    async fn run(self: Rc<Self>) {
        poll_fn(|context| {
            self.waker.replace(Some(context.waker().clone()));
            Poll::Ready(())
        })
        .await;
        let mut under_way = UnderWay::default();
        while under_way.until(self.has_lines()).await {
            under_way.until(self.bucket_is_due()).await;
            under_way.until(self.may_send()).await;
            if self.has_failed.get() {
                break;
            }
            under_way.add(self.send(self.close_bucket()));
        }
        under_way.until(self.all_is_settled()).await;
        drop(under_way);
        self.lines.in_buckets.set(self.lines.in_buckets.get() - self.filling.take().bytes());
        self.lines.rest();
        self.lines.streams.borrow_mut().retain(|known| !std::ptr::eq(known.as_ptr(), &*self));
        self.lines.wake_waiting();
    }

    /// Waits for a line. False if none will come: while a bucket is under way, connections may still join. A stream
    /// that rests has no memory.
    async fn has_lines(&self) -> bool {
        poll_fn(|_| {
            if self.lines.aborted.get() || self.has_failed.get() {
                Poll::Ready(false)
            } else if !self.filling.borrow().is_empty() {
                Poll::Ready(true)
            } else if self.sent != self.settled {
                Poll::Pending
            } else if self.users.get() == 0 {
                Poll::Ready(false)
            } else {
                self.filling.take();
                self.lines.rest();
                Poll::Pending
            }
        })
        .await
    }

    /// Waits until the bucket is full, or its first line has waited long enough.
    async fn bucket_is_due(&self) {
        let patience = self.terms.patience;
        let now = self.shared.clock.now();
        let idle =
            self.last.get().is_none_or(|last| now.saturating_sub(last) >= patience.as_millis() as Millis);
        let waited = Duration::from_millis(now.saturating_sub(self.since.get()));
        let Some(left) = patience.checked_sub(waited).filter(|left| !left.is_zero() && !idle) else { return };
        let complete = poll_fn(|_| {
            let over = self.is_full() || self.hurried.get() || self.lines.aborted.get();
            if over { Poll::Ready(()) } else { Poll::Pending }
        });
        tokio::select! {
            () = complete => {}
            () = sleep(left) => {}
        }
    }

    /// Waits until the bucket that is due may be sent: when none is under way, or it is full and few are.
    async fn may_send(&self) {
        poll_fn(|_| {
            let under_way = self.sent.get() - self.settled.get();
            let room = under_way == 0 || (!self.is_plain() && under_way < UNDER_WAY && self.is_full());
            if room || self.has_failed.get() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Waits until nothing is under way any more.
    async fn all_is_settled(&self) {
        poll_fn(|_| {
            let over = self.sent == self.settled || self.has_failed.get();
            if over { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Closes the bucket that fills, and begins the next.
    fn close_bucket(&self) -> Closed {
        self.hurried.set(false);
        let bucket = self.filling.take();
        let number = self.sent.replace(self.sent.get() + 1);
        let count = bucket.count();
        let (lines, too_long) = bucket.into_parts();
        let origin = self.origin.borrow().clone();
        if let Some(origin) = self.origin.borrow_mut().as_mut() {
            // No line has the last number of all: a bucket that begins with it is refused.
            origin.first = origin.first.saturating_add(count as i64);
        }
        let first = origin.as_ref().map_or(0, |origin| origin.first);
        let work = self.terms.work(origin, too_long);
        // The next one fills meanwhile.
        self.lines.wake_waiting();
        let held = Held { listener: Rc::clone(&self.lines), bytes: lines.len() };
        Closed { number, work, lines: Rc::new(lines), count, first, runs: self.runs.take(), held }
    }

    /// Sends a bucket until it is committed, and takes note of it when all before it are.
    async fn send(&self, bucket: Closed) {
        let written = self.commit(&bucket).await;
        match written {
            Some(written) => {
                if self.all_before_are_settled(bucket.number).await {
                    self.settle(&bucket, &written);
                    self.settled.set(bucket.number + 1);
                }
            }
            None => self.has_failed.set(true),
        }
        drop(bucket.held);
        if let Ok(memory) = Rc::try_unwrap(bucket.lines) {
            self.lines.give_memory(&self.shared, memory);
        }
        self.lines.wake_waiting();
    }

    /// Waits until every bucket before this one is committed. False if that is in vain.
    async fn all_before_are_settled(&self, number: u64) -> bool {
        poll_fn(|_| {
            let are_settled = self.settled.get() == number;
            let over = are_settled || self.has_failed.get() || self.lines.aborted.get();
            if over { Poll::Ready(are_settled) } else { Poll::Pending }
        })
        .await
    }

    /// Commits a bucket, in parts if its lines may do harm; none if that is in vain.
    async fn commit(&self, bucket: &Closed) -> Option<Written> {
        let mut written = Written::default();
        let mut parts = vec![Part::whole(&bucket.lines, bucket.count)];
        while let Some(part) = parts.pop() {
            match self.commit_part(bucket, &part).await? {
                Some(more) => written.add(more, part.numbers.start),
                None => parts.extend(part.halves(&bucket.lines)),
            }
        }
        Some(written)
    }

    /// Tries again until a part is committed; none if that is in vain. Nothing became of it if it has done harm and has more lines
    /// than one.
    async fn commit_part(&self, bucket: &Closed, part: &Part) -> Option<Option<Written>> {
        let (mut pause, mut harms) = (FIRST_PAUSE, 0);
        let (mut work, mut lines) = part.work(&bucket.work, &bucket.lines);
        loop {
            let may_come_too_early = self.settled.get() < bucket.number;
            let failure = match self.ask(&work, &lines).await? {
                Answer::Written(written) => {
                    self.lines.is_failing.set(false);
                    return Some(Some(written));
                }
                Answer::Failed(failure) => failure,
            };
            if may_come_too_early {
                // Sent again, it says what is wrong with it alone.
                if self.all_before_are_settled(bucket.number).await {
                    continue;
                }
                return None;
            }
            self.lines.fail(&failure.code, &failure.error);
            if let Some(hears) = self.hears.borrow().as_ref()
                && failure.is_final
            {
                // Nothing is lost: the producer keeps what is not acknowledged.
                hears.failed(&failure);
                return None;
            }
            if !self.rest(pause).await {
                return None;
            }
            if failure.is_harm && !part.is_alone() {
                return Some(None);
            }
            harms = if failure.is_harm { harms + 1 } else { 0 };
            if harms == HARMS && work.refused.is_none() {
                let why = Rejected { line: 0, code: failure.code, error: failure.error };
                (work, lines) = part::refused(work, &lines, why);
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Hands work to the owner and waits for the answer; none if everything ends.
    async fn ask(&self, work: &Work, lines: &Rc<Vec<u8>>) -> Option<Answer> {
        let mut in_flight = None;
        poll_fn(|context: &mut Context<'_>| {
            if self.lines.aborted.get() {
                return Poll::Ready(None);
            }
            let in_flight = in_flight.get_or_insert_with(|| {
                let source = Source {
                    listener: self.listener,
                    stream: self.number,
                    connections: self.users.get().max(1),
                };
                self.shared.pour(source, work.head(), Rc::clone(lines), context.waker())
            });
            in_flight.poll_reply().map(|reply| Some(Answer::parse(&reply.bytes)))
        })
        .await
    }

    /// Waits before a bucket is tried again. False if that is in vain.
    async fn rest(&self, pause: Duration) -> bool {
        let in_vain = poll_fn(|_| if self.is_in_vain() { Poll::Ready(()) } else { Poll::Pending });
        tokio::select! {
            biased;
            () = in_vain => false,
            () = sleep(pause) => true,
        }
    }

    /// Whether everything ends, or the producer has gone: it sends again what is not acknowledged. Lines of plain
    /// connections are nowhere else.
    fn is_in_vain(&self) -> bool {
        self.lines.aborted.get() || !self.is_plain() && self.users.get() == 0
    }

    /// Takes note of what became of a bucket's lines.
    fn settle(&self, bucket: &Closed, written: &Written) {
        let runs = &bucket.runs;
        self.last.set(Some(self.shared.clock.now()));
        let add = |total: &Cell<u64>, more: u64| total.set(total.get() + more);
        add(&self.lines.stored, written.stored);
        add(&self.lines.repeated, written.repeated);
        add(&self.lines.rejected, written.rejected_count);
        add(&self.lines.dropped, written.dropped);
        let mut begin = 0;
        for (place, run) in runs.iter().enumerate() {
            let end = begin + run.lines;
            let listed = written.rejected.iter().filter(|line| (begin..end).contains(&line.line));
            let mut rejected = listed.count() as u64;
            if place + 1 == runs.len() {
                // Those that the answer does not list.
                rejected += written.rejected_count - written.rejected.len() as u64;
            }
            // Of a bucket of several connections it is not known whose lines were empty.
            let stored = if runs.len() == 1 { written.stored } else { run.lines.saturating_sub(rejected) };
            add(&run.account.stored, stored);
            add(&run.account.rejected, rejected);
            add(&run.account.repeated, written.repeated);
            add(&run.account.settled, run.lines);
            run.account.unconfirmed.set(run.account.unconfirmed.get() || written.unconfirmed);
            begin = end;
        }
        if let Some(hears) = self.hears.borrow().as_ref() {
            hears.committed(written, bucket.first, bucket.first + bucket.count as i64 - 1);
        }
    }
}

/// Buckets that are being sent, in order.
#[derive(Default)]
struct UnderWay<'s>(Vec<Pin<Box<dyn Future<Output = ()> + 's>>>);

impl<'s> UnderWay<'s> {
    fn add(&mut self, bucket: impl Future<Output = ()> + 's) {
        self.0.push(Box::pin(bucket));
    }

    /// Waits for something while the buckets are being sent. They come first: what is waited for may depend on them.
    async fn until<T>(&mut self, other: impl Future<Output = T>) -> T {
        let mut other = pin!(other);
        poll_fn(|context| {
            self.0.retain_mut(|bucket| bucket.as_mut().poll(context).is_pending());
            other.as_mut().poll(context)
        })
        .await
    }
}
