//! What is a folder's own: files and folders. A folder may be a stranger's branch, read where secrets lie beside it: what a link leads
//! to would stand in an error, a pipe would never end, and a device may be anything. So none of them is opened.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Why something is not a folder's own, if so.
pub fn refusal(known: FileType) -> Option<&'static str> {
    match known {
        _ if known.is_file() || known.is_dir() => None,
        _ if known.is_symlink() => Some(
            "it is a symbolic link, and what it leads to may be anybody's: an application has files alone; put the file itself here",
        ),
        _ if known.is_fifo() => Some("it is a named pipe, and an application has files alone; take it out"),
        _ if known.is_socket() => Some("it is a socket, and an application has files alone; take it out"),
        _ => Some("it is a device, and an application has files alone; take it out"),
    }
}

/// Opens a file that is the folder's own. The last part of its path may be no link; the others are whoever's who names them.
///
/// # Errors
///
/// That of the system, or of [`refusal`].
pub fn open(place: &Path) -> io::Result<File> {
    // Opening alone may already do something to a device.
    is_own(&fs::symlink_metadata(place)?)?;
    // What takes its place meanwhile is not followed, nor waited for.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(place)?;
    is_own(&file.metadata()?)?;
    Ok(file)
}

fn is_own(known: &Metadata) -> io::Result<()> {
    refusal(known.file_type()).map_or(Ok(()), |why| Err(io::Error::other(why)))
}

/// The bytes of a file that is the folder's own.
///
/// # Errors
///
/// As [`open`].
pub fn read(place: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(place)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}
