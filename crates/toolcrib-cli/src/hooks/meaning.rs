//! What a program's own tool means: which of our tools does the same, with which arguments.
//!
//! Rules, grants and records know our tools; so a `Bash` of another program is a `shell`, its `Read` a `read_file`. Tools that are not in
//! the table (those of MCP servers, ours among them, plans, questions) mean nothing here and are not judged.

use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value, json};
use toolcrib::model::JsonObject;
use toolcrib::model::text::shorten;
use toolcrib::shell;

use super::patch::{Change, changes};
use super::{Event, HookClient};

/// A call of ours that a program's call amounts to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Use {
    pub(crate) tool: String,
    pub(crate) args: JsonObject,
    /// What it would do, in words.
    pub(crate) effect: String,
}

/// Where a program's call is made.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    /// The workspace, without links.
    pub(crate) root: Option<PathBuf>,
    /// Where the program works.
    pub(crate) cwd: Option<PathBuf>,
}

/// What a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Shell,
    Read,
    Write,
    Edit,
    Delete,
    Fetch,
    Search,
    Glob,
    List,
    Patch,
}

/// The tools of the programs, by their names in hooks. Sources: code.claude.com/docs/en/hooks and tools-reference; `codex-rs/core` (`hook_names.rs`);
/// cursor.com/docs/hooks; `base-declarations.ts` of google-gemini/gemini-cli; docs.github.com/copilot/reference/hooks-reference;
/// code.visualstudio.com/docs/agents/reference.
const TOOLS: &[(Kind, &[&str])] = &[
    (
        Kind::Shell,
        &[
            "Bash",
            "Monitor",
            "Shell",
            "bash",
            "run_shell_command",
            "run_in_terminal",
            "runInTerminal",
        ],
    ),
    (
        Kind::Read,
        &[
            "Read",
            "NotebookRead",
            "read_file",
            "read_many_files",
            "readFile",
            "view",
            "view_image",
        ],
    ),
    (
        Kind::Write,
        &["Write", "write_file", "create", "create_file", "createFile"],
    ),
    (
        Kind::Edit,
        &[
            "Edit",
            "MultiEdit",
            "NotebookEdit",
            "StrReplace",
            "edit",
            "edit_file",
            "edit_notebook_file",
            "editFiles",
            "insert_edit_into_file",
            "multi_replace_string_in_file",
            "replace",
            "replace_string_in_file",
            "str_replace_editor",
        ],
    ),
    (Kind::Delete, &["Delete", "delete_file"]),
    (
        Kind::Fetch,
        &["WebFetch", "web_fetch", "fetch_webpage", "fetch"],
    ),
    (
        Kind::Search,
        &["Grep", "grep", "grep_search", "search_file_content"],
    ),
    (Kind::Glob, &["Glob", "glob", "file_search"]),
    (Kind::List, &["LS", "list_directory", "list_dir"]),
    (Kind::Patch, &["apply_patch", "ApplyPatch"]),
];

/// The keys under which programs name a file or directory.
const PATHS: [&str; 8] = [
    "file_path",
    "filePath",
    "absolute_path",
    "notebook_path",
    "target_file",
    "path",
    "dir_path",
    "directory",
];

