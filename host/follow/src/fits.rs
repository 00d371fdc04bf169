//! Whether a description has the fields that a line names.

use std::fmt;

use serde_json::Value;

/// The first field in which something differs from a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The path of the field, such as `state.votes[1].term`.
    pub field: String,
    /// Its value in the line, as JSON.
    pub line: String,
    /// Its value in the execution, as JSON or in words; none if there is no such field.
    pub found: Option<String>,
    /// The closeness of what differs in this field to the line.
    pub closeness: Closeness,
}

/// The part of a line that fits before the first field that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Closeness {
    /// Nothing: it is another event.
    Event,
    /// The event, but it has another peer, or another name.
    Peer,
    /// All but the content.
    Content,
    /// The event; it sends other messages.
    Sent,
    /// All but the state afterwards.
    State,
}

impl Difference {
    pub(crate) fn new(closeness: Closeness, field: &str, line: impl fmt::Display, found: impl fmt::Display) -> Self {
        Self { field: field.to_owned(), line: line.to_string(), found: Some(found.to_string()), closeness }
    }

    pub(crate) fn absent(closeness: Closeness, field: &str, line: impl fmt::Display) -> Self {
        Self { field: field.to_owned(), line: line.to_string(), found: None, closeness }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, line, found, .. } = self;
        match found {
            Some(found) => write!(f, "{field} is {found}, the line has {line}"),
            None => write!(f, "there is no {field}, the line has {line}"),
        }
    }
}

/// Compares a description with the part of it that a line has: each field of an object has to fit, further fields are unknown to the
/// line; lists have the same length.
pub(crate) fn part(field: &str, wanted: &Value, found: &Value, closeness: Closeness) -> Result<(), Difference> {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => {
            for (key, value) in wanted {
                let field = format!("{field}.{key}");
                match found.get(key) {
                    Some(found) => part(&field, value, found, closeness)?,
                    None => return Err(Difference::absent(closeness, &field, value)),
                }
            }
            Ok(())
        }
        (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => {
            for (index, (wanted, found)) in wanted.iter().zip(found).enumerate() {
                part(&format!("{field}[{index}]"), wanted, found, closeness)?;
            }
            Ok(())
        }
        _ if is_same(wanted, found) => Ok(()),
        _ => Err(Difference::new(closeness, field, wanted, found)),
    }
}

/// Numbers are equal by value: `3` and `3.0` are.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64() && is_small(one),
        _ => one == other,
    }
}

/// Whether a number is below the bound from which floating-point numbers merge integers.
fn is_small(number: &serde_json::Number) -> bool {
    number.as_f64().is_some_and(|number| number.abs() < 9_007_199_254_740_992.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_a_line_does_not_name_are_unknown() {
        let found = json!({"term": 3, "log": [{"term": 1, "value": "a"}, {"term": 2, "value": "b"}], "leader": null});
        let is_part = |wanted: Value| part("state", &wanted, &found, Closeness::State).is_ok();
        for wanted in [
            json!({}),
            json!({"term": 3.0}),
            json!({"log": [{}, {"value": "b"}]}),
            json!({"leader": null, "term": 3}),
            found.clone(),
        ] {
            assert!(is_part(wanted.clone()), "{wanted}");
        }
        let differs = |wanted: Value| part("state", &wanted, &found, Closeness::State).map_err(|it| it.to_string());
        for (wanted, expected) in [
            (json!({"term": 4}), "state.term is 3, the line has 4"),
            (json!({"trem": 3}), "there is no state.trem, the line has 3"),
            (json!({"log": [{}, {"value": "c"}]}), "state.log[1].value is \"b\", the line has \"c\""),
            (json!({"term": null}), "state.term is 3, the line has null"),
            (json!(3), "state is {"),
        ] {
            let found = differs(wanted.clone()).expect_err("it differs");
            assert!(found.starts_with(expected), "{wanted}: {found}");
        }
        // Lists have the length that they have.
        assert!(!is_part(json!({"log": [{}]})));
        // Beyond 2^53, integers are not compared as floating-point numbers.
        let large = part("it", &json!(9_007_199_254_740_993_u64), &json!(9_007_199_254_740_992_u64), Closeness::State);
        assert!(large.is_err());
    }
}
