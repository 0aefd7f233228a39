//! The certificates of this database's listeners, and who may sign their clients': read from the files that settings name, and taken over
//! as they change.
//!
//! Files are looked at by their content, again and again: a change is seen through links, whatever size and time say. A certificate and
//! its key come one after the other; as long as they do not belong together, those that were in force stay in force.
//! A gateway that starts meanwhile has none of before: so none leaves for one that has fewer ([`leaving`](super::leaving)), and
//! `http.replace_gateways` asks [`lost_by_others`] first.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::CString;
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pg::log_line;
use pgrx::guc::GucSetting;
use shared::{settings, ticket_secret};
use tls::authorities::{self, Files, RevocationList};
use tls::places::{self, Found, Place};
use tls::{Authorities, Certificate, Choice, Clients, Configuration, Pair, Protocol, Terms, Tickets};

use super::shown::{Row, Shown};
use crate::listener::ClientRule;
use crate::worker::Worker;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(20);
/// The same, while there are none that are in force, but should be: nobody is served meanwhile.
const LOOK_FOR_ANY: Duration = Duration::from_secs(2);

/// A listener, as far as its configuration depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Asked {
    /// What is spoken.
    pub protocol: Protocol,
    /// What is asked of clients about themselves.
    pub clients: ClientRule,
    /// The port: tickets are for one.
    pub port: u16,
}

/// What is in force.
pub(crate) struct Certificates {
    gateway: usize,
    shown: Shown,
    database: String,
    /// Oid of the database.
    oid: u32,
    /// By the certificates' files.
    known: BTreeMap<PathBuf, Known>,
    choice: Arc<Choice>,
    authorities: Option<Arc<Authorities>>,
    /// Those that listeners have asked for, of what is in force.
    configurations: RefCell<HashMap<Asked, Configuration>>,
    looked: Option<Instant>,
    /// The settings as they were then.
    settings: Settings,
    /// When another certificate becomes valid, or one ends, in seconds of the UNIX clock.
    changes_at: Option<i64>,
    /// What was last said: said once.
    said: BTreeMap<About, String>,
}

/// Values of settings.
#[derive(Clone, Default, PartialEq, Eq)]
struct Settings {
    certificates: String,
    authorities: String,
    lists: String,
    hsts: String,
    strict_host: bool,
}

impl Settings {
    fn now() -> Settings {
        let text = |setting: &GucSetting<Option<CString>>| {
            setting.get().map(|text| text.to_string_lossy().trim().to_owned()).unwrap_or_default()
        };
        Settings {
            certificates: text(&settings::TLS_CERTIFICATES),
            authorities: text(&settings::TLS_CLIENT_AUTHORITIES),
            lists: text(&settings::TLS_REVOCATION_LISTS),
            hsts: text(&settings::HSTS),
            strict_host: settings::TLS_STRICT_HOST.get(),
        }
    }
}

/// What something is said of.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum About {
    /// `howdah.tls_certificates`
    Setting,
    /// A certificate, by its file.
    File(PathBuf),
    /// What clients get that name no host.
    Default,
    /// `howdah.tls_client_authorities` and `howdah.tls_revocation_lists`
    Clients,
}

/// What is said where clients that name no host get no certificate.
const NO_DEFAULT: &str = "no certificate is the default, so that clients which name no host are refused: howdah.tls_certificates names \
    folders of several certificates alone; name one by its file";

struct Known {
    pair: Arc<Pair>,
    key_file: Option<PathBuf>,
    may_be_default: bool,
    /// The place in the setting.
    place: usize,
    /// It was not there when it was looked for last. Whoever removes a file before he writes it anew has no certificate for a moment.
    is_missing: bool,
}

