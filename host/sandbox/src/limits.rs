//! What a guest may use up, and how the sandbox behaves.

/// Bounds on what one guest may take. Every bound is deterministic: the same guest and input run into
/// it at the same point on every machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Fuel of one call into the guest, about one unit an instruction. Default: 200 million, a few tenths
    /// of a second.
    pub fuel_per_call: u64,
    /// Bytes of all linear memories of one instance together; at most 4 GiB less 64 KiB. Default: 256 MiB.
    pub memory_bytes: usize,
    /// Elements of any one table. Default: 1 million.
    pub table_elements: usize,
    /// Bytes that one call may hand to the host, messages and strings together. Default: 16 MiB.
    pub output_bytes: usize,
    /// Messages or local events that one call may return. Default: 4096.
    pub items_per_call: usize,
    /// Calls of `choose` in one handler. Default: 64.
    pub choices_per_call: usize,
    /// Alternatives of one `choose`. Default: 4096.
    pub alternatives: u32,
    /// Bytes of log lines kept of one call; what follows is dropped and a line says so. Default: 256 KiB.
    pub log_bytes: usize,
    /// Bytes of native stack of one call; deeper recursion is a trap. Default: 512 KiB.
    pub stack_bytes: usize,
    /// Core module instances inside one component. Default: 256.
    pub instances: usize,
    /// Bytes of the component itself. Default: 256 MiB.
    pub component_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            fuel_per_call: 200_000_000,
            memory_bytes: 256 << 20,
            table_elements: 1_000_000,
            output_bytes: 16 << 20,
            items_per_call: 4096,
            choices_per_call: 64,
            alternatives: 4096,
            log_bytes: 256 << 10,
            stack_bytes: 512 << 10,
            instances: 256,
            component_bytes: 256 << 20,
        }
    }
}

/// How a [`Sandbox`](crate::Sandbox) behaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxConfig {
    /// What a guest may use up.
    pub limits: Limits,
    /// Compares the whole memory with what was tracked on every capture and panics on a difference.
    /// Slow; for tests of the sandbox itself.
    pub verify_capture: bool,
    /// What to leave out of snapshots on purpose, so that a test can show that it would notice.
    #[doc(hidden)]
    pub sabotage: Sabotage,
}

/// A deliberate hole in the snapshots; see [`SandboxConfig::sabotage`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sabotage {
    /// None: the only choice outside of tests.
    #[default]
    None,
    /// Mutable globals keep their value across `restore`.
    SkipGlobals,
    /// The size of memories keeps its value across `restore`.
    SkipSizes,
}
