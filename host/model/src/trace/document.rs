//! A path of events from the start of a cluster, as a document that replays.
//!
//! A trace contains contents, never ids, so that it can be replayed without the search that found it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::contract::hex::Hex;
use crate::contract::{Choice, Envelope, Fault, Judgement, LocalEvent, LocalKind, NodeId, Property, PropertyKind};
use crate::scenario::{FaultEvent, Scenario};
use crate::trace::origin::{Beginning, Origin};
use crate::trace::progress::{Fairness, Recovery, Timers, is_default};

/// The version of the format that this build writes wherever it suffices.
pub const TRACE_VERSION: u32 = 1;

/// The latest version of the format that this build reads: with a beginning in states from elsewhere, absent nodes, lost
/// messages, and broken promises of progress.
pub const TRACE_VERSION_MAX: u32 = 2;

/// The plugin to which a trace belongs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PluginRef {
    /// The plugin's own name, or that of its file.
    pub name: String,
    /// The plugin's own version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// `blake3:` and the digest of the component; absent in traces that are meant for every build of the plugin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// A node that differs from the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placement {
    /// The node.
    pub node: NodeId,
    /// The component that it runs; absent if it is the same as for the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<PluginRef>,
    /// Its own parameters, which override those of the scenario.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// Whether properties leave it out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adversary: bool,
    /// The node that it duplicates: both have the same identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin_of: Option<NodeId>,
}

/// A property stated outside the plugin, about the states that it describes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expressed {
    /// The name of the property.
    pub name: String,
    /// Its claim.
    pub kind: PropertyKind,
    /// The expression, in the language of its evaluator.
    pub expression: String,
}

/// The event of one step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", try_from = "Fields")]
pub enum TraceEvent {
    /// The node receives a message that is in flight.
    Deliver {
        /// The sender.
        from: NodeId,
        /// The content.
        payload: Hex,
    },
    /// The node receives several messages together that are in flight.
    Quorum {
        /// The name of the quorum, for people.
        name: String,
        /// The messages, in the order of their senders.
        messages: Vec<Received>,
    },
    /// A local event of the node.
    Local {
        /// Its name, for people.
        name: String,
        /// The reason why it can happen.
        cause: LocalKind,
        /// The argument.
        #[serde(default)]
        payload: Hex,
    },
    /// The node finds a connection broken that its peer has broken, or lost by a reset.
    TransportError {
        /// The node at the other end.
        peer: NodeId,
        /// Whether the node is not notified.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        lost: bool,
    },
    /// A message to the node that could be delivered next vanishes. No search does that; a path to a start state can.
    Lose {
        /// The sender.
        from: NodeId,
        /// The content.
        payload: Hex,
    },
    /// A fault happens at the node.
    #[serde(untagged)]
    Fault {
        /// The fault.
        #[serde(flatten)]
        event: FaultEvent,
        /// Whether a connection is broken and the node is not notified.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        lost: bool,
    },
}

/// The fields of all events. The kind of an event decides which it has; the kinds of faults are those of the table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    kind: String,
    from: Option<NodeId>,
    payload: Option<Hex>,
    name: Option<String>,
    messages: Option<Vec<Received>>,
    cause: Option<LocalKind>,
    peer: Option<NodeId>,
    #[serde(default)]
    lost: bool,
    #[serde(default)]
    unsynced: u32,
    #[serde(default)]
    disk: u32,
}

impl TryFrom<Fields> for TraceEvent {
    type Error = String;

    fn try_from(fields: Fields) -> Result<Self, String> {
        let Fields { kind, from, payload, name, messages, cause, peer, lost, unsynced, disk } = fields;
        let fault = |event: Option<FaultEvent>| match disk {
            0 => event?.losing(unsynced),
            _ => event?.leaving(disk).filter(|_| unsynced == 0),
        };
        let event = match (&*kind, from, payload, name, messages, cause, peer, lost) {
            // Only a fault loses writes.
            ("deliver" | "lose" | "quorum" | "local" | "transport-error", ..) if unsynced > 0 || disk > 0 => None,
            ("deliver", Some(from), Some(payload), None, None, None, None, false) => {
                Some(Self::Deliver { from, payload })
            }
            ("lose", Some(from), Some(payload), None, None, None, None, false) => Some(Self::Lose { from, payload }),
            ("quorum", None, None, Some(name), Some(messages), None, None, false) => {
                Some(Self::Quorum { name, messages })
            }
            ("local", None, payload, Some(name), None, Some(cause), None, false) => {
                Some(Self::Local { name, cause, payload: payload.unwrap_or_default() })
            }
            ("transport-error", None, None, None, None, None, Some(peer), lost) => {
                Some(Self::TransportError { peer, lost })
            }
            (kind, None, None, None, None, None, peer, lost) => fault(FaultEvent::of_kind(kind, peer))
                .filter(|_| peer.is_some() || !lost)
                .map(|event| Self::Fault { event, lost }),
            _ => None,
        };
        event.ok_or_else(|| format!("there is no event of kind `{kind}` with these fields"))
    }
}

