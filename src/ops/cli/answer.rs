//! An answer on its way to the screen: the text as it comes on the output, all else on the errors, so that a pipe gets the answer and
//! nothing more. It must not know which call the answer belongs to.

use std::io;
use std::time::Instant;

use super::failure::Failure;
use super::terminal::{Style, Terminal, harmless};
use super::words;
use crate::grpc::pb;

/// What is written of one answer.
pub(crate) struct Answer {
    begun: Instant,
    /// Something of the text is on the output.
    written: bool,
    /// The last thing on the output was a line end.
    at_line_start: bool,
    /// The last thing on the errors was a piece of reasoning.
    reasoning: bool,
    /// The run was at work before, or the stream broke; pieces are missing, so what is not written yet comes at the end.
    attached: bool,
    /// What of the text is on the output.
    said: String,
}

/// A completed turn, as the answers of Capture, Continue and Fork have it.
pub(crate) struct Turn<'a> {
    /// The exchange.
    pub(crate) exchange: &'a pb::Exchange,
    /// Its run.
    pub(crate) run: Option<&'a pb::Run>,
    /// The thread it is on.
    pub(crate) thread: Option<&'a pb::Thread>,
    /// It is the stored result of an earlier call.
    pub(crate) replayed: bool,
}

impl Answer {
    /// An answer that is waited for from now on.
    pub(crate) fn begin() -> Self {
        Self {
            begun: Instant::now(),
            written: false,
            at_line_start: true,
            reasoning: false,
            attached: false,
            said: String::new(),
        }
    }

    /// The stream broke: pieces of the text may be lost.
    pub(crate) fn broken(&mut self) {
        self.attached = true;
    }

    /// Shows what came.
    pub(crate) fn progress(&mut self, progress: pb::Progress, terminal: &mut Terminal) -> io::Result<()> {
        use pb::delta::Delta;
        use pb::progress::Event;
        match progress.event {
            Some(Event::RunStarted(started)) => {
                self.attached = started.attached;
                if started.attached {
                    self.note(
                        Style::Dim,
                        &format!("run {} is at work already; waiting for it", started.run_id),
                        terminal,
                    )?;
                }
                Ok(())
            }
            // A run that goes on with tool results calls once more, which is no second attempt.
            Some(Event::AttemptStarted(attempt)) if attempt.number > 1 && attempt.kind() != pb::AttemptKind::First => {
                let kind = words::attempt_kind(attempt.kind);
                self.begin_anew(terminal)?;
                self.note(
                    Style::Dim,
                    &format!("attempt {} ({kind}) at {}", attempt.number, attempt.backend_id),
                    terminal,
                )
            }
            Some(Event::Warning(warning)) => self.warning(&warning, terminal),
            Some(Event::Delta(delta)) if !self.attached => match delta.delta {
                Some(Delta::Text(text)) => self.text(&text.text, terminal),
                Some(Delta::Refusal(refusal)) => self.text(&refusal.text, terminal),
                Some(Delta::Reasoning(reasoning)) => self.reasoning(&reasoning.text, terminal),
                // Calls are shown whole at the end: half of one is of no use.
                Some(Delta::ToolCall(_)) | None => Ok(()),
            },
            Some(Event::AttemptStarted(_) | Event::Delta(_)) | None => Ok(()),
        }
    }

    /// Shows a completed turn: what of its text is not there yet, then what to know of it and what to type next.
    pub(crate) fn turn(&mut self, turn: &Turn<'_>, terminal: &mut Terminal) -> Result<(), Failure> {
        self.result(turn, None, terminal)?;
        self.next(&next(turn), terminal)?;
        Ok(())
    }

    /// Shows the answer of a turn that goes on with tools: what of its text is not there yet, then the calls.
    pub(crate) fn step(&mut self, exchange: &pb::Exchange, terminal: &mut Terminal) -> Result<(), Failure> {
        self.rest(exchange.assistant.as_ref(), &exchange.text, terminal)?;
        Ok(self.calls(&exchange.pending_tool_calls, terminal)?)
    }

