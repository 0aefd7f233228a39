//! Files and the standard input, compressed or not, as blocks of whole lines.

use std::fs::File;
use std::io::{self, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use flate2::read::MultiGzDecoder;
use memchr::memrchr;

use crate::block::Block;
use crate::error::Error;

/// How much is read at once: large enough that system calls do not count, small enough for the caches.
const BLOCK: usize = 256 << 10;
/// A line that is longer is no line.
const LONGEST_LINE: usize = 256 << 20;
/// Blocks that are read ahead.
const AHEAD: usize = 8;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Files of lines, in order.
#[derive(Debug)]
pub struct Source {
    inputs: Vec<Input>,
    /// The sequence of the first line of each file that has been begun.
    begins: Arc<Mutex<Vec<u64>>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) path: PathBuf,
    /// Its length if it can be read again.
    pub(crate) length: Option<u64>,
}

impl Input {
    fn name(&self) -> String {
        if self.is_standard_input() { "the standard input".into() } else { self.path.display().to_string() }
    }

    fn is_standard_input(&self) -> bool {
        self.path == Path::new("-")
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        if self.is_standard_input() {
            Ok(Box::new(io::stdin()))
        } else {
            Ok(Box::new(File::open(&self.path)?))
        }
    }

    /// What is in it, not compressed.
    pub(crate) fn content(&self) -> io::Result<Box<dyn Read>> {
        decompressed(Counted { inner: self.open()?, position: Arc::default() })
    }
}

impl Source {
    /// These files; `-` is the standard input. An error if one cannot be read.
    pub fn open(paths: &[PathBuf]) -> Result<Self, Error> {
        let inputs = paths.iter().map(|path| input(path)).collect::<Result<_, _>>()?;
        Ok(Self { inputs, begins: Arc::default() })
    }

    /// The bytes of all files, compressed as they are, unless one is a stream.
    pub fn length(&self) -> Option<u64> {
        self.inputs.iter().map(|input| input.length).sum()
    }

    /// The file of a line and the line's number in it, from 1.
    pub fn place(&self, sequence: u64) -> Option<(String, u64)> {
        let begins = self.begins.lock().unwrap_or_else(PoisonError::into_inner);
        let file = begins.iter().rposition(|begin| *begin <= sequence)?;
        Some((self.inputs.get(file)?.name(), sequence - begins.get(file)? + 1))
    }

    pub(crate) fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    pub(crate) fn can_be_read_again(&self) -> bool {
        self.length().is_some()
    }

    /// The blocks from the first line on, read in a thread of its own.
    pub(crate) fn begin(&self) -> Receiver<Result<Block, Error>> {
        let (sender, blocks) = sync_channel(AHEAD);
        let reader =
            Reader { blocks: sender, begins: Arc::clone(&self.begins), position: Arc::default(), next: 1 };
        let inputs = self.inputs.clone();
        thread::spawn(move || reader.run(&inputs));
        blocks
    }
}

fn input(path: &Path) -> Result<Input, Error> {
    let unreadable =
        |cause: io::Error| Error::Unreadable { name: path.display().to_string(), line: None, cause };
    if path == Path::new("-") {
        return Ok(Input { path: path.into(), length: None });
    }
    let metadata = path.metadata().map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(unreadable(ErrorKind::IsADirectory.into()));
    }
    if metadata.is_file() {
        File::open(path).map_err(unreadable)?;
    }
    Ok(Input { path: path.into(), length: metadata.is_file().then_some(metadata.len()) })
}

/// Reads one file after another.
struct Reader {
    blocks: SyncSender<Result<Block, Error>>,
    begins: Arc<Mutex<Vec<u64>>>,
    position: Arc<AtomicU64>,
    /// The sequence of the next line.
    next: u64,
}

/// Nobody wants blocks any more.
struct Unwanted;

impl Reader {
    fn run(mut self, inputs: &[Input]) {
        self.begins.lock().unwrap_or_else(PoisonError::into_inner).clear();
        for input in inputs {
            let begin = self.next;
            self.begins.lock().unwrap_or_else(PoisonError::into_inner).push(begin);
            match self.read(input) {
                Ok(Ok(())) => {}
                Ok(Err(Unwanted)) => return,
                Err(cause) => {
                    let line = Some(self.next - begin).filter(|line| *line > 0);
                    // Who would hear of it has ended for another reason.
                    let _ = self.blocks.send(Err(Error::Unreadable { name: input.name(), line, cause }));
                    return;
                }
            }
        }
    }

    /// Hands out a file in blocks. A last line without its end gets one. Of a file that breaks off, the last
    /// line is left out unless it is complete.
    fn read(&mut self, input: &Input) -> io::Result<Result<(), Unwanted>> {
        let mut bytes = decompressed(Counted { inner: input.open()?, position: Arc::clone(&self.position) })?;
        // What comes slowly is handed on as it comes.
        let patient = input.length.is_some();
        let mut block = Vec::new();
        let mut begun = false;
        loop {
            let searched = block.len();
            // Lines that came before a failure are handed out first.
            let outcome = append(&mut bytes, &mut block, patient);
            if !begun && block.starts_with(BYTE_ORDER_MARK) {
                block.drain(..BYTE_ORDER_MARK.len());
            }
            begun = true;
            if matches!(outcome, Ok(false)) && block.last().is_some_and(|last| *last != b'\n') {
                block.push(b'\n');
            }
            if let Some(end) = memrchr(b'\n', &block[searched..]) {
                let rest = block.split_off(searched + end + 1);
                if self.hand_out(std::mem::replace(&mut block, rest)).is_err() {
                    return Ok(Err(Unwanted));
                }
            } else if block.len() > LONGEST_LINE {
                return Err(io::Error::new(ErrorKind::InvalidData, "the line is longer than 256 MiB"));
            }
            if !outcome? {
                return Ok(Ok(()));
            }
        }
    }

    fn hand_out(&mut self, bytes: Vec<u8>) -> Result<(), Unwanted> {
        let block = Block::new(bytes, self.next, self.position.load(Ordering::Relaxed));
        self.next += block.lines;
        self.blocks.send(Ok(block)).map_err(|_| Unwanted)
    }
}

/// Reads another block's worth behind what is there, all of it if there is time. Returns whether there may be more.
fn append(bytes: &mut impl Read, block: &mut Vec<u8>, patient: bool) -> io::Result<bool> {
    if patient {
        // Without zeros first, a hundredth of the time of loading.
        block.reserve(BLOCK);
        return bytes.take(BLOCK as u64).read_to_end(block).map(|read| read == BLOCK);
    }
    let begin = block.len();
    block.resize(begin + BLOCK, 0);
    let outcome = loop {
        match bytes.read(&mut block[begin..]) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            outcome => break outcome,
        }
    };
    block.truncate(begin + outcome.as_ref().map_or(0, |read| *read));
    outcome.map(|read| read > 0)
}

/// The bytes as they were before they were compressed, which the first of them tell.
fn decompressed(mut raw: Counted) -> io::Result<Box<dyn Read>> {
    let mut magic = Vec::new();
    raw.by_ref().take(4).read_to_end(&mut magic)?;
    let kind = magic.clone();
    let whole = Cursor::new(magic).chain(raw);
    Ok(match kind.as_slice() {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(whole)),
        [0x28, 0xb5, 0x2f, 0xfd] => Box::new(zstd::Decoder::new(whole)?),
        _ => Box::new(whole),
    })
}

/// Counts what is read from a file.
struct Counted {
    inner: Box<dyn Read + Send>,
    position: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.position.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
