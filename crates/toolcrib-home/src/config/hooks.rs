//! The settings of hooks: `hooks.*`, read into types.

use std::time::Duration;

use super::Config;

/// How calls are judged that other programs make with their own tools: the settings `hooks.*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookSettings {
    /// `hooks.waitMs`: how long a person may take to answer in the approvals queue.
    pub wait: Duration,
    /// `hooks.sandbox`: whether commands are put behind the sandbox.
    pub sandbox: bool,
}

impl Config {
    /// The settings `hooks.*`.
    pub fn hooks(&self) -> HookSettings {
        HookSettings {
            wait: Duration::from_millis(self.number("hooks.waitMs").unwrap_or_default()),
            sandbox: self.value("hooks.sandbox").as_bool().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_has_a_minute_and_no_command_is_changed_by_default() {
        let expected = HookSettings {
            wait: Duration::from_secs(60),
            sandbox: false,
        };
        assert_eq!(Config::defaults().hooks(), expected);
    }
}
