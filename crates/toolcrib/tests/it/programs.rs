//! `shell` and `run_code`: real programs behind the real sandbox, through the whole pipeline.

use std::path::Path;
use std::time::{Duration, Instant};
use toolcrib::RegisterBuiltins as _;
use toolcrib::testing::WithBuiltins as _;

use serde_json::{Value, json};
use toolcrib::approval::ApprovalResponse;
use toolcrib::builtin::{BuiltinOptions, NetworkAccess, SandboxOptions, SandboxSettings};
use toolcrib::egress::{AllowedHosts, Egress, EgressOptions};
use toolcrib::rules::RuleSet;
use toolcrib::sandbox::{Layer, Level, Sandbox};
use toolcrib::testing::{Reply, ScriptedServer, TestCrib};
use toolcrib::{CallRequest, CancellationToken, ErrorCode, EventKind, Outcome, OutputStream};

use crate::tools::{args, code};

fn test() -> TestCrib {
    TestCrib::new().builtins()
}

fn test_with(settings: SandboxSettings) -> TestCrib {
    let test = TestCrib::new();
    let options = BuiltinOptions {
        sandbox: settings,
        ..BuiltinOptions::default()
    };
    test.registry().register_builtins_with(options).unwrap();
    test
}

async fn call(test: &TestCrib, tool: &str, arguments: Value) -> Outcome {
    test.registry()
        .execute(CallRequest::new(tool).args(args(arguments)))
        .await
}

async fn shell(test: &TestCrib, command: &str) -> Outcome {
    call(test, "shell", json!({"command": command})).await
}

fn detail<'a>(outcome: &'a Outcome, key: &str) -> &'a Value {
    &outcome.error().unwrap().details().unwrap()[key]
}

#[tokio::test]
async fn a_command_gives_what_it_printed_and_its_exit_code() {
    let test = test();
    let outcome = shell(&test, "echo out; echo err >&2; exit 3").await;
    let value = outcome.value().unwrap_or_else(|| panic!("{outcome:?}"));
    assert_eq!(value["stdout"], "out\n");
    assert_eq!(value["stderr"], "err\n");
    assert_eq!(value["exitCode"], 3);
    assert!(value["duration"].is_u64());
    let text = outcome.result.as_ref().unwrap().text();
    assert_eq!(text, "out\n[stderr]\nerr\n[exit code 3]\n");
}

#[tokio::test]
async fn the_seeds_names_and_spellings_reach_the_same_tool() {
    let test = test().file("sub/a.txt", "x");
    let outcome = call(
        &test,
        "execute_bash",
        json!({"command": "echo 'Hello World'; ls", "working_directory": "sub"}),
    )
    .await;
    assert_eq!(outcome.value().unwrap()["stdout"], "Hello World\na.txt\n");
    let outcome = call(&test, "shell", json!({"command": "ls", "cwd": "sub"})).await;
    assert_eq!(outcome.value().unwrap()["stdout"], "a.txt\n");
    assert_eq!(outcome.tool, "shell");
}

#[tokio::test]
async fn a_command_that_starts_with_a_dash_is_not_an_option_of_bash() {
    let outcome = shell(&test(), "-x; true").await;
    let value = outcome.value().unwrap();
    assert_eq!(value["exitCode"], 0);
    assert!(value["stderr"].as_str().unwrap().contains("-x"), "{value}");
}

#[tokio::test]
async fn the_outcome_says_which_wall_stood() {
    let test = test();
    let outcome = shell(&test, "true").await;
    let sandbox = outcome.sandbox.unwrap();
    assert_eq!(
        (sandbox.requested.as_str(), sandbox.level.as_str()),
        ("process", "process")
    );
    assert!(
        sandbox.layers.iter().any(|layer| layer == "landlock"),
        "{sandbox:?}"
    );
    let outcome = call(
        &test,
        "run_code",
        json!({"language": "bash", "code": "true"}),
    )
    .await;
    assert_eq!(outcome.sandbox.unwrap().requested, "container");
    let rendered = toolcrib::wire::render(
        &shell(&test, "true").await,
        toolcrib::wire::ResultShape::Tagged,
    );
    assert_eq!(rendered["metadata"]["sandbox"]["level"], "process");
}

