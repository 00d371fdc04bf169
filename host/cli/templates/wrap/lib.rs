//! The crate {crate} {version}, unmodified, in a wrapper. README.md has the questions that the numbered places answer.

use guest_sdk::ready_made::{Budgets, Spent};
use guest_sdk::{
    About, By, Context, Distinguish, LocalEvents, NodeId, Opaque, ParameterError, Parameters, Properties, Protocol,
    Randomness,
};
use serde::{Deserialize, Serialize};
// The library compiles for a plugin. Replace this line by the imports that you need.
use the_library as _;

/// 1. The state: the library's own, and its application's.
#[derive(Debug)]
pub struct Node {
    /// In place of the library's node: the other nodes that were heard.
    heard: Vec<NodeId>,
    disk: Disk,
    /// The events charged to the budgets so far.
    spent: Spent,
    /// Messages that the library wants to send, until the handler ends.
    outbox: Vec<(NodeId, Packet)>,
}

/// The way to distinguish states. Memory is always right; see `guest_sdk::By` for identities that merge more.
impl Distinguish for Node {
    const BY: By = By::Memory;
}

guest_sdk::arena!();

/// 2. A message: that of the library. Wrap it in `guest_sdk::BySerde` if it has serde, else implement `guest_sdk::Payload`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Packet;

/// 3. The content of the disk, with which a node begins after a reset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Disk {
    starts: u32,
}

impl Node {
    /// Starts the library, the first time or after a reset.
    fn start(disk: Disk) -> Self {
        let disk = Disk { starts: disk.starts + 1 };
        Self { heard: Vec::new(), disk, spent: Spent::default(), outbox: Vec::new() }
    }

    /// Hands a message to the library.
    fn step(&mut self, from: NodeId, _: Packet) {
        if !self.heard.contains(&from) {
            self.heard.push(from);
        }
    }

    /// Time passes for the library: a timeout, a heartbeat, a retry.
    fn tick(&mut self, others: impl Iterator<Item = NodeId>) {
        self.outbox.extend(others.map(|node| (node, Packet)));
    }

    /// Sends the messages of the library. Anything that must be on disk before them is written first.
    fn flush(&mut self, ctx: &mut Context<Packet>) {
        self.outbox.drain(..).for_each(|(to, packet)| ctx.send(to, packet));
    }
}

/// 5. Events without a message: elections, ticks, calls of the application.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    Tick,
}

/// The budgets of events. Every search of all states needs a bound on events that could repeat forever.
pub struct Checked {
    budgets: Budgets<Local>,
}

impl Protocol for Checked {
    const ABOUT: About = guest_sdk::about!().nodes(3);
    /// 4. The source of randomness for the library.
    const RANDOMNESS: Randomness = Randomness::Fresh;
    type State = Opaque<Node>;
    type Message = Packet;
    type Local = Local;
    type Durable = Disk;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let ticks = parameters.get("ticks", 1, "how much time passes at each node")?;
        // A call of the application, as of a client: `.application("command", Local::Command, commands)`.
        Ok(Self { budgets: Budgets::new().timer("tick", Local::Tick, ticks) })
    }

    fn init(&self, ctx: &mut Context<Packet>, disk: Option<Disk>) -> Opaque<Node> {
        let mut node = Node::start(disk.unwrap_or_default());
        node.flush(ctx);
        Opaque::new(node)
    }

    fn handle_message(&self, ctx: &mut Context<Packet>, node: &mut Opaque<Node>, from: NodeId, packet: Packet) {
        node.step(from, packet);
        node.flush(ctx);
    }

    fn local_events(&self, node: &Opaque<Node>, events: &mut LocalEvents<Local>) {
        // The events that the library accepts in this state: a command only for a leader, for instance.
        self.budgets.list(&node.spent, events, |_| true);
    }

    fn handle_local(&self, ctx: &mut Context<Packet>, node: &mut Opaque<Node>, event: Local) {
        self.budgets.spend(&mut node.spent, &event);
        match event {
            Local::Tick => node.tick(ctx.others()),
        }
        node.flush(ctx);
    }

    fn persist(&self, node: &Opaque<Node>) -> Option<Disk> {
        Some(node.disk.clone())
    }

    /// 6. The promises in the documentation of the library, and states that must be possible: a promise that is never put to the test
    ///    holds.
    fn properties(claims: &mut Properties<Self>) {
        claims.always("heard-others-alone").node(
            |_, node| Some(node.heard.clone()),
            |heard| if heard.len() <= 2 { Ok(()) } else { Err(format!("of 3 nodes, one has heard {heard:?}")) },
        );
        claims.sometimes("heard-all").node(
            |_, node| Some(node.heard.len()),
            |heard| if *heard == 2 { Ok(()) } else { Err(format!("{heard} of 2 others are heard")) },
        );
    }
}

guest_sdk::export!(Checked);
