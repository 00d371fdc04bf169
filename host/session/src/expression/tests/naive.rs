//! The values of expressions as the page defines them: by recursion over plain JSON, without bounds, shared values or characters.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::typed::Term;

/// The value that stands for a node that no property reads, in the list of all nodes.
pub fn absent() -> Json {
    json!({ "\u{0}": "absent" })
}

/// The value; none if the evaluation fails.
pub fn value(term: &Term, names: &BTreeMap<String, Json>) -> Option<Json> {
    match term {
        Term::Constant(constant) => Some(constant.clone()),
        Term::Name(name) => names.get(name).cloned(),
        Term::Field(of, field) => value(of, names)?.as_object()?.get(*field).cloned(),
        Term::Has(of, field) => match value(of, names)? {
            Json::String(_) | Json::Null => Some(json!(false)),
            of => Some(json!(of.as_object()?.contains_key(*field))),
        },
        Term::At(of, index) => {
            let found = value(of, names)?.as_array()?.get(value(index, names)?.as_u64()? as usize)?.clone();
            Some(if found == absent() { Json::Null } else { found })
        }
        Term::List(items) => items.iter().map(|item| value(item, names)).collect(),
        Term::Not(of) => Some(json!(!truth(of, names)?)),
        Term::Negative(of) => arithmetic("-", &json!(0), &value(of, names)?),
        Term::Binary("&&", one, other) => Some(json!(truth(one, names)? && truth(other, names)?)),
        Term::Binary("||", one, other) => Some(json!(truth(one, names)? || truth(other, names)?)),
        Term::Binary(operator, one, other) => binary(operator, &value(one, names)?, &value(other, names)?),
        Term::Choice(parts) => value(&parts[if truth(&parts[0], names)? { 1 } else { 2 }], names),
        Term::Call(function, arguments) => {
            let arguments = arguments.iter().map(|argument| value(argument, names)).collect::<Option<Vec<_>>>()?;
            call(function, &arguments)
        }
        Term::Each { what, of, place, item, body } => {
            let mut kept = Vec::new();
            for (key, element) in elements(&value(of, names)?)? {
                let mut names = names.clone();
                names.extend(place.clone().map(|place| (place, key)));
                names.insert(item.clone(), element.clone());
                match *what {
                    "map" => kept.push(value(body, &names)?),
                    "all" if !truth(body, &names)? => return Some(json!(false)),
                    "exists" if truth(body, &names)? => return Some(json!(true)),
                    "all" | "exists" => {}
                    _ => kept.extend(truth(body, &names)?.then_some(element)),
                }
            }
            Some(match *what {
                "all" => json!(true),
                "exists" => json!(false),
                "exists_one" => json!(kept.len() == 1),
                _ => Json::Array(kept),
            })
        }
        Term::Closure { start, item, next } => {
            let start = value(start, names)?;
            let mut reached: Vec<Json> = Vec::new();
            let mut waiting = several(&start);
            while !waiting.is_empty() {
                let one = waiting.remove(0);
                if one.is_null() || reached.iter().any(|other| same(other, &one)) {
                    continue;
                }
                let is_key = one.is_string() || one.as_i64().is_some() || one.as_u64().is_some();
                reached.push(is_key.then(|| one.clone())?);
                let mut names = names.clone();
                names.insert(item.clone(), one);
                waiting.extend(several(&value(next, &names)?));
            }
            Some(Json::Array(set(reached)))
        }
    }
}

fn truth(term: &Term, names: &BTreeMap<String, Json>) -> Option<bool> {
    value(term, names)?.as_bool()
}

fn several(value: &Json) -> Vec<Json> {
    value.as_array().cloned().unwrap_or_else(|| vec![value.clone()])
}

/// The elements of a list or an object with their places or keys, without absent nodes.
fn elements(value: &Json) -> Option<Vec<(Json, Json)>> {
    match value {
        Json::Array(list) => {
            let numbered = list.iter().enumerate().filter(|(_, item)| **item != absent());
            Some(numbered.map(|(place, item)| (json!(place), item.clone())).collect())
        }
        Json::Object(map) => {
            let sorted: BTreeMap<&String, &Json> = map.iter().collect();
            Some(sorted.into_iter().map(|(key, item)| (json!(key), item.clone())).collect())
        }
        _ => None,
    }
}

fn items(value: &Json) -> Option<Vec<Json>> {
    value.as_array()?;
    Some(elements(value)?.into_iter().map(|(_, item)| item).collect())
}

pub fn same(one: &Json, other: &Json) -> bool {
    match (one, other) {
        (Json::Number(_), Json::Number(_)) => decimal_order(&one.to_string(), &other.to_string()).is_eq(),
        (Json::Array(one), Json::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Json::Object(one), Json::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|other| same(value, other)))
        }
        _ => one == other,
    }
}

/// All digits of a number: sign, and the digits before and behind the point. A number that is not whole is a floating-point number.
fn decimal(text: &str) -> (bool, String, String) {
    let is_whole = text.bytes().all(|letter| letter == b'-' || letter.is_ascii_digit());
    // No floating-point number has more than 1,074 digits behind the point.
    let text = if is_whole { text.to_owned() } else { format!("{:.1074}", text.parse::<f64>().expect("a number")) };
    let (before, behind) = text.split_once('.').unwrap_or((&text, ""));
    let digits = before.trim_start_matches('-').trim_start_matches('0');
    let behind = behind.trim_end_matches('0');
    (text.starts_with('-') && digits.len() + behind.len() > 0, digits.to_owned(), behind.to_owned())
}