    /// Shows a completed turn without a word on what to type next, but with one more fact.
    pub(crate) fn result(
        &mut self,
        turn: &Turn<'_>,
        more: Option<String>,
        terminal: &mut Terminal,
    ) -> Result<(), Failure> {
        let exchange = turn.exchange;
        self.rest(exchange.assistant.as_ref(), &exchange.text, terminal)?;
        for warning in &exchange.warnings {
            self.warning(warning, terminal)?;
        }
        self.checked(exchange.validation.as_ref(), terminal)?;
        // That tools were called too often is known of the run; the model itself has only called once more.
        match turn.run.map(pb::Run::stop_reason) {
            Some(limit @ pb::StopReason::ToolRoundLimit) => self.stopped(limit, "", terminal)?,
            _ => self.stopped(exchange.stop_reason(), &exchange.stop_reason_raw, terminal)?,
        }
        self.calls(&exchange.pending_tool_calls, terminal)?;
        let run_usage = turn.run.and_then(|run| run.usage.as_ref());
        let kept = |word: &str, id: &str| if id.is_empty() { String::new() } else { format!("{word} {id}") };
        let mut facts = vec![kept("exchange", &exchange.exchange_id), kept("run", &exchange.run_id)];
        if exchange.exchange_id.is_empty() {
            facts.push("nothing is kept".to_owned());
        }
        facts.extend(turn.thread.map(|thread| format!("thread {} turn {}", thread.thread_id, exchange.turn)));
        facts.push(words::usage(run_usage.or(exchange.usage.as_ref())));
        facts.push(if turn.replayed { "stored earlier".to_owned() } else { words::duration(self.begun.elapsed()) });
        facts.extend(more);
        Ok(self.facts(facts, terminal)?)
    }

    /// Shows a probe's result.
    pub(crate) fn probe(&mut self, probe: &pb::ProbeResponse, terminal: &mut Terminal) -> Result<(), Failure> {
        let calls = probe.messages.last().map(calls_of).unwrap_or_default();
        self.rest(probe.messages.last(), &probe.text, terminal)?;
        for warning in &probe.warnings {
            self.warning(warning, terminal)?;
        }
        self.checked(probe.validation.as_ref(), terminal)?;
        self.stopped(probe.stop_reason(), &probe.stop_reason_raw, terminal)?;
        self.calls(&calls, terminal)?;
        let elapsed = words::duration(self.begun.elapsed());
        let facts = vec!["nothing was kept".to_owned(), words::usage(probe.usage.as_ref()), elapsed];
        Ok(self.facts(facts, terminal)?)
    }

