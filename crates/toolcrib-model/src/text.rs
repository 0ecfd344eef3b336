//! Text from outside, made safe to show a person, the nearest right word to a wrong one, and sizes in words.

use std::fmt::Write as _;

pub use super::hidden::{hides_something, is_hidden};

const KB: u64 = 1024;
const MB: u64 = 1024 * KB;
const GB: u64 = 1024 * MB;

/// Escapes what a reader would not see or what could attack a terminal: the [hidden](super::hidden::hidden) characters of a
/// text. Everything else stays as it is.
pub fn visible(text: &str) -> std::borrow::Cow<'_, str> {
    let mut out = String::new();
    let mut end = 0;
    for (at, c) in super::hidden::hidden(text) {
        out.push_str(&text[end..at]);
        let _ = write!(out, "\\u{{{:04x}}}", u32::from(c));
        end = at + c.len_utf8();
    }
    if end == 0 {
        return text.into();
    }
    out.push_str(&text[end..]);
    out.into()
}

/// Like [`visible`], but keeps the text on one line: a name in a line of ours cannot begin another line.
pub fn visible_line(text: &str) -> std::borrow::Cow<'_, str> {
    let visible = visible(text);
    match visible.contains(['\n', '\t']) {
        true => visible.replace('\n', "\\n").replace('\t', "\\t").into(),
        false => visible,
    }
}

/// The candidates nearest to `word`, best first, at most three; empty when none is near.
///
/// Case, `-` and `_` do not count as differences, and a prefix or suffix of a candidate is near.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = fold(word);
    // Hostile words are long; edit distance is quadratic.
    if wanted.is_empty() || wanted.len() > 128 {
        return Vec::new();
    }
    let allowed = (wanted.chars().count() / 3).clamp(1, 4);
    let mut scored: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let folded = fold(candidate);
            if folded.len() > 256 {
                return None;
            }
            let distance = strsim::osa_distance(&wanted, &folded);
            let partial = wanted.chars().count() >= 3
                && (folded.starts_with(&wanted) || folded.ends_with(&wanted));
            match (distance <= allowed, partial) {
                (true, _) => Some((distance, candidate)),
                (false, true) => Some((allowed + 1, candidate)),
                (false, false) => None,
            }
        })
        .collect();
    scored.sort();
    scored.dedup_by_key(|(_, candidate)| *candidate);
    scored
        .into_iter()
        .take(3)
        .map(|(_, candidate)| candidate)
        .collect()
}

/// Folds a spelling: lower case, without `-` and `_`. `includeHidden`, `include_hidden` and
/// `include-hidden` are one word.
pub fn fold(word: &str) -> String {
    word.chars()
        .filter(|c| !matches!(c, '-' | '_'))
        .flat_map(char::to_lowercase)
        .collect()
}

/// Joins names for a sentence: `` `a` ``, `` `a` or `b` ``, `` `a`, `b` or `c` ``.
pub fn or_list(names: &[&str]) -> String {
    let quoted: Vec<String> = names
        .iter()
        .map(|name| format!("`{}`", visible(name)))
        .collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [init @ .., last] => format!("{} or {last}", init.join(", ")),
    }
}

/// Names as a list: `` `a`, `b` and `c` ``.
pub fn and_list(names: &[impl AsRef<str>]) -> String {
    let quoted: Vec<String> = names
        .iter()
        .map(|name| format!("`{}`", shorten(name.as_ref(), 200)))
        .collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [init @ .., last] => format!("{} and {last}", init.join(", ")),
    }
}

/// What a list says of something: its first sentence, if that ends on its first line, else that line.
pub fn first_sentence(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    let ends = line
        .match_indices(['.', '!', '?'])
        .map(|(at, end)| at + end.len());
    // `e.g. this` goes on; so does `v1.2`.
    let is_end = |at: &usize| {
        let mut rest = line[*at..].chars();
        rest.next() == Some(' ') && rest.next().is_some_and(|c| c.is_uppercase() || c == '`')
    };
    ends.into_iter()
        .find(is_end)
        .map_or(line, |end| &line[..end])
}

/// The start of a text, at most `max` bytes, cut at a character boundary and marked when cut.
pub fn shorten(text: &str, max: usize) -> String {
    shortened(text, max).into_owned()
}

/// Like [`shorten`], but borrows the text if nothing changes.
#[doc(hidden)]
pub fn shortened(text: &str, max: usize) -> std::borrow::Cow<'_, str> {
    if text.len() <= max {
        return visible(text);
    }
    format!("{}…", visible(&text[..text.floor_char_boundary(max)])).into()
}

