//! The crate omnipaxos, unmodified: servers agree on a log of commands. `../omnipaxos-0.2.0` is the same with an earlier version.

mod disk;

use guest_sdk::ready_made::{self, Budgets, Spent};
use guest_sdk::{
    About, By, BySerde, Context, Distinguish, LocalEvents, Network, Never, NodeId, Opaque, ParameterError, Parameters,
    Properties, Protocol,
};
use omnipaxos::messages::Message;
use omnipaxos::storage::{Entry, NoSnapshot};
use omnipaxos::util::LogEntry;
use omnipaxos::{ClusterConfig, OmniPaxos, ServerConfig};
use serde::{Deserialize, Serialize};

pub use disk::Disk;

/// A command: the server that received it, and its number there.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Command(pub u8, pub u8);

impl Entry for Command {
    type Snapshot = NoSnapshot;
}

/// A server of the library.
pub struct Node {
    pub server: OmniPaxos<Command, Disk>,
    spent: Spent,
}

impl Node {
    /// A server that starts with this disk.
    pub fn new(pid: u64, servers: u64, disk: Disk) -> Self {
        // A tick is a timeout: the checker decides how many of them pass.
        let server =
            ServerConfig { pid, election_tick_timeout: 1, resend_message_tick_timeout: 1, ..ServerConfig::default() };
        let cluster = ClusterConfig { configuration_id: 1, nodes: (1..=servers).collect(), flexible_quorum: None };
        let server = cluster.build_for_server(server, disk).expect("a configuration");
        Self { server, spent: Spent::default() }
    }

    /// The decided commands, in order.
    pub fn decided(&self) -> Vec<Command> {
        let entries = self.server.read_decided_suffix(0).unwrap_or_default();
        entries
            .into_iter()
            .filter_map(|entry| if let LogEntry::Decided(command) = entry { Some(command) } else { None })
            .collect()
    }

    /// Takes the messages to send.
    pub fn outgoing(&mut self) -> Vec<Message<Command>> {
        #[cfg(feature = "outgoing-messages")]
        return self.server.outgoing_messages();
        #[cfg(not(feature = "outgoing-messages"))]
        {
            let mut messages = Vec::new();
            self.server.take_outgoing_messages(&mut messages);
            messages
        }
    }

    fn flush(&mut self, ctx: &mut Context<BySerde<Message<Command>>>) {
        for message in self.outgoing() {
            ctx.send(message.get_receiver() as NodeId - 1, BySerde(message));
        }
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let leader = format!("{:?}", self.server.get_current_leader());
        f.debug_struct("Node").field("leader", &leader).field("decided", &self.decided()).finish()
    }
}

impl Distinguish for Node {
    const BY: By = By::History;
}

/// A local event of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// Time passes: heartbeats, elections, retransmissions.
    Tick,
    /// A client gives it a command.
    Append,
}

/// The checked protocol, with limits on its local events.
pub struct Checked {
    budgets: Budgets<Local>,
}

impl Protocol for Checked {
    // "FIFO perfect links", such as TCP; `reconnected` reports a session that drops.
    const ABOUT: About = guest_sdk::about!().nodes(3).network(Network::Ordered);
    type State = Opaque<Node>;
    type Message = BySerde<Message<Command>>;
    type Local = Local;
    type Durable = Never;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let ticks = parameters.get("ticks", 4, "how much time passes at each server")?;
        let proposals = parameters.get("proposals", 1, "how many commands each server is given")?;
        let budgets = Budgets::new().timer("tick", Local::Tick, ticks);
        Ok(Self { budgets: budgets.application("append", Local::Append, proposals) })
    }

    fn init(&self, ctx: &mut Context<Self::Message>, _: Option<Never>) -> Opaque<Node> {
        let mut node = Node::new(u64::from(ctx.me()) + 1, u64::from(ctx.nodes()), Disk::default());
        node.flush(ctx);
        Opaque::new(node)
    }

    fn handle_message(
        &self,
        ctx: &mut Context<Self::Message>,
        node: &mut Opaque<Node>,
        _: NodeId,
        message: Self::Message,
    ) {
        node.server.handle_incoming(message.0);
        node.flush(ctx);
    }

    fn handle_transport_error(&self, ctx: &mut Context<Self::Message>, node: &mut Opaque<Node>, peer: NodeId) {
        node.server.reconnected(u64::from(peer) + 1);
        node.flush(ctx);
    }

    fn local_events(&self, node: &Opaque<Node>, events: &mut LocalEvents<Local>) {
        let has_leader = node.server.get_current_leader().is_some();
        self.budgets.list(&node.spent, events, |event| has_leader || *event == Local::Tick);
    }

    fn handle_local(&self, ctx: &mut Context<Self::Message>, node: &mut Opaque<Node>, event: Local) {
        let number = self.budgets.spend(&mut node.spent, &event);
        match event {
            Local::Tick => node.server.tick(),
            Local::Append => drop(node.server.append(Command(ctx.me() as u8, number as u8))),
        }
        node.flush(ctx);
    }

    fn properties(claims: &mut Properties<Self>) {
        ready_made::logs_agree(claims.always("decided-logs-agree"), |_, node| {
            Some(node.decided()).filter(|decided| !decided.is_empty())
        });
        claims.sometimes("decided").node(
            |_, node| Some(node.decided().len()),
            |decided| if *decided > 0 { Ok(()) } else { Err("nothing is decided".to_owned()) },
        );
    }
}

guest_sdk::export!(Checked);
