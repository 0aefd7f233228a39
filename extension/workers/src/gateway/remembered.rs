//! Answers that are remembered, with what they have read: who asks for the same gets them, and nothing runs.
//!
//! Of a route with validators the entity tag is remembered: who has such an answer gets 304. Of a route for which `http.cache` was called the whole
//! answer is kept. What is not there is run by an executor, which notes what it reads. So short requests leave the inline lane for that,
//! unless it does not pay: where answers change more often than they are asked for, or cannot be kept.

mod age;
mod packer;
mod shown_bytes;
mod whole;

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use ::gateway::{Arrived, Server, Ticket};
use cache::{Cache, PAUSE, Saving, Score, Shares};
use conditions::{Preconditions, Validators, Verdict};
use message::{Request, Response, ResponseBuilder};
use pg::guard::Report;
use request::caching::Caching;
use request::read_inputs::{ReadInput, is_of_one, write_inputs};
use request::reads::{Plain, Read};
use session::{file_settings, own_transaction};
use shared::{settings, shared};

use super::budget::KEPT;
use super::followers::{Follower, Followers};
use age::Age;
use packer::{KeptAt, PackerThread};
pub(crate) use whole::Given;
use whole::{ToPack, Whole};

/// What is remembered of the routes of a database, by what was asked.
pub(crate) struct Remembered {
    /// Of routes whose answers have tags.
    tags: Cache<Entry>,
    /// Of routes whose answers are kept, by the numbers of their counters.
    kept: Shares<Entry>,
    /// By the numbers of their counters.
    routes: HashMap<u32, Route>,
    /// Those that wait for the answer to an equal request.
    pub followers: Followers,
    /// For the key of a look-up.
    key: Vec<u8>,
    packer: PackerThread,
    /// The number of the answer that was kept last.
    number: u64,
}

/// What is known of what was asked.
enum Entry {
    /// An executor was asked at this time: whoever else asks meanwhile runs as usual.
    Asked(Instant),
    /// The answer could not be kept at this time: whoever asks soon after runs as usual.
    Unkept(Instant),
    /// An answer.
    Answer(Answer),
}

/// An answer, and what it has read.
struct Answer {
    /// The same to who has it already: a [`message::Response`] with status 304.
    unmodified: Vec<u8>,
    /// The whole of it, if that is kept.
    whole: Option<Box<Whole>>,
    read: Read,
    /// If it depends on the time.
    age: Option<Age>,
}

/// What is known of a route.
#[derive(Default)]
struct Route {
    /// Parts of the request that its answers depend on, beside the path. They become more: a key begins with their number.
    inputs: Vec<ReadInput>,
    score: Score,
    /// How many answers are kept; none if their tags are.
    most: Option<usize>,
    /// Whether they may be packed.
    packs: bool,
    /// How long they are kept if they depend on the time.
    max_age: Option<Duration>,
}

/// How long an executor may take until another is asked the same.
const PATIENCE: Duration = Duration::from_millis(100);
/// Bytes of a request whose answer is remembered: it is there still when the answer comes.
const LONGEST: usize = KEPT;
/// Parts of the request that answers of one route may depend on.
const MOST_INPUTS: usize = 128;

/// What is to be done with a request.
pub(crate) enum Known {
    /// It is answered by this.
    Answer(Given),
    /// An executor runs it, and what it has read is told.
    Ask,
    /// It waits for the answer to an equal one.
    Follow,
    /// It runs like any other.
    Run,
}

impl Remembered {
    /// Nothing.
    pub(super) fn new() -> Remembered {
        Remembered {
            tags: Cache::new(settings::MAX_REMEMBERED.get() as usize),
            kept: Shares::new(settings::MAX_CACHED.get() as usize),
            routes: HashMap::new(),
            followers: Followers::default(),
            key: Vec::new(),
            packer: PackerThread::default(),
            number: 0,
        }
    }

    /// Forgets everything: routes or settings are others now.
    pub(crate) fn clear(&mut self) {
        self.publish();
        shown_bytes::clear();
        self.tags.clear();
        self.kept.clear();
        self.routes.clear();
        self.followers.end_all();
        self.tags.limit(settings::MAX_REMEMBERED.get() as usize);
        self.kept.limit(settings::MAX_CACHED.get() as usize);
    }

