//! Graphs of many states, judged by any number of workers: the same verdict, live states are those of a search backwards, and where chance
//! has a say, components are those of a fixpoint.

use host_agreement::effort::{systems, telling};
use host_model::toys::Dice;
use host_search::kernel::rules::{Fairness, Recovery, Rules, Timers};
use host_search::liveness::{Draw, EventClass, Label, LabelId, Source, StoredGraph, Verdict};

use super::graphs::judge;

/// The number of states: a few times the batch of one worker.
const STATES: u32 = 30_000;

const CLASSES: [EventClass; 8] = [
    EventClass::Delivery,
    EventClass::Delivery,
    EventClass::Timer,
    EventClass::Internal,
    EventClass::Free,
    EventClass::Loss,
    EventClass::Reset,
    EventClass::Fault,
];

/// One worker, two, and more than this machine may have processors.
fn pools() -> [rayon::ThreadPool; 3] {
    let pool = |workers| rayon::ThreadPoolBuilder::new().num_threads(workers).build();
    [1, 2, 5].map(|workers| pool(workers).expect("threads can be started"))
}

/// A graph, with its edges once more.
struct Large {
    graph: StoredGraph,
    /// The source, the target, and the class of the event.
    edges: Vec<(u32, u32, EventClass)>,
    owed: Vec<bool>,
}

/// A random graph: parts of it are chains, trees, or crowds of states that lead to and fro, and some keep the promise nowhere.
fn large(dice: &mut Dice) -> Large {
    let mut graph = StoredGraph::new(1);
    let labels = 8 * (1 + dice.below(20));
    for label in 0..labels {
        let class = CLASSES[label as usize % CLASSES.len()];
        let is_fair = class.is_fair();
        graph.add_label(Label::new(class, is_fair.then_some(label)));
    }
    let (width, rare) = (1 + dice.below(3), 2 + dice.below(400));
    let (mut edges, mut owed) = (Vec::new(), Vec::new());
    let parent = |state: u32| state.checked_sub(1).map(|before| before / width);
    for state in 0..STATES {
        owed.push(dice.below(rare) > 0);
        graph.add_state(parent(state), owed[state as usize].then_some(0));
    }
    let part = 1 + dice.below(STATES);
    let (mut child, mut row): (u32, Vec<(u32, LabelId)>) = (1, Vec::new());
    for state in 0..STATES {
        let is_dense = (state / part).is_multiple_of(2);
        while child < STATES && parent(child) == Some(state) {
            row.push((child, dice.below(labels)));
            child += 1;
        }
        for _ in 0..dice.below(if is_dense { 4 } else { 2 }) {
            let reach = 1 << dice.below(15);
            let to = if is_dense && dice.below(3) == 0 {
                state.saturating_sub(dice.below(reach))
            } else {
                state + dice.below(reach)
            };
            // An earlier state is not found by fewer events than a later one, so no edge leads far.
            row.push((to.min(child - 1), dice.below(labels)));
        }
        edges.extend(row.iter().map(|(to, label)| (state, *to, CLASSES[*label as usize % CLASSES.len()])));
        graph.add_row(&mut row, dice.below(5_000) == 0);
        row.clear();
    }
    Large { graph, edges, owed }
}

/// The states from which one is reached that keeps the promise, found by going back over edges.
fn live(large: &Large, recovery: Recovery) -> u64 {
    let mut back = vec![Vec::new(); STATES as usize];
    for (from, to, class) in &large.edges {
        let can_rely = match class {
            EventClass::Loss | EventClass::Fault | EventClass::Suppressed => false,
            EventClass::Reset => recovery == Recovery::Resets,
            _ => true,
        };
        if can_rely {
            back[*to as usize].push(*from);
        }
    }
    let mut is_live: Vec<bool> = large.owed.iter().map(|owed| !owed).collect();
    let mut queue: Vec<u32> = (0..STATES).filter(|state| is_live[*state as usize]).collect();
    while let Some(state) = queue.pop() {
        for before in &back[state as usize] {
            if !std::mem::replace(&mut is_live[*before as usize], true) {
                queue.push(*before);
            }
        }
    }
    is_live.iter().filter(|live| **live).count() as u64
}

