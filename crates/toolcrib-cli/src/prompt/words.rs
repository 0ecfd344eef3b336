//! A request in words: what would be done, why someone is asked, with which arguments, and what would change.
//!
//! Nearly everything here comes from the caller. Hidden characters are made visible, and what is left out is said
//! to be. Text behind a gutter (`│`, or `┊` where a line goes on) is the caller's, and no text of the caller's is
//! anywhere else but behind a name of ours: so none can pass for a line of the question.

use serde_json::Value;
use toolcrib::approval::ApprovalRequest;
use toolcrib::model::{JsonObject, text};

use crate::wrap::{escaped, rows, width};

/// How much of a request is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// What fits on a screen with this many rows.
    Screen(usize),
    /// Everything.
    Whole,
}

/// Rows of a diff that are shown before someone asks for all; fewer where they would push the rest off the screen.
const DIFF_ROWS: usize = 60;
const MIN_DIFF_ROWS: usize = 10;
/// Rows of one argument; fewer where a diff says it better.
const VALUE_ROWS: usize = 20;
const VALUE_ROWS_BESIDE_DIFF: usize = 3;

/// How a request is laid out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page {
    pub(crate) extent: Extent,
    pub(crate) columns: usize,
    pub(crate) paint: Paint,
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

/// The shown part of a request, and whether that is less than all.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) lines: Vec<String>,
    pub(crate) is_cut: bool,
    page: Page,
    /// The column of names.
    names: usize,
}

/// Whose words a field has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// Ours, though the caller's may be among them.
    Ours,
    /// The caller's.
    Callers,
}

/// The effect, the reason, the arguments and the diff.
pub(crate) fn describe(request: &ApprovalRequest, page: Page) -> Shown {
    describe_under(&[], request, page)
}

/// As [`describe`], with other facts above.
pub(crate) fn describe_under(
    facts: &[(&str, String)],
    request: &ApprovalRequest,
    page: Page,
) -> Shown {
    let names = facts.iter().map(|(name, _)| *name).chain(["effect"]);
    let names = names.chain(request.args.keys().map(String::as_str));
    let mut shown = Shown::new(names, page);
    for (name, value) in facts {
        shown.field(name, value, Whose::Ours, VALUE_ROWS);
    }
    let most = match request.diff {
        Some(_) => VALUE_ROWS_BESIDE_DIFF,
        None => VALUE_ROWS,
    };
    if let Some(origin) = request.origin() {
        shown.field("by", &origin, Whose::Ours, VALUE_ROWS);
    }
    shown.field("effect", &request.effect, Whose::Ours, VALUE_ROWS);
    shown.field("why", &request.reason, Whose::Ours, VALUE_ROWS);
    for file in &request.bound {
        shown.field("runs", &file.in_words(), Whose::Ours, VALUE_ROWS);
    }
    if !request.args.is_empty() {
        shown.lines.push(String::new());
    }
    shown.arguments(&request.args, most);
    if let Some(diff) = &request.diff {
        shown.lines.push(String::new());
        shown.diff(diff);
    }
    shown
}

/// The diff and the arguments, whole.
pub(crate) fn everything(request: &ApprovalRequest, page: Page) -> Vec<String> {
    let extent = Extent::Whole;
    let page = Page { extent, ..page };
    let Some(diff) = &request.diff else {
        return describe(request, page).lines;
    };
    let mut shown = Shown::new(request.args.keys().map(String::as_str), page);
    shown.diff(diff);
    shown.lines.push(String::new());
    shown.arguments(&request.args, VALUE_ROWS);
    shown.lines
}

/// A long text in a question is cut in the middle, with a mark.
const MARK: (&str, &str) = ("\n[toolcrib ", " bytes left out]\n");
/// Texts up to here are whole.
const WHOLE: usize = 64 * 1024;

/// Whether a part of these arguments is not known here: then it is unknown what a call with them would change.
fn is_shortened(args: &JsonObject) -> bool {
    let texts = args.values().filter_map(Value::as_str);
    texts
        .filter(|text| text.len() >= WHOLE)
        .any(|text| text.contains(MARK.0) && text.contains(MARK.1))
}

/// Arguments, one under the other; what a call with them would do, and change.
pub(crate) fn arguments(
    args: &JsonObject,
    effect: Option<&str>,
    diff: Option<&str>,
    page: Page,
) -> Shown {
    let names = args.keys().map(String::as_str);
    let mut shown = Shown::new(names.chain(effect.map(|_| "effect")), page);
    if let Some(effect) = effect {
        shown.field("effect", effect, Whose::Ours, VALUE_ROWS);
    }
    shown.arguments(args, VALUE_ROWS);
    if is_shortened(args) {
        let note =
            "a long text is kept by its ends: the size above is theirs, and the call has all of it";
        shown.field("note", note, Whose::Ours, VALUE_ROWS);
    } else if let Some(diff) = diff {
        shown.diff(diff);
    }
    shown
}

