//! Approvals count for the files that a call runs: real scripts, a real sandbox, real bash.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tempfile::TempDir;
use toolcrib::approval::grants::{GrantRequest, Scope};
use toolcrib::approval::{
    AnswerError, ApprovalRequest, ApprovalResponse, Approver, NoAnswer, Queued, Status,
};
use toolcrib::config::Surroundings;
use toolcrib::{Approvals, CallHandle, CallRequest, Crib, CribOptions, ErrorCode, Outcome};

use super::calls::pending;

/// A home whose rules ask about every `shell` command that has `deploy` in it.
pub(super) struct Scene {
    pub(super) home: TempDir,
    workspace: TempDir,
}

impl Scene {
    pub(super) fn new() -> Self {
        let scene = Scene {
            home: TempDir::new().unwrap(),
            workspace: TempDir::new().unwrap(),
        };
        scene.config("");
        scene.script("deploy.sh", "echo first\n");
        scene
    }

    fn config(&self, more: &str) {
        let rule = "[[rules]]\nname = \"deploys\"\nverdict = \"ask\"\nreason = \"it deploys\"\n\
                    tools = [\"shell\", \"say\", \"run_code\"]\nexpr = \"JSON.stringify(args).includes('deploy') || tool == 'say'\"\n";
        fs::write(
            self.home.path().join("config.toml"),
            format!("{more}\n{rule}"),
        )
        .unwrap();
    }

    /// A YAML tool `say` of the user.
    fn tool(&self, body: &str) {
        let tools = self.home.path().join(".toolcrib/tools");
        fs::create_dir_all(&tools).unwrap();
        let yaml = format!("name: say\ndescription: Says something\ntags: [run]\n{body}\n");
        fs::write(tools.join("say.yaml"), yaml).unwrap();
    }

    pub(super) fn path(&self, name: &str) -> std::path::PathBuf {
        self.workspace.path().join(name)
    }

