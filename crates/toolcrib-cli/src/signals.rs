//! Being asked to stop: Ctrl-C, SIGTERM, SIGHUP. A call that is cancelled cleans up after itself; a process that dies does not.

use std::task::Poll;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM, or SIGHUP when the terminal goes.
    End,
}

/// Listens from the moment it is made.
pub(crate) struct Stops {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hangup: Option<Signal>,
}

impl Stops {
    /// Needs a runtime. What cannot be listened to ends the process, as it would without us.
    pub(crate) fn listen() -> Self {
        let hangup = SignalKind::hangup();
        Stops {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
            // `nohup` means that the program goes on when its terminal goes away.
            hangup: (!is_ignored(hangup)).then(|| signal(hangup).ok()).flatten(),
        }
    }

    /// The next time that someone asks.
    pub(crate) async fn next(&mut self) -> Stop {
        std::future::poll_fn(|cx| {
            let mut came = |signal: &mut Option<Signal>| {
                let signal = signal.as_mut();
                signal.is_some_and(|signal| matches!(signal.poll_recv(cx), Poll::Ready(Some(()))))
            };
            if came(&mut self.terminate) || came(&mut self.hangup) {
                Poll::Ready(Stop::End)
            } else if came(&mut self.interrupt) {
                Poll::Ready(Stop::Interrupt)
            } else {
                Poll::Pending
            }
        })
        .await
    }
}

/// Whether the parent process set a signal to be ignored.
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored(&status).is_some_and(|mask| mask & (1 << (kind.as_raw_value() - 1)) != 0)
}

fn ignored(status: &str) -> Option<u64> {
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_read_from_the_kernels_mask() {
        assert_eq!(ignored("Name:\tx\nSigIgn:\t0000000000000001\n"), Some(1));
        assert_eq!(ignored("Name:\tx\n"), None);
    }
}
