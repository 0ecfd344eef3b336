//! Variables that make other programs run something: the one table of them, for judging what a command sets
//! ([`check`]) and for keeping the caller's own from commands ([`is_acted_on`]).

use super::lex::Dialect;
use super::script::{Directory, Part, Word, base_name};
use super::shells;
use super::walk::{Context, Walker};

/// The value is a command line that a program runs.
const COMMANDS: &[&str] = &[
    "PAGER",
    "MANPAGER",
    "SYSTEMD_PAGER",
    "GIT_PAGER",
    "GH_PAGER",
    "BAT_PAGER",
    "DELTA_PAGER",
    "AWS_PAGER",
    "PSQL_PAGER",
    "PERLDOC_PAGER",
    "RI_PAGER",
    "EDITOR",
    "VISUAL",
    "FCEDIT",
    "SUDO_EDITOR",
    "SYSTEMD_EDITOR",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "GIT_PROXY_COMMAND",
    "RSYNC_RSH",
    "CVS_RSH",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "PROMPT_COMMAND",
    "HG_EDITOR",
    "HGEDITOR",
    "HGMERGE",
    "PSQL_EDITOR",
    "CVSEDITOR",
    "BZR_EDITOR",
    "P4EDITOR",
    "P4DIFF",
    "P4MERGE",
    "JJ_EDITOR",
    "FZF_DEFAULT_COMMAND",
    "SVN_SSH",
    "SVN_EDITOR",
    "KUBE_EDITOR",
    "CSCOPE_EDITOR",
    "TEXEDIT",
    "MAILER",
    "RIPGREP_PRE",
    "RSYNC_CONNECT_PROG",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTDOC",
    "npm_config_script_shell",
    "NPM_CONFIG_SCRIPT_SHELL",
];

/// The value is code, names code to load, or changes what other words mean.
const DANGEROUS: &[&str] = &[
    "BASH_ENV",
    "PS0",
    "PS4",
    "SHELLOPTS",
    "BASHOPTS",
    "BASH_LOADABLES_PATH",
    "BASH_ALIASES",
    "BASH_CMDS",
    "PERL5OPT",
    "PERL5DB",
    "PERL5LIB",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "RUBYOPT",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "GCONV_PATH",
    "MAKEFILES",
    "GNUMAKEFLAGS",
    "MFLAGS",
    "TAR_OPTIONS",
    "RIPGREP_CONFIG_PATH",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "LUA_INIT",
    "AWKPATH",
    "AWKLIBPATH",
    "NODE_PATH",
    "VIMINIT",
    "EXINIT",
    "LESSKEY_CONTENT",
    "EMACSLOADPATH",
    "CDPATH",
    "EXECIGNORE",
    "GLOBIGNORE",
    "POSIXLY_CORRECT",
    "BASH_COMPAT",
    "BASH_XTRACEFD",
    "HISTFILE",
    "FUNCNEST",
    "INPUTRC",
];

/// What these do depends on their value: see [`check`].
const BY_VALUE: &[&str] = &[
    "ENV",
    "MAKEFLAGS",
    "GOFLAGS",
    "PYTHONBREAKPOINT",
    "LESS",
    "MORE",
    "NODE_OPTIONS",
];

/// Whether programs load or run something else because of a variable of this name, or may.
#[doc(hidden)]
pub fn is_acted_on(name: &str) -> bool {
    names_command(name) || is_loader(name) || BY_VALUE.contains(&name)
}

fn names_command(name: &str) -> bool {
    let cargo_runs = name.starts_with("CARGO_")
        && ["_RUNNER", "_LINKER", "_RUSTC", "_WRAPPER", "_RUSTDOC"]
            .iter()
            .any(|last| name.ends_with(last));
    COMMANDS.contains(&name) || cargo_runs
}

fn is_loader(name: &str) -> bool {
    DANGEROUS.contains(&name)
        || ["LD_", "DYLD_", "BASH_FUNC_"]
            .iter()
            .any(|start| name.starts_with(start))
        || name.starts_with("GIT_CONFIG") && !name.ends_with("_NOSYSTEM")
}

/// The longest name of a variable that is repeated with every command in its value.
const MAX_NAME: usize = 256;