    /// What is known of a request to a route with validators, whose answers are kept if it says how; `gate` is the number of its counters, and
    /// `is_short` says whether it would run in the gateway.
    pub(crate) fn look(
        &mut self,
        request: &Request<'_>,
        (ticket, size): (Ticket, usize),
        gate: u32,
        (caching, is_short): (Option<&Caching>, impl Fn() -> bool),
        now: Instant,
    ) -> Known {
        if !is_plain(request) {
            return Known::Run;
        }
        let preconditions = preconditions(request);
        if caching.is_none() && !preconditions.revalidates() {
            return Known::Run;
        }
        let route = self.routes.entry(gate).or_insert_with(|| Route::new(caching));
        if is_of_one(&route.inputs, request) {
            return Known::Run;
        }
        if !route.write_key(gate, request, &mut self.key) {
            // What cannot be read fails.
            return Known::Run;
        }
        let known = match route.most {
            Some(_) => self.kept.get(gate, &self.key),
            None => self.tags.get(&self.key),
        };
        match known {
            Some(Entry::Answer(answer)) if answer.counts(now) => {
                let mut to_pack = None;
                let given = answer.given(request, &preconditions, now, &mut to_pack);
                route.score.answered(usize::from(given.is_some()));
                self.pack(gate, to_pack);
                // Who has what is old gets the body, and that may be known to nobody here.
                return given.map_or(Known::Run, Known::Answer);
            }
            Some(entry) if entry.is_left_alone(now) => return Known::Run,
            _ => {}
        }
        if preconditions.require() || size > LONGEST {
            // What it gets may be nobody else's, or the request will not be there still.
            return Known::Run;
        }
        if self.followers.are_led(&self.key) {
            return if self.followers.have_room(size) { Known::Follow } else { Known::Run };
        }
        if !route.pays(is_short(), now) {
            return Known::Run;
        }
        if route.most.is_some() {
            self.followers.lead(&self.key, ticket);
        } else {
            self.tags.insert(&self.key, Entry::Asked(now), size_of::<Entry>());
        }
        Known::Ask
    }

    /// Has a request wait for the answer to an equal one, as the last look has said.
    pub(crate) fn follow(&mut self, arrived: Arrived, since: Instant) {
        let follower = Follower { arrived, since, asked: changes::now() };
        self.followers.follow(&self.key, follower);
    }

    /// Notes that the answer to a request could not be kept.
    pub(crate) fn give_up(&mut self, request: &Request<'_>, gate: u32) {
        let Some(route) = self.routes.get(&gate) else { return };
        if route.most.is_some() && is_plain(request) && route.write_key(gate, request, &mut self.key) {
            self.insert(gate, Entry::Unkept(Instant::now()), size_of::<Entry>());
        }
    }

    /// What is due once in a while.
    pub(crate) fn tick(&mut self, server: &Server) {
        self.end_abandoned(server);
        self.publish();
    }

    /// Tells the counters of routes what is kept.
    fn publish(&mut self) {
        for &gate in self.routes.keys() {
            shown_bytes::set(gate, self.kept.of(gate).1 as u64);
            let evicted = self.kept.take_evicted(gate);
            if evicted > 0 {
                shared().routes.get(gate as usize).evicted.fetch_add(evicted, Relaxed);
            }
        }
    }

    /// Has those looked at anew, to run side by side, who wait for what has failed, or was late.
    fn end_abandoned(&mut self, server: &Server) {
        for key in self.followers.end_abandoned(server) {
            let Some(gate) = key.first_chunk().map(|number| u32::from_le_bytes(*number)) else { continue };
            self.key = key.into_vec();
            self.insert(gate, Entry::Unkept(Instant::now()), size_of::<Entry>());
        }
    }

    /// Whether a request asks for what the answer that was remembered last is the answer to.
    pub(crate) fn is_answered_so(&self, request: &Request<'_>, gate: u32) -> bool {
        let mut key = Vec::with_capacity(self.key.len());
        let route = self.routes.get(&gate);
        route.is_some_and(|route| route.write_key(gate, request, &mut key)) && key == self.key
    }

    /// Keeps something by the key that was written last.
    fn insert(&mut self, gate: u32, entry: Entry, bytes: usize) {
        match self.routes.get(&gate).and_then(|route| route.most) {
            Some(most) => self.kept.insert(gate, &self.key, entry, bytes, most),
            None => self.tags.insert(&self.key, entry, bytes),
        }
    }

    /// Whether the answers of a route are kept, and their conditions asked here.
    pub(crate) fn keeps(&self, gate: u32) -> bool {
        self.routes.get(&gate).is_some_and(|route| route.most.is_some())
    }

