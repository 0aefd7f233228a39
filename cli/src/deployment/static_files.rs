//! The bytes of static files, which go to the server before a deployment: those that it does not have yet, packed by all processors at once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use cluster::postgres::{Client, Transaction};
use codings::{Coding, gains, pack};
use files::media_type::media_type;
use folder::Statics;
use folder::statics::Content;
use indicatif::ProgressBar;

use super::interrupt::{self, INTERRUPTED};
use super::report::Report;
use super::server::{Stop, state};
use crate::connection::begin;
use crate::failure::Failure;
use crate::progress::{self, grouped};

/// Bytes that packing has to save at least: less is not worth a second answer at caches on the way.
const LEAST: usize = 200;
/// Twentieths of the bytes that it has to save as well.
const PART: usize = 20;
/// Files that are packed and wait to be sent, at most.
const AHEAD: usize = 4;
/// Bytes, and files, that are sent in one transaction.
const BATCH_BYTES: usize = 4 << 20;
const BATCH_FILES: usize = 200;

/// A file that can be sent.
struct PackedFile {
    digest: String,
    bytes: Vec<u8>,
    /// By the place of the coding in [`Coding::ALL`].
    codings: [Option<Vec<u8>>; Coding::ALL.len()],
}

/// Sends an application's files that it does not have yet, each some in a transaction of their own: what has been sent stays. With `packs` also by content
/// codings.
pub(crate) fn send(
    client: &mut Client,
    application: &str,
    statics: &Statics,
    packs: bool,
    report: &mut Report,
) -> Result<(), Stop> {
    if statics.contents.is_empty() {
        return Ok(());
    }
    let mut transaction = begin(client)?;
    let is_there = state(&mut transaction, application)?.is_some();
    let missing = if is_there { missing(&mut transaction, application, statics, packs)? } else { Vec::new() };
    transaction.commit()?;
    let store = |batch: &[PackedFile]| {
        let mut transaction = begin(client)?;
        store_all(&mut transaction, application, packs, batch)?;
        Ok(transaction.commit()?)
    };
    send_all(&missing, packs, report, store)
}

/// The same in a transaction that makes the application as well.
pub(crate) fn send_within(
    transaction: &mut Transaction<'_>,
    application: &str,
    statics: &Statics,
    packs: bool,
    report: &mut Report,
) -> Result<(), Stop> {
    if statics.contents.is_empty() {
        return Ok(());
    }
    let missing = missing(transaction, application, statics, packs)?;
    send_all(&missing, packs, report, |batch| store_all(transaction, application, packs, batch))
}

/// The files that an application does not have yet, by their digests.
fn missing<'s>(
    transaction: &mut Transaction<'_>,
    application: &str,
    statics: &'s Statics,
    packs: bool,
) -> Result<Vec<(&'s str, &'s Content)>, Stop> {
    let digests = statics.index.digests();
    let query = "select deploy.missing_files($1, $2, $3)";
    let missing: Vec<String> = transaction.query_one(query, &[&application, &digests, &packs])?.get(0);
    let known = |digest: &String| statics.contents.get_key_value(digest);
    Ok(missing.iter().filter_map(known).map(|(digest, content)| (digest.as_str(), content)).collect())
}

fn store_all(
    transaction: &mut Transaction<'_>,
    application: &str,
    packs: bool,
    batch: &[PackedFile],
) -> Result<(), Stop> {
    let statement = transaction.prepare("select deploy.send_file($1, $2, $3, $4, $5, $6, $7)")?;
    for PackedFile { digest, bytes, codings: [brotli, zstd, gzip] } in batch {
        transaction.execute(&statement, &[&application, digest, bytes, &packs, brotli, zstd, gzip])?;
    }
    Ok(())
}

/// So many files, for people.
pub(crate) fn counted(files: usize) -> String {
    if files == 1 { "1 file".to_owned() } else { format!("{} files", grouped(files as u64)) }
}

fn send_all(
    missing: &[(&str, &Content)],
    packs: bool,
    report: &mut Report,
    store: impl FnMut(&[PackedFile]) -> Result<(), Stop>,
) -> Result<(), Stop> {
    if missing.is_empty() {
        return Ok(());
    }
    let bytes = missing.iter().map(|(_, content)| content.size).sum();
    let bar = report.bar(|| progress::of_files(Some(bytes)));
    let (queue, is_over) = (Mutex::new(missing.iter()), AtomicBool::new(false));
    let next = || {
        let next = queue.lock().ok()?.next();
        next.filter(|_| !is_over.load(Ordering::Relaxed))
    };
    let sent = thread::scope(|scope| {
        let (sender, receiver) = sync_channel(AHEAD);
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || pack_each(next, packs, &sender));
        }
        drop(sender);
        let sent = store_each(&receiver, &bar, store);
        is_over.store(true, Ordering::Relaxed);
        // Those who wait to hand something over go on, and find that it is over.
        drop(receiver);
        sent
    });
    bar.finish_and_clear();
    sent?;
    report.say(&format!("  sent {} of static/, {} bytes", counted(missing.len()), grouped(bytes)));
    Ok(())
}

/// Packs one file after the other, until none is left or nobody takes them.
fn pack_each<'c>(
    next: &impl Fn() -> Option<&'c (&'c str, &'c Content)>,
    packs: bool,
    sender: &SyncSender<Result<PackedFile, String>>,
) {
    while let Some((digest, content)) = next() {
        if sender.send(packed(digest, content, packs)).is_err() {
            return;
        }
    }
}

fn packed(digest: &str, content: &Content, packs: bool) -> Result<PackedFile, String> {
    let failed = |error| format!("static/{}: {error}", content.name);
    let bytes = content.read(digest).map_err(failed)?;
    let mut codings = [None, None, None];
    if packs && gains(media_type(&content.name)) && bytes.len() > LEAST {
        for coding in Coding::ALL {
            let packed = pack(coding, &bytes).map_err(failed)?;
            let saves = bytes.len().saturating_sub(packed.len());
            let is_worth_it = saves >= LEAST && saves * PART >= bytes.len();
            codings[coding as usize] = is_worth_it.then_some(packed);
        }
    }
    Ok(PackedFile { digest: digest.to_owned(), bytes, codings })
}

fn store_each(
    receiver: &Receiver<Result<PackedFile, String>>,
    bar: &ProgressBar,
    mut store: impl FnMut(&[PackedFile]) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let (mut batch, mut held, mut count) = (Vec::new(), 0, 0);
    for packed in receiver {
        let packed = packed.map_err(|told| Stop::Failed(Failure::Said(told)))?;
        held += packed.bytes.len();
        bar.inc(packed.bytes.len() as u64);
        batch.push(packed);
        count += 1;
        if held >= BATCH_BYTES || batch.len() >= BATCH_FILES {
            store(&batch)?;
            bar.set_message(counted(count));
            (batch, held) = (Vec::new(), 0);
        }
        if interrupt::was_noticed() {
            return Err(Stop::Failed(Failure::Said(INTERRUPTED.into())));
        }
    }
    if batch.is_empty() { Ok(()) } else { store(&batch) }
}
