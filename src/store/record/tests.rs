//! Every value comes back from its stored form whole, and what is wrong with one that does not is said.

use bytes::{BufMut, BytesMut};
use proptest::prelude::*;

use super::exchange::{Lean, draft};
use super::*;
use crate::domain::content::Hasher;
use crate::domain::exchange::Exchange;
use crate::domain::id::{Namespace, RunId};
use crate::domain::run::Run;

fn entry() -> Entry {
    Entry::Run(RunId::new("r"))
}

fn there_and_back<T: Stored + PartialEq + std::fmt::Debug>(value: &T) -> Result<(), TestCaseError> {
    let raw = encode(&entry(), value);
    prop_assert_eq!(&decode::<T>(&entry(), &raw).unwrap(), value);
    // One value has one encoding, so that a token can be told before it is stored.
    prop_assert_eq!(encode(&entry(), value), raw);
    Ok(())
}

fn hasher() -> Hasher {
    Hasher::new(&Namespace::new("a"))
}

fn exchange_there_and_back(exchange: &Exchange) -> Exchange {
    let draft = draft(exchange, &hasher());
    let payload = open(&entry(), &draft.packed.seal(&entry().key())).unwrap();
    Lean::new(payload).unwrap().whole(&draft.parts).unwrap()
}

fn body_there_and_back<T: Body>(body: &T) -> T {
    let (hash, mut parts) = draft_body(body, &hasher());
    let mut lean = LeanBody::<T>::new(parts.remove(&hash).unwrap()).unwrap();
    let named: std::collections::BTreeSet<Hash> = lean.parts().unwrap().into_iter().collect();
    assert!(parts.keys().all(|hash| named.contains(hash)));
    lean.whole(&parts).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_exchange_comes_back_whole(exchange in sample::exchange()) {
        prop_assert_eq!(exchange_there_and_back(&exchange), exchange);
    }

    #[test]
    fn a_run_comes_back_whole(run in sample::run()) {
        there_and_back(&run)?;
    }

    #[test]
    fn a_thread_comes_back_whole(thread in sample::thread()) {
        let record = ThreadRecord::new(&thread);
        there_and_back(&record)?;
        let set = thread.defaults.standing_tools.clone().unwrap_or_default();
        prop_assert_eq!(record.whole(set), thread);
    }

    #[test]
    fn a_head_comes_back_whole(head in sample::head()) {
        there_and_back(&head)?;
    }

    #[test]
    fn what_is_left_of_an_erased_exchange_comes_back_whole(exchange in sample::tombstone()) {
        prop_assert_eq!(exchange_there_and_back(&exchange), exchange);
    }

    #[test]
    fn pins_expiries_receipts_and_spending_come_back_whole(
        pin in sample::pin(), expiry in sample::expiry(), receipt in sample::receipt(), spending in sample::spending(),
        erasing in sample::erasing(),
    ) {
        there_and_back(&erasing)?;
        there_and_back(&spending)?;
        there_and_back(&pin)?;
        there_and_back(&expiry)?;
        there_and_back(&receipt)?;
    }

    #[test]
    fn workspaces_and_moves_come_back_whole(node in sample::node(), live in sample::live(), moved in sample::moved()) {
        there_and_back(&node)?;
        there_and_back(&live)?;
        there_and_back(&moved)?;
    }

    #[test]
    fn places_branches_and_blocks_come_back_whole(
        place in sample::place(), branch in sample::branch(), block in sample::block(),
    ) {
        there_and_back(&place)?;
        there_and_back(&branch)?;
        there_and_back(&block)?;
    }

    #[test]
    fn tools_and_requests_come_back_whole(
        tool in sample::tool(), set in sample::tool_set(), seen in sample::seen(), remembered in sample::remembered(),
    ) {
        there_and_back(&tool)?;
        there_and_back(&seen)?;
        there_and_back(&ToolHashes::new(&set))?;
        there_and_back(&remembered)?;
    }

    #[test]
    fn a_coordination_and_its_journal_come_back_whole(
        coordination in sample::coordination::coordination(), page in sample::coordination::page(),
    ) {
        there_and_back(&coordination)?;
        there_and_back(&page)?;
    }

    #[test]
    fn a_prepared_execution_comes_back_whole(prepared in sample::prepared::prepared()) {
        let record = PreparedRecord::new(&prepared);
        there_and_back(&record)?;
        let offer = prepared.plan.offer.clone();
        prop_assert_eq!(record.whole(offer.offered, offer.standing), prepared);
    }

    #[test]
    fn messages_and_plans_come_back_whole(message in sample::message(), plan in sample::coordination::plan()) {
        prop_assert_eq!(body_there_and_back(&message), message);
        let record = PlanRecord::new(&plan);
        prop_assert_eq!(&body_there_and_back(&record), &record);
        prop_assert_eq!(record.whole(plan.offer.offered.clone(), plan.offer.standing.clone()), plan);
    }

    /// A decoder answers whatever it is given: with what is the matter, or with a value that is as good as any.
    #[test]
    fn a_mangled_payload_is_a_value_or_an_error(
        exchange in sample::exchange(), run in sample::run(), at: prop::sample::Index, byte: u8,
    ) {
        let mangled = |payload: Bytes| {
            let mut payload = payload.to_vec();
            let at = at.index(payload.len());
            payload[at] = byte;
            Bytes::from(payload)
        };
        if let Ok(run) = Run::from_payload(mangled(run.payload())) {
            there_and_back(&run)?;
        }
        let draft = draft(&exchange, &hasher());
        let payload = open(&entry(), &draft.packed.seal(&entry().key())).unwrap();
        if let Ok(exchange) = Lean::new(mangled(payload)).and_then(|lean| lean.whole(&draft.parts)) {
            prop_assert_eq!(exchange_there_and_back(&exchange), exchange);
        }
    }

    /// A later version may add fields; this one goes on reading what it knows.
    #[test]
    fn an_unknown_newer_field_is_passed_over(run in sample::run()) {
        let mut payload = BytesMut::from(run.payload());
        // Field 1000, with some bytes.
        prost::encoding::encode_key(1000, prost::encoding::WireType::LengthDelimited, &mut payload);
        payload.put_slice(b"\x05later");
        let raw = Packed::new(payload.freeze()).seal(&entry().key());
        prop_assert_eq!(decode::<Run>(&entry(), &raw).unwrap(), run);
    }
}

