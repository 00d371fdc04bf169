//! The answers of the API, which `host/explore/web/src/api.ts` describes to the page: a test compares the fields of both.
//!
//! Every text can be shown as it is: letters that act on others are escaped.
//!
//! | module | what it holds |
//! |---|---|
//! | `tests` | the shapes here and those of the page |

use serde::Serialize;

/// The cluster of a session, and the branch that the page shows first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Session {
    /// The version of the API.
    pub version: u32,
    /// The plugin, the cluster and the finding on one line.
    pub title: String,
    /// The plugin.
    pub plugin: Plugin,
    /// The place at which the page begins.
    pub place: usize,
    /// The branch that it shows: the places from the beginning to its end.
    pub line: Vec<usize>,
    /// The names of the nodes.
    pub nodes: Vec<String>,
    /// The properties that are judged.
    pub properties: Vec<Property>,
    /// The strategies that a search can have.
    pub strategies: Vec<String>,
    /// The finding at the end of the branch: what is violated, then what the property reads, line by line.
    pub verdict: Vec<String>,
    /// Remarks on single steps of the branch.
    pub marks: Vec<Mark>,
    /// The component, the command that replays the trace.
    pub about: Vec<About>,
    /// In place of the critical step of a broken promise: the branch in which it is kept.
    pub sibling: Option<Sibling>,
    /// The fields that the violated property reads.
    pub reads: Vec<Reads>,
    /// The nodes that have crashed by the end of the branch, of a deadlock.
    pub crashed: Vec<u32>,
}

/// A remark on a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mark {
    /// The place that the step led to.
    pub place: usize,
    /// The kind of the mark.
    pub kind: MarkKind,
    /// The remark in words.
    pub text: String,
}

/// The kind of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MarkKind {
    /// The step changes what the violated property reads.
    Ring,
    /// It is the critical step of a broken promise.
    Critical,
    /// A line before the step.
    Before,
    /// A line after it.
    After,
}

/// A fact about the trace as a whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct About {
    /// The name of the fact.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// The branch in which a promise is kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sibling {
    /// The branch in words.
    pub text: String,
    /// Its places, the beginning first.
    pub line: Vec<usize>,
}

/// The fields of a node that fit what the violated property reads of it best.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reads {
    /// The property.
    pub property: usize,
    /// The node.
    pub node: u32,
    /// Names of rows joined by points; `#` is any element of a list.
    pub paths: Vec<String>,
}

/// The plugin of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plugin {
    /// Its name and version.
    pub reference: String,
    /// The digest of its component.
    pub digest: String,
}

/// A property.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Property {
    /// Its name.
    pub name: String,
    /// `always`, `sometimes` or `eventually`.
    pub kind: String,
    /// `node` or `cluster`.
    pub scope: &'static str,
}

/// A place, and the event that led there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The place.
    pub place: usize,
    /// The place before.
    pub parent: Option<usize>,
    /// The number of steps before it.
    pub depth: usize,
    /// None at the beginning.
    pub event: Option<Event>,
    /// The name that it was given.
    pub name: Option<String>,
    /// The effects of the step in words; at the beginning those of `init`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
}

/// An event that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// The node at which it happened.
    pub node: u32,
    /// The kind of the event.
    pub kind: EventKind,
    /// The event in words, as in the list of steps of `host replay`.
    pub text: String,
    /// The messages that it takes out of flight.
    pub received: Vec<Received>,
    /// The messages that it sends.
    pub sent: Vec<Sent>,
    /// The kind of a fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EventKind {
    /// A message is delivered.
    Deliver,
    /// Several messages are delivered at once.
    Quorum,
    /// A call of the application or an internal event.
    Local,
    /// A timer fires.
    Timer,
    /// A node crashes or is reset, a connection breaks.
    Fault,
    /// A message is lost.
    Lose,
}

/// A message that an event takes out of flight.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Received {
    /// The sender.
    pub from: u32,
    /// The destination.
    pub to: u32,
    /// The place after the step that has sent it; 0 for a message that was in flight at the beginning.
    pub sent: usize,
    /// The content of the message.
    pub text: String,
    /// Whether it is lost.
    pub lost: bool,
}

/// A message that is sent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sent {
    /// The sender.
    pub from: u32,
    /// The destination.
    pub to: u32,
    /// The content of the message.
    pub text: String,
}

/// A message in flight.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flying {
    /// The sender.
    pub from: u32,
    /// The destination.
    pub to: u32,
    /// The content of the message.
    pub text: String,
    /// The place after the step that has sent it; 0 for a message that was in flight at the beginning.
    pub sent: usize,
}

/// The state of the cluster at a place, and the events that are enabled there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct State {
    /// The step that led there.
    pub step: Step,
    /// The steps that were taken from there.
    pub children: Vec<Step>,
    /// The nodes.
    pub nodes: Vec<NodeState>,
    /// The messages in flight.
    pub flight: Vec<Flying>,
    /// The properties.
    pub standings: Vec<Standing>,
    /// The enabled events.
    pub enabled: Vec<Enabled>,
}

