//! The plain protocol: lines, to which nothing is replied.
//!
//! The connection is closed when all that came by it is committed, so a client that has shut down its sending side
//! may wait for the end and then knows. Where it is not, or no standby has confirmed it which is asked to, the connection is reset.

use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::task::Poll;

use super::connection::{Connection, End};
use super::stream::Stream;

impl Connection {
    /// Puts all lines into one of the listener's streams.
    pub(super) async fn pour(mut self) {
        let stream = self.choose_stream();
        stream.join();
        let mut end = None;
        poll_fn(|context| {
            if end.is_none() {
                match self.poll_pour(context, &stream) {
                    Poll::Ready(how) => {
                        if how == End::Finished {
                            self.take_last(&stream);
                        }
                        end = Some(how);
                        stream.hurry();
                    }
                    Poll::Pending => return Poll::Pending,
                }
            }
            let over = end == Some(End::Aborted) || self.place.link.is_aborted() || self.lines.aborted.get();
            if over || self.account.is_settled() {
                return Poll::Ready(());
            }
            self.lines.wait(context.waker());
            Poll::Pending
        })
        .await;
        if !self.account.is_safe() {
            self.socket.reset_when_closed();
        }
        stream.leave();
    }

    /// The stream with the fewest connections; another one if all have some and there may be more.
    fn choose_stream(&self) -> Rc<Stream> {
        let streams: Vec<Rc<Stream>> = self.lines.streams.borrow().iter().filter_map(Weak::upgrade).collect();
        let shared = |stream: &&Rc<Stream>| stream.is_plain() && Rc::ptr_eq(stream.terms(), &self.terms);
        let least = streams.iter().filter(shared).min_by_key(|stream| stream.users()).cloned();
        let count = streams.iter().filter(shared).count();
        match least {
            Some(stream) if stream.users() == 0 || count >= self.terms.streams => stream,
            _ => {
                let listener = self.place.link.listener.id;
                Stream::new(&self.place.shared, &self.lines, listener, &self.terms, None).start()
            }
        }
    }
}
