//! A cluster inside a unit test: no WebAssembly, no threads, no time.
//!
//! [`Cluster`] plays one execution, event by event under the test's control; [`Cluster::explore`] visits all
//! of them. Messages and states pass through their encoding, so a lossy encoding shows here and not in a
//! search.
//!
//! | module | what it holds |
//! |---|---|
//! | `clients` | requests of clients, and neighbours |
//! | `explore` | every state of a small cluster, natively |
//! | `specification` | specifications from outside, asked about states |

mod clients;
mod explore;
mod specification;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

pub use explore::Explored;
pub use specification::judge;

use crate::configured_node::{ConfiguredNode, Sent};
use crate::content::round_trip;
use crate::context::Environment;
use crate::storage::native;
use crate::{
    Encoding, LocalEvent, NodeId, NodeState, ParameterError, Payload, Property, PropertyKind, PropertyScope, Protocol,
    Response, Role, property,
};

/// A message that was sent and not yet delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InFlight<M> {
    /// The sender.
    pub from: NodeId,
    /// The destination.
    pub to: NodeId,
    /// The content.
    pub message: M,
}

impl<M: Payload> InFlight<M> {
    fn duplicate(&self, encoding: Encoding) -> Self {
        Self { from: self.from, to: self.to, message: round_trip(&self.message, encoding) }
    }
}

/// The nodes of a protocol and the messages between them: one global state, and the methods that execute events.
pub struct Cluster<P: Protocol> {
    configured_nodes: Rc<Vec<ConfiguredNode<P>>>,
    states: Vec<P::State>,
    /// The durable map of each node, see [`storage`](crate::storage).
    maps: RefCell<Vec<native::Map>>,
    in_flight: Vec<InFlight<P::Message>>,
    /// Resets that [`explore`](Self::explore) may still give each node.
    resets_left: Vec<u32>,
    script: Script,
    /// Requests of clients so far.
    requests: u64,
    /// Whether the last quorum was declined.
    is_declined: bool,
}

/// # Panics
///
/// A state cannot be copied: an [`Opaque`](crate::Opaque) without [`duplicate`](crate::Distinguish::duplicate).
impl<P: Protocol> Clone for Cluster<P> {
    fn clone(&self) -> Self {
        Self {
            configured_nodes: Rc::clone(&self.configured_nodes),
            states: self.states.iter().map(copy_of).collect(),
            maps: self.maps.clone(),
            in_flight: self.in_flight.iter().map(|message| message.duplicate(P::ENCODING)).collect(),
            resets_left: self.resets_left.clone(),
            script: self.script.clone(),
            requests: self.requests,
            is_declined: false,
        }
    }
}

impl<P: Protocol> Cluster<P> {
    /// A cluster of nodes after `init`, in the order of the nodes, with these parameters in place of the defaults.
    ///
    /// # Errors
    ///
    /// The protocol refuses a parameter.
    pub fn new(nodes: u32, parameters: &[(&str, &str)]) -> Result<Self, ParameterError> {
        Self::scripted(nodes, parameters, &[])
    }

    /// As [`new`](Self::new), with answers to the `choose` calls of `init`.
    ///
    /// # Errors
    ///
    /// The protocol refuses a parameter.
    pub fn scripted(nodes: u32, parameters: &[(&str, &str)], answers: &[u32]) -> Result<Self, ParameterError> {
        let lines: Vec<String> = parameters.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let config = lines.join("\n");
        let configured_nodes =
            (0..nodes).map(|me| ConfiguredNode::new(me, nodes, &config)).collect::<Result<Vec<_>, _>>()?;
        let mut cluster = Self {
            configured_nodes: Rc::new(configured_nodes),
            states: Vec::new(),
            maps: RefCell::new(vec![native::Map::new(); nodes as usize]),
            in_flight: Vec::new(),
            resets_left: vec![0; nodes as usize],
            script: Script { answers: answers.iter().copied().collect(), ..Script::default() },
            requests: 0,
            is_declined: false,
        };
        for me in 0..nodes {
            let map = &mut cluster.maps.get_mut()[me as usize];
            let (state, sent) =
                native::at(map, || cluster.configured_nodes[me as usize].init(&mut cluster.script, None));
            cluster.states.push(kept::<P>(state));
            cluster.post(me, sent);
        }
        Ok(cluster)
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.states.len() as u32
    }

    /// The state of a node.
    pub fn state(&self, node: NodeId) -> &P::State {
        &self.states[node as usize]
    }

    /// The messages that were sent and not yet delivered, oldest first.
    pub fn in_flight(&self) -> &[InFlight<P::Message>] {
        &self.in_flight
    }

    /// The lines that the handlers logged so far.
    pub fn log(&self) -> &[String] {
        &self.script.log
    }

