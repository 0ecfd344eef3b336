//! One run: hands the command over, passes on its output, watches its limits, and reports.

use crate::{
    arrivals::{Arrivals, STRICT_BYTES, STRICT_WRITES},
    cell::Cell,
    command::{Command, Stdin},
    engine::Inner,
    error::SandboxError,
    growth::Growth,
    input::Input,
    layer::Layer,
    level::Level,
    protect::{Looking, Moment, Planted},
    pty::unread,
    report::{EndedBy, Report, Status},
    stream::{Cancel, Stream},
    sys,
    terminal::Silence,
    watchdog::Watched,
};
use std::{
    io,
    os::fd::OwnedFd,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

/// How much is read at once.
const CHUNK: usize = 256 << 10;
/// A pipe is as large as a piece; twice that is certain to empty it.
const LAST_PIECES: usize = 2;
/// A terminal holds 12 KB, and gives less at once.
const LAST_LINES: usize = 64;
/// How often limits are polled that no descriptor reports.
const TICK: Duration = Duration::from_millis(50);
/// When it is worth its cost to know who makes what in the workspace.
const LISTEN_AFTER: Duration = Duration::from_millis(500);

struct Run<'a> {
    inner: &'a Inner,
    cell: Cell,
    output: &'a mut dyn FnMut(Stream, &[u8]),
    buffer: Vec<u8>,
    written: [u64; 2],
    pieces: [u64; 2],
    ended_by: Option<EndedBy>,
    /// When to stop waiting for an init that was asked to end everything.
    patience: Option<Instant>,
    /// From the first output on.
    watched: Option<Arc<Watched>>,
    deadline: Option<Instant>,
    cancel: &'a Cancel,
    began: Instant,
    growth: Option<Growth>,
    input: Input<'a>,
    arrivals: Arrivals,
    /// Of a command on a terminal whose questions are answered.
    silence: Option<Silence>,
    wire: &'a [u8],
    command: &'a Command,
    looking: Option<&'a Looking<'a>>,
    planted: Vec<Planted>,
    made: Vec<PathBuf>,
}

/// Runs a command in a cell. Also returns the cell's namespaces, by now without a process: taking the mounts apart takes the
/// kernel as long as starting a small program, and no one has to wait for it.
pub(crate) fn supervise(
    inner: &Inner,
    mut cell: Cell,
    command: &Command,
    wire: &[u8],
    looking: Option<&Looking<'_>>,
    output: &mut dyn FnMut(Stream, &[u8]),
    cancel: &Cancel,
) -> (Result<Report, SandboxError>, Vec<OwnedFd>) {
    let namespaces = cell.namespaces();
    (
        conduct(inner, cell, command, wire, looking, output, cancel),
        namespaces,
    )
}

fn conduct(
    inner: &Inner,
    cell: Cell,
    command: &Command,
    wire: &[u8],
    looking: Option<&Looking<'_>>,
    output: &mut dyn FnMut(Stream, &[u8]),
    cancel: &Cancel,
) -> Result<Report, SandboxError> {
    let limit = inner
        .policy
        .limits
        .growth
        .filter(|_| inner.policy.level > Level::None);
    let growth = limit
        .map(|limit| Growth::watch(limit, &inner.writable()))
        .transpose();
    let growth =
        growth.map_err(|source| SandboxError::setup("watching the workspace's size", source))?;
    let input = match command.input() {
        input if inner.policy.terminal => {
            let mut waiting = match input {
                Stdin::Bytes(bytes) => bytes.clone(),
                Stdin::Empty | Stdin::Inherit | Stdin::From(_) => Vec::new(),
            };
            if waiting.last().is_some_and(|last| *last != b'\n') {
                waiting.push(b'\n');
            }
            let keyboard = command
                .answers()
                .and_then(|dialogue| dialogue.keyboard.as_ref());
            Input::Typed { waiting, keyboard }
        }
        Stdin::Bytes(bytes) => Input::Bytes(bytes),
        Stdin::Empty => Input::Bytes(&[]),
        Stdin::Inherit => Input::Caller {
            from: None,
            read: Vec::new(),
            written: 0,
            ended: false,
        },
        Stdin::From(from) => Input::Caller {
            from: Some(from),
            read: Vec::new(),
            written: 0,
            ended: false,
        },
    };
    let arrivals = Arrivals::of(cell.stdout.as_ref(), cell.stderr.as_ref())
        .map_err(|source| SandboxError::setup("watching the output", source))?;
    let began = Instant::now();
    let mut run = Run {
        inner,
        cell,
        output,
        buffer: Vec::new(),
        written: [0; 2],
        pieces: [0; 2],
        ended_by: None,
        patience: None,
        watched: None,
        deadline: inner
            .policy
            .limits
            .time
            .and_then(|time| began.checked_add(time)),
        cancel,
        began,
        growth,
        input,
        arrivals,
        silence: command.answers().map(Silence::of),
        wire,
        command,
        looking,
        planted: Vec::new(),
        made: Vec::new(),
    };
    if let Some(command) = &run.cell.command {
        // Only a command longer than a pipe (64 KB) does not go at once.
        sys::nonblocking(command)
            .map_err(|source| SandboxError::setup("handing over the command", source))?;
    }
    run.hand_over();
    run.feed();
    run.watch();
    run.finish()
}

