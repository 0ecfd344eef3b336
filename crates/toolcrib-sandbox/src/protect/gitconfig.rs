//! Git's configuration files: which keys make git run a program or read another file, a text without those, and the paths
//! that a user's own settings make git run.
//!
//! The reader follows `config.c` of git. A text that it does not understand is one that git refuses too, or one that is
//! treated as if everything in it ran a program.

use super::{names::read_small, table};
use std::{
    env,
    ops::Range,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::LazyLock,
};

/// Keys by which git runs a program or reads more settings.
#[derive(Debug)]
pub struct GitKeys {
    /// Section and key in lower case; with `*` at its end every key that begins so.
    pub name: &'static str,
    /// What the value has to be for that; empty if anything.
    pub when: &'static str,
    /// Where the program's documentation or source code says so.
    pub source: &'static str,
}

impl GitKeys {
    fn have(&self, setting: &Setting) -> bool {
        let rest = self.name.strip_prefix(setting.section.as_str());
        let key = rest.and_then(|rest| rest.strip_prefix('.'));
        key.is_some_and(|key| match key.strip_suffix('*') {
            Some(beginning) => setting.key.starts_with(beginning),
            None => setting.key == key,
        })
    }
}

const TABLE: &str = include_str!("git_keys.toml");

/// Every such key.
pub static GIT_KEYS: LazyLock<Vec<GitKeys>> = LazyLock::new(|| {
    let rows = table::rows(TABLE, "keys").flat_map(|row| {
        row.words("keys").map(move |name| GitKeys {
            name,
            when: row.value("when"),
            source: row.value("source"),
        })
    });
    rows.collect()
});

/// One setting of a configuration.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) section: String,
    subsection: String,
    pub(super) key: String,
    pub(super) value: String,
    /// Where it is in the text, without the section's head and without a comment after it.
    span: Range<usize>,
}

impl Setting {
    /// Whether git runs a program or reads another file because of this.
    fn runs(&self) -> bool {
        let mut keys = GIT_KEYS.iter().filter(|keys| keys.have(self));
        keys.any(|keys| match keys.when {
            "address" => {
                let texts = [&self.value, &self.subsection];
                let runs = |text: &&String| text.contains("::") || text.starts_with("ext:");
                texts.iter().any(runs)
            }
            "command" => self.value.trim_start().starts_with('!'),
            "not-a-switch" => !is_switch(&self.value),
            _ => true,
        })
    }
}

fn is_switch(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    matches!(
        value.as_str(),
        "" | "true" | "false" | "yes" | "no" | "on" | "off" | "0" | "1"
    )
}

/// A configuration without the settings that run programs or include files; none if there are none of those.
pub(super) fn harmless(text: &[u8]) -> Option<Vec<u8>> {
    let Some(settings) = read(text) else {
        return Some(LEAST.to_vec());
    };
    let running: Vec<&Setting> = settings.iter().filter(|setting| setting.runs()).collect();
    if running.is_empty() {
        return None;
    }
    let mut kept = Vec::with_capacity(text.len());
    let mut at = 0;
    for setting in running {
        kept.extend_from_slice(text.get(at..setting.span.start).unwrap_or_default());
        at = setting.span.end;
    }
    kept.extend_from_slice(text.get(at..).unwrap_or_default());
    // What was cut must not have joined into something else.
    let is_harmless = read(&kept).is_some_and(|settings| !settings.iter().any(Setting::runs));
    Some(if is_harmless { kept } else { LEAST.to_vec() })
}

/// The least that git takes for a configuration of a repository.
const LEAST: &[u8] = b"[core]\n\trepositoryformatversion = 0\n";