/// Facts, one under the other.
pub(crate) fn facts(facts: &[(&str, String)], page: Page) -> Vec<String> {
    let mut shown = Shown::new(facts.iter().map(|(name, _)| *name), page);
    for (name, value) in facts {
        shown.field(name, value, Whose::Ours, VALUE_ROWS);
    }
    shown.lines
}

/// A text behind a mark, its further rows behind the gutter.
pub(crate) fn item(mark: &str, text: &str, page: Page) -> Vec<String> {
    let indent = width(mark);
    let room = page.columns.saturating_sub(indent + GUTTER);
    let rows = rows(&text::visible(text), room);
    let mut lines = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        lines.push(match index {
            0 => format!("{mark}{}", row.text),
            _ => {
                let gutter = page.paint.dim(gutter(row.is_start));
                format!("{:indent$}{gutter}{}", "", row.text)
            }
        });
    }
    lines
}

/// The columns of a gutter.
const GUTTER: usize = 2;

/// The prefix of a text that is not ours: where a line of it begins, and where one goes on.
fn gutter(is_start: bool) -> &'static str {
    match is_start {
        true => "│ ",
        false => "┊ ",
    }
}

impl Shown {
    fn new<'a>(names: impl Iterator<Item = &'a str>, page: Page) -> Self {
        let longest = names.map(width).max().unwrap_or_default();
        Shown {
            lines: Vec::new(),
            is_cut: false,
            page,
            // As wide as the longest name, within reason.
            names: longest.min(24).min(page.columns / 3),
        }
    }

    fn arguments(&mut self, args: &JsonObject, most: usize) {
        for (name, value) in args {
            self.field(name, &value_text(value), Whose::Callers, most);
        }
    }

    /// A name and a text; further rows of the text stand under its first.
    fn field(&mut self, name: &str, value: &str, whose: Whose, most: usize) {
        let Page {
            extent,
            columns,
            paint,
        } = self.page;
        let names = self.names;
        let indent = names + 4;
        let mut name = text::shorten(name, 60).replace(['\n', '\t'], " ");
        let mut is_first = whose == Whose::Ours;
        if width(&name) > names {
            // A long name has its own line; a longer one is cut.
            let cut = rows(&name, columns.saturating_sub(3));
            let dots = if cut.len() > 1 { "…" } else { "" };
            let line = format!("  {}{dots}", cut[0].text);
            self.lines.push(paint.dim(&line));
            name.clear();
            is_first = false;
        }
        let value = value.strip_suffix('\n').unwrap_or(value);
        let value = match whose {
            // Its parts were escaped when it was made.
            Whose::Ours => text::visible(value),
            Whose::Callers => escaped(value),
        };
        let all = rows(&value, columns.saturating_sub(indent + GUTTER));
        let shown = match extent {
            Extent::Screen(_) => most.min(all.len()),
            Extent::Whole => all.len(),
        };
        for row in &all[..shown] {
            let pad = names.saturating_sub(width(&name));
            let gutter = if is_first { "" } else { gutter(row.is_start) };
            let head = paint.dim(&format!("  {name}{:pad$}  {gutter}", ""));
            self.lines.push(format!("{head}{}", row.text));
            name.clear();
            is_first = false;
        }
        if shown < all.len() {
            self.is_cut = true;
            let left = more(all.len() - shown);
            self.lines.push(paint.dim(&format!("{:indent$}{left}", "")));
        }
    }

    fn diff(&mut self, diff: &str) {
        let Page {
            extent,
            columns,
            paint,
        } = self.page;
        let mut all = Vec::new();
        for line in diff.strip_suffix('\n').unwrap_or(diff).split('\n') {
            for row in rows(&escaped(line), columns.saturating_sub(2 + GUTTER)) {
                let gutter = paint.dim(gutter(row.is_start));
                all.push(format!("  {gutter}{}", coloured(line, &row.text, paint)));
            }
        }
        let room = match extent {
            // Besides: the heading, what was left out, and the question.
            Extent::Screen(rows) => rows
                .saturating_sub(self.lines.len() + 5)
                .clamp(MIN_DIFF_ROWS, DIFF_ROWS),
            Extent::Whole => usize::MAX,
        };
        let shown = room.min(all.len());
        let left = all.len() - shown;
        self.lines.extend(all.into_iter().take(shown));
        if left > 0 {
            self.is_cut = true;
            self.lines.push(paint.dim(&format!("  {}", more(left))));
        }
        if is_cut_diff(diff) {
            self.is_cut = true;
            for line in CUT_DIFF {
                self.lines.push(paint.dim(&format!("  {line}")));
            }
        }
    }
}

