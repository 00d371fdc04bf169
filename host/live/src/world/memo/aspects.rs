//! The optional interfaces of a machine that looks handlers up.

use host_model::contract::aspects::{
    Clients, Completion, Durable, Judging, Logging, Neighbourhood, Quorums, Storage, Timing, Transfer,
};
use host_model::contract::{
    DurableMap, Fault, LocalEvent, Machine, MachineError, NodeId, Quorum, Request, Response, Role, Snapshot, Span,
    StateOwner, TransferError,
};
use host_model::scenario::FaultState;

use crate::world::memo::{Memo, captured, released};

impl Durable for Memo<'_, '_> {
    fn persist(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        Ok(self.memory().known(self.here())?.durable.clone())
    }
}

impl Storage for Memo<'_, '_> {
    fn map(&mut self) -> DurableMap {
        let (memory, here) = (self.memory(), self.here());
        let snapshot = memory.stepper.state(here).protocol.snapshot.as_ref();
        snapshot.and_then(Snapshot::map).cloned().unwrap_or_default()
    }
}

impl Quorums for Memo<'_, '_> {
    fn takes_quorums(&mut self) -> Result<bool, Fault> {
        Ok(self.memory().stepper.known().takes_quorums(self.node))
    }

    fn role(&mut self, src: NodeId, payload: &[u8]) -> Result<Role<Quorum>, Fault> {
        self.ask(|machine| machine.role(src, payload))
    }
}

impl Completion for Memo<'_, '_> {
    fn is_done(&mut self) -> Result<bool, Fault> {
        self.ask(|machine| machine.is_done())
    }
}

impl Timing for Memo<'_, '_> {
    fn duration(&mut self, event: &LocalEvent) -> Result<Option<Span>, Fault> {
        let (mut memory, here) = (self.memory(), self.here());
        let known = memory.known(here)?;
        let Some(place) = known.local_events.iter().position(|(_, listed)| listed == event) else {
            drop(memory);
            return self.ask(|machine| machine.duration(event));
        };
        if let Some(span) = known.spans[place] {
            return Ok(span);
        }
        drop(memory);
        let span = self.ask(|machine| machine.duration(event))?;
        self.memory().known(here)?.spans[place] = Some(span);
        Ok(span)
    }
}

impl Clients for Memo<'_, '_> {
    fn request(&mut self, number: u64, request: &Request) -> Result<Result<LocalEvent, Response>, Fault> {
        self.ask(|machine| machine.request(number, request))
    }
}

impl Neighbourhood for Memo<'_, '_> {
    fn neighbours(&mut self) -> Result<Option<Vec<NodeId>>, Fault> {
        let mut memory = self.memory();
        let neighbours = memory.stepper.neighbours(self.here());
        memory.told(neighbours)?
    }
}

impl Transfer for Memo<'_, '_> {
    fn export(&mut self, snapshot: &Snapshot, _owner: StateOwner<'_>) -> Result<Vec<u8>, TransferError> {
        let (mut memory, here) = (self.memory(), released(snapshot));
        if let Some(exported) = memory.known.get(&here).and_then(|known| known.exported.clone()) {
            return Ok(exported);
        }
        let exported = memory.stepper.export(here)?;
        if let Some(known) = memory.known.get_mut(&here) {
            known.exported = Some(exported.clone());
        }
        Ok(exported)
    }

    fn import(&mut self, exported: &[u8], owner: StateOwner<'_>) -> Result<Snapshot, TransferError> {
        let fault_state = FaultState::default();
        Ok(captured(self.memory().stepper.adopt(owner.node, exported, fault_state)?))
    }
}

impl Judging for Memo<'_, '_> {
    fn restore_to_judge(&mut self) -> Result<(), MachineError> {
        self.restore(None)
    }

    fn is_read(&mut self) -> Result<bool, Fault> {
        self.ask(|machine| machine.is_read())
    }
}

impl Logging for Memo<'_, '_> {
    fn keep_log(&mut self, keep: bool) {
        let mut memory = self.memory();
        if memory.keeps_log != keep {
            memory.keeps_log = keep;
            memory.machine.keep_log(keep);
            memory.ran.clear();
        }
    }
}
