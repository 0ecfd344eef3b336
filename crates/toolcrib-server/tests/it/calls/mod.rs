//! Calls over HTTP: whole, in the background, as streams; how they stand, who sees them, and who waits for whom.

mod fairness;
mod hub;
mod invoke;
mod sockets;
mod state;
mod streams;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolcrib::approval::{ApprovalResponse, Status};
use toolcrib::schemars::JsonSchema;
use toolcrib::serde::Deserialize;
use toolcrib::{FnTool, OutputStream};
use toolcrib_server::api::Body;
use toolcrib_server::auth::Clients;

use crate::harness::{Asking, Scene};

/// A scene with tools that do what tests want.
struct Stage {
    scene: Scene,
    /// Lets that many calls of `hold` end.
    release: Arc<Semaphore>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "toolcrib::serde")]
#[schemars(crate = "toolcrib::schemars", deny_unknown_fields)]
struct Echo {
    /// What to say.
    text: String,
    /// Not said.
    number: Option<i64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "toolcrib::serde")]
#[schemars(crate = "toolcrib::schemars")]
struct Print {
    /// How often.
    times: usize,
    /// How much.
    bytes: usize,
}

impl Stage {
    fn new() -> Self {
        Stage::with_settings("")
    }

    /// With these settings in its home.
    fn with_settings(settings: &str) -> Self {
        let write = |home: &Path, _: &Path| {
            std::fs::write(home.join("config.toml"), settings).unwrap();
        };
        let directory = tempfile::tempdir().unwrap();
        let scene = Scene::prepared(directory, write, |options| options);
        let release = Arc::new(Semaphore::new(0));
        let registry = scene.crib.registry();
        let echo = FnTool::new("echo", "Says it again", |args: Echo, _cx| async move {
            let _ = args.number;
            Ok(args.text)
        });
        registry.register(echo.unwrap()).unwrap();
        let ask = FnTool::new("ask", "Asks first", |(), _cx| async { Ok("done") });
        registry.register(ask.unwrap().always_ask()).unwrap();
        let fail = FnTool::new("fail", "Fails", |(), _cx| async {
            Err::<String, _>(toolcrib::Failure::from(toolcrib::ToolError::failed(
                "it broke",
            )))
        });
        registry.register(fail.unwrap()).unwrap();
        let held = Arc::clone(&release);
        let hold = FnTool::new("hold", "Holds on", move |(), cx| {
            let held = Arc::clone(&held);
            async move {
                cx.emit_output(OutputStream::Stdout, "holding\n");
                held.acquire().await.map(|permit| permit.forget())?;
                Ok("let go")
            }
        });
        registry.register(hold.unwrap()).unwrap();
        let print = FnTool::new("print", "Prints much", |args: Print, cx| async move {
            for number in 0..args.times {
                let chunk = format!("{number}:").repeat(args.bytes / 2 + 1);
                cx.emit_output(OutputStream::Stdout, &chunk[..args.bytes]);
                tokio::task::yield_now().await;
            }
            Ok("printed")
        });
        registry.register(print.unwrap()).unwrap();
        Stage { scene, release }
    }

    fn operator(&self) -> Asking<'_> {
        self.scene.as_operator()
    }

    /// A client, made if there is none.
    fn client(&self, name: &str) -> Asking<'_> {
        let made = Clients::of_home(&self.scene.home()).add(name).unwrap();
        self.scene.with_token(&made.token)
    }

    /// Answers the only question there is, when there is one.
    async fn answer(&self, response: ApprovalResponse) {
        let id = self.question().await;
        let queue = self.scene.crib.approvals();
        let digest = queue.show(&id).unwrap().request.args_digest;
        queue
            .answer(&id, Some(&digest), response, |_, _| Ok(()))
            .unwrap();
    }

    /// The only question there is, when there is one.
    async fn question(&self) -> String {
        let queue = self.scene.crib.approvals();
        soon(|| {
            let listing = queue.list(Some(Status::Pending)).unwrap();
            let pending = listing.requests.into_iter().next();
            pending.map(|question| question.request.id)
        })
        .await
    }
}

/// Waits until something is so.
async fn soon<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(found) = look() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), looking)
        .await
        .expect("it came to nothing within 20 s")
}

fn call(tool: &str, args: Value) -> Value {
    json!({"tool": tool, "args": args})
}

/// Sends a call and returns the answer as it is.
async fn post_raw(asking: &Asking<'_>, path: &str, body: Value) -> Response<Body> {
    let body = Bytes::from(body.to_string());
    asking
        .raw(Method::POST, path, "application/json", Some(body))
        .await
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
struct Frame {
    id: String,
    event: String,
    data: Value,
}

/// Reads a stream frame by frame.
struct Frames {
    body: Body,
    rest: String,
}

impl Frames {
    fn of(response: Response<Body>) -> Self {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Frames {
            body: response.into_body(),
            rest: String::new(),
        }
    }

    /// The next event; comments are passed over.
    async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(end) = self.rest.find("\n\n") {
                let text: String = self.rest.drain(..end + 2).collect();
                if text.starts_with(':') {
                    continue;
                }
                return Some(read(&text));
            }
            let piece = tokio::time::timeout(Duration::from_secs(20), self.body.frame());
            let piece = piece.await.expect("nothing came within 20 s")?;
            let bytes = piece.unwrap().into_data().unwrap();
            self.rest.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    async fn all(mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.next().await {
            frames.push(frame);
        }
        frames
    }
}

fn read(text: &str) -> Frame {
    let mut lines = text.lines();
    // The end of the server is not an event of the stream, and leaves the last id as it is.
    if text.starts_with("event: shutdown\n") {
        return Frame {
            id: String::new(),
            event: "shutdown".to_owned(),
            data: Value::Null,
        };
    }
    let mut field = |name: &str| {
        let line = lines.next().unwrap_or_default();
        line.strip_prefix(name)
            .unwrap_or_else(|| panic!("no `{name}` in {text:?}"))
            .to_owned()
    };
    let (id, event, data) = (field("id: "), field("event: "), field("data: "));
    let read: Value = serde_json::from_str(&data).unwrap();
    assert_eq!(
        read.to_string().len(),
        data.len(),
        "a key is there twice: {data}"
    );
    Frame {
        id,
        event,
        data: read,
    }
}

fn names(frames: &[Frame]) -> Vec<&str> {
    frames.iter().map(|frame| frame.event.as_str()).collect()
}
