//! The listeners: what the tables say, within what `howdah.listen_addresses` allows, bound in this process.

use std::collections::{HashMap, HashSet};
use std::os::fd::RawFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::gateway::{Listener as Bind, Server, Sharing, Terms};
use addresses::{Address, Names, Wake, expand, name, split};
use pg::log_line;
use registry::Refused;
use shared::{settings, shared, wake};
use tls::{Configuration, Protocol};

use super::certificates::{Asked, Certificates};
use crate::intake::Intake;
use crate::listener::{ClientRule, Listener};
use crate::worker::Worker;

/// What this gateway listens on.
pub(crate) struct Listeners {
    gateway: usize,
    /// Oid of its database.
    database: u32,
    bound: HashMap<String, Bound>,
    /// The ports of listeners for lines, by the listener's number; those that are closing included.
    ports: HashMap<u32, u16>,
    /// Those for HTTP that listen no more, and until when their requests may finish.
    ending: Vec<(u32, Instant)>,
    next_id: u32,
    /// The numbers of those that send clients to https, and of such that were there before.
    redirecting: HashSet<u32>,
    failed: Option<Instant>,
    /// When this gateway last let an address go. For a moment this may stand in the way of others of the same port: its socket
    /// is closed in the next turn, and those of the other gateways of this database in theirs.
    let_go: Option<Instant>,
    /// What was last said of each address that could not be bound: said once.
    complaints: HashMap<String, String>,
    names: Names,
}

/// An address that is listened on.
struct Bound {
    id: u32,
    /// If it takes lines.
    terms: Option<Terms>,
    /// If it speaks TLS.
    tls: Option<Configuration>,
}

/// An address that is to be listened on.
struct Wanted {
    address: Address,
    name: String,
    port: u16,
    terms: Option<Terms>,
    /// Whether it speaks TLS.
    tls: bool,
    /// What it asks of clients about themselves.
    clients: ClientRule,
    /// Whether it sends clients to https.
    redirects: bool,
    /// Of the listeners that want it, the addresses that the user has given.
    listeners: Vec<String>,
}

impl Wanted {
    /// How it speaks TLS, if it does; the error is why it cannot.
    fn configuration(&self, certificates: &Certificates) -> Result<Option<Configuration>, String> {
        if !self.tls {
            return Ok(None);
        }
        let protocol = if self.terms.is_some() { Protocol::Lines } else { Protocol::Http };
        certificates.configuration(Asked { protocol, clients: self.clients, port: self.port }).map(Some)
    }
}

impl Bound {
    /// Takes over what has changed, for connections to come.
    fn follow(&mut self, wanted: &Wanted, certificates: &Certificates, server: &mut Server) {
        if self.terms != wanted.terms {
            if let Some(terms) = &wanted.terms {
                server.set_terms(self.id, terms);
            }
            self.terms = wanted.terms.clone();
        }
        if let Ok(Some(tls)) = wanted.configuration(certificates)
            && self.tls.as_ref() != Some(&tls)
        {
            server.set_tls(self.id, &tls);
            self.tls = Some(tls);
        }
    }
}

/// A host name that means nothing.
struct Unresolved {
    /// With the port.
    name: String,
    reason: String,
    /// As of [`Wanted`].
    listeners: Vec<String>,
}

/// What the tables ask for, and what of it means nothing. Where both doors ask for the same address, HTTP has it.
fn wanted(http: &[Listener], intakes: &[Rc<Intake>], names: &mut Names) -> (Vec<Wanted>, Vec<Unresolved>) {
    let http = http.iter().map(|listener| (listener, None));
    let intakes = intakes.iter().map(|intake| (&intake.listener, Some(intake.terms())));
    let (mut wanted, mut unresolved): (Vec<Wanted>, Vec<Unresolved>) = (Vec::new(), Vec::new());
    let allowed = settings::list(&settings::LISTEN_ADDRESSES);
    names.begin(&allowed);
    for (listener, terms) in http.chain(intakes) {
        let given = &listener.address;
        let (addresses, failures) = expand(given, listener.port, &allowed, names);
        for (name, reason) in failures {
            let name = format!("{name}:{}", listener.port);
            match unresolved.iter_mut().find(|other| other.name == name) {
                None => unresolved.push(Unresolved { name, reason, listeners: vec![given.clone()] }),
                Some(other) => other.listeners.push(given.clone()),
            }
        }
        for address in addresses {
            let name = name(&address);
            let given = given.clone();
            let tls = listener.tls && matches!(address, Address::Tcp(_));
            match wanted.iter_mut().find(|other| other.name == name) {
                None => wanted.push(Wanted {
                    address,
                    name,
                    port: listener.port,
                    terms: terms.clone(),
                    tls,
                    clients: listener.clients,
                    redirects: listener.redirects,
                    listeners: vec![given],
                }),
                // Of two that want it in different ways, the one that wants it encrypted has its way.
                Some(other) if other.terms.is_some() == terms.is_some() => {
                    other.listeners.push(given);
                    other.tls |= tls;
                    other.redirects |= listener.redirects;
                    other.clients = other.clients.max(listener.clients);
                }
                Some(_) => {}
            }
        }
    }
    names.end();
    (wanted, unresolved)
}

