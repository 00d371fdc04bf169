//! A server has a lock that clients ask for. The smallest example of promises: each way in which a client can wait for ever is
//! a parameter away.

use std::collections::VecDeque;

use guest_sdk::{About, Context, LocalEvents, Never, NodeId, ParameterError, Parameters, Place, Properties, Protocol};
use serde::{Deserialize, Serialize};

/// The configuration of a run.
#[derive(Clone, Copy, Debug)]
pub struct Lock {
    locked: Locked,
    retry: Retry,
    loss: Loss,
    is_release_free: bool,
}

/// The server's treatment of a request while another client has the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Locked {
    /// It drops the request.
    Drop,
    /// It denies the request.
    Deny,
    /// It queues the request.
    Queue,
}

/// Whether a client repeats its request, and its release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Retry {
    Never,
    /// When time is up, which happens here only if a message or its answer was lost.
    Timer,
    /// At any time: it does not know which message was lost.
    Always,
}

/// Whether messages are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    None,
    /// Any of them, whenever it does most harm.
    Adversary,
    /// One in ten.
    Chance,
}

/// The messages between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Client to server: I want the lock.
    Request,
    /// Client to server: I give it back.
    Release,
    /// Server to client: it is yours.
    Grant,
    /// Server to client: another client has it.
    Denied,
    /// Server to client: it is not yours any more.
    Released,
    /// No message of the protocol: the answer of the server was lost, and the client has waited long enough to know.
    Nothing,
}

/// The local events of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// The application wants the lock.
    Ask,
    /// The application has finished its work with the lock.
    Finish,
    /// Time is up for an answer.
    Retry,
}

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum State {
    /// Node 0.
    Server(Server),
    /// Any other node.
    Client(Client),
}

/// The server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Server {
    /// The client that has the lock.
    pub holder: Option<NodeId>,
    /// The clients that wait for it, first come first served.
    pub queue: VecDeque<NodeId>,
}

/// A client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Client {
    /// It does not want the lock.
    Idle,
    /// It has asked.
    Waiting {
        /// Whether it will ask again.
        retry: bool,
    },
    /// It has the lock.
    Holding,
    /// It gives the lock back, and waits for the acknowledgement.
    Releasing {
        /// Whether it will repeat the release.
        retry: bool,
    },
}

const SERVER: NodeId = 0;

impl Protocol for Lock {
    const ABOUT: About = guest_sdk::about!().nodes(2);
    type State = State;
    type Message = Message;
    type Local = Local;
    type Durable = Never;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let locked = [("drop", Locked::Drop), ("deny", Locked::Deny), ("queue", Locked::Queue)];
        let locked = parameters.choice("locked", &locked, "what the server does with a request while it is locked")?;
        let retry = [("never", Retry::Never), ("timer", Retry::Timer), ("always", Retry::Always)];
        let retry = parameters.choice("retry", &retry, "when a client asks again, and gives back again")?;
        let loss = [("none", Loss::None), ("adversary", Loss::Adversary), ("chance", Loss::Chance)];
        let loss =
            parameters.choice("loss", &loss, "whether messages get lost: at the worst moments, or one in ten")?;
        let release = [("internal", false), ("application", true)];
        let what = "whether a client finishes by itself, or only if its application cares to";
        let is_release_free = parameters.choice("release", &release, what)?;
        if parameters.nodes() < 2 {
            return Err(parameters.reject_nodes("there is a server, and a client at least"));
        }
        if locked == Locked::Deny && retry == Retry::Never {
            return Err(parameters.reject("locked", "who is denied the lock has to ask again: give retry=timer, too"));
        }
        Ok(Self { locked, retry, loss, is_release_free })
    }

    fn init(&self, ctx: &mut Context<Message>, _: Option<Never>) -> State {
        match ctx.me() {
            SERVER => State::Server(Server::default()),
            _ => State::Client(Client::Idle),
        }
    }

    fn handle_message(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, message: Message) {
        match state {
            State::Server(server) => self.serve(ctx, server, from, message),
            State::Client(client) => *client = Self::hear(*client, message),
        }
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Local>) {
        let State::Client(client) = state else { return };
        match client {
            Client::Idle => events.application("ask", Local::Ask),
            Client::Holding if self.is_release_free => events.application("finish", Local::Finish),
            Client::Holding => events.internal("finish", Local::Finish),
            Client::Waiting { retry: true } | Client::Releasing { retry: true } => events.timer("retry", Local::Retry),
            Client::Waiting { retry: false } | Client::Releasing { retry: false } => {}
        }
    }

    fn handle_local(&self, ctx: &mut Context<Message>, state: &mut State, event: Local) {
        let State::Client(client) = state else { unreachable!("the server has no local events") };
        let message = match (event, *client) {
            (Local::Finish, _) | (Local::Retry, Client::Releasing { .. }) => Message::Release,
            (Local::Ask | Local::Retry, _) => Message::Request,
        };
        // Time is longer than a message and its answer take: it is up only if one of them is lost.
        let is_lost = !self.arrives(ctx, SERVER, message);
        let retry = self.retry == Retry::Always || is_lost && self.retries();
        *client = match message {
            Message::Request => Client::Waiting { retry },
            _ if self.retries() => Client::Releasing { retry },
            _ => Client::Idle,
        };
    }

    fn node_name(&self, place: Place) -> Option<String> {
        Some(if place.me == SERVER { "server".to_owned() } else { format!("client {}", place.me) })
    }

    fn properties(claims: &mut Properties<Self>) {
        claims.always("exclusive").system(
            |_, state| matches!(state, State::Client(Client::Holding)).then_some(()),
            |holding| match holding.iter().flatten().count() {
                0 | 1 => Ok(()),
                several => Err(format!("{several} clients have the lock")),
            },
        );
        claims
            .sometimes("held")
            .node(|_, state| matches!(state, State::Client(Client::Holding)).then_some(()), |()| Ok(()));
        // The server waits for nothing.
        claims.eventually("served").node(
            |_, state| Some(matches!(state, State::Client(Client::Waiting { .. }))),
            |waits| match waits {
                false => Ok(()),
                true => Err("the client waits for the lock".to_owned()),
            },
        );
    }
}

