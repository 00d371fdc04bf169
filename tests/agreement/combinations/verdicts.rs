//! The verdict on a run: the one that follows from the statuses of its properties, and a naive one by the reference.

use host_agreement::reference::promises::Outcome;
use host_model::contract::{Judgement, PropertyKind};
use host_search::kernel::EndCondition;
use host_search::verdict::{Asked, Found, Status, Statuses, Verdict};

use crate::combinations::claims::Facts;

/// Whether the verdict is the naive one; the same without promises, if the search does not decide them.
pub fn a_verdict_is_that_of_the_reference(facts: &Facts<'_>) -> Result<(), String> {
    let is_silent = facts.ran.report.promises.is_empty() && facts.ran.breaches.is_empty();
    for promises in [true, false] {
        if !promises && !is_silent {
            continue;
        }
        let statuses = statuses(facts, promises);
        let (verdict, expected) = (statuses.verdict(), naive(facts, promises));
        if verdict != expected {
            return Err(format!("{verdict:?} by {statuses:?}, not {expected:?} (promises {promises})"));
        }
        if verdict == Verdict::Ok {
            is_decided(facts, promises, &statuses)?;
        }
    }
    Ok(())
}

/// The statuses, as a run reports them.
fn statuses(facts: &Facts<'_>, promises: bool) -> Statuses {
    let report = &facts.ran.report;
    let found: Vec<Found> = report.violations.iter().filter_map(Found::of).collect();
    let asked = Asked { promises, deadlock: facts.case.bounds.deadlock };
    Statuses::new(report, &facts.ran.properties, asked, &found)
}

/// The verdict of the reference: each finding is bad, a missing finding proves something only after everything was
/// explored, and a promise is decided only if the reference also decides it.
pub fn naive(facts: &Facts<'_>, promises: bool) -> Verdict {
    let (ran, truth) = (facts.ran, facts.truth);
    let is_whole = ran.report.end == EndCondition::SpaceExhausted;
    let is_there = if is_whole { !facts.all.is_empty() } else { !ran.findings.is_empty() };
    if is_there || !ran.breaches.is_empty() {
        let is_evaluation = |judgement: &Judgement| matches!(judgement, Judgement::Broken { .. });
        let is_error = ran.report.violations.iter().all(|found| is_evaluation(&found.judgement));
        return if is_error { Verdict::Error } else { Verdict::Violation };
    }
    let of_kind = |kind: PropertyKind| {
        let numbered = (0..).zip(&ran.properties);
        numbered.filter(move |(_, it)| it.kind == kind).map(|(index, _)| index)
    };
    let is_promised = of_kind(PropertyKind::Eventually).next().is_some();
    let decided = ran.report.promises.iter().filter(|it| it.decided.is_some()).count();
    // Walks prove that a promise is broken, and may lack the memory to keep the path.
    let is_shown_by_walks = ran.report.promises.iter().any(|it| it.sampled.is_some_and(|sampled| sampled.dead > 0));
    let is_shown = ran.report.promises.iter().any(|it| it.decided.is_some_and(|decided| decided.class.is_some()));
    if promises && (is_shown || is_shown_by_walks) {
        return Verdict::Violation;
    }
    let missing = of_kind(PropertyKind::Sometimes).any(|property| !truth.all.witnessed.contains(&property));
    let expected = truth.promises.as_ref().map(Vec::len);
    match is_whole {
        true if missing => Verdict::NeverReached,
        true if !promises || !is_promised || expected == Some(decided) => Verdict::Ok,
        _ => Verdict::Incomplete,
    }
}

/// Whether each selected property is decided as in the reference.
fn is_decided(facts: &Facts<'_>, promises: bool, statuses: &Statuses) -> Result<(), String> {
    let truth = facts.truth;
    for (index, (property, status)) in (0..).zip(facts.ran.properties.iter().zip(&statuses.properties)) {
        let is_right = match property.kind {
            PropertyKind::Always => *status == Status::Holds,
            PropertyKind::Sometimes => *status == Status::Reached && truth.all.witnessed.contains(&index),
            PropertyKind::Eventually if !promises => *status == Status::NotChecked,
            PropertyKind::Eventually => {
                let is_kept = |(outcome, _): &(Outcome, bool)| outcome.ways().is_empty();
                *status == Status::Holds && truth.promises.as_ref().is_some_and(|all| all.iter().all(is_kept))
            }
        };
        if !is_right {
            return Err(format!("{} is {status:?}, and the run is ok", property.name));
        }
    }
    Ok(())
}
