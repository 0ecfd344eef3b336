//! `network:external:HOST`: which hosts a call may reach, judged before anybody is asked.
//!
//! Problems that need no name lookup are reported here: a value that is not a host, an address that the operator's settings do not
//! name. The rest is judged by the way out itself when a program connects. Without a wall (`isolation: none`) nothing is judged: there
//! a person is asked every time, and nothing is confined.

use super::CommandSettings;
use super::arguments::fault;
use super::command_reach::level;
use crate::definition::{Definition, Permission};
use crate::egress::{AllowedHosts, EgressError, Reach, Target};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;
use crate::sandbox::Level;
use crate::schema::Fault;
use crate::template::{Reference, Text, Values};

/// Arguments that stand where a host does and are none. A value may not choose a whole domain, so that `*` is the file's to write.
pub(super) fn faults(definition: &Definition, values: &Values) -> Vec<Fault> {
    let mut faults = Vec::new();
    for permission in &definition.security.permissions {
        let Permission::Network(template) = permission else {
            continue;
        };
        let Some(parameter) = parameter_of(template) else {
            continue;
        };
        let host = template.render(values);
        if host.is_empty() {
            continue;
        }
        let written = template.render(&Values::default());
        let stars = |text: &str| text.matches('*').count();
        let why = match AllowedHosts::parse([host.as_str()]) {
            Err(why) => why,
            Ok(_) if stars(&host) > stars(&written) => {
                "has a `*`, and only the tool's file may name many hosts".to_owned()
            }
            Ok(_) => continue,
        };
        faults.push(fault(parameter, format!("cannot be reached: {why}")));
    }
    faults
}

fn parameter_of(template: &Text) -> Option<&str> {
    template
        .references()
        .iter()
        .find_map(|reference| match reference {
            Reference::Parameter(name) => Some(name.as_str()),
            Reference::Step { .. } | Reference::Variable(_) => None,
        })
}

/// Why a call that may reach these hosts can never be made, if it cannot.
pub(super) fn refusal(
    definition: &Definition,
    settings: &CommandSettings,
    hosts: &[String],
) -> Option<ToolError> {
    if level(definition) == Level::None {
        return None;
    }
    let egress = settings.runner.egress()?;
    hosts.iter().find_map(|said| {
        let named = |code, why: &str| {
            let said = text::shorten(said, 200);
            let name = &definition.name;
            ToolError::new(
                code,
                format!("`{name}` asks for `network:external:{said}`: {why}"),
            )
        };
        let entry = match AllowedHosts::parse([said.as_str()]) {
            Ok(entry) => entry,
            // Without arguments it is as the file has it; no argument brings braces along (`faults`).
            Err(_) if said.contains('{') => return None,
            Err(why) => return Some(named(ErrorCode::InvalidArguments, &why)),
        };
        // Of many names nothing is known before one is looked up.
        let (_, target) = Target::parse(&format!("http://{said}/")).ok()?;
        match egress.admit(&target, &Reach::Only(entry)) {
            Err(EgressError::Refused(refusal)) => {
                Some(named(ErrorCode::HostNotAllowed, &refusal.message))
            }
            _ => None,
        }
    })
}
