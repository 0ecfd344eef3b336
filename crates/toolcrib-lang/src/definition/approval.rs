//! `requires-approval` of YAML tools and `requiresApproval` of JSON tools: [`RequiresApproval`].

use super::yaml::Style;
use super::{At, SpannedProblem};
use crate::template::{Condition, Names, TemplateProblem, Values};

/// Whether a tool wants a person to agree (S2: static, or by arguments).
#[derive(Debug, Clone, Default)]
pub enum RequiresApproval {
    /// The file does not say.
    #[default]
    Unsaid,
    /// Every call.
    Always,
    /// No call.
    Never,
    /// The calls for which this holds.
    If(Condition),
}

/// What `requires-approval` comes to in one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Required {
    /// Nothing: the file does not say.
    Unsaid,
    /// No approval, as far as the tool's effects are the only reason to ask.
    No,
    /// A person is to be asked, for this reason.
    Yes(String),
}

impl RequiresApproval {
    /// What it comes to with these arguments. An expression without a value asks.
    #[doc(hidden)]
    pub fn of_call(&self, values: &Values) -> Required {
        match self {
            RequiresApproval::Unsaid => Required::Unsaid,
            RequiresApproval::Never => Required::No,
            RequiresApproval::Always => Required::Yes("the tool requires approval".to_owned()),
            RequiresApproval::If(condition) => match condition.holds(values) {
                Ok(false) => Required::No,
                Ok(true) => Required::Yes(format!(
                    "the tool requires approval if `{}`",
                    condition.text()
                )),
                Err(error) => Required::Yes(format!(
                    "the tool requires approval if `{}`, and that cannot be evaluated: {error}",
                    condition.text()
                )),
            },
        }
    }

    /// When a person is asked, in words; `None` where it is never the reason.
    #[doc(hidden)]
    pub fn in_words(&self) -> Option<String> {
        match self {
            RequiresApproval::Unsaid | RequiresApproval::Never => None,
            RequiresApproval::Always => {
                Some("until granted: the tool requires approval".to_owned())
            }
            RequiresApproval::If(condition) => {
                Some(format!("until granted if `{}`", condition.text()))
            }
        }
    }

    /// Whether it lifts the ask that a tool's effects lead to, as far as that is known without arguments.
    #[doc(hidden)]
    pub fn may_lift(&self) -> bool {
        matches!(self, RequiresApproval::Never | RequiresApproval::If(_))
    }

    /// Whether an expression decides, which can take its time.
    #[doc(hidden)]
    pub fn evaluates(&self) -> bool {
        matches!(self, RequiresApproval::If(_))
    }

    /// Reads the text of a value; `names` are what `{NAME}` may stand for.
    #[doc(hidden)]
    pub fn parse(text: &str, names: &Names) -> Result<Self, Vec<TemplateProblem>> {
        match text {
            "true" => Ok(RequiresApproval::Always),
            "false" => Ok(RequiresApproval::Never),
            text => Condition::compile(text, names).map(RequiresApproval::If),
        }
    }

    /// The condition, if it is one.
    pub(crate) fn condition(&self) -> Option<&Condition> {
        match self {
            RequiresApproval::If(condition) => Some(condition),
            _ => None,
        }
    }
}

/// A value that YAML 1.1 reads as a boolean and that is none here, as `yes`.
pub(crate) fn near_boolean(at: At<'_, '_>) -> Option<SpannedProblem> {
    let scalar = at.scalar().filter(|scalar| scalar.style == Style::Plain)?;
    let instead = match scalar.text.to_ascii_lowercase().as_str() {
        "yes" | "on" | "true" | "always" => "true",
        "no" | "off" | "false" | "never" => "false",
        _ => return None,
    };
    if matches!(&*scalar.text, "true" | "false") {
        return None;
    }
    let message = format!("`{}` is not true, false or an expression", scalar.text);
    let found = SpannedProblem::error("wrong-type", at.span(), message);
    Some(
        found
            .help(format!("write `{instead}`"))
            .fix(at.span(), instead),
    )
}
