//! Reads a unified diff, strictly: a line that is not understood is an error with its number, never skipped.

use super::paths;
use crate::model::error::ToolError;
use crate::model::text::shorten;

/// The most files of a patch.
const MAX_FILES: usize = 200;

/// A patch that was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Patch {
    pub(super) files: Vec<FilePatch>,
}

/// What a patch says about one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct FilePatch {
    /// Where it begins in the patch, counted from 1.
    pub(super) line: usize,
    /// The file before; `None` if it is new.
    pub(super) old: Option<String>,
    /// The file after; `None` if it is deleted.
    pub(super) new: Option<String>,
    /// Whether it becomes a program, or stops being one.
    pub(super) executable: Option<bool>,
    pub(super) hunks: Vec<Hunk>,
}

/// A place where lines change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Hunk {
    /// Where its header is in the patch, counted from 1.
    pub(super) line: usize,
    /// The first old line, counted from 1; the line before it if there are no old lines.
    pub(super) start: usize,
    /// The old lines, with their line breaks and their places in the patch.
    pub(super) old: Vec<(String, usize)>,
    /// The new lines, with their line breaks.
    pub(super) new: Vec<String>,
    /// Lines that are added and removed, without those around them.
    pub(super) added: usize,
    pub(super) removed: usize,
}

/// Why a patch cannot be read or applied.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: usize,
    pub(super) message: String,
}

impl Fault {
    fn new(line: usize, message: impl Into<String>) -> Self {
        Fault {
            line,
            message: message.into(),
        }
    }

    /// The error of the call.
    pub(super) fn into_error(self) -> ToolError {
        let message = format!("line {} of the patch: {}", self.line, self.message);
        super::super::invalid(super::NAME, "/patch", &message)
    }
}

impl Patch {
    /// The paths that it names, old and new.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        let files = self.files.iter();
        files
            .flat_map(|file| {
                file.old.iter().chain(
                    file.new
                        .iter()
                        .filter(|new| Some(*new) != file.old.as_ref()),
                )
            })
            .map(String::as_str)
    }
}

/// Reads a patch.
pub(super) fn parse(text: &str) -> Result<Patch, Fault> {
    let mut reader = Reader {
        lines: text.split('\n').collect(),
        at: 0,
    };
    // The last line ends in a line break, too.
    if reader.lines.last() == Some(&"") {
        reader.lines.pop();
    }
    let mut files: Vec<FilePatch> = Vec::new();
    while let Some(line) = reader.peek() {
        if line.trim().is_empty() {
            reader.at += 1;
            continue;
        }
        let file = reader.file()?;
        for path in file.old.iter().chain(&file.new) {
            paths::check(path).map_err(|why| {
                Fault::new(
                    file.line,
                    format!("the path `{}` cannot be used: {why}", shorten(path, 200)),
                )
            })?;
        }
        files.push(file);
        if files.len() > MAX_FILES {
            return Err(Fault::new(
                reader.at,
                format!("there are more than {MAX_FILES} files; split the patch"),
            ));
        }
    }
    if files.is_empty() {
        return Err(Fault::new(
            1,
            "there is no file in it; it begins with `--- a/PATH` and `+++ b/PATH`",
        ));
    }
    Ok(Patch { files })
}

struct Reader<'t> {
    lines: Vec<&'t str>,
    /// The next line, counted from 0.
    at: usize,
}

