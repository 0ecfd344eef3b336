//! Where rules come from: the default set, the home's files, the project's.
//!
//! `[[rules]]` in `config.toml` and in `rules/*.toml`, of the home first and of the workspace's `.toolcrib` then. A project's
//! rules may only ask and deny. Whatever is wrong with any of them stops everything: with a rule missing, calls would run that
//! someone meant to stop.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;

use super::{PROJECT_FILE, open_regular, read_capped};
use crate::model::error::ErrorCode;
use crate::model::text;
use crate::rules::{Rule, RuleProblem, RuleSet, RulesError, Whose};
use crate::workspace::Workspace;

/// A project's directory of rules.
const PROJECT_RULES: &str = ".toolcrib/rules";

/// More files than this are a mistake.
const MAX_FILES: usize = 200;

/// The default set without what `disabled` names, and the rules of the files of the home and the workspace; also what is odd
/// about it without making it unusable.
pub fn load_rules(
    home: &Path,
    workspace: Option<&Workspace>,
    disabled: &[String],
) -> Result<(RuleSet, Vec<String>), RulesError> {
    let mut loading = Loading {
        set: RuleSet::default(),
        problems: Vec::new(),
    };
    let mut warnings = Vec::new();
    for name in disabled {
        if !loading.set.disable(name) {
            warnings.push(no_such_rule(&loading.set, name));
        }
    }
    loading.home(home);
    if let Some(workspace) = workspace {
        loading.project(workspace);
    }
    if loading.problems.is_empty() {
        Ok((loading.set, warnings))
    } else {
        Err(RulesError {
            problems: loading.problems,
        })
    }
}

fn no_such_rule(set: &RuleSet, name: &str) -> String {
    let hint = match text::nearest(name, set.rules().map(Rule::name)).as_slice() {
        [] => "`toolcrib rules list` shows the rules".to_owned(),
        near => format!("did you mean {}?", text::or_list(near)),
    };
    let name = text::shorten(name, 80);
    format!("`disabledRules`: the default set has no rule `{name}`; {hint}")
}

struct Loading {
    set: RuleSet,
    problems: Vec<RuleProblem>,
}

impl Loading {
    fn home(&mut self, home: &Path) {
        let config = home.join("config.toml");
        let read = |path: &Path| open_regular(path).and_then(read_capped);
        // Other problems of the settings are reported where they are read.
        if let Ok(text) = read(&config)
            && let Ok(table) = text.parse::<toml::Table>()
        {
            let file = config.display().to_string();
            self.add(Rule::from_settings(&table, &file, Whose::Operator));
        }
        let directory = home.join("rules");
        let names = match std::fs::read_dir(&directory) {
            Ok(entries) => entries
                .map(|entry| entry.map(|entry| entry.file_name()))
                .collect::<Result<Vec<OsString>, _>>(),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        };
        let names = match names {
            Ok(names) => self.rule_files(names, &directory.display().to_string()),
            Err(error) => return self.unreadable(&directory.display().to_string(), &error),
        };
        for name in names {
            let path = directory.join(name);
            let file = path.display().to_string();
            match read(&path) {
                Ok(text) => self.add(Rule::from_toml(&text, &file, Whose::Operator)),
                Err(error) => self.unreadable(&file, &error),
            }
        }
    }

    fn project(&mut self, workspace: &Workspace) {
        // Opened like any path of the workspace: a link out of it must not show up in an error.
        let read = |path: &str| {
            let (file, _) = workspace
                .path(path)
                .and_then(|path| workspace.open_project_file(&path))?;
            read_capped(file)
                .map_err(|error| crate::model::error::ToolError::failed(error.to_string()))
        };
        if let Ok(text) = read(PROJECT_FILE)
            && let Ok(table) = text.parse::<toml::Table>()
        {
            self.add(Rule::from_settings(&table, PROJECT_FILE, Whose::Project));
        }
        let opened = workspace
            .path(PROJECT_RULES)
            .and_then(|path| workspace.open_project_dir(&path));
        let names = match opened {
            Ok(directory) => rustix::fs::Dir::read_from(&directory).and_then(|entries| {
                entries
                    .map(|entry| {
                        entry.map(|entry| {
                            OsString::from(entry.file_name().to_string_lossy().into_owned())
                        })
                    })
                    .collect::<Result<Vec<OsString>, _>>()
            }),
            Err(error) if error.code() == ErrorCode::FileNotFound => return,
            Err(error) => return self.unreadable(PROJECT_RULES, &error),
        };
        let names = match names {
            Ok(names) => self.rule_files(names, PROJECT_RULES),
            Err(error) => return self.unreadable(PROJECT_RULES, &error),
        };
        for name in names {
            let file = format!("{PROJECT_RULES}/{}", name.to_string_lossy());
            match read(&file) {
                Ok(text) => self.add(Rule::from_toml(&text, &file, Whose::Project)),
                Err(error) => self.unreadable(&file, &error),
            }
        }
    }

    /// Those of a directory's names that are rules, in order. Hidden files are those of editors.
    fn rule_files(&mut self, names: Vec<OsString>, directory: &str) -> Vec<OsString> {
        let mut names: Vec<OsString> = names
            .into_iter()
            .filter(|name| {
                let name = name.to_string_lossy();
                name.ends_with(".toml") && !name.starts_with('.')
            })
            .collect();
        names.sort();
        if names.len() > MAX_FILES {
            self.problem(
                directory,
                format!("there are more than {MAX_FILES} files of rules"),
            );
            names.clear();
        }
        names
    }

    fn add(&mut self, rules: Result<Vec<Rule>, RulesError>) {
        let rules = match rules {
            Ok(rules) => rules,
            Err(error) => return self.problems.extend(error.problems),
        };
        for rule in rules {
            match self.set.find(rule.name()) {
                Some(other) => self.problems.push(RuleProblem {
                    file: rule.origin().to_string(),
                    rule: Some(format!("`{}`", rule.name())),
                    message: format!(
                        "a rule of this name comes from {}; give this one another",
                        other.origin()
                    ),
                }),
                None => self.set.add(rule),
            }
        }
    }

    fn unreadable(&mut self, file: &str, error: &dyn std::error::Error) {
        self.problem(file, format!("cannot be read: {error}"));
    }

    fn problem(&mut self, file: &str, message: String) {
        self.problems.push(RuleProblem {
            file: file.to_owned(),
            rule: None,
            message,
        });
    }
}
