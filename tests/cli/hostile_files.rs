//! A file that is not regular, or too large, is refused at once in every place that takes a file, without waiting or reading it to its end.
//! So is the output of a build.

use std::fs::File;
use std::os::unix::net::UnixListener;

use host_sandbox::fixtures;
use host_structure::tree;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::Place;

/// Bytes of a file that takes no room on the disk and could never be read.
const SPARSE_BYTES: u64 = 100 << 30;

/// Each place on the command line that takes a file, with `FILE` in place of it, and the exit code of a refusal.
const PLACES: [(&[&str], u8); 21] = [
    (&["run", "FILE"], 150),
    (&["run", "FILE.wat"], 150),
    (&["build", "FILE.c"], 150),
    (&["build", "FILE.wat"], 150),
    (&["graph", "FILE"], 150),
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
    (&["live", "up", "FILE.toml"], 151),
    (&["live", "node", "FILE.toml", "--id", "0"], 151),
    (&["live", "status", "FILE.toml"], 151),
    (&["live", "replay", "FILE", "--plugin", "guest.wasm"], 153),
];

/// The endings in them.
const ENDINGS: [&str; 6] = ["", ".wat", ".c", ".toml", ".json", ".itf.json"];

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
        for ending in ENDINGS {
            put(&place.path(&format!("odd{ending}")));
        }
        std::fs::create_dir(place.path("kept")).expect("writable");
        put(&place.path("kept/checkpoint"));
        for (command, exit) in PLACES {
            let command: Vec<String> = command.iter().map(|word| word.replace("FILE", "odd")).collect();
            let ran = place.host(&command).exits(exit);
            ran.says(&["odd", words]);
        }
        // A scenario that cannot be read is a test that fails.
        let (exit, ran) = (if words.starts_with("more") { 1 } else { 151 }, place.host(&["test", "odd.toml"]));
        let ran = ran.exits(exit);
        assert!(ran.out.contains(words) || ran.err.contains(words), "{ran:?}");
        // A long search can leave a file of any size, so its beginning decides.
        let of_checkpoint = if words == "more than the limit of" { "is damaged" } else { words };
        place.host(&["run", "--resume", "kept"]).exits(151).says(&["kept", of_checkpoint]);
        std::fs::remove_dir_all(place.path("kept")).expect("writable");
        for ending in ENDINGS {
            std::fs::remove_file(place.path(&format!("odd{ending}"))).expect("writable");
        }
    }
}

/// Each path leads to a folder that is read to find its kind: by the build, and by its advice about a neighbour.
#[test]
fn a_folder_with_a_file_without_end_is_not_built() {
    let place = Place::new();
    let sparse = |name: &str| {
        let file = File::create(place.path(name)).and_then(|file| file.set_len(SPARSE_BYTES));
        file.expect("a file without content");
    };
    for folder in ["manifest", "source", "output"] {
        std::fs::create_dir_all(place.path(folder)).expect("writable");
    }
    sparse("manifest/host.toml");
    place.put("manifest/a.wat", "(module)");
    sparse("source/a.wat");
    // Each run of the command makes a new output, so nothing of an earlier one stays.
    place.put("output/host.toml", "[build]\ncommand = \"truncate -s 100G made.wasm\"\noutput = \"made.wasm\"\n");
    for (folder, file) in [("manifest", "host.toml"), ("source", "a.wat"), ("output", "made.wasm")] {
        for command in ["build", "run"] {
            place.host(&[command, folder, "--quiet"]).exits(150).says(&[file, "more than the limit of"]);
        }
    }
    // No folder here is a plugin, a search for which reads all of them.
    place.host(&["build", "."]).exits(150);
    std::fs::remove_file(place.path("manifest/host.toml")).expect("writable");
    mkfifo(&place.path("manifest/host.toml"), Mode::S_IRWXU).expect("a pipe");
    std::fs::remove_file(place.path("manifest/a.wat")).expect("writable");
    mkfifo(&place.path("manifest/a.wat"), Mode::S_IRWXU).expect("a pipe");
    place.host(&["build", "manifest"]).exits(150).says(&["nothing to build in"]);
}

/// The commands that build the folder that they are given, and those that build the current one, as the security page lists them.
#[test]
fn the_security_page_lists_who_builds() {
    let mut place = Place::new();
    place.put("guest.wasm", fixtures::ping_pong());
    std::fs::create_dir(place.path("made")).expect("writable");
    let build = "[build]\ncommand = \"touch ../built && cp ../guest.wasm .\"\noutput = \"guest.wasm\"\n";
    place.put("made/host.toml", build);
    let help = place.host(&["--help"]).out;
    let commands = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let mut commands: Vec<&str> = commands.map_while(|line| line.split_whitespace().next()).collect();
    assert!(commands.contains(&"run") && commands.contains(&"export"), "{help}");
    // The one command that no help shows.
    commands.push("languages");
    let mut builders = |standing: &'static str, more: &[&str]| {
        place.standing = standing;
        let builds = |command: &&&str| {
            let _ = std::fs::remove_dir_all(place.path("made/target"));
            place.host(&[&[**command], more].concat());
            std::fs::remove_file(place.path("built")).is_ok()
        };
        commands.iter().filter(builds).map(|command| format!("`{command}`")).collect::<Vec<_>>()
    };
    let (named, by_default) = (builders("", &["made"]), builders("made", &[]));
    let page = tree::read("docs/security.md");
    let lines: Vec<&str> =
        page.lines().skip_while(|line| !line.starts_with("- PLUGIN of `host build`")).take(2).collect();
    let listed = lines[0].replace("`host build`", "`build`");
    let listed: Vec<String> = listed.split(['`']).skip(1).step_by(2).map(|command| format!("`{command}`")).collect();
    let sorted = |mut list: Vec<String>| {
        list.sort();
        list
    };
    let number = ["none", "one", "two", "three", "four", "five", "six", "seven"][by_default.len()];
    assert!(lines[1].starts_with(&format!("  Without PLUGIN the first {number} build the folder")), "{by_default:?}");
    assert_eq!(sorted(by_default.clone()), sorted(listed[..by_default.len()].to_vec()));
    assert_eq!(sorted(named), sorted(listed));
}
