//! [`CallLogReader::page`]: the log piece by piece, newest first, by what is wanted of it.
//!
//! Files only grow at their end and go whole, the oldest first. So a place in a file is a place in the log for as long as what comes
//! before it is there: pages go on where the one before ended, whatever was appended meanwhile.

use std::fmt;
use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};

use super::file::LogName;
use super::reader::{CallLogReader, Line, Over};
use crate::model::caller::Caller;
use crate::model::error::ErrorCode;
use crate::model::ids::CallId;
use crate::storage::StorageError;
use toolcrib_core::record::CallRecord;

/// How much of the log one page looks at. A page that finds little in it ends there and says where to go on.
const MAX_SCANNED_BYTES: usize = 32 * 1024 * 1024;

/// How much later than it ended a call may stand in the log: its record waits to be written, and clocks are set.
const SLACK: SignedDuration = SignedDuration::from_secs(60);

/// Which calls are wanted; all, unless it says otherwise.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallFilter {
    /// Of this tool: its wire name, `bundle/slug` or `bundle/slug@version`.
    pub tool: Option<String>,
    /// Of a tool of this bundle.
    pub bundle: Option<String>,
    /// Of this version of a tool.
    pub version: Option<String>,
    /// With this text in the tool's name, an argument, the error or the id; capitals do not count.
    pub text: Option<String>,
    /// That ended so.
    pub status: Option<CallStatus>,
    /// By this caller.
    pub caller: Option<Caller>,
    /// That arrived at this time or later.
    pub since: Option<Timestamp>,
    /// That arrived before this time.
    pub until: Option<Timestamp>,
    /// With this id.
    pub call_id: Option<CallId>,
    /// Made by this call.
    pub parent: Option<CallId>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallStatus {
    /// Well.
    Ok,
    /// Not well.
    Failed,
    /// Not well, because a person or a rule refused it.
    Refused,
    /// Not well, and no one refused it.
    Error,
    /// With this code.
    Code(ErrorCode),
}

/// What [`CallLogReader::page`] found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallPage {
    /// The records, newest first; fewer than asked for, or none, where much had to be passed over.
    pub records: Vec<CallRecord>,
    /// Where to go on; `None` at the end of the log.
    pub next: Option<CallPosition>,
    /// Lines passed over because a crash or a hand has damaged them.
    pub unreadable: u64,
}

/// A place in the log. Its text is for machines, and may be another in another version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPosition {
    pub(super) file: LogName,
    pub(super) offset: u64,
}

/// A text that is not a place in a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is not a place in the call log")]
pub struct NoPosition;

impl fmt::Display for CallPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.offset)
    }
}

impl FromStr for CallPosition {
    type Err = NoPosition;

    fn from_str(text: &str) -> Result<Self, NoPosition> {
        let (file, offset) = text.split_once(':').ok_or(NoPosition)?;
        let position = CallPosition {
            file: LogName::parse(file).ok_or(NoPosition)?,
            offset: offset.parse().map_err(|_| NoPosition)?,
        };
        // One place, one spelling.
        (position.to_string() == text)
            .then_some(position)
            .ok_or(NoPosition)
    }
}

impl CallFilter {
    /// Whether a call is wanted.
    pub fn wants(&self, record: &CallRecord) -> bool {
        let is = |wanted: &Option<CallId>, id: Option<&CallId>| {
            wanted.as_ref().is_none_or(|wanted| id == Some(wanted))
        };
        let ended = match self.status {
            None => true,
            Some(CallStatus::Ok) => record.ok,
            Some(CallStatus::Failed) => !record.ok,
            Some(CallStatus::Refused) => record.code.is_some_and(ErrorCode::is_refusal),
            Some(CallStatus::Error) => {
                !record.ok && !record.code.is_some_and(ErrorCode::is_refusal)
            }
            Some(CallStatus::Code(code)) => record.code == Some(code),
        };
        ended
            && is(&self.call_id, Some(&record.call_id))
            && is(&self.parent, record.parent.as_ref())
            && self
                .caller
                .as_ref()
                .is_none_or(|wanted| record.caller.is_meant_by(wanted))
            && self.since.is_none_or(|since| record.start_time >= since)
            && self.until.is_none_or(|until| record.start_time < until)
            && self.tool.as_deref().is_none_or(|tool| is_of(record, tool))
            && self.bundle.as_deref().is_none_or(|wanted| {
                let bundle = record.bundle.as_ref();
                bundle.is_some_and(|bundle| bundle.as_str() == wanted)
            })
            && self.version.as_deref().is_none_or(|wanted| {
                let version = record.version.as_ref();
                version.is_some_and(|version| version.as_str() == wanted)
            })
            && self
                .text
                .as_deref()
                .is_none_or(|text| has_text(record, text))
    }

