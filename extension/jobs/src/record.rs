//! The file that outlives a crash: what ran, and what is held against jobs. It is written by memory alone, never flushed, so a loss of
//! power may take the last of it; and it belongs to its place on this disk, so that no copy of the data directory goes by it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

use pg::log_line;
use schedule::suspects::{Place, Standing, after_crash};
use shared::settings::MAX_WORKERS_EVER;

use crate::slots::Slot;

/// In the data directory, where every process of PostgreSQL's works. What is in this folder is in no backup.
const PATH: &str = "pg_stat_tmp/howdah.jobs";
/// Begins the file; another version of it is another number.
const MAGIC: u64 = 0x686f_7764_6a6f_0002;
/// Jobs against which something can be held.
const ENTRIES: usize = 256;

/// What is held against a job.
#[repr(C)]
pub(crate) struct Entry {
    /// A [`Standing`], by its number; 0 if the entry is free.
    standing: AtomicU32,
    database: AtomicU32,
    queue: AtomicU32,
    /// How often its process was ended in order.
    times: AtomicU32,
    /// The number of the executor that writes it down, plus one.
    owner: AtomicU32,
    position: AtomicU64,
}

/// The file, as it is mapped.
#[repr(C)]
pub(crate) struct Record {
    magic: AtomicU64,
    device: AtomicU64,
    inode: AtomicU64,
    /// How many entries are not free, roughly: who finds none looks no further.
    pub(crate) held: AtomicU32,
    pub(crate) entries: [Entry; ENTRIES],
    pub(crate) slots: [Slot; MAX_WORKERS_EVER],
}

impl Entry {
    /// Where the job is, and what is held against it.
    pub(crate) fn get(&self) -> Option<(Place, Standing)> {
        let standing = Standing::of(self.standing.load(Acquire))?;
        let place = Place {
            database: self.database.load(Relaxed),
            queue: self.queue.load(Relaxed),
            position: self.position.load(Relaxed),
        };
        Some((place, standing))
    }

    fn set(&self, place: Place, standing: Standing) {
        self.database.store(place.database, Relaxed);
        self.queue.store(place.queue, Relaxed);
        self.position.store(place.position, Relaxed);
        self.owner.store(0, Relaxed);
        self.standing.store(standing.number(), Release);
    }

    /// Lets one executor alone write down what is held; false if another does.
    pub(crate) fn own(&self, executor: usize) -> bool {
        self.owner.compare_exchange(0, executor as u32 + 1, SeqCst, SeqCst).is_ok()
    }

    /// The executor has written it down, or has ended: what is held from now on; none for nothing.
    pub(crate) fn release(&self, executor: usize, standing: Option<Standing>) {
        if self.owner.load(SeqCst) == executor as u32 + 1 {
            self.standing.store(standing.map_or(0, Standing::number), Release);
            self.owner.store(0, SeqCst);
        }
    }

    /// The number of the executor that has it, if one has.
    pub(crate) fn owner(&self) -> Option<usize> {
        self.owner.load(SeqCst).checked_sub(1).map(|owner| owner as usize)
    }

    /// How often its process was ended in order, this time included.
    pub(crate) fn times(&self) -> u32 {
        self.times.load(Relaxed)
    }
}

