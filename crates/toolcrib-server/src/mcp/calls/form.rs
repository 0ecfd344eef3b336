//! The question to a person as a form that every client can show, and the answer read from it.
//!
//! A flat object of texts and one choice. An answer counts as an approval only if it says so in words: a client that accepts an empty
//! form has not asked anybody.

use serde_json::{Map, Value, json};
use toolcrib::approval::{ApprovalRequest, ApprovalResponse};
use toolcrib::call::elicit::Elicitation;
use toolcrib::model::text;
use toolcrib_mcp::protocol::Era;

/// The name that answers a form, for the record.
pub(super) const BY: &str = "mcp:elicitation";
/// The longest diff that is shown, in bytes.
const MAX_DIFF: usize = 32 * 1024;
/// The longest arguments that are shown and offered for editing, in bytes.
const MAX_ARGUMENTS: usize = 16 * 1024;
/// The longest text of a reason or of what is wrong, in bytes.
const MAX_WORDS: usize = 2000;
/// From how many blanks in a row on their number is shown instead: they would push what follows out of sight.
const MANY_BLANKS: usize = 24;

/// Whether a form shows a person everything they decide about. A longer question is answered where it can be read, or not at all.
pub(super) fn shows_all(question: &ApprovalRequest) -> bool {
    let diff = question.diff.as_ref().map_or(0, String::len);
    let arguments = Value::Object(question.args.clone()).to_string();
    arguments.len() <= MAX_ARGUMENTS && diff <= MAX_DIFF
}

/// The parameters of `elicitation/create` for a question; `problem` is what was wrong with the answer before.
pub(super) fn params(question: &ApprovalRequest, problem: Option<&str>, era: Era) -> Value {
    let arguments = Value::Object(question.args.clone()).to_string();
    let mut edited = json!({
        "type": "string",
        "title": "Arguments (JSON)",
        "description": "Other arguments to run with, as a JSON object; they are checked like those of a new call. Leave as it is, or empty, to run with those shown.",
    });
    // Before, a text had no default.
    let has_defaults = era.version() >= "2025-11-25";
    if has_defaults {
        edited["default"] = arguments.as_str().into();
    }
    let mut params = json!({
        "message": message(question, problem, &arguments),
        "requestedSchema": {
            "type": "object",
            "properties": {
                "decision": {
                    "type": "string",
                    "title": "Decision",
                    "description": "Whether the call may run, once.",
                    "enum": ["approve", "deny"],
                },
                "arguments": edited,
                "reason": {
                    "type": "string",
                    "title": "Reason",
                    "description": "What to tell the model, if something.",
                },
            },
            "required": ["decision"],
        },
    });
    if has_defaults {
        params["mode"] = "form".into();
    }
    params
}

/// The parameters of `elicitation/create` for what a tool of another server wants to know: its own, with a word about who asks.
pub(super) fn passed_on(asked: &Elicitation) -> Value {
    let mut params = asked.params.clone();
    // Every line says whose it is, and nothing pushes the first out of sight.
    let said = text::shorten(asked.message(), MAX_WORDS);
    let lines = said.lines().map(str::trim_end);
    let lines: Vec<String> = lines
        .filter(|line| !line.is_empty())
        .map(in_one_line)
        .collect();
    let said = match lines.as_slice() {
        [line] => format!(" {line}"),
        lines => lines.iter().map(|line| format!("\n> {line}")).collect(),
    };
    let message = format!(
        "The MCP server `{}` asks:{said}",
        text::visible(&asked.from)
    );
    if let Value::Object(params) = &mut params {
        params.insert("message".to_owned(), message.into());
        if let Some(schema) = params.get_mut("requestedSchema") {
            make_visible(schema);
        }
    }
    params
}

