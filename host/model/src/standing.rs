//! What is known about a node besides the state that its protocol keeps: what has gone wrong there, and its connections.
//!
//! A local state is what the protocol knows, its *content*, together with this. Handlers see the content alone, so they
//! are executed once for each content, and what follows for the local states is derived here, without a machine.
//! Faults are thereby events of one node like any other: what they depend on, and what they change, is in the local state
//! of that node and in messages. No strategy needs to know more about them.

use std::sync::Arc;

use crate::channels::Route;
use crate::fingerprint::Fingerprint;
use crate::lts::{FaultEvent, LocalState, LocalStateId, MessageId, Outcome, QuorumId, Tables, Trigger};
use crate::machine::{Choice, Envelope, Likelihood, NodeId};
use crate::scenario::{Network, Scenario};

/// What has gone wrong at a node, and how its connections are.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Standing {
    /// Resets so far.
    pub resets: u32,
    /// Breaks so far that this node has begun.
    pub breaks: u32,
    /// Messages so far that the transport of this node has refused.
    pub refusals: u32,
    /// Its ends of the connections to all nodes; none where connections cannot break.
    ends: Box<[End]>,
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct End {
    /// How often the connection was broken, as far as this end knows.
    incarnation: u32,
    /// Whether anything was sent or received since.
    is_open: bool,
}

impl Standing {
    /// At the start, with ends of the connections to so many nodes.
    pub fn new(nodes: usize) -> Self {
        Self { ends: vec![End::default(); nodes].into(), ..Self::default() }
    }

    /// Whether the local state is as good as its content.
    fn is_fresh(&self) -> bool {
        self.resets == 0 && self.breaks == 0 && self.refusals == 0 && self.ends.iter().all(|end| *end == End::default())
    }

    /// Whether connections can break.
    pub fn has_connections(&self) -> bool {
        !self.ends.is_empty()
    }

    /// How often the connection to a peer was broken, as far as this node knows.
    pub fn incarnation(&self, peer: NodeId) -> u32 {
        self.ends.get(peer as usize).map_or(0, |end| end.incarnation)
    }

    /// Whether anything was sent or received over the connection to a peer since it was broken last.
    pub fn is_open(&self, peer: NodeId) -> bool {
        self.ends.get(peer as usize).is_some_and(|end| end.is_open)
    }

    /// Something is sent or received; returns the incarnation.
    pub fn open(&mut self, peer: NodeId) -> u32 {
        let Some(end) = self.ends.get_mut(peer as usize) else { return 0 };
        end.is_open = true;
        end.incarnation
    }

    /// The connection breaks at this end; returns the new incarnation.
    pub fn close(&mut self, peer: NodeId) -> u32 {
        let Some(end) = self.ends.get_mut(peer as usize) else { return 0 };
        *end = End { incarnation: end.incarnation + 1, is_open: false };
        end.incarnation
    }

    /// The peer has broken the connection.
    pub fn learn(&mut self, peer: NodeId, incarnation: u32) {
        if let Some(end) = self.ends.get_mut(peer as usize) {
            *end = End { incarnation, is_open: false };
        }
    }

    /// The connections that a reset breaks, each with its new incarnation. Nobody else has to be told of the one of the node
    /// to itself, `me`.
    pub fn reset(&mut self, me: NodeId) -> Vec<(NodeId, u32)> {
        self.resets += 1;
        let open: Vec<NodeId> = (0..self.ends.len() as NodeId).filter(|peer| self.is_open(*peer)).collect();
        let closed: Vec<(NodeId, u32)> = open.into_iter().map(|peer| (peer, self.close(peer))).collect();
        closed.into_iter().filter(|(peer, _)| *peer != me).collect()
    }

    /// Notes the messages that the transport has refused in a handler; whether there was budget for them.
    pub fn refuse(&mut self, choices: &[Choice], rules: &Rules) -> bool {
        self.refusals += choices.iter().filter(|choice| choice.is_refusal()).count() as u32;
        self.refusals <= rules.refusals_max
    }

    /// Whether a node of this standing can take a message, if the order of those in flight does not forbid it.
    pub fn can_take(&self, route: &Route) -> bool {
        let known = self.incarnation(route.from);
        if route.is_loose() {
            return true;
        }
        if route.is_notice { route.incarnation > known } else { route.incarnation == known }
    }

