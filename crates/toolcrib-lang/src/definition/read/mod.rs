//! From a tree to a [`Definition`]: every field is read into its type, every template compiled, and what does not go together
//! is said.
//!
//! [`shape`](super::shape) has checked keys and types; what it reported is nothing here. The reader goes on after a problem, so
//! that all of them are said at once, and gives a definition only when none is an error.

mod alias;
mod body;
mod environment;
pub(crate) mod field_value;
mod general;
mod graph;
mod parameters;
mod permissions;
mod plain_fields;
mod steps;
mod templates;
mod tests;

use super::fields::FORMAT;
use super::problem::{Findings, SpannedProblem};
use super::yaml::Node;
use super::{Definition, Meaning, Places, UseAt};
use crate::model::names::{Slug, Version};
use field_value::At;
use templates::Templates;

/// Reads a file's tree, which has the right shape as far as nothing was found.
pub(super) fn definition(
    root: &Node<'_>,
    stem: &str,
    digest: String,
    found: &mut Findings<'_>,
) -> Option<Definition> {
    let root = At::new(root, &FORMAT);
    let name = general::name(root, stem, found);
    let version = general::version(root, found);
    general::min_versions(root, found);
    let is_alias = alias::is_alias(root);
    if is_alias {
        alias::check_fields(root, found);
    }
    let parameters = parameters::read(root, found);
    let step_names = steps::names(root, found);
    let mut templates = Templates::new(&parameters, step_names, found);
    // What programs are given is judged with their texts.
    let environment = environment::read(root, &mut templates);
    let input = root.get("input").and_then(|at| templates.text(at));
    templates.give(&environment.variables, input.as_ref());
    let body = body::read(root, name.as_ref(), is_alias, &mut templates);
    // Clean-ups read nothing.
    templates.give(&environment.variables, None);
    let paths = plain_fields::paths(root, &mut templates);
    let security = permissions::read(root, &mut templates);
    let resources = plain_fields::resources(root, &mut templates);
    let requires_approval = templates.requires_approval(root);
    let tests = tests::read(root, &parameters, is_alias, &mut templates);
    templates.unused_parameters(root, &parameters, is_alias);
    let found = templates.into_findings();
    let tags = general::tags(root, is_alias, found);
    let description = general::description(root, is_alias, found);
    let interactive = plain_fields::interactive(root, found);
    let changelog = plain_fields::changelog(root, found);
    let (Some(name), Some(version), Some(body)) = (name, version, body) else {
        return None;
    };
    // Tags that say less than the permissions do not keep the rest from being read; such a tool is not offered.
    if found.errors_but("read-tag") > 0 {
        return None;
    }
    Some(Definition {
        slug: Slug::from_wire(&name),
        name,
        version,
        description,
        body,
        parameters: parameters.into_iter().map(|read| read.parameter).collect(),
        environment,
        schema_generation: plain_fields::schema_generation(root),
        security,
        paths,
        metadata: plain_fields::metadata(root),
        resources,
        interactive,
        tests,
        changelog,
        tags,
        requires_approval: requires_approval?,
        platforms: general::platforms(root),
        timeout: general::timeout(root),
        ignore_errors: root.boolean("ignore-errors").unwrap_or(false),
        input,
        digest,
        meaning: Meaning::default(),
        uses_at: uses_at(root),
        places: places(root),
    })
}

/// Where it is said what depends on the machine.
fn places(root: At<'_, '_>) -> Places {
    let in_paths = |at: At<'_, '_>| Some(at.get("working-directory")?.span());
    let own = in_paths(root).or_else(|| in_paths(root.get("file-paths")?));
    let security = root.get("security");
    let permissions = security.and_then(|at| at.get("required-permissions"));
    let steps = root.get("steps").map(At::nodes).unwrap_or_default();
    let limit = |step: At<'_, '_>| {
        let output = step.get("output").filter(|_| !step.has("use-tool"))?;
        Some((
            output.size("buffer-limit")?,
            output.get("buffer-limit")?.span(),
        ))
    };
    Places {
        working_directory: own.unwrap_or_default(),
        permissions: permissions
            .map(At::nodes)
            .unwrap_or_default()
            .into_iter()
            .map(At::span)
            .collect(),
        buffer_limits: steps.into_iter().filter_map(limit).collect(),
    }
}

/// Where other tools are named.
fn uses_at(root: At<'_, '_>) -> Vec<UseAt> {
    let one = |at: At<'_, '_>, tool: &str, arguments: &str| {
        let tool = at.get(tool)?.span();
        let arguments = match at.has(arguments) {
            true => at.key_span(arguments),
            false => tool.clone(),
        };
        Some(UseAt { tool, arguments })
    };
    let presets = match root.has("default-parameters") {
        true => "default-parameters",
        false => "fixed-parameters",
    };
    if let Some(alias) = one(root, "base-tool", presets) {
        return vec![alias];
    }
    let steps = root.get("steps").map(At::nodes).unwrap_or_default();
    let steps = steps.into_iter().filter(|step| step.node.map().is_some());
    steps
        .filter_map(|step| one(step, "use-tool", "with"))
        .collect()
}

/// The default version, in one place.
fn first_version() -> Version {
    Version::v1()
}

/// A problem with a whole value.
fn at_value(at: At<'_, '_>, code: &'static str, message: impl Into<String>) -> SpannedProblem {
    SpannedProblem::error(code, at.span(), message)
}
