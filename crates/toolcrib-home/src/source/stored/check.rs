//! Everything that is wrong or doubtful about a definition, before it is stored.

use std::sync::Arc;

use super::reading::{self, How, Implementation};
use super::workshop::Lookup;
use crate::definition::problem::SpannedProblem;
use crate::definition::{Definition, LinkFault, Problem, Severity};
use crate::exec::command::CommandTool;
use crate::exec::spec_of;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::names::Slug;
use crate::model::text::shorten;
use crate::secret::SecretEntry;
use crate::source::definition::named_like_secrets;
use crate::source::look_alike;
use crate::spec::manifest::{ToolKind, ToolManifest};

/// A definition that was looked at.
pub(crate) struct Checked {
    /// The definition as it is to be stored: `argSchema` is filled in where it is made from something else.
    pub(crate) manifest: ToolManifest,
    /// Everything that is wrong or doubtful, in the order of the record.
    pub(crate) problems: Vec<Problem>,
    /// The record as the store writes it, in which they are placed.
    pub(crate) text: String,
    /// What it runs, if that is a command that can be read.
    pub(crate) command: Option<Arc<Definition>>,
}

/// Looks at a definition as thoroughly as `toolcrib check` does. `lookup` knows the tools that are there; `alike` is the slug
/// of another bundle's tool that this one's looks like.
pub(crate) fn check(
    manifest: &ToolManifest,
    secrets: &[SecretEntry],
    lookup: Lookup<'_>,
    alike: Option<&Slug>,
) -> Checked {
    let mut manifest = manifest.clone();
    let reading = reading::read(&manifest, How::Check);
    let mut problems = reading.problems;
    let (mut found, mut faults): (Vec<SpannedProblem>, Vec<LinkFault>) = (Vec::new(), Vec::new());
    if manifest.is_built_in && manifest.kind != ToolKind::Http {
        let message = "a stored tool cannot be a built-in tool";
        found.push(
            SpannedProblem::error("unknown-value", reading.text.field("isBuiltIn"), message)
                .help("write `\"isBuiltIn\": false`, or remove it"),
        );
    }
    if let Some(other) = alike {
        let message = look_alike(&manifest.slug, other);
        found.push(SpannedProblem::error(
            "look-alike",
            reading.text.field("slug"),
            message,
        ));
    }
    match &reading.implementation {
        Some(Implementation::Http(definition)) => {
            faults.extend(named_like_secrets(definition, secrets));
        }
        Some(Implementation::Command(definition)) => {
            faults.extend(links(definition, lookup));
            if faults.is_empty() {
                let place = reading.text.field("argSchema");
                found.extend(fill_in(&mut manifest, definition, lookup, place));
            }
        }
        Some(Implementation::Function(_) | Implementation::Upstream { .. }) | None => {}
    }
    let text = reading.text.0.as_bytes();
    problems.extend(faults.iter().map(|fault| fault.problem(text)));
    problems.extend(reading.text.placed(found));
    problems.sort_by_key(|problem| (problem.line, problem.column));
    let command = match reading.implementation {
        Some(Implementation::Command(definition)) => Some(definition),
        Some(
            Implementation::Http(_) | Implementation::Function(_) | Implementation::Upstream { .. },
        )
        | None => None,
    };
    Checked {
        manifest,
        problems,
        text: reading.text.0,
        command,
    }
}

/// Problems with how a definition uses other tools.
fn links(definition: &Arc<Definition>, lookup: Lookup<'_>) -> Vec<LinkFault> {
    let mut uses = definition.uses().into_iter().enumerate();
    if let Some((number, unknown)) = uses.find(|(_, used)| lookup(used).is_none()) {
        let at = definition.uses_at.get(number).cloned().unwrap_or_default();
        return vec![LinkFault {
            code: "unknown-tool",
            span: at.tool,
            message: format!(
                "it uses `{}`, and there is no tool of that name",
                shorten(unknown, 80)
            ),
        }];
    }
    CommandTool::link_faults(definition, lookup)
}

/// Makes `argSchema` of what the definition says it takes; what is wrong if the record says something else.
fn fill_in(
    manifest: &mut ToolManifest,
    definition: &Definition,
    lookup: Lookup<'_>,
    place: std::ops::Range<usize>,
) -> Option<SpannedProblem> {
    let spec = match spec_of(definition, lookup) {
        Ok(spec) => spec,
        Err(error) => return Some(SpannedProblem::error("bad-schema", place, error.message())),
    };
    let made = spec.input_schema.as_value();
    if reading::says_other_arguments(manifest, made) {
        let message = match manifest.kind {
            ToolKind::Alias => {
                "`argSchema` of an alias is made from the tool behind it, and this is another one"
            }
            _ => "`argSchema` of a command is made from `impl.parameters`, and this is another one",
        };
        return Some(
            SpannedProblem::error("said-twice", place, message).help("leave `argSchema` out"),
        );
    }
    manifest.arg_schema = made.clone();
    None
}

/// The refusal of a definition with errors; none if there is no error.
pub(crate) fn refusal(manifest: &ToolManifest, problems: &[Problem]) -> Option<ToolError> {
    let name = format!("{}@{}", manifest.slug, manifest.version);
    refusal_of(&name, problems)
}

/// The refusal to save a definition with errors, with all of them in its details; none if there is no error.
pub fn refusal_of(name: &str, problems: &[Problem]) -> Option<ToolError> {
    let errors: Vec<&Problem> = problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .collect();
    let first = errors.first()?;
    let help = first.help.as_ref();
    let help = help.map_or(String::new(), |help| format!("; {help}"));
    let more = match errors.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let message = format!(
        "`{name}` cannot be saved: {}:{}: {}{help}{more}",
        first.line,
        first.column,
        shorten(&first.message, 400)
    );
    let problems = serde_json::to_value(&errors).unwrap_or_default();
    Some(ToolError::new(ErrorCode::InvalidArguments, message).with_detail("problems", problems))
}
