//! The query: its text as a matcher, or the problem of it.
//!
//! Matching takes linear time whatever the expression is; what an expression may take is bounded: its size when it is compiled, and what a
//! thread keeps of its automaton while it runs.

use grep_matcher::Matcher as _;
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};

use super::NAME;
use crate::builtin::invalid;
use crate::model::budget::Budget;
use crate::model::error::ToolError;
use crate::model::text;

/// The most that an expression may be once it is compiled.
const MAX_COMPILED: usize = 8 << 20;

/// The most bytes of a compiled expression, times its groups.
const MAX_GROUPED: usize = 24 << 20;

/// The most that one thread keeps of the automaton that it makes as it goes.
const MAX_AUTOMATON: usize = 16 << 20;

/// How deep groups may lie in each other.
const MAX_NESTING: u32 = 100;

/// The steps that making matchers of a query may take: one for each of its bytes, and each time.
const MAX_STEPS: u64 = 64 << 10;

/// What to search for, and how.
#[derive(Debug)]
pub(super) struct Query<'a> {
    pub(super) text: &'a str,
    pub(super) regex: bool,
    pub(super) case_sensitive: bool,
    pub(super) whole_word: bool,
    pub(super) multiline: bool,
}

impl Query<'_> {
    /// The matcher of the query.
    pub(super) fn matcher(&self) -> Result<RegexMatcher, ToolError> {
        let refused = |message: &str| Err(invalid(NAME, "/query", message));
        if self.text.contains('\0') {
            return refused(
                "holds a NUL character; files that hold one are taken for binary and not searched",
            );
        }
        if !self.regex && !self.multiline && self.text.contains('\n') {
            return refused(
                "holds a line break; set `multiline` to find what spans lines, or search for one of its lines",
            );
        }
        let mut builder = RegexMatcherBuilder::new();
        builder
            .fixed_strings(!self.regex)
            .case_insensitive(!self.case_sensitive)
            .word(self.whole_word)
            // `^` and `$` are about lines.
            .multi_line(true)
            .unicode(true)
            .octal(false)
            .nest_limit(MAX_NESTING)
            .size_limit(MAX_COMPILED)
            .dfa_size_limit(MAX_AUTOMATON);
        if !self.multiline {
            builder.line_terminator(Some(b'\n'));
        }
        let mut budget = Budget::new(MAX_STEPS, 0);
        let too_long = |_| invalid(NAME, "/query", "is too long an expression");
        budget.step(self.text.len()).map_err(too_long)?;
        let matcher = builder
            .build(self.text)
            .map_err(|error| self.fault(&error))?;
        // What a thread remembers while it matches is the size of the expression times its groups, which nothing here asks for.
        let size = MAX_GROUPED / matcher.capture_count().max(1);
        if size < MAX_COMPILED {
            budget.step(self.text.len()).map_err(too_long)?;
            if builder.size_limit(size).build(self.text).is_err() {
                return refused(
                    "is too large an expression for its groups; write `(?:…)` instead of `(…)`",
                );
            }
        }
        Ok(matcher)
    }

    /// Says what is wrong with an expression, and where.
    fn fault(&self, error: &grep_regex::Error) -> ToolError {
        let what = match error.kind() {
            ErrorKind::NotAllowed(_) => {
                "can match a line break, as `\\n`; set `multiline` to find what spans lines"
                    .to_owned()
            }
            ErrorKind::Regex(words) if words.contains("size limit") => format!(
                "is too large an expression: compiled it takes more than {}; use smaller repetitions or fewer alternatives",
                text::size(MAX_COMPILED as u64)
            ),
            _ => self.syntax_fault(&error.to_string()),
        };
        invalid(NAME, "/query", &what)
    }

    /// The words of a syntax error with the place it is at.
    fn syntax_fault(&self, words: &str) -> String {
        // The expression was put into a group before it was read, so that places are off; reading it as it is has them right.
        let own = regex::bytes::Regex::new(self.text);
        let own = own.err().map(|error| error.to_string());
        let words = own.as_deref().unwrap_or(words);
        let reason = words.rsplit("error: ").next().unwrap_or(words).trim();
        let place = match caret(words) {
            Some((first, last)) => {
                let here: String = self.text.chars().skip(first).take(last - first).collect();
                let here = match here.is_empty() {
                    true => "its end".to_owned(),
                    false => format!("`{}`", text::shorten(&here, 100)),
                };
                format!(", at character {} ({here})", first + 1)
            }
            None => String::new(),
        };
        format!(
            "is not a regular expression: {reason}{place}; leave `regex` out to search for the text as it is"
        )
    }
}

