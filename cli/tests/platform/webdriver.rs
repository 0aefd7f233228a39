//! A browser that a test drives: Chromium without a screen, by the WebDriver protocol of chromedriver.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// What WebDriver calls an element in JSON.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";
/// How long a page may take to become what is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A window of a browser. Both end with it.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    _home: tempfile::TempDir,
}

impl Browser {
    pub(crate) fn start() -> Browser {
        let home = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new("chromedriver");
        command
            .process_group(0)
            .arg(format!("--port={port}"))
            .env("HOME", home.path())
            .env("TMPDIR", home.path());
        let driver = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut browser = Browser { driver, port, session: String::new(), _home: home };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < PATIENCE, "chromedriver does not listen");
            thread::sleep(Duration::from_millis(20));
        }
        // In containers there is no place for a sandbox, nor for much shared memory.
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--window-size=900,560",
        ];
        let wanted =
            json!({ "capabilities": { "alwaysMatch": { "goog:chromeOptions": { "args": arguments } } } });
        let made = browser.send("POST", "/session", &wanted);
        browser.session =
            made["sessionId"].as_str().unwrap_or_else(|| panic!("no session: {made}")).to_owned();
        browser
    }

    /// Sends a command, and gives the value that it is answered.
    fn send(&self, method: &str, path: &str, command: &Value) -> Value {
        let mut client = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        let body = if method == "POST" { command.to_string() } else { String::new() };
        let length = body.len();
        write!(client, "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
        let mut client = BufReader::new(client);
        let status = line(&mut client);
        let mut length = 0;
        loop {
            let header = line(&mut client).to_lowercase();
            match header.split_once(':') {
                Some(("content-length", value)) => length = value.trim().parse().unwrap(),
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        client.read_exact(&mut body).unwrap();
        let mut body: Value = serde_json::from_slice(&body).unwrap();
        assert!(status.starts_with("HTTP/1.1 200"), "{path}: {body:#}");
        body["value"].take()
    }

    fn ask(&self, what: &str) -> Value {
        self.send("GET", &format!("/session/{}/{what}", self.session), &Value::Null)
    }

    fn tell(&self, what: &str, command: &Value) -> Value {
        self.send("POST", &format!("/session/{}/{what}", self.session), command)
    }

    pub(crate) fn visit(&self, address: &str) {
        self.tell("url", &json!({ "url": address }));
    }

    pub(crate) fn go_back(&self) {
        self.tell("back", &json!({}));
    }

    /// Visits it in a window of its own, which is in front from now on.
    pub(crate) fn visit_in_new_window(&self, address: &str) {
        let made = self.tell("window/new", &json!({ "type": "tab" }));
        self.tell("window", &json!({ "handle": made["handle"] }));
        self.visit(address);
    }

    /// Closes the window in front, and brings the first to the front.
    pub(crate) fn close_window(&self) {
        let left = self.send("DELETE", &format!("/session/{}/window", self.session), &Value::Null);
        self.tell("window", &json!({ "handle": left[0] }));
    }

    pub(crate) fn run(&self, script: &str) -> Value {
        self.tell("execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// What somebody reads on the page.
    pub(crate) fn text(&self) -> String {
        self.run("return document.body?.innerText ?? ''").as_str().unwrap_or_default().to_owned()
    }

    /// Waits until somebody can read this, and cannot read that.
    pub(crate) fn shows(&self, words: &str, no_more: &str) -> String {
        let begun = Instant::now();
        loop {
            let text = self.text();
            if text.contains(words) && (no_more.is_empty() || !text.contains(no_more)) {
                return text;
            }
            assert!(begun.elapsed() < PATIENCE, "{words:?} was not shown: {text}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn element(&self, selector: &str) -> String {
        let found = self.tell("element", &json!({ "using": "css selector", "value": selector }));
        found[ELEMENT].as_str().unwrap().to_owned()
    }

    pub(crate) fn fill(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        self.tell(&format!("element/{element}/value"), &json!({ "text": text }));
    }

    pub(crate) fn click(&self, selector: &str) {
        let element = self.element(selector);
        self.tell(&format!("element/{element}/click"), &json!({}));
    }

    /// Presses keys, one after the other, where the cursor is.
    pub(crate) fn press(&self, keys: &str) {
        let strokes = keys.chars().flat_map(|key| {
            ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key.to_string() }))
        });
        let source = json!({ "type": "key", "id": "keyboard", "actions": strokes.collect::<Vec<_>>() });
        self.tell("actions", &json!({ "actions": [source] }));
    }

    /// Shows pages in a scheme of colours: `light` or `dark`.
    pub(crate) fn prefer(&self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        let command = json!({ "cmd": "Emulation.setEmulatedMedia", "params": { "features": features } });
        self.tell("goog/cdp/execute", &command);
    }

    /// Writes what is on the screen.
    pub(crate) fn picture(&self, file: &Path) {
        let picture = self.ask("screenshot");
        fs::write(file, BASE64_STANDARD.decode(picture.as_str().unwrap()).unwrap()).unwrap();
    }
}

/// A line of a head.
fn line(client: &mut impl BufRead) -> String {
    let mut line = String::new();
    client.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Chromium ends with its session, and after a failure, when nobody may answer any more, with the group.
        if !self.session.is_empty() && !thread::panicking() {
            self.send("DELETE", &format!("/session/{}", self.session), &Value::Null);
        }
        let _ = killpg(Pid::from_raw(self.driver.id().cast_signed()), Signal::SIGKILL);
        let _ = self.driver.wait();
    }
}
