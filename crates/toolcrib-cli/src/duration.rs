//! Durations as people type them: `500ms`, `5s`, `2m`; a bare number is seconds.

use std::time::Duration;

/// Reads a duration; the error says how to write one.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || {
        format!(
            "`{}` is not a time; write 500ms, 5s or 2m",
            toolcrib::model::text::shorten(text, 40)
        )
    };
    let (number, unit) = match text.find(|c: char| c.is_ascii_alphabetic()) {
        Some(at) => text.split_at(at),
        None => (text, "s"),
    };
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "ms" => number / 1000.0,
        "s" => number,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(wrong()),
    };
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if duration >= Duration::from_millis(1) => Ok(duration),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_units() {
        for (text, millis) in [
            ("500ms", 500),
            ("5s", 5000),
            ("5", 5000),
            ("0.5", 500),
            ("2m", 120_000),
            ("1h", 3_600_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for wrong in ["", "s", "5x", "-1s", "0", "NaN", "inf", "1e300h", "5 s s"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
