//! `write_file`: makes a text, or bytes, the content of a file (S1, S2).
//!
//! A new file is written without asking. Overwriting one asks, with a diff, and then replaces that
//! file as it was and no other: what the answer rested on is checked again when the call runs.
//! How a file is written is `workspace/write.rs`.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Encoding;
use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::effects::{Approval, Effects};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::LimitsPatch;
use crate::model::outcome::ToolOutput;
use crate::model::text;
use crate::spec::{Role, ToolSpec, Traits};
use crate::tool::{Look, Tool};
use crate::workspace::{MissingDirs, Old, Replaces, Workspace, WorkspacePath};

/// The tool.
pub(crate) struct WriteFile {
    spec: Arc<ToolSpec>,
}

impl WriteFile {
    pub(crate) fn new() -> Self {
        WriteFile {
            spec: Arc::new(spec()),
        }
    }
}

fn spec() -> ToolSpec {
    let mut spec = super::typed_spec::<Args, Written>(
        "write_file",
        "Write file",
        "Write a file in the workspace, whole: a new one, or one that is overwritten after approval.",
        Effects::WRITE,
    );
    spec.keywords = crate::builtin::keywords(&[
        "save",
        "create",
        "new file",
        "overwrite",
        "store",
        "put",
        "touch",
        "output to a file",
        "text",
    ]);
    spec.traits = Traits {
        destroys: Some(true),
        idempotent: Some(true),
        open_world: Some(false),
    };
    spec.roles = vec![("path".to_owned(), Role::WritePath)];
    spec.asks = Some("when the file exists".to_owned());
    spec.examples = vec![
        json!({"path": "output.txt", "content": "Hello, world!"}),
        json!({"path": "notes/today.md", "content": "# Today\n", "createDirs": true}),
    ];
    spec.limits = LimitsPatch {
        timeout_ms: Some(30_000),
        ..LimitsPatch::default()
    };
    spec
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Args {
    /// File to write, relative to the workspace
    path: String,
    /// The whole new content
    content: String,
    /// How the content is given; base64 is for binary files
    #[serde(default)]
    encoding: Encoding,
    /// Make the directories of the path that are missing
    #[serde(default)]
    create_dirs: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Written<'a> {
    /// The file written, relative to the workspace
    path: &'a str,
    /// Its size in bytes
    #[schemars(with = "i64")]
    size: usize,
}

impl Args {
    fn missing(&self) -> MissingDirs {
        if self.create_dirs {
            MissingDirs::Make
        } else {
            MissingDirs::Refuse
        }
    }

    fn into_bytes(self) -> Result<Vec<u8>, ToolError> {
        match self.encoding {
            Encoding::Utf8 => Ok(self.content.into_bytes()),
            Encoding::Base64 => BASE64.decode(&self.content).map_err(|error| {
                let message = format!("is not base64: {}", lower(&error.to_string()));
                super::invalid("write_file", "/content", &message).caused_by(error)
            }),
        }
    }
}

/// The library's sentences, in the middle of ours.
fn lower(sentence: &str) -> String {
    let mut chars = sentence.chars();
    let first = chars.next().into_iter().flat_map(char::to_lowercase);
    first.chain(chars).collect()
}

impl Tool for WriteFile {
    fn spec(&self) -> Arc<ToolSpec> {
        self.spec.clone()
    }

    fn look(&self, _args: &JsonObject, _workspace: Option<&Workspace>) -> Look {
        // What cannot work needs no one's approval: the call will fail and say why. Without a basis
        // it could not overwrite anything, should it work by then.
        Look::later(|args, workspace| approval(args, workspace).unwrap_or_else(Approval::allow))
    }

    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args: Args = super::arguments(args)?;
            let workspace = cx.workspace()?.clone();
            let path = workspace.path(&args.path)?;
            let replaces = replaces(cx.basis(), &path)?;
            let missing = args.missing();
            let bytes = args.into_bytes()?;
            cx.blocking(move || {
                workspace.write_file(&path, &bytes, missing, &replaces)?;
                let size = bytes.len();
                let bytes = if size == 1 { "byte" } else { "bytes" };
                let text = format!("wrote {size} {bytes} to `{path}`\n");
                let path = path.as_str();
                super::typed_output(&Written { path, size }, text)
            })
            .await
        })
    }
}

