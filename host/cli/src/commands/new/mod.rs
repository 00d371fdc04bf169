//! `host new`: a folder with a protocol to begin from, in any language.
//!
//! | module | what it holds |
//! |---|---|
//! | `wrap` | a wrapper of a library in Rust |
//! | `wrap_go` | a wrapper of a library in Go |
//! | `templates` | the contents of new folders, language by language |

/// The files of a wrapper: the path of each among the templates, and in the new folder.
macro_rules! wrap_template {
    ($($path:literal => $to:literal),+ $(,)?) => {
        &[$(($to, include_str!(concat!("../../../templates/wrap/", $path)))),+]
    };
}

mod templates;
mod wrap;
mod wrap_go;

use std::fs;
use std::path::Path;

use host_build::sdk::{self, Renewal, RenewalError};
use host_session::base::{Exit, Failure};
use templates::{Sources, TEMPLATES, Template};

use crate::environment::Environment;
use crate::options::plugins::NewArguments;

/// The maximum length in bytes of a name.
const NAME_MAX: usize = 40;

/// Names that a compiler or a package manager reserves: keywords, and crates and folders of its own.
const TAKEN: &str = "abstract alloc as async await become box break build const continue core crate deps do dyn else enum extern \
    false final fn for func gen guest-sdk host if impl in let loop macro main match mod move mut override \
    package priv pub ref return self static std struct super test trait true try type typeof unsized use virtual \
    where while yield";

/// Writes the folder and prints the next steps; or replaces the SDK in an existing folder.
pub fn run(arguments: &NewArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    if let Some(folder) = &arguments.update {
        return update(folder, environment);
    }
    let (Some(language), Some(name)) = (&arguments.language, &arguments.name) else {
        unreachable!("the parser wants both where there is nothing to update");
    };
    if language == wrap::WORD {
        if arguments.bare {
            return Err(Failure::configuration("a wrapper has no bare form").about("--bare"));
        }
        let given = arguments.name_of_wrapper.as_deref();
        return match arguments.go {
            true => wrap_go::run(name, arguments.from.as_deref(), given, environment),
            false => wrap::run(name, given, environment),
        };
    }
    if arguments.go {
        let failure = Failure::configuration("only a wrapper is of a library").about("--go");
        return Err(failure.help(format_args!(
            "`host new go {name}` begins a protocol in Go, `host new wrap --go PACKAGE` a wrapper"
        )));
    }
    if arguments.name_of_wrapper.is_some() {
        let failure =
            Failure::configuration("a folder in a language has the name that is given behind it").about("--name");
        return Err(failure.help(format_args!("leave `--name` out: `host new {language} NAME`")));
    }
    let template = find(language)?;
    let sources = if arguments.bare { &template.bare } else { &template.register };
    check_name(name)?;
    check_taken(name, template)?;
    make(name, &files(template, sources, name), environment, |_, _| Ok(()))?;
    let what = if arguments.bare { "one message, one field, one property" } else { "a register kept by a majority" };
    environment.print(&format!(
        "{name}: {what}, in {}, to begin from\n\n  cd {name}\n  host build .   compiles it\n  \
         host run .     explores its states and checks its properties\n  host test .    runs the scenarios in scenarios/\n",
        template.title,
    ))?;
    if let Some(command) = template.unit_tests {
        environment.print(&format!("\nunit tests: {}\n", command.replace("{file}", &file_name(template, name))))?;
    }
    Ok(Exit::Ok)
}

