//! The compiled-in tools, one file each: spec, arguments, body and tests together.

mod list_directory;
mod read_file;

use std::sync::Arc;

use serde::de::DeserializeOwned;

pub use list_directory::ListOptions;
pub use read_file::ReadOptions;

use crate::model::JsonObject;
use crate::model::error::{ErrorCode, ToolError};
use crate::registry::{RegisterError, Registration, Registry, Source};
use crate::tool::Tool;
use list_directory::ListDirectory;
use read_file::ReadFile;

/// What can be set about the built-in tools.
#[derive(Debug, Clone, Default)]
pub struct BuiltinOptions {
    /// For `read_file`.
    pub read: ReadOptions,
    /// For `list_directory`.
    pub list: ListOptions,
    /// Why there is no workspace, which file tools need.
    pub no_workspace: Option<String>,
}

impl Registry {
    /// Adds the built-in tools (S3: `RegisterBuiltinTools`).
    pub fn register_builtins(&self) -> Result<(), RegisterError> {
        self.register_builtins_with(BuiltinOptions::default())
    }

    /// Adds the built-in tools, some of them set up otherwise.
    pub fn register_builtins_with(&self, options: BuiltinOptions) -> Result<(), RegisterError> {
        let no_workspace = match self.workspace() {
            Some(_) => None,
            None => Some(
                options
                    .no_workspace
                    .unwrap_or_else(|| "there is no workspace".to_owned()),
            ),
        };
        let tools: [Arc<dyn Tool>; 2] = [
            Arc::new(ListDirectory::new(options.list)),
            Arc::new(ReadFile::new(options.read)),
        ];
        let unavailable = |tool| {
            (
                tool,
                Registration {
                    unavailable: no_workspace.clone(),
                    ..Registration::default()
                },
            )
        };
        self.insert_all(Source::BuiltIn, tools.map(unavailable))
    }
}

/// Reads the arguments of a built-in; its schema has let through only what its type takes.
fn arguments<A: DeserializeOwned>(args: JsonObject) -> Result<A, ToolError> {
    serde_json::from_value(args.into())
        .map_err(|error| ToolError::new(ErrorCode::InvalidArguments, error.to_string()))
}
