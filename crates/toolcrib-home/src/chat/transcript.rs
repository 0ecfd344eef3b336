//! A conversation as a file: [`Transcript`], one line for each thing that happened.
//!
//! Every line is written whole and at once, so that whatever ends the process leaves a file that
//! can be read; a last line that was cut off is passed over. Secrets are masked before anything is
//! written.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::Endpoint;
use crate::secret::SecretStore;
use crate::wire::ReplyFormat;

/// The longest transcript that is read.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// A file that a conversation is written to.
#[derive(Debug)]
pub struct Transcript {
    file: File,
    path: PathBuf,
    secrets: SecretStore,
    endpoint: Endpoint,
}

/// Why a transcript cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum TranscriptError {
    /// The file is there already.
    #[error("`{}` is there already; go on with it by `--continue`, or name another file", .0.display())]
    Exists(PathBuf),
    /// The file cannot be opened, read or written.
    #[error("cannot use `{}` as a transcript: {cause}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// It is not a transcript.
    #[error("`{}` is not a chat transcript: {why}", .path.display())]
    Strange {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
}

impl Transcript {
    /// Begins a file, readable by its owner only, that must not be there yet.
    pub fn create(
        path: &Path,
        endpoint: &Endpoint,
        system: Option<&str>,
        secrets: &SecretStore,
    ) -> Result<Self, TranscriptError> {
        let mut options = OpenOptions::new();
        options.create_new(true);
        let mut transcript = Transcript::open(path, &mut options, endpoint, secrets)?;
        transcript.line(&json!({
            "type": "chat",
            "version": 1,
            "provider": endpoint.format().as_str(),
            "model": endpoint.model(),
            "baseUrl": endpoint.base_url().as_str(),
            "system": system,
        }))?;
        Ok(transcript)
    }

    /// Goes on with a file.
    pub fn append_to(
        path: &Path,
        endpoint: &Endpoint,
        secrets: &SecretStore,
    ) -> Result<Self, TranscriptError> {
        let mut transcript = Transcript::open(path, &mut OpenOptions::new(), endpoint, secrets)?;
        // A last line that was cut off must not swallow the next.
        if !ends_with_newline(path) {
            let written = transcript.file.write_all(b"\n");
            written.map_err(|cause| transcript.failed(cause))?;
        }
        Ok(transcript)
    }

    fn open(
        path: &Path,
        options: &mut OpenOptions,
        endpoint: &Endpoint,
        secrets: &SecretStore,
    ) -> Result<Self, TranscriptError> {
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
        let file = options
            .append(true)
            .open(path)
            .map_err(|cause| match cause.kind() {
                io::ErrorKind::AlreadyExists => TranscriptError::Exists(path.to_owned()),
                _ => TranscriptError::Io {
                    path: path.to_owned(),
                    cause,
                },
            })?;
        Ok(Transcript {
            file,
            path: path.to_owned(),
            secrets: secrets.clone(),
            endpoint: endpoint.clone(),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a message of the conversation.
    pub fn message(&mut self, message: &Value) -> Result<(), TranscriptError> {
        self.line(&json!({"type": "message", "message": message}))
    }

    /// Writes how a turn ended, in a word, and in more where there is more to say.
    pub fn ending(&mut self, ending: &str, detail: Option<&str>) -> Result<(), TranscriptError> {
        let mut line = json!({"type": "ending", "ending": ending});
        if let Some(detail) = detail {
            line["detail"] = detail.into();
        }
        self.line(&line)
    }

    fn line(&mut self, document: &Value) -> Result<(), TranscriptError> {
        let mut document = document.clone();
        document["at"] = Timestamp::now().to_string().into();
        self.secrets.masker().mask_value(&mut document);
        let mut line = self.endpoint.masked(&document.to_string());
        line.push('\n');
        let written = self.file.write_all(line.as_bytes());
        written.map_err(|cause| self.failed(cause))
    }

    fn failed(&self, cause: io::Error) -> TranscriptError {
        TranscriptError::Io {
            path: self.path.clone(),
            cause,
        }
    }
}

fn ends_with_newline(path: &Path) -> bool {
    use std::io::{Seek as _, SeekFrom};
    let last = || -> io::Result<u8> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::End(-1))?;
        let mut byte = [0];
        file.read_exact(&mut byte)?;
        Ok(byte[0])
    };
    last().is_ok_and(|byte| byte == b'\n')
}

/// What an earlier conversation was.
#[derive(Debug, Clone, PartialEq)]
pub struct Turns {
    /// Whose messages they are.
    pub format: ReplyFormat,
    /// The model.
    pub model: String,
    /// Where it was.
    pub base_url: Option<String>,
    /// The system prompt.
    pub system: Option<String>,
    /// The messages.
    pub messages: Vec<Value>,
}

impl Turns {
    /// Reads a transcript.
    pub fn read(path: &Path) -> Result<Self, TranscriptError> {
        let failed = |cause| TranscriptError::Io {
            path: path.to_owned(),
            cause,
        };
        let strange = |why: String| TranscriptError::Strange {
            path: path.to_owned(),
            why,
        };
        let mut text = Vec::new();
        let file = File::open(path).map_err(failed)?;
        file.take(MAX_BYTES + 1)
            .read_to_end(&mut text)
            .map_err(failed)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(strange("it is over the limit of 256 MB".to_owned()));
        }
        let lines = text.split(|byte| *byte == b'\n').enumerate();
        let mut turns: Option<Turns> = None;
        for (number, line) in lines {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let document: Value = match serde_json::from_slice(line) {
                Ok(document) => document,
                // Cut off, now or before it was gone on with.
                Err(_) if turns.is_some() => continue,
                Err(error) => return Err(strange(format!("line {}: {error}", number + 1))),
            };
            match (document["type"].as_str(), &mut turns) {
                (Some("chat"), None) => {
                    let text = |key: &str| document[key].as_str().map(str::to_owned);
                    let provider = text("provider").unwrap_or_default();
                    let format: ReplyFormat = provider
                        .parse()
                        .map_err(|error: crate::wire::UnknownChoice| strange(error.to_string()))?;
                    turns = Some(Turns {
                        format,
                        model: text("model").unwrap_or_default(),
                        base_url: text("baseUrl"),
                        system: text("system"),
                        messages: Vec::new(),
                    });
                }
                (Some("message"), Some(turns)) => turns.messages.push(document["message"].clone()),
                (_, None) => return Err(strange("its first line is none".to_owned())),
                (_, Some(_)) => {}
            }
        }
        turns.ok_or_else(|| strange("it is empty".to_owned()))
    }
}
