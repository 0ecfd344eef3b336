//! TAP, as `node --test` and many others print it: test points, nested by indentation, with a block of YAML after each.
//!
//! Only tests without subtests are counted; a test with subtests fails with them. It is counted as well if it fails and none of
//! them did: a file that crashed, a hook that failed.

use super::results::{Failure, MAX_MESSAGE, Results, Spot};

/// How deep tests can be nested.
const MAX_DEPTH: usize = 32;
/// How much of the block after a test point is looked at.
const MAX_BLOCK: usize = 8 * MAX_MESSAGE;

/// Reads TAP line by line.
#[derive(Debug, Default)]
pub(super) struct Tap {
    results: Results,
    /// For each depth, whether there were tests beneath the one to come, and whether one of them failed.
    beneath: Vec<Beneath>,
    /// The last test point, until it is known that no block follows.
    last: Option<Point>,
    /// How far the block is indented that is being read.
    block: Option<usize>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Beneath {
    tests: bool,
    failures: bool,
}

#[derive(Debug)]
struct Point {
    depth: usize,
    is_ok: bool,
    name: String,
    is_left_out: bool,
    block: String,
}

impl Tap {
    pub(super) fn done(&self) -> u64 {
        self.results.total()
    }

    pub(super) fn line(&mut self, line: &str) {
        let trimmed = line.trim_start_matches(' ');
        let indent = line.len() - trimmed.len();
        if let Some(block) = self.block {
            // Lines of a text in it are indented further.
            if indent == block && trimmed == "..." {
                self.block = None;
            } else if let Some(point) = &mut self.last
                && point.block.len() < MAX_BLOCK
            {
                point
                    .block
                    .push_str(&line[..line.floor_char_boundary(MAX_BLOCK)]);
                point.block.push('\n');
            }
            return;
        }
        if trimmed == "---" && self.last.is_some() {
            self.block = Some(indent);
            return;
        }
        if let Some(point) = point(trimmed, (indent / 4).min(MAX_DEPTH)) {
            self.end_point();
            self.last = Some(point);
        } else if let Some(why) = trimmed.strip_prefix("Bail out!") {
            self.results
                .problem(&format!("the run was given up: {}", why.trim()), None);
        }
    }

    pub(super) fn results(mut self) -> Results {
        self.end_point();
        self.results
    }

    fn end_point(&mut self) {
        let Some(point) = self.last.take() else {
            return;
        };
        let depth = point.depth;
        if self.beneath.len() <= depth + 1 {
            self.beneath.resize(depth + 2, Beneath::default());
        }
        let inner = std::mem::take(&mut self.beneath[depth + 1]);
        // What lies deeper belonged to this one, too.
        self.beneath.truncate(depth + 2);
        let here = &mut self.beneath[depth];
        here.tests = true;
        here.failures |= !point.is_ok && !point.is_left_out;
        let is_suite = inner.tests || field(&point.block, "type").as_deref() == Some("suite");
        match (point.is_left_out, point.is_ok) {
            (true, _) => self.results.skip(&point.name),
            (false, true) if is_suite => {}
            (false, true) => self.results.pass(),
            (false, false) if inner.tests && inner.failures => {}
            (false, false) => self.results.fail(point.failure()),
        }
    }
}

impl Point {
    fn failure(self) -> Failure {
        let message = field(&self.block, "error")
            .or_else(|| field(&self.block, "message"))
            .unwrap_or_default();
        let declared = field(&self.block, "location").and_then(|place| Spot::parse(&place));
        let stack = field(&self.block, "stack").unwrap_or_default();
        let at = match declared {
            Some(declared) => {
                super::json_report::spot_in(&stack, &declared.file).or(Some(declared))
            }
            None => field(&self.block, "at").and_then(|place| Spot::parse(&place)),
        };
        Failure {
            name: self.name,
            suite: None,
            at,
            message,
        }
    }
}

/// `not ok 3 - adds # SKIP why`
fn point(line: &str, depth: usize) -> Option<Point> {
    let (is_ok, rest) = match line.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("ok")?),
    };
    if !(rest.is_empty() || rest.starts_with(' ')) {
        return None;
    }
    let rest = rest.trim_start();
    let digits = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    // Without a number it is more likely a word of someone's than a result.
    if digits == 0 {
        return None;
    }
    let name = rest[digits..].trim_start();
    let name = name.strip_prefix("- ").unwrap_or(name);
    let (name, directive) = match name
        .rsplit_once(" # ")
        .or_else(|| Some(("", name.strip_prefix("# ")?)))
    {
        Some((name, directive)) => (name, directive.to_ascii_uppercase()),
        None => (name, String::new()),
    };
    // A test that is still to be written does not fail its suite.
    let is_left_out = directive.starts_with("SKIP") || directive.starts_with("TODO");
    Some(Point {
        depth,
        is_ok,
        name: name.replace("\\#", "#"),
        is_left_out,
        block: String::new(),
    })
}

/// The value of a key of the block: a plain or quoted word, or lines that are indented further (`|-`).
fn field(block: &str, key: &str) -> Option<String> {
    let mut lines = block.lines();
    let (indent, value) = lines.find_map(|line| {
        let trimmed = line.trim_start();
        let value = trimmed.strip_prefix(key)?.strip_prefix(':')?;
        Some((line.len() - trimmed.len(), value.trim()))
    })?;
    if matches!(value, "|-" | "|" | ">-" | ">") {
        let inner: Vec<&str> = lines
            .take_while(|line| {
                line.trim().is_empty() || line.len() - line.trim_start().len() > indent
            })
            .map(str::trim)
            .collect();
        return Some(inner.join("\n").trim().to_owned());
    }
    let unquoted = [('\'', '\''), ('"', '"')]
        .iter()
        .find_map(|(open, close)| value.strip_prefix(*open)?.strip_suffix(*close));
    Some(unquoted.unwrap_or(value).to_owned())
}

/// Reads a whole report.
pub(super) fn read(report: &str) -> Results {
    let mut tap = Tap::default();
    report.lines().for_each(|line| tap.line(line));
    tap.results()
}