/// The state of a node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeState {
    /// The state, row by row, against that at the place before.
    pub rows: Vec<Row>,
    /// The fault that it is stuck in.
    pub stuck: Option<String>,
}

/// A row of a state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The nesting depth of the row.
    pub depth: usize,
    /// The change of the row: `same`, `changed`, `new` or `gone`.
    pub mark: &'static str,
    /// The name of the field; empty for an element of a list.
    pub name: String,
    /// The value; empty where it follows in rows below.
    pub value: String,
    /// The value before, of one that has changed.
    pub old: Option<String>,
}

/// The standing of a property.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standing {
    /// Its place among the properties.
    pub property: usize,
    /// The node, of a property of one node.
    pub node: Option<u32>,
    /// `holds`, `violated`, `owed`, `unknown`, `reached` or `not reached`.
    pub standing: &'static str,
    /// The reason.
    pub why: Option<String>,
}

/// An enabled event.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Enabled {
    /// Its number, which stays the same for a place.
    pub action: usize,
    /// The node at which it would happen.
    pub node: u32,
    /// The kind of the event.
    pub kind: EventKind,
    /// The event in words.
    pub text: String,
    /// One for each combination of choices.
    pub outcomes: Vec<Outcome>,
}

/// An outcome of an event.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Its number.
    pub outcome: usize,
    /// The choices, if there are any.
    pub text: Option<String>,
    /// The place that it leads to, if it was taken before.
    pub child: Option<usize>,
}

/// The effects of a step that was not taken.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Preview {
    /// The node of the step.
    pub node: u32,
    /// The state of that node afterwards, row by row, against that before.
    pub rows: Vec<Row>,
    /// The messages that it would send.
    pub sent: Vec<Sent>,
    /// The standings of the properties after it.
    pub standings: Vec<Standing>,
}

/// The place to which a request has led.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moved {
    /// The place.
    pub place: usize,
    /// The places to the end of the branch: from the beginning, or from the place at which an event was taken.
    pub line: Vec<usize>,
}

/// The difference of two places.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The number of steps that both share.
    pub shared: usize,
    /// The nodes that differ.
    pub nodes: Vec<NodeDifference>,
}

/// The difference in the state of a node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeDifference {
    /// The node.
    pub node: u32,
    /// The state at the second place, row by row, against that at the first.
    pub rows: Vec<Row>,
}

/// The properties along a branch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Strips {
    /// For each property a letter per place, of the node where it stands worst: h holds, v violated, o owed, u unknown, r reached, n not
    /// reached.
    pub strips: Vec<String>,
}

/// An explanation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Why {
    /// Sentences, a line each.
    pub text: String,
    /// The places that it is about.
    pub places: Vec<usize>,
}

/// An expression along a branch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Probe {
    /// Its number.
    pub probe: usize,
    /// The expression.
    pub expression: String,
    /// Its value at each place of the branch, from the requested step on, as many as there was time for; null where it has no value.
    pub values: Vec<Option<String>>,
}

/// A search from a place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Search {
    /// Its number.
    pub search: usize,
    /// The strategy.
    pub strategy: String,
    /// `running`, `stopped`, `done` or `failed`.
    pub state: &'static str,
    /// The last line of progress, or the verdict.
    pub text: String,
    /// The findings so far.
    pub findings: Vec<Finding>,
    /// The progress of a search by seeds.
    pub seeds: Option<Seeds>,
    /// Of a search that has found nothing: traces with different ends.
    pub representatives: Vec<Finding>,
}

/// The seeds of a search by seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Seeds {
    /// The number of requested seeds.
    pub asked: u64,
    /// The number of seeds that are done.
    pub done: u64,
    /// The number of those that end in a violation.
    pub violating: u64,
}

/// A finding of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The finding in words.
    pub text: String,
    /// The end of the branch that shows it.
    pub place: usize,
    /// That branch.
    pub line: Vec<usize>,
    /// Of a search by seeds: the number of seeds with this end. This finding is the shortest one.
    pub seeds: Option<u64>,
    /// Remarks on single steps of the branch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
}

/// The states within reach.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateMap {
    /// Whether these are all.
    pub complete: bool,
    /// The states, breadth first.
    pub states: Vec<MapState>,
    /// The steps between them.
    pub edges: Vec<MapEdge>,
    /// The state of the node at the place that was asked for, in the graph of one node.
    pub here: Option<usize>,
}

/// A state of the map.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MapState {
    /// The number of steps to it.
    pub level: u32,
    /// The properties that are violated in it.
    pub violated: Vec<usize>,
    /// The states of the nodes, a line each.
    pub local: String,
    /// The place of the state in this session, if it has one.
    pub place: Option<usize>,
}

/// A step of the map.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MapEdge {
    /// The state before.
    pub from: usize,
    /// The state after.
    pub to: usize,
    /// The node of the event.
    pub node: u32,
    /// The event in words.
    pub text: String,
}

/// The reason why a request is refused.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refusal {
    /// A lower-case phrase.
    pub error: String,
    /// A remedy.
    pub help: Option<String>,
}

#[cfg(test)]
mod tests;
