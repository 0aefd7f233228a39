//! A connection for lines: reading, and what its first line says.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use wire::{Cutter, Decision, Opening};

use super::account::{Account, Lines, Unfinished};
use super::admission::Place;
use super::stream::Stream;
use super::terms::Terms;
use crate::clock::NEVER;
use crate::connection::{Peer, Registered};
use crate::counters::add;
use crate::listener::ListenerState;
use crate::shared::Shared;
use crate::stream::Stream as Socket;

/// Bytes that a connection takes in before it lets others go first.
const SHARE: usize = 256 << 10;
/// Bytes that are read at a time before it is known what the client speaks: they have no place yet.
const OPENING: usize = 16 << 10;

/// How reading has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The client sends no more.
    Finished,
    /// The connection broke, or its first line is late: what came of a line without its end is not one.
    Broken,
    /// The listener is closing.
    Draining,
    /// Everything ends at once.
    Aborted,
}

pub(crate) struct Connection {
    pub(super) place: Registered,
    admitted: Place,
    pub(super) socket: Socket,
    peer: Peer,
    pub(super) lines: Rc<Lines>,
    pub(super) terms: Rc<Terms>,
    pub(super) account: Rc<Account>,
    pub(super) unfinished: Rc<Unfinished>,
    pub(super) cutter: Cutter,
    /// What has been read and found no room. It counts as if it were in a bucket.
    rest: Vec<u8>,
}

impl Connection {
    pub(crate) fn new(
        shared: &Rc<Shared>,
        listener: &Rc<ListenerState>,
        lines: &Rc<Lines>,
        socket: Socket,
        peer: Peer,
    ) -> Connection {
        let place = Registered::new(shared, listener);
        let id = shared.next_connection.get();
        shared.next_connection.set(id + 1);
        let admitted = Place::take(shared, lines, &place.link, &peer);
        let account = Rc::new(Account { id, remote: peer.remote, ..Account::default() });
        lines.accounts.borrow_mut().push(Rc::clone(&account));
        let unfinished = Rc::new(Unfinished::of(&place.link));
        lines.unfinished.borrow_mut().push(Rc::clone(&unfinished));
        let terms = lines.terms();
        let cutter = Cutter::new(terms.longest_line);
        let lines = Rc::clone(lines);
        Connection {
            place,
            admitted,
            socket,
            peer,
            lines,
            terms,
            account,
            unfinished,
            cutter,
            rest: Vec::new(),
        }
    }

    /// Serves the connection to its end.
    pub(crate) async fn serve(mut self) {
        self.place.name_task().await;
        if !self.socket.shake_hands(&self.place, &mut self.peer).await {
            return;
        }
        let mut opening = Opening::default();
        let shared = Rc::clone(&self.place.shared);
        self.place.set_deadline(shared.clock.after(shared.limits().first_line_timeout));
        let decision = self.decide(&mut opening).await;
        if matches!(decision, Some(Decision::Plain)) {
            // What it is shows before its first line is whole.
            self.expect_first_line();
        } else {
            self.has_spoken();
        }
        self.keep_rest(opening.rest());
        match decision {
            Some(Decision::Plain) if self.terms.token.is_some() => {
                self.lines.refuse("28000", "a client did not say hello: this listener wants a token");
            }
            Some(Decision::Plain) => self.pour().await,
            Some(Decision::Acknowledged(hello)) => self.converse(hello).await,
            Some(Decision::Foreign) => {
                self.lines.refuse("08P01", "a client's first byte was not that of a line of JSON");
            }
            Some(Decision::Refused(refusal)) => self.refuse(refusal).await,
            Some(Decision::Undecided) | None => {}
        }
    }

    /// Reads until the first line says what the client speaks. It may take its time until it begins, but not for ever.
    async fn decide(&mut self, opening: &mut Opening) -> Option<Decision> {
        let shared = Rc::clone(&self.place.shared);
        let mut begun = false;
        poll_fn(|context| {
            loop {
                let link = &self.place.link;
                if link.is_aborted() || self.is_over() {
                    return Poll::Ready(None);
                }
                if self.is_late() {
                    return Poll::Ready(None);
                }
                ready!(shared.poll_may_read(&self.place.link.last_read, context));
                let read = ready!(shared.with_read_buffer(|buffer| {
                    self.poll_read(context, &mut buffer[..OPENING])
                        .map(|read| read.map(|count| opening.feed(&buffer[..count])))
                }));
                match read {
                    Ok(Decision::Undecided) if !begun && !opening.is_blank() => {
                        begun = true;
                        self.expect_first_line();
                    }
                    Ok(Decision::Undecided) => {}
                    Ok(decision) => return Poll::Ready(Some(decision)),
                    Err(End::Finished) => return Poll::Ready(Some(opening.end())),
                    Err(_) => return Poll::Ready(None),
                }
            }
        })
        .await
    }

