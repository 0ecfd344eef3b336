//! Repositories that name programs: whatever runs, runs behind the wall, and the tools still give their result.
//!
//! Each program that a repository names tries to write outside of the workspace and to reach a server, and says in the workspace that
//! it ran. What must not happen is looked at in both places; that it ran at all is fine where git has to run it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib::builtin::BuiltinOptions;
use toolcrib::testing::{Reply, ScriptedServer};

use super::{Repo, agreeing, has_git};

struct Hostile {
    repo: Repo,
    outside: TempDir,
    server: ScriptedServer,
    /// A program that tries what must not work.
    program: String,
}

/// What the program makes in the user's home directory, by another name in each test: they run at the same time.
fn planted_at_home(outside: &TempDir) -> PathBuf {
    let home = std::env::var("HOME").unwrap_or_else(|_| "/root".to_owned());
    let own = outside.path().file_name().unwrap().to_string_lossy();
    PathBuf::from(home).join(format!(".toolcrib-test-planted-{own}"))
}

impl Hostile {
    /// A repository with a staged, an unstaged and an untracked change, and a program in it.
    fn new() -> Self {
        let repo = Repo::empty(BuiltinOptions::default(), agreeing());
        repo.git(&["init", "--quiet", "--initial-branch=main", "."]);
        let outside = TempDir::new().unwrap();
        let server = ScriptedServer::start(|_| Reply::ok("reached"));
        let script = format!(
            "#!/bin/bash\n\
             echo \"$0 $*\" >> {ran}\n\
             touch {outside}/planted {at_home} 2>/dev/null\n\
             echo evil >> .git/config; echo evil > .git/hooks/post-commit\n\
             curl -s --noproxy '*' --max-time 2 {url} >/dev/null 2>&1\n\
             (exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3) 2>/dev/null\n\
             exec cat\n",
            ran = repo.path().join("ran").display(),
            outside = outside.path().display(),
            at_home = planted_at_home(&outside).display(),
            url = server.url("/"),
            port = server
                .url("/")
                .rsplit(':')
                .next()
                .unwrap()
                .trim_end_matches('/'),
        );
        repo.write("evil.sh", script);
        let program = repo.path().join("evil.sh");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        repo.write("a.txt", "1\n");
        repo.write("b.txt", "1\n");
        repo.commit("first");
        repo.write("a.txt", "2\n");
        repo.git(&["add", "a.txt"]);
        repo.write("b.txt", "2\n");
        let there = repo.path().join("there.git");
        repo.git(&["init", "--quiet", "--bare", there.to_str().unwrap()]);
        repo.git(&["remote", "add", "origin", "there.git"]);
        Hostile {
            repo,
            outside,
            server,
            program: program.display().to_string(),
        }
    }

    fn config(self, key: &str, value: &str) -> Self {
        let value = value.replace("PROGRAM", &self.program);
        self.repo.git(&["config", "--add", key, &value]);
        self
    }

    fn file(self, path: &str, content: &str) -> Self {
        self.repo
            .write(path, content.replace("PROGRAM", &self.program));
        self
    }

    /// Calls every tool, and looks for what must not have happened.
    async fn survives(&self, what: &str) {
        let config = self.repo.read(".git/config");
        let value = |tool: &'static str, arguments: Value| self.repo.value(tool, arguments);
        let status = value("git_status", json!({"untracked": "files"})).await;
        let entries = status["entries"].to_string();
        assert!(
            entries.contains("a.txt") && entries.contains("b.txt"),
            "{what}: {status}"
        );
        let diff = value("git_diff", json!({})).await;
        assert!(
            diff["patch"].as_str().unwrap().contains("+2"),
            "{what}: {diff}"
        );
        value("git_diff", json!({"staged": true})).await;
        value("git_diff", json!({"from": "HEAD"})).await;
        value("git_log", json!({"files": true, "paths": ["a.txt"]})).await;
        value("git_add", json!({"paths": ["b.txt"]})).await;
        let made = value("git_commit", json!({"message": "second"})).await;
        assert_eq!(made["branch"], "main", "{what}");
        value(
            "git_branch",
            json!({"action": "create", "name": "other", "startPoint": "HEAD~1"}),
        )
        .await;
        value("git_branch", json!({"action": "switch", "name": "other"})).await;
        value("git_branch", json!({"action": "switch", "name": "main"})).await;
        value("git_branch", json!({"action": "list"})).await;
        let pushed = value("git_push", json!({})).await;
        assert_eq!(pushed["hash"], made["hash"], "{what}");
        self.held(what);
        assert_eq!(self.repo.read(".git/config"), config, "{what}");
    }

