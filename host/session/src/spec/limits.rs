//! The limits of a plugin by name, with units.

use std::collections::BTreeMap;

use host_sandbox::{GuestLimits, LIMITS, Limit, Unit};

use crate::base::text::{bytes, count, table};
use crate::base::{Failure, units};

/// The given limits, by name.
pub type Given = BTreeMap<String, u64>;

/// The defaults with the given limits. A value out of range becomes the nearest one inside, and an unknown limit is
/// left out, since both were refused when they were read.
pub fn effective(given: &Given) -> GuestLimits {
    let mut limits = GuestLimits::default();
    for (limit, value) in given.iter().filter_map(|(name, value)| Some((Limit::find(name)?, *value))) {
        limit.set(&mut limits, value);
    }
    limits
}

/// The limits that differ from the defaults, as a trace keeps them.
pub fn changed(limits: &GuestLimits) -> Given {
    let defaults = GuestLimits::default();
    let changed = LIMITS.iter().filter(|limit| limit.get(limits) != limit.get(&defaults));
    changed.map(|limit| (limit.name.to_owned(), limit.get(limits))).collect()
}

/// The limits above their defaults, as options.
pub fn raised(given: &Given) -> Vec<String> {
    let defaults = GuestLimits::default();
    let raised = given.iter().filter_map(|(name, value)| Some((Limit::find(name)?, *value)));
    let raised = raised.filter(|(limit, value)| *value > limit.get(&defaults));
    raised.map(|(limit, value)| format!("{}={value}", limit.name)).collect()
}

/// The limits of a file, such as a trace, with others that are given over them. Limits that it raises must be given: the author of a file
/// does not decide about the resources of this machine. `file` names it in the error.
///
/// # Errors
///
/// The file raises a limit that is not given.
pub fn over_recorded(given: &Given, recorded: &Given, file: std::fmt::Arguments<'_>) -> Result<Given, Failure> {
    let left = recorded.iter().filter(|(name, _)| !given.contains_key(*name));
    let raised = raised(&left.map(|(name, value)| (name.clone(), *value)).collect());
    match raised.first() {
        None => Ok(recorded.iter().chain(given).map(|(name, value)| (name.clone(), *value)).collect()),
        Some(first) => {
            let what = format_args!("{file} raises a limit: {}", raised.join(", "));
            let all = raised.iter().map(|limit| format!("--limit {limit}")).collect::<Vec<_>>().join(" ");
            let name = first.split('=').next().unwrap_or_default();
            Err(Failure::configuration(what).help(format_args!("allow it with `{all}`, or give another {name}")))
        }
    }
}

/// Checks the name and the range of a limit.
///
/// # Errors
///
/// A lower-case phrase that names the existing ones.
pub fn check(name: &str, value: u64) -> Result<&'static Limit, String> {
    let limit = Limit::find(name).ok_or_else(|| {
        let names: Vec<&str> = LIMITS.iter().map(|limit| limit.name).collect();
        format!("there is no limit `{name}`; there are: {}", names.join(", "))
    })?;
    match limit.range.contains(&value) {
        true => Ok(limit),
        false => {
            let (start, end) = (shown(limit, *limit.range.start()), shown(limit, *limit.range.end()));
            Err(format!("the limit `{name}` must be between {start} and {end}"))
        }
    }
}

/// A limit and its value from text: a number, or one with a unit where that makes sense.
pub fn value(name: &str, text: &str) -> Result<(&'static str, u64), String> {
    // The name first: a wrong name matters more than a wrong value.
    let unit = match Limit::find(name) {
        Some(limit) => limit.unit,
        None => return check(name, 0).map(|limit| (limit.name, 0)),
    };
    let plain = text.replace('_', "").parse::<u64>().map_err(|_| "expected a number".to_owned());
    let value = match unit {
        Unit::Count => plain?,
        Unit::Bytes => plain.or_else(|_| units::size(text))?,
        Unit::Seconds => plain.or_else(|_| units::duration(text).map(|time| time.as_secs()))?,
    };
    check(name, value).map(|limit| (limit.name, value))
}

/// `NAME=VALUE` into the name of a limit and its value.
pub fn parse(text: &str) -> Result<(&'static str, u64), String> {
    let (name, text) = text.split_once('=').ok_or("expected NAME=VALUE, such as fuel=1000000 or memory=64MiB")?;
    value(name, text)
}

/// The limits with their defaults as lines for `--help`.
pub fn help() -> String {
    let limits = GuestLimits::default();
    let row = |limit: &Limit| (format!("{}={}", limit.name, shown(limit, limit.get(&limits))), limit.meaning);
    table("Limits and their defaults, for --limit:", &LIMITS.iter().map(row).collect::<Vec<_>>())
}

fn shown(limit: &Limit, value: u64) -> String {
    match limit.unit {
        Unit::Count => value.to_string(),
        Unit::Seconds => count(value, "second"),
        // As an option: without a fraction where there is none, without a space.
        Unit::Bytes => bytes(value).replace(".0 ", " ").replace(' ', ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_units_of_their_limit() {
        assert_eq!(parse("fuel=1_000_000"), Ok(("fuel", 1_000_000)));
        assert_eq!(parse("memory=64MiB"), Ok(("memory", 64 << 20)));
        assert_eq!(parse("memory=65536"), Ok(("memory", 65_536)));
        assert_eq!(parse("compile-time=2m"), Ok(("compile-time", 120)));
        for (wrong, words) in [
            ("fuel", "NAME=VALUE"),
            ("fuel=64MiB", "expected a number"),
            ("fuel=1", "the limit `fuel` must be between 10000 and"),
            ("memory=5GiB", "the limit `memory` must be between 64KiB and"),
            ("memory=many", "with a unit"),
            ("feul=1", "there is no limit `feul`; there are: fuel, memory,"),
        ] {
            let error = parse(wrong).expect_err(wrong);
            assert!(error.contains(words), "{wrong}: {error}");
        }
    }

    #[test]
    fn what_differs_from_the_defaults_makes_the_same_limits_again() {
        let given = Given::from([("fuel".to_owned(), 12_345), ("text".to_owned(), 4 << 10)]);
        let limits = effective(&given);
        assert_eq!(changed(&limits), Given::from([("fuel".to_owned(), 12_345)]));
        assert_eq!(effective(&changed(&limits)), limits);
    }
}
