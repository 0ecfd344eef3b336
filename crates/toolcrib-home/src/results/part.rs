//! A part of a result: [`Wanted`] says which, [`part`] takes it, within what a model can take in.

use regex::RegexBuilder;
use serde_json::{Value, json};
use toolcrib_lang::jsonpath::JsonPath;

use crate::builtin::invalid;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;
use crate::wire::{head_within, value_within};

/// The longest pattern, and the most memory that it may take when it is made ready.
const MAX_PATTERN: usize = 1000;
const MAX_COMPILED: usize = 1024 * 1024;
/// What of a line with a match is shown, in characters.
const MAX_MATCH: usize = 600;
/// What the rest of an answer costs: numbers, and how to read on.
const AROUND: u64 = 200;

/// Which part is wanted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Wanted<'a> {
    /// From the first line to the last, both included, from 1.
    Lines([u64; 2]),
    /// From this character up to that one, from 0.
    Range([u64; 2]),
    /// Lines of these with a match.
    Regex(&'a str, Option<[u64; 2]>),
    /// Values that a JSONPath selects.
    JsonPath(&'a str),
}

/// What was taken.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    /// What a model reads.
    pub(super) text: String,
    /// Which lines, characters, or how many matches and values there are.
    pub(super) found: Value,
    /// The arguments that read on, but for the call; none at the end.
    pub(super) next: Option<Value>,
}

/// The whole that parts are taken of.
pub(super) struct Whole<'a> {
    pub(super) text: &'a str,
    pub(super) value: &'a Value,
    pub(super) max_tokens: u64,
}

/// Takes a part.
pub(super) fn part(whole: &Whole<'_>, wanted: Wanted<'_>) -> Result<Part, ToolError> {
    match wanted {
        Wanted::Lines(lines) => whole.lines(lines),
        Wanted::Range(range) => whole.range(range),
        Wanted::Regex(pattern, within) => whole.matches(pattern, within),
        Wanted::JsonPath(path) => whole.values(path),
    }
}

