//! Limits of a guest, and the configuration of the sandbox.

use host_model::contract::{Fault, FaultKind, Property, Response};

use crate::contract::abi::{LocalEventOut, PropertyOut};

/// Bounds on what one guest may take. All but the last two are deterministic: the same guest and input run into them at
/// the same point on every machine. [`LIMITS`] has their names, units and ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestLimits {
    /// Fuel of one call into the guest: about one unit an instruction, and one for each byte that an instruction copies
    /// or fills. Default: 200 million, a few tenths of a second.
    pub fuel_per_call: u64,
    /// Bytes of all linear memories of one instance together; at most 4 GiB less 64 KiB. Default: 256 MiB.
    pub memory_bytes: usize,
    /// Elements of all tables of one instance together. Default: 1 million.
    pub table_elements: usize,
    /// Bytes that one call may hand to the host, messages and strings together, and bytes of one result of `storage.range`. Default: 16 MiB.
    pub output_bytes: usize,
    /// Bytes of one message, and of the argument of one local event. Default: 1 MiB.
    pub message_bytes: usize,
    /// Bytes of one text for people: names must not be longer, explanations are cut. Default: 4 KiB.
    pub text_bytes: usize,
    /// Messages or local events that one call may return. Default: 4096.
    pub items_per_call: usize,
    /// Properties. Each state is asked for its view of every one. Default: 256.
    pub properties: usize,
    /// Calls of `choose` and `can-send` in one handler. Default: 64.
    pub choices_per_call: usize,
    /// Alternatives of one `choose`. Default: 4096.
    pub alternatives: u32,
    /// Bytes of log lines kept of one call; what follows is dropped and a line says so. Default: 256 KiB.
    pub log_bytes: usize,
    /// Bytes of one key of the durable map. Default: 4 KiB.
    pub storage_key_bytes: usize,
    /// Bytes of one value of the durable map. Default: 1 MiB.
    pub storage_value_bytes: usize,
    /// Entries of the durable map of one node. Default: 1 million.
    pub storage_entries: usize,
    /// Bytes of all keys and values of the durable map of one node. Default: 64 MiB.
    pub storage_bytes: usize,
    /// Bytes of native stack of one call; deeper recursion is a trap. Default: 512 KiB.
    pub stack_bytes: usize,
    /// Core module instances inside one component. Default: 256.
    pub instances: usize,
    /// Bytes of the component itself. Default: 64 MiB.
    pub component_bytes: usize,
    /// Seconds of processor time that checking and compiling a component may take, on all threads together; on the wall where the system
    /// does not tell the processor time of threads. Default: 120.
    pub compile_seconds: u64,
    /// Bytes by which the process may grow while it compiles a component. Default: 4 GiB.
    pub compile_bytes: usize,
}

impl Default for GuestLimits {
    fn default() -> Self {
        Self {
            fuel_per_call: 200_000_000,
            memory_bytes: 256 << 20,
            table_elements: 1_000_000,
            output_bytes: 16 << 20,
            message_bytes: 1 << 20,
            text_bytes: 4 << 10,
            items_per_call: 4096,
            properties: 256,
            choices_per_call: 64,
            alternatives: 4096,
            log_bytes: 256 << 10,
            storage_key_bytes: 4 << 10,
            storage_value_bytes: 1 << 20,
            storage_entries: 1_000_000,
            storage_bytes: 64 << 20,
            stack_bytes: 512 << 10,
            instances: 256,
            component_bytes: 64 << 20,
            compile_seconds: 120,
            compile_bytes: 4 << 30,
        }
    }
}

/// The unit of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
}

/// One of the [`GuestLimits`], by the name that users know.
pub struct Limit {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// The limited resource, for people.
    pub meaning: &'static str,
    /// The values that it can take.
    pub range: std::ops::RangeInclusive<u64>,
    get: fn(&GuestLimits) -> u64,
    set: fn(&mut GuestLimits, u64),
}

impl GuestLimits {
    /// This many items of one call are within the limit.
    pub(crate) fn check_count(&self, count: usize, what: &str) -> Result<(), Fault> {
        within(count, self.items_per_call, "items", || format!("returns {count} {what} from one call"))
    }

    /// A message is within the limit.
    pub(crate) fn check_message(&self, payload: &[u8], what: &str) -> Result<(), Fault> {
        let bytes = payload.len();
        within(bytes, self.message_bytes, "message", || format!("returns {what} of {bytes} bytes"))
    }

