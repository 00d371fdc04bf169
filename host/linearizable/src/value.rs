//! Values of operations: arguments, results, keys, processes.

use std::fmt;
use std::rc::Rc;

use rustc_hash::FxHashMap;

/// A value as a history writes it. JSON and EDN share it: maps and sets are sorted, so equal values are equal here.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// `nil` or `null`.
    Nil,
    /// A truth value.
    Bool(bool),
    /// An integer of up to 64 bits.
    Integer(i64),
    /// Any other number, as it is written.
    Number(String),
    /// Text in quotes.
    Text(String),
    /// A keyword of EDN with its colon, a symbol, or a character.
    Symbol(String),
    /// A list or vector.
    List(Vec<Value>),
    /// A set of EDN, sorted, without duplicates.
    Set(Vec<Value>),
    /// A map, sorted by its keys.
    Map(Vec<(Value, Value)>),
}

impl Value {
    /// A set of these elements.
    pub(crate) fn set(mut elements: Vec<Self>) -> Self {
        elements.sort();
        elements.dedup();
        Self::Set(elements)
    }

    /// A map with these entries.
    pub(crate) fn map(mut entries: Vec<(Self, Self)>) -> Self {
        entries.sort();
        Self::Map(entries)
    }

    /// The text of a name: of `"read"`, `:read` and `read` alike.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Symbol(text) => Some(text.strip_prefix(':').unwrap_or(text)),
            _ => None,
        }
    }

    /// The elements of a list or set.
    pub(crate) fn elements(&self) -> Option<&[Self]> {
        match self {
            Self::List(all) | Self::Set(all) => Some(all),
            _ => None,
        }
    }

    /// The approximate memory, in bytes.
    fn bytes(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Nil | Self::Bool(_) | Self::Integer(_) => 0,
                Self::Number(text) | Self::Text(text) | Self::Symbol(text) => text.len() + 16,
                Self::List(all) | Self::Set(all) => 16 + all.iter().map(Self::bytes).sum::<usize>(),
                Self::Map(all) => 16 + all.iter().map(|(key, value)| key.bytes() + value.bytes()).sum::<usize>(),
            }
    }
}

impl From<serde_json::Value> for Value {
    fn from(json: serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Nil,
            serde_json::Value::Bool(value) => Self::Bool(value),
            serde_json::Value::Number(number) => {
                number.as_i64().map_or_else(|| Self::Number(number.to_string()), Self::Integer)
            }
            serde_json::Value::String(text) => Self::Text(text),
            serde_json::Value::Array(all) => Self::List(all.into_iter().map(Self::from).collect()),
            serde_json::Value::Object(all) => {
                Self::map(all.into_iter().map(|(key, value)| (Self::Text(key), Self::from(value))).collect())
            }
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, all: &[Self], ends: [&str; 2]| {
            f.write_str(ends[0])?;
            for (index, element) in all.iter().enumerate() {
                let comma = if index == 0 { "" } else { ", " };
                write!(f, "{comma}{element}")?;
            }
            f.write_str(ends[1])
        };
        match self {
            Self::Nil => f.write_str("nil"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Number(text) | Self::Symbol(text) => f.write_str(text),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::List(all) => list(f, all, ["[", "]"]),
            Self::Set(all) => list(f, all, ["{", "}"]),
            Self::Map(all) => {
                f.write_str("{")?;
                for (index, (key, value)) in all.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{key}: {value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

/// The number of a value in [`Values`].
pub(crate) type ValueId = u32;

/// The id of [`Value::Nil`], which every table begins with.
pub(crate) const NIL: ValueId = 0;

/// Numbers for values: equal values have one number.
#[derive(Debug)]
pub(crate) struct Values {
    ids: FxHashMap<Rc<Value>, ValueId>,
    all: Vec<Rc<Value>>,
    /// The memory that the table occupies, in bytes, roughly.
    pub(crate) bytes: usize,
}

impl Values {
    pub(crate) fn new() -> Self {
        let mut new = Self { ids: FxHashMap::default(), all: Vec::new(), bytes: 0 };
        new.intern(Value::Nil);
        new
    }

    pub(crate) fn intern(&mut self, value: Value) -> ValueId {
        if let Some(id) = self.ids.get(&value) {
            return *id;
        }
        let id = self.all.len() as ValueId;
        // The value with its counters, its pointer in the list, and its place in the table, which is half empty at worst.
        self.bytes += value.bytes() + 24 + 2 * 24;
        let value = Rc::new(value);
        self.all.push(Rc::clone(&value));
        self.ids.insert(value, id);
        id
    }

    pub(crate) fn get(&self, id: ValueId) -> &Value {
        &self.all[id as usize]
    }
}
