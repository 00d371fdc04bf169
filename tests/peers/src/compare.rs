//! The compared runs, the results that must agree, and the tables.

use crate::Compare;
use crate::checkers::{Job, Outcome, Plugin, SpinForm, Tools, here};
use crate::measure::{Finished, median};
use crate::table::{markdown, measured, optional};

/// Global states and transitions of the whole space; see the README of plugins/paxos for where they come from.
const ONE_BOOT: [u64; 2] = [7_068, 37_012];
const ONE_EVENT: [u64; 2] = [15_648, 73_933];
const TWO_BOOT: [u64; 2] = [67_152_530, 674_871_789];

/// Runs that answer the same question.
struct Group {
    title: &'static str,
    rows: Vec<Row>,
}

/// One checker on that question, and all that was measured.
struct Row {
    checker: String,
    job: Job,
    /// The counts that it must have if it ends with `ok`.
    expected: Expected,
    /// Not repeated: too long.
    once: bool,
    runs: Vec<(Outcome, Finished)>,
}

#[derive(Clone, Copy)]
enum Expected {
    /// States and transitions.
    Space([u64; 2]),
    /// At most that many states.
    Reduced(u64),
    /// Executions.
    Executions(u64),
    /// Only the verdict.
    Verdict,
}

impl Row {
    fn new(checker: &str, job: Job, expected: Expected) -> Self {
        Self { checker: checker.to_owned(), job, expected, once: false, runs: Vec::new() }
    }

    fn once(self) -> Self {
        Self { once: true, ..self }
    }

    fn last(&self) -> &Outcome {
        &self.runs.last().expect("it was run").0
    }

    fn seconds(&self) -> f64 {
        median(self.runs.iter().map(|(outcome, _)| outcome.seconds))
    }

    fn cpu_seconds(&self) -> f64 {
        median(self.runs.iter().map(|(_, used)| used.cpu_seconds))
    }

    fn peak_bytes(&self) -> f64 {
        median(self.runs.iter().map(|(_, used)| used.peak_bytes as f64))
    }

    /// Of states, transitions or executions.
    fn per_cpu_second(&self, number: Option<u64>) -> Option<f64> {
        number.map(|number| number as f64 / self.cpu_seconds())
    }

    fn bytes_per_state(&self) -> Option<f64> {
        self.last().states.map(|states| self.peak_bytes() / states as f64)
    }

    /// The error of the last run.
    fn disagreement(&self) -> Option<String> {
        let outcome = self.last();
        let found = [outcome.states.unwrap_or(0), outcome.transitions.unwrap_or(0)];
        let wrong = match (outcome.verdict.as_str(), self.expected) {
            ("ok", Expected::Space(space)) => (found != space).then(|| format!("{found:?} in place of {space:?}")),
            ("ok", Expected::Reduced(states)) => (found[0] > states).then(|| format!("more than {states} states")),
            ("ok", Expected::Executions(expected)) => (outcome.executions != Some(expected))
                .then(|| format!("{:?} executions in place of {expected}", outcome.executions)),
            ("ok" | "bounded", _) => None,
            (verdict, _) => Some(format!("the verdict is {verdict}")),
        };
        wrong.map(|wrong| format!("{} ({:?}): {wrong}", self.checker, self.job))
    }
}

/// Runs everything, and prints and writes the tables.
///
/// # Errors
///
/// A run fails, or counts differ that must agree.
pub fn run(arguments: &Compare, tools: &Tools) -> Result<(), String> {
    let rounds = arguments.rounds.map_or(if arguments.quick { 1 } else { 3 }, |rounds| rounds.get());
    let mut groups = groups(arguments, tools)?;
    for round in 0..rounds {
        for (group, row) in groups.iter_mut().flat_map(|group| group.rows.iter_mut().map(|row| (group.title, row))) {
            if round == 0 || !row.once {
                eprintln!("round {} of {rounds}: {group}: {}", round + 1, row.checker);
                row.runs.push(tools.run(&row.job)?);
            }
        }
    }
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let mut text = format!("Medians of {rounds} runs, on a machine with {cores} cores.\n");
    for group in &groups {
        text += &format!("\n{}\n\n{}", group.title, group_table(group));
    }
    text += &format!("\n{}", goals(&groups));
    print!("{text}");
    let path = here().join("target/peers.md");
    std::fs::write(&path, &text).map_err(|error| format!("{}: {error}", path.display()))?;
    let wrong: Vec<String> = groups.iter().flat_map(|group| &group.rows).filter_map(Row::disagreement).collect();
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("what must agree does not:\n{}", wrong.join("\n"))),
    }
}

