//! Which tests are meant by the words of the command line.

use std::path::Path;
use std::sync::Arc;

use toolcrib::definition::Definition;
use toolcrib::model::text;
use toolcrib::registry::Entry;
use toolcrib::source::{FileDefinition, ToolFile};
use toolcrib::spec::manifest::ToolKind;
use toolcrib::store::StoredTool;
use toolcrib::trial::{Bench, Trial};
use toolcrib::{Crib, ErrorCode, Slug, ToolError};

use crate::commands::tool_file::{find, no_such, not_found};
use crate::commands::{stored, word as typed};
use crate::failure::CliError;

/// The tests that are meant.
pub(super) struct Chosen<'f> {
    pub(super) tools: Vec<ChosenTool<'f>>,
    /// Files that cannot be loaded, when all are meant.
    pub(super) broken: Vec<&'f ToolFile>,
    /// Notes: tools without tests.
    pub(super) notes: Vec<String>,
}

/// Where a tool is kept.
#[derive(Clone, PartialEq)]
pub(in crate::commands) enum Origin<'f> {
    /// In a file.
    File(&'f Path, &'f str),
    /// In the store, under this reference.
    Store(String),
}

impl<'f> Origin<'f> {
    pub(in crate::commands) fn of(file: &'f ToolFile) -> Self {
        Origin::File(&file.path, &file.shown)
    }

    /// What people know it by.
    pub(super) fn shown(&self) -> &str {
        match self {
            Origin::File(_, shown) => shown,
            Origin::Store(reference) => reference,
        }
    }
}

/// A tool and which of its tests.
pub(super) struct ChosenTool<'f> {
    pub(super) origin: Origin<'f>,
    /// Its file, if it has one.
    pub(super) file: Option<&'f ToolFile>,
    pub(super) definition: FileDefinition,
    /// Places in its list of tests, in the order of the file.
    pub(super) tests: Vec<usize>,
    /// Those that were named themselves.
    pub(super) named: Vec<usize>,
}

impl ChosenTool<'_> {
    pub(super) fn trials(&self) -> impl Iterator<Item = Trial> {
        self.tests.iter().map(|index| Trial {
            tool: self.definition.clone(),
            index: *index,
        })
    }
}

/// Finds what the words name; nothing named means everything.
pub(super) fn choose<'f>(
    words: &[String],
    files: &'f [ToolFile],
    crib: &Crib,
) -> Result<Chosen<'f>, CliError> {
    let mut chosen = Chosen {
        tools: Vec::new(),
        broken: Vec::new(),
        notes: Vec::new(),
    };
    if words.is_empty() {
        for file in files {
            match &file.definition {
                // Few HTTP tools have tests, and no one asked for those without.
                Some(FileDefinition::Http(http)) if http.tests.is_empty() => {}
                Some(definition) => chosen.add(Origin::of(file), Some(file), definition, None),
                None => chosen.broken.push(file),
            }
        }
        add_stored(crib, &mut chosen);
        if files.is_empty() && chosen.tools.is_empty() {
            let note = "there are no tools with tests here; `toolcrib init` writes one";
            chosen.notes.push(note.to_owned());
        }
        return Ok(chosen);
    }
    for word in words {
        let (tool, test) = match word.split_once(':') {
            Some((tool, test)) => (tool, Some(test)),
            None => (word.as_str(), None),
        };
        // Whatever has the name; a file that cannot be loaded has it, too.
        let found = crib.registry().find(tool);
        if let Ok(entry) = &found
            && let Some(record) = stored::record(entry, crib)
        {
            of_store(tool, test, entry, &record, crib, &mut chosen)?;
            continue;
        }
        let Some(file) = find(tool, files) else {
            without_file(tool, test, files, found, &mut chosen)?;
            continue;
        };
        let Some(definition) = &file.definition else {
            let message = format!(
                "the tests of `{tool}` cannot be run: `{}` cannot be loaded",
                file.shown
            );
            let error = ToolError::new(ErrorCode::ToolUnavailable, message);
            return Err(
                CliError::from(error).with_hint("`toolcrib check` says what is wrong with it")
            );
        };
        let index = match test {
            None => None,
            Some(test) => Some(test_named(test, definition)?),
        };
        chosen.add(Origin::of(file), Some(file), definition, index);
    }
    Ok(chosen)
}

/// The tools of the store that have tests and are on. No one asked for the others.
fn add_stored(crib: &Crib, chosen: &mut Chosen<'_>) {
    for entry in crib.registry().all_entries() {
        if entry.is_off() {
            continue;
        }
        let Some(record) = stored::record(&entry, crib).filter(|record| may_have_tests(record))
        else {
            continue;
        };
        let definition = crib.definition_of(&record);
        if let Some(definition) = definition.filter(|definition| !definition.tests().is_empty()) {
            let origin = Origin::Store(entry.spec().reference());
            chosen.add(origin, None, &definition, None);
        }
    }
}

fn may_have_tests(record: &StoredTool) -> bool {
    matches!(
        record.head.kind,
        ToolKind::Command | ToolKind::Alias | ToolKind::Http
    )
}

