//! The faults: a description of each in a file of its own, and the table of them.
//!
//! The description of a fault defines everything about it: options, the keys of scenarios and traces, fault
//! states, steps of the local transition system, replays, reports and drawings are derived from it.
//!
//! | module | fault |
//! |---|---|
//! | `resets` | a node restarts with its durable state |
//! | `duplicates` | a message is delivered again |
//! | `breaks` | a connection breaks |
//! | `refusals` | the transport of a node refuses a message |
//! | `crashes` | a node stops and never comes back |
//! | `losses` | a message is lost |
//! | `outages` | a node restarts with the durable state that was synced |
//! | `partitions` | connections between parts of the cluster break: a number of breaks of each node |

use serde::{Deserialize, Serialize, Serializer};

use crate::contract::NodeId;
use crate::scenario::link::Network;

mod breaks;
mod crashes;
mod duplicates;
mod losses;
mod outages;
mod partitions;
mod refusals;
mod resets;

pub use partitions::{NAME as PARTITIONS, are_counted_in as partitions_are_counted_in};

/// The table, and a number for each fault in it, by its name.
macro_rules! table {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        const COUNT: usize = [$(stringify!($name)),+].len();
        static FAULTS: [(&str, FaultDescription); COUNT] = [$((stringify!($name), $name::FAULT)),+];

        /// A number for each fault: its budget, or its count so far.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct Faults {
            $($(#[doc = $doc])+ #[serde(skip_serializing_if = "is_zero", with = "budget")] pub $name: u32,)+
        }

        impl Faults {
            /// Each fault with its number, in the order of the table.
            pub fn iter(&self) -> impl Iterator<Item = (FaultId, u32)> + use<> {
                (0..).map(FaultId).zip([$(self.$name),+])
            }

            /// The number of a fault.
            pub fn of(&self, fault: FaultId) -> u32 {
                [$(self.$name),+][fault.0 as usize]
            }

            /// The number of a fault, as a mutable reference.
            pub fn of_mut(&mut self, fault: FaultId) -> &mut u32 {
                [$(&mut self.$name),+].into_iter().nth(fault.0 as usize).expect("it is a place in the table")
            }
        }
    };
}

// A checkpoint refers to faults by their places, so a new row must come last.
table! {
    /// Resets of each node.
    resets,
    /// Maximum number of additional deliveries of a message.
    duplicates,
    /// Breaks of connections that each node begins.
    breaks,
    /// Messages of each node that its transport refuses.
    refusals,
    /// Nodes that stop and never come back.
    crashes,
    /// Messages to each node that are lost.
    losses,
    /// Power outages of each node.
    outages,
}

/// The description of a fault.
#[derive(Clone, Copy, Debug)]
pub struct FaultDescription {
    /// Its budget.
    pub budget: Budget,
    /// Its default budget, if a link has the network that it needs.
    pub by_default: u32,
    /// The network without which it cannot happen.
    pub needs: Option<Need>,
    /// The properties that can depend on it.
    pub shows: Shows,
    /// Its form as an event of a node; none if it only changes other events.
    pub event: Option<NodeFault>,
}

/// A budget, with its words for people.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The help of its option.
    pub help: &'static str,
    /// The unit that it counts, such as `reset`.
    pub one: &'static str,
    /// The owner of such a budget.
    pub scope: Scope,
    /// Whether it can be [unlimited](Faults::UNLIMITED): then faults are not counted.
    pub may_be_unlimited: bool,
    /// The messages that it loses, if any.
    pub loses: Option<Loses>,
    /// Its use in simulated runs.
    pub in_simulations: InSimulations,
}

/// The form of a fault in simulated runs, and in the processes of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InSimulations {
    /// Conditions of the runs replace its budget.
    ByConditions,
    /// Conditions of the runs cause it, within its budget.
    WithinBudget,
    /// A process is killed and starts again, within its budget.
    AsRestart,
    /// The same, if the protocol calls `sync`: then a kill loses writes that were not synced.
    AsOutage,
    /// A connection breaks, by itself or in place of a message that steering filters.
    AsBreak,
}

