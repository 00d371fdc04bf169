//! Clients book amounts at a server over TCP. Node 0 is the server, with a task per connection; each other node is a client, which connects
//! again and repeats its request when a connection breaks or takes too long.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use guest_sdk::tasks::fs::{self, File};
use guest_sdk::tasks::net::{Carrier, Segment, TcpListener, TcpStream, node_of};
use guest_sdk::tasks::{self, Network, Program, Tasks};
use guest_sdk::{About, Never, NodeId, ParameterError, Parameters, Properties};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The configuration.
#[derive(Clone, Copy, Debug)]
pub struct Ledger {
    /// Amounts that each client books.
    bookings: u8,
    /// The number of connections that each client opens at most.
    attempts: u8,
    mistake: Mistake,
}

/// Mistakes on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// Nothing.
    None,
    /// The server takes what one read returns for a request.
    OneRead,
    /// The server abandons a read of a request when a timer fires, and with it the bytes that it has.
    CancelledRead,
    /// The server books a request that is repeated once more.
    BookedAgain,
    /// The server answers before the booking is certainly on disk.
    ForgetSync,
}

/// A request: the number of the booking at its client, and the amount.
type Request = [u8; 3];

/// A booking at the server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Booking {
    /// The client.
    pub client: NodeId,
    /// Its number at the client.
    pub number: u8,
    /// The amount.
    pub amount: u16,
}

/// The part of a node that its tasks share. Files have all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shared {
    /// The bookings of the server, in their order.
    pub booked: Vec<Booking>,
    /// The number of bookings that the server has acknowledged to this client.
    pub acknowledged: u8,
}

type Node = Rc<RefCell<Shared>>;

/// The file of the server, with four bytes per booking.
const BOOKED: &str = "booked";
/// The file of a client, with one byte.
const ACKNOWLEDGED: &str = "acknowledged";

/// The amount of a booking.
#[must_use]
pub fn amount(client: NodeId, number: u8) -> u16 {
    256 * client as u16 + 7 + u16::from(number)
}

impl Program for Ledger {
    const ABOUT: About = guest_sdk::about!().nodes(2).network(guest_sdk::Network::Ordered);
    const STREAMS: Option<Carrier<Segment>> = Some(Carrier::SEGMENTS);
    type Message = Segment;
    type Call = Never;
    type Durable = Never;
    type Shared = Node;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let bookings = parameters.get("bookings", 1, "how many amounts each client books")?;
        let attempts =
            parameters.get("attempts", 2, "how many connections each client opens at most, between two starts")?;
        let mistakes = [
            ("none", Mistake::None),
            ("one-read", Mistake::OneRead),
            ("cancelled-read", Mistake::CancelledRead),
            ("booked-again", Mistake::BookedAgain),
            ("forget-sync", Mistake::ForgetSync),
        ];
        let mistake = parameters.choice("bug", &mistakes, "what is wrong on purpose")?;
        Ok(Ledger { bookings, attempts, mistake })
    }

    fn start(&self, network: Network<Segment>, _: Option<Never>) -> Node {
        let node = Node::default();
        match network.me() {
            0 => drop(tasks::spawn(listen(self.mistake, Rc::clone(&node)))),
            me => drop(tasks::spawn(book(*self, Rc::clone(&node), me))),
        }
        node
    }

    fn properties(claims: &mut Properties<Tasks<Self>>) {
        claims.always("booked-as-requested").node(
            |_, node| Some(node.borrow().booked.clone()).filter(|booked| !booked.is_empty()),
            |booked| {
                let wrong = booked.iter().find(|booking| booking.amount != amount(booking.client, booking.number));
                wrong.map_or(Ok(()), |Booking { client, number, amount: booked }| {
                    let wanted = amount(*client, *number);
                    Err(format!("booking {number} of node {client} is {booked}, and not {wanted}"))
                })
            },
        );
        claims.always("booked-once").node(
            |_, node| Some(node.borrow().booked.clone()).filter(|booked| !booked.is_empty()),
            |booked| {
                let mut all = BTreeSet::new();
                let twice = booked.iter().find(|booking| !all.insert((booking.client, booking.number)));
                twice.map_or(Ok(()), |twice| {
                    Err(format!("booking {} of node {} is there twice", twice.number, twice.client))
                })
            },
        );
        claims.always("acknowledged-is-booked").system(
            |_, node| Some(node.borrow().clone()),
            |views| {
                let booked = |client: NodeId| {
                    let server = views.first().and_then(Option::as_ref);
                    let all = server.map_or(&[][..], |server| &server.booked);
                    all.iter().filter(|booking| booking.client == client).count()
                };
                let mut clients = (0..).zip(views).filter_map(|(node, view)| Some((node, view.as_ref()?.acknowledged)));
                let wrong = clients.find(|(node, acknowledged)| usize::from(*acknowledged) > booked(*node));
                wrong.map_or(Ok(()), |(node, _)| {
                    Err(format!("node {node} has the answer to a request that is not booked"))
                })
            },
        );
        claims.sometimes("acknowledged").node(
            |_, node| Some(node.borrow().acknowledged),
            |acknowledged| if *acknowledged > 0 { Ok(()) } else { Err("nothing is acknowledged".to_owned()) },
        );
        // Everything that can be observed, for tests that compare.
        claims.always("observed").node(|_, node| Some(node.borrow().clone()), |_| Ok(()));
    }
}

