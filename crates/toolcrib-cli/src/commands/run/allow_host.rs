//! The first call of a tool to a host that the settings do not name: the person at the terminal may allow it there and then.

use toolcrib::config::{self, Origin, Setting, SettingChange};
use toolcrib::model::text;
use toolcrib::{CallRequest, Crib, ErrorCode};

use crate::args::Global;
use crate::commands::Answerer;
use crate::commands::confirm::confirmed;
use crate::failure::CliError;
use crate::output::Output;

const KEY: &str = "allowedHosts";

/// Offers to allow the host that a call would be refused for. Whether the settings have changed.
pub(super) fn offered(
    request: &CallRequest,
    crib: &Crib,
    answerer: &Answerer,
    global: &Global,
    output: &Output,
) -> Result<bool, CliError> {
    let (Answerer::Person(_), false) = (answerer, output.json()) else {
        return Ok(false);
    };
    let mut entries = crib.config().entries();
    let origin = entries.find(|(setting, _, _)| setting.key == KEY);
    let origin = origin.map(|(_, _, origin)| origin);
    // What the environment or the project says would win over what is written.
    let (Some(Origin::Default | Origin::Home), Some(setting)) = (origin, Setting::find(KEY)) else {
        return Ok(false);
    };
    let Err(error) = crib.registry().plan(request.clone()) else {
        return Ok(false);
    };
    let detail = |name: &str| {
        let details = error
            .details()
            .filter(|_| error.code() == ErrorCode::HostNotAllowed)?;
        details.get(name)?.as_str()
    };
    let Some(host) = detail("host") else {
        return Ok(false);
    };
    let what = match detail("hostIs") {
        Some(what) => format!("{what}, "),
        None => String::new(),
    };
    let file = crib.home().join("config.toml");
    let (host, tool) = (text::visible(host), text::visible(&request.tool));
    output.say(&format!(
        "`{tool}` sends requests to {host}, {what}which the setting `{KEY}` does not name yet"
    ));
    let question = format!("allow {host} from now on, in {}? [y/n] ", file.display());
    if !confirmed(&question, global, output)? {
        return Ok(false);
    }
    config::change_home(
        crib.home(),
        setting,
        &SettingChange::Add(vec![host.into_owned().into()]),
    )?;
    output.say(&output.dim(&format!(
        "`toolcrib config unset {KEY} HOST` takes a host out again"
    )));
    Ok(true)
}
