//! Every bound on time that an end-to-end test has.
//!
//! A bound says how quick something is, and that can be told on a machine that does nothing else. So `make test-timing`
//! runs the tests that have one alone, three times at most, and the bound holds if it holds once. Elsewhere, beside other tests
//! and on any machine, the same test shows that what it times ends at all.

use std::env;
use std::time::Duration;

/// What takes longer hangs.
pub const HANGS: Duration = Duration::from_secs(60);

/// The environment variable with which bounds count.
pub const COUNTS: &str = "HOWDAH_TIMING";

/// A bound on time.
#[derive(Debug)]
pub struct Bound {
    /// What is quick.
    pub what: &'static str,
    /// How quick.
    pub limit: Duration,
    /// The tests that check it.
    pub tests: &'static [&'static str],
}

impl Bound {
    /// Asserts that it took no longer.
    #[track_caller]
    pub fn check(&self, took: Duration) {
        self.check_beside(took, Duration::ZERO);
    }

    /// Asserts that it took no longer, without the time for which the whole machine stood still.
    #[track_caller]
    pub fn check_beside(&self, took: Duration, stalled: Duration) {
        self.check_against(took, self.limit + stalled);
    }

    /// Asserts that it took no longer than what was measured, or computed, just now.
    #[track_caller]
    pub fn check_against(&self, took: Duration, limit: Duration) {
        let what = self.what.trim();
        if !counts() {
            assert!(took < HANGS.max(limit), "{what}: it took {took:?}");
            return;
        }
        println!("bound: {what}: {took:?} of {limit:?}");
        assert!(took < limit, "{what}: it took {took:?}; the bound is {limit:?}");
    }
}

/// Whether bounds count: time is measured.
pub fn counts() -> bool {
    env::var_os(COUNTS).is_some()
}

