//! One line about each part of the documentation.

/// What the routes of a topic are about.
pub(super) fn about(topic: &str) -> &'static str {
    match topic {
        "bundles" => "Groups of tools: list, add, change and delete them.",
        "tools" => "Tools and their versions: list, search, add, switch and delete them.",
        "calls" => "Call a tool, or every tool that a model's reply asks for, and follow calls.",
        "archives" => "Bundles as ZIP archives: export, compare and import them.",
        "events" => "What happens on the server, as a stream.",
        "approvals" => "Calls that wait for a person, and answers to them.",
        "grants" => "Standing approvals: calls that may run without asking.",
        "held" => "Files that calls wrote and that wait for a person to keep or discard them.",
        "rules" => "The rules that allow, ask about or deny calls.",
        "catalogue" => {
            "Definitions of tools in the formats of model providers, and lists for people."
        }
        "files" => "Tools as files of the workspace: read, check, save, trust and test them.",
        "secrets" => {
            "Names of stored secrets, and the hosts that may receive them. Values cannot be read."
        }
        "clients" => "Programs that may call tools, and their tokens.",
        "browsers" => "Signing in to the web admin.",
        "upstreams" => "Other MCP servers whose tools are called here.",
        "server" => "The state, the settings and the description of this server.",
        "mcp" => "The Model Context Protocol over HTTP.",
        _ => "",
    }
}
