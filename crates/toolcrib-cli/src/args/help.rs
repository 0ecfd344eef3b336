//! The command line as a whole: what derived types cannot say about it.
//!
//! The first page lists the commands in groups and the options that every command takes, which no other page repeats. Verbs that people
//! bring from other programs (`create`, `ls`, `remove`) are hidden aliases: one table here instead of a line at each command.

use clap::{Command, CommandFactory as _};

use super::Cli;

/// The commands, as the first page groups them. A test sees to it that none is missing.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Use tools",
        &["run", "list", "show", "search", "schema", "answer", "chat"],
    ),
    (
        "Make tools",
        &[
            "init", "new", "edit", "rm", "check", "test", "watch", "trust", "bundle", "enable",
            "disable",
        ],
    ),
    (
        "Stay in control",
        &[
            "approvals",
            "grants",
            "held",
            "rules",
            "secret",
            "calls",
            "stats",
            "sandbox",
        ],
    ),
    (
        "Connect models and programs",
        &[
            "connect", "hook", "mcp", "serve", "ui", "clients", "upstream",
        ],
    ),
    (
        "Set up and look up",
        &["config", "explain", "doctor", "completions", "man", "help"],
    ),
];

/// What people type for a command of the first page.
const TOP: &[(&str, &[&str])] = &[
    ("run", &["call", "exec", "invoke"]),
    ("search", &["find"]),
    ("show", &["info", "describe"]),
    ("check", &["lint", "validate"]),
    ("calls", &["history", "log", "logs"]),
    ("approvals", &["approval"]),
    ("grants", &["grant"]),
    ("rules", &["rule"]),
    ("secret", &["secrets"]),
    ("bundle", &["bundles"]),
    ("clients", &["client", "tokens"]),
    ("upstream", &["upstreams"]),
    ("config", &["settings"]),
    ("serve", &["server"]),
];

/// What people type for a command of any page.
const ANYWHERE: &[(&str, &[&str])] = &[
    ("list", &["ls"]),
    ("rm", &["remove", "delete", "del", "uninstall"]),
    ("new", &["create"]),
    ("revoke", &["rm", "remove", "delete"]),
    ("set", &["put"]),
    ("unset", &["remove", "delete"]),
];

/// What people type for a command below another.
const BELOW: &[(&str, &str, &[&str])] = &[
    ("rules", "test", &["try"]),
    ("config", "show", &["get", "list", "ls"]),
    ("secret", "set", &["add", "new", "create"]),
    ("bundle", "add", &["put"]),
    ("clients", "add", &["new", "create"]),
];

/// The command line.
pub(crate) fn command() -> Command {
    let command = with_aliases(Cli::command());
    let template = template(&command);
    command.help_template(template)
}

/// The command line for the manual, where the first page shows the options of every command as the others are shown.
pub(crate) fn manual() -> Command {
    let mut command = command();
    // A command is built once, so the other pages keep what they have.
    command.build();
    command.mut_args(|arg| match arg.is_global_set() {
        true => arg.hide(false),
        false => arg,
    })
}

fn with_aliases(mut command: Command) -> Command {
    for (name, aliases) in TOP {
        command = command.mut_subcommand(name, |found| found.aliases(*aliases));
    }
    for (parent, name, aliases) in BELOW {
        command = command.mut_subcommand(parent, |parent| {
            parent.mut_subcommand(name, |found| found.aliases(*aliases))
        });
    }
    with_common_aliases(command)
}

fn with_common_aliases(command: Command) -> Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|found| found.get_name().to_owned())
        .collect();
    let mut taken: Vec<String> = names;
    for found in command.get_subcommands() {
        taken.extend(found.get_all_aliases().map(str::to_owned));
    }
    command.mut_subcommands(|found| {
        let rows = ANYWHERE
            .iter()
            .filter(|(name, _)| *name == found.get_name());
        let aliases: Vec<&str> = rows
            .flat_map(|(_, aliases)| aliases.iter().copied())
            .filter(|alias| !taken.iter().any(|name| name == alias))
            .collect();
        taken.extend(aliases.iter().map(|alias| (*alias).to_owned()));
        with_common_aliases(found.aliases(aliases))
    })
}

/// The first page.
fn template(command: &Command) -> String {
    let styles = command.get_styles();
    let (head, word) = (styles.get_header(), styles.get_literal());
    let longest = GROUPS
        .iter()
        .flat_map(|(_, names)| names.iter())
        .map(|name| name.len())
        .max()
        .unwrap_or_default();
    let mut page = String::from("{before-help}{about-with-newline}\n{usage-heading} {usage}\n");
    for (group, names) in GROUPS {
        page.push_str(&format!("\n{head}{group}:{head:#}\n"));
        for name in names {
            let about = match command.find_subcommand(name) {
                Some(found) => found.get_about().map(ToString::to_string),
                None => Some("Show this page, or the page of a command".to_owned()),
            };
            page.push_str(&format!(
                "  {word}{name:longest$}{word:#}  {}\n",
                about.unwrap_or_default()
            ));
        }
    }
    page.push_str(&format!("\n{head}Options of every command:{head:#}\n"));
    page.push_str(&global_options(command));
    page.push_str("{after-help}");
    page
}

/// The options of every command, as clap prints them.
fn global_options(command: &Command) -> String {
    let mut shown = Command::new("toolcrib")
        .disable_help_flag(true)
        .max_term_width(100)
        .help_template("{options}");
    for arg in command.get_arguments().filter(|arg| arg.is_global_set()) {
        let arg = arg.clone().hide(false).global(false);
        shown = shown.arg(arg.help_heading(None::<&str>));
    }
    // Braces would be taken for tags of the template.
    let text = shown.render_help().ansi().to_string();
    text.trim_end().replace(['{', '}'], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let command = command();
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        grouped.retain(|name| *name != "help");
        grouped.sort_unstable();
        let mut known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        known.sort_unstable();
        assert_eq!(grouped, known);
    }

    #[test]
    fn verbs_of_other_programs_are_understood_and_not_shown() {
        for (typed, meant) in [
            (&["ls"][..], "list"),
            (&["create"], "new"),
            (&["remove"], "rm"),
            (&["delete"], "rm"),
            (&["call"], "run"),
            (&["history"], "calls"),
            (&["bundle", "create"], "new"),
            (&["bundle", "ls"], "list"),
            (&["rules", "try"], "test"),
            (&["grants", "remove"], "revoke"),
            (&["config", "get"], "show"),
            (&["secret", "delete"], "rm"),
            (&["upstreams", "remove"], "rm"),
        ] {
            let mut command = command();
            for word in typed {
                command = command
                    .find_subcommand(word)
                    .unwrap_or_else(|| panic!("{typed:?}"))
                    .clone();
            }
            assert_eq!(command.get_name(), meant, "{typed:?}");
            assert_eq!(command.get_visible_aliases().count(), 0);
        }
    }

    #[test]
    fn no_alias_takes_the_place_of_a_command() {
        fn walk(command: &Command) {
            let mut all: Vec<&str> = Vec::new();
            for found in command.get_subcommands() {
                all.push(found.get_name());
                all.extend(found.get_all_aliases());
                walk(found);
            }
            let many = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), many, "in `{}`", command.get_name());
        }
        walk(&command());
        command().debug_assert();
    }
}
