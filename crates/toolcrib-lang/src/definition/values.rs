//! Values of the types that fields want, read from the text that the file has.
//!
//! `no`, `on` and `1.10` are texts unless a field wants something else, and then they are an error rather than a guess.

use std::fmt::Display;
use std::time::Duration;

use serde_json::{Number, Value};

use super::yaml::{Content, Node, Scalar, Style};
use crate::model::text::{read_size, shorten};

/// Why a text is not what a field wants, and what to write instead of it, where that is certain.
#[derive(Debug, PartialEq)]
pub(crate) struct Unfit {
    pub(crate) why: Why,
    pub(crate) instead: Option<String>,
}

/// Why a text is not what a field wants; each is the end of a sentence.
#[derive(Debug, PartialEq)]
pub(crate) enum Why {
    /// "…: `soon` is not a time"
    Type(String),
    /// "… from 1 to 100, not 0"
    Range(String),
}

impl Unfit {
    fn new(message: String) -> Self {
        Unfit {
            why: Why::Type(message),
            instead: None,
        }
    }

    fn range(scalar: &Scalar<'_>, least: impl Display, most: impl Display) -> Self {
        Unfit {
            why: Why::Range(format!("from {least} to {most}, not {}", shown(scalar))),
            instead: None,
        }
    }

    /// The whole sentence about a field that wants something.
    pub(crate) fn sentence(&self, whose: &str, wanted: &str) -> String {
        match &self.why {
            Why::Type(why) => format!("{whose} must be {wanted}: {why}"),
            Why::Range(why) => format!("{whose} must be {why}"),
        }
    }
}

fn shown(scalar: &Scalar<'_>) -> String {
    match scalar.style {
        Style::Plain | Style::Block => shorten(&scalar.text, 40),
        Style::Quoted => format!("\"{}\"", shorten(&scalar.text, 40)),
    }
}

/// `true` or `false`, without quotes.
pub(crate) fn boolean(scalar: &Scalar<'_>) -> Result<bool, Unfit> {
    let text = &*scalar.text;
    match (scalar.style, text) {
        (Style::Plain, "true") => return Ok(true),
        (Style::Plain, "false") => return Ok(false),
        _ => {}
    }
    let meant = match text.to_ascii_lowercase().as_str() {
        "yes" | "on" | "y" | "true" => Some("true"),
        "no" | "off" | "n" | "false" => Some("false"),
        _ => None,
    };
    let message = match meant {
        Some(meant) if text.eq_ignore_ascii_case(meant) || scalar.style == Style::Quoted => {
            format!("`{}` is a text; write {meant}", shown(scalar))
        }
        Some(meant) => format!(
            "`{}` is true or false to some readers of YAML and a text to others; write {meant}",
            shown(scalar)
        ),
        None => format!("`{}` is neither true nor false", shown(scalar)),
    };
    Err(Unfit {
        why: Why::Type(message),
        instead: meant.map(str::to_owned),
    })
}

/// A number as JSON writes one, without quotes.
pub(crate) fn number(scalar: &Scalar<'_>) -> Result<Number, Unfit> {
    let text = &*scalar.text;
    if scalar.style != Style::Plain {
        let instead = is_json_number(text).then(|| text.to_owned());
        let message = match &instead {
            Some(_) => format!("`{}` is a text; write it without quotes", shown(scalar)),
            None => format!("`{}` is not a number", shown(scalar)),
        };
        return Err(Unfit {
            why: Why::Type(message),
            instead,
        });
    }
    json_number(text).ok_or_else(|| {
        let message = match is_json_number(text) {
            true => format!("{} is out of range", shown(scalar)),
            false => format!("`{}` is not a number", shown(scalar)),
        };
        Unfit::new(message)
    })
}

/// A whole number as JSON writes one, `3.0` as `3`.
pub(crate) fn whole(scalar: &Scalar<'_>) -> Result<Number, Unfit> {
    let number = number(scalar)?;
    if number.is_i64() || number.is_u64() {
        return Ok(number);
    }
    integer(scalar, -999_999_999_999_999, 999_999_999_999_999).map(Number::from)
}

/// A whole number between two others.
pub(crate) fn integer(scalar: &Scalar<'_>, least: i64, most: i64) -> Result<i64, Unfit> {
    let number = number(scalar)?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "only whole numbers of 15 digits are taken"
    )]
    let whole = number.as_i64().or_else(|| {
        number
            .as_f64()
            .filter(|float| float.fract() == 0.0 && float.abs() < 1e15)
            .map(|float| float as i64)
    });
    match whole {
        Some(whole) if (least..=most).contains(&whole) => Ok(whole),
        Some(_) => Err(Unfit::range(scalar, least, most)),
        None if number.as_f64().is_some_and(|float| float.fract() == 0.0) => {
            Err(Unfit::range(scalar, least, most))
        }
        None => Err(Unfit::new(format!(
            "{} is not a whole number",
            shown(scalar)
        ))),
    }
}