    fn script(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn open(&self, approvals: Approvals) -> Crib {
        let home = self.home.path().to_str().unwrap();
        CribOptions::default()
            .surroundings(Surroundings::new(self.home.path(), [("HOME", home)]))
            .home(self.home.path())
            .workspace(self.workspace.path())
            .approvals(approvals)
            .open()
            .unwrap()
    }

    pub(super) fn queueing(&self) -> Crib {
        self.open(Approvals::Queue {
            wait: Some(Duration::from_secs(60)),
        })
    }
}

fn shell(command: &str) -> CallRequest {
    CallRequest::new("shell").arg("command", command)
}

async fn asked(crib: &Crib) -> Queued {
    pending(crib.approvals(), 1).await.remove(0)
}

fn approve(crib: &Crib, asked: &Queued) -> Result<Queued, AnswerError> {
    let digest = Some(asked.request.args_digest.as_str());
    crib.answer(&asked.request.id, digest, ApprovalResponse::approve("Ada"))
}

fn stdout(outcome: &Outcome) -> &str {
    let value = outcome.value().unwrap_or_else(|| panic!("{outcome:#?}"));
    value["stdout"].as_str().unwrap()
}

/// The call waits, something happens, and the person's yes is refused; returns the question that took the place of the first.
async fn swapped(crib: &Crib, call: &CallHandle, swap: impl AsyncFnOnce()) -> Queued {
    let first = asked(crib).await;
    swap().await;
    let error = approve(crib, &first).unwrap_err();
    assert!(matches!(error, AnswerError::Changed { .. }), "{error}");
    assert_eq!(error.http_status(), 409);
    // A second answer gets the same error.
    let again = approve(crib, &first).unwrap_err();
    assert_eq!(again.to_string(), error.to_string());
    let second = asked(crib).await;
    assert_eq!(
        crib.approvals().show(&first.request.id).unwrap().status,
        Status::Replaced
    );
    assert_ne!(second.request.id, first.request.id);
    assert_ne!(second.request.args_digest, first.request.args_digest);
    assert_eq!(second.request.call_id, *call.id());
    let stale = Some(first.request.args_digest.as_str());
    let stale = crib.answer(&second.request.id, stale, ApprovalResponse::approve("Ada"));
    assert!(matches!(stale, Err(AnswerError::WrongDigest)), "{stale:?}");
    second
}

#[tokio::test]
async fn a_script_swapped_while_the_question_waits_is_asked_about_again() {
    for (tool, request) in [
        ("run: sh ./deploy.sh", CallRequest::new("say")),
        (
            "bash: |\n  echo before >&2\n  ./deploy.sh",
            CallRequest::new("say"),
        ),
        ("run: ls", shell("sh ./deploy.sh")),
        ("run: ls", shell("cat deploy.sh | sh")),
        (
            "run: ls",
            CallRequest::new("run_code")
                .arg("language", "bash")
                .arg("code", ". ./deploy.sh"),
        ),
        (
            "run: ls",
            CallRequest::new("run_code").arg("language", "python").arg(
                "code",
                "import subprocess\nsubprocess.run(['sh', './deploy.sh'])",
            ),
        ),
    ] {
        let scene = Scene::new();
        scene.tool(tool);
        let crib = scene.queueing();
        let call = crib.registry().execute_async(request.clone());
        let second = swapped(&crib, &call, async || {
            let evil = "echo 'echo second' > d; cat d > depl*; rm d";
            let outcome = crib
                .registry()
                .execute(shell(&evil.replace("depl*", "depl?y.sh")))
                .await;
            assert_eq!(stdout(&outcome), "", "{outcome:?}");
        })
        .await;
        let shown = &second.request;
        assert_eq!(shown.bound.len(), 1, "{shown:?}");
        assert!(
            shown.reason.contains("`deploy.sh` changed"),
            "{}",
            shown.reason
        );
        let diff = shown.diff.as_deref().unwrap();
        assert!(
            diff.contains("-echo first") && diff.contains("+echo second"),
            "{diff}"
        );
        approve(&crib, &second).unwrap();
        assert_eq!(
            stdout(&call.outcome().await),
            "second\n",
            "{tool} {request:?}"
        );
    }
}

#[tokio::test]
async fn a_call_whose_script_does_not_change_is_asked_about_once() {
    let scene = Scene::new();
    let crib = scene.queueing();
    let call = crib.registry().execute_async(shell("sh ./deploy.sh"));
    let question = asked(&crib).await;
    let [file] = &question.request.bound[..] else {
        panic!("{question:?}");
    };
    assert_eq!((file.path.as_str(), file.pinned), ("deploy.sh", true));
    assert_eq!(file.digest.as_ref().unwrap().len(), 64);
    approve(&crib, &question).unwrap();
    assert_eq!(stdout(&call.outcome().await), "first\n");
}

#[tokio::test]
async fn after_three_changes_the_call_ends() {
    let scene = Scene::new();
    let crib = scene.queueing();
    let call = crib.registry().execute_async(shell("sh ./deploy.sh"));
    for change in 1..=3 {
        let question = asked(&crib).await;
        scene.script("deploy.sh", &format!("echo {change}\n"));
        let error = approve(&crib, &question).unwrap_err();
        assert_eq!(error.http_status(), 409);
    }
    let outcome = call.outcome().await;
    let error = outcome.error().unwrap();
    assert_eq!(error.code(), ErrorCode::Conflict, "{error}");
    assert!(
        error.message().contains("`deploy.sh` changed 3 times"),
        "{error}"
    );
    assert_eq!(
        crib.approvals()
            .list(Some(Status::Pending))
            .unwrap()
            .requests,
        []
    );
}

#[tokio::test]
async fn a_denial_needs_no_second_look() {
    let scene = Scene::new();
    let crib = scene.queueing();
    let call = crib.registry().execute_async(shell("sh ./deploy.sh"));
    let question = asked(&crib).await;
    scene.script("deploy.sh", "echo second\n");
    let no = ApprovalResponse::deny("Ada", "no");
    crib.answer(&question.request.id, None, no).unwrap();
    let outcome = call.outcome().await;
    assert_eq!(outcome.error().unwrap().code(), ErrorCode::ApprovalDenied);
}

type Swap = Box<dyn Fn(usize) + Send + Sync>;

/// Says yes to everything, and does something before the answer or right before its use.
struct Swapping {
    asked: Arc<Mutex<Vec<ApprovalRequest>>>,
    answering: Swap,
    claiming: Swap,
}

impl Approver for Swapping {
    fn decide(
        &self,
        request: ApprovalRequest,
    ) -> BoxFuture<'_, Result<ApprovalResponse, NoAnswer>> {
        let count = {
            let mut asked = self.asked.lock().unwrap();
            asked.push(request);
            asked.len()
        };
        (self.answering)(count);
        Box::pin(std::future::ready(Ok(ApprovalResponse::approve("test"))))
    }

