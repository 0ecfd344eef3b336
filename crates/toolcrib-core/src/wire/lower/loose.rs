//! OpenAI (without strict mode) and Anthropic: nearly all of JSON Schema below the root.

use super::node::{Node, Word};
use super::refs::{attach, reachable};
use super::{Context, Dialect, Trouble};

/// Lowers a schema whose root is one object.
pub(super) fn lower(cx: &mut Context, mut root: Node) -> Result<Node, Trouble> {
    if cx.dialect == Dialect::Anthropic {
        spell_out(cx, &mut root)?;
    }
    let mut definitions = reachable(&root, |reference| cx.definitions.remove(reference));
    if cx.dialect == Dialect::OpenAi {
        let nodes = definitions.iter_mut().map(|(_, node)| node);
        nodes
            .chain([&mut root])
            .for_each(|node| node.each_mut(&mut say_items));
    }
    attach(&mut root, definitions)?;
    Ok(root)
}

/// OpenAI refuses an array that does not say what it holds.
fn say_items(node: &mut Node) {
    let is_array = node
        .types()
        .is_some_and(|kinds| kinds.iter().any(|kind| kind == "array"));
    if is_array && !node.has("items") {
        node.set("items", Word::One(Box::new(Node::empty(&node.at.clone()))));
    }
}

/// Anthropic refuses parameters not spelled `[a-zA-Z0-9_.-]{1,64}`. (Only parameters: what is
/// inside an object may be spelled in any way.) Renaming them would need somebody to translate
/// every call back, so an optional one is left out and a required one is trouble.
fn spell_out(cx: &mut Context, root: &mut Node) -> Result<(), Trouble> {
    let is_plain = |name: &str| {
        (1..=64).contains(&name.len())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
    };
    let required = root.required();
    let Some(Word::Named(properties)) = root.get_mut("properties") else {
        return Ok(());
    };
    let mut odd = Vec::new();
    properties.retain(|(name, node)| {
        let plain = is_plain(name);
        if !plain {
            odd.push((name.clone(), node.at.clone()));
        }
        plain
    });
    for (name, at) in odd {
        let shown = crate::model::text::shorten(&name, 64);
        let why = "Anthropic takes names of 1 to 64 letters, digits, `_`, `.` and `-`";
        if required.contains(&name) {
            return Err(Trouble::whole(
                &at,
                format!("the required parameter `{shown}` cannot be named: {why}"),
            ));
        }
        cx.lose(&at, format!("the parameter `{shown}` is left out: {why}"));
    }
    Ok(())
}
