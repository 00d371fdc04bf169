//! Another scheduler for each walk.

use rand_chacha::ChaCha8Rng;

use crate::kernel::dice::below;
use crate::kernel::schedule::Schedule;

/// What a walk of a mix draws from.
const MEMBERS: [Schedule; 6] =
    [Schedule::Uniform, Schedule::Pct(3), Schedule::Pos, Schedule::Fresh, Schedule::Swarm, Schedule::Phases];

/// The schedule of a walk, each as likely as the others.
///
/// No schedule is the best for every mistake: the one that needs the fewest walks for one needs many times those of others for another. A mix
/// of `n` takes about `n` times the walks of its best member.
pub(super) fn drawn(dice: &mut ChaCha8Rng) -> Schedule {
    MEMBERS[below(dice, MEMBERS.len() as u64) as usize]
}