    fn claim(&self, _id: &str) -> BoxFuture<'_, Result<(), NoAnswer>> {
        (self.claiming)(self.asked.lock().unwrap().len());
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Runs a call with an approver that swaps; what came of it, and what was asked.
async fn with_swaps(
    scene: &Scene,
    request: CallRequest,
    answering: impl Fn(usize) + Send + Sync + 'static,
    claiming: impl Fn(usize) + Send + Sync + 'static,
) -> (Outcome, Vec<ApprovalRequest>) {
    let asked = Arc::default();
    let approver = Swapping {
        asked: Arc::clone(&asked),
        answering: Box::new(answering),
        claiming: Box::new(claiming),
    };
    let crib = scene.open(Approvals::Ask(Arc::new(approver)));
    let outcome = crib.registry().execute(request).await;
    let asked = std::mem::take(&mut *asked.lock().unwrap());
    (outcome, asked)
}

#[tokio::test]
async fn a_change_between_answer_and_start_is_asked_about_again() {
    let scene = Scene::new();
    let script = scene.path("deploy.sh");
    let swap = move |count| {
        if count < 3 {
            fs::write(&script, format!("echo swapped {count}\n")).unwrap();
        }
    };
    let (outcome, asked) = with_swaps(&scene, shell("sh ./deploy.sh"), swap, |_| {}).await;
    // Asked three times: two changes are allowed.
    assert_eq!(stdout(&outcome), "swapped 2\n");
    assert_eq!(asked.len(), 3);
    assert_eq!(asked[0].diff, None);
    let diff = asked[1].diff.as_deref().unwrap();
    assert!(
        diff.contains("-echo first") && diff.contains("+echo swapped 1"),
        "{diff}"
    );

    let script = scene.path("deploy.sh");
    let swap = move |count| fs::write(&script, format!("echo {count}\n")).unwrap();
    let (outcome, asked) = with_swaps(&scene, shell("sh ./deploy.sh"), swap, |_| {}).await;
    assert_eq!(outcome.error().unwrap().code(), ErrorCode::Conflict);
    assert_eq!(asked.len(), 3);
}

#[tokio::test]
async fn a_change_after_the_last_look_does_not_run_in_the_sandbox() {
    for (command, printed) in [
        ("sh ./deploy.sh; cat deploy.sh", "first\necho first\n"),
        // A pattern elsewhere in the text that fits the script, too.
        ("sh ./deploy.sh; : *", "first\n"),
        ("ls *.sh; sh ./deploy.sh", "deploy.sh\nfirst\n"),
    ] {
        let scene = Scene::new();
        let script = scene.path("deploy.sh");
        let swap = move |_| fs::write(&script, "echo second\n").unwrap();
        let (outcome, asked) = with_swaps(&scene, shell(command), |_| {}, swap).await;
        assert_eq!(stdout(&outcome), printed, "{command}");
        assert_eq!(asked.len(), 1, "{command}");
        assert!(asked[0].bound[0].pinned, "{command}");
        let now = fs::read_to_string(scene.path("deploy.sh")).unwrap();
        assert_eq!(now, "echo second\n", "{command}");
    }
}

/// Only what a command runs, or may be fed to one that runs it.
#[tokio::test]
async fn a_question_does_not_say_that_files_run_that_another_command_lists() {
    for (command, bound) in [
        ("sh ./deploy.sh; : *", &["deploy.sh"][..]),
        ("ls *.log; sh ./deploy.sh", &["deploy.sh"]),
        ("wc -l *.log 2>/dev/null; sh ./deploy.sh", &["deploy.sh"]),
        ("cat *.log | sh; : deploy", &["a.log"]),
    ] {
        let scene = Scene::new();
        scene.script("a.log", "true\n");
        let (_, asked) = with_swaps(&scene, shell(command), |_| {}, |_| {}).await;
        let files = asked[0].bound.iter();
        let files: Vec<&str> = files.map(|file| file.path.as_str()).collect();
        assert_eq!(files, bound, "{command}");
    }
}

/// The approver is refused at once, and the question that follows shows what changed.
#[tokio::test]
async fn a_script_that_a_pattern_or_a_variable_names_is_swapped_in_vain() {
    for command in [
        "./deploy*",
        "./dep?oy.sh",
        "cd . && ./deploy*",
        "env A=b ./deploy*",
        "PATH=$PWD:$PATH deploy*",
        "sh < deploy*",
        "sh 0< ./deploy*",
        "bash <(cat deploy*)",
        "eval \"$(< deploy*)\"",
        "while read -r line; do $line; done < deploy*",
        "exec 3< deploy*; sh <&3",
        ". ./deploy*",
        "source ./deploy*",
        "command . ./deploy*",
        "sh $PWD/dep*.sh",
        "sh $PWD/dep*",
        "sh ${PWD}/dep*",
        "sh \"$PWD\"/dep*",
        "sh $(pwd)/dep*",
        "sh ~+/dep*",
        "sh .//dep*",
        "sh ././dep*",
        "sh sub/../dep*",
        "sh ROOT/dep*",
        "sh ROOT//dep*",
        "sh ROOT/../NAME/dep*",
        "sh ROO?/dep*",
        "sh $NOWHERE/dep*",
        "sh $NOWHERE/deploy.sh",
        "sh \"$NOWHERE\"deploy.sh",
        "sh ${NOWHERE:-.}/deploy.sh",
        "sh sub/$NOWHERE",
        "cd su* && sh ./deploy2.sh",
        "x=dep*; sh $x",
        "x='./dep*'; sh $x",
        "set -- dep*; sh \"$1\"",
        "a=(dep*); sh \"${a[0]}\"",
        "for f in dep*; do sh \"$f\"; done",
        "find . -name 'deploy*' -exec sh {} +",
        "find . -name deploy.sh -exec sh {} \\;",
        "find . -name 'deploy*' | xargs sh",
        "cat $(echo deploy.sh) | sh",
        "sh $(echo deploy.sh)",
        "echo deploy.sh | xargs sh",
        "xargs sh <<< deploy.sh",
        "printf %s dep* | xargs sh",
        "compgen -G 'dep*' | xargs sh",
        "awk -f deploy*",
        "make -f deploy* x",
        "vim -es -S deploy*",
        "sqlite3 :memory: < deploy*",
        "sh -c '. ./deploy*'",
        "cp dep* other; sh ./other",
        "cat dep* > /tmp/x; . /tmp/x",
        "ln -s $PWD/dep* /tmp/x; sh /tmp/x",
        "find . -iname 'DEP*' -exec sh {} \\;",
        "shopt -s nocaseglob; sh DEP*",
        "A=dep; sh \"$A\"*",
        "d=$(pwd); sh \"$d\"/deploy.sh",
        "g() { sh \"$1\"; }; g dep*",
        "cat dep* | tee /tmp/q; sh /tmp/q",
        "sh link*",
        "sh lin*/deploy2.sh",
    ] {
        let scene = Scene::new();
        scene.script("sub/deploy2.sh", "echo first\n");
        symlink("deploy.sh", scene.path("link.sh")).unwrap();
        symlink("sub", scene.path("linked")).unwrap();
        let root = scene.path("");
        let root = root.to_str().unwrap().trim_end_matches('/');
        let (name, cut) = (root.rsplit('/').next().unwrap(), root.len() - 1);
        let text = command
            .replace("ROOT", root)
            .replace("NAME", name)
            .replace("ROO?", &format!("{}?", &root[..cut]));
        let text = format!("{text}; : deploy");
        let crib = scene.queueing();
        let call = crib.registry().execute_async(shell(&text));
        let first = asked(&crib).await;
        for script in ["deploy.sh", "sub/deploy2.sh"] {
            scene.script(script, "echo evil\n");
        }
        let answer = approve(&crib, &first);
        assert!(
            matches!(answer, Err(AnswerError::Changed { .. })),
            "{command}: {answer:#?}"
        );
        call.cancel();
        call.outcome().await;
    }
}

#[tokio::test]
async fn without_a_sandbox_the_file_is_compared_right_before_the_start() {
    let scene = Scene::new();
    scene.config("[sandbox]\nshell = \"none\"\n");
    let script = scene.path("deploy.sh");
    let swap = move |_| fs::write(&script, "echo second\n").unwrap();
    let (outcome, asked) = with_swaps(&scene, shell("sh ./deploy.sh"), |_| {}, swap).await;
    let error = outcome.error().unwrap_or_else(|| panic!("{outcome:?}"));
    assert_eq!(error.code(), ErrorCode::Conflict, "{error}");
    assert!(
        error.message().contains("`deploy.sh` changed after"),
        "{error}"
    );
    assert!(!asked[0].bound[0].pinned);
}

#[tokio::test]
async fn without_a_sandbox_a_question_says_whether_the_file_changed_since_it_was_approved() {
    let scene = Scene::new();
    scene.config("[sandbox]\nshell = \"none\"\n");
    let mut seen = Vec::new();
    for text in ["echo first\n", "echo first\n", "echo second\n"] {
        scene.script("deploy.sh", text);
        let request = shell("sh ./deploy.sh");
        let (outcome, asked) = with_swaps(&scene, request, |_| {}, |_| {}).await;
        assert_eq!(format!("echo {}", stdout(&outcome)), text);
        let [file] = &asked[0].bound[..] else {
            panic!("{asked:?}");
        };
        seen.push((file.digest.clone().unwrap(), file.changed));
    }
    assert_eq!(seen[0].1, None);
    assert_eq!(seen[1], (seen[0].0.clone(), Some(false)));
    assert_eq!(seen[2].1, Some(true));
    assert_ne!(seen[2].0, seen[0].0);
}

#[tokio::test]
async fn a_script_that_is_rewritten_while_it_runs_runs_as_it_was_approved() {
    let scene = Scene::new();
    scene.script("deploy.sh", "read line < fifo\necho approved\n");
    let fifo = scene.path("fifo");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let script = scene.path("deploy.sh");
    let writer = std::thread::spawn(move || {
        // Opens when the script waits for its line.
        let mut line = fs::File::options().write(true).open(fifo).unwrap();
        fs::write(script, "#\n#\n#\n#\necho evil\necho evil\n").unwrap();
        line.write_all(b"go\n").unwrap();
    });
    let request = shell("bash ./deploy.sh");
    let (outcome, _) = with_swaps(&scene, request, |_| {}, |_| {}).await;
    assert_eq!(stdout(&outcome), "approved\n");
    writer.join().unwrap();
}

#[tokio::test]
async fn a_grant_counts_for_the_script_as_it_was() {
    let scene = Scene::new();
    let crib = scene.queueing();
    let request = || shell("sh ./deploy.sh");
    let call = crib.registry().execute_async(request());
    let question = asked(&crib).await;
    let grant = GrantRequest::of(&question.request.offers[0], Scope::Project);
    let yes = ApprovalResponse::approve("Ada").with_grant(grant);
    crib.answer(&question.request.id, None, yes).unwrap();
    assert_eq!(stdout(&call.outcome().await), "first\n");
    let [grant] = &crib.grants().list().unwrap().grants[..] else {
        panic!("one grant");
    };
    assert_eq!(grant.bound.len(), 1);
    assert_eq!(stdout(&crib.registry().execute(request()).await), "first\n");
    assert!(crib.registry().plan(request()).unwrap().grant.is_some());

    scene.script("deploy.sh", "echo second\n");
    assert_eq!(crib.registry().plan(request()).unwrap().grant, None);
    let call = crib.registry().execute_async(request());
    let question = asked(&crib).await;
    assert_eq!(question.request.bound[0].changed, Some(true));
    approve(&crib, &question).unwrap();
    assert_eq!(stdout(&call.outcome().await), "second\n");

    // As it was, it is covered again.
    scene.script("deploy.sh", "echo first\n");
    assert_eq!(stdout(&crib.registry().execute(request()).await), "first\n");
}

#[tokio::test]
async fn a_question_shows_the_scripts_of_a_pattern_and_what_changed_in_them() {
    let scene = Scene::new();
    scene.script("deploy/1.sh", "echo one\n");
    let crib = scene.queueing();
    let call = crib.registry().execute_async(shell("sh deploy/*.sh"));
    let second = swapped(&crib, &call, async || {
        scene.script("deploy/1.sh", "echo evil\n");
    })
    .await;
    let question = &second.request;
    assert_eq!(question.bound[0].path, "deploy/1.sh");
    assert!(question.offers.is_empty(), "a pattern is never granted");
    let diff = question.diff.as_deref().unwrap();
    assert!(diff.contains("-echo one\n+echo evil"), "{diff}");
    approve(&crib, &second).unwrap();
    assert_eq!(stdout(&call.outcome().await), "evil\n");
}

#[tokio::test]
async fn a_grant_that_was_made_ahead_counts_for_the_script_as_it_was() {
    let scene = Scene::new();
    let crib = scene.queueing();
    let plan = |crib: &Crib| {
        crib.registry()
            .plan(shell("./deploy.sh prod"))
            .unwrap()
            .grant
    };
    let shape = serde_json::json!({"command": {"argv": ["./deploy.sh", "*"]}});
    let wanted = GrantRequest::new(serde_json::from_value(shape).unwrap(), Scope::Project);
    crib.grant("shell", &wanted, &Default::default(), "Ada")
        .unwrap();
    assert!(plan(&crib).is_some());
    scene.script("deploy.sh", "echo second\n");
    assert_eq!(plan(&crib), None);
}

#[tokio::test]
async fn a_script_that_is_not_there_yet_is_bound_as_absent() {
    let scene = Scene::new();
    let crib = scene.queueing();
    let call = crib.registry().execute_async(shell("sh sub/deploy2.sh"));
    let second = swapped(&crib, &call, async || {
        scene.script("sub/deploy2.sh", "echo here\n");
    })
    .await;
    let diff = second.request.diff.as_deref().unwrap();
    assert!(diff.contains("+echo here"), "{diff}");
    approve(&crib, &second).unwrap();
    assert_eq!(stdout(&call.outcome().await), "here\n");
}

#[tokio::test]
async fn a_link_is_bound_to_where_it_leads_and_to_what_is_there() {
    for absolute in [false, true] {
        let scene = Scene::new();
        scene.script("a/real.sh", "echo first\n");
        scene.script("b/real.sh", "echo first\n");
        let target = |name: &str| match absolute {
            true => scene.workspace.path().canonicalize().unwrap().join(name),
            false => Path::new(name).to_owned(),
        };
        let link = scene.path("deploy");
        symlink(target("a/real.sh"), &link).unwrap();
        let crib = scene.queueing();
        let call = crib.registry().execute_async(shell("./deploy"));
        let second = swapped(&crib, &call, async || {
            fs::remove_file(&link).unwrap();
            symlink(target("b/real.sh"), &link).unwrap();
        })
        .await;
        let leads_to = second.request.bound[0].leads_to.as_deref();
        assert_eq!(leads_to, Some("b/real.sh"));
        scene.script("b/real.sh", "echo second\n");
        assert!(approve(&crib, &second).is_err());
        let third = asked(&crib).await;
        approve(&crib, &third).unwrap();
        assert_eq!(stdout(&call.outcome().await), "second\n");
    }
}

#[tokio::test]
async fn a_link_out_of_the_workspace_is_bound_to_where_it_leads() {
    let scene = Scene::new();
    symlink("/bin/true", scene.path("deploy")).unwrap();
    let crib = scene.queueing();
    let call = crib.registry().execute_async(shell("./deploy"));
    let second = swapped(&crib, &call, async || {
        fs::remove_file(scene.path("deploy")).unwrap();
        symlink("deploy.sh", scene.path("deploy")).unwrap();
    })
    .await;
    assert!(second.request.bound[0].digest.is_some());
    approve(&crib, &second).unwrap();
    call.outcome().await;
}

#[tokio::test]
async fn a_script_is_found_where_the_command_goes() {
    for (command, cwd) in [
        ("cd sub && ./deploy.sh", None),
        ("cd sub; ./deploy.sh", None),
        ("./deploy.sh", Some("sub")),
        ("cd .. && cd sub && sh -c 'sh ./deploy.sh'", Some("sub")),
        ("PATH=./sub:$PATH deploy.sh", None),
        ("PATH=$PWD/sub:$PATH deploy.sh", None),
        ("PATH=\"$(pwd)/sub:$PATH\" deploy.sh", None),
        ("export PATH=$PWD/sub:$PATH; deploy.sh", None),
        ("env PATH=\"$PWD/sub:$PATH\" deploy.sh", None),
        ("cd sub && PATH=.:$PATH deploy.sh", None),
        ("cd sub && PATH=:$PATH deploy.sh", None),
    ] {
        let scene = Scene::new();
        scene.script("sub/deploy.sh", "#!/bin/sh\necho first\n");
        let crib = scene.queueing();
        let mut request = shell(command);
        if let Some(cwd) = cwd {
            request = request.arg("cwd", cwd);
        }
        let call = crib.registry().execute_async(request);
        let swap = async || scene.script("sub/deploy.sh", "#!/bin/sh\necho second\n");
        let second = swapped(&crib, &call, swap).await;
        approve(&crib, &second).unwrap();
        assert_eq!(stdout(&call.outcome().await), "second\n", "{command}");
    }
}

#[tokio::test]
async fn a_file_that_comes_earlier_in_the_search_is_asked_about() {
    for (command, first, later) in [
        (
            "PATH=b0:sub:$PATH deploy.sh",
            Some("sub/deploy.sh"),
            "b0/deploy.sh",
        ),
        ("PATH=sub:$PATH; . lib.sh; true deploy", None, "sub/lib.sh"),
        ("python3 -m deploy", Some("deploy.py"), "deploy/__init__.py"),
        ("python3 -m timeit -n1 -r1 deploy", None, "timeit.py"),
    ] {
        let scene = Scene::new();
        scene.script("lib.sh", "true\n");
        if let Some(first) = first {
            scene.script(first, "#!/bin/sh\n");
        }
        let path = scene.path(later);
        let swap = move |count| {
            if count == 1 {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, "#!/bin/sh\n").unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            }
        };
        let (_, asked) = with_swaps(&scene, shell(command), swap, |_| {}).await;
        let bound = |at: usize| -> Vec<&str> {
            let files = asked[at].bound.iter();
            files.map(|file| file.path.as_str()).collect()
        };
        assert_eq!(asked.len(), 2, "{command}: {asked:#?}");
        assert!(!bound(0).contains(&later), "{command}");
        assert!(bound(1).contains(&later), "{command}");
        let reason = &asked[1].reason;
        assert!(reason.contains(&format!("`{later}` changed")), "{reason}");
    }
}

