//! Pages of lists: how large, where the next one begins, and the opaque tokens that say so.
//!
//! A token is the position behind which the next page begins, not a number of items: what is added or removed meanwhile neither repeats
//! nor hides anything else.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::refusal::Refusal;
use super::request::Query;

/// How many items a page has unless the request says otherwise.
pub(crate) const DEFAULT_SIZE: usize = 50;
/// How many items a page has at most.
pub(crate) const MAX_SIZE: usize = 500;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Token<T> {
    /// The version of this format.
    v: u8,
    /// Which list it is of: a token of another is refused.
    of: String,
    at: T,
}

/// Makes the token of a position in the list `of`.
pub(crate) fn page_token<T: Serialize>(of: &str, at: &T) -> String {
    let token = Token {
        v: 1,
        of: of.to_owned(),
        at,
    };
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
}

/// The position that a token of the list `of` stands for; a bad token is a 400.
pub(crate) fn page_position<T: DeserializeOwned>(of: &str, token: &str) -> Result<T, Refusal> {
    let bytes = URL_SAFE_NO_PAD.decode(token).ok();
    let token: Option<Token<T>> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    match token {
        Some(Token { v: 1, of: list, at }) if list == of => Ok(at),
        _ => Err(not_of_this_list()),
    }
}

/// Refuses a token.
pub(crate) fn not_of_this_list() -> Refusal {
    Refusal::usage(
        "`pageToken` is not one that this list gave; leave it out to begin at the first page",
    )
}

/// Which page of a list a request asks for: `pageSize` (without it S4's `recommendedPageSize`) and `pageToken`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Paging {
    /// How many items at most.
    pub(crate) size: usize,
    /// The size, if the request gives one: tokens of the library remember it.
    said: Option<usize>,
    /// The token, unread.
    pub(crate) token: Option<String>,
}

impl Paging {
    /// Reads it from a query.
    pub(crate) fn of(query: &Query) -> Result<Self, Refusal> {
        let size = |name| query.number(name, 1, MAX_SIZE as u64);
        let (size, recommended) = (size("pageSize")?, size("recommendedPageSize")?);
        let said = size.or(recommended).map(|size| size as usize);
        Ok(Paging {
            size: said.unwrap_or(DEFAULT_SIZE),
            said,
            // Loops begin with an empty one.
            token: query
                .text("pageToken")
                .filter(|token| !token.is_empty())
                .map(str::to_owned),
        })
    }

    /// How many items at most, as the library's lists take it: 0 where the request does not say.
    pub(crate) fn limit(&self) -> usize {
        self.said.unwrap_or(0)
    }

    /// The position behind which the page begins; none for the first one.
    pub(crate) fn after<T: DeserializeOwned>(&self, of: &str) -> Result<Option<T>, Refusal> {
        self.token
            .as_deref()
            .map(|token| page_position(of, token))
            .transpose()
    }

    /// Cuts the page out of a whole list, which is sorted by `key`; with the token of the next page, if there is one.
    pub(crate) fn cut<T, K>(
        &self,
        of: &str,
        items: impl IntoIterator<Item = T>,
        key: impl Fn(&T) -> K,
    ) -> Result<(Vec<T>, Option<String>), Refusal>
    where
        K: Ord + Serialize + DeserializeOwned,
    {
        let after: Option<K> = self.after(of)?;
        let mut rest = items
            .into_iter()
            .skip_while(|item| after.as_ref().is_some_and(|after| key(item) <= *after));
        let page: Vec<T> = rest.by_ref().take(self.size).collect();
        let more = rest.next().is_some();
        let next = page
            .last()
            .filter(|_| more)
            .map(|last| page_token(of, &key(last)));
        Ok((page, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(pairs: &[(&str, &str)]) -> Query {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Query(pairs.iter().map(pair).collect())
    }

    #[test]
    fn pages_follow_one_another_and_end() {
        let items: Vec<String> = (0..7).map(|n| format!("item-{n}")).collect();
        let mut seen = Vec::new();
        let mut token: Option<String> = None;
        loop {
            let mut asked = vec![("pageSize", "3")];
            if let Some(token) = &token {
                asked.push(("pageToken", token));
            }
            let paging = Paging::of(&query(&asked)).unwrap();
            let (page, next) = paging.cut("items", items.clone(), String::clone).unwrap();
            seen.extend(page);
            match next {
                Some(next) => token = Some(next),
                None => break,
            }
        }
        assert_eq!(seen, items);
    }

    #[test]
    fn a_page_that_ends_with_the_list_has_no_next() {
        let paging = Paging::of(&query(&[("pageSize", "3")])).unwrap();
        let (page, next) = paging
            .cut("items", ["a", "b", "c"], |item| (*item).to_owned())
            .unwrap();
        assert_eq!((page, next), (vec!["a", "b", "c"], None));
    }

    #[test]
    fn tokens_that_this_list_did_not_give_are_refused() {
        let other = page_token("others", &"a".to_owned());
        let number = page_token("items", &7);
        for bad in ["x", "====", "bnVsbA", &other, &number, &"A".repeat(5000)] {
            let paging = Paging::of(&query(&[("pageToken", bad)])).unwrap();
            let cut = paging.cut("items", ["a"], |item| (*item).to_owned());
            assert_eq!(cut.unwrap_err().status(), 400, "{bad}");
        }
    }

    #[test]
    fn an_empty_token_is_none() {
        let empty = Paging::of(&query(&[("pageToken", "")])).unwrap();
        assert_eq!(empty, Paging::of(&query(&[])).unwrap());
    }

    #[test]
    fn a_page_has_between_1_and_500_items() {
        assert_eq!(Paging::of(&query(&[])).unwrap().size, 50);
        for (text, size) in [
            ("1", Some(1)),
            ("500", Some(500)),
            ("0", None),
            ("501", None),
            ("-1", None),
            ("", None),
            ("x", None),
        ] {
            let paging = Paging::of(&query(&[("pageSize", text)]));
            assert_eq!(paging.ok().map(|paging| paging.size), size, "{text}");
        }
        let both = [("recommendedPageSize", "2"), ("pageSize", "1")];
        assert_eq!(Paging::of(&query(&both)).unwrap().size, 1);
        let wrong = [("recommendedPageSize", "0"), ("pageSize", "1")];
        assert!(Paging::of(&query(&wrong)).is_err());
    }
}
