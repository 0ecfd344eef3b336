//! `security`.

use super::field_value::At;
use super::templates::Templates;
use crate::definition::problem::SpannedProblem;
use crate::definition::{Permission, Privilege, Security};
use crate::model::effects::Effects;
use crate::model::text::shorten;
use crate::sandbox::Level;

const HOW: &str =
    "write `filesystem:read:PATH`, `filesystem:write:PATH` or `network:external:HOST`";

pub(super) fn read(root: At<'_, '_>, templates: &mut Templates<'_, '_>) -> Security {
    let Some(at) = root.get("security") else {
        return Security::default();
    };
    let privilege = match at.choice("execution-privilege") {
        Some("reduced") => Privilege::Reduced,
        Some("elevated") => Privilege::Elevated,
        _ => Privilege::SameAsUser,
    };
    let isolation = at.choice("isolation").map(|word| match word {
        "none" => Level::None,
        "container" => Level::Container,
        _ => Level::Process,
    });
    let tags = root.texts("tags");
    let only_reads = Effects::from_tags(tags.iter().map(String::as_str)).is_read_only();
    let permissions = at
        .get("required-permissions")
        .map(At::nodes)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|item| permission(item, only_reads, templates))
        .collect();
    Security {
        privilege,
        isolation,
        permissions,
        justification: at
            .text_of("justification")
            .map(|text| text.trim_end().to_owned()),
    }
}

fn permission(
    at: At<'_, '_>,
    only_reads: bool,
    templates: &mut Templates<'_, '_>,
) -> Option<Permission> {
    let text = at.text()?;
    let mut refuse = |message: String| {
        let found = SpannedProblem::error("bad-permission", at.span(), message).help(HOW);
        templates.push(found);
    };
    let mut parts = text.splitn(3, ':');
    let (area, what, rest) = (parts.next()?, parts.next(), parts.next());
    let rest = rest.map(str::trim).filter(|rest| !rest.is_empty());
    match (area, what, rest) {
        ("filesystem", Some("read"), Some(path)) => templates.part(at, path).map(Permission::Read),
        ("filesystem", Some("write"), Some(path)) => {
            if only_reads {
                let message = format!(
                    "the tool is tagged only `read`, and `{}` lets it write",
                    shorten(text, 60)
                );
                templates.push(
                    SpannedProblem::error("read-tag", at.span(), message)
                        .help("add the tag `write`, or ask for `filesystem:read:PATH`"),
                );
            }
            templates.part(at, path).map(Permission::Write)
        }
        ("network", Some("external"), Some(host)) => {
            if let Some(why) = not_a_host(host) {
                refuse(format!("`{}` is not a host: {why}", shorten(host, 60)));
                return None;
            }
            templates.part(at, host).map(Permission::Network)
        }
        _ => {
            refuse(format!("`{}` is not a permission", shorten(text, 60)));
            None
        }
    }
}

fn not_a_host(host: &str) -> Option<&'static str> {
    if host.contains("://") {
        return Some("leave out the scheme");
    }
    if host.contains('/') {
        return Some("leave out the path");
    }
    // Placeholders are filled in later, and checked then.
    let mut in_braces = false;
    let odd = host.chars().any(|c| {
        match c {
            '{' => in_braces = true,
            '}' => in_braces = false,
            _ => {}
        }
        !(in_braces
            || c.is_alphanumeric()
            || matches!(c, '.' | '-' | '_' | '*' | ':' | '[' | ']' | '}'))
    });
    odd.then_some("it has characters that no host name has")
}
