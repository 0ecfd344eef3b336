//! Subscriptions of modern clients (`subscriptions/listen`) and who hears of a [`ChangeNotice`].

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context as Task, Poll};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::outbox::{Kind, Outbox, lock};
use super::params::{Params, unfit};
use super::session::MAX_FOLLOWED;
use super::{Capabilities, ChangeNotice, Inner, Server};
use crate::protocol::meta;
use crate::rpc::{Id, RpcError, write_id, write_text};

/// What a client wants to hear.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct Filter {
    #[serde(skip_serializing_if = "is_false")]
    tools_list_changed: bool,
    #[serde(skip_serializing_if = "is_false")]
    prompts_list_changed: bool,
    #[serde(skip_serializing_if = "is_false")]
    resources_list_changed: bool,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    resource_subscriptions: BTreeSet<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
fn is_false(value: &bool) -> bool {
    !value
}

impl Filter {
    /// The part of it that there can be news of.
    fn honoured(mut self, capabilities: Capabilities) -> Self {
        self.tools_list_changed &= capabilities.tools && capabilities.tools_changed;
        self.prompts_list_changed &= capabilities.prompts && capabilities.prompts_changed;
        self.resources_list_changed &= capabilities.resources && capabilities.resources_changed;
        if !(capabilities.resources && capabilities.resources_subscribe) {
            self.resource_subscriptions.clear();
        }
        self
    }

    fn wants(&self, change: &ChangeNotice) -> bool {
        match change {
            ChangeNotice::Tools => self.tools_list_changed,
            ChangeNotice::Prompts => self.prompts_list_changed,
            ChangeNotice::Resources => self.resources_list_changed,
            ChangeNotice::Resource(uri) => self.resource_subscriptions.contains(uri),
        }
    }
}

/// One subscription.
pub(crate) struct Listener {
    id: Id,
    filter: Filter,
    outbox: Arc<Outbox>,
}

/// All subscriptions.
#[derive(Default)]
pub(crate) struct Listeners(Mutex<Vec<Weak<Listener>>>);

/// A subscription that goes on; resolves to its result when the server ends it.
pub(crate) struct Listening {
    listener: Arc<Listener>,
    texts: Arc<Inner>,
    server_ends: Pin<Box<WaitForCancellationFutureOwned>>,
    request_ends: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Of the few that a session has.
    _place: OwnedSemaphorePermit,
}

impl Listening {
    /// Opens a subscription: the accepted parts are acknowledged before anything else is sent.
    pub(crate) fn open(
        server: &Server,
        id: &Id,
        params: &Params<'_>,
        outbox: &Arc<Outbox>,
        request_ends: &CancellationToken,
        place: OwnedSemaphorePermit,
    ) -> Result<Self, RpcError> {
        let Some(filter) = params.notifications else {
            return Err(RpcError::invalid_params("`notifications` is missing"));
        };
        if !filter.get().starts_with('{') {
            return Err(RpcError::invalid_params(
                "`notifications` must be an object",
            ));
        }
        let filter: Filter = serde_json::from_str(filter.get()).map_err(unfit)?;
        if filter.resource_subscriptions.len() > MAX_FOLLOWED {
            return Err(RpcError::invalid_params(format!(
                "a subscription follows at most {MAX_FOLLOWED} resources"
            )));
        }
        let listener = Arc::new(Listener {
            id: id.clone(),
            filter: filter.honoured(server.0.description.capabilities),
            outbox: Arc::clone(outbox),
        });
        outbox.push(Kind::Needed, listener.acknowledgement());
        let mut all = lock(&server.0.listeners.0);
        all.retain(|it| it.strong_count() > 0);
        all.push(Arc::downgrade(&listener));
        Ok(Listening {
            listener,
            texts: Arc::clone(&server.0),
            server_ends: Box::pin(server.0.closing.clone().cancelled_owned()),
            request_ends: Box::pin(request_ends.clone().cancelled_owned()),
            _place: place,
        })
    }
}

