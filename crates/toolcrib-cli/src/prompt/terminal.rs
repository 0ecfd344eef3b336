//! [`Terminal`]: the person's side of a question. Lines are written and read, nothing else is asked of the terminal, so that
//! it may be a dumb one.
//!
//! Reading ends when the person types a line or when a [`Wake`] says that the question is no more, whatever is first. The
//! terminal is left as it was found: its modes, and without half a line that the shell would take for its own.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr,
    tcgetwinsize, tcsetattr,
};

pub(crate) use super::waking::Wake;
use super::waking::end_of;
use crate::wrap;

/// How long an editor may take to close when its question is no more.
const CLOSING: Duration = Duration::from_secs(2);
/// No one types more in a line.
const MAX_LINE: usize = 64 * 1024;

/// What comes of waiting for a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// What was typed, without the end of the line.
    Text(String),
    /// Ctrl-D, or the terminal is gone.
    End,
    /// Someone called [`Wake::wake`].
    Woken,
}

/// A terminal with a person at it.
#[derive(Debug)]
pub(crate) struct Terminal {
    input: OwnedFd,
    output: File,
    colour: bool,
}

impl Terminal {
    /// The terminal of this process, if a person may be expected at it: standard input or standard error is one.
    ///
    /// What was redirected of the two is replaced by `/dev/tty`. A process that has neither is run by a program, even where
    /// it was left a controlling terminal.
    pub(crate) fn find(colour: bool) -> Option<Self> {
        let (stdin, stderr) = (io::stdin(), io::stderr());
        if !stdin.is_terminal() && !stderr.is_terminal() {
            return None;
        }
        let tty = |write: bool| {
            let mut options = File::options();
            options.read(!write).write(write).open("/dev/tty").ok()
        };
        let input = if stdin.is_terminal() {
            stdin.as_fd().try_clone_to_owned().ok()?
        } else {
            tty(false)?.into()
        };
        let output = if stderr.is_terminal() {
            stderr.as_fd().try_clone_to_owned().ok()?.into()
        } else {
            tty(true)?
        };
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Some(Terminal {
            input,
            output,
            colour: colour && !is_dumb,
        })
    }

