//! `howdah load`.

use std::io::{IsTerminal, stderr};
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
pub(crate) fn run(arguments: Load) -> Result<()> {
    let source = Source::open(&arguments.files)?;
    let producer = match arguments.producer {
        Some(producer) => producer,
        None => loader::producer_name(&source)?,
    };
    let options = Options {
        to: arguments.to,
        queue: arguments.queue,
        producer,
        epoch: arguments.epoch,
        token: arguments.token,
        window: arguments.window,
        patience: Duration::from_secs(arguments.patience),
    };
    let mut screen = Screen::new(&options, &source);
    let loaded = loader::load(&options, &source, &mut |event| screen.show(event));
    screen.bar.finish_and_clear();
    let summary = loaded.map_err(|error| screen.explain(&error))?;
    report(&summary, screen.begin.elapsed());
    if summary.rejected_count > 0 { Err(rejected(&summary, &source)) } else { Ok(()) }
}

/// What is shown meanwhile.
struct Screen {
    bar: ProgressBar,
    begin: Instant,
    producer: String,
    skipped: u64,
    acknowledged: u64,
}

impl Screen {
    fn new(options: &Options, source: &Source) -> Self {
        Self {
            bar: progress::of_files(source.length()),
            begin: Instant::now(),
            producer: options.producer.clone(),
            skipped: 0,
            acknowledged: 0,
        }
    }

    fn show(&mut self, event: Event) {
        match event {
            Event::Begun { skipped } => {
                self.skipped = skipped;
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
                self.bar.set_position(position);
                let lines = acknowledged.saturating_sub(self.skipped);
                let rate = lines as f64 / self.begin.elapsed().as_secs_f64();
                self.bar.set_message(format!("{} lines  {}/s", grouped(acknowledged), grouped(rate as u64)));
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
        if self.acknowledged > 0 {
            text.push_str(&format!(
                "\n{} lines are in the queue; the same command with --producer {} goes on behind them.",
                grouped(self.acknowledged),
                self.producer
            ));
        }
        Failure::Said(text)
    }
}

fn report(summary: &Summary, took: Duration) {
    let seconds = took.as_secs_f64();
    let already = match summary.skipped {
        0 => String::new(),
        skipped => format!(", and {} were there before", grouped(skipped)),
    };
    say(&format!(
        "Loaded {} lines in {seconds:.1} s ({} lines/s){already}.",
        grouped(summary.lines),
        grouped((summary.lines as f64 / seconds) as u64)
    ));
}

/// The rejected lines, the first of them with their places.
fn rejected(summary: &Summary, source: &Source) -> Failure {
    let mut text = format!(
        "{}{} of the lines were rejected; they are dead letters (see queue.dead_letters):",
        if summary.rejected_count < NAMED { "" } else { "At least " },
        grouped(summary.rejected_count)
    );
    for rejected in summary.rejected.iter().take(SHOWN) {
        let place = match source.place(rejected.sequence) {
            Some((name, line)) => format!("{name} line {line}"),
            None => format!("line {}", rejected.sequence),
        };
        text.push_str(&format!("\n    {place}: {} ({})", rejected.error, rejected.code));
    }
    if summary.rejected_count > SHOWN as u64 {
        text.push_str(&format!("\n    and {} more", grouped(summary.rejected_count - SHOWN as u64)));
    }
    Failure::Rejected(text)
}
