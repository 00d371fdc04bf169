//! The replay of one node, and its comparison with another component.

use std::fmt::Write as _;
use std::path::Path;

use host_inspect::diff::changes;
use host_live::recording::{Begins, Deviation, Entry, Failure as Failed, Handled, Head, Played, Player};
use host_model::contract::{Envelope, MachineFactory};
use host_session::base::text::{count, on_one_line};
use host_session::base::{Exit, Failure};
use serde_json::{Value, json};

use crate::commands::live::replay::walk::shown;

/// The component that was recorded, and another version of it.
#[derive(Clone, Copy)]
pub(super) struct Components<'t> {
    pub(super) plugin: &'t dyn MachineFactory,
    pub(super) other: Option<&'t dyn MachineFactory>,
}

/// The players of both.
#[derive(Default)]
struct Tracks<'t> {
    player: Option<Player<'t>>,
    version: Option<Player<'t>>,
}

impl<'t> Tracks<'t> {
    /// Goes to the beginning of a segment. Returns whether the other component continues from there.
    fn begin(&mut self, head: &Head, components: Components<'t>) -> Result<bool, Failure> {
        let is_first = self.player.is_none();
        let mut player = Player::new(components.plugin.machine()?, head.owner.clone());
        let mut version = None;
        if let Some(other) = components.other {
            version = Some(Player::new(other.machine()?, head.owner.clone()));
        }
        if let Begins::Within { state, .. } = &head.begins {
            player.import(state).map_err(|error| {
                Failure::configuration(format_args!("the state at the beginning of a segment cannot be read: {error}"))
            })?;
            // Another version continues from its own state, and from this one where the recording begins.
            version = match is_first {
                true => version.and_then(|mut version| version.import(state).is_ok().then_some(version)),
                false => self.version.take(),
            };
        }
        (self.player, self.version) = (Some(player), version);
        Ok(components.other.is_none() || self.version.is_some())
    }
}

/// The replay of a node.
#[derive(Default)]
pub(super) struct Replayed<'t> {
    node: u32,
    tracks: Tracks<'t>,
    starts: u64,
    events: u64,
    /// Handlers that have failed, in words.
    failed: Vec<String>,
    /// Entries that were not written whole, in words.
    torn: Vec<String>,
    /// The first event on which the recorded component does something else.
    deviation: Option<(u64, String)>,
    /// The first event on which the other component sends, asks or answers something else.
    difference: Option<(u64, String)>,
    /// The first event behind which the other component is in another state.
    state_difference: Option<(u64, String)>,
    /// Whether the other component cannot read the state at which the recording begins.
    is_not_compared: bool,
}

impl<'t> Replayed<'t> {
    /// A node, before the first of its segments.
    pub(super) fn new(node: u32) -> Self {
        Self { node, ..Self::default() }
    }

    /// The node.
    pub(super) fn node(&self) -> u32 {
        self.node
    }

    /// Drops the machines.
    pub(super) fn leave(&mut self) {
        self.tracks = Tracks::default();
    }

    /// The way in which the replay ends.
    pub(super) fn exit(&self) -> Exit {
        match () {
            () if self.deviation.is_some() => Exit::GuestFault,
            () if self.difference.is_some() || self.is_not_compared => Exit::Unexpected,
            () => Exit::Ok,
        }
    }

    /// Takes the head of a segment, and the components that replay it.
    pub(super) fn begin(&mut self, head: &Head, components: Components<'t>) -> Result<(), Failure> {
        self.node = head.owner.node;
        self.starts += u64::from(head.begins == Begins::Start);
        self.is_not_compared |= !self.tracks.begin(head, components)?;
        Ok(())
    }

    /// Takes the end of a segment with an entry that was not written whole.
    pub(super) fn tear(&mut self, path: &Path, at: usize, bytes: usize) {
        let name = shown(path);
        self.torn
            .push(format!("{name}: the last {bytes} bytes, from byte {at}, are an entry that was not written whole"));
    }

    /// Takes the next entry.
    pub(super) fn take(&mut self, entry: &Entry) -> Result<(), Failure> {
        match entry {
            Entry::Persisted(_) => {}
            Entry::Failed(failed) => self.fail(failed)?,
            Entry::Event(event) => {
                self.events += 1;
                if self.deviation.is_some() {
                    return Ok(());
                }
                let Tracks { player: Some(player), version } = &mut self.tracks else { return Ok(()) };
                let Some(played) = player.play(&event.input, &event.answers)? else {
                    self.deviation = Some((self.events, "it has no state before this event".to_owned()));
                    return Ok(());
                };
                // Descriptions cost more than handlers, so only events that differ are put into words.
                if let Some(deviation) = played.deviation(event, self.node) {
                    let what = deviation_words(&deviation, &event.sent, &played, player)?;
                    self.deviation = Some((self.events, format!("{}: {what}", words(&event.input, player)?)));
                    return Ok(());
                }
                if let Some(version) = version.as_mut().filter(|_| self.difference.is_none()) {
                    let found = version.play(&event.input, &event.answers)?.unwrap_or_default();
                    if let Some(what) = difference(&played, &found, player)? {
                        self.difference = Some((self.events, format!("{}: {what}", words(&event.input, player)?)));
                    } else if self.state_difference.is_none() && played.encoding != found.encoding {
                        let what = state_words(player, version)?;
                        self.state_difference =
                            Some((self.events, format!("{}: {what}", words(&event.input, player)?)));
                    }
                }
            }
        }
        Ok(())
    }

