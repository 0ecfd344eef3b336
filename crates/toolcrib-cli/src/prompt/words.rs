//! A request in words: what would be done, why somebody is asked, with which arguments, and what would change.
//!
//! Everything here comes from whoever made the call. Hidden characters are made visible, and what is left out is said to be.

use serde_json::Value;
use toolcrib::approval::ApprovalRequest;
use toolcrib::model::{JsonObject, text};

/// How much of a request is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// What fits on a screen with this many rows.
    Screen(usize),
    /// Everything.
    Whole,
}

/// Lines of a diff that are shown before somebody asks for all; fewer where they would push the rest off the screen.
const DIFF_LINES: usize = 60;
const MIN_DIFF_LINES: usize = 10;
/// Lines of one argument; fewer where a diff says it better.
const VALUE_LINES: usize = 20;
const VALUE_LINES_BESIDE_DIFF: usize = 3;
/// Characters of one line.
const LINE_LENGTH: usize = 2000;

/// How many characters at the end of an id are shown.
const SHORT: usize = 8;

/// An id as people type it: its end, since ids of one minute begin alike.
pub(crate) fn short(id: &str) -> &str {
    let start = id.len().saturating_sub(SHORT);
    id.get(start..).unwrap_or(id)
}

/// Colours, or none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint(pub(crate) bool);

impl Paint {
    fn with(self, code: &str, words: &str) -> String {
        if self.0 {
            format!("\x1b[{code}m{words}\x1b[0m")
        } else {
            words.to_owned()
        }
    }

    pub(crate) fn bold(self, words: &str) -> String {
        self.with("1", words)
    }

    pub(crate) fn dim(self, words: &str) -> String {
        self.with("2", words)
    }

    pub(crate) fn good(self, words: &str) -> String {
        self.with("32", words)
    }

    pub(crate) fn bad(self, words: &str) -> String {
        self.with("31", words)
    }

    pub(crate) fn doubtful(self, words: &str) -> String {
        self.with("33;1", words)
    }

    fn place(self, words: &str) -> String {
        self.with("36", words)
    }
}

/// What is shown of a request, and whether that is less than all.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) lines: Vec<String>,
    pub(crate) is_cut: bool,
}

/// The effect, the reason, the arguments and the diff.
pub(crate) fn describe(request: &ApprovalRequest, extent: Extent, paint: Paint) -> Shown {
    describe_under(&[], request, extent, paint)
}

/// As [`describe`], with other facts above.
pub(crate) fn describe_under(
    facts: &[(&str, String)],
    request: &ApprovalRequest,
    extent: Extent,
    paint: Paint,
) -> Shown {
    let mut shown = Shown {
        lines: Vec::new(),
        is_cut: false,
    };
    let names = facts.iter().map(|(name, _)| *name).chain(["effect"]);
    let width = width_of(names.chain(request.args.keys().map(String::as_str)));
    for (name, value) in facts {
        shown.field(name, value, width, VALUE_LINES, extent, paint);
    }
    let value_lines = match request.diff {
        Some(_) => VALUE_LINES_BESIDE_DIFF,
        None => VALUE_LINES,
    };
    shown.field("effect", &request.effect, width, VALUE_LINES, extent, paint);
    shown.field("why", &request.reason, width, VALUE_LINES, extent, paint);
    if !request.args.is_empty() {
        shown.lines.push(String::new());
    }
    shown.arguments(&request.args, width, value_lines, extent, paint);
    if let Some(diff) = &request.diff {
        shown.lines.push(String::new());
        let room = match extent {
            // Besides: the heading, what was left out, and the question.
            Extent::Screen(rows) => rows
                .saturating_sub(shown.lines.len() + 5)
                .clamp(MIN_DIFF_LINES, DIFF_LINES),
            Extent::Whole => usize::MAX,
        };
        shown.diff(diff, room, extent, paint);
    }
    shown
}

/// The diff and the arguments, whole.
pub(crate) fn everything(request: &ApprovalRequest, paint: Paint) -> Vec<String> {
    let Some(diff) = &request.diff else {
        return describe(request, Extent::Whole, paint).lines;
    };
    let mut shown = Shown {
        lines: Vec::new(),
        is_cut: false,
    };
    shown.diff(diff, usize::MAX, Extent::Whole, paint);
    shown.lines.push(String::new());
    let args = arguments(&request.args, None, Extent::Whole, paint);
    shown.lines.extend(args.lines);
    shown.lines
}

/// Arguments, one under the other, and what a call with them would do.
pub(crate) fn arguments(
    args: &JsonObject,
    effect: Option<&str>,
    extent: Extent,
    paint: Paint,
) -> Shown {
    let mut shown = Shown {
        lines: Vec::new(),
        is_cut: false,
    };
    let names = args.keys().map(String::as_str);
    let width = width_of(names.chain(effect.map(|_| "effect")));
    shown.arguments(args, width, VALUE_LINES, extent, paint);
    if let Some(effect) = effect {
        shown.field("effect", effect, width, VALUE_LINES, extent, paint);
    }
    shown
}

/// The column of values: as wide as the longest name, within reason.
fn width_of<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    let longest = names.map(|name| name.chars().count()).max();
    longest.unwrap_or_default().min(24)
}

impl Shown {
    fn arguments(
        &mut self,
        args: &JsonObject,
        width: usize,
        most: usize,
        extent: Extent,
        paint: Paint,
    ) {
        for (name, value) in args {
            self.field(name, &value_text(value), width, most, extent, paint);
        }
    }

