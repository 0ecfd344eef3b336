//! The model's words on their way out, without the key: [`Said`].
//!
//! A server may repeat what it was sent, a few characters at a time. So the end of what came is held back for as long as it could be
//! the beginning of the key; that is a few characters, and only where they are the key's.

use super::ChatEvent;
use crate::model::secret::Secret;

/// A key shorter than this is a word like others.
const MIN_KEY: usize = 4;
/// What stands for it.
const MASK: &str = "[REDACTED]";

/// What the model has said in one reply.
#[derive(Debug)]
pub(super) struct Said {
    key: Option<Secret>,
    told: String,
    held: String,
}

impl Said {
    pub(super) fn new(key: Option<&Secret>) -> Self {
        Said {
            key: key.filter(|key| key.expose().len() >= MIN_KEY).cloned(),
            told: String::new(),
            held: String::new(),
        }
    }

    /// The text reported so far.
    pub(super) fn text(&self) -> &str {
        &self.told
    }

    /// Adds words, and reports what may be shown.
    pub(super) fn add(&mut self, more: &str, on: &(dyn Fn(ChatEvent<'_>) + Send + Sync)) {
        if more.is_empty() {
            return;
        }
        self.held.push_str(more);
        let keep = match &self.key {
            None => 0,
            Some(key) => {
                let key = key.expose();
                if self.held.contains(key) {
                    self.held = self.held.replace(key, MASK);
                }
                let begun = (1..key.len())
                    .rev()
                    .filter(|&end| key.is_char_boundary(end));
                let mut begun = begun.filter(|&end| self.held.ends_with(&key[..end]));
                begun.next().unwrap_or(0)
            }
        };
        let rest = self.held.split_off(self.held.len() - keep);
        let words = std::mem::replace(&mut self.held, rest);
        self.tell(&words, on);
    }

    /// Nothing more comes: what was held back was not the key.
    pub(super) fn end(&mut self, on: &(dyn Fn(ChatEvent<'_>) + Send + Sync)) {
        let words = std::mem::take(&mut self.held);
        self.tell(&words, on);
    }

    fn tell(&mut self, words: &str, on: &(dyn Fn(ChatEvent<'_>) + Send + Sync)) {
        if !words.is_empty() {
            on(ChatEvent::Text(words));
            self.told.push_str(words);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn told(text: &str, size: usize) -> String {
        let key = Secret::new("sk-sk-key");
        let mut said = Said::new(Some(&key));
        let told = Mutex::new(String::new());
        let on = |event: ChatEvent<'_>| {
            if let ChatEvent::Text(words) = event {
                told.lock().unwrap().push_str(words);
            }
        };
        let chars: Vec<char> = text.chars().collect();
        for piece in chars.chunks(size) {
            said.add(&piece.iter().collect::<String>(), &on);
        }
        said.end(&on);
        let told = told.into_inner().unwrap();
        assert_eq!(said.text(), told);
        told
    }

    #[test]
    fn the_key_is_masked_however_it_is_cut_and_nothing_else_is_lost() {
        for size in 1..30 {
            let text = "ä sk-sk-key, sk-sk-sk-key and sk-sk-ke";
            assert_eq!(
                told(text, size),
                "ä [REDACTED], sk-[REDACTED] and sk-sk-ke",
                "{size}"
            );
            assert_eq!(told("plain sk", size), "plain sk");
        }
    }

    #[test]
    fn without_a_key_everything_is_reported_at_once() {
        let mut said = Said::new(None);
        said.add("sk", &|_| ());
        assert_eq!(said.text(), "sk");
    }
}
