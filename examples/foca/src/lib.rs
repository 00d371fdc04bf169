//! The crate foca, unmodified: members of a cluster discover each other and detect failed members by SWIM.

use std::time::Duration;

use foca::{
    AccumulatingRuntime, Config, Error, Foca, Identity, NoCustomBroadcast, OwnedNotification, PostcardCodec, Timer,
};
use guest_sdk::{
    About, By, Context, Distinguish, Encoding, LocalEvents, Never, NodeId, Opaque, ParameterError, Parameters, Payload,
    Properties, Protocol,
};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use serde::{Deserialize, Serialize};

/// A member, with the number of its returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Id {
    /// Its node.
    pub node: NodeId,
    /// The number of its identity.
    pub generation: u32,
    /// Whether it takes another identity when it is declared down.
    pub renews: bool,
}

impl Identity for Id {
    type Addr = NodeId;

    fn renew(&self) -> Option<Self> {
        self.renews.then_some(Self { generation: self.generation + 1, ..*self })
    }

    fn addr(&self) -> NodeId {
        self.node
    }

    fn win_addr_conflict(&self, adversary: &Self) -> bool {
        self.generation > adversary.generation
    }
}

/// A member of the library, with its surroundings.
pub struct Member {
    foca: Foca<Id, PostcardCodec, SmallRng, NoCustomBroadcast>,
    /// Pending timers by due time; the library orders timers with equal times.
    timers: Vec<(Duration, Timer<Id>)>,
    now: Duration,
    fired: u32,
    announced: bool,
    /// Members that are up, according to the notifications.
    up: Vec<Id>,
    /// A notification that the library promises not to send, and has sent.
    wrong: Option<String>,
}

impl std::fmt::Debug for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let short = |id: &Id| format!("{}.{}", id.node, id.generation);
        let known: Vec<String> = self
            .foca
            .iter_membership_state()
            .map(|member| format!("{} {:?} {}", short(member.id()), member.state(), member.incarnation()))
            .collect();
        f.debug_struct("Member")
            .field("me", &short(self.foca.identity()))
            .field("known", &known)
            .field("timers", &self.timers)
            .field("wrong", &self.wrong)
            .finish()
    }
}

impl Distinguish for Member {
    const BY: By = By::History;
}

/// A datagram of the library.
pub struct Datagram(pub Vec<u8>);

impl Payload for Datagram {
    fn to_bytes(&self, _: Encoding) -> Vec<u8> {
        self.0.clone()
    }

    fn from_bytes(bytes: &[u8], _: Encoding) -> Option<Self> {
        Some(Self(bytes.to_vec()))
    }

    fn shown(&self) -> String {
        let mut bytes = &self.0[..];
        let header = foca::Codec::<Id>::decode_header(&mut PostcardCodec, &mut bytes);
        header.map_or_else(|_| format!("{:?}", self.0), |header| format!("{:?}", header.message))
    }
}

/// A local event of a member.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// The member asks another node to let it join.
    Join,
    /// The next timer is due.
    Time,
}

/// The checked protocol: limits on its events, and settings.
pub struct Checked {
    timers: u32,
    config: Config,
    renews: bool,
}

impl Member {
    /// Applies the effects of a call of the library.
    fn after(&mut self, ctx: &mut Context<Datagram>, mut did: AccumulatingRuntime<Id>, result: Result<(), Error>) {
        while let Some((to, bytes)) = did.to_send() {
            ctx.send(to.node, Datagram(bytes.to_vec()));
        }
        while let Some((after, timer)) = did.to_schedule() {
            self.timers.push((self.now + after, timer));
        }
        self.timers.sort();
        while let Some(notification) = did.to_notify() {
            self.hear(&notification);
        }
        if let Err(error) = result {
            self.wrong.get_or_insert(format!("the library refuses its own message or timer: {error}"));
        }
        // The notifications agree with the members.
        let active = |id: &Id| self.foca.iter_members().any(|member| member.id() == id);
        if self.up.len() != self.foca.num_members() || !self.up.iter().all(active) {
            let members: Vec<Id> = self.foca.iter_members().map(|member| *member.id()).collect();
            self.wrong.get_or_insert(format!("notifications make it {:?}, and members are {members:?}", self.up));
        }
    }

