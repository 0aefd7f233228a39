//! Progress on a terminal; elsewhere nothing is shown.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

const RECORDS: &str = "{bar:30} {percent:>3} %  {human_pos} records  {per_sec}  {eta} left";
/// The bar is that of the files' bytes, the message counts lines.
const FILES: &str = "{bar:30} {percent:>3} %  {msg}  {eta} left";
const STEP: &str = "{spinner} {prefix}  {msg}  {elapsed}";
const BATCHES: &str =
    "{bar:30} {percent:>3} %  {prefix}  {human_pos} of about {human_len} keys  {per_sec}  {eta} left";
/// Of the standard input nobody knows the length.
const STREAM: &str = "{spinner} {msg}  {elapsed}";

/// A bar for so many records.
pub(crate) fn of_records(records: u64) -> ProgressBar {
    ProgressBar::new(records).with_style(style(RECORDS))
}

/// A bar for files of so many bytes, or of unknown length.
pub(crate) fn of_files(bytes: Option<u64>) -> ProgressBar {
    let bar = match bytes {
        Some(bytes) => ProgressBar::new(bytes).with_style(style(FILES)),
        None => ProgressBar::new_spinner().with_style(style(STREAM)),
    };
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// A line for a statement that runs, whose message says what it does.
pub(crate) fn of_step(path: &str) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_style(style(STEP)).with_prefix(path.to_owned());
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// A bar for a statement that runs in batches.
pub(crate) fn of_batches(path: &str) -> ProgressBar {
    let bar = ProgressBar::new(0).with_style(style(BATCHES)).with_prefix(path.to_owned());
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates above are right").progress_chars("━━ ")
}

/// A number with commas between thousands.
pub(crate) fn grouped(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}
