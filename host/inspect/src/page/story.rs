//! A trace and its steps in words: the finding, what its property reads, marks, and each step in words.

use host_model::trace::{PluginRef, Trace};

use crate::explain;
use crate::marks::marks;
use crate::page::shapes::{About, Mark, MarkKind, Reads};
use crate::recording::Recording;
use crate::words::{clipped, on_one_line, shortened};

/// Letters of a line, and lines about a step or about the finding.
const LETTERS_MAX: usize = 1_000;
const LINES_MAX: usize = 100;

/// Letters of the command that replays a trace.
const REPLAY_LETTERS_MAX: usize = 4_096;

/// The maximum number of components that are named.
const COMPONENTS_MAX: usize = 64;

/// A trace in words.
#[derive(Clone, Debug, Default)]
pub struct Story {
    /// The finding, then the fields that its property reads, line by line; empty if nothing is violated.
    pub verdict: Vec<String>,
    /// The fields that the violated property reads.
    pub reads: Vec<Reads>,
    /// The nodes that have crashed by the end, of a deadlock.
    pub crashed: Vec<u32>,
    /// The effects of the steps in words; that of the beginning first.
    pub lines: Vec<Vec<String>>,
    /// Remarks on the steps with these numbers, counted from 1.
    marks: Vec<(usize, MarkKind, String)>,
}

impl Story {
    /// The story of a recording whose first steps are a prefix.
    pub fn new(recording: &Recording, prefix: usize) -> Self {
        let verdict = recording.finding().map(|(node, finding)| explain::verdict(recording, finding, node));
        let read = explain::views(recording);
        let verdict = verdict.iter().flat_map(|verdict| verdict.lines().chain(read.lines()));
        let start = explain::start(recording);
        let start: Vec<String> = start.lines().skip(1).map(str::trim_start).take(LINES_MAX).map(clean).collect();
        let of_step =
            |number| -> Vec<String> { explain::lines(recording, number).iter().map(|it| clean(it)).collect() };
        Self {
            verdict: verdict.take(LINES_MAX).map(clean).collect(),
            reads: reads(recording),
            crashed: recording.crashed.clone(),
            lines: std::iter::once(start).chain((1..=recording.steps.len()).map(of_step)).collect(),
            marks: numbered(recording, prefix),
        }
    }

    /// The marks of the steps, whose places these are, the beginning first.
    pub fn marks(&self, line: &[usize]) -> Vec<Mark> {
        let mark = |(number, kind, text): &(usize, MarkKind, String)| {
            Some(Mark { place: *line.get(*number)?, kind: *kind, text: text.clone() })
        };
        self.marks.iter().filter_map(mark).collect()
    }
}

fn numbered(recording: &Recording, prefix: usize) -> Vec<(usize, MarkKind, String)> {
    let steps = recording.steps.len();
    let mut all: Vec<(usize, MarkKind, String)> = Vec::new();
    if prefix > 0 {
        all.push((prefix, MarkKind::After, "end of the prefix".to_owned()));
    }
    for (number, mark) in (1..).zip(marks(recording).steps) {
        all.extend(mark.map(|change| (number, MarkKind::Ring, clean(&change))));
    }
    if let Some(critical) = recording.trace.promise().and_then(|promise| promise.critical) {
        all.push((critical, MarkKind::Critical, "the critical step: before it, the promise is kept".to_owned()));
    }
    if let Some(start) = explain::loop_start(recording) {
        all.push((start + 1, MarkKind::Before, "what follows happens again and again".to_owned()));
        all.push((steps, MarkKind::After, format!("and again from step {} on, for ever", start + 1)));
    }
    all
}

/// The fields that the violated property reads, node by node.
fn reads(recording: &Recording) -> Vec<Reads> {
    let Some(property) = recording.read_property() else { return Vec::new() };
    let fields = marks(recording).fields.into_iter();
    let of_node = |(node, fields): (u32, std::collections::BTreeSet<String>)| Reads {
        property,
        node,
        paths: fields.into_iter().take(LINES_MAX).map(|field| clean(&field)).collect(),
    };
    fields.map(of_node).collect()
}

/// The components that the trace was recorded with.
pub fn components(trace: &Trace) -> Vec<About> {
    let named = |plugin: &PluginRef, nodes: String| {
        let version = plugin.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        let digest = plugin.digest.as_deref().unwrap_or("any build");
        About { name: clean(&format!("{}{version}{nodes}", plugin.name)), value: clean(digest) }
    };
    let placed = trace.placements.iter().filter_map(|placed| Some((placed.node, placed.plugin.as_ref()?)));
    let placed = placed.map(|(node, plugin)| named(plugin, format!(" of node {node}")));
    std::iter::once(named(&trace.plugin, String::new())).chain(placed).collect()
}

/// The first of them, and the command that replays the trace.
pub fn about(trace: &Trace, replay: Option<&str>) -> Vec<About> {
    let mut all = components(trace);
    if all.len() > COMPONENTS_MAX {
        let more = all.len() - COMPONENTS_MAX;
        all.truncate(COMPONENTS_MAX);
        all.push(About { name: "components".to_owned(), value: format!("and {more} more") });
    }
    let replay = replay.map(|replay| clipped(&on_one_line(replay), REPLAY_LETTERS_MAX));
    all.extend(replay.map(|value| About { name: "replay".to_owned(), value }));
    all
}

fn clean(text: &str) -> String {
    clipped(&shortened(on_one_line(text)), LETTERS_MAX)
}
