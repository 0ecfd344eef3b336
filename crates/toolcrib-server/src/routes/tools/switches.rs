//! Many switches at once: `/api/tools/switch`.

use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib::{Crib, ErrorCode};

use crate::api::{Answer, ApiRequest, Refusal, Route, Who};
use crate::routes::work::{blocking, shown};

/// How many tools one request may switch.
const MAX_TOOLS: usize = 100_000;

/// Which tools to switch.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Switches {
    /// The tools, by any reference; `bundle/slug@version` means one version.
    tools: Vec<String>,
    /// Whether they are on from now on.
    is_enabled: bool,
}

/// What came of switching.
#[derive(Debug, Serialize, JsonSchema)]
struct Switched {
    /// The references of the tools whose switch is as it was asked for.
    changed: Vec<String>,
    /// The tools that could not be switched.
    refused: Vec<RefusedSwitch>,
}

/// A tool that could not be switched.
#[derive(Debug, Serialize, JsonSchema)]
struct RefusedSwitch {
    /// Its reference, as it was sent.
    tool: String,
    /// The code of the error.
    code: ErrorCodeWord,
    /// Why.
    message: String,
}

/// The word of an error code.
type ErrorCodeWord = &'static str;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::POST, "/api/tools/switch", Who::Operator, |api, asked| {
            blocking(api, asked, switch)
        })
        .named("switchTools", "tools", "Switches many tools on or off.")
        .about("A tool that cannot be switched does not keep the others from it; it is in `refused` with the reason.")
        .takes::<Switches>("The tools and the switch.", || {
            json!({"tools": ["core/shell@v1"], "isEnabled": true})
        })
        .answers::<Switched>(200, "What was switched, and what was not."),
    ]
}

fn switch(crib: &Crib, asked: &ApiRequest) -> Answer {
    let Switches { tools, is_enabled } = asked.json()?;
    if tools.len() > MAX_TOOLS {
        return Err(Refusal::new(
            ErrorCode::Usage,
            format!("`tools` names more than {MAX_TOOLS} tools"),
        ));
    }
    let mut switched = Switched {
        changed: Vec::new(),
        refused: Vec::new(),
    };
    let names: Vec<&str> = tools.iter().map(String::as_str).collect();
    let results = crib.switch_each(&names, is_enabled);
    for (tool, result) in tools.into_iter().zip(results) {
        match result {
            Ok(()) => switched.changed.push(tool),
            Err(error) => switched.refused.push(RefusedSwitch {
                code: error.code().as_str(),
                message: error.message().to_owned(),
                tool,
            }),
        }
    }
    Ok(shown(crib, StatusCode::OK, &switched))
}
