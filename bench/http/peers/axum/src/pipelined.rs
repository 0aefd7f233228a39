//! One connection for all requests, with prepared statements.

use std::sync::Arc;

use tokio_postgres::{Client, NoTls, Statement};

use crate::database::{self, ADD_MESSAGE, CROWD_AFTER, Database, Error, FORTUNES, Fortune, PEOPLE_AFTER, Person, USER_NAME};

/// One client; tokio-postgres sends queries that are polled at the same time without waiting in between.
#[derive(Clone)]
pub struct Pipelined(Arc<Prepared>);

struct Prepared {
    client: Client,
    user_name: Statement,
    people_after: Statement,
    crowd_after: Statement,
    fortunes: Statement,
    add_message: Statement,
}

impl Pipelined {
    /// Connects and prepares. The connection runs as a task of the current runtime.
    pub async fn connect() -> Result<Self, Error> {
        let (client, connection) = database::config()?.connect(NoTls).await?;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                eprintln!("the connection to PostgreSQL ended: {error}");
            }
        });
        let user_name = client.prepare(USER_NAME).await?;
        let people_after = client.prepare(PEOPLE_AFTER).await?;
        let crowd_after = client.prepare(CROWD_AFTER).await?;
        let fortunes = client.prepare(FORTUNES).await?;
        let add_message = client.prepare(ADD_MESSAGE).await?;
        Ok(Pipelined(Arc::new(Prepared { client, user_name, people_after, crowd_after, fortunes, add_message })))
    }
}

impl Database for Pipelined {
    async fn user_name(&self, handle: &str) -> Result<Option<String>, Error> {
        let row = self.0.client.query_opt(&self.0.user_name, &[&handle]).await?;
        Ok(row.map(|row| row.get(0)))
    }

    async fn people_after(&self, id: i32) -> Result<Vec<Person>, Error> {
        let rows = self.0.client.query(&self.0.people_after, &[&id]).await?;
        Ok(rows.iter().map(Person::from).collect())
    }

    async fn crowd_after(&self, id: i32) -> Result<Vec<Person>, Error> {
        let rows = self.0.client.query(&self.0.crowd_after, &[&id]).await?;
        Ok(rows.iter().map(Person::from).collect())
    }

    async fn fortunes(&self) -> Result<Vec<Fortune>, Error> {
        let rows = self.0.client.query(&self.0.fortunes, &[]).await?;
        Ok(rows.iter().map(Fortune::from).collect())
    }

    async fn add_message(&self, author: &str, body: &str) -> Result<(), Error> {
        self.0.client.execute(&self.0.add_message, &[&author, &body]).await?;
        Ok(())
    }
}
