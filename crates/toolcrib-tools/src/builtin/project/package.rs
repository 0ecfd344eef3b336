//! What a `package.json` says: scripts, and which packages the project wants.

use serde_json::Value;

use super::{join, read};
use crate::model::json::read_bounded;
use crate::workspace::Workspace;

/// What npm writes into its own package making that has no tests.
const NO_TESTS: &str = "no test specified";

/// A `package.json`, as far as tools go by it.
#[derive(Debug, Clone, Default)]
pub(in crate::builtin) struct Package(Value);

impl Package {
    /// Reads the `package.json` of a directory; one that is not JSON, or too large, is ignored. Blocks.
    pub(in crate::builtin) fn read(workspace: &Workspace, directory: &str) -> Self {
        let text = read(workspace, &join(directory, "package.json"));
        Self::parse(text.as_deref().unwrap_or_default())
    }

    pub(in crate::builtin) fn parse(text: &str) -> Self {
        Package(read_bounded(text.as_bytes()).unwrap_or_default())
    }

    /// The text of a script.
    pub(in crate::builtin) fn script(&self, name: &str) -> Option<&str> {
        self.0.get("scripts")?.get(name)?.as_str()
    }

    /// The script that runs the tests, if it is more than what npm puts there.
    pub(in crate::builtin) fn test_script(&self) -> Option<&str> {
        self.script("test")
            .map(str::trim)
            .filter(|script| !script.is_empty() && !script.contains(NO_TESTS))
    }

    /// Whether the project wants this package, for itself or for development.
    pub(in crate::builtin) fn wants(&self, package: &str) -> bool {
        ["dependencies", "devDependencies", "peerDependencies"]
            .iter()
            .any(|list| {
                self.0
                    .get(list)
                    .and_then(|list| list.get(package))
                    .is_some()
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_dependencies_are_read_and_nonsense_says_nothing() {
        let package = Package::parse(
            r#"{"scripts": {"test": " jest ", "lint": 3}, "devDependencies": {"jest": "^30"}}"#,
        );
        assert_eq!(package.test_script(), Some("jest"));
        assert_eq!(package.script("lint"), None);
        assert!(package.wants("jest") && !package.wants("vitest"));
        let fresh = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
        assert_eq!(Package::parse(fresh).test_script(), None);
        for odd in [
            "",
            "[]",
            "{",
            r#"{"scripts": []}"#,
            r#"{"dependencies": 1}"#,
        ] {
            let package = Package::parse(odd);
            assert_eq!(package.test_script(), None);
            assert!(!package.wants("jest"));
        }
    }
}
