//! `host follow`.

use std::fmt::Write;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use host_follow::{
    Alternative, Blocked, Bound, Bounds, Input, LineId, Log, LogError, Place, Read, Refusal, Verdict, read,
};
use host_inspect::recording::Recording;
use host_model::contract::Stopped;
use host_session::Request;
use host_session::base::text::{bytes, count, json_text, on_one_line};
use host_session::base::{Exit, Failure};
use host_session::cluster::{Cluster, trace_file};
use host_session::search::log::{Followed, Follower, Violated, violated};
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::options::after_dashes::Taker;
use crate::options::logs::FollowArguments;

const TAKER: Taker = Taker { name: "host follow", does: "searches an execution that explains a log", besides: &[] };

/// The name of standard input among files.
const STANDARD_INPUT: &str = "-";

/// The most hidden events, and events in place of a line, that a text lists.
const SHOWN_MAX: usize = 12;

/// Follows a log.
pub fn run(arguments: &FollowArguments, program: &str, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    // Errors that need no plugin are reported before it is built.
    for path in &arguments.logs {
        drop(opened(path, environment)?);
    }
    let mut spec = TAKER.options(&arguments.against, &arguments.options)?.spec();
    spec.process.source = arguments.source.into();
    (spec.process.time, spec.process.memory) = (Some(arguments.time), arguments.memory);
    let request = Request::new(spec, &mut environment.context())?;
    let cluster = request.located(|| Cluster::open(&request.spec, &mut environment.context()))?;
    let lts = cluster.lts(cluster.factory())?;
    let mut follower = Follower::new(&request.spec, &cluster, &lts)?;
    let log = match log(arguments, &follower, environment)? {
        Ok(log) => log,
        Err((bound, lines)) => return unread(arguments, bound, lines, environment),
    };
    let bounds = Bounds { missing_max: arguments.missing, hidden_max: arguments.hidden };
    let followed = follower.follow(&log, bounds, &mut environment.context())?;
    if let (Some(out), Some(first)) = (&arguments.out, followed.executions.first()) {
        trace_file::write(out, &first.trace, &environment.directory)?;
    }
    let (follower, cluster) = (&mut follower, &cluster);
    let mut report = Report { arguments, program, log: &log, followed: &followed, follower, cluster };
    let text = if arguments.json { report.json()? } else { report.text()? };
    let exit = report.exit();
    environment.print(&text)?;
    Ok(exit)
}

/// A file of a log; none if it is standard input.
fn opened(path: &Path, environment: &Environment<'_>) -> Result<Option<File>, Failure> {
    if path.as_os_str() == STANDARD_INPUT {
        return Ok(None);
    }
    let name = on_one_line(&path.display().to_string());
    let unreadable = |error| Failure::system(format_args!("cannot read {name}: {error}"));
    let file = File::open(environment.path(path)).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.is_dir() {
        return Err(Failure::system(format_args!("cannot read {name}: it is a folder")).help("name the file of a log"));
    }
    Ok(Some(file))
}

/// Reads the log; the bound and the lines that were read, if it is not read whole.
fn log(
    arguments: &FollowArguments,
    follower: &Follower<'_>,
    environment: &mut Environment<'_>,
) -> Result<Result<Log, (Bound, u32)>, Failure> {
    let files: Vec<Option<File>> =
        arguments.logs.iter().map(|path| opened(path, environment)).collect::<Result<_, _>>()?;
    let mut readers: Vec<BufReader<File>> = files.into_iter().flatten().map(BufReader::new).collect();
    let mut rest = readers.iter_mut();
    let mut stdin: Option<&mut dyn BufRead> = Some(&mut *environment.stdin);
    let mut sources: Vec<&mut dyn BufRead> = Vec::new();
    for path in &arguments.logs {
        let source = match path.as_os_str() == STANDARD_INPUT {
            true => stdin.take(),
            false => rest.next().map(|reader| reader as &mut dyn BufRead),
        };
        sources.extend(source);
    }
    let memory_bytes = follower.memory_max().map_or(usize::MAX, |max| usize::try_from(max).unwrap_or(usize::MAX));
    let mut stopped = None;
    let mut stop = || {
        stopped = follower.stopped();
        stopped.is_some()
    };
    let done = read(Input { files: sources, stop: &mut stop, memory_bytes }, &follower.nodes());
    if let (Some(stopped), Err(LogError::Input(_))) = (follower.stopped(), &done) {
        return Ok(Err((stopped.into(), 0)));
    }
    Ok(match done.map_err(|error| failure(arguments, error))? {
        Read::Whole(log) => Ok(log),
        Read::TooLarge { lines } => Err((Bound::Memory, lines)),
        Read::Stopped { lines } => Err((stopped.unwrap_or(Stopped::Interrupted).into(), lines)),
    })
}

