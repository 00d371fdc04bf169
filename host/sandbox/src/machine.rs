//! The sandbox as a [`Machine`].
//!
//! | module | what it holds |
//! |---|---|
//! | `handlers` | the calls of handlers |
//! | `running` | what only a running node asks |
//! | `rest` | the state between handlers, where the memory tells states apart |
//! | `portable` | local states as bytes that another process can take up |

mod handlers;
pub(crate) mod portable;
pub(crate) mod rest;
mod running;

use std::sync::Arc;

use host_model::contract::{
    Effects, Fault, FaultKind, Input, LocalEvent, Machine, MachineError, NodeId, Property, Quorum, Request, Response,
    Role, Snapshot, Span, StateOwner, TransferError,
};

use crate::contract::abi::{Bytes, QuorumOut, RoleOut, Text};
use crate::contract::limits::GuestLimits;
use crate::machine::rest::Rest;
use crate::run::buffers::{fill, fill_views};
use crate::run::instance::Live;
use crate::run::plugin_parts::PluginParts;
use crate::state::image::Image;
use crate::state::snapshot::Delta;
use crate::store::context::explanation;

/// Runs the handlers of one plugin, one local state at a time.
pub(crate) struct GuestMachine {
    plugin: Arc<PluginParts>,
    /// None after a fault, which poisons the store.
    live: Option<Live>,
    keep_log: bool,
    bytes: Bytes,
    text: Text,
    views: Arc<Vec<Option<Vec<u8>>>>,
    rest: Rest,
}

impl GuestMachine {
    pub(crate) fn new(plugin: &Arc<PluginParts>) -> Result<Self, MachineError> {
        let mut machine = Self {
            plugin: Arc::clone(plugin),
            live: None,
            keep_log: false,
            bytes: Bytes::default(),
            text: Text::default(),
            views: Arc::default(),
            rest: Rest::default(),
        };
        plugin.check()?;
        machine.live = Some(Live::another(plugin)?);
        Ok(machine)
    }

    /// The instance; after a fault there is none until `restore`.
    fn live(&mut self) -> &mut Live {
        present(&mut self.live)
    }

    /// Drops the instance if the call failed: a trap poisons the store.
    fn settle<R>(&mut self, result: Result<R, Fault>) -> Result<R, Fault> {
        if result.is_err() {
            self.live = None;
        }
        result
    }

    /// Prepares for a call that only reads the state.
    fn read(&mut self, function: &'static str) -> &mut Live {
        self.disturb();
        let live = self.live();
        live.context().begin_reading(function);
        live
    }

    /// Before a call that reads: where the memory tells states apart, what such a call leaves behind must not.
    fn disturb(&mut self) {
        if self.plugin.dead_stack.is_some() {
            self.come_to_rest();
            let live = present(&mut self.live);
            self.rest.disturb(|| live.capture());
        }
    }

    /// Takes back what calls that read have left in memory.
    fn come_to_rest(&mut self) {
        let Some(state) = self.rest.take_back() else { return };
        if let Err(MachineError::Host(trouble)) = self.restore(state.as_ref()) {
            // The receiver of a fault from now on asks whether it was one.
            self.plugin.fail(trouble);
        }
    }

    /// The digest of all memories and globals at rest, as differences from the pristine image: the same in every process.
    fn memory_identity(&mut self) -> Vec<u8> {
        self.come_to_rest();
        let state = self.live().capture_portable();
        // The first word tells plugins of one process apart.
        let bytes: Vec<u8> = state.words().iter().skip(1).flat_map(|word| word.to_le_bytes()).collect();
        blake3::hash(&bytes).as_bytes().to_vec()
    }

    /// All that the memories hold in a captured state, globals included.
    pub(crate) fn image(&mut self, state: &Snapshot) -> Result<Image, MachineError> {
        self.restore(Some(state))?;
        Ok(self.live().image())
    }

