//! Pastry: nodes on a ring of identifiers, each with its neighbours on both sides and a table of others by prefixes, by which a joining
//! node finds its place.
//!
//! Sources: Rowstron and Druschel, "Pastry: Scalable, decentralized object location and routing for large-scale peer-to-peer systems",
//! Middleware 2001; Killian, Anderson, Jhala and Vahdat, "Life, Death, and the Critical Transition: Finding Liveness Bugs in Systems
//! Code", NSDI 2007, with its report on the mistakes PASTRY1 to PASTRY5. The README says where this protocol differs.
//!
//! | module | what it holds |
//! |---|---|
//! | `bugs` | deliberate mistakes |
//! | `ring` | identifiers |
//! | `leafset` | the nodes that a node knows, and the next hop of a Join |
//! | `spec` | the properties |

mod bugs;
mod leafset;
mod ring;
mod spec;

use std::collections::{BTreeMap, BTreeSet};

use guest_sdk::{About, Context, LocalEvents, Never, NodeId, ParameterError, Parameters, Properties, Protocol};
use serde::{Deserialize, Serialize};

pub use bugs::{Bug, Bugs};
use leafset::neighbours;
use ring::ROWS;
pub use ring::{Id, Ids};

/// The configuration of a run.
#[derive(Clone, Copy, Debug)]
pub struct Pastry {
    ids: Ids,
    /// The number of neighbours of a node on each side.
    half: usize,
    /// The number of messages to one node that the transport takes from one handler.
    buffer: usize,
    maintains: bool,
    restarts: NodeId,
    cuts: NodeId,
    bugs: Bugs,
}

/// The messages between nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Let this node in.
    Join {
        /// The node, which need not be the sender.
        joiner: NodeId,
        /// The first row of its routing table that it lacks.
        row: u8,
        /// Whether it was started again before.
        life: bool,
    },
    /// To the joiner: a row of the routing table, with the sender in it.
    Row {
        /// The number of the row.
        row: u8,
        /// The nodes in it.
        nodes: BTreeSet<NodeId>,
        /// That of the Join.
        life: bool,
    },
    /// To the joiner: the leafset, with the sender in it.
    Place {
        /// The nodes in it.
        nodes: BTreeSet<NodeId>,
        /// That of the Join.
        life: bool,
    },
    /// To the joiner: there are no more messages. In Mace timers know that, by their length.
    Done {
        /// That of the Join.
        life: bool,
    },
    /// I have joined. Who are your neighbours?
    Ask(Connection),
    /// The answer: the leafset.
    Leaves(Connection, BTreeSet<NodeId>),
    /// I have not joined.
    Refused {
        /// The connection over which the node received the question, or a forwarded Join.
        connection: Connection,
        /// The node that joins, and that of its Join, if it was a Join.
        joiner: Option<(NodeId, bool)>,
        /// Whether the receiver must forget the sender.
        forget: bool,
    },
    /// There is a new connection, since the old one broke. In Mace the transport reports that.
    Broken(Connection),
}

/// The number of a connection between two nodes: the count of broken ones before it.
pub type Connection = u8;

/// The local events of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// It joins, or tries again.
    Join,
    /// The maintenance timer fires: a neighbour, or a node that was one, is asked for its neighbours.
    Maintain,
    /// All its connections break.
    Cut,
    /// It is started again.
    Restart,
}

/// The phase of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// It has not begun to join.
    Init,
    /// It asks for its place.
    Joining {
        /// Whether an answer can still come.
        is_open: bool,
    },
    /// It has its place.
    Joined,
}

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct State {
    /// This node.
    pub me: NodeId,
    /// Its phase.
    pub phase: Phase,
    /// Its neighbours in the direction in which identifiers grow.
    pub right: BTreeSet<NodeId>,
    /// Its neighbours in the other direction.
    pub left: BTreeSet<NodeId>,
    /// The routing table: for each length of a common prefix and each next digit a node.
    pub table: BTreeMap<(u8, u8), NodeId>,
    /// The number of its rows received, while the node joins.
    pub rows: u8,
    /// The nodes that were asked for their neighbours and have not answered.
    pub asked: BTreeSet<NodeId>,
    /// The node that the maintenance timer has asked last.
    pub maintained: NodeId,
    /// The connections to nodes with which one broke before.
    pub connections: BTreeMap<NodeId, Connection>,
    /// Neighbours whose connections broke.
    pub lost: BTreeSet<NodeId>,
    /// Whether its connections can still break.
    pub may_cut: bool,
    /// Whether it can still be started again.
    pub may_restart: bool,
    /// Whether it was started again.
    pub has_restarted: bool,
    /// Whether its own Join was forwarded to it. Only the specification reads it.
    pub got_own_join: bool,
}

