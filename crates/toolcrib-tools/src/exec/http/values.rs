//! The replacement for a placeholder, for its three users: the check of the arguments ([`Faults`]), the person who is
//! asked ([`Shown`]) and the request itself ([`Values`]). Only the last one sees secrets.

use serde_json::Value;

use super::encode::{Position, encode, encode_text};
use crate::egress::Target;
use crate::manifest::{HttpDefinition, Part, Placeholder, Template};
use crate::model::JsonObject;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::secret::Secret;
use crate::model::text;
use crate::schema::{Fault, pointer_to};
use crate::secret::{Asker, SecretStore};

/// Fills placeholders in.
pub(super) trait Fill {
    /// Writes the value of a placeholder for its position.
    fn fill(
        &mut self,
        placeholder: &Placeholder,
        position: Position,
        out: &mut String,
    ) -> Result<Filled, Unfit>;

    /// Hears why what was filled in cannot be sent; the error ends the filling.
    fn unfit(&mut self, unfit: Unfit) -> Result<(), Unfit> {
        Err(unfit)
    }
}

/// What a placeholder was filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filled {
    /// Its value.
    Value,
    /// Something else: the value is not known yet, or not shown.
    Else,
}

/// Why a placeholder cannot be filled in.
#[derive(Debug)]
pub(super) enum Unfit {
    /// It has no value, or one that cannot stand there.
    Value {
        placeholder: Placeholder,
        /// Reads on from its name.
        why: String,
    },
    /// Its value is not available.
    Error(ToolError),
}

impl Unfit {
    pub(super) fn value(placeholder: &Placeholder, why: impl Into<String>) -> Self {
        Unfit::Value {
            placeholder: placeholder.clone(),
            why: why.into(),
        }
    }
}

impl From<Unfit> for ToolError {
    fn from(unfit: Unfit) -> Self {
        let (placeholder, why) = match unfit {
            Unfit::Error(error) => return error,
            Unfit::Value { placeholder, why } => (placeholder, why),
        };
        let name = placeholder.name();
        match &placeholder {
            Placeholder::Argument(_) => {
                ToolError::new(ErrorCode::InvalidArguments, format!("`{name}` {why}"))
            }
            Placeholder::Secret(_) => ToolError::new(
                ErrorCode::ToolUnavailable,
                format!("the secret `{name}` {why}; `toolcrib secret set {name}` sets another one"),
            ),
            Placeholder::BuiltIn(_) => ToolError::new(
                ErrorCode::ToolUnavailable,
                format!("the tool's own `{name}` {why}"),
            ),
            Placeholder::Previous => ToolError::new(
                ErrorCode::UpstreamError,
                format!("`${{{name}}}`, which the request before gave, {why}"),
            ),
        }
    }
}

/// Why an argument has to be there.
fn absent(name: &str, position: Position) -> String {
    format!(
        "is needed for this call: `${{{name}}}` is used in {} and has no value",
        position.in_words()
    )
}

/// The argument of this name, written for its position.
fn fill_argument(
    args: &JsonObject,
    placeholder: &Placeholder,
    name: &str,
    position: Position,
    out: &mut String,
) -> Result<Filled, Unfit> {
    let value = args
        .get(name)
        // JSON has a word for it.
        .filter(|value| !value.is_null() || position == Position::JsonValue)
        .ok_or_else(|| Unfit::value(placeholder, absent(name, position)))?;
    encode(value, position, out).map_err(|why| Unfit::value(placeholder, why))?;
    Ok(Filled::Value)
}

/// The values of one request: arguments, secrets, what the request before gave.
pub(super) struct Values<'a> {
    pub(super) definition: &'a HttpDefinition,
    pub(super) asker: &'a Asker,
    pub(super) args: &'a JsonObject,
    pub(super) secrets: Option<&'a SecretStore>,
    /// Whom the request is for.
    pub(super) target: &'a Target,
    pub(super) previous: &'a Value,
}

