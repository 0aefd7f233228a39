//! Entity tags that are remembered, with what their answers have read: who has such an answer gets 304, and nothing runs.
//!
//! What is asked for by a tag and not remembered is run by an executor, which notes what it reads. So short requests leave the inline lane for that,
//! unless it does not pay: where answers change more often than they are asked for, or cannot be remembered.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use cache::Cache;
use conditions::{Preconditions, Validators, Verdict};
use message::{Request, Response, ResponseBuilder};
use pg::guard::Report;
use request::read_inputs::ReadInput;
use request::reads::Read;
use session::{file_settings, own_transaction};
use shared::settings;

/// What is remembered of the routes of a database, by what was asked.
pub(crate) struct Remembered {
    answers: Cache<Entry>,
    /// By the numbers of their counters.
    scores: HashMap<u32, Score>,
    /// For the key of a look-up.
    key: Vec<u8>,
}

/// What is known of what was asked.
enum Entry {
    /// An executor was asked at this time: whoever else asks meanwhile runs as usual.
    Asked(Instant),
    /// Answers depend on these parts of the request as well: what is known stands at their values.
    Varies(Vec<ReadInput>),
    /// An answer.
    Tagged(Tagged),
}

/// An answer without its body.
struct Tagged {
    /// A [`message::Response`] with status 304.
    response: Vec<u8>,
    read: Read,
}

/// Whether it pays to remember the answers of a route.
#[derive(Default)]
struct Score {
    /// Requests that were sent to executors to be remembered.
    asked: u32,
    /// Requests that were answered without a run since.
    answered: u32,
    /// When it is tried again.
    again: Option<Instant>,
}

/// For so many requests one has to be answered without a run.
const PAYS: u32 = 4;
/// How long an executor may take until another is asked the same.
const PATIENCE: Duration = Duration::from_millis(100);
/// Requests that are sent to executors before anybody knows.
const TRIED: u32 = 16;
/// How long it is not tried again where it does not pay.
const PAUSE: Duration = Duration::from_secs(1);
/// After so many what was before counts half.
const FADES: u32 = 1 << 10;

/// What is to be done with a request that names a tag.
pub(crate) enum Known {
    /// It is answered by this, a [`message::Response`].
    Answer(Vec<u8>),
    /// An executor runs it, and what it has read is told.
    Ask,
    /// It runs like any other.
    Run,
}

impl Remembered {
    /// Nothing.
    pub(super) fn new() -> Remembered {
        Remembered {
            answers: Cache::new(settings::MAX_REMEMBERED.get() as usize),
            scores: HashMap::new(),
            key: Vec::new(),
        }
    }

    /// Forgets everything: routes or settings are others now.
    pub(crate) fn clear(&mut self) {
        self.answers.clear();
        self.scores.clear();
        self.answers.limit(settings::MAX_REMEMBERED.get() as usize);
    }

    /// What is known of a request to a route that validates; `gate` is the number of its counters.
    pub(crate) fn look(&mut self, request: &Request<'_>, gate: u32, now: Instant) -> Known {
        if !matches!(request.method(), "GET" | "HEAD") || !request.body().is_empty() {
            return Known::Run;
        }
        let headers = request.headers().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let preconditions = Preconditions::of(headers);
        if !preconditions.revalidates() {
            return Known::Run;
        }
        self.write_key(request);
        let score = self.scores.entry(gate).or_default();
        match self.answers.get(&self.key) {
            // SAFETY: on the main thread.
            Some(Entry::Tagged(tagged)) if unsafe { tagged.read.holds() } => {
                if tagged.answers(&preconditions) {
                    score.answered += 1;
                    return Known::Answer(tagged.response.clone());
                }
                // What it has is old: it gets the body, which is known to nobody here.
                return Known::Run;
            }
            Some(Entry::Asked(since)) if now.saturating_duration_since(*since) < PATIENCE => {
                return Known::Run;
            }
            _ => {}
        }
        if !score.pays(now) {
            return Known::Run;
        }
        self.answers.insert(&self.key, Entry::Asked(now), size_of::<Entry>());
        Known::Ask
    }

