//! Time, states and memory of the strategies by depth, in the form of figures 10 to 12 of Guerraoui and Yabandeh, "Model
//! Checking a Networked System Without the Network", NSDI 2011.
//!
//! The x-axis is the bound on depth: events on a path. `lmc` has no such bound (a local state has no depth), so it is
//! one point, drawn at the depth of the whole space.

use std::path::PathBuf;

use crate::Depth;
use crate::checkers::{Job, Plugin, Tools, here};
use crate::plot::{self, Curve, Panel};
use crate::table::{count, markdown, measured};

/// The cluster of a panel.
struct Scenario {
    title: &'static str,
    plugin: Plugin,
    parameters: &'static [&'static str],
    /// The longest execution: at this depth nothing is cut off any more.
    depth: u32,
}

const SCENARIOS: [Scenario; 4] = [
    // 3 init, 1 propose, 3 each of Prepare, PrepareResponse and Accept, 9 Learn.
    Scenario { title: "Paxos, one proposal", plugin: Plugin::Paxos, parameters: &["init=event"], depth: 22 },
    // Without init: 41 - 3 events.
    Scenario { title: "Paxos, two proposals", plugin: Plugin::Paxos, parameters: &["proposers=2"], depth: 38 },
    // Two commands; 3 each of Prepare and PrepareResponse of both leaders; 3 Accept and 9 Learn for each index, one of the first
    // leader and two of the second.
    Scenario { title: "Multi-Paxos, two clients", plugin: Plugin::MultiPaxos, parameters: &[], depth: 50 },
    // Nothing is cut off at this depth, and something at each before.
    Scenario {
        title: "1Paxos, a takeover with commands",
        plugin: Plugin::OneAcceptor,
        parameters: &["switches=0"],
        depth: 27,
    },
];

/// Strategies with a bound on depth, and the states that they count.
const DEEPENING: [(&str, &str); 4] =
    [("bdfs", "global states"), ("consequence", "global states"), ("unfold", "events"), ("dpor", "executions")];
/// Strategies without.
const UNBOUNDED: [(&str, &str); 2] = [("lmc-gen", "local states"), ("lmc-opt", "local states")];

/// The cost of one run.
#[derive(Clone, Copy)]
struct Point {
    depth: u32,
    /// User and system time of the process: another process on the same core does not count.
    cpu_seconds: f64,
    states: u64,
    peak_bytes: u64,
}

/// The value of a run that a picture shows.
type Value = fn(&Point) -> f64;

/// The runs of one strategy on one scenario.
struct Series {
    strategy: &'static str,
    unit: &'static str,
    points: Vec<Point>,
}

