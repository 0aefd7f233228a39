//! The pages.

use askama::Template;
use axum::extract::{Form, OriginalUri, Path, State};
use axum::http::{Method, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tower_http::compression::CompressionLayer;

use crate::database::{Database, Error, Fortune};

/// All pages, over one way to reach PostgreSQL.
pub fn routes<D: Database>(database: D) -> Router {
    Router::new()
        .route("/users/{handle}", get(user::<D>))
        .route("/people/{after}", get(people::<D>))
        .route("/crowd/{after}", get(crowd::<D>).layer(CompressionLayer::new()))
        .route("/fortunes", get(fortunes::<D>))
        .route("/messages", post(message::<D>))
        .fallback(not_found)
        .with_state(database)
}

async fn user<D: Database>(
    State(database): State<D>,
    Path(handle): Path<String>,
    method: Method,
    uri: OriginalUri,
) -> Result<Response, Failure> {
    Ok(match database.user_name(&handle).await? {
        Some(name) => Html(format!("Hello, <b>{name}</b>!")).into_response(),
        None => not_found(method, uri).await.into_response(),
    })
}

async fn people<D: Database>(State(database): State<D>, Path(after): Path<i32>) -> Result<Response, Failure> {
    Ok(Json(database.people_after(after).await?).into_response())
}

/// Packed as its client takes it.
async fn crowd<D: Database>(State(database): State<D>, Path(after): Path<i32>) -> Result<Response, Failure> {
    Ok(Json(database.crowd_after(after).await?).into_response())
}

/// The page of all fortunes.
#[derive(Template)]
#[template(path = "fortunes.html")]
pub(crate) struct Fortunes {
    pub(crate) fortunes: Vec<Fortune>,
}

async fn fortunes<D: Database>(State(database): State<D>) -> Result<Response, Failure> {
    let mut fortunes = database.fortunes().await?;
    fortunes.push(Fortune { id: 0, message: "Additional fortune added at request time.".into() });
    fortunes.sort_unstable_by(|one, other| one.message.cmp(&other.message));
    let page = Fortunes { fortunes }.render().map_err(|error| Failure(error.into()))?;
    Ok(Html(page).into_response())
}

#[derive(Deserialize)]
struct Message {
    author: String,
    body: String,
}

async fn message<D: Database>(
    State(database): State<D>,
    Form(message): Form<Message>,
) -> Result<StatusCode, Failure> {
    database.add_message(&message.author, &message.body).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Serialize)]
struct NotFound {
    method: String,
    path: String,
    query_string: Option<String>,
}

async fn not_found(method: Method, OriginalUri(uri): OriginalUri) -> impl IntoResponse {
    let answer = NotFound {
        method: method.to_string(),
        path: uri.path().to_owned(),
        query_string: uri.query().map(str::to_owned),
    };
    (StatusCode::NOT_FOUND, Json(answer))
}

/// An error of PostgreSQL, of the pool or of Redis, answered with 500.
pub(crate) struct Failure(Error);

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure(error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (StatusCode::INTERNAL_SERVER_ERROR, self.0.to_string()).into_response()
    }
}
