//! Answers of providers as one kind of result.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;
use url::Url;

use super::provider::SearchProvider;
use crate::builtin::web_fetch::{has_markup, text_of};

/// The most results of one search.
pub(super) const MAX: usize = 20;

/// The longest title, snippet, address and age.
const MAX_TITLE: usize = 300;
const MAX_SNIPPET: usize = 2000;
const MAX_URL: usize = 2000;
const MAX_AGE: usize = 60;

/// One result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct SearchResult {
    title: String,
    url: String,
    snippet: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    age: Option<String>,
}

/// Reads an answer; `None` if it is not one of this provider's. A result without an address on the web is none.
pub(super) fn read(
    provider: SearchProvider,
    answer: &Value,
    wanted: usize,
) -> Option<Vec<SearchResult>> {
    let (list, snippet, ages) = match provider {
        SearchProvider::SearXng => (
            answer.get("results"),
            "content",
            ["publishedDate", "pubdate"],
        ),
        // Nothing found is said by having no list of pages.
        SearchProvider::Brave if answer["type"] == "search" && answer.get("web").is_none() => {
            return Some(Vec::new());
        }
        SearchProvider::Brave => (
            answer["web"].get("results"),
            "description",
            ["age", "page_age"],
        ),
        SearchProvider::Tavily => (
            answer.get("results"),
            "content",
            ["published_date", "publishedDate"],
        ),
    };
    let found = list?.as_array()?.iter().filter_map(|result| {
        let text = |name: &str| result[name].as_str().unwrap_or_default();
        let url = Url::parse(text("url").trim()).ok()?;
        let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
        if !is_web || url.as_str().len() > MAX_URL {
            return None;
        }
        let age = ages.into_iter().map(text).find(|age| !age.is_empty());
        Some(SearchResult {
            title: plain(provider, text("title"), MAX_TITLE),
            snippet: plain(provider, text(snippet), MAX_SNIPPET),
            url: url.into(),
            age: age.map(|age| plain(provider, age, MAX_AGE)),
        })
    });
    Some(found.take(wanted).collect())
}

/// A text in one line, without markup, this long at most.
fn plain(provider: SearchProvider, text: &str, max: usize) -> String {
    // Long before anything is cut off: markup takes room too.
    let text = &text[..text.floor_char_boundary(max * 8)];
    // Brave's texts are HTML. Those of the others are plain, and `Vec<String>` in them is not markup.
    let plain = if provider == SearchProvider::Brave || has_markup(text) {
        text_of(text)
    } else {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    if plain.len() <= max {
        return plain;
    }
    format!("{}…", plain[..plain.floor_char_boundary(max)].trim_end())
}

/// Results for a person.
pub(super) fn in_words(query: &str, found: &[SearchResult]) -> String {
    let mut text = String::new();
    for (index, result) in found.iter().enumerate() {
        let age = result.age.as_deref().map(|age| format!(" ({age})"));
        let _ = writeln!(
            text,
            "{}. {}{}\n   {}",
            index + 1,
            result.title,
            age.unwrap_or_default(),
            result.url
        );
        if !result.snippet.is_empty() {
            let _ = writeln!(text, "   {}", result.snippet);
        }
        text.push('\n');
    }
    if text.is_empty() {
        text = format!("nothing was found for `{query}`\n");
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn urls(found: &[SearchResult]) -> Vec<&str> {
        found.iter().map(|found| found.url.as_str()).collect()
    }

    #[test]
    fn texts_are_plain_and_one_line() {
        let answer = json!({"results": [
            {"title": "Vec<String> &amp; friends", "url": "https://a.test", "content": "one\n two  <T>"},
            {"title": "<b>bold</b> &amp; <script>x</script>more", "url": "https://b.test", "content": null},
        ]});
        let found = read(SearchProvider::SearXng, &answer, 5).unwrap();
        assert_eq!(found[0].title, "Vec<String> &amp; friends");
        assert_eq!(found[0].snippet, "one two <T>");
        assert_eq!(found[1].title, "bold & more");
        assert_eq!(found[1].snippet, "");
        let answer = json!({"type": "search", "web": {"results": [
            {"title": "A &lt;T&gt;", "url": "https://a.test/x", "description": "<strong>Rust</strong> &#x27;s", "age": "2 days ago"},
        ]}});
        let found = read(SearchProvider::Brave, &answer, 5).unwrap();
        assert_eq!(
            in_words("q", &found),
            "1. A <T> (2 days ago)\n   https://a.test/x\n   Rust 's\n"
        );
    }

    #[test]
    fn only_addresses_on_the_web_are_results() {
        let long = format!("https://a.test/{}", "x".repeat(MAX_URL));
        let result = |url: &str| json!({"title": "t", "url": url, "content": ""});
        let all: Vec<Value> = [
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "ftp://a.test/",
            "",
            "/relative",
            &long,
            " https://ok.test/a\n",
            "http://ok.test",
            "https://more.test",
        ]
        .into_iter()
        .map(result)
        .collect();
        let found = read(SearchProvider::Tavily, &json!({"results": all}), 2).unwrap();
        assert_eq!(urls(&found), ["https://ok.test/a", "http://ok.test/"]);
    }

    #[test]
    fn texts_are_bounded() {
        let answer = json!({"results": [{"title": "é".repeat(9000), "url": "https://a.test", "content": "<b>".repeat(500_000)}]});
        let found = read(SearchProvider::SearXng, &answer, 5).unwrap();
        assert!(found[0].title.len() <= MAX_TITLE + 3);
        // Of a tag that was cut, its sign is left.
        assert!(found[0].snippet.len() <= 1);
    }

    #[test]
    fn input_that_is_not_an_answer_is_none_and_nothing_found_is_empty() {
        for provider in SearchProvider::ALL {
            for answer in [
                json!({}),
                json!([]),
                json!("x"),
                json!({"results": 1}),
                json!({"web": {"results": {}}}),
            ] {
                assert_eq!(read(provider, &answer, 5), None, "{provider:?} {answer}");
            }
        }
        assert_eq!(
            read(SearchProvider::Brave, &json!({"type": "search"}), 5),
            Some(Vec::new())
        );
        assert_eq!(
            read(SearchProvider::SearXng, &json!({"results": []}), 5),
            Some(Vec::new())
        );
        assert_eq!(in_words("x", &[]), "nothing was found for `x`\n");
        // Entries that are not results are harmless.
        let odd = json!({"results": [1, null, {"url": 5}, {"url": "https://a.test"}]});
        assert_eq!(
            urls(&read(SearchProvider::SearXng, &odd, 5).unwrap()),
            ["https://a.test/"]
        );
    }
}
