//! `howdah generate`.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use bips::Bips;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::arguments::Bips as Options;
use crate::failure::{Failure, Result};
use crate::progress;
use crate::screen::say;

/// How much is made before it is written.
const CHUNK: usize = 256 << 10;
/// The quickest compression: making records should take less time than loading them.
const GZIP_LEVEL: u32 = 1;
const ZSTD_LEVEL: i32 = 1;

/// Writes records into a file, or to the standard output for `-`.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.out == Path::new("-") {
        return write(options, io::stdout().lock()).map_err(|error| unwritable(&options.out, &error));
    }
    // Under another name until it is whole, so that an interrupted run leaves no file that looks like one.
    let unfinished = unfinished(&options.out);
    let written = File::create(&unfinished)
        .and_then(|file| write_as_named(options, file))
        .and_then(|()| fs::rename(&unfinished, &options.out));
    if let Err(error) = written {
        // The error that counts is the one before.
        let _ = fs::remove_file(&unfinished);
        return Err(unwritable(&options.out, &error));
    }
    say(&format!("Wrote {} records to {}.", progress::grouped(options.records), options.out.display()));
    Ok(())
}

fn unfinished(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".unfinished");
    name.into()
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::Said(format!("cannot write {}: {error}", path.display()))
}

/// Compressed, if the name says so.
fn write_as_named(options: &Options, file: File) -> io::Result<()> {
    let extension = options.out.extension().and_then(|extension| extension.to_str());
    match extension {
        Some("gz") => {
            let mut encoder = GzEncoder::new(file, Compression::new(GZIP_LEVEL));
            write(options, &mut encoder)?;
            encoder.finish().map(drop)
        }
        Some("zst") => {
            let mut encoder = zstd::Encoder::new(BufWriter::new(file), ZSTD_LEVEL)?;
            write(options, &mut encoder)?;
            encoder.finish()?.flush()
        }
        _ => write(options, file),
    }
}

fn write(options: &Options, mut out: impl Write) -> io::Result<()> {
    let bar = progress::of_records(options.records);
    let mut bips = Bips::new(options.seed);
    let mut chunk = Vec::with_capacity(CHUNK + 1024);
    let mut in_chunk = 0;
    for _ in 0..options.records {
        bips.append(&mut chunk);
        in_chunk += 1;
        if chunk.len() >= CHUNK {
            out.write_all(&chunk)?;
            bar.inc(in_chunk);
            in_chunk = 0;
            chunk.clear();
        }
    }
    out.write_all(&chunk)?;
    out.flush()?;
    bar.finish_and_clear();
    Ok(())
}
