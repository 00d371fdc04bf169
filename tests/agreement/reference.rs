//! A search of the global states of a toy, written straight from the definition: no ids, no fingerprints, no
//! sharing. What every exact strategy is compared with.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use host_model::deadlock;
use host_model::machine::NodeId;
use host_model::scenario::{Faults, Link, Network};
use host_model::toy::{self, Toy, ToyOutcome, ToyState, ToyTrigger};

/// From which node to which.
type Channel = (NodeId, NodeId);

/// Something in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    /// A message with this content, which was sent when so many breaks of the connection were known, and can be delivered
    /// so many times.
    Message { content: u8, breaks: u32, times: u32 },
    /// The news that the connection is broken, for the n-th time.
    Notice { breaks: u32 },
}

/// A local state: what the protocol knows, what has gone wrong at the node, and its ends of the connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Local {
    /// What the toy knows; at a node that is stuck, the state in which it has trapped.
    pub state: ToyState,
    /// Whether the node has trapped.
    pub is_stuck: bool,
    /// Resets so far.
    pub resets: u32,
    /// Breaks so far that this node has begun.
    pub breaks: u32,
    /// Messages of the node that were refused so far.
    pub refusals: u32,
    /// For each node, how many breaks of the connection to it are known, and whether anything was sent or received over it
    /// since. Empty where connections cannot break.
    pub ends: Vec<(u32, bool)>,
}

/// The toys' states alone, of nodes that are not stuck.
pub fn states(locals: &[Local]) -> Vec<ToyState> {
    locals.iter().map(|local| local.state).collect()
}

/// What there is to explore: a toy, a network, and what can go wrong.
#[derive(Clone, Debug)]
pub struct System {
    /// The protocol.
    pub toy: Toy,
    /// How messages travel.
    pub network: Network,
    /// Links where they travel in another way; each one once.
    pub links: Vec<Link>,
    /// The budgets.
    pub faults: Faults,
}

impl System {
    /// A toy to which nothing happens, on an unordered network.
    pub fn new(toy: Toy) -> Self {
        Self { toy, network: Network::Unordered, links: Vec::new(), faults: Faults::default() }
    }

    fn network(&self, (from, to): Channel) -> Network {
        let mut links = self.links.iter();
        links.find(|link| (link.from, link.to) == (from, to)).map_or(self.network, |link| link.network)
    }

    fn is_ordered(&self, channel: Channel) -> bool {
        self.network(channel) == Network::Ordered
    }

    /// Whether some messages have an order.
    fn has_order(&self) -> bool {
        (0..self.toy.nodes).any(|from| (0..self.toy.nodes).any(|to| self.is_ordered((from, to))))
    }
}

/// A global state of a toy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Global {
    locals: Vec<Local>,
    /// What is in flight on each channel that is not empty: in the order of sending, or sorted where that does not matter.
    in_flight: BTreeMap<Channel, Vec<Item>>,
    /// Local events so far at each node; all zero without a bound on them.
    local_events: Vec<u32>,
}

impl Global {
    /// Sends an item, unless the destination knows already that it is lost.
    fn send(&mut self, system: &System, channel: Channel, item: Item) {
        let items = self.in_flight.entry(channel).or_default();
        items.push(item);
        if !system.is_ordered(channel) {
            items.sort_unstable();
        }
        self.drop_lost(system, channel.1);
    }

    /// A node sends messages.
    fn send_all(&mut self, system: &System, node: NodeId, sent: Vec<(NodeId, u8)>) {
        for (to, content) in sent {
            let breaks = match self.locals[node as usize].ends.get_mut(to as usize) {
                Some((breaks, is_open)) if system.is_ordered((node, to)) => {
                    *is_open = true;
                    *breaks
                }
                _ => 0,
            };
            let is_doubled = system.network((node, to)) == Network::UnorderedDuplicating;
            let times = 1 + if is_doubled { system.faults.duplicates } else { 0 };
            self.send(system, (node, to), Item::Message { content, breaks, times });
        }
    }