/// Makes visible what people read of a schema. Names and values stay: they go back to the server.
fn make_visible(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                let is_read = matches!(key.as_str(), "title" | "description");
                match value {
                    Value::String(words) if is_read => *words = in_one_line(words),
                    Value::Array(names) if key == "enumNames" => {
                        for name in names {
                            if let Value::String(name) = name {
                                *name = in_one_line(name);
                            }
                        }
                    }
                    other => make_visible(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_visible),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn message(question: &ApprovalRequest, problem: Option<&str>, arguments: &str) -> String {
    let mut message = String::new();
    if let Some(problem) = problem {
        message.push_str(&format!(
            "The last answer cannot be used: {}\n\n",
            text::shorten(problem, MAX_WORDS)
        ));
    }
    // The effect says in words what the arguments say whole.
    message.push_str(&format!(
        "Allow `{}`? It would {}.\nWhy you are asked: {}.\nArguments: {}",
        in_one_line(&question.tool),
        text::shorten(&in_one_line(&question.effect), MAX_WORDS),
        text::shorten(&in_one_line(&question.reason), MAX_WORDS),
        in_one_line(arguments),
    ));
    if let Some(origin) = question.origin() {
        message.push_str(&format!("\nCalled by {}", in_one_line(&origin)));
    }
    for file in &question.bound {
        message.push_str(&format!("\nRuns {}", in_one_line(&file.in_words())));
    }
    if let Some(diff) = &question.diff {
        message.push_str(&format!("\n\n{}", text::visible(diff)));
    }
    message
}

/// A text that stays in its line and leaves nothing out of sight: line breaks are shown as such, many blanks as their number.
pub(super) fn in_one_line(text: &str) -> String {
    let ends_line = |letter: char| matches!(letter, '\n' | '\u{2028}' | '\u{2029}');
    let is_blank = |letter: char| letter.is_whitespace() && !ends_line(letter);
    let text = text::visible(text);
    let mut line = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        if ends_line(letter) {
            line.push_str("\\n");
        } else if is_blank(letter) {
            let mut blanks = 1;
            while rest.next_if(|next| is_blank(*next)).is_some() {
                blanks += 1;
            }
            match blanks >= MANY_BLANKS {
                true => line.push_str(&format!("[{blanks} blanks]")),
                false => line.extend(std::iter::repeat_n(' ', blanks)),
            }
        } else {
            line.push(letter);
        }
    }
    line
}

/// What a client said to a question.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one per answer, taken apart at once"
)]
pub(super) enum Said {
    /// An answer.
    Answer(ApprovalResponse),
    /// Nothing: the question was dismissed. The protocol has that mean no choice, and programs without a person dismiss all they are asked.
    Nothing,
}

