//! What the settings that users may set do in a worker.
//!
//! A handler may set anything that a session may, and so may whoever stores settings for a role or a database. Most of it is
//! in force, and undone; this is where the rest is told apart. A setting that PostgreSQL has brought and that is not named here
//! is [`Class::Fixed`]: a version to come may have one more that ends a process. docs/roles.md has the same as a table.

use std::cell::OnceCell;
use std::ffi::{CStr, CString};

use pg::version::settings;
use pgrx::pg_sys::{self, GucContext, GucSource};

/// What becomes of a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// A handler's value counts until its request ends; that of a role or a database while its requests run.
    InForce,
    /// A handler's value counts until its request ends; one that is stored does not.
    OfRequest,
    /// Nothing in a worker reads it, so that setting it is allowed and does nothing; one that is stored is passed over.
    WithoutEffect,
    /// As it was when the worker began: a handler that sets it fails, one that is stored is passed over.
    Fixed,
}

/// What becomes of the setting of this name.
pub(crate) fn class(name: &str) -> Class {
    let is = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    // Those of extensions are theirs; PostgreSQL undoes them as it does its own.
    if is(IN_FORCE) || name.contains('.') {
        Class::InForce
    } else if is(OF_REQUEST) {
        Class::OfRequest
    } else if is(WITHOUT_EFFECT) {
        Class::WithoutEffect
    } else {
        Class::Fixed
    }
}

/// Those that one request decides on, or its route: a transaction has begun when a handler runs, and the search_path is the one
/// that the route was registered with.
const OF_REQUEST: &[&str] =
    &["search_path", "seed", "transaction_deferrable", "transaction_isolation", "transaction_read_only"];

/// Those that PostgreSQL reads at the start of a session, of a statement that a client has sent, or while it waits for one.
const WITHOUT_EFFECT: &[&str] = &[
    "client_connection_check_interval",
    "client_min_messages",
    "idle_in_transaction_session_timeout",
    "idle_session_timeout",
    "ignore_system_indexes",
    "jit_debugging_support",
    "jit_profiling_support",
    "local_preload_libraries",
    "log_connections",
    "log_disconnections",
    "log_duration",
    "log_min_duration_sample",
    "log_min_duration_statement",
    "log_parameter_max_length",
    "log_replication_commands",
    "log_statement",
    "log_statement_sample_rate",
    "log_transaction_sample_rate",
    "post_auth_delay",
    "session_preload_libraries",
    "ssl_renegotiation_limit",
    "tcp_keepalives_count",
    "tcp_keepalives_idle",
    "tcp_keepalives_interval",
    "tcp_user_timeout",
    "wal_sender_timeout",
];

/// What a worker does with these whoever sets them, the configuration's file included: the first two end the process.
const FIXED: [(&CStr, &CStr); 2] = [(c"exit_on_error", c"off"), (c"transaction_timeout", c"0")];

