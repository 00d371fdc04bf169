//! The status of each property in a report, and the verdict that follows from these alone.
//!
//! Headline, JSON, exit code and test results all come from [`Statuses::verdict`]: it alone decides whether a run is `ok`.

use host_model::contract::{FaultKind, Judgement, Property, PropertyKind};

use crate::kernel::{EndCondition, FoundViolation, PromiseReport, Report};

/// The outcome for a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// It is never violated: everything was explored.
    Holds,
    /// It is violated.
    Violated,
    /// A `sometimes` property holds in a state.
    Reached,
    /// A `sometimes` property holds in no state: everything was explored.
    NeverReached,
    /// It cannot be evaluated in some state.
    Broken,
    /// It is not decided.
    Unknown,
    /// The user left it out.
    NotChecked,
}

impl Status {
    /// All statuses.
    pub const ALL: [Self; 7] =
        [Self::Holds, Self::Violated, Self::Reached, Self::NeverReached, Self::Broken, Self::Unknown, Self::NotChecked];

    /// Its name in reports and scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Violated => "violated",
            Self::Reached => "reached",
            Self::NeverReached => "never-reached",
            Self::Broken => "broken",
            Self::Unknown => "unknown",
            Self::NotChecked => "not-checked",
        }
    }

    /// The status if the plugin breaks a promise on which it rests.
    #[must_use]
    pub fn distrusted(self) -> Self {
        match self {
            Self::Holds | Self::NeverReached => Self::Unknown,
            status => status,
        }
    }

    /// The verdict on a run with only this property.
    fn verdict(self) -> Verdict {
        match self {
            Self::Holds | Self::Reached | Self::NotChecked => Verdict::Ok,
            Self::Unknown => Verdict::Incomplete,
            Self::NeverReached => Verdict::NeverReached,
            Self::Broken => Verdict::Error,
            Self::Violated => Verdict::Violation,
        }
    }
}

/// The verdict on a run. Of several properties, the one with the last verdict in this order decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Each property that the user did not leave out is decided, and is as it should be.
    Ok,
    /// No violation was found, and some property is not decided.
    Incomplete,
    /// A `sometimes` property holds in no reachable state.
    NeverReached,
    /// The plugin does not allow a verdict.
    Error,
    /// A violation was found.
    Violation,
}

impl Verdict {
    /// All verdicts.
    pub const ALL: [Self; 5] = [Self::Ok, Self::Incomplete, Self::NeverReached, Self::Error, Self::Violation];

    /// Its name in reports and scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Incomplete => "incomplete",
            Self::NeverReached => "never-reached",
            Self::Error => "error",
            Self::Violation => "violation",
        }
    }
}

/// A finding, reduced to the part that decides the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Found {
    /// The property of this index is violated.
    Violated(u32),
    /// The property of this index cannot be evaluated.
    Broken(u32),
    /// A handler fails.
    Fault,
    /// A handler calls a platform function that no plugin has.
    Platform,
    /// An end where some node is not done.
    Deadlock,
    /// The finding did not occur a second time: the plugin is not deterministic.
    Unconfirmed,
}

impl Found {
    /// A finding of a search, if it is one.
    pub fn of(found: &FoundViolation) -> Option<Self> {
        Some(match &found.judgement {
            Judgement::Violated { property, .. } => Self::Violated(*property),
            Judgement::Broken { property, .. } => Self::Broken(*property),
            Judgement::Fault(fault) if fault.kind == FaultKind::Platform => Self::Platform,
            Judgement::Fault(_) => Self::Fault,
            Judgement::Deadlock { .. } => Self::Deadlock,
            Judgement::Witnessed { .. } => return None,
        })
    }

    /// The verdict on a run with only this finding.
    pub fn verdict(self) -> Verdict {
        match self {
            Self::Violated(_) | Self::Fault | Self::Deadlock => Verdict::Violation,
            Self::Broken(_) | Self::Platform | Self::Unconfirmed => Verdict::Error,
        }
    }
}

/// The request of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Whether `eventually` properties are to be decided.
    pub promises: bool,
    /// Whether deadlocks are to be found.
    pub deadlock: bool,
}

/// The status of everything that was requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statuses {
    /// The status of: no handler fails, and the plugin is deterministic.
    pub faults: Status,
    /// The status of: no end is a deadlock; none if that was not requested.
    pub deadlock: Option<Status>,
    /// The properties, in the order of the search.
    pub properties: Vec<Status>,
}

