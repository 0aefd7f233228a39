//! Names that are asked for on the side.

use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, Once, mpsc};
use std::time::Duration;

use addresses::{Names, Wake, look_up};

use crate::{ip, resolver};

/// Wakes by a channel.
fn waking() -> (Wake, mpsc::Receiver<()>) {
    let (sender, woken) = mpsc::channel();
    let sender = Mutex::new(sender);
    (Arc::new(move || sender.lock().expect("a channel").send(()).expect("a test that waits")), woken)
}

/// It did not hang.
const HANGS: Duration = Duration::from_secs(60);

fn setting(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn an_address_needs_no_asking() {
    fn nobody(name: &str) -> Result<Vec<IpAddr>, String> {
        panic!("{name} was asked for")
    }
    let mut names = Names::waited_for(nobody);
    assert_eq!(names.resolve("192.0.2.1"), Some(Ok(vec![ip("192.0.2.1")])));
    for name in ["localhost", "*", "::1", "[::1]"] {
        assert!(matches!(names.resolve(name), Some(Ok(_))), "{name}");
    }
    assert_eq!(
        names.resolve("localhost").and_then(Result::ok).and_then(|all| all.first().copied()),
        Some(ip("127.0.0.1"))
    );
}

#[test]
fn whoever_waits_has_the_answer_at_once() {
    let mut names = Names::waited_for(resolver);
    assert_eq!(names.resolve("outer"), Some(Ok(vec![ip("192.0.2.7")])));
    assert_eq!(names.resolve("nowhere"), Some(Err("nobody knows nowhere".into())));
}

#[test]
fn whoever_does_not_wait_is_woken() {
    let (wake, woken) = waking();
    let mut names = Names::asked_for(resolver, wake);
    names.begin(&setting(&["inner"]));
    assert_eq!(names.resolve("inner"), None);
    names.end();
    woken.recv_timeout(HANGS).expect("a wake-up");
    assert!(names.have_news());
    assert_eq!(names.resolve("inner"), Some(Ok(vec![ip("10.0.0.1"), ip("10.0.0.2")])));
    assert!(!names.have_news(), "once");
}

static ASKED: AtomicUsize = AtomicUsize::new(0);

fn counting(_: &str) -> Result<Vec<IpAddr>, String> {
    ASKED.fetch_add(1, SeqCst);
    Ok(vec![ip("10.1.1.1")])
}

#[test]
fn a_name_is_asked_for_once_as_long_as_it_is_used_and_the_setting_stays() {
    let mut names = Names::waited_for(counting);
    let both = setting(&["a", "b"]);
    for _ in 0..5 {
        names.begin(&both);
        names.resolve("a");
        names.end();
    }
    assert_eq!(ASKED.load(SeqCst), 1);
    // Another setting: it may mean something else now.
    names.begin(&setting(&["a"]));
    names.resolve("a");
    names.end();
    assert_eq!(ASKED.load(SeqCst), 2);
    // Nobody uses it any more.
    names.begin(&setting(&["a"]));
    names.end();
    names.begin(&setting(&["a"]));
    names.resolve("a");
    assert_eq!(ASKED.load(SeqCst), 3);
}

#[test]
fn a_name_means_what_it_meant_until_the_new_answer_has_come() {
    static GATE: Mutex<()> = Mutex::new(());
    static FIRST: Once = Once::new();
    fn changing(_: &str) -> Result<Vec<IpAddr>, String> {
        let mut is_first = false;
        FIRST.call_once(|| is_first = true);
        if is_first {
            return Ok(vec![ip("10.0.0.1")]);
        }
        let _open = GATE.lock();
        Ok(vec![ip("10.0.0.2")])
    }
    let (wake, woken) = waking();
    let mut names = Names::asked_for(changing, wake);
    names.begin(&setting(&["one"]));
    names.resolve("moves");
    woken.recv_timeout(HANGS).expect("a wake-up");
    assert_eq!(names.resolve("moves"), Some(Ok(vec![ip("10.0.0.1")])));
    let closed = GATE.lock();
    names.begin(&setting(&["two"]));
    assert_eq!(names.resolve("moves"), Some(Ok(vec![ip("10.0.0.1")])), "it is being asked for");
    drop(closed);
    woken.recv_timeout(HANGS).expect("a wake-up");
    assert_eq!(names.resolve("moves"), Some(Ok(vec![ip("10.0.0.2")])));
}

#[test]
fn the_resolver_of_the_system_says_why_it_cannot() {
    let error = look_up("no.such.name.invalid").expect_err("a name that nobody may have");
    assert!(error.starts_with("it cannot be resolved"), "{error}");
    assert_eq!(look_up("127.0.0.1"), Ok(vec![ip("127.0.0.1")]));
}
