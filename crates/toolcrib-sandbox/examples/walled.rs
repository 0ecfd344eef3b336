//! Runs a command in the current directory behind the wall of the level named first, and prints the report.
//!
//! `cargo run -p toolcrib-sandbox --example walled -- process bash -c 'echo hello; ls /root'`

use std::io::Write;
use toolcrib_sandbox::{Cancel, Command, Level, Policy, Sandbox, Stream};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let level: Level = arguments
        .next()
        .ok_or("name a level: none, process or container")?
        .parse()?;
    let program = arguments.next().ok_or("name a command")?;
    let sandbox = Sandbox::new()?;
    let prepared = sandbox.prepare(&Policy::new(level, std::env::current_dir()?))?;
    let mut print = |stream, bytes: &[u8]| {
        let _ = match stream {
            Stream::Stdout => std::io::stdout().write_all(bytes),
            Stream::Stderr => std::io::stderr().write_all(bytes),
        };
    };
    let report = prepared.run(
        &Command::new(program).args(arguments),
        &mut print,
        &Cancel::new()?,
    )?;
    eprintln!("{report:#?}");
    Ok(())
}