fn host(plugin: Plugin, options: &[&str]) -> Job {
    Job::Host { plugin, options: options.iter().map(|option| (*option).to_owned()).collect() }
}

const ONE_BOOT_TITLE: &str = "**Paxos, one proposal, `init=boot`**";
const ONE_EVENT_TITLE: &str = "**Paxos, one proposal, `init=event`**";
const PART_TITLE: &str = "**Paxos, two proposals, a part of the space**";
const WHOLE_TITLE: &str = "**Paxos, two proposals, to the verdict**";
const COMMIT_TITLE: &str = "**Two-phase commit, executions**";

fn groups(arguments: &Compare, tools: &Tools) -> Result<Vec<Group>, String> {
    let one = |title, init_by_event: bool, space: [u64; 2]| {
        let init = if init_by_event { "init=event" } else { "init=boot" };
        let stateright = Job::Stateright { proposers: 1, init_by_event, transitions_max: None };
        let mut rows = vec![
            Row::new("host `bdfs`", host(Plugin::Paxos, &["--algo", "bdfs", "--set", init]), Expected::Space(space)),
            Row::new("Stateright, DFS", stateright, Expected::Space(space)),
        ];
        rows.extend(spin(tools, 1, init_by_event, 1_024, space));
        for (name, algo) in [("host `unfold`", "unfold"), ("host `lmc-opt`", "lmc-opt")] {
            rows.push(Row::new(name, host(Plugin::Paxos, &["--algo", algo, "--set", init]), Expected::Verdict));
        }
        Group { title, rows }
    };
    let is_wanted = |title: &str| arguments.only.as_ref().is_none_or(|only| title.contains(only.as_str()));
    let mut groups = vec![one(ONE_BOOT_TITLE, false, ONE_BOOT), one(ONE_EVENT_TITLE, true, ONE_EVENT)];
    // It runs something to know its bounds.
    if is_wanted(PART_TITLE) {
        groups.push(part(arguments, tools)?);
    }
    groups.extend([whole(arguments, tools), commit(arguments, tools)]);
    groups.retain(|group| is_wanted(group.title));
    match groups.is_empty() {
        true => Err("no table has a title with that part: leave --only out to see them all".to_owned()),
        false => Ok(groups),
    }
}

/// SPIN with and without reduction, if it is there.
fn spin(tools: &Tools, proposers: usize, init_by_event: bool, memory_mb: u64, space: [u64; 2]) -> Vec<Row> {
    let forms = [
        ("SPIN, no reduction", SpinForm::Full, Expected::Space(space)),
        ("SPIN, partial-order reduction", SpinForm::Reduced, Expected::Reduced(space[0])),
    ];
    let rows = forms.into_iter().filter(|_| tools.has_spin);
    rows.map(|(name, form, expected)| Row::new(name, Job::Spin { proposers, init_by_event, form, memory_mb }, expected))
        .collect()
}

/// The same number of transitions by `bdfs` and by Stateright. SPIN can only be bounded by memory.
fn part(arguments: &Compare, tools: &Tools) -> Result<Group, String> {
    let (states, spin_mb) = if arguments.quick { ("1000000", 256) } else { ("5000000", 1_024) };
    let job = host(Plugin::Paxos, &["--algo", "bdfs", "--set", "proposers=2", "--states", states]);
    // Also compiles the plugin's code into the cache, so that no measured run does.
    let (outcome, _) = tools.run(&job)?;
    let stateright = Job::Stateright { proposers: 2, init_by_event: false, transitions_max: outcome.transitions };
    let mut rows = vec![
        Row::new("host `bdfs`", job, Expected::Verdict),
        Row::new("Stateright, DFS", stateright, Expected::Verdict),
    ];
    rows.extend(spin(tools, 2, false, spin_mb, TWO_BOOT));
    Ok(Group { title: PART_TITLE, rows })
}

