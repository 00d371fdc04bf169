//! Mistakes in the runtime: a seed shows each.

use super::{connections, losses, snapshots, steered, traces};
use crate::mutant::{Mutant, with};

/// Seeds until a mistake has to be shown.
const SEEDS: u64 = 400;

/// The first seed that shows a mistake, and what it says.
fn first(run: Run) -> Option<(u64, String)> {
    (0..SEEDS).find_map(|seed| run(seed).err().map(|why| (seed, why)))
}

/// Whether a world is as it should be, by its seed.
type Run = fn(u64) -> Result<(), String>;

/// A mistake, the worlds that show it, and a part of what the first seed that does has to say.
const MUTANTS: [(Mutant, Run, &str); 15] = [
    (Mutant::PublishedRule, snapshots::shown, "snapshot"),
    (Mutant::AnswersWithTheNext, snapshots::shown, "snapshot"),
    (Mutant::ForgetsStarts, snapshots::shown, "snapshot"),
    (Mutant::ForgetsDiscarded, snapshots::shown, "snapshot"),
    (Mutant::TakesTorn, traces::shown, "was acknowledged"),
    (Mutant::KeepsTail, traces::shown, "damaged"),
    (Mutant::TornIsDamaged, traces::shown, "damaged"),
    (Mutant::DoesNotWait, traces::shown, "before record"),
    (Mutant::CallsNothingOff, traces::shown, "the model does not do"),
    (Mutant::ForgetsToArm, traces::shown, "without a time"),
    (Mutant::AddressesFormer, connections::shown, "is lost over a connection"),
    (Mutant::KeepsFrames, connections::shown, "is next"),
    (Mutant::HearsOfPackets, connections::shown, "cannot break"),
    (Mutant::TakesAnyDisk, losses::shown, "lost its disk"),
    (Mutant::FiltersAnything, steered::shown, "owes"),
];

#[test]
fn each_mistake_is_shown_by_a_seed() {
    let mut wrong = Vec::new();
    for (mutant, run, what) in MUTANTS {
        let shown = with(mutant, || first(run));
        if shown.as_ref().is_none_or(|(_, why)| !why.contains(what)) {
            wrong.push((mutant, shown));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Disks that say that they have synchronised and have not.
#[test]
fn a_disk_that_lies_is_shown_by_a_seed() {
    let shown = first(traces::shown_with_disks_that_lie).expect("a crash loses what was acknowledged");
    assert!(shown.1.contains("acknowledged") || shown.1.contains("damaged"), "{shown:?}");
}