#[test]
fn verdicts_do_not_depend_on_the_number_of_workers() {
    let pools = pools();
    let (mut broken, mut components) = ([0_u32; 3], 0);
    for seed in 0..systems(40) {
        let mut dice = Dice(seed ^ 0x3a6e);
        let large = large(&mut dice);
        let rules = Rules {
            fairness: [Fairness::Stable, Fairness::Stable, Fairness::None, Fairness::FairLossy][dice.below(4) as usize],
            timers: [Timers::Free, Timers::Late][dice.below(2) as usize],
            recovery: Recovery::ALL[dice.below(2) as usize],
        };
        let [one, two, five] = pools.each_ref().map(|pool| pool.install(|| judge(&large.graph, 0, rules)));
        assert!(one == two && one == five, "seed {seed}, {rules:?}: {}", said(&[&one, &two, &five]));
        assert_eq!(one.live_states, live(&large, rules.recovery), "seed {seed}, {rules:?}");
        let ways = [one.death.is_some(), one.stop.is_some(), one.lasso.is_some()];
        for (systems, is_broken) in broken.iter_mut().zip(ways) {
            *systems += u32::from(is_broken);
        }
        components += one.fair_components;
    }
    let is_telling = broken.iter().all(|systems| *systems > 0) && components > 10;
    telling(is_telling, format_args!("{broken:?} systems dead, stuck, with a lasso; {components} fair components"));
}

/// A chain of states in which a promise is not kept but in a few. From some states an edge leads back, and from some of these chance
/// decides whether it or the chain is taken.
struct Chain {
    graph: StoredGraph,
    owed: Vec<bool>,
    /// By state: where the edge leads back to, and how chance gives the answer for it, if chance is asked.
    back: Vec<Option<(u32, Option<Source>)>>,
}

fn chain(dice: &mut Dice) -> Chain {
    let mut graph = StoredGraph::new(1);
    let plain = graph.add_label(Label::new(EventClass::Delivery, Some(0)));
    let (rings, coins) = (1_000 + dice.below(12_000), 20 + dice.below(2_000));
    let (mut owed, mut back): (Vec<bool>, Vec<_>) = (Vec::new(), Vec::new());
    for state in 0..STATES {
        owed.push(state % rings != 0 && state + 1 < STATES);
        graph.add_state(state.checked_sub(1), owed[state as usize].then_some(0));
        let ring = state - state % rings;
        back.push(match dice.below(coins) {
            // The last state of a ring leads back to its first one.
            _ if state % rings == rings - 1 => Some((ring + 1, None)),
            // Most stay in the ring, some leave it.
            kind @ 0..3 if state % rings > 0 => {
                let source = [Source::Drawn, Source::Drawn, Source::Undrawn][kind as usize];
                let reach = if dice.below(20) == 0 { state % rings } else { dice.below(state % rings) };
                Some((state - reach, Some(source)))
            }
            _ => None,
        });
    }
    for state in 0..STATES {
        let mut row: Vec<(u32, LabelId)> = Vec::new();
        let mut label = |answer, source: Option<Source>| match source {
            None => plain,
            Some(source) => {
                let draw = Draw { row: state, answers: [(answer, source)].into() };
                graph.add_label(Label { draw: Some(draw), ..Label::new(EventClass::Delivery, Some(0)) })
            }
        };
        let (back, source) = back[state as usize].map_or((None, None), |(to, source)| (Some(to), source));
        row.extend(back.map(|to| (to, label(1, source))));
        if state + 1 < STATES {
            row.push((state + 1, label(0, source.and(Some(Source::Drawn)))));
        }
        graph.add_row(&mut row, false);
    }
    Chain { graph, owed, back }
}

