//! The fields of a line.

use host_model::contract::{LocalKind, NodeId};
use host_model::scenario::FaultEvent;
use serde_json::{Map, Value};

use crate::line::{Content, Event, Sending};

/// The nodes that lines name.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    /// The name of each node, as far as it has one.
    pub names: Vec<Option<String>>,
}

impl Nodes {
    /// A node by its number or its name.
    pub(crate) fn find(&self, field: &'static str, value: &Value) -> Result<NodeId, Wrong> {
        let count = self.names.len();
        let named = |text: &str| self.names.iter().position(|name| name.as_deref() == Some(text));
        let found = match value {
            Value::Number(number) => number.as_u64().and_then(|number| usize::try_from(number).ok()),
            Value::String(text) => {
                let number = || text.strip_prefix("node").map(str::trim_start)?.parse().ok();
                named(text).or_else(number)
            }
            _ => None,
        };
        if let Some(node) = found.filter(|node| *node < count) {
            return Ok(node as NodeId);
        }
        let names: Vec<String> = self.names.iter().flatten().map(|name| format!("\"{name}\"")).collect();
        let names = if names.is_empty() { String::new() } else { format!(", or {}", names.join(", ")) };
        let last = count.saturating_sub(1);
        Err(Wrong::new(
            field,
            format!("there is no node {value} in a cluster of {count}"),
            format!("use a number from 0 to {last}{names}; the size of the cluster is set with `-- --nodes N`"),
        ))
    }
}

/// A field that is wrong: its name, the problem and the remedy.
#[derive(Debug, PartialEq)]
pub(crate) struct Wrong {
    pub(crate) field: &'static str,
    pub(crate) problem: String,
    pub(crate) remedy: String,
}

impl Wrong {
    pub(crate) fn new(field: &'static str, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { field, problem: problem.into(), remedy: remedy.into() }
    }
}

/// All fields of a line.
pub(crate) const FIELDS: &[&str] = &[
    "node", "seq", "id", "after", "event", "from", "to", "peer", "name", "cause", "message", "argument", "payload",
    "sent", "state", "note",
];

/// The words for events without a peer and with one, apart from faults.
const EVENTS: &[&str] = &["state", "start", "deliver", "quorum", "local", "transport-error", "broken", "send"];

/// The fields of one line, which are taken one by one.
pub(crate) struct Fields<'f> {
    pub(crate) object: &'f mut Map<String, Value>,
    pub(crate) nodes: &'f Nodes,
}

