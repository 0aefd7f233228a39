//! Static files, which a gateway answers by itself: it knows the names of all, and has in memory what was asked for lately ([`contents`]). A long file is
//! sent in parts, each when its client has taken the one before.

pub(super) mod contents;

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use ::gateway::WantedPart;
use files::answer::{FileAnswer, FileBytes};
use files::{FilePlace, Served, Tree};
use message::Request;
use pgrx::spi::{self, SpiClient};
use problem::Problem;
use request::static_files::{answer_of, served_at, tree, versions, without_bytes};

use contents::{Content, Contents};

/// The files of a database, as far as this process knows them.
pub(crate) struct StaticFiles {
    /// By application: how often they had become others when they were read, and what they are.
    trees: HashMap<String, (i64, Tree)>,
    pub(super) contents: Contents,
    /// Parts that clients wait for.
    pub(super) wanted: VecDeque<WantedPart>,
    /// Whether some of them wait for the next turn alone.
    pub(super) is_due: bool,
    /// First parts that were read from the database in this turn.
    pub(super) first_reads: usize,
}

/// The files of an application as they were read; without a tree those that are known.
pub(super) type ReadTree = (String, i64, Option<Tree>);

impl StaticFiles {
    /// Nothing.
    pub(super) fn new() -> StaticFiles {
        StaticFiles {
            trees: HashMap::new(),
            contents: Contents::new(),
            wanted: VecDeque::new(),
            is_due: false,
            first_reads: 0,
        }
    }

    /// Reads the names of applications whose files have become others. Bytes never do: they are known by their digest.
    pub(super) fn read(&self, client: &SpiClient<'_>) -> Result<Vec<ReadTree>, spi::Error> {
        let read = |(application, version): (String, i64)| {
            let is_known = self.trees.get(&application).is_some_and(|(known, _)| *known == version);
            let tree = if is_known { None } else { Some(tree(client, &application)?) };
            Ok((application, version, tree))
        };
        versions(client)?.into_iter().map(read).collect()
    }

    /// Takes what was read.
    pub(super) fn take(&mut self, read: Vec<ReadTree>) {
        let mut before = std::mem::take(&mut self.trees);
        let known = |(application, version, tree): ReadTree| {
            let tree = tree.or_else(|| before.remove(&application).map(|(_, tree)| tree))?;
            Some((application, (version, tree)))
        };
        self.trees = read.into_iter().filter_map(known).collect();
    }

    /// Follows the setting.
    pub(super) fn limit(&mut self) {
        self.contents.limit();
    }

    /// Whether clients wait for parts.
    pub(super) fn any(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// The outcome of a request at a place; none if there is no file for it.
    pub(super) fn serve(&self, request: &Request<'_>, place: &FilePlace<'_>) -> Option<Serving> {
        let (_, tree) = self.trees.get(&place.mount.application)?;
        let file = match served_at(request, place, tree)? {
            Served::File(file) => file,
            other => return Some(Serving::Ready(without_bytes(request, &other))),
        };
        let (answer, version) = (answer_of(request, &file), file.version);
        let (coding, size, part) = match &answer.body {
            FileBytes::None => (None, version.size, 0..0),
            FileBytes::Plain(part) => (None, version.size, part.clone()),
            FileBytes::Packed(coding) => {
                let size = version.packed[*coding as usize].unwrap_or_default();
                (Some(*coding), size, 0..size)
            }
        };
        let (application, digest) = (place.mount.application.clone(), version.digest.clone());
        Some(Serving::Part(answer, Content { application, digest, coding, size }, part))
    }
}

/// The outcome of a request.
pub(super) enum Serving {
    /// It is answered without a file's bytes.
    Ready(Result<(u16, Vec<u8>), Problem>),
    /// It gets this part of a file.
    Part(FileAnswer, Content, Range<u64>),
}

/// The part of a file that an answer has, for the parts of it that are still to come.
pub(super) struct PartSource {
    /// The file.
    pub content: Content,
    /// Where in the file the answer's body begins.
    pub start: u64,
}
