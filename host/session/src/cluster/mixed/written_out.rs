//! A cluster with a twin or an adversary is the same system as one protocol in which these are written out: each strategy has the
//! same result for both, whatever faults there are.
//!
//! So the results for strategies on random toys hold for twins and adversaries, too.

use std::collections::BTreeMap;
use std::sync::Arc;

use host_model::contract::{Judgement, MachineFactory, NodeId};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{Faults, Network, Scenario};
use host_model::toys::{Feature, Toy, ToyOutcome, ToyState, ToyTrigger};
use host_model::trace::start;
use host_search::kernel::{EndCondition, Report, Search, SearchBounds, SearchError, Unmonitored};
use host_search::strategy::{Bound, STRATEGIES, Strategy, bdfs};

use super::{Component, Instance, MixedFactory};

/// Clusters with more global states are left out: not every strategy ends on them soon.
const STATES_MAX: u64 = 150;

/// A state that no node ever has.
const NOWHERE: ToyState = 254;

/// The same protocol with a node that no property reads, and no deadlock waits for. The properties of the other nodes stay.
fn unjudged(mut toy: Toy, node: NodeId) -> Toy {
    toy.done.extend((0..=ToyState::MAX).map(|state| (node, state)));
    let further = toy.properties.iter_mut().flat_map(|property| property.tuples.iter_mut().chain(&mut property.traps));
    for state in toy.forbidden.iter_mut().chain(further).filter_map(|tuple| tuple[node as usize].as_mut()) {
        *state = NOWHERE;
    }
    toy
}

/// A protocol in which the last node is another instance of a node: it has the same rules, both get every message to either, and
/// the other nodes cannot tell their messages apart.
fn with_twin(toy: &Toy, of: NodeId) -> Toy {
    let twin = toy.nodes;
    let both = move |node: NodeId| if node == of { vec![of, twin] } else { vec![node] };
    let doubled = |outcome: &ToyOutcome| {
        let all = |sent: &[(NodeId, u8)]| {
            sent.iter().flat_map(|(to, content)| both(*to).into_iter().map(move |to| (to, *content))).collect()
        };
        match outcome {
            ToyOutcome::Go(next, sent) => ToyOutcome::Go(*next, all(sent)),
            ToyOutcome::Trap(sent) => ToyOutcome::Trap(all(sent)),
        }
    };
    let outcomes = |outcomes: &[ToyOutcome]| outcomes.iter().map(doubled).collect::<Vec<_>>();
    let mut cluster = Toy { nodes: toy.nodes + 1, ..toy.clone() };
    cluster.initial = toy
        .initial
        .iter()
        .flat_map(|(from, to, content)| both(*from).into_iter().map(move |from| (from, *to, *content)))
        .flat_map(|(from, to, content)| both(to).into_iter().map(move |to| (from, to, content)))
        .collect();
    cluster.starts =
        toy.starts.iter().flat_map(|(node, all)| both(*node).into_iter().map(|node| (node, outcomes(all)))).collect();
    cluster.rules = BTreeMap::new();
    for ((node, state, on), all) in &toy.rules {
        let triggers: Vec<ToyTrigger> = match *on {
            ToyTrigger::Message(src, content) => {
                both(src).into_iter().map(|src| ToyTrigger::Message(src, content)).collect()
            }
            ToyTrigger::Error(peer) => both(peer).into_iter().map(ToyTrigger::Error).collect(),
            local @ ToyTrigger::Local(_) => vec![local],
        };
        for (node, on) in both(*node).into_iter().flat_map(|node| triggers.iter().map(move |on| (node, *on))) {
            cluster.rules.insert((node, *state, on), outcomes(all));
        }
    }
    let kept = toy.durable.iter();
    cluster.durable =
        kept.flat_map(|((node, state), it)| both(*node).into_iter().map(|node| ((node, *state), *it))).collect();
    let restarts = toy.restarts.iter();
    cluster.restarts = restarts
        .flat_map(|((node, durable), all)| both(*node).into_iter().map(|node| ((node, *durable), outcomes(all))))
        .collect();
    cluster.done =
        toy.done.iter().flat_map(|(node, state)| both(*node).into_iter().map(|node| (node, *state))).collect();
    cluster.forbidden.iter_mut().for_each(|tuple| tuple.push(None));
    for property in &mut cluster.properties {
        property.tuples.iter_mut().chain(&mut property.traps).for_each(|tuple| tuple.push(None));
    }
    unjudged(unjudged(cluster, of), twin)
}

