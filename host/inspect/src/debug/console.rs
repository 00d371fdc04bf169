//! The debugger's commands: a line in, a text out. What needs files is left to whoever has some.

use std::fmt::Write;

use host_model::contract::{Judgement, MachineError, NodeId};
use host_model::scenario::FaultEvent;
use host_model::trace::{Trace, TraceStep};
use regex_lite::Regex;
use serde_json::Value;

use crate::debug::cursor::{Cursor, Place};
use crate::debug::why;
use crate::words;
use crate::world::{Action, Cause};

/// Steps that `list` shows around the present one where nothing is looked for.
const LIST_MAX: usize = 40;

/// A command.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// What is typed.
    pub name: &'static str,
    /// A short form; empty if there is none.
    pub short: &'static str,
    /// What comes after it.
    pub arguments: &'static str,
    /// One sentence.
    pub help: &'static str,
}

const fn command(name: &'static str, short: &'static str, arguments: &'static str, help: &'static str) -> Command {
    Command { name, short, arguments, help }
}

/// All commands, in the order of `help`.
pub const COMMANDS: &[Command] = &[
    command("help", "h", "[COMMAND]", "list the commands, or explain one"),
    command(
        "list",
        "l",
        "[REGEX]",
        "the steps of this branch, or those that match; the present state is after the step marked >",
    ),
    command("next", "n", "[N]", "take the next step of the branch, or N of them"),
    command("back", "b", "[N]", "take back a step, or N of them"),
    command("jump", "j", "N|start|end", "go to the state after N steps of the branch"),
    command("node", "", "NODE", "go on to the next event of a node"),
    command("find", "f", "REGEX", "go on to the next event that receives, sends or changes something that matches"),
    command("enabled", "e", "", "number and list all that can happen here"),
    command(
        "take",
        "t",
        "K [OUTCOME]",
        "take event K of `enabled`; OUTCOME decides the calls of `choose`, 0 if left out",
    ),
    command("undo", "u", "", "take back the last command that moved"),
    command("branches", "", "", "number and list all branches that were gone, and where they leave this one"),
    command("branch", "", "K", "go over to branch K of `branches`"),
    command("open", "", "FILE", "add the trace in a file as a branch, for a comparison"),
    command("state", "s", "[NODE]", "the states of all nodes, or all of one, field by field"),
    command("messages", "m", "", "the messages in flight"),
    command("diff", "d", "POINT [POINT]", "what differs between two states; POINT is N, or K:N for step N of branch K"),
    command(
        "watch",
        "w",
        "NODE /POINTER",
        "show a part of a node's state whenever it changes; /Running/acceptor, for example",
    ),
    command("unwatch", "", "", "watch nothing any more"),
    command(
        "why",
        "",
        "NODE REGEX",
        "why is no message that matches delivered to the node here, or no such local event taken",
    ),
    command("check", "c", "", "what the properties say here"),
    command("save", "", "FILE", "write the path to here as a trace"),
    command("quit", "q", "", "end the session"),
];

/// What a command leads to.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// A text; with a line break at the end, unless it is empty.
    Text(String),
    /// What was typed makes no sense; a phrase.
    Wrong(String),
    /// The path to here is to be written to this file.
    Save(String, Vec<TraceStep>),
    /// This file is to be read and given to [`Console::open`].
    Open(String),
    /// The session is over.
    Quit,
}

/// A part of a state that is looked at.
struct Watch {
    node: NodeId,
    pointer: String,
    last: Option<Value>,
}

/// A session.
pub struct Console<'l> {
    cursor: Cursor<'l>,
    watches: Vec<Watch>,
    /// The ends of the branches as `branches` numbered them last.
    branches: Vec<Place>,
}

/// What a command returns before it is a reply.
type Answer = Result<Reply, String>;

impl<'l> Console<'l> {
    /// A session with a cursor.
    pub fn new(cursor: Cursor<'l>) -> Self {
        let branches = cursor.branches().into_iter().map(|(leaf, _)| leaf).collect();
        Self { cursor, watches: Vec::new(), branches }
    }