/// Wakes a gateway by its descriptor, which stays open as long as the process lives.
fn waking(fd: RawFd) -> Wake {
    Arc::new(move || wake::notify(fd))
}

/// How soon an address that could not be bound is tried again.
const RETRY: Duration = Duration::from_secs(1);

impl Listeners {
    /// Nothing bound yet.
    pub(crate) fn new(worker: &Worker) -> Self {
        Listeners {
            gateway: worker.index,
            database: worker.database_oid.to_u32(),
            bound: HashMap::new(),
            ports: HashMap::new(),
            ending: Vec::new(),
            next_id: 1,
            redirecting: HashSet::new(),
            failed: None,
            let_go: None,
            complaints: HashMap::new(),
            names: Names::asked_for(addresses::look_up, waking(worker.wake_fd())),
        }
    }

    /// Whether something could not be bound or resolved, and should be tried again.
    pub(crate) fn should_retry(&mut self) -> bool {
        self.failed.is_some_and(|failed| failed.elapsed() > RETRY || self.can_take_over())
            || self.retry_soon()
            || self.names.have_news()
    }

    /// Whether something could not be bound that may be free in the next turn.
    pub(crate) fn retry_soon(&self) -> bool {
        self.failed.is_some() && self.has_just_let_go()
    }

    fn has_just_let_go(&self) -> bool {
        self.let_go.is_some_and(|let_go| let_go.elapsed() < RETRY)
    }

    /// Whether a UNIX socket that could not be bound is that of a gateway that leaves.
    fn can_take_over(&self) -> bool {
        self.complaints.keys().any(|name| name.starts_with('/') && self.is_given_up(name))
    }

    /// Whether gateways of this database have an address, and all of them leave.
    fn is_given_up(&self, name: &str) -> bool {
        let (address, port) = split(name);
        let mut holders = shared().ports.others(address, port, self.database, self.gateway).peekable();
        holders.peek().is_some() && holders.all(|gateway| shared().workers[gateway].asked_to_leave())
    }

    /// Whether TLS is spoken at any of its addresses.
    pub(crate) fn speak_tls(&self) -> bool {
        self.bound.values().any(|bound| bound.tls.is_some())
    }

    /// Whether the path of a UNIX socket still leads to this gateway.
    pub(crate) fn have_paths(&self, server: &Server) -> bool {
        self.bound.iter().any(|(name, bound)| name.starts_with('/') && server.has_path(bound.id))
    }

    /// Cuts off what has not finished within howdah.drain_timeout after its listener was removed.
    pub(crate) fn end_the_late(&mut self, server: &mut Server) {
        let now = Instant::now();
        self.ending.retain(|(id, until)| {
            let late = *until <= now;
            if late {
                server.abort_unlistened(*id);
            }
            !late
        });
    }

    /// The port of a listener for lines.
    pub(crate) fn port(&self, id: u32) -> Option<u16> {
        self.ports.get(&id).copied()
    }

    /// Whether what comes by a listener is sent to https.
    pub(crate) fn redirects(&self, id: u32) -> bool {
        !self.redirecting.is_empty() && self.redirecting.contains(&id)
    }

