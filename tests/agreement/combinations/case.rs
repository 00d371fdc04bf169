//! A case: a random system and the options of a search of it, made for a row of options.

use std::sync::Arc;

use host_agreement::options::{Axis, Row};
use host_agreement::reference::progress::{Within, progress};
use host_agreement::reference::promises::{self, Outcome};
use host_agreement::reference::{self, Prefix, Reached, System};
use host_model::contract::{MachineFactory, PropertyKind, Selected};
use host_model::scenario::{Faults, Link, Network};
use host_model::toys::{Dice, Feature, Medium, Toy, ToyProperty};
use host_search::kernel::SearchBounds;
use host_search::kernel::goals::Goals;
use host_search::kernel::rules::{Fairness, Recovery, Rules, Timers};
use host_search::kernel::schedule::Schedule;
use host_search::kernel::weights::Weights;
use host_search::strategy::auto::{Member, Turns};
use host_search::strategy::{Promises, STRATEGIES, Strategy};

use crate::faults::fault;

/// The maximum number of global states: larger systems are skipped, because the reference is slow.
const STATES_MAX: usize = 400;
/// The maximum number of configurations, for searches that explore executions.
const CONFIGURATIONS_MAX: usize = 400;
/// The minimum number of global states, as long as larger systems exist.
const STATES_MIN: u64 = 12;
/// The number of systems tried for a row.
const ATTEMPTS: u64 = 80;

/// The stop of a search, as a number taken modulo the checks of the whole search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The search is not stopped.
    Never,
    /// The search stops at this check for good.
    Interrupted(u64),
    /// The search stops at this check, and another process continues.
    Resumed(u64),
    /// Memory runs out at this check: a search of several members continues with less, others end.
    Starved(u64),
    /// The search stops at this check; another process continues until memory runs out, and a third one continues from there.
    ResumedStarved(u64),
}

impl Stop {
    /// Whether another process continues from a checkpoint.
    pub fn is_resumed(self) -> bool {
        matches!(self, Self::Resumed(_) | Self::ResumedStarved(_))
    }

    /// Whether memory runs out at some point.
    pub fn is_starved(self) -> bool {
        matches!(self, Self::Starved(_) | Self::ResumedStarved(_))
    }
}

/// All options of a search.
#[derive(Clone, Debug)]
pub struct Case {
    pub strategy: &'static Strategy,
    /// The turns of the members, of a portfolio.
    pub turns: Turns,
    pub system: System,
    pub bounds: SearchBounds,
    pub prefix: Option<Prefix>,
    /// Whether the search begins in the states at the end of the prefix, exported, instead of after its steps.
    pub is_exported: bool,
    pub workers: usize,
    pub stop: Stop,
    pub collects: bool,
    /// Further properties of the protocol, which are not judged.
    pub unjudged: Vec<ToyProperty>,
}

/// The reference's answers for a case.
#[derive(Clone, Debug)]
pub struct Truth {
    /// Without bounds.
    pub all: Reached,
    /// Within the bounds on depth and local events.
    pub within: Reached,
    /// The executions within the bound on local events, up to the order of independent events, if they were counted.
    pub executions: Option<u64>,
    /// The outcome of each promise within these bounds, and whether the system is small enough to know its cycles; none if no promise is
    /// decided.
    pub promises: Option<Vec<(Outcome, bool)>>,
}

/// Whether a strategy explores executions one by one.
pub fn is_stateless(strategy: &Strategy) -> bool {
    strategy.name.starts_with("dpor")
}

impl Case {
    /// The machines that are searched: the properties that the system knows, among others.
    pub fn factory(&self) -> Arc<dyn MachineFactory> {
        let mut toy = self.system.toy.clone();
        if self.unjudged.is_empty() {
            return Arc::new(Arc::new(toy));
        }
        // The first one, `forbidden`, has no place in this list.
        let mut judged = vec![0];
        let mut unjudged = self.unjudged.iter().cloned();
        for property in std::mem::take(&mut toy.properties) {
            toy.properties.extend(unjudged.next());
            toy.properties.push(property);
            judged.push(toy.properties.len() as u32);
        }
        toy.properties.extend(unjudged);
        Arc::new(Selected::new(Arc::new(Arc::new(toy)), judged))
    }

