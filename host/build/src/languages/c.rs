//! C: clang with wasi-libc, or Zig's C compiler, and bindings that the host generates.

use std::path::{Path, PathBuf};

use wit_bindgen_core::Files;

use super::{Tier, Toolchain};
use crate::component::world_with;
use crate::install::{SWITCHED_OFF, apt};
use crate::job::{Job, Made, Say};
use crate::source::{Source, read_text};
use crate::tool::{Tool, on_path};
use crate::{BuildError, files, update};

pub(super) const ROW: Toolchain = Toolchain {
    name: "c",
    language: "C",
    detected_by: "*.c",
    needs: "apt-get install clang-22 lld-22 wasi-libc libclang-rt-22-dev-wasm32, or a WASI SDK in $WASI_SDK_PATH, or zig",
    tier: Tier::Maintained,
    recognises: |source| !source.sources(&["c"]).is_empty(),
    build,
};

/// Compiler, linker, library and compiler runtime, by the names of Debian's packages.
const PACKAGES: [&str; 4] = ["clang-22", "lld-22", "wasi-libc", "libclang-rt-22-dev-wasm32"];

const HINT: &str = "it must define the functions that plugin.h declares, such as exports_node_handle_message";

/// Bytes of a guest's stack, as for Rust: snapshots cover written memory, and a small stack keeps it together.
const STACK_BYTES: u32 = 65_536;

fn build(job: &Job<'_>, say: Say<'_>) -> Result<Made, BuildError> {
    let clang = clang(job, &Library::C, say)?;
    update::unless_current(job, ROW.name, &clang, HINT, say, |work, say| {
        let source = job.source;
        let files = source.sources(&["c"]);
        let bindings = bindings(source, &files, work)?;
        say(&format!("compiling {} with {}", source.name, clang.found));
        let core = work.join("core.wasm");
        let mut command = clang.command(&source.folder);
        command.args(flags(source, work)).args(link_flags());
        command.args(["-std=c17", "-o"]).arg(&core).args(&files).args(bindings);
        job.compile(command, &core, say)
    })
}

/// Options of every compilation of C or C++; those of `host.toml` come last.
pub(super) fn flags(source: &Source, work: &Path) -> Vec<String> {
    let flags = ["--target=wasm32-wasi", "-O2", "-Wall", "-Wextra", "-Wno-deprecated", "-I."];
    let mut flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
    flags.push(format!("-I{}", work.display()));
    // Without the machine's own paths, equal sources give an equal digest everywhere.
    flags.push(format!("-ffile-prefix-map={}=.", source.folder.display()));
    flags.extend(source.manifest.build.flags.iter().cloned());
    flags
}

/// Further options of linking.
pub(super) fn link_flags() -> Vec<String> {
    vec![
        "-mexec-model=reactor".to_owned(),
        format!("-Wl,-z,stack-size={STACK_BYTES}"),
        // An overflowing stack then runs into address 0 and traps, instead of overwriting data.
        "-Wl,--stack-first".to_owned(),
        "-Wl,--strip-debug".to_owned(),
    ]
}

/// The library to link.
pub(super) struct Library {
    /// Its name, for people.
    pub what: &'static str,
    pub packages: &'static [&'static str],
    /// A file that shows that it is installed, relative to `/usr`.
    pub file: &'static str,
    /// The compiler's name, to which Debian appends a version.
    pub compiler: &'static str,
    /// The word for Zig's compiler.
    pub zig: &'static str,
}

impl Library {
    #[allow(non_upper_case_globals, reason = "named like a variant: there is one value for each language")]
    pub const C: Self = Self {
        what: "C compiler for WebAssembly",
        packages: &PACKAGES,
        file: "lib/wasm32-wasi/libc.a",
        compiler: "clang",
        zig: "cc",
    };
}