    /// A guest's name for a thing must not be cut: two things could become one.
    pub(crate) fn check_name(&self, name: &str, what: &str) -> Result<(), Fault> {
        let bytes = name.len();
        within(bytes, self.text_bytes, "text", || format!("gives {what} a name of {bytes} bytes"))
    }
}

impl GuestLimits {
    /// Properties are within the limits.
    pub(crate) fn check_properties(&self, properties: Vec<PropertyOut>) -> Result<Vec<Property>, Fault> {
        let (count, limit) = (properties.len(), self.properties);
        within(count, limit, "properties", || format!("has {count} properties"))?;
        let properties: Vec<Property> = properties.into_iter().map(Property::from).collect();
        properties.iter().try_for_each(|property| self.check_name(&property.name, "a property"))?;
        Ok(properties)
    }

    /// A local event is within the limits.
    pub(crate) fn check_local(&self, event: &LocalEventOut) -> Result<(), Fault> {
        self.check_name(&event.name, "a local event")?;
        self.check_message(&event.payload, "a local event with an argument")
    }

    /// An answer to a client is within the limits, and one of HTTP.
    pub(crate) fn check_answer(&self, answer: &Response) -> Result<(), Fault> {
        self.check_message(&answer.body, "an answer")?;
        if (200..600).contains(&answer.status) {
            return Ok(());
        }
        let message = format!("answers with status {}, which is none of 200 to 599", answer.status);
        Err(Fault::new(FaultKind::Malformed, message))
    }
}

impl std::fmt::Debug for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Limit").field("name", &self.name).field("range", &self.range).finish_non_exhaustive()
    }
}

impl Limit {
    /// The limit of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        LIMITS.iter().find(|limit| limit.name == name)
    }

    /// Its value.
    pub fn get(&self, limits: &GuestLimits) -> u64 {
        (self.get)(limits)
    }

    /// Changes its value; one out of [`range`](Self::range) becomes the nearest inside.
    pub fn set(&self, limits: &mut GuestLimits, value: u64) {
        (self.set)(limits, value.clamp(*self.range.start(), *self.range.end()));
    }
}

/// A row for a field.
macro_rules! limit {
    ($name:literal, $unit:ident, $field:ident as $type:ty, $range:expr, $meaning:literal) => {
        Limit {
            name: $name,
            unit: Unit::$unit,
            meaning: $meaning,
            range: $range,
            get: |limits| limits.$field as u64,
            set: |limits, value| limits.$field = value as $type,
        }
    };
}

const GIB: u64 = 1 << 30;

/// All limits that a user can set, in the order of the documentation.
pub const LIMITS: &[Limit] = &[
    limit!("fuel", Count, fuel_per_call as u64, 10_000..=1 << 60, "instructions and bytes moved in one call"),
    limit!("memory", Bytes, memory_bytes as usize, 1 << 16..=(4 * GIB - (1 << 16)), "all memories of one instance"),
    limit!("table", Count, table_elements as usize, 0..=100_000_000, "elements of all tables of one instance"),
    limit!(
        "output",
        Bytes,
        output_bytes as usize,
        1 << 10..=GIB,
        "what one call hands to the host, or `storage.range` to the guest"
    ),
    limit!("message", Bytes, message_bytes as usize, 0..=GIB, "one message, or the argument of one local event"),
    limit!("text", Bytes, text_bytes as usize, 64..=1 << 20, "one name; a longer explanation is cut"),
    limit!(
        "items",
        Count,
        items_per_call as usize,
        1..=1 << 20,
        "messages, or local events, that one call returns, or entries of one `storage.range`"
    ),
    limit!("properties", Count, properties as usize, 0..=1 << 16, "properties of the plugin"),
    limit!("choices", Count, choices_per_call as usize, 0..=1 << 16, "calls of `choose` and `can-send` in one handler"),
    limit!("alternatives", Count, alternatives as u32, 1..=1 << 16, "alternatives of one `choose`"),
    limit!("log", Bytes, log_bytes as usize, 0..=GIB, "log lines of one call; more is dropped with a note"),
    limit!("storage-key", Bytes, storage_key_bytes as usize, 0..=1 << 20, "one key of the durable map"),
    limit!("storage-value", Bytes, storage_value_bytes as usize, 0..=GIB, "one value of the durable map"),
    limit!("storage-entries", Count, storage_entries as usize, 0..=1 << 30, "entries of the durable map of one node"),
    limit!("storage", Bytes, storage_bytes as usize, 0..=GIB, "all keys and values of the durable map of one node"),
    // Threads have 2 MiB, and the host needs some of it below the guest.
    limit!("stack", Bytes, stack_bytes as usize, 1 << 14..=1 << 20, "native stack of one call"),
    limit!("instances", Count, instances as usize, 1..=1000, "core module instances inside the component"),
    limit!("component", Bytes, component_bytes as usize, 8..=GIB, "the component itself"),
    limit!(
        "compile-time",
        Seconds,
        compile_seconds as u64,
        1..=86_400,
        "processor time to check and compile the component"
    ),
    limit!("compile-memory", Bytes, compile_bytes as usize, 1 << 26..=1 << 40, "growth of the process meanwhile"),
];

