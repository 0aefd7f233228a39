//! A bucket: lines that are written in one transaction.

use serde::{Deserialize, Serialize};

/// When a bucket is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full {
    /// Lines.
    pub rows: u64,
    /// Bytes. The line that reaches it still goes in, whole.
    pub bytes: usize,
}

/// A line that was longer than the limit. The bucket has its beginning in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TooLong {
    /// Its number in the bucket, from 0.
    pub line: u64,
    /// Its bytes, the newline aside.
    pub length: u64,
}

/// Complete lines, each with its newline.
#[derive(Debug, Default)]
pub struct Bucket {
    lines: Vec<u8>,
    count: u64,
    too_long: Vec<TooLong>,
}

impl Bucket {
    /// An empty bucket that uses this memory.
    pub fn reusing(mut memory: Vec<u8>) -> Bucket {
        memory.clear();
        Bucket { lines: memory, count: 0, too_long: Vec::new() }
    }

    /// Whether it holds any memory.
    pub fn has_memory(&self) -> bool {
        self.lines.capacity() > 0
    }

    /// Adds a line, given without its newline.
    pub fn push(&mut self, line: &[u8]) {
        self.lines.extend_from_slice(line);
        self.lines.push(b'\n');
        self.count += 1;
    }

    /// Adds the beginning of a line that was longer than the limit.
    pub fn push_too_long(&mut self, beginning: &[u8], length: u64) {
        self.too_long.push(TooLong { line: self.count, length });
        self.push(beginning);
    }

    /// Whether nothing more goes in.
    pub fn is_full(&self, full: &Full) -> bool {
        self.count >= full.rows || self.lines.len() >= full.bytes
    }

    /// Whether it has no line.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many lines it has, empty ones included.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many bytes its lines have.
    pub fn bytes(&self) -> usize {
        self.lines.len()
    }

    /// Its lines, and those among them that were too long.
    pub fn into_parts(self) -> (Vec<u8>, Vec<TooLong>) {
        (self.lines, self.too_long)
    }
}