/// Runs the strategies depth by depth, prints the table, and writes the plots.
///
/// # Errors
///
/// A run fails, or a plot cannot be written.
pub fn run(arguments: &Depth, tools: &Tools) -> Result<(), String> {
    let mut panels = Vec::new();
    for scenario in &SCENARIOS {
        let mut all = Vec::new();
        for (strategy, unit) in DEEPENING {
            all.push(deepen(arguments, tools, scenario, strategy, unit)?);
        }
        for (strategy, unit) in UNBOUNDED {
            let run = measure(tools, scenario, strategy, None, arguments.seconds_max * 4.0)?;
            all.push(Series { strategy, unit, points: run.into_iter().collect() });
        }
        println!("**{}**: CPU seconds, states, peak MiB\n\n{}", scenario.title, table(&all));
        panels.push((scenario, all));
    }
    let folder = arguments.out.clone().unwrap_or_else(|| here().join("../../docs"));
    let figures: [(&str, &str, Value); 3] = [
        ("cost-time.svg", "CPU seconds of the process", |point| point.cpu_seconds),
        ("cost-states.svg", "states or events", |point| point.states as f64),
        ("cost-memory.svg", "peak memory of the process, MiB", |point| point.peak_bytes as f64 / f64::from(1 << 20)),
    ];
    for (name, y, value) in figures {
        let panels: Vec<Panel> = panels.iter().map(|(scenario, series)| panel(scenario, series, value)).collect();
        let path: PathBuf = folder.join(name);
        plot::draw(&path, y, &panels).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// Deeper until nothing is cut off, or a run took too long.
fn deepen(
    arguments: &Depth,
    tools: &Tools,
    scenario: &Scenario,
    strategy: &'static str,
    unit: &'static str,
) -> Result<Series, String> {
    let mut points = Vec::new();
    for depth in 1..=scenario.depth {
        eprintln!("{}: {strategy}, depth {depth}", scenario.title);
        // Generous: the bound on time is there to stop a run that is far too long, which then is no point.
        let Some(point) = measure(tools, scenario, strategy, Some(depth), arguments.seconds_max * 4.0)? else { break };
        points.push(point);
        if point.cpu_seconds > arguments.seconds_max {
            break;
        }
    }
    Ok(Series { strategy, unit, points })
}

/// A run, or the median of three short ones; `None` if it did not end by itself or by the bound on depth.
fn measure(
    tools: &Tools,
    scenario: &Scenario,
    strategy: &str,
    depth: Option<u32>,
    seconds_max: f64,
) -> Result<Option<Point>, String> {
    let once = || measure_once(tools, scenario, strategy, depth, seconds_max);
    let mut points = Vec::from_iter(once()?);
    if points.iter().any(|point| point.cpu_seconds < SHORT_SECONDS) {
        points.extend(once()?);
        points.extend(once()?);
    }
    points.sort_by(|one, other| one.cpu_seconds.total_cmp(&other.cpu_seconds));
    Ok(points.get(points.len() / 2).copied())
}

/// Runs that are shorter are repeated.
const SHORT_SECONDS: f64 = 1.0;

fn measure_once(
    tools: &Tools,
    scenario: &Scenario,
    strategy: &str,
    depth: Option<u32>,
    seconds_max: f64,
) -> Result<Option<Point>, String> {
    let mut options = vec!["--algo".to_owned(), strategy.to_owned(), "--time".to_owned(), format!("{seconds_max}s")];
    for parameter in scenario.parameters {
        options.extend(["--set".to_owned(), (*parameter).to_owned()]);
    }
    options.extend(depth.into_iter().flat_map(|depth| ["--depth".to_owned(), depth.to_string()]));
    let (outcome, used) = tools.run(&Job::Host { plugin: scenario.plugin, options })?;
    let stopped = outcome.verdict == "bounded" && (depth.is_none() || outcome.seconds >= seconds_max);
    Ok((!stopped).then(|| Point {
        depth: depth.unwrap_or(scenario.depth),
        cpu_seconds: used.cpu_seconds,
        states: outcome.states.unwrap_or_default(),
        peak_bytes: used.peak_bytes,
    }))
}

fn table(all: &[Series]) -> String {
    let all: Vec<&Series> = all.iter().filter(|series| !series.points.is_empty()).collect();
    let names: Vec<String> = all.iter().map(|series| format!("`{}`, {}", series.strategy, series.unit)).collect();
    let head: Vec<&str> = std::iter::once("depth").chain(names.iter().map(String::as_str)).collect();
    let deepest = all.iter().flat_map(|series| &series.points).map(|point| point.depth).max().unwrap_or(0);
    // Every second depth, and the last one: half of the rows say as much.
    let depths = (1..=deepest).filter(|depth| depth % 2 == deepest % 2);
    let rows = depths.map(|depth| {
        let cells = all.iter().map(|series| {
            let point = series.points.iter().find(|point| point.depth == depth);
            point.map_or_else(String::new, |point| {
                let mib = point.peak_bytes as f64 / f64::from(1 << 20);
                format!("{:.2} s, {}, {}", point.cpu_seconds, count(point.states), measured(mib))
            })
        });
        std::iter::once(depth.to_string()).chain(cells).collect()
    });
    markdown(&head, &rows.collect::<Vec<_>>())
}

fn panel(scenario: &Scenario, all: &[Series], value: Value) -> Panel {
    let curve = |series: &Series| Curve {
        name: format!("{} ({})", series.strategy, series.unit),
        points: series.points.iter().map(|point| (point.depth, value(point))).collect(),
    };
    Panel { title: scenario.title.to_owned(), deepest: scenario.depth, curves: all.iter().map(curve).collect() }
}
