//! The unmodified component without snapshots: only the yardstick of the bench.

use std::sync::Arc;

use wasmtime::Store;
use wasmtime::component::Component;

use crate::check::{self, World};
use crate::contract::limits::{Libraries, Sabotage, SandboxConfig};
use crate::engine::sandbox::Sandbox;
use crate::run::functions::{Exports, Functions};
use crate::store::context::Context;
use crate::store::memory::{Budget, collect};

/// An instance of a component as given.
pub struct BareInstance {
    store: Store<Context>,
    functions: Functions,
    payload: Arc<Vec<u8>>,
}

impl BareInstance {
    /// Instantiates a component that [`Plugin::load`](crate::Plugin::load) accepts.
    ///
    /// # Panics
    ///
    /// A step fails.
    pub fn start(sandbox: &Sandbox, bytes: &[u8]) -> Self {
        Self::instantiate(sandbox, bytes)
    }

    /// Instantiates the component as rewritten for snapshots, to show the cost of the rewriting alone.
    ///
    /// # Panics
    ///
    /// A step fails.
    pub fn start_rewritten(sandbox: &Sandbox, bytes: &[u8]) -> Self {
        let config = SandboxConfig { libraries: Libraries::None, ..SandboxConfig::default() };
        Self::instantiate(
            sandbox,
            &crate::rewrite::rewrite(bytes, &config, &())
                .expect("the bench has loaded this component as a plugin")
                .bytes,
        )
    }

    fn instantiate(sandbox: &Sandbox, bytes: &[u8]) -> Self {
        let shared = &sandbox.shared;
        let (interfaces, _) =
            check::names(bytes, World::Plugin).expect("the bench has loaded this component as a plugin");
        let component =
            Component::from_binary(&shared.engine, bytes).expect("the bench has loaded this component as a plugin");
        let budget = Arc::new(Budget::new(shared.config.limits.memory_bytes, Sabotage::None));
        let mut store = Store::new(&shared.engine, Context::new(shared.config.limits.clone(), Arc::clone(&budget)));
        store.set_fuel(u64::MAX).expect("the engine consumes fuel");
        let (instance, _) = collect(&[], &budget, || shared.linker.instantiate(&mut store, &component));
        let instance = instance.expect("the bench has loaded this component as a plugin");
        let Ok(functions) = Functions::look_up(&mut store, &instance, &interfaces) else {
            panic!("the contract's functions")
        };
        store.data_mut().begin_handler(&[], false);
        Self { store, functions, payload: Arc::default() }
    }

    /// Calls `init`.
    ///
    /// # Panics
    ///
    /// The call fails.
    pub fn init(&mut self, node: u32, nodes: u32, config: &str) {
        let params = (node, nodes, Arc::new(config.to_owned()), None);
        let (result,) = self
            .functions
            .node
            .init
            .typed
            .call(&mut self.store, params)
            .expect("the handlers that the bench runs do not fail");
        result.map(drop).expect("the bench has started this plugin with the same configuration");
    }

    /// Sets the argument of `handle_message`.
    pub fn set_message(&mut self, payload: &[u8]) {
        self.payload = Arc::new(payload.to_vec());
    }

    /// Calls `handle-message`; returns the number of messages sent.
    ///
    /// # Panics
    ///
    /// The call fails.
    pub fn handle_message(&mut self, src: u32) -> usize {
        let params = (src, Arc::clone(&self.payload));
        self.functions
            .node
            .handle_message
            .typed
            .call(&mut self.store, params)
            .expect("the handlers that the bench runs do not fail")
            .0
            .len()
    }

    /// Calls `local-events`; returns their number.
    ///
    /// # Panics
    ///
    /// The call fails.
    pub fn local_events(&mut self) -> usize {
        self.functions
            .node
            .local_events
            .typed
            .call(&mut self.store, ())
            .expect("the handlers that the bench runs do not fail")
            .0
            .len()
    }

    /// Calls `serialize`.
    ///
    /// # Panics
    ///
    /// The call fails.
    pub fn serialize(&mut self) -> Vec<u8> {
        self.functions
            .node
            .serialize
            .typed
            .call(&mut self.store, ())
            .expect("the handlers that the bench runs do not fail")
            .0
    }
}