    /// A case for a row of options, if a small enough system was found.
    pub fn random(row: &Row, seed: u64) -> Option<(Self, Truth)> {
        let mut fallback = None;
        for attempt in 0..ATTEMPTS {
            let mut case = Self::of(row, seed.wrapping_mul(1_000).wrapping_add(attempt));
            let Some(all) = reference::search_after(&case.system, None, (None, None), STATES_MAX) else { continue };
            let is_small = all.global_states < STATES_MIN;
            if is_small && fallback.is_some() {
                continue;
            }
            let mut dice = Dice(seed ^ 0xb0_0d);
            if row[Axis::Prefix as usize] > 0 {
                let random = if dice.below(3) == 0 { Prefix::random_lossy } else { Prefix::random };
                case.prefix = random(&case.system, seed, 1 + dice.below(all.farthest.max(1)));
            }
            case.set_bounds(row, &mut dice)?;
            let Some(truth) = case.truth() else { continue };
            match is_small {
                true => fallback = Some((case, truth)),
                false => return Some((case, truth)),
            }
        }
        fallback
    }

    /// The reference's answers; none if the system is too large, or the prefix cannot happen.
    pub fn truth(&self) -> Option<Truth> {
        let SearchBounds { depth, local_events, .. } = self.bounds;
        let search = |bounds| reference::search_after(&self.system, self.prefix.as_ref(), bounds, 2 * STATES_MAX);
        let executions = match is_stateless(self.strategy) {
            false => None,
            true => {
                let prefix = self.prefix.as_ref();
                let found = reference::configurations_after(&self.system, prefix, local_events, CONFIGURATIONS_MAX)?;
                Some(found.maximal)
            }
        };
        let promises = if self.decides_promises() { Some(self.outcomes()?) } else { None };
        Some(Truth { all: search((None, None))?, within: search((depth, local_events))?, executions, promises })
    }

    /// Whether the search decides promises, according to the command line and the strategies.
    pub fn decides_promises(&self) -> bool {
        let Faults { duplicates, crashes, .. } = self.system.faults;
        let is_asked = self.bounds.promises.is_some() && self.strategy.promises == Promises::Decided;
        is_asked && !self.bounds.reduce && duplicates == 0 && crashes == 0
    }

    fn outcomes(&self) -> Option<Vec<(Outcome, bool)>> {
        let SearchBounds { depth, local_events, promises: rules, .. } = self.bounds;
        let graph =
            progress(&self.system, Within { prefix: self.prefix.as_ref(), depth, local_events }, 2 * STATES_MAX)?;
        let outcome = |promise: usize| {
            let whole = promises::decide(&graph.states, promise, rules?).map(|outcome| (outcome, true));
            whole.or_else(|| Some((promises::decide_but_lassos(&graph.states, promise, rules?), false)))
        };
        (0..graph.states[0].owed.len()).map(outcome).collect()
    }