/// Creates a folder with these files, and lets `finish` complete it. The folder appears completely or not at all.
fn make(
    name: &str,
    files: &[(String, String)],
    environment: &mut Environment<'_>,
    finish: impl FnOnce(&Path, &mut Environment<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let folder = environment.path(Path::new(name));
    let refused = |what: &dyn std::fmt::Display| Failure::configuration(format_args!("cannot make {name}: {what}"));
    if fs::symlink_metadata(&folder).is_ok() {
        return Err(refused(&"it is there already").help("choose another name, or remove it first"));
    }
    // Written to a temporary folder first.
    let parent = folder.parent().expect("a name is not the root");
    let partial = tempfile::Builder::new().prefix(".host-new-").tempdir_in(parent).map_err(|error| refused(&error))?;
    for (name, content) in files {
        let path = partial.path().join(name);
        let written = fs::create_dir_all(path.parent().expect("a file lies in a folder"))
            .and_then(|()| fs::write(&path, content));
        let dated = |()| if name.starts_with("guest-sdk/") { sdk::date(&path) } else { Ok(()) };
        written.and_then(dated).map_err(|error| refused(&error))?;
    }
    finish(partial.path(), environment)?;
    fs::rename(partial.keep(), &folder).map_err(|error| refused(&error))?;
    let_others_read(&folder).map_err(|error| refused(&error))
}

/// Replaces the SDK in a folder.
fn update(folder: &Path, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let renewed = sdk::renew(&environment.path(folder)).map_err(|error| {
        let failure = Failure::configuration(format_args!("cannot replace the SDK in {}: {error}", folder.display()));
        match error {
            RenewalError::NoRecord => failure.help("name the folder that `host new` made, or stand in it"),
            RenewalError::Edited(_) => {
                failure.help("move what you changed elsewhere, remove these files, and try again")
            }
            _ => failure,
        }
    })?;
    environment.print(&match renewed {
        Renewal::Current => format!("the SDK is that of this host, {}\n", sdk::VERSION),
        Renewal::Renewed { from, files } => {
            format!("the SDK was that of host {from}, and is that of host {} now: {files} files\n", sdk::VERSION)
        }
    })?;
    Ok(Exit::Ok)
}

/// The template of a language.
fn find(language: &str) -> Result<&'static Template, Failure> {
    let wanted = language.to_lowercase();
    let found =
        TEMPLATES.iter().find(|template| template.name == wanted || template.aliases.contains(&wanted.as_str()));
    found.ok_or_else(|| {
        let names: Vec<&str> = TEMPLATES.iter().map(|template| template.name).collect();
        let failure = Failure::configuration(format_args!("there is no template for the language `{language}`"));
        failure.help(format_args!("there are: {}", names.join(", ")))
    })
}

/// Refuses names that some language or package manager cannot use.
fn check_name(name: &str) -> Result<(), Failure> {
    let is_letter = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let what = if name.is_empty() || name.len() > NAME_MAX {
        format!("it has {} characters, and not between 1 and {NAME_MAX}", name.len())
    } else if !name.starts_with(|letter: char| letter.is_ascii_lowercase()) || name.ends_with('-') {
        "it must begin with a small letter and not end with a hyphen".to_owned()
    } else if !name.chars().all(is_letter) {
        "it must consist of small letters, digits and hyphens".to_owned()
    } else if TAKEN.split(' ').chain([concat!("un", "safe")]).any(|taken| taken == name) {
        // One name is spelt in two parts so that a search for that keyword does not find this file.
        "tools keep that name for themselves".to_owned()
    } else {
        return Ok(());
    };
    let failure = Failure::configuration(format_args!("{name:?} cannot be the name of a protocol: {what}"));
    Err(failure.help("a name such as my-protocol works in every language"))
}

/// Refuses names that this language cannot use.
fn check_taken(name: &str, template: &Template) -> Result<(), Failure> {
    let (names, why) = template.taken;
    if !names.split(' ').any(|taken| taken == file_name(template, name)) {
        return Ok(());
    }
    let what = format_args!("{name:?} cannot be the name of a protocol in {}: {why}", template.title);
    Err(Failure::configuration(what).help(format_args!("a name such as {name}-protocol works")))
}

/// The name of a protocol as a file name.
fn file_name(template: &Template, name: &str) -> String {
    if template.underscores { name.replace('-', "_") } else { name.to_owned() }
}

