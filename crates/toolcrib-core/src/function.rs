//! A tool made of a Rust function: [`FnTool`].

use std::future::Future;
use std::sync::Arc;

use crate::poll::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::effects::{Approval, Effects};
use crate::model::error::{ErrorCode, Failure, ToolError};
use crate::model::limits::LimitsPatch;
use crate::model::names::{NameError, WireName};
use crate::model::outcome::ToolOutput;
use crate::schema::{SchemaError, input_schema_of, output_schema_of};
use crate::spec::{Role, ToolSpec, Traits};
use crate::tool::{Look, Tool};
use crate::workspace::Workspace;

type Body = dyn Fn(JsonObject, CallContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>>
    + Send
    + Sync;
type Ask = dyn Fn(&JsonObject, Option<&Workspace>) -> Approval + Send + Sync;

/// A typed function as a tool: the schema comes from the struct of its arguments, whose doc
/// comments become the descriptions models read. See [`Registry`](crate::registry::Registry) for an example.
///
/// The function is the program's own code, so that it runs without approval unless
/// [`ask_when`](FnTool::ask_when), [`always_ask`](FnTool::always_ask) or [`approve_by`](FnTool::approve_by) says otherwise.
pub struct FnTool {
    spec: Arc<ToolSpec>,
    body: Box<Body>,
    ask: Option<Arc<Ask>>,
}

/// Why a function cannot be a tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefineError {
    /// Its name.
    #[error("`{name}` cannot be a tool's name: {source}")]
    Name {
        /// The name.
        name: String,
        /// The problem.
        source: NameError,
    },
    /// The schema of its arguments or its result.
    #[error("the schema of `{name}` breaks the rules: {source}")]
    Schema {
        /// The tool.
        name: String,
        /// The problem.
        source: SchemaError,
    },
    /// Models choose tools by their descriptions.
    #[error("`{name}` needs a description; models choose tools by it")]
    NoDescription {
        /// The tool.
        name: String,
    },
}

impl FnTool {
    /// Makes a tool of an async function. `?` in it turns any error into a failed call.
    pub fn new<A, R, F, Fut>(
        name: &str,
        description: &str,
        function: F,
    ) -> Result<Self, DefineError>
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize,
        F: Fn(A, CallContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, Failure>> + Send + 'static,
    {
        let wire = WireName::parse(name).map_err(|source| DefineError::Name {
            name: name.to_owned(),
            source,
        })?;
        if description.trim().is_empty() {
            return Err(DefineError::NoDescription {
                name: name.to_owned(),
            });
        }
        let schema = input_schema_of::<A>().map_err(|source| DefineError::Schema {
            name: name.to_owned(),
            source,
        })?;
        let has_secrets = schema.mentions_secrets();
        let body = move |args: JsonObject, cx: CallContext| -> BoxFuture<'static, _> {
            match from_arguments::<A>(args, has_secrets) {
                Ok(args) => {
                    let future = function(args, cx);
                    Box::pin(async move { to_output(&future.await?) })
                }
                Err(error) => Box::pin(std::future::ready(Err(error))),
            }
        };
        Ok(FnTool {
            spec: Arc::new(ToolSpec::new(wire, description, schema)),
            body: Box::new(body),
            ask: None,
        })
    }

    /// Promises the type of the result: its schema is published and every result checked by it.
    pub fn returns<R: JsonSchema>(mut self) -> Result<Self, DefineError> {
        let name = self.spec.name.to_string();
        let schema =
            output_schema_of::<R>().map_err(|source| DefineError::Schema { name, source })?;
        self.edit().output_schema = Some(Arc::new(schema));
        Ok(self)
    }

    /// Says what the tool does to the world, for models, people and rules.
    #[must_use]
    pub fn effects(mut self, effects: Effects) -> Self {
        self.edit().effects = effects;
        self
    }

    /// Says more of what it does to the world, for those who show it. Calls are not judged by it.
    #[must_use]
    pub fn traits(mut self, traits: Traits) -> Self {
        self.edit().traits = traits;
        self
    }

    /// Puts it in categories, by which it is found.
    #[must_use]
    pub fn tags(mut self, tags: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.edit().tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// Asks a person when the arguments say so (S2: dynamic `requiresApproval`).
    ///
    /// ```
    /// # use toolcrib::{CallRequest, ErrorCode, FnTool, Registry, schemars::JsonSchema, serde::Deserialize};
    /// # #[derive(Deserialize, JsonSchema)]
    /// # #[serde(crate = "toolcrib::serde")]
    /// # #[schemars(crate = "toolcrib::schemars")]
    /// # struct Pay {
    /// #     /// How much.
    /// #     amount: u32,
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let pay = FnTool::new("pay", "Pays a bill", |bill: Pay, _cx| async move { Ok(bill.amount) })?
    ///     .ask_when(|args| args["amount"].as_u64() > Some(100));
    /// let registry = Registry::new();
    /// registry.register(pay)?;
    ///
    /// let small = registry.execute(CallRequest::new("pay").arg("amount", 5)).await;
    /// assert!(small.is_ok());
    /// let large = registry.execute(CallRequest::new("pay").arg("amount", 500)).await;
    /// assert_eq!(large.error().unwrap().code(), ErrorCode::ApprovalUnavailable);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn ask_when(
        self,
        needs_approval: impl Fn(&JsonObject) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.approve_by(move |args, _workspace| {
            if needs_approval(args) {
                Approval::ask("the tool asks before it does this")
            } else {
                Approval::allow()
            }
        })
    }

