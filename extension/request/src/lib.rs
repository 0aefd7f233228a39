//! Running a request: the same for gateway and executor.
//!
//! [`runner`]: [`Runner::run`] finds what answers (a route, or the query handlers in their order: [`way`](mod@way)), runs it as its role in
//! a transaction, and leaves the response in its buffer. [`call`] does it in the transaction of a session; [`check`] asks
//! whether it could be done. Read in this order:
//!
//! - [`table`]: what is configured, compiled for this process; [`session::invalidations`] tells when it must be read again.
//! - [`routes`]: which of it answers, by method, path and `Accept`: a route, or the page beside it.
//! - [`endpoint`]: a route or a query handler; [`function`] with its [`inputs`], [`plan`] with [`make_plan`], [`stored_body`], [`called`], [`relation`],
//!   [`arms`], [`effects`], [`volatile`] and [`shape`]: from it to a cached plan; [`standing`]: whether that still stands for the function; [`author`]: whether its owner
//!   may answer for the route; [`ready`]: all of it together.
//! - [`admission`]: whose code may run in a gateway; [`product_calls`]: which calls may cost the product of two lengths.
//! - [`sources`], [`arguments`], [`bound_value`], [`json`] [`params`] and [`given`]: from the request to the plan's parameters; [`current`]: the request as SQL
//!   functions see it.
//! - [`plan_choice`]: plans that are made for each request and come out the same. [`plan_bound`]: which plans go when they are too many, by [`plan_memory`]. [`open`]: plans that stay open while requests share a transaction.
//! - [`receiver`]: from the rows to the response, with [`rows`] and [`body`] where they become JSON, and [`headers`].
//! - [`request_log`]: requests in the log. [`grants`]: which grant a refusal is about. [`proxies`]: whose a request is; [`other_site`]: whether a page of
//!   another site has sent it.
//! - [`apart`]: functions that run apart from requests: jobs. [`error_context`]: what runs, for errors.
//! - [`path_guards`]: functions that let requests pass first.
//! - [`error_pages`]: pages that browsers get in the place of an error's document.
//! - [`guard`]: writes that say what they are to find; [`guarded`]: whether they find it.
//! - [`reads`]: what an answer has read, with [`read_plans`] and [`read_inputs`]; [`read_functions`], [`plpgsql_plugin`] and [`pg::plpgsql_steps`]: what
//!   PL/pgSQL computes without a plan; [`fixed_functions`]: which functions change by commits alone; [`read_conversions`]: texts that mean another
//!   moment tomorrow; [`recording`]: what was noted so far.
//! - [`caching`]: what a route says of answers that are kept.
//! - [`secrets`]: those of a request, by [`secrecy`], which no message shows.
//! - [`static_files`]: files that clients get as they are; [`assets`]: their addresses.
//! - [`forms`]: forms, whose page is shown again where they refuse a request: [`form_again`], at its [`form_path`]; [`page_form`] and [`described_form`]: which rules their fields
//!   have. [`other_job`]: a request by the means of another.
//! - [`wrong_parameters`]: all that is wrong with what a request has given, with [`blame`], which column a constraint is about, and [`refused`], what a
//!   handler refuses.
//! - [`flash`]: messages that the next page shows.
//! - [`later`]: answers that wait for rows. [`types`]: the extension's own types.
//!
//! As whom and in what it runs is the business of `session`. This crate knows no sockets, queues or lines: who calls says where it
//! runs.

pub mod admission;
pub mod apart;
pub mod arguments;
mod arms;
pub mod assets;
pub mod author;
mod blame;
pub mod body;
pub mod bound_value;
pub mod caching;
pub mod call;
pub mod called;
pub mod check;
pub mod current;
pub mod described_form;
mod effects;
pub mod endpoint;
mod error_context;
pub mod error_pages;
mod execute;
mod fixed_functions;
pub mod flash;
mod form_again;
mod form_path;
pub mod forms;
pub mod function;
mod given;
mod grants;
mod guard;
mod guarded;
pub mod headers;
pub mod inputs;
pub mod json;
pub mod later;
pub mod make_plan;
mod mishap;
mod node_walk;
pub mod open;
mod other_job;
mod other_site;
mod packed_answer;
mod page_form;
pub mod params;
pub mod path_guards;
pub mod plan;
mod plan_bound;
mod plan_choice;
mod plan_memory;
mod plpgsql_plugin;
mod product_calls;
pub mod proxies;
mod read_conversions;
mod read_functions;
pub mod read_inputs;
mod read_literals;
mod read_plans;
mod read_types;
pub mod reads;
pub mod ready;
pub mod receiver;
pub mod recording;
pub mod refused;
pub mod relation;
mod request_log;
pub mod routes;
pub mod rows;
pub mod run;
pub mod runner;
pub mod secrecy;
mod secrets;
pub mod shape;
pub mod sources;
mod standing;
pub mod static_files;
mod stored_body;
pub mod table;
pub mod types;
mod unpacked_body;
mod volatile;
mod way;
mod wrong_parameters;

pub use request_log::log_request;
pub use routes::Way;
pub use runner::{Done, Runner, RunsIn};
pub use way::nothing_answers;
