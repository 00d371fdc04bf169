//! `host doctor --why-different`.

use host_inspect::words;
use host_model::trace::Hex;
use host_session::base::text::{count, json_text, on_one_line, table};
use host_session::base::{Exit, Failure};
use host_session::cluster::Cluster;
use host_session::report::result::PluginReport;
use host_session::search::why_different::{Alike, WhyDifferent, why_different};
use host_session::spec::RunSpec;
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::output::bytes::bytes_there;

/// Searches for states of the plugin with the same description that count as different.
pub(super) fn run(
    spec: &RunSpec,
    cluster: &Cluster,
    states_max: u64,
    is_json: bool,
    environment: &mut Environment<'_>,
) -> Result<Exit, Failure> {
    let lts = cluster.lts(cluster.factory())?;
    let seen = why_different(spec, cluster, &lts, states_max, &mut environment.context())?;
    environment.print(&if is_json { as_json(cluster, &seen) } else { as_text(cluster, &seen) })?;
    Ok(if seen.found.is_some() { Exit::Unexpected } else { Exit::Ok })
}

/// The identity of states, by its name in reports of runs.
fn identity(cluster: &Cluster) -> &'static str {
    if cluster.plugin.plugin.is_by_memory() { "memory" } else { "serialized" }
}

fn as_text(cluster: &Cluster, seen: &WhyDifferent) -> String {
    let among = format!("among {} of {}", count(seen.local_states, "local state"), {
        count(cluster.scenario.nodes.into(), "node")
    });
    let cut = seen.cut.map(|why| format!("; {why}: there may be more")).unwrap_or_default();
    let undescribed = match seen.undescribed {
        0 => String::new(),
        number => format!("; {} without a description", count(number, "local state")),
    };
    let Some(found) = &seen.found else {
        return format!("none: no two states look the same but count as different, {among}{cut}{undescribed}\n");
    };
    let like = match seen.alike {
        1 => "1 looks like an earlier one but counts as different".to_owned(),
        number => format!("{number} look like an earlier one but count as different"),
    };
    let mut what = vec![
        ("both", words::compact(&found.description)),
        ("identity", identity(cluster).to_owned()),
        ("differ at", found.place.to_string()),
    ];
    what.extend(bytes_there(&found.bytes).map(|bytes| ("bytes there", bytes)));
    let sections = [
        format!("different: two states of {} look the same but count as different\n", on_one_line(&found.node)),
        table("the states", &what),
        way("the first", &found.ways[0]),
        way("the second", &found.ways[1]),
        format!("{like}, {among}{cut}{undescribed}\n"),
    ];
    sections.join("\n")
}

fn way(which: &str, events: &[String]) -> String {
    let heading = match events.len() as u64 {
        0 => format!("{which} is there at the start"),
        number => format!("{which} is there after {}", count(number, "event")),
    };
    let lines = (1..).zip(events).map(|(number, event)| format!("  {number}. {}\n", on_one_line(event)));
    format!("{heading}\n{}", lines.collect::<String>())
}

fn as_json(cluster: &Cluster, seen: &WhyDifferent) -> String {
    json_text(&json!({
        "result": if seen.found.is_some() { "different" } else { "none" },
        "plugin": PluginReport::from(&cluster.plugin.reference),
        "nodes": cluster.scenario.nodes,
        "parameters": cluster.scenario.parameters,
        "identity": identity(cluster),
        "local_states": seen.local_states,
        "alike": seen.alike,
        "undescribed": seen.undescribed,
        "cut": seen.cut,
        "found": seen.found.as_ref().map(found),
    }))
}

fn found(found: &Alike) -> Value {
    json!({
        "node": found.node,
        "description": found.description,
        "place": found.place,
        "bytes": found.bytes.each_ref().map(|bytes| Hex(bytes.clone())),
        "ways": found.ways,
    })
}