    /// Takes what a node can never take out of flight: messages over a connection that it knows to be broken since, and
    /// old news.
    fn drop_lost(&mut self, system: &System, node: NodeId) {
        let ends = &self.locals[node as usize].ends;
        for ((from, to), items) in &mut self.in_flight {
            let Some((known, _)) = ends.get(*from as usize).filter(|_| *to == node && system.is_ordered((*from, *to)))
            else {
                continue;
            };
            items.retain(|item| match item {
                Item::Message { breaks, .. } => breaks >= known,
                Item::Notice { breaks } => breaks > known,
            });
        }
        self.in_flight.retain(|_, items| !items.is_empty());
    }

    /// A node breaks its connection to a peer, who is still to be told.
    fn close(&mut self, system: &System, node: NodeId, peer: NodeId) {
        let end = &mut self.locals[node as usize].ends[peer as usize];
        *end = (end.0 + 1, false);
        self.drop_lost(system, node);
    }

    /// A node tells a peer that it has broken their connection.
    fn announce(&mut self, system: &System, node: NodeId, peer: NodeId) {
        let (breaks, _) = self.locals[node as usize].ends[peer as usize];
        if peer != node {
            self.send(system, (node, peer), Item::Notice { breaks });
        }
    }

    /// The state after a node's handler came to an end, before what is sent is sent.
    fn after(mut self, system: &System, node: NodeId, Resolution { next, sent, refused }: Resolution) -> Self {
        let local = &mut self.locals[node as usize];
        local.refusals += refused;
        match next {
            Some(next) => {
                local.state = next;
                self.send_all(system, node, sent);
            }
            // What was sent before the trap is never delivered.
            None => local.is_stuck = true,
        }
        self
    }

    /// Whether the execution ended here with a trap.
    fn is_over(&self) -> bool {
        self.locals.iter().any(|local| local.is_stuck)
    }
}

/// What happens at a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    /// The delivery of an item from this node, which stands at this position in its channel.
    Take(NodeId, Item, usize),
    /// The delivery of a quorum of this name, an item from each of these nodes.
    Quorum(u8, Vec<(NodeId, Item)>),
    /// A local event.
    Local(u8),
    /// A reset.
    Reset,
    /// The node breaks the connection to another one.
    Break(NodeId),
}

/// What a full search of a toy finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Number of distinct global states.
    pub global_states: u64,
    /// Number of edges between them.
    pub transitions: u64,
    /// The distinct tuples of local states.
    pub system_states: BTreeSet<Vec<Local>>,
    /// Number of edges that take more than one message.
    pub together: u64,
    /// Number of events on the shortest path to a forbidden system state.
    pub violation_depth: Option<u32>,
    /// The same for each of them, told apart by what the property reads: a state that no forbidden tuple names is 255.
    pub violations: BTreeMap<Vec<ToyState>, u32>,
    /// Number of events on the shortest path to the state that is farthest away.
    pub farthest: u32,
    /// Whether something can happen that a bound leaves out.
    pub is_cut: bool,
    /// By the node and the state in which it traps, the number of events on the shortest path to it, with the trap.
    pub traps: BTreeMap<(NodeId, ToyState), u32>,
    /// By the nodes that have crashed in a deadlock and those that are not done, the number of events on the shortest path to it.
    pub deadlocks: BTreeMap<(Vec<NodeId>, Vec<NodeId>), u32>,
}

/// A finding: the node, if it is about one, and its words.
pub type Words = (Option<NodeId>, String);

impl Reached {
    /// Number of events on the shortest path to a deadlock.
    pub fn deadlock_depth(&self) -> Option<u32> {
        self.deadlocks.values().min().copied()
    }

    /// All that a search has to find, and the number of events on the shortest path to each. Deadlocks only if they are asked
    /// for.
    pub fn findings(&self, nodes: u32, with_deadlocks: bool) -> BTreeMap<Words, u32> {
        let forbidden = self.violations.iter();
        let forbidden = forbidden.map(|(views, depth)| ((None, toy::forbidden_words(views)), *depth));
        let traps = self.traps.iter().map(|((node, state), depth)| ((Some(*node), toy::trap_words(*state)), *depth));
        let deadlocks = self.deadlocks.iter().filter(|_| with_deadlocks).map(|((crashed, waiting), depth)| {
            let answers: Vec<_> = (0..nodes).map(|node| Ok(!waiting.contains(&node))).collect();
            let words = deadlock::message(&answers, crashed).expect("some node is not done");
            ((None, words), *depth)
        });
        forbidden.chain(traps).chain(deadlocks).collect()
    }
}