#[tokio::test]
async fn nothing_outside_the_workspace_is_touched() {
    let outside = tempfile::tempdir().unwrap();
    let canary = outside.path().join("canary");
    std::fs::write(&canary, "SECRET-CANARY").unwrap();
    let test = test();
    let path = canary.display();
    for command in [
        format!("cat {path}"),
        format!("echo x > {path}"),
        format!("python3 -c \"import os; os.remove('{path}')\""),
    ] {
        for (tool, arguments) in [
            ("shell", json!({"command": command})),
            ("run_code", json!({"language": "bash", "code": command})),
        ] {
            let outcome = call(&test, tool, arguments).await;
            let text = format!("{outcome:?}");
            assert!(!text.contains("SECRET-CANARY"), "{text}");
        }
    }
    assert_eq!(std::fs::read_to_string(&canary).unwrap(), "SECRET-CANARY");
}

#[tokio::test]
async fn a_directory_outside_the_workspace_is_not_a_place_to_run_in() {
    let test = test();
    std::os::unix::fs::symlink("/", test.path().join("up")).unwrap();
    for cwd in ["..", "/", "up", "up/etc", "missing"] {
        let outcome = call(&test, "shell", json!({"command": "ls", "cwd": cwd})).await;
        let expected = if cwd == "missing" {
            ErrorCode::FileNotFound
        } else {
            ErrorCode::InvalidPath
        };
        assert_eq!(code(&outcome), expected, "{cwd}");
    }
}

#[tokio::test]
async fn code_runs_with_its_arguments_and_variables() {
    let test = test();
    let outcome = call(
        &test,
        "run_code",
        json!({"language": "python", "code": "import os, sys\nprint(sys.argv[1:], os.environ['NAME'])\nsys.exit(2)",
               "args": ["-x", "a b"], "env": {"NAME": "Ada"}}),
    )
    .await;
    let value = outcome.value().unwrap_or_else(|| panic!("{outcome:?}"));
    assert_eq!(value["stdout"], "['-x', 'a b'] Ada\n");
    assert_eq!(value["exitCode"], 2);
    let outcome = call(
        &test,
        "run_code",
        json!({"language": "bash", "code": "echo \"$0 $1 $NAME\" > made; cat made", "args": ["-n"], "env": {"NAME": "Ada"}}),
    )
    .await;
    assert_eq!(outcome.value().unwrap()["stdout"], "bash -n Ada\n");
    assert_eq!(
        std::fs::read_to_string(test.path().join("made")).unwrap(),
        "bash -n Ada\n"
    );
}

#[tokio::test]
async fn a_variable_that_changes_what_runs_is_asked_about() {
    let test = test();
    std::fs::write(test.path().join("other.sh"), "echo other; exit").unwrap();
    for (name, value) in [
        ("BASH_ENV", "other.sh"),
        ("BASH_FUNC_ls%%", "() { echo other; }"),
        ("LD_PRELOAD", "./other.so"),
        ("PATH", "/home/it's/bin"),
        ("SHELLOPTS", "xtrace"),
        ("GIT_CONFIG_COUNT", "1"),
    ] {
        for language in ["bash", "python"] {
            let arguments = json!({"language": language, "code": "ls", "env": {name: value}});
            let outcome = call(&test, "run_code", arguments).await;
            assert_eq!(code(&outcome), ErrorCode::ApprovalUnavailable, "{name}");
        }
    }
    let plain = json!({"PYTHONPATH": "src", "DEBUG": "$(rm -rf /)", "PAGER": "cat", "PATH": "/usr/bin:/bin"});
    let arguments = json!({"language": "bash", "code": "echo \"$DEBUG\"", "env": plain});
    let outcome = call(&test, "run_code", arguments).await;
    assert_eq!(outcome.value().unwrap()["stdout"], "$(rm -rf /)\n");
}

