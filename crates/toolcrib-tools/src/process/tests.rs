//! Real commands behind the real sandbox, run for real calls. What only the pipeline shows is in `tests/it/programs.rs`.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{CallTemp, Dialogue, Run, Runner, SandboxOptions, Wall};
use crate::call::event::OutputStream;
use crate::call::request::CallRequest;
use crate::model::error::{ErrorCode, Failure};
use crate::model::outcome::Outcome;
use crate::sandbox::{Command, Layer, Level, Sandbox, Stdin};
use crate::testing::TestCrib;
use toolcrib_core::function::FnTool;

const LEVELS: [Level; 3] = [Level::None, Level::Process, Level::Container];

fn bash(script: &str) -> Command {
    Command::new("bash").args(["-c", script])
}

/// A crib with a tool that runs what `make` says behind a wall.
struct Bench {
    test: TestCrib,
    runner: Arc<Runner>,
}

impl Bench {
    fn new() -> Self {
        Self::with(SandboxOptions::default())
    }

    fn with(options: SandboxOptions) -> Self {
        Bench {
            test: TestCrib::new(),
            runner: Arc::new(Runner::new(options)),
        }
    }

    fn add(&self, name: &str, wall: Wall, make: impl Fn() -> Run + Send + Sync + 'static) {
        let (runner, make) = (Arc::clone(&self.runner), Arc::new(make));
        let tool = FnTool::new(name, "Runs a command", move |(), cx| {
            let (runner, wall, make) = (Arc::clone(&runner), wall.clone(), Arc::clone(&make));
            async move {
                let finished = runner.run(&cx, &wall, make()).await?;
                Ok::<_, Failure>(json!({
                    "stdout": finished.stdout,
                    "stderr": finished.stderr,
                    "output": finished.output,
                    "exitCode": finished.exit_code,
                    "isOutputCut": finished.is_output_cut,
                }))
            }
        });
        self.test.registry().register(tool.unwrap()).unwrap();
    }

    async fn call(&self, name: &str) -> Outcome {
        self.test.registry().execute(CallRequest::new(name)).await
    }

    async fn run(&self, wall: Wall, make: impl Fn() -> Run + Send + Sync + 'static) -> Outcome {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("run_{number}");
        self.add(&name, wall, make);
        self.call(&name).await
    }

    async fn script(&self, wall: Wall, script: impl Into<String>) -> Outcome {
        let script = script.into();
        self.run(wall, move || Run::new(bash(&script))).await
    }
}

fn value(outcome: &Outcome) -> &Value {
    outcome.value().unwrap_or_else(|| panic!("{outcome:?}"))
}

fn code(outcome: &Outcome) -> ErrorCode {
    outcome
        .error()
        .unwrap_or_else(|| panic!("{outcome:?}"))
        .code()
}

fn detail<'a>(outcome: &'a Outcome, key: &str) -> &'a Value {
    &outcome.error().unwrap().details().unwrap()[key]
}

#[tokio::test]
async fn output_has_both_streams_in_the_order_of_arrival_without_the_last_newline() {
    let bench = Bench::new();
    for level in LEVELS {
        let outcome = bench
            .script(Wall::of(level), "echo a; echo b >&2; echo c; echo >&2")
            .await;
        let value = value(&outcome);
        assert_eq!(value["output"], "a\nb\nc\n", "{level}");
        assert_eq!(
            (&value["stdout"], &value["stderr"]),
            (&json!("a\nc\n"), &json!("b\n\n")),
            "{level}"
        );
    }
}

#[tokio::test]
async fn a_character_of_one_stream_is_not_torn_by_the_other() {
    let outcome = Bench::new()
        .script(
            Wall::of(Level::Process),
            r"printf '\xc3'; printf 'b\n' >&2; printf '\xa9\n'",
        )
        .await;
    assert_eq!(value(&outcome)["output"], "b\né");
}

