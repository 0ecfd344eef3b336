//! Toolcrib with a home on disk: settings, bundles, tools as files, approvals and grants, records, search, upstream servers.
//!
//! The files are the truth. A process holds nothing that is not in them except running calls, so any number of commands and
//! servers may share a home; each follows what the others write.
//!
//! ```text
//! $TOOLCRIB_HOME/             0700; default: `toolcrib` in the XDG data directory
//!   format.json               the format of the home, and which version gave it that
//!   config.toml               settings (docs/config.md), [[rules]]; rules/*.toml: more rules (docs/rules.md)
//!   calls/2026-11-15.jsonl    the call log: one line per call, appended, rotated by size
//!   calls/ids/<digest>.json   claims and outcomes of ids that callers chose
//!   results/<digest>.json     the whole of results that a model got in part, masked
//!   notified/<id>.<channel>   that a question was sent by a channel; empty
//!   notify-seal               the key that signs one-time links, 0600
//!   approvals/                questions to people, answers, claims (docs/approvals.md)
//!   grants/<id>.json          grants; <id>.over: that one has ended
//!   held/<id>/                something that a run planted, with its record.json; held/runs/: runs under way, locked
//!   held/made.json            repositories that runs made
//!   trust/<digest>.json       which tool files of a workspace the user trusted, by their digests
//!   bundles/<id>/             bundle.json, and <digest>.json for each version of each tool (docs/bundles.md)
//!   bundles/.lock             one writer at a time; its content is a number that every writer raises
//!   secrets/                  secrets, one file each
//!   state/flags.json          tools and bundles of Toolcrib's own that are switched off
//!   state/approved.json       with which content files of workspaces were last approved to run
//!   state/usage.jsonl         calls that reached their tool; folded into state/usage.json
//!   state/rates.json          how often tools with a limit of calls per minute were called in the last one
//!   state/reaped.json         when the bin was last emptied
//!   state/servers/<id>.json   a server of this home, locked while it lives: where it listens and what it serves
//!   upstreams/<name>.json     the tools that were accepted of another MCP server, as they were then; logins/<name>/: its login
//!   upstream-state/<name>/    what its program keeps behind its wall: its home directory and caches
//!   chats/                    transcripts of `toolcrib chat`
//!   mcp-seal                  the key that signs what MCP clients carry between a question and its answer, 0600
//!   token, clients.json       the operator's token, 0600; names of clients and digests of their tokens
//!   connections.json          what `connect` wrote into other programs' files, and what was there before
//!   damaged/                  files that `doctor --fix` set aside
//! ```

pub mod approval;
pub mod chat;
pub mod config;
pub mod crib;
pub mod format;
pub mod notify;
pub mod record;
pub mod results;
pub mod search;
pub mod source;
pub mod store;
pub mod trial;
pub mod upstream;

use toolcrib_core::{answer, call, pipeline, registry, tool, wire, workspace};
use toolcrib_lang::{definition, manifest, rules, shell, table, template};
use toolcrib_model as model;
use toolcrib_model::{schema, spec};
use toolcrib_tools::{builtin, egress, exec, held, oauth, process, sandbox, secret, storage};