impl Certificates {
    /// Nothing read yet.
    pub(crate) fn new(worker: &Worker) -> Self {
        Self {
            gateway: worker.index,
            database: worker.database().name.get(),
            oid: worker.database_oid.to_u32(),
            shown: Shown::default(),
            known: BTreeMap::new(),
            choice: Arc::default(),
            authorities: None,
            configurations: RefCell::default(),
            looked: None,
            settings: Settings::default(),
            changes_at: None,
            said: BTreeMap::new(),
        }
    }

    /// How many certificates and authorities there are.
    pub(crate) fn in_force(&self) -> u64 {
        let authorities = self.authorities.as_ref().map_or(0, |authorities| authorities.certificates.len());
        (self.known.len() + authorities) as u64
    }

    /// How a listener speaks TLS.
    ///
    /// # Errors
    ///
    /// Why it cannot.
    pub(crate) fn configuration(&self, asked: Asked) -> Result<Configuration, String> {
        let clients = self.clients(asked.clients)?;
        if self.choice.is_empty() {
            let reason = self.said.iter().find(|(about, _)| **about != About::Clients);
            return Err(match reason {
                Some((_, reason)) => format!("there is no certificate: {reason}"),
                None => "howdah.tls_certificates names no certificate for this database".into(),
            });
        }
        if let Some(made) = self.configurations.borrow().get(&asked) {
            return Ok(made.clone());
        }
        let terms = self.terms(asked, clients);
        let made = tls::configuration(terms, Arc::clone(&self.choice)).map_err(|error| error.to_string())?;
        self.configurations.borrow_mut().insert(asked, made.clone());
        Ok(made)
    }

    fn clients(&self, rule: ClientRule) -> Result<Clients, String> {
        match (rule, &self.authorities, self.said.get(&About::Clients)) {
            (ClientRule::Off, ..) => Ok(Clients::Anybody),
            (ClientRule::Ask, Some(authorities), _) => Ok(Clients::Asked(Arc::clone(authorities))),
            (ClientRule::Require, Some(authorities), _) => Ok(Clients::Certified(Arc::clone(authorities))),
            (_, None, Some(reason)) => Err(reason.clone()),
            (_, None, None) => Err("howdah.tls_client_authorities names nobody for this database".into()),
        }
    }

    fn terms(&self, asked: Asked, clients: Clients) -> Terms {
        let label = format!("{:?} on port {} of database {}", asked.protocol, asked.port, self.oid);
        let hsts = &self.settings.hsts;
        Terms {
            clients,
            strict_host: self.settings.strict_host,
            hsts: (!hsts.is_empty() && is_header(hsts)).then(|| Arc::from(hsts.as_str())),
            tickets: Some(Tickets::new(ticket_secret, label)),
            ..Terms::new(asked.protocol)
        }
    }

    /// Where a request in clear text is sent, as [`Choice::https_of`] says.
    pub(crate) fn https_of(&self, authority: &str, path: &str, query: &str, port: u16) -> Option<String> {
        self.choice.https_of(authority, path, query, port)
    }

    /// Looks at the files, if that is due or the settings may have changed. True if something else is in force now.
    pub(crate) fn look(&mut self, settings_changed: bool) -> bool {
        let lacks_all =
            self.known.is_empty() && self.said.keys().any(|about| matches!(about, About::File(_)));
        let pause = if lacks_all { LOOK_FOR_ANY } else { LOOK };
        let is_due = settings_changed || self.looked.is_none_or(|looked| looked.elapsed() > pause);
        if !is_due {
            return false;
        }
        self.looked = Some(Instant::now());
        let now = Settings::now();
        let before = mem::replace(&mut self.settings, now);
        let mut is_other =
            (&before.hsts, before.strict_host) != (&self.settings.hsts, self.settings.strict_host);
        if is_other && !is_header(&self.settings.hsts) {
            log_line::warning!("howdah.hsts has a character that no header may have, and is not sent");
        }
        is_other |= self.look_at_authorities(&before);
        is_other |= match places::parse(&self.settings.certificates) {
            Ok(places) => {
                self.said.remove(&About::Setting);
                self.take(&places, before.certificates != self.settings.certificates)
            }
            Err(reason) => {
                self.say(About::Setting, format!("howdah.tls_certificates: {reason}"));
                false
            }
        };
        if is_other {
            self.configurations.get_mut().clear();
        }
        self.show();
        is_other
    }