    fn text(&mut self, text: &str, terminal: &mut Terminal) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.end_reasoning(terminal)?;
        self.written = true;
        self.at_line_start = text.ends_with('\n');
        self.said.push_str(text);
        let text = terminal.foreign(text);
        terminal.write(&text)
    }

    /// What was written belongs to an attempt that does not count.
    fn begin_anew(&mut self, terminal: &mut Terminal) -> io::Result<()> {
        if self.written && !self.at_line_start {
            self.at_line_start = true;
            terminal.write("\n")?;
        }
        self.written = false;
        self.said.clear();
        Ok(())
    }

    fn reasoning(&mut self, text: &str, terminal: &mut Terminal) -> io::Result<()> {
        // Only for a person who watches: in a log of errors it would be noise.
        if !terminal.err_is_terminal() || text.is_empty() {
            return Ok(());
        }
        self.reasoning = true;
        let text = terminal.paint_err(Style::Dim, &harmless(text));
        terminal.write_err(&text)
    }

    fn end_reasoning(&mut self, terminal: &mut Terminal) -> io::Result<()> {
        if std::mem::take(&mut self.reasoning) { terminal.write_err("\n\n") } else { Ok(()) }
    }

    /// What was not streamed, and a line end.
    fn rest(&mut self, assistant: Option<&pb::Message>, text: &str, terminal: &mut Terminal) -> io::Result<()> {
        let refusals = assistant.map(refusal_of).unwrap_or_default();
        let whole = if text.is_empty() { &refusals } else { text };
        if !self.written {
            self.text(whole, terminal)?;
        } else if self.attached {
            let said = std::mem::take(&mut self.said);
            match whole.strip_prefix(said.as_str()) {
                Some(rest) => self.text(rest, terminal)?,
                None => self.text(&format!("\n{whole}"), terminal)?,
            }
        }
        self.end_reasoning(terminal)?;
        if !self.at_line_start {
            self.at_line_start = true;
            terminal.write("\n")?;
        }
        Ok(())
    }

    fn warning(&mut self, warning: &pb::Warning, terminal: &mut Terminal) -> io::Result<()> {
        self.note(Style::Odd, &format!("warning: {} ({})", warning.message, warning.code), terminal)
    }

    fn checked(&mut self, validation: Option<&pb::Validation>, terminal: &mut Terminal) -> io::Result<()> {
        let Some(validation) = validation.filter(|v| v.status() == pb::ValidationStatus::Invalid) else {
            return Ok(());
        };
        self.note(Style::Odd, "the answer has not the form that was asked for; it is kept all the same", terminal)?;
        for violation in &validation.violations {
            let place = if violation.instance_path.is_empty() { "/" } else { &violation.instance_path };
            self.note(Style::Plain, &format!("  {place}: {}", violation.message), terminal)?;
        }
        Ok(())
    }

    fn stopped(&mut self, reason: pb::StopReason, raw: &str, terminal: &mut Terminal) -> io::Result<()> {
        use pb::StopReason::{Stop, ToolCalls, Unspecified};
        if matches!(reason, Stop | ToolCalls | Unspecified) {
            return Ok(());
        }
        let raw = if raw.is_empty() { String::new() } else { format!(" ({raw})") };
        self.note(Style::Odd, &format!("stopped: {}{raw}", words::stop_reason(reason.into())), terminal)
    }

    fn calls(&mut self, calls: &[pb::ToolCall], terminal: &mut Terminal) -> io::Result<()> {
        for call in calls {
            let name = terminal.paint_err(Style::Bold, &harmless(&call.name));
            let line = format!("→ {name}({})  {}", harmless(&call.arguments_json), call.call_id);
            terminal.note(&line)?;
        }
        Ok(())
    }

    fn facts(&mut self, facts: Vec<String>, terminal: &mut Terminal) -> io::Result<()> {
        let known: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
        self.note(Style::Dim, &known.join(" · "), terminal)
    }

    fn next(&mut self, command: &str, terminal: &mut Terminal) -> io::Result<()> {
        let command = format!("next: {}", terminal.typed(command));
        self.note(Style::Dim, &command, terminal)
    }

    /// A line on the errors, after whatever is half written.
    fn note(&mut self, style: Style, text: &str, terminal: &mut Terminal) -> io::Result<()> {
        self.end_reasoning(terminal)?;
        if !self.at_line_start && terminal.out_is_terminal() {
            self.at_line_start = true;
            terminal.write("\n")?;
        }
        let line = terminal.paint_err(style, &harmless(text));
        terminal.note(&line)
    }
}

/// The command that goes on from a turn.
fn next(turn: &Turn<'_>) -> String {
    let from = match turn.thread {
        Some(thread) => format!("--thread {}", thread.thread_id),
        None => turn.exchange.exchange_id.clone(),
    };
    if turn.exchange.pending_tool_calls.is_empty() {
        return format!("antiphon continue {from} \"…\"");
    }
    let results = turn.exchange.pending_tool_calls.iter().map(|call| format!(" --result {}=\"…\"", call.call_id));
    format!("antiphon continue {from}{}", results.collect::<String>())
}

fn calls_of(message: &pb::Message) -> Vec<pb::ToolCall> {
    let calls = message.parts.iter().filter_map(|part| match &part.kind {
        Some(pb::part::Kind::ToolCall(call)) => Some(call.clone()),
        _ => None,
    });
    calls.collect()
}