#[rustfmt::skip]
const IN_FORCE: &[&str] = &[
    "allow_in_place_tablespaces", "allow_system_table_mods", "application_name", "array_nulls", "backend_flush_after",
    "backslash_quote", "backtrace_functions", "bytea_output", "check_function_bodies", "commit_delay", "commit_siblings",
    "composite_type_mismatch", "compute_query_id", "constraint_exclusion", "cpu_index_tuple_cost", "cpu_operator_cost", "cpu_tuple_cost",
    "createrole_self_grant", "cursor_tuple_fraction", "DateStyle", "deadlock_timeout", "debug_copy_parse_plan_trees",
    "debug_deadlocks", "debug_discard_caches", "debug_logical_replication_streaming", "debug_parallel_query",
    "debug_pretty_print", "debug_print_parse", "debug_print_plan", "debug_print_rewritten",
    "debug_raw_expression_coverage_test", "debug_write_read_parse_plan_trees", "default_statistics_target",
    "default_table_access_method", "default_tablespace", "default_text_search_config", "default_toast_compression",
    "default_transaction_deferrable", "default_transaction_isolation", "default_transaction_read_only",
    "default_with_oids", "dynamic_library_path", "effective_cache_size", "effective_io_concurrency",
    "enable_async_append", "enable_bitmapscan", "enable_distinct_reordering", "enable_gathermerge",
    "enable_group_by_reordering", "enable_hashagg", "enable_hashjoin", "enable_incremental_sort",
    "enable_indexonlyscan", "enable_indexscan", "enable_material", "enable_memoize", "enable_mergejoin",
    "enable_nestloop", "enable_parallel_append", "enable_parallel_hash", "enable_partition_pruning",
    "enable_partitionwise_aggregate", "enable_partitionwise_join", "enable_presorted_aggregate",
    "enable_self_join_elimination", "enable_seqscan", "enable_sort", "enable_tidscan", "escape_string_warning",
    "event_triggers", "extension_control_path", "extension_destdir", "extra_float_digits", "file_copy_method", "force_parallel_mode",
    "from_collapse_limit", "geqo", "geqo_effort", "geqo_generations", "geqo_pool_size", "geqo_seed",
    "geqo_selection_bias", "geqo_threshold", "gin_fuzzy_search_limit", "gin_pending_list_limit",
    "hash_mem_multiplier", "icu_validation_level", "ignore_checksum_failure", "IntervalStyle", "io_combine_limit",
    "jit", "jit_above_cost", "jit_dump_bitcode", "jit_expressions", "jit_inline_above_cost",
    "jit_optimize_above_cost", "jit_tuple_deforming", "join_collapse_limit", "lc_messages", "lc_monetary",
    "lc_numeric", "lc_time", "lo_compat_privileges", "lock_timeout", "log_btree_build_stats", "log_error_verbosity",
    "log_executor_stats", "log_lock_failures", "log_lock_waits", "log_min_error_statement", "log_min_messages",
    "log_parameter_max_length_on_error", "log_parser_stats", "log_planner_stats", "log_statement_stats",
    "log_temp_files", "logical_decoding_work_mem", "maintenance_io_concurrency", "maintenance_work_mem",
    "max_parallel_maintenance_workers", "max_parallel_workers", "max_parallel_workers_per_gather",
    "max_stack_depth", "md5_password_warnings", "min_parallel_index_scan_size", "min_parallel_table_scan_size",
    "optimize_bounded_sort", "output_plugin_libraries", "parallel_leader_participation", "parallel_setup_cost", "parallel_tuple_cost",
    "password_encryption", "plan_cache_mode", "quote_all_identifiers", "random_page_cost",
    "recursive_worktable_factor", "restrict_nonsystem_relation_kind", "row_security", "scram_iterations",
    "seq_page_cost", "session_replication_role", "standard_conforming_strings", "statement_timeout",
    "stats_fetch_consistency", "synchronize_seqscans", "synchronous_commit", "temp_file_limit", "temp_tablespaces",
    "TimeZone", "timezone_abbreviations", "trace_lock_oidmin", "trace_lock_table", "trace_locks", "trace_lwlocks",
    "trace_notify", "trace_sort", "trace_syncscan", "trace_userlocks", "track_activities",
    "track_cost_delay_timing", "track_counts", "track_functions", "track_io_timing", "track_wal_io_timing",
    "transform_null_equals", "update_process_title", "vacuum_buffer_usage_limit", "vacuum_cost_delay",
    "vacuum_cost_limit", "vacuum_cost_page_dirty", "vacuum_cost_page_hit", "vacuum_cost_page_miss",
    "vacuum_failsafe_age", "vacuum_freeze_min_age", "vacuum_freeze_table_age",
    "vacuum_max_eager_freeze_failure_rate", "vacuum_multixact_failsafe_age", "vacuum_multixact_freeze_min_age",
    "vacuum_multixact_freeze_table_age", "vacuum_truncate", "wal_compression", "wal_consistency_checking",
    "wal_debug", "wal_init_zero", "wal_recycle", "wal_skip_threshold", "work_mem", "xmlbinary", "xmloption",
    "zero_damaged_pages",
];

/// Those by which PostgreSQL reads and writes texts, and finds names, while it analyses and plans: constants in plans are of them.
#[rustfmt::skip]
const MEANINGS: &[&str] = &[
    "array_nulls", "backslash_quote", "bytea_output", "DateStyle", "default_text_search_config", "extra_float_digits",
    "IntervalStyle", "lc_monetary", "lc_numeric", "lc_time", "quote_all_identifiers", "search_path", "standard_conforming_strings",
    "TimeZone", "timezone_abbreviations", "transform_null_equals", "xmlbinary", "xmloption",
];

