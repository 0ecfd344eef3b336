//! Texts with `{NAME}` in them, and how values get in without becoming part of the text.
//!
//! `{NAME}` is a placeholder only if NAME is known ([`Names`]): a parameter, a step's field, a variable of Toolcrib's. `{{NAME}}`
//! is the text `{NAME}`, `{{{NAME}}}` a value in braces, `${NAME}` is whatever the language makes of it, and every other brace stays
//! as written. [`Text`] is for places where a value is only ever data; [`Code`] for programs, where a value travels beside the
//! text; [`Condition`] for JavaScript, where it is bound to a variable.
//!
//! The invariant: what a program's text means is settled when the template is compiled. Values come later and by another way, so
//! the worst that a value can do is to be a strange value. (`escape-shell: false` gives that up, and says so: [`Code::pastes`].)
//!
//! Values are followed into variables, pipes, here-documents, the environment, standard input, the words of a `format` and the
//! code arguments of other tools. They are not followed through files that a later step runs, nor through unknown programs: the
//! sandbox is the wall there. The property test has the real bash run compiled texts with hostile values and compares every byte
//! of every argument.

mod bash;
mod code;
mod condition;
mod parameter;
mod python;
mod run;
mod scan;
mod script;
mod text;
mod value;
mod windows;

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;

use crate::model::JsonObject;

pub use code::Code;
pub(crate) use code::{MAX_BYTES, MAX_STEPS};
pub use condition::Condition;
pub use parameter::{Format, ParameterKind};
pub(crate) use run::shell_operator;
pub use text::Text;
pub use value::words;

/// What a placeholder can name in one text.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Parameters of the tool.
    pub parameters: Vec<NamedParameter>,
    /// Steps whose results can be used.
    pub steps: Vec<String>,
    /// Variables that programs find in their environment, besides the usual ones.
    pub environment: Vec<(String, Text)>,
    /// What programs read from their standard input.
    pub input: Option<Text>,
}

impl Names {
    /// What a name between braces stands for.
    pub fn find(&self, name: &str) -> Option<Reference> {
        if self.parameter(name).is_some() {
            return Some(Reference::Parameter(name.to_owned()));
        }
        if let Some(variable) = Variable::ALL.iter().find(|known| known.name() == name) {
            return Some(Reference::Variable(*variable));
        }
        let (step, field) = name.rsplit_once('.')?;
        let field = StepField::find(field)?;
        self.steps
            .iter()
            .any(|known| known == step)
            .then(|| Reference::Step {
                step: step.to_owned(),
                field,
            })
    }

    /// The parameter of that name.
    pub fn parameter(&self, name: &str) -> Option<&NamedParameter> {
        self.parameters
            .iter()
            .find(|parameter| parameter.name == name)
    }

    /// Everything that could stand between braces, for suggestions.
    fn all(&self) -> Vec<String> {
        let parameters = self
            .parameters
            .iter()
            .map(|parameter| parameter.name.clone());
        let variables = Variable::ALL
            .iter()
            .map(|variable| variable.name().to_owned());
        let steps = self.steps.iter().flat_map(|step| {
            StepField::ALL
                .iter()
                .map(move |field| format!("{step}.{}", field.name()))
        });
        parameters.chain(variables).chain(steps).collect()
    }
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

impl std::fmt::Display for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reference::Parameter(name) => f.write_str(name),
            Reference::Step { step, field } => write!(f, "{step}.{}", field.name()),
            Reference::Variable(variable) => f.write_str(variable.name()),
        }
    }
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

impl StepField {
    /// All of them.
    pub const ALL: [StepField; 4] = [
        StepField::Output,
        StepField::Stdout,
        StepField::Stderr,
        StepField::ExitCode,
    ];

    /// How it is written after the step's name and a dot.
    pub const fn name(self) -> &'static str {
        match self {
            StepField::Output => "output",
            StepField::Stdout => "stdout",
            StepField::Stderr => "stderr",
            StepField::ExitCode => "exit-code",
        }
    }

    /// The field of that name.
    pub fn find(name: &str) -> Option<StepField> {
        StepField::ALL
            .into_iter()
            .find(|field| field.name() == name)
    }
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

impl Variable {
    /// All of them.
    pub const ALL: [Variable; 5] = [
        Variable::Workspace,
        Variable::Temp,
        Variable::TempDir,
        Variable::ToolName,
        Variable::Home,
    ];

    /// How it is written between braces.
    pub const fn name(self) -> &'static str {
        match self {
            Variable::Workspace => "WORKSPACE",
            Variable::Temp => "TEMP",
            Variable::TempDir => "TEMP_DIR",
            Variable::ToolName => "TOOL_NAME",
            Variable::Home => "HOME",
        }
    }
}

/// What placeholders stand for in one call. A parameter that is not in here is absent: an optional parameter that was not given.
#[derive(Debug, Clone, Default)]
pub struct Values {
    /// The arguments, defaults and transformations included.
    pub arguments: JsonObject,
    /// Results of steps that have run.
    pub steps: BTreeMap<String, StepValues>,
    /// Toolcrib's own.
    pub variables: BTreeMap<Variable, String>,
}

impl Values {
    /// The value of a placeholder; `None` when it is absent.
    pub fn get(&self, reference: &Reference) -> Option<Value> {
        match reference {
            Reference::Parameter(name) => self
                .arguments
                .get(name)
                .filter(|value| !value.is_null())
                .cloned(),
            Reference::Step { step, field } => {
                let step = self.steps.get(step)?;
                match field {
                    StepField::Output => Some(Value::from(step.output.as_str())),
                    StepField::Stdout => Some(Value::from(step.stdout.as_str())),
                    StepField::Stderr => Some(Value::from(step.stderr.as_str())),
                    StepField::ExitCode => step.exit_code.map(Value::from),
                }
            }
            Reference::Variable(variable) => self
                .variables
                .get(variable)
                .map(|text| Value::from(text.as_str())),
        }
    }
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

/// Problems of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateProblem {
    /// Where, in bytes of the template's text.
    pub span: Range<usize>,
    /// A short stable name, as `template-eval`.
    pub code: &'static str,
    /// The problem and its reason.
    pub message: String,
    /// What to write instead.
    pub fix: Option<String>,
}

/// A value that a template cannot take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueFault {
    /// Whose.
    pub reference: Reference,
    /// The problem, as the end of a sentence: "starts with a dash …".
    pub message: String,
}

/// The interpreter of a program's text.
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

/// What to start for a program's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables that carry values.
    pub environment: Vec<(String, String)>,
    /// Values that no variable can carry, as files: the starter puts them in a directory of the call and the directory's path in
    /// [`VALUES_DIRECTORY`].
    pub files: Vec<(String, Vec<u8>)>,
}

/// The variable that says where [`Invocation::files`] are.
pub const VALUES_DIRECTORY: &str = "TOOLCRIB_VALUES";
