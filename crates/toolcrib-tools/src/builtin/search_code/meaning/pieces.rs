//! A file as pieces that answer questions: each definition with the comment above it, and what lies between.
//!
//! No grammar is read: a line that begins like a definition in some common language is taken for one. A wrong guess costs a worse order, nothing else.

use std::sync::LazyLock;

use regex::Regex;

/// How many lines a piece has at most; a longer definition goes on in another piece that has its name, too.
const MAX_LINES: usize = 80;

/// How many lines of a comment count for what is below it.
const MAX_COMMENT: usize = 60;

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece<'t> {
    /// The line that is shown: of the definition, or the first. Counted from 1.
    pub(super) line: usize,
    /// The lines it is made of, counted from 1, comment included.
    pub(super) first: usize,
    pub(super) last: usize,
    /// The name that is defined, if it is a definition.
    pub(super) name: &'t str,
    /// Whether it is a definition, or goes on with one.
    pub(super) is_definition: bool,
    pub(super) comment: Vec<&'t str>,
    pub(super) body: Vec<&'t str>,
}

fn definition(line: &str) -> Option<&str> {
    static DEFINITION: LazyLock<Regex> = LazyLock::new(|| {
        let words = r"fn|def|class|struct|enum|union|trait|interface|function\*?|func|macro_rules!|module|namespace|record|object|protocol|sub|proc|defmodule|defp|defmacro|type|mod";
        let before = r#"(?:(?:pub(?:\([^)]*\))?|export|default|declare|async|unsafe|const|extern(?: "[^"]*")?|static|final|abstract|public|private|protected|internal|override|open|sealed|data|inline|partial|virtual)\s+)*"#;
        let receiver = r"(?:\([^)]*\)\s*)?";
        let variable = r"(?:const|let|var|static)\s+(?:mut\s+)?([A-Za-z_$][\w$]*)\s*(?::[^=]+)?=\s*(?:async\s*)?(?:\(|function\b|[A-Za-z_$][\w$]*\s*=>)";
        let pattern =
            format!(r"^\s*{before}(?:(?:{words})\s+{receiver}([A-Za-z_$][\w$]*)|{variable})");
        Regex::new(&pattern).expect("a valid pattern")
    });
    // Long lines are data.
    let start = &line[..line.floor_char_boundary(300)];
    let found = DEFINITION.captures(start)?;
    found
        .get(1)
        .or_else(|| found.get(2))
        .map(|name| name.as_str())
}

/// The text of a line that is a comment and nothing else, or an empty text for an attribute.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim();
    if line.starts_with("#[") || line.starts_with("#!") || line.starts_with('@') {
        return Some("");
    }
    let marks = [
        "///", "//!", "//", "/**", "/*", "*/", "* ", "##", "# ", "--", ";;", "\"\"\"",
    ];
    let mark = marks.iter().find(|mark| line.starts_with(**mark));
    match mark {
        Some(mark) => Some(line[mark.len()..].trim_end_matches("*/").trim()),
        None if line == "*" || line == "#" => Some(""),
        None => None,
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Cuts a text into pieces.
pub(super) fn of(text: &str) -> Vec<Piece<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    // Where each definition begins with its comment, and the line of the definition itself.
    let mut starts: Vec<(usize, usize, &str)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = definition(line) else {
            continue;
        };
        let floor = starts.last().map_or(0, |(_, at, _)| at + 1);
        let mut first = at;
        while first > floor && at - first < MAX_COMMENT && comment(lines[first - 1]).is_some() {
            first -= 1;
        }
        starts.push((first, at, name));
    }
    let mut pieces = Vec::new();
    let mut done = 0;
    for (index, (first, at, name)) in starts.iter().copied().enumerate() {
        between(&lines, done, first, &mut pieces);
        let limit = starts
            .get(index + 1)
            .map_or(lines.len(), |(next, ..)| *next);
        // It ends where something is written at its own indentation again, or further out, but for the bracket that closes it.
        let own = indent(lines[at]);
        let mut end = at + 1;
        while end < limit {
            let line = lines[end];
            let is_over = !line.trim().is_empty()
                && indent(line) <= own
                && !line
                    .trim_start()
                    .starts_with(['}', ')', ']', '{', '|', ':', '"', '\''])
                && !line.trim_start().starts_with("where")
                && !line.trim_start().starts_with("->")
                && !line.trim_start().starts_with("end");
            if is_over {
                break;
            }
            end += 1;
        }
        for from in (at..end).step_by(MAX_LINES) {
            let to = end.min(from + MAX_LINES);
            let is_first = from == at;
            pieces.push(Piece {
                line: from + 1,
                first: if is_first { first + 1 } else { from + 1 },
                last: to,
                name,
                is_definition: is_first,
                comment: match is_first {
                    true => with_docstring(&lines, first, at, to),
                    false => Vec::new(),
                },
                body: lines[from..to].to_vec(),
            });
        }
        done = end;
    }
    between(&lines, done, lines.len(), &mut pieces);
    pieces
}

