//! AssemblyScript: its compiler from npm, and exports by their plain names.

use super::{Tier, Toolchain};
use crate::install::npm;
use crate::job::{Job, Made, Say};
use crate::source::Source;
use crate::{BuildError, update};

pub(super) const ROW: Toolchain = Toolchain {
    name: "assemblyscript",
    language: "AssemblyScript",
    detected_by: "package.json with assemblyscript, or asconfig.json",
    needs: "node, and npm install assemblyscript",
    tier: Tier::Community,
    recognises,
    build,
};

/// The compiler that the host installs.
const COMPILER: npm::Package = npm::Package { name: "assemblyscript", version: "0.28.20", program: "asc" };

const HINT: &str = "the entry file must export the functions of wit/protocol.wit, such as handleMessage";

fn recognises(source: &Source) -> bool {
    let depends = || source.text("package.json").is_some_and(|text| text.contains("\"assemblyscript\""));
    source.has("asconfig.json") || depends()
}

fn build(job: &Job<'_>, say: Say<'_>) -> Result<Made, BuildError> {
    let source = job.source;
    let main = source.main(&["assembly/index.ts"])?;
    let asc = npm::find(job, &COMPILER, say)?;
    update::unless_current(job, ROW.name, &asc, HINT, say, |work, say| {
        say(&format!("compiling {} with {}", source.name, asc.found));
        let core = work.join("core.wasm");
        let mut command = asc.command(&source.folder);
        command.arg(main);
        // `minimal` collects garbage only on request, and not while a handler runs.
        command.args(["-O3", "--runtime", "minimal", "--use", abort(source), "--outFile"]).arg(&core);
        job.compile(command, &core, say)
    })
}

/// The function that a failed assertion calls: by default an import, which the host lacks. The plugin's own function if it has
/// one at the place where `host new` puts it, else only a trap.
fn abort(source: &Source) -> &'static str {
    match source.text("assembly/abi.ts") {
        Some(text) if text.contains("function abort(") => "abort=assembly/abi/abort",
        _ => "abort=",
    }
}
