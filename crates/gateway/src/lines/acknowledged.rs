//! The acknowledged protocol: a hello, its answer, lines, and acknowledgements of what is committed.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use spool::Spool;
use tokio::time::{Instant, Interval, interval_at};
use wire::{Answer, Failure, Hello, Origin, Refusal, Work, Written, reply};

use super::account::Account;
use super::connection::{Connection, End};
use super::stream::{Listening, Stream};
use crate::clock::NEVER;
use crate::connection::Link;
use crate::counters::add;
use crate::parting::read_on;
use crate::server::Source;

/// What may wait to be read by the client before its lines are read no more.
const UNREAD: usize = 64 << 10;
/// How often it is seen whether a client has gone, while its lines cannot be written.
const LOOK: Duration = Duration::from_secs(5);

/// What is to be written to the client.
struct Outbox {
    bytes: RefCell<Spool>,
    /// The last line is among them.
    closing: Cell<bool>,
    link: Rc<Link>,
    account: Rc<Account>,
}

impl Outbox {
    fn say(&self, line: &str) {
        self.bytes.borrow_mut().end().extend_from_slice(line.as_bytes());
        self.link.wake();
    }

    fn end_with(&self, refusal: &Refusal) {
        if !self.closing.replace(true) {
            self.say(&reply::error(refusal));
        }
    }
}

impl Listening for Outbox {
    fn committed(&self, written: &Written, first: i64, last: i64) {
        self.account.sequence.set(last);
        for line in &written.rejected {
            self.say(&reply::reject(first + line.line as i64, &line.code, &line.error));
        }
        self.say(&reply::acknowledgement(last, written.dropped));
    }

    fn failed(&self, failure: &Failure) {
        self.end_with(&Refusal::new(&failure.code, failure.error.clone()));
    }
}

impl Connection {
    /// Ends a connection with an error.
    pub(super) async fn refuse(mut self, refusal: Refusal) {
        self.lines.refuse(&refusal.code, &refusal.error);
        let outbox = self.outbox();
        outbox.end_with(&refusal);
        self.write_all(&outbox).await;
        self.linger().await;
    }

    fn outbox(&self) -> Rc<Outbox> {
        Rc::new(Outbox {
            bytes: RefCell::default(),
            closing: Cell::new(false),
            link: Rc::clone(&self.place.link),
            account: Rc::clone(&self.account),
        })
    }

    /// Answers a hello and takes in what follows.
    pub(super) async fn converse(mut self, hello: Hello) {
        if let Err(refusal) = hello.check(&self.terms.destination.name, self.terms.token.as_ref()) {
            return self.refuse(refusal).await;
        }
        let sequence = match self.ask_how_far(&hello).await {
            Some(Answer::Written(written)) => written.sequence,
            Some(Answer::Failed(failure)) => {
                return self.refuse(Refusal::new(&failure.code, failure.error)).await;
            }
            None => return,
        };
        self.account.producer.replace(Some((hello.producer.clone(), hello.epoch)));
        self.account.sequence.set(sequence);
        let origin = Origin { producer: hello.producer, epoch: hello.epoch, first: sequence + 1 };
        let window = self.terms.window(hello.window);
        let outbox = self.outbox();
        outbox.say(&reply::hello(sequence, window, self.terms.longest_line));
        let stream = self.open_stream(origin);
        stream.tell(Rc::clone(&outbox) as Rc<dyn Listening>);
        stream.join();
        let end = self.take_and_acknowledge(&stream, &outbox, window.lines).await;
        stream.leave();
        if end == End::Draining {
            outbox.end_with(&Refusal::new("57P01", "the listener is closing"));
        }
        if end != End::Aborted && outbox.closing.get() {
            self.write_all(&outbox).await;
            self.linger().await;
        }
    }

    fn open_stream(&self, origin: Origin) -> Rc<Stream> {
        let listener = self.place.link.listener.id;
        Stream::new(&self.place.shared, &self.lines, listener, &self.terms, Some(origin)).start()
    }

    /// Asks for the producer's last sequence number; none if the connection ends.
    async fn ask_how_far(&self, hello: &Hello) -> Option<Answer> {
        let stream = self.place.shared.number_stream();
        let source = Source { listener: self.place.link.listener.id, stream, connections: 1 };
        let origin = Origin { producer: hello.producer.clone(), epoch: hello.epoch, first: 0 };
        let work = Work { hello: true, ..self.terms.work(Some(origin), Vec::new()) };
        let mut in_flight = None;
        poll_fn(|context| {
            if self.place.link.is_aborted() || self.lines.aborted.get() {
                return Poll::Ready(None);
            }
            let in_flight = in_flight.get_or_insert_with(|| {
                self.place.shared.pour(source, work.head(), Rc::default(), context.waker())
            });
            in_flight.poll_reply().map(|reply| Some(Answer::parse(&reply.bytes)))
        })
        .await
    }

