//! C++: clang++ with libc++, or Zig's C++ compiler, and the bindings of C.

use super::c::{self, Library};
use super::{Tier, Toolchain};
use crate::job::{Job, Made, Say};
use crate::{BuildError, update};

pub(super) const ROW: Toolchain = Toolchain {
    name: "cpp",
    language: "C++",
    detected_by: "*.cpp, *.cc or *.cxx",
    needs: "apt-get install clang-22 lld-22 wasi-libc libclang-rt-22-dev-wasm32 libc++-22-dev-wasm32 libc++abi-22-dev-wasm32, \
            or a WASI SDK in $WASI_SDK_PATH, or zig",
    tier: Tier::Community,
    recognises: |source| !source.sources(&EXTENSIONS).is_empty(),
    build,
};

const EXTENSIONS: [&str; 3] = ["cpp", "cc", "cxx"];

const LIBRARY: Library = Library {
    what: "C++ compiler for WebAssembly",
    packages: &[
        "clang-22",
        "lld-22",
        "wasi-libc",
        "libclang-rt-22-dev-wasm32",
        "libc++-22-dev-wasm32",
        "libc++abi-22-dev-wasm32",
    ],
    file: "lib/wasm32-wasi/libc++.a",
    compiler: "clang++",
    zig: "c++",
};

const HINT: &str = "it must define the functions that plugin.h declares, such as exports_node_handle_message";

fn build(job: &Job<'_>, say: Say<'_>) -> Result<Made, BuildError> {
    let clang = c::clang(job, &LIBRARY, say)?;
    update::unless_current(job, ROW.name, &clang, HINT, say, |work, say| {
        let source = job.source;
        let files = source.sources(&EXTENSIONS);
        let c_files = source.sources(&["c"]);
        let told = source.sources(&["cpp", "cc", "cxx", "c", "hpp", "hh", "hxx", "h"]);
        let [bindings, types] = c::bindings(source, &told, work)?;
        say(&format!("compiling {} with {}", source.name, clang.found));
        let flags = c::flags(source, work);
        let compiler = || {
            let mut command = clang.command(&source.folder);
            command.args(&flags);
            command
        };
        // The bindings are C, and parts of the plugin may be C as well.
        let mut objects = Vec::new();
        for (index, file) in c_files.iter().copied().chain([bindings.as_path()]).enumerate() {
            let object = work.join(format!("c-{index}.o"));
            let mut command = compiler();
            command.args(["-x", "c", "-std=c17", "-c"]).arg(file).arg("-o").arg(&object);
            job.run(command)?;
            objects.push(object);
        }
        let core = work.join("core.wasm");
        let mut command = compiler();
        command.args(c::link_flags()).args(["-std=c++23", "-fno-exceptions", "-fno-rtti", "-o"]).arg(&core);
        command.args(&files).args(&objects).arg(&types);
        job.compile(command, &core, say)
    })
}