/// What the lines before `---` say.
#[derive(Default)]
struct Header {
    git: Option<(String, String)>,
    is_git: bool,
    is_new: bool,
    is_deleted: bool,
    rename_from: Option<String>,
    rename_to: Option<String>,
    executable: Option<bool>,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<&'t str> {
        self.lines.get(self.at).copied()
    }

    /// The number of the next line.
    fn number(&self) -> usize {
        self.at + 1
    }

    fn file(&mut self) -> Result<FilePatch, Fault> {
        let line = self.number();
        let header = self.header()?;
        let mut names = None;
        if let Some(old) = self.peek().and_then(|line| line.strip_prefix("--- ")) {
            let new = self
                .lines
                .get(self.at + 1)
                .and_then(|line| line.strip_prefix("+++ "));
            let Some(new) = new else {
                return Err(Fault::new(
                    self.number() + 1,
                    "a line that begins with `+++ ` must follow `--- `",
                ));
            };
            let read = |text: &str, line: usize| {
                paths::name(text)
                    .map_err(|why| Fault::new(line, format!("the path cannot be read: {why}")))
            };
            let (old, new) = (read(old, self.number())?, read(new, self.number() + 1)?);
            names = Some(paths::without_prefixes(old, new));
            self.at += 2;
        } else if !header.is_git {
            return Err(Fault::new(line, self.unexpected()));
        }
        let (old, new) = header.names(names, line)?;
        let mut file = FilePatch {
            line,
            old,
            new,
            executable: header.executable,
            hunks: Vec::new(),
        };
        while self.peek().is_some_and(|line| line.starts_with("@@")) {
            let hunk = self.hunk()?;
            file.hunks.push(hunk);
        }
        let says_something = file.old != file.new || file.executable.is_some();
        if file.hunks.is_empty() && !says_something {
            let found = self.peek().map_or_else(
                || "the patch ends".to_owned(),
                |line| format!("found `{}`", shorten(line, 80)),
            );
            return Err(Fault::new(
                self.number(),
                format!("expected a hunk that begins with `@@ -`, {found}"),
            ));
        }
        Ok(file)
    }

    fn unexpected(&self) -> String {
        let line = self.peek().unwrap_or_default();
        let shown = shorten(line, 80);
        if line.starts_with("*** ") {
            "this is not a unified diff; write `--- a/PATH`, `+++ b/PATH` and `@@ -LINE,COUNT +LINE,COUNT @@`, as `git diff` does".to_owned()
        } else if line.starts_with("```") {
            "leave the Markdown fence out; the patch begins with `--- a/PATH`".to_owned()
        } else if line.starts_with("+++ ") {
            "`--- a/PATH` must come before `+++ `".to_owned()
        } else if line.starts_with("@@") {
            "this hunk belongs to no file; `--- a/PATH` and `+++ b/PATH` come before it".to_owned()
        } else if line.starts_with([' ', '+', '-']) {
            format!("`{shown}` is beyond the lines that the header of its hunk counts")
        } else {
            format!("expected `--- a/PATH` or `diff --git`, found `{shown}`")
        }
    }

    fn header(&mut self) -> Result<Header, Fault> {
        let mut header = Header::default();
        let Some(names) = self
            .peek()
            .and_then(|line| line.strip_prefix("diff --git "))
        else {
            // `diff -r` prints its own command; it says nothing that `---` does not.
            if self.peek().is_some_and(|line| line.starts_with("diff -")) {
                self.at += 1;
            }
            return Ok(header);
        };
        header.is_git = true;
        header.git = paths::git_names(names.trim_end_matches('\r'));
        self.at += 1;
        while let Some(line) = self.peek() {
            let line = line.trim_end_matches('\r');
            let number = self.number();
            if let Some(mode) = line.strip_prefix("new file mode ") {
                header.is_new = true;
                header.executable = mode_of(mode, number)?.then_some(true);
            } else if line.strip_prefix("deleted file mode ").is_some() {
                header.is_deleted = true;
            } else if let Some(mode) = line.strip_prefix("old mode ") {
                mode_of(mode, number)?;
            } else if let Some(mode) = line.strip_prefix("new mode ") {
                header.executable = Some(mode_of(mode, number)?);
            } else if let Some(name) = line.strip_prefix("rename from ") {
                header.rename_from = Some(plain(name, number)?);
            } else if let Some(name) = line.strip_prefix("rename to ") {
                header.rename_to = Some(plain(name, number)?);
            } else if line.starts_with("copy ") {
                return Err(Fault::new(
                    number,
                    "a patch cannot copy files here; create the copy as a new file",
                ));
            } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
                return Err(Fault::new(
                    number,
                    "binary files cannot be patched; write them with write_file and base64",
                ));
            } else if !["index ", "similarity index ", "dissimilarity index "]
                .iter()
                .any(|start| line.starts_with(start))
            {
                break;
            }
            self.at += 1;
        }
        Ok(header)
    }

    fn hunk(&mut self) -> Result<Hunk, Fault> {
        let line = self.number();
        let header = self.peek().unwrap_or_default();
        let Some([start, old_count, new_start, new_count]) = ranges(header) else {
            let message = format!(
                "`{}` is not the header of a hunk; write `@@ -LINE,COUNT +LINE,COUNT @@`",
                shorten(header, 80)
            );
            return Err(Fault::new(line, message));
        };
        if start == 0 && old_count > 0 || new_start == 0 && new_count > 0 {
            return Err(Fault::new(line, "lines are counted from 1"));
        }
        self.at += 1;
        let mut hunk = Hunk {
            line,
            start,
            ..Hunk::default()
        };
        // Whether a mark that there is no line break may follow, for the old and for the new text.
        let (mut old_last, mut new_last) = (false, false);
        while let Some(text) = self.peek() {
            let is_full = hunk.old.len() >= old_count && hunk.new.len() >= new_count;
            if is_full && !text.starts_with('\\') {
                break;
            }
            // A line of a hunk and the header of a file may look alike; if the counts do not come out right with both lines of it, it is a
            // header.
            let fits = hunk.old.len() + 1 == old_count && hunk.new.len() + 1 == new_count;
            let is_header = !fits
                && text.starts_with("--- ")
                && self
                    .lines
                    .get(self.at + 1)
                    .is_some_and(|next| next.starts_with("+++ "))
                && self
                    .lines
                    .get(self.at + 2)
                    .is_some_and(|next| next.starts_with("@@ -"));
            if text.starts_with("@@") || text.starts_with("diff --git ") || is_header {
                break;
            }
            let number = self.number();
            let mut content = text.get(1..).unwrap_or_default().to_owned();
            content.push('\n');
            match text.as_bytes().first() {
                // Mail and editors take the space off an empty line.
                None | Some(b' ') => {
                    hunk.old.push((content.clone(), number));
                    hunk.new.push(content);
                    (old_last, new_last) = (true, true);
                }
                Some(b'\r') if text == "\r" => {
                    hunk.old.push(("\r\n".to_owned(), number));
                    hunk.new.push("\r\n".to_owned());
                    (old_last, new_last) = (true, true);
                }
                Some(b'-') => {
                    hunk.old.push((content, number));
                    hunk.removed += 1;
                    (old_last, new_last) = (true, false);
                }
                Some(b'+') => {
                    hunk.new.push(content);
                    hunk.added += 1;
                    (old_last, new_last) = (false, true);
                }
                Some(b'\\') if old_last || new_last => {
                    if old_last && let Some((line, _)) = hunk.old.last_mut() {
                        line.pop();
                    }
                    if new_last && let Some(line) = hunk.new.last_mut() {
                        line.pop();
                    }
                    (old_last, new_last) = (false, false);
                }
                Some(_) => break,
            }
            self.at += 1;
        }
        self.check_counts(&hunk, [start, old_count, new_start, new_count])?;
        Ok(hunk)
    }

    /// The header of a hunk must count its lines right; models often do not, so the error says how it should read.
    fn check_counts(&self, hunk: &Hunk, header: [usize; 4]) -> Result<(), Fault> {
        let [start, old_count, new_start, new_count] = header;
        let (mut old, mut new) = (hunk.old.len(), hunk.new.len());
        // Lines beyond the counts belong to it, unless they are the header of the next file.
        for text in &self.lines[self.at..] {
            match text.as_bytes().first() {
                Some(b' ') => (old, new) = (old + 1, new + 1),
                Some(b'-') if !text.starts_with("--- ") => old += 1,
                Some(b'+') if !text.starts_with("+++ ") => new += 1,
                _ => break,
            }
        }
        if (old, new) == (old_count, new_count) {
            return Ok(());
        }
        Err(Fault::new(
            hunk.line,
            format!(
                "the header counts {old_count} old and {new_count} new lines, and the hunk has {old} and {new}; write `@@ -{start},{old} +{new_start},{new} @@`"
            ),
        ))
    }
}