    /// What a fingerprint is made of.
    fn words(&self) -> Vec<u32> {
        let ends = self.ends.iter().flat_map(|end| [end.incarnation, u32::from(end.is_open)]);
        [self.resets, self.breaks, self.refusals].into_iter().chain(ends).collect()
    }
}

/// What the network does and what can go wrong, for the derivation of steps.
#[derive(Clone, Debug)]
pub struct Rules {
    resets_max: u32,
    breaks_max: u32,
    /// How many messages of each node its transport can refuse.
    pub(crate) refusals_max: u32,
    /// How many nodes can have crashed where nothing can happen any more.
    pub(crate) crashes_max: u32,
    /// How often each message that is sent can be delivered, where links do not differ.
    copies: usize,
    nodes: u32,
    /// Whether messages have an order, somewhere at least.
    pub(crate) is_ordered: bool,
    /// Where links differ, for each sender and destination whether messages have an order, and how often each can be
    /// delivered; else empty.
    links: Box<[(bool, usize)]>,
    /// Whether the protocol wants to know of connections that break.
    hears_errors: bool,
}

impl Rules {
    /// The rules of a scenario for a protocol that hears of transport errors, or does not.
    pub fn new(scenario: &Scenario, hears_errors: bool) -> Self {
        let is_ordered = scenario.has_network(Network::Ordered);
        let copies_of = |network: Network| match network {
            Network::UnorderedDuplicating => 1 + scenario.faults.duplicates as usize,
            Network::Unordered | Network::Ordered => 1,
        };
        let pairs = (0..scenario.nodes).flat_map(|from| (0..scenario.nodes).map(move |to| (from, to)));
        let link = |(from, to)| {
            let network = scenario.network_of(from, to);
            (network == Network::Ordered, copies_of(network))
        };
        let links = if scenario.links.is_empty() { Box::default() } else { pairs.map(link).collect() };
        Self {
            resets_max: scenario.faults.resets,
            breaks_max: if is_ordered { scenario.faults.breaks } else { 0 },
            refusals_max: scenario.faults.refusals,
            crashes_max: scenario.faults.crashes,
            copies: copies_of(scenario.network),
            nodes: scenario.nodes,
            is_ordered,
            links,
            hears_errors,
        }
    }

    /// Whether a local state can be more than its content.
    pub(crate) fn has_standings(&self) -> bool {
        self.resets_max > 0 || self.breaks_max > 0 || self.refusals_max > 0
    }

    /// The link from one node to another, where links differ. A trace can name nodes that do not exist.
    fn link(&self, from: NodeId, to: NodeId) -> Option<(bool, usize)> {
        self.links.get(from as usize * self.nodes as usize + to as usize).copied()
    }

    /// How often each message from one node to another can be delivered.
    pub(crate) fn copies(&self, from: NodeId, to: NodeId) -> usize {
        self.link(from, to).map_or(self.copies, |(_, copies)| copies)
    }

    /// The lane of a message from one node to another, as far as it does not depend on the content: 0, or 1 where some links
    /// have an order and this one has not.
    pub(crate) fn lane(&self, from: NodeId, to: NodeId) -> u32 {
        u32::from(self.is_ordered && self.link(from, to).is_some_and(|(is_ordered, _)| !is_ordered))
    }

    /// Whether messages from one node to another have an order.
    pub(crate) fn is_in_order(&self, from: NodeId, to: NodeId) -> bool {
        self.is_ordered && self.lane(from, to) == 0
    }

    /// Where a message goes that a node of this standing sends. Its end of the connection opens, if there is one.
    pub(crate) fn route(&self, from: NodeId, to: NodeId, standing: &mut Standing) -> Route {
        let lane = self.lane(from, to);
        let incarnation = if lane > 0 { 0 } else { standing.open(to) };
        Route { from, to, incarnation, is_notice: false, lane }
    }

    /// The standing of a node before its first event.
    pub(crate) fn fresh(&self) -> Standing {
        let has_connections = self.is_ordered && (self.resets_max > 0 || self.breaks_max > 0);
        Standing::new(if has_connections { self.nodes as usize } else { 0 })
    }

    /// The faults that a node of this standing can still meet.
    pub(crate) fn faults(&self, me: NodeId, standing: &Standing) -> Vec<Trigger> {
        let mut faults = Vec::new();
        if standing.resets < self.resets_max {
            faults.push(Trigger::RESET);
        }
        if standing.breaks < self.breaks_max {
            let peers = (0..self.nodes).filter(|peer| *peer != me && standing.is_open(*peer));
            faults.extend(peers.map(Trigger::break_with));
        }
        faults
    }
}

