//! Which tests are meant by the words of the command line.

use std::sync::Arc;

use toolcrib::definition::Definition;
use toolcrib::model::text;
use toolcrib::source::{FileDefinition, ToolFile};
use toolcrib::trial::Trial;
use toolcrib::{Crib, ErrorCode, ToolError};

use crate::commands::tool_file::{find, no_such};
use crate::failure::CliError;

/// The tests that are meant.
pub(super) struct Chosen<'f> {
    pub(super) tools: Vec<ChosenTool<'f>>,
    /// Files that cannot be loaded, when all are meant.
    pub(super) broken: Vec<&'f ToolFile>,
    /// What is worth saying: tools without tests.
    pub(super) notes: Vec<String>,
}

/// A tool and which of its tests.
pub(super) struct ChosenTool<'f> {
    pub(super) file: &'f ToolFile,
    pub(super) definition: Arc<Definition>,
    /// Places in its list of tests, in the order of the file.
    pub(super) tests: Vec<usize>,
    /// Those that were named themselves.
    pub(super) named: Vec<usize>,
}

impl ChosenTool<'_> {
    pub(super) fn trials(&self) -> impl Iterator<Item = Trial> {
        self.tests.iter().map(|index| Trial {
            tool: Arc::clone(&self.definition),
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
                Some(FileDefinition::Command(definition)) => chosen.add(file, definition, None),
                // They have no tests, and nobody asked for them.
                Some(FileDefinition::Http(_)) => {}
                None => chosen.broken.push(file),
            }
        }
        if files.is_empty() {
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
        let Some(file) = find(tool, files) else {
            built_in(tool, test, files, crib, &mut chosen)?;
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
        let FileDefinition::Command(definition) = definition else {
            let message = format!(
                "`{tool}` sends requests, and such tools have no tests: `{}`",
                file.shown
            );
            return Err(CliError::usage(message).with_hint(format!(
                "`toolcrib check {}` checks its file, `toolcrib run {tool}` calls it",
                file.shown
            )));
        };
        let index = match test {
            None => None,
            Some(test) => Some(test_named(test, definition)?),
        };
        chosen.add(file, definition, index);
    }
    Ok(chosen)
}

impl<'f> Chosen<'f> {
    fn add(&mut self, file: &'f ToolFile, definition: &Arc<Definition>, test: Option<usize>) {
        let place = self
            .tools
            .iter()
            .position(|tool| std::ptr::eq(tool.file, file));
        let place = place.unwrap_or_else(|| {
            self.tools.push(ChosenTool {
                file,
                definition: Arc::clone(definition),
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
            None => tool.tests.extend(0..definition.tests.len()),
        }
        tool.tests.sort_unstable();
        tool.tests.dedup();
        if tool.tests.is_empty() {
            let note = format!("`{}` has no tests ({})", definition.name, file.shown);
            self.notes.push(note);
        }
    }
}

fn built_in(
    tool: &str,
    test: Option<&str>,
    files: &[ToolFile],
    crib: &Crib,
    chosen: &mut Chosen<'_>,
) -> Result<(), CliError> {
    let is_known = crib.registry().find(tool).is_ok();
    if is_known && test.is_none() {
        let note = format!("`{tool}` is built in: it has no tests of its own here");
        chosen.notes.push(note);
        return Ok(());
    }
    Err(no_such("tool", tool, files))
}

fn test_named(word: &str, definition: &Definition) -> Result<usize, CliError> {
    let found = definition.tests.iter().position(|test| test.name == word);
    found.ok_or_else(|| {
        let names = definition.tests.iter().map(|test| test.name.as_str());
        let near = text::nearest(word, names.clone());
        let word = text::shorten(word, 80);
        let tool = &definition.name;
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
