//! A throw-away home and workspace, and the binary run in them.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// One test's home and workspace.
pub(crate) struct Test {
    dir: TempDir,
    variables: Vec<(String, String)>,
}

impl Test {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("ws")).unwrap();
        Test {
            dir,
            variables: Vec::new(),
        }
    }

    pub(crate) fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.workspace().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn config(self, toml: &str) -> Self {
        std::fs::create_dir_all(self.home()).unwrap();
        std::fs::write(self.home().join("config.toml"), toml).unwrap();
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn workspace(&self) -> std::path::PathBuf {
        self.dir.path().join("ws")
    }

    pub(crate) fn home(&self) -> std::path::PathBuf {
        self.dir.path().join("home")
    }

    /// The binary, in the workspace, with nothing of this machine's environment.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolcrib"));
        command
            .current_dir(self.workspace())
            .env_clear()
            .env("HOME", self.dir.path())
            .env("TOOLCRIB_HOME", self.home())
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        Ran::of(self.command().args(words).output().unwrap())
    }

    /// Runs commands one after the other in their own session, until one fails.
    pub(crate) fn in_one_session(&self, commands: &[&[&str]]) -> Ran {
        let quoted = |word: &&str| format!("'{}'", word.replace('\'', r"'\''"));
        let line = |words: &&[&str]| {
            let words: Vec<String> = words.iter().map(quoted).collect();
            format!("\"$0\" {}", words.join(" "))
        };
        let script: Vec<String> = commands.iter().map(line).collect();
        let toolcrib = self.command();
        let mut session = Command::new("setsid");
        session
            .args(["--wait", "sh", "-c", &script.join(" && ")])
            .arg(toolcrib.get_program())
            .current_dir(self.workspace())
            .stdin(Stdio::null())
            .env_clear();
        for (name, value) in toolcrib.get_envs() {
            session.env(name, value.unwrap_or_default());
        }
        session.env("PATH", "/usr/local/bin:/usr/bin:/bin");
        Ran::of(session.output().unwrap())
    }

    pub(crate) fn run_with_input(&self, words: &[&str], input: &str) -> Ran {
        let mut child = self
            .command()
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        Ran::of(child.wait_with_output().unwrap())
    }
}

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The one JSON document on stdout.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    pub(crate) fn prints(self, text: &str) -> Self {
        assert_eq!(self.stdout, text, "{self:?}");
        self
    }

    /// Prints this among other things.
    pub(crate) fn shows(self, text: &str) -> Self {
        assert!(self.stdout.contains(text), "no {text:?} in {self:?}");
        self
    }

    pub(crate) fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "{text:?} is not in {self:?}");
        self
    }
}

/// Compares with a golden file; `UPDATE_GOLDEN=1` writes it.
pub(crate) fn golden(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        actual == expected,
        "{name} has changed (UPDATE_GOLDEN=1 accepts it).\n--- expected\n{expected}\n--- actual\n{actual}"
    );
}