/// The calls of ours that an event is about; none if its tool means nothing here. The error says what is missing in a tool that does.
pub(crate) fn uses(client: HookClient, event: &Event, place: &Place) -> Result<Vec<Use>, String> {
    if client == HookClient::Generic {
        return Ok(vec![Use {
            tool: event.tool.clone(),
            args: event.input.clone(),
            effect: effect(
                client,
                event,
                &Value::Object(event.input.clone()).to_string(),
            ),
        }]);
    }
    let mut rows = TOOLS.iter();
    let Some((kind, _)) = rows.find(|(_, names)| names.contains(&event.tool.as_str())) else {
        return Ok(Vec::new());
    };
    let input = Input(&event.input);
    let missing = |what: &str| format!("its tool `{}` names no {what}", shown(&event.tool));
    let found: Vec<(&str, Value)> = match kind {
        Kind::Shell => {
            let command = input.command().ok_or_else(|| missing("command"))?;
            let mut args = json!({"command": command});
            if let Some(directory) = place.directory(&input) {
                args["cwd"] = directory.into();
            }
            vec![("shell", args)]
        }
        Kind::Read | Kind::Write | Kind::Edit | Kind::Delete => {
            let paths = input.paths();
            if paths.is_empty() {
                return Err(missing("file"));
            }
            let paths = paths.iter().map(|path| place.path(path));
            paths
                .map(|path| match kind {
                    Kind::Write => {
                        let content = input.text(&["content", "file_text", "contents"]);
                        ("write_file", json!({"path": path, "content": content}))
                    }
                    Kind::Edit => ("edit_file", json!({"path": path, "edits": input.edits()})),
                    Kind::Delete => ("delete_file", json!({"path": path})),
                    _ => ("read_file", json!({"path": path})),
                })
                .collect()
        }
        Kind::Fetch => {
            let urls = input.urls();
            if urls.is_empty() {
                return Err(missing("address"));
            }
            let urls = urls.into_iter();
            urls.map(|url| ("web_fetch", json!({"url": url}))).collect()
        }
        Kind::Search | Kind::Glob | Kind::List => {
            let path = input.paths().first().map(|path| place.path(path));
            let pattern = input.text(&["pattern", "query"]);
            let mut args = match kind {
                Kind::Search => json!({"query": pattern}),
                Kind::Glob => json!({"glob": pattern}),
                _ => json!({"path": "."}),
            };
            if let Some(path) = path.filter(|path| !path.is_empty()) {
                args["path"] = path.into();
            }
            let tool = match kind {
                Kind::Search => "search_code",
                Kind::Glob => "glob_files",
                _ => "list_directory",
            };
            vec![(tool, args)]
        }
        Kind::Patch => {
            let patch = input.text(&["command", "input", "patch"]);
            let changes = changes(&patch).ok_or_else(|| missing("file in a patch"))?;
            let one = |change: Change| match change {
                Change::Add(path, content) => (
                    "write_file",
                    json!({"path": place.path(&path), "content": content}),
                ),
                Change::Update(path, added) => {
                    let edits = json!([{"old": "", "new": added}]);
                    (
                        "edit_file",
                        json!({"path": place.path(&path), "edits": edits}),
                    )
                }
                Change::Delete(path) => ("delete_file", json!({"path": place.path(&path)})),
                Change::Move(from, to) => (
                    "move_file",
                    json!({"from": place.path(&from), "to": place.path(&to)}),
                ),
            };
            changes.into_iter().map(one).collect()
        }
    };
    let uses = found.into_iter().map(|(tool, args)| {
        let what = ["command", "path", "url", "query", "glob", "to"]
            .iter()
            .find_map(|key| args.get(key)?.as_str());
        Use {
            tool: tool.to_owned(),
            effect: effect(client, event, what.unwrap_or_default()),
            args: args.as_object().cloned().unwrap_or_default(),
        }
    });
    Ok(uses.collect())
}

fn effect(client: HookClient, event: &Event, what: &str) -> String {
    format!(
        "{} uses its own `{}`, which no sandbox holds back: {}",
        client.title(),
        shown(&event.tool),
        shorten(what, 2000)
    )
}

fn shown(tool: &str) -> String {
    shorten(tool, 100)
}

impl Place {
    /// A path as our tools would be given it: below the workspace relative to it, elsewhere as it is.
    fn path(&self, text: &str) -> String {
        let text = text.strip_prefix("file://").unwrap_or(text);
        if text.starts_with("~/") || text.is_empty() {
            return text.to_owned();
        }
        let path = match &self.cwd {
            Some(cwd) => cwd.join(text),
            None => PathBuf::from(text),
        };
        let path = plain(&path);
        let Some(root) = &self.root else {
            return path.to_string_lossy().into_owned();
        };
        let relative = match path.strip_prefix(root) {
            Ok(relative) => Some(relative.to_owned()),
            // The program may have come to the workspace by a link.
            Err(_) => path.ancestors().skip(1).find_map(|parent| {
                let real = parent.canonicalize().ok()?;
                let rest = path.strip_prefix(parent).ok()?;
                real.join(rest).strip_prefix(root).ok().map(Path::to_owned)
            }),
        };
        let shown = relative.unwrap_or(path);
        match shown.as_os_str().is_empty() {
            true => ".".to_owned(),
            false => shown.to_string_lossy().into_owned(),
        }
    }

    /// The directory of a command, if it is not the workspace.
    fn directory(&self, input: &Input<'_>) -> Option<String> {
        let named = input.text(&["cwd", "workdir", "dir_path", "directory"]);
        let cwd = self.cwd.as_deref().and_then(Path::to_str);
        let directory = match named.is_empty() {
            true => self.path(cwd?),
            false => self.path(&named),
        };
        (directory != ".").then_some(directory)
    }
}

/// A path without `.` and `..`, as it is written: where links lead is for the rules to see.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                if !plain.pop() {
                    plain.push("..");
                }
            }
            other => plain.push(other),
        }
    }
    plain
}

/// What a program hands to its tool.
struct Input<'a>(&'a Map<String, Value>);