/// Doubts or reads the value of a variable that other programs act on.
pub(super) fn check(walker: &mut Walker, name: &str, value: &Word, context: &Context<'_>) {
    // `BASH_CMDS[ls]`
    let name = name.split('[').next().unwrap_or(name);
    if names_command(name) {
        match value.as_static().filter(|_| name.len() <= MAX_NAME) {
            Some(text) if text.trim().is_empty() => {}
            // What it is about comes after it.
            Some(text) => {
                let text = format!("{text} \"$@\"");
                walker.child_text(&text, Dialect::Sh, &context.inside(name));
            }
            None => walker.doubt(
                format!("`{name}` names a program that cannot be determined"),
                &value.shown(),
            ),
        }
        return;
    }
    let harmless = matches!(value.as_static(), Some("" | "/dev/null"));
    if name == "LD_LIBRARY_PATH" && is_usual_path(walker, value) {
        return;
    }
    if is_loader(name) {
        if !harmless {
            walker.doubt(
                format!("`{name}` makes other programs load or run something"),
                &value.shown(),
            );
        }
        return;
    }
    match name {
        // Bash calculates what is put into these.
        "RANDOM" | "SRANDOM" | "SECONDS" | "OPTIND" | "HISTCMD" | "LINENO" | "BASHPID"
        | "EPOCHSECONDS" => {
            let number = value
                .as_static()
                .is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
            if !number {
                walker.doubt(
                    "a variable that calculates what is put into it",
                    &value.shown(),
                );
            }
        }
        // Only a shell that talks to a person reads the file that it names.
        "ENV" | "MAKEFLAGS" | "GOFLAGS" | "PYTHONBREAKPOINT" if !is_usual_setting(name, value) => {
            walker.doubt(
                format!("`{name}` makes other programs load or run something"),
                &value.shown(),
            );
        }
        "LESS" | "MORE"
            if value
                .as_static()
                .is_none_or(|text| text.contains(['+', '!'])) =>
        {
            walker.doubt(format!("`{name}` may run something"), &value.shown());
        }
        "SHELL" => {
            let shell = value
                .as_static()
                .is_some_and(|path| path.starts_with('/') && shells::is_shell(base_name(path)));
            if !shell {
                walker.doubt(
                    "`SHELL` names a program that others run commands with",
                    &value.shown(),
                );
            }
        }
        "PATH" if !is_usual_path(walker, value) => {
            walker.doubt("programs are looked for in other places", &value.shown());
        }
        "NODE_OPTIONS" => {
            let plain = value.as_static().is_some_and(|text| {
                text.split_whitespace().all(|option| {
                    option.starts_with("--max")
                        || option.starts_with("--no-")
                        || option.starts_with("--trace")
                        || option == "--openssl-legacy-provider"
                })
            });
            if !plain {
                walker.doubt("`NODE_OPTIONS` may load code", &value.shown());
            }
        }
        _ => {}
    }
}

/// Whether a variable has a value that runs nothing: `ENV=test`, `MAKEFLAGS=-j4`, `GOFLAGS=-mod=mod`.
fn is_usual_setting(name: &str, value: &Word) -> bool {
    let Some(text) = value.as_static() else {
        return false;
    };
    let word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    match name {
        "ENV" => text.bytes().all(word),
        "PYTHONBREAKPOINT" => matches!(text, "" | "0"),
        "GOFLAGS" => {
            !text.contains("exec")
                && text.split_whitespace().all(|flag| {
                    flag.bytes()
                        .all(|byte| word(byte) || b"=,.".contains(&byte))
                })
        }
        _ => text.split_whitespace().all(|flag| {
            matches!(
                flag,
                "-s" | "-k" | "--silent" | "--no-print-directory" | "-B"
            ) || flag
                .strip_prefix("-j")
                .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        }),
    }
}

/// Whether a search path has only the usual places in it: those of the system, hidden ones of the home directory, directories
/// of the project, whose programs are the sandbox's business like its scripts, and the path before, which was looked at when it
/// was set.
fn is_usual_path(walker: &Walker, value: &Word) -> bool {
    let in_project = match &walker.directory {
        Directory::Start => true,
        Directory::Known(path) => !path.starts_with(['/', '~', '.']),
        Directory::Unknown => false,
    };
    let mut text = String::new();
    for part in &value.parts {
        match part {
            // A dollar here would be one in a directory's name.
            Part::Text(part) if !part.contains('$') => text.push_str(part),
            Part::Variable(name)
                if matches!(name.as_str(), "HOME" | "PATH" | "PWD" | "LD_LIBRARY_PATH") =>
            {
                text.push('$');
                text.push_str(name);
            }
            Part::Dynamic(source) if source == "$PATH" || source == "${PATH}" => {
                text.push_str("$PATH");
            }
            Part::Dynamic(source) if matches!(source.as_str(), "$(pwd)" | "`pwd`") => {
                text.push_str("$PWD");
            }
            Part::Text(_) | Part::Variable(_) | Part::Glob(_) | Part::Dynamic(_) => return false,
        }
    }
    let usual = ["/usr/", "/opt/", "/nix/", "/snap/bin", "$HOME/."];
    let own = ["$PWD/", "./"];
    text.split(':').all(|place| {
        let exact = matches!(place, "$PATH" | "/bin" | "/sbin" | "$LD_LIBRARY_PATH");
        let below = usual.iter().any(|start| place.starts_with(start))
            || in_project && own.iter().any(|start| place.starts_with(start));
        let climbs = place.split('/').any(|name| name == "..");
        exact || below && !climbs
    })
}