    /// A text that the line of every wanted call contains: looking for text is much cheaper than reading a record.
    fn needles(&self) -> Vec<String> {
        // A reference is not in the line as such.
        let tool = self.tool.clone().filter(|tool| !tool.contains(['/', '@']));
        let code = match self.status {
            Some(CallStatus::Code(code)) => Some(code.to_string()),
            Some(CallStatus::Ok | CallStatus::Failed | CallStatus::Refused | CallStatus::Error)
            | None => None,
        };
        let ids = [&self.call_id, &self.parent].into_iter().flatten();
        // `tool` is every tool's, whomever it is for.
        let caller = self
            .caller
            .as_ref()
            .filter(|caller| **caller != Caller::Tool);
        let texts = [tool, code, caller.map(Caller::to_string)];
        let texts = texts.into_iter().flatten();
        texts
            .chain(ids.map(CallId::to_string))
            .map(|text| serde_json::Value::from(text).to_string())
            .collect()
    }

    /// Whether this call, and all that stand before it, are too old.
    fn is_past(&self, record: &CallRecord) -> bool {
        self.since
            .is_some_and(|since| record.end_time < since.saturating_sub(SLACK).unwrap_or(since))
    }
}

/// Whether a record has a text where a person would look for it.
fn has_text(record: &CallRecord, text: &str) -> bool {
    let text = text.to_lowercase();
    let has = |part: &str| part.to_lowercase().contains(&text);
    has(&record.tool)
        || has(record.call_id.as_str())
        || record.code.is_some_and(|code| has(code.as_str()))
        || record.message.as_deref().is_some_and(has)
        || record
            .parameters
            .iter()
            .any(|(name, value)| has(name) || in_value(value, &has))
}

/// Whether a text in a value has what is looked for.
fn in_value(value: &serde_json::Value, has: &impl Fn(&str) -> bool) -> bool {
    match value {
        serde_json::Value::String(text) => has(text),
        serde_json::Value::Array(items) => items.iter().any(|item| in_value(item, has)),
        serde_json::Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| has(name) || in_value(value, has)),
        other => has(&other.to_string()),
    }
}

fn is_of(record: &CallRecord, tool: &str) -> bool {
    if record.tool == tool {
        return true;
    }
    let (Some(bundle), Some(slug)) = (&record.bundle, &record.slug) else {
        return false;
    };
    let (name, version) = match tool.split_once('@') {
        Some((name, version)) => (name, Some(version)),
        None => (tool, None),
    };
    let is_named = name.split_once('/') == Some((bundle.as_str(), slug.as_str()));
    let own = record.version.as_ref().map(|version| version.as_str());
    is_named && version.is_none_or(|version| own == Some(version))
}

impl CallLogReader {
    /// The newest records that are wanted, at most `limit`, from the end of the log or from where a page before ended. Looks at a
    /// bounded part of the log only: a page may be short, or empty, and yet say where to go on.
    pub fn page(
        &self,
        filter: &CallFilter,
        after: Option<&CallPosition>,
        limit: usize,
    ) -> Result<CallPage, StorageError> {
        self.page_within(filter, after, limit, MAX_SCANNED_BYTES)
    }

    /// Shows every record of calls that arrived at a time or later, or all, newest first; returns how many lines were damaged.
    pub(crate) fn each_since(
        &self,
        since: Option<Timestamp>,
        mut visit: impl FnMut(&CallRecord),
    ) -> Result<u64, StorageError> {
        let filter = CallFilter {
            since,
            ..CallFilter::default()
        };
        let mut unreadable = 0;
        let mut over = Over::default();
        self.read_backwards(None, |line| {
            match line.parse() {
                Some(record) if filter.is_past(&record) => return false,
                Some(record) if over.replaces(&record) => {}
                Some(record) if filter.wants(&record) => visit(&record),
                Some(_) => {}
                None => unreadable += u64::from(line.is_complete),
            }
            true
        })?;
        Ok(unreadable)
    }