/// The comment above a definition, and a text of Python's right below it.
fn with_docstring<'t>(lines: &[&'t str], first: usize, at: usize, end: usize) -> Vec<&'t str> {
    let mut texts: Vec<&str> = lines[first..at]
        .iter()
        .filter_map(|line| comment(line))
        .collect();
    let below = lines.get(at + 1).map_or("", |line| line.trim());
    if lines[at].trim_end().ends_with(':')
        && (below.starts_with("\"\"\"") || below.starts_with("'''"))
    {
        let mark = &below[..3];
        for (index, line) in lines[at + 1..end].iter().enumerate() {
            texts.push(line.trim().trim_matches(['"', '\'']));
            let ends = line.trim().len() >= 3 && line.trim_end().ends_with(mark);
            if ends && (index > 0 || below.len() > 5) {
                break;
            }
        }
    }
    texts
}

/// Adds the lines that are not part of a definition.
fn between<'t>(lines: &[&'t str], from: usize, to: usize, pieces: &mut Vec<Piece<'t>>) {
    let mut at = from;
    while at < to {
        let end = to.min(at + MAX_LINES);
        let own = &lines[at..end];
        if let Some(first) = own.iter().position(|line| !line.trim().is_empty()) {
            let (comments, body): (Vec<&str>, Vec<&str>) =
                own.iter().partition(|line| comment(line).is_some());
            pieces.push(Piece {
                line: at + first + 1,
                first: at + first + 1,
                last: end,
                name: "",
                is_definition: false,
                comment: comments.into_iter().filter_map(comment).collect(),
                body,
            });
        }
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_of_common_languages_are_recognised() {
        for (line, name) in [
            ("pub(crate) async fn read_all(x: u8) {", "read_all"),
            ("    def parse(self):", "parse"),
            ("export default class Foo extends Bar {", "Foo"),
            ("func (s *Server) Serve(l net.Listener) error {", "Serve"),
            ("export const fetchUser = async (id) => {", "fetchUser"),
            ("macro_rules! vec_of {", "vec_of"),
            ("public static final class Inner {", "Inner"),
            ("type Result<T> = u8;", "Result"),
        ] {
            assert_eq!(definition(line), Some(name), "{line}");
        }
        for line in [
            "let x = 3;",
            "return fn_of(3)",
            "// fn nothing",
            "x.type = 3",
            "",
        ] {
            assert_eq!(definition(line), None, "{line}");
        }
    }

    #[test]
    fn a_definition_has_its_comment_and_ends_where_it_ends() {
        let text = "use a;\n\n/// Reads it.\n#[must_use]\nfn read() {\n    a\n}\n\nstatic X: u8 = 1;\n\ndef f():\n    \"\"\"Says hello.\"\"\"\n    pass\n";
        let pieces = of(text);
        let shown: Vec<_> = pieces
            .iter()
            .map(|piece| {
                (
                    piece.line,
                    piece.first,
                    piece.last,
                    piece.name,
                    piece.comment.join("|"),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                (1, 1, 2, "", String::new()),
                (5, 3, 8, "read", "Reads it.|".to_owned()),
                (9, 9, 10, "", String::new()),
                (11, 11, 13, "f", "Says hello.".to_owned()),
            ]
        );
    }

    #[test]
    fn any_text_is_cut_without_losing_a_line() {
        for text in [
            "",
            "\n",
            "é",
            "fn a(\n",
            "}\n}\nfn\n",
            "/*\n",
            "def x:\n'''",
            "\r\n\r\n",
        ] {
            let _ = of(text);
        }
    }
}
