//! `$(mktemp -d)`: a directory that the text itself made, under a name that no one else has. The reader puts it wherever a
//! variable certainly has such a value.

/// Whether `mktemp` is only called in a text, and no function takes its place.
pub(in crate::rules) fn makes_directories(text: &str) -> bool {
    let called = |at: usize| {
        let before = text[..at].trim_end();
        before.ends_with("$(") || before.ends_with('`')
    };
    text.match_indices("mktemp").all(|(at, _)| called(at))
}

/// Whether a substitution gives a new directory, with a template that is not likely to fail: then it would be empty.
pub(in crate::rules) fn is_new_directory(text: &str) -> bool {
    let text = text.trim_matches('"');
    let arguments = match text.strip_prefix('`') {
        Some(rest) => rest.strip_suffix('`'),
        None => text
            .strip_prefix("$(")
            .and_then(|rest| rest.strip_suffix(')')),
    };
    let Some(arguments) = arguments.and_then(|rest| rest.trim().strip_prefix("mktemp -d")) else {
        return false;
    };
    let template = |name: &str| {
        let name = name.strip_prefix("/tmp/").unwrap_or(name);
        name.ends_with("XXX")
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    let words: Vec<&str> = arguments
        .split(' ')
        .filter(|word| !word.is_empty())
        .collect();
    match words.as_slice() {
        _ if !arguments.is_empty() && !arguments.starts_with(' ') => false,
        [] | ["-p", "/tmp"] => true,
        [name] | ["-t", name] | ["-p", "/tmp", name] => template(name),
        _ => false,
    }
}