/// Finds or installs a compiler: a WASI SDK, Debian's clang, or Zig's.
pub(super) fn clang(job: &Job<'_>, library: &Library, say: Say<'_>) -> Result<Tool, BuildError> {
    if let Some(tool) = sdk(library).or_else(|| debian(library)).or_else(|| zig(library)) {
        return Ok(tool);
    }
    let missing = |reason: String| BuildError::NoTool {
        what: library.what.to_owned(),
        reason,
        remedy: format!("apt-get install {}", library.packages.join(" ")),
    };
    if !job.options.install {
        return Err(missing(SWITCHED_OFF.to_owned()));
    }
    apt::install(library.packages, &format!("a {} (once, about 150 MB)", library.what), say)?.map_err(missing)?;
    debian(library).ok_or_else(|| missing("it is installed and cannot be found".to_owned()))
}

/// Debian's C compiler for WebAssembly, for libraries in other languages that bring C along.
pub(super) fn of_debian() -> Option<PathBuf> {
    debian(&Library::C).map(|tool| tool.path().into())
}

fn sdk(library: &Library) -> Option<Tool> {
    let folder = PathBuf::from(std::env::var_os("WASI_SDK_PATH")?);
    let program = folder.join("bin").join(library.compiler);
    program.is_file().then(|| Tool::program(&program, "clang of the WASI SDK"))
}

/// The newest clang whose linker for WebAssembly and library are installed.
fn debian(library: &Library) -> Option<Tool> {
    if !Path::new("/usr").join(library.file).is_file() {
        return None;
    }
    let mut found = (16..=40).rev().filter_map(|version| {
        let program = on_path(&[&format!("{}-{version}", library.compiler)])?;
        let has_linker = Path::new(&format!("/usr/lib/llvm-{version}/bin/wasm-ld")).is_file();
        let has_runtime = Path::new(&format!("/usr/lib/llvm-{version}/lib/clang/{version}/lib/wasi")).is_dir()
            || Path::new(&format!("/usr/lib/llvm-{version}/lib/clang/{version}/lib/wasm32-unknown-wasi")).is_dir();
        (has_linker && has_runtime).then(|| Tool::program(&program, &format!("{}-{version}", library.compiler)))
    });
    found.next()
}

fn zig(library: &Library) -> Option<Tool> {
    let program = on_path(&["zig", "python-zig"])?;
    Some(Tool::program(&program, "zig's C compiler").with_words(&[library.zig]))
}

/// Writes `plugin.h` into a folder; returns the files to compile and link with it.
///
/// The optional interfaces are those whose functions the sources name.
pub(super) fn bindings(source: &Source, files: &[&Path], work: &Path) -> Result<[PathBuf; 2], BuildError> {
    let texts: Vec<String> = files.iter().filter_map(|file| read_text(&source.folder.join(file)).ok()).collect();
    let (mut resolve, world) = world_with(|interface, functions| {
        let prefix = interface.split(['/', '@']).nth(1).unwrap_or_default();
        let names: Vec<String> =
            functions.iter().map(|function| format!("{prefix}_{}(", function.replace('-', "_"))).collect();
        names.iter().any(|name| texts.iter().any(|text| text.contains(name.as_str())))
    });
    let keys = resolve.worlds[world].imports.keys().chain(resolve.worlds[world].exports.keys());
    let mut interfaces: Vec<String> = keys.map(|key| resolve.name_world_key(key)).collect();
    interfaces.sort_unstable();
    interfaces.dedup();
    let short = |name: &str| name.split(['/', '@']).nth(1).unwrap_or(name).to_owned();
    let options = wit_bindgen_c::Opts {
        rename: interfaces.iter().map(|name| (name.clone(), short(name))).collect(),
        rename_world: Some("plugin".to_owned()),
        ..Default::default()
    };
    let mut generated = Files::default();
    let failed = |error: &dyn std::fmt::Debug| BuildError::Compile {
        name: source.name.clone(),
        output: format!("the bindings cannot be generated: {error:?}"),
    };
    options.build().generate(&mut resolve, world, &mut generated).map_err(|error| failed(&error))?;
    for (name, content) in generated.iter() {
        files::write(&work.join(name), content)?;
    }
    Ok([work.join("plugin.c"), work.join("plugin_component_type.o")])
}