impl InSimulations {
    /// Whether a process starts again.
    pub fn is_restart(self) -> bool {
        matches!(self, Self::AsRestart | Self::AsOutage)
    }
}

/// The messages that a fault loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loses {
    /// Any message in flight.
    Any,
    /// Messages of connections, which exist only on ordered links.
    OfConnections,
}

/// The properties that a fault can change: a search without it has covered all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// Any property.
    Anywhere,
    /// Ends only.
    InEnds,
    /// Ends, and `eventually` properties; on ordered links, any property.
    InWhatFollows,
    /// Any property, of a protocol that calls `sync`.
    WithSync,
    /// Unknown: it depends on a plugin's questions to its transport, which no interface declares.
    NotKnown,
}

/// The owner of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Each node: its fault state counts.
    Node,
    /// Each message.
    Message,
    /// The cluster.
    Cluster,
}

/// A network that a fault needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The network.
    pub network: Network,
    /// The reason why others do not suffice: a phrase that continues after the name of one.
    pub otherwise: &'static str,
}

/// A fault as an event of a node.
#[derive(Clone, Copy, Debug)]
pub struct NodeFault {
    /// Its kind in traces.
    pub kind: &'static str,
    /// The action of the node, for people; followed by its peer if there is one.
    pub words: &'static str,
    /// Its effect. A step that would change only the count of the fault does not happen.
    pub effect: Effect,
}

/// The part of the durable state that a restart leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// All that handlers have written.
    Everything,
    /// All until some handler since the last `sync`.
    Synced,
}

/// The effect of a fault on a node.
#[derive(Clone, Copy, Debug)]
pub enum Effect {
    /// All its connections break, and it restarts: `init` runs with this part of the durable state.
    Restart(Keeps),
    /// The connection to a peer, named by the event, breaks: `handle-transport-error` runs, or the error is lost.
    Disconnect,
}

/// A fault of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FaultId(u8);

impl FaultId {
    /// The fault at this place of the table, if there is one.
    pub(crate) fn at(place: u32) -> Option<Self> {
        u8::try_from(place).ok().filter(|place| usize::from(*place) < COUNT).map(Self)
    }

    /// Its place in the table.
    pub(crate) fn place(self) -> u32 {
        self.0.into()
    }

    /// The name of its budget, in the option and in the keys.
    pub fn name(self) -> &'static str {
        FAULTS[self.0 as usize].0
    }

    /// Its description.
    pub fn description(self) -> &'static FaultDescription {
        &FAULTS[self.0 as usize].1
    }

    /// Whether each node has a budget.
    pub(crate) fn is_of_node(self) -> bool {
        self.description().budget.scope == Scope::Node
    }

    /// Whether it breaks connections. No event of a node breaks one twice.
    pub fn breaks_connections(self) -> bool {
        self.description().event.is_some()
    }
}

impl Faults {
    /// The maximum of each. Larger budgets make no sense, and each duplicate of a message costs memory.
    pub const MAX: u32 = 100;

    /// A budget without a limit.
    pub const UNLIMITED: u32 = u32::MAX;

    /// The default budgets, on links of some networks.
    pub fn by_default(has_network: impl Fn(Network) -> bool) -> Self {
        let mut faults = Self::default();
        for (fault, _) in Self::default().iter() {
            let description = fault.description();
            if description.needs.is_none_or(|need| has_network(need.network)) {
                *faults.of_mut(fault) = description.by_default;
            }
        }
        faults
    }

