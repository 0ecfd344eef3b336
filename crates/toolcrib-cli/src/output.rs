//! Where words and data go: data to stdout, words to stderr, JSON when asked.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use clap::ColorChoice;
use serde::Serialize;
use toolcrib::model::text;
use toolcrib::secret::{Masker, SecretStore};

use crate::args::Global;
use crate::home_paths;
use crate::wrap;

/// The narrowest last column of a table.
const LEAST_ROOM: usize = 24;

/// What becomes of a last column that is too long for the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Long {
    Wrapped,
    Cut,
}

/// Prints for one command.
#[derive(Debug)]
pub(crate) struct Output {
    json: bool,
    plain: bool,
    quiet: bool,
    verbose: bool,
    stdout_is_terminal: bool,
    stderr_is_terminal: bool,
    colour_out: bool,
    colour_err: bool,
    colour_terminal: bool,
    /// The exit code, once stdout could not be written.
    failed: AtomicU8,
    /// The secrets of the home, once that is known.
    secrets: OnceLock<SecretStore>,
    /// Toolcrib's home, where messages are about this one.
    home: Option<PathBuf>,
}

impl Output {
    pub(crate) fn new(global: &Global) -> Self {
        let stdout_is_terminal = io::stdout().is_terminal();
        let stderr_is_terminal = io::stderr().is_terminal();
        // https://no-color.org: any value that is not empty.
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let colour = |terminal: bool| match global.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => terminal && !no_color && !global.plain,
        };
        Output {
            json: global.json,
            plain: global.plain,
            quiet: global.quiet,
            verbose: global.verbose,
            stdout_is_terminal,
            stderr_is_terminal,
            colour_out: colour(stdout_is_terminal),
            colour_err: colour(stderr_is_terminal),
            colour_terminal: colour(true),
            failed: AtomicU8::new(0),
            secrets: OnceLock::new(),
            home: home_paths::home(global),
        }
    }

    /// A message with the paths of the files of the home that it names.
    pub(crate) fn with_paths<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.home {
            Some(home) => home_paths::in_full(text, home),
            None => Cow::Borrowed(text),
        }
    }

    /// Says whose secrets stay out of what goes wrong.
    pub(crate) fn keep_out(&self, secrets: &SecretStore) {
        let _ = self.secrets.set(secrets.clone());
    }

    /// What takes secrets out of texts that no call has masked.
    pub(crate) fn masker(&self) -> Masker {
        self.secrets
            .get()
            .map_or_else(Masker::default, SecretStore::masker)
    }

    pub(crate) fn json(&self) -> bool {
        self.json
    }

    pub(crate) fn plain(&self) -> bool {
        self.plain
    }

    pub(crate) fn quiet(&self) -> bool {
        self.quiet
    }

    pub(crate) fn verbose(&self) -> bool {
        self.verbose
    }

    /// Whether what goes to stdout is coloured.
    pub(crate) fn colours_stdout(&self) -> bool {
        self.colour_out
    }

    /// Whether what goes to a terminal, whichever way, is coloured.
    pub(crate) fn colours_terminal(&self) -> bool {
        self.colour_terminal
    }

    /// Whether stdout is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.stdout_is_terminal
    }

    /// Whether a moving line on stderr would please anybody.
    pub(crate) fn shows_progress(&self) -> bool {
        self.stderr_is_terminal && !self.quiet && !self.json && !self.plain
    }

    /// Whether a part of the result can be shown before the rest: only to a person, who sees it once.
    pub(crate) fn shows_results_live(&self) -> bool {
        self.stdout_is_terminal && !self.json
    }

    /// Prints one JSON document: indented for a person, on one line for a program.
    pub(crate) fn document(&self, value: &impl Serialize) {
        let text = if self.stdout_is_terminal {
            serde_json::to_string_pretty(value)
        } else {
            serde_json::to_string(value)
        };
        self.json_line(&text.unwrap_or_default());
    }

    /// Prints one JSON value on its own line.
    pub(crate) fn ndjson(&self, value: &impl Serialize) {
        self.json_line(&serde_json::to_string(value).unwrap_or_default());
    }

    /// JSON stays JSON on a terminal too: what could deceive it is written as JSON escapes.
    fn json_line(&self, json: &str) {
        if self.stdout_is_terminal && text::hides_something(json) {
            self.line(&json_escaped(json));
        } else {
            self.line(json);
        }
    }

    /// Prints a line of data.
    pub(crate) fn line(&self, line: &str) {
        self.write(&[line.as_bytes(), b"\n"]);
    }

    /// Prints text as it is; on a terminal without what could deceive it, and with a last newline.
    pub(crate) fn text(&self, content: &str) {
        if !self.stdout_is_terminal {
            self.write(&[content.as_bytes()]);
            return;
        }
        let shown = text::visible(content);
        let newline: &[u8] = if shown.is_empty() || shown.ends_with('\n') {
            b""
        } else {
            b"\n"
        };
        self.write(&[shown.as_bytes(), newline]);
    }

    /// Writes bytes as they are, for a program: a terminal has to be refused before.
    pub(crate) fn bytes(&self, content: &[u8]) {
        self.write(&[content]);
    }

    /// Prints a piece of text that others follow.
    pub(crate) fn chunk(&self, content: &str) {
        if self.stdout_is_terminal {
            self.write(&[text::visible(content).as_bytes()]);
        } else {
            self.write(&[content.as_bytes()]);
        }
    }

    fn write(&self, parts: &[&[u8]]) {
        if self.has_failed() {
            return;
        }
        let mut stdout = io::stdout().lock();
        let written = parts
            .iter()
            .try_for_each(|part| stdout.write_all(part))
            .and_then(|()| stdout.flush());
        let Err(error) = written else { return };
        // The reader left (`| head`): end quietly, as programs killed by SIGPIPE do. What was begun
        // is ended in order, so nothing exits here.
        let code = if error.kind() == io::ErrorKind::BrokenPipe {
            141
        } else {
            self.error_line(&format!(
                "{} cannot write the output: {error}",
                self.red("error:")
            ));
            1
        };
        self.failed.store(code, Ordering::Relaxed);
    }

    /// Whether nothing more can be printed.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed) != 0
    }

    /// The exit code of a command, unless what it had to say could not be printed.
    pub(crate) fn exit_code(&self, code: ExitCode) -> ExitCode {
        match self.failed.load(Ordering::Relaxed) {
            0 => code,
            failed => ExitCode::from(failed),
        }
    }

    /// Says something on stderr, unless told to be quiet.
    pub(crate) fn say(&self, line: &str) {
        if !self.quiet {
            self.error_line(line);
        }
    }

    /// Says something on stderr whatever was asked for.
    pub(crate) fn error_line(&self, line: &str) {
        let _ = writeln!(io::stderr().lock(), "{line}");
    }

    /// Passes on what a program said on its stderr: as it is, on a terminal without what could deceive it.
    pub(crate) fn error_chunk(&self, content: &str) {
        let mut stderr = io::stderr().lock();
        let _ = if self.stderr_is_terminal {
            stderr.write_all(text::visible(content).as_bytes())
        } else {
            stderr.write_all(content.as_bytes())
        };
    }

    /// Like [`error_chunk`](Self::error_chunk), but for the whole text: whatever is printed next begins on a new line.
    pub(crate) fn error_text(&self, content: &str) {
        self.error_chunk(content);
        if !content.is_empty() && !content.ends_with('\n') {
            self.error_chunk("\n");
        }
    }

    /// Red, on stderr.
    pub(crate) fn red(&self, words: &str) -> String {
        paint(self.colour_err, "31;1", words)
    }

    /// Dim, on stderr.
    pub(crate) fn dim(&self, words: &str) -> String {
        paint(self.colour_err, "2", words)
    }

    /// Bold, on stderr.
    pub(crate) fn bold(&self, words: &str) -> String {
        paint(self.colour_err, "1", words)
    }

    /// Green for a line that comes, on stderr.
    pub(crate) fn added(&self, line: &str) -> String {
        paint(self.colour_err, "32", line)
    }

    /// Red for a line that goes, on stderr.
    pub(crate) fn removed(&self, line: &str) -> String {
        paint(self.colour_err, "31", line)
    }

    /// A heading, on stdout.
    pub(crate) fn heading(&self, words: &str) -> String {
        paint(self.colour_out, "1", words)
    }

    /// Green for good, on stdout.
    pub(crate) fn good(&self, words: &str) -> String {
        paint(self.colour_out, "32", words)
    }

    /// Yellow for doubtful, on stdout.
    pub(crate) fn doubtful(&self, words: &str) -> String {
        paint(self.colour_out, "33", words)
    }

    /// Red for bad, on stdout.
    pub(crate) fn bad(&self, words: &str) -> String {
        paint(self.colour_out, "31", words)
    }

    /// Prints rows as a table for people or, with `--plain`, as tab-separated values. The last
    /// column takes what room is left.
    pub(crate) fn table(&self, headings: &[&str], rows: &[Vec<String>]) {
        self.columned(headings, rows, Long::Wrapped);
    }

    /// Like [`table`](Self::table), with one line for each row: on a terminal a long last column is cut.
    pub(crate) fn table_of_lines(&self, headings: &[&str], rows: &[Vec<String>]) {
        self.columned(headings, rows, Long::Cut);
    }

    fn columned(&self, headings: &[&str], rows: &[Vec<String>], long: Long) {
        if self.plain {
            for row in rows {
                let cells: Vec<String> = row.iter().map(|cell| one_line(cell)).collect();
                self.line(&cells.join("\t"));
            }
            return;
        }
        let mut widths: Vec<usize> = headings
            .iter()
            .map(|heading| wrap::width(heading))
            .collect();
        for row in rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(wrap::width(&one_line(cell)));
            }
        }
        let cell = |text: &str, width: usize| {
            let pad = width.saturating_sub(wrap::width(text)) + 2;
            format!("{text}{:pad$}", "")
        };
        let heading: String = headings
            .iter()
            .zip(&widths)
            .map(|(text, width)| cell(text, *width))
            .collect();
        self.line(&self.heading(heading.trim_end()));
        let taken: usize = widths
            .iter()
            .take(headings.len().saturating_sub(1))
            .map(|width| width + 2)
            .sum();
        // Where a last column would be too narrow, it goes below.
        let room = self.width().saturating_sub(taken);
        let is_below = room < LEAST_ROOM && long == Long::Wrapped;
        let (room, column) = match is_below {
            true => (self.width() - 4, 4),
            false => (room, taken),
        };
        for row in rows {
            let mut line = String::new();
            for (index, (text, width)) in row.iter().zip(&widths).enumerate() {
                if index + 1 == headings.len() {
                    if is_below && !text.is_empty() {
                        line.truncate(line.trim_end().len());
                        line.push_str("\n    ");
                    }
                    line.push_str(&match long {
                        Long::Wrapped => last_cell(&one_line(text), room, column),
                        Long::Cut => wrap::cut(&one_line(text), room),
                    });
                } else {
                    line.push_str(&cell(&one_line(text), *width));
                }
            }
            self.line(line.trim_end());
        }
    }

    /// How wide a line may be: the terminal's width; unlimited when no one looks.
    fn width(&self) -> usize {
        if !self.stdout_is_terminal {
            return usize::MAX;
        }
        rustix::termios::tcgetwinsize(io::stdout())
            .map_or(80, |size| usize::from(size.ws_col).max(40))
            - 1
    }

    /// Columns for texts that others wrote: as many as are safe on the terminal; any number when no one looks.
    pub(crate) fn columns(&self) -> usize {
        match self.stdout_is_terminal {
            true => self.page_columns(),
            false => usize::MAX,
        }
    }

    /// Like [`columns`](Self::columns), but for texts of many lines, which people read with a pager: the terminal's width also if stdout
    /// is not a terminal.
    pub(crate) fn page_columns(&self) -> usize {
        wrap::usable(rustix::termios::tcgetwinsize(io::stdout()).map_or(0, |size| size.ws_col))
    }
}

