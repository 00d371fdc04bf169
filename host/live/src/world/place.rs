//! A node with its clock and its disk, whether it runs or not.

use std::collections::VecDeque;

use host_model::contract::{NodeId, WrittenKeys};

use crate::disk::Disk;
use crate::node::{Node, Record};
use crate::time::Time;
use crate::world::advisor::Advisor;
use crate::world::files::DiskOfWorld;
use crate::world::history::Start;
use crate::world::input::{Input, Parcel};
use crate::world::recorder::Recorder;

/// A record that is being written.
#[derive(Clone, Debug)]
pub(super) struct Writing {
    pub(super) ticket: u64,
    pub(super) record: Record,
    pub(super) written: WrittenKeys,
}

/// A node that runs.
pub(super) struct Running<'w, G> {
    pub(super) node: Node<'w, Recorder<'w, G>>,
    /// Its checker, if there is one.
    pub(super) advisor: Option<Advisor<'w>>,
    /// None in a world without faults of disks: each write is durable at once.
    pub(super) disk: Option<Disk<DiskOfWorld>>,
    pub(super) writing: Option<Writing>,
    /// The last record of this start that is on the disk.
    pub(super) on_disk: u64,
    /// Frames of the node to itself.
    pub(super) own: VecDeque<Parcel>,
    /// The earliest instant at which the world looks at it again.
    pub(super) wake: Option<Time>,
    /// The inputs that wait while it is paused.
    pub(super) paused: Option<Vec<Input>>,
}

/// A node, whether it runs or not.
pub(super) struct Place<'w, G> {
    pub(super) running: Option<Running<'w, G>>,
    /// Its files while it does not run.
    pub(super) files: DiskOfWorld,
    /// Frames over connections to it, which wait while it does not run: its peers cannot connect.
    pub(super) waiting: Vec<Input>,
    /// Starts so far, also those that no disk knows of.
    pub(super) starts: u64,
    /// Inputs so far, over all starts.
    pub(super) clock: u64,
    /// The time in nanoseconds that its clock is ahead.
    pub(super) ahead: i64,
    /// The last record that was acknowledged or found on the disk, and one that was being written when it was killed.
    pub(super) acknowledged: Option<Record>,
    pub(super) pending: Option<Record>,
}

impl<'w, G> Place<'w, G> {
    pub(super) fn new() -> Self {
        Self {
            running: None,
            files: DiskOfWorld::default(),
            waiting: Vec::new(),
            starts: 0,
            clock: 0,
            ahead: 0,
            acknowledged: None,
            pending: None,
        }
    }

    /// The checker of the node, if it runs and has one.
    pub(super) fn advisor(&mut self) -> Option<&mut Advisor<'w>> {
        self.running.as_mut()?.advisor.as_mut()
    }

    /// The time that its clock shows.
    pub(super) fn local(&self, now: Time) -> Time {
        Time(now.0.saturating_add_signed(self.ahead))
    }
}

impl<G: crate::gate::Gate> Running<'_, G> {
    pub(super) fn start(&self, node: NodeId) -> Start {
        Start { node, life: self.node.disk().drawn, incarnation: self.node.incarnation() }
    }
}
