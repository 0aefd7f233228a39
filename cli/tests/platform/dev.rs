//! `howdah dev`, as whoever writes an application uses it, and what is added to one.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, io};

use super::{Platform, answer, printed};

/// A platform of `howdah dev` for an application that `howdah new` has made.
pub(crate) struct Dev {
    pub(crate) platform: Platform,
    /// Its name, and its folder's.
    app: &'static str,
    pub(crate) child: Child,
    pub(crate) typed: ChildStdin,
    /// All that it has said.
    said: Arc<Mutex<String>>,
}

impl Dev {
    pub(crate) fn start() -> Dev {
        Dev::start_with(&[])
    }

    pub(crate) fn start_with(more: &[&str]) -> Dev {
        let platform = Platform::new();
        platform.ok(&["new", "notes"]);
        Dev::start_on(platform, "notes", more)
    }

    /// On a platform whose folder has the application.
    pub(crate) fn start_on(platform: Platform, app: &'static str, more: &[&str]) -> Dev {
        let port = platform.port.to_string();
        let mut command = platform.command(&[&["dev", "--app", app, "--port", &port], more].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A machine that runs many tests at once may keep others waiting for longer.
        let mut child = command.env("HOWDAH_LOCKS", "60").spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let pipes: [Box<dyn io::Read + Send>; 2] =
            [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
        for pipe in pipes {
            let said = Arc::clone(&said);
            thread::spawn(move || {
                for line in BufReader::new(pipe).lines().map_while(io::Result::ok) {
                    let mut said = said.lock().unwrap();
                    said.push_str(&line);
                    said.push('\n');
                }
            });
        }
        let dev = Dev { platform, app, typed: child.stdin.take().unwrap(), child, said };
        dev.says(&format!("Each save in {app} is live"));
        dev
    }

    /// Starts it once more after it has ended.
    pub(crate) fn again(self) -> Dev {
        let Dev { platform, app, .. } = self;
        Dev::start_on(platform, app, &[])
    }

    /// Waits until it has said this since it was last asked; what it has said until then.
    pub(crate) fn says(&self, words: &str) -> String {
        let begun = Instant::now();
        loop {
            let said = self.said.lock().unwrap().clone();
            if said.contains(words) {
                self.said.lock().unwrap().clear();
                return said;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{words:?} was not said: {said}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// What it has said since it was last asked.
    fn said(&self) -> String {
        std::mem::take(&mut *self.said.lock().unwrap())
    }

    pub(crate) fn save(&self, path: &str, text: &str) {
        fs::write(self.platform.folder.path().join(self.app).join(path), text).unwrap();
    }

    pub(crate) fn page(&self, path: &str) -> String {
        answer(self.platform.ask(path))
    }
}

/// Presses Ctrl-C.
pub(crate) fn interrupt(child: &Child) {
    // The shell's own: a small installation has no program of that name.
    assert!(
        Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap().success()
    );
}

fn hello(word: &str) -> String {
    format!("create function hello() returns text language sql immutable return '{word}';\n")
}

#[test]
fn each_save_is_live_and_what_is_wrong_is_told_and_leaves_what_was() {
    let mut dev = Dev::start();
    assert!(dev.page("/entries").starts_with("HTTP/1.1 200"));
    dev.save("functions/hello.sql", &hello("one"));
    dev.says("Live after");
    let routes =
        "select http.route('GET', '/entries', 'entries');\nselect http.route('GET', '/hello', 'hello');\n";
    dev.save("routes.sql", &format!("{routes}select http.route('GET', '/gone', 'hello');\n"));
    dev.says("Live after");
    assert!(dev.page("/hello").ends_with("one"));

    dev.save(
        "functions/hello.sql",
        "create function hello() returns text language sql immutable\nreturn helo();\n",
    );
    let told = dev.says("Nothing of it was deployed.");
    assert!(
        told.contains("functions/hello.sql:2: function helo() does not exist")
            && told.contains(">    2 | return helo();"),
        "{told}"
    );
    assert!(dev.page("/hello").ends_with("one"));
    // As an editor saves that writes beside it and renames.
    dev.save("functions/hello.sql~", &hello("two"));
    let file = |name: &str| dev.platform.folder.path().join("notes/functions").join(name);
    fs::rename(file("hello.sql~"), file("hello.sql")).unwrap();
    dev.says("Live after");
    assert!(dev.page("/hello").ends_with("two"));
    for number in 0..100 {
        dev.save("functions/hello.sql", &hello(&format!("number {number}")));
    }
    let begun = Instant::now();
    while !dev.page("/hello").ends_with("number 99") {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", dev.page("/hello"));
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(dev.platform.query("select count(*) from deploy.deployment"), "1");

    // A migration that has run and changes: nothing goes unasked.
    dev.platform.query("insert into notes.entry (author, message) values ('Ada', 'stays')");
    let migration =
        fs::read_to_string(dev.platform.folder.path().join("notes/migrations/001-entry.sql")).unwrap();
    dev.save("migrations/001-entry.sql", &migration.replace("message text", "message varchar(100)"));
    let told = dev.says("type anew");
    assert!(told.contains("migrations/001-entry.sql: it has run and was changed since"), "{told}");
    dev.typed.write_all(b"\nyes\n").unwrap();
    dev.save("routes.sql", routes);
    dev.says("type anew");
    assert!(dev.page("/gone").starts_with("HTTP/1.1 200"));
    dev.save("functions/hello.sql", &hello("three"));
    dev.says("type anew");
    assert_eq!(dev.platform.query("select count(*) from notes.entry"), "1");
    dev.typed.write_all(b"anew\n").unwrap();
    dev.says("Live after");
    assert!(dev.page("/hello").ends_with("three"));
    assert!(dev.page("/gone").starts_with("HTTP/1.1 404"));
    assert_eq!(dev.platform.query("select count(*) from notes.entry"), "0");
    assert_eq!(dev.platform.query("select atttypid::regtype from pg_attribute where attrelid = 'notes.entry'::regclass and attname = 'message'"), "character varying");

    interrupt(&dev.child);
    assert!(dev.child.wait().unwrap().success());
    assert!(!dev.platform.serves());
    assert_eq!(dev.platform.run(&["status"]).status.code(), Some(3));
}

#[test]
fn no_server_outlives_it() {
    let mut dev = Dev::start();
    let port = dev.platform.port.to_string();
    let second = dev.platform.run(&["dev", "--app", "notes", "--port", &port]);
    assert_eq!(second.status.code(), Some(1));
    dev.child.kill().unwrap();
    dev.child.wait().unwrap();
    let begun = Instant::now();
    while dev.platform.run(&["status"]).status.code() != Some(3) || dev.platform.serves() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the server is still there");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it takes long: make test-long")]
fn a_thousand_saves_end_in_what_the_last_one_said() {
    let dev = Dev::start();
    dev.save("functions/hello.sql", &hello("zero"));
    dev.save(
        "routes.sql",
        "select http.route('GET', '/entries', 'entries');\nselect http.route('POST', '/entries', 'add_entry');\nselect http.route('GET', '/hello', 'hello');\n",
    );
    for number in 1..=1000 {
        // Each tenth is wrong, as what is half written is.
        let text = hello(&format!("number {number}"));
        dev.save("functions/hello.sql", if number % 10 == 5 { &text[..text.len() / 2] } else { &text });
        thread::sleep(Duration::from_millis(10));
    }
    let begun = Instant::now();
    while !dev.page("/hello").ends_with("number 1000") {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", dev.page("/hello"));
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(dev.platform.query("select count(*) from deploy.deployment"), "1");
}

/// Starts it below another program, kills that, and waits until neither it nor its server is there.
fn ends_with(above: impl Fn(&str) -> Vec<String>) {
    let platform = Platform::new();
    platform.ok(&["new", "notes"]);
    let command = format!("{} dev --app notes --port {}", env!("CARGO_BIN_EXE_howdah"), platform.port);
    let above = above(&command);
    let mut parent = std::process::Command::new(&above[0]);
    parent.args(&above[1..]).current_dir(platform.folder.path()).env("HOWDAH_LOCKS", "60");
    let mut parent = parent.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while !platform.serves() || !answer(platform.ask("/entries")).starts_with("HTTP/1.1 200") {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not serve");
        thread::sleep(Duration::from_millis(50));
    }
    parent.kill().unwrap();
    parent.wait().unwrap();
    let begun = Instant::now();
    while platform.run(&["status"]).status.code() != Some(3) || platform.serves() {
        // What is still there tells what has kept it.
        let is_over = begun.elapsed() > Duration::from_secs(60);
        assert!(!is_over, "{}\n{}", printed(&platform.run(&["status"])), what_runs(&platform));
        thread::sleep(Duration::from_millis(50));
    }
}

/// The processes that have a platform's folder in their command line, and what they wait for.
fn what_runs(platform: &Platform) -> String {
    let folder = platform.folder.path().display();
    let list = format!(
        "ps -eo pid,ppid,stat,wchan:20,args | grep {folder} | grep -v grep; tail -20 {folder}/notes/.howdah/*log* {folder}/.howdah/*log*"
    );
    let output = std::process::Command::new("sh").args(["-c", &list]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn it_ends_with_its_parent() {
    ends_with(|command| ["sh", "-c", &format!("{command}; true")].map(str::to_owned).to_vec());
}

#[test]
fn it_ends_with_its_terminal() {
    ends_with(|command| ["script", "-qfec", command, "/dev/null"].map(str::to_owned).to_vec());
}

#[test]
fn what_is_new_has_its_seeds() {
    let platform = Platform::new();
    platform.ok(&["new", "notes"]);
    let write = |path: &str, text: &str| {
        let path = platform.folder.path().join("notes").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("seeds/entry.csv", "author,message\nAda,Hello\n");
    write("seeds/development/entry.ndjson", "{\"author\": \"Bob\", \"message\": \"Hi\"}\n");
    write("howdah.toml", "name = \"notes\"\n[seeds]\nentry = \"id\"\n");
    // Nothing says by which column: it is told, and the application is there all the same.
    let mut dev = Dev::start_on(platform, "notes", &[]);
    assert!(dev.page("/entries").starts_with("HTTP/1.1 200"));
    assert_eq!(dev.platform.query("select count(*) from notes.entry"), "0");
    dev.save("howdah.toml", "name = \"notes\"\n");
    dev.save("seeds/development/entry.ndjson", "");
    let migration = "create domain short_text as text;
         create table entry (id int generated always as identity primary key, author text, message text);
         grant select, insert on entry to howdah_web;\n";
    dev.save("migrations/001-entry.sql", migration);
    dev.says("type anew");
    dev.typed.write_all(b"anew\n").unwrap();
    dev.says("seeds/entry.csv  1 rows");
    assert!(dev.page("/entries").contains("<b>Ada</b>: Hello"));
}

#[test]
fn a_migration_runs_when_it_says_something_and_nobody_writes_it_any_more() {
    let mut dev = Dev::start();
    // As howdah new migration leaves it.
    dev.platform.ok(&["new", "migration", "add-stars", "--app", "notes"]);
    let path = "migrations/002-add-stars.sql";
    let begun = fs::read_to_string(dev.platform.folder.path().join("notes").join(path)).unwrap();
    dev.save("functions/hello.sql", &hello("one"));
    dev.says("Live after");
    assert_eq!(dev.platform.query("select count(*) from deploy.migration"), "1");
    // What cannot be read is told once, though a migration was being written.
    dev.save(path, &format!("{begun}-- Soon.\n"));
    dev.save("functions/latin.sql", "");
    fs::write(dev.platform.folder.path().join("notes/functions/latin.sql"), b"-- caf\xe9\n").unwrap();
    dev.says("functions/latin.sql");
    thread::sleep(Duration::from_millis(700));
    let again = dev.said();
    assert!(!again.contains("functions/latin.sql"), "{again}");
    fs::remove_file(dev.platform.folder.path().join("notes/functions/latin.sql")).unwrap();
    // Somebody writes it, in pieces.
    dev.save(path, &format!("{begun}alter table entry\n"));
    thread::sleep(Duration::from_millis(100));
    dev.save(path, "");
    thread::sleep(Duration::from_millis(100));
    dev.save(path, &format!("{begun}alter table entry add column stars int;\n"));
    let told = dev.says("Live after");
    assert!(told.contains("migrations/002-add-stars.sql  ran") && !told.contains("syntax error"), "{told}");
    // Other comments change nothing.
    dev.save(path, &format!("{begun}-- More.\nalter table entry add column stars int;\n"));
    dev.says("Live after");
    assert_eq!(dev.platform.query("select count(*) from deploy.migration"), "2");
    // What would not run on new tables either drops none.
    dev.platform.query("insert into notes.entry (author, message) values ('Ada', 'stays')");
    dev.save("migrations/002-add-likes.sql", "alter table entry add column likes int;\n");
    let told = dev.says("has the number 2, too");
    assert!(!told.contains("type anew"), "{told}");
    dev.typed.write_all(b"anew\n").unwrap();
    thread::sleep(Duration::from_millis(300));
    assert_eq!(dev.platform.query("select count(*) from notes.entry"), "1");
    // Another platform in its place is none of its.
    let second = dev.platform.up(&[]);
    assert_eq!(second.status.code(), Some(1), "{}", printed(&second));
    assert!(printed(&second).contains("howdah dev has started it"), "{}", printed(&second));
}

#[test]
fn migrations_and_pages_are_added_and_work() {
    let platform = Platform::new();
    platform.ok(&["new", "notes"]);
    let port = platform.port.to_string();
    let made = platform.ok(&["new", "migration", "add stars", "--app", "notes"]);
    assert_eq!(made.trim(), "notes/migrations/002-add-stars.sql");
    let made = platform.ok(&["new", "page", "about-us", "--app", "notes"]);
    assert!(
        made.contains("notes/pages/about-us.html") && made.contains("notes/tests/about_us.sql"),
        "{made}"
    );
    let again = platform.run(&["new", "page", "about-us", "--app", "notes"]);
    assert_eq!(again.status.code(), Some(1));
    for (arguments, code) in [
        (&["new", "migration", "../x", "--app", "notes"][..], 1),
        (&["new", "migration", "x", "--app", "nowhere"], 1),
        (&["new", "migration"], 2),
        (&["new"], 2),
    ] {
        assert_eq!(platform.run(arguments).status.code(), Some(code), "{arguments:?}");
    }
    let told = platform.ok(&["up", "--app", "notes", "--port", &port, "--detach"]);
    assert!(
        told.contains("migrations/002-add-stars.sql  ran") && told.contains("tests/about_us.sql  passed"),
        "{told}"
    );
    assert!(answer(platform.ask("/about-us")).contains("Hello, world!"));
}
