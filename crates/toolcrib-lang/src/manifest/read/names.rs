//! What a placeholder's name means: an argument, a built-in variable, the value before, else a secret.

use std::ops::Range;

use super::Reader;
use crate::definition::At;
use crate::definition::problem::SpannedProblem;
use crate::manifest::json;
use crate::manifest::template::PREVIOUS;
use crate::manifest::{BuiltIn, Part, Placeholder, Template};
use crate::model::secret::SecretName;
use crate::model::text::{fold, shorten};

use super::scan::{Piece, What, scan};

/// What a template may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// Everything; `${prev.value}` only if a request is before.
    All {
        /// Whether it is the first request.
        is_first: bool,
    },
    /// Secrets and nothing else: a credential.
    Secrets,
}

impl Reader<'_, '_> {
    /// Where a part of a text is in the file.
    pub(super) fn spot(&self, at: At<'_, '_>, part: &Range<usize>) -> Range<usize> {
        let (file, span) = (self.found.text, at.span());
        let mut followed = self.followed.get();
        let start = json::place(file, &span, part.start, &mut followed);
        let end = json::place(file, &span, part.end, &mut followed);
        self.followed.set(followed);
        start..end.max(start)
    }

    pub(super) fn error(
        &mut self,
        code: &'static str,
        at: At<'_, '_>,
        part: &Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let span = self.spot(at, part);
        self.found
            .push(SpannedProblem::error(code, span, message).help(help));
    }

    /// A template that may stand anywhere in a text without line ends.
    pub(super) fn template(&mut self, at: At<'_, '_>, names: Names) -> Option<Template> {
        let text = at.text()?;
        self.no_controls(at, text);
        self.filled(at, &scan(text), names)
    }

