//! Zig: its own compiler, and exports by their plain names.

use std::path::PathBuf;

use super::{Tier, Toolchain};
use crate::install::{pip, upward};
use crate::job::{Job, Made, Say};
use crate::tool::{Tool, on_path};
use crate::{BuildError, update};

pub(super) const ROW: Toolchain = Toolchain {
    name: "zig",
    language: "Zig",
    detected_by: "*.zig",
    needs: "zig, or pip install ziglang",
    tier: Tier::Community,
    recognises: |source| !source.sources(&["zig"]).is_empty(),
    build,
};

/// The compiler that the host installs.
const COMPILER: pip::Package =
    pip::Package { name: "ziglang", version: "0.16.0", program: "ziglang/zig", size: "400 MB" };

const HINT: &str = "the main file must export the functions of wit/protocol.wit, such as handleMessage";

/// Bytes of a guest's stack, as for Rust and C.
const STACK_BYTES: &str = "65536";

fn build(job: &Job<'_>, say: Say<'_>) -> Result<Made, BuildError> {
    let source = job.source;
    let main = source.main(&["src/main.zig", "main.zig", "src/root.zig", "root.zig"])?;
    let zig = match found(job) {
        Some(zig) => zig,
        None => pip::cached(job, &COMPILER, false, say)?,
    };
    update::unless_current(job, ROW.name, &zig, HINT, say, |work, say| {
        say(&format!("compiling {} with {}", source.name, zig.found));
        let core = work.join("core.wasm");
        let mut command = zig.command(&source.folder);
        // Checks stay in: an error in a handler is a finding, not undefined behaviour.
        command.arg("build-exe").arg(&main).args(["-target", "wasm32-freestanding", "-O", "ReleaseSafe", "-fstrip"]);
        command.args(["-fno-entry", "-rdynamic", "--stack", STACK_BYTES, "--cache-dir"]).arg(work.join("cache"));
        command.arg("--global-cache-dir").arg(job.options.cache()?.join("zig"));
        command.arg(format!("-femit-bin={}", core.display()));
        job.compile(command, &core, say)
    })
}

/// The compiler of a virtual environment or on the path.
fn found(job: &Job<'_>) -> Option<Tool> {
    if let Some(own) = upward(&job.source.folder, &PathBuf::from(".venv/bin/python-zig")) {
        return Some(Tool::program(&own, "zig of the plugin's .venv"));
    }
    let program = on_path(&["zig", "python-zig"])?;
    Some(Tool::program(&program, &program.display().to_string()))
}