/// A handler execution as the protocol knows it: by content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BareKey {
    /// Index of the content.
    pub(crate) content: u32,
    /// What makes the handler run.
    pub(crate) cause: BareCause,
}

/// What makes a handler run, as the protocol knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum BareCause {
    /// A message: the first one with its content.
    Message(MessageId),
    /// A quorum. Nothing but resets goes wrong where there are any, so its messages are the first ones with their contents.
    Quorum(QuorumId),
    /// A local event.
    Local(Trigger),
    /// `init`, with what the content makes durable.
    Reset,
    /// A transport error.
    Error(NodeId),
}

/// How such an execution ended.
#[derive(Clone, Debug)]
pub(crate) struct Bare {
    /// Index of the content afterwards.
    pub(crate) content: u32,
    pub(crate) sent: Vec<Envelope>,
    pub(crate) choices: Vec<Choice>,
    pub(crate) likelihood: Likelihood,
}

impl Bare {
    fn answers(&self) -> (Box<[Choice]>, Likelihood) {
        (self.choices.as_slice().into(), self.likelihood)
    }
}

/// An outcome to be.
struct Draft<'d> {
    before: &'d LocalState,
    /// The fingerprint of what is taken out of flight.
    consumed: Fingerprint,
    standing: Standing,
    /// Peers to be told of a break.
    notices: Vec<(NodeId, u32)>,
}

impl Tables {
    /// The handler that has to be executed for a step; none for a transport error that is lost.
    pub(crate) fn bare_key(&self, rules: &Rules, state: LocalStateId, trigger: Trigger) -> Option<BareKey> {
        let state = &self.states[state.0 as usize];
        let error =
            |peer: NodeId| (rules.hears_errors && state.standing.is_open(peer)).then_some(BareCause::Error(peer));
        let cause = match (trigger.message(), trigger.fault()) {
            (Some(message), _) => {
                let message = &self.messages[message.0 as usize];
                match message.is_notice {
                    true => error(message.from)?,
                    false => BareCause::Message(message.content),
                }
            }
            (None, Some(FaultEvent::Reset)) => BareCause::Reset,
            (None, Some(FaultEvent::Break(peer))) => error(peer)?,
            (None, None) => trigger.quorum().map_or(BareCause::Local(trigger), BareCause::Quorum),
        };
        Some(BareKey { content: state.content, cause })
    }

    /// The outcomes of a step whose handler was executed. A reset may have none: one that changes nothing does not
    /// happen.
    pub(crate) fn derive(&mut self, rules: &Rules, state: LocalStateId, trigger: Trigger) -> Vec<Outcome> {
        let key = self.bare_key(rules, state, trigger);
        let state = Arc::clone(&self.states[state.0 as usize]);
        let mut standing = state.standing.clone();
        let mut notices = Vec::new();
        let mut is_error = false;
        match (trigger.message(), trigger.fault()) {
            (Some(message), _) => {
                let route = self.messages[message.0 as usize].route();
                debug_assert!(standing.can_take(&route), "nobody asks for a delivery that is not possible");
                if route.is_notice {
                    standing.learn(route.from, route.incarnation);
                    is_error = true;
                } else if !route.is_loose() {
                    standing.open(route.from);
                }
            }
            (None, Some(FaultEvent::Reset)) => notices = standing.reset(state.node),
            (None, Some(FaultEvent::Break(peer))) => {
                standing.breaks += 1;
                notices.push((peer, standing.close(peer)));
                is_error = true;
            }
            (None, None) => {}
        }
        let consumed = self.consumed(trigger);
        let draft = Draft { before: &state, consumed, standing, notices };
        let bares = key.map(|key| Arc::clone(&self.bare[&key]));
        let mut outcomes = Vec::new();
        for bare in bares.iter().flat_map(|bares| bares.iter()) {
            // All connections of a node of no end are the same; one that was open has changed.
            let is_idle =
                bare.content == state.content && bare.sent.is_empty() && draft.standing.ends == state.standing.ends;
            if trigger == Trigger::RESET && is_idle {
                continue;
            }
            outcomes.extend(self.finish(rules, &draft, bare, false));
        }
        if is_error {
            let unheard =
                Bare { content: state.content, sent: Vec::new(), choices: Vec::new(), likelihood: Likelihood::CERTAIN };
            let lost = self.finish(rules, &draft, &unheard, true).expect("no message is refused where none is sent");
            // A handler that ignores the error does what one does that never hears of it.
            if !outcomes.iter().any(|heard: &Outcome| heard.delta == lost.delta) {
                outcomes.push(lost);
            }
        }
        outcomes
    }

