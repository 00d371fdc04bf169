//! Numbers of expressions: whole ones are exact at any length, others are 64-bit floating-point numbers.

use std::cmp::Ordering;
use std::sync::Arc;

use serde_json::Number as JsonNumber;

use super::value::Value;

/// The first floating-point number above all that have 128 bits, 2^127; below `-LIMIT` there are none that have them either.
const LIMIT: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;

/// The value of a number in JSON; none if it is not whole and too large for floating point.
pub fn of_json(number: &JsonNumber) -> Option<Value> {
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
pub fn order(one: &Value, other: &Value) -> Option<Ordering> {
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

/// On which side of all numbers of 128 bits a large one is.
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
        // What is cut off has the sign of the number.
        _ => int.cmp(&(real.trunc() as i128)).then_with(|| 0.0.partial_cmp(&real.fract()).unwrap_or(Ordering::Equal)),
    }
}

fn large_with_real(large: &str, real: f64) -> Ordering {
    match (-LIMIT..LIMIT).contains(&real) {
        true => side(large),
        // All digits of a floating-point number: it is whole.
        false => by_digits(large, &format!("{real:.0}")),
    }
}
