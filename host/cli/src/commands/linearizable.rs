//! `host linearizable`.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use host_linearizable::{
    Bound, Bounds, Explanation, History, HistoryError, Judgement, Read, Reading, Shown, Value, Verdict, judge, read,
};
use host_session::base::text::{bytes, count, json_text, on_one_line};
use host_session::base::{Exit, Failure};
use serde_json::json;

use crate::environment::Environment;
use crate::options::histories::LinearizableArguments;

/// The name of standard input among files.
const STANDARD_INPUT: &str = "-";

/// Judges histories of clients.
pub fn run(arguments: &LinearizableArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let mut results = Vec::new();
    let mut exit = Exit::Ok;
    for path in &arguments.files {
        let judged = judged(arguments, path, environment)?;
        exit = worse(exit, judged.exit());
        if !arguments.json {
            environment.print(&judged.text(arguments))?;
        }
        results.push(judged.json());
    }
    if arguments.json {
        let object = json!({
            "model": arguments.model.name,
            "histories": results,
            "exit_code": exit.code(),
        });
        environment.print(&json_text(&object))?;
    }
    Ok(exit)
}

/// A violation is the worst, then a history that is undecided.
fn worse(first: Exit, second: Exit) -> Exit {
    let rank = |exit: Exit| [Exit::Ok, Exit::Stopped, Exit::Safety].iter().position(|other| *other == exit);
    if rank(first) < rank(second) { second } else { first }
}

/// A history with its judgement; neither if a bound was hit while it was read.
struct Judged {
    name: String,
    history: Option<History>,
    judgement: Option<Judgement>,
    /// The bound that was hit, and the lines that were read.
    read: Option<(Bound, u32)>,
}

fn judged(
    arguments: &LinearizableArguments,
    path: &Path,
    environment: &mut Environment<'_>,
) -> Result<Judged, Failure> {
    let name = on_one_line(&path.display().to_string());
    let clock = Arc::clone(&environment.clock);
    let interrupted = Arc::clone(&environment.interrupted);
    let (begin, is_interrupted) = (clock(), || interrupted.load(Ordering::Relaxed));
    let elapsed = || clock().saturating_sub(begin);
    let memory_bytes = usize::try_from(arguments.memory).unwrap_or(usize::MAX);
    let how = Reading {
        model: arguments.model,
        accepted: arguments.accepted(),
        order: arguments.order(),
        is_independent: arguments.independent,
        memory_bytes,
    };
    let is_late = || elapsed() >= arguments.time;
    let mut stop = || is_interrupted() || is_late();
    let done = if path.as_os_str() == STANDARD_INPUT {
        read(environment.stdin, &how, &mut stop)
    } else {
        let file = opened(&environment.path(path), &name)?;
        read(&mut BufReader::with_capacity(1 << 16, file) as &mut dyn BufRead, &how, &mut stop)
    };
    let mut judged = Judged { name, history: None, judgement: None, read: None };
    if is_interrupted() && matches!(done, Err(HistoryError::Input(_))) {
        judged.read = Some((Bound::Interrupted, 0));
        return Ok(judged);
    }
    match done.map_err(|error| failure(&judged.name, error))? {
        Read::TooLarge { lines } => judged.read = Some((Bound::Memory, lines)),
        Read::Stopped { lines } if is_interrupted() => judged.read = Some((Bound::Interrupted, lines)),
        Read::Stopped { lines } => judged.read = Some((Bound::Time, lines)),
        Read::Whole(mut history) => {
            let start = arguments.initial.clone().map(Value::from);
            let bounds =
                Bounds { memory_bytes, elapsed: &elapsed, time: arguments.time, is_interrupted: &is_interrupted };
            let judgement = judge(&mut history, start.as_ref(), &bounds);
            judged.judgement = Some(judgement.map_err(|error| failure(&judged.name, error).about("initial"))?);
            judged.history = Some(*history);
        }
    }
    Ok(judged)
}

