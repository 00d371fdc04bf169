//! The attempts of a component before it is a plugin: in its file, in the compiler, and at its start.

use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use host_model::contract::{Stop, Stopped};

use super::*;
use crate::check::World;
use crate::engine::compile::{Looks, compile_by};

/// Nested blocks that take seconds to compile.
const SECONDS_DEEP: usize = 100_000;

#[test]
fn a_component_of_200_mb_is_refused_at_once() {
    let bytes = fixtures::padded(200_000_000);
    let default = sandbox(|_| {});
    let error = refusal(&default, &bytes);
    assert!(error.contains("bytes, more than the limit of 67108864; `--limit component=N` allows more"), "{error}");
    // Size alone is no fault.
    let large = sandbox(|limits| limits.component_bytes = 256 << 20);
    Plugin::load(&large, &bytes).expect("a plugin with a section that means nothing");
}

#[test]
fn types_in_types_do_not_exhaust_the_stack() {
    let sandbox = sandbox(|_| {});
    // Three bytes per level. The number of bytes bounds the nesting, and the stack is large enough for it.
    Plugin::load(&sandbox, &fixtures::nested_types(20_000)).expect("nothing uses these types");
    for levels in [30_000, 1_000_000] {
        let error = refusal(&sandbox, &fixtures::nested_types(levels));
        assert!(error.contains("its types take more than 65536 bytes"), "{error}");
    }
    assert!(refusal(&sandbox, &fixtures::nested_lists(5_000)).contains("type nesting is too deep"));
}

#[test]
fn components_that_multiply_are_refused() {
    let sandbox = sandbox(|_| {});
    assert!(refusal(&sandbox, &fixtures::doubling_components(40)).contains("components in components inside"));
    assert!(refusal(&sandbox, &fixtures::instantiating_component()).contains("instantiates others"));
    assert!(refusal(&sandbox, &fixtures::many_components(900)).contains("more than 64 components inside"));
}

#[test]
fn code_from_outside_is_refused() {
    let sandbox = sandbox(|_| {});
    let error = refusal(&sandbox, &fixtures::imported_module());
    assert!(error.contains("a plugin imports interfaces only"), "{error}");
    assert!(refusal(&sandbox, &fixtures::aliased_module()).contains("a plugin brings all its code along"));
}

#[test]
fn modules_as_values_are_refused() {
    let sandbox = sandbox(|_| {});
    for bytes in [fixtures::exported_module(), fixtures::bagged_module()] {
        let error = refusal(&sandbox, &bytes);
        assert!(error.contains("it passes core modules on; build the plugin as one component"), "{error}");
    }
}

#[test]
fn a_compilation_that_takes_too_long_is_given_up() {
    let impatient = sandbox(|limits| limits.compile_seconds = 0);
    let error = Plugin::load(&impatient, &fixtures::slow_to_compile(SECONDS_DEEP)).expect_err("no time at all");
    assert_eq!(error, LoadError::CompileTime { seconds: 0, kept: false });
    assert!(error.to_string().contains("`--limit compile-time=N` allows more"), "{error}");
    lives_on(&sandbox(|_| {}));
}

/// A machine that is busy with other work for hours: the wall clock jumps by one hour between two checks, while the compiler's own time
/// does not change. The same holds for a limit of one second, too, as soon as that is enough.
#[test]
#[cfg(target_os = "linux")]
fn a_compiler_that_is_starved_is_waited_for() {
    const HOUR: Duration = Duration::from_secs(3600);
    let (patient, hours) = (sandbox(|_| {}), Cell::new(0));
    let wall = || {
        hours.set(hours.get() + 1);
        HOUR * hours.get()
    };
    let mut looks = 0;
    let bytes = fixtures::slow_to_compile(SECONDS_DEEP / 10);
    let looked = Looks { every: Duration::ZERO, wall: &wall };
    let compiled = compile_by(&looked, &patient, &bytes, World::Plugin, &mut |_| looks += 1);
    assert!(compiled.is_ok(), "{:?}", compiled.err());
    assert!(looks > 0, "it was looked at");
    assert_eq!(hours.get(), 0, "nothing asks the clock on the wall where processor time is known");
}

/// Requests a stop at its third poll.
struct ThirdTime(AtomicU32);

impl Stop for ThirdTime {
    fn reason(&self) -> Option<Stopped> {
        (self.0.fetch_add(1, Ordering::Relaxed) >= 2).then_some(Stopped::Interrupted)
    }
}