    /// The template of some pieces; what is wrong with them is said, and then there is none.
    pub(super) fn filled(
        &mut self,
        at: At<'_, '_>,
        pieces: &[Piece<'_>],
        names: Names,
    ) -> Option<Template> {
        let mut parts: Vec<Part> = Vec::new();
        let mut is_whole = true;
        for piece in pieces {
            match piece.what {
                What::Text(text) => match parts.last_mut() {
                    Some(Part::Literal(before)) => before.push_str(text),
                    _ => parts.push(Part::Literal(text.to_owned())),
                },
                What::Name(_) | What::Unclosed => match self.placeholder(at, piece, names) {
                    Some(placeholder) => parts.push(Part::Value(placeholder)),
                    None => is_whole = false,
                },
            }
        }
        is_whole.then_some(Template { parts })
    }

    /// What a placeholder stands for.
    pub(super) fn placeholder(
        &mut self,
        at: At<'_, '_>,
        piece: &Piece<'_>,
        names: Names,
    ) -> Option<Placeholder> {
        let name = match piece.what {
            What::Text(_) => return None,
            What::Name(name) => name,
            What::Unclosed => {
                let message = "the placeholder that begins here has no `}`";
                let help = "write `${NAME}`; a literal `${` is written `$${`";
                self.error("unclosed-placeholder", at, &piece.span, message, help);
                return None;
            }
        };
        let meant = self.meaning(name, names);
        match meant {
            Ok(placeholder) => {
                self.note_use(at, &piece.span, &placeholder);
                Some(placeholder)
            }
            Err((code, message, help)) => {
                let span = self.spot(at, &piece.span);
                let problem = SpannedProblem::error(code, span.clone(), message).help(help);
                let trimmed = name.trim();
                let is_slip = trimmed != name && self.meaning(trimmed, names).is_ok();
                self.found.push(match is_slip {
                    true => problem.fix(span, format!("${{{trimmed}}}")),
                    false => problem,
                });
                None
            }
        }
    }

    fn meaning(
        &self,
        name: &str,
        names: Names,
    ) -> Result<Placeholder, (&'static str, String, String)> {
        let shown = shorten(name, 60);
        let is_argument = self.arguments_by_name.contains_key(name);
        let variable = BuiltIn::ALL
            .into_iter()
            .find(|variable| variable.name() == name);
        if names == Names::Secrets {
            if is_argument {
                return Err((
                    "argument-as-credential",
                    format!("`{shown}` is an argument, and an argument never becomes a credential"),
                    "name a secret that no argument has the name of: `toolcrib secret set NAME` keeps one".to_owned(),
                ));
            }
            if variable.is_some() || name == PREVIOUS {
                return Err((
                    "bad-placeholder",
                    format!("`${{{shown}}}` is not a secret, and credentials may only use secrets"),
                    "`toolcrib secret set NAME` keeps a secret".to_owned(),
                ));
            }
        }
        if is_argument {
            return Ok(Placeholder::Argument(name.to_owned()));
        }
        if let Some(variable) = variable {
            return Ok(Placeholder::BuiltIn(variable));
        }
        if name == PREVIOUS {
            return match names {
                Names::All { is_first: true } => Err((
                    "bad-placeholder",
                    "`${prev.value}` is the value of the previous request, and this is the first"
                        .to_owned(),
                    "use it from the second request of `impl` on".to_owned(),
                )),
                Names::All { is_first: false } | Names::Secrets => Ok(Placeholder::Previous),
            };
        }
        if name.is_empty() {
            return Err((
                "bad-placeholder",
                "`${}` names nothing".to_owned(),
                "write the name of an argument or of a secret; a literal `${` is written `$${`"
                    .to_owned(),
            ));
        }
        SecretName::parse(name).map(Placeholder::Secret).map_err(|why| {
            (
                "bad-placeholder",
                format!("`{shown}` is not a property of `argSchema`, and a secret cannot have this name: {why}"),
                match self.arguments.is_empty() {
                    true => "declare it in `argSchema`, or name a secret".to_owned(),
                    false => format!("the arguments are {}", self.argument_list()),
                },
            )
        })
    }

    fn argument_list(&self) -> String {
        let names = self.arguments.iter().take(10);
        let names: Vec<String> = names
            .map(|one| format!("`{}`", shorten(&one.name, 40)))
            .collect();
        names.join(", ")
    }

    /// Remembers that something was used, and says what is doubtful about it.
    fn note_use(&mut self, at: At<'_, '_>, part: &Range<usize>, placeholder: &Placeholder) {
        let span = self.spot(at, part);
        match placeholder {
            Placeholder::Argument(name) => {
                let known = self.arguments_by_name.get(name);
                let Some(argument) = known.and_then(|at| self.arguments.get_mut(*at)) else {
                    return;
                };
                let is_first = !argument.is_used;
                argument.is_used = true;
                if is_first && !argument.is_required && !argument.has_default {
                    let shown = shorten(name, 60);
                    let message = format!(
                        "`{shown}` may be left out of a call, and a call without it is refused: a placeholder needs a value"
                    );
                    let help = format!(
                        "add `{shown}` to `required` of `argSchema`, or give it a `default`"
                    );
                    self.found.push(
                        SpannedProblem::warning("optional-placeholder", span, message).help(help),
                    );
                }
            }
            Placeholder::Secret(name) => {
                if !self.secrets.insert(name.clone()) {
                    return;
                }
                let own = fold(name.as_str());
                let hints = &mut self.hints;
                let near = self.arguments.iter().find(|argument| {
                    let lengths = 1 + name.as_str().len() + argument.name.len();
                    if hints.step(lengths).is_err() || own.len() > 128 {
                        return false;
                    }
                    let other = fold(&argument.name);
                    other.len().abs_diff(own.len()) <= 4
                        && other.len() <= 128
                        && hints.step(own.len() * other.len()).is_ok()
                        && strsim::osa_distance(&own, &other) <= 1
                });
                if let Some(near) = near {
                    let message = format!(
                        "`{name}` is not a property of `argSchema`, so it is a secret",
                        name = name.as_str()
                    );
                    let help = format!("did you mean the argument `{}`?", shorten(&near.name, 60));
                    let instead = format!("${{{}}}", near.name);
                    let problem =
                        SpannedProblem::warning("secret-or-argument", span.clone(), message)
                            .help(help);
                    self.found.push(problem.fix(span, instead));
                }
            }
            Placeholder::BuiltIn(_) | Placeholder::Previous => {}
        }
    }

    /// Refuses what would end a line or a text of the protocol.
    pub(super) fn no_controls(&mut self, at: At<'_, '_>, text: &str) {
        let Some((start, c)) = text
            .char_indices()
            .find(|(_, c)| c.is_control() && *c != '\t')
        else {
            return;
        };
        let part = start..start + c.len_utf8();
        let message = format!(
            "U+{:04X} cannot be sent here: it would end the line, or the text",
            u32::from(c)
        );
        self.error("control-character", at, &part, message, "remove it");
    }
}
