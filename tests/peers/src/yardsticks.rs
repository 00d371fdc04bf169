//! The rate and the time with which each way to search finds mistakes that are far from the start.
//!
//! Rows are mistakes, columns ways to search, cells the runs of several seeds. Each result is saved to a file at once, and a run that is
//! in the file is not repeated: so the table can be made in parts, and continued.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::Yardsticks;
use crate::checkers::here;
use crate::measure;
use crate::table::{count, markdown, measured};

/// A mistake: its name, the folder of the wrapper or plugin in the repository, and the options of `host run` that are enough to reach it.
struct Mistake {
    name: &'static str,
    folder: &'static str,
    options: &'static str,
}

const MISTAKES: [Mistake; 16] = [
    Mistake {
        name: "previous-zero",
        folder: "plugins/raft-compaction",
        options: "--set bug=previous-zero --set terms=1 --set commands=3 --set heartbeats=3",
    },
    Mistake {
        name: "previous-zero, more terms and commands",
        folder: "plugins/raft-compaction",
        options: "--set bug=previous-zero --set terms=3 --set commands=4 --set heartbeats=4",
    },
    Mistake {
        name: "previous-zero, five nodes",
        folder: "plugins/raft-compaction",
        options: "--nodes 5 --set bug=previous-zero --set terms=1 --set commands=3 --set heartbeats=3",
    },
    Mistake {
        name: "next-equals-snapshot",
        folder: "plugins/raft-compaction",
        options: "--set bug=next-equals-snapshot",
    },
    Mistake {
        name: "next-equals-snapshot, five nodes",
        folder: "plugins/raft-compaction",
        options: "--nodes 5 --set bug=next-equals-snapshot",
    },
    Mistake { name: "snapshot-term", folder: "plugins/raft-compaction", options: "--set bug=snapshot-term" },
    Mistake {
        name: "snapshot-term, more terms and commands",
        folder: "plugins/raft-compaction",
        options: "--set bug=snapshot-term --set terms=3 --set commands=4 --set heartbeats=4",
    },
    Mistake {
        name: "snapshot-term, two leaders",
        folder: "plugins/raft-compaction",
        options: "--set bug=snapshot-term --property election-safety",
    },
    Mistake {
        name: "snapshot-drops-log",
        folder: "plugins/raft-compaction",
        options: "--set bug=snapshot-drops-log --set commands=3 --set heartbeats=2",
    },
    Mistake {
        name: "snapshot-drops-log, five nodes",
        folder: "plugins/raft-compaction",
        options: "--nodes 5 --set bug=snapshot-drops-log --set commands=3 --set heartbeats=2",
    },
    Mistake {
        name: "commit-older-term, both commits",
        folder: "plugins/raft-compaction",
        options: "--set bug=commit-older-term --set terms=4 --set commands=1",
    },
    Mistake { name: "commit-older-term", folder: "plugins/raft", options: "--set bug=commit-older-term" },
    Mistake { name: "uncommitted", folder: "plugins/one-acceptor", options: "--set bug=uncommitted --set rival=1" },
    Mistake {
        name: "last-response, five nodes",
        folder: "plugins/multi-paxos",
        options: "--nodes 5 --set bug=last-response",
    },
    Mistake { name: "different entries", folder: "examples/raftbare", options: "" },
    Mistake { name: "different entries, three time-outs", folder: "examples/raftbare", options: "--set timeouts=3" },
];

/// A way to search: its name, the options of `host run`, and whether they take a seed.
struct Way {
    name: &'static str,
    options: &'static str,
    is_seeded: bool,
}

