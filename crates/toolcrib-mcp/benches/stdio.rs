//! What the protocol costs on pipes: `cargo bench -p toolcrib-mcp --bench stdio`.
//!
//! One client on real pipes of the operating system, against the server with a host that answers at once, and against a floor that reads
//! each line as JSON and writes the answer by hand. Prints ratios of the same run, because machines differ and are noisy.

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::net::unix::pipe;
use toolcrib_mcp::protocol::Implementation;
use toolcrib_mcp::rpc::RpcError;
use toolcrib_mcp::server::{
    Ask, Capabilities, Context, Description, Host, Reply, Server, StdioOptions,
};

/// How many requests wait at once.
const IN_FLIGHT: usize = 32;

fn main() {
    // `cargo test --benches` runs this too: once through is enough to see that it works.
    let quick = !std::env::args().any(|word| word == "--bench");
    let (rounds, requests) = if quick { (1, 200) } else { (9, 100_000) };
    println!(
        "{IN_FLIGHT} in flight, and one after the other; medians of {rounds} interleaved rounds\n"
    );
    let engine_at_once = Contestant {
        serve: engine::<false>,
        memory: engine_in_memory::<false>,
        modern: false,
    };
    let contestants = [
        (
            "floor",
            Contestant {
                serve: floor_on_pipes,
                memory: floor_in_memory,
                modern: false,
            },
        ),
        ("engine, 2025-11-25", engine_at_once),
        (
            "engine, 2026-07-28",
            Contestant {
                modern: true,
                ..engine_at_once
            },
        ),
        (
            "engine, host that waits",
            Contestant {
                serve: engine::<true>,
                memory: engine_in_memory::<true>,
                modern: false,
            },
        ),
    ];
    let mut times = vec![[const { Vec::new() }; 3]; contestants.len()];
    for _ in 0..rounds {
        for ((_, contestant), [piped, sequential, memory]) in contestants.iter().zip(&mut times) {
            piped.push(drive(contestant, requests, IN_FLIGHT));
            sequential.push(drive(contestant, requests / 4, 1));
            memory.push(in_memory(contestant, requests));
        }
    }
    let mut floor = None;
    for ((name, _), times) in contestants.iter().zip(times) {
        let times = times.map(|it| median(it).as_secs_f64() * 1e6);
        let floor = *floor.get_or_insert(times);
        print!("{name:24}");
        for ((time, floor), what) in
            times
                .iter()
                .zip(floor)
                .zip(["piped", "sequential", "in memory"])
        {
            print!("  {time:6.2} µs {what} ({:.2}×)", time / floor);
        }
        println!();
    }
}

#[derive(Clone, Copy)]
struct Contestant {
    serve: fn(PipeReader, PipeWriter),
    memory: fn(&[u8]) -> Vec<u8>,
    modern: bool,
}

const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
    "\n"
);

impl Contestant {
    fn write_request(&self, id: usize, out: &mut Vec<u8>) {
        let meta = if self.modern {
            r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}}"#
        } else {
            ""
        };
        writeln!(out, r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"hello from the bench"}}{meta}}}}}"#)
            .expect("memory");
    }
}

/// The time per request without the pipes and the process at their other end.
fn in_memory(contestant: &Contestant, requests: usize) -> Duration {
    let mut lines = INITIALIZE.as_bytes().to_vec();
    for id in 1..=requests {
        contestant.write_request(id, &mut lines);
    }
    let start = Instant::now();
    let answers = (contestant.memory)(&lines);
    let taken = start.elapsed();
    assert_eq!(
        answers.iter().filter(|it| **it == b'\n').count(),
        requests + 1
    );
    taken / u32::try_from(requests).expect("few enough")
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// The time per request.
fn drive(contestant: &Contestant, requests: usize, in_flight: usize) -> Duration {
    let (server_reads, mut requests_out) = std::io::pipe().expect("a pipe");
    let (mut answers_in, server_writes) = std::io::pipe().expect("a pipe");
    let serve = contestant.serve;
    let server: JoinHandle<()> = std::thread::spawn(move || serve(server_reads, server_writes));
    let mut buffer = vec![0; 64 * 1024];
    requests_out
        .write_all(INITIALIZE.as_bytes())
        .expect("a server that reads");
    assert!(answers_in.read(&mut buffer).expect("an answer") > 0);
    let mut lines = Vec::new();
    let start = Instant::now();
    let (mut sent, mut answered) = (0, 0);
    while answered < requests {
        lines.clear();
        while sent < requests && sent - answered < in_flight {
            sent += 1;
            contestant.write_request(sent, &mut lines);
        }
        requests_out.write_all(&lines).expect("a server that reads");
        let read = answers_in.read(&mut buffer).expect("answers");
        assert!(read > 0, "the server is gone");
        answered += buffer[..read].iter().filter(|it| **it == b'\n').count();
    }
    let taken = start.elapsed();
    drop(requests_out);
    server.join().expect("a server that ends");
    taken / u32::try_from(requests).expect("few enough")
}

#[derive(Deserialize)]
struct Line<'a> {
    id: Option<u64>,
    method: &'a str,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    arguments: Option<Arguments<'a>>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    text: &'a str,
}

