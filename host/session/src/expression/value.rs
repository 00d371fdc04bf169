//! Values of expressions: JSON, with whole numbers that are exact.
//!
//! Values have an order, of which `==` is the equality: numbers by their exact values, texts, lists and objects letter by letter,
//! element by element and key by key, and one kind below the other.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::number;

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
    /// A whole number of more than 128 bits: its decimal digits, behind a sign if it is negative.
    Large(Arc<str>),
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
    ///
    /// # Errors
    ///
    /// A number is too large, in words that name it.
    pub fn of_json(json: &Json) -> Result<Self, String> {
        Ok(match json {
            Json::Null => Self::Null,
            Json::Bool(truth) => Self::Bool(*truth),
            Json::Number(number) => {
                number::of_json(number).ok_or_else(|| format!("the number {number} is too large for floating point"))?
            }
            Json::String(text) => Self::Text(text.as_str().into()),
            Json::Array(list) => Self::list(list.iter().map(Self::of_json).collect::<Result<_, _>>()?),
            Json::Object(map) => {
                let fields = map.iter().map(|(key, value)| Ok((key.clone(), Self::of_json(value)?)));
                Self::Map(Arc::new(fields.collect::<Result<_, String>>()?))
            }
        })
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
            Self::Int(_) | Self::Large(_) | Self::Real(_) => "a number",
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
            Self::Large(digits) => out.push_str(digits),
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

    /// Whether two values are the same; each pair that is compared is counted.
    pub fn equals(&self, other: &Self, work: &mut u64) -> bool {
        match (self, other) {
            // The longer one is no equal, whatever they hold.
            (Self::List(one), Self::List(other)) if one.len() != other.len() => false,
            (Self::Map(one), Self::Map(other)) if one.len() != other.len() => false,
            _ => self.compare(other, work).is_eq(),
        }
    }

    /// The order of two numbers or two texts; none of anything else.
    pub fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => Some(one.cmp(other)),
            _ => number::order(self, other),
        }
    }

    /// The place of its kind in the order of all values.
    fn rank(&self) -> u8 {
        match self {
            Self::Absent => 0,
            Self::Null => 1,
            Self::Bool(_) => 2,
            Self::Int(_) | Self::Large(_) | Self::Real(_) => 3,
            Self::Text(_) => 4,
            Self::List(_) => 5,
            Self::Map(_) => 6,
        }
    }

    /// The order of any two values, in which sets are sorted; each pair that is compared is counted.
    pub fn compare(&self, other: &Self, work: &mut u64) -> Ordering {
        *work += 1;
        match (self, other) {
            (Self::Bool(one), Self::Bool(other)) => one.cmp(other),
            (Self::List(one), Self::List(other)) => {
                let mut orders = one.iter().zip(&**other).map(|(one, other)| one.compare(other, work));
                orders.find(|order| order.is_ne()).unwrap_or_else(|| one.len().cmp(&other.len()))
            }
            (Self::Map(one), Self::Map(other)) => {
                let pairs = one.iter().zip(&**other);
                let mut orders =
                    pairs.map(|(one, other)| one.0.cmp(other.0).then_with(|| one.1.compare(other.1, work)));
                orders.find(|order| order.is_ne()).unwrap_or_else(|| one.len().cmp(&other.len()))
            }
            _ => self.order(other).unwrap_or_else(|| self.rank().cmp(&other.rank())),
        }
    }
}