/// A protocol in which one node has the rules of another protocol.
fn with_adversary(toy: &Toy, node: NodeId, other: &Toy) -> Toy {
    /// The entries of a table; those of one node are another table's.
    fn replaced<K: Ord + Clone, V: Clone>(
        ours: &BTreeMap<K, V>,
        theirs: &BTreeMap<K, V>,
        is_its: impl Fn(&K) -> bool,
    ) -> BTreeMap<K, V> {
        let kept = ours.iter().filter(|(key, _)| !is_its(key));
        let taken = theirs.iter().filter(|(key, _)| is_its(key));
        kept.chain(taken).map(|(key, value)| (key.clone(), value.clone())).collect()
    }
    let mut cluster = toy.clone();
    cluster.initial.retain(|(from, ..)| *from != node);
    cluster.initial.extend(other.initial.iter().filter(|(from, ..)| *from == node));
    cluster.starts = replaced(&toy.starts, &other.starts, |of| *of == node);
    cluster.rules = replaced(&toy.rules, &other.rules, |(of, ..)| *of == node);
    cluster.durable = replaced(&toy.durable, &other.durable, |(of, _)| *of == node);
    cluster.restarts = replaced(&toy.restarts, &other.restarts, |(of, _)| *of == node);
    cluster.refused = replaced(&toy.refused, &other.refused, |(of, _)| *of == node);
    cluster.roles = replaced(&toy.roles, &other.roles, |(of, ..)| *of == node);
    cluster.quorums = replaced(&toy.quorums, &other.quorums, |(of, ..)| *of == node);
    unjudged(cluster, node)
}

/// Components that run each node under its identity, the last ones as twins.
fn mixed(components: &[&Toy], placed: &[(usize, NodeId, bool)]) -> MixedFactory {
    let mut judge = Arc::new(components[0].clone()).machine().expect("a machine of our own");
    let properties = judge.properties().expect("a handler of a toy does not fail");
    let own = |component: usize| (0..properties.len() as u32).map(|index| (component == 0).then_some(index)).collect();
    let parts = components.iter().enumerate().map(|(index, toy)| Component {
        factory: Arc::new(Arc::new((*toy).clone())),
        keys: None,
        properties: own(index),
    });
    let instance = |&(component, identity, is_judged): &(usize, NodeId, bool)| Instance {
        component,
        identity,
        is_judged,
        parameters: BTreeMap::new(),
    };
    MixedFactory::new(parts.collect(), placed.iter().map(instance).collect(), &properties)
}

fn explore(
    factory: &dyn MachineFactory,
    scenario: &Scenario,
    run: fn(&Search<'_>) -> Result<Report, SearchError>,
    bounds: SearchBounds,
) -> Result<Report, SearchError> {
    let lts = Lts::new(factory, scenario.clone()).expect("a toy lists its properties");
    let starts =
        start::initial(&mut Stepper::new(&lts).expect("a toy has machines")).expect("a toy starts without a fault");
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: false };
    run(&search)
}

/// The result of a search, without the numbers of local states.
fn told(report: Report) -> (String, Vec<Found>) {
    let Report { end, counts, depth, violations, witnessed, .. } = report;
    let mut found: Vec<Found> = violations
        .iter()
        .map(|found| {
            let words = match &found.judgement {
                Judgement::Violated { message, .. } | Judgement::Deadlock { message } => message,
                Judgement::Broken { fault, .. } | Judgement::Fault(fault) => &fault.message,
                Judgement::Witnessed { .. } => panic!("a witness is no violation"),
            };
            (found.node, words.clone(), found.path.len(), found.shortest)
        })
        .collect();
    found.sort();
    (format!("{end:?}, {counts:?}, {depth}, {witnessed:?}"), found)
}

/// The node, the words, the length, and whether there is no shorter way.
type Found = (Option<NodeId>, String, usize, bool);

/// Each strategy, and each with the reduction that has one; for one violation, or for all, with ends.
fn searches(seed: u64) -> impl Iterator<Item = (&'static Strategy, SearchBounds)> {
    STRATEGIES.iter().flat_map(move |strategy| {
        let has = |bound| strategy.honours.contains(&bound);
        let bounds = move |reduce| SearchBounds {
            reduce,
            states: has(Bound::States).then_some(2 * STATES_MAX),
            walks: has(Bound::Walks).then_some(20),
            depth: (has(Bound::Depth) && seed.is_multiple_of(3)).then_some(5),
            deadlock: has(Bound::Deadlock) && seed.is_multiple_of(2),
            violations: (!seed.is_multiple_of(4)).then_some(1_000),
            ..SearchBounds::default()
        };
        [false, true]
            .into_iter()
            .filter(move |reduce| !reduce || has(Bound::Reduce))
            .map(move |it| (strategy, bounds(it)))
    })
}

