//! What a YAML tool runs: for whoever is to trust it.

use super::{Action, Body, Cleanup, Definition, Privilege, Program};

/// The programs of a tool in the order of its file, each text with what it is, and what else whoever trusts it should know.
pub(crate) fn programs(definition: &Definition) -> Vec<(String, String)> {
    let mut runs = Vec::new();
    let program = |what: &str, program: &Program| (what.to_owned(), program.source.clone());
    match &definition.body {
        Body::Command(command) => runs.push(program("runs", command)),
        Body::Commands { default, platforms } => {
            runs.extend(default.iter().map(|command| program("runs", command)));
            for (platform, command) in platforms {
                let what = format!("runs on {}", format!("{platform:?}").to_lowercase());
                runs.push(program(&what, command));
            }
        }
        Body::Steps(steps) => {
            for step in steps {
                let what = format!("step {}", step.name);
                match &step.action {
                    Action::Run(command) => runs.push(program(&what, command)),
                    Action::UseTool { tool, .. } => runs.push((what, format!("the tool {tool}"))),
                }
                if let Some(fallback) = &step.fallback {
                    runs.push(program(&format!("or {}", step.name), fallback));
                }
            }
        }
        Body::Alias { base, .. } => runs.push(("runs".to_owned(), format!("the tool {base}"))),
    }
    for cleanup in &definition.resources.cleanup {
        if let Cleanup::FinalCommand(command) = cleanup {
            runs.push(program("at the end", command));
        }
    }
    let security = &definition.security;
    if security.privilege == Privilege::Elevated {
        runs.push(("rights".to_owned(), "those of root, by sudo".to_owned()));
    }
    let raw = definition
        .parameters
        .iter()
        .filter(|parameter| !parameter.escape_shell);
    runs.extend(raw.map(|parameter| {
        let what = format!("{} is pasted into commands as it is", parameter.name);
        ("caution".to_owned(), what)
    }));
    runs
}
