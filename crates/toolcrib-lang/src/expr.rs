//! JavaScript expressions over values: small conditions that settings and rules carry.
//!
//! An expression sees the variables it was compiled for and the language itself: no files, no network, no clock, no
//! `eval`. It has [`TIME`] and [`MEMORY`]; what takes more is an error. Values are handed over as values and never
//! become part of the text. Each thread keeps one interpreter with its compiled expressions, since a new one costs
//! half a millisecond and a warm evaluation a few microseconds.
//!
//! The limit of time is checked between steps of the program. A single library function that counts to 2⁵³ inside is one
//! step, so text from people who must not stop the process has no place here; project rules cannot have expressions.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rquickjs::context::intrinsic;
use rquickjs::function::Args;
use rquickjs::object::Property;
use rquickjs::{Coerced, Context, Ctx, FromJs as _, Function, Persistent, Runtime};
use serde_json::Value;

/// How long an evaluation may take.
pub const TIME: Duration = Duration::from_millis(100);

/// How much memory the expressions of a thread may use.
pub const MEMORY: usize = 16 * 1024 * 1024;

/// The longest text of an expression.
pub const MAX_BYTES: usize = 16 * 1024;

const STACK: usize = 256 * 1024;

/// Compiled expressions kept by a thread; more than this and it starts over.
const MAX_KEPT: usize = 256;

/// An expression whose text was found to be one.
#[derive(Clone)]
pub struct Expression {
    id: u64,
    source: Arc<str>,
    /// As the parameters of a function: `a, b`.
    variables: Arc<str>,
}

impl std::fmt::Debug for Expression {
    /// The same for the same text, in every process: rules are compared by it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fields = (&self.source, &self.variables);
        f.debug_tuple("Expression").field(&fields).finish()
    }
}

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExprError {
    /// The text is not an expression.
    #[error("it is not a JavaScript expression: {0}")]
    Syntax(String),
    /// It threw.
    #[error("it failed: {0}")]
    Thrown(String),
    /// It took too long.
    #[error("it ran for more than {} ms", TIME.as_millis())]
    Time,
    /// It used too much memory.
    #[error("it used more than {} MB", MEMORY / 1024 / 1024)]
    Memory,
}

