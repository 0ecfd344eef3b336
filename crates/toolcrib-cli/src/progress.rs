//! A moving line on stderr for whatever takes longer than 300 ms.

use std::future::Future;
use std::time::{Duration, Instant};

use crate::output::Output;
use crate::prompt::Screen;

const PATIENCE: Duration = Duration::from_millis(300);
const FRAME: Duration = Duration::from_millis(100);
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Awaits something; shows a moving line when it takes long and someone looks. Keeps still while a question is on the
/// screen, and counts from the start afterwards: the time a person took is not the tool's.
pub(crate) async fn show<T>(
    output: &Output,
    screen: &Screen,
    what: &str,
    work: impl Future<Output = T>,
) -> T {
    if !output.shows_progress() {
        return work.await;
    }
    let mut work = std::pin::pin!(work);
    let mut start = Instant::now();
    if let Ok(done) = tokio::time::timeout(PATIENCE, &mut work).await {
        return done;
    }
    for frame in FRAMES.iter().cycle() {
        let line = format!(
            "{} {what} · {:.1} s",
            output.dim(frame),
            start.elapsed().as_secs_f64()
        );
        if !screen.draw(&line) {
            start = Instant::now();
        }
        if let Ok(done) = tokio::time::timeout(FRAME, &mut work).await {
            screen.clear();
            return done;
        }
    }
    unreachable!("the frames never end")
}
