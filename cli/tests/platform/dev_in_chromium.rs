//! `howdah dev` as somebody sees it in a browser: the guestbook of `howdah new`.

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::Platform;
use crate::dev::Dev;
use crate::webdriver::Browser;

const ENTRIES: &str = "pages/entries.html";

/// Where pictures for the documentation go, if somebody wants them: `HOWDAH_PICTURES=docs/pictures`, from the repository's folder.
pub(crate) fn picture(browser: &Browser, name: &str) {
    if let Some(folder) = env::var_os("HOWDAH_PICTURES").map(PathBuf::from) {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        browser.picture(&project.join(folder).join(name));
    }
}

fn guestbook() -> (Dev, String) {
    let platform = Platform::new();
    platform.ok(&["new", "guestbook"]);
    let dev = Dev::start_on(platform, "guestbook", &[]);
    let address = format!("http://localhost:{}/entries", dev.platform.port);
    (dev, address)
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it needs Chromium: make test-long")]
fn a_page_shows_each_save_and_what_is_wrong_by_itself() {
    let (dev, address) = guestbook();
    let browser = Browser::start();
    browser.visit(&address);
    for (author, message) in [("Grace", "This book is a table."), ("Ada", "Hello, world")] {
        browser.fill("[name=author]", author);
        browser.fill("[name=message]", message);
        browser.click("button");
        browser.shows(message, "");
    }
    let shown = browser.text();
    assert!(shown.contains("Ada: Hello, world") && shown.contains("Grace: This book"), "{shown}");
    picture(&browser, "guestbook.png");

    let file = dev.platform.folder.path().join("guestbook").join(ENTRIES);
    let text = fs::read_to_string(&file).unwrap();
    dev.save(ENTRIES, &text.replace("from entry offset", "from entri offset"));
    let line = 1 + text.lines().position(|line| line.contains("from entry offset")).unwrap();
    let shown = browser.shows("relation \"entri\" does not exist", "Hello, world");
    assert!(shown.contains(&format!("{ENTRIES}:{line}")) && shown.contains("from entri offset"), "{shown}");
    picture(&browser, "error.png");
    // Another mistake, and then none.
    dev.save(ENTRIES, &text.replace("from entry offset", "from entries offset"));
    browser.shows("relation \"entries\" does not exist", "entri\"");
    dev.save(ENTRIES, &text.replace("<button>Sign", "<button>Write"));
    let shown = browser.shows("Ada: Hello, world", "does not exist");
    assert!(shown.contains("Write"), "{shown}");

    // It was asked for at the beginning, after each entry, and now: no page is loaded for nothing.
    let requests = "select requests from http.stats where method = 'GET' and pattern = '/entries'";
    assert_eq!(dev.platform.query(requests), "4");
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it needs Chromium: make test-long")]
fn many_windows_do_not_keep_each_other_waiting_and_those_behind_see_what_has_changed_later() {
    let (dev, address) = guestbook();
    let browser = Browser::start();
    browser.visit(&address);
    browser.shows("guestbook", "");
    // Browsers have six connections to a server.
    for _ in 0..8 {
        browser.visit_in_new_window(&address);
        browser.shows("guestbook", "");
    }
    let file = dev.platform.folder.path().join("guestbook").join(ENTRIES);
    let text = fs::read_to_string(&file).unwrap();
    dev.save(ENTRIES, &text.replace("<button>Sign", "<button>Write"));
    browser.shows("Write", "Sign");
    browser.close_window();
    browser.shows("Write", "Sign");
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it needs Chromium: make test-long")]
fn a_page_comes_back_when_the_command_does() {
    let (mut dev, address) = guestbook();
    let browser = Browser::start();
    browser.visit(&address);
    browser.shows("Sign", "");
    crate::interrupt(&dev.child);
    assert!(dev.child.wait().unwrap().success());
    let file = dev.platform.folder.path().join("guestbook").join(ENTRIES);
    let text = fs::read_to_string(&file).unwrap();
    dev.save(ENTRIES, &text.replace("<button>Sign", "<button>Write"));
    let _dev = dev.again();
    browser.shows("Write", "Sign");
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it needs Chromium: make test-long")]
fn a_page_that_the_browser_has_kept_shows_what_was_saved_since() {
    let (dev, address) = guestbook();
    let browser = Browser::start();
    browser.visit(&address);
    browser.shows("Sign", "");
    browser.visit(&format!("{address}?again"));
    browser.shows("Sign", "");
    let file = dev.platform.folder.path().join("guestbook").join(ENTRIES);
    let text = fs::read_to_string(&file).unwrap();
    dev.save(ENTRIES, &text.replace("<button>Sign", "<button>Write"));
    browser.shows("Write", "Sign");
    browser.go_back();
    browser.shows("Write", "Sign");
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it needs Chromium: make test-long")]
fn a_style_sheet_is_another_while_the_page_stays() {
    let (dev, address) = guestbook();
    let browser = Browser::start();
    browser.visit(&address);
    browser.shows("Sign", "");
    browser.fill("[name=author]", "half a name");
    let color = "return getComputedStyle(document.querySelector('button')).backgroundColor";
    let before = browser.run(color);
    let file = dev.platform.folder.path().join("guestbook/static/app.css");
    let text = fs::read_to_string(&file).unwrap();
    for (rule, shown) in [("rgb(1, 2, 3)", "rgb(1, 2, 3)"), ("rgb(4, 5, 6)", "rgb(4, 5, 6)")] {
        dev.save("static/app.css", &format!("{text}\nbutton {{ background: {rule} }}\n"));
        comes_to_hold(|| browser.run(color) == shown);
    }
    assert_ne!(before, "rgb(4, 5, 6)");
    // The name that was typed is there still.
    assert_eq!(browser.run("return document.querySelector('[name=author]').value"), "half a name");
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it needs Chromium: make test-long")]
fn a_tab_that_was_opened_before_ten_deployments_loads_its_own_script() {
    let platform = Platform::new();
    platform.ok(&["new", "guestbook"]);
    let folder = platform.folder.path().join("guestbook");
    let write = |number: usize| {
        fs::write(folder.join("static/part.js"), format!("window.part = {number};\n")).unwrap();
    };
    write(0);
    let layout = fs::read_to_string(folder.join("pages/layout.html")).unwrap();
    let script = "<script>window.load = () => { const s = document.createElement('script'); s.src = document.querySelector('main').dataset.part; document.head.append(s) }</script>";
    let main = "<main data-part=\"{{ http.asset('part.js') }}\">";
    fs::write(folder.join("pages/layout.html"), layout.replace("<main>", &format!("{script}{main}")))
        .unwrap();
    platform.ok(&["up", "--app", "guestbook", "--port", &platform.port.to_string(), "--detach"]);
    let browser = Browser::start();
    browser.visit(&format!("http://localhost:{}/entries", platform.port));
    browser.shows("Sign", "");
    for number in 1..=10 {
        write(number);
        platform.ok(&["deploy", "--app", "guestbook"]);
    }
    browser.run("load()");
    comes_to_hold(|| browser.run("return window.part") == 0);
    browser.visit(&format!("http://localhost:{}/entries", platform.port));
    browser.run("load()");
    comes_to_hold(|| browser.run("return window.part") == 10);
}

/// Waits until something holds in the browser.
fn comes_to_hold(holds: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !holds() {
        assert!(begun.elapsed() < std::time::Duration::from_secs(30), "it does not come to hold");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
