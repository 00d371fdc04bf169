//! Shrinks the program where the linker can: functions with the same code are merged, and addresses that are relocated at the start
//! take one bit each. Otherwise the program is an eighth larger, and the same.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// Options of the linker. Some linkers lack one of them, and some C libraries cannot start a program that was linked with the second.
const OPTIONS: [&str; 2] = ["-Wl,--icf=all", "-Wl,-z,pack-relative-relocs"];

fn main() {
    tell("rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|said| said == value);
    // In a tested program each function keeps its own name.
    let is_released = is("PROFILE", "release");
    let runs_here = env::var_os("HOST") == env::var_os("TARGET");
    if !(is_released && runs_here && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu")) {
        return;
    }
    for option in OPTIONS.iter().filter(|option| links(option) == Some(true)) {
        tell(&format!("rustc-link-arg-bins={option}"));
    }
}

/// Whether a program linked with this option runs.
fn links(option: &str) -> Option<bool> {
    let folder = env::var_os("OUT_DIR")?;
    let (source, program) = (Path::new(&folder).join("smallest.rs"), Path::new(&folder).join("smallest"));
    std::fs::write(&source, "fn main() {}\n").ok()?;
    let mut compile = Command::new(env::var_os("RUSTC")?);
    compile.arg(&source).arg("-o").arg(&program).arg("-C").arg(format!("link-arg={option}"));
    // With the same flags as cargo.
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    compile.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        compile.arg("-C").arg([OsString::from("linker="), linker].into_iter().collect::<OsString>());
    }
    let is_linked = succeeds(&mut compile)?;
    Some(is_linked && succeeds(&mut Command::new(program))?)
}

fn succeeds(command: &mut Command) -> Option<bool> {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.ok().map(|status| status.success())
}

fn tell(line: &str) {
    println!("cargo::{line}");
}
