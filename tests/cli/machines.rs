//! What a machine does not have: a cache that nobody else writes to.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use host_sandbox::fixtures;

use super::Place;

#[test]
fn a_cache_that_others_could_have_written_is_told_of_once() {
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
