//! The next command to type after an error, for each reason of the API that has one. It must not know how it is shown.

use super::failure::Refusal;

/// What to type next; nothing where the server's message says it all.
pub(crate) fn after(refusal: &Refusal) -> Option<String> {
    let fact = |name: &str| refusal.fact(name);
    let or = |name: &str, placeholder: &str| {
        let value = fact(name);
        if value.is_empty() { placeholder.to_owned() } else { value.to_owned() }
    };
    let hint = match refusal.reason.as_str() {
        "INVALID_FIELDS" if refusal.fields.iter().any(|(path, _)| path.ends_with("exchange_id")) => {
            "short ids are only for reading; antiphon log, threads get, runs get, and log --graph --full-ids show them whole".to_owned()
        }
        "EXCHANGE_NOT_FOUND" => "antiphon log --graph shows the exchanges of all threads".to_owned(),
        "THREAD_NOT_FOUND" => {
            let id = refusal.resource.as_ref().map_or("ID", |(_, name)| name);
            format!(
                "antiphon threads lists those that there are; antiphon capture --new-thread {id} TEXT or antiphon threads create {id} makes it"
            )
        }
        "RUN_NOT_FOUND" => "antiphon runs lists those that there are".to_owned(),
        "DOCUMENT_NOT_FOUND" => "antiphon workspace list THREAD shows those that there are".to_owned(),
        "THREAD_EXISTS" => {
            let id = or("thread_id", "ID");
            format!(
                "antiphon continue --thread {id} TEXT, or antiphon capture --thread {id} TEXT where it is empty, or choose another id"
            )
        }
        "THREAD_NOT_EMPTY" => format!("antiphon continue --thread {} TEXT", or("thread_id", "ID")),
        "THREAD_EMPTY" => format!("antiphon capture --thread {} TEXT", or("thread_id", "ID")),
        "THREAD_DIVERGED" => format!("antiphon fork {}", or("head_exchange_id", "EXCHANGE")),
        "HEAD_MOVED" => format!("antiphon log --thread {}", or("thread_id", "ID")),
        "THREAD_BUSY" => format!("wait for it, antiphon runs cancel {}, or --on-busy fork", or("active_run_id", "RUN")),
        "RUN_INTERRUPTED" | "RUN_CANCELLED" => {
            format!("the same command with --run-id {} --retry", or("run_id", "RUN"))
        }
        "RUN_NOT_COMPLETED" if !fact("exchange_id").is_empty() => {
            format!("antiphon inspect {}, or fork there by exchange", fact("exchange_id"))
        }
        "RUN_NOT_COMPLETED" | "RUN_ID_CONFLICT" | "RESULT_NOT_KEPT" => {
            format!("antiphon runs get {}", or("run_id", "RUN"))
        }
        "RUN_NOT_ON_PATH" => format!("antiphon log --thread {}", or("thread_id", "ID")),
        "RUN_ID_REQUIRED" => "the same command with --run-id ID".to_owned(),
        "UNANSWERED_TOOL_CALLS" => {
            format!("antiphon continue {} --result CALL_ID=TEXT for each call", or("exchange_id", "EXCHANGE"))
        }
        "PREPARED_USED" => format!("antiphon runs get {}", or("run_id", "RUN")),
        "PREPARED_STALE" | "PREPARED_NOT_FOUND" => "antiphon prepare TEXT prepares it again".to_owned(),
        "TOOL_RESULTS_MISMATCH" => "antiphon inspect EXCHANGE shows the calls that are pending".to_owned(),
        "PROFILE_MISSING" | "PROFILE_UNKNOWN" => "antiphon catalog profiles".to_owned(),
        "PROMPT_UNKNOWN" => "antiphon catalog prompts".to_owned(),
        "PROMPT_VARIABLES" => format!("antiphon catalog prompts {} shows its variables", or("prompt_id", "ID")),
        "CONTRACT_UNKNOWN" => "antiphon catalog contracts".to_owned(),
        "CREDENTIAL_MISSING" | "PROVIDER_REFUSED_CREDENTIAL" if fact("credential_source") != "CALLER" => {
            let backend = or("backend_id", "?");
            format!("set the credential of the backend `{backend}`; then antiphon reload where it is in a file, else restart the server")
        }
        "COORDINATION_NOT_FOUND" => "antiphon coordinations lists those that there are".to_owned(),
        "COORDINATION_CONFLICT" => {
            format!("antiphon coordinate --attach {}, or choose another id", or("coordination_id", "ID"))
        }
        "ERASE_SHARED" => "the same command with --dry-run --cascade shows what would go with it".to_owned(),
        "EXCHANGE_ERASED" if !fact("parent_exchange_id").is_empty() => {
            format!("antiphon inspect {}", fact("parent_exchange_id"))
        }
        "EXCHANGE_ERASED" => "antiphon capture TEXT begins another conversation".to_owned(),
        "ANSWER_STALE" => "antiphon coordinations get ID shows what it waits for".to_owned(),
        "STORE_CORRUPT" => "stop the server, then antiphon verify --data DIR".to_owned(),
        "NOT_IMPLEMENTED" => "antiphon info lists what this server does not do yet".to_owned(),
        _ => return None,
    };
    Some(hint)
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;
    use crate::domain::fault::Reason;

    fn refusal(reason: Reason, facts: &[(&str, &str)]) -> Refusal {
        Refusal {
            code: Code::Unknown,
            message: String::new(),
            reason: reason.word().to_owned(),
            metadata: facts.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
            fields: Vec::new(),
            resource: None,
            retry_after_ms: None,
            request_id: String::new(),
        }
    }

    #[test]
    fn commands_carry_the_ids_of_the_error() {
        let hint = after(&refusal(Reason::ThreadNotEmpty, &[("thread_id", "demo")])).unwrap();
        assert_eq!(hint, "antiphon continue --thread demo TEXT");
        assert_eq!(after(&refusal(Reason::ThreadNotEmpty, &[])).unwrap(), "antiphon continue --thread ID TEXT");
        let hint = after(&refusal(Reason::RunNotCompleted, &[("run_id", "r"), ("exchange_id", "e")])).unwrap();
        assert_eq!(hint, "antiphon inspect e, or fork there by exchange");
        let hint = after(&refusal(Reason::ExchangeErased, &[("parent_exchange_id", "p")])).unwrap();
        assert_eq!(hint, "antiphon inspect p");
        assert!(after(&refusal(Reason::ExchangeErased, &[])).unwrap().starts_with("antiphon capture TEXT"));
    }

    #[test]
    fn a_short_id_leads_to_whole_ones() {
        let fields = vec![("turn.exchange.exchange_id".to_owned(), "must be a UUID".to_owned())];
        let short = Refusal { fields, ..refusal(Reason::InvalidFields, &[]) };
        assert!(after(&short).unwrap().contains("--full-ids"));
        assert_eq!(after(&refusal(Reason::InvalidFields, &[])), None);
    }

    #[test]
    fn a_callers_own_credential_is_not_the_servers_business() {
        assert_eq!(after(&refusal(Reason::CredentialMissing, &[("credential_source", "CALLER")])), None);
        assert!(after(&refusal(Reason::CredentialMissing, &[("backend_id", "openai")])).unwrap().contains("`openai`"));
    }
}
