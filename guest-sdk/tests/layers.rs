//! A protocol over a transport, against the same protocol on ordered channels.

use std::collections::{BTreeMap, BTreeSet};

use guest_sdk::test::Cluster;
use guest_sdk::{
    About, Canonical, Context, Encoding, Layered, LocalEvents, Never, NodeId, ParameterError, Parameters, Properties,
    Protocol, Transport, Upcall,
};
use serde::{Deserialize, Serialize};

/// Node 0 sends numbers to node 1, which returns each one to its sender and notes it; node 0 can learn that its connection is broken.
struct Numbers;

/// The numbers that a node has received or could not send, and its number of broken connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
struct Seen {
    received: Vec<u32>,
    refused: Vec<u32>,
    errors: u32,
    left: u32,
}

impl Protocol for Numbers {
    const ABOUT: About = guest_sdk::about!().nodes(2);
    type State = Seen;
    type Message = u32;
    type Local = u32;
    type Durable = Never;

    fn configure(_: &mut Parameters) -> Result<Self, ParameterError> {
        Ok(Self)
    }

    fn init(&self, ctx: &mut Context<u32>, _: Option<Never>) -> Seen {
        if ctx.me() == 0 {
            ctx.send(1, 1);
            ctx.send(1, 2);
        }
        Seen { left: 1 - ctx.me(), ..Seen::default() }
    }

    fn handle_message(&self, ctx: &mut Context<u32>, state: &mut Seen, from: NodeId, number: u32) {
        state.received.push(number);
        if ctx.me() == 1 {
            ctx.send(from, number + 10);
        }
    }

    fn local_events(&self, state: &Seen, events: &mut LocalEvents<u32>) {
        if state.left > 0 {
            events.application("more", 3);
        }
    }

    fn handle_local(&self, ctx: &mut Context<u32>, state: &mut Seen, first: u32) {
        state.left -= 1;
        for number in first..first + 3 {
            if !ctx.try_send(1, number) {
                state.refused.push(number);
            }
        }
    }

    fn handle_transport_error(&self, _: &mut Context<u32>, state: &mut Seen, _: NodeId) {
        state.errors += 1;
    }

    fn properties(claims: &mut Properties<Self>) {
        claims.always("in-order").node(
            |_, state| Some(state.received.clone()),
            |received| match received.is_sorted() {
                true => Ok(()),
                false => Err(format!("{received:?}")),
            },
        );
    }
}

/// Numbers the messages to each node, and delivers them by number. Nothing is lost, so nothing is acknowledged.
struct Numbered {
    room: usize,
    forgets_order: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct End {
    sent: BTreeMap<NodeId, u32>,
    next: BTreeMap<NodeId, u32>,
    early: BTreeMap<(NodeId, u32), u32>,
    starts: u32,
}

impl Transport<u32> for Numbered {
    const NAME: &'static str = "numbered";
    type End = End;
    type Packet = (u32, u32);
    type Local = NodeId;
    type Durable = u32;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let room = parameters.get("room", 9, "how many messages to a node are taken in all")?;
        Ok(Self { room, forgets_order: parameters.get("forgets-order", false, "what is wrong on purpose")? })
    }

    fn init(&self, _: &mut Context<(u32, u32)>, durable: Option<u32>) -> End {
        End { starts: durable.unwrap_or(0) + 1, ..End::default() }
    }

    fn persist(&self, end: &End) -> Option<u32> {
        Some(end.starts)
    }

    fn room(&self, end: &End, to: NodeId) -> usize {
        self.room.saturating_sub(end.sent.get(&to).copied().unwrap_or(0) as usize)
    }

    fn send(
        &self,
        end: &mut End,
        ctx: &mut Context<(u32, u32)>,
        upcalls: &mut Vec<Upcall<u32>>,
        to: NodeId,
        message: u32,
    ) {
        if to == ctx.me() {
            return upcalls.push(Upcall::Deliver { from: to, message });
        }
        let number = end.sent.entry(to).or_default();
        ctx.send(to, (*number, message));
        *number += 1;
    }

    fn receive(
        &self,
        end: &mut End,
        _: &mut Context<(u32, u32)>,
        upcalls: &mut Vec<Upcall<u32>>,
        from: NodeId,
        (number, message): (u32, u32),
    ) {
        if self.forgets_order {
            return upcalls.push(Upcall::Deliver { from, message });
        }
        end.early.insert((from, number), message);
        let next = end.next.entry(from).or_default();
        while let Some(message) = end.early.remove(&(from, *next)) {
            upcalls.push(Upcall::Deliver { from, message });
            *next += 1;
        }
    }