impl Header {
    /// The names before and after, from all places that say them; they must agree.
    fn names(
        &self,
        headers: Option<(Option<String>, Option<String>)>,
        line: usize,
    ) -> Result<(Option<String>, Option<String>), Fault> {
        let fault = |message: &str| Err(Fault::new(line, message));
        let (old, new) = match (&self.rename_from, &self.rename_to, headers, &self.git) {
            (Some(from), Some(to), None, _) => (Some(from.clone()), Some(to.clone())),
            (Some(from), Some(to), Some((old, new)), _) => {
                if old.as_ref() != Some(from) || new.as_ref() != Some(to) {
                    return fault(
                        "`rename from` and `rename to` name other files than `---` and `+++`",
                    );
                }
                (old, new)
            }
            (Some(_), None, ..) | (None, Some(_), ..) => {
                return fault("`rename from` and `rename to` belong together");
            }
            (None, None, Some(names), _) => names,
            (None, None, None, Some((old, new))) => {
                let (old, new) = paths::without_prefixes(Some(old.clone()), Some(new.clone()));
                (
                    old.filter(|_| !self.is_new),
                    new.filter(|_| !self.is_deleted),
                )
            }
            (None, None, None, None) => {
                return fault(
                    "the names after `diff --git` cannot be separated; add `--- a/PATH` and `+++ b/PATH`",
                );
            }
        };
        match (&old, &new) {
            (None, None) => fault("both names are `/dev/null`"),
            (Some(_), _) if self.is_new => {
                fault("`new file mode` is written, and `---` does not name `/dev/null`")
            }
            (_, Some(_)) if self.is_deleted => {
                fault("`deleted file mode` is written, and `+++` does not name `/dev/null`")
            }
            (Some(from), Some(to)) if from != to && self.rename_from.is_none() => Err(Fault::new(
                line,
                format!(
                    "`---` names `{}` and `+++` names `{}`; to rename a file write `rename from` and `rename to` after `diff --git`",
                    shorten(from, 200),
                    shorten(to, 200)
                ),
            )),
            (Some(from), Some(to)) if from == to && self.rename_from.is_some() => {
                fault("the file is renamed to its own name")
            }
            _ => Ok((old, new)),
        }
    }
}

