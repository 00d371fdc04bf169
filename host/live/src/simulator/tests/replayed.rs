//! A run compared with the replay of its steps by fresh machines, without memo and snapshots.

use std::collections::BTreeMap;

use host_model::contract::{NodeId, PropertyKind};
use host_model::lts::{MessageId, Promise, Step};
use host_model::trace::{Finding, Standing};

use super::*;
use crate::simulator::verdicts::Verdicts;
use crate::simulator::{Counts, Kept};
use crate::time::Time;

/// Sender, destination and content, sorted by the first two, so that those of a channel keep their order.
type InFlight = Vec<(NodeId, NodeId, Vec<u8>)>;

/// The options of a run.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) toy: &'a Arc<Toy>,
    pub(super) scenario: &'a Scenario,
    pub(super) conditions: Conditions,
    pub(super) script: &'a [Phase],
}

/// A run, and its replay.
pub(super) struct Compared {
    pub(super) end: End,
    pub(super) path: Vec<Step>,
    pub(super) counts: Counts,
    pub(super) violated: Option<Time>,
}

/// The results of a replay.
#[derive(Default)]
struct Replayed {
    /// The number of states that violate a property, and the number of steps to the first one.
    violating: u64,
    violated: Option<usize>,
    /// The properties that were reached, with the number of steps to the first state of each.
    reached: BTreeMap<String, usize>,
    /// The time that promises were kept, if each state lasted as long as in the run.
    kept: Vec<Kept>,
    /// At its end.
    in_flight: InFlight,
}

/// Replays a path, whose steps must be enabled where they happen; `times` are those of its steps, and of the end.
fn replayed(
    stepper: &mut Stepper<'_>,
    Asked { toy, scenario, .. }: Asked<'_>,
    (start, path): (&Start, &[Step]),
    times: &[Time],
) -> Replayed {
    let promises = stepper.lts().promises();
    let steps = trace::record(stepper, &start.initial, path).expect("it is native");
    let (mut replay, _) = Replay::new(toy, scenario, &start.origin).expect("it is native");
    let mut replayed = Replayed::default();
    for number in 0..=steps.len() {
        if number > 0 {
            replay.step(&steps[number - 1]).expect("what happens in a run can happen");
        }
        let begun = number.checked_sub(1).map_or(Time(0), |last| times[last]);
        let lasts = times[number].since_start() - begun.since_start();
        for Promise { property, node } in promises.iter().copied() {
            let is_kept = replay.standing(property, node).expect("it is native") == Standing::Holds;
            let kept = if is_kept { lasts } else { Duration::ZERO };
            match replayed.kept.iter_mut().find(|known| known.property == property) {
                Some(known) => (known.kept, known.whole) = (known.kept + kept, known.whole + lasts),
                None => replayed.kept.push(Kept { property, kept, whole: lasts }),
            }
        }
        let findings = replay.findings().expect("it is native");
        let is_violation = |finding: &Finding| match finding {
            Finding::Property { kind, .. } => *kind == PropertyKind::Always,
            _ => true,
        };
        if findings.iter().any(is_violation) {
            replayed.violating += 1;
            replayed.violated.get_or_insert(number);
        }
        for finding in findings {
            if let Finding::Property { kind: PropertyKind::Sometimes, name, .. } = finding {
                replayed.reached.entry(name).or_insert(number);
            }
        }
    }
    let mut in_flight: InFlight = replay.in_flight().map(|(from, to, payload)| (from, to, payload.to_vec())).collect();
    in_flight.sort_by_key(|(from, to, _)| (*from, *to));
    Replayed { in_flight, ..replayed }
}

/// Messages in flight; there are no notices.
fn in_flight_of(stepper: &Stepper<'_>, messages: impl Iterator<Item = MessageId>) -> InFlight {
    let messages = messages.map(|id| stepper.message(id)).filter(|message| !message.is_notice);
    let mut in_flight: InFlight = messages.map(|it| (it.from, it.to, it.payload.clone())).collect();
    in_flight.sort_by_key(|(from, to, _)| (*from, *to));
    in_flight
}

/// A run with this seed, compared with its replay.
pub(super) fn compared(asked: Asked<'_>, seed: u64) -> Compared {
    let lts = Lts::new(asked.toy, asked.scenario.clone()).expect("it is native");
    let mut stepper = Stepper::new(&lts).expect("it is native");
    let starts = start::initial(&mut stepper).expect("nothing is refused");
    let simulator = Simulator::new(&mut stepper, &starts, asked.conditions).expect("the conditions make sense");
    let mut simulator = simulator.scripted(asked.script).expect("the script makes sense");
    let mut run = simulator.begin(seed);
    let end = run.finish().expect("it is native");
    let verdicts = std::mem::replace(&mut run.verdicts, Verdicts::new(&lts, false));
    let finished = verdicts.finish(seed, end, run.now, run.counts, &run.log);
    let Finished { violated, violation, witnessed, kept, counts, .. } = finished;
    let (path, start) = (std::mem::take(&mut run.path), run.start.clone());
    let locals = std::mem::take(&mut run.locals);
    let mut times = std::mem::take(&mut run.times);
    times.push(run.now);
    drop(run);
    let replayed = replayed(&mut stepper, asked, (&start, &path), &times);
    assert_eq!(kept, replayed.kept, "seed {seed}");
    let Replayed { violating, violated: first, reached, in_flight, .. } = replayed;
    // A start state that is carried along the path gives the same.
    let mut carried = start.clone();
    path.iter().for_each(|step| carried.advance(&mut stepper, *step).expect("it is native"));
    assert!(carried.locals == locals && carried.path == path, "seed {seed}");
    let is_ordered = asked.scenario.has_network(Network::Ordered) && asked.scenario.links.is_empty();
    let of_channels = |in_flight: &InFlight| {
        let mut in_flight = in_flight.clone();
        if !is_ordered {
            in_flight.sort();
        }
        in_flight
    };
    let carried = in_flight_of(&stepper, carried.in_flight.iter().copied());
    assert_eq!(of_channels(&carried), of_channels(&in_flight), "seed {seed}");
    assert_eq!(counts.violating, violating, "seed {seed}");
    assert_eq!(violation.map(|found| found.path.len()), first, "seed {seed}");
    // A run that ends with a violation need not judge `sometimes` properties in its last state.
    let is_seen = |after: &usize| end != End::Violation || *after < path.len();
    let after = |property: &u32| reached.get(&lts.properties()[*property as usize].name).copied();
    let mut witnessed: Vec<(Time, usize)> =
        witnessed.iter().map(|(property, at)| (*at, after(property).expect("a replay has it as well"))).collect();
    witnessed.sort_unstable();
    assert!(witnessed.is_sorted_by_key(|(_, after)| *after), "seed {seed}");
    assert!(witnessed.len() >= reached.values().filter(|after| is_seen(after)).count(), "seed {seed}");
    // Each sent message arrives.
    assert!(end != End::Quiet || !is_ordered || in_flight.is_empty(), "seed {seed}: {in_flight:?}");
    Compared { end, path, counts, violated }
}
