//! Everything that a line can be compared with: descriptions of states, messages and local events, each asked for once.

use std::sync::Arc;

use host_model::contract::{Machine, MachineError, NodeId, Role};
use host_model::lts::{LocalEventId, LocalStateId, MessageId, Outcome, Stepper, Trigger};
use host_model::scenario::Network;
use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::fits::{Closeness, Difference, part};
use crate::line::{Content, Event, Line, Sending};

/// Bytes of a description per byte of its text, about.
const BYTES_PER_LETTER: usize = 8;

/// The protocol, as far as it was asked.
pub struct Facts<'l> {
    pub(crate) stepper: Stepper<'l>,
    describer: Box<dyn Machine>,
    states: FxHashMap<LocalStateId, Option<Arc<Value>>>,
    messages: FxHashMap<MessageId, Option<Arc<Value>>>,
    local_events: FxHashMap<LocalEventId, Option<Arc<Value>>>,
    /// Bytes kept for descriptions.
    pub(crate) bytes: usize,
}

/// An event at a node, with its outcome.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Happened<'h> {
    pub(crate) trigger: Trigger,
    pub(crate) outcome: &'h Outcome,
}

impl<'l> Facts<'l> {
    /// Nothing is known; the machine describes.
    pub fn new(stepper: Stepper<'l>, describer: Box<dyn Machine>) -> Self {
        Self {
            stepper,
            describer,
            states: FxHashMap::default(),
            messages: FxHashMap::default(),
            local_events: FxHashMap::default(),
            bytes: 0,
        }
    }

