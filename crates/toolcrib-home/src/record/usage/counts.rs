//! Numbers by tool: [`Counts`], as they are added up, appended as lines and kept in a file.

use std::collections::BTreeMap;

use jiff::{Timestamp, ToSpan as _};
use serde::{Deserialize, Serialize};

use super::Usage;
use crate::model::reference::ToolRef;

/// The longest line that is taken for one of ours: a path of a workspace is the long part of it.
pub(super) const MAX_LINE_BYTES: usize = 16 * 1024;
/// With more rows than this, tools that were not called for a year are forgotten.
const MANY_ROWS: usize = 10_000;
/// With more rows than this, the tools that were called longest ago are forgotten.
const MAX_ROWS: usize = 100_000;

/// The counts of one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    pub(super) call_count: u64,
    pub(super) last_called_at: Timestamp,
}

impl Row {
    pub(super) fn add(&mut self, other: Row) {
        self.call_count = self.call_count.saturating_add(other.call_count);
        self.last_called_at = self.last_called_at.max(other.last_called_at);
    }
}

/// The rows of tools, by their reference (`bundle/slug@version`) or, in the store, their id.
type Rows = BTreeMap<String, Row>;

/// Counts of calls. Tools of a workspace's files are counted by workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Counts {
    #[serde(default)]
    tools: Rows,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    workspaces: BTreeMap<String, Rows>,
}

/// One line of `usage.jsonl`.
#[derive(Serialize, Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    tool: std::borrow::Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none", borrow)]
    workspace: Option<std::borrow::Cow<'a, str>>,
    calls: u64,
    at: Timestamp,
}

impl Counts {
    pub(super) fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.workspaces.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.tools.len() + self.workspaces.values().map(BTreeMap::len).sum::<usize>()
    }

    pub(super) fn get(&self, workspace: Option<&str>, tool: &str) -> Usage {
        let rows = match workspace {
            Some(workspace) => self.workspaces.get(workspace),
            None => Some(&self.tools),
        };
        let row = rows.and_then(|rows| rows.get(tool));
        Usage {
            call_count: row.map_or(0, |row| row.call_count),
            last_called_at: row.map(|row| row.last_called_at),
        }
    }

    pub(super) fn add(&mut self, workspace: Option<&str>, tool: &str, row: Row) {
        let rows = match workspace {
            Some(workspace) => match self.workspaces.get_mut(workspace) {
                Some(rows) => rows,
                None => self.workspaces.entry(workspace.to_owned()).or_default(),
            },
            None => &mut self.tools,
        };
        match rows.get_mut(tool) {
            Some(there) => there.add(row),
            None => {
                rows.insert(tool.to_owned(), row);
            }
        }
    }

    pub(super) fn merge(&mut self, other: &Counts) {
        for (workspace, tool, row) in other.rows() {
            self.add(workspace, tool, row);
        }
    }

    fn rows(&self) -> impl Iterator<Item = (Option<&str>, &str, Row)> {
        let everywhere = self
            .tools
            .iter()
            .map(|(tool, row)| (None, tool.as_str(), *row));
        let here = self.workspaces.iter().flat_map(|(workspace, rows)| {
            rows.iter()
                .map(|(tool, row)| (Some(workspace.as_str()), tool.as_str(), *row))
        });
        everywhere.chain(here)
    }

    /// The counts as lines to append, each with what it counts. A line feed is before each one as well as after it, so that a
    /// torn line before costs only itself.
    pub(super) fn lines(&self) -> Vec<(Counts, Vec<u8>)> {
        let line = |(workspace, tool, row): (Option<&str>, &str, Row)| {
            let mut bytes = vec![b'\n'];
            let line = Line {
                tool: tool.into(),
                workspace: workspace.map(Into::into),
                calls: row.call_count,
                at: row.last_called_at,
            };
            serde_json::to_writer(&mut bytes, &line).ok()?;
            bytes.push(b'\n');
            let mut counts = Counts::default();
            counts.add(workspace, tool, row);
            Some((counts, bytes))
        };
        self.rows().filter_map(line).collect()
    }

    /// Adds what lines say; returns how many of them say nothing that can be understood.
    pub(super) fn add_lines(&mut self, bytes: &[u8]) -> usize {
        let mut damaged = 0;
        for line in bytes.split(|byte| *byte == b'\n') {
            if line.is_empty() {
                continue;
            }
            match read_line(line) {
                Some(line) => {
                    let row = Row {
                        call_count: line.calls,
                        last_called_at: line.at,
                    };
                    self.add(line.workspace.as_deref(), &line.tool, row);
                }
                None => damaged += 1,
            }
        }
        damaged
    }

    /// Forgets what no one may ask for any more: with very many rows, those of tools that were called long ago.
    pub(super) fn forget(&mut self, now: Timestamp) {
        if self.len() > MANY_ROWS {
            // If a year cannot be subtracted, nothing is forgotten.
            let year_ago = now
                .checked_sub((365 * 24).hours())
                .unwrap_or(Timestamp::MIN);
            self.keep(|row| row.last_called_at >= year_ago);
        }
        self.keep_latest(MAX_ROWS);
    }

    /// Keeps the rows that were called last, at most so many.
    pub(super) fn keep_latest(&mut self, most: usize) {
        let Some(over) = self.len().checked_sub(most).filter(|over| *over > 0) else {
            return;
        };
        let mut times: Vec<Timestamp> = self.rows().map(|(_, _, row)| row.last_called_at).collect();
        let (_, latest_to_go, _) = times.select_nth_unstable(over - 1);
        let latest_to_go = *latest_to_go;
        self.keep(|row| row.last_called_at > latest_to_go);
    }

    fn keep(&mut self, is_wanted: impl Fn(&Row) -> bool) {
        self.tools.retain(|_, row| is_wanted(row));
        for rows in self.workspaces.values_mut() {
            rows.retain(|_, row| is_wanted(row));
        }
        self.workspaces.retain(|_, rows| !rows.is_empty());
    }
}

