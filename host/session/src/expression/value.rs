//! Values of expressions: JSON, with whole numbers that are exact.
//!
//! Values have an order, whose equality is `==`: numbers by their exact values, texts, lists and objects letter by letter,
//! element by element and key by key, and one kind below the other.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Number, Value as Json};

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
    /// Another number; never one that JSON cannot express.
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
    /// A number is too large; the message names it.
    pub fn of_json(json: &Json) -> Result<Self, String> {
        Ok(match json {
            Json::Null => Self::Null,
            Json::Bool(truth) => Self::Bool(*truth),
            Json::Number(number) => {
                of_number(number).ok_or_else(|| format!("the number {number} is too large for floating point"))?
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
            // Lists of different lengths are unequal, whatever their elements.
            (Self::List(one), Self::List(other)) if one.len() != other.len() => false,
            (Self::Map(one), Self::Map(other)) if one.len() != other.len() => false,
            _ => self.compare(other, work).is_eq(),
        }
    }

    /// The order of two numbers or two texts; none of anything else.
    pub fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => Some(one.cmp(other)),
            _ => order_of_numbers(self, other),
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

/// The first floating-point number above all numbers of 128 bits, 2^127; those below `-LIMIT` have more bits, too.
const LIMIT: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;

/// The value of a number in JSON; none if it is not whole and too large for floating point.
fn of_number(number: &Number) -> Option<Value> {
    let text = number.as_str();
    whole(text).or_else(|| text.parse().ok().filter(|real: &f64| real.is_finite()).map(Value::Real))
}

/// The value of decimal digits with an optional sign in front of them; none of anything else.
pub fn whole(text: &str) -> Option<Value> {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let digits = digits.trim_start_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    let text = format!("{sign}{digits}");
    Some(text.parse().map_or_else(|_| Value::Large(text.into()), Value::Int))
}

/// The opposite of a large number, which can have 128 bits.
pub fn negative(large: &Arc<str>) -> Option<Value> {
    whole(&large.strip_prefix('-').map_or_else(|| format!("-{large}"), str::to_owned))
}

/// The order of two numbers by their exact values; none of anything else.
fn order_of_numbers(one: &Value, other: &Value) -> Option<Ordering> {
    Some(match (one, other) {
        (Value::Int(one), Value::Int(other)) => one.cmp(other),
        (Value::Large(one), Value::Large(other)) => by_digits(one, other),
        (Value::Large(one), Value::Int(_)) => side(one),
        (Value::Int(_), Value::Large(other)) => side(other).reverse(),
        (Value::Int(one), Value::Real(other)) => with_real(*one, *other),
        (Value::Real(one), Value::Int(other)) => with_real(*other, *one).reverse(),
        (Value::Large(one), Value::Real(other)) => large_with_real(one, *other),
        (Value::Real(one), Value::Large(other)) => large_with_real(other, *one).reverse(),
        (Value::Real(one), Value::Real(other)) => one.partial_cmp(other)?,
        _ => return None,
    })
}

/// The side of all numbers of 128 bits on which a large one is.
fn side(large: &str) -> Ordering {
    if large.starts_with('-') { Ordering::Less } else { Ordering::Greater }
}

/// The order of whole numbers by their digits, without leading zeros.
fn by_digits(one: &str, other: &str) -> Ordering {
    match (one.strip_prefix('-'), other.strip_prefix('-')) {
        (None, None) => (one.len(), one).cmp(&(other.len(), other)),
        (Some(one), Some(other)) => (other.len(), other).cmp(&(one.len(), one)),
        (one, other) => other.is_some().cmp(&one.is_some()),
    }
}

fn with_real(int: i128, real: f64) -> Ordering {
    match real {
        _ if real >= LIMIT => Ordering::Less,
        _ if real < -LIMIT => Ordering::Greater,
        // The fraction has the sign of the number.
        _ => int.cmp(&(real.trunc() as i128)).then_with(|| 0.0.partial_cmp(&real.fract()).unwrap_or(Ordering::Equal)),
    }
}

fn large_with_real(large: &str, real: f64) -> Ordering {
    match (-LIMIT..LIMIT).contains(&real) {
        true => side(large),
        // The exact digits of a floating-point number that is whole.
        false => by_digits(large, &format!("{real:.0}")),
    }
}