    /// The local transition system, for what follows.
    pub fn into_stepper(self) -> Stepper<'l> {
        self.stepper
    }

    fn read(&mut self, text: Option<String>) -> Option<Arc<Value>> {
        let text = text?;
        self.bytes += text.len() * BYTES_PER_LETTER;
        // A description that is no JSON is a text.
        Some(Arc::new(serde_json::from_str(&text).unwrap_or(Value::String(text))))
    }

    fn state(&mut self, id: LocalStateId) -> Result<Option<Arc<Value>>, MachineError> {
        if let Some(known) = self.states.get(&id) {
            return Ok(known.clone());
        }
        let text = self.stepper.described(id)?;
        let described = self.read(text);
        self.states.insert(id, described.clone());
        Ok(described)
    }

    fn message(&mut self, id: MessageId) -> Result<Option<Arc<Value>>, MachineError> {
        if let Some(known) = self.messages.get(&id) {
            return Ok(known.clone());
        }
        self.describer.restore(None)?;
        let payload = &self.stepper.message(id).payload;
        let text = self.describer.describe_message(payload).ok().flatten();
        // Without a description, a content that is JSON describes itself.
        let text = text.or_else(|| {
            let is_json = matches!(payload.first(), Some(b'{' | b'[' | b'"'));
            String::from_utf8(payload.clone()).ok().filter(|_| is_json)
        });
        let described = self.read(text);
        self.messages.insert(id, described.clone());
        Ok(described)
    }

    fn local_event(&mut self, id: LocalEventId) -> Result<Option<Arc<Value>>, MachineError> {
        if let Some(known) = self.local_events.get(&id) {
            return Ok(known.clone());
        }
        self.describer.restore(None)?;
        let event = self.stepper.lts().local_event(id);
        let text = self.describer.describe_local(&event).ok().flatten();
        let described = self.read(text);
        self.local_events.insert(id, described.clone());
        Ok(described)
    }

    /// The word for an event in a log.
    pub(crate) fn kind(&self, trigger: Trigger) -> &'static str {
        match (trigger.message(), trigger.local_event(), trigger.fault()) {
            (Some(message), ..) if self.stepper.message(message).is_notice => "transport-error",
            (Some(_), ..) => "deliver",
            (_, Some(_), _) => "local",
            (_, _, Some(fault)) => fault.kind(),
            _ if trigger.quorum().is_some() => "quorum",
            _ => "lose",
        }
    }

    /// Compares an event with a line that begins one, without its effects.
    pub(crate) fn begins(
        &mut self,
        line: &Line,
        before: LocalStateId,
        trigger: Trigger,
    ) -> Result<Result<(), Difference>, MachineError> {
        let kind = self.kind(trigger);
        let is_broken = matches!(line.event, Event::Broken { .. }) && ["transport-error", "disconnect"].contains(&kind);
        if let Some(name) = line.event.name()
            && name != kind
            && !is_broken
        {
            return Ok(Err(Difference::new(Closeness::Event, "event", name, kind)));
        }
        Ok(match &line.event {
            Event::Deliver { from, message } => {
                let id = trigger.message().unwrap_or(MessageId(u32::MAX));
                match peer("from", *from, self.stepper.message(id).from) {
                    Ok(()) => return self.compare_message("message", message, id, Closeness::Content),
                    differs => differs,
                }
            }
            Event::TransportError { peer: wanted } => {
                let id = trigger.message().unwrap_or(MessageId(u32::MAX));
                peer("peer", *wanted, self.stepper.message(id).from)
            }
            Event::Broken { peer: wanted } => {
                let of_notice = trigger.message().map(|id| self.stepper.message(id).from);
                let found = of_notice.or_else(|| trigger.fault().and_then(|fault| fault.peer()));
                found.map_or(Ok(()), |found| peer("peer", *wanted, found))
            }
            Event::Fault { peer: wanted, .. } => match (wanted, trigger.fault().and_then(|fault| fault.peer())) {
                (Some(wanted), Some(found)) => peer("peer", Some(*wanted), found),
                (Some(wanted), None) => Err(Difference::absent(Closeness::Peer, "peer", wanted)),
                (None, _) => Ok(()),
            },
            Event::Quorum { name } => match (name, self.quorum(before, trigger)) {
                (Some(name), Some(found)) if *name != found => {
                    Err(Difference::new(Closeness::Peer, "name", quoted(name), quoted(&found)))
                }
                _ => Ok(()),
            },
            Event::Local { .. } => return self.begins_locally(line, trigger),
            Event::Any | Event::State | Event::Start | Event::Send(_) => Ok(()),
        })
    }

    /// Compares a local event.
    fn begins_locally(&mut self, line: &Line, trigger: Trigger) -> Result<Result<(), Difference>, MachineError> {
        let (Event::Local { name, cause, argument }, Some(id)) = (&line.event, trigger.local_event()) else {
            return Ok(Ok(()));
        };
        let event = self.stepper.lts().local_event(id);
        if let Some(name) = name
            && *name != event.name
        {
            return Ok(Err(Difference::new(Closeness::Peer, "name", quoted(name), quoted(&event.name))));
        }
        if let Some(cause) = cause
            && *cause != event.kind
        {
            let words = [*cause, event.kind].map(|kind| format!("{kind:?}").to_lowercase());
            return Ok(Err(Difference::new(Closeness::Peer, "cause", &words[0], &words[1])));
        }
        if let Err(differs) = bytes("payload", argument.payload.as_deref(), &event.payload, Closeness::Content) {
            return Ok(Err(differs));
        }
        let Some(wanted) = &argument.description else { return Ok(Ok(())) };
        Ok(match self.local_event(id)? {
            Some(found) => part("argument", wanted, &found, Closeness::Content),
            None => Err(Difference::absent(Closeness::Content, "argument", wanted)),
        })
    }

    /// The name of the quorum that is delivered in a local state.
    fn quorum(&self, before: LocalStateId, trigger: Trigger) -> Option<String> {
        let known = self.stepper.known();
        let first = known.taken_together(trigger).first()?;
        match known.role(before, *first) {
            Role::Member(kind) => Some(known.kind(kind).name.clone()),
            Role::Alone | Role::Held => None,
        }
    }

    /// Compares the effects of an event with a line that begins it.
    pub(crate) fn ends(&mut self, line: &Line, happened: Happened<'_>) -> Result<Result<(), Difference>, MachineError> {
        if let Some(wanted) = &line.sent {
            let sent: Vec<MessageId> = self.messages_of(happened.outcome);
            if wanted.len() != sent.len() {
                let words = |count: usize| format!("{count} messages");
                let differs = Difference::new(Closeness::Sent, "sent", words(wanted.len()), words(sent.len()));
                return Ok(Err(differs));
            }
            for (index, (wanted, id)) in wanted.iter().zip(sent).enumerate() {
                let sending = self.sends(&format!("sent[{index}]"), wanted, id)?;
                if sending.is_err() {
                    return Ok(sending);
                }
            }
        }
        self.is_in(line, happened.outcome.next)
    }

    /// The messages that an outcome sends, each once, without notices that a connection is broken.
    pub(crate) fn messages_of(&self, outcome: &Outcome) -> Vec<MessageId> {
        let mut messages = Vec::with_capacity(outcome.sent.len());
        let mut rest = outcome.sent.iter();
        while let Some(id) = rest.next() {
            let message = self.stepper.message(*id);
            if !message.is_notice {
                messages.push(*id);
                // The copies of a message are adjacent.
                let scenario = self.stepper.lts().scenario();
                if scenario.network_of(message.from, message.to) == Network::UnorderedDuplicating {
                    for _ in 0..scenario.faults.duplicates {
                        rest.next();
                    }
                }
            }
        }
        messages
    }

    /// Compares a message that was sent.
    pub(crate) fn sends(
        &mut self,
        field: &str,
        wanted: &Sending,
        id: MessageId,
    ) -> Result<Result<(), Difference>, MachineError> {
        let to = self.stepper.message(id).to;
        if let Some(wanted) = wanted.to.filter(|wanted| *wanted != to) {
            return Ok(Err(Difference::new(Closeness::Sent, &dotted(field, "to"), wanted, to)));
        }
        self.compare_message(&dotted(field, "message"), &wanted.message, id, Closeness::Sent)
    }

    /// Compares the state of a node.
    pub(crate) fn is_in(&mut self, line: &Line, state: LocalStateId) -> Result<Result<(), Difference>, MachineError> {
        let Some(wanted) = &line.state else { return Ok(Ok(())) };
        Ok(match self.state(state)? {
            Some(found) => part("state", wanted, &found, Closeness::State),
            None => Err(Difference::absent(Closeness::State, "state", wanted)),
        })
    }

    fn compare_message(
        &mut self,
        field: &str,
        wanted: &Content,
        id: MessageId,
        closeness: Closeness,
    ) -> Result<Result<(), Difference>, MachineError> {
        let payload = &self.stepper.message(id).payload;
        let name = field.replace("message", "payload");
        if let Err(differs) = bytes(&name, wanted.payload.as_deref(), payload, closeness) {
            return Ok(Err(differs));
        }
        let Some(wanted) = &wanted.description else { return Ok(Ok(())) };
        Ok(match self.message(id)? {
            Some(found) => part(field, wanted, &found, closeness),
            None => Err(Difference::absent(closeness, field, wanted)),
        })
    }
}

fn dotted(field: &str, part: &str) -> String {
    if field.is_empty() { part.to_owned() } else { format!("{field}.{part}") }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn peer(field: &str, wanted: Option<NodeId>, found: NodeId) -> Result<(), Difference> {
    match wanted {
        Some(wanted) if wanted != found => Err(Difference::new(Closeness::Peer, field, wanted, found)),
        _ => Ok(()),
    }
}

fn bytes(field: &str, wanted: Option<&[u8]>, found: &[u8], closeness: Closeness) -> Result<(), Difference> {
    match wanted {
        Some(wanted) if wanted != found => {
            Err(Difference::new(closeness, field, quoted(&hex(wanted)), quoted(&hex(found))))
        }
        _ => Ok(()),
    }
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