fn refusal_of(message: &pb::Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match &part.kind {
        Some(pb::part::Kind::Refusal(refusal)) => Some(refusal.text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta(text: &str) -> pb::Progress {
        let delta = pb::delta::Delta::Text(pb::TextDelta { text: text.into() });
        pb::Progress { event: Some(pb::progress::Event::Delta(pb::Delta { delta: Some(delta) })) }
    }

    fn exchange() -> pb::Exchange {
        pb::Exchange {
            exchange_id: "e1".into(),
            run_id: "r1".into(),
            text: "Hello".into(),
            stop_reason: pb::StopReason::Stop.into(),
            turn: 2,
            ..Default::default()
        }
    }

    #[test]
    fn a_pipe_gets_the_answer_and_nothing_more() {
        let (mut terminal, out, err) = Terminal::captured();
        let mut answer = Answer::begin();
        answer.progress(delta("Hel"), &mut terminal).unwrap();
        assert_eq!(out.text(), "Hel");
        answer.progress(delta("lo"), &mut terminal).unwrap();
        let turn = Turn { exchange: &exchange(), run: None, thread: None, replayed: true };
        answer.turn(&turn, &mut terminal).unwrap();
        assert_eq!(out.text(), "Hello\n");
        assert_eq!(err.text(), "exchange e1 · run r1 · stored earlier\nnext: antiphon continue e1 \"…\"\n");
    }

    #[test]
    fn what_was_not_streamed_is_written_at_the_end() {
        let (mut terminal, out, err) = Terminal::captured();
        let mut answer = Answer::begin();
        let started = pb::RunStarted { run_id: "r1".into(), attached: true };
        let started = pb::Progress { event: Some(pb::progress::Event::RunStarted(started)) };
        answer.progress(started, &mut terminal).unwrap();
        answer.progress(delta("lo"), &mut terminal).unwrap();
        let thread = pb::Thread { thread_id: "t".into(), ..Default::default() };
        let turn = Turn { exchange: &exchange(), run: None, thread: Some(&thread), replayed: true };
        answer.turn(&turn, &mut terminal).unwrap();
        assert_eq!(out.text(), "Hello\n", "half of what came before is not shown twice");
        assert!(err.text().contains("thread t turn 2"), "{}", err.text());
        assert!(err.text().ends_with("next: antiphon continue --thread t \"…\"\n"), "{}", err.text());
    }

    #[test]
    fn what_a_broken_stream_lost_is_written_at_the_end() {
        let (mut terminal, out, _) = Terminal::captured();
        let mut answer = Answer::begin();
        answer.progress(delta("Hel"), &mut terminal).unwrap();
        answer.broken();
        answer.progress(delta("o"), &mut terminal).unwrap();
        let turn = Turn { exchange: &exchange(), run: None, thread: None, replayed: false };
        answer.result(&turn, None, &mut terminal).unwrap();
        assert_eq!(out.text(), "Hello\n");
    }

    #[test]
    fn calls_and_a_wrong_form_are_told() {
        let (mut terminal, out, err) = Terminal::captured();
        let call = pb::ToolCall {
            call_id: "c1".into(),
            name: "get".into(),
            arguments_json: "{}".into(),
            ..Default::default()
        };
        let violation =
            pb::Violation { instance_path: "/a".into(), message: "is not a number".into(), ..Default::default() };
        let exchange = pb::Exchange {
            text: String::new(),
            stop_reason: pb::StopReason::MaxTokens.into(),
            stop_reason_raw: "length".into(),
            pending_tool_calls: vec![call],
            validation: Some(pb::Validation {
                status: pb::ValidationStatus::Invalid.into(),
                value_json: String::new(),
                violations: vec![violation],
            }),
            ..exchange()
        };
        let turn = Turn { exchange: &exchange, run: None, thread: None, replayed: false };
        Answer::begin().turn(&turn, &mut terminal).unwrap();
        assert_eq!(out.text(), "");
        let told = err.text();
        for expected in [
            "  /a: is not a number\n",
            "stopped: max tokens (length)\n",
            "→ get({})  c1\n",
            "continue e1 --result c1=\"…\"\n",
        ] {
            assert!(told.contains(expected), "{told}");
        }
    }
}
