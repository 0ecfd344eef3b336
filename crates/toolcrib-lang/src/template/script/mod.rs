//! Scripts in other languages than bash: [`Script`].
//!
//! In Python and JavaScript a placeholder in code is the value itself, typed; inside a string it is the value's text, joined to the
//! rest. The value comes as JSON in a variable of the environment, or in a file when it is large. In other languages placeholders
//! are refused; every script has the arguments in `TOOLCRIB_ARG_NAME`, lists and objects as JSON, and those over 100 KB in the file
//! `$TOOLCRIB_VALUES/ARG_NAME`.

mod evaluators;
mod write;

use serde_json::Value;

use super::bash;
use super::code::Prepared;
use super::scan::Scanned;
use super::{
    Invocation, Names, Reference, TemplateProblem, VALUES_DIRECTORY, ValueFault, Values, Variable,
    value,
};
use crate::model::text::shorten;
use crate::shell::programs::{self, Fact, Program};

/// The longest text that is given as an argument.
const MAX_TEXT: usize = 100 * 1024;
/// The longest value that a variable of the environment carries.
const MAX_VARIABLE: usize = 100 * 1024;
/// The most bytes that variables carry together.
const MAX_VARIABLES: usize = 512 * 1024;

/// A language that scripts are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    Node,
    Other,
}

/// A script with placeholders in it.
#[derive(Debug, Clone)]
pub(super) struct Script {
    language: Language,
    /// The program, and options of it.
    command: Vec<String>,
    chunks: Vec<Chunk>,
}

#[derive(Debug, Clone)]
enum Chunk {
    Text(String),
    Value { reference: Reference, typed: bool },
    Raw(Reference),
}

/// Knowledge about a program, whatever its directory and version.
fn known(program: &str) -> Option<&'static Program> {
    programs::version(base(program))
}

fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The language that a program reads.
pub(super) fn language(program: &str) -> Language {
    let typed = known(program).filter(|program| program.has(Fact::Typed));
    match typed.map(|program| program.get(Fact::Language)) {
        Some("python") => Language::Python,
        Some("node") => Language::Node,
        _ => Language::Other,
    }
}

impl Script {
    /// Reads a template; `shell` is the program, with options of it.
    pub(super) fn compile(
        shell: &str,
        scanned: &Scanned,
        names: &Names,
    ) -> Result<Self, Vec<TemplateProblem>> {
        let mut command: Vec<String> = shell.split_whitespace().map(str::to_owned).collect();
        if command.is_empty() {
            return Err(vec![TemplateProblem {
                span: 0..0,
                code: "template-empty",
                message: "there is no program to run the script".to_owned(),
                fix: Some("name one: `shell: python`".to_owned()),
            }]);
        }
        // Where there is no `python`, there is `python3`.
        if command[0] == "python" {
            command[0] = "python3".to_owned();
        }
        if code_option(&command[0]).is_none() && !takes_file(&command) {
            let name = shorten(&command[0], 40);
            return Err(vec![TemplateProblem {
                span: 0..0,
                code: "template-shell",
                message: format!("`{name}` is not known to run a script from a file"),
                fix: Some(format!(
                    "use one of bash, sh, python, node, perl, ruby, php, lua, deno, bun, zsh, ksh, fish, Rscript, {}, or write \
                     `bash` and start `{name}` there",
                    programs::with(Fact::Script, "FILE")
                        .collect::<Vec<&str>>()
                        .join(", ")
                )),
            }]);
        }
        let language = language(&command[0]);
        let chunks = write::Writer::new(language, scanned, names).write()?;
        Ok(Script {
            language,
            command,
            chunks,
        })
    }

    pub(super) fn pastes(&self) -> bool {
        self.chunks
            .iter()
            .any(|chunk| matches!(chunk, Chunk::Raw(_)))
    }

    /// What to start.
    pub(super) fn prepare(&self, values: &Values) -> Prepared {
        let mut cargo = Cargo::default();
        let mut text = String::new();
        let mut known: Vec<(Reference, bool, String)> = Vec::new();
        for chunk in &self.chunks {
            match chunk {
                Chunk::Text(chunk) => text.push_str(chunk),
                Chunk::Raw(reference) => {
                    let value = values.get(reference).unwrap_or(Value::Null);
                    text.push_str(&value::text(&value));
                }
                Chunk::Value { reference, typed } => {
                    let found = known
                        .iter()
                        .find(|(other, as_typed, _)| other == reference && as_typed == typed);
                    let expression = match found {
                        Some((_, _, expression)) => expression.clone(),
                        None => {
                            let value = values.get(reference).unwrap_or(Value::Null);
                            let json = if *typed {
                                ascii(&value)
                            } else {
                                ascii(&Value::from(value::text(&value).into_owned()))
                            };
                            let number = known.len();
                            let as_file = cargo.add(
                                format!("TOOLCRIB_VALUE_{number}"),
                                number.to_string(),
                                json,
                            );
                            let expression = expression(self.language, number, as_file);
                            known.push((reference.clone(), *typed, expression.clone()));
                            expression
                        }
                    };
                    text.push_str(&expression);
                }
            }
        }
        if text.contains('\0') || text.len() > bash::MAX_ARGUMENT {
            let raw = self.chunks.iter().find_map(|chunk| match chunk {
                Chunk::Raw(reference) => Some(reference.clone()),
                _ => None,
            });
            return Err(vec![ValueFault {
                reference: raw.unwrap_or(Reference::Variable(Variable::ToolName)),
                message: "makes the script longer than 131,072 bytes, or has a null byte in it"
                    .to_owned(),
            }]);
        }
        arguments(values, &mut cargo)?;
        let mut arguments = self.command[1..].to_vec();
        let mut program = self.command[0].clone();
        match code_option(&program) {
            Some(options) => {
                arguments.extend(options.into_iter().map(str::to_owned));
                arguments.push(text);
            }
            None => {
                // It reads a file, and only its starter knows where that is.
                cargo.files.push(("script".to_owned(), text.into_bytes()));
                let mut words = vec![
                    "-c".to_owned(),
                    format!("exec \"$0\" \"$@\" \"${VALUES_DIRECTORY}/script\""),
                    program,
                ];
                words.append(&mut arguments);
                arguments = words;
                program = "sh".to_owned();
            }
        }
        Ok(Invocation {
            program,
            arguments,
            environment: cargo.environment,
            files: cargo.files,
        })
    }
}

