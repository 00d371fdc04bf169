//! The crate viewstamped-replication, unmodified: replicas agree on a log of numbers.

use guest_sdk::ready_made::{self, Budgets, Spent};
use guest_sdk::{
    About, By, Context, Distinguish, Encoding, LocalEvents, Never, NodeId, Opaque, ParameterError, Parameters, Payload,
    Properties, Protocol, Randomness,
};
use serde::{Deserialize, Serialize};
use viewstamped_replication::buffer::{BufferedMailbox, ProtocolPayload};
use viewstamped_replication::{Client, Configuration, Replica, Service};

/// The service: the invoked operations, in order. A replica shows it by a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Invoked(pub Vec<u32>);

impl viewstamped_replication::Protocol for Invoked {
    type Request = u32;
    type Prediction = ();
    type Reply = ();
    type Checkpoint = Self;
}

impl Service for Invoked {
    fn predict(&self, _: &u32) {}

    fn checkpoint(&self) -> Self {
        self.clone()
    }

    fn invoke(&mut self, request: &u32, (): &()) {
        self.0.push(*request);
    }
}

/// A replica with its mailbox, and the client that asks it.
pub struct Node {
    replica: Replica<Invoked>,
    mailbox: BufferedMailbox<Invoked>,
    client: Client,
    spent: Spent,
    /// The last view that it has started as the primary.
    started: String,
}

impl Node {
    fn invoked(&self) -> Vec<u32> {
        self.replica.checkpoint().state.0
    }

    /// Hands a message to the replica.
    fn handle(&mut self, message: ProtocolPayload<Invoked>) {
        let Self { replica, mailbox, .. } = self;
        match message {
            ProtocolPayload::Prepare(it) => replica.handle_prepare(it, mailbox),
            ProtocolPayload::PrepareOk(it) => replica.handle_prepare_ok(it, mailbox),
            ProtocolPayload::Commit(it) => replica.handle_commit(it, mailbox),
            ProtocolPayload::GetState(it) => replica.handle_get_state(it, mailbox),
            ProtocolPayload::NewState(it) => replica.handle_new_state(it, mailbox),
            ProtocolPayload::StartViewChange(it) => replica.handle_start_view_change(it, mailbox),
            ProtocolPayload::DoViewChange(it) => replica.handle_do_view_change(it, mailbox),
            ProtocolPayload::StartView(it) => replica.handle_start_view(it, mailbox),
            ProtocolPayload::Recovery(it) => replica.handle_recovery(it, mailbox),
            ProtocolPayload::RecoveryResponse(it) => replica.handle_recovery_response(it, mailbox),
        }
    }

    /// Sends the messages in the mailbox.
    fn flush(&mut self, ctx: &mut Context<Packet>) {
        for envelope in self.mailbox.drain_send() {
            ctx.send(envelope.destination as NodeId, Packet(envelope.payload));
        }
        for message in self.mailbox.drain_broadcast() {
            if let ProtocolPayload::StartView(start) = &message {
                self.started = format!("{:?}", start.view);
            }
            ctx.others().for_each(|node| ctx.send(node, Packet(message.clone())));
        }
        self.mailbox.drain_replies().for_each(drop);
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let view = format!("{:?}", self.replica.view());
        let mut node = f.debug_struct("Node");
        node.field("view", &view)
            .field("is_primary", &self.replica.is_primary())
            .field("invoked", &self.invoked())
            .finish()
    }
}

impl Distinguish for Node {
    const BY: By = By::Memory;
}

guest_sdk::arena!();

/// A message of the library, whose parts have serde and names that are not public.
pub struct Packet(pub ProtocolPayload<Invoked>);

