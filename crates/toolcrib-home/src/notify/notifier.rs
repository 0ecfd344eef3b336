//! The thread that looks at the queue of a home and sends what is due: [`Notifier`].
//!
//! It looks once a second, for questions of any process of the home. Before a message is sent, a file is made in `notified/` for each of its
//! questions and the channel: another process that looks at the same time finds it and leaves the question alone. A message that a
//! channel does not take is tried again a few times, then reported, and is lost; the question is still in the queue.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::due::Gathering;
use super::link::Links;
use super::notice::Notice;
use super::send::{may_pass, send};
use super::settings::{Channel, NotifySettings};
use crate::approval::queue::Status;
use crate::approval::{ApprovalQueue, Queued};
use crate::egress::Egress;
use crate::model::error::{ErrorCode, ToolError};
use crate::secret::SecretStore;
use crate::storage::{DurableDir, StorageError};

/// How often the queue is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How often one message is tried, and the pauses between the attempts.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_secs(2);
/// For how long it is remembered what was sent: longer than any question waits.
const REMEMBER: Duration = Duration::from_secs(8 * 24 * 3600);
/// How often what is too old is looked for among that.
const SWEEP: Duration = Duration::from_secs(3600);

/// What a notifier works with.
pub struct NotifierOptions {
    /// The questions.
    pub queue: ApprovalQueue,
    /// The channels.
    pub channels: NotifySettings,
    /// Where the server is reached, without a slash at the end.
    pub url: Option<String>,
    /// The way out.
    pub egress: Egress,
    /// The secrets of the channels.
    pub secrets: SecretStore,
    /// The home.
    pub home: PathBuf,
    /// The zone of quiet hours.
    pub zone: TimeZone,
}

