//! Runs a strategy on a toy, and returns the reached states by content.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use host_model::contract::{Judgement, MachineFactory, NodeId, Property};
use host_model::lts::{LocalStateId, Lts, Stepper};
use host_model::scenario::Scenario;
use host_model::toys;
use host_model::trace::replay::{Replay, StepReport};
use host_model::trace::{self, Finding, PluginRef, TRACE_VERSION, Trace, TraceEvent, TraceStep, start};
use host_search::kernel::{FoundViolation, Report, Search, SearchBounds, SearchError, Unmonitored};

use crate::reference::{Local, System, Words};

/// A strategy.
pub type Run = fn(&Search<'_>) -> Result<Report, SearchError>;

/// The results of a strategy, by content.
pub struct Ran {
    /// Its report.
    pub report: Report,
    /// The system states, if they were collected.
    pub system_states: BTreeSet<Vec<Local>>,
    /// The findings at the end of the first violation's path, which was executed again without a memo.
    pub confirmed: Option<Vec<Finding>>,
    /// That path.
    pub steps: Vec<TraceStep>,
}

/// Runs a strategy on a system.
///
/// # Panics
///
/// The strategy has an error, or a path that it reports does not replay.
pub fn run(system: &System, bounds: SearchBounds, strategy: Run, collect_system_states: bool) -> Ran {
    run_after(system, &[], bounds, strategy, collect_system_states)
}

/// A trace of a toy without steps.
pub fn empty_trace(scenario: &Scenario) -> Trace {
    Trace {
        trace_version: TRACE_VERSION,
        plugin: PluginRef { name: "toy".to_owned(), version: None, digest: None },
        scenario: scenario.clone(),
        placements: Vec::new(),
        limits: BTreeMap::new(),
        init_choices: Vec::new(),
        expressed: Vec::new(),
        specs: Vec::new(),
        beginning: None,
        finding: None,
        steps: Vec::new(),
    }
}

/// The same after some steps.
///
/// # Panics
///
/// As for [`run`], or the steps cannot be taken.
pub fn run_after(
    system: &System,
    steps: &[TraceStep],
    bounds: SearchBounds,
    strategy: Run,
    collect_system_states: bool,
) -> Ran {
    run_machines(&Arc::new(system.toy.clone()), system.scenario(), steps, bounds, (strategy, collect_system_states))
}

/// The same of machines that are those of a toy, or around them.
///
/// # Panics
///
/// As for [`run_after`].
pub fn run_machines(
    factory: &dyn MachineFactory,
    scenario: Scenario,
    steps: &[TraceStep],
    bounds: SearchBounds,
    (strategy, collect_system_states): (Run, bool),
) -> Ran {
    let lts = Lts::new(factory, scenario).expect("a toy lists its properties");
    let mut stepper = Stepper::new(&lts).expect("a toy has machines");
    let prefix = Trace { steps: steps.to_vec(), ..empty_trace(lts.scenario()) };
    let starts = match steps {
        [] => start::initial(&mut stepper).expect("a toy starts"),
        _ => vec![start::follow(&mut stepper, &prefix).expect("the steps can be taken")],
    };
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states };
    let report = strategy(&search).expect("a toy has no host faults");
    let mut stepper = Stepper::new(&lts).expect("a toy has machines");
    let mut replayed = report.violations.iter().map(|found| replay(&mut stepper, factory, found));
    let (steps, confirmed) = replayed.next().unzip();
    // Later findings are confirmed as well.
    replayed.for_each(drop);
    let states = report.system_states.iter().flatten();
    let system_states = states.map(|locals| locals.iter().map(|id| local(&lts, *id)).collect()).collect();
    Ran { report, system_states, confirmed, steps: steps.unwrap_or_default() }
}

/// A local state as the reference knows it.
pub fn local(lts: &Lts<'_>, id: LocalStateId) -> Local {
    let state = lts.state(id);
    let is_stuck = state.fault().is_some();
    let known = match state.fault() {
        Some(fault) => {
            (0..=u8::MAX).find(|state| fault.message == toys::trap_words(*state)).expect("it names its state")
        }
        None => {
            state.protocol.snapshot.as_ref().expect("it is no fault").words().get(1).map_or(u8::MAX, |word| *word as u8)
        }
    };
    let fault_state = &state.fault_state;
    let ends = (0..lts.scenario().nodes).map(|peer| (fault_state.incarnation(peer), fault_state.is_open(peer)));
    let ends = if fault_state.has_connections() { ends.collect() } else { Vec::new() };
    let older = fault_state.unsynced_maps().map(toys::read_map).collect();
    let values =
        |values: &mut dyn Iterator<Item = Option<&[u8]>>| values.map(|value| value.map(<[u8]>::to_vec)).collect();
    let loose = fault_state.loose_entries().map(|(key, mut of)| (key.to_vec(), values(&mut of))).collect();
    Local { state: known, is_stuck, counts: fault_state.counts, ends, older, loose }
}

