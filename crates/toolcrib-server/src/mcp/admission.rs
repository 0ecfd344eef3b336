//! Which calls a host takes where it serves some bundles only: [`CribHost::admitted`].
//!
//! The call that is judged here must be the one that runs. So arguments of the tools that find and call others are read as strictly as
//! anywhere, in the spelling of their schema alone, and go on with the one tool in them that was looked up; the pipeline, which forgives
//! other spellings, has nothing left to forgive. A tool is named by its reference from here on, even if another tool gets its name meanwhile.

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use toolcrib::crib::Discovery;
use toolcrib::model::{JsonObject, text};
use toolcrib::registry::{Entry, Source};
use toolcrib::{ErrorCode, ToolError};

use super::CribHost;
use super::catalogue::{is_served, reads_results};

impl CribHost {
    /// The name and the arguments of a call as it may be made: unchanged where everything is served. Where only some bundles are, a tool of
    /// another one is no one's (`TOOL_NOT_FOUND`), and the tools that find and call others are kept to these bundles. Costs nothing in the
    /// first case.
    pub(super) fn admitted(
        &self,
        name: String,
        arguments: Option<Box<RawValue>>,
    ) -> Result<(String, Option<Box<RawValue>>), ToolError> {
        if self.options.bundles.is_empty() {
            return Ok((name, arguments));
        }
        let entry = self.crib.registry().find(&name)?;
        let own = entry.spec().name.as_str();
        let exact = entry.spec().reference();
        if entry.source() == Source::BuiltIn && Discovery::names().any(|name| name == own) {
            return Ok((exact, self.narrowed(&entry, arguments)?));
        }
        match is_served(&entry, &self.options) || reads_results(&entry) {
            true => Ok((exact, arguments)),
            false => {
                let message = format!("`{own}` is not of the bundles that are served here");
                Err(ToolError::new(ErrorCode::ToolNotFound, message))
            }
        }
    }

    /// The arguments of a tool that finds or calls others, so that it goes no further than the bundles that are served.
    fn narrowed(
        &self,
        tool: &Entry,
        arguments: Option<Box<RawValue>>,
    ) -> Result<Option<Box<RawValue>>, ToolError> {
        let given = arguments.as_ref().map_or("{}", |given| given.get());
        // A value that is not an object, or has a key twice, is refused with a reason by the next reader.
        let Ok(Value::Object(mut args)) = crate::api::read_strict(given.as_bytes()) else {
            return Ok(arguments);
        };
        let spec = tool.spec();
        let own = spec.name.as_str();
        let known = spec.input_schema.as_value().get("properties");
        let is_known = |key: &String| known.is_some_and(|known| known.get(key).is_some());
        if let Some(odd) = args.keys().find(|key| !is_known(key)) {
            let why = format!("`{own}` takes no `{}`", text::shorten(odd, 80));
            return Err(ToolError::new(ErrorCode::InvalidArguments, why));
        }
        match own {
            Discovery::FIND => self.find_here(&mut args),
            _ => self.call_here(own, &mut args)?,
        }
        to_raw_value(&args).map(Some).map_err(|error| {
            ToolError::new(
                ErrorCode::Internal,
                format!("cannot write arguments: {error}"),
            )
        })
    }

    fn find_here(&self, args: &mut JsonObject) {
        let served = &self.options.bundles;
        let asked = args.get("bundles").and_then(Value::as_array);
        let wanted: Vec<&String> = match asked {
            Some(asked) if !asked.is_empty() => served
                .iter()
                .filter(|bundle| asked.iter().any(|one| one == bundle.as_str()))
                .collect(),
            _ => served.iter().collect(),
        };
        // Nothing of what was asked for is served: a bundle that no one has.
        let wanted = match wanted.is_empty() {
            true => json!([""]),
            false => json!(wanted),
        };
        args.insert("bundles".to_owned(), wanted);
    }

    fn call_here(&self, own: &str, args: &mut JsonObject) -> Result<(), ToolError> {
        // It is an argument that is wrong: a model can do better, a client cannot.
        let refused = |why: String| {
            let message = format!("invalid arguments for `{own}`: `/name` {why}");
            ToolError::new(ErrorCode::InvalidArguments, message)
        };
        let unknown =
            |why: String| refused(why).with_detail("code", ErrorCode::ToolNotFound.as_str());
        let Some(other) = args.get("name").and_then(Value::as_str) else {
            return Err(refused("is the name of a tool, as a text".to_owned()));
        };
        let found = self.crib.registry().find(other);
        let entry =
            found.map_err(|error| unknown(format!("is not a tool: {}", error.message())))?;
        if !is_served(&entry, &self.options) {
            let shown = text::shorten(other, 80);
            return Err(unknown(format!(
                "`{shown}` is not of the bundles that are served here"
            )));
        }
        let exact = entry.spec().reference();
        args.insert("name".to_owned(), exact.into());
        Ok(())
    }
}