#[tokio::test]
async fn what_no_program_can_be_given_is_refused_with_a_pointer() {
    // Rules would ask about such texts first.
    let test = TestCrib::new().rules(RuleSet::empty()).builtins();
    for (tool, arguments, pointer) in [
        ("shell", json!({"command": "echo \u{0}"}), "/command"),
        ("shell", json!({"command": ""}), "/command"),
        ("shell", json!({"command": "x".repeat(140_000)}), "/command"),
        ("shell", json!({"command": "é".repeat(100_000)}), "/command"),
        (
            "run_code",
            json!({"language": "perl", "code": "1"}),
            "/language",
        ),
        (
            "run_code",
            json!({"language": "bash", "code": "é".repeat(100_000)}),
            "/code",
        ),
        (
            "run_code",
            json!({"language": "bash", "code": "1", "args": ["a\u{0}"]}),
            "/args/0",
        ),
        (
            "run_code",
            json!({"language": "bash", "code": "1", "env": {"a=b": "c"}}),
            "/env/a=b",
        ),
        (
            "run_code",
            json!({"language": "bash", "code": "1", "env": {"": "c"}}),
            "/env/",
        ),
        (
            "run_code",
            json!({"language": "bash", "code": "1", "timeout": 0}),
            "/timeout",
        ),
        (
            "run_code",
            json!({"language": "bash", "code": "1", "timeout": 1e300}),
            "/timeout",
        ),
    ] {
        let outcome = call(&test, tool, arguments).await;
        assert_eq!(code(&outcome), ErrorCode::InvalidArguments, "{pointer}");
        assert_eq!(detail(&outcome, "faults")[0]["pointer"], pointer);
    }
}

#[tokio::test]
async fn time_that_is_up_ends_every_process_and_keeps_what_was_printed() {
    // `setsid` leaves the process group; a background job keeps the pipe open.
    for command in [
        "echo before; echo oops >&2; sleep 300 & sleep 300",
        "echo before; echo oops >&2; setsid sleep 300 & sleep 300",
    ] {
        let test = test();
        let marker = test.path().join("pid");
        let command = format!("echo $$ > pid; {command}");
        let started = Instant::now();
        let request = CallRequest::new("shell").arg("command", command.clone());
        let outcome = test
            .registry()
            .execute(request.timeout(Duration::from_secs(1)))
            .await;
        assert_eq!(code(&outcome), ErrorCode::Timeout, "{command}");
        assert!(started.elapsed() < Duration::from_secs(3), "{command}");
        assert_eq!(detail(&outcome, "stdout"), "before\n", "{command}");
        assert_eq!(detail(&outcome, "stderr"), "oops\n", "{command}");
        assert!(outcome.sandbox.is_some());
        assert!(marker.exists());
        assert_no_process_in(test.path());
    }
}

#[tokio::test]
async fn code_has_the_time_it_asks_for_and_no_more() {
    let test = test();
    let outcome = call(
        &test,
        "run_code",
        json!({"language": "python", "code": "print('hi')\nimport time\ntime.sleep(300)", "timeout": 2.5}),
    )
    .await;
    assert_eq!(code(&outcome), ErrorCode::Timeout);
    assert_eq!(
        outcome.error().unwrap().message(),
        "`run_code` did not finish within 2500 ms"
    );
    assert_eq!(detail(&outcome, "stdout"), "hi\n");
    assert_no_process_in(test.path());
}

#[tokio::test]
async fn a_cancelled_command_leaves_no_process_and_its_output() {
    let test = test();
    let cancel = CancellationToken::new();
    let request = CallRequest::new("shell")
        .arg("command", "echo before; sleep 300")
        .cancel_with(cancel.clone());
    let handle = test.registry().execute_async(request);
    let mut events = handle.events();
    while let Some(event) = events.next().await {
        if matches!(event.kind, EventKind::Output { .. }) {
            cancel.cancel();
        }
    }
    let outcome = handle.outcome().await;
    assert_eq!(code(&outcome), ErrorCode::Cancelled);
    assert_eq!(detail(&outcome, "stdout"), "before\n");
    assert_no_process_in(test.path());
}