/// Sends questions for as long as this is kept.
pub struct Notifier {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Stop(Mutex<bool>, Condvar);

impl Stop {
    /// Waits; whether it is time to stop.
    fn wait(&self, pause: Duration) -> bool {
        let stopped = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .1
            .wait_timeout_while(stopped, pause, |stopped| !*stopped);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Notifier {
    /// Starts to look. `seen` is called for every question that begins to wait, whatever process asks it; `report` with what goes wrong.
    /// Both are called on the thread of the notifier.
    pub fn start(
        options: NotifierOptions,
        seen: impl FnMut(&Queued) + Send + 'static,
        report: impl FnMut(String) + Send + 'static,
    ) -> std::io::Result<Self> {
        let stop = Arc::new(Stop::default());
        let work = Work {
            gathering: HashMap::new(),
            sent: HashSet::new(),
            known: HashSet::new(),
            swept: None,
            stop: Arc::clone(&stop),
            seen: Box::new(seen),
            report: Box::new(report),
            options,
        };
        let thread = std::thread::Builder::new()
            .name("notifier".to_owned())
            .spawn(move || work.run())?;
        Ok(Notifier {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        *self.stop.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.1.notify_all();
        // A message under way is given up with its runtime; the thread ends by itself.
        drop(self.thread.take());
    }
}

struct Work {
    options: NotifierOptions,
    gathering: HashMap<String, Gathering>,
    /// What was sent by which channel, as far as this process knows: the names of the files.
    sent: HashSet<String>,
    /// The questions that were seen to wait.
    known: HashSet<String>,
    swept: Option<SystemTime>,
    stop: Arc<Stop>,
    seen: Box<dyn FnMut(&Queued) + Send>,
    report: Box<dyn FnMut(String) + Send>,
}

impl Work {
    fn run(mut self) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => return (self.report)(format!("no one is notified: {error}")),
        };
        let mut was_fine = true;
        while !self.stop.wait(LOOK) {
            match self.options.queue.list(Some(Status::Pending)) {
                Ok(listing) => {
                    was_fine = true;
                    self.look(&listing.requests, &runtime);
                }
                Err(error) if was_fine => {
                    was_fine = false;
                    (self.report)(format!("the questions that wait cannot be read: {error}"));
                }
                Err(_) => {}
            }
        }
    }

    fn look(&mut self, questions: &[Queued], runtime: &tokio::runtime::Runtime) {
        for question in questions {
            if self.known.insert(question.request.id.clone()) {
                (self.seen)(question);
            }
        }
        let waits: HashSet<&str> = questions
            .iter()
            .map(|question| question.request.id.as_str())
            .collect();
        self.known.retain(|id| waits.contains(id.as_str()));
        let channels = self.options.channels.clone();
        for (name, channel) in channels.channels() {
            let sent = &self.sent;
            let gathering = self.gathering.entry(name.to_owned()).or_default();
            let due = gathering.due(
                channel,
                questions,
                |id| sent.contains(&marker(id, name)),
                Timestamp::now(),
                &self.options.zone,
            );
            if due.is_empty() {
                continue;
            }
            match self.claim(&due, name) {
                Ok(own) if own.is_empty() => {}
                Ok(own) => self.notify(name, channel, &own, runtime),
                Err(error) => {
                    // Said once: a full disk is full the next second, too.
                    let markers = due.iter().map(|one| marker(&one.request.id, name));
                    self.sent.extend(markers);
                    (self.report)(format!("cannot notify by `{name}`: {error}"));
                }
            }
        }
        self.sent.retain(|marker| {
            marker
                .split_once('.')
                .is_some_and(|(id, _)| waits.contains(id))
        });
    }

    /// Those of the questions that no other process has taken.
    fn claim<'q>(
        &mut self,
        due: &[&'q Queued],
        channel: &str,
    ) -> Result<Vec<&'q Queued>, StorageError> {
        let dir = DurableDir::create(self.options.home.join("notified"))?;
        let lock = dir.lock()?;
        let now = SystemTime::now();
        let is_time = self
            .swept
            .and_then(|at| now.duration_since(at).ok())
            .is_none_or(|since| since > SWEEP);
        if is_time {
            self.swept = Some(now);
            dir.sweep(&lock)?;
            for name in dir.list()? {
                let stamp = dir.stamp_of(&name)?;
                if stamp.and_then(|stamp| stamp.age(now)) > Some(REMEMBER) && !name.starts_with('.')
                {
                    dir.remove(&lock, &name)?;
                }
            }
        }
        let mut own = Vec::new();
        for question in due {
            let name = marker(&question.request.id, channel);
            match dir.create_new(&lock, &name, b"") {
                Ok(()) => own.push(*question),
                Err(StorageError::Exists { .. }) => {}
                Err(error) => return Err(error),
            }
            self.sent.insert(name);
        }
        Ok(own)
    }

    fn notify(
        &mut self,
        name: &str,
        channel: &Channel,
        questions: &[&Queued],
        runtime: &tokio::runtime::Runtime,
    ) {
        let NotifierOptions {
            url,
            egress,
            secrets,
            home,
            ..
        } = &self.options;
        let links = Links::of_home(home);
        let one_time = |question: &Queued| {
            let url = url.as_deref().filter(|_| channel.one_time)?;
            let link = links.make(question, name).ok()??;
            Some(format!("{url}/answer?link={link}"))
        };
        let notice = Notice::about(questions, url.as_deref(), one_time);
        for attempt in 1..=ATTEMPTS {
            let sent = runtime.block_on(send(channel, &notice, egress, secrets));
            let Err(error) = sent else {
                return;
            };
            let is_last = attempt == ATTEMPTS || !may_pass(&error);
            if is_last || self.stop.wait(PAUSE * attempt) {
                let message = error.message();
                return (self.report)(format!("cannot notify by `{name}`: {message}"));
            }
        }
    }
}

fn marker(id: &str, channel: &str) -> String {
    format!("{id}.{channel}")
}

impl NotifierOptions {
    /// Sends a test message through all channels or one, and returns what became of each.
    pub async fn try_channels(
        &self,
        only: Option<&str>,
    ) -> Result<Vec<(String, Result<(), ToolError>)>, ToolError> {
        let wanted: Vec<(&str, &Channel)> = self
            .channels
            .channels()
            .filter(|(name, _)| only.is_none_or(|only| only == *name))
            .collect();
        if let (Some(only), []) = (only, wanted.as_slice()) {
            let names: Vec<&str> = self.channels.channels().map(|(name, _)| name).collect();
            let message = format!(
                "there is no channel `{}`{}",
                crate::model::text::shorten(only, 80),
                match names.as_slice() {
                    [] => "; `[notify.NAME]` in config.toml makes one".to_owned(),
                    names => format!("; there are {}", crate::model::text::or_list(names)),
                }
            );
            return Err(ToolError::new(ErrorCode::NotFound, message));
        }
        let notice = Notice::trial(self.url.as_deref());
        let mut tried = Vec::new();
        for (name, channel) in wanted {
            let sent = send(channel, &notice, &self.egress, &self.secrets).await;
            tried.push((name.to_owned(), sent));
        }
        Ok(tried)
    }
}
