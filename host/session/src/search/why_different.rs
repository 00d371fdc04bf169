//! Local states of a node that are described in the same way and distinguished.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use host_model::contract::{Machine, MachineError, NodeId, Snapshot};
use host_model::lts::{LocalStateId, Lts, Step};
use host_sandbox::{Plugin, StatePlace};
use host_search::graph::{Discovery, GraphEdge, GraphSink, GraphState};
use host_search::kernel::EndCondition;
use serde::{Serialize, Serializer};
use serde_json::{Value as Json, json};

use crate::base::{Context, Failure};
use crate::cluster::Cluster;
use crate::search::states::{explore, why};
use crate::search::telling::{LocalStep, Teller};
use crate::spec::RunSpec;

/// The maximum number of bytes shown of a difference of encodings.
const SHOWN: usize = 8;

/// The place in which two distinguished local states differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DifferentPlace {
    /// In the output of `serialize`: the number of the first byte that differs, from 0 on, or of the first one that only one of them has.
    Encoding(usize),
    /// In the memory of the component, or in its globals.
    State(StatePlace),
}

impl fmt::Display for DifferentPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Encoding(byte) => write!(f, "byte {byte} of what `serialize` writes"),
            Self::State(place) => place.fmt(f),
        }
    }
}

impl Serialize for DifferentPlace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = match self {
            Self::Encoding(byte) => json!({ "in": "encoding", "byte": byte }),
            Self::State(StatePlace::Memory { memory, address, part }) => {
                json!({ "in": "memory", "memory": memory, "address": address, "part": part.map(|part| part.name()) })
            }
            Self::State(StatePlace::Global { instance, index, name }) => {
                json!({ "in": "global", "instance": instance, "index": index, "name": name })
            }
            Self::State(StatePlace::Size { memory, bytes }) => {
                json!({ "in": "size", "memory": memory, "bytes": bytes })
            }
        };
        json.serialize(serializer)
    }
}

/// Two local states of one node that are distinguished and described in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alike {
    /// The node, by its name.
    pub node: String,
    /// The component's description of the one that is met first, as JSON.
    pub description: String,
    /// The first place in which they differ.
    pub place: DifferentPlace,
    /// The bytes from there on in each, at most eight: fewer where an encoding ends.
    pub bytes: [Vec<u8>; 2],
    /// The events of a shortest way to each, in words, at all nodes.
    pub ways: [Vec<String>; 2],
}

/// The result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyDifferent {
    /// The first two such states in the order in which an exploration level by level meets them; if several are alike to the
    /// second, the one that is met first.
    pub found: Option<Alike>,
    /// The number of local states in the explored global states, over all nodes.
    pub local_states: u64,
    /// The number of them that are distinguished from an earlier one with the same description.
    pub alike: u64,
    /// The number of them that the component does not describe: it faults, or the node is stuck.
    pub undescribed: u64,
    /// The reason why there may be more, if there may.
    pub cut: Option<&'static str>,
}

/// Explores at most a number of states of a cluster, level by level, and looks for two local states of one node that are distinguished
/// although the component describes them in the same way. Descriptions are compared as JSON, in which the fields of an object have no
/// order.
///
/// Memory: the local states of each global state, and a description for each local state.
///
/// # Errors
///
/// The component does not describe its states, the request does not fit the cluster, or the host cannot provide an instance.
pub fn why_different(
    spec: &RunSpec,
    cluster: &Cluster,
    lts: &Lts<'_>,
    states_max: u64,
    context: &mut Context<'_>,
) -> Result<WhyDifferent, Failure> {
    let plugin = &cluster.plugin.plugin;
    if !plugin.describes() {
        let name = &cluster.plugin.reference.name;
        let failure = Failure::configuration(format_args!("`--why-different`: {name} does not describe its states"));
        return Err(failure.help("its component has to export the interface `describe`, which gives them as JSON"));
    }
    if cluster.placed().next().is_some() {
        let why = "`--why-different` looks at clusters whose nodes all run the plugin";
        return Err(Failure::configuration(why).help("name the component of the node as the plugin"));
    }
    let mut met = Met::default();
    let end = explore(spec, cluster, lts, &mut met, states_max, context)?;
    let mut machine = cluster.factory().machine()?;
    let mut described = BTreeMap::<(NodeId, String), (LocalStateId, u32)>::new();
    let (mut pair, mut alike, mut undescribed) = (None, 0, 0);
    for &(node, local, state) in &met.first {
        let current = lts.state(local);
        let Some(description) = describe(&mut *machine, current.protocol.snapshot.as_ref())? else {
            undescribed += 1;
            continue;
        };
        let earlier = *described.entry((node, comparable(&description))).or_insert((local, state));
        if lts.state(earlier.0).protocol.fingerprint != current.protocol.fingerprint {
            alike += 1;
            pair.get_or_insert((node, description, [earlier, (local, state)]));
        }
    }
    let mut found = None;
    if let Some((node, description, states)) = pair {
        let [one, other] = states.map(|(local, _)| lts.state(local).protocol.snapshot.clone());
        let snapshots = [one, other].map(|snapshot| snapshot.expect("what is described was restored"));
        let (place, bytes) = difference(plugin, &mut *machine, &snapshots)?;
        let mut teller = Teller::new(cluster, lts, met.locals(0))?;
        let ways = [met.way(&mut teller, states[0].1)?, met.way(&mut teller, states[1].1)?];
        found = Some(Alike { node: teller.names.of(node), description, place, bytes, ways });
    }
    let cut = (end != EndCondition::SpaceExhausted).then(|| why(end));
    Ok(WhyDifferent { found, local_states: met.first.len() as u64, alike, undescribed, cut })
}