    /// The cursor.
    pub fn cursor(&self) -> &Cursor<'l> {
        &self.cursor
    }

    /// What stands before the next command.
    pub fn prompt(&self) -> String {
        format!("{}/{}> ", self.cursor.depth(), self.cursor.length())
    }

    /// Executes a line. An empty one, and what follows `#`, is nothing.
    pub fn execute(&mut self, line: &str) -> Reply {
        let line = line.split_once(" #").map_or(line, |(line, _)| line).trim();
        if line.is_empty() || line.starts_with('#') {
            return Reply::Text(String::new());
        }
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let Some(command) = find(name) else {
            return Reply::Wrong(format!("there is no command `{}`; `help` lists them", words::on_one_line(name)));
        };
        let before = self.cursor.here();
        let answer = self.answer(command, rest);
        let reply = answer.unwrap_or_else(Reply::Wrong);
        match reply {
            Reply::Text(text) if self.cursor.here() != before => Reply::Text(text + &self.arrived(before)),
            reply => reply,
        }
    }

    /// Adds a trace that was asked for as a branch.
    pub fn open(&mut self, trace: &Trace) -> Reply {
        match self.cursor.open(trace) {
            Ok(()) => {
                self.renumber();
                Reply::Text(format!("a branch of {} steps; now at its start\n", self.cursor.length()))
            }
            Err(error) => Reply::Wrong(error.to_string()),
        }
    }

    /// What can come where a word is begun: commands, after `help` too.
    pub fn complete(line: &str) -> Vec<&'static str> {
        let word = line.strip_prefix("help ").unwrap_or(line);
        if word.contains(' ') {
            return Vec::new();
        }
        COMMANDS.iter().map(|command| command.name).filter(|name| name.starts_with(word)).collect()
    }

    fn answer(&mut self, command: &Command, rest: &str) -> Answer {
        let host = |error: MachineError| error.to_string();
        match command.name {
            "help" => help(rest),
            "list" => self.list(rest),
            "next" => self.move_by(number_or(rest, 1)? as isize),
            "back" => self.move_by(-(number_or(rest, 1)? as isize)),
            "jump" => self.jump(rest),
            "node" => self.go_to_node(rest),
            "find" => self.go_to_match(rest),
            "enabled" => self.enabled().map_err(host),
            "take" => self.take(rest),
            "undo" => match self.cursor.undo() {
                true => Ok(Reply::Text(String::new())),
                false => Err("there is nothing to take back".to_owned()),
            },
            "branches" => Ok(self.list_branches()),
            "branch" => self.branch(rest),
            "open" => Ok(Reply::Open(needed(rest, "FILE")?)),
            "state" => self.state(rest),
            "messages" => Ok(self.messages()),
            "diff" => self.diff(rest),
            "watch" => self.watch(rest),
            "unwatch" => {
                self.watches.clear();
                Ok(Reply::Text(String::new()))
            }
            "why" => self.why(rest),
            "check" => self.check().map_err(host),
            "save" => Ok(Reply::Save(needed(rest, "FILE")?, self.cursor.path())),
            _ => Ok(Reply::Quit),
        }
    }

    /// The step that led here, what it did, and the watches that changed.
    fn arrived(&mut self, before: Place) -> String {
        let here = self.cursor.here();
        let mut text = format!("{:>4}. {}\n", self.cursor.depth(), self.cursor.event(here));
        let line = self.cursor.line_to(here);
        // A step forward or backward: one step says it all. After a jump, the step that led here alone.
        if let [.., parent, _] = line[..] {
            text.push_str(&self.effects(parent, here));
        }
        let _ = before;
        for index in 0..self.watches.len() {
            let (node, pointer) = (self.watches[index].node, self.watches[index].pointer.clone());
            let now = self.cursor.state(here, node).pointer(&pointer).cloned();
            if now != self.watches[index].last {
                let shown =
                    |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), words::value_on_one_line);
                let was = shown(&self.watches[index].last);
                let _ = writeln!(text, "      watch: node {node} {pointer}: {was} -> {}", shown(&now));
                self.watches[index].last = now;
            }
        }
        text
    }

    /// What the step between two states changed and sent.
    fn effects(&mut self, parent: Place, place: Place) -> String {
        let mut text = String::new();
        for (_, changes) in self.cursor.diff(parent, place) {
            for change in changes {
                let _ = writeln!(text, "      {change}");
            }
        }
        let step = self.cursor.step_at(place).cloned();
        let sent = step.and_then(|step| step.sent).unwrap_or_default();
        for group in sent.chunk_by(|one, other| one.payload == other.payload) {
            let nodes: Vec<NodeId> = group.iter().map(|sent| sent.to).collect();
            let message = self.cursor.message(&group[0].payload.0);
            let _ = writeln!(text, "      sends {message} to {}", words::nodes(&nodes));
        }
        if text.is_empty() { "      changes nothing\n".to_owned() } else { text }
    }

    fn list(&mut self, rest: &str) -> Answer {
        let wanted = if rest.is_empty() { None } else { Some(regex(rest)?) };
        let (depth, length) = (self.cursor.depth(), self.cursor.length());
        let first = if wanted.is_none() { depth.saturating_sub(LIST_MAX / 2) } else { 0 };
        let last = if wanted.is_none() { length.min(first + LIST_MAX) } else { length };
        let mut text = String::new();
        for number in first..=last {
            let place = self.cursor.place(number).expect("the branch is that long");
            let event = self.cursor.event(place);
            if wanted.as_ref().is_none_or(|wanted| wanted.is_match(&event)) {
                let _ = writeln!(text, "{}{number:>4}. {event}", if number == depth { ">" } else { " " });
            }
        }
        if first > 0 || last < length {
            let _ = writeln!(text, "steps {first} to {last} of {length}; `list REGEX` looks at all");
        }
        Ok(Reply::Text(text))
    }

    fn move_by(&mut self, steps: isize) -> Answer {
        let (depth, length) = (self.cursor.depth(), self.cursor.length());
        match depth.checked_add_signed(steps) {
            Some(target) if self.cursor.jump(target) => Ok(Reply::Text(String::new())),
            Some(_) if depth == length => {
                Err("this is the end of the branch; `enabled` lists what can happen".to_owned())
            }
            Some(_) => Err(format!("the branch has only {length} steps")),
            None if depth == 0 => Err("this is the start".to_owned()),
            None => Err(format!("there are only {depth} steps before this one")),
        }
    }

    fn jump(&mut self, rest: &str) -> Answer {
        let target = match rest {
            "start" => 0,
            "end" => self.cursor.length(),
            _ => number(rest, "N, start or end")?,
        };
        match self.cursor.jump(target) {
            true => Ok(Reply::Text(String::new())),
            false => Err(format!("the branch has only {} steps", self.cursor.length())),
        }
    }

    fn go_to_node(&mut self, rest: &str) -> Answer {
        let node = self.node(rest)?;
        let found = self.cursor.find(|cursor, number| cursor.step(number).is_some_and(|step| step.node == node));
        self.arrive(found, &format!("nothing happens at node {node} after this on the branch"))
    }

    fn go_to_match(&mut self, rest: &str) -> Answer {
        let wanted = regex(&needed(rest, "REGEX")?)?;
        let mut found = None;
        for number in self.cursor.depth() + 1..=self.cursor.length() {
            let place = self.cursor.place(number).expect("the branch is that long");
            let parent = self.cursor.place(number - 1).expect("the branch is that long");
            let text = self.cursor.event(place) + "\n" + &self.effects(parent, place);
            if wanted.is_match(&text) {
                found = Some(number);
                break;
            }
        }
        self.arrive(found, "nothing after this on the branch matches")
    }

    fn arrive(&mut self, found: Option<usize>, otherwise: &str) -> Answer {
        match found {
            Some(number) => {
                self.cursor.jump(number);
                Ok(Reply::Text(String::new()))
            }
            None => Err(otherwise.to_owned()),
        }
    }

    fn enabled(&mut self) -> Result<Reply, MachineError> {
        let mut text = String::new();
        let next = self.cursor.place(self.cursor.depth() + 1);
        let next = next.map(|place| self.cursor.event(place));
        for (index, action) in self.cursor.enabled()?.iter().enumerate() {
            let event = self.describe(action);
            let outcomes = self.cursor.outcomes(action)?;
            let choices = if outcomes > 1 { format!(", {outcomes} outcomes") } else { String::new() };
            let is_next = next.as_ref().is_some_and(|next| next.starts_with(&event));
            let _ = writeln!(text, "{}{index:>4}. {event}{choices}", if is_next { ">" } else { " " });
        }
        if text.is_empty() {
            text.push_str("nothing can happen here\n");
        }
        Ok(Reply::Text(text))
    }

    fn describe(&mut self, action: &Action) -> String {
        match &action.cause {
            Cause::Quorum(taken) => {
                let messages: Vec<_> =
                    taken.iter().map(|flying| self.cursor.stepper().message(flying.message).clone()).collect();
                let senders: Vec<_> = messages.iter().map(|message| message.from).collect();
                let said = messages.iter().map(|message| self.cursor.message(&message.payload)).collect();
                let name = self.cursor.quorum_name(action);
                words::quorum(action.node, &name, &senders, said)
            }
            Cause::Deliver(flying) => {
                let message = self.cursor.stepper().message(flying.message).clone();
                if message.is_notice {
                    return format!(
                        "node {}: finds that the connection to node {} is broken",
                        message.to, message.from
                    );
                }
                let said = self.cursor.message(&message.payload);
                format!("node {} <- node {}: {said}", message.to, message.from)
            }
            Cause::Fault(FaultEvent::Reset) => format!("node {}: reset", action.node),
            Cause::Fault(FaultEvent::Break(peer)) => {
                format!("node {}: loses its connection to node {peer}", action.node)
            }
            Cause::Local(event) => {
                let event = self.cursor.stepper().lts().local_event(*event);
                format!("node {}: {} ({})", action.node, words::on_one_line(&event.name), words::name(event.kind))
            }
        }
    }

    fn take(&mut self, rest: &str) -> Answer {
        let (index, outcome) = rest.split_once(char::is_whitespace).unwrap_or((rest, "0"));
        let (index, outcome) = (number(index, "K, a number of `enabled`")?, number(outcome.trim(), "OUTCOME")?);
        let host = |error: MachineError| error.to_string();
        let enabled = self.cursor.enabled().map_err(host)?;
        let Some(action) = enabled.get(index) else {
            return Err(format!("there are {} events here, counted from 0; `enabled` lists them", enabled.len()));
        };
        let outcomes = self.cursor.outcomes(action).map_err(host)?;
        if outcome >= outcomes {
            return Err(format!("this event has {outcomes} outcomes, counted from 0"));
        }
        self.cursor.take(action, outcome).map_err(host)?;
        self.renumber();
        Ok(Reply::Text(String::new()))
    }

    fn renumber(&mut self) {
        for (leaf, _) in self.cursor.branches() {
            if !self.branches.contains(&leaf) {
                self.branches.push(leaf);
            }
        }
        let leaves: Vec<Place> = self.cursor.branches().into_iter().map(|(leaf, _)| leaf).collect();
        // A branch that went on keeps its number.
        for branch in &mut self.branches {
            if !leaves.contains(branch) {
                let grown = leaves.iter().find(|leaf| self.cursor.line_to(**leaf).contains(branch));
                *branch = grown.copied().unwrap_or(*branch);
            }
        }
        let mut seen = Vec::new();
        self.branches.retain(|branch| {
            !seen.contains(branch) && {
                seen.push(*branch);
                true
            }
        });
    }

    fn list_branches(&mut self) -> Reply {
        self.renumber();
        let shared = self.cursor.branches();
        let mut text = String::new();
        for (index, leaf) in self.branches.clone().into_iter().enumerate() {
            let depth = self.cursor.depth_of(leaf);
            let event = self.cursor.event(leaf);
            let from = shared.iter().find(|(other, _)| *other == leaf).map_or(0, |(_, shared)| *shared);
            let is_here = self.cursor.is_end_of_line(leaf);
            let how = if is_here { "this one".to_owned() } else { format!("leaves this one after step {from}") };
            let mark = if is_here { ">" } else { " " };
            let _ = writeln!(text, "{mark}{index:>4}. {depth} steps, ends with {event}; {how}");
        }
        Reply::Text(text)
    }

    fn branch(&mut self, rest: &str) -> Answer {
        self.renumber();
        let index = number(rest, "K, a number of `branches`")?;
        let Some(leaf) = self.branches.get(index).copied() else {
            return Err(format!("there are {} branches, counted from 0; `branches` lists them", self.branches.len()));
        };
        self.cursor.switch(leaf);
        Ok(Reply::Text(format!("a branch of {} steps\n", self.cursor.length())))
    }

    fn state(&mut self, rest: &str) -> Answer {
        let here = self.cursor.here();
        if rest.is_empty() {
            let mut text = String::new();
            for node in 0..self.cursor.nodes() {
                let _ = writeln!(text, "node {node}: {}", words::value_on_one_line(&self.cursor.state(here, node)));
            }
            return Ok(Reply::Text(text));
        }
        let node = self.node(rest)?;
        let state = self.cursor.state(here, node);
        let json = serde_json::to_string_pretty(&state).expect("JSON can be written");
        Ok(Reply::Text(words::without_controls(&json) + "\n"))
    }

    fn messages(&mut self) -> Reply {
        let here = self.cursor.here();
        let mut text = String::new();
        for flying in self.cursor.world(here).in_flight().to_vec() {
            let message = self.cursor.stepper().message(flying.message).clone();
            let said = self.cursor.message(&message.payload);
            let _ = writeln!(text, "node {} -> node {}: {said}", message.from, message.to);
        }
        Reply::Text(if text.is_empty() { "nothing is in flight\n".to_owned() } else { text })
    }

    fn diff(&mut self, rest: &str) -> Answer {
        let mut points = rest.split_whitespace();
        let one = self.point(points.next().ok_or("diff needs a POINT: N, or K:N for step N of branch K")?)?;
        let other = match points.next() {
            Some(point) => self.point(point)?,
            None => self.cursor.here(),
        };
        let mut text = String::new();
        for (node, changes) in self.cursor.diff(one, other) {
            let _ = writeln!(text, "node {node}");
            for change in changes {
                let _ = writeln!(text, "      {change}");
            }
        }
        let messages = |console: &mut Self, place: Place| {
            let world = console.cursor.world(place).in_flight().to_vec();
            let ids = world.iter().map(|flying| flying.message);
            let mut ids: Vec<_> = ids.collect();
            ids.sort_unstable();
            ids
        };
        let (before, after) = (messages(self, one), messages(self, other));
        for (sign, these, those) in [('-', &before, &after), ('+', &after, &before)] {
            let mut rest = those.clone();
            for id in these {
                match rest.iter().position(|other| other == id) {
                    Some(index) => {
                        rest.remove(index);
                    }
                    None => {
                        let message = self.cursor.stepper().message(*id).clone();
                        let said = self.cursor.message(&message.payload);
                        let _ = writeln!(text, "in flight {sign} node {} -> node {}: {said}", message.from, message.to);
                    }
                }
            }
        }
        Ok(Reply::Text(if text.is_empty() { "no difference\n".to_owned() } else { text }))
    }

    /// `N`, or `K:N`.
    fn point(&mut self, text: &str) -> Result<Place, String> {
        let Some((branch, step)) = text.split_once(':') else {
            let step = number(text, "POINT: N, or K:N for step N of branch K")?;
            return self.cursor.place(step).ok_or(format!("the branch has only {} steps", self.cursor.length()));
        };
        self.renumber();
        let (branch, step) = (number(branch, "K, a number of `branches`")?, number(step, "N, a step")?);
        let leaf = self.branches.get(branch).copied();
        let leaf = leaf.ok_or(format!("there are {} branches, counted from 0", self.branches.len()))?;
        let line = self.cursor.line_to(leaf);
        line.get(step).copied().ok_or(format!("branch {branch} has only {} steps", line.len() - 1))
    }

    fn watch(&mut self, rest: &str) -> Answer {
        let (node, pointer) = rest.split_once(char::is_whitespace).ok_or("watch needs NODE /POINTER")?;
        let (node, pointer) = (self.node(node)?, pointer.trim().to_owned());
        if !pointer.starts_with('/') {
            return Err("a pointer begins with /, such as /Running/acceptor/promised".to_owned());
        }
        let here = self.cursor.here();
        let state = self.cursor.state(here, node);
        let last = state.pointer(&pointer).cloned();
        let shown = last.as_ref().map_or("nothing here".to_owned(), words::value_on_one_line);
        let text = format!("node {node} {pointer}: {shown}\n");
        self.watches.push(Watch { node, pointer, last });
        Ok(Reply::Text(text))
    }

    fn why(&mut self, rest: &str) -> Answer {
        let (node, wanted) = rest.split_once(char::is_whitespace).ok_or("why needs NODE REGEX")?;
        let (node, wanted) = (self.node(node)?, regex(wanted.trim())?);
        let lines = why::why(&mut self.cursor, node, &wanted);
        Ok(Reply::Text(lines.iter().map(|line| format!("{line}\n")).collect()))
    }

    fn check(&mut self) -> Result<Reply, MachineError> {
        let judgements = self.cursor.judge()?;
        let properties = self.cursor.stepper().lts().properties().to_vec();
        let name = |index: u32| words::on_one_line(&properties[index as usize].name);
        let mut text = String::new();
        for judgement in judgements {
            let line = match &judgement {
                Judgement::Violated { property, message } => format!("{} is violated: {message}", name(*property)),
                Judgement::Witnessed { property } => format!("{} is reached", name(*property)),
                Judgement::Broken { property, fault } => format!("{} cannot be evaluated: {fault}", name(*property)),
                Judgement::Fault(fault) => format!("a node is stuck in a fault: {fault}"),
                Judgement::Deadlock { message } => format!("deadlock: {message}"),
            };
            let line = words::shortened(words::on_one_line(&line));
            if !text.contains(&line) {
                let _ = writeln!(text, "{line}");
            }
        }
        Ok(Reply::Text(if text.is_empty() { "every property holds here\n".to_owned() } else { text }))
    }

    fn node(&self, text: &str) -> Result<NodeId, String> {
        let node = number(text, "NODE, a number")?;
        match node < self.cursor.nodes() as usize {
            true => Ok(node as NodeId),
            false => Err(format!("there are only {} nodes, counted from 0", self.cursor.nodes())),
        }
    }
}