/// A yes does not count for what another file has become, and the question that follows says which.
#[tokio::test]
async fn other_files_that_a_command_names_are_asked_about_again() {
    for (command, changed) in [
        ("make -C deploy -f x.mk", "deploy/x.mk"),
        ("make -C deploy -fx.mk", "deploy/x.mk"),
        ("find deploy -name x.sh -execdir sh x.sh ';'", "deploy/x.sh"),
        ("cd -P lnk/.. && sh ./x.sh; : deploy", "deep/x.sh"),
        ("cd -P lnk && cd .. && sh ./x.sh; : deploy", "deep/x.sh"),
        ("env -C lnk/.. sh x.sh; : deploy", "deep/x.sh"),
        ("CDPATH=deep; cd dir && sh ../x.sh; : deploy", "deep/x.sh"),
        ("/proc/self/cwd/x.sh; : deploy", "x.sh"),
        ("sed -n p x.sh | sh; : deploy", "x.sh"),
        ("BASH_ENV=./x.sh bash -c true; : deploy", "x.sh"),
        ("LD_PRELOAD=./x.so env; : deploy", "x.so"),
        ("node -r ./x.js -e 1; : deploy", "x.js"),
        ("sqlite3 :memory: < x.sql; : deploy", "x.sql"),
        ("sqlite3 :memory: '.read x.sql'; : deploy", "x.sql"),
        ("python3 -m cProfile a.py; : deploy", "a.py"),
        ("python3 -m unittest a; : deploy", "a.py"),
        ("python3 -m unittest pack.b; : deploy", "pack/b.py"),
        ("perl -I. -Mmine -e 1; : deploy", "mine.pm"),
        ("vim -S x.vim -es; : deploy", "x.vim"),
        ("gdb -x not-yet.gdb; : deploy", "not-yet.gdb"),
    ] {
        let scene = Scene::new();
        for file in [
            "deploy/x.mk",
            "deploy/x.sh",
            "x.sh",
            "x.mk",
            "x.so",
            "x.js",
            "x.sql",
            "a.py",
            "pack/b.py",
            "mine.pm",
            "x.vim",
            "deep/x.sh",
            "deep/dir/x.sh",
        ] {
            scene.script(file, "first\n");
        }
        symlink("deep/dir", scene.path("lnk")).unwrap();
        let crib = scene.queueing();
        let call = crib.registry().execute_async(shell(command));
        let first = asked(&crib).await;
        scene.script(changed, "evil\n");
        // It is noticed when the answer comes, or right before the call would run.
        let _ = approve(&crib, &first);
        let second = asked(&crib).await;
        assert_ne!(second.request.id, first.request.id, "{command}");
        let why = format!("`{changed}` changed since this was last asked");
        assert!(
            second.request.reason.contains(&why),
            "{command}: {}",
            second.request.reason
        );
        call.cancel();
        call.outcome().await;
    }
}

