//! What goes wrong in a world, and how often.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::node::Settings;
use crate::simulator::Phase;
use crate::time::{Range, Share};

/// Something that comes again and again, and lasts for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trouble {
    /// The mean time between two beginnings; at least 1 ns.
    pub every: Duration,
    /// How long it lasts.
    pub lasting: Range,
}

/// How frames of a node to itself travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// They do not travel: the node takes them at once.
    AtOnce,
    /// They take as long as this, and are never lost.
    Within(Range),
    /// Like any other.
    LikeOthers,
}

/// What happens to a cluster, and around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The seed of all that is drawn.
    pub seed: u64,
    /// Number of nodes.
    pub nodes: u32,
    /// The parameters of the protocol, one `key=value` a line.
    pub config: String,
    /// How nodes behave; each start has a seed of its own.
    pub settings: Settings,
    /// How long a frame is on its way. On links with an order, it also waits for those before it.
    pub latency: Range,
    /// The same of a frame of a node to itself.
    pub own: Own,
    /// Frames that are lost, on links without an order.
    pub loss: Share,
    /// Frames that come twice, on links without an order.
    pub repeats: Share,
    /// Times in which a node does not reach another one, while the other may reach it. On links with an order, frames wait for the end.
    pub cuts: Option<Trouble>,
    /// Times in which some nodes and the others do not reach each other, the next one after the end of the last.
    pub divisions: Option<Trouble>,
    /// The mean time between two breaks of connections, on links with an order.
    pub breaks: Option<Duration>,
    /// Kills of processes, and how long one is down. A kill interrupts what the disk does, and what it has not synchronised may be torn.
    pub kills: Option<Trouble>,
    /// How long a process is down that something else has ended; as long as a frame travels if there is no range.
    pub down: Option<Range>,
    /// Phases of the run, if it follows a script.
    pub script: Vec<Phase>,
    /// Disks that are lost with the process of their node, which then hears nothing for a while, and may be started several times. It rejoins
    /// once it has heard that others know it. Without snapshots: what they show of the lost disk is undone.
    pub losses: Option<Trouble>,
    /// How long a record takes to be written.
    pub writing: Range,
    /// Writes for which the disk has no room: the process ends, and is started again.
    pub full: Share,
    /// Times in which a process does nothing: what comes waits.
    pub pauses: Option<Trouble>,
    /// Jumps of clocks, ahead or back, by so much.
    pub jumps: Option<Trouble>,
    /// The mean time between two snapshots that some node asks for.
    pub snapshots: Option<Duration>,
    /// The mean time between two requests of clients.
    pub requests: Option<Duration>,
    /// How long something goes wrong.
    pub time: Duration,
    /// How long nothing does afterwards, with all nodes up.
    pub calm: Duration,
}

impl Plan {
    /// Whether a disk can lose something, or have no room.
    pub(super) fn tries_disks(&self) -> bool {
        let resets = self.script.iter().any(|phase| !phase.resets.is_empty());
        self.kills.is_some() || self.losses.is_some() || resets || self.full > Share(0)
    }

    /// One in which nothing goes wrong.
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