    fn fail(&mut self, failed: &Failed) -> Result<(), Failure> {
        let Some(player) = &mut self.tracks.player else { return Ok(()) };
        let words = words(&failed.input, player)?;
        if player.fault(failed)?.is_none() {
            self.deviation
                .get_or_insert((self.events, format!("{words}: it has failed ({}), and does not now", failed.message)));
        }
        self.failed.push(format!("after event {}: {words}: {}", self.events, failed.message));
        Ok(())
    }

    /// The result in words.
    pub(super) fn text(&self) -> String {
        let (starts, events) = (count(self.starts, "start"), count(self.events, "event"));
        let mut text = format!("node {}: {starts}, {events}", self.node);
        match &self.deviation {
            None => text += ", replayed to equal states\n",
            Some((number, what)) => drop(writeln!(text, "\n  differs from the recording at event {number}: {what}")),
        }
        if self.is_not_compared {
            text += "  not compared: the other component cannot read the state at which the recording begins\n";
        }
        for (name, found) in [("does something else", &self.difference), ("has another state", &self.state_difference)]
        {
            if let Some((number, what)) = found {
                let _ = writeln!(text, "  the other component {name} first at event {number}: {what}");
            }
        }
        for line in self.failed.iter().map(|failed| format!("handler failed {failed}")).chain(self.torn.iter().cloned())
        {
            let _ = writeln!(text, "  {line}");
        }
        text
    }

    /// The result as JSON.
    pub(super) fn json(&self) -> Value {
        let found = |found: &Option<(u64, String)>| {
            found.as_ref().map(|(number, what)| json!({ "event": number, "what": what }))
        };
        json!({
            "node": self.node,
            "starts": self.starts,
            "events": self.events,
            "differs": found(&self.deviation),
            "other": found(&self.difference),
            "other_state": found(&self.state_difference),
            "not_compared": self.is_not_compared,
            "failed": self.failed,
            "torn": self.torn,
        })
    }
}

/// An event in words.
fn words(input: &Handled, player: &mut Player<'_>) -> Result<String, Failure> {
    Ok(match input {
        Handled::Start { .. } => "start".to_owned(),
        Handled::Message { from, payload } => {
            format!("node {} <- node {from}: {}", player.node(), message(payload, player)?)
        }
        Handled::Local { name, .. } => on_one_line(name),
        Handled::Error { peer } => format!("broken connection with node {peer}"),
    })
}

/// A message in words.
fn message(payload: &[u8], player: &mut Player<'_>) -> Result<String, Failure> {
    let described = player.describe_message(payload)?;
    Ok(described.map_or_else(|| format!("{} bytes", payload.len()), |text| on_one_line(&text)))
}

/// The difference of the states of two components.
fn state_words(one: &mut Player<'_>, other: &mut Player<'_>) -> Result<String, Failure> {
    let states = [one.describe_state()?, other.describe_state()?];
    Ok(described(states, "state").unwrap_or_else(|| "its state is encoded differently".to_owned()))
}

fn deviation_words(
    deviation: &Deviation,
    recorded: &[Envelope],
    played: &Played,
    player: &mut Player<'_>,
) -> Result<String, Failure> {
    Ok(match deviation {
        Deviation::Fault(fault) => format!("it fails: {fault}"),
        Deviation::Answers => "it asks for other choices".to_owned(),
        Deviation::Sent(index) => sent_words(*index, [recorded, &played.sent], player)?,
        Deviation::State => "it leads to another state".to_owned(),
    })
}

/// The first difference of what two components do; none if they send, ask and answer the same.
fn difference(one: &Played, other: &Played, player: &mut Player<'_>) -> Result<Option<String>, Failure> {
    if let Some(fault) = &other.fault {
        return Ok(Some(format!("it fails: {fault}")));
    }
    if one.answers != other.answers {
        return Ok(Some("it asks for other choices".to_owned()));
    }
    let most = one.sent.len().max(other.sent.len());
    if let Some(index) = (0..most).find(|index| one.sent.get(*index) != other.sent.get(*index)) {
        return sent_words(index, [&one.sent, &other.sent], player).map(Some);
    }
    Ok((one.responses != other.responses).then(|| "it answers clients differently".to_owned()))
}

/// The difference of a message that was sent.
fn sent_words(index: usize, sent: [&[Envelope]; 2], player: &mut Player<'_>) -> Result<String, Failure> {
    let field = format!("sent[{index}]");
    let [Some(before), Some(after)] = sent.map(|sent| sent.get(index)) else {
        return Ok(format!("it sends {} instead of {}", count(sent[1].len() as u64, "message"), sent[0].len()));
    };
    if before.to != after.to {
        return Ok(format!("{field}.to: {} -> {}", before.to, after.to));
    }
    let texts = [player.describe_message(&before.payload)?, player.describe_message(&after.payload)?];
    Ok(described(texts, &field).unwrap_or_else(|| format!("{field} has other bytes")))
}

/// The first field in which two descriptions differ.
fn described(texts: [Option<String>; 2], field: &str) -> Option<String> {
    let [before, after] = texts.map(|text| serde_json::from_str::<Value>(&text?).ok());
    let change = changes(&before?, &after?).into_iter().next()?;
    let dot = if change.path.is_empty() { "" } else { "." };
    Some(format!("{field}{dot}{change}"))
}
