//! The protected names, as data: who reads each, when, and where that is written down.
//!
//! A name belongs here if some program runs it, or takes commands from it, without the user asking for that file: a shell, a
//! debugger or an interpreter that starts in the directory, an editor that opens it, git, an agent that works in it. A file that
//! runs only because the user starts it (`Makefile`, `package.json`, `.cargo/config.toml`) does not.

/// A name in the root of a workspace that other programs run or take commands from.
#[derive(Debug)]
pub struct ProtectedName {
    /// The name, or a path of two names; one that begins with `*` means every name with that ending.
    pub name: &'static str,
    /// The entries of a directory of that name that count; empty if all of it does.
    pub within: &'static [&'static str],
    /// The program, and what it does with it: a sentence about "it".
    pub effect: &'static str,
    /// Where the program's documentation or source code says so.
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
const VIM: &str = "https://github.com/vim/vim/blob/HEAD/runtime/doc/options.txt";
const NEOVIM: &str = "https://github.com/neovim/neovim/blob/HEAD/runtime/doc/options.txt";
const DEVCONTAINER: &str =
    "https://github.com/devcontainers/spec/blob/HEAD/docs/specs/devcontainer-reference.md";
const LEFTHOOK: &str = "https://lefthook.dev/configuration";
const MISE: &str = "https://github.com/jdx/mise/blob/HEAD/docs/configuration.md";
const MISE_NAMES: &str = "https://github.com/jdx/mise/blob/HEAD/src/config/mod.rs";
const MISE_ENVIRONMENTS: &str =
    "https://github.com/jdx/mise/blob/HEAD/docs/configuration/environments.md";
const PREK: &str = "https://github.com/j178/prek/blob/HEAD/docs/configuration.md";
const OVERCOMMIT: &str = "https://github.com/sds/overcommit/blob/HEAD/README.md";
const AUTOENV: &str = "https://github.com/hyperupcall/autoenv/blob/HEAD/README.md";
const JETBRAINS: &str = "https://jetbrains.com/help/idea/settings-tools-startup-tasks.html";
const EMACS: &str = "https://github.com/emacs-mirror/emacs/blob/HEAD/doc/emacs/custom.texi";
const RULES: &str = "https://github.com/zed-industries/zed/blob/HEAD/docs/src/ai/instructions.md";
const OPENCODE: &str =
    "https://github.com/anomalyco/opencode/blob/HEAD/packages/web/src/content/docs/config.mdx";
const OPENCODE_TUI: &str =
    "https://github.com/anomalyco/opencode/blob/HEAD/packages/opencode/src/config/tui.ts";
const CRUSH: &str = "https://github.com/charmbracelet/crush/blob/HEAD/README.md";
const CRUSH_NAMES: &str =
    "https://github.com/charmbracelet/crush/blob/HEAD/internal/config/load.go";
const R: &str = "https://stat.ethz.ch/R-manual/R-devel/library/base/html/Startup.html";
const IRB: &str = "https://github.com/ruby/irb/blob/HEAD/doc/Configurations.md";

const HK: &str = "https://github.com/jdx/hk/blob/HEAD/docs/configuration.md";
const HK_NAMES: &str = "https://github.com/jdx/hk/blob/HEAD/src/config.rs";
const KATE: &str = "https://github.com/KDE/kate/blob/HEAD/doc/kate/plugins.docbook";
const KILO: &str = "https://github.com/Kilo-Org/kilocode/blob/HEAD/packages/opencode/src/kilocode/config/config.ts";
const KILO_PLUGINS: &str = "https://github.com/Kilo-Org/kilocode/blob/HEAD/packages/kilo-docs/pages/automate/extending/plugins.md";
const KILO_RULES: &str = "https://github.com/Kilo-Org/kilocode/blob/HEAD/packages/opencode/src/kilocode/rules-migrator.ts";
const COPILOT: &str = "https://github.com/github/docs/blob/HEAD/content/copilot/reference/copilot-cli-reference/cli-config-dir-reference.md";