    /// Decides about each call by itself, in its own words: the reason, the effect, a diff, what the decision rests on.
    ///
    /// ```
    /// # use toolcrib::{Approval, FnTool};
    /// # let tool = FnTool::new("publish", "Publishes", |(), _cx| async { Ok(()) }).unwrap();
    /// let tool = tool.approve_by(|args, _workspace| {
    ///     if args.contains_key("draft") {
    ///         return Approval::allow();
    ///     }
    ///     Approval::ask("everybody will see it").with_effect("publish the page").every_time()
    /// });
    /// # let _ = tool;
    /// ```
    #[must_use]
    pub fn approve_by(
        mut self,
        decide: impl Fn(&JsonObject, Option<&Workspace>) -> Approval + Send + Sync + 'static,
    ) -> Self {
        self.ask = Some(Arc::new(decide));
        self
    }

    /// Says what a parameter is about, for rules, approvals and grants.
    #[must_use]
    pub fn role(mut self, parameter: &str, role: Role) -> Self {
        self.edit().roles.push((parameter.to_owned(), role));
        self
    }

    /// Asks a person before every call.
    #[must_use]
    pub fn always_ask(self) -> Self {
        self.ask_when(|_| true)
    }

    /// Sets the tool's own limits.
    #[must_use]
    pub fn limits(mut self, limits: LimitsPatch) -> Self {
        self.edit().limits = limits;
        self
    }

    /// Accepts another spelling of a parameter.
    #[must_use]
    pub fn synonym(mut self, accepted: &str, published: &str) -> Self {
        self.edit()
            .synonyms
            .push((accepted.to_owned(), published.to_owned()));
        self
    }

    /// Sets the title for lists.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.edit().title = Some(title.into());
        self
    }

    fn edit(&mut self) -> &mut ToolSpec {
        Arc::make_mut(&mut self.spec)
    }
}

fn from_arguments<A: DeserializeOwned>(
    args: JsonObject,
    has_secrets: bool,
) -> Result<A, ToolError> {
    let mismatch = |error| mismatch(error, has_secrets);
    // `()` is read from null, not from an empty object.
    let no_arguments = args.is_empty() && size_of::<A>() == 0;
    match serde_path_to_error::deserialize(Value::Object(args)) {
        Err(_) if no_arguments => serde_path_to_error::deserialize(Value::Null).map_err(mismatch),
        other => other.map_err(mismatch),
    }
}

/// The schema let something through that the type does not take.
fn mismatch(error: serde_path_to_error::Error<serde_json::Error>, has_secrets: bool) -> ToolError {
    let place = pointer(error.path());
    let error = error.into_inner();
    // The error may quote the value, and the value may be a secret.
    let why = if has_secrets {
        String::new()
    } else {
        format!(": {error}")
    };
    let message = match place.as_str() {
        "" => format!("the arguments cannot be read{why}"),
        place => format!("the arguments cannot be read at `{place}`{why}"),
    };
    let readable = ToolError::new(ErrorCode::InvalidArguments, message);
    if has_secrets {
        readable
    } else {
        readable.caused_by(error)
    }
}

/// A place in the arguments as a JSON pointer.
fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let steps = path.iter().filter_map(|segment| match segment {
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Map { key } => Some(key.replace('~', "~0").replace('/', "~1")),
        // Not a step of the text.
        Segment::Enum { .. } | Segment::Unknown => None,
    });
    steps.map(|step| format!("/{step}")).collect()
}

fn to_output<R: Serialize>(result: &R) -> Result<ToolOutput, ToolError> {
    match serde_json::to_value(result) {
        Ok(value) => Ok(ToolOutput::value(value)),
        Err(error) => {
            let message = format!("the result cannot be written as JSON: {error}");
            Err(ToolError::new(ErrorCode::InvalidOutput, message).caused_by(error))
        }
    }
}

impl Tool for FnTool {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn look(&self, _args: &JsonObject, _workspace: Option<&Workspace>) -> Look {
        match self.ask.clone() {
            Some(ask) => Look::later(move |args, workspace| ask(args, workspace)),
            None => Look::allow(),
        }
    }

    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        (self.body)(args, cx)
    }
}
