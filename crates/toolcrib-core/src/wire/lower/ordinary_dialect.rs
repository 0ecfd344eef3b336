//! OpenAI (without strict mode), Anthropic and MCP: nearly all of JSON Schema below the root.

use super::node::{Node, Word};
use super::refs::{attach, reachable};
use super::sound;
use super::{Context, Dialect, Trouble};

/// Lowers a schema whose root is one object.
pub(super) fn lower(cx: &mut Context, mut root: Node) -> Result<Node, Trouble> {
    // An MCP client may hand the schemas on to Anthropic as they are.
    if matches!(cx.dialect, Dialect::Anthropic | Dialect::Mcp) {
        plain_names(cx, &mut root)?;
    }
    let mut definitions = reachable(&root, |reference| cx.definitions.remove(reference));
    let nodes = definitions.iter_mut().map(|(_, node)| node);
    for node in nodes.chain([&mut root]) {
        node.each_mut(&mut sound::spell_out);
        if cx.dialect == Dialect::Mcp {
            node.each_mut(&mut without_headers);
        }
    }
    attach(&mut root, definitions)?;
    Ok(root)
}

/// Takes `x-mcp-header` out of a schema: it would have clients send arguments as headers, too, and this server reads the body alone. A
/// property of this name stays, and so does what is data.
fn without_headers(node: &mut Node) {
    node.remove("x-mcp-header");
}

/// Which names of parameters Anthropic accepts.
const PLAIN: &str = "Anthropic takes names of 1 to 64 letters, digits, `_`, `.` and `-`";

/// Whether Anthropic takes a parameter of this name.
pub(super) fn is_plain(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

/// Anthropic refuses parameters not spelled `[a-zA-Z0-9_.-]{1,64}`. (Only parameters: what is
/// inside an object may be spelled in any way.) Renaming them would need someone to translate
/// every call back, so an optional one is left out and a required one is trouble.
pub(super) fn plain_names(cx: &mut Context, root: &mut Node) -> Result<(), Trouble> {
    let required = root.required();
    let root_at = root.at.clone();
    let unnamed = |name: &str, at: &str| {
        let shown = crate::model::text::shorten(name, 64);
        let why = format!("the required parameter `{shown}` cannot be named: {PLAIN}");
        Trouble::whole(at, why)
    };
    let Some(Word::Named(properties)) = root.get_mut("properties") else {
        let odd = required.iter().find(|name| !is_plain(name));
        return odd.map_or(Ok(()), |name| Err(unnamed(name, &root_at)));
    };
    let is_described = |name: &String| properties.iter().any(|(own, _)| own == name);
    let missing = required
        .iter()
        .find(|name| !is_plain(name) && !is_described(name));
    if let Some(name) = missing {
        return Err(unnamed(name, &root_at));
    }
    let mut odd = Vec::new();
    properties.retain(|(name, node)| {
        let plain = is_plain(name);
        if !plain {
            odd.push((name.clone(), node.at.clone()));
        }
        plain
    });
    for (name, at) in odd {
        if required.contains(&name) {
            return Err(unnamed(&name, &at));
        }
        let shown = crate::model::text::shorten(&name, 64);
        cx.lose(&at, format!("the parameter `{shown}` is left out: {PLAIN}"));
    }
    Ok(())
}
