//! What a model (and a person reading a list) sees of a tool.

pub mod manifest;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use crate::effects::Effects;
use crate::hidden::{hides_something, without_hidden};
use crate::limits::LimitsPatch;
use crate::names::{Slug, Version, WireName};
use crate::schema::{self, Schema};

/// The published face of a tool. Everything that runs has one; every provider format is made
/// from it.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    /// The name models call.
    pub name: WireName,
    /// Other names that find the tool (S1 `list_files`, S3 `execute_bash`); never published.
    pub aliases: Vec<WireName>,
    /// The name people and URLs use.
    pub slug: Slug,
    /// The bundle the tool belongs to.
    pub bundle: Slug,
    /// Its version.
    pub version: Version,
    /// A short title for lists.
    pub title: Option<String>,
    /// What it does and when to use it.
    pub description: String,
    /// What it takes.
    pub input_schema: Arc<Schema>,
    /// What it returns, when that is promised.
    pub output_schema: Option<Arc<Schema>>,
    /// What it does to the world.
    pub effects: Effects,
    /// Facts about it beyond its effects.
    pub traits: Traits,
    /// Other spellings of parameters, as (accepted, published).
    pub synonyms: Vec<(String, String)>,
    /// What parameters are about, as (published name, role), for rules, approvals and grants; a parameter without a role is
    /// plain data to them.
    pub roles: Vec<(String, Role)>,
    /// Where its requests go whatever its arguments are (`https://api.example.com`); rules judge their hosts like those that
    /// arguments name.
    pub urls: Vec<String>,
    /// When the tool itself has a person asked, in words; `None`: never.
    pub asks: Option<String>,
    /// Arguments that show how it is used.
    pub examples: Vec<Value>,
    /// Categories for search.
    pub tags: Vec<String>,
    /// More words it is found by.
    pub keywords: Vec<String>,
    /// A digest of what the tool is made of, where the rest of the spec does not show it (the file of a YAML tool): approvals
    /// and grants are bound to it.
    pub content_digest: Option<String>,
    /// Whether a person has accepted its definition as it is, and a changed one is refused: such a tool can be granted as a whole, though no
    /// one knows what it does.
    pub pinned: bool,
    /// Whether it talks to a person on a terminal while it runs.
    pub interactive: bool,
    /// Whether it looks at something slow (a repository, a database) before it says whether a person is to be asked (`Look::later`):
    /// that is done off the async threads then, as it always is for tools that change files.
    pub looks_first: bool,
    /// The limits the tool itself sets.
    pub limits: LimitsPatch,
}

/// Facts about a tool beyond its effects, for programs that show it to others. Calls are never judged by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traits {
    /// Whether something can be lost by it; a tool that does more than read is taken to destroy if no one says otherwise.
    pub destroys: Option<bool>,
    /// Whether the same call made twice changes no more than made once.
    pub idempotent: Option<bool>,
    /// Whether it deals with what is outside of this machine.
    pub open_world: Option<bool>,
}

/// What a parameter is about: how rules read its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// The text of a bash command.
    Shell,
    /// A program; its language is the value of another parameter, and bash is read like [`Role::Shell`].
    Code {
        /// The parameter that names the language.
        language: String,
    },
    /// The directory, relative to the workspace, that shell text or code starts in.
    Directory,
    /// A path in the workspace that is read.
    ReadPath,
    /// A path in the workspace that is made, changed or removed.
    WritePath,
    /// A URL that is asked.
    Url,
}

impl ToolSpec {
    /// A spec with a name, a description and what the tool takes; the rest has plain defaults:
    /// slug derived from the name, bundle `app`, version `v1`, effects unknown.
    pub fn new(
        name: WireName,
        description: impl Into<String>,
        input_schema: impl Into<Arc<Schema>>,
    ) -> Self {
        ToolSpec {
            slug: Slug::from_wire(&name),
            name,
            aliases: Vec::new(),
            bundle: app_bundle(),
            version: Version::v1(),
            title: None,
            description: description.into(),
            input_schema: input_schema.into(),
            output_schema: None,
            effects: Effects::UNKNOWN,
            traits: Traits::default(),
            synonyms: Vec::new(),
            roles: Vec::new(),
            urls: Vec::new(),
            asks: None,
            examples: Vec::new(),
            tags: Vec::new(),
            keywords: Vec::new(),
            content_digest: None,
            pinned: false,
            interactive: false,
            looks_first: false,
            limits: LimitsPatch::default(),
        }
    }

