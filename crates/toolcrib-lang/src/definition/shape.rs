//! The first look at a file: are its keys known, and do its values have the types that the table of fields wants?
//!
//! What passes can be read without asking again; what does not has been reported and is nothing to the reader.

use super::fields::{Kind, Shape, Syntax};
use super::problem::{Findings, Severity, SpannedProblem};
use super::values::{self, Unfit, Why};
use super::yaml::{Content, Entry, Node, Style, quoted};
use crate::model::text::{nearest, or_list, shorten};

/// Checks a value and everything below it.
pub(crate) fn check(node: &Node<'_>, shape: &Shape, path: &str, found: &mut Findings<'_>) {
    if matches!(node.content, Content::Refused) || found.is_full(Severity::Error) {
        return;
    }
    // `null` in JSON is what is not said; programs write it for every field they have.
    if found.dialect.syntax == Syntax::Json && node.is_empty() && !path.is_empty() {
        return;
    }
    match shape.kind {
        Kind::Fields => fields(node, shape, path, found),
        Kind::FieldsOrList => match &node.content {
            Content::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    fields(item, shape, &format!("{path}[{index}]"), found);
                }
            }
            Content::Scalar(_) | Content::Map(_) | Content::Refused => {
                fields(node, shape, path, found);
            }
        },
        Kind::Schema => {
            wants_map(node, path, found);
        }
        Kind::Map => {
            let Some(entries) = wants_map(node, path, found) else {
                return;
            };
            for entry in entries {
                let below = format!("{path}.{}", shorten(&entry.key.text, 60));
                if let Some(shape) = &shape.entry {
                    check(&entry.value, shape, &below, found);
                }
            }
        }
        Kind::List => match &node.content {
            Content::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    if let Some(shape) = &shape.entry {
                        check(item, shape, &format!("{path}[{index}]"), found);
                    }
                }
            }
            _ if node.is_empty() => {}
            _ if found.dialect.syntax == Syntax::Yaml => {
                found.push(wrong(node, path, "a list: lines that begin with `- `"));
            }
            _ => found.push(wrong(node, path, "a list: `[…]`")),
        },
        Kind::Text | Kind::Template | Kind::Program | Kind::Expression | Kind::Pattern => {
            text(node, path, shape.kind, found);
        }
        Kind::Condition => match node.scalar() {
            // In JSON, too, they need no quotes.
            Some(scalar) if matches!(&*scalar.text, "true" | "false") => {}
            _ => text(node, path, shape.kind, found),
        },
        Kind::Boolean => scalar(node, path, found, "true or false", |s| {
            values::boolean(s).map(drop)
        }),
        Kind::Integer { least, most } => scalar(node, path, found, "a whole number", |s| {
            values::integer(s, least, most).map(drop)
        }),
        Kind::Number => scalar(node, path, found, "a number", |s| {
            values::number(s).map(drop)
        }),
        Kind::Time { least, most } => scalar(node, path, found, "a time", |s| {
            values::time(s, least, most).map(drop)
        }),
        Kind::Size { least, most } => scalar(node, path, found, "a size", |s| {
            values::size(s, least, most).map(drop)
        }),
        Kind::Choice(words) => choice(node, path, words, found),
        Kind::Choices(words) => match &node.content {
            Content::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    choice(item, &format!("{path}[{index}]"), words, found);
                }
            }
            _ if node.is_empty() => {}
            _ => found.push(wants_list(node, path, found)),
        },
        Kind::Integers { least, most } => match &node.content {
            Content::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    let path = format!("{path}[{index}]");
                    scalar(item, &path, found, "a whole number", |s| {
                        values::integer(s, least, most).map(drop)
                    });
                }
            }
            _ if node.is_empty() => {}
            _ => found.push(wants_list(node, path, found)),
        },
        Kind::Texts => match &node.content {
            Content::List(items) => texts(items, path, found),
            _ if node.is_empty() => {}
            _ => found.push(wants_list(node, path, found)),
        },
        Kind::TextOrTexts => match &node.content {
            Content::List(items) => texts(items, path, found),
            Content::Scalar(_) | Content::Map(_) | Content::Refused => {
                text(node, path, Kind::Text, found);
            }
        },
        Kind::Value => {}
        Kind::Values => match &node.content {
            Content::List(_) => {}
            _ if node.is_empty() => {}
            _ => found.push(wants_list(node, path, found)),
        },
    }
}

