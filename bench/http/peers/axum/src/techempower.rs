//! TechEmpower's tests, as the axum entry of its repository with tokio-postgres answers them: one connection to PostgreSQL whose queries
//! are sent without waiting in between, and hyper without an upgrade of connections, which writes answers to several requests at once.

use std::sync::Arc;

use askama::Template;
use axum::Json;
use axum::Router;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use futures::TryStreamExt;
use futures::stream::FuturesUnordered;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use quick_cache::sync::Cache;
use rand::Rng;
use serde::{Deserialize, Serialize};
use tokio_postgres::{Client, NoTls, Statement};
use tower::Service;

use crate::database::{self, Error, FORTUNES, Fortune};
use crate::routes::{Failure, Fortunes};
use crate::serve::listen;

/// Rows of the table `world`.
const WORLDS: i32 = 10_000;
const WORLD: &str = "select id, randomnumber from world where id = $1 limit 1";
const ALL_WORLDS: &str = "select id, randomnumber from world order by id";
const UPDATE_WORLDS: &str = "update world set randomnumber = new.rnum from
    (select * from unnest($1::int[], $2::int[]) as v(id, rnum) order by 1) as new
    where world.id = new.id";

#[derive(Clone, Copy, Serialize)]
struct World {
    id: i32,
    #[serde(rename = "randomNumber")]
    random_number: i32,
}

#[derive(Serialize)]
struct Greeting {
    message: &'static str,
}

/// How many rows somebody asks for, whatever they write: 1 to 500.
#[derive(Deserialize)]
struct Count {
    #[serde(alias = "queries", alias = "count")]
    count: Option<String>,
}

impl Count {
    fn get(&self) -> usize {
        let count = self.count.as_ref().and_then(|count| count.parse::<i64>().ok()).unwrap_or(1);
        count.clamp(1, 500) as usize
    }
}

struct Worlds {
    client: Client,
    world: Statement,
    fortunes: Statement,
    update: Statement,
    cached: Cache<i32, World>,
}

impl Worlds {
    async fn connect() -> Result<Arc<Self>, Error> {
        let (client, connection) = database::config()?.connect(NoTls).await?;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                eprintln!("the connection to PostgreSQL ended: {error}");
            }
        });
        let world = client.prepare(WORLD).await?;
        let fortunes = client.prepare(FORTUNES).await?;
        let update = client.prepare(UPDATE_WORLDS).await?;
        let cached = Cache::new(WORLDS as usize * 2);
        for row in client.query(ALL_WORLDS, &[]).await? {
            cached.insert(row.get(0), World { id: row.get(0), random_number: row.get(1) });
        }
        Ok(Arc::new(Worlds { client, world, fortunes, update, cached }))
    }

    async fn one(&self, id: i32) -> Result<World, Error> {
        let row = self.client.query_one(&self.world, &[&id]).await?;
        Ok(World { id: row.get(0), random_number: row.get(1) })
    }

    async fn random(&self, count: usize) -> Result<Vec<World>, Error> {
        let asked: FuturesUnordered<_> = (0..count).map(|_| self.one(random_id())).collect();
        asked.try_collect().await
    }
}

fn random_id() -> i32 {
    rand::rng().random_range(1..=WORLDS)
}

/// Serves all tests on the port that `PORT` names until the process ends.
pub async fn serve() -> Result<(), Error> {
    let routes = Router::new()
        .route("/json", get(json))
        .route("/plaintext", get(plaintext))
        .route("/db", get(db))
        .route("/queries", get(queries))
        .route("/fortunes", get(fortunes))
        .route("/updates", post(updates))
        .route("/cached-queries", get(cached_queries))
        .with_state(Worlds::connect().await?);
    let listener = listen()?;
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let routes = routes.clone();
        tokio::spawn(async move {
            let service = hyper::service::service_fn(move |request: Request<Incoming>| {
                let answer = routes.clone().call(request);
                async move {
                    let mut answer = answer.await?;
                    answer.headers_mut().insert(header::SERVER, HeaderValue::from_static("Axum"));
                    Ok::<_, std::convert::Infallible>(answer)
                }
            });
            // Whoever closes a connection ends it.
            let _ = http1::Builder::new()
                .pipeline_flush(true)
                .serve_connection(TokioIo::new(socket), service)
                .await;
        });
    }
}

async fn json() -> impl IntoResponse {
    Json(Greeting { message: "Hello, World!" })
}

async fn plaintext() -> &'static str {
    "Hello, World!"
}

async fn db(State(worlds): State<Arc<Worlds>>) -> Result<Response, Failure> {
    Ok(Json(worlds.one(random_id()).await?).into_response())
}

async fn queries(State(worlds): State<Arc<Worlds>>, count: Query<Count>) -> Result<Response, Failure> {
    Ok(Json(worlds.random(count.get()).await?).into_response())
}

async fn updates(State(worlds): State<Arc<Worlds>>, count: Query<Count>) -> Result<Response, Failure> {
    let mut changed = worlds.random(count.get()).await?;
    changed.iter_mut().for_each(|world| world.random_number = random_id());
    let (ids, numbers): (Vec<_>, Vec<_>) =
        changed.iter().map(|world| (world.id, world.random_number)).unzip();
    worlds.client.execute(&worlds.update, &[&ids, &numbers]).await.map_err(Error::from)?;
    Ok(Json(changed).into_response())
}

async fn cached_queries(State(worlds): State<Arc<Worlds>>, count: Query<Count>) -> impl IntoResponse {
    Json((0..count.get()).filter_map(|_| worlds.cached.get(&random_id())).collect::<Vec<_>>())
}

async fn fortunes(State(worlds): State<Arc<Worlds>>) -> Result<Response, Failure> {
    let rows = worlds.client.query(&worlds.fortunes, &[]).await.map_err(Error::from)?;
    let mut fortunes: Vec<_> = rows.iter().map(Fortune::from).collect();
    fortunes.push(Fortune { id: 0, message: "Additional fortune added at request time.".into() });
    fortunes.sort_unstable_by(|one, other| one.message.cmp(&other.message));
    Ok(Html(Fortunes { fortunes }.render().map_err(Error::from)?).into_response())
}
