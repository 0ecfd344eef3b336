//! Durations as people type them: `500ms`, `5s`, `2m`, `8h`, `7d`; a bare number is seconds.

use std::time::Duration;

/// Reads a duration; the error says how to write one.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    read(text, "500ms, 5s or 2m")
}

/// Reads how long to wait for people.
pub(crate) fn of_people(text: &str) -> Result<Duration, String> {
    read(text, "30m, 8h or 7d")
}

/// Reads how long a grant lasts.
pub(crate) fn of_grant(text: &str) -> Result<Duration, String> {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
    match of_people(text)? {
        lasting if lasting > YEAR => Err("a grant lasts a year at most: 365d".to_owned()),
        lasting => Ok(lasting),
    }
}

fn read(text: &str, examples: &str) -> Result<Duration, String> {
    let wrong = || {
        let text = toolcrib::model::text::shorten(text, 40);
        format!("`{text}` is not a time; write {examples}")
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
        "d" => number * 86_400.0,
        _ => return Err(wrong()),
    };
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if duration >= Duration::from_millis(1) => Ok(duration),
        _ => Err(wrong()),
    }
}

/// A time as people say it, to the two largest units: `4m 59s`, `30d`.
pub(crate) fn in_words(duration: Duration) -> String {
    // The display counts down, so half a second is still one.
    let seconds = duration.as_secs() + u64::from(duration.subsec_millis() >= 500);
    let units = [
        (seconds / 86_400, "d"),
        (seconds / 3600 % 24, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
    ];
    let words: Vec<String> = units
        .iter()
        .skip_while(|(number, _)| *number == 0)
        .take(2)
        .filter(|(number, _)| *number > 0)
        .map(|(number, unit)| format!("{number}{unit}"))
        .collect();
    if words.is_empty() {
        return "0s".to_owned();
    }
    words.join(" ")
}

/// A time that was measured, in milliseconds: `3.2 ms`, `17.5 s`, `4m 59s`.
pub(crate) fn measured(milliseconds: f64) -> String {
    match milliseconds {
        short if short < 999.95 => format!("{short:.1} ms"),
        middle if middle < 59_950.0 => format!("{:.1} s", middle / 1000.0),
        long => in_words(Duration::try_from_secs_f64(long / 1000.0).unwrap_or_default()),
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
            ("7d", 604_800_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        let measured = [0.04, 12.34, 999.99, 17_512.0, 59_960.0].map(measured);
        assert_eq!(measured, ["0.0 ms", "12.3 ms", "1.0 s", "17.5 s", "1m"]);
        for (millis, words) in [
            (0, "0s"),
            (299_700, "5m"),
            (299_000, "4m 59s"),
            (3_600_000, "1h"),
            (3_661_000, "1h 1m"),
            (3_601_000, "1h"),
            (2_592_000_000, "30d"),
        ] {
            assert_eq!(in_words(Duration::from_millis(millis)), words);
        }
        assert!(of_people("soon").unwrap_err().ends_with("30m, 8h or 7d"));
        assert!(of_grant("365d").is_ok());
        assert!(of_grant("366d").unwrap_err().contains("365d"));
        for wrong in ["", "s", "5x", "-1s", "0", "NaN", "inf", "1e300h", "5 s s"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
