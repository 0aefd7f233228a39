//! All lines, with as many connections as it takes.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::block::Block;
use crate::connection::{Connection, Sending};
use crate::error::Error;
use crate::outstanding::Outstanding;
use crate::protocol::{Hello, Rejected, Window};
use crate::source::Source;

/// How often progress is told, and a silent connection looked after.
const TICK: Duration = Duration::from_millis(50);
/// The first pause before a connection is tried again; each next one is twice as long, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Where lines go, and who sends them.
#[derive(Clone, Debug)]
pub struct Options {
    /// HOST:PORT of a listener.
    pub to: String,
    /// The queue that the listener should have.
    pub queue: Option<String>,
    /// The name by which the queue remembers how far the lines are.
    pub producer: String,
    /// Names by which it may have been told of the same lines before: if it does not know the one above, the first that it knows
    /// counts.
    pub former_producers: Vec<String>,
    /// A higher one fences loaders with a lower one.
    pub epoch: i32,
    /// What the listener wants to know.
    pub token: Option<String>,
    /// How many lines may be under way; the server may want fewer.
    pub window: u64,
    /// How long a broken connection is tried again without any line arriving.
    pub patience: Duration,
}

/// What happens meanwhile.
#[derive(Debug)]
pub enum Event<'a> {
    /// The queue has so many lines from this producer already; they are left out.
    Begun {
        /// Its name.
        producer: &'a str,
        /// How many.
        skipped: u64,
    },
    /// So much is durable.
    Progress {
        /// Lines, those left out included.
        acknowledged: u64,
        /// Bytes of the files as they are.
        position: u64,
    },
    /// The connection broke and will be tried again.
    Broken {
        /// Why.
        error: &'a Error,
        /// After this time.
        pause: Duration,
    },
    /// The queue has forgotten lines, which are read and sent again.
    Forgotten {
        /// What it had acknowledged.
        acknowledged: u64,
        /// What it has.
        stored: u64,
    },
}

/// What came of it.
#[derive(Debug)]
pub struct Summary {
    /// Lines that this call has brought in, rejected ones included.
    pub lines: u64,
    /// Lines that the queue had before.
    pub skipped: u64,
    /// The first thousand lines that are dead letters now.
    pub rejected: Vec<Rejected>,
    /// How many there are.
    pub rejected_count: u64,
    /// How many lines are neither stored nor dead letters, as there were as many dead letters as are kept; at least, if a
    /// connection broke.
    pub dropped: u64,
}

/// Sends the lines of a source until all of them are acknowledged.
pub fn load(options: &Options, source: &Source, watch: &mut dyn FnMut(Event)) -> Result<Summary, Error> {
    let mut delivery = Delivery {
        options,
        source,
        watch,
        producer: None,
        outstanding: Arc::default(),
        pending: VecDeque::new(),
        blocks: source.begin(),
        skipped: None,
        read: 0,
        unreadable: None,
        told: Instant::now(),
    };
    delivery.run()?;
    let Delivery { outstanding, skipped, unreadable, .. } = delivery;
    if let Some(error) = unreadable {
        return Err(error);
    }
    let mut state = outstanding.lock();
    let skipped = skipped.unwrap_or(0);
    Ok(Summary {
        lines: state.acknowledged - skipped,
        skipped,
        rejected: std::mem::take(&mut state.rejected),
        rejected_count: state.rejected_count,
        dropped: state.dropped,
    })
}

struct Delivery<'a> {
    options: &'a Options,
    source: &'a Source,
    watch: &'a mut dyn FnMut(Event),
    /// The name that counts, once it is known.
    producer: Option<&'a str>,
    outstanding: Arc<Outstanding>,
    /// Blocks to send before those that are read next.
    pending: VecDeque<Arc<Block>>,
    blocks: Receiver<Result<Block, Error>>,
    /// The lines that the queue had at the beginning.
    skipped: Option<u64>,
    /// The last line that has been read.
    read: u64,
    /// Why the source ends before its end.
    unreadable: Option<Error>,
    told: Instant,
}

/// Why a connection has ended before all was acknowledged: the error of sending, if that is how it showed.
struct Broken(Option<io::Error>);

