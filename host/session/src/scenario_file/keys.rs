//! The keys of scenarios that stand for one option each.

use std::path::PathBuf;

use host_model::scenario::faults;

use crate::base::units;
use crate::spec::values::{self, NODES_MAX};
use crate::spec::{Algo, RunSpec};

/// The kind of a value, and the setting that it makes. The phrase of an error describes the error in the value.
#[derive(Clone, Copy)]
pub enum Kind {
    /// A budget of the fault that the key names.
    Budget,
    /// A whole number.
    Number(fn(&mut RunSpec, u64) -> Result<(), String>),
    /// A text.
    Text(fn(&mut RunSpec, &str) -> Result<(), String>),
    /// A path, relative to the folder of the file.
    Path(fn(&mut RunSpec, PathBuf)),
    /// An option without a value, given or not.
    Flag(fn(&mut RunSpec)),
}

use Kind::{Budget, Flag, Number, Path, Text};

/// Section, name and kind. Each key has the name of the option of `host run`.
pub fn keys() -> impl Iterator<Item = (&'static str, &'static str, Kind)> {
    let budgets = faults::budgets().map(|(name, _)| ("faults", name, Budget));
    KEYS.iter().copied().chain(budgets).chain([OUTAGE_WRITES])
}

const OUTAGE_WRITES: (&str, &str, Kind) =
    ("faults", "outage-writes", Text(|spec, text| set(&mut spec.cluster.outage_writes, values::outage_writes(text))));

const KEYS: &[(&str, &str, Kind)] = &[
    ("", "nodes", Number(|spec, number| set(&mut spec.cluster.nodes, between(number, 1, NODES_MAX)))),
    ("", "network", Text(|spec, text| set(&mut spec.cluster.network, values::network(text)))),
    ("", "prefix", Path(|spec, path| spec.cluster.prefix = Some(path))),
    ("", "audit", Text(|spec, text| set(&mut spec.process.audit, values::audit(text)))),
    ("", "no-minimize", Flag(|spec| spec.process.no_minimize = true)),
    ("", "deadlock", Flag(|spec| spec.search.deadlock = true)),
    ("", "continue", Flag(|spec| spec.search.continues = true)),
    (
        "",
        "max-violations",
        Number(|spec, number| set(&mut spec.search.max_violations, between(number, 1, VIOLATIONS_MAX).map(u64::from))),
    ),
    ("strategy", "algo", Text(|spec, text| set(&mut spec.search.algo, values::strategy(text).map(Algo)))),
    ("strategy", "reduce", Flag(|spec| spec.search.reduce = true)),
    ("strategy", "no-symmetry", Flag(|spec| spec.search.no_symmetry = true)),
    ("strategy", "walks", Number(|spec, number| set(&mut spec.search.walks, positive(number)))),
    ("strategy", "seed", Number(|spec, number| set(&mut spec.search.seed, Ok(number)))),
    (
        "strategy",
        "weights",
        Text(|spec, text| set(&mut spec.search.weights, text.parse().map_err(|error| format!("{error}")))),
    ),
    (
        "strategy",
        "schedule",
        Text(|spec, text| set(&mut spec.search.schedule, text.parse().map_err(|error| format!("{error}")))),
    ),
    ("strategy", "fairness", Text(|spec, text| set(&mut spec.search.fairness, values::fairness(text)))),
    ("strategy", "timers", Text(|spec, text| set(&mut spec.search.timers, values::timers(text)))),
    ("strategy", "recover-by", Text(|spec, text| set(&mut spec.search.recover_by, values::recovery(text)))),
    ("strategy", "safety-only", Flag(|spec| spec.search.safety_only = true)),
    ("bounds", "depth", Number(|spec, number| set(&mut spec.search.depth, between(number, 0, u32::MAX)))),
    ("bounds", "local-events", Number(|spec, number| set(&mut spec.search.local_events, between(number, 0, u32::MAX)))),
    ("bounds", "states", Number(|spec, number| set(&mut spec.search.states, positive(number)))),
    ("bounds", "time", Text(|spec, text| set(&mut spec.process.time, units::duration(text)))),
    ("bounds", "memory", Text(|spec, text| set(&mut spec.process.memory, units::size(text)))),
];

/// The maximum number of collected violations.
pub const VIOLATIONS_MAX: u32 = 10_000;

fn set<T>(field: &mut Option<T>, value: Result<T, String>) -> Result<(), String> {
    *field = Some(value?);
    Ok(())
}

fn positive(number: u64) -> Result<u64, String> {
    if number == 0 { Err("0 is not in 1..".to_owned()) } else { Ok(number) }
}

fn between(number: u64, min: u32, max: u32) -> Result<u32, String> {
    let found = u32::try_from(number).ok().filter(|number| (min..=max).contains(number));
    found.ok_or_else(|| format!("{number} is not in {min}..={max}"))
}