/// The server: a task per connection.
async fn listen(mistake: Mistake, node: Node) -> io::Result<()> {
    let content = if fs::try_exists(BOOKED).await? { fs::read(BOOKED).await? } else { Vec::new() };
    node.borrow_mut().booked = content.as_chunks().0.iter().map(Booking::from_bytes).collect();
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (stream, peer) = listener.accept().await?;
        let client = node_of(peer).expect("clients are nodes");
        tasks::spawn(serve(mistake, Rc::clone(&node), stream, client));
    }
}

/// Answers the requests of a connection, until it ends or breaks.
async fn serve(mistake: Mistake, node: Node, mut stream: TcpStream, client: NodeId) -> io::Result<()> {
    let mut request = Request::default();
    loop {
        match mistake {
            Mistake::OneRead => {
                request = Request::default();
                if stream.read(&mut request).await? == 0 {
                    return Ok(());
                }
            }
            Mistake::CancelledRead => {
                // The next round begins with another read.
                tokio::select! {
                    biased;
                    read = stream.read_exact(&mut request) => drop(read?),
                    () = tasks::sleep_named("idle", Duration::from_secs(1)) => {
                        stream.read_exact(&mut request).await?;
                    }
                }
            }
            Mistake::None | Mistake::BookedAgain | Mistake::ForgetSync => drop(stream.read_exact(&mut request).await?),
        }
        let [number, high, low] = request;
        let booking = Booking { client, number, amount: u16::from_be_bytes([high, low]) };
        if node.borrow_mut().book(mistake, &booking) {
            let mut file = File::options().append(true).create(true).open(BOOKED).await?;
            file.write_all(&booking.to_bytes()).await?;
            if mistake != Mistake::ForgetSync {
                file.sync_data().await?;
            }
        }
        stream.write_all(&[number]).await?;
    }
}

impl Shared {
    /// Whether a request is booked, and not known.
    fn book(&mut self, mistake: Mistake, booking: &Booking) -> bool {
        let is_known = self.booked.iter().any(|other| (other.client, other.number) == (booking.client, booking.number));
        let is_booked = !is_known || mistake == Mistake::BookedAgain;
        if is_booked {
            self.booked.push(booking.clone());
        }
        is_booked
    }
}

impl Booking {
    fn to_bytes(&self) -> [u8; 4] {
        let [high, low] = self.amount.to_be_bytes();
        [self.client as u8, self.number, high, low]
    }

    fn from_bytes([client, number, high, low]: &[u8; 4]) -> Self {
        Self { client: (*client).into(), number: *number, amount: u16::from_be_bytes([*high, *low]) }
    }
}

/// A client: books its amounts, over another connection where one breaks or takes too long.
async fn book(Ledger { bookings, attempts, .. }: Ledger, node: Node, me: NodeId) {
    if let Ok(content) = fs::read(ACKNOWLEDGED).await {
        node.borrow_mut().acknowledged = content.first().copied().unwrap_or(0);
    }
    for _ in 0..attempts {
        let session = tasks::timeout(Duration::from_secs(5), session(bookings, &node, me)).await;
        if matches!(session, Ok(Ok(()))) {
            return;
        }
    }
}

async fn session(bookings: u8, node: &Node, me: NodeId) -> io::Result<()> {
    let mut stream = TcpStream::connect("node-0:80").await?;
    let left = node.borrow().acknowledged..bookings;
    for number in left.clone() {
        let [high, low] = amount(me, number).to_be_bytes();
        stream.write_all(&[number, high, low]).await?;
    }
    for number in left {
        if stream.read_u8().await? != number {
            return Err(io::ErrorKind::InvalidData.into());
        }
        // A file of its own replaces the former one: an outage leaves the one or the other.
        let mut file = File::create("acknowledged.new").await?;
        file.write_all(&[number + 1]).await?;
        fs::rename("acknowledged.new", ACKNOWLEDGED).await?;
        file.sync_data().await?;
        node.borrow_mut().acknowledged = number + 1;
    }
    Ok(())
}

guest_sdk::arena!();
guest_sdk::export!(Tasks<Ledger>);

#[cfg(test)]
mod tests {
    use guest_sdk::test::Cluster;

    use super::*;

    #[test]
    fn clients_book_and_are_answered() {
        let mut cluster = Cluster::<Tasks<Ledger>>::new(3, &[("bookings", "2")]).expect("the parameters fit");
        cluster.settle();
        let booking = |client, number| Booking { client, number, amount: amount(client, number) };
        assert_eq!(cluster.state(0).borrow().booked, [booking(1, 0), booking(1, 1), booking(2, 0), booking(2, 1)]);
        assert_eq!([1, 2].map(|node| cluster.state(node).borrow().acknowledged), [2, 2]);
        assert_eq!(cluster.check(), Ok(()));
        assert!(cluster.local_events(1).is_empty());
    }

    #[test]
    fn a_request_that_is_repeated_is_booked_once() {
        for (bug, booked) in [("none", 1), ("booked-again", 2)] {
            let mut cluster = Cluster::<Tasks<Ledger>>::new(2, &[("bug", bug)]).expect("the parameters fit");
            // Open, accept, and the request.
            (0..3).for_each(|_| cluster.deliver(0));
            // Its answer is late.
            let timer = cluster.local_events(1)[0].name;
            cluster.happen(1, timer);
            cluster.settle();
            assert_eq!(cluster.state(0).borrow().booked.len(), booked, "{bug}");
            assert_eq!(cluster.state(1).borrow().acknowledged, 1, "{bug}");
        }
    }
}