/// Paths and contents of a new folder.
fn files(template: &Template, sources: &Sources, name: &str) -> Vec<(String, String)> {
    let file = file_name(template, name);
    let renamed = |text: &str| {
        let mut text = text.to_owned();
        for (from, to) in sources.replaced {
            text = text.replace(from, &to.replace("{length}", &name.len().to_string()).replace("{file}", &file));
        }
        match sources.original {
            "" => text,
            original => text.replace(original, name),
        }
    };
    let moved = |path: &str| {
        let to = sources.renamed.iter().find(|(from, _)| *from == path).map_or(path, |(_, to)| to);
        to.replace("{file}", &file)
    };
    let mut files: Vec<(String, String)> =
        sources.files.iter().map(|(path, content)| (moved(path), renamed(content))).collect();
    let is_bare = sources.folder.is_empty();
    for (path, content) in if is_bare { templates::BARE_SCENARIOS } else { templates::SCENARIOS } {
        files.push(((*path).to_owned(), renamed(content).replace("those of the README, from", "known from")));
    }
    if template.name == "rust" {
        let about = if is_bare { "Every node greets the next one." } else { "A register kept by a majority." };
        files.push(("Cargo.toml".to_owned(), sdk::rust_manifest(name, about)));
    }
    files.push(("README.md".to_owned(), readme(template, sources, name)));
    with_sdk(template.name, files)
}

/// The files of a folder with a copy of the SDK of its language, and a `.gitignore`.
fn with_sdk(language: &str, mut files: Vec<(String, String)>) -> Vec<(String, String)> {
    files.extend(sdk::files(language));
    files.extend(sdk::record(language).map(|record| (sdk::RECORD.to_owned(), record)));
    files.push((".gitignore".to_owned(), IGNORED.to_owned()));
    files
}

const IGNORED: &str = "target/\nout/\nnode_modules/\n__pycache__/\n.venv/\n.zig-cache/\nzig-out/\n";

fn readme(template: &Template, sources: &Sources, name: &str) -> String {
    let unit_tests = template.unit_tests.map(|command| format!("Unit tests: `{command}`. ")).unwrap_or_default();
    let parts = sources.parts.iter().chain(template.sdk);
    let rows: String = parts.map(|(file, holds)| format!("| `{file}` | {holds} |\n")).collect();
    let (what, violation) = if sources.folder.is_empty() {
        ("Every node greets the next one, once", "host run . --network unordered-duplicating --duplicates 1")
    } else {
        ("A register that one node writes and another reads, kept by a majority", "host run . --set bug=no-write-back")
    };
    let text = format!(
        "# {name}\n\n\
         {what}, in {}: a protocol to begin from.\n\n\
         ```sh\nhost build .\nhost run .\n{violation}\n```\n\n\
         | file | holds |\n|---|---|\n{rows}| `scenarios/` | the expected results of searches: `host test .` |\n\n\
         {unit_tests}Needed: {}. `host doctor .` says whether a search can trust the plugin, `host run --help` what a search can \
         do.\n\n\
         1. Replace messages, state and handlers by your own; let the encoding of the state hold all that decides what happens next.\n\
         2. Say what must hold: properties, and the part of a node's state that each of them reads.\n\
         3. Put the expected results into `scenarios/`. A bug that a parameter switches on, and that a search finds, shows that a property can fail.\n",
        template.title, template.needs,
    );
    text.replace("{file}", &file_name(template, name))
}

