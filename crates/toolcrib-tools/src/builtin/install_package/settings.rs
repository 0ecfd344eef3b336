//! The settings files of package managers, as far as they name a registry.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

/// The largest file of settings that is read.
const MAX_SETTINGS: u64 = 1 << 20;

/// The text of a file of settings, if it is one of at most 1 MB. Blocks.
pub(super) fn read(file: &Path) -> Option<String> {
    let file = std::fs::File::open(file).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    file.take(MAX_SETTINGS).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Lines `name = value`, without comments.
pub(super) fn pairs(text: &str) -> impl Iterator<Item = (String, String)> {
    text.lines().filter_map(|line| {
        let line = line.trim();
        let (name, value) = line.split_once('=')?;
        let is_comment = line.starts_with(['#', ';']);
        (!is_comment).then(|| {
            (
                name.trim().to_owned(),
                value.trim().trim_matches('"').to_owned(),
            )
        })
    })
}

/// The values of some sections; a value goes on in lines that are indented.
pub(super) fn ini(text: &str, sections: &[&str]) -> BTreeMap<String, String> {
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    let mut last: Option<String> = None;
    let mut is_ours = false;
    for line in text.lines() {
        if line.trim().is_empty() || line.trim_start().starts_with(['#', ';']) {
            continue;
        }
        if let Some(section) = line
            .strip_prefix('[')
            .and_then(|rest| rest.trim_end().strip_suffix(']'))
        {
            is_ours = sections.contains(&section);
            last = None;
        } else if !is_ours {
        } else if line.starts_with([' ', '\t']) {
            if let Some(value) = last.as_ref().and_then(|last| values.get_mut(last)) {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((name, value)) = line.split_once(['=', ':']) {
            let name = name.trim().replace('_', "-");
            values.insert(name.clone(), value.trim().to_owned());
            last = Some(name);
        }
    }
    values
}
