//! A server as the clients' files have it: [`OtherServer`], read from any of their shapes and written in each.

use serde_json::{Map, Value, json};

use super::OtherClient;

/// The variable that clients take the token from. It is not written into their files: those are read by too many.
pub(crate) const TOKEN: &str = "TOOLCRIB_TOKEN";

/// How a client reaches a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ConnectBy {
    /// By starting a program.
    Program {
        command: String,
        args: Vec<String>,
        env: Vec<(String, String)>,
        cwd: Option<String>,
    },
    /// By HTTP.
    Http {
        url: String,
        headers: Vec<(String, String)>,
        /// The variable that has the token, where the client has a field for it.
        token_variable: Option<String>,
    },
    /// By something we cannot do, or in a way we do not understand; why.
    Unknown(String),
}

/// A server of a client's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OtherServer {
    pub(crate) name: String,
    pub(crate) way: ConnectBy,
    /// Whether the client uses it.
    pub(crate) is_enabled: bool,
}

impl OtherServer {
    /// Reads an entry of any client: the fields say what they mean.
    pub(crate) fn read(name: &str, entry: &Value) -> Self {
        let is_enabled = entry["enabled"] != json!(false) && entry["disabled"] != json!(true);
        let way = way(entry).unwrap_or_else(ConnectBy::Unknown);
        OtherServer {
            name: name.to_owned(),
            way,
            is_enabled,
        }
    }

    /// Whether it is Toolcrib: a program of that name, or this one, with the arguments to speak MCP.
    pub(crate) fn is_toolcrib(&self) -> bool {
        match &self.way {
            ConnectBy::Program { command, args, .. } => {
                let path = std::path::Path::new(command);
                let is_named = path.file_stem().is_some_and(|stem| stem == "toolcrib");
                // Someone may have called it something else.
                let is_this = || std::env::current_exe().is_ok_and(|own| own == path);
                (is_named || is_this()) && args.iter().any(|word| word == "mcp")
            }
            ConnectBy::Http { .. } => self.name == "toolcrib",
            ConnectBy::Unknown(_) => false,
        }
    }
}

