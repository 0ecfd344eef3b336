//! The access log: one line for each request, when it is over.
//!
//! Its own thread writes it, from a bounded queue and in batches: a terminal that someone stopped, or a full pipe, costs lines
//! (which are counted) and never a request. A line has no value of a query, no token and no body in it by construction; secrets that
//! someone put into a path are masked.

use std::fmt::Write as _;
use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use http::Method;
use jiff::Timestamp;
use serde_json::json;
use toolcrib::CallId;
use toolcrib::config::AccessLog;
use toolcrib::secret::{Masker, SecretStore};

use super::figures::Figures;
use super::watch::Ended;
use crate::api::Peer;
use crate::auth::Principal;

/// How many lines wait at most.
const QUEUE: usize = 8192;
/// How many lines, and how many bytes, are written at once.
const BATCH: usize = 512;
const BATCH_BYTES: usize = 64 * 1024;
/// How much of a route's path, and of anything else that a client says, is logged.
const MAX_PATH: usize = 2048;
const MAX_WORD: usize = 200;

/// Where the access log goes; standard error by default.
pub struct Sink(pub Box<dyn Write + Send>);

impl Default for Sink {
    fn default() -> Self {
        Sink(Box::new(std::io::stderr()))
    }
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sink")
    }
}

/// The logged fields of a request.
pub(super) struct Line {
    pub(super) at: Timestamp,
    pub(super) peer: Peer,
    pub(super) principal: Principal,
    pub(super) method: Method,
    /// As it was sent, without its query.
    pub(super) path: String,
    /// The id of its route; `None` if there is none.
    pub(super) route: Option<&'static str>,
    /// `None` if its client went away before there was an answer.
    pub(super) status: Option<u16>,
    pub(super) ended: Ended,
    pub(super) duration: Duration,
    pub(super) bytes: u64,
    pub(super) request_id: String,
    pub(super) call_id: Option<CallId>,
}

/// How times are written for people.
pub type Clock = fn(Timestamp) -> String;

/// How a line is written.
type Form = Box<dyn Fn(&Line, &Masker, &mut String) + Send>;

enum Message {
    Line(Box<Line>),
    /// Everything before this is written: say so.
    Flush(SyncSender<()>),
}