#[derive(Default)]
struct Cargo {
    environment: Vec<(String, String)>,
    files: Vec<(String, Vec<u8>)>,
    bytes: usize,
}

impl Cargo {
    /// Adds a value, as a file if it is large; says whether it is.
    fn add(&mut self, variable: String, file: String, text: String) -> bool {
        let as_file = text.len() > MAX_VARIABLE || self.bytes + text.len() > MAX_VARIABLES;
        if as_file {
            self.files.push((file, text.into_bytes()));
        } else {
            self.bytes += text.len() + variable.len();
            self.environment.push((variable, text));
        }
        as_file
    }
}

/// Every argument as a variable.
fn arguments(values: &Values, cargo: &mut Cargo) -> Result<(), Vec<ValueFault>> {
    let arguments = values
        .arguments
        .keys()
        .map(|name| Reference::Parameter(name.clone()));
    let variables = values.variables.keys().copied().map(Reference::Variable);
    let mut faults = Vec::new();
    for reference in arguments.chain(variables) {
        let Some(value) = values.get(&reference) else {
            continue;
        };
        let text = match &value {
            Value::Array(_) | Value::Object(_) => value.to_string(),
            value => value::text(value).into_owned(),
        };
        if text.contains('\0') {
            faults.push(ValueFault {
                reference,
                message: "contains a null byte, which no program can be given".to_owned(),
            });
            continue;
        }
        let name = argument_name(&reference);
        cargo.add(format!("TOOLCRIB_{name}"), name, text);
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults)
    }
}

/// `ARG_NAME`, with signs that no variable can have in its name as underscores.
fn argument_name(reference: &Reference) -> String {
    let name = reference.to_string();
    let plain = name.chars().map(|c| {
        if c.is_ascii_alphanumeric() || c == '_' {
            c
        } else {
            '_'
        }
    });
    format!("ARG_{}", plain.collect::<String>())
}

/// The options after which a program takes its script as an argument.
fn code_option(program: &str) -> Option<Vec<&'static str>> {
    let mut words: Vec<&str> = known(program)?.words(Fact::Script).collect();
    (words.pop() == Some("CODE")).then_some(words)
}

/// Whether a command takes the file of a script as its last word: it does so anyway, or its last option is for that.
fn takes_file(command: &[String]) -> bool {
    let words = known(&command[0]).map(|program| program.words(Fact::Script));
    let words: Vec<&str> = words.into_iter().flatten().collect();
    match words.as_slice() {
        ["FILE"] => true,
        // Not for versions of these.
        [option, "FILE"] => {
            programs::find(base(&command[0])).is_some()
                && command.last().is_some_and(|last| last == option)
        }
        _ => false,
    }
}

/// What fetches a value in a language.
fn expression(language: Language, number: usize, as_file: bool) -> String {
    match (language, as_file) {
        (Language::Python, false) => format!(
            "__import__(\"json\").loads(__import__(\"os\").environ[\"TOOLCRIB_VALUE_{number}\"])"
        ),
        (Language::Python, true) => format!(
            "__import__(\"json\").loads(open(__import__(\"os\").environ[\"{VALUES_DIRECTORY}\"]+\"/{number}\").read())"
        ),
        (Language::Node | Language::Other, false) => {
            format!("JSON.parse(process.env.TOOLCRIB_VALUE_{number})")
        }
        (Language::Node | Language::Other, true) => format!(
            "JSON.parse(require(\"fs\").readFileSync(process.env.{VALUES_DIRECTORY}+\"/{number}\",\"utf8\"))"
        ),
    }
}

/// JSON in which every character is ASCII, so that no locale can spoil it.
fn ascii(value: &Value) -> String {
    let json = value.to_string();
    if json.is_ascii() {
        return json;
    }
    let mut text = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if c.is_ascii() {
            text.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    text
}