#[tokio::test]
async fn output_is_streamed_while_the_command_runs() {
    let test = test();
    // The second line is printed only once the first was seen.
    let request = CallRequest::new("shell").arg(
        "command",
        "echo first; echo warn >&2; until [ -e seen ]; do sleep 0.01; done; printf 'caf\\xc3'; sleep 0.05; printf '\\xa9'",
    );
    let handle = test.registry().execute_async(request);
    let mut events = handle.events();
    let (mut out, mut err) = (String::new(), String::new());
    while let Some(event) = events.next().await {
        if let EventKind::Output { stream, chunk, .. } = &event.kind {
            match stream {
                OutputStream::Stdout => out.push_str(chunk),
                OutputStream::Stderr => err.push_str(chunk),
            }
            if out.contains("first") {
                std::fs::write(test.path().join("seen"), "").unwrap();
            }
        }
    }
    assert_eq!((out.as_str(), err.as_str()), ("first\ncafé", "warn\n"));
    assert!(handle.outcome().await.is_ok());
}

#[tokio::test]
async fn a_flood_of_output_is_cut_to_head_and_tail() {
    let outcome = shell(
        &test(),
        "echo HEAD; head -c 50000000 /dev/zero | tr '\\0' y; echo TAIL",
    )
    .await;
    let value = outcome.value().unwrap_or_else(|| panic!("{outcome:?}"));
    let text = value["stdout"].as_str().unwrap();
    assert!(text.starts_with("HEAD\n") && text.ends_with("TAIL\n"));
    assert!(text.len() <= 1024 * 1024, "{}", text.len());
    assert_eq!(text.matches("bytes left out]").count(), 1);
    assert!(outcome.truncated);
}

#[tokio::test]
async fn a_signal_or_a_limit_is_an_error_with_what_was_printed() {
    let test = test();
    let outcome = shell(&test, "echo before; kill -9 $$").await;
    assert_eq!(code(&outcome), ErrorCode::ExecutionError);
    assert_eq!(detail(&outcome, "stdout"), "before\n");
    assert_eq!(detail(&outcome, "exitCode"), 137);
    assert_eq!(detail(&outcome, "signal"), 9);

    let test = test_with(SandboxSettings {
        options: SandboxOptions {
            memory: Some(64 << 20),
            ..SandboxOptions::default()
        },
        ..SandboxSettings::default()
    });
    let hungry = json!({"language": "python", "code": "print('before')\nx = b'x' * (300 << 20)"});
    let outcome = call(&test, "run_code", hungry).await;
    if outcome
        .sandbox
        .as_ref()
        .unwrap()
        .layers
        .iter()
        .any(|layer| layer == "memory-limit")
    {
        assert_eq!(code(&outcome), ErrorCode::ExecutionError);
        assert_eq!(detail(&outcome, "limit"), "memory");
        assert_eq!(detail(&outcome, "stdout"), "before\n");
    } else {
        println!("SKIPPED the memory limit: no cgroup that counts memory can be used here");
    }
}

#[tokio::test]
async fn cpu_time_has_its_own_limit() {
    let test = test_with(SandboxSettings {
        cpu: Some(Duration::from_secs(1)),
        ..SandboxSettings::default()
    });
    for (tool, args) in [
        (
            "shell",
            json!({"command": "echo before; while :; do :; done"}),
        ),
        (
            "run_code",
            json!({"language": "python", "code": "print('before', flush=True)\nwhile True: pass"}),
        ),
    ] {
        let outcome = call(&test, tool, args).await;
        assert_eq!(code(&outcome), ErrorCode::ExecutionError, "{tool}");
        assert_eq!(detail(&outcome, "limit"), "cpuSeconds", "{tool}");
        let layers = &outcome.sandbox.as_ref().unwrap().layers;
        let has = |name: &str| layers.iter().any(|layer| layer == name);
        // Where no cgroup counts, each process has the limit for itself, and the outcome says no more than that.
        assert!(
            has("cpu-limit") || has("cpu-limit-per-process"),
            "{layers:?}"
        );
        assert_eq!(detail(&outcome, "stdout"), "before\n", "{tool}");
    }
}

