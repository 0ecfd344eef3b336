//! Which calls belong to which trace: [`Families`], as far back as memory allows.

use std::collections::{HashMap, VecDeque};

use toolcrib::CallId;

use super::CallSpan;
use super::context::SpanContext;

/// How many calls are remembered, for requests and inner calls that belong to them.
const MAX_CALLS: usize = 16_384;
/// How many inner calls wait for the one around them to be known.
const MAX_WAITING: usize = 1024;

/// The spans of calls by their ids, and inner calls that ended before anything was known of the call around them.
#[derive(Default)]
pub(super) struct Families {
    known: HashMap<CallId, SpanContext>,
    /// In the order they came, to forget the oldest.
    order: VecDeque<CallId>,
    waiting: Vec<CallSpan>,
}

impl Families {
    /// Remembers a call's span. The first that is said of a call holds.
    pub(super) fn put(&mut self, call: &CallId, span: SpanContext) {
        if self.known.contains_key(call) {
            return;
        }
        self.known.insert(call.clone(), span);
        self.order.push_back(call.clone());
        if self.order.len() > MAX_CALLS
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    /// Finds the places of calls that ended. Inner calls come first, so some wait for a later batch; `All` waits for none.
    pub(super) fn place(
        &mut self,
        ended: Vec<CallSpan>,
        which: Which,
    ) -> Vec<(SpanContext, CallSpan)> {
        let mut left = std::mem::take(&mut self.waiting);
        left.extend(ended);
        let mut placed = Vec::with_capacity(left.len());
        loop {
            let before = left.len();
            for span in std::mem::take(&mut left) {
                match self.place_of(&span) {
                    Some(place) => {
                        self.put(&span.id, place);
                        placed.push((place, span));
                    }
                    None => left.push(span),
                }
            }
            if left.len() == before {
                break;
            }
        }
        let most = match which {
            Which::Known => MAX_WAITING,
            Which::All => 0,
        };
        for span in left.drain(..left.len().saturating_sub(most)) {
            placed.push((SpanContext::alone(&span.id), span));
        }
        self.waiting = left;
        placed
    }

    fn place_of(&self, span: &CallSpan) -> Option<SpanContext> {
        match (self.known.get(&span.id), &span.parent) {
            (Some(place), _) => Some(*place),
            (None, None) => Some(SpanContext::alone(&span.id)),
            (None, Some(parent)) => Some(self.known.get(parent)?.child_for(&span.id)),
        }
    }
}

/// Which calls are to be placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Those of which enough is known.
    Known,
    /// All, in separate traces if need be.
    All,
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderMap;
    use jiff::Timestamp;

    fn call(id: &str, parent: Option<&str>) -> CallSpan {
        let id_of = |text: &str| CallId::parse(text).unwrap();
        CallSpan {
            id: id_of(id),
            parent: parent.map(id_of),
            tool: None,
            bundle: None,
            version: None,
            caller: "cli",
            began_at: Timestamp::UNIX_EPOCH,
            ended_at: Timestamp::UNIX_EPOCH,
            queue_ms: 0.0,
            execution_ms: 0.0,
            code: None,
            approval: None,
        }
    }

    #[test]
    fn inner_calls_that_end_first_join_the_trace_of_the_request() {
        let request = SpanContext::of_request(&HeaderMap::new());
        let mut families = Families::default();
        assert!(
            families
                .place(vec![call("c", Some("b"))], Which::Known)
                .is_empty()
        );
        let outer = CallId::parse("a").unwrap();
        families.put(&outer, request.child_for(&outer));
        let placed = families.place(vec![call("b", Some("a")), call("a", None)], Which::Known);
        let ids: Vec<String> = placed.iter().map(|(_, span)| span.id.to_string()).collect();
        assert_eq!(ids.len(), 3, "{ids:?}");
        let of = |id: &str| {
            placed
                .iter()
                .find(|(_, span)| span.id.to_string() == id)
                .unwrap()
                .0
        };
        assert!(placed.iter().all(|(place, _)| place.trace == request.trace));
        assert_eq!(of("a").parent, Some(request.span));
        assert_eq!(of("b").parent, Some(of("a").span));
        assert_eq!(of("c").parent, Some(of("b").span));
    }

    #[test]
    fn what_is_remembered_and_what_waits_is_bounded() {
        let mut families = Families::default();
        for number in 0..MAX_CALLS + 10 {
            let id = CallId::parse(&format!("c{number}")).unwrap();
            families.put(&id, SpanContext::alone(&id));
        }
        assert_eq!(
            (families.known.len(), families.order.len()),
            (MAX_CALLS, MAX_CALLS)
        );
        let orphans = (0..MAX_WAITING + 5).map(|number| call(&format!("o{number}"), Some("gone")));
        assert_eq!(families.place(orphans.collect(), Which::Known).len(), 5);
        assert_eq!(families.place(Vec::new(), Which::All).len(), MAX_WAITING);
    }
}