impl Record {
    /// Maps the file, which is made if need be. Where that cannot be the memory is this server's alone. In the postmaster.
    pub(crate) fn map() -> &'static Record {
        let mapped = map_file().unwrap_or_else(|error| {
            log_line::log!(
                "howdah cannot keep {PATH}: {error}; which jobs run is forgotten when the server stops"
            );
            // SAFETY: new memory.
            unsafe { map_memory(-1, libc::MAP_ANONYMOUS) }
                .unwrap_or_else(|error| pgrx::error!("howdah has no memory for what runs: {error}"))
        });
        // SAFETY: mapped for as long as the process lives, large enough, aligned to a page, and valid whatever its bytes are.
        unsafe { mapped.as_ref() }
    }

    /// The server begins, perhaps after a crash: what ran and was not told to end is a suspect. In the postmaster, while nobody else runs.
    pub(crate) fn settle(&self) {
        let known: Vec<(Place, Standing)> = self.entries.iter().filter_map(Entry::get).collect();
        let cancelled: Vec<Place> = self.slots.iter().filter_map(Slot::cancelled_place).collect();
        let ran: Vec<_> = self.slots.iter().filter_map(Slot::ran).collect();
        if !ran.is_empty() {
            let held = after_crash(&known, &ran);
            self.entries.iter().for_each(|entry| entry.standing.store(0, Relaxed));
            for (entry, (place, standing)) in self.entries.iter().zip(&held) {
                entry.set(*place, *standing);
            }
        }
        // Whoever has cancelled one was told that it does not happen.
        cancelled.into_iter().for_each(|place| self.hold(place, Standing::Cancelled));
        self.slots.iter().for_each(Slot::reset);
        self.entries.iter().for_each(|entry| entry.owner.store(0, Relaxed));
        self.count();
    }

    /// Somebody has cancelled the job that an executor runs, which writes that down: it is held against the job until that is so.
    pub(crate) fn hold_cancelled(&self, place: Place, executor: usize) {
        self.hold(place, Standing::Known);
        for entry in self.entries.iter().filter(|entry| entry.get().is_some_and(|(known, _)| known == place))
        {
            entry.owner.store(executor as u32 + 1, SeqCst);
            entry.standing.store(Standing::Cancelled.number(), Release);
        }
    }

    /// Holds something against a job.
    pub(crate) fn hold(&self, place: Place, standing: Standing) {
        let is_its = |entry: &&Entry| entry.get().is_some_and(|(known, _)| known == place);
        let is_free = |entry: &&Entry| entry.get().is_none();
        // What is only remembered gives way.
        let is_old = |entry: &&Entry| matches!(entry.get(), Some((_, Standing::Known | Standing::Convict)));
        let known = self.entries.iter().find(is_its);
        let free = || self.entries.iter().find(is_free).or_else(|| self.entries.iter().find(is_old));
        let Some(entry) = known.or_else(free) else { return };
        if known.is_none() {
            entry.times.store(0, Relaxed);
        }
        entry.times.fetch_add(1, Relaxed);
        entry.set(place, standing);
        self.count();
    }

    /// A job is suspected no more: it has ended by an error of its own.
    pub(crate) fn acquit(&self, place: Place) {
        let is_its = |entry: &&Entry| {
            entry.get().is_some_and(|(known, standing)| known == place && standing.is_suspect())
        };
        self.entries.iter().filter(is_its).for_each(|entry| entry.standing.store(0, Release));
        self.count();
    }

    /// How many jobs are to run alone.
    pub(crate) fn suspects(&self) -> usize {
        let is_suspect = |entry: &&Entry| entry.get().is_some_and(|(_, standing)| standing.is_suspect());
        self.entries.iter().filter(is_suspect).count()
    }

    /// Nothing is held against a job any more: it is done, or dead.
    pub(crate) fn forgive(&self, place: Place) {
        let is_its = |entry: &&Entry| entry.get().is_some_and(|(known, _)| known == place);
        self.entries.iter().filter(is_its).for_each(|entry| entry.standing.store(0, Release));
        self.count();
    }

    /// Counts the entries that are not free.
    pub(crate) fn count(&self) {
        let held = self.entries.iter().filter(|entry| entry.get().is_some()).count();
        self.held.store(held as u32, SeqCst);
    }

    fn belongs_to(&self, file: &fs::Metadata) -> bool {
        self.magic.load(Relaxed) == MAGIC
            && self.device.load(Relaxed) == file.dev()
            && self.inode.load(Relaxed) == file.ino()
    }
}

fn map_file() -> io::Result<NonNull<Record>> {
    let file = open(Path::new(PATH))?;
    // SAFETY: a file of the right length.
    let mapped = unsafe { map_memory(file.as_raw_fd(), 0)? };
    // SAFETY: valid whatever its bytes are.
    let record = unsafe { mapped.as_ref() };
    let metadata = file.metadata()?;
    if !record.belongs_to(&metadata) {
        // SAFETY: nobody else has it.
        unsafe { mapped.as_ptr().write_bytes(0, 1) };
        record.device.store(metadata.dev(), Relaxed);
        record.inode.store(metadata.ino(), Relaxed);
        record.magic.store(MAGIC, Relaxed);
    }
    Ok(mapped)
}

fn open(path: &Path) -> io::Result<File> {
    let file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    if file.metadata()?.len() != size_of::<Record>() as u64 {
        file.set_len(0)?;
        file.set_len(size_of::<Record>() as u64)?;
    }
    Ok(file)
}

/// # Safety
/// The file is as long as a record, or the flags say that there is none.
unsafe fn map_memory(file: i32, flags: i32) -> io::Result<NonNull<Record>> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: new memory, by contract.
    let mapped =
        unsafe { libc::mmap(null_mut(), size_of::<Record>(), access, libc::MAP_SHARED | flags, file, 0) };
    match NonNull::new(mapped.cast()) {
        Some(record) if mapped != libc::MAP_FAILED => Ok(record),
        _ => Err(io::Error::last_os_error()),
    }
}
