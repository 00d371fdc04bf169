//! Clients move money between two accounts of a server over HTTP, with the crate hyper. Node 0 is the server, with a task per connection; each
//! other node is a client, which connects again and repeats its request when a connection breaks or takes too long.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::error::Error;
use std::rc::Rc;
use std::time::Duration;

use guest_sdk::tasks::net::{Carrier, Segment, TcpListener, TcpStream};
use guest_sdk::tasks::{self, Network, Program, Tasks};
use guest_sdk::{About, Never, NodeId, ParameterError, Parameters, Properties};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};

/// The configuration.
#[derive(Clone, Copy, Debug)]
pub struct Bank {
    /// The number of connections that each client opens at most.
    attempts: u8,
    mistake: Mistake,
}

/// Mistakes on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// Nothing.
    None,
    /// The task of the connection moves the money itself. hyper drops what it does for a request when the connection ends.
    Cancelled,
    /// A transfer that is repeated moves the money once more.
    MovedAgain,
}

/// The content of the first account at the beginning.
pub const TOTAL: u32 = 100;

/// The money that a client moves.
pub const AMOUNT: u32 = 7;

/// The part of a node that its tasks share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shared {
    /// The accounts of the server.
    pub accounts: [u32; 2],
    /// The clients whose transfer the server knows.
    pub transfers: BTreeSet<NodeId>,
    /// Transfers that are under way at the server.
    pub under_way: u32,
    /// Whether this client has the answer that its transfer is done.
    pub is_answered: bool,
}

type Node = Rc<RefCell<Shared>>;

impl Program for Bank {
    const ABOUT: About = guest_sdk::about!().nodes(2).network(guest_sdk::Network::Ordered);
    const STREAMS: Option<Carrier<Segment>> = Some(Carrier::SEGMENTS);
    type Message = Segment;
    type Call = Never;
    type Durable = Never;
    type Shared = Node;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let attempts = parameters.get("attempts", 2, "connections that each client opens at most")?;
        let mistakes =
            [("none", Mistake::None), ("cancelled", Mistake::Cancelled), ("moved-again", Mistake::MovedAgain)];
        Ok(Self { attempts, mistake: parameters.choice("bug", &mistakes, "a mistake on purpose")? })
    }

    fn start(&self, network: Network<Segment>, _: Option<Never>) -> Node {
        let node = Node::default();
        if network.me() == 0 {
            node.borrow_mut().accounts = [TOTAL, 0];
            tasks::spawn(listen(self.mistake, Rc::clone(&node)));
        } else {
            tasks::spawn(order(self.attempts, Rc::clone(&node), network.me()));
        }
        node
    }

    fn properties(claims: &mut Properties<Tasks<Self>>) {
        claims.always("money-is-kept").node(
            |_, node| Some(node.borrow().clone()).filter(|node| node.accounts != [0, 0]),
            |server| {
                let sum: u32 = server.accounts.iter().sum();
                if server.under_way > 0 || sum == TOTAL {
                    return Ok(());
                }
                Err(format!("the accounts have {sum} together, and had {TOTAL}"))
            },
        );
        claims.always("moved-as-ordered").system(
            |_, node| Some(node.borrow().clone()),
            |views| {
                let mut views = views.iter().flatten();
                let moved = views.next().map_or(0, |server| server.accounts[1] / AMOUNT) as usize;
                let [answered, clients] = [views.clone().filter(|client| client.is_answered).count(), views.count()];
                if moved < answered || moved > clients {
                    return Err(format!(
                        "{clients} clients, {answered} of them with an answer, have moved money {moved} times"
                    ));
                }
                Ok(())
            },
        );
        claims.sometimes("answered").node(
            |_, node| Some(node.borrow().is_answered),
            |is| if *is { Ok(()) } else { Err("nothing is answered".to_owned()) },
        );
    }
}

/// The server: a task per connection.
async fn listen(mistake: Mistake, node: Node) -> std::io::Result<()> {
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let node = Rc::clone(&node);
        let service = service_fn(move |request| answer(mistake, Rc::clone(&node), request));
        // The header of the date asks for the clock of the system.
        let mut server = hyper::server::conn::http1::Builder::new();
        tasks::spawn(server.auto_date_header(false).serve_connection(TokioIo::new(stream), service));
    }
}

/// The response to a request: `POST /transfers` with the number of the client.
async fn answer(mistake: Mistake, node: Node, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let is_transfer = request.method() == Method::POST && request.uri().path() == "/transfers";
    let body = request.into_body().collect().await;
    let client = body.ok().and_then(|body| std::str::from_utf8(&body.to_bytes()).ok()?.parse().ok());
    let status = match client.filter(|_| is_transfer) {
        None => StatusCode::BAD_REQUEST,
        Some(client) if mistake == Mistake::Cancelled => transfer(mistake, node, client).await,
        // A task of its own goes to its end, whatever happens to the connection.
        Some(client) => match tasks::spawn(transfer(mistake, node, client)).await {
            Ok(status) => status,
            Err(tasks::Aborted) => StatusCode::INTERNAL_SERVER_ERROR,
        },
    };
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    Ok(response)
}

