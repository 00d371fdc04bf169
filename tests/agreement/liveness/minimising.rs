//! Minimised traces of broken promises: each replays, breaks the promise in the same way for the reference, and is compared
//! with the shortest trace of the reference.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use host_agreement::effort::{enough, systems, telling};
use host_agreement::reference::progress::{Progress, Within, progress};
use host_agreement::reference::promises::{self, Edge, Outcome};
use host_agreement::reference::{Prefix, System};
use host_agreement::toys::empty_trace;
use host_inspect::minimize::{self, MinimizeError, Minimized, Options};
use host_model::lts::{Lts, Promise, Step, Stepper};
use host_model::toys::Dice;
use host_model::trace::start::{self, Start};
use host_model::trace::{self, BreachClass, BrokenPromise, Finding, Trace, TraceStep};
use host_search::kernel::rules::{Fairness, Rules};
use host_search::kernel::{EndCondition, Search, SearchBounds, Unmonitored};
use host_search::liveness::{self, Checked, EventClass, FAR, Source, Verdict};

use super::all_rules;
use super::graphs::watch;
use super::toys::random;

/// Larger systems are skipped: the reference tries all shorter traces.
const STATES_MAX: usize = 60;

/// Events of a random way at most.
const WAY_MAX: usize = 25;

/// A random system with its known graph and the rules of its promises.
struct Explored<'l> {
    system: &'l System,
    lts: &'l Lts<'l>,
    start: &'l Start,
    checked: Checked,
    rules: Rules,
    /// The graph of the reference.
    graph: Progress,
    dice: Dice,
}

/// Explores a random system from one of its starts and from the others, and shows it, unless it is too large.
fn explore(seed: u64, work: &mut dyn FnMut(Explored<'_>)) {
    let system = random(seed);
    let Some(graph) = progress(&system, Within::default(), STATES_MAX) else { return };
    let factory = Arc::new(system.toy.clone());
    let lts = Lts::new(&factory, system.scenario()).expect("a toy lists its properties");
    let mut starts = start::initial(&mut Stepper::new(&lts).expect("a machine")).expect("a toy starts");
    let first = Dice(seed ^ 0x57a7).below(starts.len() as u32) as usize;
    starts.rotate_left(first);
    let bounds = SearchBounds { violations: Some(u64::MAX), ..SearchBounds::default() };
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: false };
    let all = all_rules();
    let rules = all[Dice(seed ^ 0x5407).below(all.len() as u32) as usize];
    let checked = liveness::check(&search, rules).expect("a toy has no host faults");
    assert_eq!(checked.report.end, EndCondition::SpaceExhausted);
    work(Explored { system: &system, lts: &lts, start: &starts[0], checked, rules, graph, dice: Dice(seed ^ 0x10c6) });
}

