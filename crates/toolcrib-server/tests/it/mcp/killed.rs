//! Case APR-015: a server that is killed while a question waits. The server is this very program, started once more.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use toolcrib::config::Surroundings;
use toolcrib::crib::Approvals;
use toolcrib::{CribOptions, FnTool};

use super::*;

const DIRECTORY: &str = "TOOLCRIB_TEST_KILLED";

fn open(directory: &Path) -> Arc<Crib> {
    let (home, work) = (directory.join("home"), directory.join("work"));
    let variables = [("HOME", directory.to_str().unwrap())];
    let crib = CribOptions::default()
        .surroundings(Surroundings::new(&work, variables))
        .home(home)
        .workspace(work)
        .approvals(Approvals::Queue { wait: None })
        .open();
    Arc::new(crib.unwrap())
}

#[tokio::test]
#[ignore = "the server that another test starts and kills"]
async fn serves_until_it_is_killed() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let crib = open(Path::new(&directory));
    let log = Path::new(&directory).join("launched");
    let launch = FnTool::new("launch", "Launches", move |(), _cx| {
        let log = log.clone();
        async move {
            let log = std::fs::File::options().create(true).append(true).open(log);
            writeln!(log?, "launched")?;
            Ok("gone")
        }
    });
    let registry = crib.registry();
    registry.register(launch.unwrap().always_ask()).unwrap();
    let server = Server::new(Arc::new(Described(CribHost::new(
        crib,
        HostOptions::default(),
    ))));
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    let _ = server
        .serve_stdio(input, output, StdioOptions::new("mcp"))
        .await;
    std::process::exit(0);
}

struct Served {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Served {
    fn start(directory: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "mcp::killed::serves_until_it_is_killed",
                "--exact",
                "--ignored",
                "--nocapture",
            ])
            .env(DIRECTORY, directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Served {
            child,
            input,
            output,
        }
    }

    fn launch(&mut self) -> Value {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "launch", "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }}});
        writeln!(self.input, "{call}").unwrap();
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "it ended");
            // The test harness says something first.
            if let Some(at) = line.find('{')
                && let Ok(message) = serde_json::from_str::<Value>(&line[at..])
            {
                return message["result"].clone();
            }
        }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn an_approval_that_comes_after_the_server_was_killed_runs_nothing_twice() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    std::fs::create_dir(directory.join("home")).unwrap();
    std::fs::create_dir(directory.join("work")).unwrap();
    std::fs::write(
        directory.join("home/config.toml"),
        "mcp.approvalWaitMs = 50\n",
    )
    .unwrap();
    let launched = || {
        let log = std::fs::read_to_string(directory.join("launched"));
        log.map_or(0, |log| log.lines().count())
    };
    let mut first = Served::start(directory);
    let pending = first.launch();
    assert_eq!(
        pending["_meta"]["toolcrib/call"]["status"], "pending",
        "{pending}"
    );
    first.kill();
    let crib = open(directory);
    let left = crib
        .approvals()
        .list(Some(Status::Pending))
        .unwrap()
        .requests;
    let [question] = left.as_slice() else {
        panic!("{left:?}")
    };
    assert!(!question.waiting);
    let (id, digest) = (
        &question.request.id,
        Some(question.request.args_digest.as_str()),
    );
    crib.answer(id, digest, ApprovalResponse::approve("Ada"))
        .unwrap();
    assert!(
        crib.answer(id, digest, ApprovalResponse::approve("Ada"))
            .is_err()
    );
    assert_eq!(launched(), 0, "no one is there to run it");
    let mut second = Served::start(directory);
    let done = second.launch();
    assert_eq!(done["content"][0]["text"], "gone", "{done}");
    let next = second.launch();
    assert_eq!(
        next["_meta"]["toolcrib/call"]["status"], "pending",
        "{next}"
    );
    assert_eq!(launched(), 1);
    second.kill();
}
