//! The channels of the settings: `[notify.NAME]` of config.toml.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::civil::Time;
use serde_json::{Map, Value};
use url::Url;

use crate::egress::Target;
use crate::model::text;
use crate::secret::SecretName;

/// The most channels, and the longest name of one.
const MAX_CHANNELS: usize = 20;
const MAX_NAME: usize = 32;
/// The most recipients of a mail.
const MAX_RECIPIENTS: usize = 20;
/// How long questions are gathered if no one says.
const GATHER: Duration = Duration::from_secs(2);
/// The ports of SMTP with `STARTTLS`, and encrypted from the start.
const SUBMISSION: u16 = 587;
const SMTPS: u16 = 465;

/// The channels by which people learn of questions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NotifySettings(BTreeMap<String, Channel>);

/// One channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// What it is, and where.
    pub kind: ChannelKind,
    /// How long a question waits before it is sent: so a second channel comes in when no one answers the first.
    pub after: Duration,
    /// How long questions that come together are gathered for one message.
    pub gather: Duration,
    /// When nothing is sent.
    pub quiet: Option<QuietHours>,
    /// Whether a message has one-time links with which a question can be answered without signing in.
    pub one_time: bool,
}

/// What a channel is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelKind {
    /// JSON to an address, signed with a secret.
    Webhook {
        /// The address.
        url: Url,
        /// Its target.
        target: Target,
        /// The secret that signs.
        secret: SecretName,
    },
    /// A topic of ntfy.
    Ntfy {
        /// The server.
        url: Url,
        /// Its target.
        target: Target,
        /// The topic.
        topic: String,
        /// The secret with an access token, if it needs one.
        secret: Option<SecretName>,
    },
    /// An incoming webhook of Slack, or of what is compatible.
    Slack {
        /// Where it must be.
        target: Target,
        /// The secret with the whole address.
        secret: SecretName,
    },
    /// A chat with a bot of Telegram.
    Telegram {
        /// The server.
        url: Url,
        /// Its target.
        target: Target,
        /// The secret with the bot's token.
        secret: SecretName,
        /// The chat.
        chat: String,
    },
    /// Mail.
    Smtp {
        /// The server.
        target: Target,
        /// Whether it is encrypted from the start.
        is_encrypted: bool,
        /// The account that logs in, and its secret.
        login: Option<(String, SecretName)>,
        /// The sender.
        from: String,
        /// The recipients.
        to: Vec<String>,
    },
    /// This machine's desktop, by `notify-send`.
    Desktop,
}

/// A time of the day in which nothing is sent; it may go over midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuietHours {
    /// From then on.
    pub from: Time,
    /// Until then.
    pub to: Time,
}

/// Problems of the tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifyFault {
    /// The key, such as `notify.phone.url`.
    pub key: String,
    /// The problem and what to write.
    pub problem: String,
}

impl QuietHours {
    /// Whether a time of the day is among them.
    pub fn include(&self, time: Time) -> bool {
        match self.from <= self.to {
            true => (self.from..self.to).contains(&time),
            false => time >= self.from || time < self.to,
        }
    }
}

impl ChannelKind {
    /// The word in the settings.
    pub fn as_str(&self) -> &'static str {
        match self {
            ChannelKind::Webhook { .. } => "webhook",
            ChannelKind::Ntfy { .. } => "ntfy",
            ChannelKind::Slack { .. } => "slack",
            ChannelKind::Telegram { .. } => "telegram",
            ChannelKind::Smtp { .. } => "smtp",
            ChannelKind::Desktop => "desktop",
        }
    }
}

