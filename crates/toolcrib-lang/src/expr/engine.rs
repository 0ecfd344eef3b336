//! QuickJS, one interpreter for each thread.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Instant;

use rquickjs::context::intrinsic;
use rquickjs::function::Args;
use rquickjs::object::Property;
use rquickjs::{Context, Ctx, Function, Persistent, Runtime};
use serde_json::Value;

use super::{ExprError, Expression, MEMORY, TIME};

const STACK: usize = 256 * 1024;

/// Compiled expressions kept by a thread; more than this and it starts over.
const MAX_KEPT: usize = 256;

/// Compiles an expression.
pub(super) fn check(expression: &Expression) -> Result<(), ExprError> {
    let source = &expression.source;
    with_engine(|engine| {
        // Between brackets of either kind only an expression fits; `1); f(` fits the round ones alone.
        engine.run(|ctx| {
            ctx.eval::<Function<'_>, _>(format!("(function() {{ return [{source}\n]; }})"))
                .map(drop)
        })?;
        engine.function(expression).map(drop)
    })
}

/// The value of an expression.
pub(super) fn evaluate(expression: &Expression, values: &[&Value]) -> Result<Value, ExprError> {
    call(expression, values, |ctx, value| {
        let Some(text) = ctx.json_stringify(value)? else {
            return Ok(Value::Null);
        };
        Ok(serde_json::from_str(&text.to_string()?).unwrap_or(Value::Null))
    })
}

/// Whether an expression is true; what is neither true nor false is an error.
pub(super) fn holds(expression: &Expression, values: &[&Value]) -> Result<bool, ExprError> {
    let truth = call(expression, values, |_, value| {
        Ok(value.as_bool().ok_or_else(|| kind(&value)))
    })?;
    truth.map_err(ExprError::NotBoolean)
}

/// What a value is, in words.
fn kind(value: &rquickjs::Value<'_>) -> &'static str {
    match value.type_of() {
        rquickjs::Type::Null => "null",
        rquickjs::Type::Undefined | rquickjs::Type::Uninitialized => "undefined",
        rquickjs::Type::String => "a text",
        rquickjs::Type::Int | rquickjs::Type::Float => "a number",
        rquickjs::Type::Array => "a list",
        rquickjs::Type::Function | rquickjs::Type::Constructor => "a function",
        _ => "an object",
    }
}

fn call<T>(
    expression: &Expression,
    values: &[&Value],
    then: impl for<'js> FnOnce(&Ctx<'js>, rquickjs::Value<'js>) -> rquickjs::Result<T>,
) -> Result<T, ExprError> {
    with_engine(|engine| {
        let function = engine.function(expression)?;
        engine.run(|ctx| {
            let function = function.restore(ctx)?;
            let mut args = Args::new(ctx.clone(), values.len());
            for value in values {
                args.push_arg(to_js(ctx, value)?)?;
            }
            let value = function.call_arg(args)?;
            then(ctx, value)
        })
    })
}

/// A thread's interpreter.
struct Engine {
    /// Dropped before the context they belong to.
    functions: HashMap<u64, Persistent<Function<'static>>>,
    context: Context,
    deadline: Rc<Cell<Option<Instant>>>,
    runtime: Runtime,
    /// Where on the thread's stack it was made, more or less.
    made_at: usize,
}

/// Where on the stack we are, more or less. Stacks grow downwards wherever this runs.
#[inline(never)]
fn stack_address() -> usize {
    let here = 0_u8;
    std::hint::black_box(std::ptr::from_ref(&here)).addr()
}

thread_local! {
    static ENGINE: RefCell<Option<Engine>> = const { RefCell::new(None) };
}

fn with_engine<T>(work: impl FnOnce(&mut Engine) -> Result<T, ExprError>) -> Result<T, ExprError> {
    ENGINE.with(|slot| {
        // An expression cannot call back into this module, so no one holds the slot.
        let mut slot = slot.borrow_mut();
        let engine = match &mut *slot {
            Some(engine) => engine,
            empty => empty.insert(Engine::new().map_err(|_| ExprError::Memory)?),
        };
        let result = work(engine);
        if matches!(result, Err(ExprError::Memory | ExprError::Time)) {
            // Whatever it left behind goes with the interpreter.
            *slot = None;
        }
        result
    })
}

/// Takes away what makes programs of text, and makes the library unchangeable: what one evaluation does to it would be
/// there in the next.
const HARDEN: &str = r"
(function() {
    const makers = [Function, (function*(){}).constructor, (async function(){}).constructor, (async function*(){}).constructor];
    for (const maker of makers) { delete maker.prototype.constructor; }
    for (const name of ['eval', 'Function', 'queueMicrotask', 'performance']) { delete globalThis[name]; }
    const seen = new Set();
    const freeze = (value) => {
        if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) { return; }
        seen.add(value);
        Object.freeze(value);
        freeze(Object.getPrototypeOf(value));
        for (const property of Object.values(Object.getOwnPropertyDescriptors(value))) {
            freeze(property.value); freeze(property.get); freeze(property.set);
        }
    };
    for (const maker of makers) { freeze(maker.prototype); }
    freeze(globalThis);
})()";

