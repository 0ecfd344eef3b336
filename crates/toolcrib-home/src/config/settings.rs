//! The table of settings: every key, its type, its default, what it does, and how a project may
//! tighten it. Files, environment variables, `config show` and docs/config.md all come from here.

use serde_json::{Value, json};

use super::server;
use crate::egress::{AllowedHosts, EgressOptions, Target};
use crate::model::limits::{Limits, MB};
use crate::model::text;
use crate::secret::SecretName;

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// The key in config.toml, with dots for tables.
    pub key: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// Its value when nobody sets it.
    pub default: fn() -> Value,
    /// What a project's own file may do to it.
    pub project: ProjectMay,
    /// What it does.
    pub effect: &'static str,
}

/// The type of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A whole number within bounds, or nothing.
    Integer {
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
    /// A path.
    Path,
    /// A list of words; in the environment separated by commas.
    Words,
    /// One of these words, loosest first, or nothing.
    Choice(&'static [&'static str]),
    /// A list of hosts; in the environment separated by commas.
    Hosts,
    /// A list of hosts by name.
    HostNames,
    /// The address of a proxy, or nothing.
    Proxy,
    /// The address of a server, or nothing.
    Url,
    /// The name of a secret, or nothing.
    Secret,
    /// Yes or no.
    Switch,
    /// An address to listen on.
    Listen,
    /// A list of names that the server itself goes by.
    OwnHosts,
    /// A list of origins of web pages.
    Origins,
    /// A name of letters, digits, `.`, `_` and `-`.
    Name,
    /// A line of text, or nothing.
    Line,
}

/// What a project's own file may do: a cloned repository must not loosen anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectMay {
    /// Nothing.
    NotSet,
    /// Make it smaller.
    Lower,
    /// Choose a stricter word.
    Tighten,
    /// Add to the list.
    Extend,
    /// Take from the list; an empty list means everything, so the first list narrows.
    Narrow,
    /// Keep of a list of hosts what it has too; an empty list means nothing.
    Keep,
}

const MILLISECONDS: Kind = Kind::Integer {
    min: 1,
    max: 7 * 24 * 3600 * 1000,
};
const BYTES: Kind = Kind::Integer {
    min: 1024,
    max: 1024 * MB,
};

/// Levels of isolation.
const LEVELS: Kind = Kind::Choice(&["none", "process", "container"]);

/// The longest list of words.
const MAX_WORDS: usize = 1000;

