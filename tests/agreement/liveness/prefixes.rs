//! The reports of a search after walks about promises: the reference breaks each in the same way.

use std::collections::BTreeMap;

use host_agreement::effort::{enough, systems, telling};
use host_search::kernel::{EndCondition, SearchBounds, Unmonitored};
use host_search::strategy::prefix;

use super::searches::{Case, confirmed};

#[test]
fn what_is_found_after_walks_is_there_for_the_reference() {
    let (mut seen, mut later): (BTreeMap<_, u64>, u64) = (BTreeMap::new(), 0);
    for seed in 0..systems(1_000) {
        let case = Case::random(seed);
        let bounds = SearchBounds { walks: Some(8), seed: Some(seed), count_system_states: false, ..case.bounds };
        // Bounds count from the ends of the walks.
        let whole = Case { bounds: SearchBounds { depth: None, local_events: None, ..case.bounds }, ..case };
        let Some(outcomes) = whole.outcomes(whole.rules()) else { continue };
        let case = Case { bounds, ..whole };
        let context = format!("seed {seed}, {:?}, {:?}, {:#?}", case.bounds, case.prefix, case.system);
        case.run_by(&prefix::run, 1, &Unmonitored, &mut |lts, report| {
            assert!(report.promises.is_empty() && report.end != EndCondition::SpaceExhausted, "{context}");
            let promises = lts.promises();
            let before = if case.is_exported { 0 } else { case.prefix.as_ref().map_or(0, |prefix| prefix.steps.len()) };
            for found in report.violations.iter().filter(|found| found.breach.is_some()) {
                let breach = found.breach.as_ref().expect("it was looked at");
                let index = promises.iter().position(|promise| {
                    found.judgement.violated() == Some(promise.property) && promise.node == found.node
                });
                let ways = outcomes[index.expect("it is about a promise")].ways();
                // Within a bound, a more certain way to break it may stay unknown.
                let is_bounded = bounds.depth.is_some() || bounds.local_events.is_some();
                let is_it = |class| class == breach.class || is_bounded && class < breach.class;
                let least = ways.iter().filter(|(class, _)| is_it(*class)).map(|(_, length)| *length).min();
                let length = found.path.len() - before - breach.cycle;
                assert!(least.is_some_and(|least| least <= length), "{context}: {breach:?} of {ways:?}");
                assert!(!found.shortest, "{context}");
                confirmed(&case, lts, found);
                *seen.entry(breach.class).or_default() += 1;
                later += u64::from(least < Some(length));
            }
        });
    }
    let is_enough = seen.len() == 3 && seen.values().all(|count| *count > enough(10)) && later > enough(20);
    telling(is_enough, format_args!("{seen:?}, {later} of them farther away than there is one"));
}