impl Run<'_> {
    /// Writes the command; what does not fit now goes when there is room.
    fn hand_over(&mut self) {
        while let Some(fd) = &self.cell.command {
            match sys::write(fd, self.wire) {
                Ok(Some(length)) => {
                    self.wire = self.wire.get(length..).unwrap_or(&[]);
                    if self.wire.is_empty() {
                        self.cell.command = None;
                    }
                }
                Ok(None) => return,
                Err(_) => self.cell.command = None,
            }
        }
    }

    /// Writes the command's input; what does not fit now goes when there is room.
    fn feed(&mut self) {
        while let Some(fd) = &self.cell.stdin {
            let rest = self.input.rest();
            if rest.is_empty() {
                if self.input.ended() {
                    self.cell.stdin = None;
                }
                return;
            }
            match sys::write(fd, rest) {
                Ok(Some(length)) => {
                    self.input.taken(length);
                    self.silence.iter_mut().for_each(Silence::broken);
                }
                Ok(None) => return,
                Err(_) => self.cell.stdin = None,
            }
        }
    }

    /// Passes on what there is of one output, one piece of it: limits are looked at between pieces. At the end the pipe is let go.
    fn pass_on(&mut self, stream: Stream) {
        let limit = self.inner.policy.limits.output;
        let written = &mut self.written[stream as usize];
        let pipe = match stream {
            Stream::Stdout => &mut self.cell.stdout,
            Stream::Stderr => &mut self.cell.stderr,
        };
        let Some(fd) = pipe else { return };
        if self.buffer.is_empty() {
            // In one go: the allocator gets it zeroed from the kernel, page by page as it is used.
            self.buffer = vec![0; CHUNK];
        }
        let length = match sys::read(fd, &mut self.buffer) {
            Ok(None) => return,
            Ok(Some(0)) | Err(_) => {
                *pipe = None;
                return;
            }
            Ok(Some(length)) => length,
        };
        self.silence.iter_mut().for_each(Silence::broken);
        let room = usize::try_from(limit - *written).unwrap_or(usize::MAX);
        let taken = length.min(room);
        *written += taken as u64;
        let pieces = &mut self.pieces[stream as usize];
        *pieces += 1;
        let widen = *written >= STRICT_BYTES || *pieces >= STRICT_WRITES;
        if taken < length {
            *pipe = None;
        }
        if taken > 0 {
            if self.watched.is_none() {
                self.watched = self.cell.watch(self.deadline, self.cancel).ok();
            }
            (self.output)(stream, self.buffer.get(..taken).unwrap_or(&[]));
        }
        if widen {
            self.cell.widen(stream);
        }
        if taken < length {
            self.end(EndedBy::Output);
        }
    }

    /// Passes on one piece of each output that has one, in the order in which they came.
    fn pass_on_all(&mut self) {
        for stream in self.arrivals.take() {
            self.pass_on(stream);
            let pipe = match stream {
                Stream::Stdout => &mut self.cell.stdout,
                Stream::Stderr => &mut self.cell.stderr,
            };
            if let Some(fd) = pipe
                && self.arrivals.again(stream, fd).is_err()
            {
                // Cannot be; and an output that is not awaited must not keep the command waiting.
                *pipe = None;
            }
        }
    }

    /// Nothing was printed or typed for a while: answers, unless what was typed before is still unread; then the command
    /// works and does not wait.
    fn answer(&mut self) {
        let Some(silence) = &mut self.silence else {
            return;
        };
        let unread = self.cell.terminal.as_ref().map_or(0, unread);
        if unread > 0 || !self.input.rest().is_empty() {
            silence.broken();
        } else if let Some(answer) = silence.answer() {
            self.input.press(answer);
            self.feed();
        } else {
            self.end(EndedBy::Silence);
        }
    }

    fn end(&mut self, reason: EndedBy) {
        if self.ended_by.is_none() {
            self.ended_by = Some(reason);
            self.patience = self.cell.kill();
        }
    }

    /// Until init has ended: moves bytes, and polls the limits that no descriptor reports.
    fn watch(&mut self) {
        let deadline = self.deadline;
        let kept = self.looking.is_some() && self.command.kept_by().is_some();
        let ticking = kept || self.growth.is_some() || self.cpu_limit().is_some();
        let mut tick = Instant::now() + TICK;
        let mut next_look = tick;
        loop {
            let next = [
                deadline.filter(|_| self.ended_by.is_none()),
                ticking.then_some(tick),
                self.patience,
                self.silence
                    .as_ref()
                    .filter(|_| self.ended_by.is_none())
                    .map(|silence| silence.until),
            ]
            .into_iter()
            .flatten()
            .min();
            let wait = next.map_or(-1, |next| {
                let left = next.saturating_duration_since(Instant::now());
                i32::try_from(left.as_micros().div_ceil(1000)).unwrap_or(i32::MAX)
            });
            let cell = &self.cell;
            let hungry = self.input.is_hungry();
            let cancelled = self.ended_by.is_none().then_some(self.cancel.event());
            let mut ready = [
                sys::awaits(Some(cell.ended()), libc::POLLIN),
                sys::awaits(Some(self.arrivals.any()), libc::POLLIN),
                // The pipe: for room while there is something to write, else only for its end.
                sys::awaits(cell.stdin.as_ref(), if hungry { 0 } else { libc::POLLOUT }),
                sys::awaits(
                    self.input
                        .source()
                        .filter(|_| hungry && cell.stdin.is_some())
                        .as_ref(),
                    libc::POLLIN,
                ),
                sys::awaits(cell.command.as_ref(), libc::POLLOUT),
                sys::awaits(cancelled, libc::POLLIN),
                sys::awaits(self.looking.and_then(Looking::ear), libc::POLLIN),
            ];
            sys::poll(&mut ready, wait);
            let [ended, output, room, more, command, cancelled, made] =
                ready.map(|fd| fd.revents != 0);
            if output || ended {
                self.pass_on_all();
            }
            if ended {
                self.ended_by = self.ended_by.or_else(|| self.watched.as_ref()?.ended_by());
                return;
            }
            if made && let Some(looking) = self.looking {
                looking.hear();
            }
            if more {
                self.input.refill();
            }
            if room && hungry {
                // The command reads no more: no one is left who would take another piece.
                self.cell.stdin = None;
            } else if room || more {
                self.feed();
            }
            if command {
                self.hand_over();
            }
            if cancelled {
                self.end(EndedBy::Cancelled);
            }
            let silent = self.silence.as_ref();
            if silent.is_some_and(|silence| Instant::now() >= silence.until)
                && self.ended_by.is_none()
            {
                self.answer();
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                self.end(EndedBy::Time);
            }
            if self.patience.is_some_and(|until| Instant::now() >= until) {
                self.patience = None;
                self.cell.kill_harder();
            }
            if ticking && Instant::now() >= tick {
                self.look();
                // A workspace that takes long to look at is looked at for a twentieth of the time: limits must not wait for it.
                if kept && Instant::now() >= next_look {
                    let began = Instant::now();
                    self.look_for_planted(Moment::Running);
                    if self.began.elapsed() >= LISTEN_AFTER
                        && let Some(looking) = self.looking
                    {
                        looking.listen();
                    }
                    next_look = Instant::now() + began.elapsed() * 20;
                }
                tick = Instant::now() + TICK;
            }
        }
    }

    fn cpu_limit(&self) -> Option<Duration> {
        self.inner.policy.limits.cpu
    }

    fn look(&mut self) {
        let used = self.cell.slot.as_ref().and_then(|slot| slot.cpu_time());
        if let (Some(limit), Some(used)) = (self.cpu_limit(), used)
            && used > limit
        {
            self.end(EndedBy::Cpu);
        }
        if self
            .growth
            .as_ref()
            .is_some_and(|growth| growth.passed(|| self.cell.descendants()))
        {
            self.end(EndedBy::Growth);
        }
    }

    /// Finds what the run planted, and has it looked after.
    fn look_for_planted(&mut self, moment: Moment) {
        let Some(looking) = self.looking else { return };
        let found = looking.look(moment);
        self.made.extend(found.made);
        if found.planted.is_empty() && moment == Moment::Running {
            return;
        }
        if let Some(keeper) = self.command.kept_by() {
            keeper.planted(&found.planted, moment);
        }
        self.planted.extend(found.planted);
    }

    /// Every process is gone, or about to be: takes what is left in the pipes and writes the report.
    fn finish(mut self) -> Result<Report, SandboxError> {
        let command = self.command;
        let usage = self.cell.reap();
        let duration = self.began.elapsed();
        self.look_for_planted(Moment::Ended);
        // What fits into a pipe, not until its end: a process that escaped our kill must not hold the report up.
        let pieces = if self.cell.terminal.is_some() {
            LAST_LINES
        } else {
            LAST_PIECES
        };
        for _ in 0..pieces {
            self.pass_on(Stream::Stdout);
            self.pass_on(Stream::Stderr);
        }
        let mut said = [0u8; 16];
        let length = sys::read(&self.cell.report, &mut said)
            .ok()
            .flatten()
            .unwrap_or(0);
        let number = i32::from_ne_bytes([said[4], said[5], said[6], said[7]]);
        // Not from the kernel's count for init: that process began its life in our memory, and is charged with it.
        let [.., m0, m1, m2, m3, m4, m5, m6, m7] = said;
        let max_rss = u64::from_ne_bytes([m0, m1, m2, m3, m4, m5, m6, m7]) * 1024;
        let status = match (length, said[0]) {
            (16, b'X') if libc::WIFEXITED(number) => Status::Exited(libc::WEXITSTATUS(number)),
            (16, b'X') => Status::Signalled(libc::WTERMSIG(number)),
            (16, b'D') => {
                let source = io::Error::from_raw_os_error(number);
                return Err(SandboxError::Path {
                    role: "directory of the command",
                    path: command.start_directory(&self.inner.workspace),
                    source,
                });
            }
            (16, b'E') => {
                let source = io::Error::from_raw_os_error(number);
                return Err(SandboxError::Start {
                    program: command.program_name(),
                    source,
                });
            }
            _ => Status::Signalled(libc::SIGKILL),
        };
        let slot = self.cell.slot.as_ref();
        // Whatever the command makes of it: a pipeline may end well although a part of it was killed.
        let oom = slot.is_some_and(|slot| slot.oom_kills() > 0);
        // A process at its own limit of CPU seconds is killed, by a count that runs a little ahead of the one we get.
        let cpu = status == Status::Signalled(libc::SIGKILL)
            && self.cpu_limit().is_some_and(|limit| {
                let used = usage.map_or(Duration::ZERO, |usage| {
                    time(usage.ru_utime) + time(usage.ru_stime)
                });
                used >= limit.mul_f64(0.7)
            });
        let ended_by = self
            .ended_by
            .or(oom.then_some(EndedBy::Memory))
            .or(cpu.then_some(EndedBy::Cpu));
        let mut layers = self.inner.layers();
        if self.inner.guard.is_none() {
            layers.retain(|layer| *layer != Layer::ProtectedNames);
        }
        Ok(Report {
            level: self.inner.policy.level,
            status: if self.ended_by.is_some() {
                Status::Signalled(libc::SIGKILL)
            } else {
                status
            },
            ended_by,
            duration,
            user_time: usage.map_or(Duration::ZERO, |usage| time(usage.ru_utime)),
            system_time: usage.map_or(Duration::ZERO, |usage| time(usage.ru_stime)),
            max_rss,
            peak_memory: slot.and_then(|slot| slot.peak_memory()),
            pids_refused: slot.map_or(0, |slot| slot.pids_refused()),
            stdout_bytes: self.written[0],
            stderr_bytes: self.written[1],
            layers,
            not_enforced: self.inner.plan.not_enforced.clone(),
            planted: self.planted,
            made: self.made,
        })
    }
}

fn time(time: libc::timeval) -> Duration {
    Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
}
