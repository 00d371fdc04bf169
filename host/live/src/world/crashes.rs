//! Processes that begin and end, and what their disks do meanwhile.

use std::collections::VecDeque;

use host_model::contract::NodeId;
use host_model::scenario::Network;

use crate::disk::records::{self, Wrong};
use crate::disk::{Disk, Files, Owner, Trouble, Ways};
use crate::gate::Gate;
use crate::node::{Failure, Node, Record, Refusal, Settings};
use crate::world::chance::Purpose;
use crate::world::driver::{PATIENCE, World};
use crate::world::files::{DiskOfWorld, FileError};
use crate::world::history::Start;
use crate::world::input::Input;
use crate::world::place::{Running, Writing};
use crate::world::plan;
use crate::world::recorder::Recorder;

/// The maximum number of operations on files in a write, and in a start.
const OPERATIONS_MAX: u64 = 8;
/// The length in bytes from which a file is replaced: low, so that it happens often.
const FILE_MAX: u64 = 500;

impl<G: Gate> World<'_, G> {
    /// The disk has finished its write.
    pub(super) fn write(&mut self, me: NodeId) -> Result<(), String> {
        let is_full = !self.is_calm && self.chance.is_in(Purpose::Writes, self.plan.full);
        let room = is_full.then(|| self.chance.below(Purpose::Writes, 200) as usize);
        let Some(running) = self.running(me) else { return Ok(()) };
        let Some(Writing { ticket, record, written }) = running.writing.take() else { return Ok(()) };
        let result = running.disk.as_mut().map_or(Ok(()), |disk| {
            disk.files_mut().set_room(room);
            disk.write(&record, &written)?;
            disk.files_mut().set_room(None);
            Ok(())
        });
        match result {
            Ok(()) => {
                running.on_disk = ticket;
                running.node.persisted(ticket);
                self.places[me as usize].acknowledged = Some(record);
                Ok(())
            }
            Err(Trouble::Files(FileError::Full)) => {
                self.count("full");
                self.end(me, Some(Writing { ticket, record, written }))
            }
            Err(trouble) => Err(format!("node {me} cannot write: {trouble:?}")),
        }
    }

    /// A process is killed, if the model allows it to start again.
    pub(super) fn kill_if_allowed(&mut self, me: NodeId) -> Result<(), String> {
        if self.model.is_none_or(|model| model.can_restart(me)) { self.kill(me) } else { Ok(()) }
    }

    /// Kills a process, in the middle of an operation of its disk.
    pub(super) fn kill(&mut self, me: NodeId) -> Result<(), String> {
        let operations = self.chance.below(Purpose::Crashes, OPERATIONS_MAX) as u32;
        let Some(running) = self.running(me) else { return Ok(()) };
        let writing = running.writing.take();
        if let (Some(Writing { record, written, .. }), Some(disk)) = (&writing, &mut running.disk) {
            disk.files_mut().crash_after(operations);
            // The disk shows at the next start whether the write was completed.
            let _ = disk.write(record, written);
        }
        self.count("kill");
        self.end(me, writing)
    }

    /// Kills a process, and loses its disk: the node receives nothing for a while.
    pub(super) fn lose(&mut self, trouble: plan::Trouble) -> Result<(), String> {
        self.add_around(Purpose::Disks, trouble.every, Input::Lose(trouble));
        let me = self.some_node(Purpose::Disks);
        let Some(running) = self.running(me) else { return Ok(()) };
        running.writing = None;
        self.count("lost disk");
        self.end(me, None)?;
        let place = &mut self.places[me as usize];
        (place.files, place.acknowledged) = (DiskOfWorld::default(), None);
        let end = self.now.after(self.chance.within(Purpose::Disks, trouble.lasting));
        self.cuts.extend((0..self.plan.nodes).map(|peer| ((peer, me), end)));
        Ok(())
    }

    /// A node refuses a frame where disks are lost.
    pub(super) fn hear_of_loss(&mut self, me: NodeId, refusal: Refusal) -> Result<(), String> {
        match refusal {
            Refusal::OtherDisk(_) => self.count("other disk"),
            Refusal::TwoOfOne(_) => self.count("two of one"),
            _ => return self.note_loss(me, refusal),
        }
        Ok(())
    }

    /// A node refuses a frame as it has lost its own disk: its next start knows.
    fn note_loss(&mut self, me: NodeId, refusal: Refusal) -> Result<(), String> {
        let Some((start, disk)) = refusal.known() else {
            return Err(format!("node {me} refuses what another node has sent: {refusal}"));
        };
        let Some(own) = self.running(me).and_then(|running| running.disk.as_mut()) else { return Ok(()) };
        own.note_known(start, disk).map_err(|error| format!("node {me} has no note: {error:?}"))
    }

    /// A process has ended, and with it the machine: the contents of the disk decide which events have happened.
    pub(super) fn end(&mut self, me: NodeId, writing: Option<Writing>) -> Result<(), String> {
        let lasting = self.plan.kills.map(|kills| kills.lasting).or(self.plan.down).unwrap_or(self.plan.latency);
        let down = self.chance.within(Purpose::Kills, lasting);
        self.agenda.add(self.now.after(down), Input::Up(me));
        match self.links() {
            // They break when the process is started again.
            Some(_) => self.keep_waiting(me),
            None => self.break_connections_of(me),
        }
        self.asked.retain(|(node, _), _| *node != me);
        self.note_counts(me);
        let place = &mut self.places[me as usize];
        let Some(running) = place.running.take() else { return Ok(()) };
        let (of, mut on_disk) = (running.start(me), running.on_disk);
        place.files = running.disk.map_or_else(DiskOfWorld::default, Disk::into_files);
        place.files.crash(self.chance.dice(Purpose::Crashes));
        let last =
            last_record(&mut place.files).map_err(|why| format!("after a crash, the file of node {me} is {why}"))?;
        place.pending = None;
        if let Some(Writing { ticket, record, .. }) = writing {
            if last.as_ref() == Some(&record) {
                on_disk = ticket;
            }
            place.pending = Some(record);
        }
        self.history.undo(of, on_disk);
        Ok(())
    }

    /// A process is started.
    pub(super) fn start(&mut self, me: NodeId) -> Result<(), String> {
        let (owner, crashes) = (self.owner(me), !self.is_calm && self.chance.below(Purpose::Crashes, 4) == 0);
        let operations = self.chance.below(Purpose::Crashes, OPERATIONS_MAX) as u32;
        let place = &mut self.places[me as usize];
        if place.running.is_some() {
            return Ok(());
        }
        let mut files = std::mem::take(&mut place.files);
        // The disk of the first start is there. Where events are a path of the model, disks write at once.
        if crashes && !self.is_path && self.plan.kills.is_some() && place.starts > 0 {
            files.crash_after(operations);
            let mut again = files.clone();
            if let Err(Trouble::Files(FileError::Crashed)) = Disk::open(&mut again, &owner, Ways::default()) {
                again.crash(self.chance.dice(Purpose::Crashes));
                place.files = again;
                self.count("crash at a start");
                self.agenda.add(self.now.after(PATIENCE), Input::Up(me));
                return Ok(());
            }
            files = again;
            files.crash(self.chance.dice(Purpose::Crashes));
        }
        let (disk, record, rejoins) = self.opened(me, files, &owner)?;
        let place = &mut self.places[me as usize];
        if !rejoins && record != place.acknowledged && (record.is_none() || record != place.pending) {
            return Err(format!("node {me} starts with {record:?}, and {:?} was acknowledged", place.acknowledged));
        }
        (place.acknowledged, place.pending) = (record.clone(), None);
        place.starts += 1;
        place.clock += 1;
        let (clock, now) = (place.clock, place.local(self.now));
        let session = self.session(me);
        let settings = Settings { seed: self.plan.seed ^ session << 16, ..self.plan.settings };
        let identity = self.identity(me, session);
        let gate =
            Recorder::new(me, (self.gate)(me), self.model).forgetting(self.history.forgets).called(self.lets_call(me));
        let machine = match &self.model {
            Some(model) => Ok(model.machine(me)),
            None => self.factory.machine(),
        };
        let node = machine.map_err(Failure::from);
        let node =
            node.and_then(|machine| Ok(Node::start_on(machine, self.factory, identity, settings, gate, record, now)?));
        let mut node = node.map_err(|failure| failure.to_string())?;
        let of = Start { node: me, life: node.disk().drawn, incarnation: node.incarnation() };
        self.history.rejoins.insert((me, of.life), node.disk().rejoins);
        self.history.note(of, clock, node.gate_mut().take());
        self.history.checkpoint(of, node.number(), clock);
        let own = VecDeque::new();
        let advisor = self.advisor(me)?;
        let running = Running { node, advisor, disk, writing: None, on_disk: 0, own, wake: None, paused: None };
        self.places[me as usize].running = Some(running);
        if self.links().is_some() {
            self.post_notices();
            self.execute_outputs(me)?;
            return self.take_waiting(me);
        }
        // A process knows of no connections before its own.
        for peer in 0..self.plan.nodes {
            let number = self.connections.begin(me, peer);
            if self.plan.settings.network == Network::Ordered && peer != me {
                self.history.lose(of, peer, number);
            }
        }
        for frame in std::mem::take(&mut self.places[me as usize].waiting) {
            self.agenda.add(self.now, frame);
        }
        self.execute_outputs(me)
    }

    /// The disk with these files, if disks can fail, the last record on it, and whether the node rejoins.
    fn opened(&mut self, me: NodeId, files: DiskOfWorld, owner: &Owner) -> Result<Opened, String> {
        if !self.plan.tries_disks() {
            return Ok((None, None, false));
        }
        let ways = if self.plan.losses.is_some() { ways(&files, owner) } else { Ways::default() };
        if ways.rejoins {
            self.count("rejoin");
        }
        let opened = Disk::open(files, owner, ways);
        let (disk, record) = opened.map_err(|trouble| format!("node {me} cannot open its file: {trouble:?}"))?;
        let disk = disk.with_file_max(FILE_MAX);
        // The states of these nodes are short: a whole record would be shorter.
        let disk = if me.is_multiple_of(2) { disk.with_changes_always() } else { disk };
        Ok((Some(disk), record, ways.rejoins))
    }
}

/// A disk, the last record on it, and whether its node rejoins.
type Opened = (Option<Disk<DiskOfWorld>>, Option<Record>, bool);

/// The permissions for a start with these files: a node that is known by another disk or a later start rejoins.
fn ways(files: &DiskOfWorld, owner: &Owner) -> Ways {
    let opened = Disk::open(&mut files.clone(), owner, Ways::default()).err();
    Ways { rejoins: matches!(opened, Some(Trouble::Later(_) | Trouble::OtherDisk)), ..Ways::default() }
}

/// The last record in the file of a node.
fn last_record(files: &mut DiskOfWorld) -> Result<Option<Record>, &'static str> {
    let Ok(Some(bytes)) = files.read() else { return Ok(None) };
    match records::read(&bytes) {
        Ok(content) => Ok(content.last),
        Err(Wrong::Damaged(_)) => Err("damaged"),
        Err(Wrong::Foreign) => Err("that of another program"),
    }
}
