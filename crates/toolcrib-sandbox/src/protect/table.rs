//! The protected names, as data: who reads each, when, and where that is written down.
//!
//! A name belongs here if some program runs it, or takes commands from it, without the user asking for that file: a shell, a
//! debugger or an interpreter that starts in the directory, an editor that opens it, git, an agent that works in it. A file that
//! runs only because the user starts it (`Makefile`, `package.json`, `.cargo/config.toml`) does not.

/// A name in the root of a workspace that other programs run or take commands from.
#[derive(Debug)]
pub struct ProtectedName {
    /// The name, or a path of two names; one that begins with `*` stands for every name with that ending.
    pub name: &'static str,
    /// The entries of a directory of that name that count; empty if all of it does.
    pub within: &'static [&'static str],
    /// The program, and what it does with it: a sentence about "it".
    pub effect: &'static str,
    /// Where the program's own documentation says so.
    pub source: &'static str,
}

const fn whole(name: &'static str, effect: &'static str, source: &'static str) -> ProtectedName {
    within(name, &[], effect, source)
}

const fn within(
    name: &'static str,
    within: &'static [&'static str],
    effect: &'static str,
    source: &'static str,
) -> ProtectedName {
    ProtectedName {
        name,
        within,
        effect,
        source,
    }
}

const BASH: &str = "https://www.gnu.org/software/bash/manual/html_node/Bash-Startup-Files.html";
const ZSH: &str = "https://zsh.sourceforge.io/Doc/Release/Files.html";
const VIM: &str = "https://vimhelp.org/starting.txt.html#initialization";
const NEOVIM: &str = "https://neovim.io/doc/user/options.html#'exrc'";
const DEVCONTAINER: &str = "https://containers.dev/implementors/json_reference/";
const LEFTHOOK: &str = "https://lefthook.dev/configuration/";
const MISE: &str = "https://mise.jdx.dev/configuration.html";

