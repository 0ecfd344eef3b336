//! What a tool is called, what it is for, and what it may use.

use super::Reader;
use crate::definition::approval::near_boolean;
use crate::definition::problem::SpannedProblem;
use crate::definition::{At, RequiresApproval};
use crate::model::effects::Effects;
use crate::model::limits::LimitsPatch;
use crate::model::names::{Slug, Version, WireName};
use crate::model::text::{nearest, shorten};
use crate::template::{Condition, NamedParameter, Names, ParameterKind};

/// The tags that say what a tool does.
const SECURITY: &[&str] = &["read", "write", "run"];

/// `limits`, as far as this kind of tool knows more than calls do.
pub(super) struct ReadLimits {
    pub(super) call: LimitsPatch,
    pub(super) max_sent: Option<u64>,
    pub(super) max_received: Option<u64>,
}

impl Reader<'_, '_> {
    /// What kind of tool it is; only HTTP tools are files of this form.
    pub(super) fn kind(&mut self, root: At<'_, '_>) {
        if let Some(kind) = root.choice("type").filter(|kind| *kind != "http") {
            let help = match kind {
                "go" | "rust" => {
                    "a function is compiled into the program that uses Toolcrib as a library; a file cannot bring one"
                }
                "command" => {
                    "a tool that runs a command is a `.yaml` file: `toolcrib new NAME` makes one"
                }
                "alias" => "an alias is a `.yaml` file with `type: alias` and `base-tool`",
                _ => "tools of MCP servers come from the servers, not from files",
            };
            let at = root.get("type").map_or(0..0, At::span);
            let message = format!("a `.json` file holds an HTTP tool, not one of type `{kind}`");
            self.found
                .push(SpannedProblem::error("not-http", at, message).help(help));
        }
        if root.boolean("isBuiltIn") == Some(true) {
            let message = "a file cannot be a built-in tool";
            self.found.push(
                SpannedProblem::error("not-http", root.key_span("isBuiltIn"), message)
                    .help("write `\"isBuiltIn\": false`, or remove it"),
            );
        }
    }

    /// The name for models and the one for people.
    pub(super) fn names(&mut self, root: At<'_, '_>, stem: &str) -> Option<(WireName, Slug)> {
        let slug = root.get("slug").and_then(|at| Some((at, at.text()?)));
        let name = root.get("name").and_then(|at| Some((at, at.text()?)));
        let name = match name {
            Some((at, text)) => match WireName::parse(text) {
                Ok(name) => Some(Some(name)),
                Err(why) => {
                    self.bad_name(
                        at.span(),
                        "`name`",
                        text,
                        &why.to_string(),
                        "choose another name, as in `weather`",
                    );
                    Some(None)
                }
            },
            None => None,
        };
        let slug = match (slug, &name) {
            (Some((at, text)), _) => match Slug::parse(text) {
                Ok(slug) => Some(slug),
                Err(why) => {
                    self.bad_name(
                        at.span(),
                        "`slug`",
                        text,
                        &why.to_string(),
                        "letters, digits and `-`, as in `weather-report`",
                    );
                    None
                }
            },
            (None, Some(Some(name))) => Some(Slug::from_wire(name)),
            (None, Some(None)) => None,
            (None, None) => {
                let own = Slug::parse(stem).or_else(|why| match WireName::parse(stem) {
                    Ok(name) => Ok(Slug::from_wire(&name)),
                    Err(_) => Err(why),
                });
                match own {
                    Ok(slug) => Some(slug),
                    Err(why) => {
                        let whose = "the name of the file, which is the tool's,";
                        self.bad_name(
                            0..0,
                            whose,
                            stem,
                            &why.to_string(),
                            "rename the file, or give a `slug`",
                        );
                        None
                    }
                }
            }
        };
        let is_given = root.get("slug").is_some();
        let slug = slug?;
        let name = match name {
            Some(name) => name?,
            None => match WireName::parse(stem) {
                Ok(stem) if !is_given => stem,
                _ => WireName::derive(&slug),
            },
        };
        Some((name, slug))
    }

    fn bad_name(
        &mut self,
        span: std::ops::Range<usize>,
        whose: &str,
        text: &str,
        why: &str,
        help: &str,
    ) {
        let message = format!(
            "{whose} `{}` cannot be a tool's name: {why}",
            shorten(text, 60)
        );
        self.found
            .push(SpannedProblem::error("bad-name", span, message).help(help));
    }

    pub(super) fn version(&mut self, root: At<'_, '_>) -> Option<Version> {
        let Some(at) = root.get("version") else {
            return Some(Version::v1());
        };
        match Version::parse(at.text()?) {
            Ok(version) => Some(version),
            Err(why) => {
                let message = format!("`version` cannot be this: {why}");
                self.found.push(
                    SpannedProblem::error("bad-name", at.span(), message)
                        .help("write a version as in `v2` or `1.0.0`"),
                );
                None
            }
        }
    }

