//! The paths that a patch names: read strictly, because what a lenient reader makes of `../x` or of two names for one file is
//! what an attacker wants.

/// Reads a name as it is written in a header: plain up to a tab (`diff -u` writes the time after it), or quoted like a string of C.
/// `None` for `/dev/null`.
pub(super) fn name(text: &str) -> Result<Option<String>, String> {
    let name = match text.strip_prefix('"') {
        Some(quoted) => {
            let (name, rest) = unquote(quoted)?;
            if !rest.is_empty() && !rest.starts_with('\t') {
                return Err("there is text after the quoted path".to_owned());
            }
            name
        }
        None => {
            let name = text.split('\t').next().unwrap_or_default();
            name.trim_end_matches('\r').to_owned()
        }
    };
    Ok((name != "/dev/null").then_some(name))
}

/// Reads the rest of a quoted name, and returns what follows the closing quote.
fn unquote(text: &str) -> Result<(String, &str), String> {
    let wrong = || "its quotes or backslashes are not those of git".to_owned();
    let mut bytes = Vec::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => {
                let name = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
                return Ok((name, &text[at + 1..]));
            }
            '\\' => {
                let (_, escaped) = chars.next().ok_or_else(wrong)?;
                let byte = match escaped {
                    'a' => 7,
                    'b' => 8,
                    't' => b'\t',
                    'n' => b'\n',
                    'v' => 11,
                    'f' => 12,
                    'r' => b'\r',
                    '"' => b'"',
                    '\\' => b'\\',
                    '0'..='3' => {
                        let mut value = escaped.to_digit(8).ok_or_else(wrong)?;
                        for _ in 0..2 {
                            let digit = chars.next().and_then(|(_, c)| c.to_digit(8));
                            value = value * 8 + digit.ok_or_else(wrong)?;
                        }
                        u8::try_from(value).map_err(|_| wrong())?
                    }
                    _ => return Err(wrong()),
                };
                bytes.push(byte);
            }
            c => bytes.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Err(wrong())
}

/// The two names of `diff --git`, as far as they can be separated: quoted, or the same after their prefix.
pub(super) fn git_names(text: &str) -> Option<(String, String)> {
    if let Some(quoted) = text.strip_prefix('"') {
        let (old, rest) = unquote(quoted).ok()?;
        let new = name(rest.strip_prefix(' ')?).ok()??;
        return Some((old, new));
    }
    if let Some((old, rest)) = text.split_once(" \"") {
        let (new, rest) = unquote(rest).ok()?;
        return rest.is_empty().then(|| (old.to_owned(), new));
    }
    let middle = text.len() / 2;
    let (old, new) = (text.get(..middle)?, text.get(middle + 1..)?);
    let same = text.as_bytes().get(middle) == Some(&b' ')
        && old.strip_prefix("a/").is_some()
        && old.strip_prefix("a/") == new.strip_prefix("b/");
    same.then(|| (old.to_owned(), new.to_owned()))
}

/// Takes `a/` and `b/` off the names of a file, if they are written so.
pub(super) fn without_prefixes(
    old: Option<String>,
    new: Option<String>,
) -> (Option<String>, Option<String>) {
    let are_marked = old.as_ref().is_none_or(|old| old.starts_with("a/"))
        && new.as_ref().is_none_or(|new| new.starts_with("b/"));
    if !are_marked {
        return (old, new);
    }
    let strip = |name: Option<String>| name.map(|name| name[2..].to_owned());
    (strip(old), strip(new))
}

/// Refuses a path that is not the plain way to a file of the workspace.
pub(super) fn check(path: &str) -> Result<(), &'static str> {
    if path.is_empty() {
        return Err("it is empty");
    }
    if path.starts_with('/') {
        return Err("it is absolute; write it relative to the workspace");
    }
    if path.ends_with('/') {
        return Err("it ends in a slash; name a file");
    }
    for part in path.split('/') {
        match part {
            ".." => return Err("it has `..` in it"),
            "." | "" => return Err("it has an empty part or `.` in it; write it plainly"),
            _ => {}
        }
    }
    if path.contains(|c: char| c.is_control()) {
        return Err("it has a control character in it");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_plain_quoted_and_with_times() {
        assert_eq!(name("a/x y\t2026-01-01"), Ok(Some("a/x y".to_owned())));
        assert_eq!(name("/dev/null"), Ok(None));
        assert_eq!(
            name(r#""a/caf\303\251 \"x\"""#),
            Ok(Some("a/café \"x\"".to_owned()))
        );
        for bad in [r#""a"#, r#""a\9""#, r#""\777""#, r#""\377""#, r#""a" b"#] {
            assert!(name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_two_names_of_git_are_separated_only_where_that_is_certain() {
        let names = |old: &str, new: &str| Some((old.to_owned(), new.to_owned()));
        assert_eq!(git_names("a/x b/x"), names("a/x", "b/x"));
        assert_eq!(git_names("a/x b/y b/x b/y"), names("a/x b/y", "b/x b/y"));
        assert_eq!(git_names(r#""a/\t" "b/\t""#), names("a/\t", "b/\t"));
        assert_eq!(git_names("a/x b/yy"), None);
        assert_eq!(git_names(""), None);
        assert_eq!(git_names("é"), None);
    }

    #[test]
    fn only_plain_paths_pass() {
        for good in ["a", "a/b", "..a", "a..b/c", ".env", "a b", "é"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in [
            "", "/", "/a", "a/", "..", "../a", "a/../b", "a/..", ".", "./a", "a//b", "a\0b", "a\nb",
        ] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
    }
}
