//! Protocols given by functions over integers: longer, wider and heavier than the tables of toys.

use host_model::contract::{
    Effects, Envelope, Fault, Input, LocalEvent, LocalKind, Machine, MachineError, MachineFactory, NodeId, Property,
    PropertyKind, PropertyScope, Snapshot,
};

/// The state after a handler, and the messages sent.
pub type Moved = (u64, Vec<(NodeId, Vec<u8>)>);

/// A protocol. Every node begins in state 0, and a message without a rule changes nothing.
#[derive(Clone, Copy)]
pub struct Program {
    /// The numbers of the local events in a state.
    pub events: fn(NodeId, u64) -> Vec<u64>,
    /// The effect of a local event.
    pub on_event: fn(NodeId, u64, u64) -> Moved,
    /// The effect of a message.
    pub on_message: fn(NodeId, u64, &[u8]) -> Moved,
    /// The kind of the only property, of node scope.
    pub kind: PropertyKind,
    /// Whether it does not hold in a state.
    pub is_bad: fn(NodeId, u64) -> bool,
    /// The number of extra bytes in the encoding of a state.
    pub padding: fn(u64) -> usize,
    /// The number of extra words in a snapshot.
    pub ballast: usize,
}

impl Default for Program {
    /// A program without events, in which no state is bad.
    fn default() -> Self {
        Self {
            events: |_, _| Vec::new(),
            on_event: |_, state, _| (state, Vec::new()),
            on_message: |_, state, _| (state, Vec::new()),
            kind: PropertyKind::Always,
            is_bad: |_, _| false,
            padding: |_| 0,
            ballast: 0,
        }
    }
}

impl MachineFactory for Program {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        Ok(Box::new(Node { program: *self, node: 0, state: 0 }))
    }

    fn hears_errors(&self) -> bool {
        false
    }
}

struct Node {
    program: Program,
    node: NodeId,
    state: u64,
}

impl Machine for Node {
    fn restore(&mut self, snapshot: Option<&Snapshot>) -> Result<(), MachineError> {
        (self.node, self.state) =
            snapshot.map_or((0, 0), |snapshot| (snapshot.words()[0] as NodeId, snapshot.words()[1]));
        Ok(())
    }

    fn handle(&mut self, input: Input<'_>, _script: &[u32], effects: &mut Effects) -> Result<(), Fault> {
        *effects = Effects::default();
        let (next, sent) = match input {
            Input::Init { node, .. } => {
                self.node = node;
                (0, Vec::new())
            }
            Input::Message { payload, .. } => (self.program.on_message)(self.node, self.state, payload),
            Input::Local(event) => {
                let number = event.payload.as_slice().try_into().expect("eight bytes");
                (self.program.on_event)(self.node, self.state, u64::from_le_bytes(number))
            }
            Input::Quorum { .. } | Input::TransportError { .. } => (self.state, Vec::new()),
        };
        self.state = next;
        effects.sent = sent.into_iter().map(|(to, payload)| Envelope { to, payload }).collect();
        Ok(())
    }

    fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
        let mut encoding = self.state.to_le_bytes().to_vec();
        encoding.resize(encoding.len() + (self.program.padding)(self.state), 0);
        Ok(encoding)
    }

    fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
        let event = |number: u64| LocalEvent {
            name: "event".to_owned(),
            kind: LocalKind::Internal,
            payload: number.to_le_bytes().to_vec(),
        };
        Ok((self.program.events)(self.node, self.state).into_iter().map(event).collect())
    }

    fn view(&mut self, _property: u32) -> Result<Option<Vec<u8>>, Fault> {
        let is_bad = (self.program.is_bad)(self.node, self.state);
        // Without a view an `always` property holds, and no other does.
        Ok((is_bad || self.program.kind != PropertyKind::Always).then(|| vec![u8::from(is_bad)]))
    }

    fn capture(&mut self) -> Snapshot {
        let mut words = vec![u64::from(self.node), self.state];
        words.resize(2 + self.program.ballast, 0);
        Snapshot::new(&words)
    }

    fn properties(&mut self) -> Result<Vec<Property>, Fault> {
        let (kind, scope) = (self.program.kind, PropertyScope::Node);
        Ok(vec![Property { name: "good".to_owned(), kind, scope }])
    }

    fn invariant(&mut self, _property: u32, views: &[Option<&[u8]>]) -> Result<Result<(), String>, Fault> {
        Ok(if views == [Some(&[0][..])] { Ok(()) } else { Err("a bad state".to_owned()) })
    }
}
