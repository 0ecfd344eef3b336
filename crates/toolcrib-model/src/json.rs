//! JSON from outside, read strictly: two readers of one text must never disagree about it, and what was judged must be what is run.
//!
//! Refused are: a key twice in one object, a number that would not be the same afterwards (`1e400`, a whole number beyond 64 bits), half of
//! a surrogate pair, nesting over 128 levels, a byte order mark, and anything behind the text. Everything else is read as `serde_json`
//! reads it, in one pass.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::budget::Budget;

/// The problem of a text that should be JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}{}", place(.pointer))]
pub struct StrictJsonError {
    /// Where, as a JSON pointer; empty for the whole.
    pub pointer: String,
    /// What.
    pub problem: String,
}

fn place(pointer: &str) -> String {
    match pointer {
        "" => String::new(),
        pointer => format!(" at `{pointer}`"),
    }
}

impl StrictJsonError {
    /// The problem at the end of these steps into the text; both are shortened.
    pub fn at<S: AsRef<str>>(steps: impl IntoIterator<Item = S>, problem: &str) -> Self {
        let mut pointer = String::new();
        for step in steps {
            push_step(&mut pointer, step.as_ref());
        }
        StrictJsonError {
            pointer: short(&pointer, MAX_POINTER).into_owned(),
            problem: short(problem, MAX_PROBLEM).into_owned(),
        }
    }
}

/// The longest step of a pointer that is said whole, in bytes: names are the sender's, and may be as long as the body.
const MAX_STEP: usize = 64;
/// The longest pointer that is said whole, in bytes.
const MAX_POINTER: usize = 512;
/// The longest description of what is wrong, in bytes: it may quote what was sent.
const MAX_PROBLEM: usize = 512;

/// Reads one JSON text: no key twice, no number that would change, no half of a surrogate pair, nothing behind it.
///
/// Values take more memory than their text: what would take more than 64 MB is refused.
///
/// Where something is wrong is found by reading once more: a text that is sound pays for nothing that is only said of others.
pub fn read_strict(bytes: &[u8]) -> Result<Value, StrictJsonError> {
    let reading = Reading::default();
    let value = match read(bytes, &reading) {
        Err(_) if reading.has_key_twice.get() => {
            let reading = Reading {
                asks_first: true,
                ..Reading::default()
            };
            return read(bytes, &reading);
        }
        read => read?,
    };
    let rounded = match reading.has_large.get() {
        true => numbers(bytes).position(is_rounded),
        false => None,
    };
    match rounded {
        Some(number) => {
            let reading = Reading {
                refuses: Some(number),
                ..Reading::default()
            };
            read(bytes, &reading)
        }
        None => Ok(value),
    }
}

/// Reads JSON that is data of others (a lock file, the answer of a service), as `serde_json` does: of two values of a key the last one
/// counts, and large numbers are rounded. As in [`read_strict`], values may take 64 MB: four bytes of text can be a list of 400.
pub fn read_bounded(bytes: &[u8]) -> Result<Value, StrictJsonError> {
    let reading = Reading {
        allows_key_twice: true,
        ..Reading::default()
    };
    read(bytes, &reading)
}

fn read(bytes: &[u8], reading: &Reading) -> Result<Value, StrictJsonError> {
    let failed = |pointer: String, problem: String| StrictJsonError {
        pointer,
        problem: short(&problem, MAX_PROBLEM).into_owned(),
    };
    if bytes.starts_with(b"\xef\xbb\xbf") {
        let problem = "the text begins with a byte order mark";
        return Err(failed(String::new(), problem.to_owned()));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let seed = Strict {
        reading,
        at: At::Top,
    };
    let value = seed.deserialize(&mut deserializer).map_err(|error| {
        let pointer = reading.pointer.take().unwrap_or_default();
        failed(pointer, error.to_string())
    })?;
    deserializer
        .end()
        .map_err(|error| failed(String::new(), error.to_string()))?;
    Ok(value)
}

/// The beginning of a text, as it is.
fn short(text: &str, max: usize) -> Cow<'_, str> {
    match text.len() <= max {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("{}…", &text[..text.floor_char_boundary(max)])),
    }
}

fn push_step(pointer: &mut String, step: &str) {
    pointer.push('/');
    for char in short(step, MAX_STEP).chars() {
        match char {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            char => pointer.push(char),
        }
    }
}

/// What the values of a text may take, estimated.
const MAX_MEMORY: u64 = 64 << 20;
/// What a value takes, wherever it is.
const VALUE: usize = 80;
/// What a list or an object takes as soon as there is something in it: room for four.
const ROOM: usize = 4 * VALUE;

/// State while reading.
struct Reading {
    /// Whether to look for a key before it is put into its object, to say where it is there twice.
    asks_first: bool,
    allows_key_twice: bool,
    has_key_twice: Cell<bool>,
    /// Where the first error is.
    pointer: RefCell<Option<String>>,
    /// How many numbers there were.
    numbers: Cell<usize>,
    /// Whether one of them may have been rounded.
    has_large: Cell<bool>,
    /// The position, counted from the first number, of one that is known to have been rounded.
    refuses: Option<usize>,
    budget: RefCell<Budget>,
}

