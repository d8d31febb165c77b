//! The database of the command `llm` (`logs.db`) as chats, one a line, each conversation once. The file is only read. It must not know how they are
//! stored here.
//!
//! What `llm` keeps of an answer: model, prompt, system prompt, answer, conversation, tokens, tool calls and their results. A conversation of `llm`
//! sends its earlier prompts and answers again, so it is one transcript.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, Row};
use serde_json::{Map, Value, json};

use crate::ops::cli::failure::Failure;

/// One answer.
struct Answer {
    id: String,
    conversation: String,
    name: String,
    model: String,
    prompt: String,
    system: String,
    response: String,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

/// Reads the conversations of a database.
pub(super) fn lines(file: &Path) -> Result<String, Failure> {
    read(file).map_err(|error| {
        Failure::here(
            format!("{}: {error}", file.display()),
            "name the logs.db of a recent `llm` (`llm logs path` shows it; run it once to bring an old file up to date)",
        )
    })
}

fn read(file: &Path) -> rusqlite::Result<String> {
    let database = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let has_tools = has_table(&database, "tool_calls")? && has_table(&database, "tool_results")?;
    let tokens = if has_column(&database, "responses", "input_tokens")? {
        "r.input_tokens, r.output_tokens"
    } else {
        "NULL, NULL"
    };
    // Ids of `llm` are in the order of time.
    let mut statement = database.prepare(&format!(
        "SELECT r.id, coalesce(r.conversation_id, r.id), coalesce(c.name, ''), coalesce(r.model, ''), coalesce(r.prompt, ''),
                coalesce(r.system, ''), coalesce(r.response, ''), {tokens}
         FROM responses r LEFT JOIN conversations c ON c.id = r.conversation_id
         ORDER BY coalesce(r.conversation_id, r.id), r.id"
    ))?;
    let mut rows = statement.query([])?;
    let (mut out, mut chat) = (String::new(), Chat::default());
    while let Some(row) = rows.next()? {
        let answer = answer(row)?;
        if answer.conversation != chat.conversation {
            chat.end(&mut out);
            chat = Chat { conversation: answer.conversation.clone(), name: answer.name.clone(), ..Chat::default() };
        }
        let tools = if has_tools { tools(&database, &answer.id)? } else { Tools::default() };
        chat.add(answer, tools);
    }
    chat.end(&mut out);
    Ok(out)
}

fn answer(row: &Row<'_>) -> rusqlite::Result<Answer> {
    Ok(Answer {
        id: row.get(0)?,
        conversation: row.get(1)?,
        name: row.get(2)?,
        model: row.get(3)?,
        prompt: row.get(4)?,
        system: row.get(5)?,
        response: row.get(6)?,
        input_tokens: row.get(7)?,
        output_tokens: row.get(8)?,
    })
}

/// The calls of an answer, and the results that came with its prompt.
#[derive(Default)]
struct Tools {
    calls: Vec<Value>,
    results: Vec<(String, String)>,
}

fn tools(database: &Connection, response: &str) -> rusqlite::Result<Tools> {
    let mut statement = database.prepare_cached(
        "SELECT coalesce(tool_call_id, id), name, arguments FROM tool_calls WHERE response_id = ? ORDER BY id",
    )?;
    let calls = statement.query_map([response], |row| {
        let (id, name, arguments): (Value, String, String) = (text(row, 0)?.into(), row.get(1)?, row.get(2)?);
        Ok(json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } }))
    })?;
    let calls = calls.collect::<rusqlite::Result<_>>()?;
    let mut statement = database.prepare_cached(
        "SELECT coalesce(tool_call_id, id), coalesce(output, '') FROM tool_results WHERE response_id = ? ORDER BY id",
    )?;
    let results = statement.query_map([response], |row| Ok((text(row, 0)?, row.get(1)?)))?;
    let results = results.collect::<rusqlite::Result<_>>()?;
    Ok(Tools { calls, results })
}

/// An id, which may be a number.
fn text(row: &Row<'_>, at: usize) -> rusqlite::Result<String> {
    match row.get_ref(at)? {
        rusqlite::types::ValueRef::Integer(number) => Ok(number.to_string()),
        _ => row.get(at),
    }
}

fn has_table(database: &Connection, name: &str) -> rusqlite::Result<bool> {
    database
        .query_row("SELECT count(*) > 0 FROM sqlite_master WHERE type = 'table' AND name = ?", [name], |row| row.get(0))
}

fn has_column(database: &Connection, table: &str, name: &str) -> rusqlite::Result<bool> {
    database.query_row("SELECT count(*) > 0 FROM pragma_table_info(?) WHERE name = ?", [table, name], |row| row.get(0))
}

/// A conversation as far as it was read.
#[derive(Default)]
struct Chat {
    conversation: String,
    name: String,
    system: String,
    messages: Vec<Value>,
}

impl Chat {
    fn add(&mut self, answer: Answer, tools: Tools) {
        // Said anew with each answer, and kept where it changes.
        if !answer.system.is_empty() && answer.system != self.system {
            self.messages.push(json!({ "role": "system", "content": answer.system }));
            self.system = answer.system;
        }
        for (id, output) in tools.results {
            self.messages.push(json!({ "role": "tool", "tool_call_id": id, "content": output }));
        }
        if !answer.prompt.is_empty() {
            self.messages.push(json!({ "role": "user", "content": answer.prompt }));
        }
        let mut message = Map::new();
        message.insert("role".to_owned(), json!("assistant"));
        message.insert("content".to_owned(), json!(answer.response));
        message.insert("model".to_owned(), json!(answer.model));
        if answer.input_tokens.is_some() || answer.output_tokens.is_some() {
            let usage = json!({ "prompt_tokens": answer.input_tokens, "completion_tokens": answer.output_tokens });
            message.insert("usage".to_owned(), usage);
        }
        if !tools.calls.is_empty() {
            message.insert("tool_calls".to_owned(), Value::Array(tools.calls));
        }
        self.messages.push(Value::Object(message));
    }

    fn end(&mut self, out: &mut String) {
        if !self.messages.is_empty() {
            let chat = json!({ "messages": std::mem::take(&mut self.messages), "name": self.name });
            out.push_str(&format!("{chat}\n"));
        }
    }
}
