//! A search in a local transition system of its own, and its answer in the common one.
//!
//! Local model checking explores local states that are in no execution, and a reduction tries messages where none is delivered. In
//! the common local transition system the other members would count the results as their own.

use host_model::lts::{Lts, Mover, Step, Stepper};
use host_model::trace::start::Start;
use host_model::trace::{self, start};

use crate::kernel::{FoundBreach, FoundViolation, Report, Search, SearchError, stopped_end};

/// Runs a strategy in a sibling of the local transition system.
pub fn run(
    search: &Search<'_>,
    strategy: fn(&Search<'_>) -> Result<Report, SearchError>,
) -> Result<Report, SearchError> {
    let lts = search.lts.sibling();
    let starts = search.starts_in(&lts);
    let mut report = strategy(&Search { lts: &lts, starts: &starts, ..*search })?;
    if let Some(states) = &mut report.system_states {
        let mut mover = Mover::new(&lts, search.lts);
        states.iter_mut().flatten().for_each(|local| *local = mover.local_state(*local));
        states.sort_unstable();
    }
    let found = std::mem::take(&mut report.violations);
    match found.into_iter().map(|found| here(search, &lts, &starts, found)).collect() {
        Ok(violations) => report.violations = violations,
        // A finding that cannot be expressed in the common local transition system does not count.
        Err(error) => report.end = stopped_end(error)?,
    }
    Ok(report)
}

/// Translates a finding of the sibling into the common local transition system.
fn here(
    search: &Search<'_>,
    sibling: &Lts<'_>,
    starts: &[Start],
    found: FoundViolation,
) -> Result<FoundViolation, SearchError> {
    let index = starts.iter().position(|start| (&start.origin, &start.initial) == (&found.origin, &found.initial));
    let start = &search.starts[index.expect("a finding begins in a start state")];
    let followed = |path: &[Step]| -> Result<Start, SearchError> {
        let steps = trace::record(&mut Stepper::new(sibling)?, &found.initial, path)?;
        Ok(start::follow_on(&mut Stepper::new(search.lts)?, start.clone(), &steps)?)
    };
    let breach = match &found.breach {
        Some(breach) if !breach.sibling.is_empty() => {
            let critical = found.path.len() - 1;
            let way = followed(&[&found.path[..critical], &breach.sibling[..]].concat())?;
            // The path to the start state is part of the path of the finding.
            let before = way.path.len() - breach.sibling.len();
            Some(FoundBreach { sibling: way.path[before..].to_vec(), ..breach.clone() })
        }
        breach => breach.clone(),
    };
    let end = followed(&found.path)?;
    Ok(FoundViolation { origin: end.origin, initial: end.initial, path: end.path, breach, ..found })
}
