//! Turns an error of wasmtime into the fault of a guest, in words that are the same on every machine.
//!
//! | module | what it holds |
//! |---|---|
//! | `platform` | platform functions that a guest called and no plugin has |

mod platform;

use host_model::contract::{Fault, FaultKind};
use wasmtime::{Trap, WasmBacktrace};

use crate::contract::limits::{GuestLimits, allows_more, at_limit};
use crate::store::context::{Context, shortened};

/// Observations in addition to the error.
pub(crate) struct Evidence<'a> {
    pub limits: &'a GuestLimits,
    pub context: &'a mut Context,
    /// Whether a memory was refused growth during the call.
    pub memory_refused: bool,
    /// The instruction that changed state that a snapshot cannot hold.
    pub violation: Option<&'static str>,
}

/// Maximum bytes of a function name that are shown: names come from the component and have any length.
const NAME_BYTES_MAX: usize = 200;

/// The number of times that a function must be among the innermost ones to be called recursive: a protocol may nest calls.
const RECURSION_MIN: usize = 4;

/// Explains the error of a call of `function`.
pub(crate) fn explain(error: &wasmtime::Error, function: &str, evidence: &mut Evidence<'_>) -> Fault {
    // A guest that has logged the reason traps in either way. After a refused growth, lack of memory is the reason: a runtime polls.
    let trap = error.downcast_ref::<Trap>();
    let trapped =
        matches!(trap, Some(Trap::UnreachableCodeReached | Trap::MemoryOutOfBounds)) && !evidence.memory_refused;
    let by_line = || evidence.context.panic_line.as_deref().and_then(platform::by_line);
    let by_trap = || platform::by_trap(&frames(error).next()?);
    if trapped && let Some(wanted) = by_line().or_else(by_trap) {
        let frames: Vec<String> = frames(error).map(|name| shortened(&name, name.len(), NAME_BYTES_MAX)).collect();
        return Fault::new(FaultKind::Platform, wanted.message(function, &frames));
    }
    let mut fault = classify(error, function, evidence);
    // A runtime that gets no more memory waits in the adapter, which logs nothing.
    let is_of_runtime = evidence.memory_refused && by_trap().is_some();
    if let Some(place) = place(error).filter(|_| !is_of_runtime) {
        // Before the remedy, if there is one.
        let end = fault.message.find("; ").unwrap_or(fault.message.len());
        fault.message.insert_str(end, &place);
    }
    if let Some(line) = evidence.context.panic_line.take() {
        fault.message.push_str(&format!(" ({line})"));
    }
    fault
}

/// The place of the fault: the innermost function, or the recursive one if a stack has overflowed, including a stack that the compiler
/// keeps in memory below all else.
fn place(error: &wasmtime::Error) -> Option<String> {
    let shown = |frame: &str| shortened(frame, frame.len(), NAME_BYTES_MAX);
    let frames: Vec<String> = frames(error).collect();
    let innermost = frames.first()?;
    let trap = error.downcast_ref::<Trap>();
    let is_of_stack = matches!(trap, Some(Trap::StackOverflow | Trap::MemoryOutOfBounds));
    let times = |frame: &String| frames.iter().filter(|one| *one == frame).count();
    let recursive = frames.iter().find(|frame| is_of_stack && times(frame) >= RECURSION_MIN);
    Some(match recursive {
        None => format!(" in `{}`", shown(innermost)),
        Some(frame) if trap == Some(&Trap::MemoryOutOfBounds) => {
            format!(" in `{}`: `{}` calls itself, and its stack may have overflowed", shown(innermost), shown(frame))
        }
        Some(frame) => format!(" in `{}`", shown(frame)),
    })
}

fn classify(error: &wasmtime::Error, function: &str, evidence: &Evidence<'_>) -> Fault {
    let limits = evidence.limits;
    if let Some(fault) = &evidence.context.fault {
        return fault.clone();
    }
    if let Some(instruction) = evidence.violation {
        let message = format!(
            "`{function}` ran `{instruction}` after start-up, whose effect snapshots cannot hold; \
             keep such state in linear memory",
        );
        return Fault::new(FaultKind::Platform, message);
    }
    let at_limit =
        |kind, limit, what: std::fmt::Arguments<'_>| at_limit(kind, limit, format_args!("`{function}` {what}"));
    let trap = error.downcast_ref::<Trap>();
    if trap == Some(&Trap::OutOfFuel) {
        let fuel = limits.fuel_per_call.saturating_add(evidence.context.extra_fuel);
        let more = allows_more("fuel");
        let message = format!("`{function}` does not end within {fuel} units of fuel; if it is only slow, {more}");
        return Fault::new(FaultKind::Divergence, message).with_limit("fuel");
    }
    if evidence.memory_refused {
        let limit = limits.memory_bytes;
        let what = format_args!("wants more memory than the limit of {limit} bytes for one instance");
        return at_limit(FaultKind::MemoryLimit, "memory", what);
    }
    if evidence.context.table_refused {
        let limit = limits.table_elements;
        return at_limit(
            FaultKind::MemoryLimit,
            "table",
            format_args!("wants tables of more than the limit of {limit} elements"),
        );
    }
    if trap == Some(&Trap::StackOverflow) {
        let limit = limits.stack_bytes;
        let what = format_args!("trapped: call stack exhausted, more than the limit of {limit} bytes");
        return at_limit(FaultKind::Trap, "stack", what);
    }
    if let Some(trap) = trap {
        let trap = trap.to_string();
        let trap = trap.strip_prefix("wasm trap: ").unwrap_or(&trap);
        return Fault::new(FaultKind::Trap, format!("`{function}` trapped: {trap}"));
    }
    let cause = error.root_cause().to_string();
    // The type behind this message is private to wasmtime; a test checks that the words stay the same.
    if cause.contains("fuel allocated for hostcalls") {
        let limit = limits.output_bytes;
        let what = format_args!("hands more than the limit of {limit} bytes to the host");
        return at_limit(FaultKind::OutputLimit, "output", what);
    }
    Fault::new(FaultKind::Malformed, format!("`{function}` gives a malformed value: {cause}"))
}

/// The names of the functions on the stack of the trap, the innermost first. A Rust name is as in its source: without the hash, which
/// differs in each build.
fn frames(error: &wasmtime::Error) -> impl Iterator<Item = String> {
    let frames = error.downcast_ref::<WasmBacktrace>().map_or(&[][..], WasmBacktrace::frames);
    frames.iter().map_while(|frame| {
        let name = frame.func_name()?;
        Some(rustc_demangle::try_demangle(name).map_or_else(|_| name.to_owned(), |readable| format!("{readable:#}")))
    })
}