/// Reads a configuration; none where git would refuse it, too.
pub(super) fn read(text: &[u8]) -> Option<Vec<Setting>> {
    let start = if text.starts_with(b"\xef\xbb\xbf") {
        3
    } else {
        0
    };
    let mut reader = Reader { text, at: start };
    let mut settings = Vec::new();
    let (mut section, mut subsection) = (String::new(), String::new());
    loop {
        match reader.peek() {
            None => return Some(settings),
            Some(b'#' | b';') => reader.skip_line(),
            Some(b'[') => (section, subsection) = reader.head()?,
            Some(byte) if byte.is_ascii_whitespace() => reader.at += 1,
            Some(byte) if byte.is_ascii_alphabetic() && !section.is_empty() => {
                let begun = reader.at;
                let key = reader.word();
                let value = reader.value()?;
                settings.push(Setting {
                    section: section.clone(),
                    subsection: subsection.clone(),
                    key,
                    value,
                    span: begun..reader.at,
                });
            }
            Some(_) => return None,
        }
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    /// The next byte, a carriage return before a newline left out.
    fn peek(&mut self) -> Option<u8> {
        if self.text.get(self.at) == Some(&b'\r') && self.text.get(self.at + 1) == Some(&b'\n') {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn take(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn skip_line(&mut self) {
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    /// Letters, digits and dashes, in lower case.
    fn word(&mut self) -> String {
        let begun = self.at;
        while self
            .peek()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        {
            self.at += 1;
        }
        let word = self.text.get(begun..self.at).unwrap_or_default();
        String::from_utf8_lossy(word).to_ascii_lowercase()
    }

    /// `[section]`, `[section "subsection"]`, `[section.subsection]` or `[section.sub "section"]`.
    fn head(&mut self) -> Option<(String, String)> {
        self.at += 1;
        let mut name = String::new();
        loop {
            match self.take()? {
                b']' => {
                    let (section, subsection) = name.split_once('.').unwrap_or((&name, ""));
                    let head = (section.to_owned(), subsection.to_owned());
                    return (!section.is_empty()).then_some(head);
                }
                byte if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.' => {
                    name.push(byte.to_ascii_lowercase().into());
                }
                b' ' | b'\t' => {
                    let quoted = self.quoted_subsection()?;
                    // A section ends at the first dot, wherever that is.
                    return Some(match name.split_once('.') {
                        Some((section, rest)) => (section.to_owned(), format!("{rest}.{quoted}")),
                        None => (name, quoted),
                    });
                }
                _ => return None,
            }
        }
    }

    fn quoted_subsection(&mut self) -> Option<String> {
        while matches!(self.peek()?, b' ' | b'\t') {
            self.at += 1;
        }
        (self.take()? == b'"').then_some(())?;
        let mut name = Vec::new();
        loop {
            match self.take()? {
                b'"' => break,
                b'\n' => return None,
                b'\\' => match self.take()? {
                    b'\n' => return None,
                    byte => name.push(byte),
                },
                byte => name.push(byte),
            }
        }
        (self.take()? == b']').then(|| String::from_utf8_lossy(&name).into_owned())
    }

    /// What follows a key, to the end of its value.
    fn value(&mut self) -> Option<String> {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        match self.peek() {
            None | Some(b'\n') => return Some(String::new()),
            // Git 2.46 and later take a comment after a key without a value.
            Some(b'#' | b';') => return Some(String::new()),
            Some(b'=') => self.at += 1,
            Some(_) => return None,
        }
        let (mut value, mut trailing, mut is_quoted) = (Vec::new(), 0, false);
        loop {
            let byte = match self.peek() {
                None | Some(b'\n') if is_quoted => return None,
                None | Some(b'\n') => break,
                Some(byte) => byte,
            };
            if !is_quoted && matches!(byte, b'#' | b';') {
                break;
            }
            self.at += 1;
            if !is_quoted && (byte == b' ' || byte == b'\t') {
                if !value.is_empty() {
                    value.push(byte);
                    trailing += 1;
                }
                continue;
            }
            trailing = 0;
            match byte {
                b'"' => is_quoted = !is_quoted,
                b'\\' => match self.take()? {
                    b'\n' => {}
                    b't' => value.push(b'\t'),
                    b'n' => value.push(b'\n'),
                    b'b' => value.push(8),
                    escaped @ (b'"' | b'\\') => value.push(escaped),
                    _ => return None,
                },
                byte => value.push(byte),
            }
        }
        value.truncate(value.len() - trailing);
        Some(String::from_utf8_lossy(&value).into_owned())
    }
}

/// How deep included files are followed; git's own bound.
const INCLUDES: usize = 10;
/// How many paths are taken from one configuration.
const MOST_PATHS: usize = 256;

/// Paths that the configuration of a repository makes git run or read: `core.hooksPath`, programs that it names by a path, and the files
/// that it includes, with theirs. `tree` is the work tree.
pub(super) fn configured_paths(config: &Path, tree: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    follow(config, INCLUDES, &mut found, &mut |setting, found| {
        if setting.is("core", "hookspath") {
            found.extend(beside(&setting.value, tree).map(without_husky));
        } else if setting.runs() && !setting.includes() {
            let is_file = |path: &Path| match setting.names_data() {
                true => is_program(path),
                false => path.is_file(),
            };
            for word in programs(&setting.value) {
                let path = beside(&word.text, tree);
                let is_run = |path: &PathBuf| match word.role {
                    Role::Program => true,
                    Role::Script => path.is_file(),
                    Role::Argument => is_file(path),
                };
                found.extend(path.filter(is_run));
            }
        }
    });
    found
}

impl Setting {
    fn is(&self, section: &str, key: &str) -> bool {
        self.section == section && self.key == key
    }

    fn includes(&self) -> bool {
        matches!(self.section.as_str(), "include" | "includeif")
    }

    /// Whether files that it names are as often data as programs.
    fn names_data(&self) -> bool {
        self.section == "alias"
    }
}

/// Husky keeps what its hooks run beside them.
fn without_husky(path: PathBuf) -> PathBuf {
    match path.parent() {
        Some(above) if path.ends_with("_") => above.to_owned(),
        _ => path,
    }
}

/// Visits the settings of a configuration and of the files that it includes, whose paths are found too.
fn follow(
    config: &Path,
    depth: usize,
    found: &mut Vec<PathBuf>,
    visit: &mut dyn FnMut(&Setting, &mut Vec<PathBuf>),
) {
    let text = read_small(config).unwrap_or_default();
    for setting in read(text.as_bytes()).unwrap_or_default() {
        if found.len() >= MOST_PATHS {
            return;
        }
        visit(&setting, found);
        if setting.includes()
            && setting.key == "path"
            && let Some(path) = config
                .parent()
                .and_then(|base| beside(&setting.value, base))
            && !found.contains(&path)
        {
            found.push(path.clone());
            if depth > 0 {
                follow(&path, depth - 1, found, visit);
            }
        }
    }
}

/// Where a path of a configuration is.
fn beside(value: &str, base: &Path) -> Option<PathBuf> {
    if value.is_empty() {
        return None;
    }
    match value.strip_prefix("~/") {
        Some(rest) => Some(home()?.join(rest)),
        None => Some(base.join(value)),
    }
}

fn home() -> Option<PathBuf> {
    env::var_os("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_absolute())
}

/// What the settings of the user and of the machine make git run in a work tree, or read.
#[derive(Debug, Default)]
pub(super) struct UserSettings {
    /// Paths from the work tree: hooks, and programs that are named by a path.
    pub(super) relative: Vec<PathBuf>,
    /// Paths that apply wherever git runs, and files that are included.
    pub(super) absolute: Vec<PathBuf>,
    /// Other words of their commands, which may be files in a work tree that a program reads or runs.
    pub(super) words: Vec<PathBuf>,
}

impl UserSettings {
    /// Reads what git itself would.
    pub(super) fn of_this_user() -> Self {
        let set = |name: &str| env::var_os(name).map(PathBuf::from);
        let mut files = match set("GIT_CONFIG_GLOBAL") {
            Some(file) => vec![file],
            None => {
                let base = set("XDG_CONFIG_HOME").or_else(|| Some(home()?.join(".config")));
                let files = [
                    base.map(|base| base.join("git/config")),
                    home().map(|home| home.join(".gitconfig")),
                ];
                files.into_iter().flatten().collect()
            }
        };
        if set("GIT_CONFIG_NOSYSTEM").is_none() {
            files.push(set("GIT_CONFIG_SYSTEM").unwrap_or_else(|| PathBuf::from("/etc/gitconfig")));
        }
        let mut settings = Self::default();
        for file in files {
            settings.add(&file);
        }
        settings
    }

    fn add(&mut self, file: &Path) {
        let mut included = Vec::new();
        follow(file, INCLUDES, &mut included, &mut |setting, _| {
            if setting.is("core", "hookspath") {
                self.name(&setting.value, without_husky);
            } else if setting.runs() && !setting.includes() {
                for word in programs(&setting.value) {
                    match word.role {
                        Role::Program | Role::Script => self.name(&word.text, |path| path),
                        Role::Argument if setting.names_data() => {}
                        Role::Argument if self.words.len() >= MOST_PATHS => {}
                        Role::Argument => self.words.push(word.text.into()),
                    }
                }
            }
        });
        self.absolute.extend(included);
    }

    fn name(&mut self, value: &str, place: impl Fn(PathBuf) -> PathBuf) {
        let list = match value.starts_with(['/', '~']) {
            true => &mut self.absolute,
            false => &mut self.relative,
        };
        if list.len() < MOST_PATHS
            && let Some(path) = beside(value, Path::new(""))
        {
            list.push(place(path));
        }
    }
}

/// A word of a command.
struct Word {
    text: String,
    role: Role,
}

/// What a word of a command may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The program, named by a path.
    Program,
    /// What an interpreter or a wrapper runs, if it is a file.
    Script,
    /// Anything else: a file only if there is one.
    Argument,
}

/// The words of a command that may be programs, scripts or files. A program that is named without a directory is not one of the
/// work tree's, but a script is.
fn programs(value: &str) -> Vec<Word> {
    const WRAPPERS: &[&str] = &[
        "env", "exec", "ionice", "nice", "nohup", "setsid", "stdbuf", "sudo", "time", "timeout",
    ];
    const INTERPRETERS: &[&str] = &[
        "bash", "dash", "ksh", "node", "perl", "php", "python", "ruby", "sh", "zsh",
    ];
    let words = value.split(|char: char| char.is_whitespace() || ";&|(){}<>!".contains(char));
    let words = words.map(|word| word.replace(['"', '\'', '\\'], ""));
    let words = words.filter(|word| !word.is_empty()).take(MOST_PATHS);
    let mut found = Vec::new();
    // Whether the next word is run, and whether it is a script that needs no directory.
    let (mut is_run, mut is_script) = (true, false);
    // Where a `cd` led to.
    let mut directory: Option<String> = None;
    let mut enters = false;
    for (index, word) in words.enumerate() {
        let word = word
            .strip_prefix("$PWD/")
            .map_or(word.as_str(), |rest| rest)
            .to_owned();
        if word == "cd" {
            (enters, is_run, is_script) = (true, true, false);
            continue;
        }
        if enters && !word.starts_with('-') {
            enters = false;
            directory = Some(match directory.filter(|_| !word.starts_with('/')) {
                Some(outer) => format!("{outer}/{word}"),
                None => word,
            });
            continue;
        }
        let name = word.rsplit('/').next().unwrap_or(&word);
        // `python3.11` is a `python`.
        let name = name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.');
        let interprets = INTERPRETERS.contains(&name);
        let runs_next = interprets || WRAPPERS.contains(&name);
        // Options and variables of a wrapper, and how long `timeout` waits.
        let is_aside =
            word.starts_with(['-', '+']) || word.contains('=') || word.parse::<f64>().is_ok();
        // What follows `-c`, `-e` or `-m` is not a file.
        let takes_code = word.starts_with('-') && word.contains(['c', 'e', 'm']);
        let next_is_script = interprets || (is_script && is_aside && !takes_code);
        let role = match word.contains('/') {
            true if index == 0 => Some(Role::Program),
            true if is_run => Some(Role::Script),
            false if index == 0 || is_aside => None,
            false if is_script && !runs_next => Some(Role::Script),
            true | false => Some(Role::Argument),
        };
        is_run = runs_next || (is_run && is_aside);
        if let (Some(directory), Some(role)) = (&directory, role)
            && !word.starts_with(['/', '~'])
        {
            let text = format!("{directory}/{}", word.trim_start_matches("./"));
            found.push(Word { text, role });
            // It may have been left again.
            found.push(Word {
                text: word,
                role: Role::Argument,
            });
        } else {
            found.extend(role.map(|role| Word { text: word, role }));
        }
        is_script = next_is_script;
    }
    found
}

/// Whether there is a file at a path that may be run.
fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn cleaned(text: &str) -> Option<String> {
        harmless(text.as_bytes()).map(|text| String::from_utf8(text).expect("text"))
    }

    #[test]
    fn every_line_of_the_table_of_keys_is_one_that_is_read() {
        table::tests::check(TABLE, "keys", &["keys", "source"], &["when"]);
        let has_dot = |row: table::Row| row.words("keys").all(|key| key.contains('.'));
        assert!(table::rows(TABLE, "keys").all(has_dot));
        let conditions = ["", "address", "command", "not-a-switch"];
        assert!(GIT_KEYS.iter().all(|keys| conditions.contains(&keys.when)));
    }

    #[test]
    fn settings_that_run_programs_are_taken_out_and_the_others_stay() {
        let plain = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = https://x/y.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tmerge = refs/heads/main\n";
        assert_eq!(cleaned(plain), None);
        for (text, expected) in [
            (
                "[core]\n\tbare = true\n\tfsmonitor = ./x\n",
                "[core]\n\tbare = true\n\t\n",
            ),
            ("[core] fsmonitor = ./x\n", "[core] \n"),
            (
                "[CORE]\n\tFsMonitor=\"./x\\\n y\" ; z\n\tbare = true\n",
                "[CORE]\n\t; z\n\tbare = true\n",
            ),
            ("[alias]\n\tst = !evil\n", "[alias]\n\t\n"),
            (
                "[http]\n\tcookieFile = /x\n\tsaveCookies = true\n\tpostBuffer = 1\n",
                "[http]\n\t\n\t\n\tpostBuffer = 1\n",
            ),
            (
                "[branch \"a\"]\n\tremote = ext::x\n\tmerge = refs/heads/a\n",
                "[branch \"a\"]\n\t\n\tmerge = refs/heads/a\n",
            ),
            ("[filter \"a\"]\n\tclean = evil\n", "[filter \"a\"]\n\t\n"),
            (
                "[filter.a \"b\"]\n\tclean = evil\n",
                "[filter.a \"b\"]\n\t\n",
            ),
            (
                "[remote \"o\"]\n\turl = ext::sh -c evil\n",
                "[remote \"o\"]\n\t\n",
            ),
            (
                "[url \"ext::sh\"]\n\tinsteadOf = https://\n",
                "[url \"ext::sh\"]\n\t\n",
            ),
            (
                "[includeIf \"gitdir:/\"]\n\tpath = x\n",
                "[includeIf \"gitdir:/\"]\n\t\n",
            ),
            (
                "[credential \"https://a\"]\n\thelper = !evil\n",
                "[credential \"https://a\"]\n\t\n",
            ),
            (
                "[submodule \"a\"]\n\tupdate = !evil\n",
                "[submodule \"a\"]\n\t\n",
            ),
            (
                "[gpg \"ssh\"]\n\tdefaultKeyCommand = evil\n",
                "[gpg \"ssh\"]\n\t\n",
            ),
            ("[diff.evil]\n\ttextconv = x\n", "[diff.evil]\n\t\n"),
            ("[gc]\n\trecentObjectsHook = x\n", "[gc]\n\t\n"),
            (
                "[rebase]\n\tinstructionFormat = %s%nexec x\n",
                "[rebase]\n\t\n",
            ),
            ("[core]\n\tworktree = /home/me\n", "[core]\n\t\n"),
            ("[pull]\n\ttwohead = ../x\n", "[pull]\n\t\n"),
            (
                "[url \"ext:\"]\n\tinsteadOf = foo\n",
                "[url \"ext:\"]\n\t\n",
            ),
        ] {
            assert_eq!(cleaned(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_configuration_that_is_not_understood_becomes_the_least_one() {
        let least = String::from_utf8_lossy(LEAST).into_owned();
        for text in [
            "[core\nfsmonitor = x\n",
            "fsmonitor = x\n",
            "[core]\n\ta = \"b\n",
            "[core]\n\ta = \\q\n",
        ] {
            assert_eq!(cleaned(text), Some(least.clone()), "{text}");
        }
    }

    #[test]
    fn harmless_values_of_keys_that_could_run_something_stay() {
        assert_eq!(
            cleaned("[core]\n\tfsmonitor = true\n[submodule \"a\"]\n\tupdate = rebase\n"),
            None
        );
    }

    #[test]
    fn git_itself_finds_nothing_running_in_what_is_left() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("config");
        let text = "[core]\r\n\tpager = a ; b\r\n\tfilemode = true\r\n\teditor = \"x \\\" # y\"\n[merge \"q\\\"z\"] driver = evil\n\tname = fine\n";
        fs::write(
            &file,
            harmless(text.as_bytes()).expect("something to take out"),
        )
        .expect("a file");
        let listed = std::process::Command::new("git")
            .args(["config", "--list", "--file"])
            .arg(&file)
            .output()
            .expect("git");
        assert_eq!(
            String::from_utf8_lossy(&listed.stdout),
            "core.filemode=true\nmerge.q\"z.name=fine\n"
        );
    }

    #[test]
    fn paths_that_git_runs_or_reads_are_found() {
        let dir = tempfile::tempdir().expect("a directory");
        let config = dir.path().join("config");
        let text = "[core]\n\tbare = false\n\thooksPath = \".husky/_\"\n[include] path = ../more\n[user]\n\tpath = no\n";
        fs::write(&config, text).expect("a configuration");
        let found = configured_paths(&config, Path::new("/ws"));
        assert_eq!(
            found,
            [PathBuf::from("/ws/.husky"), dir.path().join("../more")]
        );
    }

    #[test]
    fn programs_are_found_where_a_setting_goes() {
        let found = |value: &str| {
            let certain = programs(value).into_iter();
            let certain = certain.filter(|word| word.role != Role::Argument);
            certain.map(|word| word.text).collect::<Vec<_>>()
        };
        assert_eq!(found("!cd tools && ./go.sh"), ["tools/go.sh"]);
        assert_eq!(found("!cd tools; cd sub; sh go.sh"), ["tools/sub/go.sh"]);
        assert_eq!(found("!f() { cd -P a && exec ./b/c.sh; }; f"), ["a/b/c.sh"]);
        assert_eq!(found("!cd tools && /opt/go"), ["/opt/go"]);
    }

    #[test]
    fn programs_that_the_users_settings_name_by_a_path_are_found() {
        let dir = tempfile::tempdir().expect("a directory");
        let config = dir.path().join("config");
        let text = "[core]\n\thooksPath = .githooks\n\tpager = less -R\n\tsshCommand = /opt/ssh -x a/b\n[alias]\n\tgo = !sh tools/go.sh a/b\n\tlast = log -1 origin/main\n[include]\n\tpath = more\n";
        fs::write(&config, text).expect("a configuration");
        fs::write(dir.path().join("more"), "[diff]\n\texternal = ./bin/show\n[filter \"nb\"]\n\tclean = python3.11 strip.py\n\tsmudge = sh -c 'cat -'\n\tprocess = env less\n")
            .expect("a configuration");
        let mut settings = UserSettings::default();
        settings.add(&config);
        let paths = |list: &[&str]| list.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(
            settings.relative,
            paths(&[".githooks", "tools/go.sh", "./bin/show", "strip.py"])
        );
        assert_eq!(
            settings.absolute,
            [PathBuf::from("/opt/ssh"), dir.path().join("more")]
        );
    }
}
