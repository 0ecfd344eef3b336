//! [`Crib::stats`]: what the record of calls adds up to, and what is in the home.
//!
//! The log is read record by record, newest first, in memory that does not grow with it.

mod hours;
mod tally;

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

pub use self::hours::{HourStats, Hours};
use self::tally::Tally;
use super::Crib;
use crate::approval::queue::Status;
use crate::model::error::ToolError;
use crate::model::names::Slug;
use crate::record::call_log::CallLogReader;

/// What there was and is.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// From when on calls are counted; all that are on record, if no one said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub since: Option<Timestamp>,
    /// All calls, those inside others too.
    pub total: CallStats,
    /// By tool, the most called first.
    pub tools: Vec<ToolStats>,
    /// Calls of names without a tool, and of tools beyond the ten thousand that were called last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<CallStats>,
    /// How many questions stand how.
    pub approvals: BTreeMap<&'static str, u64>,
    /// The contents of the store.
    pub store: StoreStats,
    /// The record itself.
    pub log: LogStats,
}

/// The calls of one tool.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolStats {
    /// The tool's wire name.
    pub tool: String,
    /// Its bundle.
    #[schemars(with = "String")]
    pub bundle: Slug,
    /// Its calls.
    #[serde(flatten)]
    pub calls: CallStats,
}

/// Some calls, added up.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
pub struct CallStats {
    /// How many there were.
    pub calls: u64,
    /// How many went well.
    pub ok: u64,
    /// How many did not.
    pub failed: u64,
    /// How many of those a person or a rule refused.
    pub refused: u64,
    /// Those by code.
    pub codes: BTreeMap<&'static str, u64>,
    /// By caller, in the words of the wire; those beyond a bound as `others`.
    pub callers: BTreeMap<String, u64>,
    /// How long they took, waiting included.
    pub duration_ms: Durations,
    /// When the first of them arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub first_at: Option<Timestamp>,
    /// When the last of them arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub last_at: Option<Timestamp>,
    /// The error code of the last of them, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_code: Option<&'static str>,
}

/// How long calls took, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema, Default)]
pub struct Durations {
    /// Half of them no longer than this, within five per cent.
    pub p50: f64,
    /// Nineteen in twenty no longer than this, within five per cent.
    pub p95: f64,
    /// None longer than this.
    pub max: f64,
}

/// The contents of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
pub struct StoreStats {
    /// Bundles of the store, those in the bin too.
    pub bundles: u64,
    /// Tools in these bundles, each version counted.
    pub tools: u64,
    /// Files of the store that cannot be used.
    pub damaged: u64,
}

/// The record of calls itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
pub struct LogStats {
    /// How many files it has.
    pub files: u64,
    /// How long they are together.
    pub bytes: u64,
    /// How many lines could not be read.
    pub unreadable: u64,
}

impl Stats {
    /// The figures of one tool alone, by its wire name.
    #[must_use]
    pub fn only(mut self, tool: &str) -> Self {
        self.tools.retain(|figures| figures.tool == tool);
        self.other = None;
        self.total = match self.tools.as_slice() {
            [one] => one.calls.clone(),
            // Several bundles may have had a tool of this name; their times do not add up to one distribution.
            several => several.iter().fold(CallStats::default(), |mut sum, one| {
                sum.include(&one.calls);
                sum
            }),
        };
        self
    }
}

impl CallStats {
    /// Adds what can be added; of the times the largest stand.
    fn include(&mut self, other: &CallStats) {
        self.calls += other.calls;
        self.ok += other.ok;
        self.failed += other.failed;
        self.refused += other.refused;
        for (code, count) in &other.codes {
            *self.codes.entry(code).or_default() += count;
        }
        for (caller, count) in &other.callers {
            *self.callers.entry(caller.clone()).or_default() += count;
        }
        let (own, others) = (&mut self.duration_ms, &other.duration_ms);
        own.p50 = own.p50.max(others.p50);
        own.p95 = own.p95.max(others.p95);
        own.max = own.max.max(others.max);
        self.first_at = [self.first_at, other.first_at].into_iter().flatten().min();
        if other.last_at > self.last_at {
            (self.last_at, self.last_code) = (other.last_at, other.last_code);
        }
    }
}

