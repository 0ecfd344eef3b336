//! The problems that a file can have: [`CODES`], for `toolcrib explain <code>`. They are written in `codes.toml`.
//!
//! Codes are stable: other programs match on them. Each has an example that shows it; a test reads every one of them.

use std::sync::LazyLock;

use super::problem::Severity;
use crate::table::rows;

/// What a code means.
#[derive(Debug)]
pub struct ProblemCode {
    /// The code.
    pub name: &'static str,
    /// How bad it usually is.
    pub severity: Severity,
    /// The problem, and why it is not accepted.
    pub meaning: &'static str,
    /// What to do.
    pub remedy: &'static str,
    /// A file that has it; `None` where no text shows it.
    pub example: Option<&'static str>,
}

/// Finds a code.
pub fn code(name: &str) -> Option<&'static ProblemCode> {
    CODES.iter().find(|code| code.name == name)
}

const TABLE: &str = include_str!("codes.toml");

/// Every code.
pub static CODES: LazyLock<Vec<ProblemCode>> = LazyLock::new(|| {
    let codes = rows(TABLE).into_iter().map(|row| ProblemCode {
        name: row.name,
        severity: match row.find("severity") {
            Some("warning") => Severity::Warning,
            _ => Severity::Error,
        },
        meaning: row.get("meaning"),
        remedy: row.get("remedy"),
        example: row.find("example"),
    });
    codes.collect()
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::assert_read_as_toml;

    #[test]
    fn every_row_of_the_catalogue_is_read_in_full() {
        assert_read_as_toml(TABLE, &["severity", "meaning", "remedy", "example"]);
        for row in rows(TABLE) {
            let severity = row.find("severity");
            assert!(matches!(severity, None | Some("warning")), "{}", row.name);
        }
    }
}
