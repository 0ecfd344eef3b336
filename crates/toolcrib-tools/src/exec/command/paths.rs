//! `file-paths`: values that are paths, in the form of this system.
//!
//! A parameter is a path if a `filesystem:` permission or a directory of the tool is made of it, or if its name says so: its
//! last word is PATH, FILE, DIR, DIRECTORY or FOLDER, or the plural of one. Only texts of such parameters, alone or in a list, are
//! changed, and only if the tool asks for it:
//!
//! - `cross-platform.auto-convert` puts this system's separator in the place of the other's (`src\lib` → `src/lib`);
//! - `normalize` takes out what means nothing: repeated separators, `.` in between, one at the end. `..` stays, since with links
//!   around `a/../b` need not be `b`; and `./-x` stays, since `-x` would be an option.

use serde_json::Value;

use crate::definition::{Definition, Parameter, ParameterKind, Permission, Platform};
use crate::template::{Reference, Text};

const WORDS: &[&str] = &[
    "path",
    "paths",
    "file",
    "files",
    "dir",
    "dirs",
    "directory",
    "directories",
    "folder",
    "folders",
];

/// The value of a parameter, in this system's form if it is a path.
pub(super) fn in_form(value: Value, parameter: &Parameter, definition: &Definition) -> Value {
    let paths = &definition.paths;
    if !(paths.normalize || paths.auto_convert) || !is_path(parameter, definition) {
        return value;
    }
    let (own, other) = match Platform::HERE {
        Platform::Windows => (paths.windows_separator, paths.unix_separator),
        Platform::Linux | Platform::Macos | Platform::Unix => {
            (paths.unix_separator, paths.windows_separator)
        }
    };
    let convert = |text: String| {
        let text = match paths.auto_convert && own != other {
            true => text.replace(other, own.encode_utf8(&mut [0; 4])),
            false => text,
        };
        match paths.normalize {
            true => normalised(&text, own),
            false => text,
        }
    };
    match value {
        Value::String(text) => convert(text).into(),
        Value::Array(items) => items
            .into_iter()
            .map(|item| match item {
                Value::String(text) => convert(text).into(),
                other => other,
            })
            .collect(),
        other => other,
    }
}

fn is_path(parameter: &Parameter, definition: &Definition) -> bool {
    if !matches!(parameter.kind, ParameterKind::String | ParameterKind::Array) {
        return false;
    }
    let last_word = parameter
        .name
        .rsplit(['_', '-', '.'])
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    if WORDS.contains(&last_word.as_str()) {
        return true;
    }
    let needed = definition
        .security
        .permissions
        .iter()
        .filter_map(|permission| match permission {
            Permission::Read(path) | Permission::Write(path) => Some(path),
            Permission::Network(_) => None,
        });
    let directories = [
        &definition.paths.working_directory,
        &definition.paths.temp_directory,
    ];
    needed
        .chain(directories.into_iter().flatten())
        .any(|text: &Text| {
            text.references()
                .contains(&Reference::Parameter(parameter.name.clone()))
        })
}

fn normalised(text: &str, separator: char) -> String {
    if text.is_empty() {
        return String::new();
    }
    let root = match text.starts_with(separator) {
        true => separator.to_string(),
        false => String::new(),
    };
    let parts: Vec<&str> = text
        .split(separator)
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    let joined = parts.join(&separator.to_string());
    match (root.as_str(), joined.as_str()) {
        ("", "") => ".".to_owned(),
        ("", path) if path.starts_with('-') && !text.starts_with('-') => {
            format!(".{separator}{path}")
        }
        (root, path) => format!("{root}{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_nothing_is_taken_out_and_nothing_else() {
        for (given, form) in [
            ("./src//lib.rs", "src/lib.rs"),
            ("src/./a/", "src/a"),
            ("a/../b", "a/../b"),
            ("/", "/"),
            ("//etc/", "/etc"),
            (".", "."),
            ("./", "."),
            ("", ""),
            ("./-rf", "./-rf"),
            ("-rf", "-rf"),
            (".//-rf/", "./-rf"),
            ("..", ".."),
            (".hidden", ".hidden"),
        ] {
            assert_eq!(normalised(given, '/'), form, "{given}");
        }
    }

    /// The names a path goes through, which is what it means.
    fn meaning(path: &str) -> (bool, Vec<&str>) {
        let names = path.split('/').filter(|part| !matches!(*part, "" | "."));
        (path.starts_with('/'), names.collect())
    }

    proptest::proptest! {
        #[test]
        fn the_form_of_a_path_means_the_same_and_is_not_an_option(path in "[-./a]{0,12}") {
            let form = normalised(&path, '/');
            proptest::prop_assert_eq!(meaning(&form), meaning(&path));
            proptest::prop_assert!(!form.starts_with('-') || path.starts_with('-'), "{}", form);
            proptest::prop_assert_eq!(normalised(&form, '/'), form);
        }
    }
}