/// A tool of the store that was named: the version that a call would get, or the one that was.
fn of_store(
    tool: &str,
    test: Option<&str>,
    entry: &Arc<Entry>,
    record: &StoredTool,
    crib: &Crib,
    chosen: &mut Chosen<'_>,
) -> Result<(), CliError> {
    let reference = entry.spec().reference();
    let shown = text::shorten(tool, 80);
    if !may_have_tests(record) {
        let message =
            format!("`{shown}` runs no command and sends no request, and such tools have no tests");
        return Err(CliError::usage(message).with_hint(format!(
            "`toolcrib check {0}` checks it, `toolcrib run {0}` calls it",
            typed(&reference)
        )));
    }
    let Some(definition) = crib.definition_of(record) else {
        let message = format!("the tests of `{shown}` cannot be run: its record is not valid");
        let error = ToolError::new(ErrorCode::ToolUnavailable, message);
        return Err(CliError::from(error).with_hint(format!(
            "`toolcrib check {}` says what is wrong with it",
            typed(&reference)
        )));
    };
    let index = test.map(|test| test_named(test, &definition)).transpose()?;
    chosen.add(Origin::Store(reference), None, &definition, index);
    Ok(())
}

/// Makes the tools of the store known to the bench that are tested, and those that they use.
pub(super) fn prepare(bench: &mut Bench, chosen: &Chosen<'_>, crib: &Crib) -> Result<(), CliError> {
    let mut left: Vec<(Slug, Arc<Definition>)> = Vec::new();
    for tool in &chosen.tools {
        if let Origin::Store(reference) = &tool.origin
            && let Some(definition) = tool.definition.command()
        {
            let bundle = crib.registry().find(reference)?.spec().bundle.clone();
            left.push((bundle, Arc::clone(definition)));
        }
    }
    let mut seen: Vec<String> = Vec::new();
    while let Some((bundle, definition)) = left.pop() {
        for used in definition.uses() {
            let Ok(entry) = crib.registry().find(used) else {
                continue;
            };
            let reference = entry.spec().reference();
            if let Some(record) = stored::record(&entry, crib)
                && !seen.contains(&reference)
                && let Some(definition) = crib.command_of(&record)
            {
                seen.push(reference);
                left.push((entry.spec().bundle.clone(), definition));
            }
        }
        bench.add(bundle, &definition);
    }
    Ok(())
}

impl<'f> Chosen<'f> {
    fn add(
        &mut self,
        origin: Origin<'f>,
        file: Option<&'f ToolFile>,
        definition: &FileDefinition,
        test: Option<usize>,
    ) {
        let place = self.tools.iter().position(|tool| tool.origin == origin);
        let place = place.unwrap_or_else(|| {
            self.tools.push(ChosenTool {
                origin,
                file,
                definition: definition.clone(),
                tests: Vec::new(),
                named: Vec::new(),
            });
            self.tools.len() - 1
        });
        let tool = &mut self.tools[place];
        match test {
            Some(index) => {
                tool.tests.push(index);
                tool.named.push(index);
            }
            None => tool.tests.extend(0..definition.tests().len()),
        }
        tool.tests.sort_unstable();
        tool.tests.dedup();
        if tool.tests.is_empty() {
            let note = format!(
                "`{}` has no tests ({})",
                definition.name(),
                tool.origin.shown()
            );
            self.notes.push(note);
        }
    }
}

/// A tool that is neither in a file nor in the store: it comes with the program.
fn without_file(
    tool: &str,
    test: Option<&str>,
    files: &[ToolFile],
    found: Result<Arc<Entry>, ToolError>,
    chosen: &mut Chosen<'_>,
) -> Result<(), CliError> {
    match found {
        Ok(_) if test.is_none() => {
            let note = format!("`{tool}` is built in: it has no tests here");
            chosen.notes.push(note);
            Ok(())
        }
        Ok(_) => Err(no_such("tool", tool, files)),
        Err(error) => Err(not_found(error, tool, files)),
    }
}

fn test_named(word: &str, definition: &FileDefinition) -> Result<usize, CliError> {
    let tests = definition.tests();
    let found = tests.iter().position(|test| test.name == word);
    found.ok_or_else(|| {
        let names = tests.iter().map(|test| test.name.as_str());
        let near = text::nearest(word, names.clone());
        let word = text::shorten(word, 80);
        let tool = definition.name();
        let all: Vec<&str> = names.collect();
        let hint = match (near.as_slice(), all.as_slice()) {
            ([], []) => "it has none".to_owned(),
            ([], all) => format!("it has {}", text::or_list(all).replace(" or ", " and ")),
            (near, _) => format!("did you mean {}?", text::or_list(near)),
        };
        let message = format!("`{tool}` has no test `{word}`; {hint}");
        CliError::from(ToolError::new(ErrorCode::ToolNotFound, message))
            .with_hint(format!("`toolcrib test {tool}` runs all of them"))
    })
}