fn read_line(line: &[u8]) -> Option<Line<'_>> {
    if line.len() > MAX_LINE_BYTES {
        return None;
    }
    let line: Line<'_> = serde_json::from_slice(line).ok()?;
    let is_exact = matches!(
        line.tool.parse(),
        Ok(ToolRef::InBundle {
            version: Some(_),
            ..
        }) | Ok(ToolRef::Id(_))
    );
    is_exact.then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn row(call_count: u64, second: i64) -> Row {
        Row {
            call_count,
            last_called_at: at(second),
        }
    }

    fn bytes_of(counts: &Counts) -> Vec<u8> {
        counts
            .lines()
            .into_iter()
            .flat_map(|(_, line)| line)
            .collect()
    }

    #[test]
    fn lines_give_back_what_they_were_made_of() {
        let mut counts = Counts::default();
        counts.add(None, "core/read-file@v1", row(3, 10));
        counts.add(Some("/home/天気 \"x\""), "local/count@v1", row(1, 11));
        let mut back = Counts::default();
        assert_eq!(back.add_lines(&bytes_of(&counts)), 0);
        assert_eq!(back, counts);
    }

    #[test]
    fn a_damaged_line_costs_only_itself() {
        let good = b"\n{\"tool\":\"core/a@v1\",\"calls\":2,\"at\":\"2026-01-02T03:04:05Z\"}\n";
        let bad: [&[u8]; 8] = [
            b"{\"tool\":\"core/a@v1\",\"calls\":2,\"at\":\"2026-01",
            b"{}",
            b"\xff\xfe\0",
            b"{\"tool\":\"core/a\",\"calls\":2,\"at\":\"2026-01-02T03:04:05Z\"}",
            b"{\"tool\":\"../../x@v1\",\"calls\":2,\"at\":\"2026-01-02T03:04:05Z\"}",
            b"{\"tool\":\"core/a@v1\",\"calls\":-1,\"at\":\"2026-01-02T03:04:05Z\"}",
            b"{\"tool\":\"core/a@v1\",\"calls\":1,\"at\":\"yesterday\"}",
            b"[[[[",
        ];
        for bad in bad {
            let text = [good, bad, good].concat();
            let mut counts = Counts::default();
            assert_eq!(counts.add_lines(&text), 1, "{bad:?}");
            assert_eq!(counts.get(None, "core/a@v1").call_count, 4, "{bad:?}");
        }
    }

    #[test]
    fn counts_stay_at_the_largest_number() {
        let mut counts = Counts::default();
        counts.add(None, "core/a@v1", row(u64::MAX, 1));
        counts.add(None, "core/a@v1", row(1, 0));
        let usage = counts.get(None, "core/a@v1");
        assert_eq!(
            (usage.call_count, usage.last_called_at),
            (u64::MAX, Some(at(1)))
        );
    }

    #[test]
    fn rows_are_forgotten_only_when_there_are_many() {
        let now = at(2_000_000_000);
        let mut few = Counts::default();
        few.add(None, "core/old@v1", row(1, 0));
        few.forget(now);
        assert_eq!(few.len(), 1);

        let mut many = few;
        for n in 0..MANY_ROWS {
            many.add(Some("/w"), &format!("local/t{n}@v1"), row(1, 1_999_999_999));
        }
        many.forget(now);
        assert_eq!(many.len(), MANY_ROWS);
        assert_eq!(many.get(None, "core/old@v1").call_count, 0);
    }

    #[test]
    fn the_tools_called_longest_ago_are_forgotten_first() {
        let mut counts = Counts::default();
        for n in 0..10 {
            counts.add(None, &format!("core/t{n}@v1"), row(1, n));
        }
        counts.keep_latest(3);
        let left: Vec<&str> = counts.rows().map(|(_, tool, _)| tool).collect();
        assert_eq!(left, ["core/t7@v1", "core/t8@v1", "core/t9@v1"]);
    }
}
