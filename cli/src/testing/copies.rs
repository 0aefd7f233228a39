//! A server that ends with the command, and databases in it that are alike: the application, deployed, with its seeds.

use cluster::postgres::Client;
use cluster::{Options, TemporaryCluster};
use folder::Folder;

use crate::arguments::Test;
use crate::connection::{Address, begin};
use crate::database::{self, EXTENSION};
use crate::deployment::run;
use crate::failure::Result;
use crate::{seeding, stage};

/// The database of which the others are copies.
const FIRST: &str = "test_1";

/// The databases.
pub(crate) struct Copies {
    cluster: TemporaryCluster,
    /// The application's name.
    pub(crate) application: String,
    /// How they are reached.
    pub(crate) addresses: Vec<Address>,
    /// Milliseconds that a test may take.
    timeout: u128,
}

impl Copies {
    /// Deploys the folder, which has no tests, and copies what came of it, for each of the jobs.
    pub(crate) fn make(folder: Folder, options: &Test) -> Result<Copies> {
        let mut server = Options {
            stage: stage::of(options.stage.as_deref()),
            preload: Some(EXTENSION.to_owned()),
            ..Options::default()
        };
        // Nobody listens: requests are those of http.call.
        server = server.set("howdah.databases", "").set("synchronous_commit", "off");
        for (name, value) in &options.settings {
            server = server.set(name, value);
        }
        let cluster = TemporaryCluster::start(server)?;
        database::prepare(&cluster, FIRST)?;
        let manifest = folder.manifest.clone();
        let application = manifest.name.clone();
        let first = address(&cluster, FIRST)?;
        run::run_quietly(folder, &first)?;
        seeding::fill(&first, &options.app, &manifest, Some("test"), false)?;
        let mut addresses = vec![first];
        let mut administrator = database::connect(&cluster, "postgres")?;
        for number in 2..=options.jobs() {
            let name = format!("test_{number}");
            administrator.batch_execute(&format!("create database {name} template {FIRST}"))?;
            addresses.push(address(&cluster, &name)?);
        }
        Ok(Copies { cluster, application, addresses, timeout: options.timeout.as_millis() })
    }

    /// A session in which tests may run.
    pub(crate) fn connect(&self, address: &Address) -> Result<Client> {
        let mut client = address.connect()?;
        client.batch_execute(&format!("set statement_timeout = {}", self.timeout))?;
        Ok(client)
    }

    /// Ends whatever runs.
    pub(crate) fn cancel(&self) {
        let cancel = "select pg_terminate_backend(pid) from pg_stat_activity where datname like 'test\\_%'";
        // Whoever has pressed Ctrl-C looks at nothing else.
        let _ = database::connect(&self.cluster, "postgres").map(|mut client| client.batch_execute(cancel));
    }

    /// The application's routes, pages and query handlers, as its tests call them.
    pub(crate) fn routes(&self, application: &str) -> Result<Vec<String>> {
        let mut client = self.addresses[0].connect()?;
        let mut transaction = begin(&mut client)?;
        let rows = transaction.query(
            "select case when o.type <> 'route' then o.type || ' ' else '' end || pg_catalog.array_to_string(o.names, ' ')
             from deploy.object o where o.application = $1 and o.type in ('route', 'page', 'handler') order by 1",
            &[&application],
        )?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Ends the server and removes all of it.
    pub(crate) fn end(self) {
        drop(self.cluster);
    }
}

fn address(cluster: &TemporaryCluster, name: &str) -> Result<Address> {
    Address::local(&cluster.connection_string(name)?, name.to_owned(), "howdah test")
}
