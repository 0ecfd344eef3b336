//! What becomes of a message that was heard.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::{Signs, Talk, lock};
use crate::client::server_message::{Progress, ServerNotice};
use crate::rpc::{self, Message, RpcError};

/// The longest message of a server's log that is passed on, as JSON.
const MAX_LOG: usize = 64 * 1024;
/// The longest text of a progress, or of a level, that is passed on.
const MAX_TEXT: usize = 4096;

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::client) enum Hearing {
    Understood,
    Malformed,
}

impl Talk {
    /// Takes in one message. `call` is whose stream it came on, where there is one.
    pub(in crate::client) fn hear(self: &Arc<Self>, text: &[u8], call: Option<&Signs>) -> Hearing {
        if self.change_untold.swap(false, Ordering::Relaxed) {
            self.tools_changed();
        }
        let Ok(message) = rpc::read(text) else {
            self.answered_badly(text);
            return Hearing::Malformed;
        };
        match message {
            Message::Response { id, result } => {
                if let Some(rpc::Id::Number(id)) = id
                    && let Some(waiter) = lock(&self.waiting).by_id.remove(&id)
                {
                    // No one waits any more where this fails.
                    let answer = result.map(RawValue::to_owned).map_err(tamed);
                    let _ = waiter.answer.send(answer);
                }
            }
            Message::Notification { method, params } => self.heard_of(&method, params),
            Message::Request { id, method, params } => {
                let key = call.and_then(|signs| signs.key);
                self.asked(id, method.into_owned(), params, key);
            }
        }
        Hearing::Understood
    }

    /// Ends a request whose answer came and is not text: no one should wait for another one.
    fn answered_badly(&self, text: &[u8]) {
        if std::str::from_utf8(text).is_ok() {
            return;
        }
        let text = String::from_utf8_lossy(text);
        if let Ok(Message::Response {
            id: Some(rpc::Id::Number(id)),
            ..
        }) = rpc::read(text.as_bytes())
            && let Some(waiter) = lock(&self.waiting).by_id.remove(&id)
        {
            let error = RpcError::new(rpc::code::PARSE_ERROR, "the answer is not UTF-8");
            let _ = waiter.answer.send(Err(error));
        }
    }

    fn heard_of(self: &Arc<Self>, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/progress" => self.progressed(params),
            "notifications/tools/list_changed" => self.tools_changed(),
            "notifications/prompts/list_changed" | "notifications/resources/list_changed" => {
                self.material_changed();
            }
            "notifications/message" => self.logged(params),
            "notifications/cancelled" => self.questions.taken_back(params),
            "notifications/subscriptions/acknowledged" if self.listening.acknowledged() => {
                self.tools_changed();
                self.material_changed();
            }
            _ => {}
        }
    }

    pub(in crate::client) fn tools_changed(&self) {
        if let Err(mpsc::error::TrySendError::Full(_)) =
            self.told.try_send(ServerNotice::ToolsChanged)
        {
            self.change_untold.store(true, Ordering::Relaxed);
        }
    }

    /// Where there is no room to say so, the owner learns it at the next change or connection.
    fn material_changed(&self) {
        let server = self.server().capabilities;
        if server["prompts"].is_object() || server["resources"].is_object() {
            let _ = self.told.try_send(ServerNotice::MaterialChanged);
        }
    }

    fn progressed(&self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            progress_token: i64,
            progress: f64,
            total: Option<f64>,
            message: Option<String>,
        }
        let Some(Ok(params)) = params.map(|raw| serde_json::from_str::<Params>(raw.get())) else {
            return;
        };
        let waiting = lock(&self.waiting);
        let Some(waiter) = waiting.by_id.get(&params.progress_token) else {
            return;
        };
        waiter.signs.seen();
        if let Some(progress) = &waiter.signs.progress {
            let _ = progress.try_send(Progress {
                progress: params.progress,
                total: params.total,
                message: params.message.map(|text| cut(text, MAX_TEXT)),
            });
        }
    }

    fn logged(&self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct Params {
            level: String,
            #[serde(default)]
            data: Value,
        }
        let Some(raw) = params else { return };
        if raw.get().len() > MAX_LOG || self.told.capacity() == 0 {
            return;
        }
        if let Ok(params) = serde_json::from_str::<Params>(raw.get()) {
            let _ = self.told.try_send(ServerNotice::Log {
                level: cut(params.level, MAX_TEXT),
                data: params.data,
            });
        }
    }
}

/// An error of a server, with no more words than someone wants to read.
pub(in crate::client) fn tamed(mut error: RpcError) -> RpcError {
    error.message = cut(error.message, MAX_TEXT);
    error.data = error.data.filter(|data| data.to_string().len() <= MAX_LOG);
    error
}

/// At most so many bytes of a text.
pub(in crate::client) fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        let end = (0..=most).rev().find(|&end| text.is_char_boundary(end));
        text.truncate(end.unwrap_or(0));
        text.push('…');
    }
    text
}
