//! Values of expressions: JSON, with whole numbers that are exact.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

/// A value. Copies share their content.
#[derive(Clone, Debug)]
pub enum Value {
    /// A node that no property reads. Only in the list of all nodes.
    Absent,
    /// `null`.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// Another number; never one that JSON does not have.
    Real(f64),
    /// A text.
    Text(Arc<str>),
    /// A list.
    List(Arc<Vec<Value>>),
    /// An object, whose keys have no order of their own.
    Map(Arc<BTreeMap<String, Value>>),
}

impl Value {
    /// The value that a JSON value stands for.
    pub fn of_json(json: &Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(truth) => Self::Bool(*truth),
            Json::Number(number) => {
                let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
                whole.map_or_else(|| Self::Real(number.as_f64().unwrap_or_default()), Self::Int)
            }
            Json::String(text) => Self::Text(text.as_str().into()),
            Json::Array(list) => Self::list(list.iter().map(Self::of_json).collect()),
            Json::Object(map) => {
                Self::Map(Arc::new(map.iter().map(|(key, value)| (key.clone(), Self::of_json(value))).collect()))
            }
        }
    }

    /// A list.
    pub fn list(items: Vec<Self>) -> Self {
        Self::List(Arc::new(items))
    }

    /// Its kind, in words.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Absent => "a node that no property reads",
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Int(_) | Self::Real(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "an object",
        }
    }

    /// Compact JSON. Equal values have equal texts, but for numbers that are written in different ways.
    pub fn write(&self, out: &mut String) {
        match self {
            Self::Absent | Self::Null => out.push_str("null"),
            Self::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
            Self::Int(number) => out.push_str(&number.to_string()),
            Self::Real(number) => out.push_str(&Json::from(*number).to_string()),
            Self::Text(text) => out.push_str(&Json::from(&**text).to_string()),
            Self::List(items) => {
                out.push('[');
                for (place, item) in items.iter().enumerate() {
                    out.push_str(if place > 0 { "," } else { "" });
                    item.write(out);
                }
                out.push(']');
            }
            Self::Map(map) => {
                out.push('{');
                for (place, (key, value)) in map.iter().enumerate() {
                    out.push_str(if place > 0 { "," } else { "" });
                    out.push_str(&Json::from(key.as_str()).to_string());
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }

    /// Whether two values are the same; each pair that is looked at is counted.
    pub fn equals(&self, other: &Self, work: &mut u64) -> bool {
        *work += 1;
        match (self, other) {
            (Self::Absent, Self::Absent) | (Self::Null, Self::Null) => true,
            (Self::Bool(one), Self::Bool(other)) => one == other,
            (Self::Text(one), Self::Text(other)) => one == other,
            (Self::Int(_) | Self::Real(_), Self::Int(_) | Self::Real(_)) => self.order(other) == Some(Ordering::Equal),
            (Self::List(one), Self::List(other)) => {
                one.len() == other.len() && one.iter().zip(&**other).all(|(one, other)| one.equals(other, work))
            }
            (Self::Map(one), Self::Map(other)) => {
                let mut pairs = one.iter().zip(&**other);
                one.len() == other.len() && pairs.all(|(one, other)| one.0 == other.0 && one.1.equals(other.1, work))
            }
            _ => false,
        }
    }

    /// The order of two numbers or two texts; none of anything else.
    pub fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(one), Self::Int(other)) => Some(one.cmp(other)),
            (Self::Text(one), Self::Text(other)) => Some(one.cmp(other)),
            (Self::Int(one), Self::Real(other)) => (*one as f64).partial_cmp(other),
            (Self::Real(one), Self::Int(other)) => one.partial_cmp(&(*other as f64)),
            (Self::Real(one), Self::Real(other)) => one.partial_cmp(other),
            _ => None,
        }
    }
}