/// Hands lines to the thread that writes them, which ends with this.
pub(super) struct AccessWriter {
    lines: SyncSender<Message>,
    secrets: Arc<OnceLock<SecretStore>>,
    figures: Arc<Figures>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

impl AccessWriter {
    /// Starts the thread, if there is something to write. Without a thread there is no access log; requests matter more.
    pub(super) fn start(
        kind: AccessLog,
        time: Option<Clock>,
        sink: Sink,
        figures: &Arc<Figures>,
    ) -> Option<Self> {
        let form: Form = match kind {
            AccessLog::Off => return None,
            AccessLog::Text => {
                let time = time.unwrap_or(|at| format!("{at:.3}"));
                Box::new(move |line, masker, out| text(line, time, masker, out))
            }
            AccessLog::Json => Box::new(json),
        };
        let (lines, queue) = sync_channel(QUEUE);
        let secrets: Arc<OnceLock<SecretStore>> = Arc::default();
        let (known, counted) = (Arc::clone(&secrets), Arc::clone(figures));
        let thread = std::thread::Builder::new()
            .name("access-log".to_owned())
            .spawn(move || write_all(&queue, &form, sink, &known, &counted))
            .ok()?;
        Some(AccessWriter {
            lines,
            secrets,
            figures: Arc::clone(figures),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Takes these secrets out of every line from now on.
    pub(super) fn mask(&self, secrets: &SecretStore) {
        let _ = self.secrets.set(secrets.clone());
    }

    /// Takes a line, or counts it as dropped.
    pub(super) fn write(&self, line: Line) {
        if self.lines.try_send(Message::Line(Box::new(line))).is_err() {
            self.figures.access_dropped(1);
        }
    }

    /// Waits until everything so far is written.
    pub(super) fn flush(&self, deadline: Instant) {
        let (done, written) = sync_channel(1);
        let mut message = Message::Flush(done);
        loop {
            match self.lines.try_send(message) {
                Ok(()) => break,
                Err(TrySendError::Disconnected(_)) => return,
                Err(TrySendError::Full(back)) => message = back,
            }
            if Instant::now() >= deadline {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = written.recv_timeout(deadline.saturating_duration_since(Instant::now()));
    }
}

impl Drop for AccessWriter {
    /// Gives the thread a moment for what is left; a sink that takes nothing keeps no one.
    fn drop(&mut self) {
        self.flush(Instant::now() + Duration::from_millis(500));
        drop(self.thread.get_mut().map(Option::take));
    }
}

fn write_all(
    queue: &Receiver<Message>,
    form: &Form,
    mut sink: Sink,
    secrets: &OnceLock<SecretStore>,
    figures: &Figures,
) {
    let mut batch = String::new();
    while let Ok(first) = queue.recv() {
        let masker = secrets.get().map(SecretStore::masker).unwrap_or_default();
        let mut waiting = Vec::new();
        let mut lines = 0;
        let mut next = Some(first);
        while let Some(message) = next {
            match message {
                Message::Line(line) => {
                    form(&line, &masker, &mut batch);
                    lines += 1;
                }
                Message::Flush(done) => waiting.push(done),
            }
            let is_full = lines == BATCH || batch.len() > BATCH_BYTES;
            next = match is_full {
                true => None,
                false => queue.try_recv().ok(),
            };
        }
        let written = sink.0.write_all(batch.as_bytes());
        if written.and_then(|()| sink.0.flush()).is_err() {
            figures.access_dropped(lines as u64);
        }
        batch.clear();
        for done in waiting {
            let _ = done.try_send(());
        }
    }
}

/// A line for people.
fn text(line: &Line, time: Clock, masker: &Masker, out: &mut String) {
    let status = match line.status {
        Some(status) => status.to_string(),
        None => "-".to_owned(),
    };
    let _ = write!(
        out,
        "{} {status} {} {} {}@{} {} {} {}",
        time(line.at),
        shown(line.method.as_str(), masker, MAX_WORD),
        path(line, masker),
        who(&line.principal),
        peer(&line.peer),
        duration(line.duration),
        bytes(line.bytes),
        shown(&line.request_id, masker, MAX_WORD),
    );
    if let Some(call) = &line.call_id {
        let _ = write!(out, " call {}", shown(&call.to_string(), masker, MAX_WORD));
    }
    out.push_str(match line.ended {
        Ended::Whole => "\n",
        Ended::Aborted => " aborted\n",
    });
}

/// A line for programs.
fn json(line: &Line, masker: &Masker, out: &mut String) {
    let call_id = line.call_id.as_ref();
    let object = json!({
        "time": format!("{:.3}", line.at),
        "requestId": shown(&line.request_id, masker, MAX_WORD),
        "peer": peer(&line.peer),
        "principal": who(&line.principal),
        "method": shown(line.method.as_str(), masker, MAX_WORD),
        "path": path(line, masker),
        "route": line.route,
        "status": line.status,
        "durationMs": (line.duration.as_micros() as f64) / 1000.0,
        "bytes": line.bytes,
        "aborted": line.ended == Ended::Aborted,
        "callId": call_id.map(|id| shown(&id.to_string(), masker, MAX_WORD)),
    });
    let _ = writeln!(out, "{object}");
}

/// The path. One that leads nowhere, or of someone without a token, is cut short: such requests cost nothing, and would fill the disk.
fn path(line: &Line, masker: &Masker) -> String {
    let most = line.route.map_or(MAX_WORD, |_| MAX_PATH);
    shown(&line.path, masker, most)
}

/// The principal, in one word.
pub(super) fn who(principal: &Principal) -> String {
    match principal {
        Principal::Nobody => "nobody".to_owned(),
        Principal::Operator => "operator".to_owned(),
        Principal::Client(name) => format!("client:{name}"),
    }
}

fn peer(peer: &Peer) -> String {
    match peer {
        // The port says nothing to a person, and changes with every connection.
        Peer::Address(address) => address.ip().to_string(),
        Peer::Local => "local".to_owned(),
    }
}

/// A text of the client's as it may be shown: masked, no longer than it may be, and nothing in it that a terminal or a reader of lines
/// would take for more than a letter.
fn shown(text: &str, masker: &Masker, most: usize) -> String {
    let masked = masker.mask(text);
    let mut out = String::with_capacity(masked.len());
    for (at, letter) in masked.chars().enumerate() {
        match letter {
            _ if at == most => {
                out.push('…');
                break;
            }
            '\\' => out.push_str("\\\\"),
            ' '..='~' => out.push(letter),
            // Masks, and texts in other scripts; what turns the direction of a line is among the escaped.
            _ if letter.is_alphanumeric() || letter == '…' => out.push(letter),
            _ => out.extend(letter.escape_unicode()),
        }
    }
    out
}

fn duration(duration: Duration) -> String {
    match duration.as_micros() {
        micros @ 0..1_000 => format!("{micros}µs"),
        micros @ 1_000..1_000_000 => format!("{:.1}ms", micros as f64 / 1e3),
        micros => format!("{:.2}s", micros as f64 / 1e6),
    }
}

/// A size in one word, so that the line still splits at its spaces.
fn bytes(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes}B"),
        1024..1_048_576 => format!("{:.1}kB", bytes as f64 / 1024.0),
        _ => format!("{:.1}MB", bytes as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn line() -> Line {
        Line {
            at: Timestamp::UNIX_EPOCH,
            peer: Peer::Address(([127, 0, 0, 1], 5000).into()),
            principal: Principal::Client("ci".to_owned()),
            method: Method::GET,
            path: "/tools".to_owned(),
            route: Some("listTools"),
            status: Some(200),
            ended: Ended::Whole,
            duration: Duration::from_micros(1234),
            bytes: 2048,
            request_id: "r-1".to_owned(),
            call_id: Some(CallId::parse("c-1").unwrap()),
        }
    }

    /// A line for people with a time that is the same everywhere.
    fn text(line: &Line, masker: &Masker, out: &mut String) {
        super::text(line, |at| format!("{at:.3}"), masker, out);
    }

    fn written(form: fn(&Line, &Masker, &mut String), line: &Line) -> String {
        let mut out = String::new();
        form(line, &Masker::default(), &mut out);
        out
    }

    #[test]
    fn a_line_for_people_says_who_asked_for_what_and_how_it_went() {
        assert_eq!(
            written(text, &line()),
            "1970-01-01T00:00:00.000Z 200 GET /tools client:ci@127.0.0.1 1.2ms 2.0kB r-1 call c-1\n"
        );
        let gone = Line {
            status: None,
            ended: Ended::Aborted,
            principal: Principal::Nobody,
            peer: Peer::Local,
            call_id: None,
            bytes: 0,
            ..line()
        };
        assert_eq!(
            written(text, &gone),
            "1970-01-01T00:00:00.000Z - GET /tools nobody@local 1.2ms 0B r-1 aborted\n"
        );
    }

    #[test]
    fn a_line_for_programs_always_has_the_same_keys() {
        let whole: serde_json::Value = serde_json::from_str(&written(json, &line())).unwrap();
        assert_eq!(
            whole,
            json!({"time": "1970-01-01T00:00:00.000Z", "requestId": "r-1", "peer": "127.0.0.1",
                   "principal": "client:ci", "method": "GET", "path": "/tools", "route": "listTools",
                   "status": 200, "durationMs": 1.234, "bytes": 2048, "aborted": false, "callId": "c-1"})
        );
        let gone = Line {
            status: None,
            route: None,
            call_id: None,
            ..line()
        };
        let gone: serde_json::Value = serde_json::from_str(&written(json, &gone)).unwrap();
        let keys = |value: &serde_json::Value| -> Vec<String> {
            value.as_object().unwrap().keys().cloned().collect()
        };
        assert_eq!(keys(&gone), keys(&whole));
    }

    #[test]
    fn what_would_move_a_cursor_or_start_a_line_is_escaped() {
        for form in [text, json] {
            let path = "/a\u{1b}[2J\r\nb\u{7f}\u{9b}\u{2028}\u{202e}\u{0}".to_owned();
            let written = written(form, &Line { path, ..line() });
            assert_eq!(written.lines().count(), 1, "{written:?}");
            let odd =
                |letter: char| letter.is_control() || ('\u{2000}'..'\u{2070}').contains(&letter);
            assert!(!written.trim_end().contains(odd), "{written:?}");
        }
    }

    #[test]
    fn a_long_path_is_cut() {
        let path = format!("/{}", "x".repeat(100_000));
        let known = Line { path, ..line() };
        assert!(written(text, &known).len() < 2 * MAX_PATH);
        let nowhere = Line {
            route: None,
            ..known
        };
        for form in [text, json] {
            assert!(written(form, &nowhere).len() < 3 * MAX_WORD);
        }
    }

    /// Accepts nothing until it is released.
    struct Stuck(Receiver<()>, Arc<Mutex<Vec<u8>>>);

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.0.recv();
            let mut all = self.1.lock().unwrap();
            all.extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_sink_that_takes_nothing_holds_no_one_up_and_what_is_lost_is_counted() {
        let figures = Arc::new(Figures::default());
        let (go, stop) = channel();
        let all = Arc::new(Mutex::new(Vec::new()));
        let sink = Sink(Box::new(Stuck(stop, Arc::clone(&all))));
        let log = AccessWriter::start(AccessLog::Text, None, sink, &figures).unwrap();
        let many = QUEUE + 2 * BATCH;
        for _ in 0..many {
            log.write(line());
        }
        let dropped = figures.access_lines_dropped();
        assert!(dropped > 0 && dropped <= 2 * BATCH as u64, "{dropped}");
        drop(go);
        log.flush(Instant::now() + Duration::from_secs(10));
        let text = String::from_utf8(all.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count() as u64, many as u64 - dropped);
    }

    #[test]
    fn secrets_in_a_path_are_masked() {
        let secret = toolcrib::model::secret::Secret::new("hunter2-hunter2".to_owned());
        let masker = Masker::of([&secret]);
        let mut out = String::new();
        let path = "/tools/hunter2-hunter2".to_owned();
        text(&Line { path, ..line() }, &masker, &mut out);
        assert!(!out.contains("hunter2"), "{out}");
    }
}