impl Explored<'_> {
    /// A random way of some events from the start to a state, or over an edge at its end; none if it does not get there.
    fn way(&mut self, is_end: &dyn Fn(liveness::Edge) -> bool, may: &dyn Fn(u32) -> bool) -> Option<Vec<Step>> {
        let graph = &self.checked.recorded.graph;
        let (mut state, mut steps, min) = (0, Vec::new(), self.dice.below(12) as usize);
        while steps.len() < WAY_MAX {
            let row: Vec<_> = graph.row(state).map(|(to, label)| liveness::Edge { from: state, to, label }).collect();
            let last: Vec<_> = row.iter().copied().filter(|edge| is_end(*edge)).collect();
            if !last.is_empty() && steps.len() >= min {
                let last = last[self.dice.below(last.len() as u32) as usize];
                steps.push(self.checked.recorded.event(&last).step);
                return Some(steps);
            }
            let row: Vec<_> = row.into_iter().filter(|edge| may(edge.to)).collect();
            if row.is_empty() {
                return None;
            }
            let edge = row[self.dice.below(row.len() as u32) as usize];
            steps.push(self.checked.recorded.event(&edge).step);
            state = edge.to;
        }
        None
    }

    /// Random long ways on which a promise is broken, each in its class and with the events of its cycle.
    fn long_ways(&mut self, index: usize, verdict: &Verdict) -> Vec<(BreachClass, Vec<Step>, usize)> {
        let mut found = Vec::new();
        let recovery = self.rules.recovery;
        let distances = liveness::distances(&self.checked.recorded.graph, index, recovery, &mut watch())
            .expect("no stop is requested");
        let is_dead = |state: u32| distances[state as usize] == FAR;
        if verdict.death.is_some() && !is_dead(0) {
            let way = self.way(&|edge| is_dead(edge.to) && !is_dead(edge.from), &|to| !is_dead(to));
            found.extend(way.map(|way| (BreachClass::Dead, way, 0)));
        }
        let stuck: BTreeSet<u32> = (0..self.graph.states.len() as u32).filter(|it| self.is_stuck(index, *it)).collect();
        if verdict.stop.is_some() {
            let way = self.way(&|edge| stuck.contains(&edge.to) && !is_dead(edge.to), &|_| true);
            found.extend(way.map(|way| (BreachClass::Stuck, way, 0)));
        }
        if let Some(lasso) = &verdict.lasso {
            let cycle = self.checked.recorded.steps(&lasso.cycle);
            let turn = self.dice.below(cycle.len() as u32) as usize;
            let entry = lasso.cycle[turn].from;
            let round = [&cycle[turn..], &cycle[..turn]].concat();
            let rounds = round.repeat(1 + self.dice.below(3) as usize);
            if let Some(way) = self.way(&|edge| edge.to == entry, &|_| true) {
                found.push((BreachClass::Lasso, [way, rounds.clone()].concat(), rounds.len()));
            }
        }
        found
    }

    /// Whether a state of the recorded graph is stuck.
    fn is_stuck(&self, index: usize, state: u32) -> bool {
        let graph = &self.checked.recorded.graph;
        graph.owes(index, state) && !graph.row(state).any(|(_, label)| graph.class(label).is_fair())
    }

    /// A way as a trace.
    fn trace(&self, promise: Promise, (class, path, cycle): (BreachClass, &[Step], usize)) -> Trace {
        let mut stepper = Stepper::new(self.lts).expect("a machine");
        let steps = trace::record(&mut stepper, &self.start.initial, path).expect("it was executed");
        let finding = Finding::Promise(BrokenPromise {
            name: self.lts.properties()[promise.property as usize].name.clone(),
            node: promise.node,
            class,
            message: String::new(),
            fairness: self.rules.fairness,
            timers: self.rules.timers,
            recovery: self.rules.recovery,
            loop_start: (cycle > 0).then(|| path.len() - cycle),
            critical: (class == BreachClass::Dead).then_some(path.len()),
            sibling: Vec::new(),
        });
        let trace = Trace { finding: Some(finding), steps, ..empty_trace(self.lts.scenario()) };
        trace.beginning_at(self.start.origin.clone()).with_version()
    }

    /// The states of the reference along a trace, the first one included.
    fn states_along(&self, trace: &Trace) -> Vec<usize> {
        let state = |count: usize| {
            let bare = |step: &TraceStep| TraceStep { sent: None, state: None, ..step.clone() };
            let steps = trace.steps[..count].iter().map(bare).collect();
            let prefix = Prefix { init_choices: trace.init_choices.clone(), steps };
            let within = Within { prefix: Some(&prefix), depth: Some(0), local_events: None };
            let there = progress(self.system, within, STATES_MAX).expect("the steps can happen");
            let found = self.graph.find(&there.contents[0]);
            assert_eq!(found.len(), 1, "states differ in what they contain");
            *found.first().expect("there is one")
        };
        (0..=trace.steps.len()).map(state).collect()
    }

    /// The edges of the reference that a step of a trace may be: those of its sort between the same states.
    fn edges_between(&self, (from, to): (usize, usize), class: EventClass) -> Vec<Edge> {
        let edges = self.graph.states[from].edges.iter();
        edges.filter(|edge| edge.to == to && edge.class == class).cloned().collect()
    }
}

