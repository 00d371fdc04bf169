//! `host live replay`: recordings of nodes, replayed.
//!
//! | module | what it holds |
//! |---|---|
//! | `node` | the replay of one node, and its comparison with another component |
//! | `walk` | the segments of a node, read one after the other |

mod node;
mod walk;

use std::cell::OnceCell;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use host_live::disk::Owner;
use host_live::recording::{Begins, Head, Line, Lines, Player};
use host_live_net::{numbers, segments};
use host_session::base::text::json_text;
use host_session::base::{Exit, Failure, files};
use host_session::cluster::plugin_source::{self, LoadedPlugin};
use host_session::spec::limits::{self, Given};
use serde_json::json;

use crate::commands::live::replay::node::{Components, Replayed};
use crate::commands::live::replay::walk::{Part, Walk, shown};
use crate::environment::Environment;
use crate::options::live::LiveReplayArguments;

/// The most different limits under which the processes of a recording have run: the components are loaded for each.
const LIMITS_MAX: usize = 16;

/// Replays a recording.
pub(super) fn replay(arguments: &LiveReplayArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let loader = Loader { arguments, owner: OnceCell::new(), slots: Default::default() };
    let mut nodes = nodes(arguments, environment)?;
    match &arguments.log {
        None => {
            for node in &mut nodes {
                while node.advance(&loader, environment)? {}
                node.replayed.leave();
            }
        }
        Some(log) => {
            let directory = environment.directory.clone();
            files::write_with(log, &directory, &mut |write| merge(&mut nodes, &loader, environment, write))?;
        }
    }
    let Some(owner) = loader.owner.get() else {
        return Err(Failure::configuration("the recording is empty: each of its segments is torn at its beginning"));
    };
    let exits = nodes.iter().map(|node| node.replayed.exit());
    let exit = exits.max().unwrap_or(Exit::Ok);
    let text = match arguments.json {
        true => json_text(&json!({
            "plugin": owner.plugin,
            "digest": owner.digest,
            "nodes": nodes.iter().map(|node| node.replayed.json()).collect::<Vec<_>>(),
            "exit_code": exit.code(),
        })),
        false => {
            let title = format!("{}: {} ({})\n", shown(&arguments.recording), owner.plugin, owner.digest);
            nodes.iter().fold(title, |text, node| text + &node.replayed.text())
        }
    };
    environment.print(&text)?;
    Ok(exit)
}

/// Writes the lines of all nodes: those of each node in their order, and the nodes by their clocks.
fn merge<'l>(
    nodes: &mut [Node<'l>],
    loader: &'l Loader<'_>,
    environment: &mut Environment<'_>,
    write: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    loop {
        for node in &mut *nodes {
            while node.ready.is_empty() && node.advance(loader, environment)? {}
        }
        let waiting = nodes.iter_mut().filter(|node| !node.ready.is_empty());
        let Some(first) = waiting.min_by_key(|node| node.ready.front().map(|line| line.at)) else { return Ok(()) };
        if let Some(line) = first.ready.pop_front() {
            write(format!("{}\n", line.value).as_bytes())?;
        }
    }
}

/// The nodes of a recording: those in a folder, or that of one segment.
fn nodes<'l>(arguments: &LiveReplayArguments, environment: &Environment<'_>) -> Result<Vec<Node<'l>>, Failure> {
    let (path, name) = (environment.path(&arguments.recording), shown(&arguments.recording));
    let cannot = |error| Failure::system(format_args!("cannot read {name}: {error}"));
    let is_folder = path.metadata().map_err(cannot)?.is_dir();
    let mut found = match is_folder {
        true => segments(&path).map_err(cannot)?,
        false => {
            let (node, number) = numbers(&path).unwrap_or((0, 1));
            BTreeMap::from([(arguments.id.unwrap_or(node), BTreeMap::from([(number, path)]))])
        }
    };
    found.retain(|node, _| arguments.id.is_none_or(|id| id == *node));
    if found.is_empty() {
        return Err(nothing(arguments));
    }
    let node = |(node, segments)| Node {
        walk: Walk::new(segments),
        named: is_folder.then_some(node),
        replayed: Replayed::new(node),
        lines: None,
        ready: VecDeque::new(),
    };
    Ok(found.into_iter().map(node).collect())
}

fn nothing(arguments: &LiveReplayArguments) -> Failure {
    let of = arguments.id.map(|id| format!(" of node {id}")).unwrap_or_default();
    Failure::configuration(format_args!("{} has no recording{of}", shown(&arguments.recording)))
        .help("a recording consists of files such as node-0.000001.rec, which nodes with --record write")
}

