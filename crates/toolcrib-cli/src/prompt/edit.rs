//! Other arguments than the call came with: typed in an editor or line by line, checked like those of any call.

use std::io;
use std::os::unix::fs::OpenOptionsExt as _;

use serde_json::Value;
use toolcrib::ToolError;
use toolcrib::approval::ApprovalResponse;
use toolcrib::model::JsonObject;

use super::answerer::whoami;
use super::questions::Preview;
use super::talk::{Next, Talk, fault_lines};
use super::terminal::{Edited, Line};
use super::words::arguments;
use crate::coerce;

/// How much of a file is read back.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// What comes of typing.
enum Typed {
    /// These arguments.
    Arguments(JsonObject),
    /// Nothing to go on with; the reason was said.
    Nothing,
    /// The question is no more.
    Woken,
}

impl Talk<'_> {
    /// Lets the person change the arguments, until they fit and are approved, or are left as they were.
    pub(super) fn edit(&mut self) -> Next {
        let editor = editor();
        let mut current = self.request.args.clone();
        if editor.is_none() {
            self.say(&self.paint.dim(HOW_TO_TYPE));
        }
        loop {
            let typed = match &editor {
                Some(editor) => self.in_editor(editor),
                None => self.by_lines(&current),
            };
            let edited = match typed {
                Typed::Arguments(edited) => edited,
                Typed::Nothing => return Next::Again,
                Typed::Woken => return Next::Over(self.settled()),
            };
            if edited == self.request.args {
                self.draft = None;
                self.say(&self.paint.dim("nothing was changed"));
                return Next::Again;
            }
            current = edited;
            let choice = match self.questions.preview(self.request, &current) {
                Ok(preview) => {
                    self.preview(&current, &preview);
                    self.choose("Approve with these arguments? y yes · e edit on · n go back > ")
                }
                Err(error) => {
                    self.faults(&error);
                    self.note_faults(&error);
                    self.edit_on(editor.as_deref())
                }
            };
            match choice {
                Choice::Yes => {
                    let response = ApprovalResponse::approve_with(whoami(), current.clone());
                    if let Next::Over(ended) = self.respond(response) {
                        return Next::Over(ended);
                    }
                }
                Choice::Edit => {}
                Choice::No => return Next::Again,
                Choice::Woken => return Next::Over(self.settled()),
            }
        }
    }

    /// Whether the person wants to fix the errors. Where lines are typed there is no need to ask: the next one does it.
    fn edit_on(&self, editor: Option<&str>) -> Choice {
        if editor.is_none() {
            return Choice::Edit;
        }
        match self.choose("Edit on? y yes · n go back > ") {
            Choice::Yes => Choice::Edit,
            choice => choice,
        }
    }

    fn choose(&self, question: &str) -> Choice {
        loop {
            match self.terminal.ask(question, self.wake) {
                Line::Woken => return Choice::Woken,
                Line::End => return Choice::No,
                Line::Text(word) => match word.trim().to_lowercase().as_str() {
                    "y" | "yes" => return Choice::Yes,
                    "e" | "edit" => return Choice::Edit,
                    "n" | "no" => return Choice::No,
                    _ => self.say(&self.paint.dim("type one of these letters, then Enter")),
                },
            }
        }
    }

    fn preview(&self, edited: &JsonObject, preview: &Preview) {
        let (effect, diff) = (preview.effect.as_deref(), preview.diff.as_deref());
        self.say_all(&arguments(edited, effect, diff, self.page()).lines);
    }

    /// Writes what is wrong into the text that is edited on.
    fn note_faults(&mut self, error: &ToolError) {
        if let Some(draft) = &mut self.draft {
            let kept: Vec<&str> = draft
                .lines()
                .filter(|line| !line.starts_with(FAULT))
                .collect();
            let faults: String = fault_lines(error)
                .iter()
                .map(|line| format!("{FAULT}{line}\n"))
                .collect();
            *draft = format!("{faults}{}\n", kept.join("\n"));
        }
    }

    fn in_editor(&mut self, editor: &str) -> Typed {
        let json = serde_json::to_string_pretty(&self.request.args).unwrap_or_default();
        let draft = self.draft.take().unwrap_or_else(|| {
            format!(
                "// Arguments of {}, as JSON. Save and close the editor to go on.\n\
                 // Lines that begin with // do not count; an empty file changes nothing.\n{json}\n",
                self.request.tool
            )
        });
        self.screen.set_editing(true);
        let edited = self.edit_file(editor, &draft);
        self.screen.set_editing(false);
        let (ended, saved) = match edited {
            Ok(edited) => edited,
            Err(error) => {
                self.draft = Some(draft);
                self.fault(&format!("cannot edit with `{editor}`: {error}"));
                return Typed::Nothing;
            }
        };
        match ended {
            Edited::Woken => return Typed::Woken,
            Edited::Failed(status) => {
                // As much as was saved is there when `e` is typed again.
                self.draft = Some(saved);
                self.fault(&format!(
                    "`{editor}` failed ({status}); nothing was changed"
                ));
                return Typed::Nothing;
            }
            Edited::Saved => {}
        }
        match parse(&saved) {
            Ok(Some(args)) => {
                self.draft = Some(saved);
                Typed::Arguments(args)
            }
            Ok(None) => Typed::Arguments(self.request.args.clone()),
            Err(message) => {
                self.draft = Some(saved);
                let error = ToolError::new(toolcrib::ErrorCode::InvalidArguments, message);
                self.faults(&error);
                self.note_faults(&error);
                match self.edit_on(Some(editor)) {
                    Choice::Yes | Choice::Edit => self.in_editor(editor),
                    Choice::No => Typed::Nothing,
                    Choice::Woken => Typed::Woken,
                }
            }
        }
    }

    /// Runs the editor on a file that no one else can read, in its own directory: editors put copies beside it.
    fn edit_file(&self, editor: &str, draft: &str) -> io::Result<(Edited, String)> {
        use std::io::{Read as _, Write as _};
        use std::os::unix::fs::PermissionsExt as _;
        let private = std::fs::Permissions::from_mode(0o700);
        let dir = tempfile::Builder::new()
            .prefix("toolcrib-edit-")
            .permissions(private)
            .tempdir()?;
        let path = dir.path().join("arguments.json");
        let mut options = std::fs::File::options();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        file.write_all(draft.as_bytes())?;
        drop(file);
        let ended = self.terminal.edit(editor, &path, self.wake)?;
        let mut bytes = Vec::new();
        match std::fs::File::open(&path) {
            // Many editors put a new file in the place of the old one.
            Ok(file) => file.take(MAX_FILE).read_to_end(&mut bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        let text = String::from_utf8(bytes)
            .map_err(|_| io::Error::other("what was saved is not UTF-8"))?;
        Ok((ended, text))
    }

    /// `name=value` lines, where no editor is set.
    fn by_lines(&self, current: &JsonObject) -> Typed {
        let spec = self.questions.spec(&self.request.tool);
        let spec = spec.as_deref();
        let mut args = current.clone();
        self.say_all(&arguments(&args, None, None, self.page()).lines);
        loop {
            let line = match self.terminal.ask("change > ", self.wake) {
                Line::Woken => return Typed::Woken,
                Line::End => return Typed::Nothing,
                Line::Text(line) if line.trim().is_empty() => return Typed::Arguments(args),
                Line::Text(line) => line,
            };
            if let Some(name) = line.strip_prefix('-').filter(|_| !line.contains('=')) {
                let name = name.trim_end();
                if args.shift_remove(name).is_none() {
                    self.fault(&format!("there is no argument `{name}`"));
                }
                continue;
            }
            let unknown = spec.and_then(|spec| coerce::unknown(&line, spec));
            if let Some(message) = unknown {
                self.fault(&message);
                continue;
            }
            match coerce::arguments(args.clone(), &[line], spec) {
                Ok(changed) => args = changed,
                Err(error) => self.fault(&error.message),
            }
        }
    }
}

enum Choice {
    Yes,
    Edit,
    No,
    Woken,
}

/// What to do where no editor is set.
const HOW_TO_TYPE: &str = "type name=value to change an argument, -name to leave one out, an empty line when done; Ctrl-D goes back\n\
                           (for an editor set $VISUAL or $EDITOR)";

/// Marks the lines that say what is wrong.
const FAULT: &str = "// ! ";

/// The person's editor.
fn editor() -> Option<String> {
    ["VISUAL", "EDITOR"].iter().find_map(|name| {
        let editor = std::env::var(name).ok()?;
        (!editor.trim().is_empty()).then_some(editor)
    })
}

/// Reads what was saved; `None` when nothing is left of it.
fn parse(text: &str) -> Result<Option<JsonObject>, String> {
    // A JSON text has no line breaks within strings, so such a line is never part of one. Lines keep their numbers.
    let json: Vec<&str> = text
        .lines()
        .map(|line| match line.trim_start().starts_with("//") {
            true => "",
            false => line,
        })
        .collect();
    let json = json.join("\n");
    if json.trim().is_empty() {
        return Ok(None);
    }
    match serde_json::from_str(&json) {
        Ok(Value::Object(args)) => Ok(Some(args)),
        Ok(_) => Err("the arguments are not a JSON object: {\"name\": value}".to_owned()),
        Err(error) => Err(format!("this is not JSON: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn comments_do_not_count_and_lines_keep_their_numbers() {
        let read = |text: &str| parse(text).map(|args| args.map(Value::Object));
        assert_eq!(
            read("// one\n{\n  // two\n  \"a\": \"// three\"\n}\n"),
            Ok(Some(json!({"a": "// three"})))
        );
        assert_eq!(read("// one\n\n"), Ok(None));
        assert_eq!(read(""), Ok(None));
        assert!(read("[]").unwrap_err().contains("not a JSON object"));
        assert!(read("// one\n{\n\"a\" 1}").unwrap_err().contains("line 3"));
    }
}
