//! The knowledge of nodes about runs whose connections break, against a naive reference.

use host_model::contract::NodeId;
use host_model::lts::{LocalStateId, MessageId, Step, Trigger};
use host_model::toys::Dice;
use host_model::trace::start::Start;

use super::*;
use crate::simulator::cut::{Cut, History};

/// A step of an execution: its node, the messages that it takes, the state after it, and the messages that it sends.
struct Taken {
    node: NodeId,
    taken: Option<MessageId>,
    next: LocalStateId,
    sent: Vec<MessageId>,
}

/// The number of steps after which some node last reached each node; none if it never did.
type Until = [Option<usize>];

/// Something that can happen in a global state of nodes that continue, and its result.
fn some_step(stepper: &mut Stepper<'_>, at: &Start, dice: &mut Dice) -> Option<(Step, Taken)> {
    let mut enabled: Vec<(NodeId, Trigger)> = Vec::new();
    let known = stepper.known();
    at.in_flight
        .for_each_next(&known.links(&at.locals), |id| enabled.push((known.destination(*id), Trigger::deliver(*id))));
    for (node, local) in (0..).zip(&at.locals) {
        let state = stepper.state(*local);
        let events = state.protocol.local_events.iter().map(|event| Trigger::local(*event));
        enabled.extend(events.chain(state.faults.iter().copied()).map(|trigger| (node, trigger)));
    }
    while !enabled.is_empty() {
        let (node, trigger) = enabled.swap_remove(dice.below(enabled.len() as u32) as usize);
        let row = stepper.step(at.locals[node as usize], trigger).expect("it is native");
        let outcomes = stepper.outcomes(row);
        // A fault that changes nothing has no outcome.
        if !outcomes.is_empty() {
            let index = dice.below(outcomes.len() as u32);
            let outcome = &outcomes[index as usize];
            let taken = Taken { node, taken: trigger.message(), next: outcome.next, sent: outcome.sent.to_vec() };
            return Some((Step { node, trigger, outcome: index }, taken));
        }
    }
    None
}

/// The messages on each link, in the order of sending, that a node of these has not taken of what another one of them has sent, by the
/// first steps of each; and who has taken what its sender has sent only later.
fn on_links(
    stepper: &Stepper<'_>,
    start: &Start,
    (steps, until): (&[Taken], &Until),
) -> (Vec<MessageId>, BTreeSet<NodeId>) {
    let is_included = |(number, step): &(usize, &Taken)| until[step.node as usize].is_some_and(|until| *number < until);
    let included: Vec<&Taken> = steps.iter().enumerate().filter(is_included).map(|(_, step)| step).collect();
    let (mut left, mut too_old) = (Vec::new(), BTreeSet::new());
    let nodes = start.locals.len() as NodeId;
    for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
        let is_here = |id: &MessageId| (stepper.message(*id).from, stepper.message(*id).to) == (from, to);
        let sent = included.iter().filter(|step| step.node == from).flat_map(|step| &step.sent);
        let sent: Vec<MessageId> = start.in_flight.iter().chain(sent).copied().filter(is_here).collect();
        let mut next = 0;
        for taken in included.iter().filter(|step| step.node == to).filter_map(|step| step.taken).filter(is_here) {
            match sent[next..].iter().position(|other| *other == taken) {
                Some(place) => next += place + 1,
                None => drop(too_old.insert(from)),
            }
        }
        let own =
            included.iter().rev().find(|step| step.node == to).map_or(start.locals[to as usize], |step| step.next);
        let fault_state = &stepper.state(own).fault_state;
        left.extend(sent[next..].iter().filter(|id| !stepper.message(**id).route().is_lost(fault_state)));
    }
    (left, too_old)
}

/// Compares a cut with the first steps of each node that make it up.
fn compare(stepper: &Stepper<'_>, cut: &Cut, start: &Start, (steps, until): (&[Taken], &Until)) {
    let (left, too_old) = on_links(stepper, start, (steps, until));
    for (node, is_known) in (0..).zip(&cut.is_known) {
        let until = until[node as usize];
        assert_eq!(*is_known, until.is_some() && !too_old.contains(&node), "node {node}");
        let mut own = steps[..until.unwrap_or(0)].iter().rev().filter(|step| step.node == node);
        let expected = own.next().map_or(start.locals[node as usize], |step| step.next);
        assert!(!is_known || cut.locals[node as usize] == expected, "node {node}");
    }
    let is_between = |id: &MessageId| {
        let message = stepper.message(*id);
        cut.is_known[message.from as usize] && cut.is_known[message.to as usize]
    };
    let left: Vec<MessageId> = left.into_iter().filter(is_between).collect();
    assert_eq!(*cut.in_flight, *left);
}

