//! What exists on the server: the few bundles, tools and names that requests are about, and what answers have told.
//!
//! Names come from small sets, so that requests meet what others made and the store stays small. No tool here starts a program: those
//! have their own tests, and would make this one a test of the sandbox's speed.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::random::Random;

/// How many texts are kept of what answers tell, per name.
const KEPT: usize = 32;
pub(super) const BUNDLES: usize = 12;

pub(super) struct Known {
    pub(super) operator: String,
    pub(super) client: String,
    pub(super) slugs: Vec<String>,
    pub(super) archives: Vec<Vec<u8>>,
    learnt: HashMap<String, Vec<String>>,
    /// The digests of questions, by their ids.
    digests: HashMap<String, String>,
}

impl Known {
    pub(super) fn new(operator: &str, client: String) -> Self {
        Known {
            operator: operator.to_owned(),
            client,
            slugs: [
                "read-file",
                "list-directory",
                "weather",
                "echo",
                "天気",
                "delete-file",
                "write-file",
            ]
            .map(str::to_owned)
            .to_vec(),
            archives: vec![b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec()],
            learnt: HashMap::new(),
            digests: HashMap::new(),
        }
    }

    /// The ids of the bundles that requests make.
    pub(super) fn bundle_id(number: usize) -> String {
        format!("01990000-0000-7000-8000-{number:012x}")
    }

    pub(super) fn bundle(&self, random: &mut Random) -> String {
        match random.below(8) {
            0 | 1 => "core".to_owned(),
            2 => "kit-1".to_owned(),
            _ => Known::bundle_id(random.below(BUNDLES)),
        }
    }

    pub(super) fn call_id(&self, random: &mut Random) -> String {
        format!("call-{}", random.below(200))
    }

    pub(super) fn id_of(&self, topic: &str, random: &mut Random) -> String {
        match topic {
            "calls" if !random.once_in(3) => self.call_id(random),
            "calls" => self.learnt("callId", random),
            _ => self.learnt(&format!("{topic}/id"), random),
        }
    }

    /// A tool and arguments that it takes, more often than not.
    pub(super) fn call(&self, random: &mut Random) -> (String, Value) {
        let calls = [
            ("read_file", json!({"path": "a.txt"})),
            ("+read-file", json!({"path": "missing.txt"})),
            ("core/read-file@v1", json!({"path": "../x"})),
            ("list_directory", json!({"path": "."})),
            ("list_directory", json!({"path": ".", "recursive": true})),
            (
                "write_file",
                json!({"path": format!("new/{}.txt", random.below(50)), "content": "x", "createDirs": true}),
            ),
            ("write_file", json!({"path": "a.txt", "content": "x"})),
            ("delete_file", json!({"path": "a.txt"})),
            ("move_file", json!({"from": "a.txt", "to": "../b"})),
            (
                "glob_files",
                json!({"glob": "*.txt", "modifiedAfter": "1d"}),
            ),
            (
                "edit_file",
                json!({"path": "a.txt", "edits": [{"old": "x", "new": "y"}]}),
            ),
            (
                "apply_patch",
                json!({"patch": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-x\n+y\n"}),
            ),
            ("weather", json!({"city": "Paris"})),
            ("find_tools", json!({"query": "read"})),
            ("nowhere/echo", json!({})),
        ];
        let (tool, args) = random.pick(&calls).clone();
        (tool.to_owned(), args)
    }

    /// Arguments for the tool of a path.
    pub(super) fn arguments_for(&self, path: &str, random: &mut Random) -> Value {
        match path {
            _ if path.contains("/delete-file/") || path.contains("/read-file/") => {
                json!({"path": "a.txt"})
            }
            _ if path.contains("/list-directory/") => json!({"path": "."}),
            _ if path.contains("/write-file/") => {
                json!({"path": format!("new/{}.txt", random.below(50)), "content": "x", "createDirs": true})
            }
            _ => json!({"city": "Paris"}),
        }
    }

    pub(super) fn word(&self, random: &mut Random) -> String {
        let words = [
            "x",
            "weather",
            "read",
            "a b",
            "天気",
            "v1",
            "docs/*",
            "2026-01-01T00:00:00Z",
            "https://example.com/",
            "\u{202e}x",
            "assistant",
        ];
        (*random.pick(&words)).to_owned()
    }

    /// The digest of the question of a path, if it is known, else that of another one.
    pub(super) fn digest_of(&self, path: &str, random: &mut Random) -> String {
        let id = path.rsplit('/').next().unwrap_or_default();
        let own = self.digests.get(id).cloned();
        own.unwrap_or_else(|| self.learnt("argsDigest", random))
    }

    /// Something that an answer told under this name.
    pub(super) fn learnt(&self, name: &str, random: &mut Random) -> String {
        match self.learnt.get(name) {
            Some(all) => random.pick(all).clone(),
            None => "01990000-0000-7000-8000-ffffffffffff".to_owned(),
        }
    }

    /// Takes in the contents of an answer.
    pub(super) fn learn(&mut self, topic: &str, value: &Value, random: &mut Random) {
        match value {
            Value::Object(fields) => {
                if let (Some(Value::String(id)), Some(Value::String(digest))) =
                    (fields.get("id"), fields.get("argsDigest"))
                {
                    if self.digests.len() > 1000 {
                        self.digests.clear();
                    }
                    self.digests.insert(id.clone(), digest.clone());
                }
                for (name, field) in fields {
                    match (name.as_str(), field) {
                        ("id", Value::String(text)) => {
                            self.keep(format!("{topic}/id"), text, random);
                        }
                        ("digest", Value::String(text)) if topic == "files" => {
                            self.keep("files/digest".to_owned(), text, random);
                        }
                        ("callId", Value::String(text)) => {
                            self.keep("callId".to_owned(), text, random);
                        }
                        ("argsDigest" | "nextPageToken", Value::String(text)) => {
                            self.keep(name.clone(), text, random);
                        }
                        _ => self.learn(topic, field, random),
                    }
                }
            }
            Value::Array(items) => items
                .iter()
                .take(3)
                .for_each(|item| self.learn(topic, item, random)),
            _ => {}
        }
    }

    /// Takes in that an MCP session has begun.
    pub(super) fn begun(&mut self, session: &str, random: &mut Random) {
        self.keep("session".to_owned(), session, random);
    }

    fn keep(&mut self, name: String, text: &str, random: &mut Random) {
        let all = self.learnt.entry(name).or_default();
        if all.iter().any(|known| known == text) {
            return;
        }
        match all.len() < KEPT {
            true => all.push(text.to_owned()),
            false => all[random.below(KEPT)] = text.to_owned(),
        }
    }
}
