//! Clients: names with a token each, for programs that may call tools and nothing else.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;

/// A client, without its token, of which only a digest is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Client {
    /// Its name.
    pub name: String,
    /// When it was made.
    #[schemars(with = "String")]
    pub created_at: Timestamp,
}

/// A client that was just made. This is the only time its token is told.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
pub struct NewClient {
    /// The client.
    #[serde(flatten)]
    pub client: Client,
    /// Its token.
    pub token: String,
}

/// Why a client cannot be made, listed or removed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ClientsError(pub String);

/// The clients of a home, shared by every process that serves it.
#[derive(Debug, Clone)]
pub struct Clients {
    #[expect(dead_code, reason = "the owner of this file uses it")]
    path: PathBuf,
}

impl Clients {
    /// The clients of a home.
    pub fn of_home(home: &Path) -> Self {
        Clients {
            path: home.join("clients.json"),
        }
    }

    /// Makes a client and its token.
    pub fn add(&self, _name: &str) -> Result<NewClient, ClientsError> {
        todo!()
    }

    /// All clients, by name.
    pub fn list(&self) -> Result<Vec<Client>, ClientsError> {
        todo!()
    }

    /// Takes a client's token back.
    pub fn remove(&self, _name: &str) -> Result<Client, ClientsError> {
        todo!()
    }

    /// Whose token this is.
    pub fn name_of(&self, _token: &str) -> Option<String> {
        todo!()
    }
}