#[tokio::test]
async fn a_run_keeps_no_more_than_it_may() {
    let bench = Bench::new();
    let run = || Run {
        keep: Some(1000),
        ..Run::new(bash("echo HEAD; seq 1 5000; echo TAIL; echo short >&2"))
    };
    let outcome = bench.run(Wall::of(Level::Process), run).await;
    let value = value(&outcome);
    for stream in ["stdout", "output"] {
        let text = value[stream].as_str().unwrap();
        assert!(
            text.len() <= 1000 && text.starts_with("HEAD\n"),
            "{stream}: {text}"
        );
        assert!(text.contains("bytes left out]"), "{stream}: {text}");
    }
    assert_eq!(value["stderr"], "short\n");
    assert_eq!(value["isOutputCut"], true);
    assert!(outcome.truncated);
    // Together too much, though neither stream is.
    let run = || Run {
        keep: Some(1000),
        ..Run::new(bash("seq 1 200; seq 1 200 >&2"))
    };
    let outcome = bench.run(Wall::of(Level::Process), run).await;
    assert_eq!(value_of(&outcome, "isOutputCut"), true);
    assert!(!outcome.truncated);
    // The call's limit is the most.
    let run = || Run {
        keep: Some(u64::MAX),
        ..Run::new(bash("head -c 3000000 /dev/zero | tr '\\0' x"))
    };
    let outcome = bench.run(Wall::of(Level::Process), run).await;
    assert!(value_of(&outcome, "stdout").as_str().unwrap().len() <= 1 << 20);
}

fn value_of<'a>(outcome: &'a Outcome, key: &str) -> &'a Value {
    &value(outcome)[key]
}

#[tokio::test]
async fn a_sink_gets_the_output_instead_of_the_events() {
    let bench = Bench::new();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&heard);
    let run = move || {
        let to = Arc::clone(&to);
        Run {
            sink: Some(Box::new(move |stream, text| {
                to.lock().unwrap().push((stream, text.to_owned()));
            })),
            ..Run::new(bash("echo out; echo err >&2"))
        }
    };
    bench.add("quiet", Wall::of(Level::Process), run);
    let handle = bench
        .test
        .registry()
        .execute_async(CallRequest::new("quiet"));
    let mut events = handle.events();
    let outcome = handle.outcome().await;
    assert_eq!(value_of(&outcome, "stdout"), "out\n");
    assert_eq!(
        *heard.lock().unwrap(),
        [
            (OutputStream::Stdout, "out\n".to_owned()),
            (OutputStream::Stderr, "err\n".to_owned())
        ]
    );
    while let Some(event) = events.next().await {
        assert!(!format!("{event:?}").contains("Output"), "{event:?}");
    }
}

#[tokio::test]
async fn what_ends_a_command_keeps_its_output_in_the_details() {
    let bench = Bench::new();
    let limits = |timeout| Run {
        timeout: Some(Duration::from_millis(timeout)),
        ..Run::new(bash("echo out; echo err >&2; sleep 100"))
    };
    let outcome = bench
        .run(Wall::of(Level::Process), move || limits(300))
        .await;
    assert_eq!(code(&outcome), ErrorCode::Timeout);
    let killed = bench
        .script(
            Wall::of(Level::Process),
            "echo out; echo err >&2; kill -9 $$",
        )
        .await;
    assert_eq!(code(&killed), ErrorCode::ExecutionError);
    for outcome in [outcome, killed] {
        assert_eq!(detail(&outcome, "output"), "out\nerr");
        assert_eq!(detail(&outcome, "stdout"), "out\n");
        assert_eq!(detail(&outcome, "stderr"), "err\n");
        assert_eq!(detail(&outcome, "exitCode"), 137);
    }
}

