//! The thread that sends spans: batches, again after a while where the collector asks for that, and never for longer than the queue
//! holds out.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::{HeaderValue, Method, StatusCode, header};
use serde_json::Value;
use toolcrib::egress::{Egress, Reach, Request, Response};

use super::families::{Families, Which};
use super::{CallSpan, Message, Telemetry, otlp};
use crate::observe::figures::Figures;

/// How many spans are sent at once, and how long the first of them waits for others.
const BATCH: usize = 512;
const LINGER: Duration = Duration::from_secs(1);
/// How long one attempt may take, how many there are, and what is waited before the second; twice as long before each further one.
const ATTEMPT: Duration = Duration::from_secs(10);
const ATTEMPTS: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause, also where the collector asks for a longer one.
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// How much of an answer is read.
const MAX_ANSWER: u64 = 64 * 1024;

/// Until when someone waits for everything to be sent, if someone does.
#[derive(Default)]
pub(super) struct Hurry(Mutex<Option<Instant>>, Condvar);

impl Hurry {
    pub(super) fn until(&self, deadline: Option<Instant>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = deadline;
        self.1.notify_all();
    }

    fn deadline(&self) -> Option<Instant> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pauses, or not for long if someone waits.
    fn pause(&self, pause: Duration) {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self
            .1
            .wait_timeout_while(held, pause, |deadline| deadline.is_none());
    }
}

/// What became of an attempt.
enum Attempt {
    Taken,
    /// To be tried again, after this long if the collector says so.
    Later(Option<Duration>),
    Refused,
}

pub(super) struct Exporter {
    pub(super) telemetry: Telemetry,
    pub(super) egress: Egress,
    pub(super) families: Arc<Mutex<Families>>,
    pub(super) hurry: Arc<Hurry>,
    pub(super) figures: Arc<Figures>,
}

impl Exporter {
    /// Sends what comes until no one can send any more.
    pub(super) fn run(self, queue: &Receiver<Message>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let Ok(runtime) = runtime else {
            return;
        };
        loop {
            let Ok(first) = queue.recv() else {
                return;
            };
            let linger = Instant::now() + LINGER;
            let (mut spans, mut calls, mut waiting) = (Vec::new(), Vec::new(), None);
            let mut next = Some(first);
            while let Some(message) = next.take() {
                match message {
                    Message::Request(span) => spans.push(otlp::request(&span)),
                    Message::Call(span) => calls.push(*span),
                    Message::Flush(done) => waiting = Some(done),
                }
                if spans.len() + calls.len() >= BATCH || waiting.is_some() {
                    break;
                }
                // The rest of the second, unless a caller waits.
                let left = linger.saturating_duration_since(Instant::now());
                next = queue.recv_timeout(left).ok();
            }
            let which = match waiting {
                Some(_) => Which::All,
                None => Which::Known,
            };
            spans.extend(self.place(calls, which));
            for batch in spans.chunks(BATCH) {
                self.send(&runtime, batch);
            }
            if let Some(done) = waiting {
                let _ = done.try_send(());
            }
        }
    }

    fn place(&self, calls: Vec<CallSpan>, which: Which) -> Vec<Value> {
        let mut families = self.families.lock().unwrap_or_else(PoisonError::into_inner);
        let placed = families.place(calls, which);
        drop(families);
        placed
            .iter()
            .filter(|(place, _)| place.sampled)
            .map(|(place, span)| otlp::call(place, span))
            .collect()
    }

    fn send(&self, runtime: &tokio::runtime::Runtime, batch: &[Value]) {
        let count = batch.len() as u64;
        let body = otlp::document(&self.telemetry.service, batch).to_string();
        let mut pause = FIRST_PAUSE;
        for attempt in 1..=ATTEMPTS {
            match runtime.block_on(self.attempt(&body)) {
                Attempt::Taken => return self.figures.spans_sent(count),
                Attempt::Refused => break,
                Attempt::Later(wished) => {
                    self.figures.export_failed();
                    let is_late = self.hurry.deadline().is_some();
                    if attempt == ATTEMPTS || is_late {
                        break;
                    }
                    self.hurry.pause(wished.unwrap_or(pause).min(MAX_PAUSE));
                    pause *= 2;
                }
            }
        }
        self.figures.span_dropped(count);
    }

    async fn attempt(&self, body: &str) -> Attempt {
        let mut request = Request::get(self.telemetry.url.clone());
        request.method = Method::POST;
        let json = HeaderValue::from_static("application/json");
        request.headers.insert(header::CONTENT_TYPE, json);
        request.body = body.to_owned().into();
        request.reach = Reach::Configured(self.telemetry.target.clone());
        request.max_redirects = 0;
        request.max_received = MAX_ANSWER;
        request.timeout = ATTEMPT;
        tokio::select! {
            answer = self.egress.send(request) => match answer {
                Ok(answer) => self.judge(&answer),
                Err(_) => Attempt::Later(None),
            },
            () = self.out_of_time() => Attempt::Later(None),
        }
    }

    /// Ends when the caller that waits for everything to be sent gives up.
    async fn out_of_time(&self) {
        let is_late = || self.hurry.deadline().is_some_and(|at| at <= Instant::now());
        while !is_late() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn judge(&self, answer: &Response) -> Attempt {
        match answer.status {
            status if status.is_success() => {
                let rejected = rejected(&answer.body);
                self.figures.span_dropped(rejected);
                Attempt::Taken
            }
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => {
                let wished = answer.headers.get(header::RETRY_AFTER);
                let seconds = wished.and_then(|value| value.to_str().ok()?.parse().ok());
                Attempt::Later(seconds.map(Duration::from_secs))
            }
            _ => Attempt::Refused,
        }
    }
}

/// How many spans of a batch a collector says it did not take.
fn rejected(answer: &[u8]) -> u64 {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    match &answer["partialSuccess"]["rejectedSpans"] {
        Value::String(count) => count.parse().unwrap_or(0),
        count => count.as_u64().unwrap_or(0),
    }
}
