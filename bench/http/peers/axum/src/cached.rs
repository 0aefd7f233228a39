//! The page of people by way of Redis: what is there is answered, what is not is asked of PostgreSQL and kept for [`SECONDS`].

use std::env;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use redis::AsyncCommands;
use redis::aio::MultiplexedConnection;

use crate::database::{Database, Error};
use crate::routes::Failure;

/// How long a page is kept: nobody tells Redis what a commit changes.
const SECONDS: u64 = 1;

#[derive(Clone)]
struct Pages<D> {
    database: D,
    redis: MultiplexedConnection,
}

/// The page over a database, with one connection to the Redis that `REDIS` names, as `redis+unix:///folder/socket`.
pub async fn routes<D: Database>(database: D) -> Result<Router, Error> {
    let redis = redis::Client::open(env::var("REDIS")?)?.get_multiplexed_async_connection().await?;
    Ok(Router::new().route("/people/{after}", get(people::<D>)).with_state(Pages { database, redis }))
}

async fn people<D: Database>(
    State(pages): State<Pages<D>>,
    Path(after): Path<i32>,
) -> Result<Response, Failure> {
    let page = pages.people_after(after).await?;
    Ok(([(CONTENT_TYPE, "application/json")], Bytes::from(page)).into_response())
}

impl<D: Database> Pages<D> {
    async fn people_after(mut self, id: i32) -> Result<Vec<u8>, Error> {
        let key = format!("people:{id}");
        if let Some(page) = self.redis.get(&key).await? {
            return Ok(page);
        }
        let page = serde_json::to_vec(&self.database.people_after(id).await?)?;
        let () = self.redis.set_ex(&key, &page, SECONDS).await?;
        Ok(page)
    }
}