    fn held(&self, what: &str) {
        assert!(!self.outside.path().join("planted").exists(), "{what}");
        assert!(!planted_at_home(&self.outside).exists(), "{what}");
        assert!(
            !self.repo.path().join(".git/hooks/post-commit").exists(),
            "{what}"
        );
        assert_eq!(self.server.connections(), 0, "{what}");
    }

    /// Whether one of the programs ran, in the sandbox.
    fn ran(&self) -> bool {
        self.repo.path().join("ran").exists()
    }
}

#[tokio::test]
async fn the_program_of_these_tests_does_what_must_not_happen_outside_of_a_wall() {
    if !has_git() {
        return;
    }
    let hostile = Hostile::new().config("core.fsmonitor", "PROGRAM");
    // As the person's own git would.
    let script = hostile
        .repo
        .read("evil.sh")
        .replace("touch ", "touch /dev/null ");
    assert!(script.contains("planted"));
    let done = std::process::Command::new("bash")
        .args([
            "-c",
            &format!(
                "HOME={}; {}",
                hostile.outside.path().display(),
                "./evil.sh </dev/null"
            ),
        ])
        .current_dir(hostile.repo.path())
        .output()
        .unwrap();
    let _ = std::fs::remove_file(planted_at_home(&hostile.outside));
    assert!(hostile.outside.path().join("planted").exists(), "{done:?}");
    assert!(hostile.server.connections() > 0);
}

#[tokio::test]
async fn programs_that_no_one_needs_do_not_run_at_all() {
    if !has_git() {
        return;
    }
    for (what, key, value) in [
        ("fsmonitor", "core.fsmonitor", "PROGRAM"),
        ("pager", "core.pager", "PROGRAM"),
        ("editor", "core.editor", "PROGRAM"),
        ("sequence editor", "sequence.editor", "PROGRAM"),
        ("ssh", "core.sshCommand", "PROGRAM"),
        ("askpass", "core.askPass", "PROGRAM"),
        ("external diff", "diff.external", "PROGRAM"),
        ("credential helper", "credential.helper", "!PROGRAM"),
        ("alias", "alias.status", "!PROGRAM"),
        ("gpg", "gpg.program", "PROGRAM"),
        ("receive-pack", "remote.origin.receivepack", "PROGRAM"),
        ("vcs", "remote.origin.vcs", "evil"),
        ("proxy", "remote.origin.proxy", "http://127.0.0.1:1"),
    ] {
        let hostile = Hostile::new()
            .config("commit.gpgSign", "true")
            .config("log.showSignature", "true")
            .config("push.gpgSign", "true")
            .config("pager.log", "true")
            .config(key, value);
        hostile.survives(what).await;
        assert!(!hostile.ran(), "{what}: {}", hostile.repo.read("ran"));
    }
}

#[tokio::test]
async fn drivers_of_attributes_stay_behind_the_wall() {
    if !has_git() {
        return;
    }
    for (what, attributes, settings) in [
        (
            "external diff",
            "* diff=evil\n",
            vec![("diff.evil.command", "PROGRAM")],
        ),
        (
            "textconv",
            "* diff=evil\n",
            vec![
                ("diff.evil.textconv", "PROGRAM"),
                ("diff.evil.cachetextconv", "true"),
            ],
        ),
        (
            "clean",
            "*.txt filter=evil\n",
            vec![
                ("filter.evil.clean", "PROGRAM"),
                ("filter.evil.smudge", "PROGRAM"),
            ],
        ),
        (
            "required clean",
            "*.txt filter=evil\n",
            vec![
                ("filter.evil.clean", "PROGRAM"),
                ("filter.evil.smudge", "PROGRAM"),
                ("filter.evil.required", "true"),
            ],
        ),
    ] {
        let mut hostile = Hostile::new().file(".gitattributes", attributes);
        for (key, value) in settings {
            hostile = hostile.config(key, value);
        }
        hostile.survives(what).await;
        // Diffs run none; filters have to run, and do, in the sandbox.
        assert_eq!(hostile.ran(), what.contains("clean"), "{what}");
    }
}

