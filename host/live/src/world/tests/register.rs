//! A register that clients write and read at any node.
//!
//! Attiya, Bar-Noy and Dolev, "Sharing Memory Robustly in Message-Passing Systems", JACM 1995, with several writers as in Lynch and
//! Shvartsman, FTCS 1997. The value and its tag are durable, an operation is not: one that a crash interrupts is never answered. They are
//! the result of `persist`, or the last entry of the durable map, from which each write deletes the one before.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use host_model::contract::aspects::{Clients, Durable, Storage, Transfer};
use host_model::contract::{
    DurableMap, Effects, Envelope, Fault, Input, LocalEvent, LocalKind, Machine, MachineError, MachineFactory, NodeId,
    NodeMap, Request, Response, Snapshot, StateOwner, Synced, TransferError,
};
use serde::{Deserialize, Serialize};

use crate::native::{captured, decode, encode, released};

/// The tag of a write: a count, with the node and its request.
type Tag = (u64, NodeId, u64);

/// The messages of an operation, by the number of its request.
#[derive(Serialize, Deserialize)]
enum Message {
    Query(u64),
    Is(u64, Tag, u64),
    Store(u64, Tag, u64),
    Stored(u64),
}

/// An operation.
#[derive(Clone, Serialize, Deserialize)]
struct Operation {
    /// The value, if it is a write.
    write: Option<u64>,
    is_storing: bool,
    tag: Tag,
    value: u64,
    heard: BTreeSet<NodeId>,
}

/// A node.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Register {
    me: NodeId,
    nodes: u32,
    tag: Tag,
    value: u64,
    operations: BTreeMap<u64, Operation>,
}

/// The event of a request, which a replay offers in addition to those that the node lists.
type Offered = Arc<Mutex<Option<LocalEvent>>>;

/// Nodes of the register.
#[derive(Clone, Default)]
pub(super) struct Registers {
    pub(super) offered: Offered,
    /// Whether a node acknowledges a write that it has not stored: a defect of the protocol, which seeds must find.
    pub(super) forgets: bool,
    /// Whether the durable state is in the durable map.
    pub(super) is_in_map: bool,
    /// Whether a node that has the durable state in the map syncs it before it acknowledges a write; none if it has no `sync`.
    pub(super) syncs: Option<bool>,
}

struct RegisterMachine {
    register: Register,
    storage: NodeMap,
    registers: Registers,
}

impl MachineFactory for Registers {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        Ok(Box::new(RegisterMachine {
            register: Register::default(),
            storage: NodeMap::default(),
            registers: self.clone(),
        }))
    }
}

impl Register {
    fn tell_all(&self, message: &Message, effects: &mut Effects) {
        let payload = encode(message);
        effects.sent.extend((0..self.nodes).map(|to| Envelope { to, payload: payload.clone() }));
    }

    /// The message that an operation waits for answers to.
    fn asks(number: u64, operation: &Operation) -> Message {
        match operation.is_storing {
            true => Message::Store(number, operation.tag, operation.value),
            false => Message::Query(number),
        }
    }

    fn take(&mut self, from: NodeId, message: &Message, effects: &mut Effects) {
        let mut reply = |message| effects.sent.push(Envelope { to: from, payload: encode(&message) });
        match *message {
            Message::Query(number) => reply(Message::Is(number, self.tag, self.value)),
            Message::Store(number, tag, value) => {
                if tag > self.tag {
                    (self.tag, self.value) = (tag, value);
                }
                reply(Message::Stored(number));
            }
            Message::Is(number, tag, value) => self.hear(from, number, Some((tag, value)), effects),
            Message::Stored(number) => self.hear(from, number, None, effects),
        }
    }

    fn hear(&mut self, from: NodeId, number: u64, read: Option<(Tag, u64)>, effects: &mut Effects) {
        let (me, majority) = (self.me, self.nodes as usize / 2 + 1);
        let Some(operation) = self.operations.get_mut(&number) else { return };
        if operation.is_storing != read.is_none() {
            return;
        }
        if let Some(read) = read {
            (operation.tag, operation.value) = read.max((operation.tag, operation.value));
        }
        operation.heard.insert(from);
        if operation.heard.len() < majority {
            return;
        }
        if operation.is_storing {
            effects.aside.answers.push((number, Response::words(200, operation.value.to_string())));
            self.operations.remove(&number);
            return;
        }
        if let Some(value) = operation.write {
            (operation.tag, operation.value) = ((operation.tag.0 + 1, me, number), value);
        }
        (operation.is_storing, operation.heard) = (true, BTreeSet::new());
        let message = Self::asks(number, operation);
        self.tell_all(&message, effects);
    }
}

impl RegisterMachine {
    /// Writes the value with its tag to the map, if it is there that they are.
    fn store(&mut self) {
        let Register { tag, value, .. } = self.register;
        if self.registers.is_in_map && found(self.storage.map()) != (tag, value) {
            let (count, node, number) = tag;
            let numbers = [count, node.into(), number];
            let key: Vec<u8> = numbers.into_iter().flat_map(u64::to_be_bytes).collect();
            self.storage.put(&key, &encode(&value));
            self.storage.delete_range(&[], Some(&key));
        }
    }
}