    /// Turns to the person for a question. Earlier input is discarded: it is not an answer to it.
    ///
    /// Not before there is a question: a process in the background is stopped for as much as this.
    pub(crate) fn attend(&self) -> Attention<'_> {
        let found = tcgetattr(&self.input).ok();
        if let Some(modes) = &found {
            self.make_readable(modes);
        }
        self.forget_typed();
        Attention {
            terminal: self,
            found,
        }
    }

    /// Lines, echo and signals: what a program that died may have switched off.
    fn make_readable(&self, found: &Termios) {
        let mut modes = found.clone();
        modes.local_modes |= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        modes.input_modes |= InputModes::ICRNL;
        if modes.local_modes != found.local_modes || modes.input_modes != found.input_modes {
            let _ = tcsetattr(&self.input, OptionalActions::Now, &modes);
        }
    }

    fn forget_typed(&self) {
        let _ = tcflush(&self.input, QueueSelector::IFlush);
    }

    pub(crate) fn colour(&self) -> bool {
        self.colour
    }

    /// Rows of the terminal; a small one's if it does not say.
    pub(crate) fn rows(&self) -> usize {
        tcgetwinsize(&self.output).map_or(24, |size| match size.ws_row {
            0 => 24,
            rows => usize::from(rows),
        })
    }

    /// Columns to write to, of those the terminal has now.
    pub(crate) fn columns(&self) -> usize {
        wrap::usable(tcgetwinsize(&self.output).map_or(0, |size| size.ws_col))
    }

    /// Writes a line. What cannot be written no one reads.
    pub(crate) fn say(&self, line: &str) {
        let _ = writeln!(&self.output, "{line}");
    }

    /// Asks, and waits for a line.
    pub(crate) fn ask(&self, question: &str, wake: &Wake) -> Line {
        // What was typed ahead was echoed before the question, not behind it.
        let was_typed = is_ready(self.input.as_fd(), Duration::ZERO);
        let _ = write!(&self.output, "{question}");
        let line = self.read_line(wake);
        match line {
            Line::Text(_) if was_typed => self.say(""),
            Line::Text(_) => {}
            // The cursor is behind the question.
            Line::End => self.say(""),
            Line::Woken => {
                self.say("");
                self.forget_typed();
            }
        }
        line
    }

    fn read_line(&self, wake: &Wake) -> Line {
        let mut typed: Vec<u8> = Vec::new();
        loop {
            match wait_for(self.input.as_fd(), wake, None) {
                Ready::First => {}
                Ready::Woken => return Line::Woken,
                Ready::Neither => continue,
            }
            let mut bytes = [0; 4096];
            match rustix::io::read(&self.input, &mut bytes) {
                Ok(0) if typed.is_empty() => return Line::End,
                // The second Ctrl-D behind a text, or the terminal is gone.
                Ok(0) => return text_of(&typed),
                Ok(read) => typed.extend_from_slice(&bytes[..read]),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return Line::End,
            }
            if typed.last() == Some(&b'\n') || typed.len() > MAX_LINE {
                return text_of(&typed);
            }
        }
    }

    /// Hands on what is typed, key by key and without showing it, until `wake`; whether there may be more. Ctrl-C and the like keep
    /// their meaning, and the modes are put back.
    pub(crate) fn pass_keys(&self, wake: &Wake, mut take: impl FnMut(Vec<u8>) -> bool) -> bool {
        let found = tcgetattr(&self.input).ok();
        let _attention = Attention {
            terminal: self,
            found: found.clone(),
        };
        if let Some(mut modes) = found {
            modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN;
            modes.input_modes -= InputModes::ICRNL | InputModes::IXON;
            let _ = tcsetattr(&self.input, OptionalActions::Now, &modes);
        }
        loop {
            match wait_for(self.input.as_fd(), wake, None) {
                Ready::First => {}
                Ready::Woken => return true,
                Ready::Neither => continue,
            }
            let mut bytes = [0; 4096];
            match rustix::io::read(&self.input, &mut bytes) {
                Ok(0) => return false,
                Ok(read) if take(bytes[..read].to_vec()) => {}
                Ok(_) => return false,
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return false,
            }
        }
    }

    /// Asks for a line that is not shown. Keys are read one by one: a line that the terminal itself edits ends at 4096 bytes,
    /// and a signal in the middle would leave the terminal without echo.
    pub(crate) fn ask_hidden(&self, question: &str) -> Hidden {
        let Ok(mut modes) = tcgetattr(&self.input) else {
            return Hidden::Shown;
        };
        let _attention = Attention {
            terminal: self,
            found: Some(modes.clone()),
        };
        modes.local_modes -=
            LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        modes.input_modes -= InputModes::IXON;
        let set = tcsetattr(&self.input, OptionalActions::Now, &modes);
        // It succeeds as soon as one of the modes could be set.
        let echoes = |modes: Termios| modes.local_modes.contains(LocalModes::ECHO);
        if set.is_err() || tcgetattr(&self.input).map_or(true, echoes) {
            return Hidden::Shown;
        }
        self.forget_typed();
        let _ = write!(&self.output, "{question}");
        let mut typed = Keys::default();
        let ended = loop {
            let mut bytes = [0; 4096];
            let read = match rustix::io::read(&self.input, &mut bytes) {
                Ok(0) => break Hidden::Cancelled,
                Ok(read) => read,
                Err(Errno::INTR) => continue,
                Err(_) => break Hidden::Cancelled,
            };
            if let Some(ended) = typed.take(&bytes[..read]) {
                break ended;
            }
        };
        self.say("");
        ended
    }

    /// Runs the person's editor on a file and waits until it is closed. When the question is no more, it is closed from here.
    pub(crate) fn edit(&self, editor: &str, file: &Path, wake: &Wake) -> io::Result<Edited> {
        let modes = tcgetattr(&self.input).ok();
        let stdio = |fd: BorrowedFd<'_>| fd.try_clone_to_owned().map(Stdio::from);
        let mut child = Command::new("sh")
            // Editors come with options (`code --wait`). `exec`, so that a signal meets the editor.
            .args(["-c", &format!("exec {editor} \"$@\""), "editor"])
            .arg(file)
            .stdin(stdio(self.input.as_fd())?)
            .stdout(stdio(self.output.as_fd())?)
            .stderr(stdio(self.output.as_fd())?)
            .spawn()?;
        let ended = self.until_closed(&mut child, wake);
        // An editor that was killed could not put them back.
        if let Some(modes) = &modes {
            let _ = tcsetattr(&self.input, OptionalActions::Now, modes);
        }
        ended
    }

    fn until_closed(&self, child: &mut Child, wake: &Wake) -> io::Result<Edited> {
        let pid = Pid::from_child(child);
        let closed = end_of(pid)?;
        loop {
            match wait_for(closed.as_fd(), wake, None) {
                Ready::First => break,
                Ready::Neither => {}
                Ready::Woken => {
                    let _ = kill_process(pid, Signal::TERM);
                    if !is_ready(closed.as_fd(), CLOSING) {
                        child.kill()?;
                    }
                    child.wait()?;
                    self.forget_typed();
                    return Ok(Edited::Woken);
                }
            }
        }
        let status = child.wait()?;
        Ok(match status.success() {
            true => Edited::Saved,
            false => Edited::Failed(status.to_string()),
        })
    }
}

/// What comes of asking for a line that is not shown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// What was typed, without the end of the line.
    Text(String),
    /// Ctrl-C, Ctrl-D, or the terminal is gone.
    Cancelled,
    /// Nothing was asked: the terminal would show what is typed.
    Shown,
}

/// A line that is typed, and what kind of key is being read.
#[derive(Default)]
struct Keys {
    typed: Vec<u8>,
    escape: Escape,
}