/// Breadth-first search within the bounds; `None` if there are more than `states_max` global states.
pub fn search(
    system: &System,
    depth_max: Option<u32>,
    local_events_max: Option<u32>,
    states_max: usize,
) -> Option<Reached> {
    let mut seen: BTreeSet<Global> = starts(system).into_iter().collect();
    let mut queue: VecDeque<(Global, u32)> = seen.iter().map(|start| (start.clone(), 0)).collect();
    let mut reached = Reached::default();
    while let Some((global, depth)) = queue.pop_front() {
        reached.farthest = depth;
        reached.system_states.insert(global.locals.clone());
        if global.is_over() {
            // Nothing follows a trap, and it is all that there is to say.
            for (node, local) in (0..).zip(&global.locals).filter(|(_, local)| local.is_stuck) {
                reached.traps.entry((node, local.state)).or_insert(depth);
            }
            continue;
        }
        if system.toy.is_forbidden(&states(&global.locals)) {
            reached.violation_depth.get_or_insert(depth);
            let shown = |(node, local): (NodeId, &Local)| match system.toy.matters(node, local.state) {
                true => local.state,
                false => u8::MAX,
            };
            reached.violations.entry((0..).zip(&global.locals).map(shown).collect()).or_insert(depth);
        }
        if let Some(deadlock) = deadlock(system, &global) {
            reached.deadlocks.entry(deadlock).or_insert(depth);
        }
        let possible = happenings(system, &global, local_events_max);
        reached.is_cut |= local_events_max.is_some() && possible.len() < happenings(system, &global, None).len();
        if depth_max.is_some_and(|max| depth >= max) {
            let leads_on = |(node, happening): &(NodeId, Happening)| {
                !moves(system, &global, *node, happening, local_events_max.is_some()).is_empty()
            };
            reached.is_cut |= possible.iter().any(leads_on);
            continue;
        }
        for (node, happening) in possible {
            for next in moves(system, &global, node, &happening, local_events_max.is_some()) {
                reached.transitions += 1;
                reached.together += u64::from(matches!(&happening, Happening::Quorum(_, set) if set.len() > 1));
                if seen.insert(next.clone()) {
                    queue.push_back((next, depth + 1));
                }
            }
        }
        if seen.len() > states_max {
            return None;
        }
    }
    reached.global_states = seen.len() as u64;
    Some(reached)
}

/// The global states after `init`, one for each way in which the nodes can choose.
fn starts(system: &System) -> Vec<Global> {
    let nodes = system.toy.nodes as usize;
    let has_ends = system.has_order() && (system.faults.resets > 0 || system.faults.breaks > 0);
    let local = Local { ends: vec![(0, false); if has_ends { nodes } else { 0 }], ..Local::default() };
    let none = Global { locals: vec![local; nodes], in_flight: BTreeMap::new(), local_events: vec![0; nodes] };
    let mut starts = vec![none];
    for node in 0..system.toy.nodes {
        let begin = |start: &Global| -> Vec<Global> {
            let outcomes = system.toy.init(node).into_iter();
            outcomes.map(|outcome| start.clone().after(system, node, resolution(outcome))).collect()
        };
        starts = starts.iter().flat_map(begin).collect();
    }
    starts
}

/// The nodes that have crashed and those that are not done, if there are any of these while nothing is on its way to a node that
/// has not crashed, and no local event of it is possible, bound or not.
fn deadlock(system: &System, global: &Global) -> Option<(Vec<NodeId>, Vec<NodeId>)> {
    let can_go_on = |node: &NodeId| {
        let local = &global.locals[*node as usize];
        let is_addressed = global.in_flight.iter().any(|((_, to), items)| to == node && !items.is_empty());
        is_addressed || !system.toy.local_events(*node, local.state).is_empty()
    };
    let (crashed, others): (Vec<NodeId>, Vec<NodeId>) = (0..system.toy.nodes).partition(can_go_on);
    let waits = |node: &NodeId| !system.toy.done.contains(&(*node, global.locals[*node as usize].state));
    let waiting: Vec<NodeId> = others.into_iter().filter(waits).collect();
    (crashed.len() <= system.faults.crashes as usize && !waiting.is_empty()).then_some((crashed, waiting))
}

