//! `host doctor`.
//!
//! | module | what it holds |
//! |---|---|
//! | `why_different` | `host doctor --why-different` |

mod why_different;

use host_model::scenario::Scenario;
use host_sandbox::Inspection;
use host_session::base::text::{bytes, count, grouped, json_text, on_one_line, rounded, table};
use host_session::base::{Exit, Failure};
use host_session::cluster::Cluster;
use host_session::cluster::pieces;
use host_session::cluster::placement::Components;
use host_session::cluster::plugin_source::{self, LoadedPlugin};
use host_session::cluster::scenario::scenario;
use host_session::report::result::PluginReport;
use host_session::spec::{ClusterSpec, RunSpec, limits};
use serde_json::json;

use crate::environment::Environment;
use crate::options::plugins::DoctorArguments;
use host_session::conformance::{Deviation, Observations, examine};

/// The number of nodes if the plugin has no default.
pub(crate) const NODES: u32 = 3;

/// The size of linear memory at the start above which a snapshot costs noticeably more than the handler.
const LARGE_BYTES: u64 = 4 << 20;

/// Examines a plugin, and says whether a search can rely on it.
pub fn run(arguments: &DoctorArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let limits = limits::effective(&arguments.limits.given());
    let loaded =
        plugin_source::load(&arguments.plugin, arguments.source.into(), limits.clone(), &mut environment.context())?;
    let nodes = arguments.nodes.or(loaded.plugin.about().map(|about| about.nodes)).or(Some(NODES));
    let cluster = ClusterSpec { nodes, parameters: arguments.set.clone(), ..ClusterSpec::default() };
    let spec = RunSpec { cluster, ..RunSpec::default() };
    let scenario = scenario(&spec, &loaded, &Components::default(), None)?;
    if arguments.why_different {
        let cluster = Cluster::new(loaded, Components::default(), scenario)?;
        return why_different::run(&spec, &cluster, arguments.states, arguments.json, environment);
    }
    let seen = examine(loaded.factory(), &scenario, arguments.steps, true)?;
    let mut hazards = hazards(&loaded, &seen);
    if let Err(failure) = pieces::check(&loaded, &scenario, &limits) {
        hazards.push(format!("{}; {}", failure.message, failure.help.unwrap_or_default()));
    }
    environment.print(&match arguments.json {
        true => as_json(&loaded, &scenario, &seen, &hazards),
        false => as_text(&loaded, &scenario, &seen, &hazards),
    })?;
    Ok(if seen.findings.is_empty() { Exit::Ok } else { Exit::GuestFault })
}

pub(crate) fn finding(finding: &Deviation) -> String {
    on_one_line(match finding {
        Deviation::Fault(what) | Deviation::Refused(what) | Deviation::Differs(what) => what,
    })
}

/// Possible problems, each with a remedy.
fn hazards(loaded: &LoadedPlugin, seen: &Observations) -> Vec<String> {
    let inspection = loaded.plugin.inspect();
    let mut hazards = Vec::new();
    let mut guarded: Vec<&str> = inspection.modules.iter().flat_map(|module| module.guarded.iter().copied()).collect();
    guarded.sort_unstable();
    guarded.dedup();
    if !guarded.is_empty() {
        hazards.push(format!("its code has {}: a fault, should it run after the start", guarded.join(", ")));
    }
    if memory_bytes(inspection) >= LARGE_BYTES {
        let size = bytes(memory_bytes(inspection));
        hazards.push(format!("{size} of memory at the start: each worker takes as much"));
    }
    if seen.steps <= u64::from(loaded.plugin.about().map_or(NODES, |about| about.nodes)) {
        hazards
            .push("nothing happens after `init`: no messages and no local events, or parameters are needed".to_owned());
    }
    if loaded.plugin.about().is_none() {
        hazards.push("no interface `defaults`: people must know --nodes and the parameters".to_owned());
    }
    hazards
}

fn memory_bytes(inspection: &Inspection) -> u64 {
    let memories = inspection.modules.iter().flat_map(|module| &module.memories);
    memories.filter(|memory| !memory.imported).map(|memory| memory.pages_min * 65_536).sum()
}

pub(crate) fn captured_globals(inspection: &Inspection) -> u64 {
    let globals = inspection.modules.iter().flat_map(|module| &module.globals);
    globals.filter(|global| global.captured).count() as u64
}

/// Microseconds per step and for the calls in it, if they were measured.
pub(crate) fn microseconds(seen: &Observations) -> (Option<f64>, Option<f64>) {
    let micros = |duration: std::time::Duration| duration.as_secs_f64() * 1e6;
    (seen.cost.map(|cost| micros(cost.step)), seen.cost.map(|cost| micros(cost.calls)))
}

