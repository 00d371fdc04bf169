//! Properties from outside: expressions over the states of nodes as a plugin describes them.
//!
//! The syntax is a part of the Common Expression Language, extended by `closure` along a field and by sets. The language is our own, since
//! evaluations have to be bounded and errors have to name a character: the crate `cel` does neither in version 0.15.0, and has no
//! quantifier with the number of a node. `docs/properties-from-outside.md` has the comparison.
//!
//! | module | what it holds |
//! |---|---|
//! | `judge` | expressions as properties in addition to those of the plugin |
//! | `eval` | the value of an expression, and which elements are to blame |
//! | `reads` | what an expression reads, derived from it |
//! | `parser` | from words to the syntax tree |
//! | `tokens` | words |
//! | `syntax` | the syntax tree |
//! | `value` | values |
//! | `tests` | the language, and that what is read determines the value |

mod eval;
mod judge;
mod parser;
mod reads;
mod syntax;
#[cfg(test)]
mod tests;
mod tokens;
mod value;

use std::fmt;

pub use judge::Judge;

/// The maximum number of characters of an expression.
pub const LETTERS_MAX: usize = 4096;

/// The maximum depth of an expression.
pub const DEPTH_MAX: usize = 50;

/// The maximum number of steps of an evaluation: parts that are evaluated, and values that are compared or copied.
pub const WORK_MAX: u64 = 1_000_000;

/// The reason why an expression cannot be read or evaluated, and the character, from 1 on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    /// The character.
    pub at: usize,
    /// A lower-case phrase.
    pub what: String,
}

fn error(at: usize, what: impl Into<String>) -> ExpressionError {
    ExpressionError { at, what: what.into() }
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at character {}: {}", self.at, self.what)
    }
}

/// An expression that can be evaluated.
#[derive(Debug)]
pub struct Expression {
    whole: syntax::Part,
    /// Whether it is about `nodes` and not about `node`.
    is_about_all: bool,
    /// The part of each node's state that it reads.
    reads: reads::Reads,
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    ///
    /// The text is no expression, it is too large, or it is about neither `node` nor `nodes`, or both.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        if let Some((at, _)) = text.char_indices().enumerate().nth(LETTERS_MAX) {
            return Err(error(at + 1, format!("it has more than {LETTERS_MAX} characters")));
        }
        let whole = parser::Parser::new(tokens::tokens(text)?).whole()?;
        let derived = reads::Derived::of(&whole);
        let is_about_all = match (&derived.node, &derived.nodes) {
            (Some(_), Some(_)) => {
                return Err(error(1, "it names `node` and `nodes`: each node alone, or all of them together"));
            }
            (None, None) => return Err(error(1, "it reads no state: name `node` for each node alone, or `nodes`")),
            (node, _) => node.is_none(),
        };
        Ok(Self { reads: derived.of_a_node(), whole, is_about_all })
    }

    /// The value in a state, as compact JSON: for an expression about `node`, a list with the value at each node. `None` stands for
    /// a node that no property reads.
    ///
    /// # Errors
    ///
    /// It has no value: a field is missing, a value is of another kind, or the evaluation takes more than [`WORK_MAX`] steps.
    pub fn value(&self, states: &[Option<&serde_json::Value>]) -> Result<String, ExpressionError> {
        let read = |state: &Option<&serde_json::Value>| {
            let value = state.map_or(Ok(value::Value::Absent), value::Value::of_json);
            value.map_err(|why| error(1, format!("in the description of the state, {why}")))
        };
        let nodes: Vec<value::Value> = states.iter().map(read).collect::<Result<_, _>>()?;
        let value = match self.is_about_all {
            true => eval::Evaluation::new(("nodes", value::Value::list(nodes))).value(&self.whole)?,
            false => {
                let of_node = |node: value::Value| match node {
                    value::Value::Absent => Ok(node),
                    node => eval::Evaluation::new(("node", node)).value(&self.whole),
                };
                value::Value::list(nodes.into_iter().map(of_node).collect::<Result<_, _>>()?)
            }
        };
        let mut text = String::new();
        value.write(&mut text);
        Ok(text)
    }
}
