//! What each method asks of the host, in the eras that have it: [`Task`].

use super::answer::Keeps;
use super::params::Params;
use super::refusals::unknown;
use super::requester::{Asker, level_of};
use super::session::Session;
use super::{Ask, Server};
use crate::rpc::RpcError;

/// The requirements of a method.
pub(crate) enum Task {
    /// The host answers.
    Host(Ask, Keeps),
    /// A subscription.
    Listen,
}

impl Server {
    /// What a method asks for, if it is one of this era and of what the host declared.
    pub(crate) fn task(
        &self,
        session: &Session,
        asker: &Asker,
        method: &str,
        params: &Params<'_>,
    ) -> Result<Task, RpcError> {
        let can = self.0.description.capabilities;
        let modern = asker.era.is_modern();
        // Input is part of the newer era only; before, such members mean nothing.
        let input = |params: &Params<'_>| {
            if modern { params.input() } else { Ok(None) }
        };
        let list = Keeps::ForAWhile;
        let task = match method {
            "tools/call" if can.tools => Task::Host(
                Ask::CallTool {
                    name: params.name()?.into_owned(),
                    arguments: params.arguments()?.map(ToOwned::to_owned),
                    input: input(params)?,
                },
                Keeps::Never,
            ),
            "tools/list" if can.tools => Task::Host(
                Ask::ListTools {
                    cursor: params.cursor()?,
                },
                list,
            ),
            "prompts/list" if can.prompts => Task::Host(
                Ask::ListPrompts {
                    cursor: params.cursor()?,
                },
                list,
            ),
            "prompts/get" if can.prompts => Task::Host(
                Ask::GetPrompt {
                    name: params.name()?.into_owned(),
                    arguments: params.prompt_arguments()?,
                    input: input(params)?,
                },
                Keeps::Never,
            ),
            "resources/list" if can.resources => Task::Host(
                Ask::ListResources {
                    cursor: params.cursor()?,
                },
                list,
            ),
            "resources/templates/list" if can.resources => Task::Host(
                Ask::ListResourceTemplates {
                    cursor: params.cursor()?,
                },
                list,
            ),
            "resources/read" if can.resources => {
                let input = input(params)?;
                let keeps = if input.is_some() {
                    Keeps::NotThisTime
                } else {
                    Keeps::ForAWhile
                };
                let uri = params.uri()?.into_owned();
                Task::Host(Ask::ReadResource { uri, input }, keeps)
            }
            "resources/subscribe" if !modern && can.resources && can.resources_subscribe => {
                let uri = params.uri()?.into_owned();
                Task::Host(Ask::Subscribe { uri }, Keeps::Never)
            }
            "resources/unsubscribe" if !modern && can.resources && can.resources_subscribe => {
                let uri = params.uri()?.into_owned();
                session.unfollow(&uri);
                Task::Host(Ask::Unsubscribe { uri }, Keeps::Never)
            }
            "completion/complete" if can.completions => Task::Host(
                Ask::Complete {
                    params: params.whole()?,
                },
                Keeps::Never,
            ),
            "logging/setLevel" if !modern && can.logging => {
                let level = level_of(&params.level()?)?;
                session.set_level(level);
                let level = level.word().to_owned();
                Task::Host(Ask::SetLevel { level }, Keeps::Never)
            }
            "subscriptions/listen" if modern => Task::Listen,
            _ => return Err(unknown(method, asker.era)),
        };
        Ok(task)
    }
}