const WAYS: [Way; 13] = [
    Way { name: "uniform", options: "--algo walk --schedule uniform", is_seeded: true },
    Way { name: "pct:3", options: "--algo walk --schedule pct:3", is_seeded: true },
    Way { name: "pct:5", options: "--algo walk --schedule pct:5", is_seeded: true },
    Way { name: "pos", options: "--algo walk --schedule pos", is_seeded: true },
    Way { name: "fresh", options: "--algo walk --schedule fresh", is_seeded: true },
    Way { name: "swarm", options: "--algo walk --schedule swarm", is_seeded: true },
    Way { name: "phases", options: "--algo walk --schedule phases", is_seeded: true },
    Way { name: "mix", options: "--algo walk --schedule mix", is_seeded: true },
    Way { name: "guided", options: "--algo guided", is_seeded: true },
    Way { name: "bdfs --reduce", options: "--algo bdfs --reduce", is_seeded: false },
    Way { name: "unfold", options: "--algo unfold", is_seeded: false },
    Way { name: "prefix", options: "--algo prefix", is_seeded: true },
    Way { name: "auto", options: "--algo auto", is_seeded: true },
];

/// A run, and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Run {
    /// The output of `host --version`.
    host: String,
    mistake: String,
    way: String,
    /// None if the way has none.
    seed: Option<u64>,
    /// The limit of processor time.
    seconds_max: u64,
    /// Processor time of the whole process, the shortening of the trace included.
    cpu_seconds: f64,
    ended: Ended,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Ended {
    /// Events of the trace as it was found, and as it is reported.
    Found { events: u64, reported: u64 },
    /// It ended by itself, without a finding.
    Missed,
    /// The limit of time or memory ended it.
    Limit,
    /// This way cannot search here.
    Refused,
}

/// Does all runs that are asked for and not in the file, and prints the table of those asked for.
///
/// # Errors
///
/// A plugin does not build, a run cannot be started or understood, or the file cannot be written.
pub fn run(arguments: &Yardsticks, host: &Path) -> Result<(), String> {
    let version = measure::run(Command::new(host).arg("--version"))?.stdout.trim().to_owned();
    let mut kept = Kept::open(arguments.kept.clone().unwrap_or_else(|| here().join("target/yardsticks.jsonl")))?;
    let ways: Vec<&Way> = WAYS.iter().filter(|way| is_wanted(way.name, &arguments.columns)).collect();
    let mut rows = Vec::new();
    for mistake in MISTAKES.iter().filter(|mistake| is_wanted(mistake.name, &arguments.rows)) {
        let component = built(host, mistake)?;
        let mut row = vec![mistake.folder.to_owned(), mistake.name.to_owned()];
        for way in &ways {
            let seeds = if way.is_seeded { arguments.seeds } else { 1 };
            let mut runs = Vec::new();
            for seed in 0..seeds {
                let wanted = Run {
                    host: version.clone(),
                    mistake: mistake.name.to_owned(),
                    way: way.name.to_owned(),
                    seed: way.is_seeded.then_some(seed),
                    seconds_max: arguments.seconds,
                    cpu_seconds: 0.0,
                    ended: Ended::Limit,
                };
                let run = match kept.same_as(&wanted) {
                    Some(run) => run,
                    None => {
                        eprintln!("{}, {}: {}, seed {seed}", mistake.folder, mistake.name, way.name);
                        let run = once(host, &component, (mistake, way), wanted)?;
                        kept.add(&run)?;
                        run
                    }
                };
                let is_refused = run.ended == Ended::Refused;
                runs.push(run);
                if is_refused {
                    break;
                }
            }
            row.push(cell(&runs, arguments.seconds));
        }
        rows.push(row);
    }
    let head: Vec<String> = ways.iter().map(|way| format!("`{}`", way.name)).collect();
    let head: Vec<&str> = ["subject", "mistake"].into_iter().chain(head.iter().map(String::as_str)).collect();
    println!("{}", markdown(&head, &rows));
    Ok(())
}

/// Whether a name is among those asked for; all are if none is.
fn is_wanted(name: &str, wanted: &[String]) -> bool {
    wanted.is_empty() || wanted.iter().any(|wanted| wanted == name)
}

/// The runs of the file.
struct Kept {
    path: PathBuf,
    runs: Vec<Run>,
}