impl TraceEvent {
    /// Sender and content of each message that the node receives; none for a notice of a break.
    pub fn received(&self) -> Vec<(NodeId, &[u8])> {
        match self {
            Self::Deliver { from, payload } => vec![(*from, &payload.0)],
            Self::Quorum { messages, .. } => {
                messages.iter().map(|message| (message.from, &*message.payload.0)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether a connection is broken and the node is not notified.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Fault { lost: true, .. } | Self::TransportError { lost: true, .. })
    }

    /// The event as a local event, if it is one.
    pub fn to_local(&self) -> Option<LocalEvent> {
        let Self::Local { name, cause, payload } = self else { return None };
        Some(LocalEvent { name: name.clone(), kind: *cause, payload: payload.0.clone() })
    }

    /// The trace event of a local event of the machine.
    pub fn from_local(event: &LocalEvent) -> Self {
        Self::Local { name: event.name.clone(), cause: event.kind, payload: Hex(event.payload.clone()) }
    }
}

/// A message that a step received together with others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Received {
    /// The sender.
    pub from: NodeId,
    /// The content.
    pub payload: Hex,
}

/// A message that a step sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sent {
    /// The destination.
    pub to: NodeId,
    /// The content.
    pub payload: Hex,
}

impl From<&Envelope> for Sent {
    fn from(envelope: &Envelope) -> Self {
        Self { to: envelope.to, payload: Hex(envelope.payload.clone()) }
    }
}

/// One event of a trace, with its effects when the trace was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceStep {
    /// The node where it happens.
    pub node: NodeId,
    /// The event.
    pub event: TraceEvent,
    /// The answers to the handler's calls of `choose`, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// The messages sent, in order; absent if a replay need not compare them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Vec<Sent>>,
    /// The canonical encoding of the node's state afterwards; absent if a replay need not compare it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Hex>,
}

/// The finding at the end of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Finding {
    /// A property: violated if it is an `always`, reached if it is a `sometimes`.
    Property {
        /// Its name.
        name: String,
        /// Its claim.
        kind: PropertyKind,
        /// The reason why it does not hold, in the plugin's words; empty for a witness.
        message: String,
    },
    /// A property that could not be evaluated.
    Broken {
        /// Its name.
        property: String,
        /// The fault.
        fault: Fault,
    },
    /// The last event made the guest misbehave.
    Fault {
        /// The node.
        node: NodeId,
        /// The misbehaviour.
        fault: Fault,
    },
    /// No event is possible any more, and some node is not done.
    Deadlock {
        /// The nodes that are not done.
        message: String,
    },
    /// A promise of progress is broken.
    Promise(BrokenPromise),
}

impl Finding {
    /// A judgement on a local state of a node, or on a global state, by the names of the properties.
    ///
    /// # Panics
    ///
    /// A fault is a judgement on no node.
    pub fn new(properties: &[Property], node: Option<NodeId>, judgement: &Judgement) -> Self {
        let named = |index: u32, message: String| {
            let Property { name, kind, .. } = &properties[index as usize];
            Self::Property { name: name.clone(), kind: *kind, message }
        };
        match judgement {
            Judgement::Violated { property, message } => named(*property, message.clone()),
            Judgement::Witnessed { property } => named(*property, String::new()),
            Judgement::Broken { property, fault } => {
                Self::Broken { property: properties[*property as usize].name.clone(), fault: fault.clone() }
            }
            Judgement::Fault(fault) => {
                let node = node.expect("a fault is a judgement on the local state of a node");
                Self::Fault { node, fault: fault.clone() }
            }
            Judgement::Deadlock { message } => Self::Deadlock { message: message.clone() },
        }
    }

    /// Whether two runs of the same steps had the same finding; for faults see [`Fault::is_same`].
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Fault { node, fault }, Self::Fault { node: other, fault: again }) => {
                node == other && fault.is_same(again)
            }
            (Self::Broken { property, fault }, Self::Broken { property: other, fault: again }) => {
                property == other && fault.is_same(again)
            }
            _ => self == other,
        }
    }
}

/// The ways in which a promise is broken, the most certain one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BreachClass {
    /// It cannot be kept any more.
    Dead,
    /// It is not kept, and no fair event is enabled.
    Stuck,
    /// A fair execution owes it for ever.
    Lasso,
}

impl BreachClass {
    /// All classes.
    pub const ALL: [Self; 3] = [Self::Dead, Self::Stuck, Self::Lasso];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dead => "dead",
            Self::Stuck => "stuck",
            Self::Lasso => "lasso",
        }
    }
}