    /// A case for a row of options, without bounds and prefix, of any size.
    pub fn of(row: &Row, seed: u64) -> Self {
        let value = |axis: Axis| row[axis as usize];
        let is_on = |axis: Axis| value(axis) > 0;
        let mut dice = Dice(seed ^ 0xca5e);
        let is_symmetric = value(Axis::Declared) == 1;
        let nodes = if is_symmetric { 3 } else { 2 + dice.below(2) };
        let mut toy = match is_symmetric {
            true => Toy::random_symmetric(seed, nodes),
            false => Toy::random(seed, nodes),
        };
        let strategy = &STRATEGIES[value(Axis::Strategy)];
        // Searches of executions or events do not end there.
        let is_busy =
            is_on(Axis::Fairness) && strategy.promises == Promises::Decided && !is_symmetric && dice.below(3) > 0;
        let is_ordered = value(Axis::Network) == 2 && value(Axis::Links) == 0;
        if is_busy {
            toy = match is_on(Axis::Losses) && is_ordered {
                true => Toy::random_busy_with_heralds(seed, 2),
                false => Toy::random_busy(seed, 2),
            };
        } else if is_on(Axis::Fairness) {
            toy = toy.with_random_promises(seed, is_symmetric);
        }
        let nodes = toy.nodes;
        if value(Axis::Declared) == 2 {
            toy.interchangeable = vec![(0..nodes).collect()];
        }
        let breaks = is_on(Axis::Breaks) || is_on(Axis::Partitions);
        for (is_wanted, add) in [
            (is_on(Axis::Resets) && dice.below(4) > 0, Toy::with_random_durable as fn(Toy, u64) -> Toy),
            (breaks || is_on(Axis::Resets), Toy::with_random_errors),
            (is_on(Axis::Refusals), Toy::with_random_refusals),
            (is_on(Axis::Deadlock), Toy::with_random_done),
            (is_on(Axis::Quorums), Toy::with_random_quorums),
        ] {
            toy = if is_wanted { add(toy, seed) } else { toy };
        }
        for (is_wanted, feature) in [
            (is_on(Axis::Copies), Feature::Copies),
            (is_on(Axis::Choices), Feature::Choices),
            (is_on(Axis::Properties), Feature::Properties),
            (value(Axis::Properties) == 2, Feature::Broken),
        ] {
            toy = if is_wanted { toy.with_random(feature, seed, is_symmetric) } else { toy };
        }
        for (is_wanted, add) in [
            (is_on(Axis::Begins), Toy::with_random_starts as fn(Toy, u64) -> Toy),
            (is_on(Axis::Traps), Toy::with_random_traps),
        ] {
            toy = if is_wanted { add(toy, seed) } else { toy };
        }
        if is_on(Axis::Resets) && !is_symmetric {
            toy = toy.with_random_syncs(seed);
        }
        // The place of the durable state changes nothing else.
        toy.medium = [Medium::Persisted, Medium::Map, Medium::WholeMap][seed as usize % 3];
        let mut system = arranged(toy, row, &mut dice);
        // Faults that happen on all networks take turns, and so do faults that need an order.
        *system.faults.of_mut(fault(seed, true)) = value(Axis::Resets) as u32;
        *system.faults.of_mut(fault(seed, false)) += value(Axis::Breaks) as u32;
        let stop = match value(Axis::Stop) {
            0 => Stop::Never,
            1 => Stop::Interrupted(dice.below(1 << 30).into()),
            2 => Stop::Resumed(dice.below(1 << 30).into()),
            3 => Stop::Starved(dice.below(1 << 30).into()),
            _ => Stop::ResumedStarved(dice.below(1 << 30).into()),
        };
        let bounds = SearchBounds {
            violations: [None, Some(1), Some(3), Some(u64::MAX), Some(u64::MAX), Some(2)][value(Axis::Violations)],
            variants: [None, None, None, None, Some(1), Some(2)][value(Axis::Violations)],
            reduce: is_on(Axis::Reduce),
            no_symmetry: is_on(Axis::NoSymmetry),
            deadlock: is_on(Axis::Deadlock),
            count_system_states: value(Axis::Counted) == 1,
            seed: (value(Axis::Walks) == 1).then_some(seed),
            walks: (value(Axis::Walks) == 1).then_some(40),
            weights: (value(Axis::Walks) == 2).then(|| Weights { fault: 3, ..Weights::default() }),
            schedule: value(Axis::Schedule).checked_sub(1).map(|index| Schedule::ALL[index]),
            // A search that keeps checkpoints does not decide promises.
            promises: (is_on(Axis::Fairness) && !stop.is_resumed()).then(|| rules(row)),
            ..SearchBounds::default()
        };
        let bounds = guided(bounds, &system.toy, value(Axis::Goals), &mut dice);
        let (workers, collects) = (1 + value(Axis::Workers), value(Axis::Counted) == 2);
        let is_exported = value(Axis::Prefix) == 2;
        let mut turns = turns(&mut Dice(seed ^ 0x7042));
        if is_on(Axis::Fairness) {
            // A single member of the portfolio decides promises.
            turns.only = None;
        }
        let unjudged = if is_on(Axis::Selected) { unjudged(&system.toy, seed, is_symmetric) } else { Vec::new() };
        Self { strategy, turns, system, bounds, prefix: None, is_exported, workers, stop, collects, unjudged }
    }

    /// Sets the bounds of the row: below the needed value, exactly to it, or above.
    fn set_bounds(&mut self, row: &Row, dice: &mut Dice) -> Option<()> {
        let search = |bounds| reference::search_after(&self.system, self.prefix.as_ref(), bounds, STATES_MAX);
        let all = search((None, None))?;
        let around = |axis: Axis, needed: u32| match row[axis as usize] {
            0 => None,
            1 => Some(needed.saturating_sub(1)),
            2 => Some(needed),
            _ => Some(needed + 2),
        };
        // The depth of the whole space, or of the first finding.
        let first = all.findings(self.system.toy.nodes, self.bounds.deadlock).into_values().min();
        let depth = if dice.below(2) == 0 { all.farthest } else { first.unwrap_or(all.farthest) };
        let local_events = (0..4).find(|max| search((None, Some(*max))).is_some_and(|it| !it.is_local_cut));
        let depth = around(Axis::Depth, depth);
        let local_events = around(Axis::LocalEvents, local_events.unwrap_or(2));
        // Each strategy counts something else.
        let states = around(Axis::States, all.global_states as u32).map(|max| u64::from(max.max(1)));
        self.bounds = SearchBounds { depth, local_events, states, ..self.bounds };
        Some(())
    }
}

/// Properties that are violated somewhere, trap, or are broken promises, if they are judged.
fn unjudged(toy: &Toy, seed: u64, is_symmetric: bool) -> Vec<ToyProperty> {
    let alone = Toy { properties: Vec::new(), ..toy.clone() };
    let all = alone.with_random(Feature::Properties, seed ^ 0x5e1, is_symmetric);
    let all =
        all.with_random(Feature::Broken, seed ^ 0x5e1, is_symmetric).with_random_promises(seed ^ 0x5e1, is_symmetric);
    // A name stands for one property.
    let named = |(index, property): (usize, ToyProperty)| ToyProperty { name: format!("unjudged {index}"), ..property };
    all.properties.into_iter().enumerate().map(named).collect()
}

