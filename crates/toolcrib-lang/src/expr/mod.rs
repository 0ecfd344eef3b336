//! JavaScript expressions over values: small conditions that settings and rules carry.
//!
//! An expression sees the variables it was compiled for and the language itself: no files, no network, no clock, no
//! `eval`. It has [`TIME`] and [`MEMORY`]; what takes more is an error. Values are handed over as values and never
//! become part of the text. Each thread keeps one interpreter with its compiled expressions, since a new one costs
//! half a millisecond and a warm evaluation a few microseconds.
//!
//! The limit of time is checked between steps of the program. A single library function that counts to 2⁵³ inside is one
//! step, so text from people who must not stop the process has no place here; project rules cannot have expressions.

pub(crate) mod javascript;

#[cfg(feature = "expr")]
mod engine;
/// Without the interpreter an expression is refused when it is read, so that no condition is silently true or false.
#[cfg(not(feature = "expr"))]
mod engine {
    use serde_json::Value;

    use super::{ExprError, Expression};

    pub(super) fn check(_: &Expression) -> Result<(), ExprError> {
        Err(ExprError::Unavailable)
    }

    pub(super) fn evaluate(_: &Expression, _: &[&Value]) -> Result<Value, ExprError> {
        Err(ExprError::Unavailable)
    }

    pub(super) fn holds(_: &Expression, _: &[&Value]) -> Result<bool, ExprError> {
        Err(ExprError::Unavailable)
    }
}

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;

/// How long an evaluation may take.
pub const TIME: Duration = Duration::from_millis(100);

/// How much memory the expressions of a thread may use.
pub const MEMORY: usize = 16 * 1024 * 1024;

/// The longest text of an expression.
pub const MAX_BYTES: usize = 16 * 1024;

/// An expression whose text was found to be one.
#[derive(Clone)]
pub struct Expression {
    id: u64,
    source: Arc<str>,
    /// As the parameters of a function: `a, b`.
    variables: Arc<str>,
}

impl std::fmt::Debug for Expression {
    /// Depends only on the text, so that it is equal in every process: rules are compared by it.
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
    #[error("it used more than {}", crate::model::text::size(MEMORY as u64))]
    Memory,
    /// A condition assigns a value, which is nearly always a comparison with a sign missing.
    #[error("it assigns a value with `{0}`, which a condition cannot do; to compare, write `==`")]
    Assigns(&'static str),
    /// The value of a condition is neither true nor false.
    #[error("its value is {0}, and a condition must be true or false; compare it, as in `… == 0`")]
    NotBoolean(&'static str),
    /// There is no interpreter.
    #[error("this program was built without JavaScript expressions (the feature `expr`)")]
    Unavailable,
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
        engine::check(&expression).map_err(|error| match error {
            ExprError::Thrown(problem) => ExprError::Syntax(problem),
            other => other,
        })?;
        Ok(expression)
    }

    /// Like [`compile`](Self::compile), for a condition: assignments are refused.
    pub fn condition(source: &str, variables: &[&str]) -> Result<Self, ExprError> {
        let expression = Expression::compile(source, variables)?;
        match javascript::Lexed::read(source).assignment(source) {
            Some(operator) => Err(ExprError::Assigns(operator)),
            None => Ok(expression),
        }
    }

    /// Its text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Its value, given one value for each variable.
    ///
    /// Numbers are JavaScript's: whole ones are exact up to 2⁵³. What JSON cannot say, as a function, is null.
    pub fn evaluate(&self, values: &[&Value]) -> Result<Value, ExprError> {
        engine::evaluate(self, values)
    }

    /// Whether it is true. A value that is not a boolean is an error: by JavaScript's idea of truth, a list is true even if it is empty.
    pub fn holds(&self, values: &[&Value]) -> Result<bool, ExprError> {
        engine::holds(self, values)
    }
}

#[cfg(all(test, feature = "expr"))]
mod tests {
    use std::time::Instant;

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
    fn a_condition_is_true_or_false_and_nothing_else() {
        let holds = |source: &str| {
            Expression::condition(source, &["x"])
                .unwrap()
                .holds(&[&json!([])])
        };
        assert_eq!(holds("x.length > 0"), Ok(false));
        assert_eq!(holds("!x.length"), Ok(true));
        for (source, kind) in [
            ("x.length", "a number"),
            ("x", "a list"),
            ("''", "a text"),
            ("null", "null"),
            ("x.y", "undefined"),
            ("({})", "an object"),
            ("() => true", "a function"),
        ] {
            assert_eq!(holds(source), Err(ExprError::NotBoolean(kind)), "{source}");
        }
        assert_eq!(
            holds("x.y.z"),
            Err(ExprError::Thrown(
                "cannot read property 'z' of undefined".into()
            ))
        );
    }

    #[test]
    fn a_condition_cannot_assign() {
        let refused = Expression::condition("x = 5", &["x"]);
        assert_eq!(refused.unwrap_err(), ExprError::Assigns("="));
        assert!(Expression::compile("(y => { y = 5; return y })(x)", &["x"]).is_ok());
    }
}