    /// The hash of the canonical encoding of the state that the machine is in.
    fn encoding(&mut self) -> Result<blake3::Hash, TransferError> {
        match self.serialize() {
            Ok(encoding) => Ok(blake3::hash(&encoding)),
            Err(fault) => {
                self.confirm_fault()?;
                Err(TransferError::Refused(format!("there is no encoding of the state: {fault}")))
            }
        }
    }

    fn limits(&self) -> &GuestLimits {
        &self.plugin.sandbox.config.limits
    }
}

impl Machine for GuestMachine {
    fn restore(&mut self, snapshot: Option<&Snapshot>) -> Result<(), MachineError> {
        self.plugin.check()?;
        let delta = match snapshot {
            Some(snapshot) => {
                let delta = Delta::parse(snapshot.words(), self.plugin.id, self.plugin.pristine_sizes().len());
                Some(
                    delta
                        .ok_or_else(|| MachineError::Host("a snapshot of another plugin cannot be restored".into()))?,
                )
            }
            None => None,
        };
        if self.live.is_none() {
            self.live = Some(Live::another(&self.plugin)?);
        }
        let restored = self.live().restore(delta);
        if restored.is_err() {
            self.live = None;
        }
        if self.plugin.dead_stack.is_some() {
            self.rest = Rest::at(snapshot.cloned());
        }
        restored
    }

    /// After the protocol has listed its properties. Its heap has grown by then, as it has in most local states, so that between these and
    /// evaluations nothing grows and shrinks, for which the operating system would be asked each time.
    fn restore_to_judge(&mut self) -> Result<(), MachineError> {
        let plugin = Arc::clone(&self.plugin);
        // The first state that is captured is what others are compared with: it should be one of a node.
        if !plugin.images().has_reference() {
            return self.restore(None);
        }
        let judging = match plugin.judging.get() {
            Some(judging) => judging,
            None => {
                self.restore(None)?;
                let judging = self.properties().is_ok().then(|| self.capture());
                self.confirm_fault()?;
                plugin.judging.get_or_init(|| judging)
            }
        };
        self.restore(judging.as_ref())
    }

    fn confirm_fault(&self) -> Result<(), MachineError> {
        self.plugin.check()
    }

    fn handle(&mut self, input: Input<'_>, script: &[u32], effects: &mut Effects) -> Result<(), Fault> {
        effects.sent.clear();
        effects.choices.clear();
        effects.log.clear();
        effects.aside.clear();
        effects.is_declined = false;
        let keep_log = self.keep_log;
        self.come_to_rest();
        self.live().context().begin_handler(script, keep_log);
        let result = match input {
            Input::Quorum { name, messages } => self.run_quorum(name, messages).map(|sent| {
                effects.is_declined = sent.is_none();
                sent.unwrap_or_default()
            }),
            other => self.run(other),
        };
        let context = self.live().context();
        std::mem::swap(&mut effects.choices, &mut context.choices);
        effects.likelihood = context.likelihood;
        effects.draws = context.draws;
        std::mem::swap(&mut effects.log, &mut context.log);
        std::mem::swap(&mut effects.aside, &mut context.aside);
        let result = result.and_then(|sent| self.deliver(sent, effects));
        if let (Ok(()), Some(bytes)) = (&result, self.plugin.dead_stack) {
            self.live().clear_stack(bytes);
            self.rest = Rest::default();
        }
        self.settle(result)
    }

    fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
        if self.plugin.dead_stack.is_some() {
            return Ok(self.memory_identity());
        }
        let result = self.read("serialize").call("serialize", |f| &f.serialize, ());
        self.settle(result).map(|(bytes,)| bytes)
    }

    fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
        let result = self.read("local-events").call("local-events", |f| &f.local_events, ());
        let result = result.and_then(|(events,)| {
            self.limits().check_count(events.len(), "local events")?;
            events.iter().try_for_each(|event| self.limits().check_local(event))?;
            Ok(events)
        });
        Ok(self.settle(result)?.into_iter().map(LocalEvent::from).collect())
    }

    fn duration(&mut self, event: &LocalEvent) -> Result<Option<Span>, Fault> {
        let result = self.ask_duration(event);
        self.settle(result)
    }

    fn request(&mut self, number: u64, request: &Request) -> Result<Result<LocalEvent, Response>, Fault> {
        let result = self.ask_request(number, request);
        self.settle(result)
    }

    fn neighbours(&mut self) -> Result<Option<Vec<NodeId>>, Fault> {
        let result = self.ask_neighbours();
        self.settle(result)
    }

    fn takes_quorums(&mut self) -> Result<bool, Fault> {
        if self.plugin.interfaces.quorum.is_none() {
            return Ok(false);
        }
        let live = self.read("quorum.is-used");
        let result = live.call("quorum.is-used", |f| f.is_used.as_ref().expect("the interface is there"), ());
        self.settle(result).map(|(is_used,)| is_used)
    }

    fn role(&mut self, src: NodeId, payload: &[u8]) -> Result<Role<Quorum>, Fault> {
        if self.plugin.interfaces.quorum.is_none() {
            return Ok(Role::Alone);
        }
        fill(&mut self.bytes, payload);
        let params = (src, Arc::clone(&self.bytes));
        let live = self.read("quorum.role-of");
        let result = live.call("quorum.role-of", |f| f.role_of.as_ref().expect("the interface is there"), params);
        let result = result.and_then(|(role,)| {
            let RoleOut::Member(QuorumOut { name, size }) = role else {
                return Ok(if matches!(role, RoleOut::Held) { Role::Held } else { Role::Alone });
            };
            self.limits().check_name(&name, "a quorum")?;
            if size == 0 {
                let message = format!("has a quorum `{name}` of no messages");
                return Err(Fault::new(FaultKind::Malformed, message));
            }
            Ok(Role::Member(Quorum { name, size }))
        });
        self.settle(result)
    }

    fn persist(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        if self.plugin.interfaces.durable.is_none() {
            return Ok(None);
        }
        let live = self.read("persist");
        let result = live.call("persist", |f| f.persist.as_ref().expect("the interface is there"), ());
        self.settle(result).map(|(durable,)| durable)
    }

    fn is_done(&mut self) -> Result<bool, Fault> {
        if self.plugin.interfaces.completion.is_none() {
            return Ok(false);
        }
        let live = self.read("is-done");
        let result = live.call("is-done", |f| f.is_done.as_ref().expect("the interface is there"), ());
        self.settle(result).map(|(is_done,)| is_done)
    }

    fn view(&mut self, property: u32) -> Result<Option<Vec<u8>>, Fault> {
        let result = self.read("view").call("view", |f| &f.view, (property,));
        self.settle(result).map(|(view,)| view)
    }

    fn capture(&mut self) -> Snapshot {
        self.come_to_rest();
        self.live().capture()
    }

    fn export(&mut self, snapshot: &Snapshot, owner: StateOwner<'_>) -> Result<Vec<u8>, TransferError> {
        self.restore(Some(snapshot))?;
        let state = self.live().capture_portable();
        let encoding = self.encoding()?;
        Ok(portable::write(&self.plugin, &state, owner, &encoding))
    }

    fn import(&mut self, exported: &[u8], owner: StateOwner<'_>) -> Result<Snapshot, TransferError> {
        let (state, encoding) = portable::read(&self.plugin, exported, owner).map_err(TransferError::Refused)?;
        match self.restore(Some(&state)) {
            // The memories of this component end earlier.
            Err(MachineError::Host(why)) if self.plugin.trouble().is_none() => Err(TransferError::Refused(why)),
            other => Ok(other?),
        }?;
        if self.encoding()? != encoding {
            return Err(TransferError::Refused(
                "the encoding of the state is not the one that it was exported with".into(),
            ));
        }
        self.restore(Some(&state))?;
        // The other image of this process may be closer.
        Ok(self.capture())
    }

    fn properties(&mut self) -> Result<Vec<Property>, Fault> {
        let result = self.read("properties").call("properties", |f| &f.properties, ());
        let result = result.and_then(|(properties,)| self.limits().check_properties(properties));
        self.settle(result)
    }

    fn invariant(&mut self, property: u32, views: &[Option<&[u8]>]) -> Result<Result<(), String>, Fault> {
        fill_views(&mut self.views, views);
        let params = (property, Arc::clone(&self.views));
        let result = self.read("invariant").call("invariant", |f| &f.invariant, params);
        self.settle(result).map(|(holds,)| holds.map_err(|why| explanation(why, self.limits())))
    }

    fn describe_state(&mut self) -> Result<Option<String>, Fault> {
        if self.plugin.interfaces.describe.is_none() {
            return Ok(None);
        }
        let live = self.read("describe.state");
        let result = live.call("describe.state", |f| f.describe_state.as_ref().expect("the interface is there"), ());
        self.settle(result).map(|(text,)| Some(text))
    }

    fn describe_message(&mut self, payload: &[u8]) -> Result<Option<String>, Fault> {
        if self.plugin.interfaces.describe.is_none() {
            return Ok(None);
        }
        fill(&mut self.bytes, payload);
        let params = (Arc::clone(&self.bytes),);
        let live = self.read("describe.message");
        let result =
            live.call("describe.message", |f| f.describe_message.as_ref().expect("the interface is there"), params);
        self.settle(result).map(|(text,)| Some(text))
    }

    fn describe_view(&mut self, property: u32, view: &[u8]) -> Result<Option<String>, Fault> {
        if self.plugin.interfaces.views.is_none() {
            return Ok(None);
        }
        fill(&mut self.bytes, view);
        let params = (property, Arc::clone(&self.bytes));
        let live = self.read("views.describe-view");
        let function = "views.describe-view";
        let result = live.call(function, |f| f.describe_view.as_ref().expect("the interface is there"), params);
        self.settle(result).map(|(text,)| Some(text))
    }

    fn node_name(&mut self) -> Result<Option<String>, Fault> {
        if self.plugin.interfaces.names.is_none() {
            return Ok(None);
        }
        let live = self.read("names.node-name");
        let result = live.call("names.node-name", |f| f.node_name.as_ref().expect("the interface is there"), ());
        self.settle(result).map(|(name,)| name)
    }

    fn interchangeable(&mut self) -> Result<Vec<Vec<NodeId>>, Fault> {
        if self.plugin.interfaces.symmetry.is_none() {
            return Ok(Vec::new());
        }
        let live = self.read("symmetry.interchangeable");
        let result =
            live.call("symmetry.interchangeable", |f| f.interchangeable.as_ref().expect("the interface is there"), ());
        self.settle(result).map(|(groups,)| groups)
    }

    fn rename_message(&mut self, payload: &[u8], renaming: &[NodeId]) -> Result<Vec<u8>, Fault> {
        if self.plugin.interfaces.symmetry.is_none() {
            return Ok(payload.to_vec());
        }
        fill(&mut self.bytes, payload);
        let params = (Arc::clone(&self.bytes), renaming.to_vec());
        let live = self.read("symmetry.rename-message");
        let result = live
            .call("symmetry.rename-message", |f| f.rename_message.as_ref().expect("the interface is there"), params)
            .and_then(|(renamed,)| self.limits().check_message(&renamed, "a renamed message").map(|()| renamed));
        self.settle(result)
    }

    fn rename_local(&mut self, payload: &[u8], renaming: &[NodeId]) -> Result<Vec<u8>, Fault> {
        if self.plugin.interfaces.symmetry.is_none() {
            return Ok(payload.to_vec());
        }
        fill(&mut self.bytes, payload);
        let params = (Arc::clone(&self.bytes), renaming.to_vec());
        let live = self.read("symmetry.rename-local");
        let result = live
            .call("symmetry.rename-local", |f| f.rename_local.as_ref().expect("the interface is there"), params)
            .and_then(|(renamed,)| self.limits().check_message(&renamed, "a renamed local event").map(|()| renamed));
        self.settle(result)
    }

    fn keep_log(&mut self, keep: bool) {
        self.keep_log = keep;
    }
}

/// The instance of a machine that has one.
fn present(live: &mut Option<Live>) -> &mut Live {
    live.as_mut().expect("after a fault the next call must be `restore`")
}
