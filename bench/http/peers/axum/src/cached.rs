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
    State(mut pages): State<Pages<D>>,
    Path(after): Path<i32>,
) -> Result<Response, Failure> {
    let key = format!("people:{after}");
    let kept: Option<Vec<u8>> = pages.redis.get(&key).await?;
    let page = match kept {
        Some(page) => page,
        None => {
            let page = serde_json::to_vec(&pages.database.people_after(after).await?)?;
            let () = pages.redis.set_ex(&key, &page, SECONDS).await?;
            page
        }
    };
    Ok(([(CONTENT_TYPE, "application/json")], Bytes::from(page)).into_response())
}
