//! From words to what the command asks for. Everything that is in the way is said at once.

use std::fmt;

use super::placeholder;
use super::refusal::Why;
use super::table::{self, Does, Opt};
use toolcrib::model::text;

/// What a command asks for, option by option; texts may have marks.
#[derive(Default)]
pub(super) struct Command {
    pub(super) url: String,
    pub(super) method: Option<String>,
    pub(super) head: bool,
    pub(super) get: bool,
    pub(super) headers: Vec<String>,
    pub(super) data: Vec<Data>,
    pub(super) json: bool,
    pub(super) user: Option<String>,
    pub(super) bearer: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) referer: Option<String>,
    pub(super) cookies: Vec<String>,
    pub(super) url_query: Vec<String>,
    pub(super) range: Option<String>,
    pub(super) timeout_ms: Option<u64>,
    pub(super) retries: Option<u32>,
    pub(super) max_received: Option<u64>,
    pub(super) globoff: bool,
    /// What has no effect on a tool, and why.
    pub(super) ignored: Vec<(String, &'static str)>,
}

/// Without texts: any of them may be, or have, a credential.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("headers", &self.headers.len())
            .field("data", &self.data.len())
            .field("cookies", &self.cookies.len())
            .field("has_user", &self.user.is_some())
            .field("has_bearer", &self.bearer.is_some())
            .finish_non_exhaustive()
    }
}

/// A piece of the body.
pub(super) enum Data {
    /// As it is.
    Plain(String),
    /// `--data-urlencode`: `name=content`, `=content` or `content`.
    Encode(String),
}

/// Reads the words of a command.
pub(super) fn read(words: Vec<String>) -> Result<Command, Vec<Why>> {
    let mut words = words.into_iter().peekable();
    // Documentation shows the prompt.
    words.next_if(|word| word == "$");
    let program = words.next().unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or_default();
    if name != "curl" && name != "curl.exe" {
        return Err(vec![Why::new(
            "the command does not start with `curl`",
            "give one plain command: 'curl https://…'",
        )]);
    }
    let mut reader = Reader::default();
    let mut only_urls = false;
    while let Some(word) = words.next() {
        if only_urls || !word.starts_with('-') || word == "-" {
            reader.url(word);
        } else if word == "--" {
            only_urls = true;
        } else if let Some(long) = word.strip_prefix("--") {
            reader.long(long, &mut words);
        } else {
            reader.letters(&word, &mut words);
        }
    }
    reader.done()
}

#[derive(Default)]
struct Reader {
    command: Command,
    urls: Vec<String>,
    why: Vec<Why>,
}

impl Reader {
    fn done(mut self) -> Result<Command, Vec<Why>> {
        match self.urls.len() {
            0 => self.refuse("there is no URL", "give one: 'curl https://…'"),
            1 => self.command.url = self.urls.remove(0),
            _ => self.refuse(
                "there is more than one URL",
                "give one; a tool may have several requests, which are added by hand",
            ),
        }
        match self.why.is_empty() {
            true => Ok(self.command),
            false => Err(self.why),
        }
    }

    fn refuse(&mut self, what: impl Into<String>, instead: impl Into<String>) {
        self.why.push(Why::new(what, instead));
    }

    fn url(&mut self, word: String) {
        if placeholder::only(&word).is_some() {
            let name = placeholder::shown(&word);
            self.refuse(
                format!("`{name}` is where options or the URL would be"),
                "write them out",
            );
        } else {
            self.urls.push(word);
        }
    }