#[tokio::test]
async fn a_fork_bomb_stays_within_its_processes() {
    let test = test_with(SandboxSettings {
        options: SandboxOptions {
            pids: Some(32),
            ..SandboxOptions::default()
        },
        ..SandboxSettings::default()
    });
    let bomb = "import os, time\nn = 0\ntry:\n  for i in range(200):\n    if os.fork() == 0:\n      time.sleep(300)\n    n += 1\nexcept OSError:\n  print('refused after', n)";
    let outcome = call(
        &test,
        "run_code",
        json!({"language": "python", "code": bomb, "timeout": 20}),
    )
    .await;
    let value = outcome.value().unwrap_or_else(|| panic!("{outcome:?}"));
    assert!(
        value["stdout"]
            .as_str()
            .unwrap()
            .starts_with("refused after"),
        "{value}"
    );
    assert_no_process_in(test.path());
}

#[tokio::test]
async fn there_is_no_network() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let dial = format!(
        "import socket\ntry:\n  socket.create_connection(('127.0.0.1', {port}), 2)\n  print('reached')\nexcept OSError:\n  print('refused')"
    );
    let arguments = json!({"language": "python", "code": dial});
    let outcome = call(&test(), "run_code", arguments.clone()).await;
    assert_eq!(outcome.value().unwrap()["stdout"], "refused\n");
    let open = test_with(SandboxSettings {
        network: NetworkAccess::Full,
        ..SandboxSettings::default()
    });
    let outcome = call(&open, "run_code", arguments).await;
    assert_eq!(
        outcome.value().unwrap()["stdout"],
        "reached\n",
        "{outcome:?}"
    );
}

#[tokio::test]
async fn with_the_listed_network_programs_reach_what_the_setting_names() {
    let server = ScriptedServer::start(|_| Reply::ok("hello"));
    let other = ScriptedServer::start(|_| Reply::ok("never"));
    let egress = Egress::new(EgressOptions {
        allowed_hosts: AllowedHosts::parse([server.host().as_str()]).unwrap(),
        ..EgressOptions::default()
    });
    let open = test_with(SandboxSettings {
        network: NetworkAccess::Listed,
        options: SandboxOptions {
            egress: Some(egress.unwrap()),
            ..SandboxOptions::default()
        },
        ..SandboxSettings::default()
    });
    let fetch = format!(
        "for url in {} {}; do curl -s -w ' %{{http_code}}\n' $url | tail -n1; done; curl -s --noproxy '*' {1}; echo $?",
        server.url("/"),
        other.url("/"),
    );
    let by_shell = call(&open, "shell", json!({"command": fetch})).await;
    let code = json!({"language": "bash", "code": fetch});
    let by_code = call(&open, "run_code", code).await;
    for outcome in [by_shell, by_code] {
        assert_eq!(outcome.value().unwrap()["stdout"], "hello 200\n 403\n7\n");
    }
    assert_eq!((server.connections(), other.connections()), (2, 0));
    // Where no one has set a way out up there is none.
    let without = test_with(SandboxSettings {
        network: NetworkAccess::Listed,
        ..SandboxSettings::default()
    });
    let outcome = call(&without, "shell", json!({"command": "true"})).await;
    assert_eq!(
        outcome.error().unwrap().code(),
        ErrorCode::SandboxUnavailable
    );
}

/// A machine that lacks what a level needs.
fn poorer(layer: Layer, settings: SandboxSettings) -> TestCrib {
    let support = Sandbox::new().unwrap().support().clone().without(layer);
    test_with(SandboxSettings {
        options: SandboxOptions {
            sandbox: Some(Sandbox::with_support(support).unwrap()),
            ..settings.options
        },
        ..settings
    })
}

#[tokio::test]
async fn code_falls_back_to_the_process_level_and_says_so() {
    let test = poorer(Layer::NetworkNamespace, SandboxSettings::default());
    let outcome = call(
        &test,
        "run_code",
        json!({"language": "bash", "code": "echo hi"}),
    )
    .await;
    let sandbox = outcome
        .sandbox
        .unwrap_or_else(|| panic!("{:?}", outcome.result));
    assert_eq!(
        (sandbox.requested.as_str(), sandbox.level.as_str()),
        ("container", "process")
    );
}