    /// What a person should know before trusting the looks of this tool: a slug that mixes scripts
    /// and may pass for another, hidden characters in what models and people read.
    pub fn warnings(&self) -> Vec<&'static str> {
        let mut warnings = Vec::new();
        if self.slug.mixes_scripts() {
            warnings.push("the slug mixes scripts and may pass for another");
        }
        if self.hides_something() {
            warnings.push("the description has hidden characters");
        }
        warnings
    }

    /// Whether a text that models and people read has hidden characters.
    fn hides_something(&self) -> bool {
        let mut texts = std::iter::once(&self.description).chain(&self.title);
        let mut schemas = std::iter::once(&self.input_schema).chain(&self.output_schema);
        texts.any(|text| hides_something(text))
            || schemas.any(|schema| schema::hidden::in_texts(schema.as_value()))
    }

    /// What models get of it: the same without hidden characters in its texts. Names and values cannot have any, since no
    /// schema with such is accepted.
    pub fn for_models(&self) -> Cow<'_, ToolSpec> {
        if !self.hides_something() {
            return Cow::Borrowed(self);
        }
        let schema = |schema: &Arc<Schema>| {
            let cleaned = schema::hidden::without(schema.as_value()).into_owned();
            // It has the shape that was accepted before.
            Schema::output(cleaned).map_or_else(|_| Arc::clone(schema), Arc::new)
        };
        Cow::Owned(ToolSpec {
            title: self
                .title
                .as_deref()
                .map(|title| without_hidden(title).into_owned()),
            description: without_hidden(&self.description).into_owned(),
            input_schema: schema(&self.input_schema),
            output_schema: self.output_schema.as_ref().map(schema),
            ..self.clone()
        })
    }

    /// The first example as words for `toolcrib run`, quoted for a shell.
    pub fn example_line(&self) -> Option<String> {
        let example = self.examples.first()?.as_object()?;
        let words = example.iter().map(|(name, value)| {
            let value = match value {
                Value::String(text) => quoted(text),
                other => quoted(&other.to_string()),
            };
            format!(" {name}={value}")
        });
        Some(format!("{}{}", self.name, words.collect::<String>()))
    }

    /// `bundle/slug@version`, the reference that names exactly this tool.
    pub fn reference(&self) -> String {
        format!("{}/{}@{}", self.bundle, self.slug, self.version)
    }
}

/// A word as a shell takes it.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The bundle of tools that a program registers itself.
fn app_bundle() -> Slug {
    static APP: std::sync::LazyLock<Slug> =
        std::sync::LazyLock::new(|| Slug::parse("app").expect("a valid slug"));
    APP.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_is_quoted_for_a_shell() {
        let mut spec = ToolSpec::new(
            WireName::fit("say"),
            "Says",
            Schema::object().build().unwrap(),
        );
        assert_eq!(spec.example_line(), None);
        spec.examples = vec![serde_json::json!({"text": "it's $5", "count": 3, "all": [1]})];
        let line = spec.example_line().unwrap();
        assert_eq!(line, r"say text='it'\''s $5' count=3 all='[1]'");
    }

    #[test]
    fn deceptive_looks_are_flagged() {
        let mut spec = ToolSpec::new(
            WireName::fit("apple"),
            "Plain words",
            Schema::object().build().unwrap(),
        );
        assert!(spec.warnings().is_empty());
        spec.slug = Slug::parse("\u{430}pple").unwrap();
        spec.description = "Ignore\u{e0041}\u{202e} this".to_owned();
        assert_eq!(spec.warnings().len(), 2);
        spec.slug = Slug::parse("apple").unwrap();
        spec.description = "Plain words".to_owned();
        let property = serde_json::json!({"type": "string", "description": "x\u{200b}"});
        spec.input_schema =
            Arc::new(Schema::create(serde_json::json!({"a": property}), &[]).unwrap());
        assert_eq!(spec.warnings(), ["the description has hidden characters"]);
    }

    #[test]
    fn models_get_no_hidden_characters() {
        let schema = |text: &str| {
            let property = serde_json::json!({"type": "string", "description": text});
            Schema::create(serde_json::json!({"a": property}), &[]).unwrap()
        };
        let mut spec = ToolSpec::new(
            WireName::fit("add"),
            "Adds\u{e0041} two",
            schema("One\u{202e}"),
        );
        spec.title = Some("A\u{200b}dd".to_owned());
        spec.output_schema = Some(Arc::new(schema("Sum\u{feff}")));
        let clean = spec.for_models();
        assert_eq!(clean.description, "Adds two");
        assert_eq!(clean.title.as_deref(), Some("Add"));
        assert_eq!(clean.input_schema.as_value(), schema("One").as_value());
        assert_eq!(
            clean.output_schema.as_ref().unwrap().as_value(),
            schema("Sum").as_value()
        );
        assert_eq!(clean.name, spec.name);
        assert!(matches!(clean.for_models(), Cow::Borrowed(_)));
    }
}
