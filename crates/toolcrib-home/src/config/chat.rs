//! The settings of `toolcrib chat`: `chat.*`, read into types.

use super::Config;
use crate::wire::ReplyFormat;

/// What `toolcrib chat` uses unless its options say otherwise: the settings `chat.*`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChatSettings {
    /// `chat.provider`.
    pub provider: Option<ReplyFormat>,
    /// `chat.model`.
    pub model: Option<String>,
    /// `chat.baseUrl`.
    pub base_url: Option<String>,
    /// `chat.key`: where the key is, `secret:NAME` or `env:VARIABLE`.
    pub key: Option<String>,
}

impl Config {
    /// The settings `chat.*`.
    pub fn chat(&self) -> ChatSettings {
        let text = |key: &str| self.value(key).as_str().map(str::to_owned);
        ChatSettings {
            provider: text("chat.provider").and_then(|word| word.parse().ok()),
            model: text("chat.model"),
            base_url: text("chat.baseUrl"),
            key: text("chat.key"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, Setting};
    use super::*;

    #[test]
    fn every_provider_can_be_set() {
        let setting = Setting::find("chat.provider").unwrap();
        let Kind::Choice(words) = setting.kind else {
            panic!("{setting:?}");
        };
        let known: Vec<&str> = ReplyFormat::ALL
            .iter()
            .map(|format| format.as_str())
            .collect();
        assert_eq!(words, known);
        assert_eq!(Config::defaults().chat(), ChatSettings::default());
    }
}
