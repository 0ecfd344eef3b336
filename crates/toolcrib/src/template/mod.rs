//! Texts with `{NAME}` in them, and how values get in without becoming part of the text.
//!
//! `{NAME}` is a placeholder only if NAME is known ([`Names`]): a parameter, a step's field, a variable of Toolcrib's. `{{` and
//! `}}` stand for braces. [`Text`] is for places where a value is only ever data; [`Code`] for programs, where a value
//! travels beside the text; [`Condition`] for JavaScript, where it is bound to a variable.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;

use crate::definition::{Format, ParameterKind};
use crate::model::JsonObject;

/// What a placeholder can name in one text.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Parameters of the tool.
    pub parameters: Vec<NamedParameter>,
    /// Steps whose results can be used.
    pub steps: Vec<String>,
}

/// A parameter, as far as templates need to know it.
#[derive(Debug, Clone)]
pub struct NamedParameter {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: ParameterKind,
    /// How it appears in commands.
    pub format: Option<Format>,
    /// Whether its value is pasted as it is (`escape-shell: false`).
    pub raw: bool,
}

/// What a placeholder names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reference {
    /// A parameter.
    Parameter(String),
    /// `{step1.output}`
    Step {
        /// The step.
        step: String,
        /// Which part of its result.
        field: StepField,
    },
    /// A variable of Toolcrib's.
    Variable(Variable),
}

/// A part of a step's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepField {
    /// Both streams in the order of arrival, final newline trimmed.
    Output,
    /// What it printed.
    Stdout,
    /// What it complained.
    Stderr,
    /// Its exit code, a number.
    ExitCode,
}

/// A variable of Toolcrib's; no parameter can have its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variable {
    /// `WORKSPACE`: the workspace.
    Workspace,
    /// `TEMP`: the call's private temporary directory.
    Temp,
    /// `TEMP_DIR`: the resolved `temp-directory` in it.
    TempDir,
    /// `TOOL_NAME`: the tool's wire name.
    ToolName,
    /// `HOME`: the home directory of the caller.
    Home,
}

/// What placeholders stand for in one call. What is not in here is absent: an optional parameter that was not given.
#[derive(Debug, Clone, Default)]
pub struct Values {
    /// The arguments, defaults and transformations included.
    pub arguments: JsonObject,
    /// Results of steps that have run.
    pub steps: BTreeMap<String, StepValues>,
    /// Toolcrib's own.
    pub variables: BTreeMap<Variable, String>,
}

/// The result of a step.
#[derive(Debug, Clone, Default)]
pub struct StepValues {
    /// Both streams in the order of arrival, final newline trimmed.
    pub output: String,
    /// What it printed.
    pub stdout: String,
    /// What it complained.
    pub stderr: String,
    /// Its exit code.
    pub exit_code: Option<i64>,
}

/// What is wrong with a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateProblem {
    /// Where, in bytes of the template's text.
    pub span: Range<usize>,
    /// A short stable name, as `template-eval`.
    pub code: &'static str,
    /// What is wrong and why.
    pub message: String,
    /// What to write instead.
    pub fix: Option<String>,
}

/// A value that a template cannot take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueFault {
    /// Whose.
    pub reference: Reference,
    /// What is wrong with it, as the end of a sentence: "starts with a dash …".
    pub message: String,
}

/// Who runs a program's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// `bash`, and everything that is bash without saying so.
    Bash,
    /// `cmd`
    Cmd,
    /// `pwsh`
    Pwsh,
    /// `run`: no shell; the text is split into words once, at load.
    Run,
    /// `script` with `shell`, by the shell's name: `python`, `node`, …
    Script(String),
}

/// A text in which values are only ever data: a variable of the environment, standard input, a path, a preset.
#[derive(Debug, Clone)]
pub struct Text {
    // to come
}

impl Text {
    /// Reads a template.
    pub fn compile(_text: &str, _names: &Names) -> Result<Self, Vec<TemplateProblem>> {
        unimplemented!()
    }

    /// What it names, each once.
    pub fn references(&self) -> &[Reference] {
        unimplemented!()
    }

    /// The one placeholder that is the whole text, if it is.
    pub fn whole(&self) -> Option<&Reference> {
        unimplemented!()
    }

    /// The text with every value in its place; what is absent is nothing.
    pub fn render(&self, _values: &Values) -> String {
        unimplemented!()
    }
}

/// A program's text, compiled: values travel beside it.
#[derive(Debug, Clone)]
pub struct Code {
    // to come
}

impl Code {
    /// Reads a template; every context that is not understood, or that would read a value as text of the language, is a
    /// problem.
    pub fn compile(
        _form: &Form,
        _text: &str,
        _names: &Names,
    ) -> Result<Self, Vec<TemplateProblem>> {
        unimplemented!()
    }

    /// Who runs it.
    pub fn form(&self) -> &Form {
        unimplemented!()
    }

    /// What it names, each once.
    pub fn references(&self) -> &[Reference] {
        unimplemented!()
    }

    /// Whether a value is pasted raw somewhere.
    pub fn pastes(&self) -> bool {
        unimplemented!()
    }

    /// What to start, given the values.
    pub fn prepare(&self, _values: &Values) -> Result<Invocation, Vec<ValueFault>> {
        unimplemented!()
    }

    /// The same as bash text with every value as a quoted word, for whoever judges what would run; `None` when it is not shell
    /// text or argv.
    pub fn judged(&self, _values: &Values) -> Option<String> {
        unimplemented!()
    }
}

/// What to start for a program's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables that carry values.
    pub environment: Vec<(String, String)>,
    /// Values that no variable can carry, as files: whoever starts it puts them in a directory of the call's own and the
    /// directory's path in [`VALUES_DIRECTORY`].
    pub files: Vec<(String, Vec<u8>)>,
}

/// The variable that says where [`Invocation::files`] are.
pub const VALUES_DIRECTORY: &str = "TOOLCRIB_VALUES";

/// A `run-condition`: a JavaScript expression in which `{X}` is bound to a value.
#[derive(Debug, Clone)]
pub struct Condition {
    // to come
}

impl Condition {
    /// Reads an expression. `{X}` inside a string literal is a problem.
    pub fn compile(_text: &str, _names: &Names) -> Result<Self, Vec<TemplateProblem>> {
        unimplemented!()
    }

    /// What it names, each once.
    pub fn references(&self) -> &[Reference] {
        unimplemented!()
    }

    /// Whether it holds.
    pub fn holds(&self, _values: &Values) -> Result<bool, crate::expr::ExprError> {
        unimplemented!()
    }
}

/// The words that a value is in a command (`run`, a bare placeholder): by its format, or a list's items, JSON for objects, `true`
/// or `false`.
pub fn words(
    _format: Option<&Format>,
    _kind: ParameterKind,
    _value: Option<&Value>,
) -> Vec<String> {
    unimplemented!()
}
