//! The databases that have a name: `[databases.NAME]` of config.toml.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde_json::Value;
use url::Url;

use crate::egress::{Host, Target};
use crate::model::text;
use crate::secret::SecretName;

/// PostgreSQL's own port.
const PORT: u16 = 5432;

/// The most databases, and the longest name of one.
const MAX_DATABASES: usize = 200;
const MAX_NAME: usize = 64;

/// What a table may have in it.
const KEYS: &[&str] = &["url", "secret", "tls"];

/// The databases that `query_database` knows by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DatabaseSettings(BTreeMap<String, Database>);

/// One database: where it is, and as whom it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Database {
    target: Target,
    user: String,
    database: String,
    secret: Option<SecretName>,
    encryption: Encryption,
}

/// Whether a connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    /// It has to be, and the certificate has to be the server's.
    Required,
    /// It is not.
    Disabled,
}

/// Problems of the tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseFault {
    /// The key, such as `databases.shop.url`.
    pub key: String,
    /// The problem and what to write.
    pub problem: String,
}

impl DatabaseSettings {
    /// Reads the tables, as JSON.
    pub fn read(tables: &Value) -> Result<Self, DatabaseFault> {
        let fault = |key: &str, problem: &str| DatabaseFault {
            key: key.to_owned(),
            problem: problem.to_owned(),
        };
        let Value::Object(tables) = tables else {
            return Err(fault(
                "databases",
                "must be tables, as in `[databases.NAME]`",
            ));
        };
        if tables.len() > MAX_DATABASES {
            return Err(fault("databases", "has more than 200 databases"));
        }
        let mut databases = BTreeMap::new();
        for (name, table) in tables {
            let key = format!("databases.{}", text::shorten(name, 80));
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_plain) {
                let problem = "must have a name of letters, digits, `_` and `-`, 64 at most";
                return Err(fault(&key, problem));
            }
            databases.insert(name.clone(), Database::read(table, &key)?);
        }
        Ok(DatabaseSettings(databases))
    }

    pub(super) fn get(&self, name: &str) -> Option<&Database> {
        self.0.get(name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Database {
    fn read(table: &Value, key: &str) -> Result<Self, DatabaseFault> {
        let fault = |at: &str, problem: &str| DatabaseFault {
            key: match at {
                "" => key.to_owned(),
                at => format!("{key}.{at}"),
            },
            problem: problem.to_owned(),
        };
        let Value::Object(fields) = table else {
            return Err(fault("", "must be a table with `url`"));
        };
        if let Some(other) = fields.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let hint = match text::nearest(other, KEYS.iter().copied()).as_slice() {
                [] => "it may have `url`, `secret` and `tls`".to_owned(),
                near => format!("did you mean {}?", text::or_list(near)),
            };
            return Err(fault(
                &text::shorten(other, 80),
                &format!("is unknown; {hint}"),
            ));
        }
        let words = |at: &str| match fields.get(at) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(fault(at, "must be a text")),
        };
        let Some(address) = words("url")? else {
            return Err(fault(
                "url",
                "is missing; write `postgres://user@host:5432/database`",
            ));
        };
        let (user, target, database) =
            read_url(address).map_err(|problem| fault("url", &problem))?;
        let secret = words("secret")?
            .map(|name| SecretName::parse(name).map_err(|problem| fault("secret", &problem)))
            .transpose()?;
        let encryption = match words("tls")? {
            Some("require") => Encryption::Required,
            Some("disable") => Encryption::Disabled,
            Some(_) => return Err(fault("tls", "must be `require` or `disable`")),
            None if is_this_machine(&target) => Encryption::Disabled,
            None => Encryption::Required,
        };
        Ok(Database {
            target,
            user,
            database,
            secret,
            encryption,
        })
    }

    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    pub(super) fn user(&self) -> &str {
        &self.user
    }

    pub(super) fn database(&self) -> &str {
        &self.database
    }

    pub(super) fn secret(&self) -> Option<&SecretName> {
        self.secret.as_ref()
    }

    pub(super) fn encryption(&self) -> Encryption {
        self.encryption
    }

    /// Who, where and what, in one text that changes with each of them.
    pub(super) fn address(&self) -> String {
        format!("{}@{}/{}", self.user, self.target, self.database)
    }
}

