//! `howdah dev`: a platform of one's own that deploys an application at each save.
//!
//! - `watch`: whether something was saved.
//! - `browser`: what browsers talk to, so that pages load again by themselves and show what is wrong.

mod browser;
mod watch;

use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use cluster::Cluster;
use files::hashed::hashed;
use files::{Index, IndexEntry};
use folder::{Deployed, File, Folder, Kind, Manifest, Plan};
use nix::sys::signal::{Signal, raise};
use nix::unistd::getppid;

use self::browser::{Browser, Front, Now};
use self::watch::Watch;
use crate::arguments::{Dev, Up};
use crate::connection::Address;
use crate::deployment::build::{self, Builder};
use crate::deployment::run::{self, Loaded};
use crate::deployment::target;
use crate::failure::Result;
use crate::screen::{complain, harmless, say};
use crate::{seeding, up};

/// What has to be typed for all rows to go.
const ANEW: &str = "anew";
/// How long a migration, or an empty file, has to be as it is before it runs.
const SETTLED: Duration = Duration::from_millis(300);
/// Whose seeds fill what is new.
const ENVIRONMENT: &str = "development";

/// Starts the platform and stays, until Ctrl-C.
pub(crate) fn run(options: &Dev) -> Result<()> {
    // It may have gone before the application is loaded.
    let parent = getppid();
    build::run(&options.app, options.build)?;
    target::read(&options.app)?;
    let mut platform = options.platform.clone();
    up::require_none(&platform.place.data)?;
    let front = Front::listen(platform.port, &platform.settings)?;
    let behind = browser::behind(&mut platform.settings)?;
    let browser = Rc::new(Browser::begin(front, behind.port)?);
    let up = Up { behind: Some(behind), shown: Some(options.app.clone()), ..Up::of(platform) };
    let mut begin = |cluster: &Cluster| -> Result<Box<dyn FnMut()>> {
        let mut developer = Developer::begin(options, cluster, Rc::clone(&browser))?;
        let mut builder = if options.build { Builder::begin(&options.app)? } else { None };
        Ok(Box::new(move || {
            developer.look();
            if builder.as_mut().is_some_and(|builder| !builder.goes_on()) {
                builder = None;
            }
            if getppid() != parent {
                // Nobody is left whom it is for.
                let _ = raise(Signal::SIGTERM);
            }
        }))
    };
    up::run_beside(&up, Some(&mut begin))
}

/// What loads an application whenever it has changed.
struct Developer {
    app: PathBuf,
    address: Address,
    /// Whom browsers ask: it shows what is wrong, too.
    browser: Rc<Browser>,
    watch: Watch,
    /// What is live, or waits for a word: saving the same again changes nothing. What has failed is tried again.
    tried: Option<String>,
    /// Lines that are typed, once somebody was asked to.
    typed: Option<Receiver<String>>,
    /// Whether a migration has changed that has run.
    offers_anew: bool,
    /// Whether what was saved last could not be loaded.
    has_failed: bool,
    /// The application as it is live.
    live: Option<LiveFiles>,
    /// Migrations and empty files, as they were seen last, and since when: they run when nobody writes them any more.
    unsettled: String,
    settles: Option<Instant>,
}

impl Developer {
    /// Loads it as it is.
    fn begin(options: &Dev, cluster: &Cluster, browser: Rc<Browser>) -> Result<Developer> {
        let database = &options.platform.database;
        let shown = format!("{database} of {}", options.platform.place.data.display());
        let mut developer = Developer {
            watch: Watch::begin(&options.app),
            app: options.app.clone(),
            address: Address::local(&cluster.connection_string(database)?, shown, "howdah dev")?,
            browser,
            tried: None,
            typed: None,
            offers_anew: false,
            has_failed: false,
            live: None,
            unsettled: String::new(),
            settles: None,
        };
        developer.load();
        say(&format!("Each save in {} is live. Ctrl-C ends it.", developer.app.display()));
        Ok(developer)
    }

    /// Loads what has changed since.
    fn look(&mut self) {
        let typed: Vec<String> = self.typed.iter().flat_map(Receiver::try_iter).collect();
        if self.offers_anew && typed.iter().any(|line| line.trim() == ANEW) {
            self.begin_anew();
        }
        if self.watch.has_changed() || self.settles.is_some_and(|settles| settles.elapsed() > SETTLED) {
            self.load();
        }
    }

