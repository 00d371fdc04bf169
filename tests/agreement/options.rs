//! The options of a search, each with its values, and the combinations that exclude each other.

use host_search::strategy::{Bound, Promises, STRATEGIES};

/// An option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum Axis {
    /// `--algo`.
    Strategy,
    /// `--network`.
    Network,
    /// Whether `--link` gives some links another network.
    Links,
    /// `--depth`.
    Depth,
    /// `--local-events`.
    LocalEvents,
    /// `--max-violations`, or `--continue`: this many kinds of violations, and this many of each kind.
    Violations,
    /// Whether the protocol chooses in `init` how it begins.
    Begins,
    /// Whether handlers trap.
    Traps,
    /// Which properties there are.
    Properties,
    /// `--deadlock`.
    Deadlock,
    /// `--prefix`: a path, on which messages may be lost, or the states at its end as another process has exported them.
    Prefix,
    /// `--reduce`.
    Reduce,
    /// `--no-symmetry`.
    NoSymmetry,
    /// Whether the protocol declares interchangeable nodes, and rightly.
    Declared,
    /// `--resets`.
    Resets,
    /// `--duplicates`.
    Duplicates,
    /// `--breaks`.
    Breaks,
    /// `--refusals`.
    Refusals,
    /// `--crashes`.
    Crashes,
    /// `--partitions`.
    Partitions,
    /// `--states`.
    States,
    /// `--workers`.
    Workers,
    /// Whether the search is stopped, and whether another process resumes it from its checkpoint; or `--memory`; or both.
    Stop,
    /// `--count-system-states`; or the system states are collected, which only tests can ask for.
    Counted,
    /// Whether nodes take quorums.
    Quorums,
    /// Whether equal messages are sent twice, and messages to the node itself.
    Copies,
    /// Whether handlers have outcomes of several answers.
    Choices,
    /// `--walks` and `--seed`, or `--weights`.
    Walks,
    /// `--losses`.
    Losses,
    /// `--fairness`, where the protocol has `eventually` properties.
    Fairness,
    /// `--timers`.
    Timers,
    /// `--recover-by`.
    Recovery,
    /// `--property`: whether there are properties that are not judged.
    Selected,
    /// `--schedule`.
    Schedule,
    /// `--goal`, `--avoid`.
    Goals,
}

/// The number of options.
pub const AXES: usize = Axis::Goals as usize + 1;

/// The options combined in every triple; the others are combined in every pair.
pub const TRIPLES: usize = Axis::Prefix as usize + 1;

/// Values of an option; the first one is its default.
pub const BOUND: [&str; 4] = ["none", "below", "exactly", "above"];
const SWITCH: [&str; 2] = ["off", "on"];

impl Axis {
    /// All of them.
    pub const ALL: [Self; AXES] = [
        Self::Strategy,
        Self::Network,
        Self::Links,
        Self::Depth,
        Self::LocalEvents,
        Self::Violations,
        Self::Begins,
        Self::Traps,
        Self::Properties,
        Self::Deadlock,
        Self::Prefix,
        Self::Reduce,
        Self::NoSymmetry,
        Self::Declared,
        Self::Resets,
        Self::Duplicates,
        Self::Breaks,
        Self::Refusals,
        Self::Crashes,
        Self::Partitions,
        Self::States,
        Self::Workers,
        Self::Stop,
        Self::Counted,
        Self::Quorums,
        Self::Copies,
        Self::Choices,
        Self::Walks,
        Self::Losses,
        Self::Fairness,
        Self::Timers,
        Self::Recovery,
        Self::Selected,
        Self::Schedule,
        Self::Goals,
    ];

    /// The names of its values.
    pub fn values(self) -> Vec<&'static str> {
        match self {
            Self::Strategy => STRATEGIES.iter().map(|row| row.name).collect(),
            Self::Network => vec!["unordered", "unordered-duplicating", "ordered"],
            Self::Links => vec!["alike", "mixed"],
            Self::Depth | Self::LocalEvents | Self::States => BOUND.to_vec(),
            Self::Violations => vec!["not given", "1", "3", "all", "one of each kind", "two of two kinds"],
            Self::Properties => vec!["forbidden", "several", "some trap"],
            Self::Prefix => vec!["none", "followed", "exported"],
            Self::Declared => vec!["none", "true", "false"],
            Self::Workers => vec!["1", "2"],
            Self::Stop => vec!["no", "interrupted", "resumed", "out of memory", "resumed, then out of memory"],
            Self::Counted => vec!["no", "counted", "collected"],
            Self::Walks => vec!["not given", "walks and seed", "weights"],
            Self::Losses => vec!["none", "1", "unlimited"],
            Self::Resets | Self::Duplicates | Self::Breaks | Self::Refusals | Self::Crashes => vec!["none", "1", "2"],
            Self::Fairness => vec!["no such property", "not given", "fair-lossy", "none"],
            Self::Timers => vec!["not given", "late"],
            Self::Recovery => vec!["not given", "resets"],
            Self::Selected => vec!["all", "some"],
            Self::Schedule => {
                vec!["not given", "uniform", "pct:3", "pos", "fresh", "swarm", "phases", "mix"]
            }
            Self::Goals => vec!["none", "goals", "avoided"],
            _ => SWITCH.to_vec(),
        }
    }
}

/// A value for each option.
pub type Row = [usize; AXES];

/// A value for some options.
pub type Partial = [Option<usize>; AXES];

/// Some values of some options.
pub type Values = Vec<(Axis, Vec<usize>)>;

/// Options with these values are refused together.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The values; any one of each option.
    pub values: Values,
    /// Why.
    pub why: &'static str,
}

