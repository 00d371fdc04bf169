//! Random guests that keep state in every kind of place and send messages, alone and composed of several components: each strategy says
//! of them what an exploration says that never goes back to a state.

use std::collections::{BTreeMap, VecDeque};

use host_agreement::effort;
use host_agreement::toys::run_machines;
use host_model::contract::{Effects, Envelope, Input, LocalEvent, Machine, MachineFactory, NodeId};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::Scenario;
use host_model::trace::start;
use host_sandbox::{Plugin, Sabotage, Sandbox, SandboxConfig, fixtures};
use host_search::kernel::{EndCondition, Report, Search, SearchBounds, Unmonitored};
use host_search::strategy::{Bound, STRATEGIES, Strategy, bdfs};

const NODES: u32 = 2;

/// Clusters with more global states are left out: each path to one of them is run from the start.
const STATES_MAX: usize = 120;

/// A call of a handler, and the answers to its choices.
#[derive(Clone)]
struct Call {
    node: NodeId,
    /// The sender, and the content; none for a local event.
    message: Option<(NodeId, Vec<u8>)>,
    local: Option<LocalEvent>,
    script: Vec<u32>,
}

/// A message in flight: sender, destination, and content.
type Flying = (NodeId, NodeId, Vec<u8>);

/// A cluster after some calls, all of them made in new instances.
struct After {
    encodings: Vec<Vec<u8>>,
    /// Sorted.
    in_flight: Vec<Flying>,
    /// The choices of the last call with all their answers that were not asked for.
    others: Vec<Vec<u32>>,
    events: Vec<Vec<LocalEvent>>,
    is_violated: bool,
}

fn call(machine: &mut dyn Machine, input: Input<'_>, script: &[u32]) -> Effects {
    let mut effects = Effects::default();
    machine.handle(input, script, &mut effects).expect("these guests have no faults");
    effects
}

/// Goes along a path from the start.
fn follow(plugin: &Plugin, path: &[Call]) -> After {
    let machine = || plugin.machine().expect("an instance");
    let mut machines: Vec<_> = (0..NODES).map(|_| machine()).collect();
    for (node, machine) in machines.iter_mut().enumerate() {
        let init = Input::Init { node: node as u32, nodes: NODES, config: "", durable: None };
        assert!(call(&mut **machine, init, &[]).sent.is_empty(), "these guests begin in silence");
    }
    let (mut in_flight, mut others): (Vec<Flying>, _) = (Vec::new(), Vec::new());
    for Call { node, message, local, script } in path {
        let machine = &mut *machines[*node as usize];
        let effects = match (message, local) {
            (Some((src, payload)), _) => {
                let taken = (*src, *node, payload.clone());
                let at = in_flight.iter().position(|flying| *flying == taken).expect("it is in flight");
                in_flight.remove(at);
                call(machine, Input::Message { src: *src, payload }, script)
            }
            (None, local) => call(machine, Input::Local(local.as_ref().expect("a message or an event")), script),
        };
        in_flight.extend(effects.sent.into_iter().map(|Envelope { to, payload }| (*node, to, payload)));
        in_flight.sort();
        others.clear();
        let picked: Vec<u32> = effects.choices.iter().map(|choice| choice.picked).collect();
        for (at, choice) in
            effects.choices.iter().enumerate().skip(script.len()).filter(|(_, choice)| choice.to.is_none())
        {
            others.extend((1..choice.alternatives).map(|answer| [&picked[..at], &[answer]].concat()));
        }
    }
    let views: Vec<_> = machines.iter_mut().map(|machine| machine.view(0).expect("no fault")).collect();
    let views: Vec<_> = views.iter().map(|view| view.as_deref()).collect();
    After {
        is_violated: machine().invariant(0, &views).expect("no fault").is_err(),
        encodings: machines.iter_mut().map(|machine| machine.serialize().expect("no fault")).collect(),
        events: machines.iter_mut().map(|machine| machine.local_events().expect("no fault")).collect(),
        in_flight,
        others,
    }
}

/// The facts about a cluster.
#[derive(Debug, PartialEq)]
struct Truth {
    global_states: usize,
    /// The events of a shortest path to a violation.
    violated_after: Option<usize>,
}

