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

use serde_json::{Map, Value, json};
use toolcrib::crib::{BundleKind, BundleView};
use toolcrib::model::manifest::Bundle;

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

/// How a bundle stands, in one word.
fn state(view: &BundleView) -> &'static str {
    match (&view.problem, &view.bundle) {
        (Some(_), _) => "damaged",
        (None, bundle) if bundle.soft_deleted_at.is_some() => "bin",
        (None, bundle) if bundle.is_enabled => "on",
        (None, _) => "off",
    }
}

/// Where the tools of a bundle come from, in one word.
fn from(view: &BundleView) -> &'static str {
    match view.kind {
        BundleKind::BuiltIn => "built-in",
        BundleKind::Files => "files",
        BundleKind::Store => "store",
    }
}

/// A bundle as a program reads it: S4's fields, and what is computed. A field of another version gives way to the latter.
fn as_json(view: &BundleView) -> Map<String, Value> {
    let mut fields = bundle_json(&view.bundle);
    fields.insert("kind".to_owned(), json!(view.kind));
    fields.insert("tools".to_owned(), json!(view.tools));
    match &view.problem {
        Some(problem) => fields.insert("problem".to_owned(), json!(problem)),
        None => fields.remove("problem"),
    };
    fields
}

fn bundle_json(bundle: &Bundle) -> Map<String, Value> {
    match serde_json::to_value(bundle) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) | Err(_) => Map::new(),
    }
}

/// When it was imported, if it was.
fn imported_at(bundle: &Bundle) -> Option<&str> {
    bundle.extra.get("importedAt").and_then(Value::as_str)
}

/// A number of things, in words.
fn counted(count: usize, one: &str) -> String {
    match count {
        0 => format!("no {one}s"),
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    }
}
