//! What the clusters of tests are copies of.
//!
//! The environment variable HOWDAH_FRESH has each test make its own by initdb instead, as a user does.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::env;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use cluster::{Cluster, Options, Template, TemporaryCluster};

/// What a test's cluster has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Contents {
    /// What initdb makes.
    Nothing,
    /// The extension in the database `postgres`.
    Queues,
    /// The extension in the database [`crate::platform::DATABASE`].
    Platform,
}

impl Contents {
    fn name(self) -> &'static str {
        match self {
            Contents::Nothing => "nothing",
            Contents::Queues => "queues",
            Contents::Platform => "platform",
        }
    }

    fn fill(self, cluster: &Cluster) -> cluster::Result<()> {
        const EXTENSION: &str = "create extension howdah";
        match self {
            Contents::Nothing => Ok(()),
            Contents::Queues => cluster.execute("postgres", EXTENSION),
            Contents::Platform => {
                let database = crate::platform::DATABASE;
                cluster.execute("postgres", &format!("create database {database}"))?;
                cluster.execute(database, EXTENSION)
            }
        }
    }

    /// Starts a cluster that has this, with the extension's library. Without a stage in the options, that of HOWDAH_STAGE
    /// counts.
    pub fn start(self, mut options: Options) -> TemporaryCluster {
        options.stage = options.stage.or_else(cluster::stage);
        options.preload = Some("howdah".into());
        match options.stage.clone().filter(|_| env::var_os("HOWDAH_FRESH").is_none()) {
            Some(stage) => {
                TemporaryCluster::copy_of(&self.template(stage), options).expect("a cluster starts")
            }
            None => {
                let cluster = TemporaryCluster::start(options).expect("a cluster starts");
                self.fill(&cluster).expect("what the test begins with");
                cluster
            }
        }
    }

    /// The template, made or found once in each process.
    fn template(self, stage: PathBuf) -> Arc<Template> {
        type Known = HashMap<(Contents, PathBuf), Arc<Template>>;
        static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
        // Whoever has failed to make one has left none.
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get_or_insert_default().entry((self, stage)) {
            Entry::Occupied(known) => Arc::clone(known.get()),
            Entry::Vacant(new) => {
                let stage = new.key().1.clone();
                let mut name = stage.file_name().expect("a stage has a name").to_owned();
                name.push(".templates");
                let folder = stage.with_file_name(name).join(self.name());
                let options =
                    Options { stage: Some(stage), preload: Some("howdah".into()), ..Options::default() };
                let options = options.set("howdah.databases", "");
                let recipe = format!("{self:?} of {}", crate::platform::DATABASE);
                let template = Template::in_folder(&folder, options, &recipe, |cluster| self.fill(cluster));
                Arc::clone(new.insert(Arc::new(template.expect("a template"))))
            }
        }
    }
}