impl Fields<'_> {
    fn take(&mut self, field: &str) -> Option<Value> {
        self.object.remove(field)
    }

    /// A node: its number, or its name.
    pub(crate) fn node(&mut self, field: &'static str) -> Result<Option<NodeId>, Wrong> {
        self.take(field).map(|value| self.nodes.find(field, &value)).transpose()
    }

    pub(crate) fn text(&mut self, field: &'static str) -> Result<Option<String>, Wrong> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(Wrong::new(
                field,
                format!("`{field}` is {other}, and no text"),
                format!("write \"{field}\": \"...\""),
            )),
        }
    }

    pub(crate) fn number(&mut self, field: &'static str) -> Result<Option<u64>, Wrong> {
        match self.take(field) {
            None => Ok(None),
            Some(value) => match value.as_u64() {
                Some(number) => Ok(Some(number)),
                None => Err(Wrong::new(
                    field,
                    format!("`{field}` is {value}, and no number from 0"),
                    format!("write \"{field}\": 0 for the first line of a node, and so on"),
                )),
            },
        }
    }

    fn payload(&mut self) -> Result<Option<Vec<u8>>, Wrong> {
        let Some(text) = self.text("payload")? else { return Ok(None) };
        let digits: Option<Vec<u8>> =
            text.chars().map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
        match digits {
            Some(digits) if digits.len() % 2 == 0 => {
                Ok(Some(digits.chunks_exact(2).map(|pair| pair[0] * 16 + pair[1]).collect()))
            }
            _ => Err(Wrong::new(
                "payload",
                "`payload` is not an even number of hexadecimal digits",
                "write bytes as \"payload\": \"00ff\", or leave them out",
            )),
        }
    }

    fn content(&mut self, field: &'static str) -> Result<Content, Wrong> {
        Ok(Content { payload: self.payload()?, description: self.take(field) })
    }

    fn sending(&mut self) -> Result<Sending, Wrong> {
        Ok(Sending { to: self.node("to")?, message: self.content("message")? })
    }

    /// The messages that an event sent.
    pub(crate) fn sent(&mut self) -> Result<Option<Vec<Sending>>, Wrong> {
        let remedy = "write \"sent\": [{\"to\": 1, \"message\": {...}}], all messages and in order, or leave it out";
        let items = match self.take("sent") {
            None => return Ok(None),
            Some(Value::Array(items)) => items,
            Some(other) => return Err(Wrong::new("sent", format!("`sent` is {other}, and no list"), remedy)),
        };
        let mut sent = Vec::with_capacity(items.len());
        for item in items {
            let Value::Object(mut object) = item else {
                return Err(Wrong::new("sent", format!("`sent` has {item}, and no object"), remedy));
            };
            let mut fields = Fields { object: &mut object, nodes: self.nodes };
            sent.push(fields.sending()?);
            if let Some(other) = object.keys().next() {
                return Err(Wrong::new("sent", format!("`{other}` is no field of a message in `sent`"), remedy));
            }
        }
        Ok(Some(sent))
    }

    /// A part of the description of a state.
    pub(crate) fn state(&mut self) -> Option<Value> {
        self.take("state")
    }

    /// Lines by their `id`.
    pub(crate) fn ids(&mut self) -> Result<Vec<String>, Wrong> {
        let remedy = "write \"after\": [\"a\"], where another line has \"id\": \"a\"";
        let id = |value: Value| match value {
            Value::String(text) => Ok(text),
            Value::Number(number) => Ok(number.to_string()),
            other => Err(Wrong::new("after", format!("`after` has {other}, and no `id`"), remedy)),
        };
        match self.take("after") {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => items.into_iter().map(id).collect(),
            Some(other) => Ok(vec![id(other)?]),
        }
    }

    /// The name of the line.
    pub(crate) fn id(&mut self) -> Result<Option<String>, Wrong> {
        match self.take("id") {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(other) => Err(Wrong::new("id", format!("`id` is {other}, and no text"), "write \"id\": \"a\"")),
        }
    }

    /// The event: what `event` says, or what the other fields leave open.
    pub(crate) fn event(&mut self) -> Result<Event, Wrong> {
        let has = |field: &str| self.object.contains_key(field);
        let kind = match self.object.get("event") {
            Some(_) => self.text("event")?.unwrap_or_default(),
            None if has("from") => "deliver".to_owned(),
            None if has("to") => "send".to_owned(),
            None if has("name") || has("cause") || has("argument") => "local".to_owned(),
            None if has("message") || has("payload") => {
                let field = if has("message") { "message" } else { "payload" };
                return Err(Wrong::new(
                    field,
                    format!("`{field}` without `event` can be of a message that was received or sent"),
                    "add \"event\": \"deliver\" or \"event\": \"send\", or `from` or `to`",
                ));
            }
            None if has("state") => "state".to_owned(),
            None => return Ok(Event::Any),
        };
        Ok(match &*kind {
            "state" => Event::State,
            "start" => Event::Start,
            "deliver" => Event::Deliver { from: self.node("from")?, message: self.content("message")? },
            "quorum" => Event::Quorum { name: self.text("name")? },
            "local" => {
                Event::Local { name: self.text("name")?, cause: self.cause()?, argument: self.content("argument")? }
            }
            "broken" => Event::Broken { peer: self.node("peer")? },
            "transport-error" => Event::TransportError { peer: self.node("peer")? },
            "send" => Event::Send(self.sending()?),
            _ if is_fault(&kind) => Event::Fault { kind, peer: self.node("peer")? },
            _ => {
                let known = EVENTS.join(", ");
                return Err(Wrong::new(
                    "event",
                    format!("there is no event `{kind}`"),
                    format!("use one of {known}, or a fault such as reset; leave `event` out if it is not known"),
                ));
            }
        })
    }

    fn cause(&mut self) -> Result<Option<LocalKind>, Wrong> {
        Ok(match self.text("cause")?.as_deref() {
            None => None,
            Some("timer") => Some(LocalKind::Timer),
            Some("application") => Some(LocalKind::Application),
            Some("internal") => Some(LocalKind::Internal),
            Some(other) => {
                let remedy = "use timer, application or internal, or leave it out";
                return Err(Wrong::new("cause", format!("there is no cause `{other}`"), remedy));
            }
        })
    }

    /// Refuses the fields that are left: the event has none of that name.
    pub(crate) fn end(mut self, event: &Event) -> Result<(), Wrong> {
        self.take("note");
        let Some(left) = self.object.keys().next() else { return Ok(()) };
        let Some(field) = FIELDS.iter().find(|field| *field == left) else {
            let known = FIELDS.join(", ");
            return Err(Wrong::new(
                "",
                format!("`{left}` is no field of a line"),
                format!("the fields are {known}; put anything else into \"note\""),
            ));
        };
        let kind = event.name().unwrap_or("an event that is not known");
        Err(Wrong::new(field, format!("`{field}` is no field of {kind}"), "leave it out, or put it into \"note\""))
    }
}

/// Whether this is a kind of fault that is an event of a node.
fn is_fault(kind: &str) -> bool {
    FaultEvent::of_kind(kind, None).or(FaultEvent::of_kind(kind, Some(0))).is_some()
}
