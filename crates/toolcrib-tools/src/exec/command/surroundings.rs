//! Where a tool's programs run: Toolcrib's own variables, the working directory, the temporary one.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::arguments::declared;
use super::command_reach::{CommandReach, real};
use crate::definition::{Body, Cleanup, Definition};
use crate::model::JsonObject;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;
use crate::template::{Reference, Text, Values, Variable};
use crate::workspace::Workspace;

/// Stands for the call's temporary directory while there is none yet: when a call is judged and shown to a person.
pub(super) const TEMP_SHOWN: &str = "/tmp/toolcrib-call";

/// What placeholders stand for in a call whose temporary directory is `temp`.
pub(super) fn values(
    definition: &Definition,
    args: &JsonObject,
    workspace: Option<&Workspace>,
    temp: &Path,
) -> Result<Values, ToolError> {
    let mut values = Values {
        arguments: declared(definition, args),
        variables: variables(definition, workspace, temp),
        ..Values::default()
    };
    let directory = temp_directory(definition, &values, temp)?;
    values
        .variables
        .insert(Variable::TempDir, directory.to_string_lossy().into_owned());
    Ok(values)
}

/// The surroundings before the call runs, to judge it.
pub(super) fn judged_values(
    definition: &Definition,
    args: &JsonObject,
    workspace: Option<&Workspace>,
) -> Values {
    values(definition, args, workspace, Path::new(TEMP_SHOWN)).unwrap_or_else(|_| Values {
        arguments: declared(definition, args),
        variables: judged_variables(definition, workspace),
        ..Values::default()
    })
}

/// Toolcrib's own variables, before the call runs.
pub(super) fn judged_variables(
    definition: &Definition,
    workspace: Option<&Workspace>,
) -> BTreeMap<Variable, String> {
    variables(definition, workspace, Path::new(TEMP_SHOWN))
}

fn variables(
    definition: &Definition,
    workspace: Option<&Workspace>,
    temp: &Path,
) -> BTreeMap<Variable, String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    BTreeMap::from([
        (
            Variable::Workspace,
            workspace.map_or_else(|| ".".to_owned(), |workspace| text(workspace.root())),
        ),
        (Variable::Temp, text(temp)),
        (Variable::TempDir, text(temp)),
        (Variable::ToolName, definition.name.to_string()),
        (
            Variable::Home,
            std::env::var("HOME").unwrap_or_else(|_| "/".to_owned()),
        ),
    ])
}

/// The resolved `temp-directory`: always in the call's own.
fn temp_directory(
    definition: &Definition,
    values: &Values,
    temp: &Path,
) -> Result<PathBuf, ToolError> {
    let Some(template) = &definition.paths.temp_directory else {
        return Ok(temp.to_owned());
    };
    let said = template.render(values);
    let path = temp.join(&said);
    let climbs = path.components().any(|part| part == Component::ParentDir);
    if climbs || said.contains('\0') || !path.starts_with(temp) {
        return Err(ToolError::new(
            ErrorCode::InvalidPath,
            format!(
                "the `temp-directory` of `{}` comes to a place outside of the call's own temporary directory; begin it with `{{TEMP}}/`",
                definition.name
            ),
        ));
    }
    Ok(path)
}

/// Whether a call needs its own temporary directory: something in the tool names it, several commands may share it, or
/// something is left to be cleaned up.
pub(super) fn needs_temp(definition: &Definition) -> bool {
    let is_temp = |reference: &Reference| {
        matches!(
            reference,
            Reference::Variable(Variable::Temp | Variable::TempDir)
        )
    };
    let names_temp = |text: &Text| text.references().iter().any(is_temp);
    let cleans_up = definition
        .resources
        .cleanup
        .iter()
        .any(|cleanup| match cleanup {
            Cleanup::DeleteTempFiles(_) | Cleanup::FinalCommand(_) => true,
        });
    cleans_up
        || matches!(definition.body, Body::Steps(_))
        || definition.paths.temp_directory.is_some()
        || definition
            .paths
            .working_directory
            .as_ref()
            .is_some_and(names_temp)
        || definition.input.as_ref().is_some_and(names_temp)
        || definition
            .environment
            .variables
            .iter()
            .any(|(_, value)| names_temp(value))
        || super::programs::used(definition)
            .iter()
            .any(|used| used.program.code.references().iter().any(is_temp))
}

/// The directory that commands start in, if it is not the workspace itself. Outside of it only what the tool has a permission
/// for, and the call's own.
pub(super) fn working_directory(
    definition: &Definition,
    values: &Values,
    workspace: &Workspace,
    reach: &CommandReach,
    temp: Option<&Path>,
) -> Result<Option<PathBuf>, ToolError> {
    let Some(template) = &definition.paths.working_directory else {
        return Ok(None);
    };
    let said = template.render(values);
    let path = expand(&said);
    if path.is_relative() || path.starts_with(workspace.root()) {
        let inside = workspace.path(&path.to_string_lossy())?;
        return workspace.host_directory(&inside).map(Some);
    }
    let shown = text::shorten(&said, 200);
    let path = real(&path).map_err(|_| {
        let message = format!("the working directory `{shown}` does not exist; make it first");
        ToolError::new(ErrorCode::FileNotFound, message)
    })?;
    let allowed = path.starts_with(workspace.root())
        || temp.is_some_and(|temp| path.starts_with(temp))
        || reach.covers(&path);
    if !allowed {
        let message = format!(
            "the working directory `{shown}` is outside of the workspace; the tool needs the permission `filesystem:read:{shown}` or `filesystem:write:{shown}` under `security.required-permissions`"
        );
        return Err(ToolError::new(ErrorCode::PermissionDenied, message));
    }
    if !path.is_dir() {
        let message = format!("the working directory `{shown}` is not a directory");
        return Err(ToolError::new(ErrorCode::InvalidPath, message));
    }
    Ok(Some(path))
}

/// The working directory as rules know it: relative to the workspace, or absolute where it is elsewhere.
pub(super) fn judged_directory(
    definition: &Definition,
    values: &Values,
    workspace: Option<&Workspace>,
) -> Option<String> {
    let said = definition.paths.working_directory.as_ref()?.render(values);
    let path = expand(&said);
    let root = workspace.map(Workspace::root);
    let inside = root.and_then(|root| path.strip_prefix(root).ok());
    let text = inside.unwrap_or(&path).to_string_lossy().into_owned();
    (!text.is_empty()).then_some(text)
}

/// A path with `~` at its beginning expanded.
pub(super) fn expand(said: &str) -> PathBuf {
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    match said.strip_prefix('~') {
        Some("") => home().unwrap_or_else(|| said.into()),
        Some(rest) if rest.starts_with('/') => match home() {
            Some(home) => home.join(rest.trim_start_matches('/')),
            None => said.into(),
        },
        _ => said.into(),
    }
}
