//! A cluster with queues, which serves nothing.

use cluster::postgres::{Client, SimpleQueryMessage};
use cluster::{Options, TemporaryCluster};

use crate::platform::SERVER_BEGAN;
use crate::templates::Contents;

/// A cluster whose database `postgres` has the extension, a row type `t_bip` and a queue `bips` of it.
pub struct Queues {
    /// The cluster; it ends with the value.
    pub cluster: TemporaryCluster,
}

/// The row type that tests use.
pub const BIP: &str = "create type t_bip as
    (uuid uuid, userid bigint, version int, timestamp_ms bigint, bip text, \"user\" text)";

impl Queues {
    /// A cluster with the default settings.
    pub fn start() -> Queues {
        Queues::with(&[])
    }

    /// A cluster with some settings.
    pub fn with(settings: &[(&str, &str)]) -> Queues {
        let queues = Queues::of(Contents::Queues, settings);
        queues.sql(&format!("{BIP}; select queue.create('bips', row_type => 't_bip')"));
        queues
    }

    /// A cluster without the extension.
    pub fn empty(settings: &[(&str, &str)]) -> Queues {
        Queues::of(Contents::Nothing, settings)
    }

    fn of(contents: Contents, settings: &[(&str, &str)]) -> Queues {
        let mut options = Options::default()
            .set("howdah.databases", "")
            .set("max_prepared_transactions", 10)
            .set("max_connections", 100);
        for (name, value) in settings {
            options = options.set(name, value);
        }
        Queues { cluster: contents.start(options) }
    }

    /// A session as superuser.
    pub fn session(&self) -> Client {
        self.cluster.connect("postgres").expect("a session")
    }

    /// Runs SQL in a session of its own.
    pub fn sql(&self, text: &str) {
        if let Err(error) = self.session().batch_execute(text) {
            panic!("{error:?}\n{text}");
        }
    }

    /// The one number that a query returns.
    pub fn number(&self, query: &str) -> i64 {
        number(&mut self.session(), query)
    }

    /// When the server has begun, or begun again after one of its processes has crashed.
    pub fn began(&self) -> String {
        self.session().query_one(SERVER_BEGAN, &[]).expect("a checkpointer").get(0)
    }

    /// The error of a statement, as text with its SQLSTATE, in a session of its own.
    pub fn error(&self, statement: &str) -> String {
        error(&mut self.session(), statement)
    }

    /// Puts rows whose userid is from `first` to `last`.
    pub fn put(&self, first: i64, last: i64) {
        put(&mut self.session(), first, last);
    }
}

/// The one number that a query returns.
pub fn number(session: &mut Client, query: &str) -> i64 {
    match session.query_one(query, &[]) {
        Ok(row) => row.get(0),
        Err(error) => panic!("{error:?}\n{query}"),
    }
}

/// The error of a statement, as text with its SQLSTATE.
pub fn error(session: &mut Client, statement: &str) -> String {
    let error = session.batch_execute(statement).expect_err(statement);
    let raised = error.as_db_error().expect("an error of the server");
    format!("{} {} {}", raised.code().code(), raised.message(), raised.hint().unwrap_or_default())
}

/// Puts rows whose userid is from `first` to `last`, as one batch.
pub fn put(session: &mut Client, first: i64, last: i64) {
    let statement = format!(
        "select queue.put('bips', array(
           select row(null, number, 1, 2, 'bip ' || number, 'user')::t_bip
           from generate_series({first}, {last}) number))"
    );
    session.batch_execute(&statement).unwrap_or_else(|error| panic!("{error:?}"));
}

/// Pages that a statement touches.
pub fn buffers(session: &mut Client, statement: &str) -> i64 {
    let query = format!("explain (analyze, buffers, format json) {statement}");
    let messages = session.simple_query(&query).unwrap();
    let text = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    let plan: serde_json::Value = serde_json::from_str(text.unwrap()).unwrap();
    let plan = &plan[0]["Plan"];
    ["Shared Hit Blocks", "Shared Read Blocks"].iter().filter_map(|key| plan[key].as_i64()).sum()
}

/// Takes rows; their userids.
pub fn take(session: &mut Client, count: i32) -> Vec<i64> {
    try_take(session, count).unwrap_or_else(|error| panic!("{error:?}"))
}

/// Takes rows; their userids, or the error.
pub fn try_take(session: &mut Client, count: i32) -> Result<Vec<i64>, cluster::postgres::Error> {
    let rows = session.query("select userid from queue.take('bips', $1, null::t_bip)", &[&count])?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// All userids from one to another, both included.
pub fn all(first: i64, last: i64) -> Vec<i64> {
    (first..=last).collect()
}

/// The userids in order.
pub fn sorted(mut taken: Vec<i64>) -> Vec<i64> {
    taken.sort_unstable();
    taken
}