/// What can happen in a global state.
fn happenings(system: &System, global: &Global, local_events_max: Option<u32>) -> Vec<(NodeId, Happening)> {
    let mut found = Vec::new();
    for ((from, to), items) in &global.in_flight {
        let is_notice = |item: &Item| matches!(item, Item::Notice { .. });
        let next: Vec<usize> = match system.is_ordered((*from, *to)) {
            // Each content once.
            false => (0..items.len()).filter(|index| *index == 0 || items[*index] != items[*index - 1]).collect(),
            // The first, and the first notice.
            true => BTreeSet::from([Some(0), items.iter().position(is_notice)]).into_iter().flatten().collect(),
        };
        let is_alone = |index: &usize| role(system, global, *to, items[*index]) == Role::Alone;
        if global.locals[*to as usize].is_stuck {
            continue;
        }
        let next = next.into_iter().filter(is_alone);
        found.extend(next.map(|index| (*to, Happening::Take(*from, items[index], index))));
    }
    for node in (0..system.toy.nodes).filter(|node| !global.locals[*node as usize].is_stuck) {
        found.extend(quorums(system, global, node).into_iter().map(|quorum| (node, quorum)));
    }
    for (node, local) in (0..).zip(&global.locals).filter(|(_, local)| !local.is_stuck) {
        if local_events_max.is_none_or(|max| global.local_events[node as usize] < max) {
            let names = system.toy.local_events(node, local.state).into_iter();
            found.extend(names.map(|name| (node, Happening::Local(name))));
        }
        if local.resets < system.faults.resets {
            found.push((node, Happening::Reset));
        }
        if local.breaks < system.faults.breaks {
            let open = (0..).zip(&local.ends).filter(|(peer, (_, is_open))| *is_open && *peer != node);
            found.extend(open.map(|(peer, _)| (node, Happening::Break(peer))));
        }
    }
    found
}

/// How a node takes an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Alone,
    Held,
    /// As one of so many with this name.
    Member(u8, u32),
}

fn role(system: &System, global: &Global, node: NodeId, item: Item) -> Role {
    let Item::Message { content, .. } = item else { return Role::Alone };
    match system.toy.roles.get(&(node, global.locals[node as usize].state, content)) {
        None => Role::Alone,
        Some(None) => Role::Held,
        Some(Some((name, size))) => Role::Member(*name, *size),
    }
}

/// All quorums that a node can take: of all sets of the items in flight to it, those that are one.
fn quorums(system: &System, global: &Global, node: NodeId) -> Vec<Happening> {
    let items = global.in_flight.iter().filter(|((_, to), _)| *to == node);
    let items: BTreeSet<(NodeId, Item)> =
        items.flat_map(|((from, _), items)| items.iter().map(|item| (*from, *item))).collect();
    let is_member = |item: &(NodeId, Item)| matches!(role(system, global, node, item.1), Role::Member(..));
    let members: Vec<(NodeId, Item)> = items.into_iter().filter(is_member).collect();
    let mut found = Vec::new();
    for chosen in 1_u32..1 << members.len() {
        let set: Vec<(NodeId, Item)> =
            (0..).zip(&members).filter(|(bit, _)| chosen >> bit & 1 == 1).map(|(_, member)| *member).collect();
        let senders: BTreeSet<NodeId> = set.iter().map(|(from, _)| *from).collect();
        let Role::Member(name, size) = role(system, global, node, set[0].1) else { continue };
        let is_same = |(_, item): &(NodeId, Item)| role(system, global, node, *item) == Role::Member(name, size);
        if set.len() == size as usize && senders.len() == set.len() && set.iter().all(is_same) {
            found.push(Happening::Quorum(name, set));
        }
    }
    found
}