macro_rules! packet {
    ($($number:literal $kind:ident),+) => {
        impl Payload for Packet {
            fn to_bytes(&self, _: Encoding) -> Vec<u8> {
                match &self.0 {
                    $(ProtocolPayload::$kind(it) => postcard::to_allocvec(&($number as u8, it)),)+
                }
                .expect("the library's messages have serde")
            }

            fn from_bytes(bytes: &[u8], _: Encoding) -> Option<Self> {
                let (kind, value) = bytes.split_first()?;
                Some(Self(match kind {
                    $($number => ProtocolPayload::$kind(postcard::from_bytes(value).ok()?),)+
                    _ => return None,
                }))
            }

            fn shown(&self) -> String {
                match &self.0 {
                    $(ProtocolPayload::$kind(it) => {
                        let shown = serde_json::to_string(it).expect("the library's messages have a JSON form");
                        format!("{}{shown}", stringify!($kind))
                    })+
                }
            }
        }
    };
}

packet!(0 Prepare, 1 PrepareOk, 2 Commit, 3 GetState, 4 NewState, 5 StartViewChange, 6 DoViewChange, 7 StartView, 8 Recovery, 9 RecoveryResponse);

/// A local event of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// A client asks the primary.
    Request,
    /// The node has received no message for a while.
    Idle,
}

/// The checked protocol, with limits on its local events.
pub struct Checked {
    budgets: Budgets<Local>,
    patient: bool,
}

impl Protocol for Checked {
    const ABOUT: About = guest_sdk::about!().nodes(3);
    const RANDOMNESS: Randomness = Randomness::Fresh;
    type State = Opaque<Node>;
    type Message = Packet;
    type Local = Local;
    type Durable = Never;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let requests = parameters.get("requests", 1, "how many requests each node takes as the primary")?;
        let idles = parameters.get("idles", 1, "how often each node hears nothing for a while")?;
        let budgets = Budgets::new().application("request", Local::Request, requests);
        Ok(Self {
            budgets: budgets.timer("idle", Local::Idle, idles),
            patient: parameters.get(
                "patient",
                false,
                "whether clients ask a primary only once its view has started",
            )?,
        })
    }

    fn init(&self, ctx: &mut Context<Packet>, _: Option<Never>) -> Opaque<Node> {
        let configuration = Configuration::from(ctx.nodes() as usize);
        Opaque::new(Node {
            replica: Replica::new(configuration, ctx.me() as usize, Invoked::default()),
            mailbox: BufferedMailbox::default(),
            client: Client::new(configuration),
            spent: Spent::default(),
            started: "View(0)".to_owned(),
        })
    }

    fn handle_message(&self, ctx: &mut Context<Packet>, node: &mut Opaque<Node>, _: NodeId, packet: Packet) {
        // "The protocol requires returned messages to be re-queued for later, after a new message comes in."
        let returned: Vec<_> = node.mailbox.drain_inbound().collect();
        node.handle(packet.0);
        node.flush(ctx);
        for message in returned {
            node.handle(message);
            node.flush(ctx);
        }
    }

    fn local_events(&self, node: &Opaque<Node>, events: &mut LocalEvents<Local>) {
        let is_open = !self.patient || node.started == format!("{:?}", node.replica.view());
        let takes = node.replica.is_primary() && is_open;
        self.budgets.list(&node.spent, events, |event| takes || *event == Local::Idle);
    }

    fn handle_local(&self, ctx: &mut Context<Packet>, node: &mut Opaque<Node>, event: Local) {
        let Node { replica, mailbox, client, spent, .. } = &mut **node;
        let number = self.budgets.spend(spent, &event);
        match event {
            Local::Request => replica.handle_request(client.new_request(10 * (ctx.me() + 1) + number), mailbox),
            Local::Idle => replica.idle(mailbox),
        }
        node.flush(ctx);
    }

    fn properties(claims: &mut Properties<Self>) {
        ready_made::logs_agree(claims.always("agreement"), |_, node| {
            Some(node.invoked()).filter(|invoked| !invoked.is_empty())
        });
        claims.sometimes("committed").node(
            |_, node| Some(node.invoked().len()),
            |invoked| if *invoked > 0 { Ok(()) } else { Err("nothing was invoked".to_owned()) },
        );
    }
}

guest_sdk::export!(Checked);