/// The class of the last event of a way.
fn class_of(explored: &Explored<'_>, path: &[Step]) -> EventClass {
    let (graph, mut state, mut class) = (&explored.checked.recorded.graph, 0, EventClass::Suppressed);
    for step in path {
        let edge = explored.checked.recorded.edge(state, *step).expect("it can happen");
        (state, class) = (edge.to, graph.class(edge.label));
    }
    class
}

/// The steps of a trace in the local transition system where it was made.
fn path_of(explored: &Explored<'_>, trace: &Trace) -> Vec<Step> {
    let mut stepper = Stepper::new(explored.lts).expect("a machine");
    start::follow_on(&mut stepper, explored.start.clone(), &trace.steps).expect("it can happen").path
}

/// The length of a shortest trace that breaks a promise in this class, for the reference: by a critical step of this class if it is dead.
/// None if no trace of fewer than `than` events breaks it; each is tried. It begins in this state.
fn naive(
    explored: &Explored<'_>,
    (index, outcome): (usize, &Outcome),
    (class, begin): (BreachClass, usize),
    critical: EventClass,
    than: usize,
) -> Option<usize> {
    let states = &explored.graph.states;
    let depths = depths(states, begin);
    let is_dead = |state: usize| outcome.dead.contains(&state);
    match class {
        BreachClass::Dead => {
            let live = (0..states.len()).filter(|state| !is_dead(*state) && depths[*state] != usize::MAX);
            let is_critical = |edge: &&Edge| edge.class == critical && is_dead(edge.to);
            live.filter(|state| states[*state].edges.iter().any(|edge| is_critical(&edge)))
                .map(|it| depths[it] + 1)
                .min()
        }
        BreachClass::Stuck => {
            let is_stuck = |state: usize| {
                states[state].owed[index] && !states[state].edges.iter().any(|edge| edge.class.is_fair())
            };
            (0..states.len()).filter(|state| is_stuck(*state) && !is_dead(*state)).map(|state| depths[state]).min()
        }
        BreachClass::Lasso => {
            let there = (0..states.len()).filter(|state| depths[*state] != usize::MAX);
            let owing = there.filter(|state| states[*state].owed[index]);
            let mut best: Option<usize> = None;
            for first in owing {
                let most = best.unwrap_or(than).saturating_sub(depths[first] + 1);
                for length in 1..=most.min(5) {
                    let mut walk = Vec::new();
                    let is_fair = &|walk: &[(usize, &Edge)]| is_fair_walk(states, walk, index, explored.rules, outcome);
                    if closes(states, (first, first), length, &mut walk, is_fair) {
                        best = Some(depths[first] + length);
                        break;
                    }
                }
            }
            best
        }
    }
}

/// The number of events on a shortest path from a state.
fn depths(states: &[promises::State], begin: usize) -> Vec<usize> {
    let mut depths = vec![usize::MAX; states.len()];
    let (mut level, mut depth) = (vec![begin], 0);
    while !level.is_empty() {
        level.retain(|state| depths[*state] == usize::MAX);
        level.iter().for_each(|state| depths[*state] = depth);
        level = level.iter().flat_map(|state| states[*state].edges.iter().map(|edge| edge.to)).collect();
        depth += 1;
    }
    depths
}

/// Whether a closed walk, as states with the edges that lead on, is fair.
type Fairly<'f> = &'f dyn Fn(&[(usize, &Edge)]) -> bool;

/// Whether a closed walk of this many more edges, on from a state, is fair.
fn closes<'s>(
    states: &'s [promises::State],
    (first, here): (usize, usize),
    length: usize,
    walk: &mut Vec<(usize, &'s Edge)>,
    is_fair: Fairly<'_>,
) -> bool {
    if length == 0 {
        return here == first && is_fair(walk);
    }
    states[here].edges.iter().any(|edge| {
        walk.push((here, edge));
        let found = closes(states, (first, edge.to), length - 1, walk, is_fair);
        walk.pop();
        found
    })
}

