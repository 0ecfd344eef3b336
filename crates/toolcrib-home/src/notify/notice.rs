//! What a message says: [`Notice`], the same for every channel, and its text.

use jiff::Timestamp;
use serde::Serialize;

use crate::approval::Queued;
use crate::model::text;

/// How many questions a message describes.
pub(super) const MAX_ITEMS: usize = 10;
/// The longest effect, tool and caller, in characters.
const MAX_EFFECT: usize = 300;
const MAX_NAME: usize = 80;

/// A message about questions that wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// One line.
    pub title: String,
    /// The questions, the oldest first.
    pub approvals: Vec<NoticeItem>,
    /// How many more wait.
    pub more: usize,
    /// Where all of them are answered, if `server.url` says where the server is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

/// One question in a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NoticeItem {
    /// Its id.
    pub id: String,
    /// What the call would do.
    pub effect: String,
    /// The tool.
    pub tool: String,
    /// The caller.
    pub caller: String,
    /// Why it is asked.
    pub reason: String,
    /// When the question lapses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Where it is answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Where it is answered without signing in, once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_time_link: Option<String>,
}

impl Notice {
    /// About questions; `url` is the server's, and `one_time` makes a one-time link, where the channel has them.
    pub fn about(
        questions: &[&Queued],
        url: Option<&str>,
        one_time: impl Fn(&Queued) -> Option<String>,
    ) -> Self {
        let page = url.map(|url| format!("{url}/ui/approvals"));
        let items = questions.iter().take(MAX_ITEMS).map(|question| {
            let request = &question.request;
            NoticeItem {
                id: request.id.clone(),
                effect: line(&request.effect, MAX_EFFECT),
                tool: line(&request.tool, MAX_NAME),
                caller: line(&request.caller.to_string(), MAX_NAME),
                reason: line(&request.reason, MAX_EFFECT),
                expires_at: request.expires_at,
                link: page.as_ref().map(|page| format!("{page}/{}", request.id)),
                one_time_link: one_time(question),
            }
        });
        let title = match questions {
            [one] => format!("`{}` waits for approval", line(&one.request.tool, MAX_NAME)),
            many => format!("{} calls wait for approval", many.len()),
        };
        let link = match questions {
            [one] => page
                .as_ref()
                .map(|page| format!("{page}/{}", one.request.id)),
            _ => page.clone(),
        };
        Notice {
            title,
            approvals: items.collect(),
            more: questions.len().saturating_sub(MAX_ITEMS),
            link,
        }
    }

    /// A message that tries a channel.
    pub fn trial(url: Option<&str>) -> Self {
        Notice {
            title: "A test of this channel: nothing waits".to_owned(),
            approvals: Vec::new(),
            more: 0,
            link: url.map(|url| format!("{url}/ui/approvals")),
        }
    }

    /// What people read below the title, within so many characters.
    pub fn text(&self, max: usize) -> String {
        let mut said = String::new();
        let mut left_out = self.more;
        for item in &self.approvals {
            let mut one = format!(
                "{}\ntool {}, caller {}\n",
                capital(&item.effect),
                item.tool,
                item.caller
            );
            match (&item.one_time_link, &item.link) {
                (Some(once), _) => one.push_str(&format!("{once}\n")),
                (None, Some(link)) => one.push_str(&format!("{link}\n")),
                (None, None) => {
                    let end = item.id.len().saturating_sub(8);
                    let short = item.id.get(end..).unwrap_or(&item.id);
                    one.push_str(&format!("toolcrib approvals show {short}\n"));
                }
            }
            // A link that is cut leads nowhere: whole questions only, and room for the last lines.
            if said.chars().count() + one.chars().count() + 200 > max {
                left_out += 1;
                continue;
            }
            if !said.is_empty() {
                said.push('\n');
            }
            said.push_str(&one);
        }
        if left_out > 0 {
            said.push_str(&format!("\nand {left_out} more"));
            if let Some(link) = &self.link {
                said.push_str(&format!(": {link}"));
            }
            said.push('\n');
        }
        if self.approvals.is_empty()
            && let Some(link) = &self.link
        {
            said.push_str(&format!("{link}\n"));
        }
        said
    }
}

/// On one line, with nothing in it that is not seen.
fn line(text: &str, max: usize) -> String {
    text::shorten(&text::visible_line(text), max)
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn question(id: &str, effect: &str) -> Queued {
        serde_json::from_value(json!({
            "id": id, "stepId": "1", "callId": "c", "tool": "shell", "args": {}, "reason": "it writes", "effect": effect,
            "argsDigest": "d", "caller": "client:claude", "status": "pending", "waiting": true,
        }))
        .unwrap()
    }

    #[test]
    fn one_question_is_said_with_effect_tool_caller_and_link() {
        let one = question(
            "0197f9a0-aaaa-7000-8000-00000000abcd",
            "delete `a`\nand \u{1b}[2J",
        );
        let made = Notice::about(&[&one], Some("https://crib.example.com"), |_| None);
        assert_eq!(made.title, "`shell` waits for approval");
        assert_eq!(
            made.text(1000),
            "Delete `a`\\nand \\u{001b}[2J\ntool shell, caller client:claude\n\
             https://crib.example.com/ui/approvals/0197f9a0-aaaa-7000-8000-00000000abcd\n"
        );
        let without = Notice::about(&[&one], None, |_| None);
        assert!(
            without
                .text(1000)
                .ends_with("toolcrib approvals show 0000abcd\n")
        );
        let once = Notice::about(&[&one], Some("https://crib.example.com"), |_| {
            Some("https://crib.example.com/answer?link=x".to_owned())
        });
        assert!(once.text(1000).ends_with("/answer?link=x\n"));
    }

    #[test]
    fn many_are_counted_and_no_link_is_cut() {
        let all: Vec<Queued> = (0..25)
            .map(|n| {
                question(
                    &format!("0197f9a0-aaaa-7000-8000-{n:012}"),
                    &"x".repeat(400),
                )
            })
            .collect();
        let all: Vec<&Queued> = all.iter().collect();
        let made = Notice::about(&all, Some("https://crib.example.com"), |_| None);
        assert_eq!(
            (made.title.as_str(), made.approvals.len(), made.more),
            ("25 calls wait for approval", 10, 15)
        );
        for max in [600, 1500, 10_000] {
            let text = made.text(max);
            assert!(
                text.chars().count() <= max,
                "{max}: {}",
                text.chars().count()
            );
            for link in text.lines().filter(|line| line.starts_with("https://")) {
                assert_eq!(
                    link.len(),
                    "https://crib.example.com/ui/approvals/".len() + 36,
                    "{link}"
                );
            }
            assert!(
                text.contains(" more: https://crib.example.com/ui/approvals\n"),
                "{text}"
            );
        }
    }
}