    fn local_events(&self, end: &End, events: &mut LocalEvents<NodeId>) {
        if events.me() == 0 && end.next.get(&1) == Some(&2) && end.starts == 1 {
            events.timer("give-up", 1);
        }
    }

    fn handle_local(&self, end: &mut End, _: &mut Context<(u32, u32)>, upcalls: &mut Vec<Upcall<u32>>, peer: NodeId) {
        end.starts += 1;
        upcalls.push(Upcall::Error { peer });
    }
}

type Stack = Layered<Numbers, Numbered>;

fn stack(parameters: &[(&str, &str)]) -> Cluster<Stack> {
    Cluster::new(2, parameters).expect("the parameters fit")
}

/// The reachable states of the protocol at all nodes; `is_next` says which messages can be delivered.
fn reached<P: Protocol<State: Canonical, Message: Canonical>>(
    start: Cluster<P>,
    is_next: impl Fn(&Cluster<P>, usize) -> bool,
    states: impl Fn(&Cluster<P>) -> Vec<Seen>,
) -> BTreeSet<Vec<Seen>> {
    let (mut all, mut seen, mut stack) = (BTreeSet::new(), BTreeSet::new(), vec![start]);
    while let Some(cluster) = stack.pop() {
        let bytes = |node| cluster.state(node).encode(Encoding::Postcard);
        let mut messages: Vec<_> = cluster
            .in_flight()
            .iter()
            .map(|flight| (flight.from, flight.to, flight.message.encode(Encoding::Postcard)))
            .collect();
        // In order of links, and on each link in that of sending.
        messages.sort_by_key(|(from, to, _)| (*from, *to));
        if !seen.insert(([0, 1].map(bytes), messages)) {
            continue;
        }
        all.insert(states(&cluster));
        for place in (0..cluster.in_flight().len()).filter(|place| is_next(&cluster, *place)) {
            let mut next = cluster.clone();
            next.deliver(place);
            stack.push(next);
        }
        for node in 0..2 {
            for event in cluster.local_events(node) {
                if event.name == "more" {
                    let mut next = cluster.clone();
                    next.happen(node, event.name);
                    stack.push(next);
                }
            }
        }
    }
    all
}

fn over_transport(parameters: &[(&str, &str)]) -> BTreeSet<Vec<Seen>> {
    let protocols = |cluster: &Cluster<Stack>| [0, 1].map(|node| cluster.state(node).protocol().clone()).to_vec();
    reached(stack(parameters), |_, _| true, protocols)
}

#[test]
fn an_ordering_transport_on_an_unordered_network_is_an_ordered_network() {
    let is_first = |cluster: &Cluster<Numbers>, place: usize| {
        let link = |place: usize| (cluster.in_flight()[place].from, cluster.in_flight()[place].to);
        (0..place).all(|earlier| link(earlier) != link(place))
    };
    let states = |cluster: &Cluster<Numbers>| [0, 1].map(|node| cluster.state(node).clone()).to_vec();
    let bare = || Cluster::<Numbers>::new(2, &[]).expect("it has no parameters");
    let ordered = reached(bare(), is_first, states);
    assert_eq!(over_transport(&[("transport", "numbered")]), ordered);
    // Without the transport, and with one that forgets the order, there are more.
    let unordered = reached(bare(), |_, _| true, states);
    assert!(unordered.len() > ordered.len());
    assert_eq!(over_transport(&[]), unordered);
    assert_eq!(over_transport(&[("transport", "numbered"), ("numbered-forgets-order", "true")]), unordered);
}

#[test]
fn properties_are_those_of_the_protocol() {
    let broken = |parameters: &[(&str, &str)]| stack(parameters).explore(10_000).broken.is_some();
    assert!(!broken(&[("transport", "numbered")]));
    assert!(broken(&[]));
    assert!(broken(&[("transport", "numbered"), ("numbered-forgets-order", "true")]));
}

