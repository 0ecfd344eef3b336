//! What values must be like in the places where they stand.

use super::languages::Forbidden;
use super::{Made, Slot, SlotForm};
use crate::shell::cuts::Cut;
use crate::template::{Reference, ValueFault};

/// The longest argument that the kernel passes on, its null byte not counted.
pub(in crate::template) const MAX_ARGUMENT: usize = 131_071;

/// The most bytes of a list that one command is given: the kernel takes two megabytes for arguments and environment.
const MAX_LIST: usize = 1_500_000;

/// Problems of the values of a call.
pub(in crate::template) fn faults(slots: &[Slot], made: &[Made]) -> Vec<ValueFault> {
    let mut faults: Vec<ValueFault> = Vec::new();
    for (slot, value) in slots.iter().zip(made) {
        let Some(message) = fault(slot, value, made) else {
            continue;
        };
        if !faults.iter().any(|fault| fault.reference == slot.reference) {
            faults.push(ValueFault {
                reference: slot.reference.clone(),
                message,
            });
        }
    }
    faults
}

fn fault(slot: &Slot, value: &Made, made: &[Made]) -> Option<String> {
    let demands = &slot.demands;
    if value.words.iter().any(|word| word.text.contains('\0')) {
        return Some("contains a null byte, which no program can be given".to_owned());
    }
    if demands.needed && value.words.is_empty() {
        return Some(
            "is missing, and without it another value would be taken for the command".to_owned(),
        );
    }
    if demands.program {
        let name = value.text();
        let plain = name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '+' | '-'));
        if value.words.len() > 1 || !plain || name.starts_with(['-', '.']) {
            return Some("is not the plain name of a program".to_owned());
        }
    }
    let present = !value.words.is_empty();
    if present && demands.number && !value.is_number {
        return Some("is not a number, and the template has it where only one is safe".to_owned());
    }
    if present && demands.integer && !value.is_integer {
        return Some("is not a whole number that bash can calculate with".to_owned());
    }
    let fault = |forbidden: &Forbidden| {
        let words = value.words.iter();
        words
            .filter(|word| !word.glued || forbidden.is_everywhere())
            .find_map(|word| forbidden.fault(&word.text))
    };
    if let Some(message) = demands.forbidden.iter().find_map(fault) {
        return Some(message);
    }
    let plain = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte))
    };
    if demands.plain && !value.words.iter().all(|word| plain(&word.text)) {
        return Some(
            "has signs in it that a program would read as code where the template has it"
                .to_owned(),
        );
    }
    if let Some(most) = demands.most_bytes {
        let longest = match slot.form {
            SlotForm::Text => value.words.iter().map(|word| word.text.len() + 1).sum(),
            SlotForm::Words => value
                .words
                .iter()
                .map(|word| word.text.len())
                .max()
                .unwrap_or(0),
        };
        if longest > most {
            return Some(format!(
                "is {longest} bytes long, and a program can be given at most 131,072 bytes (128 KB) in one argument; the \
                 template can hand it over by a here-document or a file"
            ));
        }
    }
    let total: usize = value.words.iter().map(|word| word.text.len() + 9).sum();
    if demands.most_bytes.is_some() && total > MAX_LIST {
        return Some(format!(
            "is {total} bytes long in all, and a program can be given at most {MAX_LIST}"
        ));
    }
    if let Some(before) = &demands.no_dash
        && !value.is_number
        && before.iter().all(|slot| made[*slot].text().is_empty())
    {
        let words = match slot.form {
            SlotForm::Words => value.words.as_slice(),
            // Only what it begins with can be an option.
            SlotForm::Text => value.words.get(..1).unwrap_or_default(),
        };
        if words
            .iter()
            .any(|word| !word.glued && word.text.starts_with('-'))
        {
            return Some(
                "starts with a dash and would be taken for an option; the template can put it after `--` or attach it to \
                 one (`--name={X}`)"
                    .to_owned(),
            );
        }
    }
    if let Some(cut) = demands.no_inner_dash
        && !value.is_number
        && value
            .words
            .iter()
            .any(|word| has_inner_dash(&word.text, cut))
    {
        return Some(
            "has a dash where the template may cut it, and the rest would be taken for an option; the template can put what \
             it cuts out after `--`"
                .to_owned(),
        );
    }
    None
}

/// Whether a piece of a text begins with a dash, or with a backslash that something takes away before one.
fn has_inner_dash(text: &str, cut: Cut) -> bool {
    let option = |piece: &str| piece.starts_with('-');
    match cut {
        Cut::Start => option(text),
        Cut::Slash => text.split('/').any(option),
        Cut::Blank => text
            .split(|c: char| c == '/' || c.is_whitespace())
            .any(|piece| piece.starts_with(['-', '\\'])),
        Cut::Anywhere => text.contains(['-', '\\']),
    }
}

/// The longest of the values, to blame for a text that is too long.
pub(super) fn largest(slots: &[Slot], made: &[Made]) -> Reference {
    let longest = slots
        .iter()
        .zip(made)
        .max_by_key(|(_, made)| made.text().len());
    longest.map_or_else(
        || Reference::Parameter(String::new()),
        |(slot, _)| slot.reference.clone(),
    )
}
