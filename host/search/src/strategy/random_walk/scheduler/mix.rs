//! Another scheduler for each walk.

use rand_chacha::ChaCha8Rng;

use crate::kernel::dice::below;
use crate::kernel::schedule::Schedule;

/// The schedules from which a walk of a mix draws one.
const MEMBERS: [Schedule; 6] =
    [Schedule::Uniform, Schedule::Pct(3), Schedule::Pos, Schedule::Fresh, Schedule::Swarm, Schedule::Phases];

/// The schedule of a walk, each as likely as the others.
///
/// No schedule is best for every defect: the one with the fewest walks to one defect needs many times the walks of others to another. A mix
/// of `n` takes about `n` times the walks of its best member.
pub(super) fn drawn(dice: &mut ChaCha8Rng) -> Schedule {
    MEMBERS[below(dice, MEMBERS.len() as u64) as usize]
}