#[tokio::test]
async fn hooks_stay_behind_the_wall_and_readers_run_none() {
    if !has_git() {
        return;
    }
    let hostile = Hostile::new();
    for hook in [
        "pre-commit",
        "prepare-commit-msg",
        "commit-msg",
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "pre-push",
        "pre-auto-gc",
    ] {
        let script = format!(
            "#!/bin/bash\n{} {hook} </dev/null >/dev/null\nexit 0\n",
            hostile.program
        );
        let path = format!(".git/hooks/{hook}");
        hostile.repo.write(&path, script);
        let path = hostile.repo.path().join(path);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    for tool in ["git_status", "git_diff", "git_log"] {
        hostile.repo.value(tool, json!({})).await;
    }
    assert!(!hostile.ran(), "{}", hostile.repo.read("ran"));
    hostile.survives("hooks").await;
    let ran = hostile.repo.read("ran");
    for hook in ["pre-commit", "commit-msg", "post-checkout", "pre-push"] {
        assert!(ran.contains(hook), "{hook}: {ran}");
    }
}

#[tokio::test]
async fn included_settings_and_other_ways_to_find_them_change_nothing() {
    if !has_git() {
        return;
    }
    let hostile = Hostile::new()
        .config("include.path", "../more.config")
        .config("includeIf.onbranch:main.path", "../more.config")
        .config("core.hooksPath", "evil-hooks")
        .file(
            "more.config",
            "[core]\n\tfsmonitor = PROGRAM\n\tpager = PROGRAM\n[diff]\n\texternal = PROGRAM\n",
        );
    hostile.survives("include").await;
    assert!(!hostile.ran(), "{}", hostile.repo.read("ran"));
}

#[tokio::test]
async fn a_submodule_with_its_own_programs_is_not_entered_to_read() {
    if !has_git() {
        return;
    }
    let hostile = Hostile::new();
    let repo = &hostile.repo;
    repo.git(&["init", "--quiet", "--initial-branch=main", "sub"]);
    let sub = repo.path().join("sub");
    repo.write("sub/c.txt", "1\n");
    repo.git_in(&sub, &["add", "c.txt"]);
    repo.git_in(&sub, &["commit", "--quiet", "-m", "sub"]);
    repo.write(
        ".gitmodules",
        "[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n",
    );
    repo.git(&["add", "sub", ".gitmodules"]);
    repo.git(&[
        "commit",
        "--quiet",
        "-m",
        "with a submodule",
        "sub",
        ".gitmodules",
    ]);
    repo.git_in(&sub, &["config", "core.fsmonitor", &hostile.program]);
    repo.git_in(&sub, &["config", "filter.evil.clean", &hostile.program]);
    repo.write("sub/.gitattributes", "* filter=evil\n");
    repo.write("sub/c.txt", "2\n");
    repo.git(&["config", "submodule.recurse", "true"]);
    repo.git(&["config", "diff.submodule", "diff"]);
    hostile.survives("submodule").await;
    assert!(!hostile.ran(), "{}", repo.read("ran"));
    // Here git has to look whether it changed.
    repo.value("git_add", json!({"all": true})).await;
    hostile.held("a submodule that is added");
}

#[tokio::test]
async fn a_remote_that_is_a_command_is_not_run() {
    if !has_git() {
        return;
    }
    for (url, instead) in [
        ("ext::PROGRAM %S", None),
        ("nice:x", Some(("url.ext::PROGRAM .insteadOf", "nice:"))),
        ("nice:x", Some(("url.ext::PROGRAM .pushInsteadOf", "nice:"))),
    ] {
        let mut hostile = Hostile::new().config("protocol.ext.allow", "always");
        let url = url.replace("PROGRAM", &hostile.program);
        hostile.repo.git(&["remote", "set-url", "origin", &url]);
        if let Some((key, value)) = instead {
            let key = key.replace("PROGRAM", &hostile.program);
            hostile = hostile.config(&key, value);
        }
        let outcome = hostile.repo.call("git_push", json!({})).await;
        assert!(
            super::message(&outcome).contains("does not let out"),
            "{outcome:?}"
        );
        assert!(!hostile.ran());
        hostile.held(&url);
    }
}
