//! `toolcrib completions` and the hidden `toolcrib man`.

use std::process::ExitCode;

use clap_complete::env::Shells;
use toolcrib::{ErrorCode, ToolError};

use super::Done;
use crate::args::{CompletionsArgs, ManArgs, manual};
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn completions(args: &CompletionsArgs, output: &Output) -> Done {
    if args.shell == "bash" {
        // The engine's own script knows nothing of `name=value`, which bash takes for three words.
        output.text(include_str!("completions.bash"));
        return Ok(ExitCode::SUCCESS);
    }
    let shells = Shells::builtins();
    let shell = shells
        .completer(&args.shell)
        .ok_or_else(|| CliError::usage("no such shell"))?;
    let mut script = Vec::new();
    shell
        .write_registration("COMPLETE", "toolcrib", "toolcrib", "toolcrib", &mut script)
        .map_err(|error| CliError::usage(error.to_string()))?;
    output.text(&String::from_utf8_lossy(&script));
    Ok(ExitCode::SUCCESS)
}

pub(super) fn man(args: &ManArgs, output: &Output) -> Done {
    let failed = |error: std::io::Error| {
        let message = format!(
            "cannot write the manual pages to `{}`: {error}",
            args.out.display()
        );
        CliError::from(ToolError::new(ErrorCode::StorageError, message))
    };
    std::fs::create_dir_all(&args.out).map_err(failed)?;
    clap_mangen::generate_to(manual(), &args.out).map_err(failed)?;
    output.say(&format!("wrote the manual pages to {}", args.out.display()));
    Ok(ExitCode::SUCCESS)
}