/// Every setting, in the order they are shown.
pub static SETTINGS: &[Setting] = &[
    Setting {
        key: "workspace",
        kind: Kind::Path,
        default: || Value::Null,
        project: ProjectMay::NotSet,
        effect: "The only directory tree file tools may touch. Unset: the nearest parent directory with `.toolcrib` or `.git`, else the current directory; neither your home directory nor one that contains home directories.",
    },
    Setting {
        key: "readExtensions",
        kind: Kind::Words,
        default: || json!([]),
        project: ProjectMay::Narrow,
        effect: "File extensions `read_file` and `search_code` may read, without the dot. Empty: all.",
    },
    Setting {
        key: "readable",
        kind: Kind::Words,
        default: || json!([]),
        project: ProjectMay::NotSet,
        effect: "Paths outside the workspace that sandboxed commands may read, besides programs, libraries and the toolchains that are found by themselves; `~/` is the home directory. See docs/security.md.",
    },
    Setting {
        key: "allowedHosts",
        kind: Kind::Hosts,
        default: || json!([]),
        project: ProjectMay::Keep,
        effect: "Hosts that HTTP tools and `web_fetch` reach without asking: `api.example.com`, `*.example.com` (the names beneath it), `api.example.com:8443`. Without a port, 80 and 443 are meant. An address of this machine or a private network, or `localhost`, is permitted with its port: `127.0.0.1:8080`. Empty: none. See docs/security.md.",
    },
    Setting {
        key: "network.privateHosts",
        kind: Kind::HostNames,
        default: || json!([]),
        project: ProjectMay::Keep,
        effect: "Names that may have addresses of a private network, for servers of your own; never addresses of this machine, of the local link or of a cloud's metadata service. A name still has to be in `allowedHosts`, or approved.",
    },
    Setting {
        key: "network.proxy",
        kind: Kind::Proxy,
        default: || Value::Null,
        project: ProjectMay::NotSet,
        effect: "A proxy that everything goes through, such as `http://proxy.example.com:3128`; it resolves the names then. The variables `HTTP_PROXY`, `ALL_PROXY` and the like are ignored.",
    },
    Setting {
        key: "network.certificates",
        kind: Kind::Path,
        default: || Value::Null,
        project: ProjectMay::NotSet,
        effect: "A file with certificates (PEM) to trust besides those of the system.",
    },
    Setting {
        key: "search.provider",
        kind: Kind::Choice(&["searxng", "brave", "tavily"]),
        default: || Value::Null,
        project: ProjectMay::NotSet,
        effect: "Whom `web_search` asks. `searxng` needs `search.url`; `brave` and `tavily` need a key, `toolcrib secret set BRAVE_API_KEY` or `TAVILY_API_KEY`. Unset: `web_search` cannot be called.",
    },
    Setting {
        key: "search.url",
        kind: Kind::Url,
        default: || Value::Null,
        project: ProjectMay::NotSet,
        effect: "The address of the search server, such as `http://localhost:8888`; it needs no entry in `allowedHosts`. Unset: the provider's own.",
    },
    Setting {
        key: "search.secret",
        kind: Kind::Secret,
        default: || Value::Null,
        project: ProjectMay::NotSet,
        effect: "The name of the secret with the provider's key. Unset: `BRAVE_API_KEY` or `TAVILY_API_KEY`; none for `searxng`.",
    },
    Setting {
        key: "git.name",
        kind: Kind::Line,
        default: || Value::Null,
        project: ProjectMay::NotSet,
        effect: "The name that `git_commit` commits under. Unset: what git's own settings say (`user.name`).",
    },
    Setting {
        key: "git.email",
        kind: Kind::Line,
        default: || Value::Null,
        project: ProjectMay::NotSet,
        effect: "The address that `git_commit` commits under. Unset: what git's own settings say (`user.email`).",
    },
    Setting {
        key: "git.secret",
        kind: Kind::Secret,
        default: || Value::Null,
        project: ProjectMay::NotSet,
        effect: "The name of the secret that `git_push` logs in with over http and https: a token, or `user:password`. It has to be kept with the hosts it is for: `toolcrib secret set NAME --host github.com`. Unset: none, or what the address of the remote has in it.",
    },
    Setting {
        key: "sandbox.shell",
        kind: LEVELS,
        default: || json!("process"),
        project: ProjectMay::Tighten,
        effect: "The isolation of `shell`: a level that cannot be had here refuses the call. With `none` every call asks. See docs/security.md.",
    },
    Setting {
        key: "sandbox.code",
        kind: LEVELS,
        default: || Value::Null,
        project: ProjectMay::Tighten,
        effect: "The isolation of `run_code`. Unset: `container`, or `process` where that cannot be had; a level that is named here is never lowered.",
    },
    Setting {
        key: "sandbox.network",
        kind: Kind::Choice(&["full", "listed", "none"]),
        default: || json!("none"),
        project: ProjectMay::Tighten,
        effect: "What programs that `shell` and `run_code` start can reach: nothing; what `allowedHosts` names, through a guarded proxy; or whatever this machine reaches over IP.",
    },
    Setting {
        key: "sandbox.absentNames",
        kind: Kind::Choice(&["hold", "refuse"]),
        default: || json!("hold"),
        project: ProjectMay::Tighten,
        effect: "What happens when a command makes a file that other programs run (`.envrc`, a git hook …) where there was none: `hold` takes it out of the workspace and asks (`toolcrib held`); `refuse` keeps it from being made, by empty directories of these names that you see while a command runs.",
    },
    Setting {
        key: "sandbox.memoryMb",
        kind: Kind::Integer {
            min: 16,
            max: 1024 * 1024,
        },
        default: || json!(2048),
        project: ProjectMay::Lower,
        effect: "How much memory the programs of one call may have together, in MB.",
    },
    Setting {
        key: "sandbox.maxProcesses",
        kind: Kind::Integer {
            min: 1,
            max: 1_000_000,
        },
        default: || json!(512),
        project: ProjectMay::Lower,
        effect: "How many processes and threads one call may have at once.",
    },
    Setting {
        key: "sandbox.sudo",
        kind: Kind::Path,
        default: || Value::Null,
        project: ProjectMay::NotSet,
        effect: "The `sudo` that tools with `execution-privilege: elevated` go through, as `sudo -n`; a person is asked every time. Unset: such tools are refused.",
    },
    Setting {
        key: "tools.globalDirectory",
        kind: Kind::Path,
        default: || json!("/etc"),
        project: ProjectMay::NotSet,
        effect: "Where the tools of the whole machine are: in `toolcrib/tools` (and `cycod/tools`) of this directory. They, and the user's own in `~/.toolcrib/tools`, are trusted if nobody else can change them; those of the workspace in `.toolcrib/tools` once you `toolcrib trust` them.",
    },
    Setting {
        key: "disabledTools",
        kind: Kind::Words,
        default: || json!([]),
        project: ProjectMay::Extend,
        effect: "Tools that are switched off, by name or any other reference.",
    },
    Setting {
        key: "disabledRules",
        kind: Kind::Words,
        default: || json!([]),
        project: ProjectMay::NotSet,
        effect: "Rules of the default set that are switched off, by name; `toolcrib rules list` shows them. Rules of your own are `[[rules]]` in config.toml or in `rules/*.toml`; see docs/rules.md.",
    },
    Setting {
        key: "limits.timeoutMs",
        kind: MILLISECONDS,
        default: || json!(Limits::default().timeout.as_millis() as u64),
        project: ProjectMay::Lower,
        effect: "How long a call may run, in milliseconds. A tool may set a tighter limit of its own.",
    },
    Setting {
        key: "limits.maxInputBytes",
        kind: BYTES,
        default: || json!(Limits::default().max_input_bytes),
        project: ProjectMay::Lower,
        effect: "How long the arguments of a call may be, as JSON.",
    },
    Setting {
        key: "limits.maxOutputBytes",
        kind: BYTES,
        default: || json!(Limits::default().max_output_bytes),
        project: ProjectMay::Lower,
        effect: "How long each text in an output may be; longer ones keep head and tail. A whole output may be 16 times as long. A tool may set its own limit, which is wider than the default for `read_file` and `list_directory`; what is set here is the widest there is.",
    },
    Setting {
        key: "limits.maxCallsPerMinute",
        kind: Kind::Integer {
            min: 1,
            max: 1_000_000,
        },
        default: || Value::Null,
        project: ProjectMay::Lower,
        effect: "How many calls of one tool may start per minute, within one process. Unset: any number.",
    },
    Setting {
        key: "limits.maxConcurrent",
        kind: Kind::Integer {
            min: 1,
            max: 100_000,
        },
        default: || json!(Limits::default().max_concurrent),
        project: ProjectMay::Lower,
        effect: "How many calls of one tool may run at once within one process; further ones wait.",
    },
    Setting {
        key: "limits.maxConcurrentTotal",
        kind: Kind::Integer {
            min: 1,
            max: 100_000,
        },
        default: || json!(crate::limits::DEFAULT_MAX_CONCURRENT),
        project: ProjectMay::Lower,
        effect: "How many calls may run at once over all tools within one process; further ones wait.",
    },
    Setting {
        key: "limits.listEntries",
        kind: Kind::Integer {
            min: 1,
            max: 1_000_000,
        },
        default: || json!(10_000),
        project: ProjectMay::Lower,
        effect: "How many entries `list_directory` returns before it stops and says `truncated`.",
    },
    Setting {
        key: "limits.maxTools",
        kind: Kind::Integer {
            min: 1,
            max: 10_000_000,
        },
        default: || json!(crate::store::StoreOptions::default().max_tools),
        project: ProjectMay::NotSet,
        effect: "How many tools all bundles of the store may have together, each version counted. One more is refused; those there are stay, and beyond the limit are not loaded.",
    },
    Setting {
        key: "approvals.expiresMs",
        kind: MILLISECONDS,
        default: || json!(5 * 60 * 1000),
        project: ProjectMay::Lower,
        effect: "How long a call waits for a person, in milliseconds, and an approval for its use. See docs/approvals.md.",
    },
    Setting {
        key: "approvals.rememberDenialMs",
        kind: Kind::Integer {
            min: 0,
            max: 24 * 3600 * 1000,
        },
        default: || json!(60 * 1000),
        project: ProjectMay::NotSet,
        effect: "For how long a call that was denied is denied again without asking, in milliseconds.",
    },
    Setting {
        key: "approvals.maxPending",
        kind: Kind::Integer {
            min: 1,
            max: 10_000,
        },
        default: || json!(100),
        project: ProjectMay::Lower,
        effect: "How many questions may wait for a person at once; further calls are `RATE_LIMITED`.",
    },
    Setting {
        key: "approvals.keepHours",
        kind: Kind::Integer {
            min: 1,
            max: 24 * 365,
        },
        default: || json!(24),
        project: ProjectMay::NotSet,
        effect: "How long questions that are over are kept to be looked at.",
    },
    Setting {
        key: "calls.keepOutcomesHours",
        kind: Kind::Integer {
            min: 1,
            max: 24 * 365,
        },
        default: || json!(24),
        project: ProjectMay::NotSet,
        effect: "How long the outcome of a call with a caller-given id is kept for repetition.",
    },
    Setting {
        key: "calls.maxLogBytes",
        kind: Kind::Integer {
            min: MB,
            max: 1024 * 1024 * MB,
        },
        default: || json!(256 * MB),
        project: ProjectMay::NotSet,
        effect: "How large the call log may grow before its oldest files are removed.",
    },
    Setting {
        key: "server.addr",
        kind: Kind::Listen,
        default: || json!(server::DEFAULT_ADDR),
        project: ProjectMay::NotSet,
        effect: "Where `toolcrib serve` listens: an address and a port; port 0 takes a free one. One that is not of this machine alone needs `server.certificate`, or `server.plaintext`.",
    },
    Setting {
        key: "server.socket",
        kind: Kind::Path,
        default: || Value::Null,
        project: ProjectMay::NotSet,
        effect: "A unix socket to listen on as well, an absolute path; only its owner can connect. Unset: none.",
    },
    Setting {
        key: "server.hosts",
        kind: Kind::OwnHosts,
        default: || json!([]),
        project: ProjectMay::NotSet,
        effect: "Names that the server goes by, besides `localhost` and the address it listens on: `crib.example.com`, or `crib.example.com:8443` where the port is another than that. A request to any other name is refused, so that a web page cannot reach the server by a name of its own.",
    },
    Setting {
        key: "server.origins",
        kind: Kind::Origins,
        default: || json!([]),
        project: ProjectMay::NotSet,
        effect: "Web pages of other origins that may use the server from a browser, such as `https://app.example.com`; they need a token as everybody does.",
    },
    Setting {
        key: "server.certificate",
        kind: Kind::Path,
        default: || Value::Null,
        project: ProjectMay::NotSet,
        effect: "A file with the certificate of the server and those above it (PEM), an absolute path. With it, and `server.key`, the server speaks TLS.",
    },
    Setting {
        key: "server.key",
        kind: Kind::Path,
        default: || Value::Null,
        project: ProjectMay::NotSet,
        effect: "The file with the private key of the certificate (PEM), an absolute path.",
    },
    Setting {
        key: "server.plaintext",
        kind: Kind::Switch,
        default: || json!(false),
        project: ProjectMay::NotSet,
        effect: "Whether the server may listen without TLS on an address that others can reach. Tokens and all arguments can be read on the way then: only behind something that speaks TLS.",
    },
    Setting {
        key: "server.maxConnections",
        kind: Kind::Integer {
            min: 1,
            max: 1_000_000,
        },
        default: || json!(10_000),
        project: ProjectMay::NotSet,
        effect: "How many connections the server has at once. A further one has the place of that which has had nothing to do for longest; if all are busy it is answered with 503.",
    },
    Setting {
        key: "server.maxStreams",
        kind: Kind::Integer {
            min: 1,
            max: 1_000_000,
        },
        default: || json!(1000),
        project: ProjectMay::NotSet,
        effect: "How many streams of events the server sends at once, three quarters of them to one client at most; one more is `RATE_LIMITED`.",
    },
    Setting {
        key: "server.maxBodyBytes",
        kind: BYTES,
        default: || json!(4 * MB),
        project: ProjectMay::NotSet,
        effect: "How long the body of a request may be. Bundles that are imported have a limit of their own.",
    },
    Setting {
        key: "server.headerTimeoutMs",
        kind: MILLISECONDS,
        default: || json!(10_000),
        project: ProjectMay::NotSet,
        effect: "How long a client may take for the head of a request, and for the TLS handshake, in milliseconds.",
    },
    Setting {
        key: "server.bodyTimeoutMs",
        kind: MILLISECONDS,
        default: || json!(30_000),
        project: ProjectMay::NotSet,
        effect: "How long a client may take for the body of a request, in milliseconds.",
    },
    Setting {
        key: "server.idleTimeoutMs",
        kind: MILLISECONDS,
        default: || json!(75_000),
        project: ProjectMay::NotSet,
        effect: "How long a connection may wait for its next request, in milliseconds.",
    },
    Setting {
        key: "server.writeTimeoutMs",
        kind: MILLISECONDS,
        default: || json!(30_000),
        project: ProjectMay::NotSet,
        effect: "How long a client may take nothing of what is sent to it before its connection is closed, in milliseconds.",
    },
    Setting {
        key: "server.maxCalls",
        kind: Kind::Integer {
            min: 1,
            max: 100_000,
        },
        default: || json!(256),
        project: ProjectMay::NotSet,
        effect: "How many calls of clients run at once, three quarters of them of one client at most, half while others wait; further ones wait, and clients take turns.",
    },
    Setting {
        key: "server.maxWaiting",
        kind: Kind::Integer {
            min: 0,
            max: 1_000_000,
        },
        default: || json!(1024),
        project: ProjectMay::NotSet,
        effect: "How many calls of one client may wait for their turn; one more is `RATE_LIMITED`.",
    },
    Setting {
        key: "server.shutdownMs",
        kind: Kind::Integer {
            min: 0,
            max: 3600 * 1000,
        },
        default: || json!(10_000),
        project: ProjectMay::NotSet,
        effect: "How long a server that is stopped lets running calls finish before it cancels them, in milliseconds.",
    },
    Setting {
        key: "server.accessLog",
        kind: Kind::Choice(&["text", "json", "off"]),
        default: || json!("text"),
        project: ProjectMay::NotSet,
        effect: "How each request is logged to standard error: a line to read, a line of JSON, or not at all. Tokens, arguments and queries are in neither.",
    },
    Setting {
        key: "mcp.tokenBudget",
        kind: Kind::Integer {
            min: 0,
            max: 10_000_000,
        },
        default: || json!(20_000),
        project: ProjectMay::NotSet,
        effect: "How many tokens the definitions of all tools may cost an MCP client's model, as `toolcrib list --tokens` estimates them. Beyond it the client is given the pinned tools and `find_tools`, which finds the others, with `call_read_tool`, `call_write_tool` and `call_tool` to call them. 0: every tool is listed.",
    },
    Setting {
        key: "mcp.pinned",
        kind: Kind::Words,
        default: || json!([]),
        project: ProjectMay::Extend,
        effect: "Tools that MCP clients are given even beyond `mcp.tokenBudget`, by name or any other reference.",
    },
    Setting {
        key: "mcp.pageSize",
        kind: Kind::Integer {
            min: 1,
            max: 100_000,
        },
        default: || json!(1000),
        project: ProjectMay::NotSet,
        effect: "How many tools one page of the list has that MCP clients are given.",
    },
    Setting {
        key: "mcp.elicitation",
        kind: Kind::Switch,
        default: || json!(true),
        project: ProjectMay::NotSet,
        effect: "Whether the person at an MCP client is asked through it about a call that needs approval, if the client offers that. Such questions can be answered elsewhere, too.",
    },
    Setting {
        key: "mcp.approvalWaitMs",
        kind: MILLISECONDS,
        default: || json!(45_000),
        project: ProjectMay::NotSet,
        effect: "How long a call of an MCP client that cannot be asked waits for a person, in milliseconds, before the model is told what it waits for. Many clients give up after 60 seconds.",
    },
    Setting {
        key: "telemetry.endpoint",
        kind: Kind::Url,
        default: || Value::Null,
        project: ProjectMay::NotSet,
        effect: "An OpenTelemetry collector that the server sends traces to by OTLP over HTTP, such as `http://localhost:4318`; it needs no entry in `allowedHosts`. Unset: none are sent.",
    },
    Setting {
        key: "telemetry.service",
        kind: Kind::Name,
        default: || json!("toolcrib"),
        project: ProjectMay::NotSet,
        effect: "The name of the service in traces.",
    },
];

