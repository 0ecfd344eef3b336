//! `environment`.

use super::field_value::At;
use super::templates::Templates;
use crate::definition::Environment;
use crate::definition::problem::SpannedProblem;
use crate::model::text::shorten;
use crate::template::{Reference, Text};

/// Variables by which a value would decide what programs are found, besides those that the shell's own table has.
const FINDERS: &[&str] = &[
    "PATH",
    "HOME",
    "TMPDIR",
    "SHELL",
    "IFS",
    "PYTHONPATH",
    "RUBYLIB",
    "CLASSPATH",
    "GEM_PATH",
    "GEM_HOME",
    "BUNDLE_GEMFILE",
    "CC",
    "CXX",
    "CPP",
    "LD",
    "AS",
    "AR",
    "FC",
    "KUBECONFIG",
    "DOCKER_CONFIG",
    "ZDOTDIR",
    "XDG_CONFIG_HOME",
    "R_PROFILE",
    "R_PROFILE_USER",
    "R_ENVIRON",
    "R_ENVIRON_USER",
    "R_LIBS",
    "TERMINFO",
    "TERMINFO_DIRS",
    "TERMCAP",
    "LOCPATH",
    "NLSPATH",
    "CURL_HOME",
    "WGETRC",
    "OPENSSL_CONF",
    "OPENSSL_MODULES",
    "MAVEN_OPTS",
    "GRADLE_OPTS",
    "LUA_PATH",
    "LUA_CPATH",
    "TCLLIBPATH",
];

fn is_loader(name: &str) -> bool {
    FINDERS.contains(&name)
        || crate::shell::is_acted_on(name)
        || ["GIT_", "CARGO_", "npm_config_", "NPM_CONFIG_"]
            .iter()
            .any(|start| name.starts_with(start))
}

pub(super) fn read(root: At<'_, '_>, templates: &mut Templates<'_, '_>) -> Environment {
    let Some(at) = root.get("environment") else {
        return Environment::default();
    };
    let mut variables = Vec::new();
    for (key, value) in at.get("variables").into_iter().flat_map(At::entries) {
        let name = &*key.text;
        let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let fits = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !starts || !fits || name.len() > 128 {
            let message = format!(
                "`{}` cannot be a variable's name: it begins with a letter or `_` and goes on with letters, digits and `_`",
                shorten(name, 60)
            );
            templates.push(SpannedProblem::error("bad-name", key.span.clone(), message));
            continue;
        }
        if name.starts_with("TOOLCRIB_") {
            let message = format!("`{name}` is Toolcrib's own; programs of tools never get it");
            templates.push(SpannedProblem::error(
                "reserved-name",
                key.span.clone(),
                message,
            ));
            continue;
        }
        let Some(text) = templates.text(value) else {
            continue;
        };
        if is_loader(name) && comes_from_outside(&text) {
            let message = format!(
                "`{name}` decides what programs run or load, so its value cannot come from a parameter or a step"
            );
            templates.push(
                SpannedProblem::error("loader-variable", value.span(), message)
                    .help("write a fixed value, or give the value to the program as an argument"),
            );
            continue;
        }
        variables.push((name.to_owned(), text));
    }
    Environment {
        variables,
        inherit: at.boolean("inherit").unwrap_or(false),
    }
}

fn comes_from_outside(text: &Text) -> bool {
    text.references().iter().any(|reference| match reference {
        Reference::Parameter(_) | Reference::Step { .. } => true,
        Reference::Variable(_) => false,
    })
}