/// The global states that follow, in the order of the outcomes; those of a reset that changes nothing left out.
fn moves(system: &System, global: &Global, node: NodeId, happening: &Happening, is_counted: bool) -> Vec<Global> {
    let mut before = global.clone();
    let local = before.locals[node as usize].clone();
    let state = local.state;
    let is_open = |peer: NodeId| local.ends.get(peer as usize).is_some_and(|(_, is_open)| *is_open);
    // What comes out if the node does not hear of an error.
    let mut unheard = None;
    // Peers to be told of a break.
    let mut closed = Vec::new();
    // A node that begins anew traps, if it does, in the first state.
    let mut state_of_trap = state;
    let outcomes = match *happening {
        Happening::Quorum(name, ref set) => {
            let mut messages = Vec::new();
            for (from, item) in set {
                let items = before.in_flight.get_mut(&(*from, node)).expect("it is in flight");
                let index = items.iter().position(|other| other == item).expect("it is in flight");
                let Item::Message { content, breaks, times } = *item else { panic!("a notice is no member") };
                match times {
                    1 => drop(items.remove(index)),
                    times => items[index] = Item::Message { content, breaks, times: times - 1 },
                }
                items.sort_unstable();
                messages.push((*from, content));
            }
            before.in_flight.retain(|_, items| !items.is_empty());
            system.toy.quorum(node, state, name, &messages)
        }
        Happening::Take(from, item, index) => {
            let items = before.in_flight.get_mut(&(from, node)).expect("it is in flight");
            match item {
                Item::Notice { breaks } => {
                    items.drain(..=index);
                    before.locals[node as usize].ends[from as usize] = (breaks, false);
                    before.drop_lost(system, node);
                    unheard = Some(before.clone());
                    if is_open(from) { system.toy.outcomes(node, state, ToyTrigger::Error(from)) } else { Vec::new() }
                }
                Item::Message { content, breaks, times } => {
                    match times {
                        1 => drop(items.remove(index)),
                        times => items[index] = Item::Message { content, breaks, times: times - 1 },
                    }
                    if !system.is_ordered((from, node)) {
                        items.sort_unstable();
                    }
                    before.in_flight.retain(|_, items| !items.is_empty());
                    if let Some((_, is_open)) = before.locals[node as usize].ends.get_mut(from as usize)
                        && system.is_ordered((from, node))
                    {
                        *is_open = true;
                    }
                    system.toy.outcomes(node, state, ToyTrigger::Message(from, content))
                }
            }
        }
        Happening::Local(name) => {
            before.local_events[node as usize] += u32::from(is_counted);
            system.toy.outcomes(node, state, ToyTrigger::Local(name))
        }
        Happening::Reset => {
            before.locals[node as usize].resets += 1;
            closed.extend((0..system.toy.nodes).filter(|peer| is_open(*peer)));
            closed.iter().for_each(|peer| before.close(system, node, *peer));
            state_of_trap = 0;
            system.toy.reset(node, state)
        }
        Happening::Break(peer) => {
            before.locals[node as usize].breaks += 1;
            before.close(system, node, peer);
            closed.push(peer);
            let mut silent = before.clone();
            silent.announce(system, node, peer);
            unheard = Some(silent);
            system.toy.outcomes(node, state, ToyTrigger::Error(peer))
        }
    };
    let is_ignored = outcomes.contains(&ToyOutcome::Go(state, Vec::new()));
    // What `init` sends is never refused.
    let is_first = *happening == Happening::Reset && !system.toy.durable.contains_key(&(node, state));
    let left = if is_first { 0 } else { system.faults.refusals - local.refusals };
    let mut next = Vec::new();
    for resolution in outcomes.into_iter().flat_map(|outcome| resolutions(system, node, outcome, left)) {
        let breaks_nothing = before.locals[node as usize].ends == local.ends;
        let is_idle = resolution.next == Some(state) && resolution.sent.is_empty();
        if *happening == Happening::Reset && is_idle && breaks_nothing {
            continue;
        }
        let mut one = before.clone();
        if resolution.next.is_some() {
            closed.iter().for_each(|peer| one.announce(system, node, *peer));
        }
        one.locals[node as usize].state = state_of_trap;
        next.push(one.after(system, node, resolution));
    }
    // A handler that ignores the error does what one does that never hears of it.
    next.extend(unheard.filter(|_| !is_ignored));
    next
}

