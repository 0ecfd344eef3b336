//! Where rules come from, and what happens when they are wrong.

use std::path::Path;

use toolcrib::config::Surroundings;
use toolcrib::rules::RuleOrigin;
use toolcrib::{Crib, CribOptions};

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("ws")).unwrap();
        Place { dir }
    }

    fn file(self, path: &str, content: &str) -> Self {
        let path = self.dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    fn open(&self) -> Result<Crib, String> {
        let path = self.dir.path();
        let surroundings = Surroundings::new(path, [] as [(&str, &str); 0]);
        CribOptions::default()
            .surroundings(surroundings)
            .home(path.join("home"))
            .workspace(path.join("ws"))
            .open()
            .map_err(|error| error.to_string())
    }
}

fn rule(name: &str) -> String {
    format!("[[rules]]\nname = '{name}'\nverdict = 'ask'\ncommand = 'x'\n")
}

#[test]
fn rules_come_from_settings_and_files_of_home_and_project() {
    let crib = Place::new()
        .file(
            "home/config.toml",
            &format!("[limits]\ntimeoutMs = 5000\n{}", rule("a")),
        )
        .file("home/rules/b.toml", &rule("b"))
        .file("home/rules/.c.toml.swp", "not toml [")
        .file("home/rules/notes.md", "not toml [")
        .file("ws/.toolcrib/config.toml", &rule("d"))
        .file("ws/.toolcrib/rules/e.toml", &rule("e"))
        .open()
        .unwrap();
    let own: Vec<(String, bool)> = crib
        .rules()
        .rules()
        .filter_map(|rule| match rule.origin() {
            RuleOrigin::Home(_) => Some((rule.name().to_owned(), true)),
            RuleOrigin::Project(_) => Some((rule.name().to_owned(), false)),
            RuleOrigin::Default | RuleOrigin::Program => None,
        })
        .collect();
    let expected = [("a", true), ("b", true), ("d", false), ("e", false)];
    assert_eq!(own, expected.map(|(name, home)| (name.to_owned(), home)));
    assert_eq!(crib.config().limits().timeout_ms, Some(5000));
    assert!(
        crib.rules().find("recursive-removal").is_some(),
        "the default set is there too"
    );
}

#[test]
fn whatever_is_wrong_with_any_file_refuses_to_open() {
    let place = Place::new()
        .file("home/rules/a.toml", "[[rules]]\nname = 'a'\ncomand = 'x'\n")
        .file(
            "home/rules/b.toml",
            "[[rules]]\nname = 'privileges'\ncommand = 'x'\n",
        )
        .file(
            "ws/.toolcrib/rules/c.toml",
            "[[rules]]\nname = 'c'\nverdict = 'allow'\ncommand = 'x'\n",
        )
        .file(
            "ws/.toolcrib/config.toml",
            "[[rules]]\nname = 'd'\nexpr = 'true'\n",
        );
    let error = place.open().err().unwrap();
    for expected in [
        "rules/a.toml: rule `a`: unknown key `comand`",
        "rules/b.toml: rule `privileges`: a rule of this name comes from default",
        ".toolcrib/rules/c.toml: rule `c`: a project's rules may ask or deny, not allow",
        ".toolcrib/config.toml: rule `d`: a project's rules may not have an `expr`",
    ] {
        assert!(error.contains(expected), "{expected} is not in {error}");
    }
    let unreadable = Place::new();
    std::fs::create_dir_all(unreadable.dir.path().join("home/rules/x.toml")).unwrap();
    assert!(unreadable.open().err().unwrap().contains("cannot be read"));
    assert!(
        Place::new()
            .file("home/rules/x.toml", "[")
            .open()
            .err()
            .unwrap()
            .contains("not TOML")
    );
}

#[test]
fn the_operator_may_switch_a_default_off_and_a_project_may_not() {
    let crib = Place::new()
        .file(
            "home/config.toml",
            "disabledRules = ['git-push', 'recursive-removal', 'git-psh']\n",
        )
        .open()
        .unwrap();
    let off: Vec<&str> = crib.rules().disabled().map(|rule| rule.name()).collect();
    assert_eq!(off, ["git-push", "recursive-removal"]);
    assert!(
        crib.warnings()[0].contains("has no rule `git-psh`"),
        "{:?}",
        crib.warnings()
    );
    let error = Place::new()
        .file("ws/.toolcrib/config.toml", "disabledRules = ['git-push']\n")
        .open()
        .err()
        .unwrap();
    assert!(error.contains("a project may not set this"), "{error}");
}

#[test]
fn a_projects_file_is_read_only_from_inside_the_workspace() {
    let place = Place::new()
        .file("outside.toml", "SENTINEL = [")
        .file("ws/.toolcrib/x", "");
    let rules = place.dir.path().join("ws/.toolcrib/rules");
    std::fs::create_dir(&rules).unwrap();
    std::os::unix::fs::symlink(Path::new("../../../outside.toml"), rules.join("a.toml")).unwrap();
    let error = place.open().err().unwrap();
    assert!(
        error.contains(".toolcrib/rules/a.toml") && !error.contains("SENTINEL"),
        "{error}"
    );
}

#[tokio::test]
async fn a_registry_is_safe_by_default_and_says_what_it_blocked() {
    use toolcrib::{CallRequest, ErrorCode, Registry};
    let registry = Registry::new();
    registry.register(super::tests_shell()).unwrap();
    let outcome = registry
        .execute(CallRequest::new("shell").arg("command", "sudo rm -rf /"))
        .await;
    let error = outcome.error().unwrap();
    assert_eq!(error.code(), ErrorCode::BlockedByRule);
    assert!(
        error.message().contains("(rule `privileges`)"),
        "{}",
        error.message()
    );
    let findings = &error.details().unwrap()["findings"];
    assert_eq!(findings[0]["about"], "rm -rf /");
    let outcome = registry
        .execute(CallRequest::new("shell").arg("command", "eval \"$X\""))
        .await;
    assert_eq!(
        outcome.error().unwrap().code(),
        ErrorCode::ApprovalUnavailable
    );
    assert!(
        registry
            .execute(CallRequest::new("shell").arg("command", "echo sudo"))
            .await
            .is_ok()
    );
}