    /// Whether no later record replaces this one. What is on earlier pages was not read for this one.
    fn is_last(&self, record: &CallRecord, after: Option<&CallPosition>) -> bool {
        let is_judged = record.hook.as_ref().is_some_and(|note| !note.over);
        if after.is_none() || !is_judged {
            return true;
        }
        let newest = self.find(record.call_id.as_str());
        !newest.is_ok_and(|newest| newest.is_some_and(|newest| newest != *record))
    }

    fn page_within(
        &self,
        filter: &CallFilter,
        after: Option<&CallPosition>,
        limit: usize,
        mut bytes: usize,
    ) -> Result<CallPage, StorageError> {
        let mut page = CallPage::default();
        if limit == 0 {
            page.next = after.cloned();
            return Ok(page);
        }
        let needles = filter.needles();
        let mut last: Option<CallPosition> = None;
        let mut over = Over::default();
        self.read_backwards(after, |line: Line<'_>| {
            let has_all = needles.iter().all(|needle| line.text.contains(needle));
            let is_checked = has_all || line.text.is_empty() || !line.is_complete;
            let record = is_checked.then(|| line.parse());
            match record {
                Some(Some(record)) if filter.is_past(&record) => return false,
                Some(Some(record)) if over.replaces(&record) => {}
                Some(Some(record)) if filter.wants(&record) && self.is_last(&record, after) => {
                    if page.records.len() == limit {
                        // There is one more: the page ends behind the one before.
                        page.next = last.take();
                        return false;
                    }
                    page.records.push(record);
                    last = line.position();
                }
                Some(None) => page.unreadable += u64::from(line.is_complete),
                Some(Some(_)) | None => {}
            }
            match bytes.checked_sub(line.text.len() + 1) {
                Some(left) => {
                    bytes = left;
                    true
                }
                None => {
                    page.next = line.position();
                    false
                }
            }
        })?;
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::names::{Slug, Version};
    use crate::record::call_log::{CallLog, CallLogOptions};
    use serde_json::json;
    use toolcrib_core::record::{HookAnswer, HookNote, Recorder as _};

    /// The directory of a log whose files have some ten records each.
    struct LogDir(tempfile::TempDir);

    impl LogDir {
        fn new() -> Self {
            LogDir(tempfile::tempdir().unwrap())
        }

        fn add(&self, records: impl IntoIterator<Item = CallRecord>) {
            let options = CallLogOptions {
                max_file_bytes: 2000,
                ..CallLogOptions::default()
            };
            let log = CallLog::with_options(self.0.path(), options);
            for record in records {
                log.record(record);
                log.flush();
            }
        }

        fn page(
            &self,
            filter: &CallFilter,
            after: Option<&CallPosition>,
            limit: usize,
        ) -> CallPage {
            let reader = CallLogReader::new(self.0.path());
            reader.page(filter, after, limit).unwrap()
        }

        /// All ids that are wanted, by pages of `limit`.
        fn all(&self, filter: &CallFilter, limit: usize) -> Vec<String> {
            let (mut ids, mut after) = (Vec::new(), None);
            loop {
                let page = self.page(filter, after.as_ref(), limit);
                ids.extend(names(&page));
                match page.next {
                    Some(next) => after = Some(next.to_string().parse().unwrap()),
                    None => return ids,
                }
            }
        }
    }

    fn names(page: &CallPage) -> Vec<String> {
        let ids = page.records.iter().map(|record| record.call_id.to_string());
        ids.collect()
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::new(second, 0).unwrap()
    }

    /// The nth call of a log with something of everything: it takes the nth second.
    fn record(n: i64) -> CallRecord {
        let failed = n % 3 == 0;
        CallRecord {
            call_id: CallId::parse(&format!("c-{n}")).unwrap(),
            tool: if n % 2 == 0 { "read_file" } else { "shell" }.to_owned(),
            bundle: Some(Slug::parse("core").unwrap()),
            slug: Some(Slug::parse(if n % 2 == 0 { "read-file" } else { "shell" }).unwrap()),
            version: Some(Version::v1()),
            tool_id: None,
            reached: true,
            caller: if n % 5 == 0 {
                Caller::Client("ada".to_owned())
            } else if n % 7 == 0 {
                Caller::Client("ada".to_owned()).nested()
            } else {
                Caller::Cli
            },
            parent: (n == 7).then(|| CallId::parse("c-1").unwrap()),
            start_time: at(1000 + n),
            end_time: at(1001 + n),
            queue_time_ms: 0.0,
            execution_time_ms: 1.0,
            duration_ms: 1.0,
            ok: !failed,
            code: failed.then_some(if n % 18 == 0 {
                ErrorCode::ApprovalDenied
            } else if n % 2 == 0 {
                ErrorCode::Timeout
            } else {
                ErrorCode::ExecutionError
            }),
            message: None,
            approval: None,
            truncated: false,
            network: Vec::new(),
            steps: Vec::new(),
            hook: None,
            parameters: json!({"text": "shell"}).as_object().unwrap().clone(),
        }
    }

