//! Which of the files with the right name are wanted: by type, size and time.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, civil};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Args, FileKind, NAME};
use crate::builtin::invalid;
use crate::model::error::ToolError;
use crate::model::text;
use crate::workspace::Metadata;

/// The kind of thing that a call looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum Want {
    #[default]
    File,
    Directory,
    Any,
}

/// The conditions of a call beyond names.
pub(super) struct Filter {
    want: Want,
    min_size: u64,
    max_size: u64,
    after: Option<Timestamp>,
    before: Option<Timestamp>,
}

impl Filter {
    pub(super) fn new(args: &Args, now: Timestamp) -> Result<Self, ToolError> {
        let time = |name: &str, text: &Option<String>| {
            match text {
            None => Ok(None),
            Some(text) => when(text, now).map(Some).ok_or_else(|| {
                let message = format!(
                    "is not a time: `{}`; write `2026-01-31`, `2026-01-31T12:00:00Z`, or how long ago, as `30m`, `24h` or `7d`",
                    text::shorten(text, 60)
                );
                invalid(NAME, name, &message)
            }),
        }
        };
        Ok(Filter {
            want: args.want,
            min_size: args.min_size.unwrap_or(0),
            max_size: args.max_size.unwrap_or(u64::MAX),
            after: time("/modifiedAfter", &args.modified_after)?,
            before: time("/modifiedBefore", &args.modified_before)?,
        })
    }

    /// Whether things of a kind are wanted at all.
    pub(super) fn wants(&self, kind: FileKind) -> bool {
        match (self.want, kind) {
            (Want::Any, _) | (Want::File, FileKind::File) => true,
            (Want::Directory, FileKind::Directory) => true,
            (Want::File, FileKind::Directory) | (Want::Directory, FileKind::File) => false,
        }
    }

    /// Whether size and time fit.
    pub(super) fn covers(&self, metadata: &Metadata) -> bool {
        let has_time = self.after.is_none_or(|after| metadata.modified >= after)
            && self.before.is_none_or(|before| metadata.modified < before);
        has_time && (self.min_size..=self.max_size).contains(&metadata.size)
    }
}

/// Reads a time: RFC 3339, a date (which begins at midnight UTC), or an age.
fn when(text: &str, now: Timestamp) -> Option<Timestamp> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time);
    }
    if let Ok(date) = text.parse::<civil::Date>() {
        return Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp());
    }
    let unit = text.chars().last()?;
    let count: i64 = text.strip_suffix(unit)?.trim().parse().ok()?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 24 * 3600,
        'w' => 7 * 24 * 3600,
        _ => return None,
    };
    let age = SignedDuration::from_secs(count.checked_mul(seconds).filter(|age| *age >= 0)?);
    now.checked_sub(age).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let now: Timestamp = "2026-03-10T12:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("2026-01-31T10:00:00Z", Some("2026-01-31T10:00:00Z")),
            ("2026-01-31T10:00:00+02:00", Some("2026-01-31T08:00:00Z")),
            ("2026-01-31", Some("2026-01-31T00:00:00Z")),
            ("90m", Some("2026-03-10T10:30:00Z")),
            ("7d", Some("2026-03-03T12:00:00Z")),
            ("1w", Some("2026-03-03T12:00:00Z")),
            ("", None),
            ("d", None),
            ("-1d", None),
            ("soon", None),
            ("9223372036854775807d", None),
            ("7é", None),
        ] {
            let expected = expected.map(|time| time.parse().unwrap());
            assert_eq!(when(text, now), expected, "{text}");
        }
    }
}
