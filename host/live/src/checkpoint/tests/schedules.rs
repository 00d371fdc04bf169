//! Random schedules: the consistency of snapshots under each rule, and the messages in flight in them.

use std::collections::BTreeSet;

use host_model::toys::Dice;

use super::world::World;
use crate::checkpoint::{AfterReset, Contents, Limits, Outcome, Rule, Snapshot};

const SCHEDULES: u64 = 4_000;
const EVENTS: usize = 120;
const NODES: u32 = 3;

/// Counts over the snapshots of many schedules.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    snapshots: u64,
    /// Snapshots in which a message was received inside and sent outside.
    inconsistent: u64,
    /// Inconsistent snapshots that were not discarded.
    unnoticed: u64,
    /// Consistent snapshots that were discarded.
    discarded: u64,
    refused: u64,
}

impl Tally {
    fn add(&mut self, world: &World) {
        for outcome in &world.outcomes {
            match outcome {
                Outcome::Complete(snapshot) => {
                    let is_inconsistent = world.is_inconsistent(snapshot);
                    self.snapshots += 1;
                    self.inconsistent += u64::from(is_inconsistent);
                    self.unnoticed += u64::from(is_inconsistent);
                }
                Outcome::Inconsistent(snapshot, _) => {
                    let is_inconsistent = world.is_inconsistent(snapshot);
                    self.snapshots += 1;
                    self.inconsistent += u64::from(is_inconsistent);
                    self.discarded += u64::from(!is_inconsistent);
                }
                Outcome::Refused => self.refused += 1,
                Outcome::TimedOut(_) => panic!("no time passes"),
                Outcome::Capped(_) => panic!("no bandwidth has a limit"),
            }
        }
    }
}

/// Runs a random schedule. Blocks of reserved numbers are small, so that resets happen within and between them.
fn schedule(seed: u64, rule: Rule, has_resets: bool, limits: Limits) -> World {
    let mut dice = Dice(seed);
    let limits = Limits { block: u64::from(1 + dice.below(4)), ..limits };
    let mut world = World::new(NODES, rule, limits);
    for _ in 0..EVENTS {
        let (node, other) = (dice.below(NODES), dice.below(NODES));
        match dice.below(40) {
            0..12 => world.send(node, other),
            12..34 => world.deliver(&mut dice, false),
            34 => world.deliver(&mut dice, true),
            35 => world.checkpoint(node),
            36 if has_resets => world.reset(node),
            _ => world.gather(node),
        }
    }
    world
}

/// The limits of nodes that keep this many checkpoints.
fn keeping(quota: Option<usize>) -> Limits {
    Limits { checkpoints_max: quota.unwrap_or(usize::MAX), ..Limits::default() }
}

/// Limits under which messages become too late, or are not kept, in short schedules; the last ones are those of ordered links.
fn narrow() -> [Limits; 4] {
    let limits = |kept_max, late_max| Limits { kept_max, late_max, ..keeping(Some(4)) };
    [limits(1_024, 1), limits(2, 5), limits(2, 1), limits(2, 0)]
}

fn tally(rule: Rule, has_resets: bool, quota: Option<usize>) -> Tally {
    let mut tally = Tally::default();
    for seed in 0..SCHEDULES {
        tally.add(&schedule(seed, rule, has_resets, keeping(quota)));
    }
    tally
}

/// Under the sound rule every snapshot is consistent; under a rule that lacks a part of it, some are not. The second line of defence
/// discards no consistent snapshot, and every inconsistent one unless a reset receiver has forgotten the receipt.
#[test]
fn the_sound_rule_alone_gives_consistent_snapshots() {
    let lax = |after_reset| Rule { after_reset, refuses_discarded: false };
    let table = [
        (lax(AfterReset::First), false, None, true),
        (lax(AfterReset::First), true, None, false),
        (lax(AfterReset::Last), true, None, false),
        (lax(AfterReset::Next), true, None, false),
        (Rule { after_reset: AfterReset::Last, refuses_discarded: true }, true, None, true),
        (Rule::SOUND, true, None, true),
        (lax(AfterReset::First), false, Some(2), false),
        (Rule::SOUND, false, Some(2), true),
        (Rule::SOUND, true, Some(2), true),
    ];
    for (rule, has_resets, quota, is_sound) in table {
        let tally = tally(rule, has_resets, quota);
        assert!(tally.snapshots > SCHEDULES, "{rule:?} {tally:?}");
        assert_eq!(tally.inconsistent == 0, is_sound, "{rule:?} {tally:?}");
        assert!(tally.unnoticed == 0 || has_resets, "{rule:?} {tally:?}");
        assert!(tally.discarded == 0 || !is_sound, "{rule:?} {tally:?}");
        assert!(has_resets || is_sound || tally.inconsistent > tally.unnoticed, "{rule:?} {tally:?}");
    }
}

/// Forged numbers, within reach of all nodes or of some, do not affect the consistency of snapshots, and snapshots still complete
/// afterwards.
#[test]
fn forged_numbers_do_no_harm() {
    let mut tally = Tally::default();
    for seed in 0..500 {
        let (mut dice, mut world) = (Dice(seed), schedule(seed, Rule::SOUND, true, keeping(Some(4))));
        let begun = world.outcomes.len();
        for _ in 0..EVENTS {
            let (node, other) = (dice.below(NODES), dice.below(NODES));
            match dice.below(40) {
                0 if node != other => world.forge(node, other, (1 << 62) + (u64::from(dice.below(8)) << 23)),
                1 => world.reset(node),
                2..12 => world.send(node, other),
                12..37 => world.deliver(&mut dice, false),
                _ => world.gather(node),
            }
        }
        world.outcomes.drain(..begun);
        tally.add(&world);
    }
    assert!(tally.snapshots > 500, "{tally:?}");
    assert_eq!((tally.inconsistent, tally.discarded), (0, 0), "{tally:?}");
}