/// A network, and up to two kinds of faults.
fn scenario(seed: u64, nodes: u32) -> Scenario {
    let network = [Network::Unordered, Network::UnorderedDuplicating, Network::Ordered][seed as usize % 3];
    let kinds = seed / 3 % 5;
    let has = |is_there: bool| u32::from(is_there);
    let faults = Faults {
        resets: has(kinds == 1 || kinds == 4),
        crashes: has(kinds == 3),
        breaks: has(matches!(kinds, 2 | 4) && network == Network::Ordered),
        duplicates: has(matches!(kinds, 2 | 4) && network == Network::Unordered),
        ..Faults::default()
    };
    Scenario { network, faults, ..Scenario::new(nodes) }
}

fn random(seed: u64, nodes: u32) -> Toy {
    let toy = Toy::random(seed, nodes).with_random_done(seed).with_random_durable(seed).with_random_errors(seed);
    let toy = toy.with_random(Feature::Properties, seed, false).with_random(Feature::Copies, seed, false);
    match seed % 5 {
        0 => toy.with_random(Feature::Broken, seed, false),
        1 => toy.with_random(Feature::Choices, seed, false),
        2 => toy.with_random_starts(seed),
        3 => toy.with_random_traps(seed),
        _ => toy,
    }
}

/// Compares the reports of a cluster and of its written-out form; returns the numbers of searches, and of those that found something.
fn compare(seed: u64, cluster: &MixedFactory, written: &Toy, has_twin: bool) -> (u64, u64) {
    let (scenario, written) = (scenario(seed, written.nodes), Arc::new(written.clone()));
    let (mut all, mut violated) = (0, 0);
    let whole = SearchBounds { states: Some(STATES_MAX), violations: Some(u64::MAX), ..SearchBounds::default() };
    if explore(&written, &scenario, bdfs::run, whole).is_ok_and(|report| report.end == EndCondition::StateBound) {
        return (0, 0);
    }
    for (strategy, bounds) in searches(seed) {
        let what = format!("{seed} by {}, reduced: {}", strategy.name, bounds.reduce);
        let ask = |factory: &dyn MachineFactory| {
            explore(factory, &scenario, strategy.run, bounds).map(told).map_err(|error| error.to_string())
        };
        let (ours, mut theirs) = (ask(cluster), ask(&written));
        if let Ok((_, found)) = &mut theirs {
            // A protocol does not see the state of a twin, the last one; the written-out protocol sees one without meaning.
            found.iter_mut().filter(|_| has_twin).for_each(|found| found.1 = found.1.replace(", 255]", "]"));
            found.sort();
        }
        violated += u64::from(ours.as_ref().is_ok_and(|(_, found)| !found.is_empty()));
        all += u64::from(ours.is_ok());
        assert_eq!(ours, theirs, "{what}");
    }
    (all, violated)
}

#[test]
fn a_twin_is_a_node_that_is_written_out() {
    let (mut all, mut violated) = (0, 0);
    for seed in 0..300_u64 {
        // Most clusters of four are too large.
        let nodes = if seed.is_multiple_of(4) { 3 } else { 2 };
        let (toy, of) = (random(seed, nodes), seed as NodeId / 2 % nodes);
        let placed: Vec<_> = (0..nodes).chain([of]).map(|identity| (0, identity, identity != of)).collect();
        let (searches, found) = compare(seed, &mixed(&[&toy], &placed), &with_twin(&toy, of), true);
        (all, violated) = (all + searches, violated + found);
    }
    assert!(all > 300 && violated > 150, "{violated} of {all}");
}

#[test]
fn an_adversary_is_a_node_that_is_written_out() {
    let (mut all, mut violated) = (0, 0);
    for seed in 0..300_u64 {
        let nodes = 2 + seed as u32 / 4 % 2;
        let node = seed as NodeId / 2 % nodes;
        // Messages of twins have one sender, and are refused together: the written-out protocol has neither rule.
        let add = |toy: Toy, seed| match seed % 3 {
            0 => toy.with_random_refusals(seed),
            1 => toy.with_random_quorums(seed),
            _ => toy,
        };
        let (toy, other) = (add(random(seed, nodes), seed), add(random(seed + 1_000_000, nodes), seed));
        // It asks in the same way: that is a matter of the protocol, not of the node.
        let other = Toy { is_stepwise: toy.is_stepwise, ..other };
        let placed: Vec<_> = (0..nodes).map(|id| (usize::from(id == node), id, id != node)).collect();
        let written = with_adversary(&toy, node, &other);
        let (searches, found) = compare(seed, &mixed(&[&toy, &other], &placed), &written, false);
        (all, violated) = (all + searches, violated + found);
    }
    assert!(all > 1_000 && violated > 400, "{violated} of {all}");
}
