//! Pairs of random systems, compared by their sequences of views, and by all sequences up to a length.
//!
//! The reference walks the graph of all global states, and notes every sequence of views that leads to a state, with the least number of
//! events on the way. It knows no sets of states.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use host_agreement::effort;
use host_agreement::reference::executions::Execution;
use host_agreement::reference::graph::{Content, graph};
use host_agreement::reference::{Local, System};
use host_model::lts::{Lts, Stepper};
use host_model::toys::{Dice, Toy, ToyOutcome};
use host_model::trace::{Origin, record, start};
use host_refine::{Bounds, Field, Judgement, Monitor, Side, Verdict, refine};

use crate::describing::Described;
use crate::logs;
use crate::verdicts::Memory;

impl Monitor for Memory {
    fn is_too_much(&self, bytes: u64) -> bool {
        bytes > self.0
    }
}

/// The most changes of a view in a sequence of the reference.
const CHANGES_MAX: usize = 4;
/// The most states of a system, and of sequences with the states behind them.
const STATES_MAX: usize = 400;
const SEQUENCES_MAX: usize = 40_000;

/// The fields that are compared, and the view of a state by them; none of a node that is stuck.
#[derive(Clone, Copy, Debug)]
enum Fields {
    All,
    Half,
    Odd,
}

impl Fields {
    fn parsed(self) -> Vec<Field> {
        let names: &[&str] = match self {
            Self::All => &[],
            Self::Half => &["parts.half"],
            Self::Odd => &["parts.odd", "list.1"],
        };
        names.iter().map(|name| Field::parse(name).expect("it has keys")).collect()
    }

    fn of(self, state: u8) -> u8 {
        match self {
            Self::All => state,
            Self::Half => state / 2,
            Self::Odd => state % 2,
        }
    }

    fn of_local(self, local: &Local) -> Option<u8> {
        (!local.is_stuck).then(|| self.of(local.state))
    }
}

/// The view of each node.
type View = Vec<Option<u8>>;

/// All sequences of views with at most [`CHANGES_MAX`] changes, each with the least number of events; none if there are too many.
fn sequences(system: &System, fields: Fields) -> Option<BTreeMap<Vec<View>, usize>> {
    let graph = graph(system, None, None, STATES_MAX)?;
    let view = |content: &Content| -> View { content.locals.iter().map(|local| fields.of_local(local)).collect() };
    let mut next: BTreeMap<&Content, Vec<&Content>> = BTreeMap::new();
    for (from, _, to) in graph.edges.keys() {
        next.entry(from).or_default().push(to);
    }
    let starts = graph.states.keys().filter(|(_, depth, _)| *depth == 0).map(|(content, ..)| content);
    let mut queue: VecDeque<(&Content, Vec<View>, usize)> =
        starts.map(|content| (content, vec![view(content)], 0)).collect();
    let mut seen: BTreeMap<(&Content, Vec<View>), ()> = BTreeMap::new();
    let mut found: BTreeMap<Vec<View>, usize> = BTreeMap::new();
    while let Some((content, sequence, events)) = queue.pop_front() {
        if seen.insert((content, sequence.clone()), ()).is_some() {
            continue;
        }
        found.entry(sequence.clone()).or_insert(events);
        if seen.len() > SEQUENCES_MAX {
            return None;
        }
        for to in next.get(content).into_iter().flatten() {
            let mut sequence = sequence.clone();
            let view = view(to);
            if sequence.last() != Some(&view) {
                sequence.push(view);
            }
            if sequence.len() <= CHANGES_MAX + 1 {
                queue.push_back((to, sequence, events + 1));
            }
        }
    }
    Some(found)
}

/// The verdict of the search, and the sequence of views and the number of events of the difference, executed by the reference.
fn compared(new: &System, old: &System, fields: Fields, memory: u64) -> (Judgement, Option<(Vec<View>, usize)>) {
    let factories = [new, old].map(|system| Described(Arc::new(system.toy.clone())));
    let ltses = [(0, new), (1, old)]
        .map(|(side, system)| Lts::new(&factories[side], system.scenario()).expect("toys have no host"));
    let [mut of_new, mut of_old] = [0, 1].map(|side| Stepper::new(&ltses[side]).expect("toys have no host"));
    let [new_starts, old_starts] =
        [&mut of_new, &mut of_old].map(|stepper| start::initial(stepper).expect("toys accept everything"));
    let judgement = refine(
        Side { stepper: &mut of_new, starts: &new_starts },
        Side { stepper: &mut of_old, starts: &old_starts },
        fields.parsed(),
        Bounds::default(),
        &Memory(memory),
    );
    let judgement = judgement.expect("toys have no host");
    let Verdict::Differs(difference) = &judgement.verdict else { return (judgement, None) };
    let begun = &new_starts[difference.start];
    let steps = record(&mut of_new, &begun.initial, &difference.path).expect("it was executed");
    let Origin::Init(choices) = &begun.origin else { panic!("it begins with `init`") };
    let execution = Execution::of_steps(new, choices, &steps).expect("the reference has the same execution");
    let seen = |state: Option<u8>| state.map(|state| fields.of(state));
    let mut view: View = execution.init.iter().map(|effects| seen(effects.state)).collect();
    let mut sequence = vec![view.clone()];
    for event in &execution.events {
        view[event.step.node as usize] = seen(event.effects.state);
        if sequence.last() != Some(&view) {
            sequence.push(view.clone());
        }
    }
    let events = execution.events.len();
    (judgement, Some((sequence, events)))
}