/// The findings of a search, with the length of the path to each and whether no shorter one exists.
///
/// # Panics
///
/// If a finding occurs twice.
pub fn findings(report: &Report) -> BTreeMap<Words, (u32, bool)> {
    let mut findings = BTreeMap::new();
    for found in &report.violations {
        let (length, words) = (found.path.len() as u32, words(found));
        assert!(findings.insert(words.clone(), (length, found.shortest)).is_none(), "twice {words:?}");
    }
    findings
}

/// A finding in the words of the reference.
pub fn words(found: &FoundViolation) -> Words {
    let words = match &found.judgement {
        Judgement::Violated { message, .. } | Judgement::Deadlock { message } => message,
        Judgement::Broken { fault, .. } | Judgement::Fault(fault) => &fault.message,
        Judgement::Witnessed { .. } => panic!("a witness is no violation"),
    };
    (found.node, words.clone())
}

/// A finding in the words of a trace.
pub fn finding(lts: &Lts<'_>, found: &FoundViolation) -> Finding {
    let property = |index: u32| lts.properties()[index as usize].clone();
    match &found.judgement {
        Judgement::Violated { property: index, message } => {
            let Property { name, kind, .. } = property(*index);
            Finding::Property { name, kind, message: message.clone() }
        }
        Judgement::Broken { property: index, fault } => {
            Finding::Broken { property: property(*index).name, fault: fault.clone() }
        }
        Judgement::Fault(fault) => Finding::Fault { node: found.node.expect("a node traps"), fault: fault.clone() },
        Judgement::Deadlock { message } => Finding::Deadlock { message: message.clone() },
        Judgement::Witnessed { .. } => panic!("a witness is no violation"),
    }
}

/// The messages in flight: sender, destination and content.
type Messages = Vec<(NodeId, NodeId, Vec<u8>)>;

fn in_flight(replay: &Replay) -> Messages {
    let mut messages: Messages = replay.in_flight().map(|(from, to, payload)| (from, to, payload.to_vec())).collect();
    messages.sort_unstable();
    messages
}

/// The messages in flight after a step: those before, without the received and lost ones, with the sent ones.
fn accounted(mut messages: Messages, step: &TraceStep, report: &StepReport) -> Messages {
    messages.extend(report.effects.sent.iter().map(|sent| (step.node, sent.to, sent.payload.clone())));
    let mut gone: Messages =
        step.event.received().into_iter().map(|(from, payload)| (from, step.node, payload.to_vec())).collect();
    if let TraceEvent::Lose { from, payload } = &step.event {
        gone.push((*from, step.node, payload.0.clone()));
    }
    gone.extend(report.lost.iter().map(|lost| (lost.from, lost.to, lost.payload.clone())));
    for message in gone {
        let place = messages.iter().position(|other| *other == message);
        messages.swap_remove(place.unwrap_or_else(|| panic!("{message:?} was not in flight at {step:?}")));
    }
    messages.sort_unstable();
    messages
}

/// Executes a path from the start, at whose end the finding is.
fn replay(
    stepper: &mut Stepper<'_>,
    factory: &dyn MachineFactory,
    found: &FoundViolation,
) -> (Vec<TraceStep>, Vec<Finding>) {
    let steps = trace::record(stepper, &found.initial, &found.path).expect("a toy has no host faults");
    let (mut replay, _) = Replay::new(factory, stepper.lts().scenario(), &found.origin).expect("a toy starts");
    let duplicates = stepper.lts().scenario().faults.duplicates > 0;
    for step in &steps {
        let before = in_flight(&replay);
        let report = replay.step(step).expect("a path that is reported replays");
        // A message that can be delivered again is in flight more than once.
        if !duplicates {
            assert_eq!(in_flight(&replay), accounted(before, step, &report), "{step:?} of {steps:?}");
        }
    }
    let finding = finding(stepper.lts(), found);
    trace::confirm(factory, stepper.lts().scenario(), &found.origin, &steps, &finding).expect("it is there at the end");
    let mut findings = replay.findings().expect("a toy's property can be evaluated");
    if matches!(found.judgement, Judgement::Deadlock { .. }) {
        findings = replay.deadlock().into_iter().collect();
    }
    (steps, findings)
}