/// Where a node knows each other one that it asks now, after this many steps. Where all of them answer, it forgets about the others.
fn until_after(until: &mut [Option<usize>], (asked, reached): (&[bool], &[bool]), steps: usize) -> Vec<Option<usize>> {
    let all_answer = asked.iter().zip(reached).all(|(is_asked, is_reached)| !is_asked || *is_reached);
    for ((until, is_asked), is_reached) in until.iter_mut().zip(asked).zip(reached) {
        match (is_asked, is_reached) {
            (true, true) => *until = Some(steps),
            (false, _) if all_answer => *until = None,
            _ => {}
        }
    }
    until.iter().zip(asked).map(|(until, is_asked)| until.filter(|_| *is_asked)).collect()
}

/// Random executions of random systems on ordered links, with resets, broken connections and lost errors; after each step some node asks
/// others, and reaches some. It knows the steps of each node that it asks until it last reached it, except for nodes that have sent later
/// what others have received, and a checker can begin there.
#[test]
fn a_cut_is_a_global_state_also_where_connections_break() {
    let (mut partial, mut without, mut broken, mut noticed, mut fewer) = (0, 0, 0, 0, 0);
    for seed in 0..300 {
        let toy = Toy::random_busy(seed, 3).with_random_durable(seed).with_random_errors(seed);
        let factory = Arc::new(toy);
        let mut scenario = scenario(3, Network::Ordered, 3);
        scenario.faults.breaks = 3;
        let lts = Lts::new(&factory, scenario.clone()).expect("it is native");
        let mut stepper = Stepper::new(&lts).expect("it is native");
        let start = start::initial(&mut stepper).expect("nothing is refused").remove(0);
        let mut history = History::new(&start);
        let (mut at, mut steps, mut dice) = (start.clone(), Vec::new(), Dice(seed));
        let mut until = vec![vec![None; 3]; 3];
        for _ in 0..80 {
            let Some((step, taken)) = some_step(&mut stepper, &at, &mut dice) else { break };
            at.locals[taken.node as usize] = taken.next;
            let known = stepper.known();
            let messages: Vec<MessageId> = known.taken(step.trigger).collect();
            at.in_flight.step(
                &known.links(&at.locals),
                taken.node,
                messages.iter().copied(),
                taken.sent.iter().copied(),
            );
            history.step(&stepper, &at.locals, taken.node, messages, &taken.sent);
            broken += u32::from(step.trigger.fault().is_some());
            steps.push(taken);
            let asks = dice.below(3) as NodeId;
            let mut some = |most: u32| (0..3).map(|node| node == asks || dice.below(most) > 0).collect::<Vec<bool>>();
            let (asked, reached) = (some(5), some(3));
            let known = until_after(&mut until[asks as usize], (&asked, &reached), steps.len());
            let cut = history.cut(&stepper, asks, &at.locals, &asked, &reached);
            compare(&stepper, &cut, &start, (&steps, &known));
            fewer += u32::from(
                asked.contains(&false) && asked.iter().zip(&reached).any(|(asked, reached)| *asked && !reached),
            );
            if at.locals.iter().any(|local| stepper.state(*local).is_stuck()) {
                break;
            }
            let used_up = scenario.faults;
            let beginning = cut.beginning(&mut stepper, used_up).expect("no node is stuck in a fault");
            let absent = (0..3).filter(|node| !cut.is_known[*node as usize]).collect();
            beginning.check(&Scenario { absent, ..scenario.clone() }).expect("a checker can begin there");
            partial += u32::from(reached.contains(&false));
            without += u32::from(cut.is_known.contains(&false));
            noticed += u32::from(cut.in_flight.iter().any(|id| stepper.message(*id).is_notice));
        }
    }
    let counts = [partial, without, broken, noticed, fewer];
    assert!(counts.iter().all(|count| *count > 500), "{counts:?}");
}