impl Lock {
    fn retries(&self) -> bool {
        self.retry != Retry::Never
    }

    /// The server hears of a client.
    fn serve(&self, ctx: &mut Context<Message>, server: &mut Server, from: NodeId, message: Message) {
        match message {
            Message::Request if server.holder.is_none_or(|holder| holder == from && self.retries()) => {
                server.holder = Some(from);
                self.answer(ctx, from, Message::Grant);
            }
            Message::Request => match self.locked {
                Locked::Drop => {}
                Locked::Deny => self.answer(ctx, from, Message::Denied),
                Locked::Queue => server.queue.push_back(from),
            },
            Message::Release => {
                if self.retries() {
                    self.answer(ctx, from, Message::Released);
                }
                // A client that repeats its release has given the lock back before.
                if server.holder == Some(from) {
                    server.holder = server.queue.pop_front();
                    if let Some(next) = server.holder {
                        self.answer(ctx, next, Message::Grant);
                    }
                }
            }
            // A server never receives that.
            Message::Grant | Message::Denied | Message::Released | Message::Nothing => {}
        }
    }

    /// A client receives a message of the server.
    fn hear(client: Client, message: Message) -> Client {
        match (client, message) {
            (Client::Waiting { .. }, Message::Grant) => Client::Holding,
            (Client::Releasing { .. }, Message::Released) => Client::Idle,
            (Client::Waiting { .. }, Message::Denied | Message::Nothing) => Client::Waiting { retry: true },
            (Client::Releasing { .. }, Message::Nothing) => Client::Releasing { retry: true },
            // It has not asked, or does not wait any more.
            (client, _) => client,
        }
    }

    fn answer(&self, ctx: &mut Context<Message>, to: NodeId, message: Message) {
        if !self.arrives(ctx, to, message) && self.retries() {
            ctx.send(to, Message::Nothing);
        }
    }

    /// Sends a message unless it is lost.
    fn arrives(&self, ctx: &mut Context<Message>, to: NodeId, message: Message) -> bool {
        let arrives = match self.loss {
            Loss::None => true,
            Loss::Adversary => ctx.choose(2) == 0,
            Loss::Chance => ctx.choose_weighted(&[9, 1]) == 0,
        };
        if arrives {
            ctx.send(to, message);
        }
        arrives
    }
}

guest_sdk::export!(Lock);

#[cfg(test)]
mod tests {
    use guest_sdk::test::Cluster;

    use super::*;

    fn with(clients: u32, parameters: &[(&str, &str)]) -> Cluster<Lock> {
        Cluster::new(1 + clients, parameters).expect("the parameters fit")
    }

    /// Idle, free; waiting, Request; Grant; holding; idle, Release; waiting, Release and Request; waiting, Release; waiting, free. Nine
    /// edges: six lead from each of the first six to the next one, one from Release alone back to the beginning, one from both to Request
    /// alone, and one from the last Release to the last state.
    #[test]
    fn one_client_has_eight_states() {
        let found = with(1, &[]).explore(100);
        assert_eq!((found.global_states, found.transitions, found.broken), (8, 9, None));
        assert_eq!(found.terminal_states, 1, "the client waits, and nothing happens");
    }

    /// With `retry=timer` at most one message of each client is in flight, so everything is finite.
    #[test]
    fn the_lock_is_exclusive_whatever_is_lost() {
        for locked in ["deny", "queue"] {
            for loss in ["none", "adversary", "chance"] {
                let found = with(2, &[("locked", locked), ("loss", loss), ("retry", "timer")]).explore(10_000);
                assert_eq!(found.broken, None, "{locked} {loss}");
                assert_eq!(found.terminal_states, 0, "{locked} {loss}");
            }
        }
    }

    #[test]
    fn who_is_denied_asks_again() {
        let refused = Cluster::<Lock>::new(2, &[("locked", "deny")]);
        assert!(refused.err().is_some_and(|error| error.to_string().contains("retry=timer")));
        let mut cluster = with(2, &[("locked", "deny"), ("retry", "timer")]);
        cluster.happen(1, "ask");
        cluster.settle();
        cluster.happen(2, "ask");
        cluster.settle();
        assert_eq!(*cluster.state(2), State::Client(Client::Waiting { retry: true }));
        assert!(cluster.holds("served").is_err());
        cluster.happen(1, "finish");
        cluster.settle();
        cluster.happen(2, "retry");
        cluster.settle();
        assert_eq!(*cluster.state(2), State::Client(Client::Holding));
        assert_eq!(cluster.holds("served"), Ok(()));
    }

    #[test]
    fn the_queue_is_in_the_order_of_requests() {
        let mut cluster = with(3, &[("locked", "queue")]);
        for client in [2, 3, 1] {
            cluster.happen(client, "ask");
            cluster.settle();
        }
        for next in [3, 1] {
            let holder = (1..4).find(|client| *cluster.state(*client) == State::Client(Client::Holding));
            cluster.happen(holder.expect("a client has the lock"), "finish");
            cluster.settle();
            assert_eq!(*cluster.state(next), State::Client(Client::Holding));
        }
    }
}
