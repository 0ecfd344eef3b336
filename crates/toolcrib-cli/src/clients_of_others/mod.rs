//! The configuration files of other programs that use MCP: where they are, how they are written, what a server looks like in them.
//!
//! ```text
//! mod       which programs there are, where their files are    shape   a server as each of them writes it
//! document  a file as text that is changed in one place         file    reading and replacing it without losing anything
//! expand    variables in its values                             yaml    the same for a table in YAML
//! ```
//!
//! `connect` writes with it, `doctor` and `upstream import` read with it. Formats move: what is written here is what the programs' own
//! documentation said in autumn 2026. Where each was looked up is said at [`OtherClient`].

mod document;
mod expand;
mod file;
mod shape;
mod yaml;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub(crate) use document::{Document, Format};
pub(crate) use expand::expand;
pub(crate) use file::{ClientFile, FileProblem};
pub(crate) use shape::{ConnectBy, OtherServer};

/// Cursor and VS Code put the directory that is open in its place.
pub(crate) const PROJECT_VARIABLE: &str = "${workspaceFolder}";

/// A program that uses MCP servers.
///
/// Sources of the later ones: Zed, zed.dev/docs/ai/mcp (`context_servers` of `settings.json`); Windsurf, docs.windsurf.com, Cascade, MCP
/// (`serverUrl`, `${env:NAME}`); Cline and Roo Code, their `McpHub` (`streamableHttp`, `streamable-http`; Roo replaces `${env:NAME}` and
/// `${workspaceFolder}`); opencode, opencode.ai/docs/mcp-servers (`command` is a list, `{env:NAME}`); Goose, its guide to `config.yaml`
/// (`extensions`); Junie of JetBrains, junie.jetbrains.com/docs (`mcp/mcp.json`; AI Assistant has no file and is given the same JSON in its
/// settings); Copilot CLI, docs.github.com/copilot (`mcp-config.json`, `tools` is required).
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OtherClient {
    /// Claude Desktop
    ClaudeDesktop,
    /// Claude Code
    ClaudeCode,
    /// Cursor
    Cursor,
    /// Visual Studio Code
    #[value(name = "vscode")]
    VsCode,
    /// LM Studio
    LmStudio,
    /// Codex
    Codex,
    /// Gemini CLI
    Gemini,
    /// Zed
    Zed,
    /// Windsurf
    Windsurf,
    /// Cline
    Cline,
    /// Roo Code
    Roo,
    /// opencode
    Opencode,
    /// Goose
    Goose,
    /// JetBrains: Junie, and what to paste into AI Assistant
    Jetbrains,
    /// GitHub Copilot CLI
    CopilotCli,
    /// Any other program that has `mcpServers` in a JSON file; name it with --file
    Generic,
}

/// For whom a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// For everything the user does.
    User,
    /// For one project.
    Project,
}

impl Scope {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Project => "project",
        }
    }
}

/// The directories that files of programs are found from.
#[derive(Debug, Clone)]
pub(crate) struct Directories {
    home: Option<PathBuf>,
    config: Option<PathBuf>,
    codex: Option<PathBuf>,
    claude: Option<PathBuf>,
    /// Of programs that follow the XDG specification everywhere, on macOS too.
    xdg: Option<PathBuf>,
    copilot: Option<PathBuf>,
}

impl Directories {
    /// Those of this process.
    pub(crate) fn of_process() -> Self {
        Directories::from(|name| std::env::var_os(name))
    }

    fn from(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        // A relative path there is to be ignored, says the XDG specification; it is as good a rule for the others.
        let path = |name: &str| {
            variable(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let home = path("HOME");
        let config = match cfg!(target_os = "macos") {
            true => home
                .as_ref()
                .map(|home| home.join("Library/Application Support")),
            false => path("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config"))),
        };
        Directories {
            config,
            codex: path("CODEX_HOME").or_else(|| Some(home.as_ref()?.join(".codex"))),
            claude: path("CLAUDE_CONFIG_DIR"),
            xdg: path("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config"))),
            copilot: path("COPILOT_HOME"),
            home,
        }
    }
}