#[tokio::test]
async fn files_of_a_pattern_or_a_directory_are_asked_about_again() {
    for (command, changed) in [
        ("sh ROOT/*.sh; : deploy", "x.sh"),
        ("cat ROOT/scripts/*.sh | sh; : deploy", "scripts/new.sh"),
        ("sh ./*.sh; : deploy", "x.sh"),
        ("for f in *.sh; do sh \"$f\"; done; : deploy", "x.sh"),
        ("for f in *.sh; do sh \"$f\"; done; : deploy", "new.sh"),
        ("sh \"$(ls *.sh)\"; : deploy", "x.sh"),
        ("cat scripts/* | sh; : deploy", "scripts/x.sh"),
        ("cat scripts/* | sh; : deploy", "scripts/new.sh"),
        ("ls scripts/*.sh | xargs -n1 sh; : deploy", "scripts/x.sh"),
        (
            "find scripts -type f -exec sh {} \\;; : deploy",
            "scripts/sub/y.sh",
        ),
        (
            "find scripts -type f -exec sh {} \\;; : deploy",
            "scripts/sub/new.sh",
        ),
        ("run-parts scripts; : deploy", "scripts/x.sh"),
        ("run-parts scripts; : deploy", "scripts/new.sh"),
        ("npx thing deploy", "node_modules/.bin/thing"),
        ("ls | xargs sh; : deploy", "x.sh"),
        ("git ls-files | xargs sh; : deploy", "new.sh"),
        ("./x*; : deploy", "x.sh"),
        ("./x*; : deploy", "x2.sh"),
        ("sh < new*; : deploy", "new.sh"),
        (". ./x*; : deploy", "x.sh"),
        ("sh $PWD/x*; : deploy", "x2.sh"),
        ("sh \"$DIR\"/x*; : deploy", "scripts/sub/x.sh"),
    ] {
        let scene = Scene::new();
        for file in [
            "x.sh",
            "scripts/x.sh",
            "scripts/sub/y.sh",
            "node_modules/.bin/thing",
        ] {
            scene.script(file, "first\n");
        }
        let crib = scene.queueing();
        let call = crib.registry().execute_async(shell(
            &command.replace("ROOT", &scene.path("").to_string_lossy()),
        ));
        let first = asked(&crib).await;
        scene.script(changed, "evil\n");
        let _ = approve(&crib, &first);
        let second = asked(&crib).await;
        assert_ne!(second.request.id, first.request.id, "{command}");
        let why = format!("`{changed}` changed since this was last asked");
        let reason = &second.request.reason;
        assert!(reason.contains(&why), "{command}: {reason}");
        call.cancel();
        call.outcome().await;
    }
}