/// The mark in place of what was left out of a text. It carries a fresh random number, so that no output can contain it by
/// design.
#[doc(hidden)]
pub fn left_out(bytes: u64) -> String {
    let number = uuid::Uuid::now_v7().simple().to_string();
    format!("\n[toolcrib {}: {bytes} bytes left out]\n", &number[12..])
}

/// A size as a person reads it: `1.5 MB`. Units are of 1024; a tenth is shown below ten of a unit, and what is beyond it is cut off.
pub fn size(bytes: u64) -> String {
    let (unit, name) = match bytes {
        1 => return "1 byte".to_owned(),
        0..KB => return format!("{bytes} bytes"),
        KB..MB => (KB, "KB"),
        MB..GB => (MB, "MB"),
        GB.. => (GB, "GB"),
    };
    let tenths = bytes.saturating_mul(10) / unit;
    match (tenths / 10, tenths % 10) {
        (whole @ 0..10, tenth @ 1..) => format!("{whole}.{tenth} {name}"),
        (whole, _) => format!("{whole} {name}"),
    }
}

/// Reads a size as a person writes it: `512MB`, `2G`, `64 KiB`; a bare number is bytes. Units are of 1024. A size that no number can
/// hold is the largest there is.
pub fn read_size(text: &str) -> Option<u64> {
    let unit_at = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let unit = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => KB,
        "m" | "mb" | "mib" => MB,
        "g" | "gb" | "gib" => GB,
        "t" | "tb" | "tib" => 1024 * GB,
        _ => return None,
    };
    Some(number.parse::<u64>().ok()?.saturating_mul(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_says_the_first_sentence() {
        for (text, first) in [
            ("", ""),
            ("Runs it", "Runs it"),
            ("Runs it. Returns what it printed.", "Runs it."),
            (
                "Takes v1.2, e.g. this one. `x` is left out.",
                "Takes v1.2, e.g. this one.",
            ),
            ("Is it there? Then\nit runs. Else not.", "Is it there?"),
            ("One line\nTwo. Three.", "One line"),
        ] {
            assert_eq!(first_sentence(text), first);
        }
    }

    #[test]
    fn escapes_are_shown_and_letters_kept() {
        assert_eq!(visible("invoice\u{202e}fdp.exe"), "invoice\\u{202e}fdp.exe");
        assert_eq!(visible("\u{1b}]52;c;x\u{7}"), "\\u{001b}]52;c;x\\u{0007}");
        assert_eq!(visible("a\u{e0041}b"), "a\\u{e0041}b");
        assert_eq!(visible("pay\u{200d}load"), "pay\\u{200d}load");
        assert_eq!(visible("👩\u{200d}🚀"), "👩\u{200d}🚀");
        assert_eq!(visible("天気 ünïcode\tline\n"), "天気 ünïcode\tline\n");
    }

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let tools = ["read_file", "list_directory", "write_file"];
        assert_eq!(nearest("raed_file", tools), ["read_file"]);
        assert_eq!(nearest("readFile", tools), ["read_file"]);
        assert_eq!(nearest("directory", tools), ["list_directory"]);
        assert!(nearest("deploy_to_production", tools).is_empty());
        assert!(nearest("", tools).is_empty());
    }

    #[test]
    fn shorten_never_splits_a_character() {
        assert_eq!(shorten("天気天気", 4), "天…");
        assert_eq!(shorten("abc", 4), "abc");
    }

    #[test]
    fn sizes_are_said_in_few_digits() {
        for (bytes, words) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1023 bytes"),
            (1024, "1 KB"),
            (1536, "1.5 KB"),
            (49_300, "48 KB"),
            (MB, "1 MB"),
            (10_240_000, "9.7 MB"),
            (10 << 30, "10 GB"),
        ] {
            assert_eq!(size(bytes), words);
        }
    }

    #[test]
    fn sizes_are_read_with_their_units() {
        for (text, bytes) in [
            ("512MB", 512 << 20),
            ("2G", 2 << 30),
            ("64k", 64 << 10),
            ("1 GiB", 1 << 30),
            ("1024", 1024),
            ("0", 0),
            ("99999999999T", u64::MAX),
        ] {
            assert_eq!(read_size(text), Some(bytes), "{text}");
        }
        for text in [
            "",
            "MB",
            "-1",
            "1.5GB",
            "12 parsecs",
            "99999999999999999999",
        ] {
            assert_eq!(read_size(text), None, "{text}");
        }
    }
}