    /// Scripts the refusals of the next messages by [`Context::try_send`](crate::Context::try_send), in order, after
    /// earlier scripts. Messages beyond the script are accepted.
    pub fn refuse(&mut self, refusals: &[bool]) {
        self.script.refusals.extend(refusals);
    }

    /// Scripts the answers to the next calls of `choose`, in order, after earlier scripts. Without a script the answer is 0.
    pub fn answer(&mut self, answers: &[u32]) {
        self.script.answers.extend(answers);
    }

    /// Delivers a message, given its place in [`in_flight`](Self::in_flight).
    pub fn deliver(&mut self, index: usize) {
        let InFlight { from, to, message } = self.in_flight.remove(index);
        let configured_node = Rc::clone(&self.configured_nodes);
        let (state, map) = (&mut self.states[to as usize], &mut self.maps.get_mut()[to as usize]);
        let handle = || configured_node[to as usize].handle_message(&mut self.script, state, from, message);
        let sent = native::at(map, handle);
        keep::<P>(state);
        self.post(to, sent);
    }

    /// The role of a message in the present state of its destination, given its place in [`in_flight`](Self::in_flight).
    pub fn role(&self, index: usize) -> Role {
        let InFlight { from, to, message } = &self.in_flight[index];
        let configured_node = &self.configured_nodes[*to as usize];
        match configured_node.protocol.takes_quorums() {
            true => self.at(*to, || configured_node.role(self.state(*to), *from, message)),
            false => Role::Alone,
        }
    }

    /// Delivers messages together, given their places in [`in_flight`](Self::in_flight); returns whether the node takes
    /// them. If not, nothing changes.
    ///
    /// # Panics
    ///
    /// The messages are no quorum.
    #[track_caller]
    pub fn deliver_quorum(&mut self, indices: &[usize]) -> bool {
        let roles: Vec<Role> = indices.iter().map(|index| self.role(*index)).collect();
        let mut messages: Vec<&InFlight<P::Message>> = indices.iter().map(|index| &self.in_flight[*index]).collect();
        messages.sort_by_key(|message| message.from);
        let is_one = messages.windows(2).all(|pair| pair[0].from < pair[1].from && pair[0].to == pair[1].to);
        let Some(Role::Member { name, size }) = roles.first().copied() else { panic!("{roles:?} are no quorum") };
        let is_one = is_one && roles.iter().all(|role| *role == roles[0]) && size as usize == indices.len();
        assert!(is_one, "{roles:?} are no quorum: {:?}", messages.into_iter().map(show).collect::<Vec<_>>());
        let to = messages[0].to;
        let messages =
            messages.into_iter().map(|message| (message.from, round_trip(&message.message, P::ENCODING))).collect();
        let configured_node = Rc::clone(&self.configured_nodes);
        let mut state = copy_of(&self.states[to as usize]);
        let mut map = self.maps.get_mut()[to as usize].clone();
        let handle = || configured_node[to as usize].handle_quorum(&mut self.script, &mut state, name, messages);
        let Some(sent) = native::at(&mut map, handle) else { return false };
        self.maps.get_mut()[to as usize] = map;
        self.states[to as usize] = kept::<P>(state);
        let mut index = 0;
        self.in_flight.retain(|_| {
            index += 1;
            !indices.contains(&(index - 1))
        });
        self.post(to, sent);
        true
    }

    /// The sets of messages in flight that are quorums now, as their places in [`in_flight`](Self::in_flight). The
    /// oldest of equal messages stands for all.
    pub fn quorums(&self) -> Vec<Vec<usize>> {
        let is_first = |index: &usize| {
            let message = &self.in_flight[*index];
            !self.in_flight[..*index].iter().any(|other| {
                (other.from, other.to) == (message.from, message.to)
                    && other.message.is_same_as(&message.message, P::ENCODING)
            })
        };
        let members = (0..self.in_flight.len()).filter(|index| matches!(self.role(*index), Role::Member { .. }));
        let members: Vec<usize> = members.filter(is_first).collect();
        let (mut found, mut stack) = (Vec::new(), vec![Vec::new()]);
        while let Some(set) = stack.pop() {
            let set: Vec<usize> = set;
            if let Some(first) = set.first()
                && let Role::Member { size, .. } = self.role(*first)
                && set.len() == size as usize
            {
                found.push(set);
                continue;
            }
            let fits = |index: &&usize| {
                let message = &self.in_flight[**index];
                set.last().is_none_or(|last| last < *index)
                    && set.iter().all(|other| {
                        let chosen = &self.in_flight[*other];
                        chosen.from != message.from
                            && chosen.to == message.to
                            && self.role(*other) == self.role(**index)
                    })
            };
            stack.extend(members.iter().filter(fits).map(|index| set.iter().copied().chain([*index]).collect()));
        }
        found.sort_unstable();
        found
    }

