//! `toolcrib bundle`: containers of tools with one switch.

mod add;
mod diff;
mod export;
mod import;
mod list;
mod new;
mod restore;
mod rm;
mod show;
mod switch;

use super::Done;
use crate::args::{BundleCommand, Global};
use crate::output::Output;

pub(super) fn bundle(command: &BundleCommand, global: &Global, output: &Output) -> Done {
    match command {
        BundleCommand::List(args) => list::list(args, global, output),
        BundleCommand::Show(args) => show::show(args, global, output),
        BundleCommand::New(args) => new::new(args, global, output),
        BundleCommand::Add(args) => add::add(args, global, output),
        BundleCommand::Enable(args) => switch::enable(args, global, output),
        BundleCommand::Disable(args) => switch::disable(args, global, output),
        BundleCommand::Rm(args) => rm::rm(args, global, output),
        BundleCommand::Restore(args) => restore::restore(args, global, output),
        BundleCommand::Export(args) => export::export(args, global, output),
        BundleCommand::Import(args) => import::import(args, global, output),
        BundleCommand::Diff(args) => diff::diff(args, global, output),
    }
}
