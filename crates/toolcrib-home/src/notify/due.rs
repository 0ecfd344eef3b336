//! Which questions a channel sends now: [`Gathering`]. Pure: the clock, the zone and what was sent before are the caller's.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::settings::Channel;
use crate::approval::Queued;
use crate::approval::queue::Status;

/// What a channel is about to send.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    /// When the first of the questions was due that are gathered.
    since: Option<Timestamp>,
}

impl Gathering {
    /// The questions that one message is about, now; none for none. Those that wait too short, were sent, or fall into quiet hours come later.
    pub(super) fn due<'q>(
        &mut self,
        channel: &Channel,
        questions: &'q [Queued],
        is_sent: impl Fn(&str) -> bool,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Vec<&'q Queued> {
        let time = now.to_zoned(zone.clone()).time();
        if channel.quiet.is_some_and(|quiet| quiet.include(time)) {
            self.since = None;
            return Vec::new();
        }
        let due: Vec<&Queued> = questions
            .iter()
            .filter(|question| question.status == Status::Pending)
            .filter(|question| {
                millis(question.request.created_at, now) >= channel.after.as_millis()
            })
            .filter(|question| !is_sent(&question.request.id))
            .collect();
        if due.is_empty() {
            self.since = None;
            return due;
        }
        let since = *self.since.get_or_insert(now);
        if millis(since, now) < channel.gather.as_millis() {
            return Vec::new();
        }
        self.since = None;
        due
    }
}

/// How long ago a time is; nothing for one that is yet to come.
fn millis(then: Timestamp, now: Timestamp) -> u128 {
    let millis = now.as_millisecond().saturating_sub(then.as_millisecond());
    u128::try_from(millis).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::notify::settings::{ChannelKind, QuietHours};

    fn channel(after: u64, gather: u64) -> Channel {
        Channel {
            kind: ChannelKind::Desktop,
            after: Duration::from_millis(after),
            gather: Duration::from_millis(gather),
            quiet: None,
            one_time: false,
        }
    }

    fn question(id: &str, created: i64) -> Queued {
        let created = Timestamp::from_millisecond(created).unwrap();
        serde_json::from_value(json!({
            "id": id, "stepId": "1", "callId": "c", "tool": "shell", "args": {}, "reason": "", "effect": "",
            "argsDigest": "d", "createdAt": created, "status": "pending", "waiting": true,
        }))
        .unwrap()
    }

    /// Which questions are sent at which times.
    fn sent(
        channel: &Channel,
        questions: &[Queued],
        times: impl IntoIterator<Item = i64>,
    ) -> Vec<(i64, Vec<String>)> {
        let (mut gathering, mut known) = (Gathering::default(), HashSet::new());
        let mut messages = Vec::new();
        for at in times {
            let now = Timestamp::from_millisecond(at).unwrap();
            let there: Vec<Queued> = questions
                .iter()
                .filter(|one| one.request.created_at <= now)
                .cloned()
                .collect();
            let due = gathering.due(
                channel,
                &there,
                |id| known.contains(id),
                now,
                &TimeZone::UTC,
            );
            let ids: Vec<String> = due.iter().map(|one| one.request.id.clone()).collect();
            if !ids.is_empty() {
                known.extend(ids.iter().cloned());
                messages.push((at, ids));
            }
        }
        messages
    }

    #[test]
    fn a_burst_is_one_message_and_what_comes_later_another() {
        let questions = [
            question("a", 0),
            question("b", 500),
            question("c", 1900),
            question("d", 2500),
        ];
        let messages = sent(&channel(0, 2000), &questions, (0..8000).step_by(500));
        assert_eq!(
            messages,
            [
                (2000, vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]),
                (4500, vec!["d".to_owned()])
            ]
        );
    }

    #[test]
    fn a_second_channel_sends_what_is_unanswered_after_its_time() {
        let messages = sent(
            &channel(60_000, 0),
            &[question("a", 0)],
            [0, 59_999, 60_000, 70_000],
        );
        assert_eq!(messages, [(60_000, vec!["a".to_owned()])]);
        let mut answered = question("a", 0);
        answered.status = Status::Denied;
        assert_eq!(sent(&channel(60_000, 0), &[answered], [60_000]), []);
    }

    #[test]
    fn quiet_hours_put_messages_off_and_lose_none() {
        let mut night = channel(0, 0);
        let at = |hour| jiff::civil::Time::new(hour, 0, 0, 0).unwrap();
        night.quiet = Some(QuietHours {
            from: at(0),
            to: at(7),
        });
        let hour = 3_600_000;
        let messages = sent(
            &night,
            &[question("a", hour)],
            (hour..9 * hour).step_by(hour as usize),
        );
        assert_eq!(messages, [(7 * hour, vec!["a".to_owned()])]);
    }
}
