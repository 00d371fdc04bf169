//! Quorum transitions and their refinement by senders ("quorum-split" of Bokor, Kinder, Serafini and Suri, "Efficient Model
//! Checking of Fault-Tolerant Distributed Protocols", DSN 2011): it is the same transition relation, and a partial-order
//! reduction that knows which nodes can enable which event benefits from it.
//!
//! The reductions are plain ones: in each state the events of a set of nodes such that nothing outside of it can enable
//! another event of these nodes (a persistent set). The enabling nodes are known from the messages that each local state can still send, or
//! from types of message ([`by_type`]). Such a search reaches every state without events: Godefroid,
//! "Partial-Order Methods for the Verification of Concurrent Systems", 1996, chapter 4.
//!
//! | module | what it holds |
//! |---|---|
//! | `by_type` | that reduction when it knows transitions by types of message, with quorum-split and reply-split |

mod by_type;

use std::collections::{BTreeMap, BTreeSet};

use host_model::contract::{MachineFactory, NodeId, Role};
use host_model::lts::{KindId, LocalStateId, Lts, MessageId, Stepper, Trigger};
use host_model::scenario::Scenario;
use host_model::trace::start;

use self::by_type::{Program, Split};

/// Local states, and messages in flight, sorted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Global {
    locals: Vec<LocalStateId>,
    in_flight: Vec<MessageId>,
}

/// The successor of an event at a node: its local state, and the messages sent.
type After = (LocalStateId, Box<[MessageId]>);

/// The nodes that take their next events, of those with this many events.
type Choose<'c> = &'c dyn Fn(&Stepper<'_>, &Global, &BTreeMap<NodeId, usize>) -> BTreeSet<NodeId>;

/// The states and events that a search has reached.
#[derive(Default)]
struct Explored {
    states: BTreeSet<Global>,
    /// States without events.
    ends: BTreeSet<Global>,
    /// By local state, the events there, and their successors.
    moves: BTreeMap<LocalStateId, BTreeMap<Trigger, BTreeSet<After>>>,
    /// The number of quorums taken.
    quorums: usize,
}

/// The form in which the reduction knows a quorum transition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// One transition, which every sender of a member can enable.
    Whole,
    /// One for each set of senders.
    Split,
}

/// The members in flight to a node, by quorum and sender.
type Members = BTreeMap<KindId, BTreeMap<NodeId, Vec<MessageId>>>;

fn distinct(messages: &[MessageId]) -> BTreeSet<MessageId> {
    messages.iter().copied().collect()
}

fn members(stepper: &mut Stepper<'_>, global: &Global, node: NodeId) -> Members {
    let mut found = Members::new();
    for message in distinct(&global.in_flight) {
        let (from, to) = (stepper.message(message).from, stepper.message(message).to);
        if to == node
            && let Role::Member(kind) = stepper.role(global.locals[node as usize], message).expect("a machine")
        {
            found.entry(kind).or_default().entry(from).or_default().push(message);
        }
    }
    found
}

/// The whole transition by its definition: of all sets of members those of the right size and of different senders.
fn whole(members: &BTreeMap<NodeId, Vec<MessageId>>, size: usize) -> BTreeSet<Vec<MessageId>> {
    let all: Vec<(NodeId, MessageId)> =
        members.iter().flat_map(|(from, messages)| messages.iter().map(|message| (*from, *message))).collect();
    let sets = (0_u32..1 << all.len()).map(|bits| (0..all.len()).filter(move |bit| bits >> bit & 1 == 1));
    let sets = sets.map(|set| set.map(|bit| all[bit]).collect::<Vec<_>>());
    let fits = |set: &Vec<(NodeId, MessageId)>| {
        set.len() == size && set.iter().map(|(from, _)| from).collect::<BTreeSet<_>>().len() == size
    };
    sets.filter(fits).map(|set| set.into_iter().map(|(_, message)| message).collect()).collect()
}

/// Its part for some senders: one message of each.
fn part(members: &BTreeMap<NodeId, Vec<MessageId>>, senders: &[NodeId]) -> Vec<Vec<MessageId>> {
    senders.iter().fold(vec![Vec::new()], |sets, sender| {
        let longer = |set: &Vec<MessageId>| {
            members[sender].iter().map(|message| set.iter().copied().chain([*message]).collect()).collect::<Vec<_>>()
        };
        sets.iter().flat_map(longer).collect()
    })
}

/// All sets of this many of the senders.
fn sets_of_senders(senders: &[NodeId], size: usize) -> Vec<Vec<NodeId>> {
    match (size, senders) {
        (0, _) => vec![Vec::new()],
        (_, []) => Vec::new(),
        (_, [first, rest @ ..]) => {
            let with = sets_of_senders(rest, size - 1).into_iter().map(|set| [vec![*first], set].concat());
            with.chain(sets_of_senders(rest, size)).collect()
        }
    }
}