fn way(entry: &Value) -> Result<ConnectBy, String> {
    let fields = entry.as_object().ok_or("it is not a table")?;
    let text = |key: &str| match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{key}` is not a string")),
    };
    let kind = text("type")?.unwrap_or_default();
    if matches!(kind.as_str(), "sse" | "ws") {
        return Err(format!(
            "it speaks `{kind}`; only programs and streamable HTTP can be used"
        ));
    }
    let (program, more) = program_and_words(fields)?;
    if let Some(command) = program {
        if fields.contains_key("envFile") {
            return Err("its variables are in another file (`envFile`)".to_owned());
        }
        let mut args = more;
        args.extend(match fields.get("args") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(args)) => {
                let args = args.iter().map(|word| word.as_str().map(str::to_owned));
                args.collect::<Option<Vec<String>>>()
                    .ok_or("`args` has an entry that is not a string")?
            }
            Some(_) => return Err("`args` is not a list".to_owned()),
        });
        let mut env = pairs(fields, "env")?;
        // opencode and Goose call them otherwise.
        env.extend(pairs(fields, "environment")?);
        env.extend(pairs(fields, "envs")?);
        return Ok(ConnectBy::Program {
            command,
            args,
            env,
            cwd: text("cwd")?,
        });
    }
    // Gemini CLI means streamable HTTP by `httpUrl`, and the older way by `url` alone.
    let address = text("httpUrl")?.or(text("url")?);
    let Some(url) = address.or(text("serverUrl")?).or(text("uri")?) else {
        return Err("it has neither a command nor an address".to_owned());
    };
    let mut headers = pairs(fields, "headers")?;
    headers.extend(pairs(fields, "http_headers")?);
    for (header, variable) in pairs(fields, "env_http_headers")? {
        headers.push((header, format!("${{{variable}}}")));
    }
    Ok(ConnectBy::Http {
        url,
        headers,
        token_variable: text("bearer_token_env_var")?,
    })
}

/// The program to start: `command`, or `cmd` with Goose; opencode has the arguments in the same list.
fn program_and_words(fields: &Map<String, Value>) -> Result<(Option<String>, Vec<String>), String> {
    match fields.get("command").or_else(|| fields.get("cmd")) {
        None | Some(Value::Null) => Ok((None, Vec::new())),
        Some(Value::String(command)) => Ok((Some(command.clone()), Vec::new())),
        Some(Value::Array(words)) => {
            let words = words.iter().map(|word| word.as_str().map(str::to_owned));
            let words: Option<Vec<String>> = words.collect();
            let mut words = words
                .ok_or("`command` has an entry that is not text")?
                .into_iter();
            Ok((words.next(), words.collect()))
        }
        Some(_) => Err("`command` is not a text".to_owned()),
    }
}

fn pairs(fields: &Map<String, Value>, key: &str) -> Result<Vec<(String, String)>, String> {
    let pair = |(name, value): (&String, &Value)| match value {
        Value::String(text) => Ok((name.clone(), text.clone())),
        Value::Number(_) | Value::Bool(_) => Ok((name.clone(), value.to_string())),
        _ => Err(format!("`{key}.{name}` is not a string")),
    };
    match fields.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(pairs)) => pairs.iter().map(pair).collect(),
        Some(_) => Err(format!("`{key}` is not a table")),
    }
}

impl OtherClient {
    /// How this client writes that a program is a server.
    pub(crate) fn program(self, command: &str, args: &[String]) -> Map<String, Value> {
        let shaped = match self {
            OtherClient::Opencode => {
                let words: Vec<&str> = std::iter::once(command)
                    .chain(args.iter().map(String::as_str))
                    .collect();
                json!({"type": "local", "command": words, "enabled": true})
            }
            OtherClient::Goose => json!({
                "name": "toolcrib", "type": "stdio", "cmd": command, "args": args, "envs": {}, "enabled": true,
                "timeout": 300,
            }),
            OtherClient::CopilotCli => {
                json!({"type": "local", "command": command, "args": args, "tools": ["*"]})
            }
            _ => Value::Null,
        };
        if let Value::Object(entry) = shaped {
            return entry;
        }
        let mut entry = Map::new();
        // The two that ask for it in writing.
        if matches!(self, OtherClient::VsCode | OtherClient::ClaudeCode) {
            entry.insert("type".to_owned(), "stdio".into());
        }
        entry.insert("command".to_owned(), command.into());
        entry.insert("args".to_owned(), json!(args));
        entry
    }

    /// How it writes that a server is at an address, with the token in a variable; why it cannot.
    pub(crate) fn http(self, url: &str) -> Result<Map<String, Value>, &'static str> {
        let bearer = |variable: String| json!({"Authorization": format!("Bearer {variable}")});
        let entry = match self {
            OtherClient::ClaudeDesktop => {
                return Err(
                    "its file has programs only; servers with an address are added in its settings",
                );
            }
            OtherClient::LmStudio
            | OtherClient::Zed
            | OtherClient::Cline
            | OtherClient::Goose
            | OtherClient::Jetbrains
            | OtherClient::Generic => {
                return Err(
                    "it takes no token from a variable, and a token does not belong in its file",
                );
            }
            OtherClient::ClaudeCode => {
                json!({"type": "http", "url": url, "headers": bearer(format!("${{{TOKEN}}}"))})
            }
            OtherClient::Cursor => {
                json!({"url": url, "headers": bearer(format!("${{env:{TOKEN}}}"))})
            }
            OtherClient::VsCode => {
                json!({"type": "http", "url": url, "headers": bearer(format!("${{env:{TOKEN}}}"))})
            }
            OtherClient::Windsurf => {
                json!({"serverUrl": url, "headers": bearer(format!("${{env:{TOKEN}}}"))})
            }
            OtherClient::Roo => json!({
                "type": "streamable-http", "url": url, "headers": bearer(format!("${{env:{TOKEN}}}")),
            }),
            OtherClient::Opencode => json!({
                "type": "remote", "url": url, "enabled": true, "headers": bearer(format!("{{env:{TOKEN}}}")),
            }),
            OtherClient::CopilotCli => json!({
                "type": "http", "url": url, "headers": bearer(format!("${{{TOKEN}}}")), "tools": ["*"],
            }),
            OtherClient::Codex => json!({"url": url, "bearer_token_env_var": TOKEN}),
            OtherClient::Gemini => {
                json!({"httpUrl": url, "headers": bearer(format!("${{{TOKEN}}}"))})
            }
        };
        match entry {
            Value::Object(entry) => Ok(entry),
            _ => Err("its file has no form for it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_as_the_same() {
        let args = ["mcp".to_owned(), "--workspace".to_owned(), "/p".to_owned()];
        for client in OtherClient::ALL {
            let entry = Value::Object(client.program("/bin/toolcrib", &args));
            let server = OtherServer::read("x", &entry);
            assert!(server.is_toolcrib() && server.is_enabled, "{server:?}");
            let Ok(entry) = client.http("http://127.0.0.1:7410/mcp") else {
                continue;
            };
            let server = OtherServer::read("toolcrib", &Value::Object(entry));
            let ConnectBy::Http {
                url,
                headers,
                token_variable,
            } = &server.way
            else {
                panic!("{server:?}");
            };
            assert_eq!(url, "http://127.0.0.1:7410/mcp");
            assert_eq!(
                headers.len() + usize::from(token_variable.is_some()),
                1,
                "{server:?}"
            );
        }
    }

    #[test]
    fn what_cannot_be_used_says_why() {
        for (entry, why) in [
            (json!({"type": "sse", "url": "http://x"}), "`sse`"),
            (json!({"command": "x", "envFile": ".env"}), "`envFile`"),
            (json!({"command": "x", "args": "y"}), "not a list"),
            (json!({"command": [1]}), "not text"),
            (json!({"command": {}}), "not a text"),
            (json!({}), "neither"),
            (json!("x"), "not a table"),
        ] {
            match OtherServer::read("x", &entry).way {
                ConnectBy::Unknown(said) => assert!(said.contains(why), "{said}"),
                other => panic!("{entry}: {other:?}"),
            }
        }
    }
}
