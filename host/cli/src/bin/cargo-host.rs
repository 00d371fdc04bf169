//! `cargo host`: the program `host` in the same folder, with the words after `cargo host`.
#![allow(clippy::print_stderr, reason = "only its own failure is printed")]

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// The words for `host`; cargo gives the name of the command before them.
fn words(all: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    let mut is_first = true;
    all.skip(1).filter(move |word| !(std::mem::take(&mut is_first) && word == "host"))
}

fn main() -> ExitCode {
    let host = match std::env::current_exe() {
        Ok(own) => own.with_file_name("host"),
        Err(_) => "host".into(),
    };
    // Returns only where it fails.
    let error = Command::new(&host).args(words(std::env::args_os())).exec();
    eprintln!("error: {}: {error}\nhelp: cargo install --path host/cli --locked", host.display());
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_command_is_left_out_once() {
        for (all, kept) in [
            ("cargo-host host run .", "run ."),
            ("cargo-host run .", "run ."),
            ("cargo-host host run host", "run host"),
            ("cargo-host", ""),
        ] {
            let words: Vec<OsString> = words(all.split(' ').map(OsString::from)).collect();
            assert_eq!(words.join(" ".as_ref()), OsString::from(kept));
        }
    }
}
