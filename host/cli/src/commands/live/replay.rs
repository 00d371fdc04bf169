//! `host live replay`: recordings of nodes, replayed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use host_inspect::diff::changes;
use host_live::disk::Owner;
use host_live::recording::{
    Begins, Break, Deviation, Entry, Failure as Failed, Handled, Head, Line, Lines, Next, Occurrence, Played, Player,
    Segment, Sequence, Wrong,
};
use host_live_net::{numbers, read_segment, segments};
use host_model::contract::{Envelope, MachineFactory};
use host_session::base::text::{count, json_text, on_one_line};
use host_session::base::{Exit, Failure};
use host_session::cluster::plugin_source::{self, LoadedPlugin};
use host_session::spec::limits;
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::options::live::LiveReplayArguments;

/// The segments of each node.
type Files = BTreeMap<u32, BTreeMap<u64, PathBuf>>;

/// Replays a recording.
pub(super) fn replay(arguments: &LiveReplayArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let files = files(arguments, environment)?;
    let head = first_head(&files)?;
    let load = |path: &Path, environment: &mut Environment<'_>| {
        let limits = limits::effective(&head.limits);
        plugin_source::load(path, arguments.source.into(), limits, &mut environment.context())
    };
    let plugin = load(&arguments.plugin, environment)?;
    check_plugin(&head.owner, &plugin)?;
    let other = arguments.against.as_ref().map(|path| load(path, environment)).transpose()?;
    let mut nodes = Vec::new();
    let mut lines: Vec<Vec<Line>> = Vec::new();
    for (node, segments) in &files {
        let mut replayed = Replayed { node: *node, ..Replayed::default() };
        let mut tracks = Tracks::new(&plugin, other.as_ref())?;
        walk(segments, &mut |part| replayed.take(part, &mut tracks, &head.owner.digest))?;
        nodes.push(replayed);
        if arguments.log.is_some() {
            lines.push(lines_of(*node, segments, &plugin)?);
        }
    }
    if let Some(log) = &arguments.log {
        let text: String = merged(lines).iter().fold(String::new(), |text, line| text + &line.value.to_string() + "\n");
        let path = environment.path(log);
        let name = on_one_line(&log.display().to_string());
        std::fs::write(path, text).map_err(|error| Failure::system(format_args!("cannot write {name}: {error}")))?;
    }
    let exit = match () {
        () if nodes.iter().any(|node| node.deviation.is_some()) => Exit::GuestFault,
        () if nodes.iter().any(|node| node.difference.is_some()) => Exit::Unexpected,
        () => Exit::Ok,
    };
    let text = match arguments.json {
        true => json_text(&json!({
            "plugin": head.owner.plugin,
            "digest": head.owner.digest,
            "nodes": nodes.iter().map(Replayed::json).collect::<Vec<_>>(),
            "exit_code": exit.code(),
        })),
        false => {
            let title = format!("{}: {} ({})\n", shown(&arguments.recording), head.owner.plugin, head.owner.digest);
            nodes.iter().fold(title, |text, node| text + &node.text())
        }
    };
    environment.print(&text)?;
    Ok(exit)
}

fn shown(path: &Path) -> String {
    on_one_line(&path.display().to_string())
}