/// Where the carets of a syntax error point, in characters of a query of one line: from, and up to.
fn caret(words: &str) -> Option<(usize, usize)> {
    let mut lines = words.lines().skip(2);
    let carets = lines.next()?.strip_prefix("    ")?;
    let first = carets.find('^')?;
    let count = carets[first..]
        .bytes()
        .take_while(|byte| *byte == b'^')
        .count();
    (carets.trim().len() == count).then_some((first, first + count))
}

/// Whether `search_code` takes an expression, for tests.
#[cfg(feature = "testing")]
pub(crate) fn takes(expression: &str) -> bool {
    let query = Query {
        text: expression,
        regex: true,
        case_sensitive: false,
        whole_word: false,
        multiline: true,
    };
    query.matcher().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Query<'_> {
        Query {
            text,
            regex: true,
            case_sensitive: true,
            whole_word: false,
            multiline: false,
        }
    }

    #[track_caller]
    fn fault(query: Query<'_>) -> String {
        query.matcher().unwrap_err().message().to_owned()
    }

    #[test]
    fn a_wrong_expression_says_what_is_wrong_and_where() {
        for (text, words) in [
            ("foo(", "unclosed group, at character 4 (`(`)"),
            ("a[z-a]", "at character 3 (`z-a`)"),
            ("é{2,1}", "at character 2 (`{2,1}`)"),
            ("x**(", "unclosed group"),
            (r"\q", r"at character 1 (`\q`)"),
            ("(?P<n>a", "unclosed group"),
        ] {
            let told = fault(query(text));
            assert!(told.contains(words), "{text}: {told}");
            assert!(
                told.contains("`/query` is not a regular expression"),
                "{told}"
            );
            assert!(!told.contains("(?:"), "{told}");
        }
    }

    #[test]
    fn an_expression_that_would_grow_huge_is_refused_soon() {
        for text in [
            r"(\w{500}){500}{500}",
            r"((\pL{1000}){1000}){1000}",
            "(((a{100}){100}){100}){100}",
        ] {
            let started = std::time::Instant::now();
            let told = fault(query(text));
            assert!(told.contains("too large"), "{text}: {told}");
            assert!(started.elapsed().as_secs() < 10, "{text}");
        }
        let deep = "(".repeat(5000) + &")".repeat(5000);
        assert!(
            fault(query(&deep)).contains("nest"),
            "{}",
            fault(query(&deep))
        );
    }

    #[test]
    fn line_breaks_need_multiline() {
        let text = Query {
            regex: false,
            ..query("one\ntwo")
        };
        assert!(fault(text).contains("set `multiline`"));
        assert!(fault(query(r"one\ntwo")).contains("set `multiline`"));
        for regex in [true, false] {
            let matcher = Query {
                regex,
                multiline: true,
                ..query("one\ntwo")
            }
            .matcher();
            assert!(matcher.unwrap().is_match(b"zero one\ntwo three").unwrap());
        }
    }

    #[test]
    fn a_nul_is_refused() {
        assert!(fault(query("a\0b")).contains("NUL"));
        assert!(
            fault(Query {
                regex: false,
                ..query("a\0b")
            })
            .contains("NUL")
        );
    }

    #[test]
    fn text_is_taken_literally_unless_it_is_an_expression() {
        let literal = Query {
            regex: false,
            ..query("a.b(")
        }
        .matcher()
        .unwrap();
        assert!(literal.is_match(b"xa.b(y").unwrap());
        assert!(!literal.is_match(b"xaxb(y").unwrap());
        let folded = Query {
            regex: false,
            case_sensitive: false,
            ..query("GRÜN.")
        };
        assert!(
            folded
                .matcher()
                .unwrap()
                .is_match("grün.".as_bytes())
                .unwrap()
        );
        let word = Query {
            regex: false,
            whole_word: true,
            ..query("cat")
        }
        .matcher()
        .unwrap();
        assert!(word.is_match(b"a cat.").unwrap() && !word.is_match(b"concat").unwrap());
    }
}