impl NotifySettings {
    /// Reads the tables, as JSON.
    pub fn read(tables: &Value) -> Result<Self, NotifyFault> {
        let fault = |key: &str, problem: &str| NotifyFault {
            key: key.to_owned(),
            problem: problem.to_owned(),
        };
        let Value::Object(tables) = tables else {
            return Err(fault("notify", "must be tables, as in `[notify.NAME]`"));
        };
        if tables.len() > MAX_CHANNELS {
            return Err(fault("notify", "has more than 20 channels"));
        }
        let mut channels = BTreeMap::new();
        for (name, table) in tables {
            let key = format!("notify.{}", text::shorten(name, 80));
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_plain) {
                let problem = "must have a name of letters, digits, `_` and `-`, 32 at most";
                return Err(fault(&key, problem));
            }
            let Value::Object(fields) = table else {
                return Err(fault(&key, "must be a table with `type`"));
            };
            channels.insert(name.clone(), Fields { fields, key }.channel()?);
        }
        Ok(NotifySettings(channels))
    }

    /// Every channel, by name.
    pub fn channels(&self) -> impl Iterator<Item = (&str, &Channel)> {
        self.0
            .iter()
            .map(|(name, channel)| (name.as_str(), channel))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// One table.
struct Fields<'a> {
    fields: &'a Map<String, Value>,
    key: String,
}

/// What every channel may have.
const COMMON: [&str; 5] = ["type", "afterMs", "gatherMs", "quietHours", "oneTimeLinks"];
const TYPES: [&str; 6] = ["webhook", "ntfy", "slack", "telegram", "smtp", "desktop"];