fn plain(text: &str, line: usize) -> Result<String, Fault> {
    let name = paths::name(text)
        .map_err(|why| Fault::new(line, format!("the path cannot be read: {why}")))?;
    name.ok_or_else(|| Fault::new(line, "`/dev/null` cannot be renamed"))
}

/// Whether a mode is that of a program.
fn mode_of(mode: &str, line: usize) -> Result<bool, Fault> {
    match mode {
        "100644" | "100664" => Ok(false),
        "100755" | "100775" => Ok(true),
        "120000" => Err(Fault::new(
            line,
            "links cannot be made or changed by a patch",
        )),
        "160000" => Err(Fault::new(line, "submodules cannot be changed by a patch")),
        other => Err(Fault::new(
            line,
            format!(
                "the mode `{}` is not one of git's for files: 100644 or 100755",
                shorten(other, 20)
            ),
        )),
    }
}

/// The numbers of `@@ -1,2 +3,4 @@`.
fn ranges(header: &str) -> Option<[usize; 4]> {
    let rest = header.strip_prefix("@@ -")?;
    let (old, rest) = rest.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let range = |text: &str| -> Option<(usize, usize)> {
        let number = |text: &str| {
            let is_number = !text.is_empty()
                && text.len() < 10
                && text.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| text.parse().ok()).flatten()
        };
        match text.split_once(',') {
            Some((start, count)) => Some((number(start)?, number(count)?)),
            None => Some((number(text)?, 1)),
        }
    };
    let ((start, old_count), (new_start, new_count)) = (range(old)?, range(new)?);
    Some([start, old_count, new_start, new_count])
}
