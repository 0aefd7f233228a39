//! `howdah load`.

use std::io::{IsTerminal, stderr};
use std::path::PathBuf;
use std::slice;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use loader::{Event, Options, Source, Summary};

use crate::arguments::Load;
use crate::failure::{Failure, Result};
use crate::progress::{self, grouped};
use crate::screen::{complain, say};

/// Of each of its transactions the server names so many rejected lines and no more.
const NAMED: u64 = 100;
/// How many rejected lines are shown.
const SHOWN: usize = 10;

/// Sends the files' lines and says what came of it.
///
/// Each file is a producer of its own, so that the queue knows how far each is whatever files there are besides, and however
/// the others have grown. A producer that is named has all of them as one stream.
pub(crate) fn run(arguments: Load) -> Result<()> {
    let all = Source::open(&arguments.files)?;
    let length = all.length();
    let sources = if arguments.producer.is_some() {
        vec![all]
    } else {
        let of_file = |file: &PathBuf| Source::open(slice::from_ref(file));
        arguments.files.iter().map(of_file).collect::<std::result::Result<_, _>>()?
    };
    let mut screen = Screen::new(length, arguments.producer.is_some());
    let mut options = Options {
        to: arguments.to,
        queue: arguments.queue,
        producer: String::new(),
        former_producers: Vec::new(),
        epoch: arguments.epoch,
        token: arguments.token,
        window: arguments.window,
        patience: Duration::from_secs(arguments.patience),
    };
    let mut total = Total::default();
    for source in &sources {
        let mut names = match &arguments.producer {
            Some(producer) => vec![producer.clone()],
            None => loader::producer_names(source)?,
        };
        (options.producer, options.former_producers) = (names.remove(0), names);
        screen.begin(&options.producer, source);
        match loader::load(&options, source, &mut |event| screen.show(event)) {
            Ok(summary) => total.add(&summary, source),
            Err(error) => {
                screen.bar.finish_and_clear();
                return Err(screen.explain(&error));
            }
        }
        screen.end();
    }
    screen.bar.finish_and_clear();
    total.report(screen.begin.elapsed());
    if total.rejected_count > 0 || total.dropped > 0 { Err(total.rejected()) } else { Ok(()) }
}

/// What came of all files.
#[derive(Default)]
struct Total {
    lines: u64,
    skipped: u64,
    rejected_count: u64,
    /// Those of them that are not dead letters either.
    dropped: u64,
    /// The first rejected lines, with their places.
    rejected: Vec<String>,
    /// Whether more lines may be rejected than have been counted.
    is_at_least: bool,
}

impl Total {
    fn add(&mut self, summary: &Summary, source: &Source) {
        self.lines += summary.lines;
        self.skipped += summary.skipped;
        self.rejected_count += summary.rejected_count;
        self.dropped += summary.dropped;
        self.is_at_least |= summary.rejected_count >= NAMED;
        let room = SHOWN - self.rejected.len();
        let shown = summary.rejected.iter().take(room);
        self.rejected.extend(shown.map(|rejected| {
            let place = match source.place(rejected.sequence) {
                Some((name, line)) => format!("{name} line {line}"),
                None => format!("line {}", rejected.sequence),
            };
            format!("{place}: {} ({})", rejected.error, rejected.code)
        }));
    }

    fn report(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let already = match self.skipped {
            0 => String::new(),
            skipped => format!(", and {} were there before", grouped(skipped)),
        };
        say(&format!(
            "Loaded {} lines in {seconds:.1} s ({} lines/s){already}.",
            grouped(self.lines),
            grouped((self.lines as f64 / seconds) as u64)
        ));
    }

    /// The rejected lines, the first of them with their places.
    fn rejected(&self) -> Failure {
        let mut text = format!(
            "{}{} of the lines were rejected; {} (see queue.dead_letters):",
            if self.is_at_least { "At least " } else { "" },
            // Those that were dropped are counted, the others named one by one.
            grouped(self.rejected_count.max(self.dropped)),
            match self.dropped {
                0 => "they are dead letters".to_owned(),
                dropped => format!(
                    "{} of them are lost, as howdah.queue_dead_letters are kept, and the others are dead letters",
                    grouped(dropped)
                ),
            }
        );
        for rejected in &self.rejected {
            text.push_str(&format!("\n    {rejected}"));
        }
        if self.rejected_count > SHOWN as u64 {
            text.push_str(&format!("\n    and {} more", grouped(self.rejected_count - SHOWN as u64)));
        }
        Failure::Rejected(text)
    }
}

/// What is shown meanwhile.
struct Screen {
    bar: ProgressBar,
    begin: Instant,
    /// Whether the producer was named on the command line.
    is_named: bool,
    producer: String,
    /// Whether the same file has the same producer next time.
    can_be_read_again: bool,
    /// Bytes and lines of the files before.
    bytes_before: u64,
    lines_before: u64,
    length: u64,
    skipped: u64,
    acknowledged: u64,
}

impl Screen {
    fn new(length: Option<u64>, is_named: bool) -> Self {
        Self {
            bar: progress::of_files(length),
            begin: Instant::now(),
            is_named,
            producer: String::new(),
            can_be_read_again: false,
            bytes_before: 0,
            lines_before: 0,
            length: 0,
            skipped: 0,
            acknowledged: 0,
        }
    }

    /// A source begins.
    fn begin(&mut self, producer: &str, source: &Source) {
        self.producer = producer.to_owned();
        self.can_be_read_again = source.length().is_some();
        self.length = source.length().unwrap_or(0);
        (self.skipped, self.acknowledged) = (0, 0);
    }

    /// All of it is in the queue.
    fn end(&mut self) {
        self.bytes_before += self.length;
        self.lines_before += self.acknowledged.saturating_sub(self.skipped);
    }

    fn show(&mut self, event: Event) {
        match event {
            Event::Begun { producer, skipped } => {
                (self.producer, self.skipped) = (producer.to_owned(), skipped);
                if skipped > 0 {
                    self.say(&format!(
                        "The queue has {} lines of the producer {} already; the loader goes on behind them.",
                        grouped(skipped),
                        self.producer
                    ));
                }
            }
            Event::Progress { acknowledged, position } => {
                self.acknowledged = acknowledged;
                self.bar.set_position(self.bytes_before + position);
                let lines = self.lines_before + acknowledged.saturating_sub(self.skipped);
                let rate = lines as f64 / self.begin.elapsed().as_secs_f64();
                self.bar.set_message(format!("{} lines  {}/s", grouped(lines), grouped(rate as u64)));
            }
            Event::Broken { error, pause } => {
                self.say(&format!("{error}; trying again in {:.1} s", pause.as_secs_f64()));
            }
            Event::Forgotten { acknowledged, stored } => self.say(&format!(
                "The queue had acknowledged {} lines and has {} now: it is not durable, and its server has \
                 crashed. The others are sent again.",
                grouped(acknowledged),
                grouped(stored)
            )),
        }
    }

    fn say(&self, line: &str) {
        if stderr().is_terminal() {
            self.bar.suspend(|| complain(line));
        } else {
            complain(line);
        }
    }

    /// The error, and what is safe nevertheless.
    fn explain(&self, error: &loader::Error) -> Failure {
        let mut text = error.to_string();
        let lines = self.lines_before + self.acknowledged;
        if lines > 0 {
            let again = match self.is_named || self.can_be_read_again {
                true => "the same command".to_owned(),
                false => format!("the same command with --producer {}", self.producer),
            };
            text.push_str(&format!(
                "\n{} lines are in the queue; {again} goes on behind them.",
                grouped(lines)
            ));
        }
        Failure::Said(text)
    }
}
