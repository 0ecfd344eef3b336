//! `toolcrib explain <field>`: finding the field that someone means.

use crate::definition::fields::{FIELDS, Field, Kind};
use crate::definition::values::{size_in_words, time_in_words};
use crate::manifest::fields::{HTTP_FIELDS, is_http};
use crate::model::text::nearest;

/// The fields of both kinds of files.
fn all() -> impl Iterator<Item = &'static Field> + Clone {
    FIELDS.iter().chain(HTTP_FIELDS.iter())
}

/// The fields that a topic means: `security.isolation`, `steps.retry`, `retry.attempts`, `parameters.NAME.type`. Parts may be
/// left out from the start and between; the shortest paths come first. Empty when there are none.
pub fn fields(topic: &str) -> Vec<&'static Field> {
    let wanted: Vec<String> = parts(topic);
    if wanted.is_empty() || wanted.len() > 16 {
        return Vec::new();
    }
    let is_exact = |field: &Field| parts(field.path) == wanted;
    // `auth.type` is a path of HTTP tools; among the others it may be a parameter's that is called `auth`.
    let tables = match HTTP_FIELDS.iter().any(is_exact) && !FIELDS.iter().any(is_exact) {
        true => [&HTTP_FIELDS, &FIELDS],
        false => [&FIELDS, &HTTP_FIELDS],
    };
    let tables = tables.into_iter();
    tables.flat_map(|table| fields_of(table, &wanted)).collect()
}

/// The fields of one kind of files that a topic means.
fn fields_of(table: &'static [Field], wanted: &[String]) -> Vec<&'static Field> {
    let exact: Vec<&Field> = table
        .iter()
        .filter(|field| parts(field.path) == wanted)
        .collect();
    // `steps` is the list and its entry: both say something.
    if !exact.is_empty() {
        return exact;
    }
    // A name that is not a field was chosen by the author.
    let is_part = |word: &String| {
        let mut all = table.iter().flat_map(|field| parts(field.path));
        all.any(|part| part == *word)
    };
    let matches = |field: &&Field| {
        let has = parts(field.path);
        // The last part must be the field itself; the others must appear in order.
        let free = field.path.contains('*');
        if has.last() != wanted.last() {
            return false;
        }
        let mut has = has.iter();
        wanted
            .iter()
            .filter(|part| !free || is_part(part))
            .all(|part| has.any(|own| own == part))
    };
    let mut found: Vec<&Field> = table.iter().filter(matches).collect();
    found.sort_by_key(|field| parts(field.path).len());
    found
}

/// Paths near to a topic that means none.
pub fn near(topic: &str) -> Vec<&'static str> {
    let paths = all().map(|field| field.path);
    let last = |path: &'static str| path.rsplit('.').next().unwrap_or(path);
    let by_path = nearest(topic, paths.clone());
    if !by_path.is_empty() {
        return by_path;
    }
    let word = topic.rsplit('.').next().unwrap_or(topic);
    let by_name = nearest(word, paths.clone().map(last));
    paths
        .filter(|path| by_name.contains(&last(path)))
        .take(3)
        .collect()
}

/// The names in a path, without marks for lists and free keys.
fn parts(path: &str) -> Vec<String> {
    path.split('.')
        .map(|part| part.trim_end_matches("[]"))
        .filter(|part| !part.is_empty() && *part != "*")
        .map(str::to_owned)
        .collect()
}

impl Kind {
    /// What a field of this kind holds, in words.
    pub fn in_words(&self) -> String {
        match self {
            Kind::Text => "a text".to_owned(),
            Kind::Template => "a text with {NAME} for values".to_owned(),
            Kind::Program => "a command with {NAME} for values".to_owned(),
            Kind::Expression => "a JavaScript expression".to_owned(),
            Kind::Condition => {
                "true, false, or a JavaScript expression that gives one of them".to_owned()
            }
            Kind::Pattern => {
                "a regular expression (linear time: no look-around, no back-references)".to_owned()
            }
            Kind::Boolean => "true or false".to_owned(),
            Kind::Integer { least, most } => format!("a whole number from {least} to {most}"),
            Kind::Number => "a number".to_owned(),
            Kind::Time { least, most } => format!(
                "a time from {} to {}: milliseconds, or as 500ms, 5s, 2m",
                time_in_words(*least),
                time_in_words(*most)
            ),
            Kind::Size { least, most } => format!(
                "a size from {} to {}: bytes, or as 512MB, 2GB",
                size_in_words(*least),
                size_in_words(*most)
            ),
            Kind::Choice(words) => format!("one of {}", words.join(", ")),
            Kind::Choices(words) => format!("a list of {}", words.join(", ")),
            Kind::Integers { least, most } => {
                format!("a list of whole numbers from {least} to {most}")
            }
            Kind::Schema => "a JSON Schema".to_owned(),
            Kind::FieldsOrList => {
                "an object with the fields below, or a list of such objects".to_owned()
            }
            Kind::Texts => "a list of texts".to_owned(),
            Kind::TextOrTexts => "a text or a list of texts".to_owned(),
            Kind::Value => "any value".to_owned(),
            Kind::Values => "a list of any values".to_owned(),
            Kind::Fields => "a mapping with the fields below".to_owned(),
            Kind::Map => "a mapping by name".to_owned(),
            Kind::List => "a list".to_owned(),
        }
    }
}

