//! `toolcrib upstream` through a server.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Map, Value, json};
use toolcrib_server::client::{Ask, ClientError};

use super::super::Done;
use super::super::confirm::{confirmed, declined};
use super::super::upstream::{
    alive, print_list, print_probe, print_shown, say_failure, say_tools, typed,
};
use super::text;
use crate::args::{Global, UpstreamCommand};
use crate::failure::CliError;
use crate::output::Output;
use crate::remote::{self, Server};

/// How long the server may take: it may have to wait for another one, twice.
const PATIENCE: Option<Duration> = Some(Duration::from_secs(150));

fn path(name: &str) -> String {
    format!("/api/upstreams/{}", Ask::encoded(name))
}

fn testing(name: &str) -> Ask {
    Ask::post_nothing(format!("{}/test", path(name))).patience(PATIENCE)
}

pub(super) fn upstream(
    command: &UpstreamCommand,
    server: &Server,
    global: &Global,
    output: &Output,
) -> Done {
    match command {
        UpstreamCommand::Add(args) => {
            let candidate = typed(args)?;
            let name = &candidate.name;
            let mut body = json!({"name": name, "settings": candidate.settings.written(), "replace": args.replace});
            if !args.yes {
                let probe = Ask::post("/api/upstreams?dryRun=true", &body).patience(PATIENCE);
                let probe = server.client.json(probe);
                let probe = server.wait(alive(name.as_str(), output, probe))?;
                say_tools(&probe, output);
                let question = format!("add `{name}` to the server with these tools? [y/n] ");
                if !confirmed(&question, global, output)? {
                    return Err(declined("nothing was added"));
                }
                body["digests"] = digests(&probe);
            }
            let add = Ask::post("/api/upstreams", &body).patience(PATIENCE);
            let added = server.client.json(add);
            let added = server.wait(alive(name.as_str(), output, added))?;
            print_document(&added, output, print_probe);
        }
        UpstreamCommand::Import(_) => {
            return Err(CliError::usage(
                "`toolcrib upstream import` reads files of this machine, and the server may be on another",
            )
            .with_hint("leave --server out, or add them one by one with `toolcrib upstream add`"));
        }
        UpstreamCommand::List => {
            print_list(&json!(server.rows("/api/upstreams", "upstreams")?), output);
        }
        UpstreamCommand::Show { name } => {
            let shown = server.wait(server.client.get(&path(name)))?;
            print_shown(&shown, output);
        }
        UpstreamCommand::Test { names } => {
            let names = match names.as_slice() {
                [] => {
                    let rows = server.rows("/api/upstreams", "upstreams")?;
                    rows.iter()
                        .map(|row| text(row, "name").to_owned())
                        .collect()
                }
                names => names.to_vec(),
            };
            return test(&names, server, output);
        }
        UpstreamCommand::Accept { name, tools, yes } => {
            let tested = server.client.json(testing(name));
            let tested = server.wait(alive(name, output, tested))?;
            if !yes {
                print_probe(&tested, output);
                if !confirmed(&format!("accept this of `{name}`? [y/n] "), global, output)? {
                    return Err(declined("nothing was accepted"));
                }
            }
            // What was shown, and nothing else.
            let mut body = json!({"digests": digests(&tested)});
            if !tools.is_empty() {
                body["tools"] = json!(tools);
            }
            let accept = Ask::post(format!("{}/accept", path(name)), &body).patience(PATIENCE);
            let accepted = server.wait(server.client.json(accept))?;
            print_document(&accepted, output, print_shown);
        }
        UpstreamCommand::Login { name, .. } | UpstreamCommand::Logout { name } => {
            return Err(CliError::usage(format!(
                "logins are kept in the home of the server, and a browser is sent back to its machine: `toolcrib upstream login {name}` there"
            )));
        }
        UpstreamCommand::Rm { names, yes: _ } => {
            for name in names {
                server.wait(server.client.delete(&path(name)))?;
            }
            match output.json() {
                true => output.document(&json!({ "removed": names })),
                false => names.iter().for_each(|name| {
                    output.say(&format!("removed `{name}`, and what was accepted of it"));
                }),
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The digests of the tools that somebody has seen.
fn digests(probe: &Value) -> Value {
    let tools = probe["tools"].as_array().into_iter().flatten();
    let digests: Map<String, Value> = tools
        .map(|tool| (text(tool, "name").to_owned(), tool["digest"].clone()))
        .collect();
    Value::Object(digests)
}

fn test(names: &[String], server: &Server, output: &Output) -> Done {
    let tests = names.iter().map(|name| server.client.json(testing(name)));
    // At once: one that hangs delays nobody's answer but the last.
    let tests = futures_util::future::join_all(tests);
    let tested = server.wait(async { Ok(alive(&names.join(", "), output, tests).await) })?;
    let mut documents = Vec::new();
    let mut failed = None;
    for (name, tested) in names.iter().zip(tested) {
        match tested {
            Ok(document) => {
                if !output.json() {
                    print_probe(&document, output);
                }
                documents.push(document);
            }
            // What the server says of this one; the others may be well.
            Err(ClientError::Refused { error, .. }) => {
                documents.push(json!({"name": name, "error": error}));
                if !output.json() {
                    say_failure(name, &error, output);
                }
                failed.get_or_insert(error.code().exit_code());
            }
            Err(error) => return Err(remote::failed(&error, server.client.address())),
        }
    }
    if output.json() {
        output.document(&documents);
    }
    Ok(failed.map_or(ExitCode::SUCCESS, ExitCode::from))
}

fn print_document(document: &Value, output: &Output, print: fn(&Value, &Output)) {
    match output.json() {
        true => output.document(document),
        false => print(document, output),
    }
}
