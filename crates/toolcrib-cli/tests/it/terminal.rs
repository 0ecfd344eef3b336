//! A pseudo-terminal with the binary at its other end, and a person who reads before typing.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};

use crate::harness::Test;

/// Nothing here takes longer unless it hangs.
const DEADLINE: Duration = Duration::from_secs(60);

/// The binary on its own terminal.
pub(crate) struct Session {
    child: Child,
    keyboard: File,
    /// Kept open, so that what was written stays readable and the modes can be looked at.
    terminal: File,
    screen: Arc<Screen>,
    /// How much of the screen was read by [`sees`](Self::sees).
    read: usize,
}

#[derive(Default)]
struct Screen {
    text: Mutex<String>,
    changed: Condvar,
}

impl Test {
    /// Runs the binary on a terminal; everything it writes goes there.
    pub(crate) fn on_terminal(&self, words: &[&str]) -> Session {
        Session::start(self, words, "exec \"$@\"")
    }

    /// As [`on_terminal`](Self::on_terminal), with so many columns.
    pub(crate) fn on_terminal_of(&self, columns: u16, words: &[&str]) -> Session {
        let script = format!("stty cols {columns}; exec \"$@\"");
        Session::start(self, words, &script)
    }

    /// As [`on_terminal`](Self::on_terminal), by a shell script in which `"$@"` is the command.
    pub(crate) fn on_terminal_by(&self, script: &str, words: &[&str]) -> Session {
        Session::start(self, words, script)
    }
}

impl Session {
    fn start(test: &Test, words: &[&str], script: &str) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let size = Winsize {
            ws_row: 50,
            ws_col: 200,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).unwrap();
        let terminal = File::options()
            .read(true)
            .write(true)
            .open(name.to_str().unwrap())
            .unwrap();
        // `setsid --ctty` makes it the controlling terminal, which only the child itself could do.
        let inner = test.command();
        let mut command = Command::new("setsid");
        command
            .args(["--ctty", "sh", "-c"])
            .arg(script)
            .arg("sh")
            .arg(inner.get_program())
            .args(words)
            .current_dir(inner.get_current_dir().unwrap())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("USER", "ada")
            .env("TERM", "xterm")
            .env("NO_COLOR", "1")
            .envs(
                inner
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .stdin(terminal.try_clone().unwrap())
            .stdout(terminal.try_clone().unwrap())
            .stderr(terminal.try_clone().unwrap());
        let child = command.spawn().unwrap();
        let screen = Arc::new(Screen::default());
        let master: OwnedFd = master;
        let keyboard = File::from(master);
        let (mut reader, shown) = (keyboard.try_clone().unwrap(), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = reader.read(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..read]).replace('\r', "");
                shown.text.lock().unwrap().push_str(&text);
                shown.changed.notify_all();
            }
        });
        Session {
            child,
            keyboard,
            terminal,
            screen,
            read: 0,
        }
    }

    /// Waits until a text appears behind what was seen before; gives what came up to its end.
    pub(crate) fn sees(&mut self, text: &str) -> String {
        let deadline = Instant::now() + DEADLINE;
        let mut shown = self.screen.text.lock().unwrap();
        loop {
            if let Some(at) = shown[self.read..].find(text) {
                let end = self.read + at + text.len();
                let seen = shown[self.read..end].to_owned();
                self.read = end;
                return seen;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero(),
                "{text:?} does not appear on the screen:\n{}",
                *shown
            );
            shown = self.screen.changed.wait_timeout(shown, left).unwrap().0;
        }
    }

    /// Types a line.
    pub(crate) fn types(&mut self, line: &str) {
        self.presses(&format!("{line}\n"));
    }

    /// Presses keys.
    pub(crate) fn presses(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the end; the exit code, and everything that was on the screen.
    pub(crate) fn ends(mut self) -> (i32, String) {
        let deadline = Instant::now() + DEADLINE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > deadline {
                let shown = self.screen.text.lock().unwrap().clone();
                self.child.kill().unwrap();
                panic!("it does not end:\n{shown}");
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let modes = tcgetattr(&self.terminal).unwrap();
        let cooked = rustix::termios::LocalModes::ICANON | rustix::termios::LocalModes::ECHO;
        assert!(
            modes.local_modes.contains(cooked),
            "the terminal is left as it was"
        );
        // Our own mark is the last thing on the screen: what came before it has been read then.
        writeln!(self.terminal, "\u{1}end").unwrap();
        self.sees("\u{1}end");
        let shown = self.screen.text.lock().unwrap().clone();
        (status.code().unwrap_or(-1), shown.replace("\u{1}end", ""))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Polls until something is there.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} does not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}
