//! `tests` of HTTP tools: what is asked, what a server is to have answered, and what must come of it.

use serde_json::Value;

use crate::definition::TestCase;

/// One entry of `tests`.
#[derive(Debug, Clone)]
pub struct HttpTest {
    /// What it has in common with the tests of YAML tools: name, arguments, and what must come of the call.
    pub case: TestCase,
    /// The answers to its requests, in order.
    pub respond: Vec<Respond>,
    /// The requests that must be sent, in order; empty if nothing is said of them.
    pub requests: Vec<ExpectedRequest>,
}

/// `tests[].respond`: an answer that takes the place of a server's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Respond {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body: a text as it is, anything else as JSON.
    pub body: String,
}

/// `tests[].expected.request`: what a request must be, as far as it is said.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExpectedRequest {
    /// The method.
    pub method: Option<String>,
    /// The whole URL.
    pub url: Option<String>,
    /// Headers that it has, with these values.
    pub headers: Vec<(String, String)>,
    /// The body: a text as it is, anything else as JSON, of an object the fields that are named.
    pub body: Option<Value>,
}