#[tokio::test]
async fn what_a_command_only_reads_may_change_while_it_waits() {
    for command in [
        "grep deploy app.log | sort | head -3",
        "cat deploy.sh app.log",
    ] {
        let scene = Scene::new();
        scene.script("app.log", "deploy 1\n");
        let crib = scene.queueing();
        let call = crib.registry().execute_async(shell(command));
        let first = asked(&crib).await;
        scene.script("app.log", "deploy 1\ndeploy 2\n");
        approve(&crib, &first).unwrap();
        let outcome = call.outcome().await;
        assert!(stdout(&outcome).contains("deploy 2"), "{command}");
    }
}

#[tokio::test]
async fn a_copy_is_not_promised_of_a_script_that_a_later_command_may_change() {
    for command in [
        "for i in 1 2; do sh sub/deploy.sh; ./a.sh; done",
        "f() { sh sub/deploy.sh; }; ./a.sh; f",
        "trap 'sh sub/deploy.sh' EXIT; ./a.sh",
    ] {
        let scene = Scene::new();
        scene.script("sub/deploy.sh", "echo first\n");
        scene.script("a.sh", "#!/bin/sh\ntrue\n");
        let (_, asked) = with_swaps(&scene, shell(command), |_| {}, |_| {}).await;
        let mut files = asked[0].bound.iter();
        let file = files.find(|file| file.path == "sub/deploy.sh").unwrap();
        assert!(!file.pinned, "{command}");
    }
}