/// How an outcome ends if the transport refuses some of its messages.
#[derive(Clone, Debug)]
struct Resolution {
    /// The state; none if the node traps.
    next: Option<ToyState>,
    sent: Vec<(NodeId, u8)>,
    /// How many messages were refused.
    refused: u32,
}

/// An outcome where nothing is refused.
fn resolution(outcome: ToyOutcome) -> Resolution {
    match outcome {
        ToyOutcome::Go(next, sent) => Resolution { next: Some(next), sent, refused: 0 },
        ToyOutcome::Trap(sent) => Resolution { next: None, sent, refused: 0 },
    }
}

/// An outcome in all ways in which the transport can refuse up to `left` of its messages, in the order of the answers,
/// message by message.
fn resolutions(system: &System, node: NodeId, outcome: ToyOutcome, left: u32) -> Vec<Resolution> {
    let Resolution { next, sent, .. } = resolution(outcome);
    let mut found = vec![Resolution { next, sent: Vec::new(), refused: 0 }];
    for message in sent {
        let longer = |Resolution { next: now, sent, refused }: Resolution| {
            let taken = Resolution { next: now, sent: [&sent[..], &[message]].concat(), refused };
            let is_asked = system.toy.is_careful && refused < left;
            let instead = next.map(|next| system.toy.after_refusal(node, next));
            let dropped = is_asked.then_some(Resolution { next: instead, sent, refused: refused + 1 });
            std::iter::once(taken).chain(dropped)
        };
        found = found.into_iter().flat_map(longer).collect();
    }
    found
}

/// The configurations of a toy: executions up to the order of independent events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Configurations {
    /// How many there are.
    pub all: usize,
    /// In how many of them nothing more can happen.
    pub maximal: u64,
}

/// What happened at one node so far, with the outcomes. Which of several equal messages came does not matter.
type Sequence = Vec<(Happening, usize)>;

fn label(happening: Happening) -> Happening {
    let without_times = |item: Item| match item {
        Item::Message { content, breaks, .. } => Item::Message { content, breaks, times: 0 },
        notice @ Item::Notice { .. } => notice,
    };
    match happening {
        Happening::Quorum(name, set) => {
            Happening::Quorum(name, set.into_iter().map(|(from, item)| (from, without_times(item))).collect())
        }
        Happening::Take(from, item, _) => Happening::Take(from, without_times(item), 0),
        other => other,
    }
}

/// Counts the configurations; `None` if there are more than `all_max`. A trap only ends what happens at its node here: that
/// others go on all the same is what makes the orders of a trap and of independent events one configuration.
///
/// Two executions are reorderings of each other exactly if every node sees the same sequence of triggers and outcomes
/// in both: what a node sends depends on its sequence alone, and with identical messages delivered in the order of
/// sending, which delivery belongs to which sending does, too. So is the global state at the end: it is kept with the
/// sequences.
pub fn configurations(system: &System, local_events_max: Option<u32>, all_max: usize) -> Option<Configurations> {
    let empty = vec![Sequence::new(); system.toy.nodes as usize];
    // Executions from different starts are different.
    let starts = (0..).zip(starts(system)).map(|(index, start)| ((index, empty.clone()), start));
    let mut queue: VecDeque<((usize, Vec<Sequence>), Global)> = starts.collect();
    let mut seen: BTreeSet<(usize, Vec<Sequence>)> = queue.iter().map(|(sequences, _)| sequences.clone()).collect();
    let mut found = Configurations::default();
    while let Some(((start, sequences), global)) = queue.pop_front() {
        let mut is_maximal = true;
        for (node, happening) in happenings(system, &global, local_events_max) {
            let next = moves(system, &global, node, &happening, true);
            for (outcome, next) in next.into_iter().enumerate() {
                is_maximal = false;
                let mut longer = sequences.clone();
                longer[node as usize].push((label(happening.clone()), outcome));
                if seen.insert((start, longer.clone())) {
                    queue.push_back(((start, longer), next));
                }
            }
        }
        found.maximal += u64::from(is_maximal);
        if seen.len() > all_max {
            return None;
        }
    }
    found.all = seen.len();
    Some(found)
}
