//! The crate automerge, unmodified: replicas of a document edit it and tell each other by its sync protocol.

use automerge::sync::{Message, State, SyncDoc};
use automerge::transaction::Transactable;
use automerge::{ActorId, AutoCommit, ChangeHash, ROOT, ReadDoc};
use guest_sdk::ready_made::{Budgets, Spent};
use guest_sdk::{
    About, By, Context, Distinguish, Encoding, LocalEvents, Never, NodeId, Opaque, ParameterError, Parameters, Payload,
    Properties, Protocol, Randomness,
};
use serde::{Deserialize, Serialize};

/// A replica, and what it knows of each other replica's progress.
pub struct Replica {
    document: AutoCommit,
    peers: Vec<State>,
    spent: Spent,
}

impl std::fmt::Debug for Replica {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut document = self.document.clone();
        let heads: Vec<String> = document.get_heads().iter().map(short).collect();
        f.debug_struct("Replica").field("heads", &heads).field("document", &entries(&document)).finish()
    }
}

impl Distinguish for Replica {
    const BY: By = By::History;
}

/// A message of the sync protocol.
pub struct Packet(pub Message);

impl Payload for Packet {
    fn to_bytes(&self, _: Encoding) -> Vec<u8> {
        self.0.clone().encode()
    }

    fn from_bytes(bytes: &[u8], _: Encoding) -> Option<Self> {
        Message::decode(bytes).ok().map(Self)
    }

    fn shown(&self) -> String {
        let Message { heads, need, have, changes, .. } = &self.0;
        let hashes = |all: &[ChangeHash]| all.iter().map(short).collect::<Vec<_>>().join(" ");
        let size = changes.len();
        format!("heads [{}], need [{}], {} have, {size} changes", hashes(heads), hashes(need), have.len())
    }
}

/// A local event of a replica.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// Its user writes under a key that all use.
    Put,
    /// Its user deletes that key.
    Delete,
}

/// The checked protocol, with limits on its local events.
pub struct Checked {
    budgets: Budgets<Local>,
}

fn short(hash: &ChangeHash) -> String {
    hash.to_string().chars().take(6).collect()
}

/// All values under each key, conflicts included.
fn entries(document: &AutoCommit) -> Vec<String> {
    let keys = document.keys(ROOT).collect::<Vec<_>>();
    let all = |key: &String| document.get_all(ROOT, key.as_str()).unwrap_or_default();
    keys.iter().map(|key| format!("{key}: {:?}", all(key))).collect()
}

impl Replica {
    /// Sends each other replica the changes that it lacks.
    fn tell(&mut self, ctx: &mut Context<Packet>) {
        for peer in ctx.others() {
            let message = self.document.sync().generate_sync_message(&mut self.peers[peer as usize]);
            message.into_iter().for_each(|message| ctx.send(peer, Packet(message)));
        }
    }
}

impl Protocol for Checked {
    const ABOUT: About = guest_sdk::about!().nodes(2);
    // The randomness is for hash tables; identities of replicas are given.
    const RANDOMNESS: Randomness = Randomness::Constant;
    type State = Opaque<Replica>;
    type Message = Packet;
    type Local = Local;
    type Durable = Never;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let edits = parameters.get("edits", 1, "how often each user writes")?;
        let deletes = parameters.get("deletes", 0, "how often each user deletes")?;
        let budgets = Budgets::new().application("put", Local::Put, edits);
        Ok(Self { budgets: budgets.application("delete", Local::Delete, deletes) })
    }

    fn init(&self, ctx: &mut Context<Packet>, _: Option<Never>) -> Opaque<Replica> {
        let mut document = AutoCommit::new();
        document.set_actor(ActorId::from([ctx.me() as u8 + 1]));
        let peers = (0..ctx.nodes()).map(|_| State::new()).collect();
        Opaque::new(Replica { document, peers, spent: Spent::default() })
    }

    fn handle_message(&self, ctx: &mut Context<Packet>, replica: &mut Opaque<Replica>, from: NodeId, packet: Packet) {
        let Replica { document, peers, .. } = &mut **replica;
        document.sync().receive_sync_message(&mut peers[from as usize], packet.0).expect("a message of the library");
        replica.tell(ctx);
    }

    fn local_events(&self, replica: &Opaque<Replica>, events: &mut LocalEvents<Local>) {
        self.budgets.list(&replica.spent, events, |_| true);
    }

    fn handle_local(&self, ctx: &mut Context<Packet>, replica: &mut Opaque<Replica>, event: Local) {
        let number = self.budgets.spend(&mut replica.spent, &event);
        match event {
            Local::Put => replica.document.put(ROOT, "key", format!("{}.{number}", ctx.me())).expect("a value"),
            Local::Delete => replica.document.delete(ROOT, "key").expect("no error, even if it is not there"),
        }
        replica.tell(ctx);
    }

    fn properties(claims: &mut Properties<Self>) {
        // Strong convergence: the same changes, the same document.
        claims.always("convergence").system(
            |_, replica| Some((heads(replica), entries(&replica.document))),
            |all| {
                let all: Vec<_> = all.iter().flatten().collect();
                let differ =
                    |(one, other): &(usize, usize)| all[*one].0 == all[*other].0 && all[*one].1 != all[*other].1;
                let pairs = (0..all.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
                match pairs.into_iter().find(differ) {
                    Some((one, other)) => Err(format!("the same changes are {:?} and {:?}", all[other].1, all[one].1)),
                    None => Ok(()),
                }
            },
        );
        claims.eventually("in-sync").system(
            |_, replica| Some(heads(replica)),
            |all| match all.windows(2).all(|two| two[0] == two[1]) {
                true => Ok(()),
                false => Err("replicas have different changes".to_owned()),
            },
        );
    }
}

fn heads(replica: &Replica) -> Vec<ChangeHash> {
    let mut heads = replica.document.clone().get_heads();
    heads.sort_unstable();
    heads
}

guest_sdk::export!(Checked);
