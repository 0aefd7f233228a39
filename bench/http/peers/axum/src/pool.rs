//! Ten connections in deadpool-postgres, with its cache of prepared statements.

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod};
use tokio_postgres::NoTls;

use crate::database::{self, ADD_MESSAGE, CROWD_AFTER, Database, Error, FORTUNES, Fortune, PEOPLE_AFTER, Person, USER_NAME};

const CONNECTIONS: usize = 10;

/// A pool that checks a connection without a query when it is given back, as its documentation recommends.
#[derive(Clone)]
pub struct Pooled(Pool);

impl Pooled {
    /// Makes the pool; connections are opened when they are first needed.
    pub fn new() -> Result<Self, Error> {
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(database::config()?, NoTls, recycling);
        Ok(Pooled(Pool::builder(manager).max_size(CONNECTIONS).build()?))
    }
}

impl Database for Pooled {
    async fn user_name(&self, handle: &str) -> Result<Option<String>, Error> {
        let client = self.0.get().await?;
        let statement = client.prepare_cached(USER_NAME).await?;
        let row = client.query_opt(&statement, &[&handle]).await?;
        Ok(row.map(|row| row.get(0)))
    }

    async fn people_after(&self, id: i32) -> Result<Vec<Person>, Error> {
        let client = self.0.get().await?;
        let statement = client.prepare_cached(PEOPLE_AFTER).await?;
        let rows = client.query(&statement, &[&id]).await?;
        Ok(rows.iter().map(Person::from).collect())
    }

    async fn crowd_after(&self, id: i32) -> Result<Vec<Person>, Error> {
        let client = self.0.get().await?;
        let statement = client.prepare_cached(CROWD_AFTER).await?;
        let rows = client.query(&statement, &[&id]).await?;
        Ok(rows.iter().map(Person::from).collect())
    }

    async fn fortunes(&self) -> Result<Vec<Fortune>, Error> {
        let client = self.0.get().await?;
        let statement = client.prepare_cached(FORTUNES).await?;
        let rows = client.query(&statement, &[]).await?;
        Ok(rows.iter().map(Fortune::from).collect())
    }

    async fn add_message(&self, author: &str, body: &str) -> Result<(), Error> {
        let client = self.0.get().await?;
        let statement = client.prepare_cached(ADD_MESSAGE).await?;
        client.execute(&statement, &[&author, &body]).await?;
        Ok(())
    }
}