    fn noted(n: i64, id: &str, over: bool) -> CallRecord {
        CallRecord {
            call_id: CallId::parse(id).unwrap(),
            ok: !over,
            hook: Some(HookNote {
                client: "codex".to_owned(),
                tool: "Bash".to_owned(),
                answer: HookAnswer::None,
                over,
            }),
            ..record(n)
        }
    }

    #[test]
    fn the_end_of_a_call_elsewhere_replaces_what_was_recorded_when_it_was_judged() {
        let log = LogDir::new();
        log.add([
            noted(1, "a", false),
            noted(2, "b", false),
            record(3),
            noted(4, "a", true),
            record(5),
        ]);
        let all = CallFilter::default();
        let page = log.page(&all, None, 10);
        assert_eq!(names(&page), ["c-5", "a", "c-3", "b"]);
        assert!(!page.records[1].ok);
        // Also where the end is on an earlier page.
        let mut found = Vec::new();
        let mut after = None;
        loop {
            let page = log.page(&all, after.as_ref(), 1);
            found.extend(names(&page));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(found, ["c-5", "a", "c-3", "b"]);
        let reader = CallLogReader::new(log.0.path());
        let latest = reader.latest(10, |_| true).unwrap().records;
        assert_eq!(latest.len(), 4);
        let mut count = 0;
        reader.each_since(None, |_| count += 1).unwrap();
        assert_eq!(count, 4);
    }

    fn filter(change: impl FnOnce(&mut CallFilter)) -> CallFilter {
        let mut filter = CallFilter::default();
        change(&mut filter);
        filter
    }

    #[test]
    fn pages_of_any_size_have_every_call_once_newest_first() {
        let place = LogDir::new();
        assert_eq!(
            place.page(&CallFilter::default(), None, 5),
            CallPage::default()
        );
        place.add((0..40).map(record));
        let files = std::fs::read_dir(place.0.path()).unwrap().count();
        assert!(files > 3, "over several files");
        let everything: Vec<String> = (0..40).rev().map(|n| format!("c-{n}")).collect();
        for limit in [1, 3, 7, 10, 39, 40, 41, 1000] {
            assert_eq!(
                place.all(&CallFilter::default(), limit),
                everything,
                "{limit}"
            );
        }
        let exact = place.page(&CallFilter::default(), None, 40);
        assert_eq!(exact.next, None, "no one is sent for an empty page");
    }

    #[test]
    fn a_page_goes_on_where_the_last_one_ended_whatever_came_or_went_since() {
        let place = LogDir::new();
        place.add((0..30).map(record));
        let all = CallFilter::default();
        let first = place.page(&all, None, 5);
        place.add((30..60).map(record));
        let next = place.page(&all, first.next.as_ref(), 5);
        assert_eq!(names(&next), ["c-24", "c-23", "c-22", "c-21", "c-20"]);
        // The size limit takes the file that was to come next.
        let gone = next.next.unwrap();
        std::fs::remove_file(place.0.path().join(gone.file.to_string())).unwrap();
        let rest = place.page(&all, Some(&gone), 100);
        assert!(rest.records.len() < 20 && rest.next.is_none(), "{rest:?}");
        // A torn line at the end of the log is no one's.
        let (_, newest) = {
            let mut files: Vec<_> = std::fs::read_dir(place.0.path())
                .unwrap()
                .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
                .filter_map(|name| LogName::parse(&name))
                .collect();
            files.sort();
            ((), files.pop().unwrap())
        };
        let path = place.0.path().join(newest.to_string());
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}not a record\n{{\"callId\":\"to")).unwrap();
        let page = place.page(&all, None, 1);
        assert_eq!(
            (names(&page), page.unreadable),
            (vec!["c-59".to_owned()], 1)
        );
    }