fn opened(path: &Path, name: &str) -> Result<File, Failure> {
    let unreadable = |error| Failure::system(format_args!("cannot read {name}: {error}"));
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.is_dir() {
        return Err(
            Failure::system(format_args!("cannot read {name}: it is a folder")).help("name the file of a history")
        );
    }
    Ok(file)
}

fn failure(name: &str, error: HistoryError) -> Failure {
    match error {
        HistoryError::Entry { place, problem, remedy } => {
            let place = format!("{name}, line {}, column {}", place.line, place.column);
            Failure::configuration(format_args!("{place}: {}", on_one_line(&problem))).help(remedy)
        }
        HistoryError::Empty => Failure::configuration(format_args!("{name}: {error}"))
            .help("a history has at least one line of a client, such as {\"process\": 0, \"type\": \"invoke\", \"f\": \"read\"}"),
        HistoryError::Start(_) => Failure::configuration(format_args!("--initial: {error}")),
        HistoryError::Input(error) => Failure::system(format_args!("cannot read {name}: {error}")),
    }
}

fn bound_text(bound: Bound, arguments: &LinearizableArguments) -> (String, &'static str) {
    match bound {
        Bound::Memory => {
            let size = bytes(arguments.memory);
            (
                format!("the bound of {size} on memory was hit"),
                "a larger --memory, or a history with fewer open calls at once",
            )
        }
        Bound::Time => (
            format!("the bound of {} s on time was hit", seconds(arguments.time)),
            "a larger --time, or a shorter history",
        ),
        Bound::Interrupted => ("it was interrupted".to_owned(), "more patience"),
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64()).trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Judged {
    fn exit(&self) -> Exit {
        match self.judgement.as_ref().map(|judgement| &judgement.verdict) {
            Some(Verdict::Linearizable) => Exit::Ok,
            Some(Verdict::NotLinearizable(_)) => Exit::Safety,
            Some(Verdict::Undecided { .. }) | None => Exit::Stopped,
        }
    }

    fn verdict(&self) -> &'static str {
        match self.exit() {
            Exit::Ok => "linearizable",
            Exit::Safety => "not-linearizable",
            _ => "undecided",
        }
    }

    /// The bound that was hit.
    fn bound(&self) -> Option<Bound> {
        match self.judgement.as_ref().map(|judgement| &judgement.verdict) {
            Some(Verdict::Undecided { bound, .. }) => Some(*bound),
            _ => self.read.map(|(bound, _)| bound),
        }
    }

    fn text(&self, arguments: &LinearizableArguments) -> String {
        let mut text = format!("{}: {}", self.name, self.verdict());
        if let Some(bound) = self.bound() {
            let (what, remedy) = bound_text(bound, arguments);
            text += &format!(": {what}; {remedy} can help");
        }
        text += "\n";
        if let (Some(history), Some(judgement)) = (&self.history, &self.judgement) {
            text += &format!("  {}\n", summary(history, judgement, arguments));
            match &judgement.verdict {
                Verdict::NotLinearizable(why) => text += &explained(why),
                Verdict::Undecided { decided, .. } if judgement.objects > 1 => {
                    text += &format!("  {decided} of {} are linearizable\n", count(judgement.objects as u64, "object"));
                }
                _ => {}
            }
        } else if let Some((_, lines @ 1..)) = self.read {
            text += &format!("  {} had been read\n", count(u64::from(lines), "line"));
        }
        text
    }

    fn json(&self) -> serde_json::Value {
        let bound = self.bound().map(|bound| match bound {
            Bound::Memory => "memory",
            Bound::Time => "time",
            Bound::Interrupted => "interrupted",
        });
        let explanation = match self.judgement.as_ref().map(|judgement| &judgement.verdict) {
            Some(Verdict::NotLinearizable(why)) => Some(explanation_json(why)),
            _ => None,
        };
        json!({
            "file": self.name,
            "result": self.verdict(),
            "format": self.history.as_ref().map(|history| history.format.name()),
            "operations": self.history.as_ref().map(History::operations),
            "open": self.history.as_ref().map(History::open),
            "failed": self.history.as_ref().map(|history| history.failed),
            "processes": self.history.as_ref().map(History::processes),
            "objects": self.judgement.as_ref().map(|judgement| judgement.objects),
            "configurations": self.judgement.as_ref().map(|judgement| judgement.configurations),
            "lines": self.history.as_ref().map(|history| history.lines).or(self.read.map(|(_, lines)| lines)),
            "bound": bound,
            "explanation": explanation,
        })
    }
}