fn whole(arguments: &Compare, tools: &Tools) -> Group {
    let two = |algo| host(Plugin::Paxos, &["--algo", algo, "--set", "proposers=2", "--require-complete"]);
    let mut rows = vec![Row::new("host `unfold`", two("unfold"), Expected::Verdict)];
    if !arguments.quick {
        rows.push(Row::new("host `lmc-opt`", two("lmc-opt"), Expected::Verdict).once());
    }
    if arguments.complete {
        let stateright = Job::Stateright { proposers: 2, init_by_event: false, transitions_max: None };
        rows.push(Row::new("host `bdfs`", two("bdfs"), Expected::Space(TWO_BOOT)).once());
        rows.push(Row::new("Stateright, DFS", stateright, Expected::Space(TWO_BOOT)).once());
        rows.extend(spin(tools, 2, false, 16_384, TWO_BOOT).into_iter().map(Row::once));
    }
    Group { title: WHOLE_TITLE, rows }
}

/// Votes and the order in which they are counted: 2^N N! executions for N participants.
fn commit(arguments: &Compare, tools: &Tools) -> Group {
    let largest = if arguments.quick { 5 } else { 6 };
    let has_dpor = tools.has_strategy("dpor");
    if !has_dpor {
        eprintln!("this host has no strategy `dpor`: TraceForge stands alone");
    }
    let mut rows = Vec::new();
    for participants in 3..=largest {
        let executions = (1..=participants).map(|factor| 2 * u64::from(factor)).product();
        let expected = Expected::Executions(executions);
        if has_dpor {
            let nodes = (participants + 1).to_string();
            let job = host(Plugin::TwoPhaseCommit, &["--algo", "dpor", "--nodes", &nodes]);
            rows.push(Row::new(&format!("host `dpor`, N = {participants}"), job, expected));
        }
        let job = Job::TraceForge { participants };
        rows.push(Row::new(&format!("TraceForge, N = {participants}"), job, expected));
    }
    Group { title: COMMIT_TITLE, rows }
}

fn group_table(group: &Group) -> String {
    let of_executions = group.title == COMMIT_TITLE;
    let rate = |rate: Option<f64>| rate.map(measured).unwrap_or_default();
    let common = |row: &Row| vec![measured(row.seconds()), measured(row.cpu_seconds())];
    let mib = |row: &Row| measured(row.peak_bytes() / f64::from(1 << 20));
    if of_executions {
        let head = [
            "checker",
            "verdict",
            "executions",
            "seconds",
            "CPU seconds",
            "executions per CPU second",
            "µs each",
            "peak MiB",
        ];
        let rows = group.rows.iter().map(|row| {
            let outcome = row.last();
            let mut cells = vec![row.checker.clone(), outcome.verdict.clone(), optional(outcome.executions)];
            cells.extend(common(row));
            cells.extend([rate(row.per_cpu_second(outcome.executions)), rate(microseconds_each(row)), mib(row)]);
            cells
        });
        return markdown(&head, &rows.collect::<Vec<_>>());
    }
    let head = [
        "checker",
        "verdict",
        "states",
        "transitions",
        "seconds",
        "CPU seconds",
        "states per CPU second",
        "transitions per CPU second",
        "peak MiB",
        "bytes per state",
    ];
    let rows = group.rows.iter().map(|row| {
        let outcome = row.last();
        let mut cells = vec![row.checker.clone(), outcome.verdict.clone()];
        cells.extend([optional(outcome.states), optional(outcome.transitions)]);
        cells.extend(common(row));
        cells.extend([rate(row.per_cpu_second(outcome.states)), rate(row.per_cpu_second(outcome.transitions))]);
        cells.extend([mib(row), rate(row.bytes_per_state())]);
        cells
    });
    markdown(&head, &rows.collect::<Vec<_>>())
}

/// Of the search alone, without the start of the process.
fn microseconds_each(row: &Row) -> Option<f64> {
    row.last().executions.map(|executions| row.seconds() * 1e6 / executions as f64)
}

