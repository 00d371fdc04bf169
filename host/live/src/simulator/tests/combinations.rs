//! All pairs of options of a run, on random systems: options are drawn at random until each value of an option has occurred with each value
//! of every other one, except for refused pairs.

use std::fmt;

use host_model::scenario::Link;
use host_model::toys::{Dice, Feature, Medium};

use super::replayed::{Asked, compared};
use super::*;
use crate::simulator::Lost;

/// The options of a run, and their values.
const AXES: [(&str, &[&str]); 12] = [
    ("network", &["unordered", "ordered", "duplicating"]),
    ("link", &["none", "another"]),
    ("resets", &["none", "some", "churn", "outages"]),
    ("loss", &["no", "yes"]),
    ("duplicates", &["no", "yes"]),
    ("partitions", &["no", "yes"]),
    ("loopback", &["no", "yes"]),
    ("script", &["none", "cuts and calls", "resets", "loses"]),
    ("events", &["many", "few"]),
    ("continues", &["no", "yes"]),
    ("promises", &["no", "yes"]),
    ("system", &["plain", "durable", "starts", "busy"]),
];

/// A value of each option.
struct Row([usize; AXES.len()]);

impl Row {
    fn draw(dice: &mut Dice) -> Self {
        Self(AXES.map(|(_, values)| dice.below(values.len() as u32) as usize))
    }

    fn is(&self, option: &str, value: &str) -> bool {
        let axis = AXES.iter().position(|(name, _)| *name == option).expect("there is such an option");
        assert!(AXES[axis].1.contains(&value), "{option} has such a value");
        AXES[axis].1[self.0[axis]] == value
    }

    fn has(&self, option: &str) -> bool {
        self.is(option, "yes")
    }

    /// All pairs of values in the row.
    fn pairs(&self) -> impl Iterator<Item = [(usize, usize); 2]> {
        (0..AXES.len()).flat_map(move |one| (0..one).map(move |other| [(other, self.0[other]), (one, self.0[one])]))
    }

    /// The network of all links, and that of the link from node 0 to node 1.
    fn networks(&self) -> (Network, Network) {
        let (unordered, ordered) = (Network::Unordered, Network::Ordered);
        match (self.is("network", "ordered"), self.is("network", "duplicating"), self.is("link", "another")) {
            (true, _, another) => (ordered, if another { unordered } else { ordered }),
            (_, true, another) => {
                (Network::UnorderedDuplicating, if another { ordered } else { Network::UnorderedDuplicating })
            }
            (_, _, another) => (unordered, if another { ordered } else { unordered }),
        }
    }

    /// Whether a simulator refuses the conditions or the script, because they do not fit the scenario.
    fn is_refused(&self) -> bool {
        let (all, one) = self.networks();
        let is_ordered = all == Network::Ordered;
        (self.has("loss") && is_ordered && one == Network::Ordered)
            || (self.has("duplicates") && all != Network::UnorderedDuplicating)
            || (self.is("script", "resets") && self.is("resets", "none"))
            || (self.is("script", "loses") && one == Network::Ordered)
    }

    fn scenario(&self) -> Scenario {
        let (network, one) = self.networks();
        let has_outages = self.is("resets", "outages");
        let mut scenario = scenario(3, network, if self.is("resets", "none") || has_outages { 0 } else { 100 });
        scenario.faults.outages = if has_outages { 100 } else { 0 };
        scenario.links = if one == network { Vec::new() } else { vec![Link { from: 0, to: 1, network: one }] };
        scenario
    }

    fn conditions(&self) -> Conditions {
        let partitions = Partitions { every: Duration::from_secs(4), lasting: Duration::from_secs(2) };
        Conditions {
            latency: Range::milliseconds(10, 2_000),
            loopback: self.has("loopback").then_some(Range::milliseconds(0, 5)),
            loss: Share(if self.has("loss") { 100_000 } else { 0 }),
            duplicates: Share(if self.has("duplicates") { 300_000 } else { 0 }),
            churn: (self.is("resets", "churn") || self.is("resets", "outages")).then_some(Duration::from_secs(2)),
            partitions: self.has("partitions").then_some(partitions),
            time: Duration::from_secs(12),
            events_max: if self.is("events", "few") { 20 } else { 300 },
            continues: self.has("continues"),
            ..Conditions::default()
        }
    }

    fn script(&self) -> Vec<Phase> {
        let quiet = Phase {
            lasts: Range::milliseconds(2_000, 3_000),
            cut: Vec::new(),
            lost: Vec::new(),
            calls: None,
            resets: Vec::new(),
        };
        let first = match () {
            () if self.is("script", "none") => return Vec::new(),
            () if self.is("script", "resets") => {
                let reset = Phase { resets: vec![1, 2], ..quiet.clone() };
                return vec![reset.clone(), quiet, reset];
            }
            () if self.is("script", "loses") => {
                let lost = vec![Lost { from: 0, to: 1, kind: None }];
                Phase { lost, ..quiet.clone() }
            }
            () => Phase { cut: vec![0], calls: Some(vec![0, 1]), ..quiet.clone() },
        };
        vec![quiet.clone(), first, quiet]
    }