impl Default for Reading {
    fn default() -> Self {
        Reading {
            asks_first: false,
            allows_key_twice: false,
            has_key_twice: Cell::new(false),
            pointer: RefCell::new(None),
            numbers: Cell::new(0),
            has_large: Cell::new(false),
            refuses: None,
            budget: RefCell::new(Budget::new(u64::MAX, MAX_MEMORY)),
        }
    }
}

impl Reading {
    /// Pays for the memory that values take.
    fn pay<E: de::Error>(&self, at: &At<'_>, bytes: usize) -> Result<(), E> {
        let paid = self.budget.borrow_mut().copy(bytes);
        paid.map_err(|_| {
            self.failed_at(at);
            E::custom(format_args!(
                "the values would take more than {} of memory",
                crate::text::size(MAX_MEMORY)
            ))
        })
    }

    fn failed_at(&self, at: &At<'_>) {
        self.pointer
            .borrow_mut()
            .get_or_insert_with(|| short(&at.pointer(), MAX_POINTER).into_owned());
    }

    fn number(&self) -> usize {
        self.numbers.replace(self.numbers.get() + 1)
    }
}

/// Whether a number, as it is written, is a whole one that does not fit into 64 bits. `serde_json` does not tell `18446744073709551616`
/// from `1.8446744073709552e19`.
fn is_rounded(written: &[u8]) -> bool {
    let is_whole = written
        .iter()
        .all(|byte| matches!(byte, b'-' | b'0'..=b'9'));
    let fits = |text: &str| text.parse::<u64>().is_ok() || text.parse::<i64>().is_ok();
    is_whole && !std::str::from_utf8(written).is_ok_and(fits)
}

/// The numbers of a text that is known to be JSON, as they are written.
fn numbers(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' => {
                    at += 1;
                    while let Some(byte) = bytes.get(at) {
                        match byte {
                            b'\\' => at += 2,
                            b'"' => break,
                            _ => at += 1,
                        }
                    }
                    at += 1;
                }
                b'-' | b'0'..=b'9' => {
                    let rest = &bytes[at..];
                    let is_part =
                        |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                    let length = rest.iter().take_while(|byte| is_part(byte)).count();
                    at += length;
                    return Some(&rest[..length]);
                }
                _ => at += 1,
            }
        }
        None
    })
}

/// Where in the text, as a chain through the stack: nothing is allocated unless it is asked for.
enum At<'a> {
    Top,
    Key(&'a At<'a>, &'a str),
    Index(&'a At<'a>, usize),
}

impl At<'_> {
    fn pointer(&self) -> String {
        match self {
            At::Top => String::new(),
            At::Key(above, key) => {
                let mut pointer = above.pointer();
                push_step(&mut pointer, key);
                pointer
            }
            At::Index(above, index) => {
                let mut pointer = above.pointer();
                push_step(&mut pointer, &index.to_string());
                pointer
            }
        }
    }
}

/// Reads one value.
struct Strict<'a> {
    reading: &'a Reading,
    at: At<'a>,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        self.reading.number();
        Ok(Value::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        self.reading.number();
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        let place = self.reading.number();
        // From 2^63 on a whole number may have been rounded.
        if value.abs() >= 9_223_372_036_854_775_808.0 {
            self.reading.has_large.set(true);
        }
        if self.reading.refuses == Some(place) {
            self.reading.failed_at(&self.at);
            return Err(E::custom(
                "a whole number that does not fit into 64 bits would be rounded; send it as text",
            ));
        }
        match Number::from_f64(value) {
            Some(number) => Ok(Value::Number(number)),
            None => {
                self.reading.failed_at(&self.at);
                Err(E::custom("number out of range"))
            }
        }
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        loop {
            let at = At::Index(&self.at, items.len());
            let seed = Strict {
                reading: self.reading,
                at,
            };
            match access.next_element_seed(seed) {
                Ok(Some(item)) => {
                    let room = if items.is_empty() { ROOM } else { 0 };
                    self.reading.pay(&self.at, VALUE + room)?;
                    items.push(item);
                }
                Ok(None) => return Ok(Value::Array(items)),
                Err(error) => {
                    self.reading.failed_at(&At::Index(&self.at, items.len()));
                    return Err(error);
                }
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        loop {
            let key: String = match access.next_key() {
                Ok(Some(key)) => key,
                Ok(None) => return Ok(Value::Object(object)),
                Err(error) => {
                    self.reading.failed_at(&self.at);
                    return Err(error);
                }
            };
            if self.reading.asks_first && object.contains_key(&key) {
                self.reading.failed_at(&At::Key(&self.at, &key));
                return Err(key_twice());
            }
            let seed = Strict {
                reading: self.reading,
                at: At::Key(&self.at, &key),
            };
            let value = match access.next_value_seed(seed) {
                Ok(value) => value,
                Err(error) => {
                    self.reading.failed_at(&At::Key(&self.at, &key));
                    return Err(error);
                }
            };
            let room = if object.is_empty() { ROOM } else { 0 };
            self.reading.pay(&self.at, 2 * VALUE + key.len() + room)?;
            // Asking first would cost time for every key. A text with a duplicate key is read once more to report which key it is.
            let keys = object.len();
            object.insert(key, value);
            if object.len() == keys && !self.reading.allows_key_twice {
                self.reading.has_key_twice.set(true);
                return Err(key_twice());
            }
        }
    }
}

fn key_twice<E: de::Error>() -> E {
    E::custom("a key twice in one object")
}