    /// Remembers the answer to a request, which has read this; its run had not begun then. It is given as its client gets it, and as it was before it was
    /// packed. Whether it may be given to others.
    pub(crate) fn remember(
        &mut self,
        request: &Request<'_>,
        gate: u32,
        (given, plain): (&[u8], Plain<'_>),
        (read, begun): (Read, Instant),
    ) -> Option<()> {
        // It may have run before the executor has read the configuration that counts here, or after.
        let is_by_same_settings = read.settings == file_settings::fingerprint();
        let route = self.routes.get_mut(&gate)?;
        let (response, packed) = whole::forms(given, plain, route.most.is_some())?;
        let mut unmodified = unmodified(response).filter(|_| is_by_same_settings)?;
        if route.most.is_some() && !may_be_kept(response) {
            return None;
        }
        let packs = route.packs && settings::COMPRESSION.get();
        self.number += 1;
        let whole = match route.most {
            Some(_) => Some(Box::new(Whole::of(response, packed, packs, self.number)?)),
            None => None,
        };
        if whole.as_ref().is_some_and(|whole| whole.gains()) {
            message::vary_by(&mut unmodified, "accept-encoding");
        }
        let age = if read.ages {
            let most = route.max_age?.min(Duration::from_secs(read.lasts.into()));
            Some(Age { begun, most })
        } else {
            None
        };
        if age.is_some_and(|age| !age.allows(Instant::now())) {
            return None;
        }
        route.note(&read.inputs);
        if !route.knows(&read.inputs) || !route.write_key(gate, request, &mut self.key) {
            return None;
        }
        // The key has them.
        let read = Read { inputs: Vec::new(), ..read };
        let bytes = unmodified.len() + whole.as_ref().map_or(0, |whole| whole.len()) + 4 * read.things.len();
        let answer = Answer { unmodified, whole, read, age };
        self.insert(gate, Entry::Answer(answer), bytes + size_of::<Entry>());
        Some(())
    }

    /// What a client gets that has asked for what was remembered last, and has waited for it; none if that is not there any more, or not what it asks for.
    pub(crate) fn give(&mut self, request: &Request<'_>, gate: u32) -> Option<Given> {
        if !self.is_answered_so(request, gate) {
            return None;
        }
        let mut to_pack = None;
        let Some(Entry::Answer(answer)) = self.kept.get(gate, &self.key) else { return None };
        let given = answer.given(request, &preconditions(request), Instant::now(), &mut to_pack);
        self.pack(gate, to_pack);
        given
    }

    /// Has the answer that was looked up last packed for who asks next.
    fn pack(&mut self, gate: u32, to_pack: Option<ToPack>) {
        let Some(to_pack) = to_pack else { return };
        let coding = to_pack.coding;
        let kept = KeptAt { gate, key: self.key.as_slice().into() };
        if !self.packer.pack(kept, to_pack)
            && let Some(Entry::Answer(Answer { whole: Some(whole), .. })) = self.kept.get(gate, &self.key)
        {
            whole.is_not_packed(coding);
        }
    }

    /// Keeps what was packed meanwhile, of answers that are there still.
    pub(crate) fn take_packed(&mut self) {
        while let Some(packed) = self.packer.take() {
            let Some(form) = packed.form else { continue };
            self.kept.grow(packed.kept.gate, &packed.kept.key, |entry| match entry {
                Entry::Answer(Answer { whole: Some(whole), .. }) => {
                    whole.keep(packed.number, packed.coding, form)
                }
                _ => 0,
            });
        }
    }

    /// Notes that so many have got the answer to the run of an equal request.
    pub(crate) fn count_shared(&mut self, gate: u32, count: usize) {
        if let Some(route) = self.routes.get_mut(&gate) {
            route.score.answered(count);
        }
    }
}

/// What a client gets that has asked so for an answer whose conditions no executor has asked: the same, or that it has it already.
pub(crate) fn conditional(request: &Request<'_>, response: Vec<u8>) -> (Vec<u8>, bool) {
    let preconditions = preconditions(request);
    if preconditions.is_empty() || !is_plain(request) {
        return (response, false);
    }
    match unmodified(&response) {
        Some(unmodified) if verdict(&preconditions, &unmodified) == Verdict::NotModified => {
            (packing::known_as(unmodified, &preconditions), true)
        }
        _ => (response, false),
    }
}

/// A 304 with the tag by which who has asked knows the answer.
pub(crate) fn known_as(request: &Request<'_>, unmodified: Vec<u8>) -> Vec<u8> {
    packing::known_as(unmodified, &preconditions(request))
}

/// Whether it asks for what is there, and for nothing else.
fn is_plain(request: &Request<'_>) -> bool {
    matches!(request.method(), "GET" | "HEAD") && request.body().is_empty()
}

fn preconditions<'r>(request: &Request<'r>) -> Preconditions<'r> {
    Preconditions::of(request.headers().map(|(name, value)| (name.as_bytes(), value.as_bytes())))
}