    fn hear(&mut self, notification: &OwnedNotification<Id>) {
        let problem = match notification {
            OwnedNotification::MemberUp(id) if self.up.contains(id) => "a member is up that was up",
            OwnedNotification::MemberUp(id) => {
                self.up.push(*id);
                return;
            }
            OwnedNotification::MemberDown(id) => match self.up.iter().position(|up| up == id) {
                Some(place) => {
                    self.up.remove(place);
                    return;
                }
                None => "a member is down that was not up",
            },
            OwnedNotification::Rename(before, after) => {
                self.up.iter_mut().filter(|up| *up == before).for_each(|up| *up = *after);
                return;
            }
            _ => return,
        };
        self.wrong.get_or_insert(format!("{problem}: {notification:?}"));
    }
}

impl Protocol for Checked {
    const ABOUT: About = guest_sdk::about!().nodes(3);
    type State = Opaque<Member>;
    type Message = Datagram;
    type Local = Local;
    type Durable = Never;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let extensions = parameters.get("extensions", false, "whether members that are down are told, and asked")?;
        let mut config = Config::simple();
        config.notify_down_members = extensions;
        if extensions {
            let num_members = std::num::NonZeroUsize::MIN;
            let every = |seconds| Some(foca::PeriodicParams { frequency: Duration::from_secs(seconds), num_members });
            config.periodic_announce_to_down_members = every(4);
            config.periodic_announce = every(5);
            config.periodic_gossip = every(1);
        }
        Ok(Self {
            timers: parameters.get("timers", 8, "how many timers of each member are due")?,
            config,
            renews: parameters.get("renews", true, "whether who is declared down comes back as somebody else")?,
        })
    }

    fn init(&self, ctx: &mut Context<Datagram>, _: Option<Never>) -> Opaque<Member> {
        let me = Id { node: ctx.me(), generation: 0, renews: self.renews };
        // Random numbers decide which member it asks next.
        let foca = Foca::new(me, self.config.clone(), SmallRng::seed_from_u64(u64::from(ctx.me())), PostcardCodec);
        let (timers, up, now) = (Vec::new(), Vec::new(), Duration::ZERO);
        Opaque::new(Member { foca, timers, now, fired: 0, announced: false, up, wrong: None })
    }

    fn handle_message(&self, ctx: &mut Context<Datagram>, member: &mut Opaque<Member>, _: NodeId, datagram: Datagram) {
        let mut did = AccumulatingRuntime::new();
        let result = member.foca.handle_data(&datagram.0, &mut did);
        member.after(ctx, did, result);
    }

    fn local_events(&self, member: &Opaque<Member>, events: &mut LocalEvents<Local>) {
        if !member.announced {
            events.application("join", Local::Join);
        }
        if member.fired < self.timers && !member.timers.is_empty() {
            events.timer("time", Local::Time);
        }
    }

    fn handle_local(&self, ctx: &mut Context<Datagram>, member: &mut Opaque<Member>, event: Local) {
        let mut did = AccumulatingRuntime::new();
        let result = match event {
            Local::Join => {
                member.announced = true;
                let other = Id { node: (ctx.me() + 1) % ctx.nodes(), generation: 0, renews: self.renews };
                member.foca.announce(other, &mut did)
            }
            Local::Time => {
                member.fired += 1;
                let (due, timer) = member.timers.remove(0);
                member.now = due;
                member.foca.handle_timer(timer, &mut did)
            }
        };
        member.after(ctx, did, result);
    }

    fn properties(claims: &mut Properties<Self>) {
        claims.always("told").node(|_, member| member.wrong.clone(), |wrong| Err(wrong.clone()));
        let downs = |member: &Opaque<Member>| {
            member.foca.iter_membership_state().any(|other| other.state() == foca::State::Down)
        };
        claims.sometimes("down").node(move |_, member| downs(member).then_some(()), |()| Ok(()));
        claims.sometimes("all-up").system(
            |_, member| Some(member.up.len()),
            |up| match up.iter().flatten().all(|up| *up + 1 == 3) {
                true => Ok(()),
                false => Err("some member is not known".to_owned()),
            },
        );
    }
}

guest_sdk::export!(Checked);