    #[test]
    fn every_part_of_a_filter_holds_and_all_of_them_together() {
        let place = LogDir::new();
        place.add((0..40).map(record));
        let filters = [
            filter(|f| f.tool = Some("shell".to_owned())),
            filter(|f| f.tool = Some("core/read-file".to_owned())),
            filter(|f| f.tool = Some("core/read-file@v1".to_owned())),
            filter(|f| f.tool = Some("core/read-file@v2".to_owned())),
            filter(|f| f.tool = Some("text".to_owned())),
            filter(|f| f.status = Some(CallStatus::Ok)),
            filter(|f| f.status = Some(CallStatus::Failed)),
            filter(|f| f.status = Some(CallStatus::Refused)),
            filter(|f| f.status = Some(CallStatus::Error)),
            filter(|f| f.status = Some(CallStatus::Code(ErrorCode::Timeout))),
            filter(|f| f.caller = Some(Caller::Client("ada".to_owned()))),
            filter(|f| f.caller = Some(Caller::Client("ad".to_owned()))),
            filter(|f| f.caller = Some(Caller::Tool)),
            filter(|f| f.caller = Some(Caller::Client("ada".to_owned()).nested())),
            filter(|f| f.since = Some(at(1031))),
            filter(|f| f.until = Some(at(1005))),
            filter(|f| f.call_id = CallId::parse("c-7").ok()),
            filter(|f| f.parent = CallId::parse("c-1").ok()),
            filter(|f| {
                f.tool = Some("shell".to_owned());
                f.status = Some(CallStatus::Failed);
                f.caller = Some(Caller::Client("ada".to_owned()));
                f.since = Some(at(1010));
                f.until = Some(at(1036));
            }),
        ];
        let counts: Vec<usize> = filters
            .iter()
            .map(|filter| {
                let wanted = (0..40)
                    .rev()
                    .map(record)
                    .filter(|record| filter.wants(record));
                let wanted: Vec<String> = wanted.map(|r| r.call_id.to_string()).collect();
                assert_eq!(place.all(filter, 4), wanted, "{filter:?}");
                wanted.len()
            })
            .collect();
        assert_eq!(
            counts,
            [
                20, 20, 20, 0, 0, 26, 14, 3, 11, 4, 8, 0, 4, 4, 9, 5, 1, 1, 1
            ]
        );
    }

    #[test]
    fn a_page_that_finds_nothing_ends_after_a_while_and_says_where_to_go_on() {
        let place = LogDir::new();
        place.add((0..40).map(record));
        let reader = CallLogReader::new(place.0.path());
        let first = filter(|f| f.call_id = CallId::parse("c-0").ok());
        let (mut pages, mut after) = (0, None);
        let found = loop {
            pages += 1;
            let page = reader
                .page_within(&first, after.as_ref(), 10, 1000)
                .unwrap();
            if !page.records.is_empty() {
                break names(&page);
            }
            after = Some(page.next.expect("there is more"));
        };
        assert_eq!(found, ["c-0"]);
        assert!((5..40).contains(&pages), "{pages} pages");
    }

    #[test]
    fn what_is_older_than_wanted_is_not_read() {
        let place = LogDir::new();
        place.add((0..40).map(record));
        // So old that no one would get there.
        place.add([record(100_000), record(100_001)]);
        let late = filter(|f| f.since = Some(at(90_000)));
        let reader = CallLogReader::new(place.0.path());
        let page = reader.page_within(&late, None, 10, 2000).unwrap();
        assert_eq!((names(&page).len(), page.next), (2, None));
    }

    #[test]
    fn a_text_that_is_not_a_position_is_refused_and_one_beyond_the_end_harms_no_one() {
        for text in [
            "",
            "x",
            "2026-11-15.jsonl",
            "2026-11-15.jsonl:",
            "2026-11-15.jsonl:-1",
            "2026-11-15.jsonl:01",
            "../2026-11-15.jsonl:1",
            "2026-11-15.0.jsonl:1",
        ] {
            assert_eq!(text.parse::<CallPosition>(), Err(NoPosition), "{text}");
        }
        let place = LogDir::new();
        place.add((0..3).map(record));
        let page = place.page(&CallFilter::default(), None, 1);
        let mut forged = page.next.unwrap();
        forged.offset += 3;
        assert_eq!(
            names(&place.page(&CallFilter::default(), Some(&forged), 10)),
            ["c-1", "c-0"]
        );
        forged.offset = u64::MAX;
        assert_eq!(
            place
                .page(&CallFilter::default(), Some(&forged), 10)
                .records
                .len(),
            3
        );
    }
}