    /// Delivers the oldest message that fits.
    ///
    /// # Panics
    ///
    /// No message fits.
    #[track_caller]
    pub fn deliver_where(&mut self, fits: impl Fn(&InFlight<P::Message>) -> bool) {
        match self.in_flight.iter().position(fits) {
            Some(index) => self.deliver(index),
            None => {
                panic!("no such message in flight; there are {:?}", self.in_flight.iter().map(show).collect::<Vec<_>>())
            }
        }
    }

    /// Delivers the oldest message to a node that fits.
    ///
    /// # Panics
    ///
    /// No message fits.
    #[track_caller]
    pub fn deliver_to(&mut self, node: NodeId, fits: impl Fn(&P::Message) -> bool) {
        self.deliver_where(|flight| flight.to == node && fits(&flight.message));
    }

    /// Loses all messages in flight.
    pub fn lose_all(&mut self) {
        self.in_flight.clear();
    }

    /// Loses a message, given its place in [`in_flight`](Self::in_flight).
    pub fn lose(&mut self, index: usize) {
        self.in_flight.remove(index);
    }

    /// Puts another copy of a message in flight, given its place in [`in_flight`](Self::in_flight).
    pub fn duplicate(&mut self, index: usize) {
        self.in_flight.push(self.in_flight[index].duplicate(P::ENCODING));
    }

    /// The events of a node without a message.
    pub fn local_events(&self, node: NodeId) -> Vec<LocalEvent<P::Local>> {
        self.at(node, || self.configured_nodes[node as usize].local_events(self.state(node)))
    }

    /// Executes the first local event of a node with this name.
    ///
    /// # Panics
    ///
    /// No event of this name is enabled.
    #[track_caller]
    pub fn happen(&mut self, node: NodeId, name: &str) {
        let events = self.local_events(node);
        match events.iter().find(|event| event.name == name) {
            Some(event) => self.happen_event(node, &event.event),
            None => {
                let names: Vec<_> = events.iter().map(|event| event.name).collect();
                panic!("{name} cannot happen to node {node} now; there are {names:?}")
            }
        }
    }

    fn happen_event(&mut self, node: NodeId, event: &P::Local) {
        let configured_node = Rc::clone(&self.configured_nodes);
        let (state, map) = (&mut self.states[node as usize], &mut self.maps.get_mut()[node as usize]);
        let event = round_trip(event, P::ENCODING);
        let sent = native::at(map, || configured_node[node as usize].handle_local(&mut self.script, state, event));
        keep::<P>(state);
        self.post(node, sent);
    }

    /// Reports a broken connection with a peer to a node. Messages in flight stay in flight: [`lose`](Self::lose) those
    /// that the break loses.
    pub fn transport_error(&mut self, node: NodeId, peer: NodeId) {
        let configured_node = &self.configured_nodes[node as usize];
        let (state, map) = (&mut self.states[node as usize], &mut self.maps.get_mut()[node as usize]);
        let sent = native::at(map, || configured_node.handle_transport_error(&mut self.script, state, peer));
        keep::<P>(state);
        self.post(node, sent);
    }

    /// Lets [`explore`](Self::explore) reset each node up to this many times.
    #[must_use]
    pub fn with_resets(mut self, resets: u32) -> Self {
        self.resets_left.fill(resets);
        self
    }

    /// Crashes a node and restarts it with its persisted state. Messages in flight stay in flight.
    pub fn reset(&mut self, node: NodeId) {
        let configured_node = &self.configured_nodes[node as usize];
        let durable = self.at(node, || configured_node.protocol.persist(self.state(node)));
        let durable = durable.map(|durable| round_trip(&durable, P::ENCODING));
        let map = &mut self.maps.get_mut()[node as usize];
        let (state, sent) = native::at(map, || configured_node.init(&mut self.script, durable));
        self.states[node as usize] = kept::<P>(state);
        self.post(node, sent);
    }

    /// Delivers messages, oldest first, until no node takes any message in flight; returns the number of events. Quorums come
    /// after messages with the role `Alone`.
    ///
    /// # Panics
    ///
    /// The cluster is not quiet after 1,000,000 messages.
    pub fn settle(&mut self) -> usize {
        for delivered in 0..1_000_000 {
            if let Some(index) = (0..self.in_flight.len()).find(|index| self.role(*index) == Role::Alone) {
                self.deliver(index);
            } else if !self.quorums().iter().any(|quorum| self.deliver_quorum(quorum)) {
                return delivered;
            }
        }
        panic!("messages without end");
    }

