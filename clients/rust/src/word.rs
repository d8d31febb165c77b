//! Words of the API as types, with room for those of a newer server. Knows nothing of what they are about.

/// Makes a type of the words of an enum of the protos. A number that has no word here is `Unknown`, and goes out as it came.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $raw:ident { $($(#[$about:meta])* $word:ident $(of $there:ident)? = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            /// Nothing was said.
            #[default]
            Unspecified,
            $($(#[$about])* $word,)*
            /// A word that a newer server has, by its number.
            Unknown(i32),
        }

        impl $name {
            #[allow(dead_code, reason = "some are only read and some only sent")]
            pub(crate) fn from_raw(number: i32) -> Self {
                match crate::pb::$raw::try_from(number) {
                    $(Ok(words!(@ $raw $word $($there)?)) => Self::$word,)*
                    Ok(crate::pb::$raw::Unspecified) => Self::Unspecified,
                    #[allow(unreachable_patterns, reason = "a value that is new in the protos has no word yet")]
                    _ => Self::Unknown(number),
                }
            }

            #[allow(dead_code, reason = "some are only read and some only sent")]
            pub(crate) fn to_raw(self) -> i32 {
                match self {
                    Self::Unspecified => 0,
                    $(Self::$word => words!(@ $raw $word $($there)?) as i32,)*
                    Self::Unknown(number) => number,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    Self::Unspecified => to.write_str("unspecified"),
                    $(Self::$word => to.write_str($text),)*
                    Self::Unknown(number) => write!(to, "unknown_{number}"),
                }
            }
        }
    };
    (@ $raw:ident $word:ident $there:ident) => { crate::pb::$raw::$there };
    (@ $raw:ident $word:ident) => { crate::pb::$raw::$word };
}

words! {
    /// Who speaks.
    Role, Role {
        /// Instructions of the application.
        System = "system",
        /// The person or program that asks.
        User = "user",
        /// The model.
        Assistant = "assistant",
        /// Results of tool calls.
        Tool = "tool",
    }
}

words! {
    /// Why a model stopped.
    StopReason, StopReason {
        /// It was done.
        Stop = "stop",
        /// It was cut off.
        MaxTokens = "max_tokens",
        /// It called tools.
        ToolCalls = "tool_calls",
        /// It came to a text that ends it.
        StopSequence = "stop_sequence",
        /// It declined.
        Refusal = "refusal",
        /// The provider withheld it.
        ContentFilter = "content_filter",
        /// It called tools once more than the limit of rounds allows.
        ToolRoundLimit = "tool_round_limit",
        /// Something else, in the provider's own word.
        Other = "other",
    }
}

words! {
    /// Whether an answer has its form.
    ValidationStatus, ValidationStatus {
        /// None was asked for.
        NotApplicable = "not_applicable",
        /// It has.
        Valid = "valid",
        /// It has not.
        Invalid = "invalid",
    }
}

words! {
    /// Where a run is.
    RunState, RunState {
        /// It waits for its turn.
        Queued = "queued",
        /// It is at work.
        Running = "running",
        /// It waits for the results of its tool calls.
        PendingTools = "pending_tools",
        /// It is done.
        Completed = "completed",
        /// It ended with an error.
        Failed = "failed",
        /// It was ended.
        Cancelled = "cancelled",
        /// The server stopped meanwhile.
        Interrupted = "interrupted",
    }
}

words! {
    /// Where a coordination is.
    CoordinationState, CoordinationState {
        /// A turn is at work.
        TurnRunning = "turn_running",
        /// A result is presented; waits for the next action.
        AwaitingDecision = "awaiting_decision",
        /// Waits for the results of tool calls.
        AwaitingTools = "awaiting_tools",
        /// Waits for what a model of the caller's says.
        AwaitingGeneration = "awaiting_generation",
        /// Ended as the caller said.
        Stopped = "stopped",
        /// Ended where a turn was asked for and none was left.
        Exhausted = "exhausted",
        /// Ended with an error.
        Failed = "failed",
        /// Was ended.
        Cancelled = "cancelled",
    }
}

words! {
    /// What a call to a model is for.
    AttemptKind, AttemptKind {
        /// The first of its kind.
        First = "first",
        /// Again after a failure.
        Retry = "retry",
        /// Again where the answer missed its form.
        Repair = "repair",
    }
}

words! {
    /// How much of a usage is known.
    Completeness, UsageCompleteness {
        /// All of it.
        Complete = "complete",
        /// A lower bound.
        Partial = "partial",
        /// Nothing.
        Missing of Unknown = "unknown",
    }
}

words! {
    /// What happens when nobody waits any more.
    OnDisconnect, OnDisconnect {
        /// The run is cancelled.
        Cancel = "cancel",
        /// The run goes on.
        Finish = "finish",
    }
}

words! {
    /// What to do while another run is at work on a thread.
    OnBusy, OnBusy {
        /// Refuse.
        Reject = "reject",
        /// Wait for it.
        Enqueue = "enqueue",
        /// End it.
        Interrupt = "interrupt",
        /// Go on beside it, on a new thread.
        Fork = "fork",
    }
}

words! {
    /// What to do with a new prompt while tool calls are unanswered.
    UnansweredTools, UnansweredTools {
        /// Refuse.
        Reject = "reject",
        /// Answer each with a marked result.
        Interrupt = "interrupt",
        /// Leave them.
        Abandon = "abandon",
    }
}

words! {
    /// What happens when an offered tool has another input schema than the history had under its name.
    OnToolDrift, ToolDriftPolicy {
        /// A warning.
        Warn = "warn",
        /// A refusal, before the model is asked.
        Refuse = "refuse",
    }
}

words! {
    /// How an exchange came to be on record.
    Origin, ExchangeOrigin {
        /// The server made the call.
        Executed = "executed",
        /// The caller made it and told the server.
        Recorded = "recorded",
        /// It came with an import.
        Imported = "imported",
    }
}

words! {
    /// Who said what a setting is.
    SettingSource, SettingSource {
        /// The request.
        Request = "request",
        /// Its prompt.
        Prompt = "prompt",
        /// The thread.
        Thread = "thread",
        /// The profile.
        Profile = "profile",
        /// The configuration of the server.
        Default = "default",
        /// The history: tools that stood.
        Inherited = "inherited",
    }
}

words! {
    /// How a part of the graph is drawn.
    GraphForm, GraphFormat {
        /// With lines of text, for a terminal.
        Text = "text",
        /// For Graphviz.
        Dot = "dot",
        /// For Mermaid.
        Mermaid = "mermaid",
    }
}

words! {
    /// How much of a part of the graph is drawn.
    GraphDetail, GraphDetail {
        /// The last exchange of each turn, and what no turn ends in.
        Turns = "turns",
        /// Every exchange.
        Exchanges = "exchanges",
        /// Roots, points where branches part, heads and ends.
        Forks = "forks",
    }
}

words! {
    /// How a call to a model had a tool.
    OccurrenceKind, ToolOccurrenceKind {
        /// It was offered.
        Offered = "offered",
        /// The answer called it.
        Called = "called",
    }
}

words! {
    /// How two things differ.
    ChangeKind, ChangeKind {
        /// Not at all.
        Same = "same",
        /// It is on the right alone.
        Added = "added",
        /// It is on the left alone.
        Removed = "removed",
        /// It is on both, not alike.
        Changed = "changed",
    }
}
