//! The conformance suite of `store::Store`, run against every store there is, and what each store promises
//! beyond it. A new store adds one line here.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test that meets the unexpected fails, in its helpers too"
)]

mod conformance;
mod embedded;

/// Makes a test of each entry of the conformance list, for one store.
macro_rules! conforms {
    ($store:ident, $open:path) => {
        conforms!(@list $store, $open,
            absent_keys_have_no_value,
            a_write_is_seen_by_the_next_call,
            any_bytes_may_be_in_keys_and_values,
            guards_tell_what_they_found,
            a_refused_write_changes_nothing,
            deletes_come_before_puts_and_the_last_put_wins,
            a_write_of_nothing_is_done,
            ranges_keep_order_bounds_and_limit,
            bounds_need_not_be_keys,
            prefixes_end_where_they_should,
            namespaces_are_walls,
            namespaces_are_listed_while_they_hold_anything,
            large_values_come_back_whole,
            a_value_may_grow_and_shrink,
            agrees_with_a_map,
            one_of_many_racing_writers_wins,
            compare_and_set_loses_no_update,
            many_committers_make_progress,
            no_reader_sees_half_a_value,
            refusals_rest_on_what_can_be_read,
            counts_what_it_acknowledged,
            a_snapshot_holds_still_while_others_write,
            closes_once_and_for_all,
        );
    };
    (@list $store:ident, $open:path, $($name:ident,)*) => {
        mod $store {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $name() {
                    let (store, _keep) = $open();
                    crate::conformance::$name(store).await;
                }
            )*
        }
    };
}

conforms!(sled, crate::embedded::in_a_directory);
conforms!(sled_temporary, crate::embedded::temporary);