impl State {
    /// The connection to a node.
    fn connection(&self, node: NodeId) -> Connection {
        self.connections.get(&node).copied().unwrap_or(0)
    }

    /// Whether the node joins, in this life.
    fn is_joining(&self, life: bool) -> bool {
        matches!(self.phase, Phase::Joining { .. }) && life == self.has_restarted
    }
}

/// The node that all others ask to join. It joins alone.
const CONTACT: NodeId = 0;

impl Protocol for Pastry {
    const ABOUT: About = guest_sdk::about!().nodes(3).network(guest_sdk::Network::Ordered);
    type State = State;
    type Message = Message;
    type Local = Local;
    type Durable = Never;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let ids = parameters.get("ids", Ids::default(), "the identifiers of the nodes, below 16")?;
        let half = parameters.get("half", 1, "how many neighbours a node has on each side")?;
        let buffer = parameters.get("buffer", 8, "how many messages at once the transport takes for one node")?;
        let maintenance = [("always", true), ("never", false)];
        let what = "whether nodes ask each other for their neighbours again and again";
        let maintains = parameters.choice("maintenance", &maintenance, what)?;
        let restarts = parameters.get("restarts", 0, "how many nodes can be started again, from the last one on")?;
        let cuts = parameters.get("cuts", 0, "of how many nodes all connections can break, from the last one on")?;
        let bugs = Bugs::configure(parameters)?;
        if half == 0 || buffer == 0 {
            return Err(parameters.reject(if half == 0 { "half" } else { "buffer" }, "it is at least one"));
        }
        if parameters.nodes() as usize > ids.count() {
            return Err(parameters.reject("ids", "there is one for each node"));
        }
        Ok(Self { ids, half, buffer, maintains, restarts, cuts, bugs })
    }

    fn init(&self, ctx: &mut Context<Message>, _: Option<Never>) -> State {
        let is_last = |count: NodeId| ctx.me() + count >= ctx.nodes();
        start(ctx.me(), is_last(self.cuts), is_last(self.restarts))
    }

    fn handle_message(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, message: Message) {
        match message {
            Message::Join { joiner, row, life } => self.join(ctx, state, from, (joiner, row, life)),
            Message::Row { row, nodes, life } => {
                if state.is_joining(life) && row == state.rows {
                    state.rows += 1;
                    others(nodes, state.me).for_each(|node| self.learn(state, node));
                }
            }
            Message::Place { nodes, life } => {
                if state.is_joining(life) && state.rows == ROWS {
                    state.phase = Phase::Joined;
                    self.learn_neighbour(state, from);
                    for node in others(nodes, state.me) {
                        ask(ctx, state, node);
                    }
                }
            }
            Message::Done { life } => {
                if state.is_joining(life) {
                    state.phase = Phase::Joining { is_open: false };
                }
            }
            Message::Ask(connection) | Message::Leaves(connection, _) if connection != state.connection(from) => {}
            Message::Ask(connection) if state.phase == Phase::Joined => {
                self.learn_neighbour(state, from);
                ctx.send(from, Message::Leaves(connection, neighbours(state)));
            }
            Message::Ask(connection) => ctx.send(from, self.refused(connection, None)),
            Message::Leaves(_, nodes) => self.leaves(ctx, state, from, nodes),
            Message::Refused { connection, joiner, forget } => {
                if let Some((joiner, life)) = joiner {
                    ctx.send(joiner, Message::Done { life });
                }
                if connection == state.connection(from) {
                    match forget {
                        true => self.forget(state, from),
                        false => drop(state.asked.remove(&from)),
                    }
                }
            }
            Message::Broken(connection) => {
                if connection > state.connection(from) {
                    self.broken(state, from);
                }
            }
        }
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Local>) {
        match state.phase {
            Phase::Init => events.internal("join", Local::Join),
            Phase::Joining { is_open: false } => events.timer("join", Local::Join),
            Phase::Joining { is_open: true } => {}
            Phase::Joined => {
                if self.maintains && state.asked.is_empty() && !(neighbours(state).is_empty() && state.lost.is_empty())
                {
                    events.timer("maintain", Local::Maintain);
                }
                if state.may_cut {
                    events.application("cut", Local::Cut);
                }
                if state.may_restart {
                    events.application("restart", Local::Restart);
                }
            }
        }
    }

    fn handle_local(&self, ctx: &mut Context<Message>, state: &mut State, event: Local) {
        let others = others(0..ctx.nodes(), state.me);
        match event {
            Local::Join if state.me == CONTACT => state.phase = Phase::Joined,
            Local::Join => {
                state.phase = Phase::Joining { is_open: true };
                ctx.send(CONTACT, Message::Join { joiner: state.me, row: state.rows, life: state.has_restarted });
            }
            Local::Maintain => {
                let candidates = &neighbours(state) | &state.lost;
                let next = candidates.range(state.maintained + 1..).next().or(candidates.first()).copied();
                state.maintained = next.expect("there is a candidate");
                ask(ctx, state, state.maintained);
            }
            Local::Cut => {
                state.may_cut = false;
                for node in others {
                    self.broken(state, node);
                    ctx.send(node, Message::Broken(state.connection(node)));
                }
            }
            Local::Restart => {
                let connections = std::mem::take(&mut state.connections);
                *state = State { connections, has_restarted: true, ..start(state.me, state.may_cut, false) };
                for node in others {
                    *state.connections.entry(node).or_default() += 1;
                    ctx.send(node, Message::Broken(state.connection(node)));
                }
            }
        }
    }

    fn properties(claims: &mut Properties<Self>) {
        spec::properties(claims);
    }
}