#[tokio::test]
async fn a_wall_opens_and_closes_what_it_says() {
    let outside = tempfile::tempdir().unwrap();
    let [read, write, other] = ["read", "write", "other"].map(|name| {
        let path = outside.path().join(name);
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("file"), name).unwrap();
        path
    });
    let bench = Bench::new();
    let script = format!(
        "cd {}; cat read/file write/file other/file; echo x > write/made; echo x > read/made; echo x > other/made",
        outside.path().display()
    );
    for level in [Level::Process, Level::Container] {
        let wall = Wall {
            read: vec![read.clone()],
            write: vec![write.clone()],
            ..Wall::of(level)
        };
        // The directory above is not there to be entered in a container.
        let script = script.replace(
            &format!("cd {};", outside.path().display()),
            &format!(
                "cd {} 2>/dev/null || cd {}/..;",
                outside.path().display(),
                write.display()
            ),
        );
        let outcome = bench.script(wall, script).await;
        assert_eq!(value_of(&outcome, "stdout"), "readwrite", "{level}");
        assert!(write.join("made").exists(), "{level}");
        assert!(!read.join("made").exists() && !other.join("made").exists());
        std::fs::remove_file(write.join("made")).unwrap();
        // The same level without it.
        let path = read.join("file");
        let outcome = bench
            .script(Wall::of(level), format!("cat {}", path.display()))
            .await;
        assert_eq!(value_of(&outcome, "stdout"), "", "{level}");
    }
}

#[tokio::test]
async fn what_a_wall_names_and_is_not_there_is_refused_without_its_path() {
    let bench = Bench::new();
    for path in ["/nowhere/secret-place", "/proc", "/"] {
        let wall = Wall {
            write: vec![path.into()],
            ..Wall::of(Level::Process)
        };
        let outcome = bench.script(wall, "echo ran").await;
        assert_eq!(code(&outcome), ErrorCode::SandboxUnavailable, "{path}");
        let text = format!("{:?}", outcome.error().unwrap().message());
        assert!(!text.contains("secret-place"), "{text}");
    }
}

#[tokio::test]
async fn memory_is_the_less_of_the_walls_and_the_operators() {
    const MB: u64 = 1 << 20;
    let hungry = "python3 -c 'x = bytearray(100 << 20); print(len(x))'";
    for (operator, wall, fits) in [
        (Some(400 * MB), Some(40 * MB), false),
        (Some(40 * MB), Some(400 * MB), false),
        (Some(400 * MB), Some(300 * MB), true),
    ] {
        let bench = Bench::with(SandboxOptions {
            memory: operator,
            ..SandboxOptions::default()
        });
        let wall = Wall {
            memory: wall,
            ..Wall::of(Level::Process)
        };
        let outcome = bench.script(wall, hungry).await;
        let ran = outcome
            .value()
            .is_some_and(|value| value["stdout"] == "104857600\n");
        assert_eq!(ran, fits, "{operator:?}: {outcome:?}");
    }
}

#[tokio::test]
async fn reduced_rights_are_had_or_refused_with_the_reason() {
    let bench = Bench::new();
    let reduced = |level| Wall {
        reduced: true,
        ..Wall::of(level)
    };
    let outcome = bench.script(reduced(Level::None), "id -u").await;
    assert_eq!(code(&outcome), ErrorCode::SandboxUnavailable);
    let message = outcome.error().unwrap().message();
    assert!(message.contains("`none` cannot reduce"), "{message}");
    if !rustix::process::geteuid().is_root() {
        let outcome = bench.script(reduced(Level::Process), "id -u").await;
        assert_eq!(code(&outcome), ErrorCode::SandboxUnavailable);
        return;
    }
    let outcome = bench.script(reduced(Level::Container), "id -u").await;
    assert_eq!(value_of(&outcome, "stdout"), "60999\n");
    // The workspace of a test is closed to others, so that the way to it is.
    let outcome = bench.script(reduced(Level::Process), "id -u").await;
    let closed = outcome
        .error()
        .is_some_and(|error| error.message().contains("a directory above it"));
    assert!(
        closed
            || outcome
                .value()
                .is_some_and(|value| value["stdout"] == "60999\n"),
        "{outcome:?}"
    );
    // A machine that cannot give another uid.
    let support = Sandbox::new().unwrap().support().clone();
    let bench = Bench::with(SandboxOptions {
        sandbox: Some(Sandbox::with_support(support.without(Layer::OwnUser)).unwrap()),
        ..SandboxOptions::default()
    });
    let outcome = bench.script(reduced(Level::Process), "id -u").await;
    assert_eq!(code(&outcome), ErrorCode::SandboxUnavailable);
}