pub(crate) fn verdict(seen: &Observations) -> &'static str {
    match seen.findings.first() {
        None => "fit: nothing was found that a search could stumble over",
        Some(Deviation::Fault(_)) => "unfit: it ends in a fault",
        Some(Deviation::Refused(_)) => "unfit: it refuses to begin with these parameters, or with this number of nodes",
        Some(Deviation::Differs(_)) => "unfit: the same events lead to different states",
    }
}

fn as_text(loaded: &LoadedPlugin, scenario: &Scenario, seen: &Observations, hazards: &[String]) -> String {
    let inspection = loaded.plugin.inspect();
    let micros = |each: Option<f64>| each.map_or("not measured".to_owned(), |each| format!("{each:.1} µs"));
    let list = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let given: Vec<String> = scenario.parameters.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let mean = seen.snapshot_bytes_total.checked_div(seen.steps).unwrap_or(0);
    let what = [
        ("imports", format!("{}; nothing of WASI", list(&inspection.imports))),
        ("exports", format!("{}; functions and types fit the contract", list(&inspection.exports))),
        (
            "component",
            format!(
                "{} in {}",
                bytes(inspection.component_bytes as u64),
                count(inspection.modules.len() as u64, "core module")
            ),
        ),
        ("memory", format!("{} at the start", bytes(memory_bytes(inspection)))),
        (
            "globals",
            format!(
                "{}, all captured; {} shared",
                count(captured_globals(inspection), "mutable global"),
                inspection.shared_globals
            ),
        ),
        ("tables", "not written after the start, or it is a fault".to_owned()),
    ];
    let tried = [
        ("cluster", format!("{}, {}", count(scenario.nodes.into(), "node"), count(seen.steps, "step"))),
        ("parameters", if given.is_empty() { "the defaults".to_owned() } else { on_one_line(&given.join(", ")) }),
        ("two instances", agree(seen)),
        ("restore", agree(seen)),
        ("from start to end", agree(seen)),
    ];
    let cost = [
        ("step", format!("{}, with restore and capture", micros(microseconds(seen).0))),
        ("calls alone", micros(microseconds(seen).1)),
        ("snapshot", format!("{} bytes on average, {} at most", grouped(mean), grouped(seen.snapshot_bytes_max))),
        ("state", format!("{} bytes encoded at most", grouped(seen.state_bytes_max))),
        ("load", format!("{:.3} s", loaded.seconds)),
    ];
    let lines = |heading: &str, lines: &[String]| match lines {
        [] => table(heading, &[("none", "")]),
        lines => table(heading, &lines.iter().map(|line| (line, "")).collect::<Vec<_>>()),
    };
    let sections = [
        format!("{}\n", verdict(seen)),
        table("what it is", &what),
        table("what was tried", &tried),
        table("what it costs", &cost),
        lines("wrong", &seen.findings.iter().map(finding).collect::<Vec<_>>()),
        lines("hazards", hazards),
    ];
    sections.join("\n")
}

/// A finding ends the examination, so all earlier comparisons agreed.
fn agree(seen: &Observations) -> String {
    if seen.findings.is_empty() { "agree".to_owned() } else { "see below".to_owned() }
}

fn as_json(loaded: &LoadedPlugin, scenario: &Scenario, seen: &Observations, hazards: &[String]) -> String {
    let inspection = loaded.plugin.inspect();
    let micros = |each: Option<f64>| each.map(rounded);
    json_text(&json!({
        "result": if seen.findings.is_empty() { "fit" } else { "unfit" },
        "plugin": PluginReport::from(&loaded.reference),
        "imports": inspection.imports,
        "exports": inspection.exports,
        "component_bytes": inspection.component_bytes,
        "core_modules": inspection.modules.len(),
        "memory_bytes": memory_bytes(inspection),
        "captured_globals": captured_globals(inspection),
        "shared_globals": inspection.shared_globals,
        "nodes": scenario.nodes,
        "parameters": scenario.parameters,
        "steps": seen.steps,
        "step_microseconds": micros(microseconds(seen).0),
        "calls_microseconds": micros(microseconds(seen).1),
        "snapshot_bytes": { "total": seen.snapshot_bytes_total, "max": seen.snapshot_bytes_max },
        "state_bytes_max": seen.state_bytes_max,
        "seconds": { "load": rounded(loaded.seconds) },
        "findings": seen.findings.iter().map(finding).collect::<Vec<_>>(),
        "hazards": hazards,
    }))
}
