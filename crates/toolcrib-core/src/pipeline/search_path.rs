//! What a search through the directories of `PATH` may find in the workspace.

use std::collections::{BTreeSet, HashMap};

use super::bind::{MAX_CANDIDATES, at_home};
use crate::shell::{Directory, Part, RunFile, Script, SimpleCommand, Word};
use crate::tool::ShellText;
use crate::workspace::Workspace;

/// Where programs without a path, and files that `.` reads, are looked for in the workspace. Which `PATH` counts for which command is not
/// followed: every candidate is bound that is there, and the others must stay absent.
pub(super) fn on_path(
    text: &ShellText,
    script: &Script,
    base: &str,
    workspace: &Workspace,
) -> Vec<RunFile> {
    let inherited = std::env::var("PATH").unwrap_or_default();
    let path = text.path.as_deref().unwrap_or(&inherited);
    let mut searched: BTreeSet<String> = path.split(':').map(str::to_owned).collect();
    searched.remove("");
    for command in &script.commands {
        let given = command.words.iter();
        let given = given.filter_map(|word| word.after("PATH=").or_else(|| word.after("PATH+=")));
        let set = command
            .assignments
            .iter()
            .filter(|(name, _)| name == "PATH");
        let values = given.chain(set.map(|(_, value)| value.clone()));
        searched.extend(values.flat_map(|value| searched_in(&value)));
    }
    let root = workspace.root();
    searched.retain(|directory| {
        let place = root.join(base).join(at_home(directory));
        // One that is not there may be made later.
        place.canonicalize().unwrap_or(place).starts_with(root)
    });
    if searched.is_empty() {
        return Vec::new();
    }
    let mut visited = vec![Directory::Start];
    for command in &script.commands {
        if command.directory != Directory::Unknown && !visited.contains(&command.directory) {
            visited.push(command.directory.clone());
        }
    }
    let mut names: Vec<Searched<'_>> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (index, command) in script.commands.iter().enumerate() {
        let from = match &command.directory {
            Directory::Unknown => visited.as_slice(),
            directory => std::slice::from_ref(directory),
        };
        for name in searched_names(command) {
            let at = *known.entry(name).or_insert(names.len());
            if at == names.len() {
                names.push(Searched {
                    name,
                    directories: Vec::new(),
                    command: index,
                });
            }
            let searched = &mut names[at];
            searched.command = index;
            for directory in from {
                if !searched.directories.contains(directory) {
                    searched.directories.push(directory.clone());
                }
            }
        }
    }
    let candidates = names.iter().flat_map(|found| {
        searched.iter().map(|directory| RunFile {
            names: vec![format!("{directory}/{}", found.name)],
            directories: found.directories.clone(),
            command: found.command,
            optional: true,
        })
    });
    candidates.take(MAX_CANDIDATES).collect()
}

/// A name that is looked for in the directories of `PATH`.
struct Searched<'s> {
    name: &'s str,
    /// Where relative ones of those directories start.
    directories: Vec<Directory>,
    command: usize,
}

/// The names that a command has looked for: its program, and what `.` reads.
fn searched_names(command: &SimpleCommand) -> impl Iterator<Item = &str> {
    let program = command.words.first().and_then(Word::as_static);
    let is_dash = |word: &&Word| word.as_static() == Some("--");
    let mut words = command.words.iter().skip(1);
    let file = match program {
        Some("." | "source") => words.find(|word| !is_dash(word)).and_then(Word::as_static),
        _ => None,
    };
    let is_name = |name: &&str| !matches!(*name, "" | "." | "..") && !name.contains('/');
    [program, file].into_iter().flatten().filter(is_name)
}

/// The directories that a value of `PATH` names, as far as they are known.
fn searched_in(value: &Word) -> Vec<String> {
    const UNKNOWN: char = '\0';
    let mut text = String::new();
    for part in &value.parts {
        match part {
            Part::Text(part) => text.push_str(part),
            Part::Variable(name) if name == "PWD" => text.push('.'),
            Part::Variable(name) if name == "HOME" => text.push('~'),
            Part::Dynamic(source)
                if matches!(source.as_str(), "$PWD" | "${PWD}" | "$(pwd)" | "`pwd`") =>
            {
                text.push('.');
            }
            Part::Variable(_) | Part::Glob(_) | Part::Dynamic(_) => text.push(UNKNOWN),
        }
    }
    let directories = text.split(':').filter(|part| !part.contains(UNKNOWN));
    let directory = |part: &str| match part {
        // An empty one is the current directory.
        "" => ".".to_owned(),
        part => part.to_owned(),
    };
    directories.map(directory).collect()
}
