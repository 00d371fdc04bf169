//! Plugins that a command has loaded, for the clusters that it opens next.

use std::sync::{Mutex, PoisonError};

use host_sandbox::{Plugin, SandboxConfig};

/// The maximum number of kept plugins, those used last: tests of one plugin follow each other, and few clusters have more components.
/// Each keeps its machine code and the memories of a fresh instance, some megabytes.
const KEPT_MAX: usize = 4;

/// The plugins that a command has loaded, those used last at the end.
#[derive(Debug, Default)]
pub struct Plugins(Mutex<Vec<Kept>>);

#[derive(Debug)]
struct Kept {
    component: blake3::Hash,
    config: SandboxConfig,
    plugin: Plugin,
}

impl Plugins {
    /// A plugin of these bytes in such a sandbox: the result of `load`, or one [like it](Plugin::again).
    ///
    /// # Errors
    ///
    /// Those of `load`, which is called again the next time.
    pub fn plugin<E>(
        &self,
        bytes: &[u8],
        config: &SandboxConfig,
        load: impl FnOnce() -> Result<Plugin, E>,
    ) -> Result<Plugin, E> {
        let component = blake3::hash(bytes);
        let is_it = |kept: &Kept| kept.component == component && kept.config == *config;
        let known = self.with(|all| all.iter().position(is_it).map(|index| all.remove(index)));
        let (kept, plugin) = match known {
            Some(kept) => {
                let plugin = kept.plugin.again();
                (kept, plugin)
            }
            None => {
                let plugin = load()?;
                (Kept { component, config: config.clone(), plugin: plugin.clone() }, plugin)
            }
        };
        self.with(|all| {
            all.push(kept);
            all.drain(..all.len().saturating_sub(KEPT_MAX));
        });
        Ok(plugin)
    }

    fn with<R>(&self, action: impl FnOnce(&mut Vec<Kept>) -> R) -> R {
        action(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use host_model::contract::MachineFactory;
    use host_sandbox::{LoadError, Sandbox, fixtures};

    use super::*;

    /// Asks for a plugin; returns whether it was loaded.
    fn is_loaded(plugins: &Plugins, bytes: &[u8], config: &SandboxConfig) -> bool {
        let mut is_loaded = false;
        let load = || {
            is_loaded = true;
            Plugin::load(&Sandbox::new(config.clone(), None).expect("an engine"), bytes)
        };
        let plugin = plugins.plugin(bytes, config, load).expect("a plugin");
        plugin.machine().expect("an instance").properties().expect("it lists them");
        is_loaded
    }

    /// The default sandbox, for components that are shorter by this many bytes.
    fn less(by: usize) -> SandboxConfig {
        let mut config = SandboxConfig::default();
        config.limits.component_bytes -= by;
        config
    }

    #[test]
    fn a_component_is_loaded_once_for_each_set_of_limits() {
        let (plugins, guest, other) = (Plugins::default(), fixtures::ping_pong(), fixtures::growing());
        assert!(is_loaded(&plugins, &guest, &less(0)));
        assert!(is_loaded(&plugins, &other, &less(0)));
        assert!(!is_loaded(&plugins, &guest, &less(0)));
        assert!(is_loaded(&plugins, &guest, &less(1)));
        assert!(!is_loaded(&plugins, &guest, &less(0)) && !is_loaded(&plugins, &guest, &less(1)));
        // A failed load is tried again.
        let refused = || Err(LoadError::Host { detail: "no memory".to_owned() });
        assert!(plugins.plugin(&fixtures::grows_to_judge(), &less(0), refused).is_err());
        assert!(is_loaded(&plugins, &fixtures::grows_to_judge(), &less(0)));
    }

    #[test]
    fn the_plugin_that_was_not_used_for_longest_goes() {
        let (plugins, guest) = (Plugins::default(), fixtures::ping_pong());
        (0..KEPT_MAX).for_each(|by| assert!(is_loaded(&plugins, &guest, &less(by))));
        assert!(!is_loaded(&plugins, &guest, &less(0)));
        assert!(is_loaded(&plugins, &guest, &less(KEPT_MAX)));
        assert_eq!(plugins.with(|all| all.len()), KEPT_MAX);
        assert!(!is_loaded(&plugins, &guest, &less(0)), "used after the next one");
        assert!(is_loaded(&plugins, &guest, &less(1)));
    }
}
