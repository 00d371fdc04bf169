//! The value of an expression.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::syntax::{Closure, Each, Function, Kind, Operator, Part, Quantifier};
use super::value::{self, Value};
use super::{ExpressionError, WORK_MAX, error};

/// An evaluation. Its work is bounded, and with it the memory: all growth counts as work.
pub struct Evaluation<'e> {
    /// The name of the root, `node` or `nodes`, and its value.
    root: (&'static str, Value),
    names: Vec<(&'e str, Value)>,
    work: u64,
    /// The fields of the object that lacks the requested one, if that is the reason why there is no value.
    pub(super) present_fields: Option<Vec<String>>,
}

type Evaluated = Result<Value, ExpressionError>;

impl<'e> Evaluation<'e> {
    /// An evaluation of an expression about `root`.
    pub fn new(root: (&'static str, Value)) -> Self {
        Self { root, names: Vec::new(), work: 0, present_fields: None }
    }

    /// Whether a condition holds.
    pub fn truth(&mut self, part: &'e Part) -> Result<bool, ExpressionError> {
        match self.value(part)? {
            Value::Bool(truth) => Ok(truth),
            other => Err(error(part.at, format!("true or false is needed, and this is {}", other.kind()))),
        }
    }

    fn works(&mut self, at: usize, amount: usize) -> Result<(), ExpressionError> {
        self.work = self.work.saturating_add(amount as u64);
        if self.work > WORK_MAX {
            return Err(error(at, format!("the evaluation takes more than {WORK_MAX} steps")));
        }
        Ok(())
    }

    fn equal(&mut self, at: usize, one: &Value, other: &Value) -> Result<bool, ExpressionError> {
        let is_equal = one.equals(other, &mut self.work);
        self.works(at, 0)?;
        Ok(is_equal)
    }

    /// The value of a part.
    pub fn value(&mut self, part: &'e Part) -> Evaluated {
        let at = part.at;
        self.works(at, 1)?;
        match &part.kind {
            Kind::Constant(value) => Ok(value.clone()),
            Kind::Name(name) => {
                let bound = self.names.iter().rev().find(|(bound, _)| bound == name);
                Ok(bound.map_or_else(|| self.root.1.clone(), |(_, value)| value.clone()))
            }
            Kind::Field(of, field) => {
                let of = self.value(of)?;
                field_of(at, &of, field)?.ok_or_else(|| self.missing(at, &of, field))
            }
            Kind::Has(of, field) => {
                let of = self.value(of)?;
                // A variant without fields is a text, and an option without a value is `null`.
                let is_there = !matches!(of, Value::Text(_) | Value::Null) && field_of(at, &of, field)?.is_some();
                Ok(Value::Bool(is_there))
            }
            Kind::Index(of, index) => {
                let of = self.value(of)?;
                let index = self.value(index)?;
                match (&of, &index) {
                    (Value::Map(map), Value::Text(key)) => {
                        map.get(&**key).cloned().ok_or_else(|| self.missing(at, &of, key))
                    }
                    _ => element(at, &of, &index),
                }
            }
            Kind::List(items) => Ok(Value::list(items.iter().map(|item| self.value(item)).collect::<Result<_, _>>()?)),
            Kind::Not(of) => Ok(Value::Bool(!self.truth(of)?)),
            Kind::Negative(of) => {
                let value = self.value(of)?;
                match &value {
                    Value::Large(large) => Ok(value::negative(large).unwrap_or(value)),
                    _ => self.arithmetic(at, Operator::Minus, &Value::Int(0), &value),
                }
            }
            Kind::Binary(operator, one, other) => self.binary(at, *operator, one, other),
            Kind::Choice(parts) => {
                let [condition, one, other] = &**parts;
                if self.truth(condition)? { self.value(one) } else { self.value(other) }
            }
            Kind::Call(function, arguments) => {
                let values: Vec<Value> = arguments.iter().map(|part| self.value(part)).collect::<Result<_, _>>()?;
                self.call(at, *function, &values)
            }
            Kind::Each(each) => self.each(at, each),
            Kind::Closure(closure) => self.closure(at, closure),
        }
    }

    /// Says that there is no such field, and notes the existing ones.
    fn missing(&mut self, at: usize, of: &Value, field: &str) -> ExpressionError {
        if let Value::Map(map) = of {
            self.present_fields = Some(map.keys().cloned().collect());
        }
        error(at, format!("there is no field `{field}`"))
    }

    fn binary(&mut self, at: usize, operator: Operator, one: &'e Part, other: &'e Part) -> Evaluated {
        match operator {
            Operator::Or => return Ok(Value::Bool(self.truth(one)? || self.truth(other)?)),
            Operator::And => return Ok(Value::Bool(self.truth(one)? && self.truth(other)?)),
            _ => {}
        }
        let (one, other) = (self.value(one)?, self.value(other)?);
        let ordered = |is_so: fn(Ordering) -> bool| {
            let order = one.order(&other);
            let what = || format!("`{}` compares two numbers or two texts", operator.text());
            order.map(|order| Value::Bool(is_so(order))).ok_or_else(|| unfit(at, &what(), &one, &other))
        };
        match operator {
            Operator::Equal => Ok(Value::Bool(self.equal(at, &one, &other)?)),
            Operator::Unequal => Ok(Value::Bool(!self.equal(at, &one, &other)?)),
            Operator::Less => ordered(Ordering::is_lt),
            Operator::AtMost => ordered(Ordering::is_le),
            Operator::More => ordered(Ordering::is_gt),
            Operator::AtLeast => ordered(Ordering::is_ge),
            Operator::In => self.is_in(at, &one, &other),
            _ => self.arithmetic(at, operator, &one, &other),
        }
    }

    fn is_in(&mut self, at: usize, one: &Value, all: &Value) -> Evaluated {
        match (one, all) {
            (_, Value::List(list)) => {
                for item in &**list {
                    if self.equal(at, one, item)? {
                        return Ok(Value::Bool(true));
                    }
                }
                Ok(Value::Bool(false))
            }
            (Value::Text(key), Value::Map(map)) => Ok(Value::Bool(map.contains_key(&**key))),
            _ => Err(unfit(at, "`in` looks for a value in a list, or for a key in an object", one, all)),
        }
    }

    fn arithmetic(&mut self, at: usize, operator: Operator, one: &Value, other: &Value) -> Evaluated {
        let text = operator.text();
        match (operator, one, other) {
            (_, Value::Int(one), Value::Int(other)) => {
                let result = match operator {
                    Operator::Plus => one.checked_add(*other),
                    Operator::Minus => one.checked_sub(*other),
                    Operator::Times => one.checked_mul(*other),
                    Operator::Divide => one.checked_div(*other),
                    _ => one.checked_rem(*other),
                };
                result
                    .map(Value::Int)
                    .ok_or_else(|| error(at, format!("`{text}` divides by 0, or the number is too large")))
            }
            (_, Value::Large(_), Value::Int(_) | Value::Large(_) | Value::Real(_))
            | (_, Value::Int(_) | Value::Real(_), Value::Large(_)) => {
                Err(error(at, format!("`{text}` takes whole numbers of up to 128 bits, and one of these has more")))
            }
            (_, Value::Int(_) | Value::Real(_), Value::Int(_) | Value::Real(_)) => {
                let real = |value: &Value| match value {
                    Value::Int(number) => *number as f64,
                    Value::Real(number) => *number,
                    _ => f64::NAN,
                };
                let (one, other) = (real(one), real(other));
                let result = match operator {
                    Operator::Plus => one + other,
                    Operator::Minus => one - other,
                    Operator::Times => one * other,
                    Operator::Divide => one / other,
                    _ => one % other,
                };
                let is_number = result.is_finite();
                is_number
                    .then_some(Value::Real(result))
                    .ok_or_else(|| error(at, format!("`{text}` gives no number here")))
            }
            (Operator::Plus, Value::Text(one), Value::Text(other)) => {
                self.works(at, one.len() + other.len())?;
                Ok(Value::Text(format!("{one}{other}").into()))
            }
            (Operator::Plus, Value::List(one), Value::List(other)) => {
                self.works(at, one.len() + other.len())?;
                Ok(Value::list(one.iter().chain(&**other).cloned().collect()))
            }
            _ => Err(unfit(
                at,
                &format!("`{text}` takes two numbers{}", if text == "+" { ", texts or lists" } else { "" }),
                one,
                other,
            )),
        }
    }

    fn call(&mut self, at: usize, function: Function, arguments: &[Value]) -> Evaluated {
        let wrong = |wanted: &str| {
            let there: Vec<&str> = arguments.iter().map(Value::kind).collect();
            Err(error(at, format!("it takes {wanted}, and this is {}", there.join(" and "))))
        };
        match (function, arguments) {
            (Function::Size, [Value::List(list)]) => Ok(Value::Int(present(list).count() as i128)),
            (Function::Size, [Value::Map(map)]) => Ok(Value::Int(map.len() as i128)),
            (Function::Size, [Value::Text(text)]) => {
                self.works(at, text.len())?;
                Ok(Value::Int(text.chars().count() as i128))
            }
            (Function::Size, _) => wrong("a list, an object or a text"),
            (Function::Keys, [Value::Map(map)]) => {
                self.works(at, map.len())?;
                Ok(Value::list(map.keys().map(|key| Value::Text(key.as_str().into())).collect()))
            }
            (Function::Values, [Value::Map(map)]) => {
                self.works(at, map.len())?;
                Ok(Value::list(map.values().cloned().collect()))
            }
            (Function::Keys | Function::Values, _) => wrong("an object"),
            (Function::Unique, [Value::List(list)]) => {
                let items = present(list).map(|(_, item)| item.clone()).collect();
                Ok(Value::list(self.set(at, items)?))
            }
            (Function::Flatten, [Value::List(list)]) => {
                let mut all = Vec::new();
                for (_, item) in present(list) {
                    let Value::List(items) = item else {
                        return Err(error(at, format!("it takes a list of lists, and one of them is {}", item.kind())));
                    };
                    self.works(at, items.len())?;
                    all.extend(items.iter().cloned());
                }
                Ok(Value::list(all))
            }
            (Function::Min | Function::Max, [Value::List(list)]) => self.extreme(at, function, list),
            (Function::Unique | Function::Min | Function::Max, _) => wrong("a list"),
            (Function::Flatten, _) => wrong("a list of lists"),
            (Function::Prefix, [Value::List(one), Value::List(other)]) => {
                let mut is_prefix = one.len() <= other.len();
                for (one, other) in one.iter().zip(&**other) {
                    is_prefix = is_prefix && self.equal(at, one, other)?;
                }
                Ok(Value::Bool(is_prefix))
            }
            (Function::Prefix, _) => wrong("two lists"),
        }
    }

    fn extreme(&mut self, at: usize, function: Function, list: &[Value]) -> Evaluated {
        self.works(at, list.len())?;
        let mut items = present(list).map(|(_, item)| item);
        let mut best = items.next().ok_or_else(|| error(at, "an empty list has neither a least nor a greatest"))?;
        for item in items {
            let order = item.order(best).ok_or_else(|| unfit(at, "it takes numbers alone, or texts", item, best))?;
            if order == if function == Function::Min { Ordering::Less } else { Ordering::Greater } {
                best = item;
            }
        }
        Ok(best.clone())
    }

    /// The values of a list in their order, equal ones once: two sets with the same elements are equal lists.
    fn set(&mut self, at: usize, mut items: Vec<Value>) -> Result<Vec<Value>, ExpressionError> {
        self.works(at, items.len())?;
        if items.len() < 2 {
            return Ok(items);
        }
        let others = items.split_off(items.len() / 2);
        let (one, other) = (self.set(at, items)?, self.set(at, others)?);
        let (mut one, mut other) = (one.into_iter().peekable(), other.into_iter().peekable());
        let mut all = Vec::new();
        while let (Some(first), Some(second)) = (one.peek(), other.peek()) {
            let order = first.compare(second, &mut self.work);
            self.works(at, 0)?;
            if order.is_eq() {
                other.next();
            }
            all.extend(if order.is_gt() { other.next() } else { one.next() });
        }
        all.extend(one.chain(other));
        Ok(all)
    }

    /// The elements of a walk, with their places or keys.
    fn elements(&mut self, at: usize, of: &Value) -> Result<Vec<(Value, Value)>, ExpressionError> {
        let elements: Vec<(Value, Value)> = match of {
            Value::List(list) => present(list).map(|(place, item)| (Value::Int(place as i128), item.clone())).collect(),
            Value::Map(map) => map.iter().map(|(key, item)| (Value::Text(key.as_str().into()), item.clone())).collect(),
            other => {
                return Err(error(at, format!("it goes through a list or an object, and this is {}", other.kind())));
            }
        };
        self.works(at, elements.len())?;
        Ok(elements)
    }

    /// Evaluates for one element.
    fn with<T>(&mut self, each: &'e Each, element: (Value, Value), then: impl FnOnce(&mut Self) -> T) -> T {
        let known = self.names.len();
        let (place, item) = element;
        self.names.extend(each.place.as_deref().map(|name| (name, place)));
        self.names.push((&each.item, item));
        let result = then(self);
        self.names.truncate(known);
        result
    }

    fn each(&mut self, at: usize, each: &'e Each) -> Evaluated {
        let of = self.value(&each.of)?;
        let (mut count, mut kept) = (0_u64, Vec::new());
        for element in self.elements(at, &of)? {
            if each.what == Quantifier::Map {
                kept.push(self.with(each, element, |this| this.value(&each.body))?);
                continue;
            }
            let item = element.1.clone();
            let holds = self.with(each, element, |this| this.truth(&each.body))?;
            match each.what {
                Quantifier::All if !holds => return Ok(Value::Bool(false)),
                Quantifier::Exists if holds => return Ok(Value::Bool(true)),
                Quantifier::Filter if holds => kept.push(item),
                _ => count += u64::from(holds),
            }
        }
        Ok(match each.what {
            Quantifier::All => Value::Bool(true),
            Quantifier::Exists => Value::Bool(false),
            Quantifier::ExistsOne => Value::Bool(count == 1),
            Quantifier::Filter | Quantifier::Map => Value::list(kept),
        })
    }

    fn closure(&mut self, at: usize, closure: &'e Closure) -> Evaluated {
        let (mut all, mut waiting) = (BTreeSet::new(), Vec::new());
        let start = self.value(&closure.start)?;
        self.reach(at, &mut all, &mut waiting, &start)?;
        while let Some(item) = waiting.pop() {
            self.names.push((&closure.item, item));
            let there = self.value(&closure.next);
            self.names.pop();
            self.reach(at, &mut all, &mut waiting, &there?)?;
        }
        Ok(Value::list(all.into_iter().map(|Key(value)| value).collect()))
    }

    /// Adds a value or those of a list; `null` leads nowhere.
    fn reach(
        &mut self,
        at: usize,
        all: &mut BTreeSet<Key>,
        waiting: &mut Vec<Value>,
        there: &Value,
    ) -> Result<(), ExpressionError> {
        let items = match there {
            Value::List(list) => list,
            one => std::slice::from_ref(one),
        };
        for item in items {
            // Finding a place among them takes as many comparisons as their number has bits.
            self.works(at, 1 + all.len().checked_ilog2().unwrap_or(0) as usize)?;
            match item {
                Value::Null => {}
                // Lists that hold values that were reached before would have no end.
                Value::Int(_) | Value::Large(_) | Value::Text(_) => {
                    if all.insert(Key(item.clone())) {
                        waiting.push(item.clone());
                    }
                }
                other => {
                    let kind = if matches!(other, Value::Real(_)) { "another number" } else { other.kind() };
                    return Err(error(at, format!("`closure` goes along whole numbers and texts, and this is {kind}")));
                }
            }
        }
        Ok(())
    }

    /// The elements for which a condition does not hold: the first one of each `all` that is to blame, from the outside to the inside.
    pub fn blame(&mut self, part: &'e Part, wanted: bool, told: &mut Vec<String>) -> Result<(), ExpressionError> {
        match (&part.kind, wanted) {
            (Kind::Not(of), wanted) => self.blame(of, !wanted, told),
            (Kind::Binary(operator @ (Operator::And | Operator::Or), one, other), wanted) => {
                let holds = self.truth(one)?;
                // One side decides: in `&&` the first one that does not hold, in `||` the last one, which was evaluated last.
                match (operator, wanted) {
                    (Operator::And, true) | (Operator::Or, false) if holds != wanted => self.blame(one, wanted, told),
                    _ => self.blame(other, wanted, told),
                }
            }
            (Kind::Each(each), wanted) => {
                let is_decided_by_one =
                    matches!((each.what, wanted), (Quantifier::All, true) | (Quantifier::Exists, false));
                if !is_decided_by_one {
                    return Ok(());
                }
                let of = self.value(&each.of)?;
                let is_of_nodes = matches!(&each.of.kind, Kind::Name(name) if name == "nodes");
                for element in self.elements(part.at, &of)? {
                    let (place, item) = element.clone();
                    if self.with(each, element.clone(), |this| this.truth(&each.body))? == wanted {
                        continue;
                    }
                    let mut text = String::new();
                    match is_of_nodes {
                        true => text = format!("node {}", plain(&place)),
                        false => item.write(&mut text),
                    }
                    told.push(format!("{} = {text}", each.item));
                    return self.with(each, element, |this| this.blame(&each.body, wanted, told));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// A whole number or a text in a set.
struct Key(Value);

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.compare(&other.0, &mut 0)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key {}

fn plain(value: &Value) -> String {
    let mut text = String::new();
    value.write(&mut text);
    text
}

fn unfit(at: usize, what: &str, one: &Value, other: &Value) -> ExpressionError {
    error(at, format!("{what}, and these are {} and {}", one.kind(), other.kind()))
}

/// The elements of a list with their places, without nodes that no property reads.
fn present(list: &[Value]) -> impl Iterator<Item = (usize, &Value)> {
    list.iter().enumerate().filter(|(_, item)| !matches!(item, Value::Absent))
}

fn field_of(at: usize, of: &Value, field: &str) -> Result<Option<Value>, ExpressionError> {
    match of {
        Value::Map(map) => Ok(BTreeMap::get(map, field).cloned()),
        other => Err(error(at, format!("`{field}` is a field of an object, and this is {}", other.kind()))),
    }
}

fn element(at: usize, of: &Value, index: &Value) -> Evaluated {
    match (of, index) {
        (Value::List(list), Value::Int(place)) => {
            let found = usize::try_from(*place).ok().and_then(|place| list.get(place));
            let missing = || error(at, format!("there is no element {place} in a list of {}", list.len()));
            match found.ok_or_else(missing)? {
                Value::Absent => Ok(Value::Null),
                found => Ok(found.clone()),
            }
        }
        _ => Err(unfit(at, "a list has numbered elements, an object has named ones", of, index)),
    }
}
