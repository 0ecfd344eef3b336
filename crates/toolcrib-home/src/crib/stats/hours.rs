//! Calls hour by hour, for charts: [`Crib::hours`].

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::Durations;
use super::tally::Histogram;
use crate::crib::Crib;
use crate::model::error::ToolError;
use crate::record::call_log::CallLogReader;

/// How far back hours are counted: a week and the hour that it begins in.
const MAX_HOURS: i64 = 24 * 7 + 1;

const HOUR: i64 = 3600;

/// What was called and asked, by the hour.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hours {
    /// The hours in which something was called or answered, oldest first.
    pub hours: Vec<HourStats>,
    /// How long people took to answer, in all hours together.
    pub approval_ms: Durations,
}

/// One hour.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HourStats {
    /// When it began.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// How many calls arrived.
    pub calls: u64,
    /// How many of them failed; refusals are not failures.
    pub failed: u64,
    /// How many of them a person or a rule refused.
    pub refused: u64,
    /// How long they took, waiting included.
    pub duration_ms: Durations,
    /// How many questions were asked in it and answered since.
    pub answers: u64,
    /// How long people took to answer those.
    pub approval_ms: Durations,
}

#[derive(Default)]
struct Hour {
    calls: u64,
    failed: u64,
    refused: u64,
    times: Histogram,
    answers: u64,
    waits: Histogram,
}

fn hour_of(at: Timestamp) -> i64 {
    at.as_second().div_euclid(HOUR)
}

impl Crib {
    /// Adds up the calls on record and the answered questions by the hour, from a time on; a week back at most.
    pub fn hours(&self, since: Timestamp) -> Result<Hours, ToolError> {
        let oldest = (hour_of(Timestamp::now()) - MAX_HOURS + 1).saturating_mul(HOUR);
        let since = since.max(Timestamp::from_second(oldest).unwrap_or(since));
        let mut hours: BTreeMap<i64, Hour> = BTreeMap::new();
        let log = CallLogReader::new(self.call_log_path());
        log.each_since(Some(since), |record| {
            // A clock that was wrong may have written anything.
            let at = hour_of(record.start_time);
            if at > hour_of(Timestamp::now()) {
                return;
            }
            let hour = hours.entry(at).or_default();
            hour.calls += 1;
            match record.code {
                Some(code) if code.is_refusal() => hour.refused += 1,
                _ => hour.failed += u64::from(!record.ok),
            }
            hour.times.add(record.duration_ms);
        })?;
        let mut waits = Histogram::default();
        for question in self.approvals().list(None)?.requests {
            let asked = question.request.created_at;
            let Some(answer) = question.answer.filter(|_| asked >= since) else {
                continue;
            };
            let wait = answer.at.duration_since(asked).as_secs_f64() * 1000.0;
            waits.add(wait);
            let hour = hours.entry(hour_of(asked)).or_default();
            hour.answers += 1;
            hour.waits.add(wait);
        }
        let shown = |(at, hour): (i64, Hour)| {
            Some(HourStats {
                at: Timestamp::from_second(at.checked_mul(HOUR)?).ok()?,
                calls: hour.calls,
                failed: hour.failed,
                refused: hour.refused,
                duration_ms: hour.times.durations(),
                answers: hour.answers,
                approval_ms: hour.waits.durations(),
            })
        };
        Ok(Hours {
            hours: hours.into_iter().filter_map(shown).collect(),
            approval_ms: waits.durations(),
        })
    }
}
