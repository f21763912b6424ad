//! What every kind of connection has to do alike: one list of checks, run over each kind. A new kind is one more line
//! in `kinds`; what only some kinds can do is a property of theirs there.

mod calls;
mod kinds;
mod lifecycle;
mod offers;

/// Makes a module for each kind, with a test for each check.
macro_rules! contract {
    ([$($kind:ident),*] $checks:tt) => {$(contract!(@ $kind $checks);)*};
    (@ $kind:ident [$($module:ident :: $check:ident),* $(,)?]) => {
        mod $kind {
            $(#[tokio::test]
            async fn $check() {
                super::$module::$check(super::kinds::$kind()).await;
            })*
        }
    };
}

/// Makes a test for each check: passed by the live server while it is recorded, then again by the recording.
macro_rules! replays {
    ([$($replay:ident),*] $checks:tt) => {$(replays!(@ $replay $checks);)*};
    (@ $replay:ident [$($module:ident :: $check:ident),* $(,)?]) => {
        mod $replay {
            $(#[tokio::test]
            async fn $check() {
                let dir = trunkline_tests::TempDir::new();
                super::$module::$check(super::kinds::recorded_in(&dir)).await;
                super::$module::$check(super::kinds::$replay(&dir)).await;
            })*
        }
    };
}

contract! {
    [direct, memory, stdio, filtered, multi, multi_direct, relayed, recorded, recorded_around, http_json, http_sse, http_sessionless, legacy_sse, multi_http]
    [
        offers::tools_are_listed_in_order,
        offers::schemas_and_descriptions_arrive,
        offers::resources_and_templates_are_listed,
        offers::prompts_are_listed_with_their_arguments,
        offers::resources_are_read_as_what_they_are,
        offers::an_unknown_resource_is_an_error_that_names_it,
        offers::prompts_are_rendered,
        offers::a_prompt_says_what_it_lacks,
        offers::the_server_says_who_it_is,
        calls::a_call_gives_a_plain_value,
        calls::any_text_arrives_whole,
        calls::numbers_keep_every_digit,
        calls::an_error_result_is_a_result_until_it_is_unwrapped,
        calls::an_unknown_tool_is_an_error_that_names_it,
        calls::wrong_arguments_are_an_error,
        calls::calls_run_at_the_same_time,
        calls::progress_reaches_the_sink_in_order,
        calls::a_log_message_arrives,
        calls::meta_reaches_the_tool,
        calls::a_raw_request_gets_a_raw_answer,
        calls::an_unknown_method_is_refused,
        lifecycle::a_dropped_call_reaches_the_tool,
        lifecycle::a_call_that_takes_too_long_ends_on_both_sides,
        lifecycle::a_switch_ends_a_call,
        lifecycle::closing_twice_is_fine_and_the_next_use_connects_again,
        lifecycle::a_call_that_runs_does_not_outlive_the_connection,
        lifecycle::events_tell_where_the_connection_stands,
        lifecycle::clones_share_one_connection,
    ]
}

replays! {
    [replayed_from, replayed_over_a_wire]
    [
        offers::tools_are_listed_in_order,
        offers::schemas_and_descriptions_arrive,
        offers::resources_and_templates_are_listed,
        offers::prompts_are_listed_with_their_arguments,
        offers::resources_are_read_as_what_they_are,
        offers::an_unknown_resource_is_an_error_that_names_it,
        offers::prompts_are_rendered,
        offers::a_prompt_says_what_it_lacks,
        offers::the_server_says_who_it_is,
        calls::a_call_gives_a_plain_value,
        calls::any_text_arrives_whole,
        calls::numbers_keep_every_digit,
        calls::an_error_result_is_a_result_until_it_is_unwrapped,
        calls::an_unknown_tool_is_an_error_that_names_it,
        calls::wrong_arguments_are_an_error,
        calls::calls_run_at_the_same_time,
        calls::progress_reaches_the_sink_in_order,
        calls::a_log_message_arrives,
        calls::meta_reaches_the_tool,
        calls::a_raw_request_gets_a_raw_answer,
        calls::an_unknown_method_is_refused,
        lifecycle::closing_twice_is_fine_and_the_next_use_connects_again,
        lifecycle::events_tell_where_the_connection_stands,
        lifecycle::clones_share_one_connection,
    ]
}
