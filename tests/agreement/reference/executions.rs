//! Executions of a toy, with everything that its nodes could log.

use host_model::contract::{Choice, NodeId};
use host_model::toys::{Dice, ToyState};
use host_model::trace::TraceStep;

use super::events::{Move, happenings, moves, resolution};
use super::paths::event;
use super::{Global, Happening, System, choices_of_starts};

/// An event of an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The event as a trace has it, without its effects.
    pub step: TraceStep,
    /// Its effects.
    pub effects: Effects,
    /// The nodes at which a reset would change nothing afterwards.
    pub idle: Vec<NodeId>,
}

/// The effects of a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effects {
    /// The messages that the node sends: destination and content. A handler that traps has sent nothing.
    pub sent: Vec<(NodeId, u8)>,
    /// The state of the node afterwards; none if it is stuck.
    pub state: Option<ToyState>,
}

impl Effects {
    fn new(sent: Vec<(NodeId, u8)>, state: Option<ToyState>) -> Self {
        Self { sent: if state.is_some() { sent } else { Vec::new() }, state }
    }
}

/// An execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The answers that `init` gets at each node.
    pub init_choices: Vec<Vec<Choice>>,
    /// The effects of `init`, per node.
    pub init: Vec<Effects>,
    /// The nodes at which a reset would change nothing before all events.
    pub idle: Vec<NodeId>,
    /// The events.
    pub events: Vec<Occurrence>,
}

impl Execution {
    /// A random execution of this many events at most.
    pub fn random(system: &System, seed: u64, events_max: u32) -> Self {
        let mut dice = Dice(seed);
        let mut begun = begun(system);
        let count = begun.len() as u32;
        let (mut execution, mut global) = begun.swap_remove(dice.below(count) as usize);
        for _ in 0..events_max {
            let mut possible = successors(system, &global);
            let count = possible.len() as u32;
            if count == 0 {
                break;
            }
            let (occurrence, next) = possible.swap_remove(dice.below(count) as usize);
            execution.events.push(occurrence);
            global = next;
        }
        execution
    }

    /// The execution with these steps; none if the system does not have it.
    pub fn of_steps(system: &System, init_choices: &[Vec<Choice>], steps: &[TraceStep]) -> Option<Self> {
        let is_same = |execution: &Self| match init_choices.is_empty() {
            true => execution.init_choices.iter().all(Vec::is_empty),
            false => execution.init_choices == init_choices,
        };
        let (mut execution, mut global) = begun(system).into_iter().find(|(execution, _)| is_same(execution))?;
        for step in steps {
            let wanted = TraceStep { sent: None, state: None, ..step.clone() };
            let (occurrence, next) =
                successors(system, &global).into_iter().find(|(occurrence, _)| occurrence.step == wanted)?;
            execution.events.push(occurrence);
            global = next;
        }
        Some(execution)
    }
}

/// Calls `found` with every execution of at most this many events until it returns true, or until there were too many. Returns whether it
/// returned true; none if there were too many.
pub fn any_execution(
    system: &System,
    events_max: usize,
    executions_max: usize,
    found: &mut dyn FnMut(&Execution) -> bool,
) -> Option<bool> {
    let mut left = executions_max;
    for (mut execution, global) in begun(system) {
        if search(system, &global, &mut execution, events_max, &mut left, found)? {
            return Some(true);
        }
    }
    Some(false)
}

fn search(
    system: &System,
    global: &Global,
    execution: &mut Execution,
    events_max: usize,
    left: &mut usize,
    found: &mut dyn FnMut(&Execution) -> bool,
) -> Option<bool> {
    *left = left.checked_sub(1)?;
    if found(execution) {
        return Some(true);
    }
    if execution.events.len() == events_max {
        return Some(false);
    }
    for (occurrence, next) in successors(system, global) {
        execution.events.push(occurrence);
        let is_found = search(system, &next, execution, events_max, left, found)?;
        execution.events.pop();
        if is_found {
            return Some(true);
        }
    }
    Some(false)
}

/// The executions without an event.
fn begun(system: &System) -> Vec<(Execution, Global)> {
    let begin = |(init_choices, global): (Vec<Vec<Choice>>, Global)| {
        let of_node = |(node, choices): (NodeId, &Vec<Choice>)| {
            let outcomes = system.toy.init(node);
            let count = outcomes.len();
            let mut numbered = outcomes.into_iter().enumerate();
            let chosen = numbered.find(|(index, _)| system.toy.answers(*index, count) == *choices);
            let resolution = resolution(chosen.expect("some outcome has these answers").1);
            Effects::new(resolution.sent, resolution.next)
        };
        let init = (0..).zip(&init_choices).map(of_node).collect();
        let idle = idle(system, &global);
        (Execution { init_choices, init, idle, events: Vec::new() }, global)
    };
    choices_of_starts(system).into_iter().map(begin).collect()
}

fn successors(system: &System, global: &Global) -> Vec<(Occurrence, Global)> {
    let mut found = Vec::new();
    if global.is_over() {
        return found;
    }
    for (node, happening) in happenings(system, global, None) {
        for Move { next, choices, sent, is_lost } in moves(system, global, node, &happening, false) {
            let event = event(system, &happening, is_lost);
            let local = &next.locals[node as usize];
            let state = (!local.is_stuck).then_some(local.state);
            let effects = Effects::new(sent, state);
            let step = TraceStep { node, event, choices, sent: None, state: None };
            let idle = idle(system, &next);
            found.push((Occurrence { step, effects, idle }, next));
        }
    }
    found
}

/// The nodes at which a reset would change nothing: such a reset is no event.
fn idle(system: &System, global: &Global) -> Vec<NodeId> {
    if global.is_over() {
        return Vec::new();
    }
    let resets = happenings(system, global, None).into_iter().filter(|(_, happening)| match happening {
        Happening::Fault(fault) => fault.kind() == "reset",
        _ => false,
    });
    let idle = resets.filter(|(node, happening)| moves(system, global, *node, happening, false).is_empty());
    idle.map(|(node, _)| node).collect()
}