/// The segments in a folder, or one of them.
fn files(arguments: &LiveReplayArguments, environment: &Environment<'_>) -> Result<Files, Failure> {
    let (path, name) = (environment.path(&arguments.recording), shown(&arguments.recording));
    let cannot = |error| Failure::system(format_args!("cannot read {name}: {error}"));
    let mut files = match path.metadata().map_err(cannot)?.is_dir() {
        true => segments(&path).map_err(cannot)?,
        false => {
            // A file by itself may have any name.
            let bytes = bytes_of(&path)?;
            let head = Segment::open(&bytes).map_err(|error| wrong(&path, error))?.map(|(_, head)| head.owner.node);
            let (named, number) = numbers(&path).unwrap_or((arguments.id.unwrap_or(0), 1));
            let node = head.unwrap_or(named);
            BTreeMap::from([(node, BTreeMap::from([(number, path)]))])
        }
    };
    files.retain(|node, _| arguments.id.is_none_or(|id| id == *node));
    if files.is_empty() {
        let of = arguments.id.map(|id| format!(" of node {id}")).unwrap_or_default();
        return Err(Failure::configuration(format_args!("{name} has no recording{of}"))
            .help("a recording consists of files such as node-0.000001.rec, which nodes with --record write"));
    }
    Ok(files)
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, Failure> {
    read_segment(path).map_err(|error| Failure::system(format_args!("cannot read {}: {error}", shown(path))))
}

fn wrong(path: &Path, wrong: Wrong) -> Failure {
    let name = shown(path);
    match wrong {
        Wrong::Foreign => Failure::configuration(format_args!("{name} is no segment of a recording")),
        Wrong::Damaged(at) => Failure::configuration(format_args!("{name} is damaged at byte {at}")).help(
            "restore the file from a copy; without it, earlier segments replay: move this one and those behind it away",
        ),
    }
}

/// The head of the first segment that has one.
fn first_head(files: &Files) -> Result<Head, Failure> {
    for path in files.values().flat_map(BTreeMap::values) {
        let bytes = bytes_of(path)?;
        if let Some((_, head)) = Segment::open(&bytes).map_err(|error| wrong(path, error))? {
            return Ok(head);
        }
    }
    Err(Failure::configuration("the recording is empty: each of its segments is torn at its beginning"))
}

/// Refuses a plugin that was not recorded.
fn check_plugin(owner: &Owner, plugin: &LoadedPlugin) -> Result<(), Failure> {
    let digest = plugin.plugin.digest();
    if owner.digest == digest {
        return Ok(());
    }
    let (name, given) = (&owner.plugin, plugin.given.display());
    Err(Failure::configuration(format_args!(
        "the recording is of {name} ({}), and {given} is {} ({digest})",
        owner.digest, plugin.reference.name
    ))
    .help("give `--plugin` the component that was recorded; `--against` compares another version with it"))
}

/// A part of the segments of a node, in their order.
#[derive(Clone, Copy)]
enum Part<'p> {
    Head(&'p Head),
    Entry(&'p Entry),
    /// A segment with an entry that was not written whole: the segment, the place, and the bytes.
    Torn(&'p Path, usize, usize),
}

/// Walks through the segments of a node.
fn walk(
    segments: &BTreeMap<u64, PathBuf>,
    visit: &mut dyn FnMut(Part<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut sequence = Sequence::default();
    for (number, path) in segments {
        let broken = |broken: Break| {
            Failure::configuration(format_args!("{}: {broken}", shown(path)))
                .help("a recording replays whole; or name a single segment of it")
        };
        let bytes = bytes_of(path)?;
        let Some((mut segment, head)) = Segment::open(&bytes).map_err(|error| wrong(path, error))? else {
            sequence.skip(*number).map_err(broken)?;
            visit(Part::Torn(path, 0, bytes.len()))?;
            continue;
        };
        sequence.begin(*number, &head).map_err(broken)?;
        visit(Part::Head(&head))?;
        loop {
            match segment.read().map_err(|error| wrong(path, error))? {
                Next::Entry(entry) => visit(Part::Entry(&entry))?,
                Next::End => {
                    sequence.end(segment.chain());
                    break;
                }
                Next::Torn { at, bytes } => {
                    visit(Part::Torn(path, at, bytes))?;
                    break;
                }
            }
        }
    }
    Ok(())
}

/// The component that was recorded, and another version of it.
struct Tracks<'t> {
    plugin: &'t dyn MachineFactory,
    other: Option<&'t dyn MachineFactory>,
    player: Option<Player<'t>>,
    version: Option<Player<'t>>,
}

impl<'t> Tracks<'t> {
    fn new(plugin: &'t LoadedPlugin, other: Option<&'t LoadedPlugin>) -> Result<Self, Failure> {
        let other = other.map(LoadedPlugin::factory);
        Ok(Self { plugin: plugin.factory(), other, player: None, version: None })
    }

    /// Goes to the beginning of a segment.
    fn begin(&mut self, head: &Head) -> Result<(), Failure> {
        let is_first = self.player.is_none();
        let mut player = Player::new(self.plugin.machine()?, head.owner.clone());
        if let Begins::Within { state, .. } = &head.begins {
            player.import(state).map_err(|error| {
                Failure::configuration(format_args!("the state at the beginning of a segment cannot be read: {error}"))
            })?;
            // Another version continues from its own state, and from this one where the recording begins.
            if let Some(other) = self.other.filter(|_| is_first) {
                let mut version = Player::new(other.machine()?, head.owner.clone());
                self.version = version.import(state).is_ok().then_some(version);
            }
        } else if let Some(other) = self.other {
            self.version = Some(Player::new(other.machine()?, head.owner.clone()));
        }
        self.player = Some(player);
        Ok(())
    }
}

/// The replay of a node.
#[derive(Default)]
struct Replayed {
    node: u32,
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

impl Replayed {
    fn take(&mut self, part: Part<'_>, tracks: &mut Tracks<'_>, digest: &str) -> Result<(), Failure> {
        match part {
            Part::Torn(path, at, bytes) => {
                let name = shown(path);
                self.torn.push(format!(
                    "{name}: the last {bytes} bytes, from byte {at}, are an entry that was not written whole"
                ));
            }
            Part::Head(head) => {
                if head.owner.node != self.node {
                    let (node, named) = (head.owner.node, self.node);
                    return Err(Failure::configuration(format_args!(
                        "a segment with the name of node {named} is of node {node}"
                    ))
                    .help("give the files of the recording their former names"));
                }
                if head.owner.digest != digest {
                    let (name, other) = (&head.owner.plugin, &head.owner.digest);
                    return Err(Failure::configuration(format_args!(
                        "node {} was recorded with another component: {name} ({other})",
                        self.node
                    ))
                    .help("replay one node after the other with `--id`, each with its own component"));
                }
                self.starts += u64::from(head.begins == Begins::Start);
                tracks.begin(head)?;
                self.is_not_compared |= tracks.other.is_some() && tracks.version.is_none();
            }
            Part::Entry(Entry::Persisted(_)) => {}
            Part::Entry(Entry::Failed(failed)) => self.fail(failed, tracks)?,
            Part::Entry(Entry::Event(event)) => {
                self.events += 1;
                if self.deviation.is_some() {
                    return Ok(());
                }
                let Some(player) = &mut tracks.player else { return Ok(()) };
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
                if let Some(version) = tracks.version.as_mut().filter(|_| self.difference.is_none()) {
                    let found = version.play(&event.input, &event.answers)?.unwrap_or_default();
                    self.compare(event, &played, &found, [player, version])?;
                }
            }
        }
        Ok(())
    }

    /// Compares what another component does with what the recorded one does.
    fn compare(
        &mut self,
        event: &Occurrence,
        played: &Played,
        found: &Played,
        [player, version]: [&mut Player<'_>; 2],
    ) -> Result<(), Failure> {
        if let Some(what) = difference(played, found, player)? {
            self.difference = Some((self.events, format!("{}: {what}", words(&event.input, player)?)));
        } else if self.state_difference.is_none() && played.encoding != found.encoding {
            let states = [player.describe_state()?, version.describe_state()?];
            let what = described(states, "state").unwrap_or_else(|| "its state is encoded differently".to_owned());
            self.state_difference = Some((self.events, format!("{}: {what}", words(&event.input, player)?)));
        }
        Ok(())
    }

    fn fail(&mut self, failed: &Failed, tracks: &mut Tracks<'_>) -> Result<(), Failure> {
        let Some(player) = &mut tracks.player else { return Ok(()) };
        let words = words(&failed.input, player)?;
        let played = player.play(&failed.input, &failed.answers)?.unwrap_or_default();
        if played.fault.is_none() {
            self.deviation
                .get_or_insert((self.events, format!("{words}: it has failed ({}), and does not now", failed.message)));
        }
        self.failed.push(format!("after event {}: {words}: {}", self.events, failed.message));
        Ok(())
    }

    fn text(&self) -> String {
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

    fn json(&self) -> Value {
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

/// The lines of a node.
fn lines_of(node: u32, segments: &BTreeMap<u64, PathBuf>, plugin: &LoadedPlugin) -> Result<Vec<Line>, Failure> {
    let mut owner = None;
    walk(segments, &mut |part| {
        if let Part::Head(head) = part {
            owner.get_or_insert(head.owner.clone());
        }
        Ok(())
    })?;
    let Some(owner) = owner else { return Ok(Vec::new()) };
    let mut player = Player::new(plugin.factory().machine()?, owner);
    let mut lines = Lines::new(&mut player);
    walk(segments, &mut |part| {
        match part {
            Part::Head(head) => lines.begin(head),
            Part::Entry(entry) => {
                lines.add(entry).map_err(|error| Failure::configuration(format_args!("node {node}: {error}")))?;
            }
            Part::Torn(..) => {}
        }
        Ok(())
    })?;
    Ok(lines.end())
}

/// The lines of all nodes: those of each node in their order, and the nodes by their clocks.
fn merged(nodes: Vec<Vec<Line>>) -> Vec<Line> {
    let mut lines = Vec::new();
    for mut of_node in nodes {
        let mut latest = 0;
        for line in &mut of_node {
            latest = latest.max(line.at);
            line.at = latest;
        }
        lines.extend(of_node);
    }
    lines.sort_by_key(|line| line.at);
    lines
}