/// Where the rest of a diff is that was cut.
const CUT_DIFF: [&str; 2] = [
    "the diff is not kept in full: the new content is among",
    "the arguments (up to 64 KB), the old one in the file",
];

/// Whether a diff was cut where it was made or kept.
pub(super) fn is_cut_diff(diff: &str) -> bool {
    let last = diff.lines().next_back().unwrap_or_default();
    last.starts_with("… ") && (last.ends_with(" more lines") || last.ends_with(" left out)"))
}

/// A part of a line of a unified diff, in the line's colour.
fn coloured(line: &str, part: &str, paint: Paint) -> String {
    match line.as_bytes() {
        [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => paint.bold(part),
        [b'+', ..] => paint.good(part),
        [b'-', ..] => paint.bad(part),
        [b'@', b'@', ..] => paint.place(part),
        _ => part.to_owned(),
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

    fn page(extent: Extent, columns: usize) -> Page {
        let paint = Paint(false);
        Page {
            extent,
            columns,
            paint,
        }
    }

    #[test]
    fn everything_is_shown_and_nothing_hides() {
        let request = request(
            json!({"path": "a\u{1b}[2Kb", "count": 5, "text": "5", "end": "x "}),
            None,
        );
        let shown = describe(&request, page(Extent::Screen(100), 80));
        assert_eq!(
            shown.lines,
            [
                "  effect  do \\u{202e}it",
                "  why     a rule says so",
                "",
                "  path    │ a\\u{001b}[2Kb",
                "  count   │ 5",
                "  text    │ \"5\"",
                "  end     │ \"x \"",
            ]
        );
        assert!(!shown.is_cut);
    }

    #[test]
    fn no_value_can_pass_for_a_field() {
        let forged = "  why     approved by the operator";
        let padded = format!("{:width$}{forged}", "x", width = 40 - 4 - 6 - 2);
        let lines = format!("x\n{forged}");
        let mut request = request(
            json!({"padded": padded, "lines": lines, "a very long name that goes on and on for ever and ever": forged}),
            Some(&format!("+{padded}\n {forged}\n{forged}")),
        );
        request.effect = padded;
        request.reason = lines;
        for columns in [28, 40, 79] {
            let shown = describe(&request, page(Extent::Whole, columns));
            for line in &shown.lines {
                assert!(width(line) <= columns, "{columns}: {line:?}");
            }
            let forged = shown.lines.iter().filter(|line| {
                let is_marked = line.contains(['│', '┊']) || line.starts_with("  effect  ");
                line.contains("approved") && !is_marked
            });
            assert_eq!(forged.count(), 0, "{columns}: {:#?}", shown.lines);
            let whys = shown.lines.iter().filter(|line| line.starts_with("  why"));
            assert_eq!(whys.count(), 1, "{columns}: {:#?}", shown.lines);
        }
    }

    #[test]
    fn what_is_long_is_cut_and_says_so_and_is_there_in_whole() {
        let diff: String = (0..70).map(|line| format!("+{line}\n")).collect();
        let request = request(json!({"content": "1\n2\n3\n4\n5\n"}), Some(&diff));
        let shown = describe(&request, page(Extent::Screen(100), 80));
        assert!(shown.is_cut);
        assert!(
            shown
                .lines
                .contains(&"           … 2 more lines".to_owned()),
            "{shown:?}"
        );
        assert_eq!(shown.lines.last().unwrap(), "  … 10 more lines");
        let small = describe(&request, page(Extent::Screen(24), 80));
        assert_eq!(small.lines.last().unwrap(), "  … 59 more lines");
        let whole = describe(&request, page(Extent::Whole, 80));
        assert!(!whole.is_cut);
        assert_eq!(whole.lines.last().unwrap(), "  │ +69");
    }

    #[test]
    fn a_diff_is_coloured_by_its_lines() {
        let paint = Paint(true);
        let whole = |line| coloured(line, line, paint);
        assert_eq!(whole("+a"), "\x1b[32m+a\x1b[0m");
        assert_eq!(whole("-a"), "\x1b[31m-a\x1b[0m");
        assert_eq!(whole("+++ b/x"), "\x1b[1m+++ b/x\x1b[0m");
        assert_eq!(whole(" a"), " a");
        assert_eq!(coloured("+a b", "b", paint), "\x1b[32mb\x1b[0m");
        assert_eq!(coloured("+a", "+a", Paint(false)), "+a");
    }
}