/// The components of a chain, as intervals: an edge back joins all states between its ends if the chain can be taken for ever between
/// them. Where chance decides, both answers have to stay in the component, or none can be taken for ever.
fn intervals(Chain { owed, back, .. }: &Chain, has_chance: bool) -> Vec<(u32, u32)> {
    let mut is_taken = vec![true; back.len()];
    loop {
        // The distance that each state reaches back without an edge of the chain that is not taken, or a state that keeps the promise.
        let (mut found, mut first): (Vec<(u32, u32)>, u32) = (Vec::new(), 0);
        for state in 0..STATES {
            let is_cut = state > 0 && !is_taken[state as usize - 1];
            if is_cut || !owed[state as usize] {
                first = state + u32::from(!owed[state as usize]);
            }
            let joins = back[state as usize].filter(|(to, _)| is_taken[state as usize] && *to >= first);
            let Some((mut to, _)) = joins.filter(|_| owed[state as usize]) else { continue };
            while let Some(before) = found.pop_if(|(_, end)| *end >= to) {
                to = to.min(before.0);
            }
            found.push((to, state));
        }
        let of = |state: u32| {
            let next = found.partition_point(|(_, end)| *end < state);
            found.get(next).is_some_and(|(from, _)| *from <= state).then_some(next)
        };
        let leaves = |state: u32| {
            let Some((to, Some(source))) = back[state as usize] else { return false };
            let stays = of(state).is_some_and(|own| {
                let inside = |other| of(other) == Some(own);
                inside(state + 1) && (source != Source::Drawn || inside(to))
            });
            is_taken[state as usize] && !stays
        };
        let left: Vec<u32> = (0..STATES).filter(|state| has_chance && leaves(*state)).collect();
        if left.is_empty() {
            return found;
        }
        left.iter().for_each(|state| is_taken[*state as usize] = false);
    }
}

#[test]
fn large_components_by_chance_are_those_of_a_fixpoint_for_any_number_of_workers() {
    let pools = pools();
    let (mut lost, mut kept, mut large) = (0, 0, 0);
    for seed in 0..systems(20) {
        let mut dice = Dice(seed ^ 0xc01);
        let chain = chain(&mut dice);
        let fairness = [Fairness::Stable, Fairness::FairLossy, Fairness::None][dice.below(3) as usize];
        let rules = Rules { fairness, timers: Timers::Free, recovery: Recovery::Events };
        let [one, two, five] = pools.each_ref().map(|pool| pool.install(|| judge(&chain.graph, 0, rules)));
        assert!(one == two && one == five, "seed {seed}, {rules:?}: {}", said(&[&one, &two, &five]));
        let expected = intervals(&chain, fairness != Fairness::None);
        assert_eq!(one.fair_components, expected.len() as u64, "seed {seed}, {rules:?}");
        let lasso = one.lasso.as_ref().map(|lasso| lasso.prefix.len());
        assert_eq!(lasso, expected.iter().map(|(first, _)| *first as usize).min(), "seed {seed}, {rules:?}");
        lost += u32::from(expected.len() < intervals(&chain, false).len());
        kept += u32::from(fairness != Fairness::None && !expected.is_empty());
        large += u32::from(expected.iter().any(|(first, last)| last - first > 5_000));
    }
    telling(lost > 2 && kept > 2 && large > 2, format_args!("{lost} lose components, {kept} keep some, {large} large"));
}

/// A ring of states; one or none is without an action, and one or none takes it: any workers may examine these.
#[test]
fn what_is_possible_in_all_states_and_taken_in_none_is_so_for_all_workers_together() {
    let pools = pools();
    let places = [None, Some(0), Some(STATES / 3), Some(STATES - 1)];
    for (without, taking) in places.into_iter().flat_map(|without| places.map(|taking| (without, taking))) {
        let mut graph = StoredGraph::new(1);
        let [next, taken] = [0, 1].map(|action| graph.add_label(Label::new(EventClass::Delivery, Some(action))));
        let possible = graph.add_label(Label::new(EventClass::Suppressed, Some(1)));
        (0..STATES).for_each(|state| graph.add_state(state.checked_sub(1), [0]));
        for state in 0..STATES {
            let label = if taking == Some(state) { taken } else { next };
            let mut row = vec![((state + 1) % STATES, label)];
            row.extend((without != Some(state)).then_some((state, possible)));
            graph.add_row(&mut row, false);
        }
        let expected = u64::from(without.is_some() || taking.is_some());
        for pool in &pools {
            let found = pool.install(|| judge(&graph, 0, Rules::default())).fair_components;
            assert_eq!(found, expected, "{without:?}, {taking:?}, {pool:?}");
        }
    }
}

/// The numbers of some verdicts.
fn said(verdicts: &[&Verdict]) -> String {
    let numbers = verdicts.iter().map(|verdict| {
        let edges = verdict.critical_edges();
        let Verdict { live_states, dead_states, unknown_states, fair_components, stuck, .. } = verdict;
        format!("{live_states} live, {dead_states} dead, {unknown_states}, {edges} critical, {stuck:?}, {fair_components} fair")
    });
    numbers.collect::<Vec<_>>().join("; ")
}