impl Delivery<'_> {
    fn run(&mut self) -> Result<(), Error> {
        let mut pause = FIRST_PAUSE;
        let mut arrived = 0;
        // When all was well last.
        let mut since = Instant::now();
        loop {
            let begin = Instant::now();
            let error = match self.connect_and_send() {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            self.pending = self.outstanding.take().into_iter().chain(self.pending.drain(..)).collect();
            let acknowledged = self.outstanding.lock().acknowledged;
            if acknowledged > arrived || begin.elapsed() > self.options.patience {
                (arrived, since, pause) = (acknowledged, Instant::now(), FIRST_PAUSE);
            }
            // A server that has never answered is a mistake in the address rather than a server that restarts.
            let never_there = self.skipped.is_none() && !matches!(error, Error::Server { .. });
            if !error.is_temporary() || never_there || since.elapsed() + pause > self.options.patience {
                return Err(error);
            }
            (self.watch)(Event::Broken { error: &error, pause });
            thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Connects as a producer.
    fn connect_as(&self, producer: &str) -> Result<Connection, Error> {
        let options = self.options;
        let hello = Hello {
            queue: options.queue.as_deref(),
            producer,
            epoch: options.epoch,
            window: options.window,
            token: options.token.as_deref(),
        };
        Connection::open(&options.to, &hello)
    }

    /// Connects as the producer that counts.
    fn connect(&mut self) -> Result<Connection, Error> {
        if let Some(producer) = self.producer {
            return self.connect_as(producer);
        }
        let options = self.options;
        let connection = self.connect_as(&options.producer)?;
        if connection.sequence == 0 {
            for former in &options.former_producers {
                let known = self.connect_as(former)?;
                if known.sequence > 0 {
                    self.producer = Some(former);
                    return Ok(known);
                }
            }
        }
        self.producer = Some(&options.producer);
        Ok(connection)
    }

    fn connect_and_send(&mut self) -> Result<(), Error> {
        let connection = self.connect()?;
        self.resume_behind(connection.sequence)?;
        let window = connection.window;
        let mut sending = connection.listen(&self.outstanding);
        match self.send_all(&mut sending, window) {
            Ok(()) => {
                sending.close(None);
                self.check_length()
            }
            Err(Broken(cause)) => Err(sending.close(cause)),
        }
    }

    /// Leaves out what the queue has.
    fn resume_behind(&mut self, stored: u64) -> Result<(), Error> {
        let acknowledged = self.outstanding.lock().acknowledged;
        if self.skipped.is_none() {
            self.skipped = Some(stored);
            (self.watch)(Event::Begun { producer: self.producer.unwrap_or_default(), skipped: stored });
        } else if stored < acknowledged {
            self.begin_again(acknowledged, stored)?;
        }
        self.outstanding.begin(stored);
        let pending = std::mem::take(&mut self.pending);
        self.pending = pending.into_iter().filter_map(|block| unsent(block, stored)).collect();
        Ok(())
    }

    /// The queue was not durable and its server has crashed.
    fn begin_again(&mut self, acknowledged: u64, stored: u64) -> Result<(), Error> {
        if !self.source.can_be_read_again() {
            return Err(Error::Forgotten { acknowledged, stored });
        }
        (self.watch)(Event::Forgotten { acknowledged, stored });
        self.skipped = self.skipped.map(|skipped| skipped.min(stored));
        self.pending.clear();
        self.read = 0;
        self.blocks = self.source.begin();
        Ok(())
    }

    fn send_all(&mut self, sending: &mut Sending, window: Window) -> Result<(), Broken> {
        while let Some(block) = self.next_block()? {
            let block = self.cut_to(window, block);
            while !self.outstanding.add(&block, window) {
                self.outstanding.wait_for_room(&block, window, TICK);
                if let Err(broken) = self.look_up() {
                    self.pending.push_front(block);
                    return Err(broken);
                }
            }
            sending.send(&block.bytes).map_err(|cause| Broken(Some(cause)))?;
            self.look_up()?;
        }
        sending.finish().map_err(|cause| Broken(Some(cause)))?;
        loop {
            self.outstanding.wait(|state| state.is_empty(), TICK);
            if self.outstanding.lock().is_empty() {
                self.tell();
                return Ok(());
            }
            self.look_up()?;
        }
    }

    /// The next block that the queue does not have, none at the end.
    fn next_block(&mut self) -> Result<Option<Arc<Block>>, Broken> {
        if let Some(block) = self.pending.pop_front() {
            return Ok(Some(block));
        }
        loop {
            match self.blocks.recv_timeout(TICK) {
                Ok(Ok(block)) => {
                    self.read = block.last();
                    if let Some(block) = self.outstanding.unsent(block) {
                        return Ok(Some(Arc::new(block)));
                    }
                }
                Ok(Err(error)) => self.unreadable = Some(error),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
            self.look_up()?;
        }
    }

    /// As much of a block as the window can ever hold; the rest is next.
    fn cut_to(&mut self, window: Window, mut block: Arc<Block>) -> Arc<Block> {
        while block.lines > 1 && (block.lines > window.lines || block.bytes.len() > window.bytes) {
            let middle = block.first + block.lines / 2;
            let (half, rest) = owned(block).split(middle);
            self.pending.push_front(Arc::new(rest));
            block = Arc::new(half);
        }
        block
    }

    /// Whether the connection still stands; tells progress now and then.
    fn look_up(&mut self) -> Result<(), Broken> {
        if self.told.elapsed() >= TICK {
            self.tell();
        }
        if self.outstanding.lock().is_over { Err(Broken(None)) } else { Ok(()) }
    }

    fn tell(&mut self) {
        self.told = Instant::now();
        let (acknowledged, position) = {
            let state = self.outstanding.lock();
            (state.acknowledged, state.position)
        };
        (self.watch)(Event::Progress { acknowledged, position });
    }

    /// The queue cannot have more lines of these files than they have.
    fn check_length(&self) -> Result<(), Error> {
        let stored = self.skipped.unwrap_or(0);
        if self.unreadable.is_none() && self.read < stored {
            let producer = self.producer.unwrap_or_default().to_owned();
            return Err(Error::Short { producer, stored, lines: self.read });
        }
        Ok(())
    }
}

/// What is left of a block that is to be sent again.
fn unsent(block: Arc<Block>, stored: u64) -> Option<Arc<Block>> {
    if stored < block.first { Some(block) } else { owned(block).after(stored).map(Arc::new) }
}

/// The block itself; the other thread may hold it for a moment longer.
fn owned(block: Arc<Block>) -> Block {
    Arc::try_unwrap(block).unwrap_or_else(|shared| Block::clone(&shared))
}