/// All of a cluster without going back to anything; none where it is too large.
fn explore(plugin: &Plugin) -> Option<Truth> {
    let mut known = BTreeMap::new();
    let mut queue = VecDeque::from([Vec::new()]);
    let mut violated_after = None;
    while let Some(path) = queue.pop_front() {
        let After { encodings, in_flight, others, events, is_violated } = follow(plugin, &path);
        let with_script = |script: Vec<u32>| {
            let (last, before) = path.split_last().expect("a call has answered");
            [before, &[Call { script, ..last.clone() }]].concat()
        };
        // A path with other answers is as long.
        others.into_iter().map(with_script).for_each(|path| queue.push_front(path));
        if known.insert((encodings, in_flight.clone()), ()).is_some() {
            continue;
        }
        if is_violated {
            violated_after = violated_after.or(Some(path.len()));
        }
        if known.len() > STATES_MAX {
            return None;
        }
        let mut messages = in_flight;
        messages.dedup();
        let delivered = messages.into_iter().map(|(src, node, payload)| (node, Some((src, payload)), None));
        let happened = events.into_iter().enumerate();
        let happened =
            happened.flat_map(|(node, events)| events.into_iter().map(move |event| (node as u32, None, Some(event))));
        for (node, message, local) in delivered.chain(happened) {
            let next = Call { node, message, local, script: Vec::new() };
            queue.push_back([&path[..], &[next]].concat());
        }
    }
    Some(Truth { global_states: known.len(), violated_after })
}

/// The mismatch between the report of a strategy and the truth; none if they agree.
fn wrong(truth: &Truth, report: &Report) -> Option<String> {
    let found = report.violations.first();
    let is_right = match report.end {
        EndCondition::Violation => found.is_some() && truth.violated_after.is_some(),
        EndCondition::SpaceExhausted => found.is_none() && truth.violated_after.is_none(),
        // These make no claim about states that they have not reached.
        EndCondition::WalksDone | EndCondition::Pruned => found.is_none(),
        _ => false,
    };
    let is_shortest = found.is_none_or(|found| {
        let length = Some(found.path.len());
        length >= truth.violated_after && (!found.shortest || length == truth.violated_after)
    });
    let states = report.counts.global_states.filter(|_| found.is_none());
    let are_counted = states.is_none_or(|states| states <= truth.global_states as u64);
    (!is_right || !is_shortest || !are_counted)
        .then(|| format!("{truth:?}, but {:?} {:?} {found:?}", report.end, report.counts))
}

fn plugin(sabotage: Sabotage, seed: u64) -> Plugin {
    let config = SandboxConfig { sabotage, ..SandboxConfig::default() };
    Plugin::load(&Sandbox::new(config, None).expect("an engine"), &fixtures::random_talking(seed)).expect("a plugin")
}

/// Each strategy, and each with the reduction that has one.
fn searches() -> impl Iterator<Item = (&'static Strategy, SearchBounds)> {
    STRATEGIES.iter().flat_map(|strategy| {
        let is_reduced = strategy.honours.contains(&Bound::Reduce);
        let walks = strategy.honours.contains(&Bound::Walks).then_some(50);
        let bounds = |reduce| SearchBounds { reduce, walks, ..SearchBounds::default() };
        [Some(bounds(false)), is_reduced.then(|| bounds(true))]
            .into_iter()
            .flatten()
            .map(move |bounds| (strategy, bounds))
    })
}

#[test]
fn strategies_agree_with_an_exploration_that_never_restores() {
    let (mut violated, mut fine, mut most) = (0, 0, 0);
    for seed in 0..effort::systems(24) {
        let plugin = plugin(Sabotage::None, seed);
        let Some(truth) = explore(&plugin) else { continue };
        most = most.max(truth.global_states);
        *(if truth.violated_after.is_some() { &mut violated } else { &mut fine }) += 1;
        for (strategy, bounds) in searches() {
            let reduce = bounds.reduce;
            let ran = run_machines(&plugin, Scenario::new(NODES), &[], bounds, (strategy.run, false));
            let what = format!("guest {seed} by {}, reduced: {reduce}", strategy.name);
            assert_eq!(wrong(&truth, &ran.report), None, "{what}");
            if strategy.name == "bdfs" && !reduce && truth.violated_after.is_none() {
                assert_eq!(ran.report.counts.global_states, Some(truth.global_states as u64), "{what}");
            }
        }
    }
    effort::telling(
        violated > effort::enough(3) && fine > effort::enough(3) && most > 60,
        format_args!("{violated} violated, {fine} not, {most} states"),
    );
}

/// The comparison would notice each hole in a capture.
#[test]
fn canary_strategies_notice_holes_in_snapshots() {
    for sabotage in [Sabotage::SkipGlobals, Sabotage::SkipSizes, Sabotage::SkipResults] {
        let noticed = |seed: &u64| {
            let plugin = plugin(sabotage, *seed);
            let lts = Lts::new(&plugin, Scenario::new(NODES)).expect("properties");
            let starts = start::initial(&mut Stepper::new(&lts).expect("an instance")).expect("it starts");
            let bounds = SearchBounds { states: Some(10 * STATES_MAX as u64), ..SearchBounds::default() };
            let search =
                Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: false };
            let report = bdfs::run(&search).expect("no host fault");
            // Holes do not affect a search that never goes back.
            explore(&plugin).is_some_and(|truth| wrong(&truth, &report).is_some())
        };
        let seed = (0..60).find(noticed);
        assert!(seed.is_some(), "{sabotage:?} went unnoticed");
    }
}