impl Setting {
    /// Finds a setting by its key.
    pub fn find(key: &str) -> Option<&'static Setting> {
        SETTINGS.iter().find(|setting| setting.key == key)
    }

    /// The environment variable: `limits.timeoutMs` is `TOOLCRIB_LIMITS_TIMEOUT_MS`.
    pub fn variable(&self) -> String {
        let mut name = String::from("TOOLCRIB_");
        for c in self.key.chars() {
            match c {
                '.' => name.push('_'),
                c if c.is_ascii_uppercase() => {
                    name.push('_');
                    name.push(c);
                }
                c => name.push(c.to_ascii_uppercase()),
            }
        }
        name
    }

    /// Checks a value; the error says what the setting takes.
    pub(super) fn accept(&self, value: Value) -> Result<Value, String> {
        match (self.kind, &value) {
            (Kind::Integer { min, max }, Value::Number(number)) => match number.as_u64() {
                Some(number) if (min..=max).contains(&number) => Ok(value),
                _ => Err(format!("must be a whole number from {min} to {max}")),
            },
            (Kind::Integer { min, max }, _) => {
                Err(format!("must be a whole number from {min} to {max}"))
            }
            (Kind::Path, Value::String(path)) if !path.is_empty() => Ok(value),
            (Kind::Path, _) => Err("must be a path".to_owned()),
            (Kind::Words, Value::Array(words)) if words.len() > MAX_WORDS => {
                Err(format!("may have {MAX_WORDS} words at most"))
            }
            (Kind::Words, Value::Array(words)) if words.iter().all(Value::is_string) => Ok(value),
            (Kind::Words, _) => Err("must be a list of words".to_owned()),
            (Kind::Choice(words), Value::String(word)) if words.contains(&word.as_str()) => {
                Ok(value)
            }
            (Kind::Choice(words), _) => Err(format!("must be {}", text::or_list(words))),
            (Kind::Hosts | Kind::HostNames, Value::Array(words)) if words.len() > MAX_WORDS => {
                Err(format!("may have {MAX_WORDS} hosts at most"))
            }
            (Kind::Hosts | Kind::HostNames, Value::Array(_)) => {
                let hosts = self.hosts(&value)?;
                Ok(hosts.entries().collect::<Vec<_>>().into())
            }
            (Kind::Hosts | Kind::HostNames, _) => Err("must be a list of hosts".to_owned()),
            (Kind::Proxy, Value::String(url)) => {
                EgressOptions::parse_proxy(url).map(|url| json!(url.as_str()))
            }
            (Kind::Proxy, _) => {
                Err("must be a proxy like `http://proxy.example.com:3128`".to_owned())
            }
            (Kind::Url, Value::String(url)) => match Target::parse(url) {
                Ok(_) => Ok(value),
                Err(error) => Err(format!("must be an address: {error}")),
            },
            (Kind::Url, _) => Err("must be an address like `http://localhost:8888`".to_owned()),
            (Kind::Secret, Value::String(name)) => match SecretName::parse(name) {
                Ok(_) => Ok(value),
                Err(error) => Err(format!("must be the name of a secret: {error}")),
            },
            (Kind::Secret, _) => Err("must be the name of a secret".to_owned()),
            (Kind::Switch, Value::Bool(_)) => Ok(value),
            (Kind::Switch, _) => Err("must be true or false".to_owned()),
            (Kind::Listen, Value::String(text)) => {
                server::listen_address(text).map(|address| json!(address.to_string()))
            }
            (Kind::Listen, _) => Err(server::NO_ADDRESS.to_owned()),
            (Kind::OwnHosts, _) => list(&value, "hosts", server::own_host),
            (Kind::Origins, _) => list(&value, "origins", server::origin),
            (Kind::Name, Value::String(name)) if is_name(name) => Ok(value),
            (Kind::Name, _) => {
                Err("must be a name of 1 to 64 letters, digits, `.`, `_` and `-`".to_owned())
            }
            (Kind::Line, Value::String(line)) if is_line(line) => Ok(value),
            (Kind::Line, _) => Err("must be a line of 1 to 200 characters of text".to_owned()),
        }
    }

    /// Reads a value from text, as environment variables and flags have it.
    pub(super) fn parse(&self, text: &str) -> Result<Value, String> {
        let value = match self.kind {
            Kind::Integer { .. } => match text.trim().parse::<u64>() {
                Ok(number) => json!(number),
                Err(_) => json!(text),
            },
            Kind::Switch => match text.trim() {
                "true" => json!(true),
                "false" => json!(false),
                other => json!(other),
            },
            Kind::Path
            | Kind::Choice(_)
            | Kind::Proxy
            | Kind::Url
            | Kind::Secret
            | Kind::Listen
            | Kind::Name
            | Kind::Line => json!(text),
            Kind::Words | Kind::Hosts | Kind::HostNames | Kind::OwnHosts | Kind::Origins => text
                .split(',')
                .map(str::trim)
                .filter(|word| !word.is_empty())
                .collect(),
        };
        self.accept(value)
    }

    /// Reads a list of hosts; the error says which one is wrong and what to write.
    fn hosts(&self, value: &Value) -> Result<AllowedHosts, String> {
        let words = value.as_array().map(Vec::as_slice).unwrap_or_default();
        let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
        let words = words.ok_or_else(|| "must be a list of hosts".to_owned())?;
        match self.kind {
            Kind::HostNames => AllowedHosts::parse_names(words),
            _ => AllowedHosts::parse(words),
        }
    }

    /// The hosts of a project's list that it does not get, because the list in force has nothing of them.
    pub(super) fn in_vain(&self, current: &Value, wanted: &Value) -> impl Iterator<Item = String> {
        let wanted = match self.project {
            ProjectMay::Keep => self.hosts(wanted).unwrap_or_default(),
            _ => AllowedHosts::default(),
        };
        let current = self.hosts(current).unwrap_or_default();
        let wanted: Vec<String> = wanted.entries().collect();
        wanted.into_iter().filter(move |entry| {
            let alone = AllowedHosts::parse([entry.as_str()]).unwrap_or_default();
            alone.narrowed_by(&current).is_empty()
        })
    }

    /// What a project's value makes of the value in force; the error says why it may not.
    pub(super) fn tighten(&self, current: &Value, wanted: Value) -> Result<Value, &'static str> {
        match self.project {
            ProjectMay::NotSet => Err("a project may not set this"),
            ProjectMay::Lower => match (current.as_u64(), wanted.as_u64()) {
                (Some(current), Some(wanted)) => Ok(current.min(wanted).into()),
                _ => Ok(wanted),
            },
            ProjectMay::Tighten => {
                let Kind::Choice(words) = self.kind else {
                    return Ok(wanted);
                };
                let strictness =
                    |value: &Value| words.iter().position(|word| value.as_str() == Some(word));
                // What is unset is as strict as can be had, so that only the strictest word is sure to be no looser.
                let current_is = strictness(current).unwrap_or(words.len() - 1);
                Ok(if strictness(&wanted) >= Some(current_is) {
                    wanted
                } else {
                    current.clone()
                })
            }
            ProjectMay::Extend => {
                let mut words = current.as_array().cloned().unwrap_or_default();
                for word in wanted.as_array().into_iter().flatten() {
                    if !words.contains(word) {
                        words.push(word.clone());
                    }
                }
                Ok(Value::Array(words))
            }
            ProjectMay::Keep => {
                let read = |value: &Value| self.hosts(value).unwrap_or_default();
                let both = read(current).narrowed_by(&read(&wanted));
                Ok(both.entries().collect::<Vec<_>>().into())
            }
            ProjectMay::Narrow => {
                let current = current.as_array().map(Vec::as_slice).unwrap_or_default();
                let wanted = wanted.as_array().map(Vec::as_slice).unwrap_or_default();
                let both: Vec<Value> = match (current, wanted) {
                    (all, []) => all.to_vec(),
                    ([], some) => some.to_vec(),
                    (some, others) => some
                        .iter()
                        .filter(|word| others.contains(word))
                        .cloned()
                        .collect(),
                };
                // An empty list means everything, so "nothing" cannot be said.
                if both.is_empty() && !wanted.is_empty() {
                    return Err(
                        "leaves nothing of the list in force; name at least one entry of it",
                    );
                }
                Ok(both.into())
            }
        }
    }
}

