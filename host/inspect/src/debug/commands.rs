//! The table of commands, their arguments and their replies.

use std::fmt::Display;

use host_model::trace::TraceStep;
use regex_lite::Regex;

use crate::words;

/// A command.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// The word to type.
    pub name: &'static str,
    /// A short form; empty if there is none.
    pub short: &'static str,
    /// The arguments that follow it.
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
    command("node", "", "NODE", "continue to the next event of a node"),
    command("find", "f", "REGEX", "continue to the next event that receives, sends or changes something that matches"),
    command("enabled", "e", "", "number and list all that can happen here"),
    command(
        "take",
        "t",
        "K [OUTCOME]",
        "take event K of `enabled`; OUTCOME decides the calls of `choose`, 0 if left out",
    ),
    command("lose", "", "NODE REGEX", "lose the first message to the node that matches, of those that could come next"),
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

/// The answer to a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// A text; with a line break at the end, unless it is empty.
    Text(String),
    /// A command without effect; the reason, a phrase.
    Wrong(String),
    /// A request to write the path to the present state into this file.
    Save(String, Vec<TraceStep>),
    /// A request to read this file and pass it to [`Console::open`](super::Console::open).
    Open(String),
    /// The session ends.
    Quit,
}

/// The reason why a command has no effect; a phrase.
pub(super) struct Wrong(pub String);

impl<T: Display> From<T> for Wrong {
    fn from(why: T) -> Self {
        Self(why.to_string())
    }
}

/// The result of a command before it is a reply.
pub(super) type Answer = Result<Reply, Wrong>;

/// The command with this name or short form, or the only one with this prefix.
pub(super) fn find(name: &str) -> Option<&'static Command> {
    let exact =
        COMMANDS.iter().find(|command| command.name == name || (!command.short.is_empty() && command.short == name));
    let mut begun = COMMANDS.iter().filter(|command| command.name.starts_with(name));
    exact.or_else(|| match (begun.next(), begun.next()) {
        (Some(command), None) => Some(command),
        _ => None,
    })
}

/// The table as a text, or one row of it.
pub(super) fn help(rest: &str) -> Answer {
    let line = |command: &Command| {
        let short = if command.short.is_empty() { String::new() } else { format!(", {}", command.short) };
        let usage = format!("{}{short} {}", command.name, command.arguments);
        format!("{:28} {}\n", usage.trim_end(), command.help)
    };
    if rest.is_empty() {
        return Ok(Reply::Text(COMMANDS.iter().map(line).collect()));
    }
    find(rest).map(|command| Reply::Text(line(command))).ok_or(format!("there is no command `{rest}`").into())
}

/// A regular expression.
pub(super) fn regex(text: &str) -> Result<Regex, Wrong> {
    let regex = Regex::new(text);
    regex.map_err(|error| format!("`{}` is no regular expression: {error}", words::on_one_line(text)).into())
}

/// A required word.
pub(super) fn needed(text: &str, what: &str) -> Result<String, Wrong> {
    if text.is_empty() { Err(format!("{what} is missing").into()) } else { Ok(text.to_owned()) }
}

/// An optional number.
pub(super) fn number_or(text: &str, default: usize) -> Result<usize, Wrong> {
    if text.is_empty() { Ok(default) } else { number(text, "N, a number") }
}

/// A number.
pub(super) fn number(text: &str, what: &str) -> Result<usize, Wrong> {
    // No number here is larger.
    let number = text.parse::<u32>().map(|number| number as usize);
    number.map_err(|_| format!("expected {what}, not `{}`", words::on_one_line(text)).into())
}