fn is_this_machine(target: &Target) -> bool {
    match &target.host {
        Host::Address(address) => IpAddr::is_loopback(address),
        Host::Name(name) => name == "localhost",
    }
}

/// Reads `postgres://user@host:port/database`.
fn read_url(text: &str) -> Result<(String, Target, String), String> {
    const FORM: &str = "write `postgres://user@host:5432/database`";
    let url = Url::parse(text).map_err(|error| format!("is not an address ({error}); {FORM}"))?;
    if !matches!(url.scheme(), "postgres" | "postgresql") {
        return Err(format!("must begin with `postgres://`; {FORM}"));
    }
    if url.password().is_some() {
        return Err(
            "has a password in it; keep it with `toolcrib secret set NAME` and write `secret = \"NAME\"`"
                .to_owned(),
        );
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(format!(
            "has options in it, which are not read; {FORM}, and `tls` beside it"
        ));
    }
    let (Some(host), false) = (url.host_str(), url.username().is_empty()) else {
        return Err(format!("has no user or no host; {FORM}"));
    };
    let port = url.port().unwrap_or(PORT);
    // The one reading of hosts: what is judged is what is dialled.
    let (_, target) = Target::parse(&format!("https://{host}:{port}/"))
        .map_err(|error| format!("has no host that can be reached: {error}"))?;
    if target.is_never_meant() {
        return Err(format!("names `{target}`, where no database is"));
    }
    let user = decoded(url.username()).ok_or("has a user that is not a text")?;
    let database =
        decoded(url.path().trim_start_matches('/')).ok_or("has a name that is not a text")?;
    if database.is_empty() {
        return Err(format!("names no database; {FORM}"));
    }
    Ok((user, target, database))
}

/// A text without percent-encoding; `None` if that makes no text, or one with a NUL.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (code, after) = rest.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(table: Value) -> Result<Database, String> {
        let settings = DatabaseSettings::read(&json!({"shop": table}));
        settings
            .map(|settings| settings.get("shop").cloned().unwrap())
            .map_err(|fault| format!("{}: {}", fault.key, fault.problem))
    }

    #[test]
    fn an_address_says_who_where_and_what() {
        let shop = read(json!({"url": "postgres://a%40b@Db.Example.com/my%20db"})).unwrap();
        assert_eq!(shop.address(), "a@b@db.example.com:5432/my db");
        assert_eq!(shop.encryption(), Encryption::Required);
        let local =
            read(json!({"url": "postgresql://me@127.0.0.1:5433/x", "secret": "PW"})).unwrap();
        assert_eq!(local.encryption(), Encryption::Disabled);
        assert_eq!(local.secret().unwrap().as_str(), "PW");
        let local = read(json!({"url": "postgres://me@localhost/x", "tls": "require"})).unwrap();
        assert_eq!(local.encryption(), Encryption::Required);
        let v6 = read(json!({"url": "postgres://me@[::1]/x"})).unwrap();
        assert_eq!(v6.target().to_string(), "[::1]:5432");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_key_and_no_password_is_repeated() {
        for (table, expected) in [
            (json!({}), "databases.shop.url: is missing"),
            (
                json!({"url": "postgres://u:hunter2@h/d"}),
                "write `secret = \"NAME\"`",
            ),
            (
                json!({"url": "mysql://u@h/d"}),
                "must begin with `postgres://`",
            ),
            (json!({"url": "postgres://h/d"}), "no user"),
            (json!({"url": "postgres://u@h"}), "names no database"),
            (
                json!({"url": "postgres://u@h/d?sslmode=disable"}),
                "`tls` beside it",
            ),
            (
                json!({"url": "postgres://u@169.254.169.254/d"}),
                "where no database is",
            ),
            (
                json!({"url": "postgres://u@h/d", "tls": "prefer"}),
                "databases.shop.tls: must be",
            ),
            (
                json!({"url": "postgres://u@h/d", "sekret": "x"}),
                "did you mean `secret`?",
            ),
            (json!("x"), "must be a table"),
        ] {
            let error = read(table).unwrap_err();
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
        let error = DatabaseSettings::read(&json!({"a.b": {}})).unwrap_err();
        assert!(error.problem.contains("letters, digits"));
    }
}
