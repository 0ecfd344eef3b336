//! Calls that are being added up: [`Tally`], in memory that does not grow with them. Times go into buckets of a ninth of their size, and
//! what is counted by name has a bound.

use std::collections::HashMap;

use super::{CallStats, Durations, ToolStats};
use crate::model::error::ErrorCode;
use crate::model::names::Slug;
use toolcrib_core::record::CallRecord;

/// How many tools, and callers of each, are counted apart. The rest are counted together.
const MAX_TOOLS: usize = 10_000;
const MAX_CALLERS: usize = 256;

/// What callers beyond the bound go by; no caller is spelled so.
const OTHERS: &str = "others";

/// Calls that are being added up.
#[derive(Default)]
pub(super) struct Tally {
    total: Sum,
    tools: HashMap<(String, Slug), Sum>,
    other: Sum,
}

impl Tally {
    pub(super) fn add(&mut self, record: &CallRecord) {
        self.total.add(record);
        // Only a tool that was found has a bundle: callers cannot fill the table with invented names.
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

    pub(super) fn finish(self) -> (CallStats, Vec<ToolStats>, Option<CallStats>) {
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
            stats.refused += u64::from(code.is_refusal());
            *stats.codes.entry(code.as_str()).or_default() += 1;
        }
        let caller = record.caller.to_string();
        let is_full = stats.callers.len() >= MAX_CALLERS && !stats.callers.contains_key(&caller);
        let caller = if is_full { OTHERS.to_owned() } else { caller };
        *stats.callers.entry(caller).or_default() += 1;
        let at = record.start_time;
        stats.first_at = Some(stats.first_at.map_or(at, |first| first.min(at)));
        if stats.last_at.is_none_or(|last| at > last) {
            stats.last_at = Some(at);
            stats.last_code = record.code.map(ErrorCode::as_str);
        }
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
/// The smallest distinguished time, in milliseconds, and how many buckets there are from there to some weeks.
const SMALLEST: f64 = 0.001;
const BUCKETS: usize = 336;

/// Times in milliseconds, in buckets that grow with them.
#[derive(Default)]
pub(super) struct Histogram {
    /// As many as are needed so far.
    buckets: Vec<u64>,
    count: u64,
    min: f64,
    max: f64,
}

impl Histogram {
    pub(super) fn add(&mut self, ms: f64) {
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

    pub(super) fn durations(&self) -> Durations {
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
    use super::super::tests::record;
    use super::*;
    use crate::model::caller::Caller;

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
}
