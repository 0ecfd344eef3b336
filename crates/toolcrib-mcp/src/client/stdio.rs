//! A pair of pipes, the asking end: one message a line, one task that reads, one that writes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::error::ClientError;
use super::options::ClientOptions;
use super::request_table::{Hearing, Talk, Wire};
use super::server_message::ServerNotice;

/// How many messages wait for the server to read them.
const QUEUE: usize = 64;
/// How many lines in a row may be no messages: servers print greetings where they must not.
const MAX_MALFORMED: usize = 1000;
/// How long closing waits for what is still to be written.
const CLOSE_TIME: Duration = Duration::from_secs(1);

/// The writing end.
pub(super) struct Pipes {
    queue: mpsc::Sender<Out>,
    /// Set when the writer is done.
    written: CancellationToken,
}

enum Out {
    Line(Bytes),
    /// Nothing comes after this.
    End,
}

pub(super) fn open<R, W>(
    reader: R,
    writer: W,
    options: ClientOptions,
    told: mpsc::Sender<ServerNotice>,
) -> Arc<Talk>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (queue, lines) = mpsc::channel(QUEUE);
    let written = CancellationToken::new();
    let pipes = Pipes {
        queue,
        written: written.clone(),
    };
    let talk = Talk::new(options, told, Wire::Pipes(pipes));
    tokio::spawn(read(talk.clone(), reader));
    tokio::spawn(write(talk.stop.clone(), written, lines, writer));
    talk
}

impl Pipes {
    /// Queues a message, waiting for room: a server that does not read makes its callers wait, within their deadlines.
    pub(super) async fn carry(&self, text: &Bytes) -> Result<(), ClientError> {
        let sent = self.queue.send(Out::Line(text.clone())).await;
        sent.map_err(|_| ClientError::Gone("the server does not read any more".to_owned()))
    }

    /// Queues a message if there is room.
    pub(super) fn try_carry(&self, text: Bytes) {
        let _ = self.queue.try_send(Out::Line(text));
    }

    /// Lets what is queued be written and closes the pipe.
    pub(super) async fn close(&self) {
        let closed = async {
            if self.queue.send(Out::End).await.is_ok() {
                self.written.cancelled().await;
            }
        };
        let _ = tokio::time::timeout(CLOSE_TIME, closed).await;
    }
}

async fn write<W: AsyncWrite + Unpin>(
    stop: CancellationToken,
    written: CancellationToken,
    mut lines: mpsc::Receiver<Out>,
    mut writer: W,
) {
    let writing = async {
        while let Some(Out::Line(line)) = lines.recv().await {
            let mut line = Vec::from(line);
            line.push(b'\n');
            if writer.write_all(&line).await.is_err() || writer.flush().await.is_err() {
                return;
            }
        }
        let _ = writer.shutdown().await;
    };
    tokio::select! {
        () = writing => {}
        () = stop.cancelled() => {}
    }
    written.cancel();
}

async fn read<R: AsyncRead + Unpin>(talk: Arc<Talk>, reader: R) {
    let reading = async {
        let why = lines(&talk, BufReader::new(reader)).await;
        talk.lost(why).await;
    };
    tokio::select! {
        () = reading => {}
        () = talk.stop.cancelled() => {}
    }
}

/// Hears line after line. Returns why there are no more.
async fn lines<R: AsyncRead + Unpin>(talk: &Arc<Talk>, mut reader: BufReader<R>) -> String {
    let most = talk.options.max_message;
    let mut line = Vec::new();
    let mut malformed = 0;
    loop {
        let buffer = match reader.fill_buf().await {
            Ok([]) => return "the server closed its output".to_owned(),
            Ok(buffer) => buffer,
            Err(error) => return format!("cannot read from the server: {error}"),
        };
        let end = buffer.iter().position(|&byte| byte == b'\n');
        let taken = end.unwrap_or(buffer.len());
        if line.len() + taken > most {
            return format!("the server sent a message of more than {most} bytes");
        }
        let heard = match end {
            // The usual case: a whole line in the buffer, which need not be copied.
            Some(end) if line.is_empty() => Some(hear(talk, &buffer[..end])),
            Some(end) => {
                line.extend_from_slice(&buffer[..end]);
                let heard = hear(talk, &line);
                // What one long message needed is not kept for all the short ones.
                line = Vec::new();
                Some(heard)
            }
            None => {
                line.extend_from_slice(buffer);
                None
            }
        };
        reader.consume(taken + usize::from(end.is_some()));
        match heard {
            Some(Hearing::Malformed) => malformed += 1,
            Some(Hearing::Understood) => malformed = 0,
            None => {}
        }
        if malformed > MAX_MALFORMED {
            return format!("the server wrote {malformed} lines in a row that are not MCP");
        }
    }
}

fn hear(talk: &Arc<Talk>, line: &[u8]) -> Hearing {
    match line.trim_ascii() {
        [] => Hearing::Malformed,
        line => {
            let heard = talk.hear(line, None);
            if heard == Hearing::Malformed {
                talk.note_odd(line);
            }
            heard
        }
    }
}
