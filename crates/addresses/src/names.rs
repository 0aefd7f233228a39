//! What host names mean. Asking may take seconds, so whoever must not wait has a thread ask and goes on meanwhile. An answer is kept
//! for as long as its name is used and what is allowed stays as it is.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Asks what a name means: its addresses, or why there are none. It may take its time, on a thread of its own.
pub type Resolver = fn(&str) -> Result<Vec<IpAddr>, String>;

/// Called, on any thread, when an answer has come.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// The names that are used.
pub struct Names {
    resolver: Resolver,
    known: HashMap<String, Known>,
    /// The setting for which they were asked.
    setting: Vec<String>,
    /// Whom to wake when an answer has come; without anybody it is waited for.
    wake: Option<Wake>,
}

/// What a name means, or why that is not known; none before the first answer.
type Meaning = Option<Result<Vec<IpAddr>, String>>;

struct Known {
    meaning: Meaning,
    /// When it was found to mean nothing.
    failed: Option<Instant>,
    /// Where the answer will come.
    asked: Option<Receiver<Result<Vec<IpAddr>, String>>>,
    /// The setting has changed since: it is asked for again, and means what it meant until the answer has come.
    is_stale: bool,
    is_used: bool,
}

/// How soon a name is asked for again that could not be resolved.
const AGAIN: Duration = Duration::from_secs(60);

impl Names {
    /// Names that are waited for.
    pub fn waited_for(resolver: Resolver) -> Names {
        Names { resolver, known: HashMap::new(), setting: Vec::new(), wake: None }
    }

    /// Names that a thread asks for, and then wakes somebody.
    pub fn asked_for(resolver: Resolver, wake: Wake) -> Names {
        Names { wake: Some(wake), ..Names::waited_for(resolver) }
    }

    /// A look at the configuration begins.
    pub fn begin(&mut self, setting: &[String]) {
        if self.setting != setting {
            self.setting = setting.to_vec();
            self.known.values_mut().for_each(|known| known.is_stale = true);
        }
        self.known.values_mut().for_each(|known| known.is_used = false);
    }

    /// It is over: names that were not asked for are forgotten.
    pub fn end(&mut self) {
        self.known.retain(|_, known| known.is_used);
    }

    /// Takes the answers that have come. Whether there are any, or a name should be asked for once more.
    pub fn have_news(&mut self) -> bool {
        let news: Vec<bool> = self.known.values_mut().map(Known::take_answer).collect();
        news.contains(&true) || self.known.values().any(Known::should_be_asked_again)
    }

    /// The addresses of a name that this machine can have, or why there are none; none as long as that is being found out.
    pub fn resolve(&mut self, name: &str) -> Meaning {
        if let Some(addresses) = known_to_all(name) {
            return Some(Ok(usable(addresses)));
        }
        let new = || Known { meaning: None, failed: None, asked: None, is_stale: true, is_used: true };
        let known = self.known.entry(name.to_owned()).or_insert_with(new);
        known.is_used = true;
        known.take_answer();
        if known.asked.is_none() && (known.is_stale || known.should_be_asked_again()) {
            match &self.wake {
                Some(wake) => known.asked = Some(ask(name.to_owned(), self.resolver, Arc::clone(wake))),
                None => known.settle((self.resolver)(name)),
            }
        }
        known.meaning.clone()
    }
}

impl Known {
    fn should_be_asked_again(&self) -> bool {
        self.asked.is_none() && self.failed.is_some_and(|failed| failed.elapsed() > AGAIN)
    }

    /// Whether an answer has come.
    fn take_answer(&mut self) -> bool {
        let Some(answer) = self.asked.as_ref().and_then(|asked| asked.try_recv().ok()) else { return false };
        self.settle(answer);
        true
    }

    fn settle(&mut self, answer: Result<Vec<IpAddr>, String>) {
        self.failed = answer.is_err().then(Instant::now);
        self.meaning = Some(answer);
        self.asked = None;
        self.is_stale = false;
    }
}

/// Has a thread ask. It calls the resolver, writes to a channel and wakes, and nothing else: signals are for the main thread, so it
/// takes none.
fn ask(name: String, resolver: Resolver, wake: Wake) -> Receiver<Result<Vec<IpAddr>, String>> {
    let (sender, answer) = channel();
    let failed = sender.clone();
    let asking = move || {
        // Who asked may have lost interest.
        let _ = sender.send(resolver(&name));
        wake();
    };
    if let Err(error) = without_signals(|| thread::Builder::new().name("resolver".into()).spawn(asking)) {
        let _ = failed.send(Err(format!("no thread can be started to resolve it: {error}")));
    }
    answer
}

/// Starts what inherits the mask of signals while all of them are masked.
fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    // SAFETY: sets of signals of this frame, of which the second is the mask to return to.
    unsafe {
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) =
            (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let result = start();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        result
    }
}

/// What needs no asking.
fn known_to_all(name: &str) -> Option<Vec<IpAddr>> {
    match name {
        "*" => Some(vec![Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()]),
        "localhost" => Some(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]),
        _ => name.trim_matches(['[', ']']).parse().ok().map(|address| vec![address]),
    }
}

/// The resolver of the system. Addresses of IPv6 are left out where the machine has none.
pub fn look_up(name: &str) -> Result<Vec<IpAddr>, String> {
    let addresses = (name, 0).to_socket_addrs().map_err(|error| format!("it cannot be resolved: {error}"))?;
    Ok(usable(addresses.map(|address| address.ip()).collect()))
}

/// Without those of IPv6 where the machine has none: there `localhost` is 127.0.0.1 alone.
fn usable(addresses: Vec<IpAddr>) -> Vec<IpAddr> {
    let (fours, sixes): (Vec<_>, Vec<_>) = addresses.into_iter().partition(IpAddr::is_ipv4);
    if !sixes.is_empty() && ipv6_exists() { [fours, sixes].concat() } else { fours }
}

/// Whether the machine has IPv6.
fn ipv6_exists() -> bool {
    std::path::Path::new("/proc/sys/net/ipv6").exists()
        && std::net::UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
}