#[test]
fn large_media_lie_apart_once_and_small_ones_within() {
    use crate::domain::message::{Kind, Media, Message, Part, Role};
    let image =
        |length| Part::new(Kind::Image(Media::Inline("image/png".to_owned(), vec![7; length].into()), String::new()));
    let exchange = Exchange {
        messages: vec![Message { role: Role::User, parts: vec![image(4096), image(4095), image(4096)] }],
        ..fixture::exchange()
    };
    let draft = draft(&exchange, &hasher());
    assert_eq!(draft.parts.values().map(Bytes::len).collect::<Vec<_>>(), [4096]);
    assert_eq!(exchange_there_and_back(&exchange), exchange);
}

#[test]
fn what_is_wrong_is_said_with_the_record_and_the_way_out() {
    let run = fixture::run();
    let raw = encode(&entry(), &run);
    let message = |raw: &Bytes| match decode::<Run>(&entry(), raw) {
        Err(Error::Corrupt(message)) => message,
        other => panic!("{other:?}"),
    };

    let mut flipped = raw.to_vec();
    flipped[30] ^= 1;
    let said = message(&flipped.into());
    assert!(said.contains("run `r`") && said.contains("checksum") && said.contains("antiphon verify"), "{said}");

    let mut newer = raw.to_vec();
    newer[0] = 7;
    let said = message(&newer.into());
    assert!(said.contains("format 7") && said.contains("up to 1"), "{said}");

    let said = message(&Packed::new(Bytes::from_static(b"\xff")).seal(&entry().key()));
    assert!(said.contains("not in the form"), "{said}");
}

#[test]
fn fields_that_must_be_there_and_words_of_a_newer_version_are_named() {
    let mut missing = twin::Run::of(&fixture::run());
    missing.state = 0;
    assert_eq!(missing.value(), Err(Malformed::missing("state")));
    let mut newer = twin::Run::of(&fixture::run());
    newer.state = 99;
    assert_eq!(newer.value(), Err(Malformed::new("state", "is a word of a newer version")));
    let mut short = twin::Run::of(&fixture::run());
    short.fingerprint = Bytes::from_static(b"short");
    assert_eq!(short.value(), Err(Malformed::new("fingerprint", "is no hash of 32 bytes")));
}

#[test]
fn a_journal_page_without_frames_or_with_numbers_that_run_over_is_none() {
    let page = |first_sequence, frames: usize| {
        let frame = twin::Frame { what: Some(twin::frame::What::Started(twin::Nothing {})) };
        twin::JournalPage { first_sequence, frames: vec![frame; frames] }.value()
    };
    assert_eq!(page(1, 0), Err(Malformed::missing("frames")));
    assert_eq!(page(u64::MAX, 1), Err(Malformed::new("first_sequence", "is too large for a number")));
    assert_eq!(page(u64::MAX - 2, 2).map(|page| page.last()), Ok(u64::MAX - 1));
}