impl Whole<'_> {
    fn room(&self) -> u64 {
        self.max_tokens.saturating_sub(AROUND).max(AROUND)
    }

    fn lines(&self, [first, last]: [u64; 2]) -> Result<Part, ToolError> {
        let count = self.text.lines().count() as u64;
        check_lines([first, last])?;
        if first > count {
            return Err(refused(
                "/lines/0",
                &format!("is beyond the last line, {count}"),
            ));
        }
        let from = start_of_line(self.text, first);
        let to = start_of_line(self.text, last.saturating_add(1));
        let wanted = &self.text[from..to];
        let fits = head_within(wanted, self.room());
        if fits == wanted.len() {
            let last = last.min(count);
            return Ok(Part {
                text: wanted.to_owned(),
                found: json!({"lines": [first, last]}),
                next: (last < count)
                    .then(|| json!({"lines": [last + 1, count.min(last + 1 + last - first)]})),
            });
        }
        match wanted[..fits].rfind('\n') {
            Some(end) => {
                let taken = &wanted[..=end];
                let shown = first + taken.matches('\n').count() as u64 - 1;
                Ok(Part {
                    text: taken.to_owned(),
                    found: json!({"lines": [first, shown]}),
                    next: Some(json!({"lines": [shown + 1, last.min(count)]})),
                })
            }
            // Not one line fits: by characters, then.
            None => {
                let begin = self.text[..from].chars().count() as u64;
                let end = begin + wanted.chars().count() as u64;
                self.range([begin, end])
            }
        }
    }

    fn range(&self, [from, to]: [u64; 2]) -> Result<Part, ToolError> {
        if from >= to {
            return Err(refused(
                "/range",
                "ends before it begins; give `[from, to]`, the first character and the one behind the last",
            ));
        }
        let all = self.text.chars().count() as u64;
        if from >= all {
            return Err(refused(
                "/range/0",
                &format!("is beyond the last character; there are {all}"),
            ));
        }
        let to = to.min(all);
        let begin = start_of_char(self.text, from);
        let end = start_of_char(self.text, to);
        let wanted = &self.text[begin..end];
        let taken = &wanted[..head_within(wanted, self.room())];
        let shown = from + taken.chars().count() as u64;
        Ok(Part {
            text: taken.to_owned(),
            found: json!({"range": [from, shown]}),
            next: (shown < all).then(|| {
                let end = if shown < to {
                    to
                } else {
                    all.min(shown + (to - from))
                };
                json!({"range": [shown, end]})
            }),
        })
    }

    fn matches(&self, pattern: &str, within: Option<[u64; 2]>) -> Result<Part, ToolError> {
        if pattern.len() > MAX_PATTERN {
            return Err(refused(
                "/regex",
                &format!("is longer than {MAX_PATTERN} bytes"),
            ));
        }
        let regex = RegexBuilder::new(pattern).size_limit(MAX_COMPILED).build();
        let regex = regex.map_err(|error| {
            let error = error.to_string();
            let why = error.lines().last().unwrap_or_default();
            refused(
                "/regex",
                &format!("cannot be used: {}", text::shorten(why, 300)),
            )
        })?;
        let [first, last] = within.unwrap_or([1, u64::MAX]);
        check_lines([first, last])?;
        let lines = (1_u64..).zip(self.text.lines());
        let lines = lines.filter(|(number, _)| (first..=last).contains(number));
        let mut found = lines.filter(|(_, line)| regex.is_match(line));
        let (mut shown, mut left) = (Vec::new(), self.room());
        let mut next = None;
        for (number, line) in found.by_ref() {
            let line = around_match(line, &regex);
            // Twice: in the text, and in the value.
            let cost = line
                .chars()
                .map(|c| if c.is_ascii() { 1 } else { 4 })
                .sum::<u64>()
                / 4
                + 12;
            if cost > left {
                let mut rest = json!({"regex": pattern});
                rest["lines"] = json!([number, last.min(self.text.lines().count() as u64)]);
                next = Some(rest);
                break;
            }
            left -= cost;
            shown.push((number, line));
        }
        let text: Vec<String> = shown
            .iter()
            .map(|(number, line)| format!("{number}: {line}"))
            .collect();
        let text = match text.is_empty() {
            true => "no line matches".to_owned(),
            false => text.join("\n"),
        };
        Ok(Part {
            text,
            found: json!({"matches": shown.len()}),
            next,
        })
    }

    fn values(&self, path: &str) -> Result<Part, ToolError> {
        let parsed = JsonPath::parse(path)
            .map_err(|error| refused("/jsonpath", &format!("cannot be used: {error}")))?;
        let read;
        let document = match self.value {
            // Many programs print JSON.
            Value::String(text) => {
                read = serde_json::from_str::<Value>(text).map_err(|_| {
                    refused("/jsonpath", "cannot be used: this result is text, not JSON; use `lines`, `range` or `regex`")
                })?;
                &read
            }
            value => value,
        };
        let found = parsed.query(document).map_err(|_| {
            ToolError::new(
                ErrorCode::InvalidArguments,
                "the JSONPath takes too much work; write it more exactly",
            )
        })?;
        let count = found.len();
        let selected = match found.as_slice() {
            [] => {
                return Ok(Part {
                    text: "nothing is selected".to_owned(),
                    found: json!({"values": 0}),
                    next: None,
                });
            }
            [one] => Value::clone(one),
            many => {
                // No more are copied than can be shown.
                let most = usize::try_from(self.room().saturating_mul(4)).unwrap_or(usize::MAX);
                many.iter()
                    .take(most)
                    .map(|value| Value::clone(value))
                    .collect()
            }
        };
        let text = match value_within(&selected, self.room()) {
            Some(Value::String(text)) => text,
            Some(value) => value.to_string(),
            None => {
                let whole = selected.to_string();
                let end = head_within(&whole, self.room());
                format!("{}…", &whole[..end])
            }
        };
        Ok(Part {
            text,
            found: json!({"values": count}),
            next: None,
        })
    }
}

fn check_lines([first, last]: [u64; 2]) -> Result<(), ToolError> {
    if first == 0 {
        return Err(refused("/lines/0", "is 0; lines are counted from 1"));
    }
    if last < first {
        return Err(refused(
            "/lines",
            "ends before it begins; give `[first, last]`",
        ));
    }
    Ok(())
}

fn refused(pointer: &str, why: &str) -> ToolError {
    invalid(super::READ_RESULT, pointer, why)
}

