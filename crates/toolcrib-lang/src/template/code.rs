//! Programs' texts: [`Code`].

use super::bash::Bash;
use super::run::Run;
use super::scan::scan;
use super::script::Script;
use super::windows::Windows;
use super::{Form, Invocation, Names, Reference, TemplateProblem, ValueFault, Values};
use crate::model::budget::Budget;
use crate::shell::Dialect;

/// What reading all templates of one file may cost. Each is read several times, once more for many of its placeholders.
pub(crate) const MAX_STEPS: u64 = 8 * 1024 * 1024;
/// The most bytes that are made of them while they are read.
pub(crate) const MAX_BYTES: u64 = 48 * 1024 * 1024;

/// What to start, or which values are wrong.
pub(super) type Prepared = Result<Invocation, Vec<ValueFault>>;

/// The most placeholders in a program's text.
const MAX_PLACEHOLDERS: usize = 256;
/// The most bytes of text times placeholders.
const MAX_WORK: usize = 4 * 1024 * 1024;

/// A program's text, compiled: values travel beside it.
#[derive(Debug, Clone)]
pub struct Code {
    form: Form,
    language: Language,
    references: Vec<Reference>,
    warnings: Vec<TemplateProblem>,
}

#[derive(Debug, Clone)]
enum Language {
    Bash(Bash),
    Run(Run),
    Script(Script),
    Windows(Windows),
}

impl Code {
    /// Reads a template; every context that is not understood, or that would read a value as text of the language, is a
    /// problem.
    pub fn compile(form: &Form, text: &str, names: &Names) -> Result<Self, Vec<TemplateProblem>> {
        Self::compile_within(form, text, names, &mut Budget::new(MAX_STEPS, MAX_BYTES))
    }

    /// Reads one of several templates that have a budget together.
    pub(crate) fn compile_within(
        form: &Form,
        text: &str,
        names: &Names,
        budget: &mut Budget,
    ) -> Result<Self, Vec<TemplateProblem>> {
        let scanned = scan(text, names)?;
        let placeholders = scanned.placeholders();
        // Every placeholder costs some readings of the text.
        if placeholders > MAX_PLACEHOLDERS || placeholders * text.len() > MAX_WORK {
            return Err(vec![TemplateProblem {
                span: 0..0,
                code: "template-too-long",
                message: format!(
                    "{placeholders} placeholders in {} bytes are too many to be checked",
                    text.len()
                ),
                fix: Some("put the values in variables first: `x={X}`, then use \"$x\"".to_owned()),
            }]);
        }
        let language = match form {
            Form::Bash => Language::Bash(Bash::compile(
                &scanned,
                names,
                Dialect::Bash,
                "bash",
                budget,
            )?),
            Form::Run => Language::Run(Run::compile(&scanned, names, budget)?),
            Form::Pwsh => Language::Windows(Windows::pwsh(&scanned, names)?),
            Form::Cmd => Language::Windows(Windows::cmd(&scanned, names)?),
            Form::Script(shell) => {
                let program = shell.split_whitespace().next().unwrap_or_default();
                match program.rsplit('/').next().unwrap_or(program) {
                    "bash" => Language::Bash(Bash::compile(
                        &scanned,
                        names,
                        Dialect::Bash,
                        shell,
                        budget,
                    )?),
                    "sh" | "dash" | "ash" => {
                        Language::Bash(Bash::compile(&scanned, names, Dialect::Sh, shell, budget)?)
                    }
                    "pwsh" | "powershell" => Language::Windows(Windows::pwsh(&scanned, names)?),
                    "cmd" => Language::Windows(Windows::cmd(&scanned, names)?),
                    _ => Language::Script(Script::compile(shell, &scanned, names)?),
                }
            }
        };
        Ok(Code {
            form: form.clone(),
            language,
            references: scanned.references(),
            warnings: scanned.warnings,
        })
    }

    /// The program that runs it.
    pub fn form(&self) -> &Form {
        &self.form
    }

    /// What it names, each once.
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// What may be meant otherwise: names that are nearly those of parameters.
    pub fn warnings(&self) -> &[TemplateProblem] {
        &self.warnings
    }

    /// Whether a value is pasted raw somewhere.
    pub fn pastes(&self) -> bool {
        match &self.language {
            Language::Bash(bash) => bash.pastes(),
            Language::Script(script) => script.pastes(),
            Language::Windows(windows) => windows.pastes(),
            Language::Run(_) => false,
        }
    }

    /// Whether a value is the program that runs.
    pub fn runs_a_value(&self) -> bool {
        match &self.language {
            Language::Bash(bash) => bash.runs_a_value(),
            Language::Script(_) | Language::Windows(_) | Language::Run(_) => false,
        }
    }

    /// What to start, given the values.
    pub fn prepare(&self, values: &Values) -> Prepared {
        match &self.language {
            Language::Bash(bash) => bash.prepare(values),
            Language::Run(run) => run.prepare(values),
            Language::Script(script) => script.prepare(values),
            Language::Windows(windows) => windows.prepare(values),
        }
    }

    /// The template as bash text with every value as a quoted word, to judge the command; `None` when it is not shell
    /// text or argv.
    pub fn judged(&self, values: &Values) -> Option<String> {
        match &self.language {
            Language::Bash(bash) => Some(bash.judged(values)),
            Language::Run(run) => Some(run.judged(values)),
            Language::Script(_) | Language::Windows(_) => None,
        }
    }
}