fn failure(arguments: &FollowArguments, error: LogError) -> Failure {
    match error {
        LogError::Line { place, problem, remedy } => {
            let place = format!("{}, column {}", place_text(arguments, place), place.column);
            Failure::configuration(format_args!("{place}: {}", on_one_line(&problem))).help(remedy)
        }
        LogError::Empty => Failure::configuration(format_args!("{}: {error}", title(arguments)))
            .help("a log has at least one line, such as {\"node\": 0, \"event\": \"deliver\", \"from\": 1}"),
        LogError::Input(error) => Failure::system(format_args!("cannot read {}: {error}", title(arguments))),
    }
}

fn place_text(arguments: &FollowArguments, place: Place) -> String {
    let name = arguments.logs.get(place.file as usize).map(|path| on_one_line(&path.display().to_string()));
    format!("{}, line {}", name.unwrap_or_default(), place.line)
}

fn title(arguments: &FollowArguments) -> String {
    arguments.logs.iter().map(|path| on_one_line(&path.display().to_string())).collect::<Vec<_>>().join(", ")
}

/// The report on a log that a bound left unread.
fn unread(
    arguments: &FollowArguments,
    bound: Bound,
    lines: u32,
    environment: &mut Environment<'_>,
) -> Result<Exit, Failure> {
    let text = match arguments.json {
        true => json_text(&json!({
            "result": "undecided",
            "exit_code": Exit::Stopped.code(),
            "logs": arguments.logs,
            "bound": bound_name(bound),
            "lines": lines,
        })),
        false => {
            let why = bound_text(bound, arguments);
            let read = match lines {
                0 => String::new(),
                lines => format!("  {} had been read\n", count(lines.into(), "line")),
            };
            format!("{}: undecided: {why}\n{read}", title(arguments))
        }
    };
    environment.print(&text)?;
    Ok(Exit::Stopped)
}

fn bound_name(bound: Bound) -> &'static str {
    match bound {
        Bound::Hidden(_) => "hidden",
        Bound::Time => "time",
        Bound::Memory => "memory",
        Bound::Interrupted => "interrupted",
    }
}

fn bound_text(bound: Bound, arguments: &FollowArguments) -> String {
    match bound {
        Bound::Hidden(most) => format!(
            "no execution with at most {most} hidden events between two lines of a node explains it; a larger --hidden \
             tries more, and --missing N refuses more"
        ),
        Bound::Time => {
            format!("the bound of {} s on time was hit; a larger --time can help", arguments.time.as_secs_f64())
        }
        Bound::Memory => match arguments.memory {
            Some(most) => format!("the bound of {} on memory was hit; a larger --memory can help", bytes(most)),
            None => "half of the available memory is used; a larger --memory can help".to_owned(),
        },
        Bound::Interrupted => "it was interrupted".to_owned(),
    }
}

/// The report on a log.
struct Report<'r, 'l> {
    arguments: &'r FollowArguments,
    program: &'r str,
    log: &'r Log,
    followed: &'r Followed,
    follower: &'r mut Follower<'l>,
    cluster: &'r Cluster,
}

impl Report<'_, '_> {
    fn exit(&self) -> Exit {
        match &self.followed.judgement.verdict {
            Verdict::Explained(_) if self.violated().is_empty() => Exit::Ok,
            Verdict::Explained(_) | Verdict::Refused(_) => Exit::Safety,
            Verdict::Undecided { .. } => Exit::Stopped,
        }
    }

