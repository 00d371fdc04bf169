//! Graphs of many states, judged by any number of workers: the same verdict, and live states are those of a search backwards.

use host_agreement::effort::{systems, telling};
use host_model::toys::Dice;
use host_search::kernel::rules::{Fairness, Recovery, Rules, Timers};
use host_search::liveness::{EventClass, Label, LabelId, StoredGraph, Verdict};

use super::graphs::judge;

/// States: a few times what one worker takes at once.
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

/// A graph, with its edges once more.
struct Large {
    graph: StoredGraph,
    /// From, to, and what happens.
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
            // What is found first is not found by fewer events than what is found later, so no edge leads far.
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
    let pools = [1, 2, 5]
        .map(|workers| rayon::ThreadPoolBuilder::new().num_threads(workers).build().expect("threads can be started"));
    let (mut broken, mut components) = ([0_u32; 3], 0);
    for seed in 0..systems(40) {
        let mut dice = Dice(seed ^ 0x3a6e);
        let large = large(&mut dice);
        let rules = Rules {
            fairness: [Fairness::Stable, Fairness::Stable, Fairness::None, Fairness::FairLossy][dice.below(4) as usize],
            timers: [Timers::Free, Timers::Late][dice.below(2) as usize],
            recovery: Recovery::ALL[dice.below(2) as usize],
            mutant: None,
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

/// The numbers of some verdicts.
fn said(verdicts: &[&Verdict]) -> String {
    let numbers = verdicts.iter().map(|verdict| {
        let edges = verdict.critical_edges();
        let Verdict { live_states, dead_states, unknown_states, fair_components, stuck, .. } = verdict;
        format!("{live_states} live, {dead_states} dead, {unknown_states}, {edges} critical, {stuck:?}, {fair_components} fair")
    });
    numbers.collect::<Vec<_>>().join("; ")
}
