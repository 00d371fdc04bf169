//! The folders with the copies, and their components.

use std::fs;
use std::path::{Path, PathBuf};

use host_build::Options;

use super::Way;

/// The register in other languages: folder, file, the source text that selects `serialize` as the identity, and the text that selects the
/// memory.
const ELSEWHERE: [[&str; 4]; 8] = [
    ["register-assemblyscript", "assembly/abi.ts", "store<u8>(at, 0, 29);", "store<u8>(at, 1, 29);"],
    ["register-c", "register.c", "IDENTITY_SERIALIZED", "IDENTITY_MEMORY"],
    ["register-cpp", "host.hpp", "IDENTITY_SERIALIZED", "IDENTITY_MEMORY"],
    ["register-go", "host/abi.go", "says.Nodes, 0\n", "says.Nodes, 1<<8\n"],
    ["register-python", "app.py", "Identity.SERIALIZED", "Identity.MEMORY"],
    [
        "register-text",
        "register.wat",
        "offset=28 (local.get $about) (i32.const 0)",
        "offset=28 (local.get $about) (i32.const 256)",
    ],
    ["register-typescript", "src/index.ts", "identity: \"serialized\"", "identity: \"memory\""],
    ["register-zig", "src/host.zig", ".identity = 0", ".identity = 1"],
];

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.canonicalize().expect("the tests lie in the tree")
}

/// The names of the bundled protocols, sorted: those in Rust, and those in another language.
pub fn protocols() -> [Vec<String>; 2] {
    let entries = fs::read_dir(root().join("plugins")).expect("the folder is there");
    let folders = entries.map(|entry| entry.expect("readable").path()).filter(|it| it.join("Cargo.toml").is_file());
    let mut names: Vec<String> =
        folders.map(|it| it.file_name().expect("a name").to_string_lossy().into_owned()).collect();
    names.sort();
    [names, ELSEWHERE.iter().map(|[name, ..]| (*name).to_owned()).collect()]
}

/// The component of a bundled protocol whose states are distinguished in this way.
///
/// # Errors
///
/// It cannot be built, for example without a toolchain: the main line of the error.
pub fn component(protocol: &str, way: Way) -> Result<PathBuf, String> {
    let original = root().join("plugins").join(protocol);
    let elsewhere = ELSEWHERE.iter().find(|[name, ..]| *name == protocol);
    let folder = match (way.by, elsewhere) {
        (None, _) => original,
        (Some(by), None) => copied(protocol, &original, (way, by)),
        (Some(_), Some([_, file, from, to])) => replaced(protocol, &original, file, (from, to)),
    };
    let built = host_build::build(&folder, &Options::default(), &mut |_| {});
    built.map(|built| built.wasm).map_err(|error| reason(&error.to_string()))
}

/// The main line of the error of a build.
fn reason(error: &str) -> String {
    let of_the_compiler = error.lines().find(|line| line.trim_start().starts_with("error"));
    of_the_compiler.or(error.lines().next()).unwrap_or_default().trim().to_owned()
}

/// A folder with the sources of a protocol in another language, with `to` in place of `from` in one file.
fn replaced(protocol: &str, original: &Path, file: &str, (from, to): (&str, &str)) -> PathBuf {
    let folder = root().join("target/identities-elsewhere").join(protocol);
    let change = |path: &Path, source: String| {
        if path != original.join(file) {
            return source;
        }
        assert!(source.contains(from), "{}: no {from:?}", path.display());
        source.replace(from, to)
    };
    copy(original, &folder, &change);
    // Like `host new`: the copy contains the SDK.
    let language = protocol.trim_start_matches("register-");
    for (path, source) in host_build::sdk::files(language) {
        write(&folder.join(&path), &change(&original.join(&path), source));
    }
    fs::remove_file(folder.join("host.toml")).ok();
    folder
}

/// Copies the sources in a folder, changing each on the way.
fn copy(original: &Path, folder: &Path, change: &dyn Fn(&Path, String) -> String) {
    fs::create_dir_all(folder).expect("the folder of what is built can be written");
    for entry in fs::read_dir(original).expect("it has sources") {
        let path = entry.expect("readable").path();
        let name = path.file_name().expect("a name");
        // Build results are not copied.
        if name == "target" || name == "node_modules" || name == "__pycache__" {
            continue;
        }
        if path.is_dir() {
            copy(&path, &folder.join(name), change);
        } else {
            write(&folder.join(name), &change(&path, read(&path)));
        }
    }
}

/// A folder with the sources of a protocol and another export. All folders share their compiled dependencies.
fn copied(protocol: &str, original: &Path, (way, by): (Way, &str)) -> PathBuf {
    let workspace = root().join("target/identities");
    let name = format!("{protocol}-{}", way.word);
    let folder = workspace.join(&name);
    fs::create_dir_all(&folder).expect("the folder of what is built can be written");
    write(
        &workspace.join("Cargo.toml"),
        "[workspace]\nresolver = \"3\"\nmembers = [\"*-*\"]\nexclude = [\"target\"]\n",
    );
    if !workspace.join("Cargo.lock").exists() {
        // The versions of this repository, so that nothing has to be looked up.
        fs::copy(root().join("Cargo.lock"), workspace.join("Cargo.lock")).expect("a file can be copied");
    }
    write(&folder.join("Cargo.toml"), &manifest(&name, original));
    let main = original.join("src/lib.rs");
    copy(&original.join("src"), &folder.join("src"), &|path, source| match path == main {
        true => exporting_another(&source, way),
        false => source,
    });
    let [guest, constant, _] = way.around;
    let guest = guest.replace(constant, &format!("= {by};"));
    write(&folder.join("src/identity.rs"), &guest);
    folder
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Writes a file unless it is there already, so that nothing is compiled again.
fn write(path: &Path, content: &str) {
    if fs::read_to_string(path).ok().as_deref() != Some(content) {
        fs::write(path, content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

/// The source with another export, and a module for it.
fn exporting_another(source: &str, way: Way) -> String {
    let (before, after) = source.split_once("guest_sdk::export!(").expect("it exports a protocol");
    let (protocol, after) = after.split_once(')').expect("the export ends");
    let around = way.around[2];
    let arena = if way.has_arena { "guest_sdk::arena!();\n" } else { "" };
    format!("{before}guest_sdk::export!(identity::{around}<{protocol}>){after}\n{arena}mod identity;\n")
}

/// A manifest with the dependencies of the original.
fn manifest(name: &str, original: &Path) -> String {
    let root = root();
    let theirs = read(&original.join("Cargo.toml"));
    let dependencies = theirs.split_once("[dependencies]\n").expect("it has dependencies").1;
    let dependencies = dependencies.split("\n[").next().unwrap_or_default();
    let all = read(&root.join("Cargo.toml"));
    let serde = all.lines().find(|line| line.starts_with("serde = ")).expect("the workspace has it");
    let sdk = format!("guest-sdk = {{ path = {:?} }}", root.join("guest-sdk"));
    let dependencies = dependencies
        .replace("guest-sdk.workspace = true", &sdk)
        .replace("serde.workspace = true", serde)
        .replace("\"../", &format!("\"{}/", root.join("plugins").display()));
    format!(
        "[package]\nname = \"{name}\"\ndescription = \"A copy.\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [features]\ndefault = [\"plugin\"]\nplugin = []\n\n\
         [dependencies]\n{dependencies}\n"
    )
}
