//! Whether a shape that someone wrote is one for a tool: [`fit`].
//!
//! A shape that is offered along with a question always fits; a shape that is written by hand may name parameters that the tool does not
//! have, or leave out ones that every call has, and would cover nothing while it looks as if it did.

use super::offer::is_delete;
use super::shape::{Pattern, Shape};
use super::store::GrantRefusal;
use crate::model::text;
use crate::spec::ToolSpec;

/// Refuses a tool that is asked about every time, before anybody thinks about patterns.
pub fn grantable(spec: &ToolSpec) -> Result<(), GrantRefusal> {
    let why = if spec.effects.is_unknown() && !spec.pinned {
        "the tool does not say whether it reads, writes or runs something"
    } else if is_delete(spec) {
        "the tool takes something away"
    } else {
        return Ok(());
    };
    Err(GrantRefusal::EveryTime {
        tool: spec.name.to_string(),
        why: why.to_owned(),
    })
}

/// The shape with the defaults of what it does not name, which every call has; refused if no call of the tool could be like it.
pub fn fit(mut shape: Shape, spec: &ToolSpec) -> Result<Shape, GrantRefusal> {
    grantable(spec)?;
    let schema = &spec.input_schema;
    for (name, property) in schema.properties() {
        if let Some(default) = property.get("default")
            && !shape.0.contains_key(name)
        {
            let pattern = Pattern::Exact(default.clone());
            shape.0.insert(name.to_owned(), pattern);
        }
    }
    let known: Vec<&str> = schema.properties().map(|(name, _)| name).collect();
    let is_closed = schema.as_value()["additionalProperties"] == false;
    let unknown = shape.0.keys().find(|name| !known.contains(&name.as_str()));
    if let Some(name) = unknown.filter(|_| is_closed) {
        let near = match text::nearest(name, known.iter().copied()).as_slice() {
            [] => format!(
                "there are {}",
                text::or_list(&known).replace(" or ", " and ")
            ),
            near => format!("did you mean {}?", text::or_list(near)),
        };
        let name = text::shorten(name, 60);
        return Err(GrantRefusal::Unusable(format!(
            "`{name}` is not a parameter of `{}`; {near}",
            spec.name
        )));
    }
    let is_missing = |name: &&str| schema.requires(name) && !shape.0.contains_key(*name);
    let missing: Vec<&str> = known.into_iter().filter(is_missing).collect();
    if !missing.is_empty() {
        let missing = text::or_list(&missing).replace(" or ", " and ");
        let tool = &spec.name;
        return Err(GrantRefusal::Unusable(format!(
            "every call of `{tool}` has {missing}, and the grant does not say what it may be; it would cover no call"
        )));
    }
    shape.check(spec)?;
    Ok(shape)
}