    /// Whether all budgets are 0.
    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }

    /// Whether nodes can restart.
    pub fn have_restarts(&self) -> bool {
        let mut possible = self.iter().filter(|(_, number)| *number > 0).map(|(fault, _)| fault.description());
        possible.any(|fault| fault.event.is_some_and(|event| matches!(event.effect, Effect::Restart(_))))
    }

    /// Maximum number of times that such faults of a node break one of its connections.
    pub fn breaks_of_connections(&self) -> u32 {
        self.iter().filter(|(fault, _)| fault.breaks_connections()).map(|(_, number)| number).sum()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The written form of budgets: a number or a word.
pub mod budget {
    use std::fmt;

    use serde::de::{Error, Visitor};
    use serde::{Deserializer, Serialize, Serializer};

    use super::Faults;

    /// The written form of a budget without a limit.
    pub const UNLIMITED: &str = "unlimited";

    /// A budget for people.
    pub fn words(number: u32) -> String {
        match number {
            Faults::UNLIMITED => UNLIMITED.to_owned(),
            number => number.to_string(),
        }
    }

    /// Writes a budget.
    ///
    /// # Errors
    ///
    /// The serializer fails.
    pub fn serialize<S: Serializer>(number: &u32, serializer: S) -> Result<S::Ok, S::Error> {
        match *number {
            Faults::UNLIMITED => UNLIMITED.serialize(serializer),
            number => number.serialize(serializer),
        }
    }

    /// Reads a budget.
    ///
    /// # Errors
    ///
    /// The value is no budget.
    pub fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<u32, D::Error> {
        struct NumberOrWord;
        impl Visitor<'_> for NumberOrWord {
            type Value = u32;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a number or \"{UNLIMITED}\"")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<u32, E> {
                let small = u32::try_from(number).ok().filter(|number| *number != Faults::UNLIMITED);
                small.ok_or_else(|| E::custom(format_args!("{number} is too large")))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<u32, E> {
                match text {
                    UNLIMITED => Ok(Faults::UNLIMITED),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(NumberOrWord)
    }
}

/// The budgets that a user can set, by name.
pub fn budgets() -> impl Iterator<Item = (&'static str, &'static Budget)> {
    FAULTS.iter().map(|(name, fault)| (*name, &fault.budget)).chain([(PARTITIONS, &partitions::BUDGET)])
}

/// A fault that is an event of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct FaultEvent {
    #[serde(rename = "kind", serialize_with = "kind")]
    id: FaultId,
    /// The node at the other end of the connection that breaks; none if the node restarts.
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<NodeId>,
    /// The number of latest changes of the durable map that are lost.
    #[serde(skip_serializing_if = "is_zero")]
    unsynced: u32,
    /// The number of the disk that it leaves where any unsynced writes can be lost; 0 for all of them.
    #[serde(skip_serializing_if = "is_zero")]
    disk: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn kind<S: Serializer>(id: &FaultId, serializer: S) -> Result<S::Ok, S::Error> {
    id.description().event.map(|event| event.kind).serialize(serializer)
}

impl FaultEvent {
    /// The event of this fault, with this peer or none; none if the fault has no such event.
    pub(crate) fn new(id: FaultId, peer: Option<NodeId>) -> Option<Self> {
        let has_peer = matches!(id.description().event?.effect, Effect::Disconnect);
        (has_peer == peer.is_some()).then_some(Self { id, peer, unsynced: 0, disk: 0 })
    }

    /// The same event, which loses this many of the latest changes of the durable map; none if it loses no writes.
    pub fn losing(self, unsynced: u32) -> Option<Self> {
        (unsynced == 0 || self.loses_writes()).then_some(Self { unsynced, ..self })
    }

    /// The same event, which leaves the disk with this number, 0 for all writes; none if it loses no writes.
    pub fn leaving(self, disk: u32) -> Option<Self> {
        (disk == 0 || self.loses_writes()).then_some(Self { disk, ..self })
    }

    /// Whether it can lose changes of the durable map.
    pub fn loses_writes(self) -> bool {
        matches!(self.event().effect, Effect::Restart(Keeps::Synced))
    }

    /// The number of latest changes of the durable map that it loses: the maps since the last `sync`, each counted once.
    pub fn unsynced(self) -> u32 {
        self.unsynced
    }

    /// The number of the disk that it leaves where any of the unsynced writes can be lost, as [semantics](crate::scenario::OutageWrites)
    /// define it; 0 if no write is lost in this way.
    pub fn disk(self) -> u32 {
        self.disk
    }

    /// The event of this kind, with this peer or none; none if there is no such event.
    pub fn of_kind(kind: &str, peer: Option<NodeId>) -> Option<Self> {
        let events = Faults::default().iter().filter_map(|(id, _)| Self::new(id, peer));
        events.into_iter().find(|event| event.kind() == kind)
    }

    /// The kill and restart of a process.
    pub fn restart() -> Self {
        Self::in_simulations(InSimulations::AsRestart, None).expect("the table has a restart, which a test holds")
    }

    /// The kill and restart of a process that loses this many of the latest changes of its durable map.
    pub fn outage(unsynced: u32) -> Self {
        let outage = Self::in_simulations(InSimulations::AsOutage, None).and_then(|outage| outage.losing(unsynced));
        outage.expect("the table has an outage, which a test holds")
    }

    /// Whether the node restarts.
    pub fn is_restart(self) -> bool {
        matches!(self.event().effect, Effect::Restart(_))
    }

    /// The break of the connection to a peer.
    pub fn disconnect(peer: NodeId) -> Self {
        Self::in_simulations(InSimulations::AsBreak, Some(peer)).expect("the table has a break, which a test holds")
    }

    /// The event with this form in simulations, with this peer or none.
    fn in_simulations(way: InSimulations, peer: Option<NodeId>) -> Option<Self> {
        let mut ids = Faults::default().iter().map(|(id, _)| id);
        ids.find(|id| id.description().budget.in_simulations == way).and_then(|id| Self::new(id, peer))
    }

    /// The fault.
    pub fn id(self) -> FaultId {
        self.id
    }

    /// The node at the other end of the connection that breaks; none if the node restarts.
    pub fn peer(self) -> Option<NodeId> {
        self.peer
    }

    /// Its kind in traces.
    pub fn kind(self) -> &'static str {
        self.event().kind
    }

    /// The action in words, to be followed by the peer if there is one.
    pub fn words(self) -> &'static str {
        self.event().words
    }

    /// The same with other names of nodes.
    #[must_use]
    pub fn renamed(self, name: impl FnOnce(NodeId) -> NodeId) -> Self {
        Self { peer: self.peer.map(name), ..self }
    }

    fn event(self) -> &'static NodeFault {
        self.id.description().event.as_ref().expect("it was made of an event")
    }
}