impl Fields<'_> {
    fn fault(&self, at: &str, problem: impl Into<String>) -> NotifyFault {
        NotifyFault {
            key: match at {
                "" => self.key.clone(),
                at => format!("{}.{at}", self.key),
            },
            problem: problem.into(),
        }
    }

    fn channel(&self) -> Result<Channel, NotifyFault> {
        let kind = self.text("type")?;
        let (own, kind): (&[&str], _) = match kind {
            Some("webhook") => (&["url", "secret"], self.webhook()),
            Some("ntfy") => (&["url", "secret"], self.ntfy()),
            Some("slack") => (&["url", "secret"], self.slack()),
            Some("telegram") => (&["url", "secret", "chat"], self.telegram()),
            Some("smtp") => (&["url", "user", "secret", "from", "to"], self.smtp()),
            Some("desktop") => (&[], Ok(ChannelKind::Desktop)),
            Some(_) | None => {
                let problem = format!("must be {}", text::or_list(&TYPES));
                return Err(self.fault("type", problem));
            }
        };
        let known: Vec<&str> = COMMON.iter().chain(own).copied().collect();
        if let Some(other) = self
            .fields
            .keys()
            .find(|key| !known.contains(&key.as_str()))
        {
            let hint = match text::nearest(other, known.iter().copied()).as_slice() {
                [] => format!("it may have {}", text::or_list(&known)),
                near => format!("did you mean {}?", text::or_list(near)),
            };
            return Err(self.fault(&text::shorten(other, 80), format!("is unknown; {hint}")));
        }
        let one_time = match self.fields.get("oneTimeLinks") {
            None => false,
            Some(Value::Bool(one_time)) => *one_time,
            Some(_) => return Err(self.fault("oneTimeLinks", "must be true or false")),
        };
        Ok(Channel {
            kind: kind?,
            after: self.millis("afterMs", Duration::ZERO)?,
            gather: self.millis("gatherMs", GATHER)?,
            quiet: self.quiet()?,
            one_time,
        })
    }

    fn webhook(&self) -> Result<ChannelKind, NotifyFault> {
        let (url, target) = self.url(None)?;
        Ok(ChannelKind::Webhook {
            url,
            target,
            secret: self.needed_secret("the key that signs")?,
        })
    }

    fn ntfy(&self) -> Result<ChannelKind, NotifyFault> {
        let (mut url, target) = self.url(None)?;
        let path = url.path().trim_matches('/').to_owned();
        let (before, topic) = path.rsplit_once('/').unwrap_or(("", &path));
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if topic.is_empty() || topic.len() > 64 || !topic.chars().all(is_plain) {
            let problem = "must end with a topic, as in `https://ntfy.sh/my-crib-5f2c`";
            return Err(self.fault("url", problem));
        }
        url.set_path(before);
        Ok(ChannelKind::Ntfy {
            topic: topic.to_owned(),
            url,
            target,
            secret: self.secret()?,
        })
    }

    fn slack(&self) -> Result<ChannelKind, NotifyFault> {
        let (url, target) = self.url(Some("https://hooks.slack.com"))?;
        if url.path() != "/" {
            let problem = "is only where the webhook is, as in `https://hooks.slack.com`; its whole address is the secret";
            return Err(self.fault("url", problem));
        }
        Ok(ChannelKind::Slack {
            target,
            secret: self.needed_secret("the whole address of the incoming webhook")?,
        })
    }

    fn telegram(&self) -> Result<ChannelKind, NotifyFault> {
        let (url, target) = self.url(Some("https://api.telegram.org"))?;
        let chat = match self.fields.get("chat") {
            Some(Value::String(chat)) if is_line(chat) => chat.clone(),
            Some(Value::Number(chat)) => chat.to_string(),
            _ => {
                let problem = "must be the id of the chat, as a number or a text like `@channel`";
                return Err(self.fault("chat", problem));
            }
        };
        Ok(ChannelKind::Telegram {
            url,
            target,
            secret: self.needed_secret("the bot's token")?,
            chat,
        })
    }

    fn smtp(&self) -> Result<ChannelKind, NotifyFault> {
        const FORM: &str =
            "write `smtps://mail.example.com` or, for STARTTLS, `smtp://mail.example.com:587`";
        let given = self
            .text("url")?
            .ok_or_else(|| self.fault("url", format!("is missing; {FORM}")))?;
        let url = Url::parse(given)
            .map_err(|error| self.fault("url", format!("is not an address ({error}); {FORM}")))?;
        let (is_encrypted, port) = match url.scheme() {
            "smtps" => (true, SMTPS),
            "smtp" => (false, SUBMISSION),
            _ => {
                return Err(self.fault(
                    "url",
                    format!("must begin with `smtps://` or `smtp://`; {FORM}"),
                ));
            }
        };
        let has_more =
            !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some();
        if has_more || !url.username().is_empty() || url.password().is_some() {
            let problem =
                format!("must be a host and a port; `user` and `secret` are beside it; {FORM}");
            return Err(self.fault("url", problem));
        }
        let host = url.host_str().unwrap_or_default();
        let port = url.port().unwrap_or(port);
        // Read as every address is: one spelling, and nothing that programs read differently.
        let (_, target) = Target::parse(&format!("https://{host}:{port}"))
            .map_err(|error| self.fault("url", format!("{error}; {FORM}")))?;
        let login = match (self.text("user")?, self.secret()?) {
            (Some(user), Some(secret)) if is_line(user) => Some((user.to_owned(), secret)),
            (None, None) => None,
            (Some(_), Some(_)) => return Err(self.fault("user", "must be one line of text")),
            (Some(_), None) => {
                return Err(self.fault(
                    "secret",
                    "is missing: the password of `user`, `toolcrib secret set NAME`",
                ));
            }
            (None, Some(_)) => {
                return Err(self.fault("user", "is missing: who logs in with `secret`"));
            }
        };
        let from = self
            .text("from")?
            .ok_or_else(|| self.fault("from", "is missing: the address that messages come from"))?;
        let to = match self.fields.get("to") {
            Some(Value::String(to)) => vec![to.clone()],
            Some(Value::Array(all)) if (1..=MAX_RECIPIENTS).contains(&all.len()) => all
                .iter()
                .map(|to| to.as_str().map(str::to_owned))
                .collect::<Option<_>>()
                .ok_or_else(|| self.fault("to", "must be addresses"))?,
            _ => return Err(self.fault("to", "must be an address, or a list of up to 20")),
        };
        for (at, address) in
            std::iter::once(("from", from)).chain(to.iter().map(|to| ("to", to.as_str())))
        {
            if !is_address(address) {
                let shown = text::shorten(&text::visible_line(address), 80);
                let problem = format!("`{shown}` is not an address like `ada@example.com`");
                return Err(self.fault(at, problem));
            }
        }
        Ok(ChannelKind::Smtp {
            target,
            is_encrypted,
            login,
            from: from.to_owned(),
            to,
        })
    }

    fn text(&self, at: &str) -> Result<Option<&str>, NotifyFault> {
        match self.fields.get(at) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.fault(at, "must be a text")),
        }
    }

    fn url(&self, usual: Option<&str>) -> Result<(Url, Target), NotifyFault> {
        let given = self.text("url")?.or(usual);
        let given = given.ok_or_else(|| self.fault("url", "is missing"))?;
        let (url, target) = Target::parse(given)
            .map_err(|error| self.fault("url", format!("must be an address: {error}")))?;
        if url.fragment().is_some() {
            return Err(self.fault("url", "has a fragment, which is not sent; leave it out"));
        }
        Ok((url, target))
    }

    fn secret(&self) -> Result<Option<SecretName>, NotifyFault> {
        let name = self.text("secret")?.map(SecretName::parse);
        name.transpose()
            .map_err(|problem| self.fault("secret", problem))
    }

    fn needed_secret(&self, what: &str) -> Result<SecretName, NotifyFault> {
        let missing = || {
            let problem = format!(
                "is missing: the name of the secret with {what}, `toolcrib secret set NAME`"
            );
            self.fault("secret", problem)
        };
        self.secret()?.ok_or_else(missing)
    }

    fn millis(&self, at: &str, usual: Duration) -> Result<Duration, NotifyFault> {
        const MAX: u64 = 7 * 24 * 3600 * 1000;
        match self.fields.get(at).map(Value::as_u64) {
            None => Ok(usual),
            Some(Some(millis)) if millis <= MAX => Ok(Duration::from_millis(millis)),
            Some(_) => Err(self.fault(at, format!("must be a whole number from 0 to {MAX}"))),
        }
    }

    fn quiet(&self) -> Result<Option<QuietHours>, NotifyFault> {
        let Some(given) = self.text("quietHours")? else {
            return Ok(None);
        };
        let time = |text: &str| {
            let (hour, minute) = text.trim().split_once(':')?;
            Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()
        };
        let read = given
            .split_once('-')
            .and_then(|(from, to)| Some((time(from)?, time(to)?)));
        match read {
            Some((from, to)) if from != to => Ok(Some(QuietHours { from, to })),
            Some(_) | None => Err(self.fault(
                "quietHours",
                "must be two times of the day, as in `22:00-07:00`",
            )),
        }
    }
}

