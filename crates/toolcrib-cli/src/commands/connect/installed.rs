//! Which clients are here, and whether they are connected: for `connect` alone and for `doctor`.

use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;
use serde_json::Value;
use toolcrib::Crib;
use toolcrib::model::text::visible;

use super::super::Done;
use super::records::Records;
use crate::clients_of_others::{
    ClientFile, Directories, Document, OtherClient, OtherServer, Scope,
};
use crate::output::Output;

/// A file of a client.
struct FoundConfig {
    client: OtherClient,
    scope: Scope,
    file: PathBuf,
    is_here: bool,
    /// The entries that are Toolcrib, or what is wrong with the file.
    entries: Result<Vec<(OtherServer, Value)>, String>,
}

/// An entry that starts Toolcrib, of a client that is here.
pub(in super::super) struct Connected {
    pub(in super::super) client: OtherClient,
    pub(in super::super) scope: Scope,
    pub(in super::super) file: PathBuf,
    pub(in super::super) server: OtherServer,
    /// Whether it is what `connect` wrote.
    pub(in super::super) is_recorded: bool,
}

fn all(crib: &Crib) -> Vec<FoundConfig> {
    let directories = Directories::of_process();
    let project = crib.workspace_path();
    let mut all = Vec::new();
    for client in OtherClient::ALL {
        for scope in [Scope::User, Scope::Project] {
            let directory = match (scope, project) {
                (Scope::Project, None) => continue,
                (_, project) => project.map(PathBuf::from).unwrap_or_default(),
            };
            let Some(file) = client.path(scope, &directory, &directories) else {
                continue;
            };
            let is_here = match scope {
                Scope::User => client.is_found(&file, &directories),
                Scope::Project => file.symlink_metadata().is_ok(),
            };
            // A project has files of the clients that are used in it.
            if scope == Scope::Project && !is_here {
                continue;
            }
            let entries = entries(client, &file);
            all.push(FoundConfig {
                client,
                scope,
                file,
                is_here,
                entries,
            });
        }
    }
    all
}

fn entries(
    client: OtherClient,
    path: &std::path::Path,
) -> Result<Vec<(OtherServer, Value)>, String> {
    let file = ClientFile::read(path).map_err(|problem| problem.message)?;
    let document = Document {
        text: file.text(),
        format: client.format(),
        key: client.key(),
    };
    let servers = document
        .servers()
        .map_err(|why| format!("`{}`: {why}", path.display()))?;
    let read = servers
        .into_iter()
        .map(|(name, entry)| (OtherServer::read(&name, &entry), entry));
    Ok(read.filter(|(server, _)| server.is_toolcrib()).collect())
}

/// Every entry that is Toolcrib, and what is wrong with files that cannot be read.
pub(in super::super) fn connected(crib: &Crib) -> (Vec<Connected>, Vec<(OtherClient, String)>) {
    let records = Records::of_home(crib.home());
    let (mut connected, mut problems) = (Vec::new(), Vec::new());
    for found in all(crib) {
        match found.entries {
            Ok(entries) => connected.extend(entries.into_iter().map(|(server, entry)| Connected {
                client: found.client,
                scope: found.scope,
                is_recorded: records.has(&found.file, &server.name, &entry),
                file: found.file.clone(),
                server,
            })),
            Err(why) => problems.push((found.client, why)),
        }
    }
    (connected, problems)
}

#[derive(Serialize)]
struct Row {
    client: &'static str,
    title: &'static str,
    scope: &'static str,
    file: PathBuf,
    found: bool,
    connected: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    servers: Vec<Entry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    entry: Value,
}

pub(super) fn list(crib: &Crib, output: &Output) -> Done {
    let rows: Vec<Row> = all(crib)
        .into_iter()
        .map(|found| {
            let (servers, problem) = match found.entries {
                Ok(entries) => (entries, None),
                Err(why) => (Vec::new(), Some(why)),
            };
            let servers = servers.into_iter().map(|(server, entry)| Entry {
                name: server.name,
                entry,
            });
            let servers: Vec<Entry> = servers.collect();
            Row {
                client: found.client.word(),
                title: found.client.title(),
                scope: found.scope.as_str(),
                file: found.file,
                found: found.is_here,
                connected: !servers.is_empty(),
                servers,
                problem,
            }
        })
        .collect();
    if output.json() {
        output.document(&rows);
        return Ok(ExitCode::SUCCESS);
    }
    let cells: Vec<Vec<String>> = rows.iter().map(cells).collect();
    output.table(&["CLIENT", "SCOPE", "STATE", "FILE"], &cells);
    for problem in rows.iter().filter_map(|row| row.problem.as_deref()) {
        output.say(&format!("{} {}", output.bold("warning:"), visible(problem)));
    }
    output.say("`toolcrib connect CLIENT` connects one");
    Ok(ExitCode::SUCCESS)
}

fn cells(row: &Row) -> Vec<String> {
    let names: Vec<&str> = row
        .servers
        .iter()
        .map(|entry| entry.name.as_str())
        .collect();
    let state = match (&row.problem, row.connected, row.found) {
        (Some(_), _, _) => "cannot be read".to_owned(),
        (None, true, _) if names == ["toolcrib"] => "connected".to_owned(),
        (None, true, _) => format!("connected as {}", names.join(", ")),
        (None, false, true) => "not connected".to_owned(),
        (None, false, false) => "not found here".to_owned(),
    };
    let file = row.file.display().to_string();
    vec![row.client.to_owned(), row.scope.to_owned(), state, file]
}