fn summary(history: &History, judgement: &Judgement, arguments: &LinearizableArguments) -> String {
    let objects = match judgement.objects {
        1 => format!("a {}", arguments.model.name),
        more => format!("{} ({})", count(more as u64, "object"), arguments.model.name),
    };
    let operations = count(history.operations() as u64, "operation");
    let processes = match history.processes() as u64 {
        1 => "1 process".to_owned(),
        more => format!("{more} processes"),
    };
    let open = match history.open() {
        0 => String::new(),
        open => format!(", {open} of them open"),
    };
    let configurations = count(judgement.configurations, "configuration");
    format!("{objects}; {operations} by {processes}{open}; {configurations}")
}

/// An explanation as lines.
fn explained(why: &Explanation) -> String {
    let mut text = String::new();
    if let Some(key) = &why.key {
        text += &format!("  key {}, with {}\n", on_one_line(key), count(why.operations as u64, "operation"));
    }
    text += &format!("\n  no order explains   {}\n", line(&why.blocked));
    let possible = why.possible.iter().map(|value| on_one_line(value)).collect::<Vec<_>>().join(" or ");
    let more = if why.has_more { " or others" } else { "" };
    text += &format!("  possible before it  {possible}{more}\n");
    let earlier = match why.earlier {
        0 => String::new(),
        earlier => format!(", behind {earlier} earlier ones"),
    };
    match (why.explained, why.order.is_empty()) {
        (0, _) => text += "  nothing has returned before it\n",
        (_, true) => {}
        (explained, false) => {
            let returned = count(explained as u64, "operation");
            text += &format!("\n  {returned} returned before it and can be in this order{earlier}:\n");
            text.extend(why.order.iter().map(|shown| format!("    {}\n", line(shown))));
        }
    }
    if !why.running.is_empty() {
        text += "\n  running then, or open:\n";
        let shown = why.running.iter().take(RUNNING_MAX);
        text.extend(shown.map(|shown| format!("    {}\n", line(shown))));
        if why.running.len() > RUNNING_MAX {
            text += &format!("    and {} more\n", why.running.len() - RUNNING_MAX);
        }
    }
    text
}

/// The most running operations that a text lists.
const RUNNING_MAX: usize = 20;

fn line(shown: &Shown) -> String {
    let lines = match shown.return_line {
        Some(end) => format!("lines {} to {end}", shown.call_line),
        None => format!("line {}", shown.call_line),
    };
    let open = if shown.is_open { " (open)" } else { "" };
    format!("process {}: {}{open}, {lines}", on_one_line(&shown.process), on_one_line(&shown.text))
}

fn explanation_json(why: &Explanation) -> serde_json::Value {
    let operation = |shown: &Shown| {
        json!({
            "process": shown.process,
            "operation": shown.text,
            "open": shown.is_open,
            "call_line": shown.call_line,
            "return_line": shown.return_line,
        })
    };
    json!({
        "key": why.key,
        "operation": operation(&why.blocked),
        "possible": why.possible,
        "possible_complete": !why.has_more,
        "returned_before": why.explained,
        "order": why.order.iter().map(operation).collect::<Vec<_>>(),
        "order_earlier": why.earlier,
        "running": why.running.iter().map(operation).collect::<Vec<_>>(),
    })
}