    pub(super) fn description(&mut self, root: At<'_, '_>) -> String {
        let text = root.text_of("description").unwrap_or_default();
        if root.get("description").is_none() {
            if !self.found.suggests("description") {
                let message = "the tool has no `description`, which is what a model decides by";
                self.found.push(
                    SpannedProblem::error("missing-field", 0..0, message)
                        .help("add `\"description\": \"Fetch current weather for a city\"`"),
                );
            }
        } else if text.trim().is_empty() {
            let message = "`description` is blank; it is what a model decides by";
            self.found.push(SpannedProblem::error(
                "missing-value",
                root.key_span("description"),
                message,
            ));
        }
        text.trim_end().to_owned()
    }

    /// `requiresApproval`; `None` where it cannot be read.
    pub(super) fn requires_approval(&mut self, root: At<'_, '_>) -> Option<RequiresApproval> {
        let Some(at) = root.get("requiresApproval") else {
            return Some(RequiresApproval::Unsaid);
        };
        let source = at.text()?;
        if let Some(found) = near_boolean(at) {
            self.found.push(found);
            return None;
        }
        let parameters = self.arguments.iter().map(|argument| NamedParameter {
            name: argument.name.clone(),
            kind: ParameterKind::String,
            format: None,
            raw: false,
        });
        let names = Names {
            parameters: parameters.collect(),
            ..Names::default()
        };
        match RequiresApproval::parse(source, &names) {
            Ok(read) => {
                let condition = read.condition();
                for named in condition.into_iter().flat_map(Condition::references) {
                    let used = self.arguments.iter_mut();
                    for argument in { used }.filter(|one| one.name == named.to_string()) {
                        argument.is_used = true;
                    }
                }
                for problem in condition.into_iter().flat_map(Condition::warnings) {
                    let mut found =
                        SpannedProblem::warning(problem.code, at.span(), problem.message.clone());
                    found.help.clone_from(&problem.fix);
                    self.found.push(found);
                }
                Some(read)
            }
            Err(problems) => {
                for problem in problems {
                    let mut found = SpannedProblem::error(problem.code, at.span(), problem.message);
                    found.help = problem.fix;
                    self.found.push(found);
                }
                None
            }
        }
    }

    /// `tags`. `only_reads`: what the methods say; `decides`: whether `requiresApproval` says who is asked.
    pub(super) fn tags(
        &mut self,
        root: At<'_, '_>,
        only_reads: bool,
        decides: bool,
    ) -> Vec<String> {
        let tags = root.texts("tags");
        for item in root.get("tags").map(At::nodes).unwrap_or_default() {
            let Some(text) = item.text() else { continue };
            let near = SECURITY
                .iter()
                .find(|tag| text != **tag && text.eq_ignore_ascii_case(tag));
            if let Some(tag) = near {
                let message = format!("the tag `{text}` is not the security tag `{tag}`");
                self.found.push(
                    SpannedProblem::warning("no-security-tag", item.span(), message)
                        .help(format!("write `\"{tag}\"`"))
                        .fix(item.span(), format!("\"{tag}\"")),
                );
                return tags;
            }
        }
        let declared = Effects::from_tags(tags.iter().map(String::as_str));
        if only_reads || decides || self.found.suggests("tags") {
            return tags;
        }
        let at = match root.has("tags") {
            true => root.key_span("tags"),
            false => 0..0,
        };
        if declared.is_read_only() {
            let message = "the tool is tagged only `read`, and a method of its requests writes, so it counts as one that writes and asks";
            let help =
                "write the tag `write`, or `\"requiresApproval\": false` if the request only reads";
            self.found
                .push(SpannedProblem::warning("read-tag", at, message).help(help));
        } else if declared.is_unknown() {
            let message = "a method of the requests writes, and the tool has none of the tags read, write, run, so a call asks a person until a grant covers it";
            let near = tags
                .iter()
                .find_map(|tag| nearest(tag, SECURITY.iter().copied()).first().copied());
            let help = match near {
                Some(near) => format!("did you mean the tag `{near}`?"),
                None => "if that is meant, write `\"requiresApproval\": true`; if not, `\"tags\": [\"write\"]`".to_owned(),
            };
            self.found
                .push(SpannedProblem::warning("no-security-tag", at, message).help(help));
        }
        tags
    }
}

/// Reads `limits`.
pub(super) fn limits(root: At<'_, '_>) -> ReadLimits {
    let number = |name: &str| root.get("limits")?.integer(name);
    let wide = |name: &str| number(name).and_then(|value| u64::try_from(value).ok());
    let narrow = |name: &str| number(name).and_then(|value| u32::try_from(value).ok());
    ReadLimits {
        call: LimitsPatch {
            timeout_ms: wide("timeoutMs"),
            max_input_bytes: wide("maxInputBytes"),
            max_output_bytes: wide("maxOutputBytes"),
            max_calls_per_minute: narrow("maxCallsPerMinute"),
            max_concurrent: narrow("maxConcurrent"),
        },
        max_sent: wide("maxSentBytes"),
        max_received: wide("maxReceivedBytes"),
    }
}