impl Statuses {
    /// The statuses after a search of these properties.
    pub fn new(report: &Report, properties: &[Property], asked: Asked, found: &[Found]) -> Self {
        let is_deterministic = !found.contains(&Found::Unconfirmed);
        let is_whole = report.end == EndCondition::SpaceExhausted && is_deterministic;
        let silent = if is_whole { Status::Holds } else { Status::Unknown };
        let worst = |of_it: &dyn Fn(Found) -> bool| {
            let verdict = found.iter().filter(|found| of_it(**found)).map(|found| found.verdict()).max();
            verdict.map_or(silent, |verdict| match verdict {
                Verdict::Violation => Status::Violated,
                _ => Status::Broken,
            })
        };
        let status = |(index, property): (u32, &Property)| match property.kind {
            _ if found.contains(&Found::Violated(index)) => Status::Violated,
            _ if found.contains(&Found::Broken(index)) => Status::Broken,
            PropertyKind::Eventually if !asked.promises => Status::NotChecked,
            PropertyKind::Eventually => match promise_status(report, index) {
                Status::Holds => silent,
                // The same finding did not occur a second time.
                Status::Violated if !is_deterministic => Status::Unknown,
                status => status,
            },
            PropertyKind::Sometimes if report.witnessed[index as usize] == Some(true) => Status::Reached,
            PropertyKind::Sometimes if is_whole => Status::NeverReached,
            PropertyKind::Sometimes | PropertyKind::Always => silent,
        };
        Self {
            faults: worst(&|found| matches!(found, Found::Fault | Found::Platform | Found::Unconfirmed)),
            deadlock: asked.deadlock.then(|| worst(&|found| found == Found::Deadlock)),
            properties: (0..).zip(properties).map(status).collect(),
        }
    }

    /// Withdraws every status that rests on the plugin's promises: it breaks one.
    pub fn distrust(&mut self) {
        self.properties.iter_mut().chain(&mut self.deadlock).for_each(|status| *status = status.distrusted());
        if self.faults != Status::Violated {
            self.faults = Status::Broken;
        }
    }

    /// The verdict of the worst status.
    pub fn verdict(&self) -> Verdict {
        let all = self.properties.iter().chain(&self.deadlock).chain([&self.faults]);
        all.map(|status| status.verdict()).max().expect("the status of faults is always in the list")
    }
}

/// The status of an `eventually` property by the report on its promises; whether the search saw everything is another question.
fn promise_status(report: &Report, property: u32) -> Status {
    let of_it = || report.promises.iter().filter(|it| it.promise.property == property);
    let is_broken = |it: &PromiseReport| {
        it.decided.is_some_and(|decided| decided.class.is_some()) || it.sampled.is_some_and(|sampled| sampled.dead > 0)
    };
    if of_it().any(is_broken) {
        return Status::Violated;
    }
    let is_decided = of_it().count() > 0 && of_it().all(|it| it.decided.is_some());
    if is_decided { Status::Holds } else { Status::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All combinations of up to three statuses: the verdict is `ok` exactly if each is decided and as it should be.
    #[test]
    fn a_run_is_ok_exactly_if_each_property_is_decided_and_good() {
        let mut tried = 0;
        for faults in [Status::Holds, Status::Violated, Status::Broken, Status::Unknown] {
            for deadlock in [None, Some(Status::Holds), Some(Status::Violated), Some(Status::Unknown)] {
                for one in Status::ALL {
                    for other in Status::ALL {
                        let statuses = Statuses { faults, deadlock, properties: vec![one, other] };
                        let all = [faults, one, other].into_iter().chain(deadlock);
                        let is = |status: Status| all.clone().any(|it| it == status);
                        let expected = if is(Status::Violated) {
                            Verdict::Violation
                        } else if is(Status::Broken) {
                            Verdict::Error
                        } else if is(Status::NeverReached) {
                            Verdict::NeverReached
                        } else if is(Status::Unknown) {
                            Verdict::Incomplete
                        } else {
                            Verdict::Ok
                        };
                        assert_eq!(statuses.verdict(), expected, "{statuses:?}");
                        tried += 1;
                    }
                }
            }
        }
        assert_eq!(tried, 4 * 4 * 7 * 7);
    }

    #[test]
    fn a_plugin_that_breaks_a_promise_is_never_ok() {
        for one in Status::ALL {
            for faults in [Status::Holds, Status::Violated, Status::Unknown] {
                let mut statuses = Statuses { faults, deadlock: Some(Status::Holds), properties: vec![one] };
                statuses.distrust();
                let is_violated = one == Status::Violated || faults == Status::Violated;
                let expected = if is_violated { Verdict::Violation } else { Verdict::Error };
                assert_eq!(statuses.verdict(), expected, "{one:?}, {faults:?}");
                assert_eq!(statuses.deadlock, Some(Status::Unknown));
            }
        }
    }
}