macro_rules! bounds {
    ($(#[doc = $what:literal] $name:ident: $millis:literal ms, $($tests:literal),*;)*) => {
        $(#[doc = $what] pub static $name: Bound =
            Bound { what: $what, limit: Duration::from_millis($millis), tests: &[$($tests),*] };)*
        /// All of them.
        pub static ALL: &[&Bound] = &[$(&$name),*];
    };
}

bounds! {
    /// What a thousand relations cost their commit, that it changes or that as many writers change at once.
    COMMIT_OF_RELATIONS: 2 ms,
        "together::commits::a_commit_pays_little_for_each_relation_that_it_has_changed",
        "together::commits::many_writers_of_one_relation_pay_little_for_counting_it";
    /// A thousand requests to a route whose answers cannot be kept, against as many without `http.cache`.
    NOT_KEPT: 1000 ms,
        "together::caching::a_route_that_cannot_be_kept_is_as_fast_as_one_that_is_not_to_be";
    /// Half of the requests beside eight clients that ask for a kept answer of 20 MB again and again, by HEAD.
    BESIDE_KEPT_HEADS: 20 ms,
        "together::kept_bodies::a_large_answer_that_is_kept_keeps_nobody_waiting";
    /// A request while somebody locks the catalogs.
    CATALOG_LOCKED: 500 ms,
        "together::locks_of_others::an_executor_goes_on_with_the_settings_that_it_knows",
        "together::locks_of_others::a_gateway_goes_on_with_the_settings_that_it_knows",
        "together::locks_of_others::an_executor_goes_on_with_the_routes_that_it_knows",
        "together::locks_of_others::a_gateway_goes_on_with_the_routes_that_it_knows";
    /// A request while somebody locks the routes.
    ROUTES_LOCKED: 250 ms,
        "together::changes::a_gateway_goes_on_while_somebody_holds_the_table_of_routes";
    /// A request beside a thousand handshakes of TLS a second, of a hundred the longest but one, of three times what it takes alone.
    BESIDE_HANDSHAKES: 50 ms,
        "alone::handshakes::a_flood_of_handshakes_keeps_requests_waiting_no_longer_than_a_few_times";
    /// The stop of a server whose lines cannot be written.
    STOP_WITH_LINES: 8000 ms,
        "together::queue_wire_faults::a_server_that_stops_waits_no_longer_than_it_may_for_lines_that_cannot_be_stored";
    /// A request while lines wait for a lock.
    REQUEST_BESIDE_BLOCKED_LINES: 2000 ms,
        "together::queue_wire_faults::requests_are_served_beside_buckets_that_wait";
    /// A request beside floods that are held back.
    REQUEST_BESIDE_HELD_FLOODS: 1000 ms,
        "together::queue_wire_faults::stalls_and_floods_cost_bounded_memory_and_delay_nobody";
    /// Half of the requests beside a flood.
    REQUEST_BESIDE_FLOOD: 100 ms,
        "together::queue_wire_faults::requests_are_served_beside_a_flood";
    /// A hello and a line beside silent connections.
    HELLO_BESIDE_SILENCE: 5000 ms,
        "together::queue_wire_silence::a_producer_gets_in_beside_any_number_of_silent_connections";
    /// The end of a connection that says nothing for half a second.
    SILENCE_ENDS: 10000 ms,
        "together::queue_wire_silence::who_says_nothing_for_long_is_closed_and_an_old_producer_is_not";
    /// Twenty lines beside producers that are busy elsewhere.
    LINES_BESIDE_BUSY_PRODUCERS: 10000 ms,
        "together::queue_producers::connections_of_one_producer_hold_one_executor";
    /// A take or read among sixteen consumers.
    TAKE_AMONG_CONSUMERS: 5000 ms,
        "together::queue_take::sixteen_consumers_get_each_row_once_and_never_wait_for_each_other",
        "together::queue_take::sixteen_that_lease_get_each_row_once_and_never_wait_for_each_other";
    /// A session that waits hears of a message.
    POLL_IS_WOKEN: 500 ms,
        "together::queue_messages::a_commit_wakes_who_waits_for_messages";
    /// A session that waits hears of a lease of a second that ends.
    POLL_SEES_A_LEASE_END: 5000 ms,
        "together::queue_messages::a_commit_wakes_who_waits_for_messages";
    /// A session that waits behind messages of another kind hears of its own.
    POLL_AFTER_POP: 15000 ms,
        "together::queue_messages::a_lease_that_ends_wakes_who_waits_for_a_condition_whatever_became_of_messages_before_it";
    /// Listeners follow howdah.listen_addresses.
    LISTENER_FOLLOWS: 1000 ms,
        "together::listeners::an_address_that_the_gateways_themselves_had_is_bound_at_once";
    /// What runs is cut off 300 ms after its listener went.
    UNLISTEN_CUTS_OFF: 3000 ms,
        "together::listeners::what_runs_is_finished_within_the_drain_timeout";
    /// A database is served once its prepared extension is committed.
    PREPARED_EXTENSION: 3000 ms,
        "together::databases::what_a_prepared_transaction_has_made_is_looked_at_once_it_is_committed";
    /// What a gateway computes for a request with 8 kB, and a row of 100 kB or numbers of 100,000 digits, in the inline lane.
    LONG_VALUES_INLINE: 20 ms,
        "together::admission_products::no_call_of_two_long_values_that_runs_in_the_gateway_computes_for_long",
        "together::admission_products::no_call_of_long_numbers_that_runs_in_the_gateway_computes_for_long";
    /// A line of numbers that unfold to 52 MB on its way into a table.
    LARGE_LINES: 3000 ms,
        "together::ingest_tables::a_row_that_is_much_larger_as_text_than_as_a_line_is_written_soon_or_refused";
    /// A read that finds a row too large and buries it.
    LARGE_LETTERS: 5000 ms,
        "together::queue_large_letters::a_row_of_numbers_that_unfold_is_buried_soon_whatever_holds_them",
        "together::queue_large_letters::a_row_of_large_values_is_buried_soon",
        "together::queue_large_letters::a_message_of_numbers_that_unfold_is_buried_and_sent_again_as_it_is",
        "together::queue_large_letters::one_line_that_unfolds_holds_no_executor_when_it_is_read_over_http";
    /// A read over HTTP behind large rows.
    READ_BEHIND_LARGE_ROWS: 500 ms,
        "together::queue_large_letters::one_line_that_unfolds_holds_no_executor_when_it_is_read_over_http";
    /// An answer that waits hears of a lease that ends.
    LEASE_ENDS_FOR_WHO_WAITS: 6000 ms,
        "together::queue_http::lines_go_in_and_batches_come_out";
    /// A request beside answers that wait.
    REQUEST_BESIDE_WAITING_ANSWERS: 250 ms,
        "together::queue_http::an_answer_that_waits_occupies_no_executor_and_comes_with_the_commit",
        "together::queue_http::thousands_of_answers_that_wait_hold_up_nobody_when_a_row_comes";
    /// An answer that waits gets a row.
    ROW_REACHES_WHO_WAITS: 900 ms,
        "together::queue_http::an_answer_that_waits_occupies_no_executor_and_comes_with_the_commit";
    /// A read behind three thousand dead letters.
    READ_BEHIND_DEAD_LETTERS: 10000 ms,
        "together::queue_http::an_answer_comes_at_once_if_rows_are_free_behind_dead_ones";
    /// An answer that waits for 1.5 s.
    WAITS_AS_TOLD: 2500 ms,
        "together::queue_http::an_answer_waits_no_longer_than_it_was_told";
    /// A new route beside a serializable transaction.
    ROUTE_BESIDE_SERIALIZABLE: 5000 ms,
        "together::settings::a_role_that_waits_for_safe_snapshots_delays_nobody_else";
    /// Twenty lines, one after the other.
    LINES_WHEN_IDLE: 5000 ms,
        "together::queue_wire::latency_is_small_when_idle";
    /// A line that waits 1.5 s for others.
    BUCKET_AFTER_PATIENCE: 6000 ms,
        "together::queue_wire::a_bucket_waits_for_more_lines_until_it_is_full_or_late";
    /// A full bucket, which waits for nothing.
    FULL_BUCKET: 1500 ms,
        "together::queue_wire::a_bucket_waits_for_more_lines_until_it_is_full_or_late";
    /// A session that waits hears that its queue is dropped or back.
    DROP_WAKES: 5000 ms,
        "together::queue_storage::who_waits_for_rows_of_a_queue_that_is_dropped_and_made_again_is_told_so_at_once",
        "together::queue_storage::who_waits_for_rows_is_woken_when_a_purge_is_rolled_back";
    /// An answer behind rows that it has no room for.
    READ_BEHIND_ROWS_TOO_LARGE: 20000 ms,
        "together::queue_poison::rows_that_no_answer_has_room_for_let_a_reader_that_waits_have_those_behind_them";
    /// Create or drop database beside those that are served.
    DATABASE_MADE_AND_DROPPED: 4000 ms,
        "alone::supervisor::an_idle_platform_holds_back_no_vacuum_and_no_barrier";
    /// A quick request beside a thousand readers that stall.
    FAST_BESIDE_STALLED_READERS: 300 ms,
        "alone::stalled_readers::clients_that_do_not_read_leave_the_requests_of_others_quick";
    /// Twenty requests of another route.
    OTHERS_BESIDE_FULL_EXECUTORS: 1000 ms,
        "alone::stalled_readers::slow_routes_leave_an_executor_to_another";
    /// A time limit is kept in half of the time of the whole.
    LIMIT_IS_KEPT: 0 ms,
        "alone::queue_bounds::a_conditional_read_can_be_cancelled_and_needs_little_memory";
    /// A send while somebody asks for much.
    SEND_BESIDE_MUCH: 150 ms,
        "alone::queue_bounds::nobody_is_kept_waiting_by_who_asks_for_much";
    /// Exception blocks take five times as long as none.
    BLOCKS_COST_LITTLE: 0 ms,
        "alone::queue_bounds::exception_blocks_cost_little_whatever_else_is_open";
    /// A send while an executor makes room.
    SEND_BESIDE_UPKEEP: 300 ms,
        "alone::queue_bounds::producers_by_the_hundred_thousand_are_carried_over_while_others_send",
        "alone::queue_bounds::survivors_by_the_hundred_thousand_make_room_while_others_send";
    /// A lock that upkeep holds is waited for.
    LOCK_OF_UPKEEP: 150 ms,
        "alone::queue_bounds::producers_by_the_hundred_thousand_are_carried_over_while_others_send",
        "alone::queue_bounds::survivors_by_the_hundred_thousand_make_room_while_others_send";
    /// What is asked for much is cancelled.
    MUCH_IS_CANCELLED: 150 ms,
        "alone::queue_bounds::whatever_is_asked_for_much_is_cancelled_in_time";
    /// A request beside a route that waits for a lock.
    FAST_BESIDE_LOCKED_ROUTE: 250 ms,
        "alone::route_limits::a_route_whose_table_is_locked_leaves_executors_to_others",
        "alone::route_limits::a_route_that_fills_the_exchange_leaves_room_to_others",
        "alone::route_limits::a_route_whose_bodies_fill_the_exchange_leaves_room_to_others";
    /// A refusal waits for an executor or a lock, not for both.
    REFUSAL_WAITS_ONCE: 4000 ms,
        "alone::route_limits::a_route_that_fills_the_exchange_leaves_room_to_others";
    /// A refusal.
    REFUSAL_COMES: 6000 ms,
        "alone::route_limits::a_route_whose_table_is_locked_leaves_executors_to_others",
        "alone::route_limits::a_route_that_fills_the_exchange_leaves_room_to_others";
    /// Jobs of nine kinds, from when they are enqueued to when they begin, while a tenth has a million that insert a row each.
    JOBS_BESIDE_FLOOD: 50 ms,
        "alone::job_bounds::a_flood_of_one_kind_keeps_no_other_waiting";
    /// Two kinds at their limits with a million jobs each take a hundredth of a processor.
    JOBS_AT_THEIR_LIMIT: 0 ms,
        "alone::job_bounds::a_kind_at_its_limit_costs_nothing_however_many_wait";
    /// A thousand schedules that are due each second take a twentieth of a processor.
    SCHEDULES_EACH_SECOND: 0 ms,
        "alone::job_bounds::a_thousand_schedules_that_are_due_each_second_cost_little";
    /// A quick request beside slow handlers.
    FAST_BESIDE_SLOW: 250 ms,
        "alone::slow_handlers::handlers_that_sleep_delay_nobody_while_an_executor_is_left",
        "alone::slow_handlers::a_short_route_that_turns_slow_stops_its_gateway_once_and_is_answered_by_executors",
        "alone::slow_handlers::a_short_route_that_waits_for_a_lock_stops_its_gateway_once_and_is_answered_by_an_executor",
        "alone::slow_handlers::planning_for_the_gateway_waits_for_no_lock",
        "alone::slow_handlers::a_role_whose_transactions_wait_for_a_safe_snapshot_stops_nobody_else";
    /// A quick request beside clients that flood or leave.
    FAST_BESIDE_FLOODS: 1000 ms,
        "alone::clients_that_flood::floods_keep_neither_others_nor_postgresql_waiting",
        "alone::clients_that_flood::clients_that_leave_together_keep_nobody_waiting";
    /// A quick request beside ten thousand connections with all the streams that they may have.
    FAST_BESIDE_STREAMS: 50 ms,
        "alone::many_streams::streams_that_wait_for_their_bodies_hold_bounded_memory_and_keep_nobody_waiting",
        "alone::many_streams::streams_that_are_opened_and_closed_without_end_keep_nobody_waiting";
    /// A database is made and dropped beside floods.
    DATABASE_BESIDE_FLOODS: 10000 ms,
        "alone::clients_that_flood::floods_keep_neither_others_nor_postgresql_waiting";
    /// Answers that wait read all rows.
    ALL_WHO_WAIT_READ: 8000 ms,
        "alone::queue_waiting::rows_that_come_at_once_are_read_at_once";
    /// Who waits hears of rows.
    WAITING_IS_TOLD: 2000 ms,
        "alone::queue_waiting::whatever_makes_a_row_free_wakes_a_request_that_waits_for_it",
        "alone::queue_waiting::whatever_makes_a_row_free_wakes_a_session_that_waits_for_it",
        "alone::queue_waiting::those_who_look_for_something_of_their_own_look_each_time";
    /// A session that waits for 300 ms.
    SESSION_WAITS_AS_TOLD: 2000 ms,
        "alone::queue_waiting::a_session_waits_no_longer_than_it_was_told";
    /// Rows that are free again find who waits.
    FREE_ROWS_ARE_READ: 8000 ms,
        "alone::queue_waiting::no_row_stays_free_while_somebody_waits_whoever_dies";
    /// A line beside floods is acknowledged.
    LINES_ARE_FAIR: 2000 ms,
        "alone::queue_wire_fairness::quiet_producers_are_served_beside_floods";
    /// A plain line beside floods is committed.
    PLAIN_LINES_ARE_FAIR: 8000 ms,
        "alone::queue_wire_fairness::quiet_producers_are_served_beside_floods";
    /// What comes too slowly is refused after its limit.
    SLOW_HEAD_IS_LATE: 2000 ms,
        "alone::bad_input::bad_input_is_refused_and_holds_nothing";
    /// A connection that idles for half a second is closed.
    IDLE_IS_CLOSED: 2000 ms,
        "alone::bad_input::limits_are_as_their_settings_say";
    /// No process outlives the postmaster.
    NO_PROCESS_OUTLIVES: 1000 ms,
        "alone::deaths::any_process_can_end_and_the_platform_serves";
    /// The query of who has gone is cancelled.
    GONE_IS_CANCELLED: 100 ms,
        "alone::cancel::a_client_that_leaves_takes_its_query_with_it",
        "alone::cancel::a_request_over_its_time_gets_504";
    /// An answer after half a second says that its time is over.
    LATE_IS_ANSWERED: 750 ms,
        "alone::cancel::a_request_over_its_time_gets_504";
    /// A query of the inline lane gives the gateway back.
    ANY_IN_A_GATEWAY: 20 ms,
        "alone::runaway::no_request_holds_a_gateway_for_longer_than_documented",
        "alone::runaway::planning_holds_a_gateway_for_no_longer_than_documented";
    /// A hundred routes are registered among thousands, in ten times as long as alone at most.
    REGISTERED_AMONG_MANY: 10000 ms,
        "together::registering::what_a_route_costs_to_register_hardly_grows_with_their_number";
    /// A message that was settled a million times is settled once more, in twice the time at most.
    SETTLED_OFTEN: 1000 ms,
        "together::queue_retries::a_message_that_was_settled_a_million_times_is_settled_as_soon_as_before";
    /// A deployment of two hundred files of which none has changed.
    DEPLOYED_UNCHANGED: 1000 ms,
        "together::applications::two_hundred_files_are_deployed_soon";
    /// A deployment of two hundred files of which one has changed.
    DEPLOYED_ONE_CHANGE: 1500 ms,
        "together::applications::two_hundred_files_are_deployed_soon";
    /// A deployment of ten thousand static files of which three have changed.
    DEPLOYED_THREE_FILES: 2000 ms,
        "together::static_files::of_ten_thousand_files_three_are_sent_that_have_changed";
    /// A deployment of five hundred files and a thousand routes of which one function has changed.
    DEPLOYED_MANY_ROUTES: 1000 ms,
        "together::deployments_of_many_routes::one_change_among_many_routes_is_deployed_soon";
    /// A request to a table to which an application of a thousand routes, with tests of 20 s, adds a column.
    BESIDE_DEPLOYMENT: 600 ms,
        "together::deployments_of_many_routes::a_column_is_added_while_the_table_is_read_and_written";
    /// From a save to the page, by howdah dev, in an application of two hundred files.
    LIVE_AFTER_SAVE: 300 ms,
        "together::live::a_save_among_two_hundred_files_is_soon_live";
    /// A request through what stands in front of the platform of howdah dev, beside one without.
    THROUGH_DEV: 1 ms,
        "together::live::what_stands_in_front_of_the_platform_costs_a_request_little";
    /// Create or drop database beside a hundred.
    DATABASE_AMONG_MANY: 1000 ms,
        "alone::many_databases::idle_workers_delay_no_command_on_another_database";
}