/// How far a key is read that is more than one byte: arrows, `Home`, functions.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Escape {
    #[default]
    No,
    /// After ESC.
    Begun,
    /// After ESC `[`: until a byte from `@` to `~`.
    Sequence,
    /// After ESC `O`: one byte.
    Single,
}

impl Keys {
    /// Takes keys as a line editor would; something once the line is over.
    fn take(&mut self, keys: &[u8]) -> Option<Hidden> {
        for key in keys {
            if self.is_of_escape(*key) {
                continue;
            }
            match key {
                b'\n' | b'\r' => {
                    let text = String::from_utf8_lossy(&self.typed).into_owned();
                    return Some(Hidden::Text(text));
                }
                // Ctrl-C, Ctrl-D, Ctrl-\.
                0x03 | 0x04 | 0x1c => return Some(Hidden::Cancelled),
                // Backspace takes a whole character.
                0x08 | 0x7f => while self.typed.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {},
                // Ctrl-U.
                0x15 => self.typed.clear(),
                b'\t' | 0x20.. if self.typed.len() <= 2 * MAX_LINE => self.typed.push(*key),
                // Other keys are not characters.
                _ => {}
            }
        }
        None
    }

    /// Whether a byte belongs to a key that is not a character. A control character ends every one: Enter and Ctrl-C always work.
    fn is_of_escape(&mut self, key: u8) -> bool {
        let (is_it, next) = match (self.escape, key) {
            (_, 0x1b) => (true, Escape::Begun),
            (Escape::No, _) | (_, ..0x20 | 0x7f) => (false, Escape::No),
            (Escape::Begun, b'[') => (true, Escape::Sequence),
            (Escape::Begun, b'O') => (true, Escape::Single),
            (Escape::Sequence, 0x20..=0x3f) => (true, Escape::Sequence),
            // The last byte, or a character with Alt.
            (Escape::Begun | Escape::Sequence | Escape::Single, _) => (true, Escape::No),
        };
        self.escape = next;
        is_it
    }
}

fn text_of(typed: &[u8]) -> Line {
    let typed = typed.strip_suffix(b"\n").unwrap_or(typed);
    Line::Text(String::from_utf8_lossy(typed).into_owned())
}

/// The terminal while a question is on it. Afterwards its modes are as they were found.
#[derive(Debug)]
pub(crate) struct Attention<'a> {
    terminal: &'a Terminal,
    found: Option<Termios>,
}

impl Drop for Attention<'_> {
    fn drop(&mut self) {
        if let Some(modes) = &self.found {
            let _ = tcsetattr(&self.terminal.input, OptionalActions::Now, modes);
        }
    }
}

/// What came of an editor.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Edited {
    /// It was closed in good order.
    Saved,
    /// It said that something went wrong.
    Failed(String),
    /// The question is no more.
    Woken,
}

enum Ready {
    First,
    Woken,
    Neither,
}

/// Waits until there is something to read, or the wake; the wake goes first.
fn wait_for(first: BorrowedFd<'_>, wake: &Wake, time: Option<&Timespec>) -> Ready {
    let mut fds = [
        PollFd::from_borrowed_fd(first, PollFlags::IN),
        PollFd::new(wake.descriptor(), PollFlags::IN),
    ];
    // Interrupted by a signal: neither, and the caller asks again.
    let _ = poll(&mut fds, time);
    if !fds[1].revents().is_empty() {
        Ready::Woken
    } else if !fds[0].revents().is_empty() {
        Ready::First
    } else {
        Ready::Neither
    }
}

fn is_ready(fd: BorrowedFd<'_>, within: Duration) -> bool {
    let deadline = std::time::Instant::now() + within;
    loop {
        let left = deadline.saturating_duration_since(std::time::Instant::now());
        let time = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        match poll(
            &mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)],
            Some(&time),
        ) {
            Ok(0) => return false,
            Ok(_) => return true,
            Err(_) if left.is_zero() => return false,
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(pieces: &[&[u8]]) -> Option<Hidden> {
        let mut keys = Keys::default();
        pieces.iter().find_map(|piece| keys.take(piece))
    }

    #[test]
    fn keys_that_are_not_characters_leave_nothing_in_a_hidden_line() {
        let typed = |line: &str| Some(Hidden::Text(line.to_owned()));
        assert_eq!(text(&[b"ab\x1b[Acd\n"]), typed("abcd"));
        assert_eq!(text(&[b"ab\x1b", b"[", b"1;5", b"Ccd\r"]), typed("abcd"));
        assert_eq!(text(&[b"\x1bOPab\x1b[3~\x1b[15~cd\n"]), typed("abcd"));
        assert_eq!(text(&[b"\x1b[200~abcd\x1b[201~\n"]), typed("abcd"));
        assert_eq!(text(&[b"a[Ab\x7f\x7fA\x08\n"]), typed("a["));
        // Whatever was begun, Enter and Ctrl-C are what they are.
        assert_eq!(text(&[b"abcd\x1b[\n"]), typed("abcd"));
        assert_eq!(text(&[b"abcd\x1b\x03"]), Some(Hidden::Cancelled));
    }
}