/// Whether an execution can owe a promise forever on a closed walk whose states are not all dead, by the definitions.
fn is_fair_walk(
    states: &[promises::State],
    walk: &[(usize, &Edge)],
    index: usize,
    rules: Rules,
    outcome: &Outcome,
) -> bool {
    let set: BTreeSet<usize> = walk.iter().map(|(from, _)| *from).collect();
    set.iter().all(|state| states[*state].owed[index])
        && walk.iter().all(|(from, edge)| promises::can_repeat(&states[*from], edge, rules))
        && (rules.fairness == Fairness::None || promises::is_fair_set(states, (&set, walk), rules))
        && !set.iter().all(|state| outcome.dead.contains(state))
}

/// Whether these are the answers to the choices of a step.
fn answers_are(answers: &[(u32, Source)], picked: &[u32]) -> bool {
    answers.iter().map(|(answer, _)| answer).eq(picked)
}

/// An edge, and the state that it leads from.
type Taken<'e> = (usize, &'e Edge);

/// Whether a walk fits that takes one of the edges of each step.
fn some_walk<'e>(
    steps: &'e [Vec<(usize, Edge)>],
    walk: &mut Vec<Taken<'e>>,
    fits: &dyn Fn(&[Taken<'e>]) -> bool,
) -> bool {
    let Some(edges) = steps.get(walk.len()) else { return fits(walk) };
    edges.iter().any(|(from, edge)| {
        walk.push((*from, edge));
        let is_found = some_walk(steps, walk, fits);
        walk.pop();
        is_found
    })
}

/// Checks a short trace against the reference: that it breaks the promise in its class.
fn confirmed(explored: &Explored<'_>, (index, outcome): (usize, &Outcome), trace: &Trace, context: &str) {
    let promise = trace.promise().expect("it shows a broken promise");
    let factory = Arc::new(explored.system.toy.clone());
    let finding = trace.finding.as_ref().expect("it has one");
    trace::confirm(&factory, &trace.scenario, &trace.origin(), &trace.steps, finding).expect(context);
    trace::check_sibling(&factory, trace).expect(context);
    assert_eq!(promise.check(trace.steps.len()), Ok(()), "{context}");
    let along = explored.states_along(trace);
    let (end, states) = (*along.last().expect("the start is one"), &explored.graph.states);
    let is_dead = |state: usize| outcome.dead.contains(&state);
    match promise.class {
        BreachClass::Dead => {
            let before = along[along.len() - 2];
            assert!(is_dead(end), "{context}");
            assert_eq!(outcome.distances[before], Some(promise.sibling.len()), "{context}");
        }
        BreachClass::Stuck => {
            let has_fair = states[end].edges.iter().any(|edge| edge.class.is_fair());
            assert!(states[end].owed[index] && !has_fair && !is_dead(end), "{context}");
        }
        BreachClass::Lasso => {
            let entry = promise.loop_start.expect("a lasso has a loop");
            let path = path_of(explored, trace);
            let edges = |step: usize| {
                let class = class_of(explored, &path[..=step]);
                let edges = explored.edges_between((along[step], along[step + 1]), class);
                let picked: Vec<u32> = trace.steps[step].choices.iter().map(|choice| choice.picked).collect();
                let is_taken =
                    |edge: &Edge| edge.draw.as_ref().is_none_or(|(_, answers)| answers_are(answers, &picked));
                edges.into_iter().filter(is_taken).map(|edge| (along[step], edge)).collect::<Vec<_>>()
            };
            let steps: Vec<Vec<(usize, Edge)>> = (entry..trace.steps.len()).map(edges).collect();
            assert_eq!(along[entry], end, "{context}");
            // Several events can lead from one state to another.
            let is_fair = |walk: &[(usize, &Edge)]| is_fair_walk(states, walk, index, explored.rules, outcome);
            assert!(some_walk(&steps, &mut Vec::new(), &is_fair), "{context}");
        }
    }
}

/// The statistics over many systems, by class.
#[derive(Debug, Default)]
struct Seen {
    tried: u64,
    /// Those that do not begin in the first start of several.
    starts: u64,
    shorter: u64,
    /// Those that became shorter behind events that stay.
    kept: u64,
    /// As short as the shortest trace of the reference, if the reference tried all shorter traces.
    compared: u64,
    shortest: u64,
}

/// Makes a trace short.
fn shortened(lts: &Lts<'_>, trace: &Trace, options: Options) -> Result<(Trace, Minimized), MinimizeError> {
    let mut stepper = Stepper::new(lts).expect("a machine");
    let short = minimize::minimize(&mut stepper, trace, options, &Unmonitored)?;
    let finding = Some(minimize::finding(lts, &short));
    Ok((Trace { finding, steps: short.steps.clone(), ..trace.clone() }, short))
}

#[test]
fn a_short_trace_breaks_the_promise_as_the_long_one_did() {
    let mut seen: BTreeMap<BreachClass, Seen> = BTreeMap::new();
    for seed in 0..systems(5_000) {
        explore(seed, &mut |mut explored| {
            let verdicts: Vec<(Promise, Verdict)> =
                explored.checked.promises.iter().filter_map(|(promise, it)| Some((*promise, it.clone()?))).collect();
            for (index, (promise, verdict)) in verdicts.iter().enumerate() {
                let outcome = promises::decide_but_lassos(&explored.graph.states, index, explored.rules);
                for (class, path, cycle) in explored.long_ways(index, verdict) {
                    let context =
                        format!("seed {seed}, {promise:?}, {class:?}, {:?}: {:#?}", explored.rules, explored.system);
                    let long = explored.trace(*promise, (class, &path, cycle));
                    let short = shortened(explored.lts, &long, Options::default());
                    let (short, minimized) = short.unwrap_or_else(|error| panic!("{error}: {context}"));
                    assert!(!minimized.is_cut && short.steps.len() <= long.steps.len(), "{context}");
                    let (was, is) = (long.promise().expect("one"), short.promise().expect("one"));
                    assert_eq!((&was.name, was.node, was.class), (&is.name, is.node, is.class), "{context}");
                    assert_eq!(Rules::of(is), explored.rules, "{context}");
                    confirmed(&explored, (index, &outcome), &short, &context);
                    let critical = class_of(&explored, &path);
                    if class == BreachClass::Dead {
                        assert_eq!(critical, class_of(&explored, &path_of(&explored, &short)), "{context}");
                    }
                    let begin = explored.states_along(&long)[0];
                    // A loop is kept as a whole, and a kept critical step is not searched for again.
                    let most = path.len() - cycle.max(usize::from(class == BreachClass::Dead));
                    let keep = explored.dice.below(most as u32 + 1) as usize;
                    let kept = shortened(explored.lts, &long, Options { keep, ..Options::default() });
                    let (kept, _) = kept.unwrap_or_else(|error| panic!("{error}: {keep} of {context}"));
                    assert_eq!(kept.steps[..keep], long.steps[..keep], "{context}");
                    assert!(kept.steps.len() <= long.steps.len(), "{context}");
                    confirmed(&explored, (index, &outcome), &kept, &context);
                    let seen = seen.entry(class).or_default();
                    seen.tried += 1;
                    seen.starts += u64::from(begin > 0);
                    seen.kept += u64::from(keep > 0 && kept.steps.len() < long.steps.len());
                    seen.shorter += u64::from(short.steps.len() < long.steps.len());
                    let least = naive(&explored, (index, &outcome), (class, begin), critical, short.steps.len());
                    if class != BreachClass::Lasso || short.steps.len() <= 6 {
                        let least = least.unwrap_or(short.steps.len());
                        assert!(least <= short.steps.len(), "{context}");
                        seen.compared += 1;
                        seen.shortest += u64::from(least == short.steps.len());
                    }
                }
            }
        });
    }
    let is_telling = |seen: &Seen| {
        let is_varied = seen.tried > enough(100) && seen.kept > enough(50);
        is_varied && seen.shorter * 2 > seen.tried && seen.shortest * 10 > seen.compared * 8
    };
    let starts: u64 = seen.values().map(|seen| seen.starts).sum();
    telling(seen.len() == 3 && seen.values().all(is_telling) && starts > enough(15), format_args!("{seen:?}"));
}