    /// Writes down what `http.certificates` shows.
    fn show(&mut self) {
        let default = self.choice.default_pair();
        let problem = |about: &About| self.said.get(about).cloned();
        let mut rows: Vec<Row> = Vec::new();
        for (file, known) in &self.known {
            let leaf = &known.pair.leaf;
            let addresses = leaf.addresses.iter().map(ToString::to_string);
            rows.push(Row {
                kind: "certificate",
                file: file.display().to_string(),
                key_file: known.key_file.as_ref().map(|file| file.display().to_string()),
                names: leaf.names.iter().cloned().chain(addresses).collect(),
                issuer: Some(leaf.issuer.clone()),
                key: Some(leaf.key.to_string()),
                not_before: Some(leaf.not_before),
                not_after: Some(leaf.not_after),
                is_default: default.is_some_and(|default| Arc::ptr_eq(default, &known.pair)),
                in_force: true,
                problem: problem(&About::File(file.clone())),
            });
        }
        for (about, problem) in &self.said {
            let (kind, file) = match about {
                About::File(file) if self.known.contains_key(file) => continue,
                About::File(file) => ("certificate", file.display().to_string()),
                About::Setting | About::Default => ("setting", self.settings.certificates.clone()),
                About::Clients if self.authorities.is_some() => continue,
                About::Clients => ("setting", self.settings.authorities.clone()),
            };
            rows.push(Row { kind, file, problem: Some(problem.clone()), ..Row::default() });
        }
        if let Some(authorities) = &self.authorities {
            rows.extend(rows_of(authorities, problem(&About::Clients)));
        }
        self.shown.publish(self.gateway, &rows);
    }