#[tokio::test]
async fn a_script_that_runs_as_a_copy_cannot_move_its_own_directory_away() {
    let scene = Scene::new();
    let moves = "mv sub old && mkdir sub && echo 'echo evil' > sub/deploy.sh\necho approved\n";
    scene.script("sub/deploy.sh", moves);
    let request = shell("for i in 1 2; do sh sub/deploy.sh; done");
    let (outcome, asked) = with_swaps(&scene, request, |_| {}, |_| {}).await;
    assert!(asked[0].bound[0].pinned);
    assert_eq!(stdout(&outcome), "approved\napproved\n");
}

#[tokio::test]
async fn a_command_may_make_the_script_that_it_runs() {
    let scene = Scene::new();
    scene.script("new.sh", "echo new\n");
    let request = shell("cp new.sh deploy.sh && sh deploy.sh");
    let (outcome, asked) = with_swaps(&scene, request, |_| {}, |_| {}).await;
    assert_eq!(stdout(&outcome), "new\n");
    assert!(!asked[0].bound[0].pinned);
    let request = shell("echo 'echo newer' > deploy.sh; sh deploy.sh");
    let (outcome, _) = with_swaps(&scene, request, |_| {}, |_| {}).await;
    assert_eq!(stdout(&outcome), "newer\n");
}

#[tokio::test]
async fn a_file_that_is_too_large_to_read_is_bound_by_its_times() {
    let scene = Scene::new();
    let large = format!("echo first; exit\n{}", "#".repeat(17 << 20));
    scene.script("deploy.sh", &large);
    let crib = scene.queueing();
    let call = crib.registry().execute_async(shell("sh ./deploy.sh"));
    let second = swapped(&crib, &call, async || {
        scene.script("deploy.sh", &large.replace("first", "other"));
    })
    .await;
    assert!(!second.request.bound[0].pinned);
    approve(&crib, &second).unwrap();
    assert_eq!(stdout(&call.outcome().await), "other\n");
}

#[tokio::test]
async fn a_call_that_needs_no_approval_is_bound_to_nothing() {
    let scene = Scene::new();
    scene.script("free.sh", "echo free; echo 'echo changed' > free.sh\n");
    let crib = scene.queueing();
    // Not pinned, it can change its own script.
    let outcome = crib
        .registry()
        .execute(shell("sh ./free.sh; sh ./free.sh"))
        .await;
    assert_eq!(stdout(&outcome), "free\nchanged\n");
}

