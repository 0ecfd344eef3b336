//! Names as file systems compare them that fold case. Pure, on every system.

use super::table::{NAMES, ProtectedName};
use std::{collections::HashMap, ffi::OsStr, sync::LazyLock};

/// Whether a program on a file system that folds case would take this for a protected name.
pub fn is_protected_name(name: &OsStr) -> bool {
    protected(name).is_some()
}

/// The row of the table that a name belongs to, on a file system that folds case.
pub(super) fn protected(name: &OsStr) -> Option<&'static ProtectedName> {
    static BY_NAME: LazyLock<HashMap<String, &ProtectedName>> = LazyLock::new(|| {
        let rows = NAMES.iter().filter(|row| !row.name.contains('/'));
        rows.map(|row| (row.name.to_lowercase(), row)).collect()
    });
    let name = folded(name)?;
    let ending = || {
        let (_, ending) = name.rsplit_once('.')?;
        BY_NAME.get(&format!("*.{ending}"))
    };
    BY_NAME.get(&name).or_else(ending).copied()
}

/// A name as a file system that folds case would compare it; none if it is not text.
pub(super) fn folded(name: &OsStr) -> Option<String> {
    // Up and down again: `ſ` is not a capital letter, but folds to `s`.
    let kept = name.to_str()?.chars().filter(|char| !is_ignored(*char));
    let upper: String = kept.flat_map(char::to_uppercase).collect();
    Some(upper.to_lowercase())
}

/// Characters that HFS+ or a folding directory of Linux leaves out when it compares names: Unicode's
/// `Default_Ignorable_Code_Point`. Git refuses some of them in names like its own for the same reason.
fn is_ignored(char: char) -> bool {
    matches!(char,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a directory or file of this name makes the directory it is in a repository.
pub fn is_repository_name(name: &OsStr) -> bool {
    folded(name).is_some_and(|name| name == ".git")
}