/// A promise of progress that is broken: an `eventually` property, of node scope at one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrokenPromise {
    /// The property.
    pub name: String,
    /// The node whose promise it is, for a property of node scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
    /// The class of the breach.
    pub class: BreachClass,
    /// The reason why it does not hold at the end, in the plugin's words.
    pub message: String,
    /// The fairness assumption; absent if it is the default, as are the next two.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fairness: Fairness,
    /// When timers fire in the long run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub timers: Timers,
    /// The events that count as a way back to where it is kept.
    #[serde(default, rename = "recover_by", skip_serializing_if = "is_default")]
    pub recovery: Recovery,
    /// The step after which the cluster is already in the state of the last step, 0 for the start: the steps after it repeat for
    /// ever. Present only for a lasso.
    #[serde(default, rename = "loop", skip_serializing_if = "Option::is_none")]
    pub loop_start: Option<usize>,
    /// The critical step, which is the last one: before it the promise could still be kept. Absent if none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critical: Option<usize>,
    /// Steps in place of the critical one that lead to where the promise is kept; absent if it is kept before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sibling: Vec<TraceStep>,
}

impl BrokenPromise {
    /// Refuses fields that no search could have produced at the end of this many steps.
    ///
    /// # Errors
    ///
    /// A lower-case phrase with the reason.
    pub fn check(&self, steps: usize) -> Result<(), String> {
        match (self.class, self.loop_start) {
            (BreachClass::Lasso, Some(start)) if start < steps => {}
            (BreachClass::Lasso, Some(start)) => {
                return Err(format!("its loop begins after step {start} of {steps}, and has no step"));
            }
            (BreachClass::Lasso, None) => return Err("it shows a lasso without a `loop`".to_owned()),
            (_, Some(_)) => return Err(format!("it has a `loop`, and what it shows is {}", self.class.name())),
            (_, None) => {}
        }
        match (self.class, self.critical) {
            (_, None) if !self.sibling.is_empty() => Err("it has a `sibling`, and no critical step".to_owned()),
            (_, None) => Ok(()),
            (BreachClass::Dead, Some(step)) if step > 0 && step == steps => Ok(()),
            (class, Some(step)) => {
                Err(format!("step {step} of {steps} is critical, and what it shows is {}", class.name()))
            }
        }
    }
}

/// A path of events from the start of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The lowest version in which the trace can be written, or a higher one.
    pub trace_version: u32,
    /// The plugin to which it belongs.
    pub plugin: PluginRef,
    /// The cluster that it starts.
    pub scenario: Scenario,
    /// The nodes that differ from the others, sorted; none if every node runs the plugin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placements: Vec<Placement>,
    /// The limits of the plugin, by name; absent ones had their defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, u64>,
    /// The properties from outside, after those of the plugin; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expressed: Vec<Expressed>,
    /// The specifications from outside, whose properties come last, in their order; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub specs: Vec<PluginRef>,
    /// The answers to the calls of `choose` in `init`, node by node; absent when there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub init_choices: Vec<Vec<Choice>>,
    /// The states from elsewhere in which it begins; absent if it begins with `init`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beginning: Option<Beginning>,
    /// The finding at its end; absent for a mere path, such as a start state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<Finding>,
    /// The events.
    pub steps: Vec<TraceStep>,
}

impl Trace {
    /// Its origin.
    pub fn origin(&self) -> Origin {
        match &self.beginning {
            Some(beginning) => Origin::States(Arc::new(beginning.clone())),
            None => Origin::Init(self.init_choices.clone()),
        }
    }

    /// The broken promise at its end, if there is one.
    pub fn promise(&self) -> Option<&BrokenPromise> {
        match &self.finding {
            Some(Finding::Promise(promise)) => Some(promise),
            _ => None,
        }
    }

    /// The same trace with this beginning.
    #[must_use]
    pub fn beginning_at(self, origin: Origin) -> Self {
        let (init_choices, beginning) = match origin {
            Origin::Init(choices) if choices.iter().all(Vec::is_empty) => (Vec::new(), None),
            Origin::Init(choices) => (choices, None),
            Origin::States(beginning) => (Vec::new(), Some(Arc::unwrap_or_clone(beginning))),
        };
        Self { init_choices, beginning, ..self }
    }

    /// The same trace with the lowest version that supports all its parts.
    #[must_use]
    pub fn with_version(self) -> Self {
        let needs_more = self.beyond_first_version().is_some();
        Self { trace_version: if needs_more { TRACE_VERSION_MAX } else { TRACE_VERSION }, ..self }
    }

    /// The part that the first version of the format does not support, if there is one: a phrase.
    pub fn beyond_first_version(&self) -> Option<&'static str> {
        if self.beginning.is_some() {
            return Some("a beginning in states from elsewhere");
        }
        if !self.expressed.is_empty() || !self.specs.is_empty() {
            return Some("properties from outside");
        }
        if !self.scenario.absent.is_empty() {
            return Some("absent nodes");
        }
        if matches!(self.finding, Some(Finding::Promise(_))) {
            return Some("a broken promise of progress");
        }
        let is_lost = |step: &TraceStep| matches!(step.event, TraceEvent::Lose { .. });
        self.steps.iter().any(is_lost).then_some("messages that are lost")
    }
}