/// A fault at a limit, whose words end with the option that allows more.
pub(crate) fn at_limit(kind: FaultKind, name: &'static str, message: impl std::fmt::Display) -> Fault {
    debug_assert!(Limit::find(name).is_some(), "{name} is a limit");
    Fault::at_limit(kind, name, message)
}

/// The option that allows more of what a limit bounds.
pub(crate) fn allows_more(name: &'static str) -> String {
    debug_assert!(Limit::find(name).is_some(), "{name} is a limit");
    Fault::allows_more(name)
}

/// A fault if a number is above a limit.
pub(crate) fn within(
    number: usize,
    limit: usize,
    name: &'static str,
    what: impl FnOnce() -> String,
) -> Result<(), Fault> {
    if number <= limit {
        return Ok(());
    }
    Err(at_limit(FaultKind::OutputLimit, name, format_args!("{}, more than the limit of {limit}", what())))
}

/// The settings of a [`Sandbox`](crate::Sandbox).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxConfig {
    /// The limits of a guest.
    pub limits: GuestLimits,
    /// Compares the whole memory with what was tracked on every capture and panics on a difference.
    /// Slow; for tests of the sandbox itself.
    pub verify_capture: bool,
    /// Moves the reference image of a machine that follows a node at each event, and not only once that pays; for tests of the sandbox
    /// itself.
    #[doc(hidden)]
    pub moves_always: bool,
    /// State left out of snapshots on purpose, so that a test can show that it would notice. Without the feature `canary`, nothing
    /// is left out.
    #[doc(hidden)]
    pub sabotage: Sabotage,
    /// Which modules are compiled apart. They behave the same; for tests of the sandbox itself.
    #[doc(hidden)]
    pub libraries: Libraries,
    /// The modules whose addresses are taken out of their code. They behave the same; for tests of the sandbox itself.
    #[doc(hidden)]
    pub addresses: Addresses,
}

/// Which core modules of a component are compiled apart, so that their machine code does not depend on the rest of it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Libraries {
    /// Large ones that have no memory of their own: interpreters.
    #[default]
    Large,
    /// All.
    All,
    /// None.
    None,
}

/// The core modules whose addresses of data are taken out of their code, so that its machine code does not depend on them.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Addresses {
    /// Those with much code.
    #[default]
    Large,
    /// All with a memory of their own.
    All,
    /// None.
    None,
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
    /// Writes of the engine for a call from one component inside the plugin to another are not marked.
    SkipResults,
    /// The operating system has no address space for a memory.
    NoRoom,
    /// The operating system has no memory for a memory that grows.
    NoGrowth,
}

impl Sabotage {
    /// Whether it is this one. Never in a binary without canaries, whatever the configuration says.
    pub(crate) fn is(self, which: Self) -> bool {
        cfg!(any(test, feature = "canary")) && self == which
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_can_be_set_and_its_default_is_in_range() {
        for limit in LIMITS {
            let mut limits = GuestLimits::default();
            assert!(limit.range.contains(&limit.get(&limits)), "{limit:?}");
            let other =
                if limit.get(&limits) == *limit.range.end() { *limit.range.start() } else { *limit.range.end() };
            limit.set(&mut limits, other);
            assert_eq!(limit.get(&limits), other, "{limit:?}");
            assert_ne!(limits, GuestLimits::default(), "{limit:?}");
            limit.set(&mut limits, u64::MAX);
            assert_eq!(limit.get(&limits), *limit.range.end(), "{limit:?}");
        }
    }
}