/// What counts in the directory of Kilo Code, which keeps plans and work trees there too.
const KILO_ENTRIES: &[&str] = &[
    "kilo.json",
    "kilo.jsonc",
    "opencode.json",
    "opencode.jsonc",
    "mcp.json",
    "tui.json",
    "tui.jsonc",
    "plugin",
    "plugins",
    "tool",
    "tools",
    "package.json",
    "command",
    "commands",
    "agent",
    "agents",
    "mode",
    "modes",
    "skills",
    "rules",
    "rules-code",
    "rules-architect",
    "rules-ask",
    "rules-debug",
    "rules-orchestrator",
    "setup-script",
    "setup-script.sh",
];

/// Every protected name. Those of git repositories are besides, except for `.git` itself.
pub const NAMES: &[ProtectedName] = &[
    whole(
        ".lazygit.yml",
        "lazygit runs commands that it names",
        "https://github.com/jesseduffield/lazygit/blob/HEAD/docs/Config.md",
    ),
    whole(
        ".toolcrib",
        "Toolcrib loads tools and settings from it",
        "docs/yaml-tools.md",
    ),
    whole(
        ".cycod",
        "cycod starts servers that it names, and Toolcrib loads tools from it",
        "https://github.com/robch/cycod/blob/HEAD/src/cycod/McpHelpers/McpConfigFile.cs",
    ),
    whole(
        ".git",
        "git runs hooks and programs that it names",
        "https://github.com/git/git/blob/HEAD/Documentation/gitrepository-layout.adoc",
    ),
    within(
        ".hg",
        &["hgrc", "hgrc-not-shared", "sharedpath"],
        "Mercurial runs hooks and extensions that it names",
        "https://mercurial-scm.org/doc/hgrc.5.html",
    ),
    within(
        ".jj",
        &["repo/config.toml", "workspace-config.toml"],
        "Jujutsu runs programs that it names",
        "https://github.com/jj-vcs/jj/blob/HEAD/lib/src/secure_config.rs",
    ),
    // Shells, and what runs when one enters the directory.
    whole(
        ".envrc",
        "direnv runs it in your shell",
        "https://github.com/direnv/direnv/blob/HEAD/man/direnv.1.md",
    ),
    whole(
        ".bash_aliases",
        "the usual .bashrc of Debian runs it when the directory is your home directory",
        "https://github.com/linuxmint/bash/blob/HEAD/debian/skel.bashrc",
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
        "autoenv runs it in your shell, by a common setting",
        AUTOENV,
    ),
    whole(
        ".env.leave",
        "autoenv runs it in your shell when you leave the directory, if a setting allows it",
        AUTOENV,
    ),
    whole(
        ".autoenv.zsh",
        "zsh-autoenv runs it in your shell",
        "https://github.com/Tarrasch/zsh-autoenv/blob/HEAD/README.md",
    ),
    whole(
        ".autoenv_leave.zsh",
        "zsh-autoenv runs it in your shell when you leave the directory",
        "https://github.com/Tarrasch/zsh-autoenv/blob/HEAD/README.md",
    ),
    whole(
        ".shadowenv.d",
        "shadowenv runs it in your shell",
        "https://github.com/Shopify/shadowenv/blob/HEAD/README.md",
    ),
    whole(
        ".rvmrc",
        "rvm runs it in your shell",
        "https://rvm.io/workflow/projects",
    ),
    whole(
        ".tool-versions",
        "asdf and mise choose the programs that you start by it",
        "https://github.com/asdf-vm/asdf/blob/HEAD/docs/manage/configuration.md",
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
        "mise/config.local.toml",
        "mise runs hooks and sets variables that it names",
        MISE_NAMES,
    ),
    whole(
        ".config/mise.local.toml",
        "mise runs hooks and sets variables that it names",
        MISE_NAMES,
    ),
    whole(
        ".rtx.toml",
        "mise runs hooks and sets variables that it names",
        MISE_NAMES,
    ),
    whole(
        ".rtx.local.toml",
        "mise runs hooks and sets variables that it names",
        MISE_NAMES,
    ),
    whole(
        ".miserc.toml",
        "mise chooses the files that it obeys by it",
        MISE_ENVIRONMENTS,
    ),
    whole(
        ".config/miserc.toml",
        "mise chooses the files that it obeys by it",
        MISE_ENVIRONMENTS,
    ),
    // Hooks of git that a tool keeps in the work tree.
    whole(
        ".husky",
        "git runs it as its hooks",
        "https://github.com/typicode/husky/blob/HEAD/docs/how-to.md",
    ),
    whole(
        ".githooks",
        "git runs it as its hooks, by a common setting",
        "https://github.com/git/git/blob/HEAD/Documentation/config/core.adoc",
    ),
    whole(
        ".pre-commit-config.yaml",
        "pre-commit runs what it names when you commit",
        "https://pre-commit.com/",
    ),
    whole(
        ".pre-commit-config.yml",
        "prek runs what it names when you commit",
        PREK,
    ),
    whole("prek.toml", "prek runs what it names when you commit", PREK),
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
    whole(
        ".config/lefthook.yml",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        "lefthook.jsonc",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        ".lefthook.jsonc",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        ".config/lefthook.yaml",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        ".config/lefthook.toml",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        ".config/lefthook.json",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        ".config/lefthook.jsonc",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        "lefthook-local.yaml",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        "lefthook-local.toml",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        "lefthook-local.json",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        "lefthook-local.jsonc",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        ".lefthook-local.yaml",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        ".lefthook-local.toml",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        ".lefthook-local.json",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        ".lefthook-local.jsonc",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        ".config/lefthook-local.yml",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        ".config/lefthook-local.yaml",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        ".config/lefthook-local.toml",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        ".config/lefthook-local.json",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        ".config/lefthook-local.jsonc",
        "lefthook runs what it names when you commit",
        LEFTHOOK,
    ),
    whole(
        ".lefthook",
        "lefthook runs it when you commit",
        "https://github.com/evilmartians/lefthook/blob/HEAD/docs/configuration/source_dir.md",
    ),
    whole(
        ".lefthook-local",
        "lefthook runs it when you commit",
        "https://github.com/evilmartians/lefthook/blob/HEAD/docs/configuration/source_dir_local.md",
    ),
    whole(
        ".overcommit.yml",
        "overcommit runs what it names when you commit",
        OVERCOMMIT,
    ),
    whole(
        ".local-overcommit.yml",
        "overcommit runs what it names when you commit",
        OVERCOMMIT,
    ),
    whole(
        ".git-hooks",
        "overcommit runs it when you commit",
        OVERCOMMIT,
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
        "https://github.com/microsoft/vscode-docs/blob/HEAD/docs/editing/workspaces/workspace-trust.md",
    ),
    whole(
        "*.code-workspace",
        "VS Code runs tasks and programs that it names",
        "https://github.com/microsoft/vscode-docs/blob/HEAD/docs/editing/workspaces/multi-root-workspaces.md",
    ),
    whole(
        ".idea",
        "JetBrains editors run programs that it names",
        JETBRAINS,
    ),
    whole(
        "*.ipr",
        "JetBrains editors run programs that it names",
        JETBRAINS,
    ),
    whole(
        "*.iws",
        "JetBrains editors run programs that it names",
        JETBRAINS,
    ),
    within(
        ".zed",
        &["tasks.json", "settings.json", "debug.json"],
        "Zed runs tasks and programs that it names",
        "https://github.com/zed-industries/zed/blob/HEAD/docs/src/tasks.md",
    ),
    whole(
        ".helix",
        "Helix runs commands and language servers that it names",
        "https://github.com/helix-editor/helix/blob/HEAD/book/src/workspace-trust.md",
    ),
    whole(
        ".fleet",
        "Fleet runs programs that it names",
        "https://jetbrains.com/help/fleet/run-configs.html",
    ),
    whole(".dir-locals.el", "Emacs evaluates it", EMACS),
    whole(".dir-locals-2.el", "Emacs evaluates it", EMACS),
    whole(".exrc", "vi and Vim run it", VIM),
    whole(".vimrc", "Vim runs it", VIM),
    whole(".gvimrc", "Vim runs it", VIM),
    whole(
        "_vimrc",
        "Vim runs it",
        "https://github.com/vim/vim/blob/HEAD/runtime/doc/starting.txt",
    ),
    whole(
        "_gvimrc",
        "Vim runs it",
        "https://github.com/vim/vim/blob/HEAD/runtime/doc/gui.txt",
    ),
    whole(
        ".lvimrc",
        "a plugin of Vim runs it",
        "https://github.com/embear/vim-localvimrc/blob/HEAD/README.md",
    ),
    whole(".nvimrc", "Neovim runs it", NEOVIM),
    whole(".nvim.lua", "Neovim runs it", NEOVIM),
    whole(".nvim", "Neovim runs it, if your settings add it", NEOVIM),
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
            "commands",
            "agents",
            "skills",
            "plugins",
            "rules",
            "output-styles",
            "workflows",
            "CLAUDE.md",
            "scheduled_tasks.json",
            "launch.json",
        ],
        "Claude Code runs hooks and follows instructions in it",
        "https://code.claude.com/docs/en/claude-directory",
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
            "permissions.json",
        ],
        "Cursor runs servers and hooks and follows instructions in it",
        "https://cursor.com/docs/hooks",
    ),
    whole(
        ".cursorrules",
        "Cursor, Cline and Zed follow instructions in it",
        RULES,
    ),
    whole(".rules", "Zed follows instructions in it", RULES),
    within(
        ".agents",
        &["skills", "agents", "plugins", "recipes"],
        "goose runs hooks in it, and goose, Codex, Gemini CLI, Zed and other agents follow instructions in it",
        "https://github.com/block/goose/blob/HEAD/documentation/docs/guides/context-engineering/hooks.md",
    ),
    whole(
        ".github/hooks",
        "VS Code and Copilot run commands that it names",
        "https://github.com/microsoft/vscode-docs/blob/HEAD/docs/agent-customization/hooks.md",
    ),
    whole(
        ".github/agents",
        "VS Code follows instructions in it",
        "https://github.com/microsoft/vscode-docs/blob/HEAD/docs/agent-customization/custom-agents.md",
    ),
    whole(
        ".github/skills",
        "VS Code follows instructions in it",
        "https://github.com/microsoft/vscode-docs/blob/HEAD/docs/agent-customization/agent-skills.md",
    ),
    whole(
        ".github/instructions",
        "VS Code follows instructions in it",
        "https://github.com/microsoft/vscode-docs/blob/HEAD/docs/agent-customization/custom-instructions.md",
    ),
    whole(
        ".github/prompts",
        "VS Code follows instructions in it",
        "https://github.com/microsoft/vscode-docs/blob/HEAD/docs/agent-customization/prompt-files.md",
    ),
    whole(
        ".codex",
        "Codex starts servers and hooks that it names",
        "https://github.com/openai/codex/blob/HEAD/codex-rs/config/src/loader/README.md",
    ),
    whole(
        ".gemini",
        "Gemini CLI starts servers and hooks that it names",
        "https://github.com/google-gemini/gemini-cli/blob/HEAD/docs/reference/configuration.md",
    ),
    whole(
        ".qwen",
        "Qwen Code starts servers and hooks that it names",
        "https://github.com/QwenLM/qwen-code/blob/HEAD/docs/users/configuration/settings.md",
    ),
    whole(
        ".kiro",
        "Kiro starts servers and hooks that it names",
        "https://kiro.dev/docs/hooks/",
    ),
    whole(
        ".amazonq",
        "Amazon Q starts servers and hooks that it names",
        "https://github.com/aws/amazon-q-developer-cli/blob/HEAD/docs/agent-format.md",
    ),
    whole(
        ".roo",
        "Roo Code starts servers and follows instructions in it",
        "https://docs.roocode.com/features/mcp/using-mcp-in-roo",
    ),
    whole(
        ".roomodes",
        "Roo Code follows instructions in it",
        "https://github.com/RooCodeInc/Roo-Code/blob/HEAD/src/core/config/CustomModesManager.ts",
    ),
    whole(
        ".roorules",
        "Roo Code follows instructions in it",
        "https://github.com/RooCodeInc/Roo-Code/blob/HEAD/src/core/prompts/sections/custom-instructions.ts",
    ),
    whole(
        ".cline",
        "Cline runs hooks and follows instructions in it",
        "https://github.com/cline/cline/blob/HEAD/docs/getting-started/config.mdx",
    ),
    whole(
        ".clinerules",
        "Cline runs hooks and follows instructions in it",
        "https://github.com/cline/cline/blob/HEAD/apps/vscode/src/core/hooks/hook-factory.ts",
    ),
    whole(
        ".windsurf",
        "Windsurf runs hooks and follows instructions in it",
        "https://docs.windsurf.com/windsurf/cascade/hooks",
    ),
    whole(
        ".windsurfrules",
        "Windsurf, Cline and Zed follow instructions in it",
        RULES,
    ),
    whole(
        ".devin",
        "Devin runs hooks and follows instructions in it",
        "https://docs.devin.ai/cli/extensibility/hooks/overview",
    ),
    whole(
        ".trae",
        "Trae starts servers and follows instructions in it",
        "https://docs.trae.ai/ide/rules",
    ),
    whole(
        ".opencode",
        "opencode loads plugins and commands from it",
        OPENCODE,
    ),
    whole(
        "opencode.json",
        "opencode starts servers and programs that it names",
        OPENCODE,
    ),
    whole(
        "opencode.jsonc",
        "opencode starts servers and programs that it names",
        OPENCODE,
    ),
    whole(
        "tui.json",
        "opencode loads plugins that it names",
        OPENCODE_TUI,
    ),
    whole(
        "tui.jsonc",
        "opencode loads plugins that it names",
        OPENCODE_TUI,
    ),
    whole(
        ".crush.json",
        "Crush starts servers and programs that it names",
        CRUSH_NAMES,
    ),
    whole(
        "crush.json",
        "Crush starts servers and programs that it names",
        CRUSH_NAMES,
    ),
    whole(".crushrc", "Crush runs it", CRUSH),
    whole("crushrc", "Crush runs it", CRUSH),
    within(
        ".crush",
        &["crush.json", "commands", "skills"],
        "Crush starts servers and programs that it names",
        CRUSH_NAMES,
    ),
    whole(
        ".continue",
        "Continue starts servers and follows instructions in it",
        "https://github.com/continuedev/continue/blob/HEAD/docs/customize/deep-dives/mcp.mdx",
    ),
    whole(
        ".continuerules",
        "Continue follows instructions in it",
        "https://github.com/continuedev/continue/blob/HEAD/core/config/getWorkspaceContinueRuleDotFiles.ts",
    ),
    whole(
        ".continuerc.json",
        "Continue starts servers that it names",
        "https://github.com/continuedev/continue/blob/HEAD/core/config/json/loadRcConfigs.ts",
    ),
    whole(
        ".aider.conf.yml",
        "aider runs lint and test commands that it names",
        "https://github.com/Aider-AI/aider/blob/HEAD/aider/website/docs/config/aider_conf.md",
    ),
    // Interpreters and debuggers that run a file of the directory they start in.
    whole(
        ".gdbinit",
        "gdb runs it",
        "https://www.sourceware.org/gdb/onlinedocs/gdb/Init-File-in-the-Current-Directory.html",
    ),
    whole(
        ".lldbinit",
        "lldb runs it, if a setting allows it",
        "https://github.com/llvm/llvm-project/blob/HEAD/lldb/docs/man/lldb.rst",
    ),
    whole(
        ".pdbrc",
        "Python's debugger runs it",
        "https://github.com/python/cpython/blob/HEAD/Doc/library/pdb.rst",
    ),
    whole(
        ".perldb",
        "Perl's debugger runs it",
        "https://github.com/Perl/perl5/blob/HEAD/pod/perldebug.pod",
    ),
    whole(".Rprofile", "R runs it", R),
    whole(
        ".Renviron",
        "R takes variables from it, which name files to run",
        R,
    ),
    whole(".RData", "R loads it and runs a function in it", R),
    whole(
        ".ghci",
        "GHCi runs it",
        "https://github.com/ghc/ghc/blob/HEAD/docs/users_guide/ghci.rst",
    ),
    whole(".irbrc", "irb runs it", IRB),
    whole(
        "irbrc",
        "irb runs it",
        "https://github.com/ruby/irb/blob/HEAD/lib/irb/init.rb",
    ),
    whole("_irbrc", "irb runs it", IRB),
    whole("$irbrc", "irb runs it", IRB),
    whole(
        ".pryrc",
        "pry runs it",
        "https://github.com/pry/pry/blob/HEAD/lib/pry/pry_class.rb",
    ),
    whole(
        ".iex.exs",
        "IEx runs it",
        "https://github.com/elixir-lang/elixir/blob/HEAD/lib/iex/lib/iex.ex",
    ),
    whole(
        ".ocamlinit",
        "OCaml's toplevel runs it",
        "https://github.com/ocaml/ocaml/blob/HEAD/manual/src/cmds/top.etex",
    ),
    whole(
        ".octaverc",
        "Octave runs it",
        "https://gnu.org/software/octave/doc/interpreter/Startup-Files.html",
    ),
    whole(
        "startup.m",
        "Octave runs it",
        "https://github.com/gnu-octave/octave/blob/HEAD/doc/interpreter/basics.txi",
    ),
    whole("hk.pkl", "hk runs what it names when you commit", HK),
    whole("hk.local.pkl", "hk runs what it names when you commit", HK),
    whole(
        ".config/hk.pkl",
        "hk runs what it names when you commit",
        HK,
    ),
    whole(
        ".config/hk.local.pkl",
        "hk runs what it names when you commit",
        HK,
    ),
    whole(".hkrc.pkl", "hk runs what it names when you commit", HK),
    whole("hk.toml", "hk runs what it names when you commit", HK_NAMES),
    whole("hk.yaml", "hk runs what it names when you commit", HK_NAMES),
    whole("hk.yml", "hk runs what it names when you commit", HK_NAMES),
    whole("hk.json", "hk runs what it names when you commit", HK_NAMES),
    whole(
        "captainhook.json",
        "CaptainHook runs what it names when you commit",
        "https://github.com/captainhook-git/captainhook/blob/HEAD/README.md",
    ),
    whole(
        "captainhook.config.json",
        "CaptainHook takes settings of its hooks from it",
        "https://github.com/captainhook-git/captainhook/blob/HEAD/src/Config/Factory.php",
    ),
    whole(
        ".kateproject",
        "Kate starts language servers that it names",
        KATE,
    ),
    whole(
        ".kateproject.local",
        "Kate starts language servers that it names",
        KATE,
    ),
    whole(
        "*.sublime-project",
        "the package LSP of Sublime Text starts language servers that it names",
        "https://github.com/sublimelsp/LSP/blob/HEAD/docs/src/client_configuration.md",
    ),
    within(
        ".theia",
        &["settings.json", "tasks.json", "launch.json"],
        "Theia takes settings from it, which name servers to start",
        "https://github.com/eclipse-theia/theia/blob/HEAD/packages/core/src/common/preferences/preference-configurations.ts",
    ),
    whole(
        "*.theia-workspace",
        "Theia takes settings from it, which name servers to start",
        "https://github.com/eclipse-theia/theia/blob/HEAD/packages/workspace/src/common/workspace-file-service.ts",
    ),
    within(
        ".vs",
        &["mcp.json"],
        "Visual Studio starts servers that it names",
        "https://github.com/MicrosoftDocs/visualstudio-docs/blob/HEAD/docs/ide/mcp-servers.md",
    ),
    whole(
        "kilo.json",
        "Kilo Code starts servers and loads plugins that it names",
        KILO,
    ),
    whole(
        "kilo.jsonc",
        "Kilo Code starts servers and loads plugins that it names",
        KILO,
    ),
    within(
        ".kilo",
        KILO_ENTRIES,
        "Kilo Code runs plugins and servers and follows instructions in it",
        KILO_PLUGINS,
    ),
    within(
        ".kilocode",
        KILO_ENTRIES,
        "Kilo Code runs plugins and servers and follows instructions in it",
        KILO_PLUGINS,
    ),
    whole(
        ".kilocodemodes",
        "Kilo Code follows instructions in it",
        "https://github.com/Kilo-Org/kilocode/blob/HEAD/packages/opencode/src/kilocode/modes-migrator.ts",
    ),
    whole(
        ".kilocoderules",
        "Kilo Code follows instructions in it",
        KILO_RULES,
    ),
    whole(
        ".kilocoderules-code",
        "Kilo Code follows instructions in it",
        KILO_RULES,
    ),
    whole(
        ".kilocoderules-architect",
        "Kilo Code follows instructions in it",
        KILO_RULES,
    ),
    whole(
        ".kilocoderules-ask",
        "Kilo Code follows instructions in it",
        KILO_RULES,
    ),
    whole(
        ".kilocoderules-debug",
        "Kilo Code follows instructions in it",
        KILO_RULES,
    ),
    whole(
        ".kilocoderules-orchestrator",
        "Kilo Code follows instructions in it",
        KILO_RULES,
    ),
    within(
        ".factory",
        &[
            "settings.json",
            "settings.local.json",
            "hooks.json",
            "hooks",
            "mcp.json",
            "droids",
            "commands",
            "skills",
        ],
        "Factory's droid runs hooks and servers and follows instructions in it",
        "https://github.com/Factory-AI/factory/blob/HEAD/docs/enterprise/hierarchical-settings-and-org-control.mdx",
    ),
    whole(
        ".junie",
        "Junie follows instructions in it",
        "https://www.jetbrains.com/help/junie/customize-guidelines.html",
    ),
    within(
        ".openhands",
        &[
            "setup.sh",
            "pre-commit.sh",
            "hooks.json",
            "hooks",
            "microagents",
            "skills",
            "plugins",
        ],
        "OpenHands runs scripts and hooks and follows instructions in it",
        "https://github.com/OpenHands/docs/blob/HEAD/openhands/usage/customization/repository.mdx",
    ),
    whole(
        ".openhands_instructions",
        "OpenHands follows instructions in it",
        "https://github.com/OpenHands/OpenHands/blob/HEAD/openhands/runtime/base.py",
    ),
    whole(
        ".augment",
        "Augment runs hooks and follows instructions in it",
        "https://docs.augmentcode.com/cli/hooks",
    ),
    whole(
        ".augment-guidelines",
        "Augment follows instructions in it",
        "https://docs.augmentcode.com/cli/v0/rules",
    ),
    within(
        ".goose",
        &["skills", "agents", "recipes"],
        "goose follows instructions in it",
        "https://github.com/block/goose/blob/HEAD/crates/goose/src/agents/platform_extensions/summon.rs",
    ),
    whole(
        ".goosehints",
        "goose follows instructions in it",
        "https://github.com/block/goose/blob/HEAD/documentation/docs/guides/context-engineering/using-goosehints.md",
    ),
    whole(
        ".pi",
        "pi runs extensions and follows instructions in it",
        "https://github.com/badlogic/pi-mono/blob/HEAD/packages/coding-agent/docs/extensions.md",
    ),
    whole(
        ".iflow",
        "iFlow CLI starts servers and hooks that it names",
        "https://github.com/iflow-ai/iflow-cli/blob/HEAD/docs_en/examples/hooks.md",
    ),
    whole(
        ".codebuddy",
        "CodeBuddy follows instructions in it",
        "https://www.tencentcloud.com/document/product/1256/77282",
    ),
    within(
        ".forge",
        &["agents", "skills", "commands"],
        "Forge follows instructions in it",
        "https://github.com/antinomyhq/forge/blob/HEAD/README.md",
    ),
    within(
        ".rovodev",
        &["subagents"],
        "Rovo Dev follows instructions in it",
        "https://support.atlassian.com/rovo/docs/use-subagents-in-rovo-dev-cli",
    ),
    within(
        ".vibe",
        &[
            "config.toml",
            "hooks.toml",
            "tools",
            "skills",
            "agents",
            "prompts",
        ],
        "Mistral Vibe starts servers and hooks that it names",
        "https://github.com/mistralai/mistral-vibe/blob/HEAD/README.md",
    ),
    within(
        ".kimi",
        &["AGENTS.md", "skills"],
        "Kimi CLI follows instructions in it",
        "https://github.com/MoonshotAI/kimi-cli/blob/HEAD/docs/en/customization/skills.md",
    ),
    whole(
        ".github/mcp.json",
        "Copilot CLI starts servers that it names",
        COPILOT,
    ),
    whole(
        ".github/copilot",
        "Copilot CLI runs hooks that it names",
        COPILOT,
    ),
    whole(
        ".github/lsp.json",
        "Copilot CLI starts language servers that it names",
        "https://github.com/github/docs/blob/HEAD/content/copilot/how-tos/copilot-cli/set-up-copilot-cli/add-lsp-servers.md",
    ),
];