/// Counts of the channels in snapshots that had contents, were uncertain, or were partial.
#[derive(Debug, Default)]
struct Channels {
    in_flight: usize,
    uncertain: usize,
    partial: usize,
}

fn compare(world: &World, snapshot: &Snapshot, has_resets: bool, channels: &mut Channels) {
    let places = |kept: &[&crate::checkpoint::Kept]| -> BTreeSet<u64> {
        let place = |payload: &[u8]| u64::from_le_bytes(payload.try_into().expect("eight bytes"));
        let places: BTreeSet<u64> = kept.iter().map(|kept| place(&kept.payload)).collect();
        assert_eq!(places.len(), kept.len(), "each once");
        places
    };
    for (from, to) in (0..NODES).flat_map(|from| (0..NODES).map(move |to| (from, to))) {
        let truth = world.in_flight(snapshot, from, to);
        let contents = snapshot.contents(from, to);
        let (in_flight, uncertain) = (places(&contents.in_flight), places(&contents.uncertain));
        assert!(in_flight.is_subset(&truth), "{from} to {to}: {in_flight:?}, and really {truth:?}");
        let known: BTreeSet<u64> = in_flight.union(&uncertain).copied().collect();
        assert!(contents.is_partial || truth.is_subset(&known), "{from} to {to}: {known:?}, and really {truth:?}");
        if !has_resets {
            assert_eq!((uncertain.len(), contents.is_partial), (0, known != truth), "{from} to {to}");
        }
        channels.in_flight += in_flight.len();
        channels.uncertain += uncertain.len();
        channels.partial += usize::from(contents.is_partial);
    }
}

/// Compares all snapshots of this many schedules with the true history.
fn compared(schedules: u64, has_resets: bool, limits: Limits) -> Channels {
    let mut channels = Channels::default();
    for seed in 0..schedules {
        let world = schedule(seed, Rule::SOUND, has_resets, limits);
        for outcome in &world.outcomes {
            if let Outcome::Complete(snapshot) = outcome {
                compare(&world, snapshot, has_resets, &mut channels);
            }
        }
    }
    channels
}

/// Without resets, the messages in flight in a snapshot are exactly those sent and not received; with resets, unknown ones are reported
/// as uncertain.
#[test]
fn snapshots_have_the_messages_that_are_really_in_flight() {
    for has_resets in [false, true] {
        let channels = compared(SCHEDULES, has_resets, keeping(Some(4)));
        assert!(channels.in_flight > 10_000, "{channels:?}");
        assert_eq!(channels.uncertain > 100 && channels.partial > 100, has_resets, "{channels:?}");
        assert!(has_resets || channels.partial == 0, "{channels:?}");
    }
}

/// If messages become too late to be taken, or too many to be kept, those reported in flight are in flight, and they are all unless some
/// were not kept.
#[test]
fn messages_in_flight_are_distinguished_from_late_and_dropped_ones() {
    for limits in narrow() {
        for has_resets in [false, true] {
            let channels = compared(500, has_resets, limits);
            assert!(channels.in_flight > 500, "{channels:?}");
            assert_eq!(channels.partial > 0, has_resets || limits.kept_max == 2, "{limits:?} {channels:?}");
        }
    }
}

/// After any loss and any reset, a few messages in each direction suffice for snapshots to be complete again, and no old message is kept.
/// The same holds for two nodes that each know a former incarnation of the other one.
#[test]
fn channels_recover_from_losses_and_resets() {
    for limits in narrow() {
        for (seed, has_resets) in (0..200).flat_map(|seed| [(seed, false), (seed, true)]) {
            let (mut dice, mut world) = (Dice(seed), schedule(seed, Rule::SOUND, has_resets, limits));
            world.lose_all();
            for _ in 0..limits.late_max + 3 {
                (0..NODES).for_each(|from| (0..NODES).for_each(|to| world.send(from, to)));
                world.deliver_all(&mut dice);
            }
            world.outcomes.clear();
            world.gather(0);
            world.deliver_all(&mut dice);
            let Some(Outcome::Complete(snapshot)) = world.outcomes.pop() else { panic!("seed {seed} {limits:?}") };
            for (from, to) in (0..NODES).flat_map(|from| (0..NODES).map(move |to| (from, to))) {
                assert_eq!(snapshot.contents(from, to), Contents::default(), "seed {seed} {limits:?}");
                assert!(snapshot.checkpoints[&from].channels[&to].kept.len() <= 1, "seed {seed} {limits:?}");
            }
        }
    }
}

/// Every kind of packet occurs in the schedules, and requests are refused.
#[test]
fn schedules_have_every_kind_of_packet() {
    let mut kinds = BTreeSet::new();
    let mut tally = Tally::default();
    for seed in 0..100 {
        let world = schedule(seed, Rule::SOUND, true, keeping(Some(2)));
        kinds.extend(world.kinds().into_keys());
        tally.add(&world);
    }
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["answer", "message", "refusal", "request"]);
    assert!(tally.snapshots > 0, "{tally:?}");
}