impl std::fmt::Display for FaultEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.peer {
            Some(peer) => write!(f, "{} node {peer}", self.event().words),
            None => f.write_str(self.event().words),
        }?;
        match self.unsynced {
            0 if self.disk > 0 => write!(f, " and some unsynced entries (disk {})", self.disk),
            0 => Ok(()),
            1 => f.write_str(" and its latest write"),
            more => write!(f, " and its {more} latest writes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A simulation has one event for each way of a fault.
    #[test]
    fn a_simulation_has_one_restart_one_outage_and_one_break() {
        for way in [InSimulations::AsRestart, InSimulations::AsOutage, InSimulations::AsBreak] {
            assert_eq!(FAULTS.iter().filter(|(_, fault)| fault.budget.in_simulations == way).count(), 1, "{way:?}");
        }
        let (restart, broken) = (FaultEvent::restart(), FaultEvent::disconnect(3));
        assert_eq!((restart.kind(), restart.peer()), ("reset", None));
        assert_eq!((broken.kind(), broken.peer()), ("break", Some(3)));
        let outage = FaultEvent::outage(2);
        assert_eq!((outage.kind(), outage.peer(), outage.unsynced()), ("outage", None, 2));
        assert_eq!([restart, broken, outage].map(FaultEvent::is_restart), [true, false, true]);
    }

    #[test]
    fn resets_and_outages_are_restarts() {
        let none = Faults { breaks: 1, crashes: 1, losses: 1, ..Faults::default() };
        let all = [none, Faults { resets: 1, ..none }, Faults { outages: 1, ..none }];
        assert_eq!(all.map(|faults| faults.have_restarts()), [false, true, true]);
    }
}