/// Reads each word of a list; the error is about the first that is wrong.
fn list(
    value: &Value,
    of: &str,
    read: impl Fn(&str) -> Result<String, String>,
) -> Result<Value, String> {
    let words: Option<Vec<&str>> = match value {
        Value::Array(words) if words.len() > MAX_WORDS => {
            return Err(format!("may have {MAX_WORDS} {of} at most"));
        }
        Value::Array(words) => words.iter().map(Value::as_str).collect(),
        _ => None,
    };
    let words = words.ok_or_else(|| format!("must be a list of {of}"))?;
    let words: Result<Vec<String>, String> = words.into_iter().map(read).collect();
    words.map(Value::from)
}

fn is_name(name: &str) -> bool {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=64).contains(&name.len()) && name.chars().all(is_fine)
}

fn is_line(line: &str) -> bool {
    !line.trim().is_empty() && line.len() <= 200 && !line.contains(char::is_control)
}

/// docs/config.md: the reference of every setting.
pub fn reference() -> String {
    let mut page = String::from(concat!(
        "# Configuration\n\n",
        "`config.toml` in the home holds the settings; `toolcrib config show` prints each value in force and where it comes from,\n",
        "`toolcrib config path` where the files are. What stands further down wins:\n\n",
        "1. the default,\n",
        "2. `config.toml` in the home (`$TOOLCRIB_HOME`, by default `toolcrib` in the XDG data directory),\n",
        "3. `.toolcrib/config.toml` in the workspace, which may only tighten: what would loosen a value leaves it as it is,\n",
        "4. the environment variable,\n",
        "5. a flag.\n\n",
        "An unknown key, a wrong type or a value out of bounds is an error that names the file and the nearest right key.\n\n",
        "Commands read the settings, and the rules, each time; `toolcrib serve` reads them when it starts, and a change holds from its next start on.\n\n",
        "```toml\n",
        "disabledTools = [\"list_directory\"]\n\n",
        "[limits]\n",
        "timeoutMs = 5000\n",
        "```\n\n",
        "| key | type | default | environment variable | a project may | effect |\n",
        "|---|---|---|---|---|---|\n",
    ));
    for setting in SETTINGS {
        let kind = match setting.kind {
            Kind::Integer { min, max } => format!("whole number, {min} to {max}"),
            Kind::Path => "path".to_owned(),
            Kind::Words => "list of words".to_owned(),
            Kind::Choice(words) => text::or_list(words),
            Kind::Hosts => "list of hosts".to_owned(),
            Kind::HostNames => "list of names".to_owned(),
            Kind::Proxy | Kind::Url => "address".to_owned(),
            Kind::Secret => "name of a secret".to_owned(),
            Kind::Switch => "true or false".to_owned(),
            Kind::Listen => "address and port".to_owned(),
            Kind::OwnHosts => "list of hosts".to_owned(),
            Kind::Origins => "list of origins".to_owned(),
            Kind::Name => "name".to_owned(),
            Kind::Line => "text".to_owned(),
        };
        let default = match (setting.default)() {
            Value::Null => "unset".to_owned(),
            value => format!("`{value}`"),
        };
        let project = match setting.project {
            ProjectMay::NotSet => "not set it",
            ProjectMay::Lower => "lower it",
            ProjectMay::Tighten => "make it stricter",
            ProjectMay::Extend => "add to it",
            ProjectMay::Narrow | ProjectMay::Keep => "take from it",
        };
        page.push_str(&format!(
            "| `{}` | {kind} | {default} | `{}` | {project} | {} |\n",
            setting.key,
            setting.variable(),
            setting.effect
        ));
    }
    page.push_str(super::upstreams::REFERENCE);
    page.push_str(super::databases::REFERENCE);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_accepted_by_its_own_setting() {
        for setting in SETTINGS {
            let default = (setting.default)();
            assert!(
                default.is_null() || setting.accept(default).is_ok(),
                "{}",
                setting.key
            );
        }
    }

    #[test]
    fn variables_are_spelled_from_keys() {
        assert_eq!(
            Setting::find("limits.maxCallsPerMinute")
                .unwrap()
                .variable(),
            "TOOLCRIB_LIMITS_MAX_CALLS_PER_MINUTE"
        );
        assert_eq!(
            Setting::find("readExtensions").unwrap().variable(),
            "TOOLCRIB_READ_EXTENSIONS"
        );
    }

    #[test]
    fn a_project_can_only_tighten() {
        let tighten = |key: &str, current: Value, wanted: Value| {
            Setting::find(key).unwrap().tighten(&current, wanted)
        };
        assert!(tighten("workspace", Value::Null, json!("/")).is_err());
        assert_eq!(
            tighten("limits.timeoutMs", json!(1000), json!(1001)),
            Ok(json!(1000))
        );
        assert_eq!(
            tighten("limits.timeoutMs", json!(1000), json!(10)),
            Ok(json!(10))
        );
        assert_eq!(
            tighten("limits.maxCallsPerMinute", Value::Null, json!(10)),
            Ok(json!(10))
        );
        assert_eq!(
            tighten("disabledTools", json!(["a"]), json!(["b"])),
            Ok(json!(["a", "b"]))
        );
        assert_eq!(
            tighten("readExtensions", json!([]), json!(["md"])),
            Ok(json!(["md"]))
        );
        assert_eq!(
            tighten("readExtensions", json!(["md"]), json!([])),
            Ok(json!(["md"]))
        );
        assert_eq!(
            tighten("readExtensions", json!(["md"]), json!(["md", "key"])),
            Ok(json!(["md"]))
        );
        assert!(tighten("readExtensions", json!(["md"]), json!(["key"])).is_err());
        for (current, wanted, result) in [
            (json!("process"), json!("container"), json!("container")),
            (json!("process"), json!("none"), json!("process")),
            (Value::Null, json!("process"), Value::Null),
            (Value::Null, json!("container"), json!("container")),
        ] {
            assert_eq!(tighten("sandbox.code", current, wanted), Ok(result));
        }
        assert_eq!(
            tighten("sandbox.network", json!("none"), json!("full")),
            Ok(json!("none"))
        );
    }
}