#[tokio::test]
async fn many_walls_are_kept_up_to_a_number_and_none_for_long() {
    let bench = Bench::new();
    let places: Vec<_> = (0..12).map(|_| tempfile::tempdir().unwrap()).collect();
    for place in &places {
        let wall = Wall {
            write: vec![place.path().to_owned()],
            ..Wall::of(Level::Process)
        };
        let outcome = bench
            .script(wall, format!("echo x > {}/made", place.path().display()))
            .await;
        assert_eq!(value_of(&outcome, "exitCode"), 0);
        assert!(place.path().join("made").exists());
    }
    assert!(bench.runner.kept_now() <= 8);
    let until = Instant::now() + Duration::from_secs(10);
    while bench.runner.kept_now() > 0 && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(bench.runner.kept_now(), 0);
}

#[tokio::test]
async fn a_run_that_outlives_its_call_ends_by_its_own_time_only() {
    let bench = Bench::new();
    let directory = bench.test.path().to_owned();
    let done = directory.join("done");
    let runner = Arc::clone(&bench.runner);
    // A tool that never ends, and that leaves its cleaning up to its own task, as its future is dropped.
    struct CleansUp(Option<Box<dyn FnOnce() + Send>>);
    impl Drop for CleansUp {
        fn drop(&mut self) {
            if let Some(clean) = self.0.take() {
                clean();
            }
        }
    }
    let tool = FnTool::new("endless", "Never ends", move |(), cx| {
        let (runner, call) = (Arc::clone(&runner), cx);
        async move {
            let _guard = CleansUp(Some(Box::new(move || {
                tokio::spawn(async move {
                    let run = Run {
                        outlives_call: true,
                        timeout: Some(Duration::from_secs(20)),
                        ..Run::new(bash("sleep 0.2; echo x > done"))
                    };
                    let _ = runner.run(&call, &Wall::of(Level::Process), run).await;
                });
            })));
            std::future::pending::<()>().await;
            Ok::<_, Failure>(())
        }
    });
    bench.test.registry().register(tool.unwrap()).unwrap();
    let mut request = CallRequest::new("endless");
    request.limits.timeout_ms = Some(50);
    let outcome = bench.test.registry().execute(request).await;
    assert_eq!(code(&outcome), ErrorCode::Timeout);
    let until = Instant::now() + Duration::from_secs(10);
    while !done.exists() && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(done.exists());
}

#[tokio::test]
async fn a_run_that_outlives_its_call_does_not_outlive_its_time() {
    let bench = Bench::new();
    let run = || Run {
        outlives_call: true,
        timeout: Some(Duration::from_millis(200)),
        ..Run::new(bash("sleep 100"))
    };
    let outcome = bench.run(Wall::of(Level::Process), run).await;
    assert_eq!(code(&outcome), ErrorCode::Timeout);
}

