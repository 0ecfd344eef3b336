//! Settings with their origin: `/api/settings`. A change goes into `config.toml` of the home; a server reads that when it starts.

use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib::config::{self, Config, Origin, Setting, SettingChange, Surroundings};
use toolcrib::{Crib, ErrorCode, ToolError};

use super::work::{blocking, refused, shown};
use crate::api::{Answer, ApiRequest, Refusal, Route, Who, param};

/// Every setting.
#[derive(Debug, Serialize, JsonSchema)]
struct Settings {
    /// The settings, in the order of the reference.
    settings: Vec<SettingRow>,
}

/// One setting.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SettingRow {
    /// Its key in `config.toml`.
    key: &'static str,
    /// The value in force.
    value: Value,
    /// Where that comes from: `default`, `home`, `project`, `environment` or `flag`.
    #[schemars(with = "String")]
    origin: Origin,
    /// What `config.toml` of the home says; left out if it says nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    saved: Option<Value>,
    /// Whether the home decides the next time the server starts: no variable, flag or project is before it.
    home_decides: bool,
    /// Whether it will have another value then.
    restart: bool,
    /// Its value when no one sets it.
    default: Value,
    /// What it takes, in words.
    holds: String,
    /// Whether it is a list.
    is_list: bool,
    /// The environment variable that sets it.
    variable: String,
    /// What it does.
    effect: &'static str,
}

/// A change.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChangeSetting {
    /// The value as it is typed on the command line: one word, or several of a list. None removes the setting from the file.
    #[serde(default)]
    words: Option<Vec<String>>,
}

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/api/settings", Who::Operator, |api, asked| {
            blocking(api, asked, list)
        })
        .named("listSettings", "server", "Lists the settings with their values, origins and meaning.")
        .answers::<Settings>(200, "The settings."),
        Route::new(Method::PATCH, "/api/settings/{key}", Who::Operator, |api, asked| {
            blocking(api, asked, change)
        })
        .named("changeSetting", "server", "Changes a setting in `config.toml` of Toolcrib's home directory.")
        .about("Comments and layout of the file are kept. A running server keeps the value it started with.")
        .param(param::path("key", "Its key, as `limits.timeoutMs`."))
        .takes::<ChangeSetting>("The new value.", || json!({"words": ["5000"]}))
        .answers::<SettingRow>(200, "The setting.")
        .refuses(404, "There is no such setting."),
    ]
}

/// What the file of the home alone says.
fn saved(crib: &Crib) -> Result<Config, ToolError> {
    let alone = Surroundings::new(crib.home(), []);
    Config::load(crib.home(), &alone)
        .map_err(|error| ToolError::new(ErrorCode::StorageError, error.to_string()))
}

fn rows(crib: &Crib) -> Result<Vec<SettingRow>, ToolError> {
    let saved = saved(crib)?;
    let pairs = crib.config().entries().zip(saved.entries());
    Ok(pairs
        .map(|((setting, value, origin), (_, next, from))| {
            let home_decides = matches!(origin, Origin::Default | Origin::Home);
            SettingRow {
                key: setting.key,
                value: value.clone(),
                origin,
                saved: (from == Origin::Home).then(|| next.clone()),
                home_decides,
                restart: home_decides && next != value,
                default: setting.default.clone(),
                holds: setting.kind_in_words(),
                is_list: setting.is_list(),
                variable: setting.variable(),
                effect: setting.effect,
            }
        })
        .collect())
}

fn list(crib: &Crib, _: &ApiRequest) -> Answer {
    let settings = Settings {
        settings: rows(crib)?,
    };
    Ok(shown(crib, StatusCode::OK, &settings))
}

fn change(crib: &Crib, asked: &ApiRequest) -> Answer {
    let ChangeSetting { words } = asked.json()?;
    let key = asked.path.get("key");
    let Some(setting) = Setting::find(key) else {
        return Err(Refusal::new(
            ErrorCode::NotFound,
            "there is no such setting; `GET /api/settings` lists them",
        ));
    };
    let change = match &words {
        None => SettingChange::Unset,
        Some(words) => {
            let value = setting.read_words(words).map_err(|why| {
                let message = format!("`{}` {why}", setting.key);
                refused(crib, ToolError::new(ErrorCode::InvalidArguments, message))
            })?;
            SettingChange::Set(value)
        }
    };
    config::change_home(crib.home(), setting, &change).map_err(|error| refused(crib, error))?;
    let row = rows(crib)?.into_iter().find(|row| row.key == setting.key);
    Ok(shown(crib, StatusCode::OK, &row))
}