    /// A name and a text; further lines of the text stand under its first.
    fn field(
        &mut self,
        name: &str,
        value: &str,
        width: usize,
        most: usize,
        extent: Extent,
        paint: Paint,
    ) {
        let name = text::shorten(name, 60).replace(['\n', '\t'], " ");
        let visible = text::visible(value.strip_suffix('\n').unwrap_or(value));
        let lines: Vec<&str> = visible.split('\n').collect();
        let shown = match extent {
            Extent::Screen(_) => most.min(lines.len()),
            Extent::Whole => lines.len(),
        };
        for (index, line) in lines[..shown].iter().enumerate() {
            let line = self.line(line, extent);
            let head = if index == 0 { name.as_str() } else { "" };
            let head = paint.dim(&format!("{head:width$}"));
            self.lines.push(format!("  {head}  {line}"));
        }
        if shown < lines.len() {
            self.is_cut = true;
            let left = more(lines.len() - shown);
            self.lines
                .push(paint.dim(&format!("  {:width$}  {left}", "")));
        }
    }

    fn diff(&mut self, diff: &str, room: usize, extent: Extent, paint: Paint) {
        let visible = text::visible(diff);
        let lines: Vec<&str> = visible.lines().collect();
        let shown = room.min(lines.len());
        for line in &lines[..shown] {
            let line = self.line(line, extent);
            self.lines.push(format!("  {}", coloured(&line, paint)));
        }
        if shown < lines.len() {
            self.is_cut = true;
            self.lines
                .push(paint.dim(&format!("  {}", more(lines.len() - shown))));
        }
    }

    fn line(&mut self, line: &str, extent: Extent) -> String {
        let length = line.chars().count();
        if extent == Extent::Whole || length <= LINE_LENGTH {
            return line.to_owned();
        }
        self.is_cut = true;
        let start: String = line.chars().take(LINE_LENGTH).collect();
        format!("{start}… ({} more characters)", length - LINE_LENGTH)
    }
}

/// A line of a unified diff in its colour.
pub(crate) fn coloured(line: &str, paint: Paint) -> String {
    match line.as_bytes() {
        [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => paint.bold(line),
        [b'+', ..] => paint.good(line),
        [b'-', ..] => paint.bad(line),
        [b'@', b'@', ..] => paint.place(line),
        _ => line.to_owned(),
    }
}

fn more(lines: usize) -> String {
    match lines {
        1 => "… 1 more line".to_owned(),
        lines => format!("… {lines} more lines"),
    }
}

/// A value as a person reads it: plain text as it is, if it cannot be taken for something else.
fn value_text(value: &Value) -> String {
    let Value::String(text) = value else {
        return value.to_string();
    };
    let is_plain = !text.is_empty()
        && text.trim_start() == text
        && !text.starts_with('"')
        // `5` and `true` as texts are not the number and the boolean.
        && serde_json::from_str::<Value>(text).is_err();
    // Blanks at the end of a line are a text's own business; at the end of a single line they hide.
    let hides_end = !text.contains('\n') && text.trim_end() != text;
    if is_plain && !hides_end {
        text.clone()
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(args: Value, diff: Option<&str>) -> ApprovalRequest {
        let mut whole = json!({
            "id": "0", "stepId": "1", "tool": "t", "args": args, "reason": "a rule says so",
            "effect": "do \u{202e}it", "argsDigest": "d",
        });
        if let Some(diff) = diff {
            whole["diff"] = json!(diff);
        }
        serde_json::from_value(whole).unwrap()
    }

    #[test]
    fn everything_is_shown_and_nothing_hides() {
        let request = request(
            json!({"path": "a\u{1b}[2Kb", "count": 5, "text": "5", "end": "x "}),
            None,
        );
        let shown = describe(&request, Extent::Screen(100), Paint(false));
        assert_eq!(
            shown.lines,
            [
                "  effect  do \\u{202e}it",
                "  why     a rule says so",
                "",
                "  path    a\\u{001b}[2Kb",
                "  count   5",
                "  text    \"5\"",
                "  end     \"x \"",
            ]
        );
        assert!(!shown.is_cut);
    }

    #[test]
    fn what_is_long_is_cut_and_says_so_and_is_there_in_whole() {
        let diff: String = (0..70).map(|line| format!("+{line}\n")).collect();
        let request = request(json!({"content": "1\n2\n3\n4\n5\n"}), Some(&diff));
        let shown = describe(&request, Extent::Screen(100), Paint(false));
        assert!(shown.is_cut);
        assert!(
            shown
                .lines
                .contains(&"           … 2 more lines".to_owned()),
            "{shown:?}"
        );
        assert_eq!(shown.lines.last().unwrap(), "  … 10 more lines");
        let small = describe(&request, Extent::Screen(24), Paint(false));
        assert_eq!(small.lines.last().unwrap(), "  … 59 more lines");
        let whole = describe(&request, Extent::Whole, Paint(false));
        assert!(!whole.is_cut);
        assert_eq!(whole.lines.last().unwrap(), "  +69");
    }

    #[test]
    fn a_diff_is_coloured_by_its_lines() {
        let paint = Paint(true);
        assert_eq!(coloured("+a", paint), "\x1b[32m+a\x1b[0m");
        assert_eq!(coloured("-a", paint), "\x1b[31m-a\x1b[0m");
        assert_eq!(coloured("+++ b/x", paint), "\x1b[1m+++ b/x\x1b[0m");
        assert_eq!(coloured(" a", paint), " a");
        assert_eq!(coloured("+a", Paint(false)), "+a");
    }
}
