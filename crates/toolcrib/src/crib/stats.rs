//! [`Crib::stats`]: what the record of calls adds up to, and what is in the home.
//!
//! The log is read record by record, newest first, in memory that does not grow with it: times go into buckets of a ninth of their
//! size, and what is counted by name has a bound.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::Crib;
use crate::approval::queue::Status;
use crate::model::error::ToolError;
use crate::model::names::Slug;
use crate::record::CallRecord;
use crate::record::call_log::CallLogReader;

/// How many tools, and callers of each, are counted apart. The rest are counted together.
const MAX_TOOLS: usize = 10_000;
const MAX_CALLERS: usize = 256;

/// What callers beyond the bound go by; no caller is spelled so.
const OTHERS: &str = "others";

/// What there was and is.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// From when on calls are counted; all that are on record, if nobody said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub since: Option<Timestamp>,
    /// All calls, those inside others too.
    pub total: CallStats,
    /// By tool, the most called first.
    pub tools: Vec<ToolStats>,
    /// Calls of names that are no tool's, and of tools beyond the ten thousand that were called last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<CallStats>,
    /// How many questions stand how.
    pub approvals: BTreeMap<&'static str, u64>,
    /// What is in the store.
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

/// What is in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
pub struct StoreStats {
    /// Bundles of the store, those in the bin too.
    pub bundles: u64,
    /// Tools of all sources, each version counted.
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
        self.last_at = self.last_at.max(other.last_at);
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
        Ok(Stats {
            since,
            total,
            tools,
            other,
            approvals,
            // The tools first: the registry looks at the store before it is counted.
            store: StoreStats {
                tools: self.registry().count_entries() as u64,
                bundles: self.store().bundles().len() as u64,
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

/// Calls that are being added up.
#[derive(Default)]
struct Tally {
    total: Sum,
    tools: HashMap<(String, Slug), Sum>,
    other: Sum,
}

impl Tally {
    fn add(&mut self, record: &CallRecord) {
        self.total.add(record);
        // Only a tool that was found has a bundle: nobody fills the table with names of their own.
        let sum = match &record.bundle {
            None => &mut self.other,
            Some(bundle) => {
                let key = (record.tool.clone(), bundle.clone());
                let is_full = self.tools.len() >= MAX_TOOLS;
                match is_full && !self.tools.contains_key(&key) {
                    true => &mut self.other,
                    false => self.tools.entry(key).or_default(),
                }
            }
        };
        sum.add(record);
    }

    fn finish(self) -> (CallStats, Vec<ToolStats>, Option<CallStats>) {
        let mut tools: Vec<ToolStats> = self
            .tools
            .into_iter()
            .map(|((tool, bundle), sum)| ToolStats {
                tool,
                bundle,
                calls: sum.finish(),
            })
            .collect();
        tools.sort_by(|a, b| {
            let by_calls = b.calls.calls.cmp(&a.calls.calls);
            by_calls.then_with(|| (&a.tool, &a.bundle).cmp(&(&b.tool, &b.bundle)))
        });
        let other = (self.other.stats.calls > 0).then(|| self.other.finish());
        (self.total.finish(), tools, other)
    }
}

#[derive(Default)]
struct Sum {
    stats: CallStats,
    times: Histogram,
}

impl Sum {
    fn add(&mut self, record: &CallRecord) {
        let stats = &mut self.stats;
        stats.calls += 1;
        match record.ok {
            true => stats.ok += 1,
            false => stats.failed += 1,
        }
        if let Some(code) = record.code {
            *stats.codes.entry(code.as_str()).or_default() += 1;
        }
        let caller = record.caller.to_string();
        let is_full = stats.callers.len() >= MAX_CALLERS && !stats.callers.contains_key(&caller);
        let caller = if is_full { OTHERS.to_owned() } else { caller };
        *stats.callers.entry(caller).or_default() += 1;
        let at = record.start_time;
        stats.first_at = Some(stats.first_at.map_or(at, |first| first.min(at)));
        stats.last_at = Some(stats.last_at.map_or(at, |last| last.max(at)));
        self.times.add(record.duration_ms);
    }

    fn finish(self) -> CallStats {
        CallStats {
            duration_ms: self.times.durations(),
            ..self.stats
        }
    }
}

/// How many buckets a doubling has.
const FINENESS: f64 = 8.0;
/// The smallest time that is told apart, in milliseconds, and how many buckets there are from there to some weeks.
const SMALLEST: f64 = 0.001;
const BUCKETS: usize = 336;

/// Times in milliseconds, in buckets that grow with them.
#[derive(Default)]
struct Histogram {
    /// As many as are needed so far.
    buckets: Vec<u64>,
    count: u64,
    min: f64,
    max: f64,
}

impl Histogram {
    fn add(&mut self, ms: f64) {
        // What a hand wrote into the log may be anything.
        let ms = if ms.is_finite() { ms.max(0.0) } else { 0.0 };
        let bucket = ((ms / SMALLEST).max(1.0).log2() * FINENESS) as usize;
        let bucket = bucket.min(BUCKETS - 1);
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.min = if self.count == 0 {
            ms
        } else {
            self.min.min(ms)
        };
        self.max = self.max.max(ms);
        self.count += 1;
    }

    fn durations(&self) -> Durations {
        Durations {
            p50: self.quantile(50),
            p95: self.quantile(95),
            max: self.max,
        }
    }

    /// The time that so many in a hundred do not pass.
    fn quantile(&self, percent: u64) -> f64 {
        let rank = (self.count * percent).div_ceil(100);
        let mut passed = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            passed += count;
            if *count > 0 && passed >= rank {
                let middle = SMALLEST * ((bucket as f64 + 0.5) / FINENESS).exp2();
                return middle.clamp(self.min, self.max);
            }
        }
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::call::Caller;
    use crate::model::error::ErrorCode;
    use crate::model::ids::CallId;
    use crate::model::names::Version;
    use crate::record::Recorder as _;
    use crate::record::call_log::CallLog;
    use crate::{CribOptions, config::Surroundings};
    use serde_json::json;

    fn at(second: i64) -> Timestamp {
        Timestamp::new(second, 0).unwrap()
    }

    fn record(tool: &str, second: i64, ms: f64, code: Option<ErrorCode>) -> CallRecord {
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
            parameters: crate::model::JsonObject::new(),
        }
    }

    #[test]
    fn times_are_within_five_per_cent_whatever_they_are() {
        for scale in [0.002, 1.0, 86_400_000.0] {
            let mut times = Histogram::default();
            for n in 1..=1000 {
                times.add(f64::from(n) * scale / 1000.0);
            }
            let Durations { p50, p95, max } = times.durations();
            assert!(
                (p50 / (0.5 * scale) - 1.0).abs() < 0.05 || scale < 0.01,
                "{p50}"
            );
            assert!((p95 / (0.95 * scale) - 1.0).abs() < 0.05, "{p95}");
            assert_eq!(max, scale);
        }
        assert_eq!(Histogram::default().durations(), Durations::default());
        let mut one = Histogram::default();
        one.add(12.34);
        let same = Durations {
            p50: 12.34,
            p95: 12.34,
            max: 12.34,
        };
        assert_eq!(one.durations(), same);
        let mut odd = Histogram::default();
        for ms in [f64::NAN, f64::INFINITY, -1.0, 1e300] {
            odd.add(ms);
        }
        assert_eq!(odd.durations().max, 1e300);
        assert_eq!(odd.buckets.len(), BUCKETS);
    }

    #[test]
    fn memory_is_bounded_however_many_names_there_are() {
        let mut tally = Tally::default();
        for n in 0..MAX_TOOLS + 5 {
            let mut call = record(&format!("tool_{n}"), 0, 1.0, None);
            call.caller = Caller::Client(format!("c-{n}"));
            tally.add(&call);
        }
        tally.add(&record("tool_1", 0, 1.0, None));
        tally.add(&record(
            "no such thing",
            0,
            1.0,
            Some(ErrorCode::ToolNotFound),
        ));
        let (total, tools, other) = tally.finish();
        assert_eq!(total.calls, MAX_TOOLS as u64 + 7);
        assert_eq!(total.callers.len(), MAX_CALLERS + 1);
        assert_eq!(total.callers.values().sum::<u64>(), total.calls);
        assert_eq!((tools.len(), other.unwrap().calls), (MAX_TOOLS, 6));
        assert_eq!(
            (tools[0].tool.as_str(), tools[0].calls.calls),
            ("tool_1", 2)
        );
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
        assert!(
            fresh.store.tools >= 5 && fresh.store.bundles == 0,
            "{:?}",
            fresh.store
        );

        let log = CallLog::new(crib.call_log_path());
        log.record(record("shell", 10, 5.0, None));
        log.record(record("read_file", 100, 1.0, None));
        log.record(record("read_file", 300, 1.0, Some(ErrorCode::Timeout)));
        log.record(record("read_file", 200, 1.0, Some(ErrorCode::FileNotFound)));
        log.record(record("raed_file", 250, 1.0, Some(ErrorCode::ToolNotFound)));
        log.flush();
        let mut stats = serde_json::to_value(crib.stats(None).unwrap()).unwrap();
        assert!(stats["log"]["bytes"].as_u64().unwrap() > 500);
        stats["log"]["bytes"] = json!("some");
        stats["store"]["tools"] = json!("some");
        let one = |p: f64| json!({"p50": p, "p95": p, "max": p});
        assert_eq!(
            stats,
            json!({
                "total": {
                    "calls": 5, "ok": 2, "failed": 3,
                    "codes": {"FILE_NOT_FOUND": 1, "TIMEOUT": 1, "TOOL_NOT_FOUND": 1},
                    "callers": {"cli": 5},
                    "durationMs": {"p50": 1.0, "p95": 5.0, "max": 5.0},
                    "firstAt": "1970-01-01T00:00:10Z", "lastAt": "1970-01-01T00:05:00Z",
                },
                "tools": [
                    {
                        "tool": "read_file", "bundle": "core", "calls": 3, "ok": 1, "failed": 2,
                        "codes": {"FILE_NOT_FOUND": 1, "TIMEOUT": 1}, "callers": {"cli": 3},
                        "durationMs": one(1.0),
                        "firstAt": "1970-01-01T00:01:40Z", "lastAt": "1970-01-01T00:05:00Z",
                    },
                    {
                        "tool": "shell", "bundle": "core", "calls": 1, "ok": 1, "failed": 0,
                        "codes": {}, "callers": {"cli": 1}, "durationMs": one(5.0),
                        "firstAt": "1970-01-01T00:00:10Z", "lastAt": "1970-01-01T00:00:10Z",
                    },
                ],
                "other": {
                    "calls": 1, "ok": 0, "failed": 1, "codes": {"TOOL_NOT_FOUND": 1},
                    "callers": {"cli": 1}, "durationMs": one(1.0),
                    "firstAt": "1970-01-01T00:04:10Z", "lastAt": "1970-01-01T00:04:10Z",
                },
                "approvals": {
                    "approved": 0, "denied": 0, "expired": 0, "pending": 0, "used": 0, "withdrawn": 0
                },
                "store": {"bundles": 0, "tools": "some", "damaged": 0},
                "log": {"files": 1, "bytes": "some", "unreadable": 0},
            })
        );
        let late = crib.stats(Some(at(200))).unwrap();
        assert_eq!((late.total.calls, late.since), (3, Some(at(200))));
    }
}
