//! The faults of a world, and their rates.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::node::Settings;
use crate::simulator::Phase;
use crate::time::{Range, Share};

/// A recurring fault that lasts for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trouble {
    /// The mean time between two beginnings; at least 1 ns.
    pub every: Duration,
    /// The duration.
    pub lasting: Range,
}

/// The delivery of frames from a node to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// The node takes them at once.
    AtOnce,
    /// They have this latency, and are never lost.
    Within(Range),
    /// They are like all others.
    LikeOthers,
}

/// The plan of a world: a cluster, its faults and its clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The seed of all random draws.
    pub seed: u64,
    /// Number of nodes.
    pub nodes: u32,
    /// The parameters of the protocol, one `key=value` per line.
    pub config: String,
    /// The settings of nodes; each start has a seed of its own.
    pub settings: Settings,
    /// The latency of frames. On ordered links, a frame also waits for those before it.
    pub latency: Range,
    /// The delivery of frames from a node to itself.
    pub own: Own,
    /// The share of frames that are lost, on unordered links.
    pub loss: Share,
    /// The share of frames that are duplicated, on unordered links.
    pub repeats: Share,
    /// One-way cuts: a node does not reach another one, which may reach it. On ordered links, frames wait for the end.
    pub cuts: Option<Trouble>,
    /// Divisions into two parts that do not reach each other, each after the end of the last one.
    pub divisions: Option<Trouble>,
    /// The mean time between two breaks of connections, on ordered links.
    pub breaks: Option<Duration>,
    /// Kills of processes, and their downtime. A kill interrupts the disk, and data that was not synchronised may be torn.
    pub kills: Option<Trouble>,
    /// The downtime of a process that ended for another reason; if none, the latency of a frame.
    pub down: Option<Range>,
    /// Phases of the run, if it follows a script.
    pub script: Vec<Phase>,
    /// Losses of a disk together with its process. The node then receives nothing for a while, may be started several times, and rejoins
    /// once it has learnt that others know it. Not with snapshots, which would contain undone events of the lost disk.
    pub losses: Option<Trouble>,
    /// The time to write a record.
    pub writing: Range,
    /// The share of writes that fail because the disk is full: the process ends, and is started again.
    pub full: Share,
    /// Pauses of processes: inputs wait for the end.
    pub pauses: Option<Trouble>,
    /// Jumps of clocks, forwards or backwards, by the duration.
    pub jumps: Option<Trouble>,
    /// The mean time between two snapshots at random nodes.
    pub snapshots: Option<Duration>,
    /// The mean time between two requests of clients.
    pub requests: Option<Duration>,
    /// The time with faults.
    pub time: Duration,
    /// The time without faults afterwards, with all nodes up.
    pub calm: Duration,
}

impl Plan {
    /// Whether disks can lose data or be full.
    pub(super) fn tries_disks(&self) -> bool {
        let resets = self.script.iter().any(|phase| !phase.resets.is_empty());
        self.kills.is_some() || self.losses.is_some() || resets || self.full > Share(0)
    }

    /// A plan without faults.
    pub fn ideal(seed: u64, nodes: u32, settings: Settings) -> Self {
        Self {
            seed,
            nodes,
            config: String::new(),
            settings,
            latency: Range::milliseconds(1, 20),
            own: Own::AtOnce,
            loss: Share(0),
            repeats: Share(0),
            cuts: None,
            divisions: None,
            breaks: None,
            kills: None,
            down: None,
            script: Vec::new(),
            losses: None,
            writing: Range::milliseconds(0, 5),
            full: Share(0),
            pauses: None,
            jumps: None,
            snapshots: None,
            requests: None,
            time: Duration::from_secs(10),
            calm: Duration::ZERO,
        }
    }
}
