//! Finds the sources of little_raft where cargo has put them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const CRATE: &str = "/little_raft-0.2.0/Cargo.toml";
const MODULES: [&str; 4] = ["cluster", "message", "replica", "state_machine"];

fn main() {
    let mut cargo = Command::new(env::var_os("CARGO").expect("cargo runs this"));
    cargo.args(["metadata", "--format-version=1", "--locked"]);
    cargo.args(["--filter-platform", &env::var("TARGET").expect("cargo says it")]);
    let output =
        cargo.current_dir(env::var_os("CARGO_MANIFEST_DIR").expect("cargo says it")).output().expect("it runs");
    let text = String::from_utf8(output.stdout.clone()).expect("it is text");
    let manifests = text.split("\"manifest_path\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    let manifest = manifests.into_iter().find(|path| path.ends_with(CRATE));
    let manifest = manifest.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let sources = Path::new(manifest).with_file_name("src");
    let module = |name: &&str| format!("#[path = {:?}]\npub mod {name};\n", sources.join(name).with_extension("rs"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says it"));
    let modules: String = MODULES.iter().map(module).collect();
    fs::write(out.join("modules.rs"), modules).expect("it is cargo's folder for that");
    println!("cargo::rerun-if-changed=build.rs");
}
