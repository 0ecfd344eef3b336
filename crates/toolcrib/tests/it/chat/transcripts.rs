//! Conversations as files.

use std::io::Write as _;

use serde_json::json;
use toolcrib::Secret;
use toolcrib::chat::{Chat, ChatOptions, Endpoint, Transcript, Turns};
use toolcrib::egress::{Egress, EgressOptions};
use toolcrib::secret::SecretStore;
use toolcrib::wire::ReplyFormat;

use super::registry;

fn endpoint() -> Endpoint {
    let key = Some(Secret::new("sk-sentinel-123456"));
    Endpoint::new(ReplyFormat::OpenAi, None, "m", key).unwrap()
}

#[test]
fn a_transcript_is_read_back_without_its_secrets_and_without_what_was_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("chat.jsonl");
    let secrets = SecretStore::at(dir.path().join("secrets"));
    let mut transcript =
        Transcript::create(&file, &endpoint(), Some("be brief"), &secrets).unwrap();
    let first = json!({"role": "user", "content": "my key is sk-sentinel-123456"});
    transcript.message(&first).unwrap();
    drop(transcript);
    // Killed in the middle of a line.
    let mut raw = std::fs::OpenOptions::new()
        .append(true)
        .open(&file)
        .unwrap();
    raw.write_all(b"{\"type\": \"message\", \"mess").unwrap();
    let turns = Turns::read(&file).unwrap();
    assert_eq!(
        turns.messages,
        [json!({"role": "user", "content": "my key is [REDACTED]"})]
    );
    assert_eq!(
        (turns.model.as_str(), turns.system.as_deref()),
        ("m", Some("be brief"))
    );
    let mut transcript = Transcript::append_to(&file, &endpoint(), &secrets).unwrap();
    transcript
        .message(&json!({"role": "assistant", "content": "no"}))
        .unwrap();
    transcript.ending("done", None).unwrap();
    assert_eq!(Turns::read(&file).unwrap().messages.len(), 2);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("sk-sentinel"), "{text}");
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let error = Transcript::create(&file, &endpoint(), None, &secrets).unwrap_err();
    assert!(error.to_string().contains("--continue"), "{error}");
}

#[test]
fn input_that_is_not_a_transcript_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (content, says) in [
        ("", "it is empty"),
        ("hello", "line 1"),
        ("{\"type\": \"message\"}\n", "first line"),
        (
            "{\"type\": \"chat\", \"provider\": \"nobody\"}\n",
            "unknown provider",
        ),
    ] {
        let file = dir.path().join("x.jsonl");
        std::fs::write(&file, content).unwrap();
        let error = Turns::read(&file).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn calls_that_were_never_answered_are_answered_when_a_conversation_goes_on() {
    let registry = registry();
    let egress = Egress::new(EgressOptions::default()).unwrap();
    let chat = Chat::new(&registry, &egress, endpoint(), [], ChatOptions::default());
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "echo", "arguments": "{}"}});
    let chat = chat.resume(vec![
        json!({"role": "user", "content": "go"}),
        json!({"role": "assistant", "content": null, "tool_calls": [call("a"), call("b")]}),
        json!({"role": "tool", "tool_call_id": "a", "content": "one"}),
    ]);
    assert_eq!(chat.history().len(), 4);
    assert_eq!(chat.history()[3]["tool_call_id"], "b");
}