    /// Reads lines and writes acknowledgements until both are at their end.
    async fn take_and_acknowledge(&mut self, stream: &Rc<Stream>, outbox: &Outbox, window: u64) -> End {
        let mut ended = None;
        let mut looks = None;
        poll_fn(|context| {
            if self.place.link.is_aborted() || self.place.link.take_expired() {
                return Poll::Ready(End::Aborted);
            }
            let Ok(written) = self.write_some(context, outbox) else { return Poll::Ready(End::Broken) };
            if outbox.closing.get() {
                return Poll::Ready(End::Finished);
            }
            if !self.account.is_settled() && self.has_gone(context, &mut looks) {
                return Poll::Ready(End::Broken);
            }
            if ended.is_none()
                && self.may_send_more(context, outbox, window)
                && let Poll::Ready(end) = self.poll_pour(context, stream)
            {
                // A line without its newline is none: a client that is killed ends its connection in the middle of one,
                // and sends it again, whole.
                stream.hurry();
                ended = Some(end);
            }
            match ended {
                Some(end @ (End::Broken | End::Aborted)) => Poll::Ready(end),
                Some(end) if written && self.account.is_settled() => Poll::Ready(end),
                Some(_) => {
                    self.lines.wait(context.waker());
                    Poll::Pending
                }
                None => Poll::Pending,
            }
        })
        .await
    }

    /// Whether the client is not there any more. It is looked at now and then, because a connection that is not read from
    /// hears nothing, and a producer that is killed seems at first to be one that only sends no more: its kernel
    /// resets the connection a minute or two later.
    fn has_gone(&self, context: &mut Context<'_>, looks: &mut Option<Interval>) -> bool {
        let looks = looks.get_or_insert_with(|| interval_at(Instant::now() + LOOK, LOOK));
        while looks.poll_tick(context).is_ready() {
            if self.socket.is_lost() {
                return true;
            }
        }
        false
    }

    /// Whether the client is within its window and reads what it is told.
    fn may_send_more(&self, context: &Context<'_>, outbox: &Outbox, window: u64) -> bool {
        let under_way = self.account.received.get() - self.account.settled.get();
        let may = under_way < window && outbox.bytes.borrow().len() < UNREAD;
        if !may {
            self.lines.wait(context.waker());
        }
        may
    }

    /// Writes what the socket takes. True if nothing is left.
    fn write_some(&mut self, context: &mut Context<'_>, outbox: &Outbox) -> Result<bool, ()> {
        let mut bytes = outbox.bytes.borrow_mut();
        let mut has_written = false;
        while !bytes.is_empty() {
            match self.socket.poll_write(context, [bytes.rest(), &[]]) {
                Poll::Ready(Ok(written)) => {
                    add(&self.place.shared.tally.bytes_out, written);
                    bytes.take(written);
                    has_written |= written > 0;
                }
                Poll::Ready(Err(_)) => return Err(()),
                Poll::Pending => break,
            }
        }
        if bytes.is_empty() {
            self.place.set_deadline(NEVER);
        } else if has_written || self.place.link.deadline() == NEVER {
            let shared = &self.place.shared;
            self.place.set_deadline(shared.clock.after(shared.limits().write_timeout));
        }
        Ok(bytes.is_empty())
    }

    async fn write_all(&mut self, outbox: &Outbox) {
        poll_fn(|context| {
            if self.place.link.is_aborted() || self.place.link.take_expired() {
                return Poll::Ready(());
            }
            match self.write_some(context, outbox) {
                Ok(false) => Poll::Pending,
                _ => Poll::Ready(()),
            }
        })
        .await;
    }

    /// Says that nothing more comes, and reads on for a little while: a socket that is closed while bytes wait in it
    /// sends a reset, which can overtake the last line in the client.
    async fn linger(&mut self) {
        if self.socket.shut_down_writing().is_err() {
            return;
        }
        let parting = self.place.shared.limits().parting_of_lines;
        read_on(&self.place, parting, |context, buffer| self.socket.poll_drain(context, buffer)).await;
    }
}