impl Refusal {
    /// Whether it applies, for any values of the remaining options.
    pub fn applies(&self, row: &Partial) -> bool {
        self.values.iter().all(|(axis, values)| row[*axis as usize].is_some_and(|value| values.contains(&value)))
    }
}

/// The option that sets a bound, and the values that do.
fn axis_of(bound: Bound) -> (Axis, Vec<usize>) {
    match bound {
        Bound::Depth => (Axis::Depth, vec![1, 2, 3]),
        Bound::LocalEvents => (Axis::LocalEvents, vec![1, 2, 3]),
        Bound::States => (Axis::States, vec![1, 2, 3]),
        Bound::Seed | Bound::Walks => (Axis::Walks, vec![1]),
        Bound::Weights => (Axis::Walks, vec![2]),
        Bound::Schedule => (Axis::Schedule, (1..Axis::Schedule.values().len()).collect()),
        Bound::Goal => (Axis::Goals, vec![1]),
        Bound::Avoid => (Axis::Goals, vec![2]),
        Bound::Violations => (Axis::Violations, vec![1, 2, 3, 4, 5]),
        Bound::Reduce => (Axis::Reduce, vec![1]),
        Bound::CountSystemStates => (Axis::Counted, vec![1]),
        Bound::Deadlock => (Axis::Deadlock, vec![1]),
    }
}

/// All combinations that are refused.
pub fn refusals() -> Vec<Refusal> {
    let mut found = Vec::new();
    for (index, strategy) in STRATEGIES.iter().enumerate() {
        for bound in Bound::ALL.into_iter().filter(|bound| !strategy.honours.contains(bound)) {
            let values = vec![(Axis::Strategy, vec![index]), axis_of(bound)];
            found.push(Refusal { values, why: "the strategy does not honour it" });
        }
        if !strategy.keeps_checkpoints {
            let values = vec![(Axis::Strategy, vec![index]), (Axis::Stop, vec![2, 4])];
            found.push(Refusal { values, why: "the strategy keeps no checkpoints" });
        }
        if !strategy.loses_messages {
            let values = vec![(Axis::Strategy, vec![index]), (Axis::Losses, vec![1, 2])];
            found.push(Refusal { values, why: "the strategy loses no messages" });
        }
        if strategy.promises != Promises::Decided {
            let all = without_promises((Axis::Strategy, vec![index]), "the strategy decides no promises");
            // The ways to recover decide which states are dead, and walks look for dead states.
            let is_looked_at = |axis| match strategy.promises {
                Promises::Sampled => axis == Axis::Recovery,
                Promises::Shown => true,
                Promises::Decided | Promises::Unchecked => false,
            };
            found.extend(all.filter(|refusal| !refusal.values.iter().any(|(axis, _)| is_looked_at(*axis))));
        }
    }
    let reduce = || (Axis::Reduce, vec![1]);
    let ordered = || (Axis::Network, vec![2]);
    let alike = || (Axis::Links, vec![0]);
    let resumed = || (Axis::Stop, vec![2, 4]);
    let others: [(Values, &str); 14] = [
        (vec![reduce(), (Axis::Depth, vec![1, 2, 3])], "paths get shorter"),
        (vec![reduce(), (Axis::Deadlock, vec![1])], "what is in flight is not known"),
        (vec![reduce(), ordered()], "a message can be in the way of another one"),
        (vec![reduce(), (Axis::Breaks, vec![1, 2])], "only ordered connections break"),
        (vec![reduce(), resumed()], "it keeps no checkpoints"),
        (vec![reduce(), (Axis::Losses, vec![1, 2])], "what is in flight only becomes more"),
        (vec![(Axis::Reduce, vec![0]), (Axis::NoSymmetry, vec![1])], "symmetry is a reduction"),
        (vec![(Axis::Duplicates, vec![1, 2]), (Axis::Network, vec![0, 2]), alike()], "no message comes twice"),
        (vec![(Axis::Breaks, vec![1, 2]), (Axis::Network, vec![0, 1]), alike()], "there are no connections"),
        (vec![(Axis::Quorums, vec![1]), ordered(), alike()], "messages in order come one by one"),
        (vec![(Axis::Quorums, vec![1]), (Axis::Deadlock, vec![1])], "a message may wait for others for ever"),
        (vec![resumed(), (Axis::Violations, vec![1, 2, 3, 4, 5])], "a checkpoint keeps no violations"),
        (vec![(Axis::Fairness, vec![2]), (Axis::Losses, vec![0, 1])], "losses end"),
        (vec![(Axis::Recovery, vec![1]), (Axis::Resets, vec![0])], "no node is reset"),
    ];
    found.extend(others.into_iter().map(|(values, why)| Refusal { values, why }));
    for (axis, why) in [
        (reduce(), "a reduced search decides no promises"),
        (resumed(), "a checkpoint keeps no edges"),
        ((Axis::Duplicates, vec![1, 2]), "a second delivery need not happen"),
        ((Axis::Crashes, vec![1, 2]), "no state says that a node has crashed"),
        ((Axis::Fairness, vec![0]), "there is no promise"),
    ] {
        found.extend(without_promises(axis, why));
    }
    found
}

/// Options for promises where none is decided. Promises without such an option are left unchecked.
fn without_promises(other: (Axis, Vec<usize>), why: &'static str) -> impl Iterator<Item = Refusal> {
    let options = [(Axis::Fairness, vec![2, 3]), (Axis::Timers, vec![1]), (Axis::Recovery, vec![1])];
    let options = options.into_iter().filter(move |(axis, _)| *axis != other.0).collect::<Vec<_>>();
    options.into_iter().map(move |option| Refusal { values: vec![other.clone(), option], why })
}
