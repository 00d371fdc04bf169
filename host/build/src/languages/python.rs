//! Python: componentize-py, which stores an interpreter with the program loaded.
//!
//! | module | what it holds |
//! |---|---|
//! | `prepared` | an interpreter that is given the modules of a plugin after each edit |

mod prepared;

use std::path::Path;

use prepared::Prepared;

use super::{Tier, Toolchain};
use crate::component::{self, exported, wit_text};
use crate::install::pip;
use crate::job::{Job, Made, Say};
use crate::source::{Source, read, read_text};
use crate::tool::finish;
use crate::{BuildError, files, update, wasi};

pub(super) const ROW: Toolchain = Toolchain {
    name: "python",
    language: "Python",
    detected_by: "*.py",
    needs: "python3, and pip install componentize-py",
    tier: Tier::Maintained,
    recognises: |source| !source.sources(&["py"]).is_empty(),
    build,
};

const COMPILER: pip::Package =
    pip::Package { name: "componentize-py", version: "0.25.1", program: "bin/componentize-py", size: "46 MB" };

/// The part of a program that reports why a plugin fails. It needs [`PLATFORM`] before it.
const FAILURES: &str = include_str!("python/failures.py");

/// The substitute for a system, as far as the interpreter does not use WASI. [`SETTLE`] is called once the modules of
/// the plugin are loaded.
const PLATFORM: &str = include_str!("python/platform.py");

/// The end of a program with [`PLATFORM`].
const SETTLE: &str = "settle()\n";

/// The assumptions of each plugin in Python, whose interpreter offers a clock and random bytes.
const ASSUMED: [&str; 2] = [component::STILL_CLOCK, component::SAME_BYTES];

/// The main module of a plugin that is built as a whole, and its folder.
const EXPLAINING: [&str; 2] = ["host_explaining", "explaining"];

const HINT: &str = "the module must have the classes Node and Specification";

fn build(job: &Job<'_>, say: Say<'_>) -> Result<Made, BuildError> {
    let source = job.source;
    let main = source.main(&["app.py", "plugin.py", "main.py"])?;
    let compiler = pip::find(job, &COMPILER, true, say)?;
    update::unless_current(job, ROW.name, &compiler, HINT, say, |work, say| {
        let text = read_text(&source.folder.join(&main))?;
        let wit = work.join("wit/protocol.wit");
        // A class of this name exports an interface.
        let offers = |interface: &str| {
            let class = format!("class {}", class(interface));
            text.lines().any(|line| line.starts_with(&class))
        };
        let wit_text = wit_text(offers, |interface| imports(source, interface));
        files::write(&wit, wit_text.as_bytes())?;
        let module = main.with_extension("");
        let module = module.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join(".");
        if let Some(prepared) = Prepared::of(job, &module)?
            && let Some(component) = prepared.build(job, work, &compiler, &wit_text, say)?
        {
            return Ok(component);
        }
        say(&format!("compiling {} with {}", source.name, compiler.found));
        let output_path = work.join("component.wasm");
        let mut command = compiler.command(&source.folder);
        // `--stub-wasi`: requests of the interpreter to the system become traps, which `wasi` replaces.
        command.arg("-d").arg(wit.parent().expect("the contract is a file in the folder of the build")).args([
            "-w",
            "plugin",
            "componentize",
        ]);
        let [begins_in, folder] = EXPLAINING;
        let folder = work.join(folder);
        files::write(&folder.join(begins_in).with_extension("py"), explaining(&module, &wit_text).as_bytes())?;
        // The folder of the plugin comes first: tracebacks name it `/0`.
        command.args(["--stub-wasi", begins_in, "-p", ".", "-p"]).arg(folder).arg("-o").arg(&output_path);
        let output = finish(command)?;
        if !output.success {
            return Err(BuildError::Compile { name: source.name.clone(), output: without_trace(&output.both()) });
        }
        with_platform(&read(&output_path)?, &source.name)
    })
}

/// The compiler's component with the substitute for a system.
fn with_platform(component: &[u8], name: &str) -> Result<Vec<u8>, BuildError> {
    let wrong = |error: wasmparser::BinaryReaderError| BuildError::Compile {
        name: name.to_owned(),
        output: format!("{}: what it made is no component: {error}", COMPILER.name),
    };
    Ok(component::assuming(wasi::with_platform(component).map_err(wrong)?, &ASSUMED))
}

/// The module that has the classes of a plugin, defined in `module`, and reports why it fails.
fn explaining(module: &str, wit_text: &str) -> String {
    let classes: Vec<String> = exported(wit_text).map(class).collect();
    let classes = classes.join(", ");
    format!("{PLATFORM}\n\nfrom {module} import {classes}\n{FAILURES}\n{SETTLE}")
}

/// The class that exports an interface.
fn class(interface: &str) -> String {
    interface[..1].to_uppercase() + &interface[1..]
}

/// Whether some file imports an interface of the host.
fn imports(source: &Source, interface: &str) -> bool {
    let text = |file: &Path| read_text(&source.folder.join(file)).unwrap_or_default();
    source.sources(&["py"]).into_iter().any(|file| names(&text(file), interface))
}

/// Whether a line begins with `import` or `from` and has the name of an interface. An import that is not needed can do harm: a plugin with
/// the durable map has it in its states, also if it writes nothing.
fn names(text: &str, interface: &str) -> bool {
    let is_import = |line: &str| ["import ", "from "].iter().any(|word| line.trim_start().starts_with(word));
    let words = |line: &str| line.split(|c: char| !c.is_alphanumeric()).any(|word| word == interface);
    text.lines().any(|line| is_import(line) && words(line))
}

/// The message of Python without the stack of the compiler.
fn without_trace(output: &str) -> String {
    output.split("\nStack backtrace:").next().unwrap_or(output).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn a_name_in_a_sentence_is_no_import() {
        assert!(names("\nfrom wit_world.imports import odds, storage\n", "storage"));
        assert!(names("try:\n    import wit_world.imports.storage\n", "storage"));
        assert!(!names("from wit_world.imports import odds\nstorages = 1\n", "storage"));
        assert!(!names("# `storage` is that of `wit_world.imports`\nfrom host.storages import Table\n", "storage"));
    }
}