/// The bounds with the goals or the avoided properties of a row, if the toy has such properties.
fn guided(bounds: SearchBounds, toy: &Toy, value: usize, dice: &mut Dice) -> SearchBounds {
    let all = (1..).zip(&toy.properties).filter(|(_, property)| property.kind == PropertyKind::Sometimes);
    let all: Vec<u32> = all.map(|(index, _)| index).collect();
    let one = |dice: &mut Dice| all[dice.below(all.len() as u32) as usize];
    match value {
        1 if !all.is_empty() => {
            let goals: Vec<u32> = (0..=dice.below(3)).map(|_| one(dice)).collect();
            SearchBounds { goals: Goals::new(&goals).expect("three at most"), ..bounds }
        }
        2 if !all.is_empty() => SearchBounds { avoided: Goals::new(&[one(dice)]).expect("one"), ..bounds },
        _ => bounds,
    }
}

/// The rules of a row for promises.
fn rules(row: &Row) -> Rules {
    Rules {
        fairness: [Fairness::Stable, Fairness::Stable, Fairness::FairLossy, Fairness::None]
            [row[Axis::Fairness as usize]],
        timers: Timers::ALL[row[Axis::Timers as usize]],
        recovery: Recovery::ALL[row[Axis::Recovery as usize]],
    }
}

/// Turns that are short enough for the members to take turns in small systems; or one member alone.
fn turns(dice: &mut Dice) -> Turns {
    let only = [None, None, Some(Member::Unfold), Some(Member::Reduced), Some(Member::Lmc)];
    Turns { shortest: [0, 20, 200, 1 << 18][dice.below(4) as usize], only: only[dice.below(5) as usize] }
}

/// The toy on the networks and with the faults of a row.
fn arranged(mut toy: Toy, row: &Row, dice: &mut Dice) -> System {
    let value = |axis: Axis| row[axis as usize];
    let network = Network::ALL[value(Axis::Network)];
    let has_breaks = value(Axis::Breaks) + value(Axis::Partitions) + value(Axis::Resets) > 0;
    let is_unordered = value(Axis::Reduce) > 0 || [2, 4].contains(&value(Axis::Stop));
    let mut links: Vec<Link> = Vec::new();
    if value(Axis::Links) > 0 {
        let kinds = if is_unordered { &Network::ALL[..2] } else { &Network::ALL[..] };
        for (from, to) in (0..toy.nodes).flat_map(|from| (0..toy.nodes).map(move |to| (from, to))) {
            let back = links.iter().find(|link| has_breaks && (link.from, link.to) == (to, from));
            let network = back.map_or_else(|| kinds[dice.below(kinds.len() as u32) as usize], |link| link.network);
            links.push(Link { from, to, network });
        }
        // Faults need these networks.
        if value(Axis::Breaks) > 0 {
            for link in links.iter_mut().filter(|link| link.from + link.to == 1) {
                link.network = Network::Ordered;
            }
        }
        if value(Axis::Duplicates) > 0 {
            links[0].network = Network::UnorderedDuplicating;
        }
    }
    if value(Axis::Quorums) > 0 {
        let collector = dice.below(toy.nodes);
        let is_ordered = network == Network::Ordered || links.iter().any(|link| link.network == Network::Ordered);
        toy.roles.retain(|(node, _, _), _| !is_ordered || *node == collector);
        let touches = |link: &Link| link.to == collector || (has_breaks && link.from == collector);
        for link in links.iter_mut().filter(|link| touches(link) && link.network == Network::Ordered) {
            link.network = Network::Unordered;
        }
        // One link that can break stays, away from the collector, or the collector takes messages one by one.
        if value(Axis::Breaks) > 0 && !links.iter().any(|link| link.network == Network::Ordered) {
            toy.roles.clear();
            for link in links.iter_mut().filter(|link| link.from + link.to == 1) {
                link.network = Network::Ordered;
            }
        }
    }
    let has = |kind: Network| network == kind && links.is_empty() || links.iter().any(|link| link.network == kind);
    // A partition breaks this many connections, if some can break.
    let partitioned = if has(Network::Ordered) { value(Axis::Partitions) as u32 * (toy.nodes - 1) } else { 0 };
    let faults = Faults {
        duplicates: value(Axis::Duplicates) as u32,
        breaks: partitioned,
        refusals: value(Axis::Refusals) as u32,
        crashes: value(Axis::Crashes) as u32,
        losses: [0, 1, Faults::UNLIMITED][value(Axis::Losses)],
        ..Faults::default()
    };
    System { network, links, faults, ..System::new(toy) }
}
