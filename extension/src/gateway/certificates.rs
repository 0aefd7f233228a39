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
    /// For HTTP and for lines; none without a certificate.
    configurations: Option<[Configuration; 2]>,
    looked: Option<Instant>,
    /// What was last said of each file, and of the setting, by an empty path: said once.
    said: BTreeMap<PathBuf, String>,
}

struct Known {
    pair: Arc<Pair>,
    may_be_default: bool,
    /// The place in the setting.
    place: usize,
}

impl Certificates {
    /// Nothing read yet.
    pub fn new(database: String) -> Self {
        Self { database, known: BTreeMap::new(), configurations: None, looked: None, said: BTreeMap::new() }
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

    /// Looks at the files, if that is due or the settings may have changed. True if something else is in force now.
    pub fn look(&mut self, settings_changed: bool) -> bool {
        let is_due = settings_changed || self.looked.is_none_or(|looked| looked.elapsed() > LOOK);
        if !is_due {
            return false;
        }
        self.looked = Some(Instant::now());
        let setting = settings::TLS_CERTIFICATES.get().map(|text| text.to_string_lossy().into_owned());
        match places::parse(&setting.unwrap_or_default()) {
            Ok(places) => {
                self.said.remove(&PathBuf::new());
                self.take(&places)
            }
            Err(reason) => {
                self.say(PathBuf::new(), format!("howdah.tls_certificates: {reason}"));
                false
            }
        }
    }

    fn take(&mut self, places: &[Place]) -> bool {
        // SAFETY: a plain call.
        let server = unsafe { libc::geteuid() };
        let ours = places.iter().enumerate().filter(|(_, place)| place.is_for(&self.database));
        let found: Vec<_> = ours
            .flat_map(|(number, place)| place.read(server).into_iter().map(move |found| (number, found)))
            .collect();
        let is_there = |path: &PathBuf| found.iter().any(|(_, found)| found.certificate == *path);
        let before = self.known.len();
        self.known.retain(|path, _| is_there(path));
        self.said.retain(|path, _| {
            path.as_os_str().is_empty() || found.iter().any(|(_, found)| found.certificate == *path)
        });
        let mut is_new = self.known.len() != before;
        for (place, found) in found {
            is_new |= self.take_one(place, found);
        }
        if is_new {
            self.put_in_force();
        }
        is_new
    }

    fn take_one(&mut self, place: usize, found: Found) -> bool {
        let Found { certificate, may_be_default, files, .. } = found;
        let known = self.known.get(&certificate);
        let read = files.and_then(|files| {
            let digest = Pair::digest_of(&files.certificates, files.key.as_deref());
            match known.filter(|known| known.pair.digest == digest) {
                Some(known) => Ok(Arc::clone(&known.pair)),
                None => Pair::read(&files.certificates, files.key.as_deref()).map(Arc::new),
            }
        });
        match read {
            Ok(pair) => {
                let trouble = pair.trouble_at(now());
                let complaint = pair.warnings.iter().cloned().chain(trouble).collect::<Vec<_>>().join("; ");
                match complaint.is_empty() {
                    true => drop(self.said.remove(&certificate)),
                    false => self.say(certificate.clone(), complaint),
                }
                let is_same = known_is(self.known.get(&certificate), &pair, may_be_default, place);
                self.known.insert(certificate, Known { pair, may_be_default, place });
                !is_same
            }
            Err(reason) => {
                let stays = if known.is_some() { "; the one before stays in force" } else { "" };
                self.say(certificate, format!("{reason}{stays}"));
                false
            }
        }
    }

    fn put_in_force(&mut self) {
        let mut pairs: Vec<_> = self.known.values().collect();
        pairs.sort_by_key(|known| known.place);
        let pairs: Vec<_> =
            pairs.iter().map(|known| (Arc::clone(&known.pair), known.may_be_default)).collect();
        let choice = Arc::new(Choice::new(&pairs, now()));
        let make = |terms| tls::configuration(terms, Arc::clone(&choice));
        self.configurations = match (make(Terms::Http), make(Terms::Lines)) {
            _ if choice.is_empty() => None,
            (Ok(http), Ok(lines)) => Some([http, lines]),
            (Err(error), _) | (_, Err(error)) => {
                self.say(PathBuf::new(), format!("howdah.tls_certificates: {error}"));
                None
            }
        };
        let names = pairs
            .iter()
            .flat_map(|(pair, _)| &pair.leaf.names)
            .take(20)
            .cloned()
            .collect::<Vec<_>>()
            .join(", ");
        log_line::log!("howdah has {} certificates in force, for {names}", pairs.len());
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

fn known_is(known: Option<&Known>, pair: &Arc<Pair>, may_be_default: bool, place: usize) -> bool {
    known.is_some_and(|known| {
        Arc::ptr_eq(&known.pair, pair) && known.may_be_default == may_be_default && known.place == place
    })
}

/// Seconds of the UNIX clock.
fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}