/// The value in a map, with its tag.
fn found(map: &DurableMap) -> (Tag, u64) {
    let Some((key, value)) = map.iter().last() else { return Default::default() };
    let (numbers, _) = key.as_chunks();
    let [count, node, number] = [0, 1, 2].map(|place| u64::from_be_bytes(numbers[place]));
    ((count, node as NodeId, number), decode(value))
}

impl Machine for RegisterMachine {
    fn restore(&mut self, snapshot: Option<&Snapshot>) -> Result<(), MachineError> {
        self.register = snapshot.map_or_else(Register::default, released);
        self.storage = NodeMap::new(snapshot.and_then(Snapshot::map).cloned().unwrap_or_default());
        Ok(())
    }

    fn handle(&mut self, input: Input<'_>, _: &[u32], effects: &mut Effects) -> Result<(), Fault> {
        *effects = Effects::default();
        let register = &mut self.register;
        match input {
            Input::Init { node, nodes, durable, .. } => {
                let map = durable.map(|durable| durable.map.clone()).unwrap_or_default();
                let persisted = durable.and_then(|durable| durable.persisted.as_deref());
                let (tag, value) = persisted.map_or_else(|| found(&map), decode);
                self.storage = NodeMap::new(map);
                *register = Register { me: node, nodes, tag, value, operations: BTreeMap::new() };
            }
            Input::Message { src, payload } => {
                let before = (register.tag, register.value);
                register.take(src, &decode(payload), effects);
                if self.registers.forgets {
                    (register.tag, register.value) = before;
                }
            }
            Input::Local(event) if event.kind == LocalKind::Application => {
                let (number, write) = decode(&event.payload);
                let fresh = Operation { write, is_storing: false, tag: (0, 0, 0), value: 0, heard: BTreeSet::new() };
                register.operations.insert(number, fresh);
                register.tell_all(&Message::Query(number), effects);
            }
            Input::Local(_) => {
                for (number, operation) in &register.operations {
                    let payload = encode(&Register::asks(*number, operation));
                    let silent = (0..register.nodes).filter(|node| !operation.heard.contains(node));
                    effects.sent.extend(silent.map(|to| Envelope { to, payload: payload.clone() }));
                }
            }
            Input::Quorum { .. } | Input::TransportError { .. } => {}
        }
        self.store();
        effects.synced = match self.registers.syncs {
            None => Synced::AtTheEnd,
            Some(true) => {
                self.storage.sync();
                self.storage.take_synced()
            }
            Some(false) => Synced::Nothing,
        };
        effects.written = self.storage.take_written();
        Ok(())
    }

    fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
        Ok(encode(&(&self.register, self.storage.map().fingerprint())))
    }

    fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
        let retry = LocalEvent { name: "retry".into(), kind: LocalKind::Timer, payload: Vec::new() };
        let retry = (!self.register.operations.is_empty()).then_some(retry);
        let offered = self.registers.offered.lock().expect("no test panics with it in hand").clone();
        Ok(retry.into_iter().chain(offered).collect())
    }

    fn capture(&mut self) -> Snapshot {
        self.storage.in_snapshot(captured(&self.register))
    }

    host_model::without_properties!();

    host_model::offers!(Durable, Storage, Clients, Transfer);
}

impl Durable for RegisterMachine {
    fn persist(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        Ok((!self.registers.is_in_map).then(|| encode(&(self.register.tag, self.register.value))))
    }
}

impl Storage for RegisterMachine {
    fn map(&mut self) -> DurableMap {
        self.storage.map().clone()
    }
}

impl Clients for RegisterMachine {
    fn request(&mut self, number: u64, request: &Request) -> Result<Result<LocalEvent, Response>, Fault> {
        let write: Option<u64> = (request.method == "PUT").then(|| decode(&request.body));
        Ok(Ok(LocalEvent { name: "ask".into(), kind: LocalKind::Application, payload: encode(&(number, write)) }))
    }
}

impl Transfer for RegisterMachine {
    fn export(&mut self, snapshot: &Snapshot, _: StateOwner<'_>) -> Result<Vec<u8>, TransferError> {
        Ok(encode(&(released::<Register>(snapshot), snapshot.map().map(DurableMap::to_bytes).unwrap_or_default())))
    }

    fn import(&mut self, exported: &[u8], owner: StateOwner<'_>) -> Result<Snapshot, TransferError> {
        let (register, map): (Register, Vec<u8>) = decode(exported);
        assert_eq!((register.me, register.nodes), (owner.node, owner.nodes), "it is a state of that node");
        let map = DurableMap::from_bytes(&map).expect("it was exported");
        Ok(NodeMap::new(map).in_snapshot(captured(&register)))
    }
}