/// The order of two numbers by their digits.
pub fn decimal_order(one: &str, other: &str) -> Ordering {
    let ((one_is_less, one, one_behind), (other_is_less, other, other_behind)) = (decimal(one), decimal(other));
    let by_digits = (one.len(), one, one_behind).cmp(&(other.len(), other, other_behind));
    match (one_is_less, other_is_less) {
        (false, false) => by_digits,
        (true, true) => by_digits.reverse(),
        (one_is_less, other_is_less) => other_is_less.cmp(&one_is_less),
    }
}

/// The order of all values: kinds, numbers, letters, elements, fields by their names.
pub fn order(one: &Json, other: &Json) -> Ordering {
    let kind = |json: &Json| match json {
        Json::Null => 0,
        Json::Bool(_) => 1,
        Json::Number(_) => 2,
        Json::String(_) => 3,
        Json::Array(_) => 4,
        Json::Object(_) => 5,
    };
    match (one, other) {
        (Json::Bool(one), Json::Bool(other)) => one.cmp(other),
        (Json::Number(_), Json::Number(_)) => decimal_order(&one.to_string(), &other.to_string()),
        (Json::String(one), Json::String(other)) => one.cmp(other),
        (Json::Array(one), Json::Array(other)) => {
            let differs = (0..one.len().min(other.len())).find(|place| !same(&one[*place], &other[*place]));
            differs.map_or(one.len().cmp(&other.len()), |place| order(&one[place], &other[place]))
        }
        (Json::Object(one), Json::Object(other)) => {
            let pairs = |map: &serde_json::Map<String, Json>| {
                let sorted: BTreeMap<String, Json> = map.clone().into_iter().collect();
                Json::Array(sorted.into_iter().map(|(key, value)| json!([key, value])).collect())
            };
            order(&pairs(one), &pairs(other))
        }
        _ => kind(one).cmp(&kind(other)),
    }
}

/// The values of a list in their order, each once.
pub fn set(items: Vec<Json>) -> Vec<Json> {
    let mut kept: Vec<Json> = Vec::new();
    for item in items {
        if !kept.iter().any(|other| same(other, &item)) {
            kept.push(item);
        }
    }
    kept.sort_by(order);
    kept
}

/// Whether the first one of two numbers or two texts is less.
fn is_less(one: &Json, other: &Json) -> Option<bool> {
    match (one, other) {
        (Json::String(one), Json::String(other)) => Some(one < other),
        (Json::Number(_), Json::Number(_)) => Some(decimal_order(&one.to_string(), &other.to_string()).is_lt()),
        _ => None,
    }
}

fn binary(operator: &str, one: &Json, other: &Json) -> Option<Json> {
    Some(match operator {
        "==" => json!(same(one, other)),
        "!=" => json!(!same(one, other)),
        "<" => json!(is_less(one, other)?),
        ">" => json!(is_less(other, one)?),
        "<=" => json!(!is_less(other, one)?),
        ">=" => json!(!is_less(one, other)?),
        "in" => match other {
            Json::Array(list) => json!(list.iter().any(|item| same(item, one))),
            Json::Object(map) => json!(map.contains_key(one.as_str()?)),
            _ => return None,
        },
        _ => return arithmetic(operator, one, other),
    })
}

fn arithmetic(operator: &str, one: &Json, other: &Json) -> Option<Json> {
    match (operator, one, other) {
        ("+", Json::String(one), Json::String(other)) => return Some(json!(format!("{one}{other}"))),
        ("+", Json::Array(one), Json::Array(other)) => return Some(Json::Array([one.clone(), other.clone()].concat())),
        _ => {}
    }
    if let (Some(one), Some(other)) = (one.as_i64(), other.as_i64()) {
        return Some(json!(match operator {
            "+" => one + other,
            "-" => one - other,
            "*" => one * other,
            "/" if other != 0 => one / other,
            "%" if other != 0 => one % other,
            _ => return None,
        }));
    }
    let (one, other) = (one.as_f64()?, other.as_f64()?);
    let result = match operator {
        "+" => one + other,
        "-" => one - other,
        "*" => one * other,
        "/" => one / other,
        _ => one % other,
    };
    result.is_finite().then(|| json!(result))
}

fn call(function: &str, arguments: &[Json]) -> Option<Json> {
    let one = &arguments[0];
    Some(match function {
        "size" => match one {
            Json::String(text) => json!(text.chars().count()),
            _ => json!(elements(one)?.len()),
        },
        "keys" | "values" => {
            one.as_object()?;
            elements(one)?.into_iter().map(|(key, item)| if function == "keys" { key } else { item }).collect()
        }
        "unique" => Json::Array(set(items(one)?)),
        "flatten" => {
            let lists = items(one)?.into_iter().map(|list| list.as_array().cloned());
            Json::Array(lists.collect::<Option<Vec<_>>>()?.concat())
        }
        "prefix" => {
            let (one, other) = (one.as_array()?, arguments[1].as_array()?);
            json!(one.len() <= other.len() && one.iter().zip(other).all(|(one, other)| same(one, other)))
        }
        _ => {
            let mut all = items(one)?.into_iter();
            let mut best = all.next()?;
            for item in all {
                let is_better = if function == "min" { is_less(&item, &best)? } else { is_less(&best, &item)? };
                best = if is_better { item } else { best };
            }
            best
        }
    })
}