    /// The fingerprint of what a trigger takes out of flight.
    pub(crate) fn consumed(&self, trigger: Trigger) -> Fingerprint {
        let fingerprint = |message: &MessageId| self.messages[message.0 as usize].fingerprint;
        match (trigger.message(), trigger.quorum()) {
            (Some(message), _) => fingerprint(&message),
            (_, Some(quorum)) => {
                self.quorums[quorum.0 as usize].iter().map(fingerprint).fold(0, Fingerprint::wrapping_add)
            }
            _ => 0,
        }
    }

    /// The outcomes of the first `init` of a node.
    pub(crate) fn derive_init(&mut self, rules: &Rules, node: NodeId, bares: &[Bare]) -> Vec<Outcome> {
        let mut outcomes = Vec::with_capacity(bares.len());
        for bare in bares {
            let mut standing = rules.fresh();
            if !standing.refuse(&bare.choices, rules) {
                continue;
            }
            let sent = self.send(rules, node, &mut standing, &bare.sent);
            let next = self.intern_standing(rules, bare.content, standing);
            outcomes.push(self.outcome(0, next, sent, bare.answers()));
        }
        outcomes
    }

    /// The outcome of an execution; none if the transport would refuse more messages than it may.
    fn finish(&mut self, rules: &Rules, draft: &Draft<'_>, bare: &Bare, is_lost: bool) -> Option<Outcome> {
        let mut standing = draft.standing.clone();
        if !standing.refuse(&bare.choices, rules) {
            return None;
        }
        let node = draft.before.node;
        let notices = draft.notices.iter().map(|(to, incarnation)| Route {
            from: node,
            to: *to,
            incarnation: *incarnation,
            is_notice: true,
            lane: 0,
        });
        let mut sent = Vec::new();
        // Nothing follows a fault of the guest, so nobody has to be told of a break.
        if self.contents[bare.content as usize].snapshot.is_some() {
            sent.extend(notices.map(|route| self.intern_message(route, &[])));
            sent.extend(self.send(rules, node, &mut standing, &bare.sent));
        }
        let next = self.intern_standing(rules, bare.content, standing);
        let before = draft.before.fingerprint.wrapping_add(draft.consumed);
        Some(Outcome { is_lost, ..self.outcome(before, next, sent.into(), bare.answers()) })
    }

    /// Messages on their way.
    pub(crate) fn send(
        &mut self,
        rules: &Rules,
        from: NodeId,
        standing: &mut Standing,
        sent: &[Envelope],
    ) -> Box<[MessageId]> {
        let mut messages = Vec::with_capacity(sent.len());
        for Envelope { to, payload } in sent {
            let route = rules.route(from, *to, standing);
            let message = self.intern_message(route, payload);
            messages.extend(std::iter::repeat_n(message, rules.copies(from, *to)));
        }
        messages.into()
    }

    /// The local state with this content and standing.
    fn intern_standing(&mut self, rules: &Rules, content: u32, standing: Standing) -> LocalStateId {
        let bare = &self.contents[content as usize];
        let fingerprint = match standing.is_fresh() {
            true => bare.fingerprint,
            false => crate::fingerprint::of_standing(bare.fingerprint, &standing.words()),
        };
        if let Some(id) = self.state_ids.get(&fingerprint) {
            return *id;
        }
        // Nothing happens any more at a node that is stuck in a fault of the guest.
        let is_stuck = bare.snapshot.is_none();
        let faults = if is_stuck { Box::default() } else { rules.faults(bare.node, &standing).into() };
        let state = LocalState {
            node: bare.node,
            fingerprint,
            encoding_bytes: bare.encoding_bytes,
            local_events: bare.local_events.clone(),
            faults,
            class: bare.class,
            judgements: bare.judgements.clone(),
            snapshot: bare.snapshot.clone(),
            content,
            standing,
        };
        self.intern_state(state)
    }
}