fn is_line(line: &str) -> bool {
    !line.trim().is_empty() && line.len() <= 200 && !line.contains(char::is_control)
}

/// Whether a text is an address as it is written in a command of SMTP: nothing in it ends the command.
fn is_address(address: &str) -> bool {
    let is_plain = |c: char| {
        c.is_ascii_graphic() && !matches!(c, '<' | '>' | '"' | '(' | ')' | ',' | ';' | ':' | '\\')
    };
    let parts = address.split_once('@');
    address.len() <= 254
        && address.chars().all(is_plain)
        && parts.is_some_and(|(name, domain)| {
            !name.is_empty() && !domain.is_empty() && !domain.contains('@')
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(table: Value) -> Result<Channel, String> {
        let read = NotifySettings::read(&json!({"phone": table}));
        let read = read.map_err(|fault| format!("{}: {}", fault.key, fault.problem))?;
        Ok(read.channels().next().unwrap().1.clone())
    }

    #[test]
    fn every_type_is_read() {
        let ntfy =
            read(json!({"type": "ntfy", "url": "https://ntfy.example.com/sub/alerts_1"})).unwrap();
        assert!(
            matches!(&ntfy.kind, ChannelKind::Ntfy { url, topic, .. } if url.as_str() == "https://ntfy.example.com/sub" && topic == "alerts_1")
        );
        assert_eq!(
            (ntfy.after, ntfy.gather, ntfy.one_time),
            (Duration::ZERO, GATHER, false)
        );
        let smtp = read(
            json!({"type": "smtp", "url": "smtp://mail.example.com", "from": "a@b.example", "to": ["c@d.example"], "user": "a", "secret": "MAIL"}),
        );
        assert!(
            matches!(smtp.unwrap().kind, ChannelKind::Smtp { target, is_encrypted: false, .. } if target.port == 587)
        );
        for (kind, more) in [
            (
                "webhook",
                json!({"url": "https://example.com/hook", "secret": "KEY"}),
            ),
            ("slack", json!({"secret": "SLACK"})),
            ("telegram", json!({"secret": "BOT", "chat": -100_123})),
            ("desktop", json!({"afterMs": 60_000, "oneTimeLinks": true})),
        ] {
            let mut table = more;
            table["type"] = kind.into();
            assert_eq!(read(table).unwrap().kind.as_str(), kind);
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_key() {
        for (table, said) in [
            (json!({}), "notify.phone.type: must be `webhook`, `ntfy`"),
            (json!({"type": "sms"}), "notify.phone.type: must be"),
            (
                json!({"type": "desktop", "url": "https://a.example"}),
                "notify.phone.url: is unknown",
            ),
            (
                json!({"type": "webhook", "url": "https://a.example"}),
                "notify.phone.secret: is missing: the name of the secret with the key that signs",
            ),
            (
                json!({"type": "ntfy", "url": "https://ntfy.sh"}),
                "notify.phone.url: must end with a topic",
            ),
            (
                json!({"type": "ntfy", "url": "ftp://ntfy.sh/x"}),
                "notify.phone.url: must be an address",
            ),
            (
                json!({"type": "slack", "secret": "S", "url": "https://hooks.slack.com/services/x"}),
                "notify.phone.url: is only where the webhook is",
            ),
            (
                json!({"type": "smtp", "url": "smtp://u:p@h", "from": "a@b", "to": "c@d"}),
                "notify.phone.url: must be a host and a port",
            ),
            (
                json!({"type": "smtp", "url": "smtps://h", "from": "a@b>\r\nRCPT TO:<x", "to": "c@d"}),
                "notify.phone.from: ",
            ),
            (
                json!({"type": "smtp", "url": "smtps://h", "from": "a@b", "to": "c@d", "user": "u"}),
                "notify.phone.secret: is missing",
            ),
            (
                json!({"type": "desktop", "quietHours": "22-7"}),
                "notify.phone.quietHours: must be two times",
            ),
            (
                json!({"type": "desktop", "quietHours": "22:00-24:00"}),
                "notify.phone.quietHours: must be two times",
            ),
            (
                json!({"type": "desktop", "gatherMs": -1}),
                "notify.phone.gatherMs: must be a whole number",
            ),
        ] {
            let problem = read(table.clone()).unwrap_err();
            assert!(problem.starts_with(said), "{table}: {problem}");
        }
    }

    #[test]
    fn quiet_hours_go_over_midnight() {
        let at = |hour, minute| Time::new(hour, minute, 0, 0).unwrap();
        let night = QuietHours {
            from: at(22, 0),
            to: at(7, 30),
        };
        for (hour, minute, quiet) in [
            (22, 0, true),
            (23, 59, true),
            (0, 0, true),
            (7, 29, true),
            (7, 30, false),
            (21, 59, false),
        ] {
            assert_eq!(night.include(at(hour, minute)), quiet, "{hour}:{minute}");
        }
        let noon = QuietHours {
            from: at(12, 0),
            to: at(13, 0),
        };
        assert!(noon.include(at(12, 30)) && !noon.include(at(13, 0)) && !noon.include(at(0, 0)));
    }
}