/// The goals of host, and the results.
fn goals(groups: &[Group]) -> String {
    let find = |title: &str, checker: &str| {
        let group = groups.iter().find(|group| group.title == title)?;
        group.rows.iter().find(|row| row.checker.starts_with(checker))
    };
    let mut rows = Vec::new();
    let mut goal = |what: &str, wanted: &str, reached: String| {
        rows.push(vec![what.to_owned(), wanted.to_owned(), reached]);
    };
    if let (Some(bdfs), Some(stateright)) = (find(PART_TITLE, "host `bdfs`"), find(PART_TITLE, "Stateright")) {
        let rate = |row: &Row| row.per_cpu_second(row.last().transitions).unwrap_or(f64::NAN);
        let bytes = |row: &Row| row.bytes_per_state().unwrap_or(f64::NAN);
        let whole = find(WHOLE_TITLE, "host `bdfs`").zip(find(WHOLE_TITLE, "Stateright"));
        let spaces = [Some(("the part", bdfs, stateright)), whole.map(|(ours, theirs)| ("the whole", ours, theirs))];
        for (space, ours, theirs) in spaces.into_iter().flatten() {
            let what = format!("transitions per CPU second, `bdfs` to Stateright's DFS, {space}");
            goal(&what, "10", measured(rate(ours) / rate(theirs)));
            let what = format!("bytes per state, `bdfs` to Stateright's DFS, {space}");
            goal(&what, "at most 1", measured(bytes(ours) / bytes(theirs)));
        }
        if let Some(unfold) = find(WHOLE_TITLE, "host `unfold`") {
            // The rate falls as the visited set grows, so the extrapolated time is too short rather than too long.
            let rest = TWO_BOOT[1] as f64 / stateright.last().transitions.unwrap_or_default() as f64;
            let (seconds, cpu_seconds, note) = match find(WHOLE_TITLE, "Stateright") {
                Some(whole) => (whole.seconds(), whole.cpu_seconds(), "measured"),
                None => (rest * stateright.seconds(), rest * stateright.cpu_seconds(), "extrapolated from the part"),
            };
            let what = "time to the verdict on two proposals, Stateright to `unfold`";
            let reached =
                |theirs: f64, ours: f64| format!("{} ({} s, {note})", measured(theirs / ours), measured(theirs));
            goal(what, "100", reached(seconds, unfold.seconds()));
            goal("the same in CPU time", "100", reached(cpu_seconds, unfold.cpu_seconds()));
        }
    }
    for participants in 3..=6 {
        let name = |checker: &str| format!("{checker}, N = {participants}");
        let pair = (find(COMMIT_TITLE, &name("host `dpor`")), find(COMMIT_TITLE, &name("TraceForge")));
        if let (Some(dpor), Some(traceforge)) = pair
            && let (Some(ours), Some(theirs)) = (microseconds_each(dpor), microseconds_each(traceforge))
        {
            let what = format!("time per execution, TraceForge to `dpor`, N = {participants}");
            goal(&what, "at least 1", measured(theirs / ours));
        }
    }
    let heading = "**Goals**, as ratios\n\n";
    format!("{heading}{}", markdown(&["what", "goal", "reached"], &rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(verdict: &str, counts: [u64; 2], expected: Expected) -> Row {
        let outcome = Outcome {
            verdict: verdict.to_owned(),
            states: Some(counts[0]),
            transitions: Some(counts[1]),
            executions: Some(counts[0]),
            seconds: 1.0,
        };
        let used =
            Finished { stdout: String::new(), exit_code: 0, wall_seconds: 1.0, cpu_seconds: 2.0, peak_bytes: 70 };
        let mut row = Row::new("one", host(Plugin::Paxos, &[]), expected);
        row.runs.push((outcome, used));
        row
    }

    #[test]
    fn a_difference_is_noticed() {
        assert_eq!(row("ok", [7, 9], Expected::Space([7, 9])).disagreement(), None);
        assert!(row("ok", [7, 8], Expected::Space([7, 9])).disagreement().is_some());
        assert!(row("ok", [8, 8], Expected::Reduced(7)).disagreement().is_some());
        assert!(row("ok", [8, 8], Expected::Executions(48)).disagreement().is_some());
        // A run that a bound cut off has no counts to agree on.
        assert_eq!(row("bounded", [7, 8], Expected::Space([7, 9])).disagreement(), None);
        assert!(row("violation", [7, 9], Expected::Verdict).disagreement().is_some());
    }

    #[test]
    fn rates_are_per_cpu_second() {
        let row = row("ok", [7, 10], Expected::Verdict);
        assert_eq!((row.per_cpu_second(Some(10)), row.bytes_per_state()), (Some(5.0), Some(10.0)));
    }
}
