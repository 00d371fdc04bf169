//! What is no regular file, or too large: refused at once wherever a file is taken, never waited for and never read to its end.

use std::fs::File;
use std::os::unix::net::UnixListener;

use host_sandbox::fixtures;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::Place;

/// Bytes of a file that takes no room on the disk and could never be read.
const SPARSE_BYTES: u64 = 100 << 30;

/// Each place on the command line that takes a file, with `FILE` in place of it, and the exit code of a refusal.
const PLACES: [(&[&str], u8); 13] = [
    (&["run", "FILE"], 150),
    (&["run", "guest.wasm", "--nodes", "2", "--node", "1=FILE"], 150),
    (&["run", "guest.wasm", "--nodes", "2", "--adversary", "1=FILE"], 150),
    (&["inspect", "FILE"], 150),
    (&["doctor", "FILE"], 150),
    (&["run", "FILE.toml"], 151),
    (&["run", "guest.wasm", "--prefix", "FILE"], 151),
    (&["replay", "FILE", "--plugin", "guest.wasm"], 151),
    (&["replay", "FILE.itf.json", "--plugin", "guest.wasm"], 151),
    (&["minimize", "FILE", "--plugin", "guest.wasm"], 151),
    (&["draw", "FILE", "--plugin", "guest.wasm"], 151),
    (&["export", "FILE", "--plugin", "guest.wasm", "--format", "itf"], 151),
    (&["debug", "FILE.json", "--plugin", "guest.wasm"], 151),
];

/// Puts something at a path.
type Put = dyn Fn(&std::path::Path);

#[test]
fn only_regular_files_of_bounded_size_are_read() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::ping_pong());
    let fifo = |path: &std::path::Path| mkfifo(path, Mode::S_IRWXU).expect("a pipe");
    let socket = |path: &std::path::Path| drop(UnixListener::bind(path).expect("a socket"));
    let device = |path: &std::path::Path| std::os::unix::fs::symlink("/dev/zero", path).expect("a link");
    let sparse = |path: &std::path::Path| {
        File::create(path).and_then(|file| file.set_len(SPARSE_BYTES)).expect("a file without content");
    };
    let kinds: [(&str, &Put); 4] =
        [("a named pipe", &fifo), ("a socket", &socket), ("a device", &device), ("more than the limit of", &sparse)];
    for (words, put) in kinds {
        for ending in ["", ".toml", ".json", ".itf.json"] {
            put(&place.path(&format!("odd{ending}")));
        }
        std::fs::create_dir(place.path("kept")).expect("writable");
        put(&place.path("kept/checkpoint"));
        for (command, exit) in PLACES {
            let command: Vec<String> = command.iter().map(|word| word.replace("FILE", "odd")).collect();
            let ran = place.host(&command).exits(exit);
            ran.says(&["odd", words]);
        }
        // A long search can leave a file of any size, so it is its beginning that tells.
        let of_checkpoint = if words == "more than the limit of" { "is damaged" } else { words };
        place.host(&["run", "--resume", "kept"]).exits(151).says(&["kept", of_checkpoint]);
        std::fs::remove_dir_all(place.path("kept")).expect("writable");
        for ending in ["", ".toml", ".json", ".itf.json"] {
            std::fs::remove_file(place.path(&format!("odd{ending}"))).expect("writable");
        }
    }
}