/// Every protected name. Those of git repositories are besides, except for `.git` itself.
pub const NAMES: &[ProtectedName] = &[
    whole(
        ".toolcrib",
        "Toolcrib loads tools and settings from it",
        "docs/yaml-tools.md",
    ),
    whole(
        ".cycod",
        "cycod and Toolcrib load tools from it",
        "https://github.com/robch/cycod",
    ),
    whole(
        ".git",
        "git runs hooks and programs that it names",
        "https://git-scm.com/docs/gitrepository-layout",
    ),
    within(
        ".hg",
        &["hgrc", "hgrc-not-shared"],
        "Mercurial runs hooks and extensions that it names",
        "https://www.mercurial-scm.org/doc/hgrc.5.html",
    ),
    within(
        ".jj",
        &["repo/config.toml", "config.toml"],
        "Jujutsu runs programs that it names",
        "https://docs.jj-vcs.dev/latest/config/",
    ),
    // Shells, and what runs when one enters the directory.
    whole(
        ".envrc",
        "direnv runs it in your shell",
        "https://direnv.net/man/direnv.1.html",
    ),
    whole(
        ".bash_aliases",
        "bash runs it when the directory is your home directory",
        BASH,
    ),
    whole(
        ".bash_login",
        "bash runs it when the directory is your home directory",
        BASH,
    ),
    whole(
        ".bash_logout",
        "bash runs it when the directory is your home directory",
        BASH,
    ),
    whole(
        ".bash_profile",
        "bash runs it when the directory is your home directory",
        BASH,
    ),
    whole(
        ".bashrc",
        "bash runs it when the directory is your home directory",
        BASH,
    ),
    whole(
        ".profile",
        "shells run it when the directory is your home directory",
        BASH,
    ),
    whole(
        ".zlogin",
        "zsh runs it when the directory is your home directory",
        ZSH,
    ),
    whole(
        ".zlogout",
        "zsh runs it when the directory is your home directory",
        ZSH,
    ),
    whole(
        ".zprofile",
        "zsh runs it when the directory is your home directory",
        ZSH,
    ),
    whole(
        ".zshenv",
        "zsh runs it when the directory is your home directory",
        ZSH,
    ),
    whole(
        ".zshrc",
        "zsh runs it when the directory is your home directory",
        ZSH,
    ),
    whole(
        ".autoenv",
        "autoenv runs it in your shell",
        "https://github.com/hyperupcall/autoenv",
    ),
    whole(
        ".autoenv.zsh",
        "zsh-autoenv runs it in your shell",
        "https://github.com/Tarrasch/zsh-autoenv",
    ),
    whole(
        ".shadowenv.d",
        "shadowenv runs it in your shell",
        "https://shopify.github.io/shadowenv/",
    ),
    whole(
        ".rvmrc",
        "rvm runs it in your shell",
        "https://rvm.io/workflow/rvmrc",
    ),
    whole(
        ".tool-versions",
        "asdf and mise choose the programs that you start by it",
        "https://asdf-vm.com/manage/configuration.html",
    ),
    whole(
        "mise.toml",
        "mise runs hooks and sets variables that it names",
        MISE,
    ),
    whole(
        ".mise.toml",
        "mise runs hooks and sets variables that it names",
        MISE,
    ),
    whole(
        "mise.local.toml",
        "mise runs hooks and sets variables that it names",
        MISE,
    ),
    whole(
        ".mise.local.toml",
        "mise runs hooks and sets variables that it names",
        MISE,
    ),
    whole(
        ".mise",
        "mise runs hooks and sets variables that it names",
        MISE,
    ),
    whole(
        ".config/mise.toml",
        "mise runs hooks and sets variables that it names",
        MISE,
    ),
    whole(
        ".config/mise",
        "mise runs hooks and sets variables that it names",
        MISE,
    ),
    whole(
        "mise/config.toml",
        "mise runs hooks and sets variables that it names",
        MISE,
    ),
    whole(
        ".config/lefthook.yml",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    // Hooks of git that a tool keeps in the work tree.
    whole(
        ".husky",
        "git runs it as its hooks",
        "https://typicode.github.io/husky/how-to.html",
    ),
    whole(
        ".githooks",
        "git runs it as its hooks, by a common setting",
        "https://git-scm.com/docs/git-config#Documentation/git-config.txt-corehooksPath",
    ),
    whole(
        ".pre-commit-config.yaml",
        "pre-commit runs what it names when you commit",
        "https://pre-commit.com/#adding-pre-commit-plugins-to-your-project",
    ),
    whole(
        ".pre-commit-config.yml",
        "prek runs what it names when you commit",
        "https://prek.j178.dev/configuration/",
    ),
    whole(
        "prek.toml",
        "prek runs what it names when you commit",
        "https://prek.j178.dev/configuration/",
    ),
    whole(
        "lefthook.yml",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        "lefthook.yaml",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        "lefthook.toml",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        "lefthook.json",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        ".lefthook.yml",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        ".lefthook.yaml",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        ".lefthook.toml",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        ".lefthook.json",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        "lefthook-local.yml",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        ".lefthook-local.yml",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(".lefthook", "lefthook runs it when you commit", LEFTHOOK),
    whole(
        ".lefthook-local",
        "lefthook runs it when you commit",
        LEFTHOOK,
    ),
    whole(
        ".overcommit.yml",
        "overcommit runs what it names when you commit",
        "https://github.com/sds/overcommit#configuration",
    ),
    // Editors.
    within(
        ".vscode",
        &[
            "tasks.json",
            "settings.json",
            "launch.json",
            "extensions.json",
            "mcp.json",
        ],
        "VS Code runs tasks and programs that it names",
        "https://code.visualstudio.com/docs/configure/settings",
    ),
    whole(
        "*.code-workspace",
        "VS Code runs tasks and programs that it names",
        "https://code.visualstudio.com/docs/editing/workspaces/workspaces",
    ),
    whole(
        ".idea",
        "JetBrains editors run programs that it names",
        "https://www.jetbrains.com/help/idea/creating-and-managing-projects.html",
    ),
    within(
        ".zed",
        &["tasks.json", "settings.json", "debug.json"],
        "Zed runs tasks and programs that it names",
        "https://zed.dev/docs/configuring-zed",
    ),
    whole(
        ".helix",
        "Helix runs language servers that it names",
        "https://docs.helix-editor.com/languages.html",
    ),
    whole(
        ".fleet",
        "Fleet runs programs that it names",
        "https://www.jetbrains.com/help/fleet/run-configurations.html",
    ),
    whole(
        ".dir-locals.el",
        "Emacs evaluates it",
        "https://www.gnu.org/software/emacs/manual/html_node/emacs/Directory-Variables.html",
    ),
    whole(
        ".dir-locals-2.el",
        "Emacs evaluates it",
        "https://www.gnu.org/software/emacs/manual/html_node/emacs/Directory-Variables.html",
    ),
    whole(".exrc", "vi and Vim run it", VIM),
    whole(".vimrc", "Vim runs it", VIM),
    whole(".gvimrc", "Vim runs it", VIM),
    whole(
        ".lvimrc",
        "a plugin of Vim runs it",
        "https://github.com/embear/vim-localvimrc",
    ),
    whole(".nvimrc", "Neovim runs it", NEOVIM),
    whole(".nvim.lua", "Neovim runs it", NEOVIM),
    whole(".nvim", "a plugin of Neovim runs it", NEOVIM),
    whole(
        ".devcontainer",
        "editors build and start a container by it, with commands on this machine",
        DEVCONTAINER,
    ),
    whole(
        ".devcontainer.json",
        "editors build and start a container by it, with commands on this machine",
        DEVCONTAINER,
    ),
    // Agents: servers and hooks that they start, and instructions that count as the user's.
    whole(
        ".mcp.json",
        "agents start the servers that it names",
        "https://code.claude.com/docs/en/mcp",
    ),
    within(
        ".claude",
        &[
            "settings.json",
            "settings.local.json",
            "hooks",
            "hooks.json",
            "commands",
            "agents",
            "skills",
            "plugins",
            "rules",
            "output-styles",
            "workflows",
            "CLAUDE.md",
            ".mcp.json",
        ],
        "Claude Code runs hooks and follows instructions in it",
        "https://code.claude.com/docs/en/settings",
    ),
    within(
        ".cursor",
        &[
            "mcp.json",
            "hooks.json",
            "hooks",
            "environment.json",
            "cli.json",
            "rules",
            "commands",
            "agents",
            "skills",
            "worktrees.json",
            "sandbox.json",
        ],
        "Cursor runs servers and hooks and follows instructions in it",
        "https://cursor.com/docs/agent/hooks",
    ),
    whole(
        ".codex",
        "Codex starts servers and hooks that it names",
        "https://developers.openai.com/codex/config-reference",
    ),
    whole(
        ".gemini",
        "Gemini CLI starts servers and hooks that it names",
        "https://github.com/google-gemini/gemini-cli/blob/main/docs/reference/configuration.md",
    ),
    whole(
        ".qwen",
        "Qwen Code starts servers and hooks that it names",
        "https://qwenlm.github.io/qwen-code-docs/",
    ),
    whole(
        ".kiro",
        "Kiro starts servers and hooks that it names",
        "https://kiro.dev/docs/hooks/",
    ),
    whole(
        ".amazonq",
        "Amazon Q starts servers and hooks that it names",
        "https://docs.aws.amazon.com/amazonq/latest/qdeveloper-ug/command-line-custom-agents.html",
    ),
    whole(
        ".roo",
        "Roo Code starts servers and follows instructions in it",
        "https://docs.roocode.com/features/mcp/using-mcp-in-roo",
    ),
    whole(
        ".cline",
        "Cline runs hooks and follows instructions in it",
        "https://docs.cline.bot/features/hooks/hook-reference",
    ),
    whole(
        ".clinerules",
        "Cline runs hooks and follows instructions in it",
        "https://docs.cline.bot/features/cline-rules",
    ),
    whole(
        ".windsurf",
        "Windsurf runs hooks and follows instructions in it",
        "https://docs.windsurf.com/windsurf/cascade/hooks",
    ),
    whole(
        ".trae",
        "Trae starts servers and follows instructions in it",
        "https://docs.trae.ai/ide/model-context-protocol",
    ),
    whole(
        ".opencode",
        "opencode loads plugins and commands from it",
        "https://opencode.ai/docs/config/",
    ),
    whole(
        "opencode.json",
        "opencode starts servers and programs that it names",
        "https://opencode.ai/docs/config/",
    ),
    whole(
        "opencode.jsonc",
        "opencode starts servers and programs that it names",
        "https://opencode.ai/docs/config/",
    ),
    whole(
        ".crush.json",
        "Crush starts servers and programs that it names",
        "https://github.com/charmbracelet/crush#configuration",
    ),
    whole(
        "crush.json",
        "Crush starts servers and programs that it names",
        "https://github.com/charmbracelet/crush#configuration",
    ),
    whole(
        ".continue",
        "Continue starts servers and follows instructions in it",
        "https://docs.continue.dev/customize/deep-dives/configuration",
    ),
    whole(
        ".aider.conf.yml",
        "aider runs lint and test commands that it names",
        "https://aider.chat/docs/config/aider_conf.html",
    ),
    // Interpreters and debuggers that run a file of the directory they start in.
    whole(
        ".gdbinit",
        "gdb runs it",
        "https://sourceware.org/gdb/current/onlinedocs/gdb.html/Init-File-in-the-Current-Directory.html",
    ),
    whole(
        ".lldbinit",
        "lldb runs it",
        "https://lldb.llvm.org/man/lldb.html",
    ),
    whole(
        ".pdbrc",
        "Python's debugger runs it",
        "https://docs.python.org/3/library/pdb.html#debugger-commands",
    ),
    whole(
        ".perldb",
        "Perl's debugger runs it",
        "https://perldoc.perl.org/perldebug#Debugger-Customization",
    ),
    whole(
        ".Rprofile",
        "R runs it",
        "https://stat.ethz.ch/R-manual/R-devel/library/base/html/Startup.html",
    ),
    whole(
        ".ghci",
        "GHCi runs it",
        "https://downloads.haskell.org/ghc/latest/docs/users_guide/ghci.html#the-ghci-and-haskeline-files",
    ),
    whole(
        ".irbrc",
        "irb runs it",
        "https://docs.ruby-lang.org/en/master/IRB.html",
    ),
    whole(
        ".pryrc",
        "pry runs it",
        "https://github.com/pry/pry/wiki/Pry-rc",
    ),
    whole(
        ".iex.exs",
        "IEx runs it",
        "https://hexdocs.pm/iex/IEx.html#module-the-iex-exs-file",
    ),
    whole(
        ".ocamlinit",
        "OCaml's toplevel runs it",
        "https://ocaml.org/manual/5.3/toplevel.html",
    ),
    whole(
        ".octaverc",
        "Octave runs it",
        "https://docs.octave.org/latest/Startup-Files.html",
    ),
];