/// Starts an approved command that waits for a line in `fifo` and then runs a script.
fn waiting(scene: &Scene, script: &str) -> (Crib, CallHandle) {
    let fifo = scene.path("fifo");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let yes = toolcrib::approval::AllowAll::by("test");
    let crib = scene.open(Approvals::Ask(Arc::new(yes)));
    let command = format!("read line < fifo; bash ./{script}");
    let call = crib.registry().execute_async(shell(&command));
    (crib, call)
}

/// Opens the pipe as soon as the command reads from it.
async fn until_read(scene: &Scene) -> fs::File {
    let fifo = scene.path("fifo");
    let open = move || fs::File::options().write(true).open(fifo).unwrap();
    tokio::task::spawn_blocking(open).await.unwrap()
}

#[tokio::test]
async fn tools_cannot_give_the_name_of_a_running_script_to_another_file() {
    let scene = Scene::new();
    scene.script("sub/deploy.sh", "echo first\n");
    scene.script("evil.sh", "echo evil\n");
    let (crib, call) = waiting(&scene, "deploy.sh");
    let mut line = until_read(&scene).await;
    let other = crib.registry();
    let write = CallRequest::new("write_file")
        .arg("path", "deploy.sh")
        .arg("content", "echo evil\n");
    let outcome = other.execute(write).await;
    assert_eq!(
        outcome.error().unwrap().code(),
        ErrorCode::Conflict,
        "{outcome:?}"
    );
    let delete = CallRequest::new("delete_file").arg("path", "deploy.sh");
    let outcome = other.execute(delete).await;
    assert_eq!(
        outcome.error().unwrap().code(),
        ErrorCode::Conflict,
        "{outcome:?}"
    );
    for command in [
        "mv -f evil.sh deploy.sh",
        "ln -f evil.sh deploy.sh",
        "rm -f deploy.sh",
        "cp --remove-destination evil.sh deploy.sh",
        "echo 'echo evil' > deploy.sh",
    ] {
        let outcome = other.execute(shell(command)).await;
        assert_ne!(
            outcome.value().unwrap()["exitCode"],
            0,
            "{command}: {outcome:?}"
        );
    }
    line.write_all(b"go\n").unwrap();
    let outcome = call.outcome().await;
    assert_eq!(stdout(&outcome), "first\n");
    assert_eq!(outcome.sandbox.unwrap().not_enforced, [""; 0]);
    // It is over: the file can be changed again.
    let outcome = other.execute(shell("mv -f evil.sh deploy.sh")).await;
    assert_eq!(outcome.value().unwrap()["exitCode"], 0, "{outcome:?}");
}

#[tokio::test]
async fn commands_cannot_move_the_directory_of_a_running_script_away() {
    for script in ["sub/deep/deploy.sh", "link/deploy.sh"] {
        let scene = Scene::new();
        scene.script("sub/deep/deploy.sh", "echo first\n");
        symlink("sub/deep", scene.path("link")).unwrap();
        let (crib, call) = waiting(&scene, script);
        let mut line = until_read(&scene).await;
        for command in [
            "mv sub sub.old",
            "mv sub/deep sub/old",
            "cd sub && mv deep old",
            "mv link old; mkdir link; echo 'echo evil' > link/deploy.sh; test -h old",
        ] {
            let outcome = crib.registry().execute(shell(command)).await;
            let is_other_way = command.contains("link") && !script.starts_with("link");
            let exit = &outcome.value().unwrap()["exitCode"];
            assert_eq!(exit == 0, is_other_way, "{script} {command}: {outcome:?}");
        }
        line.write_all(b"go\n").unwrap();
        let outcome = call.outcome().await;
        assert_eq!(stdout(&outcome), "first\n", "{script}");
        assert_eq!(outcome.sandbox.unwrap().not_enforced, [""; 0]);
        let outcome = crib.registry().execute(shell("mv sub sub.old")).await;
        assert_eq!(outcome.value().unwrap()["exitCode"], 0, "{outcome:?}");
    }
}

#[tokio::test]
async fn a_script_that_another_program_replaces_while_it_runs_is_reported() {
    let scene = Scene::new();
    scene.script("new.sh", "echo new\n");
    let (_crib, call) = waiting(&scene, "deploy.sh");
    let mut line = until_read(&scene).await;
    fs::rename(scene.path("new.sh"), scene.path("deploy.sh")).unwrap();
    line.write_all(b"go\n").unwrap();
    let outcome = call.outcome().await;
    assert_eq!(
        outcome.sandbox.unwrap().not_enforced,
        ["approved copy of `deploy.sh`"]
    );
}

#[tokio::test]
async fn a_command_that_runs_too_many_files_is_refused() {
    let scene = Scene::new();
    for count in 0..65 {
        scene.script(&format!("deploy{count}.sh"), "true\n");
    }
    let crib = scene.queueing();
    let many: Vec<String> = (0..65).map(|count| format!("./deploy{count}.sh")).collect();
    let outcome = crib.registry().execute(shell(&many.join(";"))).await;
    let error = outcome.error().unwrap();
    assert_eq!(error.code(), ErrorCode::InvalidArguments, "{error}");
    assert!(error.message().contains("run fewer at once"), "{error}");
}