fn paint(on: bool, code: &str, words: &str) -> String {
    if on {
        format!("\x1b[{code}m{words}\x1b[0m")
    } else {
        words.to_owned()
    }
}

fn json_escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if text::hides_something(c.encode_utf8(&mut [0; 4])) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// One line of safe text.
fn one_line(text: &str) -> String {
    text::visible(text).replace(['\n', '\t'], " ")
}

/// Breaks a text, between words where it can be; the lines after the first stand under it, behind a mark that no text has.
fn last_cell(text: &str, room: usize, column: usize) -> String {
    if wrap::width(text) <= room {
        return text.to_owned();
    }
    let rows = wrap::rows(text, room - 2).into_iter();
    let rows: Vec<String> = rows.map(|row| row.text.trim_end().to_owned()).collect();
    rows.join(&format!("\n{}┊ ", " ".repeat(column)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_on_a_terminal_is_safe_and_still_json() {
        let json = serde_json::to_string("a\u{9b}b\u{202e}c\u{e0041}d").unwrap();
        let escaped = json_escaped(&json);
        assert!(escaped.is_ascii(), "{escaped}");
        assert_eq!(
            serde_json::from_str::<String>(&escaped).unwrap(),
            "a\u{9b}b\u{202e}c\u{e0041}d"
        );
    }

    #[test]
    fn long_cells_are_wrapped_and_no_line_passes_for_a_row() {
        assert_eq!(
            last_cell("one two three four", 12, 4),
            "one two \n    ┊ three four".replace(" \n", "\n")
        );
        assert_eq!(last_cell("short", 9, 4), "short");
        assert_eq!(
            last_cell("unbreakable-word", 10, 2),
            "unbreaka\n  ┊ ble-word"
        );
    }
}