impl Kept {
    fn open(path: PathBuf) -> Result<Self, String> {
        let text = if path.exists() { fs::read_to_string(&path) } else { Ok(String::new()) };
        let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
        let runs = text.lines().map(serde_json::from_str).collect::<Result<_, _>>();
        let runs = runs.map_err(|error| format!("{}: {error}; remove it to begin again", path.display()))?;
        Ok(Self { path, runs })
    }

    /// The run of the same mistake, way, seed and limit by the same version.
    fn same_as(&self, wanted: &Run) -> Option<Run> {
        let key = |run: &Run| Run { cpu_seconds: 0.0, ended: Ended::Limit, ..run.clone() };
        self.runs.iter().find(|run| key(run) == key(wanted)).cloned()
    }

    fn add(&mut self, run: &Run) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.path.display());
        fs::create_dir_all(self.path.parent().unwrap_or(Path::new("."))).map_err(failed)?;
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.path).map_err(failed)?;
        let line = serde_json::to_string(run).expect("a run is JSON");
        writeln!(file, "{line}").map_err(failed)?;
        self.runs.push(run.clone());
        Ok(())
    }
}

fn built(host: &Path, mistake: &Mistake) -> Result<PathBuf, String> {
    let done = measure::run(Command::new(host).arg("build").arg(here().join("../..").join(mistake.folder)))?;
    match done.exit_code {
        0 => Ok(PathBuf::from(done.stdout.trim_end())),
        code => Err(format!("`host build {}` ends with {code}", mistake.folder)),
    }
}

/// One run by one worker. The shell limits the processor time, since a busy machine gives a process less than the time that passes; a
/// process that is over the limit ends without a word.
fn once(host: &Path, component: &Path, (mistake, way): (&Mistake, &Way), mut run: Run) -> Result<Run, String> {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -t \"$0\" && exec \"$@\""]).arg(run.seconds_max.to_string());
    command.arg(host).arg("run").arg(component);
    command.args(mistake.options.split_whitespace()).args(way.options.split_whitespace());
    command.args(run.seed.map(|seed| format!("--seed={seed}")));
    if ["walk", "guided", "prefix"].iter().any(|name| way.options.contains(name)) {
        // As many as it takes.
        command.args(["--walks", "1000000000"]);
    }
    command.args(["--workers", "1", "--memory", "4GiB", "--safety-only", "--json", "--quiet", "--out"]);
    command.arg(here().join("target/yardsticks"));
    let done = measure::run(&mut command)?;
    run.cpu_seconds = done.cpu_seconds;
    run.ended = if done.exit_code < 0 {
        Ended::Limit
    } else {
        let said: Json = serde_json::from_str(&done.stdout)
            .map_err(|error| format!("{command:?} ends with {}: {error}", done.exit_code))?;
        understood(&said).ok_or_else(|| format!("{command:?} says {said}"))?
    };
    Ok(run)
}

fn understood(said: &Json) -> Option<Ended> {
    let violation = &said["violations"][0];
    Some(match said["result"].as_str()? {
        "violation" => {
            Ended::Found { events: violation["found_length"].as_u64()?, reported: violation["length"].as_u64()? }
        }
        "error" if said["error"].is_object() => Ended::Refused,
        "ok" => Ended::Missed,
        "incomplete" if matches!(said["end"].as_str()?, "time-bound" | "memory-bound") => Ended::Limit,
        "incomplete" => Ended::Missed,
        _ => return None,
    })
}