/// What becomes of conditions by an answer.
fn verdict(preconditions: &Preconditions<'_>, response: &[u8]) -> Verdict {
    let Ok(response) = Response::parse(response) else { return Verdict::Perform };
    let header = |wanted: &[u8]| response.headers().find(|(name, _)| *name == wanted).map(|(_, value)| value);
    let now = Validators { tag: header(b"etag"), last_modified: header(b"last-modified") };
    preconditions.judge(true, Some(now))
}

/// Has prepared transactions of an earlier life of the server marked, before which nothing holds.
pub(super) fn get_ready() {
    if !changes::is_ready() {
        // SAFETY: in a transaction of its own.
        let _ = own_transaction::transaction(Report::Log, || unsafe { changes::adopt() });
    }
}

impl Entry {
    /// Whether whoever asks now is none to find an answer out.
    fn is_left_alone(&self, now: Instant) -> bool {
        match self {
            Entry::Asked(since) => now.saturating_duration_since(*since) < PATIENCE,
            Entry::Unkept(since) => now.saturating_duration_since(*since) < PAUSE,
            Entry::Answer(_) => false,
        }
    }
}

impl Route {
    fn new(caching: Option<&Caching>) -> Route {
        Route {
            inputs: caching.map_or(Vec::new(), |caching| caching.vary.clone()),
            score: Score::default(),
            most: caching.map(|caching| caching.most),
            packs: caching.is_some_and(|caching| caching.packs),
            max_age: caching.and_then(|caching| caching.max_age),
        }
    }

    /// Writes what is asked for: by GET and HEAD alike. False if its query string cannot be read.
    fn write_key(&self, gate: u32, request: &Request<'_>, key: &mut Vec<u8>) -> bool {
        let path = request.raw_path().as_bytes();
        key.clear();
        key.extend_from_slice(&gate.to_le_bytes());
        key.extend_from_slice(&(path.len() as u32).to_le_bytes());
        key.extend_from_slice(path);
        write_inputs(&self.inputs, request, key)
    }

    /// Whether another answer is remembered, of requests that would run in the gateway or not.
    fn pays(&mut self, is_short: bool, now: Instant) -> bool {
        let saving = match self.most {
            _ if is_short => Saving::ShortRun,
            Some(_) => Saving::Answer,
            None => Saving::Run,
        };
        self.score.pays(saving, now)
    }

    /// Notes what answers depend on, beside what was known before.
    fn note(&mut self, inputs: &[ReadInput]) {
        for input in inputs {
            if !self.inputs.contains(input) && self.inputs.len() < MOST_INPUTS {
                self.inputs.push(input.clone());
            }
        }
    }

    /// Whether a key tells all that an answer has read.
    fn knows(&self, inputs: &[ReadInput]) -> bool {
        inputs.iter().all(|input| self.inputs.contains(input))
    }
}

impl Answer {
    /// Whether it is what a run would give now, or may be older.
    fn counts(&self, now: Instant) -> bool {
        // SAFETY: on the main thread, as all of a gateway.
        self.age.is_none_or(|age| age.allows(now)) && unsafe { self.read.holds() }
    }

    /// The answer for a client that has asked so; none if that is not known here. One that is to be packed for the next client is put into `to_pack`.
    fn given(
        &self,
        request: &Request<'_>,
        preconditions: &Preconditions<'_>,
        now: Instant,
        to_pack: &mut Option<ToPack>,
    ) -> Option<Given> {
        match verdict(preconditions, &self.unmodified) {
            Verdict::NotModified => {
                let unmodified = packing::known_as(self.unmodified.clone(), preconditions);
                Some(Given::unmodified(unmodified, self.age, now))
            }
            Verdict::Perform => Some(self.whole.as_ref()?.given(request, self.age, now, to_pack)),
            Verdict::Failed => None,
        }
    }
}

/// Whether an answer may be kept as a whole: it is one, and does not say otherwise.
fn may_be_kept(response: &[u8]) -> bool {
    Response::parse(response).is_ok_and(|response| {
        let forbids = |(name, value): (&[u8], &[u8])| match name {
            b"cache-control" => value.to_ascii_lowercase().windows(8).any(|part| part == b"no-store"),
            // It counts by itself.
            b"age" => true,
            _ => false,
        };
        response.status() == 200 && !response.headers().any(forbids)
    })
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
    let tag = packing::plain_tag(&response)?;
    for (name, value) in response.headers().filter(|(name, _)| conditions::is_of_unmodified(name)) {
        builder.header(name, if name == b"etag" { &tag[..] } else { value }).ok()?;
    }
    Some(builder.finish(&[]))
}
