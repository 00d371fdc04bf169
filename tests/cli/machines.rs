//! Machines without memory or without a private cache: errors of the machine, not of a plugin.
#![expect(clippy::print_stdout, reason = "a process tells the test that has started it")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use host_sandbox::fixtures;

use super::Place;

/// Set for a process that has little address space.
const SMALL: &str = "HOST_TEST_OF_A_SMALL_MACHINE";

/// The work of the process below.
#[test]
fn on_a_small_machine() {
    let Some(folder) = std::env::var_os(SMALL) else { return };
    let place = Place::new();
    let guest = Path::new(&folder).join("guest.wasm").to_string_lossy().into_owned();
    let trace = Path::new(&folder).join("trace.json").to_string_lossy().into_owned();
    let commands: [&[&str]; 5] = [
        &["run", &guest, "--nodes", "2", "--algo", "bdfs", "--depth", "20", "--workers", "2", "--audit", "full"],
        &["run", &guest, "--nodes", "2", "--algo", "unfold", "--depth", "5", "--json"],
        &["doctor", &guest, "--nodes", "2", "--steps", "50"],
        &["replay", &trace, "--plugin", &guest],
        &["inspect", &guest],
    ];
    for command in commands {
        let ran = place.host(command);
        println!("{} ends with {}: {}", command[0], ran.code, ran.err.trim_end());
        // The command makes no other claim, in particular none about the guest.
        assert!([0, 153].contains(&ran.code), "{command:?}: {ran:?}");
    }
}

/// A node for each instance of a replay; each reserves the maximum of its memory: with any amount of address space,
/// a command does all of its work or reports that the machine has too little.
#[test]
fn a_machine_without_address_space_is_no_finding() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::growing());
    let go = serde_json::json!(
        { "node": 0, "event": { "kind": "local", "name": "go", "cause": "internal", "payload": "" } }
    );
    let trace = serde_json::json!({
        "trace_version": 1,
        "plugin": { "name": "guest" },
        "scenario": { "nodes": 2, "parameters": {}, "network": "unordered" },
        "steps": vec![go; 3],
    });
    place.put("trace.json", trace.to_string());
    // Compiled code is in the cache from now on.
    place.host(&["inspect", "guest.wasm"]).exits(0);
    let program = std::env::current_exe().expect("this is a program");
    let (mut refused, mut done) = (0, 0);
    for mebibytes in SIZES {
        let script = format!(
            "ulimit -v {}; exec \"$0\" --exact cli::machines::on_a_small_machine --nocapture",
            mebibytes * 1024
        );
        let mut child = Command::new("sh");
        child.args(["-c", &script]).arg(&program).env(SMALL, place.folder.path());
        // With an arena for each thread, the free address space would depend on which threads wait for each other.
        let output = child.env("MALLOC_ARENA_MAX", "1").output();
        let output = output.expect("there is a shell");
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && text.contains("1 passed"), "{mebibytes} MiB: {text}");
        refused += text.matches("ends with 153").count();
        done += text.matches("ends with 0").count();
    }
    assert!(refused > 0 && done > 0, "{refused} refused, {done} done");
}

/// From too little for the stack of a compiler, and for one instance, to enough for all.
const SIZES: [u64; 8] = [448, 640, 2048, 4096, 8192, 16_384, 32_768, 131_072];

#[test]
fn a_cache_that_others_could_have_written_is_reported_once() {
    const WARNING: &str = "warning: others could have written to the folder of compiled code ";
    let mut place = Place::new();
    let cache = place.path("cache");
    place.cache = Some(cache.clone());
    place.put("guest.wasm", fixtures::ping_pong()).put("other.wasm", fixtures::ping_pong_too_far());
    let commands: [&[&str]; 4] = [
        &["run", "guest.wasm", "--nodes", "2", "--node", "1=other.wasm", "--algo", "bdfs"],
        &["inspect", "guest.wasm"],
        &["doctor", "guest.wasm", "--nodes", "2"],
        &["inspect", "guest.wasm", "--json"],
    ];
    let set_mode =
        |mode| fs::set_permissions(cache.join("compiled"), Permissions::from_mode(mode)).expect("it is ours");
    for command in commands {
        let ran = place.host(command);
        assert!(!ran.err.contains(WARNING), "{ran:?}");
    }
    for mode in [0o770, 0o702, 0o777] {
        set_mode(mode);
        for command in commands {
            let ran = place.host(command);
            assert_eq!(ran.err.matches(WARNING).count(), 1, "{command:?}: {ran:?}");
            assert!(ran.err.contains("chmod go-w") && ran.err.contains("each run compiles"), "{ran:?}");
            assert_eq!(place.host(&[command, &["--quiet"]].concat()).err, "", "{command:?}");
        }
    }
    set_mode(0o700);
    assert_eq!(place.host(commands[1]).err, "");
}