#[tokio::test]
async fn a_level_that_was_named_is_never_lowered() {
    let named = SandboxSettings {
        code: Some(Level::Container),
        ..SandboxSettings::default()
    };
    let test = poorer(Layer::NetworkNamespace, named);
    let outcome = call(
        &test,
        "run_code",
        json!({"language": "bash", "code": "echo hi > made"}),
    )
    .await;
    assert_eq!(code(&outcome), ErrorCode::SandboxUnavailable);
    assert!(!test.path().join("made").exists());

    let test = poorer(Layer::Landlock, SandboxSettings::default());
    let outcome = shell(&test, "echo hi > made").await;
    assert_eq!(code(&outcome), ErrorCode::SandboxUnavailable);
    assert!(
        outcome.error().unwrap().message().contains("landlock"),
        "{outcome:?}"
    );
    assert!(!test.path().join("made").exists());
}

#[tokio::test]
async fn without_isolation_a_person_is_asked_every_time() {
    let bare = SandboxSettings {
        shell: Some(Level::None),
        ..SandboxSettings::default()
    };
    let test = test_with(bare).answers([ApprovalResponse::approve("test")]);
    let outcome = shell(&test, "echo hi").await;
    assert_eq!(outcome.sandbox.as_ref().unwrap().level, "none");
    assert!(outcome.is_ok());
    assert_eq!(
        test.asked()[0].effect,
        "run `echo hi` without any isolation"
    );
    assert_eq!(
        code(&shell(&test, "echo hi").await),
        ErrorCode::ApprovalUnavailable
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_commands_at_once_do_not_disturb_each_other() {
    let test = test();
    let calls = (0..40).map(|number| {
        let request = CallRequest::new("shell")
            .arg("command", format!("echo {number}; sleep 0.0{}", number % 7));
        test.registry().execute_async(request).outcome()
    });
    let outcomes = futures_util::future::join_all(calls).await;
    for (number, outcome) in outcomes.iter().enumerate() {
        let value = outcome.value().unwrap_or_else(|| panic!("{outcome:?}"));
        assert_eq!(value["stdout"], format!("{number}\n"));
    }
}

#[tokio::test]
async fn protected_names_cannot_be_written_by_a_command_between_other_calls() {
    let test = test().file(".git/config", "[core]\n");
    for _ in 0..3 {
        let outcome = shell(
            &test,
            "echo evil >> .git/config; mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit",
        )
        .await;
        assert_ne!(outcome.value().unwrap()["exitCode"], 0);
    }
    assert_eq!(
        std::fs::read_to_string(test.path().join(".git/config")).unwrap(),
        "[core]\n"
    );
    assert!(!test.path().join(".git/hooks/pre-commit").exists());
}

#[tokio::test]
async fn a_repository_that_a_command_made_is_protected_from_the_next() {
    let test = test();
    shell(&test, "true").await;
    let made = shell(
        &test,
        "mkdir -p sub/.git/hooks && echo '[core]' > sub/.git/config",
    )
    .await;
    assert_eq!(made.value().unwrap()["exitCode"], 0, "{made:?}");
    assert!(!made.sandbox.unwrap().planted.is_empty());
    let outcome = shell(&test, "echo evil > sub/.git/hooks/pre-commit").await;
    assert_ne!(outcome.value().unwrap()["exitCode"], 0);
    assert!(!test.path().join("sub/.git/hooks/pre-commit").exists());
}

/// No process has the directory as its own any more; they are gone, or about to be.
fn assert_no_process_in(directory: &Path) {
    let directory = directory.canonicalize().unwrap();
    let left = || {
        std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            let is_process = entry.file_name().to_string_lossy().parse::<u32>().is_ok();
            is_process
                && std::fs::read_link(entry.path().join("cwd"))
                    .is_ok_and(|cwd| cwd.starts_with(&directory))
        })
    };
    assert!(!left(), "a process is left");
}