/// The fields right below a field.
pub fn below(field: &Field) -> Vec<&'static Field> {
    let (path, table) = (field.path, table_of(field));
    table
        .iter()
        .filter(|field| {
            field.path.strip_prefix(path).is_some_and(|rest| {
                let rest = rest.trim_start_matches("[]").trim_start_matches(".*");
                rest.strip_prefix('.')
                    .is_some_and(|rest| !rest.contains(['.', '[']))
            })
        })
        .collect()
}

/// The table that a field is of.
fn table_of(field: &Field) -> &'static [Field] {
    match is_http(field) {
        true => &HTTP_FIELDS,
        false => &FIELDS,
    }
}

/// All fields of HTTP tools as a table in Markdown: the last part of docs/http-tools.md.
pub fn http_reference() -> String {
    table(&HTTP_FIELDS)
}

/// All fields of YAML tools as a table in Markdown: the last part of docs/yaml-tools.md.
pub fn reference() -> String {
    table(&FIELDS)
}

fn table(fields: &[Field]) -> String {
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    let mut page = String::from("| field | holds | default | meaning |\n|---|---|---|---|\n");
    for field in fields {
        let default = match field.default {
            Some(words) if words.contains([' ', '`']) => cell(words),
            Some(value) => format!("`{}`", cell(value)),
            None => String::new(),
        };
        let holds = cell(&field.kind.in_words()).replace("{NAME}", "`{NAME}`");
        page.push_str(&format!(
            "| `{}` | {holds} | {default} | {} |\n",
            field.path,
            cell(field.meaning)
        ));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(topic: &str) -> Vec<&'static str> {
        fields(topic).into_iter().map(|field| field.path).collect()
    }

    #[test]
    fn a_field_is_found_by_its_path_or_a_part_of_it() {
        assert_eq!(paths("security.isolation"), ["security.isolation"]);
        assert_eq!(paths("steps.retry"), ["steps[].error-handling.retry"]);
        assert_eq!(paths("isolation"), ["security.isolation"]);
        assert_eq!(paths("parameters.DIRECTORY.type"), ["parameters.*.type"]);
        assert_eq!(paths("steps"), ["steps", "steps[]"]);
        assert_eq!(paths("timeout"), ["timeout"]);
        assert!(paths("steps.isolation").is_empty());
        assert!(paths("").is_empty() && paths("no-such-field").is_empty());
    }

    #[test]
    fn a_misspelt_field_is_suggested() {
        assert_eq!(near("securty.isolation"), ["security.isolation"]);
        assert!(near("isolatoin").contains(&"security.isolation"));
    }

    #[test]
    fn what_is_below_a_field_is_listed() {
        let paths_below = |topic: &str| -> Vec<&str> {
            let field = fields(topic)[0];
            below(field).iter().map(|field| field.path).collect()
        };
        assert_eq!(paths_below("security").len(), 4);
        assert!(paths_below("steps").contains(&"steps[].name"));
        assert!(paths_below("impl").contains(&"impl.urlTemplate"));
        assert!(!paths_below("impl").contains(&"impl.auth.token"));
    }

    #[test]
    fn fields_of_http_tools_are_found_too() {
        assert_eq!(paths("impl.urlTemplate"), ["impl.urlTemplate"]);
        assert_eq!(paths("urlTemplate"), ["impl.urlTemplate"]);
        assert_eq!(paths("auth.type")[0], "auth.type", "not a parameter's");
        for field in HTTP_FIELDS.iter() {
            assert!(!field.meaning.starts_with("See"), "{}", field.path);
        }
        assert_eq!(paths("retry.max"), ["retry.max"]);
        // Both kinds of files have it.
        assert_eq!(paths("description"), ["description", "description"]);
        assert_eq!(near("impl.urlTempalte"), ["impl.urlTemplate"]);
    }
}