impl Values<'_> {
    /// A template of `auth` as text, secrets and all, for a request to this target.
    pub(super) fn credential(
        &self,
        template: &Template,
        target: &Target,
    ) -> Result<Secret, ToolError> {
        let mut text = String::new();
        for part in &template.parts {
            match part {
                Part::Literal(literal) => text.push_str(literal),
                Part::Value(placeholder) => {
                    self.write(placeholder, Position::Credential, target, &mut text)?;
                }
            }
        }
        Ok(Secret::new(text))
    }

    fn write(
        &self,
        placeholder: &Placeholder,
        position: Position,
        target: &Target,
        out: &mut String,
    ) -> Result<Filled, Unfit> {
        let misfit = |why| Unfit::value(placeholder, why);
        match placeholder {
            Placeholder::Argument(name) => {
                return fill_argument(self.args, placeholder, name, position, out);
            }
            Placeholder::BuiltIn(variable) => {
                encode_text(self.definition.built_in(*variable), position, out).map_err(misfit)?;
            }
            Placeholder::Previous => {
                if let Some(store) = self.secrets {
                    let passed = store.check_passing_on(self.previous, self.asker, target);
                    passed.map_err(|error| {
                        Unfit::Error(ToolError::new(
                            ErrorCode::ToolUnavailable,
                            format!(
                                "`${{prev.value}}` has a secret in it that must not go on: {error}"
                            ),
                        ))
                    })?;
                }
                encode(self.previous, position, out).map_err(misfit)?;
            }
            Placeholder::Secret(name) => {
                let store = self.secrets.ok_or_else(|| {
                    Unfit::Error(ToolError::new(
                        ErrorCode::ToolUnavailable,
                        format!("the tool needs the secret `{}`, and there is no home that keeps secrets", name.as_str()),
                    ))
                })?;
                let secret = store
                    .reveal(name, self.asker, target)
                    .map_err(|error| Unfit::Error(error.into()))?;
                encode_text(secret.expose(), position, out).map_err(misfit)?;
            }
        }
        Ok(Filled::Value)
    }
}

impl Fill for Values<'_> {
    fn fill(
        &mut self,
        placeholder: &Placeholder,
        position: Position,
        out: &mut String,
    ) -> Result<Filled, Unfit> {
        self.write(placeholder, position, self.target, out)
    }
}

/// Checks arguments where they stand, and finds every fault.
pub(super) struct Faults<'a> {
    definition: &'a HttpDefinition,
    args: &'a JsonObject,
    found: Vec<Fault>,
}

impl<'a> Faults<'a> {
    pub(super) fn new(definition: &'a HttpDefinition, args: &'a JsonObject) -> Self {
        Faults {
            definition,
            args,
            found: Vec::new(),
        }
    }

    /// What was found, each once.
    pub(super) fn into_found(self) -> Vec<Fault> {
        self.found
    }

    pub(super) fn add(&mut self, pointer: String, message: String) {
        if !self.found.iter().any(|fault| fault.pointer == pointer) {
            self.found.push(Fault { pointer, message });
        }
    }
}

impl Fill for Faults<'_> {
    fn fill(
        &mut self,
        placeholder: &Placeholder,
        position: Position,
        out: &mut String,
    ) -> Result<Filled, Unfit> {
        match placeholder {
            Placeholder::Argument(name) => {
                match fill_argument(self.args, placeholder, name, position, out) {
                    Ok(filled) => Ok(filled),
                    Err(unfit) => self.unfit(unfit).map(|()| Filled::Else),
                }
            }
            Placeholder::BuiltIn(variable) => {
                let text = self.definition.built_in(*variable);
                encode_text(text, position, out).map_err(|why| Unfit::value(placeholder, why))?;
                Ok(Filled::Value)
            }
            Placeholder::Secret(_) | Placeholder::Previous => Ok(Filled::Else),
        }
    }

    fn unfit(&mut self, unfit: Unfit) -> Result<(), Unfit> {
        match unfit {
            Unfit::Value {
                placeholder: Placeholder::Argument(name),
                why,
            } => {
                self.add(pointer_to("", &name), why);
                Ok(())
            }
            other => Err(other),
        }
    }
}

/// What a person reads: arguments as they are sent, words for the rest.
pub(super) struct Shown<'a> {
    pub(super) definition: &'a HttpDefinition,
    pub(super) args: &'a JsonObject,
    /// Arguments that are secrets: their values are shown to no one.
    pub(super) masked: &'a JsonObject,
}

impl Fill for Shown<'_> {
    fn fill(
        &mut self,
        placeholder: &Placeholder,
        position: Position,
        out: &mut String,
    ) -> Result<Filled, Unfit> {
        match placeholder {
            Placeholder::Argument(name) => {
                let start = out.len();
                if self.masked.get(name) != self.args.get(name) {
                    out.push_str(&format!("[argument {name}]"));
                } else if fill_argument(self.args, placeholder, name, position, out).is_err() {
                    // The check of the arguments refuses the call; here it must only not get lost.
                    out.truncate(start);
                    out.push_str(&format!("[argument {name}]"));
                }
            }
            Placeholder::BuiltIn(variable) => {
                out.push_str(&text::visible(self.definition.built_in(*variable)));
            }
            Placeholder::Secret(name) => out.push_str(&format!("[secret {}]", name.as_str())),
            Placeholder::Previous => out.push_str("[value of the request before]"),
        }
        Ok(Filled::Else)
    }

    fn unfit(&mut self, _unfit: Unfit) -> Result<(), Unfit> {
        Ok(())
    }
}
