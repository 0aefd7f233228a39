//! The statements of the benchmark's pages.

use std::env;
use std::future::Future;

use chrono::{DateTime, Utc};
use serde::Serialize;
use tokio_postgres::{Config, Row};

/// Finds the name that belongs to a handle.
pub const USER_NAME: &str = "select name from users where handle = $1";
/// Reads a page of people.
pub const PEOPLE_AFTER: &str = "select id, handle, name, email, age, score, active, created_at, bio
    from people where id > $1 order by id limit 20";
/// Reads as many people as make 20 kB of JSON.
pub const CROWD_AFTER: &str = "select id, handle, name, email, age, score, active, created_at, bio
    from people where id > $1 order by id limit 110";
/// Stores one message.
pub const ADD_MESSAGE: &str = "insert into messages (author, body) values ($1, $2)";

/// Reads all fortunes.
pub const FORTUNES: &str = "select id, message from fortune";

/// What can go wrong between a page and PostgreSQL.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// A row of `people`.
#[derive(Serialize)]
pub struct Person {
    id: i32,
    handle: String,
    name: String,
    email: String,
    age: i32,
    score: f64,
    active: bool,
    created_at: DateTime<Utc>,
    bio: Option<String>,
}

impl From<&Row> for Person {
    fn from(row: &Row) -> Self {
        Person {
            id: row.get(0),
            handle: row.get(1),
            name: row.get(2),
            email: row.get(3),
            age: row.get(4),
            score: row.get(5),
            active: row.get(6),
            created_at: row.get(7),
            bio: row.get(8),
        }
    }
}

/// A row of `fortune`.
pub struct Fortune {
    /// Its number.
    pub id: i32,
    /// What it says.
    pub message: String,
}

impl From<&Row> for Fortune {
    fn from(row: &Row) -> Self {
        Fortune { id: row.get(0), message: row.get(1) }
    }
}

/// A way to reach PostgreSQL.
pub trait Database: Clone + Send + Sync + 'static {
    /// The name that belongs to `handle`.
    fn user_name(&self, handle: &str) -> impl Future<Output = Result<Option<String>, Error>> + Send;
    /// The twenty people after `id`.
    fn people_after(&self, id: i32) -> impl Future<Output = Result<Vec<Person>, Error>> + Send;
    /// The hundred and ten people after `id`.
    fn crowd_after(&self, id: i32) -> impl Future<Output = Result<Vec<Person>, Error>> + Send;
    /// All fortunes.
    fn fortunes(&self) -> impl Future<Output = Result<Vec<Fortune>, Error>> + Send;
    /// Stores a message; it is committed when this returns.
    fn add_message(&self, author: &str, body: &str) -> impl Future<Output = Result<(), Error>> + Send;
}

/// Where PostgreSQL is, from the variables that libpq reads. A `PGHOST` that begins with a slash is the folder of a
/// UNIX socket.
pub fn config() -> Result<Config, Error> {
    let mut config = Config::new();
    config
        .host(env::var("PGHOST")?)
        .port(env::var("PGPORT")?.parse()?)
        .user(env::var("PGUSER")?)
        .dbname(env::var("PGDATABASE")?);
    Ok(config)
}