    fn long(&mut self, word: &str, words: &mut impl Iterator<Item = String>) {
        let (name, glued) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word, None),
        };
        let positive = name.strip_prefix("no-").and_then(table::by_name);
        match (table::by_name(name), positive) {
            (Some(option), _) => {
                let shown = format!("--{}", option.long);
                match (option.takes_value, glued) {
                    (true, Some(value)) => self.take(option, &shown, value),
                    (true, None) => self.take_next(option, &shown, words),
                    (false, _) => self.take(option, &shown, String::new()),
                }
            }
            // `--no-progress-meter`: the opposite of what has no effect has none, and of what is refused neither.
            (None, Some(option)) if !option.takes_value => {
                let shown = format!("--no-{}", option.long);
                let why = "it is what tools do, or has no effect on them";
                self.command.ignored.push((shown, why));
            }
            (None, _) => {
                let near = text::nearest(name, table::OPTIONS.iter().map(|option| option.long));
                let instead = match near.first() {
                    Some(near) => format!("did you mean `--{near}`?"),
                    None => "leave it out".to_owned(),
                };
                // A slip may have glued a value to it, and a value may be a credential.
                let is_plain = |byte: u8| byte.is_ascii_lowercase() || b"-.".contains(&byte);
                let what = match name.len() <= 30 && name.bytes().all(is_plain) {
                    true => format!("unknown option `--{name}`"),
                    false => "there is an option that is not known".to_owned(),
                };
                self.refuse(what, instead);
            }
        }
    }

    /// `-sSL`, `-XPOST`, `-H'Name: value'`.
    fn letters(&mut self, word: &str, words: &mut impl Iterator<Item = String>) {
        let mut rest = &word[1..];
        while let Some(letter) = rest.chars().next() {
            rest = &rest[letter.len_utf8()..];
            let shown = format!("-{letter}");
            let Some(option) = table::by_letter(letter) else {
                // The rest may be a value, and a value a credential: it is not quoted.
                let shown = match letter.is_ascii_graphic() {
                    true => format!("unknown option `{shown}`"),
                    false => "there is an option whose letter is none".to_owned(),
                };
                return self.refuse(shown, "leave it out");
            };
            if !option.takes_value {
                self.take(option, &shown, String::new());
            } else if rest.is_empty() {
                return self.take_next(option, &shown, words);
            } else {
                return self.take(option, &shown, rest.to_owned());
            }
        }
    }

    fn take_next(&mut self, option: &Opt, shown: &str, words: &mut impl Iterator<Item = String>) {
        match words.next() {
            Some(value) => self.take(option, shown, value),
            None => self.refuse(format!("`{shown}` has no value"), "copy the whole command"),
        }
    }

    fn take(&mut self, option: &Opt, shown: &str, value: String) {
        let command = &mut self.command;
        match option.does {
            Does::Request => command.method = Some(value),
            Does::Head => command.head = true,
            Does::Get => command.get = true,
            Does::Header => match value.starts_with('@') {
                true => self.no_file(shown),
                false => command.headers.push(value),
            },
            Does::Data { reads_files } => match reads_files && value.starts_with('@') {
                true => self.no_file(shown),
                false => command.data.push(Data::Plain(value)),
            },
            Does::DataUrlencode => {
                // `name@file`: the first of `=` and `@` decides.
                match value.find(['=', '@']).map(|at| value.as_bytes()[at]) {
                    Some(b'@') => self.no_file(shown),
                    _ => command.data.push(Data::Encode(value)),
                }
            }
            Does::Json => match value.starts_with('@') {
                true => self.no_file(shown),
                false => {
                    // Several are one text, without anything between.
                    match command.data.last_mut() {
                        Some(Data::Plain(text)) if command.json => text.push_str(&value),
                        _ => command.data.push(Data::Plain(value)),
                    }
                    command.json = true;
                }
            },
            Does::User => command.user = Some(value),
            Does::Bearer => command.bearer = Some(value),
            Does::Agent => command.agent = Some(value),
            Does::Referer => command.referer = Some(value),
            Does::Cookie => match value.contains('=') || placeholder::is_in(&value) {
                true => command.cookies.push(value),
                false => self.no_file(shown),
            },
            Does::Url => self.url(value),
            Does::UrlQuery => match value.find(['=', '@']).map(|at| value.as_bytes()[at]) {
                Some(b'@') => self.no_file(shown),
                _ => command.url_query.push(value),
            },
            Does::Range => command.range = Some(format!("bytes={value}")),
            Does::MaxTime => match value.parse::<f64>() {
                Ok(seconds) if seconds > 0.0 && seconds <= 600.0 => {
                    command.timeout_ms = Some((seconds * 1000.0).ceil() as u64);
                }
                _ => self.no_number(shown, "seconds, at most 600"),
            },
            Does::Retry => match value.parse() {
                Ok(times @ 0..=10) => command.retries = Some(times),
                _ => self.no_number(shown, "how many times, at most 10"),
            },
            Does::MaxFilesize => match value.parse() {
                Ok(bytes @ 1..=0x4000_0000) => command.max_received = Some(bytes),
                _ => self.no_number(shown, "bytes, at most 1 GB"),
            },
            Does::Globoff => command.globoff = true,
            Does::Ignored(why) => {
                let shown = shown.to_owned();
                if !command.ignored.iter().any(|(other, _)| *other == shown) {
                    command.ignored.push((shown, why));
                }
            }
            Does::Refused(what, instead) => {
                self.refuse(format!("`{shown}`: {what}"), instead);
            }
        }
    }

    fn no_file(&mut self, shown: &str) {
        self.refuse(
            format!("`{shown}` names a file, and no file is read here"),
            "put its text into the command, or make it an argument: -d '${text}'",
        );
    }

    fn no_number(&mut self, shown: &str, unit: &str) {
        self.refuse(
            format!("the value of `{shown}` is not a number that tools accept ({unit})"),
            "write one",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_at_a_command_shows_no_texts() {
        let words = "curl https://SENTINEL.example/?k=SENTINEL -H a:SENTINEL -d SENTINEL -u me:SENTINEL \
                     --oauth2-bearer SENTINEL -b a=SENTINEL -A SENTINEL -e SENTINEL";
        let words = words.split_whitespace().map(str::to_owned).collect();
        let shown = format!("{:?}", read(words).unwrap());
        assert!(!shown.contains("SENTINEL"), "{shown}");
    }
}