impl Engine {
    fn new() -> rquickjs::Result<Self> {
        let made_at = stack_address();
        let runtime = Runtime::new()?;
        runtime.set_memory_limit(MEMORY);
        runtime.set_max_stack_size(STACK);
        let deadline = Rc::new(Cell::new(None::<Instant>));
        let handlers = Rc::clone(&deadline);
        runtime.set_interrupt_handler(Some(Box::new(move || {
            handlers
                .get()
                .is_some_and(|deadline| Instant::now() >= deadline)
        })));
        // No clock, no typed arrays, no proxies: a condition needs none of them. Nor does it need promises, but without them
        // the interpreter loses what an async function is made of.
        let context = Context::builder()
            .with::<intrinsic::Eval>()
            .with::<intrinsic::RegExpCompiler>()
            .with::<intrinsic::RegExp>()
            .with::<intrinsic::Json>()
            .with::<intrinsic::MapSet>()
            .with::<intrinsic::Promise>()
            .build(&runtime)?;
        context.with(|ctx| ctx.eval::<(), _>(HARDEN))?;
        Ok(Engine {
            functions: HashMap::new(),
            context,
            deadline,
            runtime,
            made_at,
        })
    }

    /// The expression as a function of its variables, compiled once.
    fn function(
        &mut self,
        expression: &Expression,
    ) -> Result<Persistent<Function<'static>>, ExprError> {
        if let Some(function) = self.functions.get(&expression.id) {
            return Ok(function.clone());
        }
        let names = &expression.variables;
        let source = &expression.source;
        let text = format!("(function({names}) {{ 'use strict'; return (\n{source}\n); }})");
        let function = self.run(|ctx| {
            let function: Function<'_> = ctx.eval(text)?;
            Ok(Persistent::save(ctx, function))
        })?;
        if self.functions.len() >= MAX_KEPT {
            self.functions.clear();
        }
        self.functions.insert(expression.id, function.clone());
        Ok(function)
    }

    /// Runs something within the limits and says in words what went wrong.
    fn run<T>(
        &self,
        work: impl for<'js> FnOnce(&Ctx<'js>) -> rquickjs::Result<T>,
    ) -> Result<T, ExprError> {
        let deadline = Instant::now() + TIME;
        self.deadline.set(Some(deadline));
        // The interpreter counts from where it was made; a call may be far deeper, and must have no less for that. Zero means no limit, so
        // it is never passed.
        let deeper = self.made_at.saturating_sub(stack_address());
        let shallower = stack_address().saturating_sub(self.made_at);
        let stack = (STACK + deeper).saturating_sub(shallower);
        self.runtime.set_max_stack_size(stack.max(1));
        let result = self.context.with(|ctx| {
            work(&ctx).map_err(|error| match error {
                rquickjs::Error::Exception => in_words(&ctx),
                rquickjs::Error::Allocation => ExprError::Memory,
                other => ExprError::Thrown(other.to_string()),
            })
        });
        self.deadline.set(None);
        match result {
            // An interrupt arrives as an exception like others.
            Err(ExprError::Thrown(_)) if Instant::now() >= deadline => Err(ExprError::Time),
            other => other,
        }
    }
}

fn in_words(ctx: &Ctx<'_>) -> ExprError {
    let thrown = ctx.catch();
    // Out of memory, there may not even be room for an exception.
    if thrown.is_null() || thrown.is_undefined() {
        return ExprError::Memory;
    }
    let message = match thrown.as_exception() {
        Some(exception) => exception.message().unwrap_or_default(),
        None => match thrown.as_string().map(|text| text.to_string()) {
            Some(Ok(text)) => text,
            Some(Err(_)) | None => "it threw something that is not an error".to_owned(),
        },
    };
    match message.as_str() {
        "out of memory" => ExprError::Memory,
        _ => ExprError::Thrown(crate::model::text::shorten(&message, 200)),
    }
}

fn to_js<'js>(ctx: &Ctx<'js>, value: &Value) -> rquickjs::Result<rquickjs::Value<'js>> {
    Ok(match value {
        Value::Null => rquickjs::Value::new_null(ctx.clone()),
        Value::Bool(truth) => rquickjs::Value::new_bool(ctx.clone(), *truth),
        Value::Number(number) => match number.as_i64().map(i32::try_from) {
            Some(Ok(small)) => rquickjs::Value::new_int(ctx.clone(), small),
            Some(Err(_)) | None => {
                rquickjs::Value::new_float(ctx.clone(), number.as_f64().unwrap_or(f64::NAN))
            }
        },
        Value::String(text) => rquickjs::String::from_str(ctx.clone(), text)?.into_value(),
        Value::Array(items) => {
            let array = rquickjs::Array::new(ctx.clone())?;
            for (index, item) in items.iter().enumerate() {
                array.set(index, to_js(ctx, item)?)?;
            }
            array.into_value()
        }
        Value::Object(fields) => {
            let object = rquickjs::Object::new(ctx.clone())?;
            for (key, field) in fields {
                // Defined, not assigned: a field named `__proto__` is a field.
                object.prop(
                    key.as_str(),
                    Property::from(to_js(ctx, field)?)
                        .writable()
                        .configurable()
                        .enumerable(),
                )?;
            }
            object.into_value()
        }
    })
}