    fn load(&mut self) {
        let begun = Instant::now();
        let mut folder = match Folder::read(&self.app) {
            Ok(folder) => folder,
            Err(faults) => {
                // What is as it was before is looked at again, and live again.
                (self.tried, self.settles) = (None, None);
                return self.fail(target::said(&faults).to_string());
            }
        };
        if !self.settle(&folder) {
            return;
        }
        // They run in each deployment, and by howdah test.
        folder.files.retain(|_, file| file.kind != Kind::Test);
        let now = format!("{:?} {}", folder.manifest, folder.fingerprint());
        if self.tried.as_ref() == Some(&now) {
            return;
        }
        self.tried = Some(now);
        self.offers_anew = false;
        let manifest = folder.manifest.clone();
        let saved = LiveFiles::of(&folder);
        match run::run_live(folder, &self.address) {
            Ok(Loaded::Same) => {
                say(if self.has_failed { "Mended: it is as it was." } else { "Nothing has changed." });
                self.browser.say(Now::Live, false);
                (self.has_failed, self.live) = (false, Some(saved));
            }
            Ok(Loaded::Live { is_first }) => {
                say(&format!("Live after {} ms.", begun.elapsed().as_millis()));
                if is_first {
                    self.seed(&manifest);
                }
                let before = self.live.as_ref().filter(|_| !self.has_failed);
                match before.and_then(|before| saved.styles_since(before)) {
                    Some(styles) => self.browser.restyle(styles),
                    None => self.browser.say(Now::Live, true),
                }
                (self.has_failed, self.live) = (false, Some(saved));
            }
            Ok(Loaded::Outdated(faults)) => {
                complain(&harmless(&faults));
                self.offers_anew = true;
                self.typed.get_or_insert_with(lines);
                complain(&format!(
                    "or begin anew: type {ANEW} and Enter, and the application's schema is dropped with all of its rows, and made again"
                ));
                self.browser.say(Now::Outdated(faults), false);
            }
            Ok(Loaded::Wrong(faults)) => {
                self.tried = None;
                self.fail(faults);
            }
            Err(failure) => {
                self.tried = None;
                self.fail(failure.to_string());
            }
        }
    }

    /// Whether nobody seems to be writing a file any more that cannot run twice, or that is empty: it is as it was a moment ago.
    fn settle(&mut self, folder: &Folder) -> bool {
        let is_delicate = |file: &File| file.kind == Kind::Migration || file.text.is_empty();
        let delicate = folder.files.iter().filter(|(_, file)| is_delicate(file));
        let now: String = delicate.map(|(path, file)| format!("{path} {}\n", file.digest)).collect();
        let is_first = self.tried.is_none() && self.unsettled.is_empty();
        if now == self.unsettled || is_first {
            let has_settled = self.settles.is_none_or(|settles| settles.elapsed() > SETTLED);
            self.unsettled = now;
            self.settles = self.settles.filter(|_| !has_settled);
            return has_settled;
        }
        self.unsettled = now;
        self.settles = Some(Instant::now());
        false
    }

    /// Puts in what new tables are to have. What is wrong with it is told, and the application is live without.
    fn seed(&self, manifest: &Manifest) {
        if let Err(failure) = seeding::fill(&self.address, &self.app, manifest, Some(ENVIRONMENT), true) {
            complain(&harmless(&failure.to_string()));
        }
    }

    /// Tells what is wrong, in the terminal and in browsers.
    fn fail(&mut self, told: String) {
        self.has_failed = true;
        complain(&harmless(&told));
        self.browser.say(Now::Failed(told), false);
    }

    fn begin_anew(&mut self) {
        let folder =
            target::read(&self.app).and_then(|folder| match Plan::of(&folder, &Deployed::default()) {
                Ok(_) => Ok(folder),
                Err(faults) => Err(target::said(&faults)),
            });
        let name = match folder {
            Ok(folder) => folder.manifest.name,
            // It would not run on new tables either.
            Err(failure) => return complain(&harmless(&failure.to_string())),
        };
        match run::drop_application(&self.address, &name) {
            Ok(()) => {
                say(&format!("The schema of {name} is gone."));
                (self.tried, self.live) = (None, None);
                self.load();
            }
            Err(failure) => complain(&harmless(&failure.to_string())),
        }
    }
}

/// The files of an application that is live, by their digests.
struct LiveFiles {
    /// Without the list of static files.
    files: BTreeMap<String, String>,
    statics: Index,
}

impl LiveFiles {
    fn of(folder: &Folder) -> LiveFiles {
        let files = folder.files.iter().filter(|(_, file)| file.kind != Kind::Static);
        let files = files.map(|(path, file)| (path.clone(), file.digest.clone())).collect();
        LiveFiles { files, statics: folder.statics.index.clone() }
    }

    /// The style sheets, each with its name that says what is in it; none if something else has changed as well.
    fn styles_since(&self, before: &LiveFiles) -> Option<BTreeMap<String, String>> {
        let is_style = |name: &String| name.ends_with(".css");
        let (now, then) = (&self.statics.entries, &before.statics.entries);
        let is_other =
            |(name, entry): (&String, &IndexEntry)| !is_style(name) && then.get(name) != Some(entry);
        let has_other = self.files != before.files || now.len() != then.len() || now.iter().any(is_other);
        let styles = now.iter().filter(|(name, _)| is_style(name));
        (!has_other)
            .then(|| styles.map(|(name, entry)| (name.clone(), hashed(name, &entry.digest))).collect())
    }
}

/// Lines of the standard input, as they come.
fn lines() -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(io::Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}
