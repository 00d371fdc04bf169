//! A specification from outside: a component that states properties about the states that nodes show.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use host_model::contract::{Fault, MachineError, Property, Stop};

use crate::check::{self, World};
use crate::contract::error::LoadError;
use crate::engine::compile::{Compiled, compile};
use crate::engine::sandbox::Sandbox;
use crate::plugin::{digest_text, first_instance};
use crate::run::buffers::fill_views;
use crate::run::functions::{Function, Outside};
use crate::run::instance::Live;
use crate::run::plugin_parts::PluginParts;
use crate::store::context::explanation;

/// A specification from outside, ready to judge. All its functions are pure: each call begins in the memory right after instantiation.
pub struct Spec {
    parts: Arc<PluginParts>,
    properties: Vec<Property>,
    digest: String,
    /// Polled before each call.
    stop: Option<Arc<dyn Stop>>,
    /// Idle instances; there are as many as there were concurrent calls.
    idle: Mutex<Vec<Live<Outside>>>,
}

/// An answer of a specification: its own fault, or the result.
type Answer<R> = Result<Result<R, Fault>, MachineError>;

impl std::fmt::Debug for Spec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spec").field("digest", &self.digest).finish_non_exhaustive()
    }
}

impl Spec {
    /// Whether bytes are those of a specification and not of a plugin, by their exports; nothing else is checked.
    pub fn is_one(bytes: &[u8]) -> bool {
        check::preamble(bytes, &|_| false).is_ok()
            && matches!(check::names(bytes, World::Plugin), Err(LoadError::IsSpec))
    }

    /// Loads a component as [`Plugin::load_watched`](crate::Plugin::load_watched) does, and gets its properties.
    ///
    /// # Errors
    ///
    /// The bytes are no specification from outside, or one that fails while it starts.
    pub fn load_watched(sandbox: &Sandbox, bytes: &[u8], watch: &mut dyn FnMut(Duration)) -> Result<Self, LoadError> {
        let shared = &sandbox.shared;
        let Compiled { interfaces, rewritten, code, .. } = compile(sandbox, bytes, World::Spec, watch)?;
        let digest = blake3::hash(bytes);
        let (mut parts, mut first): (_, Live<Outside>) = first_instance(shared, digest, interfaces, &rewritten, &code)?;
        let images = first.take_images();
        let pristine_sizes = first.sizes().collect();
        let function = first.functions.properties;
        first.context().begin_reading(function.name);
        let listed = first.call(function, ());
        let limits = first.limits().clone();
        if let Some(trouble) = parts.trouble() {
            return Err(LoadError::Host { detail: trouble.to_owned() });
        }
        let properties = listed.and_then(|properties| limits.check_properties(properties));
        let properties = properties.map_err(|fault| LoadError::Start { fault })?;
        drop(first);
        Arc::get_mut(&mut parts)
            .expect("the only instance that shares it was dropped above")
            .set_pristine(images, pristine_sizes);
        Ok(Self { parts, properties, digest: digest_text(digest), stop: sandbox.stop.clone(), idle: Mutex::default() })
    }

    /// The content hash of the component as given: `blake3:` and 64 hexadecimal digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Its properties.
    pub fn properties(&self) -> &[Property] {
        &self.properties
    }

    /// The view that a property has of a state shown like this; none if the node cannot matter to it.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance, or has to stop; the inner error is the fault of the specification.
    pub fn view(&self, property: u32, state: &str) -> Answer<Option<Vec<u8>>> {
        self.ask(|outside| outside.view, |live, view| live.call(view, (property, Arc::new(state.to_owned()))))
    }

    /// Whether a property holds on these views; otherwise the reason.
    ///
    /// # Errors
    ///
    /// As for [`view`](Self::view).
    pub fn invariant(&self, property: u32, views: &[Option<&[u8]>]) -> Answer<Result<(), String>> {
        self.ask(
            |outside| outside.invariant,
            |live, invariant| {
                let mut given = Arc::default();
                fill_views(&mut given, views);
                let holds = live.call(invariant, (property, given))?;
                Ok(holds.map_err(|why| explanation(why, live.limits())))
            },
        )
    }

    /// Calls an instance without a memory of earlier calls.
    fn ask<P, Q, R>(
        &self,
        pick: impl FnOnce(&Outside) -> Function<P, Q>,
        question: impl FnOnce(&mut Live<Outside>, Function<P, Q>) -> Result<R, Fault>,
    ) -> Answer<R> {
        self.parts.check()?;
        if let Some(stopped) = self.stop.as_ref().and_then(|stop| stop.reason()) {
            return Err(stopped.into());
        }
        let idle = self.idle().pop();
        let mut live = match idle {
            Some(live) => live,
            None => Live::another(&self.parts)?,
        };
        live.restore(None)?;
        let function = pick(&live.functions);
        live.context().begin_reading(function.name);
        let answer = question(&mut live, function);
        self.parts.check()?;
        // A trap poisons the store.
        if answer.is_ok() {
            self.idle().push(live);
        }
        Ok(answer)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Live<Outside>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
