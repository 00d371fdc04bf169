//! Names and assignments as text.

use host_model::audit::Mode;
use host_model::scenario::{Faults, Network, OutageWrites, faults};
use host_search::kernel::rules::{Fairness, Recovery, Timers};
use host_search::strategy::{STRATEGIES, Strategy, find};

/// The maximum number of nodes of a cluster. A replay runs an instance for each node, and each reserves address space.
pub const NODES_MAX: u32 = 1024;

/// The modes of the audit by name.
pub const AUDITS: [(&str, Mode); 3] = [("off", Mode::Off), ("sampled", Mode::Sampled), ("full", Mode::Full)];

/// `key=value` into its parts.
pub fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && !text.contains(['\n', '\r']) => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE on one line, such as proposers=2".to_owned()),
    }
}

/// `name=expression` into its parts.
pub fn expressed(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, expression)) if !name.trim().is_empty() && !expression.trim().is_empty() => {
            Ok((name.trim().to_owned(), expression.to_owned()))
        }
        _ => Err("expected NAME=EXPRESSION, such as \"fits=node.count <= 3\"".to_owned()),
    }
}

/// A strategy from its name.
pub fn strategy(name: &str) -> Result<&'static Strategy, String> {
    find(name).ok_or_else(|| possible(STRATEGIES.iter().map(|strategy| strategy.name)))
}

/// The names of the strategies that help and lists have.
pub fn strategies() -> impl Iterator<Item = &'static str> {
    STRATEGIES.iter().filter(|strategy| !strategy.only_reproduces()).map(|strategy| strategy.name)
}

/// A network from its name.
pub fn network(name: &str) -> Result<Network, String> {
    named(Network::ALL, Network::name, name)
}

/// The unsynced writes that an outage can lose, from their name.
pub fn outage_writes(name: &str) -> Result<OutageWrites, String> {
    named(OutageWrites::ALL, OutageWrites::name, name)
}

/// A mode of the audit from its name.
pub fn audit(name: &str) -> Result<Mode, String> {
    named(AUDITS, |(name, _)| name, name).map(|(_, mode)| mode)
}

/// A budget of the fault with this name.
pub fn budget(fault: &str, text: &str) -> Result<u32, String> {
    let may_be_unlimited = faults::budgets().any(|(name, budget)| name == fault && budget.may_be_unlimited);
    if may_be_unlimited && text == faults::budget::UNLIMITED {
        return Ok(Faults::UNLIMITED);
    }
    let word = if may_be_unlimited { format!(" or `{}`", faults::budget::UNLIMITED) } else { String::new() };
    let number = text.parse().ok().filter(|number| *number <= Faults::MAX);
    number.ok_or_else(|| format!("{text} is not in 0..={}{word}", Faults::MAX))
}

/// The fairness of events in the long run, from its name.
pub fn fairness(name: &str) -> Result<Fairness, String> {
    named(Fairness::ALL, Fairness::name, name)
}

/// The rule for timers in the long run, from its name.
pub fn timers(name: &str) -> Result<Timers, String> {
    named(Timers::ALL, Timers::name, name)
}

/// The events that count as a recovery of a promise, from their name.
pub fn recovery(name: &str) -> Result<Recovery, String> {
    named(Recovery::ALL, Recovery::name, name)
}

/// The value with this name.
fn named<T: Copy>(
    all: impl IntoIterator<Item = T> + Clone,
    name_of: fn(T) -> &'static str,
    name: &str,
) -> Result<T, String> {
    let found = all.clone().into_iter().find(|value| name_of(*value) == name);
    found.ok_or_else(|| possible(all.into_iter().map(name_of)))
}

fn possible<'n>(names: impl Iterator<Item = &'n str>) -> String {
    format!("possible values: {}", names.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assignment_has_a_key() {
        assert_eq!(assignment("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert_eq!(assignment("a="), Ok(("a".to_owned(), String::new())));
        for wrong in ["a", "=a", "a=b\nc=d"] {
            assert!(assignment(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn names_stand_for_values_and_others_are_refused_with_those_that_there_are() {
        assert_eq!(strategy("lmc").map(|strategy| strategy.name), Ok("lmc-opt"));
        assert_eq!(network("ordered"), Ok(Network::Ordered));
        assert_eq!(audit("off"), Ok(Mode::Off));
        assert_eq!(fairness("none"), Ok(Fairness::None));
        assert_eq!(fairness("fair-lossy"), Ok(Fairness::FairLossy));
        assert_eq!(fairness("strong"), Err("possible values: stable, fair-lossy, none".to_owned()));
        assert_eq!((timers("late"), recovery("resets")), (Ok(Timers::Late), Ok(Recovery::Resets)));
        assert_eq!((budget("losses", "unlimited"), budget("losses", "2")), (Ok(Faults::UNLIMITED), Ok(2)));
        assert_eq!(budget("resets", "unlimited"), Err("unlimited is not in 0..=100".to_owned()));
        assert_eq!(budget("losses", "101"), Err("101 is not in 0..=100 or `unlimited`".to_owned()));
        assert_eq!(audit("on"), Err("possible values: off, sampled, full".to_owned()));
    }
}
