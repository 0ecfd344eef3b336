//! The settings of the MCP server: `mcp.*`, read into types.

use std::time::Duration;

use super::Config;

/// How tools are served to MCP clients: the settings `mcp.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpSettings {
    /// `mcp.tokenBudget`: beyond it, tools are found rather than listed; `None` lists them always.
    pub token_budget: Option<u64>,
    /// `mcp.pinned`: references of tools that stay listed.
    pub pinned: Vec<String>,
    /// `mcp.approvalWaitMs`: how long a call waits for a person before its client gets an answer that says so.
    pub approval_wait: Duration,
    /// `mcp.elicitation`: whether clients that offer it are asked.
    pub elicitation: bool,
    /// `mcp.pageSize`: how many tools a page of the list has.
    pub page_size: usize,
}

impl Config {
    /// The settings `mcp.*`.
    pub fn mcp(&self) -> McpSettings {
        McpSettings {
            token_budget: self.number("mcp.tokenBudget").filter(|tokens| *tokens > 0),
            pinned: self.words("mcp.pinned"),
            approval_wait: Duration::from_millis(
                self.number("mcp.approvalWaitMs").unwrap_or_default(),
            ),
            elicitation: self.value("mcp.elicitation").as_bool().unwrap_or(true),
            page_size: self.size("mcp.pageSize"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Surroundings;

    #[test]
    fn clients_are_asked_and_tools_listed_up_to_a_budget_by_default() {
        assert_eq!(
            Config::defaults().mcp(),
            McpSettings {
                token_budget: Some(20_000),
                pinned: Vec::new(),
                approval_wait: Duration::from_secs(45),
                elicitation: true,
                page_size: 1000,
            }
        );
    }

    #[test]
    fn a_budget_of_nothing_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let surroundings = Surroundings::new(
            dir.path(),
            [
                ("TOOLCRIB_MCP_TOKEN_BUDGET", "0"),
                ("TOOLCRIB_MCP_PINNED", "shell, core/read_file"),
                ("TOOLCRIB_MCP_ELICITATION", "false"),
            ],
        );
        let mcp = Config::load(dir.path(), &surroundings).unwrap().mcp();
        assert_eq!(mcp.token_budget, None);
        assert_eq!(mcp.pinned, ["shell", "core/read_file"]);
        assert!(!mcp.elicitation);
    }
}
