//! Questions reach a person where they are: the channels `[notify.NAME]`, and the thread that sends.
//!
//! ```text
//! settings  what a channel is, read from config.toml
//! due       which questions a channel sends now: bursts together, not in quiet hours, the second channel later
//! notice    what a message says
//! send      one message by one channel
//! link      the one-time link: what is signed, and what it is good for
//! notifier  the thread that looks at the queue, in every process that has someone who waits
//! ```
//!
//! A message informs and decides nothing. Of several processes of a home one sends each question by each channel: a file in `notified/`,
//! made once, says who. What a message contains is masked, since the questions are. Nothing waits for a channel that is slow or dead.

mod due;
mod link;
mod notice;
mod notifier;
mod send;
mod settings;

pub use link::{BadLink, Links, OneTime};
pub use notice::{Notice, NoticeItem};
pub use notifier::{Notifier, NotifierOptions};
pub use send::send;
pub use settings::{Channel, ChannelKind, NotifyFault, NotifySettings, QuietHours};
