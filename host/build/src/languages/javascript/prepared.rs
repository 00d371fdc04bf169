//! A plugin in JavaScript whose text is loaded into an engine that was prepared for its interfaces.

use std::ffi::OsStr;
use std::fmt::Write;
use std::path::Path;

use super::{FAILURES, PLATFORM, bundle, full_name, sources};
use crate::BuildError;
use crate::component::{self, exported, optional};
use crate::job::{Job, Say};
use crate::languages::prepared::Waiting;
use crate::source::read_text;
use crate::tool::{Tool, finish};

/// The program that waits for the text.
const PROGRAM: &str = include_str!("base.js");

/// The name of its file.
const FILE: &str = "base.js";

/// Lines that the engine puts before the text of a function.
const HEAD: usize = 2;

/// Syntax that changes its meaning, or loses it, if a module becomes a function that is called later.
const OTHERWISE: [&str; 5] = ["import.meta", "import(", "require(", "typeof module", "typeof exports"];

/// The bundler, and the tool that makes a component of the bundle.
#[derive(Clone, Copy)]
pub(super) struct Tools<'t> {
    pub bundler: &'t Tool,
    pub compiler: &'t Tool,
}

/// The plugin with this main file and text of its module, as a component; none if it needs the whole build.
pub(super) fn build(
    job: &Job<'_>,
    work: &Path,
    tools: Tools<'_>,
    main: &Path,
    module: &str,
    wit_text: &str,
    say: Say<'_>,
) -> Result<Option<Vec<u8>>, BuildError> {
    if job.options.initialise.is_none() || OTHERWISE.iter().any(|words| module.contains(words)) {
        return Ok(None);
    }
    let function = work.join("bundle.cjs");
    if !finish(bundle(job, tools.bundler, main, "cjs", &function))?.success {
        return Ok(None);
    }
    let waiting = Waiting { file: FILE, program: program(wit_text), wit_text, compiler: tools.compiler };
    let arguments = |folder: &Path, wasm: &Path| {
        let (wit, program) = (work.join("wit"), folder.join(FILE));
        let before = [OsStr::new("--wit"), wit.as_os_str(), OsStr::new("--world"), OsStr::new("plugin")];
        let after = [OsStr::new("--js"), program.as_os_str(), OsStr::new("--stub-wasi"), OsStr::new("--sync")];
        let output = [OsStr::new("-o"), wasm.as_os_str()];
        before.into_iter().chain(after).chain(output).map(OsStr::to_owned).collect()
    };
    let text = sources::behind(&read_text(&function)?, &job.source.folder, work, HEAD);
    let finished = |base: &[u8]| Ok(component::assuming(base.to_vec(), &super::ASSUMED));
    waiting.given(job, work, &text, arguments, &finished, say)
}

/// The program that waits for a plugin for this world.
fn program(wit_text: &str) -> String {
    let mut program = String::new();
    let mut imported = String::new();
    for interface in ["environment"].into_iter().chain(optional(wit_text, "import")) {
        let name = full_name(interface);
        let _ = writeln!(program, "import * as {interface} from {name};");
        let _ = write!(imported, "{name}: {interface}, ");
    }
    let _ = writeln!(program, "const imported = {{ {imported}}};");
    for interface in exported(wit_text) {
        let _ = writeln!(program, "export const {interface} = standing(() => offered(\"{interface}\"));");
    }
    program + PLATFORM + FAILURES + PROGRAM
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component::wit_text;

    #[test]
    fn the_program_has_the_interfaces_of_the_plugin() {
        let program = program(&wit_text(|name| name == "defaults", |name| name == "odds"));
        assert!(program.contains("import * as odds from \"host:protocol/odds@"), "{program}");
        assert!(program.contains("export const defaults = standing(() => offered(\"defaults\"));"), "{program}");
        assert!(!program.contains("as live") && !program.contains("const durable"), "{program}");
    }
}
