//! Tokens for callers: `/api/clients`.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib::ToolError;

use crate::api::{
    Answer, Api, ApiRequest, Paging, Refusal, Route, Who, json_response, list_response, located,
    no_content, param,
};
use crate::auth::{Client, Clients, ClientsError, NewClient, cancel_strays, remove_clients};

/// A client to be made.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AddClient {
    /// Its name: 1 to 64 of the characters `A-Z a-z 0-9 . _ -`.
    #[schemars(regex(pattern = r"^[A-Za-z0-9._-]{1,64}$"))]
    name: String,
    /// Whether the person at it is asked by MCP's elicitation when its calls need an approval; otherwise its questions go to the queue
    /// alone. For clients that show such questions to a person: what they send back counts as that person's word.
    #[serde(default)]
    elicitation: bool,
}

/// A page of clients.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ClientPage {
    /// The clients, by name.
    clients: Vec<Client>,
    /// The token of the next page, if there is one.
    next_page_token: Option<String>,
}

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/api/clients", Who::Operator, list)
            .named("listClients", "clients", "Lists the clients.")
            .params(param::pages())
            .answers::<ClientPage>(200, "The clients, by name, without their tokens."),
        Route::new(Method::POST, "/api/clients", Who::Operator, add)
            .named("addClient", "clients", "Makes a client and its token.")
            .about("A client's token lists, searches and calls tools. It never answers a question, its own least of all; but for MCP clients that \
                 you vouch for with `elicitation`, which ask the person at them.")
            .takes::<AddClient>("The client.", || json!({"name": "assistant"}))
            .answers::<NewClient>(201, "The client and its token, which is shown once.")
            .refuses(409, "There is a client of this name already, or there are too many."),
        Route::new(Method::DELETE, "/api/clients/{name}", Who::Operator, remove)
            .named("removeClient", "clients", "Takes a client's token back.")
            .about(
                "With it go its grants, its open questions (denied by `client removed`), its running calls (cancelled) and its streams. \
                 The next client of this name is another caller, `client:NAME#2`, and sees none of its data.",
            )
            .param(param::path("name", "The client's name."))
            .answers_with(204, "Its next request is refused.", "")
            .refuses(404, "There is no client of this name."),
    ]
}

/// Does something with the clients, whose file may be on a slow disk.
async fn with_clients<T: Send + 'static>(
    api: Api,
    work: impl FnOnce(&Clients) -> Result<T, ClientsError> + Send + 'static,
) -> Result<T, Refusal> {
    let clients = api.tokens().clients().clone();
    match tokio::task::spawn_blocking(move || work(&clients)).await {
        Ok(done) => done.map_err(|error| ToolError::from(error).into()),
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
}

fn list(api: Api, asked: ApiRequest) -> BoxFuture<'static, Answer> {
    async move {
        let paging = Paging::of(&asked.query)?;
        let clients = with_clients(api, Clients::list).await?;
        let (page, next) = paging.cut("clients", clients, |client| client.name.clone())?;
        Ok(list_response("clients", &page, next))
    }
    .boxed()
}

fn add(api: Api, asked: ApiRequest) -> BoxFuture<'static, Answer> {
    async move {
        let AddClient { name, elicitation } = asked.json()?;
        let made = with_clients(api, move |clients| clients.add_with(&name, elicitation)).await?;
        let path = format!("/api/clients/{}", made.client.name);
        Ok(located(json_response(StatusCode::CREATED, &made), &path))
    }
    .boxed()
}

fn remove(api: Api, asked: ApiRequest) -> BoxFuture<'static, Answer> {
    async move {
        let name = asked.path.get("name").to_owned();
        let crib = api.crib().clone();
        with_clients(api, move |clients| {
            remove_clients(&crib, clients, &[name])?;
            cancel_strays(&crib, clients);
            Ok(())
        })
        .await?;
        Ok(no_content())
    }
    .boxed()
}