    /// What another setting no longer names goes at once; what cannot be read stays as it was.
    fn look_at_authorities(&mut self, before: &Settings) -> bool {
        let is_named_anew =
            (&before.authorities, &before.lists) != (&self.settings.authorities, &self.settings.lists);
        let paths = |setting: &str| authorities::files(setting, &self.database);
        let files = paths(&self.settings.authorities)
            .and_then(|authorities| Files::read(&authorities, &paths(&self.settings.lists)?));
        let before = self.authorities.take();
        let read = files.and_then(|files| match &before {
            _ if files.authorities.is_empty() => Ok(None),
            Some(before) if before.digest == files.digest() => Ok(Some(Arc::clone(before))),
            _ => Authorities::load(&files).map(|read| Some(Arc::new(read))),
        });
        match read {
            Ok(read) => {
                let complaints =
                    read.as_ref().map(|read| read.warnings_at(now()).join(" ")).unwrap_or_default();
                match complaints.is_empty() {
                    true => drop(self.said.remove(&About::Clients)),
                    false => self.say(About::Clients, complaints),
                }
                let digest = |authorities: &Arc<Authorities>| authorities.digest;
                let is_other = before.as_ref().map(digest) != read.as_ref().map(digest);
                self.authorities = read;
                is_other
            }
            Err(reason) => {
                self.authorities = before.filter(|_| !is_named_anew);
                let stays = if self.authorities.is_some() { "; those before stay in force" } else { "" };
                self.say(About::Clients, format!("howdah.tls_client_authorities: {reason}{stays}"));
                is_named_anew
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
        self.said.retain(|about, _| match about {
            About::File(path) => is_there(path),
            _ => true,
        });
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
        let Found { certificate_file, key_file, may_be_default, files } = found;
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
                    true => drop(self.said.remove(&About::File(certificate_file.clone()))),
                    false => self.say(About::File(certificate_file.clone()), complaint),
                }
                let new = Known { pair, key_file, may_be_default, place, is_missing: false };
                let is_same = self.known.get(&certificate_file).is_some_and(|known| known.is_as(&new));
                self.known.insert(certificate_file, new);
                !is_same
            }
            Err(reason) => {
                let stays = if known.is_some() { "; the one before stays in force" } else { "" };
                self.say(About::File(certificate_file), format!("{reason}{stays}"));
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
        if self.choice.is_empty() || self.choice.default_pair().is_some() {
            self.said.remove(&About::Default);
        } else {
            self.say(About::Default, NO_DEFAULT.into());
        }
    }

    fn say(&mut self, about: About, text: String) {
        if self.said.get(&about) != Some(&text) {
            match &about {
                About::File(path) => log_line::warning!("the certificate {}: {text}", path.display()),
                About::Setting | About::Default | About::Clients => log_line::warning!("{text}"),
            }
            self.said.insert(about, text);
        }
    }
}

/// Why another gateway of this database would lack a certificate or an authority that one of these files holds, all of which are in force; none
/// if it would not.
pub fn lost_by_others(database: &str, in_force: &[(String, String)]) -> Option<String> {
    let settings = Settings::now();
    let of_kind = |wanted: &'static str| {
        in_force.iter().filter(move |(kind, _)| kind == wanted).map(|(_, file)| PathBuf::from(file))
    };
    let certificates = || {
        let places = match places::parse(&settings.certificates) {
            Ok(places) => places,
            Err(reason) => return Some(format!("howdah.tls_certificates: {reason}")),
        };
        // SAFETY: a plain call.
        let server = unsafe { libc::geteuid() };
        places::read(&places, database, server).into_iter().find_map(|(_, found)| {
            let file = found.certificate_file;
            // A folder that cannot be read holds files that were.
            let is_in_force = of_kind("certificate").any(|known| known.starts_with(&file));
            let read = found.files.and_then(|(certificates, key)| Pair::load(&certificates, key.as_deref()));
            read.err()
                .filter(|_| is_in_force)
                .map(|reason| format!("the certificate {}: {reason}", file.display()))
        })
    };
    let authorities = || {
        let paths = |setting: &str| authorities::files(setting, database);
        let files =
            paths(&settings.authorities).and_then(|files| Files::read(&files, &paths(&settings.lists)?));
        let read = files.and_then(|files| match files.authorities.is_empty() {
            true => Ok(()),
            false => Authorities::load(&files).map(drop),
        });
        read.err().map(|reason| format!("howdah.tls_client_authorities: {reason}"))
    };
    let has = |kind| of_kind(kind).next().is_some();
    let lost = has("certificate").then(certificates).flatten();
    lost.or_else(|| has("authority").then(authorities).flatten())
}

impl Known {
    fn is_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.pair, &other.pair)
            && self.may_be_default == other.may_be_default
            && self.place == other.place
    }
}

/// Whether a text can be a header's value.
fn is_header(text: &str) -> bool {
    text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
}

/// What is wrong with any of them stands in each row.
fn rows_of(authorities: &Authorities, problem: Option<String>) -> Vec<Row> {
    let of_authority = |(file, authority): &(String, Certificate)| Row {
        kind: "authority",
        file: file.clone(),
        names: vec![authority.subject.clone()],
        issuer: Some(authority.issuer.clone()),
        key: Some(authority.key.to_string()),
        not_before: Some(authority.not_before),
        not_after: Some(authority.not_after),
        in_force: true,
        problem: problem.clone(),
        ..Row::default()
    };
    let of_list = |list: &RevocationList| Row {
        kind: "revocation list",
        file: list.file.clone(),
        issuer: Some(list.issuer.clone()),
        not_after: list.next_update,
        in_force: true,
        problem: problem.clone(),
        ..Row::default()
    };
    authorities.certificates.iter().map(of_authority).chain(authorities.lists.iter().map(of_list)).collect()
}

/// Seconds of the UNIX clock.
fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}