impl Pastry {
    /// Forwards a Join, or answers it with everything that the joiner lacks, as far as the transport takes it.
    fn join(
        &self,
        ctx: &mut Context<Message>,
        state: &mut State,
        from: NodeId,
        (joiner, row, life): (NodeId, u8, bool),
    ) {
        state.got_own_join |= joiner == state.me;
        if state.phase != Phase::Joined {
            // The joiner hears of it from the node that forwarded its Join, which knows better by then.
            return match from == joiner {
                true => ctx.send(joiner, Message::Done { life }),
                false => ctx.send(from, self.refused(state.connection(from), Some((joiner, life)))),
            };
        }
        let next = self.next_hop(state, joiner);
        if next != state.me {
            let row = if self.bugs.has(Bug::Pastry1) { 0 } else { row };
            return ctx.send(next, Message::Join { joiner, row, life });
        }
        let in_row = |row: u8| state.table.iter().filter(move |((at, _), _)| *at == row).map(|(_, node)| *node);
        let rows = (row..ROWS).map(|row| Message::Row { row, nodes: in_row(row).chain([state.me]).collect(), life });
        let place = Message::Place { nodes: neighbours(state).into_iter().chain([state.me]).collect(), life };
        for message in rows.chain([place]).take(self.buffer) {
            ctx.send(joiner, message);
        }
        ctx.send(joiner, Message::Done { life });
    }

    /// A node has sent its neighbours. Those that may be nearer than the present ones receive a question themselves.
    fn leaves(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, nodes: BTreeSet<NodeId>) {
        state.asked.remove(&from);
        if state.phase != Phase::Joined {
            return;
        }
        self.learn_neighbour(state, from);
        for node in others(nodes, state.me) {
            self.learn(state, node);
            if self.fits(state, node) {
                ask(ctx, state, node);
            }
        }
    }

    /// The answer of a node that has not joined to nodes that take it for a node of the ring.
    fn refused(&self, connection: Connection, joiner: Option<(NodeId, bool)>) -> Message {
        let forget = !self.bugs.has(Bug::Pastry4) && !self.bugs.has(Bug::Pastry5);
        Message::Refused { connection, joiner, forget }
    }

    /// The connection to a node is broken.
    fn broken(&self, state: &mut State, node: NodeId) {
        *state.connections.entry(node).or_default() += 1;
        let is_known = neighbours(state).contains(&node);
        self.forget(state, node);
        if is_known && !self.bugs.has(Bug::Pastry2) {
            state.lost.insert(node);
        }
    }
}

/// All nodes but one.
fn others(nodes: impl IntoIterator<Item = NodeId>, me: NodeId) -> impl Iterator<Item = NodeId> {
    nodes.into_iter().filter(move |node| *node != me)
}

/// Asks a node for its neighbours, unless it was asked already.
fn ask(ctx: &mut Context<Message>, state: &mut State, node: NodeId) {
    if state.asked.insert(node) {
        ctx.send(node, Message::Ask(state.connection(node)));
    }
}

/// The state of a node that was started.
fn start(me: NodeId, may_cut: bool, may_restart: bool) -> State {
    State {
        me,
        phase: Phase::Init,
        right: BTreeSet::new(),
        left: BTreeSet::new(),
        table: BTreeMap::new(),
        rows: 0,
        asked: BTreeSet::new(),
        maintained: me,
        connections: BTreeMap::new(),
        lost: BTreeSet::new(),
        may_cut,
        may_restart,
        has_restarted: false,
        got_own_join: false,
    }
}

guest_sdk::export!(Pastry);
