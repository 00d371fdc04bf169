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

use serde::{Deserialize, Serialize};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resets_and_outages_are_restarts() {
        let none = Faults { breaks: 1, crashes: 1, losses: 1, ..Faults::default() };
        let all = [none, Faults { resets: 1, ..none }, Faults { outages: 1, ..none }];
        assert_eq!(all.map(|faults| faults.have_restarts()), [false, true, true]);
    }
}