impl Crib {
    /// Adds up the calls on record, those of other processes too, from a time on or all; and counts what is in the home. Reads the
    /// whole record of that time: some seconds for a full one.
    pub fn stats(&self, since: Option<Timestamp>) -> Result<Stats, ToolError> {
        let log = CallLogReader::new(self.call_log_path());
        let mut tally = Tally::default();
        let unreadable = log.each_since(since, |record| tally.add(record))?;
        let size = log.size()?;
        let mut approvals: BTreeMap<&'static str, u64> = BTreeMap::new();
        for status in Status::ALL {
            approvals.insert(status.as_str(), 0);
        }
        for question in self.approvals().list(None)?.requests {
            *approvals.entry(question.status.as_str()).or_default() += 1;
        }
        let (total, tools, other) = tally.finish();
        let bundles = self.store().bundles();
        let stored = bundles
            .iter()
            .map(|bundle| self.store().tools(bundle.bundle.bundle_id).len());
        Ok(Stats {
            since,
            total,
            tools,
            other,
            approvals,
            store: StoreStats {
                bundles: bundles.len() as u64,
                tools: stored.sum::<usize>() as u64,
                damaged: self.store().damage().len() as u64,
            },
            log: LogStats {
                files: size.files,
                bytes: size.bytes,
                unreadable,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Surroundings;
    use crate::crib::CribOptions;
    use crate::model::caller::Caller;
    use crate::model::error::ErrorCode;
    use crate::model::ids::CallId;
    use crate::model::names::Version;
    use crate::record::call_log::CallLog;
    use serde_json::json;
    use toolcrib_core::record::CallRecord;
    use toolcrib_core::record::Recorder as _;

    fn at(second: i64) -> Timestamp {
        Timestamp::new(second, 0).unwrap()
    }

    pub(super) fn record(tool: &str, second: i64, ms: f64, code: Option<ErrorCode>) -> CallRecord {
        let is_found = code != Some(ErrorCode::ToolNotFound);
        let slug = || Slug::parse(&tool.replace('_', "-")).unwrap();
        CallRecord {
            call_id: CallId::generate(),
            tool: tool.to_owned(),
            bundle: is_found.then(|| Slug::parse("core").unwrap()),
            slug: is_found.then(slug),
            version: is_found.then(Version::v1),
            tool_id: None,
            reached: is_found,
            caller: Caller::Cli,
            parent: None,
            start_time: at(second),
            end_time: at(second + 1),
            queue_time_ms: 0.0,
            execution_time_ms: ms,
            duration_ms: ms,
            ok: code.is_none(),
            code,
            message: None,
            approval: None,
            truncated: false,
            network: Vec::new(),
            steps: Vec::new(),
            hook: None,
            parameters: crate::model::JsonObject::new(),
        }
    }

    #[test]
    fn a_home_adds_up_to_its_calls_questions_and_tools() {
        let home = tempfile::tempdir().unwrap();
        let place = tempfile::tempdir().unwrap();
        let crib = CribOptions::default()
            .surroundings(Surroundings::new(place.path(), []))
            .home(home.path())
            .workspace(place.path())
            .open()
            .unwrap();
        let fresh = crib.stats(None).unwrap();
        assert_eq!(fresh.total, CallStats::default());
        assert_eq!((fresh.tools.len(), fresh.log), (0, LogStats::default()));
        assert_eq!(
            fresh.store,
            StoreStats::default(),
            "built-in tools are not in the store"
        );

        let log = CallLog::new(crib.call_log_path());
        log.record(record("shell", 5, 5.0, Some(ErrorCode::ApprovalDenied)));
        log.record(record("shell", 10, 5.0, None));
        log.record(record("read_file", 100, 1.0, None));
        log.record(record("read_file", 300, 1.0, Some(ErrorCode::Timeout)));
        log.record(record("read_file", 200, 1.0, Some(ErrorCode::FileNotFound)));
        log.record(record("raed_file", 250, 1.0, Some(ErrorCode::ToolNotFound)));
        log.flush();
        let mut stats = serde_json::to_value(crib.stats(None).unwrap()).unwrap();
        assert!(stats["log"]["bytes"].as_u64().unwrap() > 500);
        stats["log"]["bytes"] = json!("some");
        let one = |p: f64| json!({"p50": p, "p95": p, "max": p});
        assert_eq!(
            stats,
            json!({
                "total": {
                    "calls": 6, "ok": 2, "failed": 4, "refused": 1,
                    "codes": {"APPROVAL_DENIED": 1, "FILE_NOT_FOUND": 1, "TIMEOUT": 1, "TOOL_NOT_FOUND": 1},
                    "callers": {"cli": 6},
                    "durationMs": {"p50": 1.0, "p95": 5.0, "max": 5.0},
                    "firstAt": "1970-01-01T00:00:05Z", "lastAt": "1970-01-01T00:05:00Z", "lastCode": "TIMEOUT",
                },
                "tools": [
                    {
                        "tool": "read_file", "bundle": "core", "calls": 3, "ok": 1, "failed": 2, "refused": 0,
                        "codes": {"FILE_NOT_FOUND": 1, "TIMEOUT": 1}, "callers": {"cli": 3},
                        "durationMs": one(1.0),
                        "firstAt": "1970-01-01T00:01:40Z", "lastAt": "1970-01-01T00:05:00Z", "lastCode": "TIMEOUT",
                    },
                    {
                        "tool": "shell", "bundle": "core", "calls": 2, "ok": 1, "failed": 1, "refused": 1,
                        "codes": {"APPROVAL_DENIED": 1}, "callers": {"cli": 2}, "durationMs": one(5.0),
                        "firstAt": "1970-01-01T00:00:05Z", "lastAt": "1970-01-01T00:00:10Z",
                    },
                ],
                "other": {
                    "calls": 1, "ok": 0, "failed": 1, "refused": 0, "codes": {"TOOL_NOT_FOUND": 1},
                    "callers": {"cli": 1}, "durationMs": one(1.0),
                    "firstAt": "1970-01-01T00:04:10Z", "lastAt": "1970-01-01T00:04:10Z", "lastCode": "TOOL_NOT_FOUND",
                },
                "approvals": {
                    "approved": 0, "denied": 0, "expired": 0, "pending": 0, "replaced": 0, "used": 0, "withdrawn": 0
                },
                "store": {"bundles": 0, "tools": 0, "damaged": 0},
                "log": {"files": 1, "bytes": "some", "unreadable": 0},
            })
        );
        let late = crib.stats(Some(at(200))).unwrap();
        assert_eq!((late.total.calls, late.since), (3, Some(at(200))));
    }
}
