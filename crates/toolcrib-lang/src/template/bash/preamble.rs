//! How values get to bash: variables of the environment and files, and the first line that takes them from there.
//!
//! Large values travel as files, for the kernel takes no variable over 131,072 bytes and a few megabytes in all. The line ends
//! without a line end, so that the numbers of lines in bash's messages are those of the template.

use super::SlotForm;
use crate::shell::{Dialect, VALUE_PREFIX};
use crate::template::VALUES_DIRECTORY;

/// The longest value that a variable of the environment carries.
const MAX_VARIABLE: usize = 100 * 1024;
/// The most bytes that variables carry together.
const MAX_VARIABLES: usize = 512 * 1024;
/// The most words of a list that are variables; more come in a file.
const MAX_WORDS: usize = 64;

/// A variable of the text and what is in it.
pub(super) struct Carried {
    /// A slot that uses it.
    pub(super) slot: usize,
    pub(super) form: SlotForm,
    pub(super) words: Vec<String>,
}

/// How the values of a text travel.
pub(super) struct Freight {
    pub(super) first_line: String,
    pub(super) environment: Vec<(String, String)>,
    pub(super) files: Vec<(String, Vec<u8>)>,
}

/// The name of a variable.
pub(super) fn name(number: usize) -> String {
    format!("{VALUE_PREFIX}{number}")
}

/// The name of one of the words of a list.
pub(super) fn word_name(variable: &str, number: usize) -> String {
    format!("{variable}_{number}")
}

/// Packs the variables of a text.
pub(super) fn carry(dialect: Dialect, variables: Vec<Carried>) -> Freight {
    let mut freight = Freight {
        first_line: String::new(),
        environment: Vec::new(),
        files: Vec::new(),
    };
    let mut total = 0;
    let mut plain: Vec<String> = Vec::new();
    for (number, carried) in variables.into_iter().enumerate() {
        let name = name(number);
        let bytes: usize = carried.words.iter().map(|word| word.len() + 32).sum();
        let as_file = total + bytes > MAX_VARIABLES
            || carried.words.iter().any(|word| word.len() > MAX_VARIABLE)
            || carried.words.len() > MAX_WORDS && dialect == Dialect::Bash;
        if !as_file {
            total += bytes;
        }
        match (dialect, carried.form) {
            (Dialect::Bash, SlotForm::Text) => {
                let text = carried.words.into_iter().next().unwrap_or_default();
                if as_file {
                    let file = file(&mut freight, number, text.into_bytes());
                    freight.first_line.push_str(&format!(
                        "[[ -r {file} ]] || exit 125; IFS= read -r -d '' {name} <{file}; "
                    ));
                } else {
                    freight.environment.push((name.clone(), text));
                }
                plain.push(name);
            }
            (Dialect::Bash, SlotForm::Words) if as_file => {
                let mut bytes = Vec::new();
                for word in carried.words {
                    bytes.extend_from_slice(word.as_bytes());
                    bytes.push(0);
                }
                let file = file(&mut freight, number, bytes);
                freight.first_line.push_str(&format!(
                    "[[ -r {file} ]] || exit 125; mapfile -d '' -t {name} <{file}; "
                ));
                plain.push(name);
            }
            (Dialect::Bash, SlotForm::Words) => {
                let names: Vec<String> = (0..carried.words.len())
                    .map(|number| word_name(&name, number))
                    .collect();
                let quoted: Vec<String> = names.iter().map(|name| format!("\"${name}\"")).collect();
                freight
                    .first_line
                    .push_str(&format!("declare -ar {name}=({}); ", quoted.join(" ")));
                if !names.is_empty() {
                    freight
                        .first_line
                        .push_str(&format!("unset {}; ", names.join(" ")));
                }
                freight
                    .environment
                    .extend(names.into_iter().zip(carried.words));
            }
            (Dialect::Sh, _) => {
                let words = carried.words.into_iter().enumerate();
                for (index, word) in words {
                    let name = match carried.form {
                        SlotForm::Text => name.clone(),
                        SlotForm::Words => word_name(&name, index),
                    };
                    if as_file {
                        let file = file(&mut freight, number * 10_000 + index, word.into_bytes());
                        // A substitution drops line ends at the end, so something else is there.
                        freight.first_line.push_str(&format!(
                            "{name}=$(cat {file} && echo x) || exit 125; {name}=${{{name}%x}}; readonly {name}; "
                        ));
                    } else {
                        // There is no other way to take a variable out of the environment.
                        freight.first_line.push_str(&format!(
                            "{name}=$TOOLCRIB_{name}; unset TOOLCRIB_{name}; readonly {name}; "
                        ));
                        freight.environment.push((format!("TOOLCRIB_{name}"), word));
                    }
                }
            }
        }
    }
    if !plain.is_empty() {
        freight
            .first_line
            .push_str(&format!("declare +x -r {}; ", plain.join(" ")));
    }
    if !freight.files.is_empty() {
        freight
            .first_line
            .push_str(&format!("unset {VALUES_DIRECTORY}; "));
    }
    freight
}

/// Adds a file and says how the text names it.
fn file(freight: &mut Freight, number: usize, bytes: Vec<u8>) -> String {
    freight.files.push((number.to_string(), bytes));
    format!("\"${VALUES_DIRECTORY}\"/{number}")
}
