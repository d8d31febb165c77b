//! The path of an exchange, read from the server and cut into steps with a line of each side. It must not know how it is shown.

use super::failure::Failure;
use super::forest::Step;
use super::remote::Remote;
use super::words;
use crate::grpc::pb;

/// How much of a message is kept for a line.
const PREVIEW_COLUMNS: usize = 120;

/// An exchange with its whole history.
pub(crate) struct Lineage {
    /// The exchange.
    pub(crate) exchange: pb::Exchange,
    /// The messages from the root on.
    pub(crate) messages: Vec<pb::Message>,
    /// The exchanges from the root on.
    pub(crate) path: Vec<pb::PathStep>,
}

impl Lineage {
    /// Reads it.
    pub(crate) async fn read(remote: &Remote, exchange_id: &str) -> Result<Self, Failure> {
        let request =
            pb::StreamInspectRequest { exchange_id: exchange_id.to_owned(), history: pb::HistoryScope::Full.into() };
        remote
            .within(async {
                let mut stream = remote.exchanges().stream_inspect(remote.request(request)).await?.into_inner();
                let (mut exchange, mut messages, mut path) = (None, Vec::new(), Vec::new());
                while let Some(part) = stream.message().await? {
                    let page = part.page.unwrap_or_default();
                    exchange = exchange.or(page.exchange);
                    messages.extend(page.messages);
                    path.extend(page.path);
                }
                let exchange = exchange.ok_or_else(|| Failure::incomplete("exchange"))?;
                Ok(Self { exchange, messages, path })
            })
            .await
    }

    /// The exchanges as steps.
    pub(crate) fn steps(&self) -> Vec<Step> {
        let mut messages = self.messages.as_slice();
        let mut steps = Vec::new();
        for step in &self.path {
            let count = usize::try_from(step.message_count).unwrap_or(usize::MAX).min(messages.len());
            let (own, rest) = messages.split_at(count);
            messages = rest;
            let answer = own.last().filter(|message| message.role() == pb::Role::Assistant);
            steps.push(Step {
                exchange_id: step.exchange_id.clone(),
                run_id: step.run_id.clone(),
                turn: step.turn,
                user: if step.erased { words::ERASED.to_owned() } else { words::asked(own, PREVIEW_COLUMNS) },
                assistant: answer.map(|answer| words::preview(answer, PREVIEW_COLUMNS)).unwrap_or_default(),
                erased: step.erased,
            });
        }
        steps
    }

    /// The exchanges as turns, the way a thread lists them.
    pub(crate) fn turns(&self) -> Vec<pb::Turn> {
        let mut turns: Vec<pb::Turn> = Vec::new();
        for step in self.steps() {
            let goes_on = |turn: &pb::Turn| turn.turn == step.turn && turn.run_id == step.run_id;
            let turn = match turns.pop_if(|turn| goes_on(turn)) {
                // A turn asks once, and answers with its last exchange.
                Some(turn) => pb::Turn {
                    exchange_id: step.exchange_id,
                    exchange_count: turn.exchange_count + 1,
                    erased: turn.erased || step.erased,
                    assistant_preview: step.assistant,
                    ..turn
                },
                None => pb::Turn {
                    turn: step.turn,
                    run_id: step.run_id,
                    exchange_id: step.exchange_id,
                    exchange_count: 1,
                    erased: step.erased,
                    user_preview: if step.erased { String::new() } else { step.user },
                    assistant_preview: step.assistant,
                    ..Default::default()
                },
            };
            turns.push(turn);
        }
        if let Some(last) = turns.last_mut() {
            last.stop_reason = self.exchange.stop_reason;
            last.create_time = self.exchange.create_time;
        }
        turns
    }
}

#[cfg(test)]
mod tests {
    use super::super::chat::said;
    use super::*;

    fn lineage() -> Lineage {
        let step = |id: &str, run: &str, turn, message_count| pb::PathStep {
            exchange_id: id.into(),
            run_id: run.into(),
            turn,
            message_count,
            erased: false,
        };
        let (user, assistant, tool) = (pb::Role::User, pb::Role::Assistant, pb::Role::Tool);
        let messages =
            [(user, "q1"), (assistant, "a1"), (user, "q2"), (assistant, "call"), (tool, "found"), (assistant, "a2")];
        Lineage {
            exchange: pb::Exchange { stop_reason: pb::StopReason::Stop.into(), ..Default::default() },
            messages: messages.into_iter().map(|(role, text)| said(role, text)).collect(),
            path: vec![step("e1", "r1", 1, 2), step("e2", "r2", 2, 2), step("e3", "r2", 2, 2)],
        }
    }

    #[test]
    fn each_step_has_its_own_messages() {
        let mut gapped = lineage();
        let gap = pb::PathStep { exchange_id: "e0".into(), erased: true, ..Default::default() };
        gapped.path.insert(1, gap);
        let sides: Vec<_> = gapped.steps().into_iter().map(|step| (step.user, step.assistant)).collect();
        let expected = [("q1", "a1"), ("(erased)", ""), ("q2", "call"), ("found", "a2")];
        assert_eq!(sides, expected.map(|(user, assistant)| (user.to_owned(), assistant.to_owned())));
    }

    #[test]
    fn exchanges_of_one_run_are_one_turn() {
        let turns = lineage().turns();
        assert_eq!(turns.len(), 2);
        assert_eq!((turns[1].exchange_id.as_str(), turns[1].exchange_count), ("e3", 2));
        assert_eq!((turns[1].user_preview.as_str(), turns[1].assistant_preview.as_str()), ("q2", "a2"));
        assert_eq!(turns[1].stop_reason(), pb::StopReason::Stop);
    }

    #[test]
    fn an_answer_with_too_few_messages_is_survived() {
        let mut short = lineage();
        short.messages.truncate(3);
        assert_eq!(short.steps().len(), 3);
    }
}