    fn result(&self) -> &'static str {
        match &self.followed.judgement.verdict {
            Verdict::Explained(_) => "explained",
            Verdict::Refused(_) => "refused",
            Verdict::Undecided { .. } => "undecided",
        }
    }

    fn violated(&self) -> Vec<Violated> {
        match &self.followed.judgement.verdict {
            Verdict::Explained(_) => self.followed.executions.first().map(violated).unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    fn text(&mut self) -> Result<String, Failure> {
        let mut text = format!("{}: {}", title(self.arguments), self.result());
        let candidates = count(self.followed.judgement.candidates, "candidate");
        let lines = count(self.log.len().into(), "line");
        match &self.followed.judgement.verdict {
            Verdict::Explained(found) => {
                let events = count(found.path.len() as u64, "event");
                let _ = writeln!(text, "\n  {lines}; {events}, {} of them hidden; {candidates}", found.hidden());
                text += &self.hidden(&found.lines);
                for Violated { property, node, step, why } in self.violated() {
                    let node = node.map(|node| format!(" at {}", self.follower.names.of(node))).unwrap_or_default();
                    let why = on_one_line(&why);
                    let _ = writeln!(text, "\n  this execution violates {property}{node} after event {step}: {why}");
                }
            }
            Verdict::Refused(refusal) => {
                let _ = writeln!(text, "\n  {} of {lines} are explained; {candidates}", refusal.explained);
                text += &self.refusal(refusal)?;
                match self.followed.is_explained_without {
                    Some(true) => text += "\n  the log without this line is explained\n",
                    Some(false) => text += "\n  the log without this line is refused as well\n",
                    None => {}
                }
            }
            Verdict::Undecided { bound, furthest } => {
                let _ = writeln!(text, ": {}", bound_text(*bound, self.arguments));
                let _ = writeln!(text, "  {} of {lines} are explained; {candidates}", furthest.explained);
                text += &self.refusal(furthest)?;
            }
        }
        if let Some(out) = &self.arguments.out {
            let _ = writeln!(text, "\n  {}", self.cluster.replay_command(self.program, out));
        }
        Ok(text)
    }

    /// The hidden events of an execution.
    fn hidden(&self, lines: &[Vec<LineId>]) -> String {
        let Some(recording) = self.followed.executions.first() else { return String::new() };
        let prefix = recording.trace.steps.len() + 1 - lines.len();
        let hidden = (1..lines.len()).filter(|number| lines[*number].is_empty());
        let hidden: Vec<usize> = hidden.map(|number| number + prefix).collect();
        if hidden.is_empty() {
            return String::new();
        }
        let mut text = "\n  hidden:\n".to_owned();
        for number in hidden.iter().take(SHOWN_MAX) {
            let _ = writeln!(text, "    {number}. {}", recording.event(*number));
        }
        if hidden.len() > SHOWN_MAX {
            let _ = writeln!(text, "    and {} more", hidden.len() - SHOWN_MAX);
        }
        text
    }

    /// The line that no event explains, and the events that were possible.
    fn refusal(&mut self, refusal: &Refusal) -> Result<String, Failure> {
        let mut text = String::new();
        let Some(furthest) = refusal.furthest.first() else { return Ok(text) };
        if let Some((node, fault)) = &furthest.stuck {
            let node = self.follower.names.of(*node);
            let _ = writeln!(text, "\n  the execution ends there: {node} is stuck in a fault: {}", on_one_line(fault));
        }
        let Some(Blocked { line, waits_for, alternatives }) = furthest.blocked.first() else { return Ok(text) };
        let _ = writeln!(text, "\n  no execution explains {}", self.line(*line));
        if let Some(before) = waits_for.first() {
            let _ = writeln!(text, "  it is after {}, which is not explained", self.line(*before));
        }
        let node = self.log.line(*line).node;
        let at = self.follower.names.of(node);
        if alternatives.is_empty() {
            let _ = writeln!(text, "  nothing is possible at {at} there");
        } else {
            let _ = writeln!(text, "  possible at {at} there:");
        }
        for alternative in alternatives.iter().take(SHOWN_MAX) {
            let _ = writeln!(text, "    {}", self.alternative(node, alternative)?);
        }
        if alternatives.len() > SHOWN_MAX {
            let _ = writeln!(text, "    and {} more", alternatives.len() - SHOWN_MAX);
        }
        for blocked in furthest.blocked.iter().skip(1) {
            let _ = writeln!(text, "  not explained either: {}", self.line(blocked.line));
        }
        Ok(text)
    }

    fn alternative(&mut self, node: u32, alternative: &Alternative) -> Result<String, Failure> {
        let event = match &alternative.event {
            Some(event) => self.follower.event(node, event)?,
            None => "the present state".to_owned(),
        };
        Ok(match &alternative.difference {
            Some(difference) => format!("{event}: {}", on_one_line(&difference.to_string())),
            None => format!("{event}: it differs in no field, and the rest does not follow"),
        })
    }

    /// A line in words.
    fn line(&self, id: LineId) -> String {
        let line = self.log.line(id);
        let kind = line.event.name().unwrap_or("an event");
        let place = match self.arguments.logs.len() {
            1 => format!("line {}", line.place.line),
            _ => place_text(self.arguments, line.place),
        };
        format!("{place}: {}, {kind}", self.follower.names.of(line.node))
    }

    fn json(&mut self) -> Result<String, Failure> {
        let verdict = &self.followed.judgement.verdict;
        let (explained, bound, refusal) = match verdict {
            Verdict::Explained(_) => (self.log.len(), None, None),
            Verdict::Refused(refusal) => (refusal.explained, None, Some(refusal)),
            Verdict::Undecided { bound, furthest } => (furthest.explained, Some(bound_name(*bound)), Some(furthest)),
        };
        let execution = match (verdict, refusal) {
            (Verdict::Explained(found), _) => Some(&found.lines),
            (_, Some(refusal)) => refusal.furthest.first().map(|furthest| &furthest.execution.lines),
            _ => None,
        };
        let recording = self.followed.executions.first();
        let steps = execution.zip(recording).map(|(lines, recording)| self.steps_json(lines, recording));
        let mut blocked = Vec::new();
        for found in refusal.iter().flat_map(|refusal| refusal.furthest.iter().take(1)).flat_map(|it| &it.blocked) {
            blocked.push(self.blocked_json(found)?);
        }
        let violated = self.violated();
        let violated = violated
            .iter()
            .map(|it| json!({ "property": it.property, "node": it.node, "step": it.step, "message": it.why }));
        Ok(json_text(&json!({
            "result": self.result(),
            "exit_code": self.exit().code(),
            "logs": self.arguments.logs,
            "bound": bound,
            "lines": self.log.len(),
            "explained": explained,
            "candidates": self.followed.judgement.candidates,
            "steps": steps,
            "violated": violated.collect::<Vec<_>>(),
            "blocked": blocked,
            "explained_without": self.followed.is_explained_without,
            "trace": self.arguments.out,
        })))
    }

    fn steps_json(&self, lines: &[Vec<LineId>], recording: &Recording) -> Value {
        let prefix = recording.trace.steps.len() + 1 - lines.len();
        let number = |id: &LineId| self.place_json(*id);
        let steps = lines.iter().enumerate().skip(1).map(|(index, lines)| {
            let step = index + prefix;
            let node = recording.trace.steps[step - 1].node;
            let lines: Vec<Value> = lines.iter().map(number).collect();
            json!({ "step": step, "node": node, "text": recording.event(step), "hidden": lines.is_empty(), "lines": lines })
        });
        steps.collect()
    }

    fn place_json(&self, id: LineId) -> Value {
        let line = self.log.line(id);
        let file = self.arguments.logs.get(line.place.file as usize);
        json!({ "file": file, "line": line.place.line, "node": line.node, "event": line.event.name() })
    }

    fn blocked_json(&mut self, blocked: &Blocked) -> Result<Value, Failure> {
        let node = self.log.line(blocked.line).node;
        let mut possible = Vec::new();
        for alternative in &blocked.alternatives {
            let event = alternative.event.as_ref().map(|event| self.follower.event(node, event)).transpose()?;
            let difference = alternative.difference.as_ref();
            let difference = difference.map(|it| json!({ "field": it.field, "line": it.line, "found": it.found }));
            possible.push(json!({ "event": event, "difference": difference }));
        }
        let waits_for: Vec<Value> = blocked.waits_for.iter().map(|id| self.place_json(*id)).collect();
        Ok(json!({ "line": self.place_json(blocked.line), "waits_for": waits_for, "possible": possible }))
    }
}