/// The quorums of a node; checks that the parts are disjoint and together the whole.
fn quorums(stepper: &mut Stepper<'_>, global: &Global, node: NodeId) -> Vec<Trigger> {
    let mut found = Vec::new();
    for (kind, members) in members(stepper, global, node) {
        let size = stepper.known().kind(kind).size as usize;
        let senders: Vec<NodeId> = members.keys().copied().collect();
        let parts: Vec<Vec<MessageId>> =
            sets_of_senders(&senders, size).iter().flat_map(|senders| part(&members, senders)).collect();
        let union: BTreeSet<Vec<MessageId>> = parts.iter().cloned().collect();
        assert_eq!(union.len(), parts.len(), "the parts are disjoint");
        assert_eq!(union, whole(&members, size), "the parts are the whole");
        found.extend(parts.iter().map(|set| Trigger::deliver_quorum(stepper.quorum(set))));
    }
    found
}

/// The next events at a node, with their successors.
fn events(stepper: &mut Stepper<'_>, global: &Global, node: NodeId) -> Vec<(Trigger, LocalStateId, Box<[MessageId]>)> {
    let local = global.locals[node as usize];
    let mut triggers: Vec<Trigger> =
        stepper.state(local).protocol.local_events.iter().map(|event| Trigger::local(*event)).collect();
    for message in distinct(&global.in_flight) {
        let is_here = stepper.message(message).to == node;
        if is_here && stepper.role(local, message).expect("a machine") == Role::Alone {
            triggers.push(Trigger::deliver(message));
        }
    }
    triggers.extend(quorums(stepper, global, node));
    let mut found = Vec::new();
    for trigger in triggers {
        let row = stepper.step(local, trigger).expect("a machine");
        found.extend(stepper.outcomes(row).iter().map(|outcome| (trigger, outcome.next, outcome.sent.clone())));
    }
    found
}

/// The messages that a trigger takes.
fn taken(stepper: &Stepper<'_>, trigger: Trigger) -> Vec<MessageId> {
    let quorum = trigger.quorum().map(|quorum| stepper.known().quorum(quorum).to_vec());
    trigger.message().map(|message| vec![message]).or(quorum).unwrap_or_default()
}

fn after(
    stepper: &Stepper<'_>,
    global: &Global,
    node: NodeId,
    (trigger, next, sent): &(Trigger, LocalStateId, Box<[MessageId]>),
) -> Global {
    let mut after = global.clone();
    for message in taken(stepper, *trigger) {
        let index = after.in_flight.iter().position(|other| *other == message).expect("it is in flight");
        after.in_flight.remove(index);
    }
    after.in_flight.extend(sent);
    after.in_flight.sort_unstable();
    after.locals[node as usize] = *next;
    after
}

/// A search of the events of the nodes that are chosen in each state; none if it has more than `states_max` states.
fn search(stepper: &mut Stepper<'_>, states_max: usize, choose: Choose<'_>) -> Option<Explored> {
    let starts = start::initial(stepper).expect("it starts");
    let mut found = Explored::default();
    let mut stack: Vec<Global> =
        starts.into_iter().map(|start| Global { locals: start.locals, in_flight: start.in_flight.to_vec() }).collect();
    found.states.extend(stack.iter().cloned());
    while let Some(global) = stack.pop() {
        let nodes = 0..global.locals.len() as NodeId;
        let all: BTreeMap<NodeId, Vec<_>> = nodes.map(|node| (node, events(stepper, &global, node))).collect();
        let enabled: BTreeMap<NodeId, usize> =
            all.iter().map(|(node, events)| (*node, events.len())).filter(|(_, count)| *count > 0).collect();
        if enabled.is_empty() {
            found.ends.insert(global);
            continue;
        }
        for node in choose(stepper, &global, &enabled) {
            for event in &all[&node] {
                found.quorums += usize::from(event.0.quorum().is_some());
                let moves = found.moves.entry(global.locals[node as usize]).or_default();
                moves.entry(event.0).or_default().insert((event.1, event.2.clone()));
                let next = after(stepper, &global, node, event);
                if found.states.insert(next.clone()) {
                    stack.push(next);
                }
            }
        }
        if found.states.len() > states_max {
            return None;
        }
    }
    Some(found)
}

/// The messages that each local state can still send, itself or later.
fn outlook(explored: &Explored) -> BTreeMap<LocalStateId, BTreeSet<MessageId>> {
    let mut sends: BTreeMap<LocalStateId, BTreeSet<MessageId>> = BTreeMap::new();
    loop {
        let mut has_changed = false;
        for (local, moves) in &explored.moves {
            let mut more = sends.get(local).cloned().unwrap_or_default();
            let before = more.len();
            for (next, sent) in moves.values().flatten() {
                more.extend(sent.iter().copied());
                more.extend(sends.get(next).into_iter().flatten().copied());
            }
            has_changed |= more.len() > before;
            sends.insert(*local, more);
        }
        if !has_changed {
            return sends;
        }
    }
}