fn find(name: &str) -> Option<&'static Command> {
    let exact =
        COMMANDS.iter().find(|command| command.name == name || (!command.short.is_empty() && command.short == name));
    let mut begun = COMMANDS.iter().filter(|command| command.name.starts_with(name));
    exact.or_else(|| match (begun.next(), begun.next()) {
        (Some(command), None) => Some(command),
        _ => None,
    })
}

fn help(rest: &str) -> Answer {
    let line = |command: &Command| {
        let short = if command.short.is_empty() { String::new() } else { format!(", {}", command.short) };
        let usage = format!("{}{short} {}", command.name, command.arguments);
        format!("{:28} {}\n", usage.trim_end(), command.help)
    };
    if rest.is_empty() {
        return Ok(Reply::Text(COMMANDS.iter().map(line).collect()));
    }
    find(rest).map(|command| Reply::Text(line(command))).ok_or(format!("there is no command `{rest}`"))
}

fn regex(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| format!("`{}` is no regular expression: {error}", words::on_one_line(text)))
}

fn needed(text: &str, what: &str) -> Result<String, String> {
    if text.is_empty() { Err(format!("{what} is missing")) } else { Ok(text.to_owned()) }
}

fn number_or(text: &str, default: usize) -> Result<usize, String> {
    if text.is_empty() { Ok(default) } else { number(text, "N, a number") }
}

fn number(text: &str, what: &str) -> Result<usize, String> {
    // Larger numbers are no numbers of anything here.
    let number = text.parse::<u32>().map(|number| number as usize);
    number.map_err(|_| format!("expected {what}, not `{}`", words::on_one_line(text)))
}
