//! States of a plugin, exported as a running system would export them.

use host_model::lts::{Lts, Stepper};
use host_model::trace::{Trace, start};
use host_sandbox::{Plugin, Sandbox, SandboxConfig};

/// The state after the first steps of a trace as the beginning of another one, without steps.
///
/// # Panics
///
/// The component is no plugin, or the steps are none of its own.
pub fn exported(component: &[u8], trace: &Trace, steps: usize) -> Trace {
    let sandbox = Sandbox::new(SandboxConfig::default(), host::default_cache()).expect("an engine");
    let plugin = Plugin::load(&sandbox, component).expect("a plugin");
    let lts = Lts::new(&plugin, trace.scenario.clone()).expect("an instance");
    let mut stepper = Stepper::new(&lts).expect("an instance");
    let path = Trace { steps: trace.steps[..steps].to_vec(), ..trace.clone() };
    let end = start::follow(&mut stepper, &path).expect("it was recorded");
    let beginning = start::export(&mut stepper, &end).expect("states of plugins can leave");
    Trace { beginning: Some(beginning), init_choices: Vec::new(), finding: None, steps: Vec::new(), ..trace.clone() }
        .with_version()
}