#[tokio::test]
async fn commands_of_a_call_share_its_temporary_directory_at_every_level() {
    let bench = Bench::new();
    for level in LEVELS {
        for reduced in [false, true] {
            if reduced && (level == Level::None || !rustix::process::geteuid().is_root()) {
                continue;
            }
            let workspace = Arc::clone(bench.test.registry().workspace().unwrap());
            let temp = CallTemp::create(&workspace).unwrap();
            let path = temp.path().to_owned();
            assert!(!path.starts_with(workspace.root()));
            let script = temp.write("script.sh", b"echo from the script").unwrap();
            let wall = Wall {
                write: vec![path.clone()],
                reduced,
                ..Wall::of(level)
            };
            let at = path.display();
            let first = bench
                .script(wall.clone(), format!("bash {}; mkdir -p {at}/a/b; echo one > {at}/a/b/c; chmod 500 {at}/a/b {at}/a", script.display()))
                .await;
            if reduced && first.error().is_some() {
                // At process level the way to the workspace of a test may be closed to others.
                assert_eq!(level, Level::Process);
                continue;
            }
            assert_eq!(
                value_of(&first, "output"),
                "from the script",
                "{level} {reduced}"
            );
            let second = bench.script(wall, format!("cat {at}/a/b/c")).await;
            assert_eq!(value_of(&second, "output"), "one", "{level} {reduced}");
            // No one else sees it.
            if level > Level::None {
                let other = bench.script(Wall::of(level), format!("ls -d {at}")).await;
                assert_eq!(value_of(&other, "stdout"), "", "{level}");
            }
            drop(temp);
            assert!(!path.exists(), "{level} {reduced}");
        }
    }
}

#[tokio::test]
async fn a_program_that_asks_is_answered() {
    let bench = Bench::new();
    for level in LEVELS {
        let run = || Run {
            dialogue: Some(Dialogue {
                timeout: Duration::from_millis(200),
                default_response: Some("yes".to_owned()),
                typed: None,
            }),
            ..Run::new(bash("[ -t 0 ] && read -p 'sure? ' x; echo; echo \"[$x]\""))
        };
        let outcome = bench.run(Wall::of(level), run).await;
        let output = value_of(&outcome, "output").as_str().unwrap().to_owned();
        assert!(
            output.contains("sure? ") && output.ends_with("[yes]"),
            "{level}: {output}"
        );
        assert_eq!(value_of(&outcome, "stderr"), "", "{level}");
    }
}

#[tokio::test]
async fn what_a_person_types_reaches_the_program() {
    let bench = Bench::new();
    let run = || {
        let (keys, typed) = tokio::sync::mpsc::channel(4);
        keys.try_send(b"ada\n".to_vec()).unwrap();
        Run {
            dialogue: Some(Dialogue {
                timeout: Duration::from_secs(20),
                default_response: Some("nobody".to_owned()),
                typed: Some(typed),
            }),
            // The typing end goes away; input that was typed before is still read.
            ..Run::new(
                bash("read -p 'name? ' x; echo \"hello $x\"; read y; echo \"$y\"")
                    .stdin(Stdin::Bytes(b"first\n".to_vec())),
            )
        }
    };
    let outcome = bench.run(Wall::of(Level::Process), run).await;
    let output = value_of(&outcome, "output").as_str().unwrap().to_owned();
    assert!(
        output.contains("hello first\n") && output.ends_with("ada"),
        "{output}"
    );
}

#[tokio::test]
async fn a_program_that_waits_in_vain_is_a_timeout_that_says_so() {
    let bench = Bench::new();
    let run = || Run {
        dialogue: Some(Dialogue {
            timeout: Duration::from_millis(100),
            default_response: None,
            typed: None,
        }),
        ..Run::new(bash("read -p 'who? ' x"))
    };
    let outcome = bench.run(Wall::of(Level::Process), run).await;
    assert_eq!(code(&outcome), ErrorCode::Timeout);
    let message = outcome.error().unwrap().message();
    assert!(message.contains("waits for input"), "{message}");
    assert_eq!(detail(&outcome, "output"), "who? ");
}

#[tokio::test]
async fn an_elevated_command_is_not_kept_from_it_without_isolation() {
    let outcome = Bench::new()
        .script(
            Wall::of(Level::None),
            "grep NoNewPrivs /proc/self/status; grep Seccomp: /proc/self/status",
        )
        .await;
    assert_eq!(value_of(&outcome, "output"), "NoNewPrivs:\t0\nSeccomp:\t0");
}