/// The question; none about what cannot work. Blocks.
fn approval(args: &JsonObject, workspace: Option<&Workspace>) -> Option<Approval> {
    let args: Args = super::arguments(args.clone()).ok()?;
    let workspace = workspace?;
    let path = workspace.path(&args.path).ok()?;
    let old = workspace.file_to_replace(&path, args.missing()).ok()?;
    let new = args.into_bytes().ok()?;
    Some(match old {
        None => create(&path, &new),
        Some(old) => overwrite(&path, &old, &new),
    })
}

/// What was approved to be overwritten.
fn replaces(basis: Option<&Value>, path: &WorkspacePath) -> Result<Replaces, ToolError> {
    match basis {
        None => Ok(Replaces::Nothing),
        Some(basis) if basis["new"] == true => Ok(Replaces::Nothing),
        Some(basis) => Deserialize::deserialize(basis)
            .map(Replaces::Just)
            .map_err(|_| {
                let message = format!("`{path}` was not approved to be overwritten; call again");
                ToolError::new(ErrorCode::Conflict, message)
            }),
    }
}

fn create(path: &WorkspacePath, new: &[u8]) -> Approval {
    let size = text::size(new.len() as u64);
    Approval::allow()
        .with_effect(format!("create the file `{path}`, {size}"))
        .with_basis(json!({"new": true}))
}

fn overwrite(path: &WorkspacePath, old: &Old, new: &[u8]) -> Approval {
    let old_text = old.content.as_deref().and_then(as_text);
    let new_text = as_text(new).filter(|text| text.len() as u64 <= Old::MAX_READ);
    let was = in_words(old.size, old.content.as_deref());
    let becomes = in_words(new.len() as u64, Some(new));
    let effect = if old.content.as_deref() == Some(new) {
        format!("overwrite the file `{path}` with the same content, {was}")
    } else {
        format!("overwrite the file `{path}`: {was}, becomes {becomes}")
    };
    let approval = Approval::ask("it overwrites a file")
        .with_effect(effect)
        .with_basis(serde_json::to_value(&old.identity).unwrap_or_default());
    match (old_text, new_text) {
        (Some(old), Some(new)) if old != new => {
            approval.with_diff(crate::model::diff::unified(&path.to_string(), old, new))
        }
        _ => approval,
    }
}

fn as_text(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    (!text.contains('\0')).then_some(text)
}

/// A file's content in words; what was not read is not judged.
fn in_words(size: u64, content: Option<&[u8]>) -> String {
    let kind = match content {
        Some(content) if as_text(content).is_some() => "text, ",
        Some(_) => "binary, ",
        None => "",
    };
    format!("{kind}{}", text::size(size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;

    #[test]
    fn base64_that_is_none_is_reported_with_a_pointer() {
        let args = |content: &str| Args {
            path: "x".to_owned(),
            content: content.to_owned(),
            encoding: Encoding::Base64,
            create_dirs: false,
        };
        assert_eq!(args("AP8=").into_bytes(), Ok(vec![0, 255]));
        for bad in ["AP8", "AP8=\n", "***", "AP9="] {
            let error = args(bad).into_bytes().unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidArguments, "{bad}");
            assert_eq!(error.details().unwrap()["faults"][0]["pointer"], "/content");
        }
    }

    #[test]
    fn the_published_schema_follows_the_rules_for_authors() {
        let spec = WriteFile::new().spec();
        Schema::authored(spec.input_schema.as_value().clone()).unwrap();
        assert_eq!(spec.reference(), "core/write-file@v1");
        assert_eq!(spec.effects, Effects::WRITE);
    }
}