/// Where a line begins, from 1; the end of the text for one that is not there.
fn start_of_line(text: &str, line: u64) -> usize {
    let Some(before) = line.checked_sub(2) else {
        return 0;
    };
    let before = usize::try_from(before).unwrap_or(usize::MAX);
    let end = text.match_indices('\n').nth(before);
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// Where a character begins, from 0; the end of the text for one that is not there.
fn start_of_char(text: &str, number: u64) -> usize {
    let number = usize::try_from(number).unwrap_or(usize::MAX);
    let found = text.char_indices().nth(number);
    found.map_or(text.len(), |(at, _)| at)
}

/// A line, or what is around its first match if it is long.
fn around_match(line: &str, regex: &regex::Regex) -> String {
    if line.len() <= MAX_MATCH {
        return line.to_owned();
    }
    let at = regex.find(line).map_or(0, |found| found.start());
    let from = line.floor_char_boundary(at.saturating_sub(MAX_MATCH / 3));
    let rest = &line[from..];
    let to = start_of_char(rest, MAX_MATCH as u64);
    let before = if from > 0 { "…" } else { "" };
    let after = if to < rest.len() { "…" } else { "" };
    format!("{before}{}{after}", &rest[..to])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(text: &str, wanted: Wanted<'_>) -> Result<Part, ToolError> {
        let value = json!(text);
        let whole = Whole {
            text,
            value: &value,
            max_tokens: 1000,
        };
        part(&whole, wanted)
    }

    fn numbers() -> String {
        (1..=5000).map(|n| format!("line {n}\n")).collect()
    }

    #[test]
    fn lines_are_taken_whole_and_what_is_next_is_said() {
        let made = take(&numbers(), Wanted::Lines([3, 4])).unwrap();
        assert_eq!(made.text, "line 3\nline 4\n");
        assert_eq!(made.next, Some(json!({"lines": [5, 6]})));
        let made = take(&numbers(), Wanted::Lines([4999, 9000])).unwrap();
        assert_eq!(
            (made.text.as_str(), made.next),
            ("line 4999\nline 5000\n", None)
        );
        assert_eq!(made.found, json!({"lines": [4999, 5000]}));
    }

    #[test]
    fn reading_on_from_part_to_part_gives_the_whole() {
        let whole = numbers();
        let (mut read, mut wanted) = (String::new(), [1, 5000]);
        for _ in 0..100 {
            let made = take(&whole, Wanted::Lines(wanted)).unwrap();
            read.push_str(&made.text);
            let Some(next) = made.next else {
                break;
            };
            wanted = serde_json::from_value(next["lines"].clone()).unwrap();
        }
        assert_eq!(read, whole);
        let line = "天気".repeat(4000);
        let (mut read, mut next) = (String::new(), Some(json!({"lines": [1, 1]})));
        while let Some(wanted) = next {
            let of = |key: &str| serde_json::from_value::<[u64; 2]>(wanted[key].clone()).ok();
            let wanted = of("lines")
                .map(Wanted::Lines)
                .or(of("range").map(Wanted::Range));
            let made = take(&line, wanted.unwrap()).unwrap();
            assert!(made.text.chars().count() <= 1000);
            read.push_str(&made.text);
            next = made.next;
        }
        assert_eq!(read, line);
    }

    #[test]
    fn characters_are_counted_not_bytes() {
        let made = take("aäb天c", Wanted::Range([1, 4])).unwrap();
        assert_eq!(made.text, "äb天");
        assert_eq!(made.next, Some(json!({"range": [4, 5]})));
        assert!(take("abc", Wanted::Range([3, 9])).is_err());
        assert!(take("abc", Wanted::Range([2, 2])).is_err());
    }

    #[test]
    fn a_pattern_finds_lines_and_goes_on_where_it_ended() {
        let made = take(&numbers(), Wanted::Regex("^line 49[0-9]$", None)).unwrap();
        assert!(made.text.starts_with("490: line 490\n491: line 491"));
        assert_eq!((made.found, made.next), (json!({"matches": 10}), None));
        let made = take(&numbers(), Wanted::Regex("line", None)).unwrap();
        let next = made.next.unwrap();
        let first = next["lines"][0].as_u64().unwrap();
        assert!(made.text.ends_with(&format!("line {}", first - 1)));
        let made = take(&numbers(), Wanted::Regex("line", Some([first, 5000]))).unwrap();
        assert!(made.text.starts_with(&format!("{first}: ")));
    }

    #[test]
    fn a_long_line_is_shown_around_its_match() {
        let line = format!("{}NEEDLE{}", "é".repeat(50_000), "x".repeat(50_000));
        let made = take(&line, Wanted::Regex("NEED", None)).unwrap();
        assert!(made.text.contains("éNEEDLEx") && made.text.len() < 2000);
    }

    #[test]
    fn a_hostile_pattern_is_refused_or_quick() {
        for pattern in ["(", "a{1000}{1000}", &"x".repeat(2000)] {
            let error = take("x", Wanted::Regex(pattern, None)).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidArguments);
        }
        take(&"a".repeat(100_000), Wanted::Regex("(a*)*b", None)).unwrap();
    }

    #[test]
    fn a_path_selects_values_and_long_ones_are_shortened() {
        let value =
            json!({"rows": (0..2000).map(|n| json!({"n": n})).collect::<Vec<_>>(), "name": "x"});
        let whole = Whole {
            text: "",
            value: &value,
            max_tokens: 1000,
        };
        let made = part(&whole, Wanted::JsonPath("$.rows[1999].n")).unwrap();
        assert_eq!(
            (made.text.as_str(), made.found),
            ("1999", json!({"values": 1}))
        );
        let made = part(&whole, Wanted::JsonPath("$.rows[*].n")).unwrap();
        assert!(made.text.starts_with("[0,1,2") && made.text.len() < 4000);
        assert_eq!(made.found, json!({"values": 2000}));
        assert_eq!(
            part(&whole, Wanted::JsonPath("$.gone")).unwrap().text,
            "nothing is selected"
        );
        assert!(part(&whole, Wanted::JsonPath("$[")).is_err());
        // Text that is JSON is read as such; other text is not.
        assert_eq!(
            take("{\"a\": [1, 2]}", Wanted::JsonPath("$.a[1]"))
                .unwrap()
                .text,
            "2"
        );
        assert!(take("not JSON", Wanted::JsonPath("$.a")).is_err());
    }
}
