//! TypeScript and JavaScript: esbuild makes one file, componentize-qjs stores QuickJS with it loaded.
//!
//! | module | what it holds |
//! |---|---|
//! | `prepared` | an engine that is given the text of a plugin after each edit |
//! | `sources` | file and line of each line of a bundle |

mod prepared;
mod sources;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use prepared::Tools;

use super::{Tier, Toolchain};
use crate::component::{self, CONTRACT, exported, wit_text};
use crate::install::npm;
use crate::job::{Job, Made, Say};
use crate::source::{Source, read, read_text};
use crate::tool::Tool;
use crate::{BuildError, files, update};

pub(super) const ROW: Toolchain = Toolchain {
    name: "javascript",
    language: "TypeScript, JavaScript",
    detected_by: "package.json, *.ts or *.js",
    needs: "node, and npm install componentize-qjs esbuild",
    tier: Tier::Maintained,
    recognises: |source| source.has("package.json") || !source.sources(&["ts", "js", "mjs"]).is_empty(),
    build,
};

const COMPILER: npm::Package = npm::Package { name: "componentize-qjs", version: "0.4.5", program: "componentize-qjs" };
const BUNDLER: npm::Package = npm::Package { name: "esbuild", version: "0.28.0", program: "esbuild" };

/// The part of a program that reports why a plugin fails. It needs [`PLATFORM`] before it.
const FAILURES: &str = include_str!("javascript/failures.js");

/// The substitute for a system. It needs the module `environment` of the host.
const PLATFORM: &str = concat!(include_str!("javascript/promises.js"), "\n", include_str!("javascript/platform.js"));

/// Syntax that esbuild rewrites, see `promises.js`.
const WRITTEN_AS_GENERATORS: [&str; 3] =
    ["--supported:async-await=false", "--supported:async-generator=false", "--supported:for-await=false"];

/// The assumptions of each plugin in JavaScript, whose engine offers a clock and random bytes.
const ASSUMED: [&str; 2] = [component::STILL_CLOCK, component::SAME_BYTES];

const HINT: &str = "the main file must export the constants `node` and `specification`";

/// The usual main files of a program.
const MAINS: [&str; 8] =
    ["src/index.ts", "src/index.js", "index.ts", "index.js", "app.ts", "app.js", "src/main.ts", "src/main.js"];

fn build(job: &Job<'_>, say: Say<'_>) -> Result<Made, BuildError> {
    let source = job.source;
    let main = source.main(&MAINS).or_else(|missing| named(source).ok_or(missing))?;
    let bundler = npm::find(job, &BUNDLER, say)?;
    let compiler = npm::find(job, &COMPILER, say)?;
    update::unless_current(job, ROW.name, &compiler, HINT, say, |work, say| {
        let module = work.join("bundle.js");
        job.run(bundle(job, &bundler, &main, "esm", &module))?;
        let text = read_text(&module)?;
        let text = sources::without(&text);
        let exports = text.rsplit("export {").next().unwrap_or_default().to_owned();
        let names: Vec<&str> = exports.split([',', '}', '\n']).map(str::trim).collect();
        let wants = |interface: &str| text.contains(&format!("\"host:protocol/{interface}@"));
        let wit_text = wit_text(|interface| names.contains(&interface), wants);
        let wit = work.join("wit/protocol.wit");
        files::write(&wit, wit_text.as_bytes())?;
        let tools = Tools { bundler: &bundler, compiler: &compiler };
        if let Some(component) = prepared::build(job, work, tools, &main, text, &wit_text, say)? {
            return Ok(component);
        }
        say(&format!("compiling {} with {} and {}", source.name, bundler.found, compiler.found));
        let component = work.join("component.wasm");
        let mut command = compiler.command(work);
        command
            .arg("--wit")
            .arg(wit.parent().expect("the contract is a file in the folder of the build"))
            .args(["--world", "plugin", "--js"]);
        // Requests of the engine to the system become traps; handlers are functions and not promises.
        let module = explaining(job, work, &bundler, &wit_text)?;
        command.arg(module).args(["--stub-wasi", "--sync", "-o"]).arg(&component);
        job.run(command)?;
        Ok(component::assuming(read(&component)?, &ASSUMED))
    })
}

/// The command that bundles a plugin into one file, a module in this format.
fn bundle(job: &Job<'_>, bundler: &Tool, main: &Path, format: &str, output: &Path) -> Command {
    let mut command = bundler.command(&job.source.folder);
    command.arg(main).args(["--bundle", "--external:host:*", "--log-level=warning", "--sourcemap=inline"]);
    command.arg("--sources-content=false").args(WRITTEN_AS_GENERATORS);
    command.arg(format!("--format={format}")).arg(format!("--outfile={}", output.display()));
    command
}

/// Bundles a plugin, the module `bundle.js`, the substitute for a system and the reports of failures into one file.
fn explaining(job: &Job<'_>, work: &Path, bundler: &Tool, wit_text: &str) -> Result<PathBuf, BuildError> {
    let (main, module) = (work.join("explaining.js"), work.join("plugin.js"));
    let environment = format!("import * as environment from {};\n", full_name("environment"));
    // A separate module, so that it is evaluated before the plugin.
    let platform = format!("{environment}{PLATFORM}\nexport {{ Platform, platform, promises }};\n");
    files::write(&work.join("platform.js"), platform.as_bytes())?;
    let mut program = format!("import {{ Platform, platform, promises }} from \"./platform.js\";\n{environment}");
    for interface in exported(wit_text) {
        let _ = writeln!(program, "import {{ {interface} as the_{interface} }} from \"./bundle.js\";");
        let _ = writeln!(program, "export const {interface} = standing(() => the_{interface});");
    }
    files::write(&main, (program + FAILURES).as_bytes())?;
    job.run(bundle(job, bundler, &main, "esm", &module))?;
    let text = read_text(&module)?;
    files::write(&module, sources::behind(&text, &job.source.folder, work, 0).as_bytes())?;
    Ok(module)
}

/// An interface of the host, as an import names it.
fn full_name(interface: &str) -> String {
    let package = CONTRACT.lines().find_map(|line| line.strip_prefix("package ")?.strip_suffix(';'));
    let (package, version) = package.and_then(|package| package.split_once('@')).expect("the contract has a version");
    format!("\"{package}/{interface}@{version}\"")
}

/// The `main` of package.json, if the file exists and no other tool makes it.
fn named(source: &Source) -> Option<PathBuf> {
    let package: serde_json::Value = serde_json::from_str(&source.text("package.json")?).ok()?;
    let main = package.get("main")?.as_str()?;
    source.has(main).then(|| PathBuf::from(main))
}
