//! Rules: `/api/rules`.

use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use toolcrib::Crib;
use toolcrib::crib::{RuleRow, RulesTest};

use super::work::{blocking, refused, shown};
use crate::api::{Answer, ApiRequest, Refusal, Route, Who, param};

/// Every rule.
#[derive(Debug, Serialize, JsonSchema)]
struct Rules {
    /// Those that hold, then those that are switched off.
    rules: Vec<RuleRow>,
}

/// A call to try the rules on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Trial {
    /// The tool, by name or any other reference.
    tool: Option<String>,
    /// Its arguments; none if they are left out.
    args: Option<Map<String, Value>>,
    /// Instead of a tool: a shell text.
    command: Option<String>,
}

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/api/rules", Who::Operator, |api, asked| {
            blocking(api, asked, list)
        })
        .named("listRules", "rules", "Lists every rule with where it comes from.")
        .param(param::query_text("tool", "Only the rules in force that can match a call of this tool."))
        .about("Rules are files: `config.toml` and `rules/*.toml` of Toolcrib's home directory and of the workspace. They are read when the server starts.")
        .answers::<Rules>(200, "The rules.")
        .refuses(404, "There is no such tool."),
        Route::new(Method::POST, "/api/rules/test", Who::Operator, |api, asked| {
            blocking(api, asked, test)
        })
        .named("testRules", "rules", "Says what the rules make of a call, and runs nothing.")
        .takes::<Trial>("The call: `{tool, args}`, or `{command}` for a shell text.", || {
            json!({"tool": "shell", "args": {"command": "rm -rf /"}})
        })
        .answers::<RulesTest>(200, "The verdict, the rules that match and the commands that would run.")
        .refuses(404, "There is no such tool.")
        .refuses(409, "The tool has a schema that cannot be used."),
    ]
}

fn list(crib: &Crib, asked: &ApiRequest) -> Answer {
    let rules = match asked.query.text("tool") {
        Some(tool) => crib
            .rules_about(tool)
            .map_err(|error| refused(crib, error))?,
        None => crib.rule_rows(),
    };
    let rules = Rules { rules };
    Ok(shown(crib, StatusCode::OK, &rules))
}

fn test(crib: &Crib, asked: &ApiRequest) -> Answer {
    let trial: Trial = asked.json()?;
    let tested = match (trial.tool, trial.args, trial.command) {
        (Some(tool), args, None) => crib.test_rules(&tool, args.unwrap_or_default()),
        (None, None, Some(command)) => crib.test_command(&command),
        _ => {
            return Err(Refusal::usage(
                "send `{tool, args}` for a call, or `{command}` for a shell text",
            ));
        }
    };
    let tested: RulesTest = tested.map_err(|error| refused(crib, error))?;
    Ok(shown(crib, StatusCode::OK, &tested))
}