impl Input<'_> {
    /// The first of these that is a text; an empty one if none is.
    fn text(&self, keys: &[&str]) -> String {
        let mut texts = keys.iter().filter_map(|key| self.0.get(*key)?.as_str());
        texts.next().unwrap_or_default().to_owned()
    }

    /// The command, without the sandbox that an earlier answer put around it.
    fn command(&self) -> Option<String> {
        let command = match self.0.get("command")? {
            Value::String(text) => text.clone(),
            Value::Array(words) => {
                let words: Option<Vec<String>> =
                    words.iter().map(|word| word.as_str().map(quoted)).collect();
                words?.join(" ")
            }
            _ => return None,
        };
        Some(unwrapped(&command).unwrap_or(command))
    }

    fn paths(&self) -> Vec<String> {
        let direct = PATHS.iter().find_map(|key| self.0.get(*key)?.as_str());
        if let Some(path) = direct {
            return vec![path.to_owned()];
        }
        let lists = ["files", "paths", "include", "replacements", "edits"];
        let lists = lists
            .iter()
            .filter_map(|key| self.0.get(*key)?.as_array())
            .flatten();
        let path = |item: &Value| match item {
            Value::String(path) => Some(path.clone()),
            Value::Object(fields) => Input(fields).paths().first().cloned(),
            _ => None,
        };
        lists.filter_map(path).collect()
    }

    /// The texts that are exchanged, as `edit_file` takes them.
    fn edits(&self) -> Vec<Value> {
        let list = ["edits", "replacements"]
            .iter()
            .find_map(|key| self.0.get(*key)?.as_array());
        if let Some(list) = list {
            let edits = list.iter().filter_map(Value::as_object);
            return edits.map(|edit| Input(edit).edit()).collect();
        }
        vec![self.edit()]
    }

    fn edit(&self) -> Value {
        let old = self.text(&["old_string", "old_str", "oldString"]);
        let new = self.text(&[
            "new_string",
            "new_str",
            "newString",
            "new_source",
            "newCode",
            "code",
            "file_text",
            "insert_text",
        ]);
        let all = self.0.get("replace_all").and_then(Value::as_bool);
        match all {
            Some(true) => json!({"old": old, "new": new, "all": true}),
            _ => json!({"old": old, "new": new}),
        }
    }

    /// The addresses; Gemini's tool finds them in its prompt.
    fn urls(&self) -> Vec<String> {
        if let Some(url) = self.0.get("url").and_then(Value::as_str) {
            return vec![url.to_owned()];
        }
        if let Some(urls) = self.0.get("urls").and_then(Value::as_array) {
            let urls = urls.iter().filter_map(Value::as_str);
            return urls.map(str::to_owned).collect();
        }
        let prompt = self.text(&["prompt"]);
        let words = prompt.split(|c: char| c.is_whitespace() || "\"'<>()[]".contains(c));
        let is_url = |word: &&str| word.contains("://");
        words.filter(is_url).map(str::to_owned).collect()
    }
}

/// A word for a shell.
pub(super) fn quoted(word: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    match !word.is_empty() && word.chars().all(is_bare) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// A command behind the sandbox: `program` are the words that start this program.
pub(crate) fn wrapped(program: &[String], command: &str) -> String {
    let words: Vec<String> = program.iter().map(|word| quoted(word)).collect();
    let command = command.replace('\'', r"'\''");
    format!("{} sandbox -- bash -c '{command}'", words.join(" "))
}

/// The command inside of [`wrapped`].
fn unwrapped(command: &str) -> Option<String> {
    if !command.contains(" sandbox -- bash -c ") {
        return None;
    }
    let script = shell::read(command);
    let ([only], true) = (script.commands.as_slice(), script.doubts.is_empty()) else {
        return None;
    };
    let bare = only.redirects.is_empty() && only.assignments.is_empty() && only.via.is_empty();
    let words = only.argv().filter(|_| bare)?;
    let [.., "sandbox", "--", "bash", "-c", inner] = words.as_slice() else {
        return None;
    };
    (only.name() == Some("toolcrib")).then(|| (*inner).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_sandbox_was_put_around_is_judged_as_it_was() {
        for command in ["echo 'a b' && ls", "cat <<'E'\nit's\nE", "true"] {
            let program = ["/opt/a b/toolcrib".to_owned()];
            let put = wrapped(&program, command);
            assert_eq!(unwrapped(&put).as_deref(), Some(command), "{put}");
        }
        for other in [
            "toolcrib sandbox -- bash -c true; rm -rf x",
            "evil sandbox -- bash -c true",
            "toolcrib sandbox -- bash -c \"$x\"",
        ] {
            assert_eq!(unwrapped(other), None, "{other}");
        }
    }

    #[test]
    fn a_path_is_relative_to_the_workspace_only_below_it() {
        let place = Place {
            root: Some("/w".into()),
            cwd: Some("/w/app".into()),
        };
        for (given, expected) in [
            ("/w/a.txt", "a.txt"),
            ("a.txt", "app/a.txt"),
            ("../a.txt", "a.txt"),
            ("/w", "."),
            ("/w/../etc/passwd", "/etc/passwd"),
            ("../../etc/passwd", "/etc/passwd"),
            ("~/.ssh/id", "~/.ssh/id"),
            ("/wide/a", "/wide/a"),
        ] {
            assert_eq!(place.path(given), expected, "{given}");
        }
    }
}
