//! Moves global states from one local transition system to its sibling, by content.
//!
//! A search with bounded memory continues in an empty [sibling](Lts::sibling), takes its current states along, and drops
//! the rest. Ids of one local transition system mean nothing in another one.

use std::sync::{Arc, RwLockReadGuard, RwLockWriteGuard};

use rustc_hash::FxHashMap;

use crate::contract::{ClassId, NodeId};
use crate::lts::ids::{LocalStateId, MessageId};
use crate::lts::state::ProtocolState;
use crate::lts::system::Lts;
use crate::lts::tables::Tables;
use crate::scenario::fault_state::Rules;
use crate::scenario::{InFlight, Links, Route};

/// Moves local states and messages. Holds the locks of both local transition systems.
pub struct Mover<'l> {
    from: RwLockReadGuard<'l, Tables>,
    to: RwLockWriteGuard<'l, Tables>,
    /// The new ids of messages that were moved: thousands of copies of one can be in flight.
    messages: FxHashMap<MessageId, MessageId>,
    rules: &'l Rules,
}

impl<'l> Mover<'l> {
    /// A mover between two different siblings.
    pub fn new(from: &'l Lts<'_>, to: &'l Lts<'_>) -> Self {
        Self { from: from.read(), to: to.write(), messages: FxHashMap::default(), rules: &from.rules }
    }

    /// The id of a local state in the other sibling.
    pub fn local_state(&mut self, id: LocalStateId) -> LocalStateId {
        let state = Arc::clone(&self.from.states[id.0 as usize]);
        if let Some(known) = self.to.state_ids.get(&state.fingerprint) {
            return *known;
        }
        let protocol_state = self.translated(&state.protocol);
        let protocol_id = self.to.intern_protocol_state(protocol_state);
        self.to.intern_local_state(self.rules, protocol_id, state.fault_state.clone())
    }

    /// The messages in flight in the other sibling, in their order there, which depends on ids.
    pub fn in_flight(&mut self, messages: &InFlight<MessageId>) -> InFlight<MessageId> {
        let Self { from, to, messages: moved, .. } = self;
        let mut intern = |id: &MessageId| {
            let message = &from.messages[id.0 as usize];
            *moved.entry(*id).or_insert_with(|| to.intern_message(message.route(), &message.payload))
        };
        let ids: Vec<MessageId> = messages.iter().map(&mut intern).collect();
        let links = MovedLinks { tables: &self.to, is_ordered: self.rules.is_ordered };
        InFlight::of(&links, ids)
    }

    fn translated(&mut self, state: &ProtocolState) -> ProtocolState {
        let (from, to) = (&self.from, &mut self.to);
        let events = state.local_events.iter();
        let local_events = events.map(|id| to.intern_local_event(&from.local_events[id.0 as usize])).collect();
        let class = match state.class {
            ClassId::STUCK => ClassId::STUCK,
            class => {
                let views = from.classes[class.0 as usize].iter();
                let views = views.map(|view| Some(to.intern_view(&from.views[(*view)?.0 as usize]))).collect();
                to.intern_class(views)
            }
        };
        ProtocolState {
            node: state.node,
            fingerprint: state.fingerprint,
            encoding_bytes: state.encoding_bytes,
            local_events,
            class,
            judgements: state.judgements.clone(),
            owed: state.owed.clone(),
            snapshot: state.snapshot.clone(),
        }
    }
}

/// The links of messages that were moved.
struct MovedLinks<'t> {
    tables: &'t Tables,
    is_ordered: bool,
}

impl Links<MessageId> for MovedLinks<'_> {
    fn is_ordered(&self) -> bool {
        self.is_ordered
    }

    fn route(&self, item: &MessageId) -> Route {
        self.tables.messages[item.0 as usize].route()
    }

    fn incarnation(&self, _node: NodeId, _peer: NodeId) -> u32 {
        // Lost messages were taken out of flight before.
        0
    }

    fn rank(&self, item: &MessageId) -> u32 {
        item.0
    }
}