    /// Remembers the answer to a request, which has read this.
    pub(crate) fn remember(&mut self, request: &Request<'_>, response: &[u8], read: Read) {
        // It may have run before the executor has read the configuration that counts here, or after.
        let is_by_same_settings = read.settings == file_settings::fingerprint();
        let Some(response) = unmodified(response).filter(|_| is_by_same_settings) else { return };
        self.note_inputs(request, &read.inputs);
        self.write_key(request);
        let bytes = response.len() + 4 * read.things.len() + size_of::<Entry>();
        self.answers.insert(&self.key, Entry::Tagged(Tagged { response, read }), bytes);
    }
}

/// Has prepared transactions of an earlier life of the server marked, before which nothing holds.
pub(super) fn get_ready() {
    if !changes::is_ready() {
        // SAFETY: in a transaction of its own.
        let _ = own_transaction::transaction(Report::Log, || unsafe { changes::adopt() });
    }
}

/// What is asked for: by GET and HEAD alike.
fn write_path(key: &mut Vec<u8>, request: &Request<'_>) {
    key.clear();
    key.extend_from_slice(request.raw_path().as_bytes());
    // Neither has one.
    key.push(b'?');
    key.extend_from_slice(request.query_string().as_bytes());
}

impl Remembered {
    /// The key of a request: its path and query string, and the values of what its answers depend on besides, as far as that is known.
    fn write_key(&mut self, request: &Request<'_>) {
        write_path(&mut self.key, request);
        let Some(Entry::Varies(inputs)) = self.answers.get(&self.key) else { return };
        for input in inputs {
            // No value has one; what is not there differs from what is empty.
            self.key.push(b'\n');
            if let Some(value) = input.value(request) {
                self.key.push(b'=');
                self.key.extend_from_slice(value.as_bytes());
            }
        }
    }

    /// Notes what answers to a request depend on, beside what was known before.
    fn note_inputs(&mut self, request: &Request<'_>, inputs: &[ReadInput]) {
        write_path(&mut self.key, request);
        let mut all = match self.answers.get(&self.key) {
            Some(Entry::Varies(known)) => known.clone(),
            _ => Vec::new(),
        };
        let known = all.len();
        for input in inputs {
            if !all.contains(input) {
                all.push(input.clone());
            }
        }
        if all.len() > known {
            let bytes = all.iter().map(|input| size_of::<ReadInput>() + input.text().len()).sum();
            self.answers.insert(&self.key, Entry::Varies(all), bytes);
        }
    }
}

impl Tagged {
    /// Whether it is what a client has that says so.
    fn answers(&self, preconditions: &Preconditions<'_>) -> bool {
        let Ok(response) = Response::parse(&self.response) else { return false };
        let header =
            |wanted: &[u8]| response.headers().find(|(name, _)| *name == wanted).map(|(_, value)| value);
        let now = Validators { tag: header(b"etag"), last_modified: header(b"last-modified") };
        preconditions.judge(true, Some(now)) == Verdict::NotModified
    }
}

impl Score {
    fn pays(&mut self, now: Instant) -> bool {
        if self.asked > FADES {
            self.asked /= 2;
            self.answered /= 2;
        }
        let pays = self.asked < TRIED + self.answered.saturating_mul(PAYS);
        if !pays && self.again.is_some_and(|again| now < again) {
            return false;
        }
        self.again = Some(now + PAUSE);
        self.asked += 1;
        true
    }
}

/// The same answer to who has it already; none if it has something that is of one time or one client alone, or no tag.
fn unmodified(response: &[u8]) -> Option<Vec<u8>> {
    let response = Response::parse(response).ok()?;
    let has = |wanted: &[u8]| response.headers().any(|(name, _)| name == wanted);
    let is_of_one =
        response.has_date() || response.has_request_id() || response.closes() || has(b"set-cookie");
    if is_of_one || !has(b"etag") {
        return None;
    }
    let mut builder = ResponseBuilder::new(304).ok()?;
    for (name, value) in response.headers().filter(|(name, _)| conditions::is_of_unmodified(name)) {
        builder.header(name, value).ok()?;
    }
    Some(builder.finish(&[]))
}
