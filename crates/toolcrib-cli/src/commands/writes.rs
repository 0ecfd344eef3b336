//! Which verbs write to the home. They refuse one that a newer version has changed, before anything else; the others read what they can.

use std::path::{Path, PathBuf};

use toolcrib::ToolError;
use toolcrib::config::Surroundings;
use toolcrib::format;

use crate::args::{
    ApprovalsCommand, BundleCommand, CallsCommand, ClientsCommand, Command, ConfigCommand, Global,
    GrantsCommand, HeldCommand, RulesCommand, SecretCommand, UpstreamCommand,
};
use crate::failure::CliError;
use crate::remote;

/// Whether a verb may write to the home. Every call does: it is recorded.
pub(super) fn writes(command: &Command) -> bool {
    match command {
        Command::List(_)
        | Command::Show(_)
        | Command::Search(_)
        | Command::Schema(_)
        | Command::Stats(_)
        | Command::Check(_)
        | Command::Explain(_)
        | Command::Completions(_)
        | Command::Man(_) => false,
        Command::Doctor(args) => args.fix,
        Command::Bundle(command) => !matches!(
            command,
            BundleCommand::List(_)
                | BundleCommand::Show(_)
                | BundleCommand::Export(_)
                | BundleCommand::Diff(_)
        ),
        Command::Approvals(command) => !matches!(
            command,
            ApprovalsCommand::List { .. }
                | ApprovalsCommand::Show { .. }
                | ApprovalsCommand::Notify { .. }
        ),
        Command::Grants(command) => !matches!(
            command,
            GrantsCommand::List { .. } | GrantsCommand::Show { .. }
        ),
        Command::Held(command) => !matches!(command, HeldCommand::List | HeldCommand::Show { .. }),
        Command::Secret(command) => !matches!(command, SecretCommand::List),
        Command::Calls(command) => !matches!(
            command,
            CallsCommand::List { .. } | CallsCommand::Show { .. }
        ),
        Command::Rules(command) => match command {
            RulesCommand::List | RulesCommand::Check { .. } | RulesCommand::Test(_) => false,
        },
        Command::Config(command) => !matches!(
            command,
            ConfigCommand::Show { .. } | ConfigCommand::Path | ConfigCommand::Reference
        ),
        Command::Clients(command) => !matches!(command, ClientsCommand::List),
        Command::Upstream(command) => !matches!(
            command,
            UpstreamCommand::List | UpstreamCommand::Show { .. }
        ),
        Command::Run(_)
        | Command::Answer(_)
        | Command::Chat(_)
        | Command::Init(_)
        | Command::New(_)
        | Command::Edit(_)
        | Command::Rm(_)
        | Command::Test(_)
        | Command::Watch(_)
        | Command::Trust(_)
        | Command::Enable(_)
        | Command::Disable(_)
        | Command::Serve(_)
        | Command::Ui(_)
        | Command::Mcp(_)
        | Command::Connect(_)
        | Command::Hook(_)
        | Command::Sandbox(_) => true,
    }
}

/// The home of this machine, if the verb works on it and may write it.
pub(super) fn admit(global: &Global) -> Result<Option<PathBuf>, CliError> {
    if remote::is_named(global) {
        return Ok(None);
    }
    let surroundings = Surroundings::of_process();
    let home = match &global.home {
        Some(home) => surroundings.resolve(home),
        // Verbs that need a home say what is missing; some do not.
        None => match surroundings.home() {
            Ok(home) => home,
            Err(_) => return Ok(None),
        },
    };
    format::check(&home).map_err(ToolError::from)?;
    Ok(Some(home))
}

/// Notes the format of a home that this version has written. One that cannot be written has format 1 without it.
pub(super) fn stamp(home: &Path) {
    let _ = format::stamp(home);
}
