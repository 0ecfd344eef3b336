//! What a terminal waits for besides keys, where there are no event and process descriptors: compiled, and not run by any test yet.

use std::io::{self, PipeWriter, Write as _};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// Ends whatever the terminal is doing. Once it was called it stays so.
#[derive(Debug)]
pub(crate) struct Wake(OwnedFd, Mutex<Option<PipeWriter>>);

impl Wake {
    pub(crate) fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        Ok(Wake(reader.into(), Mutex::new(Some(writer))))
    }

    /// Readable once it was called.
    pub(super) fn descriptor(&self) -> &OwnedFd {
        &self.0
    }

    pub(crate) fn wake(&self) {
        let writer = self.1.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut writer) = writer {
            // A new pipe has room for a byte.
            let _ = writer.write_all(b"!");
        }
    }
}

/// Is ready to be read when the program has ended.
pub(super) fn end_of(program: Pid) -> io::Result<OwnedFd> {
    let (reader, mut writer) = io::pipe()?;
    std::thread::Builder::new().spawn(move || {
        // It stays to be waited for by the caller.
        let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let _ = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(program), how));
        let _ = writer.write_all(b"!");
    })?;
    Ok(reader.into())
}