/// Successes of seeds; the median of the seconds of all runs, those without a finding as longer than the limit; and the medians of events as
/// found and as reported.
fn cell(runs: &[Run], seconds_max: u64) -> String {
    if runs.iter().any(|run| run.ended == Ended::Refused) {
        return "refused".to_owned();
    }
    let found: Vec<(f64, u64, u64)> = runs
        .iter()
        .filter_map(|run| match run.ended {
            Ended::Found { events, reported } => Some((run.cpu_seconds, events, reported)),
            _ => None,
        })
        .collect();
    let seconds = runs.iter().map(|run| match run.ended {
        Ended::Found { .. } => run.cpu_seconds,
        _ => f64::INFINITY,
    });
    let seconds = match measure::median(seconds) {
        seconds if seconds.is_finite() => format!("{} s", measured(seconds)),
        _ => format!("> {seconds_max} s"),
    };
    let successes = format!("{}/{}", found.len(), runs.len());
    if found.is_empty() {
        return successes;
    }
    let events = measure::median(found.iter().map(|run| run.1 as f64)).round() as u64;
    let reported = measure::median(found.iter().map(|run| run.2 as f64)).round() as u64;
    format!("{successes}, {seconds}, {} → {}", count(events), count(reported))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn a_run(seed: u64, cpu_seconds: f64, ended: Ended) -> Run {
        let (host, mistake, way) = ("host 1".to_owned(), "a".to_owned(), "walk".to_owned());
        Run { host, mistake, way, seed: Some(seed), seconds_max: 120, cpu_seconds, ended }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<(&str, &str)> = MISTAKES.iter().map(|mistake| (mistake.folder, mistake.name)).collect();
        names.extend(WAYS.iter().map(|way| ("", way.name)));
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(MISTAKES.iter().all(|mistake| here().join("../..").join(mistake.folder).is_dir()));
    }

    #[test]
    fn a_cell_counts_successes_and_has_medians() {
        let found = |seed, seconds, events| a_run(seed, seconds, Ended::Found { events, reported: events / 2 });
        assert_eq!(cell(&[found(0, 1.0, 30), found(1, 3.0, 40), found(2, 2.0, 34)], 120), "3/3, 2.00 s, 34 → 17");
        let mostly_not = [found(0, 1.0, 30), a_run(1, 120.0, Ended::Limit), a_run(2, 5.0, Ended::Missed)];
        assert_eq!(cell(&mostly_not, 120), "1/3, > 120 s, 30 → 15");
        assert_eq!(cell(&mostly_not[1..], 120), "0/2");
        assert_eq!(cell(&[a_run(0, 0.1, Ended::Refused)], 120), "refused");
    }

    #[test]
    fn results_are_understood() {
        let violation = json!({ "found_length": 34, "length": 20 });
        let found = json!({ "result": "violation", "violations": [violation] });
        assert_eq!(understood(&found), Some(Ended::Found { events: 34, reported: 20 }));
        let ended = |result: &str, end: &str| understood(&json!({ "result": result, "end": end }));
        assert_eq!(ended("incomplete", "time-bound"), Some(Ended::Limit));
        assert_eq!(ended("incomplete", "memory-bound"), Some(Ended::Limit));
        assert_eq!(ended("incomplete", "pruned"), Some(Ended::Missed));
        assert_eq!(ended("ok", "space-exhausted"), Some(Ended::Missed));
        assert_eq!(understood(&json!({ "result": "error", "error": { "message": "" } })), Some(Ended::Refused));
        assert_eq!(understood(&json!({})), None);
    }

    #[test]
    fn a_run_that_is_kept_is_not_repeated() {
        let path = std::env::temp_dir().join(format!("yardsticks-{}.jsonl", std::process::id()));
        let run = a_run(3, 2.5, Ended::Found { events: 34, reported: 20 });
        let mut kept = Kept::open(path.clone()).expect("a file that is not there is empty");
        kept.add(&run).expect("a temporary file");
        let kept = Kept::open(path.clone()).expect("it was written here");
        fs::remove_file(&path).expect("it is there");
        assert_eq!(kept.same_as(&a_run(3, 0.0, Ended::Limit)), Some(run.clone()));
        assert_eq!(kept.same_as(&a_run(4, 0.0, Ended::Limit)), None);
        assert_eq!(kept.same_as(&Run { seconds_max: 10, ..run }), None);
    }

    #[test]
    fn the_shell_limits_processor_time() {
        let mut busy = Command::new("sh");
        busy.args(["-c", "ulimit -t \"$0\" && exec \"$@\"", "1", "sh", "-c", "while :; do :; done"]);
        let done = measure::run(&mut busy).expect("there is a shell");
        assert_eq!(done.exit_code, -1);
    }
}