/// A time between two others in milliseconds.
pub(crate) fn time(scalar: &Scalar<'_>, least: u64, most: u64) -> Result<Duration, Unfit> {
    let text = scalar.text.trim();
    let how = "write milliseconds (60000) or a time as 500ms, 5s or 2m";
    let unfit = || Unfit::new(format!("`{}` is not a time; {how}", shown(scalar)));
    let unit_at = text
        .find(|c: char| c.is_ascii_alphabetic() && !matches!(c, 'e' | 'E'))
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(unit_at);
    let factor = match unit {
        "" | "ms" => 1.0,
        "s" => 1000.0,
        "m" => 60_000.0,
        "h" => 3_600_000.0,
        _ => return Err(unfit()),
    };
    let number = json_number(digits.trim())
        .and_then(|number| number.as_f64())
        .ok_or_else(unfit)?;
    let millis = number * factor;
    #[expect(clippy::cast_precision_loss, reason = "bounds are far below 2⁵³")]
    let fits = millis >= least as f64 && millis <= most as f64;
    if !fits {
        return Err(Unfit::range(
            scalar,
            time_in_words(least),
            time_in_words(most),
        ));
    }
    Duration::try_from_secs_f64(millis / 1000.0).map_err(|_| unfit())
}

pub(crate) fn time_in_words(millis: u64) -> String {
    match millis {
        0 => "0".to_owned(),
        hours if hours % 3_600_000 == 0 => format!("{}h", hours / 3_600_000),
        minutes if minutes % 60_000 == 0 => format!("{}m", minutes / 60_000),
        seconds if seconds % 1000 == 0 => format!("{}s", seconds / 1000),
        millis => format!("{millis}ms"),
    }
}

/// A size between two others in bytes.
pub(crate) fn size(scalar: &Scalar<'_>, least: u64, most: u64) -> Result<u64, Unfit> {
    let unfit = || {
        Unfit::new(format!(
            "`{}` is not a size; write 512MB, 2GB or a number of bytes",
            shown(scalar)
        ))
    };
    let bytes = read_size(scalar.text.trim()).ok_or_else(unfit)?;
    if (least..=most).contains(&bytes) {
        Ok(bytes)
    } else {
        Err(Unfit::range(
            scalar,
            size_in_words(least),
            size_in_words(most),
        ))
    }
}

/// A size as a file has it, `512MB`; people are shown [`crate::model::text::size`].
pub(crate) fn size_in_words(bytes: u64) -> String {
    match bytes {
        tera if tera >= 1 << 40 => format!("{}TB", tera >> 40),
        giga if giga >= 1 << 30 => format!("{}GB", giga >> 30),
        mega if mega >= 1 << 20 => format!("{}MB", mega >> 20),
        kilo if kilo >= 1 << 10 => format!("{}KB", kilo >> 10),
        bytes => format!("{bytes} bytes"),
    }
}

/// Whether a text is a number as JSON writes one.
fn is_json_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let exponent = exponent.map(|exponent| exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    text.len() <= 400
        && digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(digits)
}

fn json_number(text: &str) -> Option<Number> {
    if !is_json_number(text) {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// A value where any type may stand: what YAML 1.2 calls `true`, `null` and numbers without quotes, texts otherwise.
pub(crate) fn json(node: &Node<'_>) -> Value {
    match &node.content {
        Content::Scalar(scalar) => json_scalar(scalar),
        Content::List(items) => items.iter().map(json).collect(),
        Content::Map(entries) => entries
            .iter()
            .map(|entry| (entry.key.text.clone().into_owned(), json(&entry.value)))
            .collect(),
        Content::Refused => Value::Null,
    }
}

pub(crate) fn json_scalar(scalar: &Scalar<'_>) -> Value {
    if scalar.style != Style::Plain {
        return Value::String(scalar.text.clone().into_owned());
    }
    match &*scalar.text {
        "" | "~" | "null" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        text => match json_number(text) {
            Some(number) => Value::Number(number),
            None => Value::String(text.to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Scalar<'_> {
        Scalar {
            text: text.into(),
            style: Style::Plain,
        }
    }

    #[test]
    fn only_true_and_false_are_booleans() {
        assert_eq!(boolean(&plain("true")), Ok(true));
        assert_eq!(boolean(&plain("false")), Ok(false));
        for (text, instead) in [
            ("no", Some("false")),
            ("On", Some("true")),
            ("TRUE", Some("true")),
            ("maybe", None),
            ("1", None),
        ] {
            let unfit = boolean(&plain(text)).unwrap_err();
            assert_eq!(unfit.instead.as_deref(), instead, "{text}");
        }
    }

    #[test]
    fn times_and_sizes_have_bounds_and_units() {
        let day = 86_400_000;
        for (text, millis) in [
            ("60000", 60_000),
            ("5s", 5000),
            ("2m", 120_000),
            ("1e3", 1000),
        ] {
            let read = time(&plain(text), 1, day);
            assert_eq!(read, Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in [
            "-1",
            "0",
            "1e18",
            "soon",
            "5 parsecs",
            "",
            "99999999999999999999",
        ] {
            assert!(time(&plain(text), 1, day).is_err(), "{text}");
        }
        assert_eq!(size(&plain("10MB"), 1, 1 << 40), Ok(10 << 20));
        assert_eq!(size(&plain("512 MB"), 1, 1 << 40), Ok(512 << 20));
        for text in ["-1", "1.5GB", "MB", "", "99999999999T"] {
            assert!(size(&plain(text), 1, 1 << 40).is_err(), "{text}");
        }
    }

    #[test]
    fn whole_numbers_are_whole() {
        assert_eq!(integer(&plain("3"), 1, 100), Ok(3));
        assert_eq!(integer(&plain("3.0"), 1, 100), Ok(3));
        for text in ["1e9", "0", "2.5", "0x10", "three", "1e400"] {
            assert!(integer(&plain(text), 1, 100).is_err(), "{text}");
        }
    }
}