/// The nodes without which nothing new can be enabled at one of them, and with them those that can enable it, and so on.
fn closed(
    stepper: &Stepper<'_>,
    global: &Global,
    (explored, sends): (&Explored, &BTreeMap<LocalStateId, BTreeSet<MessageId>>),
    seed: NodeId,
    form: Form,
) -> BTreeSet<NodeId> {
    let mut nodes = BTreeSet::from([seed]);
    loop {
        let mut wanted: Vec<BTreeSet<NodeId>> = Vec::new();
        for node in &nodes {
            let triggers = explored.moves.get(&global.locals[*node as usize]).into_iter().flat_map(BTreeMap::keys);
            for trigger in triggers {
                let mut missing = taken(stepper, *trigger);
                missing.retain(|message| global.in_flight.binary_search(message).is_err());
                let sender = |message: &MessageId| stepper.message(*message).from;
                let can_come = |message: &MessageId| {
                    let local = global.locals[sender(message) as usize];
                    sends.get(&local).is_some_and(|sent| sent.contains(message))
                };
                match form {
                    Form::Whole => {
                        let coming = missing.iter().filter(|message| can_come(message));
                        wanted.extend(coming.map(|message| BTreeSet::from([sender(message)])));
                    }
                    // Without any one of its messages it stays disabled.
                    Form::Split if missing.is_empty() || !missing.iter().all(can_come) => {}
                    Form::Split => wanted.push(missing.iter().map(sender).collect()),
                }
            }
        }
        wanted.retain(|any| any.is_disjoint(&nodes));
        // The node that is in most of them.
        let candidates: BTreeSet<NodeId> = wanted.iter().flatten().copied().collect();
        let best = candidates.into_iter().max_by_key(|node| wanted.iter().filter(|any| any.contains(node)).count());
        match best {
            Some(node) => nodes.insert(node),
            None => return nodes,
        };
    }
}

/// The number of states of a system and the numbers that the reductions visit.
pub struct Compared {
    /// States without a reduction.
    pub all: usize,
    /// States by the messages that each local state can still send, without and with the split.
    pub by_outlook: [usize; 2],
    /// States by types of message: without splits, with quorum-split, with reply-split, with both.
    pub by_type: [usize; 4],
    /// Number of times that a quorum was taken.
    pub quorums: usize,
}

/// Nothing, quorums, replies, both.
const SPLITS: [Split; 4] = [
    Split { quorums: false, replies: false },
    Split { quorums: true, replies: false },
    Split { quorums: false, replies: true },
    Split { quorums: true, replies: true },
];

/// Explores a system completely and by each reduction; checks that none loses an end. None if it has more than `states_max` states.
///
/// # Panics
///
/// If a reduction loses an end or visits a state that is not reachable, which its callers test, or if the machines fail.
pub fn compare(factory: &dyn MachineFactory, scenario: Scenario, states_max: usize) -> Option<Compared> {
    let lts = Lts::new(factory, scenario).expect("it lists its properties");
    let mut stepper = Stepper::new(&lts).expect("there are machines");
    let all = search(&mut stepper, states_max, &|_, _, enabled| enabled.keys().copied().collect())?;
    let mut visited = |nodes: &dyn Fn(&Stepper<'_>, &Global, NodeId) -> BTreeSet<NodeId>| {
        let found = search(&mut stepper, states_max, &|stepper, global, enabled| {
            let sets = enabled.keys().map(|seed| nodes(stepper, global, *seed));
            let events = |set: &BTreeSet<NodeId>| -> usize { set.iter().filter_map(|node| enabled.get(node)).sum() };
            let best = sets.min_by_key(events).expect("something is enabled");
            best.into_iter().filter(|node| enabled.contains_key(node)).collect()
        });
        let found = found.expect("a reduction has no more states");
        assert!(found.states.is_subset(&all.states), "what is reduced is reachable");
        assert_eq!(found.ends, all.ends, "every end is reached");
        found.states.len()
    };
    let sends = outlook(&all);
    let by_outlook = [Form::Whole, Form::Split]
        .map(|form| visited(&|stepper, global, seed| closed(stepper, global, (&all, &sends), seed, form)));
    let programs = SPLITS.map(|split| Program::new(&Stepper::new(&lts).expect("there are machines"), &all, split));
    let by_type = programs.map(|program| visited(&|stepper, global, seed| program.stubborn(stepper, global, seed)));
    Some(Compared { all: all.states.len(), by_outlook, by_type, quorums: all.quorums })
}
