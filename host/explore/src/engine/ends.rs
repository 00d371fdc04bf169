//! Ways with different ends, for a search that has found nothing: random walks, distinguished by what the properties read at their ends.

use std::collections::BTreeMap;
use std::time::Duration;

use host_inspect::debug::{CursorError, Moments, Place};
use host_inspect::page::Story;
use host_model::contract::ClassId;
use host_model::lts::{Lts, Stepper};
use host_model::trace::{Standing, Trace};
use host_session::base::Failure;
use host_session::cluster::Cluster;

use super::found::Found;

/// Ways that are shown, and walks that they are chosen from.
const SHOWN_MAX: usize = 10;
const WALKS: u64 = 100;

/// The default and the maximum number of events in a walk.
const STEPS: usize = 200;
const STEPS_MAX: usize = 1_000;

/// Places of all walks, and the time for them.
const PLACES_MAX: usize = 50_000;
const TIME_MAX: Duration = Duration::from_secs(20);

/// The classes of an end, which the properties read, and the standings of the properties there.
type End = (Vec<ClassId>, Vec<&'static str>);

/// A walk.
struct Walk {
    place: Place,
    /// Nothing more can happen.
    is_over: bool,
}

/// Up to ten ways from the end of a trace, with different ends, those with the most frequent ends first.
pub(super) fn different(
    cluster: &Cluster,
    lts: &Lts<'_>,
    prefix: &Trace,
    depth: Option<u32>,
) -> Result<Vec<Found>, Failure> {
    cluster.plugin.bounds.search(Some(TIME_MAX), None);
    let moments = Moments::new(cluster.factory(), Stepper::new(lts)?, prefix).map_err(failure)?;
    let mut moments = moments.with_places_max(PLACES_MAX);
    let line = moments.open(prefix).map_err(|(_, error)| failure(error))?;
    let start = line.last().copied().unwrap_or_default();
    let steps = depth.map_or(STEPS, |depth| depth as usize).min(STEPS_MAX);
    let mut ends: BTreeMap<End, (Walk, u64)> = BTreeMap::new();
    for seed in 0..WALKS {
        let walk = match walked(&mut moments, start, steps, seed) {
            Ok(walk) => walk,
            // No room or no time is left for further walks.
            Err(CursorError::Full(_) | CursorError::Machine(_)) if !ends.is_empty() => break,
            Err(error) => return Err(failure(error)),
        };
        let end = end(&mut moments, walk.place)?;
        let shortest = ends.get(&end).map_or(usize::MAX, |(known, _)| moments.depth_of(known.place));
        let count = ends.get(&end).map_or(0, |(_, count)| *count) + 1;
        if moments.depth_of(walk.place) < shortest {
            ends.insert(end, (walk, count));
        } else if let Some((_, known)) = ends.get_mut(&end) {
            *known = count;
        }
    }
    let mut ends: Vec<(Walk, u64)> = ends.into_values().collect();
    ends.sort_by_key(|(walk, count)| (std::cmp::Reverse(*count), walk.place));
    ends.truncate(SHOWN_MAX);
    ends.into_iter().map(|(walk, count)| told(&mut moments, prefix, &walk, count)).collect()
}

fn failure(error: CursorError) -> Failure {
    match error {
        CursorError::Machine(error) => error.into(),
        error => Failure::configuration(error),
    }
}

/// A random walk, of any event that changes something.
fn walked(moments: &mut Moments<'_>, start: Place, steps: usize, seed: u64) -> Result<Walk, CursorError> {
    let mut random = Random(seed);
    let mut place = start;
    for _ in 0..steps {
        let mut enabled = moments.enabled(place)?;
        let next = loop {
            if enabled.is_empty() {
                return Ok(Walk { place, is_over: true });
            }
            let action = enabled.swap_remove(random.below(enabled.len()));
            let outcomes = moments.outcomes(place, &action)?;
            if outcomes > 0
                && let Some(next) = moments.take(place, &action, random.below(outcomes))?
            {
                break next;
            }
        };
        place = next;
    }
    Ok(Walk { place, is_over: moments.enabled(place)?.is_empty() })
}

fn end(moments: &mut Moments<'_>, place: Place) -> Result<End, Failure> {
    let traced = moments.traced(place).clone();
    let class = |local: &_| moments.stepper().state(*local).protocol.class;
    let classes = traced.locals().iter().map(class).collect();
    let standings = moments.standings(&traced)?;
    Ok((classes, standings.iter().map(|stands| host_inspect::course::word(&stands.standing)).collect()))
}

/// A walk as a branch to be.
fn told(moments: &mut Moments<'_>, prefix: &Trace, walk: &Walk, count: u64) -> Result<Found, Failure> {
    let traced = moments.traced(walk.place).clone();
    let properties = moments.stepper().lts().properties().to_vec();
    let mut said: Vec<String> = Vec::new();
    for stands in moments.standings(&traced)? {
        let name = &properties[stands.property].name;
        said.extend(match &stands.standing {
            Standing::Violated(why) => Some(format!("{name} is violated: {why}")),
            Standing::Owed(_) => Some(format!("{name} is owed")),
            Standing::Reached => Some(format!("{name} is reached")),
            Standing::Holds | Standing::NotReached | Standing::Unknown(_) => None,
        });
    }
    said.dedup();
    let over = if walk.is_over { "nothing more can happen" } else { "more can happen" };
    let text = std::iter::once(over.to_owned()).chain(said).collect::<Vec<_>>().join("; ");
    let trace = Trace { steps: moments.path(walk.place), finding: None, ..prefix.clone() }.with_version();
    Ok(Found { kind: None, text, trace, story: Story::default(), seeds: Some(count) })
}

/// SplitMix64, by Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound.max(1) as u64) as usize
    }
}
