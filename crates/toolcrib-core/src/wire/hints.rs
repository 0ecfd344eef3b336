//! A tool's effects as reported to MCP clients: [`Hints`].
//!
//! Only what is known: effects, and the tool's [`Traits`](crate::Traits). Where nothing is known nothing is said, since MCP's own defaults
//! are the cautious ones. They are for clients that show tools; no call is ever judged by them.

use serde_json::{Map, Value};

use crate::spec::{Role, ToolSpec};

/// The tag by which an author says that a tool that writes takes nothing away.
const ADDITIVE: &str = "additive";

/// MCP's hints about a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hints {
    /// `readOnlyHint`.
    pub read_only: Option<bool>,
    /// `destructiveHint`; of a tool that only reads there is none.
    pub destructive: Option<bool>,
    /// `idempotentHint`; of a tool that only reads there is none.
    pub idempotent: Option<bool>,
    /// `openWorldHint`.
    pub open_world: Option<bool>,
}

/// How careful a client has to be with a tool: by which of the tools that call others it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Care {
    /// It only reads.
    Reads,
    /// It writes, and says that it takes nothing away.
    Adds,
    /// Anything else, and what no one knows.
    MayDestroy,
}

impl Hints {
    /// Known facts about a tool.
    pub fn of(spec: &ToolSpec) -> Self {
        let (effects, traits) = (spec.effects, spec.traits);
        let reaches_out =
            !spec.urls.is_empty() || spec.roles.iter().any(|(_, role)| matches!(role, Role::Url));
        let open_world = traits.open_world.or(reaches_out.then_some(true));
        if effects.is_read_only() {
            return Hints {
                read_only: Some(true),
                open_world,
                ..Hints::default()
            };
        }
        let is_additive = || {
            let says_so = spec.tags.iter().any(|tag| tag == ADDITIVE);
            says_so
                && !effects.is_unknown()
                && !effects.contains(crate::model::effects::Effects::RUN)
        };
        let destroys = traits.destroys.or_else(|| is_additive().then_some(false));
        Hints {
            read_only: (!effects.is_unknown()).then_some(false),
            destructive: destroys.or((!effects.is_unknown()).then_some(true)),
            idempotent: traits.idempotent,
            open_world,
        }
    }

    /// How careful a client has to be.
    pub fn care(self) -> Care {
        match (self.read_only, self.destructive) {
            (Some(true), _) => Care::Reads,
            (Some(false), Some(false)) => Care::Adds,
            _ => Care::MayDestroy,
        }
    }

    /// As MCP writes them, with the tool's title among them; `None` if there is nothing to say.
    pub fn annotations(self, title: Option<&str>) -> Option<Value> {
        let mut fields = Map::new();
        if let Some(title) = title {
            fields.insert("title".to_owned(), title.into());
        }
        let hints = [
            ("readOnlyHint", self.read_only),
            ("destructiveHint", self.destructive),
            ("idempotentHint", self.idempotent),
            ("openWorldHint", self.open_world),
        ];
        for (name, hint) in hints {
            if let Some(hint) = hint {
                fields.insert(name.to_owned(), hint.into());
            }
        }
        (!fields.is_empty()).then_some(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::effects::Effects;
    use crate::model::names::WireName;
    use crate::schema::Schema;
    use crate::spec::Traits;

    fn spec(effects: Effects, tags: &[&str]) -> ToolSpec {
        let schema = Schema::object().build().unwrap();
        let mut spec = ToolSpec::new(WireName::fit("tool"), "Does", schema);
        spec.effects = effects;
        spec.tags = tags.iter().map(ToString::to_string).collect();
        spec
    }

    #[test]
    fn what_writes_is_taken_to_destroy_unless_it_says_otherwise() {
        let care = |effects, tags: &[&str]| Hints::of(&spec(effects, tags)).care();
        assert_eq!(care(Effects::READ, &[]), Care::Reads);
        assert_eq!(care(Effects::WRITE, &["write"]), Care::MayDestroy);
        assert_eq!(care(Effects::WRITE, &["additive"]), Care::Adds);
        // What a program does, no tag knows.
        let runs = Effects::WRITE.and(Effects::RUN);
        assert_eq!(care(runs, &["additive"]), Care::MayDestroy);
        assert_eq!(care(Effects::UNKNOWN, &["additive"]), Care::MayDestroy);
    }

    #[test]
    fn nothing_is_claimed_about_what_no_one_knows() {
        assert_eq!(Hints::of(&spec(Effects::UNKNOWN, &[])), Hints::default());
        let mut known = spec(Effects::WRITE, &[]);
        known.traits = Traits {
            destroys: Some(true),
            idempotent: Some(true),
            open_world: Some(false),
        };
        let annotations = Hints::of(&known).annotations(Some("Tool"));
        assert_eq!(
            annotations.unwrap(),
            serde_json::json!({"title": "Tool", "readOnlyHint": false, "destructiveHint": true,
                "idempotentHint": true, "openWorldHint": false})
        );
    }

    #[test]
    fn what_asks_a_url_reaches_into_the_open_world() {
        let mut http = spec(Effects::READ, &[]);
        http.urls = vec!["https://api.example.com".to_owned()];
        assert_eq!(Hints::of(&http).open_world, Some(true));
    }
}
