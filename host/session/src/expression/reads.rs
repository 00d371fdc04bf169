//! The part of a state that an expression reads, derived from the expression.
//!
//! Derived from the top down: the use of a value determines the part of it that is read, and this determines the parts of the
//! values that it is taken from. `size(n.log)` reads the length of `log`, `n.log == m.log` all of it. A variable of a walk
//! collects the parts that the body reads, and the walk reads these of each element.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::syntax::{Function, Kind, Part, Quantifier};
use super::value::Value;

/// The part of a value that is read: only its existence, if no field says more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// The whole value.
    all: bool,
    /// The parts of its fields; the existence of other fields is not read.
    fields: BTreeMap<String, Reads>,
    /// The part of each of its elements or values; their number and the keys are read, too.
    items: Option<Box<Reads>>,
}

impl Reads {
    /// The whole of a value.
    pub fn all() -> Self {
        Self { all: true, ..Self::default() }
    }

    fn of_items(items: Self) -> Self {
        Self { items: Some(Box::new(items)), ..Self::default() }
    }

    fn of_field(name: &str, reads: Self) -> Self {
        Self { fields: [(name.to_owned(), reads)].into(), ..Self::default() }
    }

    fn add(&mut self, other: Self) {
        if self.all || other.all {
            *self = Self::all();
            return;
        }
        for (name, reads) in other.fields {
            self.fields.entry(name).or_default().add(reads);
        }
        if let Some(items) = other.items {
            self.items.get_or_insert_default().add(*items);
        }
    }

    /// The part of each element that is read.
    fn each(&self) -> Self {
        if self.all { Self::all() } else { self.items.as_deref().cloned().unwrap_or_default() }
    }

    /// The part of a value that is read.
    pub fn part(&self, value: &Value) -> Value {
        if self.all {
            return value.clone();
        }
        if self.fields.is_empty() && self.items.is_none() {
            return Value::Null;
        }
        match value {
            Value::Map(map) => {
                let part_of = |(key, value): (&String, &Value)| {
                    let mut reads = self.fields.get(key).cloned();
                    if let Some(items) = &self.items {
                        reads.get_or_insert_default().add((**items).clone());
                    }
                    Some((key.clone(), reads?.part(value)))
                };
                Value::Map(Arc::new(map.iter().filter_map(part_of).collect()))
            }
            Value::List(list) => match &self.items {
                Some(items) => Value::list(list.iter().map(|item| items.part(item)).collect()),
                None => Value::list(Vec::new()),
            },
            other => other.clone(),
        }
    }
}

/// The meaning of a name.
enum Binding {
    /// An element, and the part of it that is read.
    Element(Reads),
    /// A value whose source is read anyway.
    Elsewhere,
}

/// The parts of `node`, and of each of `nodes`, that an expression reads; none where it does not name them.
#[derive(Debug, Default)]
pub struct Derived {
    /// The part of `node`.
    pub node: Option<Reads>,
    /// The part of the list `nodes`.
    pub nodes: Option<Reads>,
}

impl Derived {
    /// Derives the parts that an expression reads.
    pub fn of(part: &Part) -> Self {
        let mut walk = Walk { derived: Self::default(), names: Vec::new() };
        walk.need(part, Reads::all());
        walk.derived
    }

    /// The part of a single node that is read.
    pub fn of_a_node(&self) -> Reads {
        let listed = self.nodes.as_ref().map(Reads::each);
        self.node.clone().or(listed).unwrap_or_default()
    }
}

struct Walk {
    derived: Derived,
    names: Vec<(String, Binding)>,
}

impl Walk {
    /// Notes that this part of the value is read.
    fn need(&mut self, part: &Part, reads: Reads) {
        match &part.kind {
            Kind::Constant(_) => {}
            Kind::Name(name) => self.named(name, reads),
            Kind::Field(of, field) => self.need(of, Reads::of_field(field, reads)),
            Kind::Has(of, field) => self.need(of, Reads::of_field(field, Reads::default())),
            Kind::Index(of, index) => {
                self.need(index, Reads::all());
                self.need(of, Reads::of_items(reads));
            }
            Kind::List(items) => items.iter().for_each(|item| self.need(item, reads.each())),
            Kind::Not(of) | Kind::Negative(of) => self.need(of, Reads::all()),
            Kind::Binary(_, one, other) => {
                self.need(one, Reads::all());
                self.need(other, Reads::all());
            }
            Kind::Choice(parts) => {
                let [condition, one, other] = &**parts;
                self.need(condition, Reads::all());
                self.need(one, reads.clone());
                self.need(other, reads);
            }
            Kind::Call(function, arguments) => {
                let reads = match function {
                    Function::Size | Function::Keys => Reads::of_items(Reads::default()),
                    Function::Values => Reads::of_items(reads.each()),
                    Function::Flatten => Reads::of_items(Reads::of_items(reads.each())),
                    Function::Unique | Function::Prefix | Function::Min | Function::Max => Reads::all(),
                };
                arguments.iter().for_each(|argument| self.need(argument, reads.clone()));
            }
            Kind::Each(each) => {
                let (of_body, of_item) = match each.what {
                    Quantifier::Map => (reads.each(), Reads::default()),
                    Quantifier::Filter => (Reads::all(), reads.each()),
                    Quantifier::All | Quantifier::Exists | Quantifier::ExistsOne => (Reads::all(), Reads::default()),
                };
                self.names.extend(each.place.clone().map(|name| (name, Binding::Elsewhere)));
                self.names.push((each.item.clone(), Binding::Element(of_item)));
                self.need(&each.body, of_body);
                let bound = self.names.pop().map(|(_, binding)| binding);
                self.names.truncate(self.names.len() - usize::from(each.place.is_some()));
                if let Some(Binding::Element(reads)) = bound {
                    self.need(&each.of, Reads::of_items(reads));
                }
            }
            Kind::Closure(closure) => {
                self.need(&closure.start, Reads::all());
                self.names.push((closure.item.clone(), Binding::Elsewhere));
                self.need(&closure.next, Reads::all());
                self.names.pop();
            }
        }
    }

    fn named(&mut self, name: &str, reads: Reads) {
        let bound = self.names.iter_mut().rev().find(|(bound, _)| bound == name);
        match (bound, name) {
            (Some((_, Binding::Element(read))), _) => read.add(reads),
            (Some((_, Binding::Elsewhere)), _) => {}
            (None, "node") => self.derived.node.get_or_insert_default().add(reads),
            (None, _) => self.derived.nodes.get_or_insert_default().add(reads),
        }
    }
}
