//! What can be said against a definition on this machine before it is called: places that every call would be refused, places that
//! do not exist yet, and output that would be cut.
//!
//! Only texts without values of a call are judged, by the code that judges them in a call.

use std::path::{Component, Path};

use super::command_reach::{CommandReach, existing, own_data_refusal, unwritable_refusal};
use super::surroundings::{TEMP_SHOWN, judged_values, working_directory};
use super::{CommandSettings, CommandTool, hosts};
use crate::definition::{Definition, LinkFault, Permission, Severity};
use crate::model::JsonObject;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;
use crate::template::{Reference, Text, Values, Variable};
use crate::workspace::Workspace;

impl CommandTool {
    /// Everything of this kind. `max_output` is the longest text that a call's output may have.
    #[doc(hidden)]
    pub fn doubts(
        definition: &Definition,
        settings: &CommandSettings,
        workspace: Option<&Workspace>,
        max_output: u64,
    ) -> Vec<(Severity, LinkFault)> {
        let mut found = Vec::new();
        let places = &definition.places;
        for (limit, span) in &places.buffer_limits {
            if *limit > max_output {
                let fault = LinkFault {
                    code: "buffer-limit",
                    span: span.clone(),
                    message: over_limit(*limit, max_output),
                };
                found.push((Severity::Warning, fault));
            }
        }
        let values = judged_values(definition, &JsonObject::new(), workspace);
        for (index, permission) in definition.security.permissions.iter().enumerate() {
            let why = match permission {
                Permission::Network(host) if is_fixed(host) => {
                    hosts::refusal(definition, settings, &[host.render(&values)])
                }
                Permission::Read(path) | Permission::Write(path) if is_fixed(path) => workspace
                    .and_then(|workspace| {
                        out_of_reach(permission, definition, settings, &values, workspace)
                    }),
                Permission::Network(_) | Permission::Read(_) | Permission::Write(_) => None,
            };
            let span = places.permissions.get(index).cloned().unwrap_or_default();
            found.extend(why.map(|why| doubt(&why, span)));
        }
        if let Some(template) = &definition.paths.working_directory
            && let Some(workspace) = workspace
            && is_fixed(template)
        {
            let reach = CommandReach::of(definition, &values, Some(workspace));
            let refused = working_directory(definition, &values, workspace, &reach, None).err();
            let may_be_covered =
                |why: &ToolError| why.code() == ErrorCode::PermissionDenied && has_open(definition);
            let refused = refused.filter(|why| !may_be_covered(why));
            found.extend(refused.map(|why| doubt(&why, places.working_directory.clone())));
        }
        found.extend(
            never_in_temporary(definition, &values)
                .map(|why| doubt(&why, places.working_directory.clone())),
        );
        found
    }
}

/// A text that is cut although the file asks for more.
pub(super) fn over_limit(asked: u64, most: u64) -> String {
    format!(
        "`buffer-limit` asks for {asked} bytes, and at most {most} bytes of each stream are kept; the setting `limits.maxOutputBytes` changes that"
    )
}

/// Whether a text is the same in every call of a workspace.
fn is_fixed(text: &Text) -> bool {
    text.references().iter().all(|reference| match reference {
        Reference::Variable(variable) => !matches!(variable, Variable::Temp | Variable::TempDir),
        Reference::Parameter(_) | Reference::Step { .. } => false,
    })
}

/// Whether a value of a call may be a place that the tool can reach.
fn has_open(definition: &Definition) -> bool {
    let mut permissions = definition.security.permissions.iter();
    permissions.any(|permission| match permission {
        Permission::Read(path) | Permission::Write(path) => !is_fixed(path),
        Permission::Network(_) => false,
    })
}

fn out_of_reach(
    permission: &Permission,
    definition: &Definition,
    settings: &CommandSettings,
    values: &Values,
    workspace: &Workspace,
) -> Option<ToolError> {
    let reach = CommandReach::of_one(permission, values, Some(workspace));
    own_data_refusal(definition, settings, &reach, Some(workspace))
        .or_else(|| unwritable_refusal(definition, &reach))
        .or_else(|| {
            let mut places = reach.read.iter().chain(&reach.write);
            places.find_map(|beyond| existing(beyond).err())
        })
}

/// Why no call can start in a directory of its temporary one: that is made for each call, and holds nothing but what `temp-directory`
/// names.
fn never_in_temporary(definition: &Definition, values: &Values) -> Option<ToolError> {
    let paths = &definition.paths;
    let is_known = |text: &Text| {
        let mut references = text.references().iter();
        references.all(|reference| matches!(reference, Reference::Variable(_)))
    };
    let template = paths.working_directory.as_ref()?;
    let inner = paths.temp_directory.as_ref();
    if !is_known(template) || !inner.is_none_or(is_known) {
        return None;
    }
    let said = template.render(values);
    let place = Path::new(&said);
    let made = values.variables.get(&Variable::TempDir)?;
    let climbs = place.components().any(|part| part == Component::ParentDir);
    if !place.starts_with(TEMP_SHOWN) || climbs || Path::new(made).starts_with(place) {
        return None;
    }
    let message = format!(
        "the working directory `{}` never exists: the temporary directory of each call begins empty; name `{{TEMP_DIR}}` itself and make the directory in the command",
        text::shorten(&said.replacen(TEMP_SHOWN, "{TEMP}", 1), 200)
    );
    Some(ToolError::new(ErrorCode::InvalidPath, message))
}

/// A place that does not exist may come to exist; any other refusal lasts.
fn doubt(why: &ToolError, span: std::ops::Range<usize>) -> (Severity, LinkFault) {
    let (severity, code) = match why.code() {
        ErrorCode::FileNotFound => (Severity::Warning, "missing-place"),
        _ => (Severity::Error, "always-refused"),
    };
    let message = why.message().to_owned();
    let fault = LinkFault {
        code,
        span,
        message,
    };
    (severity, fault)
}