impl Expression {
    /// Checks the text of an expression that may use these variables.
    pub fn compile(source: &str, variables: &[&str]) -> Result<Self, ExprError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if source.len() > MAX_BYTES {
            return Err(ExprError::Syntax(format!(
                "it is longer than {MAX_BYTES} bytes"
            )));
        }
        let expression = Expression {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            source: source.into(),
            variables: variables.join(", ").into(),
        };
        with_engine(|engine| {
            // Between brackets of either kind only an expression fits; `1); f(` fits the round ones alone.
            engine.run(|ctx| {
                ctx.eval::<Function<'_>, _>(format!("(function() {{ return [{source}\n]; }})"))
                    .map(drop)
            })?;
            engine.function(&expression).map(drop)
        })
        .map_err(|error| match error {
            ExprError::Thrown(problem) => ExprError::Syntax(problem),
            other => other,
        })?;
        Ok(expression)
    }

    /// Its text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Its value, given one value for each variable.
    ///
    /// Numbers are JavaScript's: whole ones are exact up to 2⁵³. What JSON cannot say, as a function, is null.
    pub fn evaluate(&self, values: &[&Value]) -> Result<Value, ExprError> {
        self.call(values, |ctx, value| {
            let Some(text) = ctx.json_stringify(value)? else {
                return Ok(Value::Null);
            };
            Ok(serde_json::from_str(&text.to_string()?).unwrap_or(Value::Null))
        })
    }

    /// Whether its value is true, by JavaScript's idea of it.
    pub fn holds(&self, values: &[&Value]) -> Result<bool, ExprError> {
        self.call(values, |ctx, value| {
            Coerced::<bool>::from_js(ctx, value).map(|truth| truth.0)
        })
    }

    fn call<T>(
        &self,
        values: &[&Value],
        then: impl for<'js> FnOnce(&Ctx<'js>, rquickjs::Value<'js>) -> rquickjs::Result<T>,
    ) -> Result<T, ExprError> {
        with_engine(|engine| {
            let function = engine.function(self)?;
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
        // An expression cannot call back into this module, so nobody holds the slot.
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
        // The interpreter counts from where it was made; a call may be far deeper, and must have no less for that. Nothing is no
        // limit, so it never gets that.
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_expression_has_its_stack_however_deep_it_is_called() {
        fn deeper(levels: usize) -> Result<Value, ExprError> {
            let room = std::hint::black_box([0_u8; 64 * 1024]);
            let value = match levels {
                0 => evaluate("x.toLowerCase()", json!("ABC")),
                _ => deeper(levels - 1),
            };
            std::hint::black_box(room);
            value
        }
        assert_eq!(evaluate("x.toLowerCase()", json!("A")), Ok(json!("a")));
        assert_eq!(deeper(5), Ok(json!("abc")));
        assert_eq!(evaluate("x.toLowerCase()", json!("A")), Ok(json!("a")));
    }

    fn evaluate(source: &str, x: Value) -> Result<Value, ExprError> {
        Expression::compile(source, &["x"])?.evaluate(&[&x])
    }

    #[test]
    fn values_go_in_and_come_out() {
        for (source, x, expected) in [
            ("x + 1", json!(1), json!(2)),
            ("x.a[1].b", json!({"a": [0, {"b": "ü"}]}), json!("ü")),
            (
                "x.filter(n => n > 2)",
                json!([1, 2, 3, 4.5]),
                json!([3, 4.5]),
            ),
            ("/^a+$/.test(x)", json!("aaa"), json!(true)),
            ("({a: x, b: undefined})", json!(null), json!({"a": null})),
            ("x => x", json!(1), json!(null)),
            ("x.length // a comment", json!("abc"), json!(3)),
            (
                "Object.keys(x)",
                json!({"__proto__": 1, "b": 2}),
                json!(["__proto__", "b"]),
            ),
            (
                "x",
                json!(9_007_199_254_740_991_i64),
                json!(9_007_199_254_740_991_i64),
            ),
        ] {
            assert_eq!(evaluate(source, x), Ok(expected), "{source}");
        }
    }

    #[test]
    fn a_value_never_becomes_part_of_the_text() {
        for hostile in ["\"; while(1); //", "${1+1}", "*/ ) } (", "\u{2028}\\"] {
            assert_eq!(evaluate("x", json!(hostile)), Ok(json!(hostile)));
        }
    }

    #[test]
    fn only_an_expression_is_one() {
        for source in [
            "",
            "x +",
            "while(1);",
            "1); f(1",
            "1]; f([1",
            "return 1",
            "let y = 1",
            "1; 2",
            "})(",
        ] {
            assert!(
                matches!(evaluate(source, json!(1)), Err(ExprError::Syntax(_))),
                "{source}: {:?}",
                evaluate(source, json!(1))
            );
        }
        assert!(Expression::compile(&"1+".repeat(9000), &[]).is_err());
    }

    #[test]
    fn what_takes_too_much_ends_and_the_next_one_works() {
        let start = Instant::now();
        for (source, expected) in [
            ("(() => { while (true) {} })()", ExprError::Time),
            ("/(a+)+$/.test('a'.repeat(40) + 'b')", ExprError::Time),
            (
                "(() => { let a = []; while (true) a.push('x'.repeat(1000000)) })()",
                ExprError::Memory,
            ),
            ("'x'.repeat(2 ** 29)", ExprError::Memory),
            ("Array(2 ** 25).fill(7)", ExprError::Memory),
        ] {
            assert_eq!(evaluate(source, json!(1)), Err(expected), "{source}");
            assert_eq!(evaluate("x + 1", json!(1)), Ok(json!(2)), "after {source}");
        }
        for source in [
            "(function f() { return f() + 1 })()",
            "[1].map(function g(n) { return [n].map(g) })",
        ] {
            assert!(
                matches!(evaluate(source, json!(1)), Err(ExprError::Thrown(_))),
                "{source}"
            );
        }
        assert!(start.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn there_is_nothing_to_reach_and_nothing_to_leave_behind() {
        for source in [
            "eval('1')",
            "Function('return 1')()",
            "(() => 1).constructor('return 1')()",
            "(function*(){}).constructor('yield 1')().next().value.x",
            "(async () => 1).constructor('return 1')().x.y",
            "require('fs')",
            "fetch('http://localhost')",
            "Date.now()",
            "y = 1",
            "globalThis.y = 1",
            "(Array.prototype.z = 1)",
            "(Object.prototype.z = 1)",
        ] {
            assert!(
                matches!(evaluate(source, json!(1)), Err(ExprError::Thrown(_))),
                "{source}: {:?}",
                evaluate(source, json!(1))
            );
        }
        let imported = evaluate("import('fs')", json!(1));
        assert!(
            !matches!(imported, Ok(Value::Object(ref o)) if !o.is_empty()),
            "{imported:?}"
        );
    }

    #[test]
    fn truth_is_javascripts() {
        let holds = |source: &str| {
            Expression::compile(source, &["x"])
                .unwrap()
                .holds(&[&json!([])])
        };
        assert_eq!(holds("x.length"), Ok(false));
        assert_eq!(holds("x"), Ok(true));
        assert_eq!(holds("''"), Ok(false));
        assert_eq!(
            holds("x.y.z"),
            Err(ExprError::Thrown(
                "cannot read property 'z' of undefined".into()
            ))
        );
    }
}