#[test]
fn a_compilation_is_given_up_when_it_is_to_stop() {
    let stop = Arc::new(ThirdTime(AtomicU32::new(0)));
    let config = SandboxConfig::default();
    let stoppable = Sandbox::stoppable(config, None, Arc::clone(&stop) as Arc<dyn Stop>).expect("a sandbox");
    let error = Plugin::load(&stoppable, &fixtures::slow_to_compile(SECONDS_DEEP)).expect_err("it is not waited for");
    assert_eq!(error, LoadError::Stopped(Stopped::Interrupted));
    assert_eq!(stop.0.load(Ordering::Relaxed), 3, "nothing asks on");
    lives_on(&sandbox(|_| {}));
}

/// Never stops, however busy the machine is.
struct Never;

impl Stop for Never {
    fn reason(&self) -> Option<Stopped> {
        None
    }
}

/// Plugins are kept for other searches, which have their own reasons to stop.
#[test]
fn a_plugin_keeps_nothing_that_stops_it() {
    let stop = Arc::new(Never);
    let stoppable = Sandbox::stoppable(SandboxConfig::default(), None, Arc::clone(&stop) as Arc<dyn Stop>);
    let plugin = Plugin::load(&stoppable.expect("a sandbox"), &fixtures::ping_pong()).expect("it compiles");
    let machine = plugin.again().machine().expect("an instance");
    assert_eq!(Arc::strong_count(&stop), 1);
    drop(machine);
}

#[test]
fn a_compilation_that_takes_too_much_memory_is_given_up() {
    let narrow = sandbox(|limits| limits.compile_bytes = 1 << 20);
    let error = Plugin::load(&narrow, &fixtures::large_to_compile(1_000, 1_000)).expect_err("some 100 MiB");
    assert_eq!(error, LoadError::CompileMemory { bytes: 1 << 20 });
    assert!(error.to_string().contains("`--limit compile-memory=N` allows more"), "{error}");
    lives_on(&sandbox(|_| {}));
}

/// In a separate process: the test runner sets a panic hook at its end, which is impossible while a compiler waits in one.
#[test]
fn a_compiler_that_panics_ends_nothing_else() {
    const CHILD: &str = "HOST_TEST_COMPILER_PANICS";
    if std::env::var_os(CHILD).is_some() {
        let sandbox = sandbox(|_| {});
        let error = std::panic::catch_unwind(AssertUnwindSafe(|| refusal(&sandbox, &fixtures::fields_in_other_case())));
        let is_reported =
            |error: String| error.contains("by a mistake of its own") && error.contains("no entry found for key");
        std::process::exit(if error.is_ok_and(is_reported) { 0 } else { 1 });
    }
    let name = "tests::resistance::load::a_compiler_that_panics_ends_nothing_else";
    let mut child = Command::new(std::env::current_exe().expect("it runs"));
    let ended = child.args(["--exact", name, "--nocapture"]).env(CHILD, "1").output().expect("it runs again");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

// Starting.

#[test]
fn memories_and_tables_share_one_limit() {
    let sandbox = sandbox(|_| {});
    // 4 times 60 MiB and the first memory fit in 256 MiB; 5 times do not.
    Plugin::load(&sandbox, &fixtures::many_memories(4)).expect("240 MiB");
    assert!(refusal(&sandbox, &fixtures::many_memories(5)).contains("more memory than the limit of 268435456 bytes"));
    // Twice 400,000 elements fit in a million; three times do not.
    Plugin::load(&sandbox, &fixtures::many_tables(2)).expect("800,000 elements");
    assert!(refusal(&sandbox, &fixtures::many_tables(3)).contains("tables of more than the limit of 1000000 elements"));
}

#[test]
fn work_without_end_at_the_start_ends() {
    let sandbox = sandbox(|limits| limits.fuel_per_call = 10_000_000);
    for bytes in [fixtures::loops_at_start(), fixtures::fills_tables_at_start()] {
        let error = refusal(&sandbox, &bytes);
        assert!(error.contains("does not end within 10000000 units of fuel"), "{error}");
    }
    assert!(refusal(&sandbox, &fixtures::memory_bomb_at_start()).contains("wants more memory than the limit"));
    assert!(refusal(&sandbox, &fixtures::traps_at_start()).contains("trapped"));
    assert!(refusal(&sandbox, &fixtures::chooses_at_start()).contains("calls `choose` while it starts"));
}
