//! Prepared executions of every shape for tests. It must not know how they are stored.

use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use super::coordination::plan;
use super::{exchange_id, hash, labels, moment, name, run_id, thread_id};
use crate::domain::id::PreparedId;
use crate::domain::prepared::{From, Prepared, ThreadThen};
use crate::domain::run::OnDisconnect;
use crate::domain::thread::{OnBusy, Unanswered};

fn from() -> impl Strategy<Value = From> {
    let on_busy = select(vec![OnBusy::Reject, OnBusy::Fork, OnBusy::Enqueue, OnBusy::Interrupt]);
    let unanswered = select(vec![Unanswered::Reject, Unanswered::Interrupt, Unanswered::Abandon]);
    let then = (thread_id(), of(exchange_id()), on_busy, unanswered)
        .prop_map(|(id, head, on_busy, unanswered)| ThreadThen { id, head, on_busy, unanswered });
    prop_oneof![Just(From::Root), exchange_id().prop_map(From::Exchange), then.prop_map(From::Thread)]
}

pub(crate) fn prepared() -> impl Strategy<Value = Prepared> {
    let names = (name(), of(run_id()), from(), of(exchange_id()), of(run_id()));
    let asked = (any::<bool>(), labels(), select(vec![OnDisconnect::Cancel, OnDisconnect::Finish]));
    (names, asked, plan(), [hash(), hash()], [moment(), moment()]).prop_map(|(names, asked, plan, hashes, times)| {
        let (id, run_id, from, parent, used_by) = names;
        let (capture, labels, on_disconnect) = asked;
        let ([backend, body], [created_at, expires_at]) = (hashes, times);
        Prepared {
            id: PreparedId::new(id),
            run_id,
            from,
            parent,
            capture,
            labels,
            on_disconnect,
            plan,
            backend,
            body,
            used_by,
            created_at,
            expires_at,
        }
    })
}