thread_local! {
    /// [`MEANINGS`] in PostgreSQL's own table, whose entries stay where they are.
    static MEANINGS_OF_PROCESS: OnceCell<Vec<*mut pg_sys::config_generic>> = const { OnceCell::new() };
}

/// Whether the transaction has changed what texts or names mean, and has not undone it yet.
pub(crate) fn have_changed_meanings() -> bool {
    MEANINGS_OF_PROCESS.with(|known| {
        let known = known.get_or_init(|| {
            let is_one = |setting: &*mut pg_sys::config_generic| {
                // SAFETY: an entry of PostgreSQL's own table; names end with NUL.
                let name = unsafe { CStr::from_ptr((**setting).name) };
                MEANINGS.iter().any(|one| one.as_bytes().eq_ignore_ascii_case(name.to_bytes()))
            };
            settings().into_iter().filter(is_one).collect()
        });
        // SAFETY: as above. What it was before is kept until the transaction ends.
        known.iter().any(|setting| unsafe { !(**setting).stack.is_null() })
    })
}

/// Names of the settings that the connection has brought, of [`Class::InForce`]: those of the database and of the role that the worker
/// has connected as, as they were stored then. PostgreSQL keeps them for as long as the process lives.
pub(crate) fn brought() -> Vec<CString> {
    in_force(|setting| {
        use GucSource::{PGC_S_DATABASE, PGC_S_DATABASE_USER, PGC_S_GLOBAL, PGC_S_USER};
        let source = setting.reset_source;
        matches!(source, PGC_S_GLOBAL | PGC_S_DATABASE | PGC_S_USER | PGC_S_DATABASE_USER)
    })
}

/// Names of the settings, of [`Class::InForce`], that have another source in this session than the server's configuration: its role,
/// its database, its client, or itself.
pub(crate) fn of_session() -> Vec<CString> {
    in_force(|setting| setting.source > GucSource::PGC_S_ARGV)
}

/// Names of the settings of [`Class::InForce`] of which `is_one` says so.
fn in_force(is_one: impl Fn(&pg_sys::config_generic) -> bool) -> Vec<CString> {
    // SAFETY: entries of PostgreSQL's own table; names end with NUL.
    let names = settings().into_iter().filter(|setting| unsafe { is_one(&**setting) });
    // SAFETY: as above.
    let names = names.map(|setting| unsafe { CStr::from_ptr((*setting).name) });
    names.filter(|name| class(&name.to_string_lossy()) == Class::InForce).map(CStr::to_owned).collect()
}

/// Takes from this process what lets anybody become another role: code that runs here as one stays that, whoever the session's user is.
pub fn keep_role() {
    for setting in settings() {
        // SAFETY: an entry of PostgreSQL's own table, which this process has for itself; names end with NUL.
        unsafe {
            if [c"role", c"session_authorization"].contains(&CStr::from_ptr((*setting).name)) {
                (*setting).context = GucContext::PGC_BACKEND;
            }
        }
    }
}

/// Takes from this process what lets anybody change a setting of [`Class::Fixed`]: from here on it can be set no later than
/// those that belong to the start of a connection. Called once in each worker, before it connects: databases store settings,
/// too.
pub fn fix() {
    for setting in settings() {
        // SAFETY: an entry of PostgreSQL's own table, which this process has for itself; names end with NUL.
        unsafe {
            let may_be_set = matches!((*setting).context, GucContext::PGC_USERSET | GucContext::PGC_SUSET);
            let name = CStr::from_ptr((*setting).name);
            if !may_be_set || class(&name.to_string_lossy()) != Class::Fixed {
                continue;
            }
            (*setting).context = GucContext::PGC_BACKEND;
            if let Some((_, value)) = FIXED.iter().find(|(fixed, _)| *fixed == name) {
                let (context, source) = (GucContext::PGC_BACKEND, GucSource::PGC_S_OVERRIDE);
                pg_sys::SetConfigOption(name.as_ptr(), value.as_ptr(), context, source);
            }
        }
    }
}