    /// The first line has come whole: the connection need not give way any more, and may take its time.
    fn has_spoken(&self) {
        if self.admitted.keep() {
            self.place.set_deadline(NEVER);
        }
    }

    /// The first line, which has begun, has to come whole in time from now on.
    fn expect_first_line(&self) {
        if !self.admitted.is_kept() {
            let shared = &self.place.shared;
            self.place.set_deadline(shared.clock.after(shared.limits().head_timeout));
        }
    }

    /// Notes that the first line has not come in time. False if it has, or may come yet.
    fn is_late(&self) -> bool {
        let late = !self.admitted.is_kept() && self.place.link.take_expired();
        if late {
            self.lines.refuse("08006", "a client's first line did not come in time");
        }
        late
    }

    /// Whether no more is to be read: the listener is closing, or has other terms now.
    fn is_over(&self) -> bool {
        let terms = self.lines.terms();
        self.place.link.is_draining()
            || !(Rc::ptr_eq(&terms, &self.terms) || terms.keep_those_of(&self.terms))
    }

    fn poll_read(&mut self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<Result<usize, End>> {
        Poll::Ready(match ready!(self.socket.poll_read(context, buffer)) {
            Ok(0) => Err(End::Finished),
            Ok(read) => {
                add(&self.place.shared.tally.bytes_in, read);
                self.place.shared.have_read(&self.place.link.last_read, read, buffer.len());
                Ok(read)
            }
            Err(_) => Err(End::Broken),
        })
    }

    /// Reads lines into a stream for as long as there is room, and lets others go first when it has had its share.
    ///
    /// Whoever waits, be it for the next turn, a bucket or memory, waits in a list whose tasks are woken in order. One
    /// that has taken something in never enters such a list right away: it is polled once more first, behind
    /// the others that were woken with it. So those that got nothing stand before it.
    pub(super) fn poll_pour(&mut self, context: &mut Context<'_>, stream: &Stream) -> Poll<End> {
        let shared = Rc::clone(&self.place.shared);
        let mut taken = 0;
        loop {
            if self.place.link.is_aborted() || self.lines.aborted.get() {
                return Poll::Ready(End::Aborted);
            }
            if self.rest.is_empty() && self.is_over() {
                return Poll::Ready(End::Draining);
            }
            let has_rest = !self.rest.is_empty();
            let has_room = !stream.is_full() && (has_rest || self.lines.has_room(&shared, &self.account));
            let may_go_on = has_room && (has_rest || shared.may_read_lines());
            if taken >= SHARE || (taken > 0 && !may_go_on) {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            if !has_room {
                // The delay is ours.
                self.expect_first_line();
                self.lines.wait(context.waker());
                return Poll::Pending;
            }
            if !may_go_on {
                shared.postpone(context.waker());
                return Poll::Pending;
            }
            if has_rest {
                let rest = self.keep_rest(Vec::new());
                taken += rest.len();
                self.take_in(stream, &rest);
                continue;
            }
            let read = shared.with_read_buffer(|buffer| {
                self.poll_read(context, buffer).map_ok(|count| {
                    self.take_in(stream, &buffer[..count]);
                    count
                })
            });
            match read {
                Poll::Ready(Ok(count)) => {
                    taken += count;
                    shared.have_read_lines(count);
                }
                Poll::Ready(Err(end)) => return Poll::Ready(end),
                Poll::Pending if self.is_late() => return Poll::Ready(End::Broken),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Puts what was read into the bucket that fills; what finds no room is kept.
    fn take_in(&mut self, stream: &Stream, bytes: &[u8]) {
        let (cutter, full) = (&mut self.cutter, &self.terms.full);
        let used = stream.fill(&self.account, |bucket| cutter.cut(bytes, bucket, full));
        if used < bytes.len() {
            self.keep_rest(bytes[used..].to_vec());
        }
        if self.account.received.get() > 0 {
            self.has_spoken();
        }
        self.lines.note_unfinished(&self.place.shared, &self.unfinished, self.cutter.held());
    }

    /// Puts something in the place of what has found no room.
    fn keep_rest(&mut self, rest: Vec<u8>) -> Vec<u8> {
        let held = &self.lines.in_buckets;
        held.set(held.get() + rest.len() - self.rest.len());
        std::mem::replace(&mut self.rest, rest)
    }

    /// The client sends no more, and no newline: what is left is its last line.
    pub(super) fn take_last(&mut self, stream: &Stream) {
        let cutter = &mut self.cutter;
        stream.fill(&self.account, |bucket| cutter.end(bucket));
        self.unfinished.bytes.set(0);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.keep_rest(Vec::new());
        self.lines.accounts.borrow_mut().retain(|known| !Rc::ptr_eq(known, &self.account));
        self.lines.unfinished.borrow_mut().retain(|known| !Rc::ptr_eq(known, &self.unfinished));
    }
}