    fn toy(&self, seed: u64) -> Toy {
        let toy = match () {
            () if self.is("system", "busy") => Toy::random_busy(seed, 3),
            () if self.is("system", "starts") => Toy::random(seed, 3).with_random_starts(seed).with_random_traps(seed),
            () if self.is("system", "durable") => {
                let toy = Toy::random(seed, 3).with_random_durable(seed).with_random_errors(seed);
                toy.with_random(Feature::Properties, seed, false)
            }
            () => Toy::random(seed, 3),
        };
        let toy = match self.is("resets", "outages") {
            true => toy.with_random_durable(seed).in_medium(Medium::Map).with_random_syncs(seed),
            false => toy,
        };
        let toy = toy.of_kind(0, LocalKind::Timer).of_kind(1, LocalKind::Application);
        if self.has("promises") { toy.with_random_promises(seed, false) } else { toy }
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(AXES.iter().zip(self.0).map(|((name, values), value)| (name, values[value]))).finish()
    }
}

/// Counts over many rows.
#[derive(Default, Debug)]
struct Tally {
    resets: u64,
    lost: u64,
    violating: u64,
    full: u64,
}

/// Executes a run and compares it with its replay. A repeated run is the same; and a run that ends with its first violation is a prefix of
/// the one that continues.
fn run(row: &Row, seed: u64, tally: &mut Tally) {
    let (toy, scenario, script) = (Arc::new(row.toy(seed)), row.scenario(), row.script());
    let conditions = row.conditions();
    let asked = Asked { toy: &toy, scenario: &scenario, conditions, script: &script };
    let (run, again) = (compared(asked, seed), compared(asked, seed));
    assert!(run.path == again.path && run.counts == again.counts && run.end == again.end);
    assert!(run.counts.events <= conditions.events_max);
    assert!(run.end != End::Events || run.counts.events == conditions.events_max);
    tally.full += u64::from(run.end == End::Events);
    if conditions.continues {
        let conditions = Conditions { continues: false, ..conditions };
        let first = compared(Asked { conditions, ..asked }, seed);
        assert_eq!(first.violated, run.violated);
        assert!(run.path.starts_with(&first.path));
    } else {
        assert_eq!(run.counts.violating, u64::from(run.end == End::Violation));
    }
    tally.resets += run.counts.resets;
    tally.lost += run.counts.lost;
    tally.violating += u64::from(run.counts.violating > 0);
}

/// Whether a simulator refuses the conditions or the script.
fn is_refused(row: &Row, seed: u64) -> bool {
    let (toy, scenario, script) = (Arc::new(row.toy(seed)), row.scenario(), row.script());
    let lts = Lts::new(&toy, scenario).expect("it is native");
    let mut stepper = Stepper::new(&lts).expect("it is native");
    let starts = start::initial(&mut stepper).expect("nothing is refused");
    let simulator = Simulator::new(&mut stepper, &starts, row.conditions());
    simulator.and_then(|simulator| simulator.scripted(&script)).is_err()
}

/// Pairs of values that are refused in every run.
const REFUSED: [&str; 3] =
    ["network ordered, duplicates yes", "network unordered, duplicates yes", "resets none, script resets"];

#[test]
fn every_pair_of_options_gives_an_execution_or_is_refused() {
    let (mut dice, mut tally) = (Dice(0x51_aa), Tally::default());
    let (mut met, mut refused) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..6_000 {
        let row = Row::draw(&mut dice);
        if row.is_refused() {
            assert!(is_refused(&row, seed), "{row:?}");
            refused.extend(row.pairs());
        } else if row.pairs().any(|pair| !met.contains(&pair)) || seed % 16 == 0 {
            met.extend(row.pairs());
            run(&row, seed, &mut tally);
        }
    }
    let name = |(axis, value): (usize, usize)| format!("{} {}", AXES[axis].0, AXES[axis].1[value]);
    let mut never: Vec<String> =
        refused.difference(&met).map(|[one, other]| format!("{}, {}", name(*one), name(*other))).collect();
    never.sort();
    assert_eq!(never, REFUSED);
    let all: usize =
        (0..AXES.len()).flat_map(|one| (0..one).map(move |other| AXES[one].1.len() * AXES[other].1.len())).sum();
    assert_eq!(met.len() + REFUSED.len(), all, "every other pair was there");
    let Tally { resets, lost, violating, full } = tally;
    assert!([resets, lost, violating, full].iter().all(|count| *count > 10), "{tally:?}");
}
