//! Views of nodes and of global states.

use host_model::contract::NodeId;
use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

/// Bytes of a view per byte of its text, about.
const BYTES_PER_LETTER: usize = 8;

/// A field of a description: the keys on the way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field(Vec<String>);

impl Field {
    /// A field from keys with dots between them, such as `Running.learner.chosen`; a number is a place in a list.
    ///
    /// # Errors
    ///
    /// A lower-case phrase: a key is empty.
    pub fn parse(text: &str) -> Result<Self, String> {
        let keys: Vec<String> = text.split('.').map(str::to_owned).collect();
        match keys.iter().any(String::is_empty) {
            true => Err("expected keys with dots between them, such as Running.chosen".to_owned()),
            false => Ok(Self(keys)),
        }
    }

    /// The part of a description; none if it has no such field.
    fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(value, |value, key| match value {
            Value::Array(items) => items.get(key.parse::<usize>().ok()?),
            value => value.get(key),
        })
    }
}

impl std::fmt::Display for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// The view of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum View {
    /// Its description, or the fields of it by their names.
    Described(Value),
    /// The protocol does not describe the state.
    Undescribed,
    /// A handler of the node has failed.
    Failed,
}

/// The id of the view of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeView(pub(crate) u32);

/// The id of the view of a global state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct GlobalView(pub(crate) u32);

/// All views, of both systems: equal ones have one id.
#[derive(Debug, Default)]
pub(crate) struct Views {
    fields: Vec<Field>,
    /// Whether some state has each field.
    found: Vec<bool>,
    of_nodes: FxHashMap<String, NodeView>,
    views: Vec<View>,
    of_states: FxHashMap<Box<[NodeView]>, GlobalView>,
    states: Vec<Box<[NodeView]>>,
    pub(crate) bytes: usize,
}

impl Views {
    /// Nothing is known. Without fields, a view is the whole description.
    pub(crate) fn new(fields: Vec<Field>) -> Self {
        Self { found: vec![false; fields.len()], fields, ..Self::default() }
    }

    /// The view of a node with this description; none if it has none.
    pub(crate) fn described(&mut self, text: Option<String>) -> NodeView {
        let Some(text) = text else { return self.node("undescribed".to_owned(), View::Undescribed) };
        // A description that is no JSON is a text.
        let whole = serde_json::from_str(&text).unwrap_or(Value::String(text));
        let value = if self.fields.is_empty() { whole } else { self.part(&whole) };
        let mut key = "described ".to_owned();
        write_sorted(&value, &mut key);
        self.node(key, View::Described(value))
    }

    /// The view of a node with a failed handler.
    pub(crate) fn failed(&mut self) -> NodeView {
        self.node("failed".to_owned(), View::Failed)
    }

    /// The fields of a description.
    fn part(&mut self, whole: &Value) -> Value {
        let mut part = Map::new();
        for (field, found) in self.fields.iter().zip(&mut self.found) {
            if let Some(value) = field.of(whole) {
                *found = true;
                part.insert(field.to_string(), value.clone());
            }
        }
        Value::Object(part)
    }

    fn node(&mut self, key: String, view: View) -> NodeView {
        if let Some(known) = self.of_nodes.get(&key) {
            return *known;
        }
        let id = NodeView(self.views.len() as u32);
        self.bytes += key.len() * (BYTES_PER_LETTER + 1);
        self.of_nodes.insert(key, id);
        self.views.push(view);
        id
    }

    /// The view of a global state.
    pub(crate) fn state(&mut self, nodes: &[NodeView]) -> GlobalView {
        if let Some(known) = self.of_states.get(nodes) {
            return *known;
        }
        let id = GlobalView(self.states.len() as u32);
        self.bytes += 2 * size_of_val(nodes) + 2 * size_of::<Box<[NodeView]>>();
        self.of_states.insert(nodes.into(), id);
        self.states.push(nodes.into());
        id
    }

    /// The views of the nodes in the view of a global state.
    pub(crate) fn nodes(&self, state: GlobalView) -> &[NodeView] {
        &self.states[state.0 as usize]
    }

    /// The view of a node.
    pub(crate) fn view(&self, id: NodeView) -> &View {
        &self.views[id.0 as usize]
    }

    /// Sorts views of nodes by their content: ids depend on the search.
    pub(crate) fn sort(&self, views: &mut [(NodeId, NodeView)]) {
        views.sort_by_cached_key(|(node, id)| {
            let mut text = String::new();
            if let View::Described(value) = self.view(*id) {
                write_sorted(value, &mut text);
            }
            (*node, text)
        });
    }

    /// The fields that no state has.
    pub(crate) fn unknown_fields(&self) -> Vec<Field> {
        let unknown = self.fields.iter().zip(&self.found).filter(|(_, found)| !**found);
        unknown.map(|(field, _)| field.clone()).collect()
    }
}

/// Writes a value with the keys of its objects in order, so that equal values have one text.
fn write_sorted(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| *key);
            text.push('{');
            for (key, value) in fields {
                *text += &Value::from(key.as_str()).to_string();
                text.push(':');
                write_sorted(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_sorted(item, text);
                text.push(',');
            }
            text.push(']');
        }
        plain => *text += &plain.to_string(),
    }
}
