//! The time that each strategy takes to find each deliberate mistake in the tree.
//!
//! The mistakes are the scenarios in plugins/*/scenarios that expect a violation, without their strategies and
//! bounds. Scenarios that only differ in these are one. Those of `eventually` properties are left out: one strategy decides them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;
use toml::{Table, Value};

use crate::Bugs;
use crate::checkers::here;
use crate::measure;
use crate::table::{markdown, measured};

/// The columns, as options of `host run`.
const STRATEGIES: [&[&str]; 7] =
    [&["bdfs"], &["bdfs", "--reduce"], &["lmc-opt"], &["unfold"], &["dpor"], &["consequence"], &["walk"]];

/// Sections of a scenario about the search for a mistake, not about the mistake.
const HOW: [&str; 3] = ["strategy", "bounds", "expect"];

/// A mistake.
struct Mistake {
    /// The folder of the plugin.
    plugin: PathBuf,
    /// The scenario without the search options.
    scenario: Table,
    /// The mistake, for people: the first of the files that have it.
    name: String,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
enum Found {
    /// Seconds of search, and the length of the path it came along, without the prefix.
    Violation { seconds: f64, length: u64 },
    /// The search ended by itself and found nothing.
    Missed,
    /// A bound ended it.
    Bounded,
    /// The strategy cannot be used here.
    Refused,
}

/// Runs every strategy on every mistake, by one worker, and prints a table.
///
/// # Errors
///
/// A scenario cannot be read, or a run cannot be started.
pub fn run(arguments: &Bugs, host: &Path) -> Result<(), String> {
    let mut head = vec!["plugin".to_owned(), "mistake".to_owned()];
    head.extend(STRATEGIES.iter().map(|options| format!("`{}`", options.join(" "))));
    let mut rows = Vec::new();
    for mistake in mistakes(&here().join("../../plugins"))? {
        let plugin = file_name(&mistake.plugin);
        let component = measure::run(Command::new(host).arg("build").arg(&mistake.plugin))?;
        let component = PathBuf::from(component.stdout.trim_end());
        let scenario = written(&mistake, &component)?;
        let mut row = vec![plugin.clone(), mistake.name.clone()];
        for options in STRATEGIES {
            eprintln!("{plugin}, {}: {}", mistake.name, options.join(" "));
            row.push(cell(&median(arguments, host, &scenario, options)?, arguments.seconds_max));
        }
        rows.push(row);
    }
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    println!("{}", markdown(&head, &rows));
    Ok(())
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The mistakes of all plugins in a folder, in the order of their names.
fn mistakes(plugins: &Path) -> Result<Vec<Mistake>, String> {
    let mut known: BTreeMap<(PathBuf, String), Mistake> = BTreeMap::new();
    for plugin in listed(plugins)? {
        let scenarios = plugin.join("scenarios");
        if !scenarios.is_dir() {
            continue;
        }
        for path in listed(&scenarios)?.into_iter().filter(|path| path.extension().is_some_and(|it| it == "toml")) {
            let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
            let text = fs::read_to_string(&path).map_err(|error| failed(&error))?;
            let mut scenario: Table = text.parse().map_err(|error: toml::de::Error| failed(&error))?;
            let expected = scenario.get("expect").and_then(|expect| expect.get("result"));
            let is_promise = scenario.get("expect").is_some_and(|expect| expect.get("class").is_some());
            if expected.and_then(Value::as_str) != Some("violation") || is_promise {
                continue;
            }
            scenario.retain(|key, _| !HOW.contains(&key));
            if let Some(Value::String(prefix)) = scenario.get_mut("prefix") {
                *prefix = scenarios.join(&*prefix).to_string_lossy().into_owned();
            }
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let key = (plugin.clone(), scenario.to_string());
            let mistake = Mistake { plugin: plugin.clone(), scenario, name };
            let first = known.entry(key).or_insert_with(|| Mistake { name: mistake.name.clone(), ..mistake });
            // `-reduced` and the like: the shortest of the names is that of the mistake.
            let other = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if other.len() < first.name.len() {
                first.name = other;
            }
        }
    }
    let mut mistakes: Vec<Mistake> = known.into_values().collect();
    mistakes.sort_by(|one, other| (&one.plugin, &one.name).cmp(&(&other.plugin, &other.name)));
    Ok(mistakes)
}

/// The entries of a folder, sorted.
fn listed(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(failed)?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    paths.sort();
    Ok(paths)
}

/// Writes the scenario without strategy and bounds, and returns where.
fn written(mistake: &Mistake, component: &Path) -> Result<PathBuf, String> {
    let folder = here().join("target/bugs");
    let path = folder.join(format!("{}-{}.toml", file_name(&mistake.plugin), mistake.name));
    let mut scenario = mistake.scenario.clone();
    scenario.insert("plugin".to_owned(), Value::String(component.to_string_lossy().into_owned()));
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(&path, scenario.to_string()))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

/// The run in the middle of three, or one that took long.
fn median(arguments: &Bugs, host: &Path, scenario: &Path, options: &[&str]) -> Result<Found, String> {
    let mut found = vec![once(arguments, host, scenario, options)?];
    if matches!(found[0], Found::Violation { seconds, .. } if seconds < 1.0) {
        found.push(once(arguments, host, scenario, options)?);
        found.push(once(arguments, host, scenario, options)?);
    }
    let seconds = |found: &Found| match found {
        Found::Violation { seconds, .. } => *seconds,
        _ => f64::INFINITY,
    };
    found.sort_by(|one, other| seconds(one).total_cmp(&seconds(other)));
    Ok(found.swap_remove(found.len() / 2))
}

fn once(arguments: &Bugs, host: &Path, scenario: &Path, options: &[&str]) -> Result<Found, String> {
    let mut command = Command::new(host);
    command.arg("run").arg(scenario).arg("--algo").args(options);
    command.arg(format!("--time={}s", arguments.seconds_max)).args(["--memory", "4GiB"]);
    command
        .args(["--workers", "1", "--no-minimize", "--safety-only", "--json", "--quiet", "--out"])
        .arg(here().join("target/bugs/out"));
    if options == ["walk"] {
        // As many as it takes.
        command.args(["--walks", "1000000000"]);
    }
    let done = measure::run(&mut command)?;
    let said: Json = serde_json::from_str(&done.stdout)
        .map_err(|error| format!("{command:?} ends with {}: {error}", done.exit_code))?;
    understood(&said).ok_or_else(|| format!("{command:?} says {said}"))
}

fn understood(said: &Json) -> Option<Found> {
    let violation = &said["violations"][0];
    Some(match said["result"].as_str()? {
        "violation" => Found::Violation {
            seconds: said["seconds"]["search"].as_f64()?,
            length: violation["found_length"].as_u64()? - violation["prefix_length"].as_u64()?,
        },
        "error" if said["error"].is_object() => Found::Refused,
        "ok" => Found::Missed,
        "incomplete" if said["end"] == "pruned" => Found::Missed,
        "incomplete" => Found::Bounded,
        _ => return None,
    })
}

fn cell(found: &Found, seconds_max: f64) -> String {
    match found {
        Found::Violation { seconds, length } => format!("{} s, {length}", measured(*seconds)),
        Found::Missed => "missed".to_owned(),
        Found::Bounded => format!("> {seconds_max} s"),
        Found::Refused => "refused".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scenarios_that_differ_in_the_search_are_one() {
        let mistakes = mistakes(&here().join("../../plugins")).expect("the scenarios of the tree are fine");
        let of_raft = mistakes.iter().filter(|mistake| file_name(&mistake.plugin) == "raft");
        let names: Vec<&str> = of_raft.map(|mistake| mistake.name.as_str()).collect();
        assert!(names.contains(&"commit-older-term") && names.contains(&"no-log-check"), "{names:?}");
        assert!(!names.contains(&"commit-older-term-walk") && !names.contains(&"no-log-check-reduced"), "{names:?}");
        assert!(mistakes.iter().all(|mistake| !mistake.scenario.contains_key("strategy")));
        assert!(
            mistakes.iter().all(|mistake| file_name(&mistake.plugin) != "lock"),
            "all of it is about what must happen"
        );
    }

    #[test]
    fn results_are_understood() {
        let violation = json!({ "found_length": 20, "prefix_length": 9 });
        let said = json!({ "result": "violation", "seconds": { "search": 0.5 }, "violations": [violation] });
        assert_eq!(understood(&said), Some(Found::Violation { seconds: 0.5, length: 11 }));
        assert_eq!(cell(&understood(&said).expect("it is a result"), 20.0), "0.500 s, 11");
        let ended = |result: &str, end: &str| understood(&json!({ "result": result, "end": end }));
        assert_eq!(ended("incomplete", "pruned"), Some(Found::Missed));
        assert_eq!(ended("incomplete", "time-bound"), Some(Found::Bounded));
        assert_eq!(understood(&json!({ "result": "error", "error": { "message": "" } })), Some(Found::Refused));
        assert_eq!(understood(&json!({})), None);
    }
}