impl Future for Listening {
    type Output = Bytes;

    fn poll(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Bytes> {
        if self.server_ends.as_mut().poll(task).is_pending()
            && self.request_ends.as_mut().poll(task).is_pending()
        {
            return Poll::Pending;
        }
        let mut text = b"{\"resultType\":\"complete\",\"_meta\":{".to_vec();
        text.extend_from_slice(&self.texts.texts.server_info_member);
        text.push(b',');
        self.listener.write_id_member(&mut text);
        text.extend_from_slice(b"}}");
        Poll::Ready(text.into())
    }
}

impl Listener {
    fn write_id_member(&self, out: &mut Vec<u8>) {
        write_text(meta::SUBSCRIPTION_ID, out);
        out.push(b':');
        write_id(&self.id, out);
    }

    fn acknowledgement(&self) -> Vec<u8> {
        let mut text =
            br#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"#
                .to_vec();
        self.write_id_member(&mut text);
        text.extend_from_slice(b"},\"notifications\":");
        // Flags and texts.
        let _ = serde_json::to_writer(&mut text, &self.filter);
        text.extend_from_slice(b"}}");
        text
    }

    fn tell(&self, change: &ChangeNotice) {
        let mut text = start_of(change);
        text.extend_from_slice(b",\"params\":{\"_meta\":{");
        self.write_id_member(&mut text);
        text.push(b'}');
        if let ChangeNotice::Resource(uri) = change {
            text.extend_from_slice(b",\"uri\":");
            write_text(uri, &mut text);
        }
        text.extend_from_slice(b"}}");
        self.outbox
            .push(Kind::ChangeNotice(text.clone().into()), text);
    }
}

fn start_of(change: &ChangeNotice) -> Vec<u8> {
    let method = match change {
        ChangeNotice::Tools => "notifications/tools/list_changed",
        ChangeNotice::Prompts => "notifications/prompts/list_changed",
        ChangeNotice::Resources => "notifications/resources/list_changed",
        ChangeNotice::Resource(_) => "notifications/resources/updated",
    };
    format!(r#"{{"jsonrpc":"2.0","method":"{method}""#).into_bytes()
}

impl Server {
    /// Notifies every client that wants to know: legacy sessions, and modern subscriptions. Never blocks.
    ///
    /// A change that the host's [`Capabilities`] do not announce is sent to no one.
    pub fn changed(&self, change: ChangeNotice) {
        let capabilities = self.0.description.capabilities;
        let announced = match &change {
            ChangeNotice::Tools => capabilities.tools && capabilities.tools_changed,
            ChangeNotice::Prompts => capabilities.prompts && capabilities.prompts_changed,
            ChangeNotice::Resources => capabilities.resources && capabilities.resources_changed,
            ChangeNotice::Resource(_) => capabilities.resources && capabilities.resources_subscribe,
        };
        if !announced {
            return;
        }
        let mut text = start_of(&change);
        if let ChangeNotice::Resource(uri) = &change {
            text.extend_from_slice(b",\"params\":{\"uri\":");
            write_text(uri, &mut text);
            text.push(b'}');
        }
        text.push(b'}');
        let text = Bytes::from(text);
        for session in self.0.sessions.hearing() {
            let wanted = session.is_ready()
                && match &change {
                    ChangeNotice::Resource(uri) => session.follows(uri),
                    ChangeNotice::Tools | ChangeNotice::Prompts | ChangeNotice::Resources => true,
                };
            if wanted {
                session
                    .outbox
                    .push(Kind::ChangeNotice(text.as_ref().into()), text.clone());
            }
        }
        let listeners: Vec<_> = lock(&self.0.listeners.0)
            .iter()
            .filter_map(Weak::upgrade)
            .collect();
        for listener in listeners {
            if listener.filter.wants(&change) {
                listener.tell(&change);
            }
        }
    }
}
