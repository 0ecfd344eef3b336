//! What answers a verb: the crib of this process or a server, asked by the same requests. [`Backend`]
//!
//! A verb that works through a server is written once, over the rows and documents of the API; here or there makes no difference to what
//! it prints. Considered and left out: a trait with a local and a remote half, which writes every verb a second time.
//! What only this machine knows (its files, its settings) is behind [`Backend::crib`]: hints may use it, results may not.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::runtime::Runtime;
use toolcrib::Crib;
use toolcrib::approval::queue::Damaged;
use toolcrib::model::text::visible;
use toolcrib_server::api::Api;
use toolcrib_server::client::{Ask, Client, ClientError};

use crate::failure::CliError;
use crate::output::Output;

/// What answers a verb, and what it takes to ask.
pub(crate) struct Backend {
    pub(crate) client: Client,
    pub(crate) runtime: Runtime,
    crib: Option<Arc<Crib>>,
}

impl Backend {
    /// A crib of this process.
    pub(crate) fn here(crib: Crib) -> Result<Self, CliError> {
        let crib = Arc::new(crib);
        Ok(Backend {
            client: Client::of_process(Api::of_process(Arc::clone(&crib))),
            runtime: super::runtime()?,
            crib: Some(crib),
        })
    }

    /// A server.
    pub(crate) fn there(client: Client) -> Result<Self, CliError> {
        Ok(Backend {
            client,
            runtime: super::runtime()?,
            crib: None,
        })
    }

    /// The crib, if it is one of this process.
    pub(crate) fn crib(&self) -> Option<&Arc<Crib>> {
        self.crib.as_ref()
    }

    /// Waits for an answer.
    pub(crate) fn wait<T>(
        &self,
        work: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, CliError> {
        self.wait_raw(work).map_err(|error| self.failed(&error))
    }

    /// Waits for an answer; the error is as it came.
    pub(crate) fn wait_raw<T>(
        &self,
        work: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, ClientError> {
        self.runtime.block_on(work)
    }

    /// What went wrong, with what to do about it.
    pub(crate) fn failed(&self, error: &ClientError) -> CliError {
        super::failed(error, self.client.address())
    }

    /// `GET`s JSON.
    pub(crate) fn get(&self, path: &str) -> Result<Value, CliError> {
        self.wait(self.client.get(path))
    }

    /// `GET`s JSON into a type.
    pub(crate) fn get_as<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        self.wait(self.client.get_as(path))
    }

    /// Sends a request and reads the answer into a type.
    pub(crate) fn ask<T: DeserializeOwned>(&self, ask: Ask) -> Result<T, CliError> {
        self.wait(self.client.json_as(ask))
    }

    /// Every row of a list, page after page.
    pub(crate) fn rows<T: DeserializeOwned>(
        &self,
        path: &str,
        name: &str,
    ) -> Result<Vec<T>, CliError> {
        let (rows, Nothing {}) = self.pages(path, name)?;
        Ok(rows)
    }

    /// Every row of a list, and what else its last page says.
    pub(crate) fn pages<T: DeserializeOwned, M: DeserializeOwned>(
        &self,
        path: &str,
        name: &str,
    ) -> Result<(Vec<T>, M), CliError> {
        let mut rows = Vec::new();
        let mut token: Option<String> = None;
        loop {
            let page = match &token {
                None => path.to_owned(),
                Some(token) => {
                    let mark = if path.contains('?') { '&' } else { '?' };
                    format!("{path}{mark}pageToken={}", Ask::encoded(token))
                }
            };
            let mut page: Page = self.get_as(&page)?;
            let strange = |why: String| {
                let server = self.client.address().to_string();
                self.failed(&ClientError::Strange { server, why })
            };
            let more = page.more.shift_remove(name);
            let more = more.ok_or_else(|| strange(format!("`{name}` is missing in its list")))?;
            let more: Vec<T> =
                serde_json::from_value(more).map_err(|error| strange(error.to_string()))?;
            rows.extend(more);
            match page.next_page_token {
                // A server that gives the same token again would never end.
                Some(next) if token.as_ref() != Some(&next) => token = Some(next),
                _ => {
                    let rest = serde_json::from_value(Value::Object(page.more));
                    return Ok((rows, rest.map_err(|error| strange(error.to_string()))?));
                }
            }
        }
    }
}

/// Whether a word can be part of an address. One that cannot names nothing that there is.
pub(crate) fn is_segment(word: &str) -> bool {
    let is_odd = |c: char| matches!(c, '/' | '\\') || c.is_control();
    !matches!(word, "" | "." | "..") && !word.contains(is_odd)
}

/// A page of any list.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    next_page_token: Option<String>,
    #[serde(flatten)]
    more: toolcrib::model::JsonObject,
}

/// Nothing else of a page is wanted.
#[derive(Deserialize)]
struct Nothing {}

/// Files that cannot be read, as lists report them.
#[derive(Deserialize)]
pub(crate) struct DamagedFiles {
    #[serde(default)]
    damaged: Vec<Damaged>,
}

impl DamagedFiles {
    /// Warns of each, saying what that means.
    pub(crate) fn warn(&self, what: &str, output: &Output) {
        for damaged in &self.damaged {
            output.say(&format!(
                "{} `{}` {what}: {}",
                output.bold("warning:"),
                visible(&damaged.file),
                visible(&damaged.problem)
            ));
        }
    }
}
