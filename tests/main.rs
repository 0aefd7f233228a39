//! Tests against a real cluster, over real sockets.
//!
//! They are one program, which is built once. Those of `together` run at the same time, as many as `scripts/run-tests` says; those of
//! `alone` need most of the machine. A test waits for something, never for some time; `timing` has the bounds on time, which count
//! in `make test-timing`.
//!
//! One file alone: `make test-one ONE=together::errors`.

mod together {
    mod admission;
    mod admission_products;
    mod adoption;
    mod ambiguous_names;
    mod applications;
    mod argument_ways;
    mod arguments;
    mod caching;
    mod calls;
    mod changed_code;
    mod changes;
    mod commits;
    mod compressed_bodies;
    mod compression;
    mod contrib;
    mod cookies;
    mod databases;
    mod default_headers;
    mod deferred;
    mod deployed_kinds;
    mod deployment_attacks;
    mod deployment_takeovers;
    mod deployments;
    mod deployments_by_pooler;
    mod deployments_by_tls;
    mod deployments_of_many_routes;
    mod deployments_under_load;
    pub(crate) mod described;
    mod documentation;
    mod draining;
    mod drift;
    mod dump_and_upgrade;
    mod equal_answers;
    mod error_pages;
    mod errors;
    mod example;
    mod extremes;
    mod flash;
    mod forms;
    mod function_forms;
    mod guarded_writes;
    mod guards;
    mod handler_arms;
    mod histories;
    mod html;
    mod http2_conformance;
    mod https;
    mod https_by_others;
    mod https_clients;
    mod https_proxies;
    mod https_redirects;
    mod https_tickets;
    mod ignored_results;
    mod ingest_bad_lines;
    mod ingest_lines;
    mod ingest_tables;
    mod ingest_types;
    mod installation;
    mod isolation;
    mod job_alerts;
    mod job_cancels;
    mod job_changes;
    mod job_keys;
    mod job_places;
    mod job_suspects;
    mod jobs;
    mod kept_bodies;
    mod kept_types;
    mod kernel_limits;
    mod large_bodies;

    mod listeners;
    mod live;
    mod locks_of_others;
    mod log_floods;
    mod many_pages;
    mod moved_clocks;
    mod moving_literals;
    mod other_sites;
    mod out_of_memory;
    mod page_routes;
    mod pages;
    mod parsed_bodies;
    mod path_guards;
    mod plan_choice;
    mod plan_memory;
    mod printed_pages;
    mod protocols;
    mod proxies;
    mod query_handlers;
    mod queue_bounded;
    mod queue_compaction_crashes;
    mod queue_dead_letters;
    mod queue_dump;
    mod queue_failover;
    mod queue_foreign_rows;
    mod queue_http;
    mod queue_indexes;
    mod queue_large_letters;
    mod queue_lease_crashes;
    mod queue_like_pgmq;
    mod queue_messages;
    mod queue_old_transactions;
    mod queue_order;
    mod queue_poison;
    mod queue_producers;
    mod queue_receipts;
    mod queue_retries;
    mod queue_rights;
    mod queue_row_types;
    mod queue_shippers;
    mod queue_storage;
    mod queue_survivors;
    mod queue_take;
    mod queue_type_changes;
    mod queue_type_changes_within;
    mod queue_upkeep;
    mod queue_values;
    mod queue_waiting_rows;
    mod queue_wire;
    mod queue_wire_committed;
    mod queue_wire_crashes;
    mod queue_wire_faults;
    mod queue_wire_harmful;
    mod queue_wire_listeners;
    mod queue_wire_silence;
    mod queue_wire_tables;
    mod queue_wire_values;
    mod redeployed;
    mod refusals;
    mod registering;
    mod remembered;
    mod remembered_functions;
    mod request_inputs;
    mod rights_configuration;
    mod rights_dead_letters;
    mod rights_event_triggers;
    mod rights_left_behind;
    mod rights_of_compiled;
    mod rights_of_dictionaries;
    mod rights_of_expressions;
    mod rights_of_jobs;
    mod rights_of_plans;
    mod rights_of_requests;
    mod rights_page;
    mod rights_queues_by_name;
    mod rights_row_types;
    mod rights_temporary;
    mod role_changes;
    mod roles;
    mod route_places;
    mod route_shares;
    mod rows_as_json;
    mod schedules;
    mod secrets;
    mod seeds;
    mod settings;
    mod shared_transactions;
    mod sites_in_chromium;
    mod squash;
    mod standby;
    mod static_files;
    mod static_files_by_nginx;
    mod steps;
    mod taken_at_its_word;
    mod testing;
    mod tests_before;
    mod unconfirmed;
    mod unfolding;
    mod upgrades;
    mod validators;
    mod volatile_functions;
    mod what_is_gone;
    mod wrong_parameters;
}

mod alone {
    mod bad_input;
    mod cancel;
    mod clients_that_flood;
    mod deaths;
    mod handshakes;
    #[cfg(feature = "long")]
    mod interrupts;
    mod job_bounds;
    mod job_crashes;
    mod kept_memory;
    #[cfg(feature = "long")]
    mod many_databases;
    mod many_streams;
    #[cfg(feature = "long")]
    mod memory;
    mod observability;
    #[cfg(feature = "long")]
    mod panics;
    mod queue_bounds;
    mod queue_idle;
    mod queue_load;
    mod queue_pinned;
    mod queue_waiting;
    mod queue_wire_fairness;
    mod response_memory;
    mod route_limits;
    mod run_bips;
    mod runaway;
    mod slow_handlers;
    mod stalled_readers;
    mod supervisor;
    mod worker_slots;
}

mod timing;

/// Random attacks; `make hunt` lets them run for long.
mod hunts {
    mod by_hand;
    mod calls;
    mod cancels;
    mod crash;
    mod ddl;
    mod deployments;
    mod rights;
    mod row_types;
    mod versions;
}