impl OtherClient {
    /// All of them, in the order people see them.
    pub(crate) const ALL: [OtherClient; 16] = [
        OtherClient::ClaudeDesktop,
        OtherClient::ClaudeCode,
        OtherClient::Cursor,
        OtherClient::VsCode,
        OtherClient::LmStudio,
        OtherClient::Codex,
        OtherClient::Gemini,
        OtherClient::Zed,
        OtherClient::Windsurf,
        OtherClient::Cline,
        OtherClient::Roo,
        OtherClient::Opencode,
        OtherClient::Goose,
        OtherClient::Jetbrains,
        OtherClient::CopilotCli,
        OtherClient::Generic,
    ];

    /// The word for it on the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            OtherClient::ClaudeDesktop => "claude-desktop",
            OtherClient::ClaudeCode => "claude-code",
            OtherClient::Cursor => "cursor",
            OtherClient::VsCode => "vscode",
            OtherClient::LmStudio => "lm-studio",
            OtherClient::Codex => "codex",
            OtherClient::Gemini => "gemini",
            OtherClient::Zed => "zed",
            OtherClient::Windsurf => "windsurf",
            OtherClient::Cline => "cline",
            OtherClient::Roo => "roo",
            OtherClient::Opencode => "opencode",
            OtherClient::Goose => "goose",
            OtherClient::Jetbrains => "jetbrains",
            OtherClient::CopilotCli => "copilot-cli",
            OtherClient::Generic => "generic",
        }
    }

    /// What it calls itself.
    pub(crate) fn title(self) -> &'static str {
        match self {
            OtherClient::ClaudeDesktop => "Claude Desktop",
            OtherClient::ClaudeCode => "Claude Code",
            OtherClient::Cursor => "Cursor",
            OtherClient::VsCode => "VS Code",
            OtherClient::LmStudio => "LM Studio",
            OtherClient::Codex => "Codex",
            OtherClient::Gemini => "Gemini CLI",
            OtherClient::Zed => "Zed",
            OtherClient::Windsurf => "Windsurf",
            OtherClient::Cline => "Cline",
            OtherClient::Roo => "Roo Code",
            OtherClient::Opencode => "opencode",
            OtherClient::Goose => "Goose",
            OtherClient::Jetbrains => "Junie (JetBrains)",
            OtherClient::CopilotCli => "Copilot CLI",
            OtherClient::Generic => "the client",
        }
    }

    /// By its word.
    pub(crate) fn named(word: &str) -> Option<Self> {
        OtherClient::ALL
            .into_iter()
            .find(|client| client.word() == word)
    }

    /// How its file is written.
    pub(crate) fn format(self) -> Format {
        match self {
            OtherClient::Codex => Format::Toml,
            OtherClient::Goose => Format::Yaml,
            _ => Format::Json,
        }
    }

    /// The table of servers in its file.
    pub(crate) fn key(self) -> &'static str {
        match self {
            OtherClient::VsCode => "servers",
            OtherClient::Codex => "mcp_servers",
            OtherClient::Zed => "context_servers",
            OtherClient::Opencode => "mcp",
            OtherClient::Goose => "extensions",
            _ => "mcpServers",
        }
    }

    /// Whether it starts servers where the user works. Windows are opened from anywhere, terminals stand in a project.
    pub(crate) fn starts_in_the_project(self) -> bool {
        match self {
            OtherClient::ClaudeCode
            | OtherClient::Codex
            | OtherClient::Gemini
            | OtherClient::Opencode
            | OtherClient::CopilotCli => true,
            OtherClient::ClaudeDesktop
            | OtherClient::Cursor
            | OtherClient::VsCode
            | OtherClient::LmStudio
            | OtherClient::Zed
            | OtherClient::Windsurf
            | OtherClient::Cline
            | OtherClient::Roo
            | OtherClient::Goose
            | OtherClient::Jetbrains
            | OtherClient::Generic => false,
        }
    }

    /// What stands for the project's directory in its file, where it does not start servers there anyway.
    pub(crate) fn project_variable(self) -> Option<&'static str> {
        match self {
            OtherClient::Cursor | OtherClient::VsCode | OtherClient::Roo => Some(PROJECT_VARIABLE),
            OtherClient::ClaudeCode
            | OtherClient::Codex
            | OtherClient::Gemini
            | OtherClient::ClaudeDesktop
            | OtherClient::LmStudio
            | OtherClient::Zed
            | OtherClient::Windsurf
            | OtherClient::Cline
            | OtherClient::Opencode
            | OtherClient::Goose
            | OtherClient::Jetbrains
            | OtherClient::CopilotCli
            | OtherClient::Generic => None,
        }
    }

    /// Where it has its hooks; `None` where it has none that are known.
    pub(crate) fn hooks_path(
        self,
        scope: Scope,
        project: &Path,
        directories: &Directories,
    ) -> Option<PathBuf> {
        const COPILOT: &str = "hooks/toolcrib.json";
        let home = directories.home.as_deref();
        match (scope, self) {
            (Scope::User, OtherClient::ClaudeCode) => Some(match &directories.claude {
                Some(claude) => claude.join("settings.json"),
                None => home?.join(".claude/settings.json"),
            }),
            (Scope::User, OtherClient::Codex) => {
                Some(directories.codex.as_deref()?.join("hooks.json"))
            }
            (Scope::User, OtherClient::Cursor) => Some(home?.join(".cursor/hooks.json")),
            (Scope::User, OtherClient::Gemini) => Some(home?.join(".gemini/settings.json")),
            (Scope::User, OtherClient::CopilotCli | OtherClient::VsCode) => {
                Some(match &directories.copilot {
                    Some(copilot) => copilot.join(COPILOT),
                    None => home?.join(".copilot").join(COPILOT),
                })
            }
            (Scope::Project, OtherClient::ClaudeCode) => {
                Some(project.join(".claude/settings.json"))
            }
            (Scope::Project, OtherClient::Codex) => Some(project.join(".codex/hooks.json")),
            (Scope::Project, OtherClient::Cursor) => Some(project.join(".cursor/hooks.json")),
            (Scope::Project, OtherClient::Gemini) => Some(project.join(".gemini/settings.json")),
            (Scope::Project, OtherClient::CopilotCli | OtherClient::VsCode) => {
                Some(project.join(".github").join(COPILOT))
            }
            (
                _,
                OtherClient::ClaudeDesktop
                | OtherClient::LmStudio
                | OtherClient::Zed
                | OtherClient::Windsurf
                | OtherClient::Cline
                | OtherClient::Roo
                | OtherClient::Opencode
                | OtherClient::Goose
                | OtherClient::Jetbrains
                | OtherClient::Generic,
            ) => None,
        }
    }

    /// What makes it see a change of its hooks.
    pub(crate) fn next_step_for_hooks(self) -> &'static str {
        match self {
            OtherClient::Codex => "start Codex again and trust the hook when it asks (`/hooks`)",
            OtherClient::ClaudeCode => "start Claude Code again; `/hooks` in it shows them",
            OtherClient::Gemini => "start Gemini CLI again; `/hooks` in it shows them",
            OtherClient::Cursor => {
                "Cursor reads the file at once; Cursor Settings, Hooks shows them"
            }
            _ => "start the program again",
        }
    }

    /// What makes it see a change of its file.
    pub(crate) fn next_step(self) -> &'static str {
        match self {
            OtherClient::ClaudeDesktop => "quit Claude Desktop and open it again",
            OtherClient::ClaudeCode => "start Claude Code again; `/mcp` in it shows the servers",
            OtherClient::Cursor => "Cursor Settings, MCP shows the server; switch it on there",
            OtherClient::VsCode => "`MCP: List Servers` of the command palette starts it",
            OtherClient::LmStudio => "LM Studio starts it at once; the Program tab shows it",
            OtherClient::Codex => "start Codex again; `/mcp` in it shows the servers",
            OtherClient::Gemini => "start Gemini CLI again; `/mcp` in it shows the servers",
            OtherClient::Zed => "Zed starts it at once; the settings of the Agent Panel show it",
            OtherClient::Windsurf => "refresh the MCP servers in Cascade",
            OtherClient::Cline => "Cline starts it at once; MCP Servers shows it",
            OtherClient::Roo => "Roo Code starts it at once; MCP Servers shows it",
            OtherClient::Opencode => "start opencode again; `opencode mcp list` shows the servers",
            OtherClient::Goose => "start a new session of Goose",
            OtherClient::Jetbrains => {
                "Junie reads the file at once; for AI Assistant paste what `--print` prints into Settings, Tools, AI Assistant, MCP"
            }
            OtherClient::CopilotCli => {
                "start Copilot CLI again; `/mcp show` in it shows the servers"
            }
            OtherClient::Generic => "start the client again",
        }
    }

    /// Where its file is; `None` where it has none of that scope, or no one knows the home directory.
    ///
    /// On macOS what is in `~/.config` below is in `~/Library/Application Support`, on Windows in `%APPDATA%`; the others are the same everywhere.
    pub(crate) fn path(
        self,
        scope: Scope,
        project: &Path,
        directories: &Directories,
    ) -> Option<PathBuf> {
        let Directories {
            home,
            config,
            codex,
            claude,
            xdg,
            copilot,
        } = directories;
        let (home, config) = (home.as_deref(), config.as_deref());
        match (scope, self) {
            (Scope::User, OtherClient::ClaudeDesktop) => {
                Some(config?.join("Claude/claude_desktop_config.json"))
            }
            (Scope::User, OtherClient::ClaudeCode) => match claude {
                Some(claude) => Some(claude.join(".claude.json")),
                None => Some(home?.join(".claude.json")),
            },
            (Scope::User, OtherClient::Cursor) => Some(home?.join(".cursor/mcp.json")),
            (Scope::User, OtherClient::VsCode) => Some(config?.join("Code/User/mcp.json")),
            (Scope::User, OtherClient::LmStudio) => Some(home?.join(".lmstudio/mcp.json")),
            (Scope::User, OtherClient::Codex) => Some(codex.as_deref()?.join("config.toml")),
            (Scope::User, OtherClient::Gemini) => Some(home?.join(".gemini/settings.json")),
            (Scope::Project, OtherClient::ClaudeCode) => Some(project.join(".mcp.json")),
            (Scope::Project, OtherClient::Cursor) => Some(project.join(".cursor/mcp.json")),
            (Scope::Project, OtherClient::VsCode) => Some(project.join(".vscode/mcp.json")),
            (Scope::Project, OtherClient::Codex) => Some(project.join(".codex/config.toml")),
            (Scope::Project, OtherClient::Gemini) => Some(project.join(".gemini/settings.json")),
            (Scope::User, OtherClient::Zed) => Some(xdg.as_deref()?.join("zed/settings.json")),
            (Scope::User, OtherClient::Windsurf) => {
                Some(home?.join(".codeium/windsurf/mcp_config.json"))
            }
            (Scope::User, OtherClient::Cline) => {
                const NAME: &str = "settings/cline_mcp_settings.json";
                // Later versions share one directory between their command and their extensions.
                let shared = home?.join(".cline/data");
                Some(match shared.is_dir() {
                    true => shared.join(NAME),
                    false => config?
                        .join("Code/User/globalStorage/saoudrizwan.claude-dev")
                        .join(NAME),
                })
            }
            (Scope::User, OtherClient::Roo) => Some(config?.join(
                "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
            )),
            (Scope::User, OtherClient::Opencode) => {
                Some(xdg.as_deref()?.join("opencode/opencode.json"))
            }
            (Scope::User, OtherClient::Goose) => Some(xdg.as_deref()?.join("goose/config.yaml")),
            (Scope::User, OtherClient::Jetbrains) => Some(home?.join(".junie/mcp/mcp.json")),
            (Scope::User, OtherClient::CopilotCli) => Some(match copilot {
                Some(copilot) => copilot.join("mcp-config.json"),
                None => home?.join(".copilot/mcp-config.json"),
            }),
            (Scope::Project, OtherClient::Roo) => Some(project.join(".roo/mcp.json")),
            (Scope::Project, OtherClient::Opencode) => Some(project.join("opencode.json")),
            (Scope::Project, OtherClient::Jetbrains) => Some(project.join(".junie/mcp/mcp.json")),
            (
                Scope::Project,
                OtherClient::ClaudeDesktop
                | OtherClient::LmStudio
                | OtherClient::Zed
                | OtherClient::Windsurf
                | OtherClient::Cline
                | OtherClient::Goose
                | OtherClient::CopilotCli,
            )
            | (_, OtherClient::Generic) => None,
        }
    }

    /// Whether there are traces of it: its file, or the directory that is its own.
    pub(crate) fn is_found(self, path: &Path, directories: &Directories) -> bool {
        let own = path.parent();
        let is_shared = own.is_none() || own == directories.home.as_deref();
        path.symlink_metadata().is_ok() || (!is_shared && own.is_some_and(Path::is_dir))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_has_its_file_and_variables_move_them() {
        let plain = Directories::from(|name| (name == "HOME").then(|| "/h".into()));
        let project = Path::new("/p");
        let all = |scope, directories: &Directories| -> Vec<String> {
            let paths = OtherClient::ALL.into_iter();
            let paths = paths.map(|client| client.path(scope, project, directories));
            paths
                .map(|path| path.map_or("-".to_owned(), |path| path.display().to_string()))
                .collect()
        };
        assert_eq!(
            all(Scope::User, &plain),
            [
                "/h/.config/Claude/claude_desktop_config.json",
                "/h/.claude.json",
                "/h/.cursor/mcp.json",
                "/h/.config/Code/User/mcp.json",
                "/h/.lmstudio/mcp.json",
                "/h/.codex/config.toml",
                "/h/.gemini/settings.json",
                "/h/.config/zed/settings.json",
                "/h/.codeium/windsurf/mcp_config.json",
                "/h/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
                "/h/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
                "/h/.config/opencode/opencode.json",
                "/h/.config/goose/config.yaml",
                "/h/.junie/mcp/mcp.json",
                "/h/.copilot/mcp-config.json",
                "-",
            ]
        );
        assert_eq!(
            all(Scope::Project, &plain),
            [
                "-",
                "/p/.mcp.json",
                "/p/.cursor/mcp.json",
                "/p/.vscode/mcp.json",
                "-",
                "/p/.codex/config.toml",
                "/p/.gemini/settings.json",
                "-",
                "-",
                "-",
                "/p/.roo/mcp.json",
                "/p/opencode.json",
                "-",
                "/p/.junie/mcp/mcp.json",
                "-",
                "-",
            ]
        );
        let moved = Directories::from(|name| match name {
            "HOME" => Some("/h".into()),
            "XDG_CONFIG_HOME" => Some("/x".into()),
            "CODEX_HOME" => Some("/c".into()),
            "CLAUDE_CONFIG_DIR" => Some("relative".into()),
            _ => None,
        });
        let moved = all(Scope::User, &moved);
        assert_eq!(moved[0], "/x/Claude/claude_desktop_config.json");
        assert_eq!(moved[1], "/h/.claude.json");
        assert_eq!(moved[5], "/c/config.toml");
        assert!(
            OtherClient::ALL
                .iter()
                .all(|client| OtherClient::named(client.word()) == Some(*client))
        );
    }
}
