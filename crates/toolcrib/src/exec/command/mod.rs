//! YAML command tools (S0) at work: a [`Definition`] as a [`Tool`].

pub(crate) mod steps;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::definition::Definition;
use crate::model::JsonObject;
use crate::model::context::CallContext;
use crate::model::error::ToolError;
use crate::model::names::Slug;
use crate::model::outcome::ToolOutput;
use crate::model::spec::ToolSpec;
use crate::process::Runner;
use crate::tool::Tool;

/// What all command tools of a registry share.
pub(crate) struct CommandSettings {
    /// Starts their programs.
    pub(crate) runner: Arc<Runner>,
    /// What `elevated` goes through (`sandbox.sudo`); without it such tools are refused.
    pub(crate) sudo: Option<PathBuf>,
    /// Whether the setting `sandbox.network` lets programs use the network.
    pub(crate) network: bool,
}

/// A YAML command tool.
pub(crate) struct CommandTool {
    definition: Arc<Definition>,
    settings: Arc<CommandSettings>,
    spec: Arc<ToolSpec>,
}

impl CommandTool {
    /// The tool of a definition, in the bundle of its scope (`local`, `user`, `global`). The error says what about it cannot be
    /// published.
    pub(crate) fn new(
        _definition: Arc<Definition>,
        _bundle: Slug,
        _settings: Arc<CommandSettings>,
    ) -> Result<Self, ToolError> {
        unimplemented!()
    }

    /// What is missing for it to run on this machine, if something is: another platform, an interpreter.
    pub(crate) fn missing(_definition: &Definition) -> Option<String> {
        unimplemented!()
    }
}

impl Tool for CommandTool {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn call(
        &self,
        _args: JsonObject,
        _cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let _ = (
            &self.definition,
            &self.settings.sudo,
            self.settings.network,
            &self.settings.runner,
        );
        unimplemented!()
    }
}