    /// Binds what is new, lets go of what is gone, whose running requests and lines finish, and changes the terms of the rest.
    pub(crate) fn follow(
        &mut self,
        http: &[Listener],
        intakes: &[Rc<Intake>],
        certificates: &Certificates,
        server: &mut Server,
    ) {
        self.failed = None;
        let (wanted, unresolved) = wanted(http, intakes, &mut self.names);
        // Who is to speak TLS and cannot listens no more: nothing goes in clear text.
        let is_wanted = |name: &String, bound: &Bound| {
            wanted.iter().any(|wanted| {
                wanted.name == *name
                    && wanted.terms.is_some() == bound.terms.is_some()
                    && wanted.tls == bound.tls.is_some()
                    && !(wanted.tls && wanted.configuration(certificates).is_err())
            })
        };
        let gone = self.bound.iter().filter(|(name, bound)| !is_wanted(name, bound));
        for name in gone.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            self.let_go(&name, server);
        }
        self.forget_complaints(&wanted, &unresolved);
        for Unresolved { name, reason, listeners } in unresolved {
            let (address, port) = (name.clone(), split(&name).1);
            self.complain(name, reason);
            shared().ports.attribute(split(&address).0, port, self.gateway, &listeners);
        }
        for wanted in wanted {
            let (name, listeners, redirects) =
                (wanted.name.clone(), wanted.listeners.clone(), wanted.redirects && !wanted.tls);
            match self.bound.get_mut(&name) {
                None => match wanted.configuration(certificates) {
                    Ok(tls) => self.bind(wanted, tls, server),
                    Err(reason) => {
                        self.failed = Some(Instant::now());
                        self.complain(name.clone(), reason);
                    }
                },
                Some(bound) => bound.follow(&wanted, certificates, server),
            }
            match self.bound.get(&name) {
                Some(bound) if redirects => drop(self.redirecting.insert(bound.id)),
                Some(bound) => drop(self.redirecting.remove(&bound.id)),
                None => {}
            }
            let (address, port) = split(&name);
            shared().ports.attribute(address, port, self.gateway, &listeners);
        }
    }

    /// What nobody wants any more is nobody's error.
    fn forget_complaints(&mut self, wanted: &[Wanted], unresolved: &[Unresolved]) {
        let gateway = self.gateway;
        self.complaints.retain(|name, _| {
            let is_wanted = wanted.iter().any(|wanted| wanted.name == *name)
                || unresolved.iter().any(|unresolved| unresolved.name == *name);
            if !is_wanted {
                let (address, port) = split(name);
                shared().ports.forget_complaint(address, port, gateway);
            }
            is_wanted
        });
    }

    fn let_go(&mut self, name: &str, server: &mut Server) {
        if let Some(bound) = self.bound.remove(name) {
            self.let_go = Some(Instant::now());
            server.unlisten(bound.id);
            // Lines that a plain connection has sent are nowhere else: they wait for as long as this process lives.
            if bound.terms.is_none() {
                let time = Duration::from_millis(settings::DRAIN_TIMEOUT.get() as u64);
                self.ending.push((bound.id, Instant::now() + time));
            }
        }
        let (address, port) = split(name);
        shared().ports.release(address, port, self.gateway);
    }

    fn bind(&mut self, wanted: Wanted, tls: Option<Configuration>, server: &mut Server) {
        let Wanted { address, name, port: number, terms, .. } = wanted;
        let (text, port) = split(&name);
        let ports = &shared().ports;
        // Gateways share a port; a path has one of them, until it leaves.
        let joining = match &address {
            Address::Tcp(_) => ports.others(text, port, self.database, self.gateway).next().is_some(),
            Address::Unix(_) => self.is_given_up(&name),
        };
        let result = match ports.claim(text, port, self.database, self.gateway) {
            Err(Refused::Taken(other)) => Err(format!("the database with oid {other} has it")),
            Err(Refused::Full) => Err("too many addresses; raise howdah.max_workers".into()),
            Ok(()) => {
                let sharing = if joining { Sharing::Joining } else { Sharing::First };
                let listener = Bind {
                    sharing,
                    lines: terms.clone(),
                    tls: tls.clone(),
                    ..Bind::new(self.next_id, address)
                };
                server.listen(&listener).map_err(|error| {
                    ports.release(text, port, self.gateway);
                    error.to_string()
                })
            }
            .map(|_| ()),
        };
        match result {
            Ok(()) => {
                log_line::log!("howdah listens on {name}");
                self.complaints.remove(&name);
                ports.forget_complaint(text, port, self.gateway);
                if terms.is_some() {
                    self.ports.insert(self.next_id, number);
                }
                self.bound.insert(name, Bound { id: self.next_id, terms, tls });
                self.next_id += 1;
            }
            Err(reason) => {
                self.failed = Some(Instant::now());
                // Until then it may be this gateway's own.
                if !self.has_just_let_go() {
                    self.complain(name, reason);
                }
            }
        }
    }

    fn complain(&mut self, name: String, reason: String) {
        let (address, port) = split(&name);
        shared().ports.complain(address, port, self.database, self.gateway, &reason);
        if self.complaints.get(&name) != Some(&reason) {
            log_line::log!("howdah cannot listen on {name}: {reason}; it tries again");
            self.complaints.insert(name, reason);
        }
    }
}
