//! The tools that change files: what they do, what they refuse, and what a person is asked. Everything
//! runs twice: with the kernel's path resolution, and with the one for kernels that have none.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

mod attacks;
mod crash;
mod delete;
mod edit;
mod moves;
pub(crate) mod nobody;
mod protected;
mod write;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use toolcrib::RegisterBuiltins as _;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use toolcrib::approval::{ApprovalRequest, ApprovalResponse, Approver, NoAnswer};
use toolcrib::rules::{Rule, RuleSet};
use toolcrib::workspace::Workspace;
use toolcrib::{CallRequest, ErrorCode, Registry, ToolError};

const CANARY: &str = "SECRET-CANARY";

/// A workspace `ws` beside `out/canary`, which no one may touch, and someone who approves.
struct Ground {
    outer: tempfile::TempDir,
    registry: Registry,
    person: Person,
}

/// Says yes to everything, after doing something to the workspace.
#[derive(Clone, Default)]
struct Person(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    asked: Vec<ApprovalRequest>,
    meanwhile: Option<Box<dyn FnOnce() + Send>>,
}

impl Approver for Person {
    fn decide(
        &self,
        request: ApprovalRequest,
    ) -> BoxFuture<'_, Result<ApprovalResponse, NoAnswer>> {
        let mut seen = self.0.lock().unwrap();
        seen.asked.push(request);
        if let Some(meanwhile) = seen.meanwhile.take() {
            meanwhile();
        }
        Box::pin(std::future::ready(Ok(ApprovalResponse::approve("test"))))
    }
}

/// One ground for each way to resolve paths.
fn grounds() -> [Ground; 2] {
    grounds_in(&std::env::temp_dir())
}

/// Like [`grounds`], but in memory where possible: making thousands of directories on a disk is slow.
fn grounds_in_memory() -> [Ground; 2] {
    let memory = Path::new("/dev/shm");
    if tempfile::tempdir_in(memory).is_ok() {
        grounds_in(memory)
    } else {
        grounds()
    }
}

fn grounds_in(place: &Path) -> [Ground; 2] {
    [Workspace::open, Workspace::open_without_openat2].map(|open| {
        let outer = tempfile::tempdir_in(place).unwrap();
        let root = outer.path().join("ws");
        fs::create_dir(&root).unwrap();
        fs::create_dir(outer.path().join("out")).unwrap();
        fs::write(outer.path().join("out/canary"), CANARY).unwrap();
        let person = Person::default();
        // Whatever says so is asked about, even what is allowed by itself.
        let rules = RuleSet::default().with(Rule::ask("ask", ["ASK"]));
        let registry = Registry::builder()
            .workspace(open(&root).unwrap())
            .approver(person.clone())
            .rules(rules)
            .build();
        registry.register_builtins().unwrap();
        Ground {
            outer,
            registry,
            person,
        }
    })
}

impl Ground {
    fn path(&self, path: &str) -> PathBuf {
        self.outer.path().join("ws").join(path)
    }

    fn file(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
    }

    /// Fills a directory with names of one file, which is quicker to make than as many files.
    fn names(&self, dir: &str, count: usize) {
        self.dir(dir);
        self.file("one", "");
        for number in 0..count {
            let name = self.path(dir).join(format!("{number:05}"));
            fs::hard_link(self.path("one"), name).unwrap();
        }
        fs::remove_file(self.path("one")).unwrap();
    }

    fn dir(&self, path: &str) {
        fs::create_dir_all(self.path(path)).unwrap();
    }

    fn link(&self, target: impl AsRef<Path>, path: &str) {
        symlink(target, self.path(path)).unwrap();
    }

    fn content(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Does something between the approval of the next call and its execution.
    fn meanwhile(&self, work: impl FnOnce() + Send + 'static) {
        self.person.0.lock().unwrap().meanwhile = Some(Box::new(work));
    }

    /// The questions asked since this was last called.
    fn asked(&self) -> Vec<ApprovalRequest> {
        std::mem::take(&mut self.person.0.lock().unwrap().asked)
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<Value, ToolError> {
        let call = json!({"name": tool, "arguments": arguments});
        let request = CallRequest::from_json(call.clone()).unwrap();
        let outcome = self.registry.execute(request).await;
        let host = self.outer.path().to_str().unwrap();
        if let Err(error) = &outcome.result {
            let told = serde_json::to_string(error).unwrap();
            assert!(!told.contains(host), "{call}: {told}");
        }
        self.assert_outside_is_untouched();
        self.assert_no_leftovers();
        outcome.into_result().map(|output| output.value)
    }

    async fn write(&self, path: &str, content: &str) -> Result<Value, ToolError> {
        self.call("write_file", json!({"path": path, "content": content}))
            .await
    }

    async fn delete(&self, path: &str) -> Result<Value, ToolError> {
        self.call("delete_file", json!({"path": path, "recursive": true}))
            .await
    }

    async fn rename(&self, from: &str, to: &str) -> Result<Value, ToolError> {
        self.call("move_file", json!({"from": from, "to": to}))
            .await
    }

    fn assert_outside_is_untouched(&self) {
        let outside = self.outer.path().join("out");
        assert_eq!(names_in(&outside), ["canary"]);
        assert_eq!(fs::read_to_string(outside.join("canary")).unwrap(), CANARY);
        assert_eq!(names_in(self.outer.path()), ["out", "ws"]);
    }

    fn assert_no_leftovers(&self) {
        let names = names_in(&self.path(""));
        assert!(
            !names.iter().any(|name| name.ends_with(".tmp")),
            "{names:?}"
        );
    }
}

fn names_in(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[track_caller]
fn code(result: Result<Value, ToolError>) -> ErrorCode {
    match result {
        Ok(value) => panic!("it went well: {value}"),
        Err(error) => error.code(),
    }
}

/// The error, which must have this code and say this.
#[track_caller]
fn assert_error(result: Result<Value, ToolError>, code: ErrorCode, words: &str) {
    let error = result.expect_err("it went well");
    assert_eq!(error.code(), code, "{error}");
    assert!(error.message().contains(words), "{error}");
}