/// A transfer that is under way, until it ends or is dropped.
struct UnderWay(Node);

impl UnderWay {
    fn of(node: &Node) -> Self {
        node.borrow_mut().under_way += 1;
        Self(Rc::clone(node))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.borrow_mut().under_way -= 1;
    }
}

/// Moves the money of a client, unless that is done already.
async fn transfer(mistake: Mistake, node: Node, client: NodeId) -> StatusCode {
    let is_new = node.borrow_mut().transfers.insert(client);
    if !is_new && mistake != Mistake::MovedAgain {
        // The first one may still be under way.
        let is_done = node.borrow().under_way == 0;
        return if is_done { StatusCode::OK } else { StatusCode::CONFLICT };
    }
    let _under_way = UnderWay::of(&node);
    node.borrow_mut().accounts[0] -= AMOUNT;
    tasks::sleep_named("disk", Duration::from_millis(1)).await;
    node.borrow_mut().accounts[1] += AMOUNT;
    StatusCode::OK
}

/// A client: orders its transfer, over another connection where one breaks or takes too long.
async fn order(attempts: u8, node: Node, me: NodeId) {
    for _ in 0..attempts {
        if let Ok(Ok(StatusCode::OK)) = tasks::timeout(Duration::from_secs(5), attempt(me)).await {
            node.borrow_mut().is_answered = true;
            return;
        }
    }
}

async fn attempt(me: NodeId) -> Result<StatusCode, Box<dyn Error>> {
    let stream = TcpStream::connect("node-0:80").await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let connection = tasks::spawn(connection);
    let request = Request::post("/transfers").header("host", "node-0").body(Full::new(Bytes::from(me.to_string())))?;
    let response = sender.send_request(request).await?;
    let status = response.status();
    response.into_body().collect().await?;
    connection.abort();
    Ok(status)
}

guest_sdk::arena!();
guest_sdk::export!(Tasks<Bank>);

#[cfg(test)]
mod tests {
    use guest_sdk::test::Cluster;

    use super::*;

    fn bank(nodes: u32, bug: &str) -> Cluster<Tasks<Bank>> {
        Cluster::new(nodes, &[("bug", bug)]).expect("the parameters fit")
    }

    /// A client connects, and its request waits for the disk.
    fn asked(bug: &str) -> Cluster<Tasks<Bank>> {
        let mut cluster = bank(2, bug);
        // Open, accept, and the request.
        (0..3).for_each(|_| cluster.deliver(0));
        assert_eq!(cluster.state(0).borrow().under_way, 1);
        cluster
    }

    /// The client has waited too long, and connects again.
    fn give_up(cluster: &mut Cluster<Tasks<Bank>>) {
        let timer = cluster.local_events(1)[0].name;
        cluster.happen(1, timer);
    }

    #[test]
    fn money_is_moved() {
        let mut cluster = bank(3, "none");
        cluster.settle();
        for moved in [AMOUNT, 2 * AMOUNT] {
            cluster.happen(0, "disk");
            cluster.settle();
            assert_eq!(cluster.state(0).borrow().accounts[1], moved);
            assert_eq!(cluster.check(), Ok(()));
        }
        assert!([1, 2].iter().all(|client| cluster.state(*client).borrow().is_answered));
        assert_eq!(cluster.state(0).borrow().accounts, [TOTAL - 2 * AMOUNT, 2 * AMOUNT]);
    }

    #[test]
    fn a_connection_that_ends_drops_what_its_task_does() {
        for (bug, under_way) in [("none", 1), ("cancelled", 0)] {
            let mut cluster = asked(bug);
            give_up(&mut cluster);
            // The end of the first connection, and the second one with the same request.
            cluster.settle();
            let server = cluster.state(0).borrow().clone();
            assert_eq!((server.accounts, server.under_way), ([TOTAL - AMOUNT, 0], under_way), "{bug}");
            assert_eq!(cluster.check().is_ok(), bug == "none", "{bug}");
        }
    }

    #[test]
    fn a_transfer_that_is_repeated_moves_money_once() {
        for (bug, moved) in [("none", AMOUNT), ("moved-again", 2 * AMOUNT)] {
            let mut cluster = asked(bug);
            cluster.happen(0, "disk");
            give_up(&mut cluster);
            cluster.settle();
            if bug == "moved-again" {
                cluster.happen(0, "disk");
                cluster.settle();
            }
            assert_eq!(cluster.state(0).borrow().accounts[1], moved, "{bug}");
            assert!(cluster.state(1).borrow().is_answered, "{bug}");
            assert_eq!(cluster.check().is_ok(), bug == "none", "{bug}");
        }
    }
}
