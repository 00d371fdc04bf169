//! Signals to a separate process: the first ends a search in an orderly way, the second ends the process.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use host_sandbox::fixtures::{self, Guest};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

fn start(folder: &TempDir, guest: Vec<u8>, options: &[&str]) -> Child {
    std::fs::write(folder.path().join("guest.wasm"), guest).expect("a temporary folder can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
    command.args(["run", "guest.wasm", "--nodes", "2"]).args(options).current_dir(folder.path());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program can be started")
}

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().cast_signed()), signal).expect("it is not waited for yet");
}

/// The processor time of a process in hundredths of a second.
fn ticks(child: &Child) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("it runs, on Linux");
    // After the name in brackets, the twelfth number.
    let (_, numbers) = stat.rsplit_once(')').expect("there is a name");
    numbers.split_whitespace().nth(11).and_then(|ticks| ticks.parse().ok()).expect("a number")
}

/// An endless search that reports its progress.
#[test]
fn the_first_signal_ends_a_search_with_what_it_has() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let folder = TempDir::new().expect("a temporary folder");
        let mut child = start(&folder, fixtures::global_counter(), &["--algo", "bdfs", "--progress", "--json"]);
        let mut stderr = BufReader::new(child.stderr.take().expect("piped above"));
        let mut line = String::new();
        while !line.contains(" s: ") {
            line.clear();
            assert!(stderr.read_line(&mut line).expect("it is text") > 0, "it ended by itself");
        }
        send(&child, signal);
        let mut out = String::new();
        child.stdout.take().expect("piped above").read_to_string(&mut out).expect("it is text");
        let status = child.wait().expect("it was started");
        assert_eq!(status.code(), Some(130), "{status}: {out}");
        assert!(out.contains("\"result\": \"incomplete\"") && out.contains("\"end\": \"interrupted\""), "{out}");
    }
}

/// One call of a guest that takes hours: the first signal has no effect before its end, the second has.
#[test]
fn the_second_signal_ends_the_process() {
    let folder = TempDir::new().expect("a temporary folder");
    let local = "(loop $again (br $again)) (i32.const 0)".to_owned();
    let guest = Guest { local, ..Guest::default() };
    let mut child = start(&folder, guest.component(), &["--limit", "fuel=1000000000000000"]);
    // Loading the guest takes far less than a second.
    while ticks(&child) < 100 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    send(&child, Signal::SIGINT);
    let before = ticks(&child);
    while ticks(&child) < before + 10 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(child.try_wait().expect("it was started"), None, "the first signal waits for the end of the call");
    send(&child, Signal::SIGINT);
    let status = child.wait().expect("it was started");
    assert_eq!(status.signal(), Some(Signal::SIGINT as i32), "{status}");
}
