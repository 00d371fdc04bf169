//! The debugger's session: a line in, a text out. The caller executes commands that need files.

use host_model::contract::NodeId;
use host_model::trace::Trace;
use serde_json::Value;

use crate::debug::commands::{Answer, COMMANDS, Command, Reply, Wrong, find, help, needed, number, number_or, regex};
use crate::debug::cursor::Cursor;
use crate::debug::moments::Place;
use crate::words;

/// The reply of a command that only moves the cursor.
fn moved() -> Answer {
    Ok(Reply::Text(String::new()))
}

/// A watched part of a state.
struct Watch {
    node: NodeId,
    pointer: String,
    last: Option<Value>,
}

/// A session.
pub struct Console<'l> {
    pub(super) cursor: Cursor<'l>,
    watches: Vec<Watch>,
    /// The ends of the branches, in the numbering of the last `branches`.
    pub(super) branches: Vec<Place>,
}

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

    /// The prompt.
    pub fn prompt(&self) -> String {
        format!("{}/{}> ", self.cursor.depth(), self.cursor.length())
    }

    /// Executes a line. Empty lines, and text behind `#`, are ignored.
    pub fn execute(&mut self, line: &str) -> Reply {
        let line = line.split_once(" #").map_or(line, |(line, _)| line).trim();
        if line.is_empty() || line.starts_with('#') {
            return Reply::Text(String::new());
        }
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let Some(command) = find(name) else {
            return Reply::Wrong(format!("there is no command `{}`; `help` lists them", words::on_one_line(name)));
        };
        let before = self.cursor.here();
        match self.answer(command, rest.trim()) {
            Ok(Reply::Text(text)) if self.cursor.here() != before => Reply::Text(text + &self.arrived()),
            Ok(reply) => reply,
            Err(Wrong(why)) => Reply::Wrong(why),
        }
    }

    /// Adds a trace that a command requested as a branch.
    pub fn open(&mut self, trace: &Trace) -> Reply {
        match self.cursor.open(trace) {
            Ok(()) => {
                self.renumber();
                Reply::Text(format!("a branch of {} steps; now at its start\n", self.cursor.length()))
            }
            Err(error) => Reply::Wrong(error.to_string()),
        }
    }

    /// Completions of a word: commands, also after `help`.
    pub fn complete(line: &str) -> Vec<&'static str> {
        let word = line.strip_prefix("help ").unwrap_or(line);
        if word.contains(' ') {
            return Vec::new();
        }
        COMMANDS.iter().map(|command| command.name).filter(|name| name.starts_with(word)).collect()
    }

    fn answer(&mut self, command: &Command, rest: &str) -> Answer {
        match command.name {
            "help" => help(rest),
            "list" => self.list(rest),
            "next" => self.move_by(number_or(rest, 1)? as isize),
            "back" => self.move_by(-(number_or(rest, 1)? as isize)),
            "jump" => self.jump(rest),
            "node" => self.go_to_node(rest),
            "find" => self.go_to_match(rest),
            "enabled" => self.enabled(),
            "take" => self.take(rest),
            "lose" => self.lose(rest),
            "undo" => match self.cursor.undo() {
                true => moved(),
                false => Err("there is nothing to take back".into()),
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
                moved()
            }
            "why" => self.why(rest),
            "check" => self.check(),
            "save" => Ok(Reply::Save(needed(rest, "FILE")?, self.cursor.path())),
            _ => Ok(Reply::Quit),
        }
    }

    /// The step to the present state, its effects, and the watches that changed.
    fn arrived(&mut self) -> String {
        let here = self.cursor.here();
        let mut text = format!("{:>4}. {}\n", self.cursor.depth(), self.cursor.moments.event(here));
        // A single step, forward or backward, shows its effects. A jump shows only the last step.
        if let [.., parent, _] = self.cursor.moments.line_to(here)[..] {
            text.push_str(&self.effects(parent, here));
        }
        for Watch { node, pointer, last } in &mut self.watches {
            let now = self.cursor.moments.state(here, *node).pointer(pointer).cloned();
            if now != *last {
                let shown = |value: &Option<Value>| value.as_ref().map_or("nothing".into(), words::value_on_one_line);
                let name = self.cursor.moments.names().of(*node);
                text += &format!("      watch: {name} {pointer}: {} -> {}\n", shown(last), shown(&now));
                *last = now;
            }
        }
        text
    }

    fn move_by(&mut self, steps: isize) -> Answer {
        let (depth, length) = (self.cursor.depth(), self.cursor.length());
        match depth.checked_add_signed(steps) {
            Some(target) if self.cursor.jump(target) => moved(),
            Some(_) if depth == length => Err("this is the end of the branch; `enabled` lists what can happen".into()),
            Some(_) => Err(self.too_short()),
            None if depth == 0 => Err("this is the start".into()),
            None => Err(format!("there are only {depth} steps before this one").into()),
        }
    }

    fn jump(&mut self, rest: &str) -> Answer {
        let target = match rest {
            "start" => 0,
            "end" => self.cursor.length(),
            _ => number(rest, "N, start or end")?,
        };
        if self.cursor.jump(target) { moved() } else { Err(self.too_short()) }
    }

    fn too_short(&self) -> Wrong {
        format!("the branch has only {} steps", self.cursor.length()).into()
    }

    fn go_to_node(&mut self, rest: &str) -> Answer {
        let node = self.node(rest)?;
        let found = self.cursor.find(|cursor, number| cursor.step(number).is_some_and(|step| step.node == node));
        self.arrive(
            found,
            &format!("nothing happens at {} after this on the branch", self.cursor.moments.names().of(node)),
        )
    }

    fn go_to_match(&mut self, rest: &str) -> Answer {
        let wanted = regex(&needed(rest, "REGEX")?)?;
        let found = (self.cursor.depth() + 1..=self.cursor.length()).find(|number| {
            let [parent, place] =
                [number - 1, *number].map(|number| self.cursor.place(number).expect("the branch is that long"));
            wanted.is_match(&(self.cursor.moments.event(place) + "\n" + &self.effects(parent, place)))
        });
        self.arrive(found, "nothing after this on the branch matches")
    }

    fn arrive(&mut self, found: Option<usize>, otherwise: &str) -> Answer {
        self.cursor.jump(found.ok_or(otherwise)?);
        moved()
    }

    fn take(&mut self, rest: &str) -> Answer {
        let (index, outcome) = rest.split_once(char::is_whitespace).unwrap_or((rest, "0"));
        let (index, outcome) = (number(index, "K, a number of `enabled`")?, number(outcome.trim(), "OUTCOME")?);
        let enabled = self.cursor.moments.enabled(self.cursor.here())?;
        let Some(action) = enabled.get(index) else {
            let count = enabled.len();
            return Err(format!("there are {count} events here, counted from 0; `enabled` lists them").into());
        };
        let outcomes = self.cursor.moments.outcomes(self.cursor.here(), action)?;
        if outcome >= outcomes {
            return Err(format!("this event has {outcomes} outcomes, counted from 0").into());
        }
        self.cursor.take(action, outcome)?;
        self.renumber();
        moved()
    }

    fn lose(&mut self, rest: &str) -> Answer {
        let (node, wanted) = self.node_and(rest, "lose needs NODE REGEX")?;
        let wanted = regex(wanted)?;
        let found = self.cursor.moments.losses(self.cursor.here()).into_iter().find(|loss| {
            let taken = loss.cause.messages();
            let payload = self.cursor.moments.stepper().message(taken[0]).payload.clone();
            loss.node == node && wanted.is_match(&self.cursor.moments.message(&payload))
        });
        self.cursor.take(&found.ok_or("no message to this node that could come next matches")?, 0)?;
        self.renumber();
        moved()
    }

    /// Numbers new branches behind the known ones. A branch that has grown keeps its number.
    pub(super) fn renumber(&mut self) {
        let leaves: Vec<Place> = self.cursor.branches().into_iter().map(|(leaf, _)| leaf).collect();
        let mut numbered: Vec<Place> = Vec::new();
        for branch in self.branches.iter().chain(&leaves) {
            let grown =
                leaves.iter().find(|leaf| self.cursor.moments.line_to(**leaf).contains(branch)).unwrap_or(branch);
            if !numbered.contains(grown) {
                numbered.push(*grown);
            }
        }
        self.branches = numbered;
    }

    fn branch(&mut self, rest: &str) -> Answer {
        self.renumber();
        let index = number(rest, "K, a number of `branches`")?;
        let Some(leaf) = self.branches.get(index).copied() else {
            let count = self.branches.len();
            return Err(format!("there are {count} branches, counted from 0; `branches` lists them").into());
        };
        self.cursor.switch(leaf);
        Ok(Reply::Text(format!("a branch of {} steps\n", self.cursor.length())))
    }

    /// `N`, or `K:N`.
    pub(super) fn point(&mut self, text: &str) -> Result<Place, Wrong> {
        let Some((branch, step)) = text.split_once(':') else {
            let step = number(text, "POINT: N, or K:N for step N of branch K")?;
            return self.cursor.place(step).ok_or_else(|| self.too_short());
        };
        self.renumber();
        let (branch, step) = (number(branch, "K, a number of `branches`")?, number(step, "N, a step")?);
        let leaf = self.branches.get(branch).copied();
        let leaf = leaf.ok_or_else(|| format!("there are {} branches, counted from 0", self.branches.len()))?;
        let line = self.cursor.moments.line_to(leaf);
        Ok(line.get(step).copied().ok_or_else(|| format!("branch {branch} has only {} steps", line.len() - 1))?)
    }

    fn watch(&mut self, rest: &str) -> Answer {
        let (node, pointer) = self.node_and(rest, "watch needs NODE /POINTER")?;
        let pointer = pointer.to_owned();
        if !pointer.starts_with('/') {
            return Err("a pointer begins with /, such as /Running/acceptor/promised".into());
        }
        let here = self.cursor.here();
        let last = self.cursor.moments.state(here, node).pointer(&pointer).cloned();
        let shown = last.as_ref().map_or("nothing here".to_owned(), words::value_on_one_line);
        let text = format!("{} {pointer}: {shown}\n", self.cursor.moments.names().of(node));
        self.watches.push(Watch { node, pointer, last });
        Ok(Reply::Text(text))
    }

    /// A node, and the text behind it.
    pub(super) fn node_and<'t>(&self, text: &'t str, needs: &str) -> Result<(NodeId, &'t str), Wrong> {
        let names = self.cursor.moments.names();
        let named = (0..self.cursor.moments.nodes()).filter_map(|node| {
            let rest = text.strip_prefix(names.get(node)?)?;
            (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| (node, rest.trim()))
        });
        // `client 1 (old)` is not the same node as `client 1`.
        let (node, rest) = match named.min_by_key(|(_, rest)| rest.len()) {
            Some(found) => found,
            None => {
                let (node, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
                (self.node(node)?, rest.trim())
            }
        };
        if rest.is_empty() { Err(needs.into()) } else { Ok((node, rest)) }
    }

    /// A node by its name or number.
    pub(super) fn node(&self, text: &str) -> Result<NodeId, Wrong> {
        let names = self.cursor.moments.names();
        if let Some(node) = (0..self.cursor.moments.nodes()).find(|node| names.get(*node) == Some(text)) {
            return Ok(node);
        }
        let node = number(text, "NODE, a name or number")?;
        match node < self.cursor.moments.nodes() as usize {
            true => Ok(node as NodeId),
            false => Err(format!("there are only {} nodes, counted from 0", self.cursor.moments.nodes()).into()),
        }
    }
}