fn texts(items: &[Node<'_>], path: &str, found: &mut Findings<'_>) {
    for (index, item) in items.iter().enumerate() {
        text(item, &format!("{path}[{index}]"), Kind::Text, found);
    }
}

fn fields(node: &Node<'_>, shape: &Shape, path: &str, found: &mut Findings<'_>) {
    let Some(entries) = wants_map(node, path, found) else {
        return;
    };
    for entry in entries {
        let name = &*entry.key.text;
        match shape.get(name) {
            Some(below) => {
                let path = match path {
                    "" => name.to_owned(),
                    path => format!("{path}.{name}"),
                };
                check(&entry.value, below, &path, found);
            }
            // Reported where it was found.
            None if name == "<<" || name.is_empty() => {}
            None if found.is_full(Severity::Error) => return,
            None => {
                let problem = unknown(entry, entries, shape, path, found);
                found.push(problem);
            }
        }
    }
}

fn unknown(
    entry: &Entry<'_>,
    entries: &[Entry<'_>],
    shape: &Shape,
    path: &str,
    found: &Findings<'_>,
) -> SpannedProblem {
    let name = &*entry.key.text;
    let whose = match path {
        "" => "a tool".to_owned(),
        path => format!("`{path}`"),
    };
    let message = format!("`{}` is not a field of {whose}", shorten(name, 60));
    let problem = SpannedProblem::error("unknown-key", entry.key.span.clone(), message);
    let near = nearest(name, shape.names());
    match (near.as_slice(), found.dialect.foreign.find(name)) {
        // A field that other formats have is not a misspelling.
        (_, Some(advice)) => problem.help(advice),
        ([], None) => {
            let elsewhere = elsewhere(name, path, found);
            match elsewhere {
                Some(place) => problem.help(format!("it belongs {place}")),
                None => {
                    let names: Vec<&str> = shape.names().collect();
                    problem.help(format!("there are: {}", names.join(", ")))
                }
            }
        }
        ([one], None) => {
            let problem = problem.help(format!("did you mean `{one}`?"));
            let taken = entries.iter().any(|other| other.key.text == *one);
            match taken {
                true => problem,
                false => problem.fix(entry.key.span.clone(), *one),
            }
        }
        (several, None) => problem.help(format!("did you mean {}?", or_list(several))),
    }
}

/// The one place where a field of this name belongs, in words, if there is exactly one.
fn elsewhere(name: &str, path: &str, found: &Findings<'_>) -> Option<String> {
    let mut places = found.dialect.fields.iter().filter_map(|field| {
        let (place, last) = field.path.rsplit_once('.').unwrap_or(("", field.path));
        (last == name && place != path).then_some(place)
    });
    match (places.next(), places.next()) {
        (Some(""), None) => Some("at the top of the file".to_owned()),
        (Some(place), None) => {
            let place = place.replace("[]", "").replace(".*", ".NAME");
            Some(format!("beneath `{place}`"))
        }
        _ => None,
    }
}

fn wants_map<'n, 'a>(
    node: &'n Node<'a>,
    path: &str,
    found: &mut Findings<'_>,
) -> Option<&'n [Entry<'a>]> {
    match &node.content {
        Content::Map(entries) => Some(entries),
        _ if node.is_empty() => None,
        _ => {
            let wanted = match found.dialect.syntax {
                Syntax::Yaml => "a mapping: lines of `key: value` beneath it",
                Syntax::Json => "an object: `{…}`",
            };
            found.push(wrong(node, path, wanted));
            None
        }
    }
}

fn wrong(node: &Node<'_>, path: &str, wanted: &str) -> SpannedProblem {
    let whose = match path {
        "" => "the file".to_owned(),
        path => format!("`{path}`"),
    };
    let message = format!("{whose} must be {wanted}; this is {}", node.in_words());
    SpannedProblem::error("wrong-type", node.span.clone(), message)
}

fn wants_list(node: &Node<'_>, path: &str, found: &Findings<'_>) -> SpannedProblem {
    let problem = wrong(node, path, "a list");
    if found.dialect.syntax == Syntax::Json {
        if node.scalar().is_none() {
            return problem;
        }
        let list = format!("[{}]", &found.text[node.span.clone()]);
        return problem
            .help(format!("write `{}`", shorten(&list, 60)))
            .fix(node.span.clone(), list);
    }
    match node.scalar() {
        Some(scalar)
            if !scalar.text.contains([
                '\n', ',', '[', ']', '{', '}', '#', '"', '\'', ':', '&', '*', '!',
            ]) =>
        {
            let list = format!("[{}]", scalar.text);
            problem
                .help(format!("write `{}`", shorten(&list, 60)))
                .fix(node.span.clone(), list)
        }
        _ => problem,
    }
}

fn scalar(
    node: &Node<'_>,
    path: &str,
    found: &mut Findings<'_>,
    wanted: &str,
    read: impl Fn(&super::yaml::Scalar<'_>) -> Result<(), Unfit>,
) {
    let Some(scalar) = node.scalar() else {
        found.push(wrong(node, path, wanted));
        return;
    };
    if node.is_empty() {
        found.push(missing(node, path, wanted));
        return;
    }
    if let Err(unfit) = read(scalar) {
        let message = unfit.sentence(&format!("`{path}`"), wanted);
        let code = match unfit.why {
            Why::Range(_) => "out-of-range",
            Why::Type(_) => "wrong-type",
        };
        let mut problem = SpannedProblem::error(code, node.span.clone(), message);
        if let Some(instead) = unfit.instead {
            problem = problem
                .help(format!("write `{instead}`"))
                .fix(node.span.clone(), instead);
        }
        found.push(problem);
    }
}

fn missing(node: &Node<'_>, path: &str, wanted: &str) -> SpannedProblem {
    let message = format!("`{path}` has no value; it must be {wanted}");
    SpannedProblem::error("missing-value", node.span.clone(), message)
        .help("write a value, or remove the line")
}

fn text(node: &Node<'_>, path: &str, kind: Kind, found: &mut Findings<'_>) {
    let wanted = match kind {
        Kind::Program => "a command",
        Kind::Expression => "an expression",
        Kind::Condition => "true, false or an expression",
        Kind::Pattern => "a regular expression",
        _ => "a text",
    };
    if found.dialect.syntax == Syntax::Json {
        json_text(node, path, wanted, found);
        return;
    }
    match &node.content {
        Content::Scalar(_) if node.is_empty() => found.push(missing(node, path, wanted)),
        Content::Scalar(_) => {}
        Content::Refused => {}
        Content::Map(_) | Content::List(_) => found.push(braces(node, path, wanted, found.text)),
    }
}

/// In JSON a text has quotes.
fn json_text(node: &Node<'_>, path: &str, wanted: &str, found: &mut Findings<'_>) {
    match &node.content {
        Content::Scalar(scalar) if scalar.style == Style::Plain => {
            let instead = format!("\"{}\"", scalar.text);
            found.push(
                wrong(node, path, &format!("{wanted} in quotes"))
                    .help(format!("write `{}`", shorten(&instead, 60)))
                    .fix(node.span.clone(), instead),
            );
        }
        Content::Scalar(_) | Content::Refused => {}
        Content::Map(_) | Content::List(_) => found.push(wrong(node, path, wanted)),
    }
}

/// `bash: {X}`, or a text that is laid out as a list.
fn braces(node: &Node<'_>, path: &str, wanted: &str, text: &str) -> SpannedProblem {
    let problem = wrong(node, path, wanted);
    let written = &text[node.span.clone()];
    let problem = match &node.content {
        Content::Map(_) if written.starts_with('{') => problem.help(
            "a value that begins with `{` is a mapping to YAML: put it in quotes, or begin it on the next line after `|`",
        ),
        Content::Map(_) => problem.help("write a text after the colon, in quotes if it contains `: `"),
        Content::List(_) if written.starts_with('[') => problem.help(
            "a value that begins with `[` is a list to YAML: put it in quotes, or begin it on the next line after `|`",
        ),
        Content::List(_) => problem.help("a text of several lines begins with `|` after the colon"),
        Content::Scalar(_) | Content::Refused => problem,
    };
    let is_flow = written.starts_with(['{', '[']) && written.ends_with(['}', ']']);
    match is_flow && !written.contains('\n') {
        true => problem.fix(node.span.clone(), quoted(written)),
        false => problem,
    }
}

fn choice(node: &Node<'_>, path: &str, words: &[&'static str], found: &mut Findings<'_>) {
    let wanted = format!("one of {}", words.join(", "));
    let Some(scalar) = node.scalar() else {
        found.push(wrong(node, path, &wanted));
        return;
    };
    if node.is_empty() {
        found.push(missing(node, path, &wanted));
        return;
    }
    if words.contains(&&*scalar.text) {
        return;
    }
    let message = format!(
        "`{path}` must be {wanted}, not `{}`",
        shorten(&scalar.text, 40)
    );
    let problem = SpannedProblem::error("unknown-value", node.span.clone(), message);
    let is_json = found.dialect.syntax == Syntax::Json;
    let written = |word: &str| match is_json {
        true => format!("\"{word}\""),
        false => word.to_owned(),
    };
    let meant = |word: &'static str, same: Same| {
        let problem = problem.clone().help(format!("did you mean `{word}`?"));
        // A fix never makes a tool less safe than its author may have meant.
        match same == Same::Certain && !matches!(word, "none" | "elevated") {
            true => problem.fix(node.span.clone(), written(word)),
            false => problem,
        }
    };
    let near = nearest(&scalar.text, words.iter().copied());
    let found_here = match (synonym(&scalar.text), near.as_slice()) {
        (Some((word, same)), _) if words.contains(&word) => meant(word, same),
        (_, []) => problem,
        (_, [one]) => match words.iter().find(|word| *word == one) {
            Some(word) => meant(word, Same::Certain),
            None => problem,
        },
        (_, several) => problem.help(format!("did you mean {}?", or_list(several))),
    };
    found.push(found_here);
}

/// Whether another word means the same for certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Same {
    /// `check --fix` writes it.
    Certain,
    /// It is suggested: the other word says more, or something close.
    Likely,
}

/// What others call the same thing, or nearly the same.
fn synonym(word: &str) -> Option<(&'static str, Same)> {
    use Same::{Certain, Likely};
    Some(match word.to_ascii_lowercase().as_str() {
        "text" | "str" => ("string", Certain),
        "path" | "file" | "directory" | "url" => ("string", Likely),
        "int" => ("integer", Certain),
        "float" | "double" => ("number", Certain),
        "bool" => ("boolean", Certain),
        "flag" => ("boolean", Likely),
        "list" => ("array", Certain),
        "map" | "dict" => ("object", Certain),
        "json" => ("object", Likely),
        "mac" | "darwin" | "osx" | "mac-os" => ("macos", Certain),
        "win" | "win32" | "win64" => ("windows", Certain),
        "docker" | "sandbox" | "strong" => ("container", Likely),
        "root" | "sudo" | "admin" => ("elevated", Likely),
        "user" => ("same-as-user", Certain),
        _ => return None,
    })
}