/// A system, and one that differs from it in nothing, in a rule, or in everything.
fn pair(seed: u64) -> (System, System) {
    let old = logs::system(seed);
    let mut new = old.clone();
    let mut dice = Dice(seed ^ 0x4ef1);
    match dice.below(8) {
        0 => new.toy.is_stepwise = !new.toy.is_stepwise,
        1 => new = System { toy: logs::system(seed + 22).toy, ..new },
        change => (0..3).for_each(|_| change_rules(&mut new.toy, change, &mut dice)),
    }
    if dice.below(2) == 0 { (new, old) } else { (old, new) }
}

/// Removes a rule, or changes its outcomes.
fn change_rules(toy: &mut Toy, change: u32, dice: &mut Dice) {
    // Those of other states are hardly reached.
    let early: Vec<_> = toy.rules.keys().filter(|(_, state, _)| *state < 2).copied().collect();
    let Some(key) = early.get(dice.below(early.len().max(1) as u32) as usize).copied() else { return };
    let Some(outcomes) = toy.rules.get_mut(&key) else { return };
    match change {
        2 | 3 => drop(toy.rules.remove(&key)),
        4 => outcomes.push(ToyOutcome::Go(key.1, Vec::new())),
        5 => outcomes.iter_mut().for_each(|outcome| {
            if let ToyOutcome::Go(state, _) = outcome {
                *state ^= 1;
            }
        }),
        _ => outcomes.iter_mut().for_each(|outcome| {
            if let ToyOutcome::Go(_, sent) = outcome {
                sent.clear();
            }
        }),
    }
}

/// The verdict is that of all sequences up to a length, and a difference has the fewest events.
#[test]
fn refinement_is_that_of_all_sequences() {
    let cases = effort::systems(1_500);
    let (mut refines, mut differs, mut stutters, mut undecided, mut skipped) = (0, 0, 0, 0, 0);
    for seed in 0..cases {
        let (new, old) = pair(seed);
        let fields = [Fields::All, Fields::Half, Fields::Odd][seed as usize / 7 % 3];
        let (Some(of_new), Some(of_old)) = (sequences(&new, fields), sequences(&old, fields)) else {
            skipped += 1;
            continue;
        };
        let least =
            of_new.iter().filter(|(sequence, _)| !of_old.contains_key(*sequence)).map(|(_, events)| *events).min();
        let (judgement, difference) = compared(&new, &old, fields, 32 << 20);
        let said = || format!("seed {seed}, {fields:?}: {new:#?}\n{old:#?}\n{judgement:#?}\n{difference:?}");
        match (&judgement.verdict, &difference) {
            (Verdict::Refines, _) => {
                assert_eq!(least, None, "{}", said());
                refines += 1;
            }
            (Verdict::Differs(_), Some((sequence, events))) => {
                assert!(least.is_none_or(|least| *events <= least), "{least:?} {}", said());
                if sequence.len() <= CHANGES_MAX + 1 {
                    assert_eq!(least, Some(*events), "{}", said());
                }
                assert!(!of_old.contains_key(sequence), "{}", said());
                differs += 1;
                stutters += u64::from(*events + 1 > sequence.len());
            }
            _ => undecided += 1,
        }
    }
    println!(
        "{refines} refine, {differs} differ, {stutters} of them stutter, {undecided} undecided, {skipped} skipped"
    );
    effort::telling(
        refines * 5 > cases
            && differs * 20 > cases
            && stutters * 200 > cases
            && undecided * 50 < cases
            && skipped * 2 < cases,
        format_args!("{refines} {differs} {stutters} {undecided} {skipped} of {cases}"),
    );
}

/// Each system refines itself, with each fault, network and view.
#[test]
fn each_system_refines_itself() {
    let cases = effort::systems(400);
    let (mut undecided, mut tried) = (0, 0);
    for seed in 0..cases {
        let system = logs::system(seed);
        if graph(&system, None, None, 2 * STATES_MAX).is_none() {
            continue;
        }
        tried += 1;
        for fields in [Fields::All, Fields::Half] {
            match compared(&system, &system, fields, 8 << 20).0.verdict {
                Verdict::Refines => {}
                Verdict::Undecided(_) => undecided += 1,
                Verdict::Differs(difference) => panic!("seed {seed}: {difference:?}"),
            }
        }
    }
    effort::telling(tried * 3 > cases && undecided * 20 < tried, format_args!("{undecided} of {tried} undecided"));
}
