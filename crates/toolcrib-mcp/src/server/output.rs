//! What goes to the writer: every message that is ready, in as few writes as the pipe takes: [`Output`].

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;

use super::Server;
use super::answer::{Answer, Outcome};
use super::outbox::Outbox;
use crate::rpc::write_id;

/// Beyond this, news stay where they are bounded.
const FULL: usize = 256 * 1024;

/// Lines on their way out.
#[derive(Default)]
pub(crate) struct Output {
    buffer: Vec<u8>,
    written: usize,
    unflushed: bool,
}

impl Output {
    /// How many bytes wait.
    pub(crate) fn waiting(&self) -> usize {
        self.buffer.len() - self.written
    }

    /// Whether everything is with the client.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting() == 0 && !self.unflushed
    }

    /// Adds an answer, after all earlier messages.
    pub(crate) fn answer(&mut self, server: &Server, outbox: &Outbox, answer: &Answer) {
        while let Some(text) = outbox.take() {
            self.line(&text);
        }
        answer.write(&server.0, &mut self.buffer);
        self.buffer.push(b'\n');
        if let (Ok(Outcome::Ended(_)), Some(id)) = (&answer.result, &answer.id) {
            // The answer says that it ended well; this, that it ended at all, as pipes want it.
            self.buffer.extend_from_slice(
                br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"#,
            );
            write_id(id, &mut self.buffer);
            self.buffer.extend_from_slice(b"}}\n");
        }
    }

    /// Adds the messages that wait in the outbox, unless the client is not reading.
    pub(crate) fn fill(&mut self, outbox: &Outbox) {
        while self.waiting() < FULL
            && let Some(text) = outbox.take()
        {
            self.line(&text);
        }
    }

    fn line(&mut self, text: &[u8]) {
        self.buffer.extend_from_slice(text);
        self.buffer.push(b'\n');
    }

    /// Writes as much as is taken; true if anything was.
    pub(crate) fn write(
        &mut self,
        mut writer: Pin<&mut impl AsyncWrite>,
        task: &mut Context<'_>,
    ) -> std::io::Result<bool> {
        let mut moved = false;
        while self.written < self.buffer.len() {
            match writer
                .as_mut()
                .poll_write(task, &self.buffer[self.written..])
            {
                Poll::Pending => return Ok(moved),
                Poll::Ready(Ok(0)) => return Err(std::io::ErrorKind::BrokenPipe.into()),
                Poll::Ready(Ok(count)) => {
                    self.written += count;
                    self.unflushed = true;
                    moved = true;
                }
                Poll::Ready(Err(error)) => return Err(error),
            }
        }
        self.written = 0;
        // A long answer does not leave its space behind.
        if self.buffer.capacity() > 4 * FULL {
            self.buffer = Vec::new();
        }
        self.buffer.clear();
        if self.unflushed {
            match writer.poll_flush(task) {
                Poll::Pending => {}
                Poll::Ready(Ok(())) => self.unflushed = false,
                Poll::Ready(Err(error)) => return Err(error),
            }
        }
        Ok(moved)
    }
}