/// A node of a recording.
struct Node<'l> {
    walk: Walk,
    /// The node in the names of the files of a folder. A file by itself may have any name.
    named: Option<u32>,
    replayed: Replayed<'l>,
    /// Makes its lines, if a log is written, from the first segment on.
    lines: Option<Lines<'l>>,
    /// The lines that are not written yet.
    ready: VecDeque<Line>,
}

impl<'l> Node<'l> {
    /// Takes the next part of its segments. Returns whether there was one.
    fn advance(&mut self, loader: &'l Loader<'_>, environment: &mut Environment<'_>) -> Result<bool, Failure> {
        let Some(part) = self.walk.next()? else {
            self.ready.extend(self.lines.take().into_iter().flat_map(Lines::end));
            return Ok(false);
        };
        match part {
            Part::Torn(at, bytes) => self.replayed.tear(self.walk.path(), at, bytes),
            Part::Head(head) => self.begin(&head, loader, environment)?,
            Part::Entry(entry) => {
                self.replayed.take(&entry)?;
                if let Some(lines) = &mut self.lines {
                    let node = self.replayed.node();
                    lines.add(&entry).map_err(|error| Failure::configuration(format_args!("node {node}: {error}")))?;
                    self.ready.extend(lines.take());
                }
            }
        }
        Ok(true)
    }

    /// Begins a segment.
    fn begin(&mut self, head: &Head, loader: &'l Loader<'_>, environment: &mut Environment<'_>) -> Result<(), Failure> {
        let node = head.owner.node;
        if let Some(named) = self.named.filter(|named| *named != node) {
            return Err(Failure::configuration(format_args!(
                "{} has the name of node {named} and is of node {node}",
                shown(self.walk.path())
            ))
            .help("give the files of the recording their former names"));
        }
        if loader.arguments.id.is_some_and(|id| id != node) {
            return Err(nothing(loader.arguments));
        }
        let components = loader.components(head, self.walk.path(), environment)?;
        self.replayed.begin(head, components)?;
        if loader.arguments.log.is_some() {
            let player = || Ok::<_, Failure>(Player::new(components.plugin.machine()?, head.owner.clone()));
            match &mut self.lines {
                None => self.lines = Some(Lines::new(player()?)),
                Some(lines) if head.begins == Begins::Start => lines.replay_with(player()?),
                Some(_) => {}
            }
            self.lines.iter_mut().for_each(|lines| lines.begin(head));
        }
        Ok(())
    }
}

/// The component that was recorded, and another version, under some limits.
struct Loaded {
    limits: Given,
    plugin: LoadedPlugin,
    other: Option<LoadedPlugin>,
}

/// Loads components: each process of a recording can have run under limits of its own.
struct Loader<'a> {
    arguments: &'a LiveReplayArguments,
    /// The owner of the first segment, whose component all have.
    owner: OnceCell<Owner>,
    slots: [OnceCell<Loaded>; LIMITS_MAX],
}

impl Loader<'_> {
    /// The components under the limits of a segment.
    fn components(
        &self,
        head: &Head,
        segment: &Path,
        environment: &mut Environment<'_>,
    ) -> Result<Components<'_>, Failure> {
        let owner = self.owner.get_or_init(|| head.owner.clone());
        if head.owner.digest != owner.digest {
            let Owner { node, plugin, digest, .. } = &head.owner;
            return Err(Failure::configuration(format_args!(
                "node {node} was recorded with another component: {plugin} ({digest})"
            ))
            .help("replay one node after the other with `--id`, each with its own component"));
        }
        let file = format_args!("the recording {}", shown(segment));
        let limits = limits::over_recorded(&self.arguments.limits.given(), &head.limits, file)?;
        let slot = self.slots.iter().find(|slot| slot.get().is_none_or(|loaded| loaded.limits == limits));
        let Some(slot) = slot else {
            return Err(Failure::configuration(format_args!(
                "the processes of the recording have run under more than {LIMITS_MAX} different limits"
            ))
            .help("replay its segments one by one"));
        };
        let loaded = match slot.get() {
            Some(loaded) => loaded,
            None => {
                let load = |path: &PathBuf, environment: &mut Environment<'_>| {
                    let source = self.arguments.source.into();
                    plugin_source::load(path, source, limits::effective(&limits), &mut environment.context())
                };
                let plugin = load(&self.arguments.plugin, environment)?;
                check_plugin(owner, &plugin)?;
                let other = self.arguments.against.as_ref().map(|path| load(path, environment)).transpose()?;
                slot.get_or_init(|| Loaded { limits, plugin, other })
            }
        };
        let other = loaded.other.as_ref().map(LoadedPlugin::factory);
        Ok(Components { plugin: loaded.plugin.factory(), other })
    }
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