/// The least that parses and answers.
fn floor(mut reader: impl Read, mut writer: impl Write) {
    let (mut held, mut chunk, mut out) = (Vec::new(), vec![0; 64 * 1024], Vec::new());
    loop {
        let read = reader.read(&mut chunk).expect("a pipe");
        if read == 0 {
            return;
        }
        held.extend_from_slice(&chunk[..read]);
        let mut start = 0;
        while let Some(length) = held[start..].iter().position(|it| *it == b'\n') {
            let line: Line<'_> =
                serde_json::from_slice(&held[start..start + length]).expect("JSON");
            start += length + 1;
            let Some(id) = line.id else { continue };
            let text = match line.method {
                "tools/call" => line
                    .params
                    .and_then(|it| serde_json::from_str::<Params<'_>>(it.get()).ok())
                    .and_then(|it| it.arguments)
                    .map_or("", |it| it.text),
                _ => "",
            };
            writeln!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#)
                .expect("memory");
        }
        held.drain(..start);
        writer.write_all(&out).expect("a client that reads");
        out.clear();
    }
}

fn floor_on_pipes(reader: PipeReader, writer: PipeWriter) {
    floor(reader, writer);
}

fn floor_in_memory(lines: &[u8]) -> Vec<u8> {
    let mut answers = Vec::new();
    floor(lines, &mut answers);
    answers
}

struct Echo {
    waits: bool,
}

impl Host for Echo {
    fn description(&self) -> Description {
        Description {
            info: Implementation {
                name: "bench".to_owned(),
                version: "1".to_owned(),
                ..Implementation::default()
            },
            capabilities: Capabilities {
                tools: true,
                ..Capabilities::default()
            },
            instructions: None,
        }
    }

    fn answer(
        self: Arc<Self>,
        ask: Ask,
        _context: Context,
    ) -> BoxFuture<'static, Result<Reply, RpcError>> {
        Box::pin(async move {
            if self.waits {
                tokio::task::yield_now().await;
            }
            let Ask::CallTool { arguments, .. } = ask else {
                return Err(RpcError::invalid_params("calls only"));
            };
            let arguments: Arguments<'_> = arguments
                .as_deref()
                .and_then(|it| serde_json::from_str(it.get()).ok())
                .ok_or_else(|| RpcError::invalid_params("no text"))?;
            let mut body = br#"{"content":[{"type":"text","text":""#.to_vec();
            body.extend_from_slice(arguments.text.as_bytes());
            body.extend_from_slice(br#""}]}"#);
            Ok(Reply::complete(body))
        })
    }
}

fn engine<const WAITS: bool>(reader: PipeReader, writer: PipeWriter) {
    runtime().block_on(async {
        let reader = pipe::Receiver::from_owned_fd(OwnedFd::from(reader)).expect("a pipe");
        let writer = pipe::Sender::from_owned_fd(OwnedFd::from(writer)).expect("a pipe");
        Server::new(Arc::new(Echo { waits: WAITS }))
            .serve_stdio(reader, writer, StdioOptions::new("mcp"))
            .await
            .expect("pipes");
    });
}

fn engine_in_memory<const WAITS: bool>(lines: &[u8]) -> Vec<u8> {
    let mut answers = Vec::new();
    runtime()
        .block_on(Server::new(Arc::new(Echo { waits: WAITS })).serve_stdio(
            lines,
            &mut answers,
            StdioOptions::new("mcp"),
        ))
        .expect("memory");
    answers
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}
