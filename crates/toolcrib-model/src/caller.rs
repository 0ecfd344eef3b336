//! The maker of a call: [`Caller`].

use serde::{Deserialize, Serialize};

/// The maker of a call.
///
/// Grants, questions and the ids that callers give are each caller's own; so are those of the calls that its tools make. On the wire one
/// word: `library`, `cli`, `operator`, `mcp`, `client:NAME`, and with `tool:` before it for a nested call: `tool:client:NAME`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Caller {
    /// A program that embeds the library.
    #[default]
    Library,
    /// The command line.
    Cli,
    /// The operator of the server, through it.
    Operator,
    /// A program that started its own MCP server, `toolcrib mcp`, and gave no client's name.
    Mcp,
    /// A client of the server, by the name of its token.
    Client(String),
    /// A tool, as a nested call, for the caller of the outermost call. Never of another tool: see [`nested`](Self::nested).
    ToolFor(Box<Caller>),
    /// A tool, for a caller no one noted: in what an earlier Toolcrib wrote. No call is made by it, so that a grant for it covers none.
    Tool,
}

impl Caller {
    /// The caller of the nested calls of this caller's calls.
    #[must_use]
    pub fn nested(&self) -> Caller {
        match self {
            Caller::ToolFor(_) => self.clone(),
            outermost => Caller::ToolFor(Box::new(outermost.clone())),
        }
    }

    /// The maker of the outermost call: this caller itself, unless it is a tool.
    pub fn outermost(&self) -> &Caller {
        match self {
            Caller::ToolFor(caller) => caller,
            caller => caller,
        }
    }

    /// Whether it is meant by a word in a list's filter: `tool` means every tool.
    pub fn is_meant_by(&self, wanted: &Caller) -> bool {
        self == wanted || matches!((self, wanted), (Caller::ToolFor(_), Caller::Tool))
    }
}

impl std::fmt::Display for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Caller::Library => f.write_str("library"),
            Caller::Cli => f.write_str("cli"),
            Caller::Operator => f.write_str("operator"),
            Caller::Mcp => f.write_str("mcp"),
            Caller::Client(name) => write!(f, "client:{name}"),
            Caller::ToolFor(caller) => write!(f, "tool:{caller}"),
            Caller::Tool => f.write_str("tool"),
        }
    }
}

impl std::str::FromStr for Caller {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "library" => Ok(Caller::Library),
            "cli" => Ok(Caller::Cli),
            "operator" => Ok(Caller::Operator),
            "mcp" => Ok(Caller::Mcp),
            "tool" => Ok(Caller::Tool),
            _ => {
                if let Some(name) = word.strip_prefix("client:") {
                    return Ok(Caller::Client(name.to_owned()));
                }
                let outermost = word.strip_prefix("tool:").map(str::parse);
                match outermost {
                    Some(Ok(Caller::Tool | Caller::ToolFor(_)) | Err(_)) | None => {
                        Err(format!("unknown caller `{word}`"))
                    }
                    Some(Ok(caller)) => Ok(Caller::ToolFor(Box::new(caller))),
                }
            }
        }
    }
}

impl Serialize for Caller {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Caller {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        word.parse().map_err(serde::de::Error::custom)
    }
}