/// Temporary folders are private; a new protocol is an ordinary folder.
fn let_others_read(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_some_tool_cannot_use_are_refused() {
        for name in ["a", "my-protocol", "raft2", "two-phase-commit"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        let long = "a".repeat(41);
        for name in ["", &long, "2pc", "-a", "a-", "My", "a_b", "a/b", "..", "a b", "ä", "test", "match", "guest-sdk"]
        {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn languages_have_names_that_people_use() {
        for (word, name) in [("rust", "rust"), ("C++", "cpp"), ("ts", "typescript"), ("Py", "python"), ("wat", "text")]
        {
            assert_eq!(find(word).expect("a language").name, name);
        }
        let failure = find("cobol").expect_err("no template");
        assert!(failure.help.is_some_and(|help| help.contains("rust, c, cpp, zig, go")));
    }

    fn both(template: &'static Template) -> [&'static Sources; 2] {
        [&template.register, &template.bare]
    }

    /// No file of a new folder mentions the protocol that it was made from.
    #[test]
    fn a_new_folder_speaks_of_itself() {
        for template in TEMPLATES {
            let copied = sdk::files(template.name);
            for sources in both(template) {
                let files = files(template, sources, "my-protocol");
                let mut paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
                paths.sort_unstable();
                let count = paths.len();
                paths.dedup();
                assert_eq!(paths.len(), count, "{}", template.name);
                assert!(paths.iter().all(|path| !path.contains("register") && !path.contains('{')), "{paths:?}");
                for (path, content) in files.iter().filter(|file| !copied.contains(file)) {
                    for word in ["plugins/", "../../", "register-", "bare", "workspace = true", "{file}"] {
                        assert!(!content.contains(word), "{}: {path} says {word}", template.name);
                    }
                    for extension in ["py", "ts", "test.ts", "go", "zig", "c", "cpp", "wat"] {
                        let word = format!("register.{extension}");
                        let ends = |rest: &str| !rest.starts_with(|letter: char| letter.is_alphanumeric());
                        let says = content.split(&word).skip(1).any(ends);
                        assert!(!says, "{}: {path} says {word}", template.name);
                    }
                }
                let parts = sources.parts.iter().chain(template.sdk);
                for part in parts.map(|(part, _)| part.replace("{file}", &file_name(template, "my-protocol"))) {
                    assert!(paths.iter().any(|path| path.starts_with(&part)), "{}: {part}", template.name);
                }
                // The replaced text exists.
                let all: String = sources.files.iter().map(|(_, content)| *content).collect();
                assert!(sources.replaced.iter().all(|(from, _)| all.contains(from)), "{}", template.name);
                let is_there = |path: &str| sources.files.iter().any(|(there, _)| *there == path);
                assert!(sources.renamed.iter().all(|(from, _)| is_there(from)), "{}", template.name);
            }
        }
    }

    /// File names contain the name of the protocol.
    #[test]
    fn files_bear_the_name_of_the_protocol() {
        for (language, name, path) in [
            ("python", "two-phase", "two_phase.py"),
            ("python", "two-phase", "tests/test_two_phase.py"),
            ("go", "two-phase", "two-phase.go"),
            ("typescript", "ring", "test/ring.test.ts"),
            ("zig", "two-phase", "src/two_phase.zig"),
            ("assemblyscript", "ring", "assembly/ring.ts"),
            ("c", "ring", "ring.c"),
        ] {
            let template = find(language).expect("a language");
            for sources in both(template) {
                let files = files(template, sources, name);
                assert!(files.iter().any(|(there, _)| there == path), "{language}: no {path}");
            }
        }
        for (language, name) in [("python", "queue"), ("go", "sort"), ("typescript", "index"), ("rust", "serde")] {
            let failure = check_taken(name, find(language).expect("a language")).expect_err("it is taken");
            assert!(failure.help.is_some_and(|help| help.contains(&format!("{name}-protocol"))));
            assert!(check_taken(&format!("{name}-protocol"), find(language).expect("a language")).is_ok());
        }
        assert!(check_taken("queue", find("go").expect("a language")).is_ok());
    }

    /// The tables name every file of the protocols that they copy; `registers_have_what_new_folders_get` is about the SDK.
    #[test]
    fn templates_are_complete() {
        let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins");
        for template in TEMPLATES.iter().filter(|template| template.name != "rust") {
            let mut found = Vec::new();
            walk(&plugins.join(template.register.folder), "", &mut found);
            // A build copies the SDK into the folder.
            let sdk = sdk::files(template.name);
            found.retain(|path| path != "host.toml" && sdk.iter().all(|(copied, _)| copied != path));
            let own = template.register.files.iter().map(|(path, _)| (*path).to_owned());
            let mut expected: Vec<String> = own.collect();
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "{}", template.name);
        }
    }

    fn walk(folder: &Path, below: &str, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).expect("the plugin is there") {
            let entry = entry.expect("readable");
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_made = ["target", "node_modules", "__pycache__", "out", "README.md", "package-lock.json"];
            if is_made.contains(&name.as_str()) || name.starts_with('.') {
                continue;
            }
            // Tests of the SDK of Go are copied with it.
            if !below.is_empty() && name.ends_with("_test.go") {
                continue;
            }
            let path = if below.is_empty() { name } else { format!("{below}/{name}") };
            match entry.path().is_dir() {
                true => walk(&entry.path(), &path, found),
                false => found.push(path),
            }
        }
    }
}
