//! The certificates of this database's listeners: read from the files that `howdah.tls_certificates` names, and taken over as they change.
//!
//! Files are looked at by their content, again and again: a change is seen through links, whatever size and time say. A certificate and
//! its key come one after the other; as long as they do not belong together, those that were in force stay in force.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tls::places::{self, Found, Place};
use tls::{Choice, Configuration, Pair, Terms};

use crate::{log_line, settings};

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(20);

/// What is in force.
pub struct Certificates {
    database: String,
    /// By the certificates' files.
    known: BTreeMap<PathBuf, Known>,
    choice: Arc<Choice>,
    /// For HTTP and for lines; none without a certificate.
    configurations: Option<[Configuration; 2]>,
    looked: Option<Instant>,
    /// The setting as it was then.
    setting: String,
    /// When another certificate becomes valid, or one ends, in seconds of the UNIX clock.
    changes_at: Option<i64>,
    /// What was last said of each file, and of the setting, by an empty path: said once.
    said: BTreeMap<PathBuf, String>,
}

struct Known {
    pair: Arc<Pair>,
    may_be_default: bool,
    /// The place in the setting.
    place: usize,
    /// It was not there when it was looked for last. Whoever removes a file before he writes it anew has no certificate for a moment.
    is_missing: bool,
}

impl Certificates {
    /// Nothing read yet.
    pub fn new(database: String) -> Self {
        Self {
            database,
            known: BTreeMap::new(),
            choice: Arc::default(),
            configurations: None,
            looked: None,
            setting: String::new(),
            changes_at: None,
            said: BTreeMap::new(),
        }
    }

    /// How a listener speaks TLS.
    ///
    /// # Errors
    ///
    /// Why it cannot.
    pub fn configuration(&self, terms: Terms) -> Result<&Configuration, String> {
        match (&self.configurations, self.said.values().next()) {
            (Some([http, lines]), _) => Ok(if terms == Terms::Http { http } else { lines }),
            (None, Some(reason)) => Err(format!("there is no certificate: {reason}")),
            (None, None) => Err("howdah.tls_certificates names no certificate for this database".into()),
        }
    }

    /// Where a request in clear text is sent, as [`Choice::https_of`] says.
    pub fn https_of(&self, authority: &str, path: &str, query: &str, port: u16) -> Option<String> {
        self.choice.https_of(authority, path, query, port)
    }

    /// Looks at the files, if that is due or the settings may have changed. True if something else is in force now.
    pub fn look(&mut self, settings_changed: bool) -> bool {
        let is_due = settings_changed || self.looked.is_none_or(|looked| looked.elapsed() > LOOK);
        if !is_due {
            return false;
        }
        self.looked = Some(Instant::now());
        let setting = settings::TLS_CERTIFICATES.get().map(|text| text.to_string_lossy().into_owned());
        let setting = setting.unwrap_or_default();
        match places::parse(&setting) {
            Ok(places) => {
                self.said.remove(&PathBuf::new());
                let is_other = std::mem::replace(&mut self.setting, setting) != self.setting;
                self.take(&places, is_other)
            }
            Err(reason) => {
                self.say(PathBuf::new(), format!("howdah.tls_certificates: {reason}"));
                false
            }
        }
    }

    /// What another setting no longer names goes at once.
    fn take(&mut self, places: &[Place], is_other: bool) -> bool {
        // SAFETY: a plain call.
        let server = unsafe { libc::geteuid() };
        let found = places::read(places, &self.database, server);
        let is_there = |path: &PathBuf| found.iter().any(|(_, found)| found.certificate_file == *path);
        // Nobody knows what is in a folder that cannot be read, so what was in it stays, as a file does that cannot be read.
        let is_hidden = |path: &PathBuf| {
            found.iter().any(|(_, found)| found.files.is_err() && path.starts_with(&found.certificate_file))
        };
        let before = self.known.len();
        self.known.retain(|path, known| {
            let stays = is_hidden(path) || !std::mem::replace(&mut known.is_missing, true);
            is_there(path) || !is_other && stays
        });
        self.said.retain(|path, _| path.as_os_str().is_empty() || is_there(path));
        let mut is_new = self.known.len() != before || self.changes_at.is_some_and(|at| at <= now());
        for (place, found) in found {
            is_new |= self.take_one(place, found);
        }
        if is_new {
            self.put_in_force();
        }
        is_new
    }

    fn take_one(&mut self, place: usize, found: Found) -> bool {
        let Found { certificate_file, may_be_default, files, .. } = found;
        let known = self.known.get(&certificate_file);
        let read = files.and_then(|(certificates, key)| {
            let digest = Pair::digest_of(&certificates, key.as_deref());
            match known.filter(|known| known.pair.digest == digest) {
                Some(known) => Ok(Arc::clone(&known.pair)),
                None => Pair::load(&certificates, key.as_deref()).map(Arc::new),
            }
        });
        match read {
            Ok(pair) => {
                let complaint = pair.warnings_at(now()).join(" ");
                match complaint.is_empty() {
                    true => drop(self.said.remove(&certificate_file)),
                    false => self.say(certificate_file.clone(), complaint),
                }
                let new = Known { pair, may_be_default, place, is_missing: false };
                let is_same = self.known.get(&certificate_file).is_some_and(|known| known.is_as(&new));
                self.known.insert(certificate_file, new);
                !is_same
            }
            Err(reason) => {
                let stays = if known.is_some() { "; the one before stays in force" } else { "" };
                self.say(certificate_file, format!("{reason}{stays}"));
                false
            }
        }
    }

    fn put_in_force(&mut self) {
        let mut pairs: Vec<_> = self.known.values().collect();
        pairs.sort_by_key(|known| known.place);
        let pairs: Vec<_> =
            pairs.iter().map(|known| (Arc::clone(&known.pair), known.may_be_default)).collect();
        let names = pairs
            .iter()
            .flat_map(|(pair, _)| &pair.leaf.names)
            .take(20)
            .cloned()
            .collect::<Vec<_>>()
            .join(", ");
        log_line::log!("howdah has {} certificates in force, for {names}", pairs.len());
        self.choice = Arc::new(Choice::new(pairs, now()));
        self.changes_at = self.choice.changes_at();
        let make = |terms| tls::configuration(terms, Arc::clone(&self.choice));
        self.configurations = match (make(Terms::Http), make(Terms::Lines)) {
            _ if self.choice.is_empty() => None,
            (Ok(http), Ok(lines)) => Some([http, lines]),
            (Err(error), _) | (_, Err(error)) => {
                self.say(PathBuf::new(), format!("howdah.tls_certificates: {error}"));
                None
            }
        };
    }

    fn say(&mut self, about: PathBuf, text: String) {
        if self.said.get(&about) != Some(&text) {
            match about.as_os_str().is_empty() {
                true => log_line::warning!("{text}"),
                false => log_line::warning!("the certificate {}: {text}", about.display()),
            }
            self.said.insert(about, text);
        }
    }
}

impl Known {
    fn is_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.pair, &other.pair)
            && self.may_be_default == other.may_be_default
            && self.place == other.place
    }
}

/// Seconds of the UNIX clock.
fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}