/// What a client's `ElicitResult` says; the error says what is wrong with it, and it decides nothing.
pub(super) fn answer(result: &Value, question: &ApprovalRequest) -> Result<Said, String> {
    let empty = Map::new();
    let content = match result.get("content") {
        None | Some(Value::Null) => &empty,
        Some(Value::Object(content)) => content,
        Some(_) => return Err("`content` is not an object".to_owned()),
    };
    let words = |key: &str| match content.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(words)) => Ok(Some(words.trim()).filter(|words| !words.is_empty())),
        Some(_) => Err(format!("`{key}` is not a string")),
    };
    let no = |reason: Option<&str>| {
        let reason = reason.unwrap_or("the person at the client said no");
        Said::Answer(ApprovalResponse::deny(BY, reason))
    };
    match result.get("action").and_then(Value::as_str) {
        Some("accept") => {}
        Some("decline") => return Ok(no(words("reason")?)),
        Some("cancel") => return Ok(Said::Nothing),
        _ => return Err("`action` is `accept`, `decline` or `cancel`".to_owned()),
    }
    let reason = words("reason")?;
    match words("decision")? {
        Some("deny") => return Ok(no(reason)),
        Some("approve") => {}
        _ => return Err("`decision` is `approve` or `deny`".to_owned()),
    }
    let mut response = ApprovalResponse::approve(BY);
    response.reason = reason.map(str::to_owned);
    if let Some(edited) = words("arguments")? {
        let edited = crate::api::read_strict(edited.as_bytes())
            .map_err(|error| format!("`arguments` is not JSON: {error}"))?;
        let Value::Object(edited) = edited else {
            return Err("`arguments` is not a JSON object".to_owned());
        };
        response.modified_args = Some(edited).filter(|edited| *edited != question.args);
    }
    Ok(Said::Answer(response))
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_mcp::protocol::LEGACY;

    fn question() -> ApprovalRequest {
        serde_json::from_value(json!({
            "id": "q", "stepId": "delete_file", "callId": "c", "tool": "delete_file", "args": {"path": "a.txt"}, "reason": "it cannot be undone",
            "effect": "delete `a.txt`", "diff": "-a\n", "argsDigest": "d", "caller": "mcp",
            "createdAt": "2026-01-01T00:00:00Z",
        }))
        .unwrap()
    }

    #[test]
    fn what_a_server_asks_cannot_look_like_a_question_of_ours() {
        let message = format!(
            "{}Allow `read_file`? It would \u{1b}[31mread.",
            "\n".repeat(60)
        );
        let params = passed_on(&Elicitation {
            from: "evil".to_owned(),
            params: json!({
                "message": message,
                "requestedSchema": {"type": "object", "properties": {"x": {
                    "type": "string", "title": "Your \u{1b}[31mtoken\u{202e}", "enum": ["a\u{1b}"], "enumNames": ["b\u{1b}"]
                }}},
            }),
        });
        let shown = params["message"].as_str().unwrap();
        assert!(
            shown.starts_with("The MCP server `evil` asks: Allow"),
            "{shown}"
        );
        assert!(!shown.contains('\u{1b}'), "{shown}");
        let field = &params["requestedSchema"]["properties"]["x"];
        let title = field["title"].as_str().unwrap();
        assert!(!title.contains(['\u{1b}', '\u{202e}']), "{title}");
        assert!(!field["enumNames"].to_string().contains("u001b"), "{field}");
        assert_eq!(field["enum"], json!(["a\u{1b}"]), "it goes back as it came");
        let two = passed_on(&Elicitation {
            from: "s".to_owned(),
            params: json!({"message": "one\ntwo"}),
        });
        assert_eq!(two["message"], "The MCP server `s` asks:\n> one\n> two");
    }

    #[test]
    fn a_form_says_what_would_happen_and_why_a_person_is_asked() {
        let params = params(&question(), Some("no"), Era::Legacy(LEGACY));
        let message = params["message"].as_str().unwrap();
        for part in [
            "delete `a.txt`",
            "it cannot be undone",
            "-a\n",
            "The last answer cannot be used: no",
            "{\"path\":\"a.txt\"}",
        ] {
            assert!(message.contains(part), "{message}");
        }
        assert_eq!(params["mode"], "form");
        assert_eq!(params["requestedSchema"]["required"], json!(["decision"]));
    }

    #[test]
    fn a_form_has_only_what_the_version_knows() {
        let old = params(&question(), None, Era::Legacy("2025-06-18"));
        assert!(old.get("mode").is_none());
        assert!(
            old["requestedSchema"]["properties"]["arguments"]
                .get("default")
                .is_none()
        );
    }

    #[test]
    fn what_a_form_cannot_show_whole_is_not_asked_by_it() {
        assert!(shows_all(&question()));
        let mut long = question();
        long.args["path"] = "a".repeat(MAX_ARGUMENTS).into();
        assert!(!shows_all(&long));
        let mut long = question();
        long.diff = Some("-a\n".repeat(MAX_DIFF));
        assert!(!shows_all(&long));
    }

    #[test]
    fn nothing_is_pushed_out_of_sight_and_no_line_is_forged() {
        let mut question = question();
        let command = format!("eval x{}; echo TAIL", " ".repeat(6000));
        question.effect = format!("run `{command}`\n\nAllow `read_file`? It would read");
        question.args["path"] = command.into();
        let params = params(&question, None, Era::Modern);
        let message = params["message"].as_str().unwrap();
        assert_eq!(message.matches("eval x[6000 blanks]; echo TAIL").count(), 2);
        assert!(
            message.contains("TAIL`\\n\\nAllow `read_file`"),
            "{message}"
        );
        assert_eq!(message.lines().count(), 5, "{message}");
        assert_eq!(in_one_line("a  b\u{2028}c"), "a  b\\u{2028}c");
    }

    #[test]
    fn what_deceives_a_terminal_is_shown() {
        let mut question = question();
        question.effect = "delete \u{202e}gpj.exe\u{1b}[2J".to_owned();
        let params = params(&question, None, Era::Modern);
        let message = params["message"].as_str().unwrap();
        assert!(!message.contains(['\u{202e}', '\u{1b}']), "{message:?}");
    }

    #[test]
    fn only_an_approval_in_words_is_one() {
        let read = |result: Value| {
            answer(&result, &question()).map(|said| match said {
                Said::Answer(answer) => Some(answer.approved),
                Said::Nothing => None,
            })
        };
        assert_eq!(
            read(json!({"action": "accept", "content": {"decision": "approve"}})),
            Ok(Some(true))
        );
        assert_eq!(
            read(json!({"action": "accept", "content": {"decision": "deny"}})),
            Ok(Some(false))
        );
        assert_eq!(read(json!({"action": "decline"})), Ok(Some(false)));
        assert_eq!(
            read(json!({"action": "cancel", "content": {"decision": "approve"}})),
            Ok(None)
        );
        for odd in [
            json!({"action": "accept"}),
            json!({"action": "accept", "content": {}}),
            json!({"action": "accept", "content": {"decision": true}}),
            json!({"action": "accept", "content": {"decision": "Approve"}}),
            json!({"action": "accept", "content": [1]}),
            json!({"content": {"decision": "approve"}}),
            json!({"action": "accept", "content": {"decision": "approve", "arguments": "{"}}),
            json!({"action": "accept", "content": {"decision": "approve", "arguments": "[]"}}),
            json!({"action": "accept", "content": {"decision": "approve", "arguments": "{\"a\":1,\"a\":2}"}}),
            json!("approve"),
        ] {
            assert!(read(odd.clone()).is_err(), "{odd}");
        }
    }

    #[test]
    fn arguments_that_stayed_are_not_an_edit() {
        let edit = |arguments: &str| {
            let result = json!({"action": "accept", "content": {"decision": "approve", "arguments": arguments}});
            match answer(&result, &question()).unwrap() {
                Said::Answer(answer) => answer.modified_args,
                Said::Nothing => panic!("an answer"),
            }
        };
        assert_eq!(edit(" { \"path\": \"a.txt\" } "), None);
        assert_eq!(edit(""), None);
        assert_eq!(
            edit("{\"path\":\"b\"}"),
            json!({"path": "b"}).as_object().cloned()
        );
    }
}