    /// Whether every `always` property holds in this state.
    ///
    /// # Errors
    ///
    /// The name of the first violated property, and the reason.
    pub fn check(&self) -> Result<(), String> {
        let properties = property::list::<P>();
        let always = (0u32..).zip(&properties).filter(|(_, property)| property.kind == PropertyKind::Always);
        for (index, property) in always {
            self.check_property(index, property).map_err(|why| format!("{}: {why}", property.name))?;
        }
        Ok(())
    }

    /// Whether the claim of a property holds in this state.
    ///
    /// # Errors
    ///
    /// The reason, in the property's words.
    ///
    /// # Panics
    ///
    /// There is no property of this name.
    #[track_caller]
    pub fn holds(&self, name: &str) -> Result<(), String> {
        let properties = property::list::<P>();
        let declared = (0u32..).zip(&properties).find(|(_, property)| property.name == name);
        let Some((index, property)) = declared else { panic!("there is no property {name}; there are {properties:?}") };
        self.check_property(index, property)
    }

    fn check_property(&self, index: u32, property: &Property) -> Result<(), String> {
        let views: Vec<Option<Vec<u8>>> = self
            .configured_nodes
            .iter()
            .zip(&self.states)
            .zip(0..)
            .map(|((configured_node, state), node)| {
                self.at(node, || property::view(&configured_node.protocol, state, index))
            })
            .collect();
        let of_node = |(node, view): (usize, &[Option<Vec<u8>>])| {
            property::check::<P>(index, view).map_err(|why| format!("node {node}: {why}"))
        };
        let mut of_nodes = views.chunks(1).enumerate().map(of_node);
        match (property.scope, property.kind) {
            (PropertyScope::System, _) => property::check::<P>(index, &views),
            (PropertyScope::Node, PropertyKind::Always | PropertyKind::Eventually) => of_nodes.collect(),
            (PropertyScope::Node, PropertyKind::Sometimes) => match of_nodes.any(|outcome| outcome.is_ok()) {
                true => Ok(()),
                false => Err("of no node".to_owned()),
            },
        }
    }

    /// Runs code of a node that reads.
    fn at<R>(&self, node: NodeId, run: impl FnOnce() -> R) -> R {
        native::at(&mut self.maps.borrow_mut()[node as usize], run)
    }

    fn post(&mut self, from: NodeId, sent: Sent<P>) {
        let in_flight =
            sent.into_iter().map(|(to, message)| InFlight { from, to, message: round_trip(&message, P::ENCODING) });
        self.in_flight.extend(in_flight);
    }
}

/// Answers `choose` and `can_send` from a script, then with 0 and true, and records the questions.
#[derive(Clone, Default)]
struct Script {
    answers: VecDeque<u32>,
    /// Scripted refusals of the next `try_send` calls.
    refusals: VecDeque<bool>,
    /// Answer and number of alternatives of each call.
    asked: Vec<(u32, u32)>,
    log: Vec<String>,
    /// Answers to clients, with the numbers of their requests.
    responses: Vec<(u64, Response)>,
    /// Names of local events whose waits were restarted.
    restarted: Vec<String>,
}

impl Environment for Script {
    fn choose(&mut self, alternatives: u32) -> u32 {
        let answer = self.answers.pop_front().unwrap_or(0);
        assert!(answer < alternatives, "the script answers {answer} where there are {alternatives} alternatives");
        self.asked.push((answer, alternatives));
        answer
    }

    fn can_send(&mut self, _to: NodeId, _ahead: usize) -> bool {
        self.refusals.pop_front() != Some(true)
    }

    fn choose_weighted(&mut self, weights: &[u32]) -> u32 {
        self.choose(weights.len() as u32)
    }

    fn log(&mut self, line: &str) {
        self.log.push(line.to_owned());
    }

    fn answer(&mut self, request: u64, response: Response) {
        self.responses.push((request, response));
    }

    fn restart(&mut self, name: &str) {
        self.restarted.push(name.to_owned());
    }
}

/// The state as another process would read it, if it can be read back.
fn kept<P: Protocol>(state: P::State) -> P::State {
    state.round_trip(P::ENCODING).unwrap_or(state)
}

/// A copy of a state.
fn copy_of<S: NodeState>(state: &S) -> S {
    state
        .duplicate()
        .unwrap_or_else(|| panic!("a state cannot be copied here: {} has no `duplicate`", std::any::type_name::<S>()))
}

fn keep<P: Protocol>(state: &mut P::State) {
    if let Some(back) = state.round_trip(P::ENCODING) {
        *state = back;
    }
}

fn show<M: Payload>(flight: &InFlight<M>) -> String {
    format!("{} to {}: {}", flight.from, flight.to, flight.message.shown())
}
