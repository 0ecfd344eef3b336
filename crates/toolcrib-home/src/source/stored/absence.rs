//! Why a tool that someone asks for is not there, as far as the store knows: a bundle that is none, another version, a damaged file.

use crate::model::ids::BundleId;
use crate::model::names::{Slug, Version};
use crate::model::reference::{BundleRef, ToolRef};
use crate::model::text;
use crate::store::{Store, StoredBundle};

/// How many versions are named.
const MAX_VERSIONS: usize = 8;

/// Says why a reference points at nothing. `bundle_has_tools`: the bundle that it names has others, wherever they come from.
pub(super) fn why(store: &Store, reference: &ToolRef, bundle_has_tools: bool) -> Option<String> {
    match reference {
        ToolRef::Name(name) => damaged(store, None, &Slug::from_wire(name), None),
        ToolRef::Slug(slug) => damaged(store, None, slug, None),
        ToolRef::Id(_) => None,
        ToolRef::InBundle {
            bundle,
            slug,
            version,
        } => {
            let bundles = store.bundles();
            let is_meant = |there: &&std::sync::Arc<StoredBundle>| match bundle {
                BundleRef::Slug(slug) => there.bundle.slug == *slug,
                BundleRef::Id(id) => there.bundle.bundle_id == *id,
            };
            let mut meant: Vec<_> = bundles.iter().filter(is_meant).collect();
            // One in the bin may have the slug as well.
            meant.sort_by_key(|there| there.bundle.soft_deleted_at.is_some());
            match meant.first() {
                Some(there) => Some(in_bundle(store, there, slug, version.as_ref())),
                None if bundle_has_tools => None,
                None => {
                    let slugs = bundles.iter().map(|there| there.bundle.slug.as_str());
                    Some(no_bundle(store, bundle, slugs))
                }
            }
        }
    }
}

fn in_bundle(
    store: &Store,
    there: &StoredBundle,
    slug: &Slug,
    version: Option<&Version>,
) -> String {
    let id = there.bundle.bundle_id;
    if let Some(why) = damaged(store, Some(id), slug, version) {
        return why;
    }
    let bundle = &there.bundle.slug;
    let tools = store.tools(id);
    let versions: Vec<String> = tools
        .iter()
        .filter(|tool| tool.key.slug == *slug)
        .map(|tool| format!("`{}`", tool.key.version))
        .take(MAX_VERSIONS)
        .collect();
    if !versions.is_empty() {
        return format!("`{bundle}/{slug}` is there as {}", versions.join(", "));
    }
    let near = text::nearest(
        slug.as_str(),
        tools.iter().map(|tool| tool.key.slug.as_str()),
    );
    let near: Vec<String> = near.iter().map(|near| format!("{bundle}/{near}")).collect();
    let near: Vec<&str> = near.iter().map(String::as_str).collect();
    match near.is_empty() {
        true => format!(
            "the bundle `{bundle}` has no such tool; `toolcrib bundle show {bundle}` lists those it has"
        ),
        false => format!(
            "the bundle `{bundle}` has no such tool; did you mean {}?",
            text::or_list(&near)
        ),
    }
}

fn no_bundle<'a>(
    store: &Store,
    bundle: &BundleRef,
    slugs: impl Iterator<Item = &'a str>,
) -> String {
    let (shown, near) = match bundle {
        BundleRef::Slug(slug) => (slug.to_string(), text::nearest(slug.as_str(), slugs)),
        BundleRef::Id(id) => (id.to_string(), Vec::new()),
    };
    let near = match near.is_empty() {
        true => "`toolcrib bundle list --all` lists those there are".to_owned(),
        false => format!("did you mean {}?", text::or_list(&near)),
    };
    let is_bundle = |file: &str| file.ends_with("/bundle.json");
    let unread = store
        .damage()
        .iter()
        .filter(|damage| is_bundle(&damage.file))
        .count();
    let unread = match unread {
        0 => String::new(),
        1 => " (the file of one cannot be read: `toolcrib doctor`)".to_owned(),
        more => format!(" (the files of {more} cannot be read: `toolcrib doctor`)"),
    };
    format!("there is no bundle `{shown}`{unread}; {near}")
}

fn damaged(
    store: &Store,
    bundle: Option<BundleId>,
    slug: &Slug,
    version: Option<&Version>,
) -> Option<String> {
    let damage = store.damage_of(bundle, slug, version)?;
    Some(format!(
        "its file `{}` is damaged ({}); `toolcrib doctor --fix` sets it aside",
        damage.file, damage.reason
    ))
}