/// Two messages are sent without `try_send`; of the three with it, the transport takes as many as it has room for.
#[test]
fn who_asks_is_refused_where_the_transport_has_no_room() {
    for (room, refused) in [("1", vec![3, 4, 5]), ("2", vec![3, 4, 5]), ("4", vec![5]), ("5", vec![])] {
        let mut cluster = stack(&[("transport", "numbered"), ("numbered-room", room)]);
        cluster.happen(0, "more");
        assert_eq!(cluster.state(0).protocol().refused, refused, "room {room}");
        assert_eq!(cluster.in_flight().len(), 5 - refused.len());
    }
    // On the network of the host, the host refuses.
    let mut cluster = stack(&[]);
    cluster.refuse(&[false, true]);
    cluster.happen(0, "more");
    assert_eq!(cluster.state(0).protocol().refused, [4]);
}

#[test]
fn errors_are_those_of_the_transport() {
    let mut cluster = stack(&[("transport", "numbered")]);
    cluster.settle();
    cluster.transport_error(0, 1);
    assert_eq!(cluster.state(0).protocol().errors, 0);
    cluster.happen(0, "give-up");
    assert_eq!(cluster.state(0).protocol().errors, 1);
    let mut cluster = stack(&[]);
    cluster.transport_error(0, 1);
    assert_eq!(cluster.state(0).protocol().errors, 1);
}

#[test]
fn what_the_transport_keeps_survives_a_reset() {
    let mut cluster = stack(&[("transport", "numbered")]);
    cluster.reset(1);
    assert_eq!(cluster.state(1).end().map(|end| end.starts), Some(2));
    let mut cluster = stack(&[]);
    cluster.reset(1);
    assert!(cluster.state(1).end().is_none());
}

#[test]
fn parameters_of_the_transport_need_it() {
    let error = |parameters: &[(&str, &str)]| Cluster::<Stack>::new(2, parameters).err().map(|error| error.to_string());
    let expected = r#"parameter numbered-room cannot be "1": it needs transport=numbered"#;
    assert_eq!(error(&[("numbered-room", "1")]).as_deref(), Some(expected));
    let names: Vec<String> =
        Parameters::of::<Stack>().into_iter().map(|parameter| parameter.name.into_owned()).collect();
    assert_eq!(names, ["transport", "numbered-room", "numbered-forgets-order"]);
}

/// A protocol that takes messages together.
struct Together;

impl Protocol for Together {
    const ABOUT: About = guest_sdk::about!().nodes(2);
    type State = u32;
    type Message = u32;
    type Local = Never;
    type Durable = Never;

    fn configure(_: &mut Parameters) -> Result<Self, ParameterError> {
        Ok(Self)
    }

    fn init(&self, _: &mut Context<u32>, _: Option<Never>) -> u32 {
        0
    }

    fn handle_message(&self, _: &mut Context<u32>, state: &mut u32, _: NodeId, number: u32) {
        *state += number;
    }

    fn takes_quorums(&self) -> bool {
        true
    }

    fn properties(_: &mut Properties<Self>) {}
}

#[test]
fn quorums_are_not_carried() {
    type Stack = Layered<Together, Numbered>;
    assert!(Cluster::<Stack>::new(2, &[]).is_ok());
    let error = Cluster::<Stack>::new(2, &[("transport", "numbered")]).err().map(|error| error.to_string());
    assert!(error.is_some_and(|error| error.ends_with("are not carried: use host")));
}

/// Sends itself smaller and smaller numbers.
struct Countdown;

impl Protocol for Countdown {
    const ABOUT: About = guest_sdk::about!().nodes(1);
    type State = Vec<u32>;
    type Message = u32;
    type Local = Never;
    type Durable = Never;

    fn configure(_: &mut Parameters) -> Result<Self, ParameterError> {
        Ok(Self)
    }

    fn init(&self, ctx: &mut Context<u32>, _: Option<Never>) -> Vec<u32> {
        ctx.send(ctx.me(), 2);
        Vec::new()
    }

    fn handle_message(&self, ctx: &mut Context<u32>, state: &mut Vec<u32>, me: NodeId, number: u32) {
        state.push(number);
        if number > 0 {
            ctx.send(me, number - 1);
        }
    }

    fn properties(_: &mut Properties<Self>) {}
}

/// The transport delivers what a node sends to itself at once, within one event.
#[test]
fn what_upcalls_send_leads_to_further_upcalls() {
    let cluster = Cluster::<Layered<Countdown, Numbered>>::new(1, &[("transport", "numbered")]);
    assert_eq!(cluster.expect("the parameters fit").state(0).protocol(), &[2, 1, 0]);
}