/// The component's description of a state; none where it faults, or the node is stuck.
fn describe(machine: &mut dyn Machine, snapshot: Option<&Snapshot>) -> Result<Option<String>, MachineError> {
    let Some(snapshot) = snapshot else { return Ok(None) };
    machine.restore(Some(snapshot))?;
    machine.describe_state().or_else(|_| machine.confirm_fault().map(|()| None))
}

/// A text that is equal for equal descriptions. Numbers are equal if they are written in the same way, and so are descriptions that are
/// not JSON.
fn comparable(description: &str) -> String {
    serde_json::from_str::<Json>(description).map_or_else(
        |_| description.to_owned(),
        |mut json| {
            json.sort_all_objects();
            json.to_string()
        },
    )
}

/// The first difference in the data that distinguishes two states, with the bytes there.
fn difference(
    plugin: &Plugin,
    machine: &mut dyn Machine,
    [one, other]: &[Snapshot; 2],
) -> Result<(DifferentPlace, [Vec<u8>; 2]), MachineError> {
    if plugin.is_by_memory() {
        let found = plugin.difference(one, other)?.expect("states with different fingerprints differ");
        return Ok((DifferentPlace::State(found.place), found.bytes));
    }
    let mut encoding = |snapshot| {
        machine.restore(Some(snapshot))?;
        // The encoding was written when the state was met.
        machine.serialize().or_else(|_| machine.confirm_fault().map(|()| Vec::new()))
    };
    let encodings = [encoding(one)?, encoding(other)?];
    let at = first_difference(&encodings);
    Ok((DifferentPlace::Encoding(at), encodings.map(|bytes| bytes[at..].iter().take(SHOWN).copied().collect())))
}

/// The place of the first byte in which two encodings differ.
fn first_difference([one, other]: &[Vec<u8>; 2]) -> usize {
    one.iter().zip(other).position(|(one, other)| one != other).unwrap_or(one.len().min(other.len()))
}

/// The local states that an exploration meets, and the ways to them.
#[derive(Default)]
struct Met {
    /// Each local state of each node, with the global state in which it is met first, in the order of these states and then of the nodes.
    first: Vec<(NodeId, LocalStateId, u32)>,
    known: BTreeSet<(NodeId, LocalStateId)>,
    /// The discovery of each global state.
    discoveries: Vec<Discovery>,
    /// The local states of all global states, one after the other.
    all: Vec<LocalStateId>,
    nodes: usize,
}

impl Met {
    fn locals(&self, state: u32) -> &[LocalStateId] {
        self.all.get(state as usize * self.nodes..).map_or(&[], |rest| &rest[..self.nodes])
    }

    /// The events of a shortest way to a global state, in words.
    fn way(&self, teller: &mut Teller<'_>, mut state: u32) -> Result<Vec<String>, MachineError> {
        let mut words = Vec::new();
        while let Discovery::Step(from, Step { node, trigger, outcome }) = self.discoveries[state as usize] {
            words.push(teller.event(node, LocalStep { local: self.locals(from)[node as usize], trigger, outcome })?);
            state = from;
        }
        words.reverse();
        Ok(words)
    }
}

impl GraphSink for Met {
    fn state(&mut self, state: &GraphState<'_>) {
        self.nodes = state.locals.len();
        self.discoveries.push(state.discovery);
        self.all.extend(state.locals);
        for (node, local) in (0..).zip(state.locals) {
            if self.known.insert((node, *local)) {
                self.first.push((node, *local, state.number));
            }
        }
    }

    fn edge(&mut self, _: &GraphEdge<'_>) {}

    fn bytes(&self) -> u64 {
        let local = size_of::<(NodeId, LocalStateId, u32)>() + size_of::<(NodeId, LocalStateId)>();
        (size_of_val(&*self.discoveries) + size_of_val(&*self.all) + self.first.len() * local) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_compared_as_json() {
        let same = |one: &str, other: &str| comparable(one) == comparable(other);
        assert!(same(r#"{"a": 1, "b": [2, null]}"#, r#"{"b":[2,null],"a":1}"#), "fields have no order");
        assert!(!same("[1,2]", "[2,1]"), "lists have one");
        assert!(!same(r#"{"a":1}"#, r#"{"a":2}"#));
        assert!(!same("1", "\"1\""));
        // As floating-point numbers they would be the same.
        assert!(!same("36893488147419103232", "36893488147419103233"));
        assert!(same("0.5", "0.5") && !same("0.1", "0.1000000000000000000001"));
        assert!(same("no JSON", "no JSON") && !same("no JSON", "no  JSON"));
    }

    #[test]
    fn encodings_differ_where_one_of_them_ends() {
        let at = |one: &[u8], other: &[u8]| first_difference(&[one.to_vec(), other.to_vec()]);
        assert_eq!((at(b"abc", b"abd"), at(b"ab", b"abc"), at(b"abc", b""), at(b"xbc", b"abc")), (2, 2, 0, 0));
    }
}
