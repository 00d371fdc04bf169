//! `host new`: a folder with a protocol to begin from, in any language.
//!
//! | module | what it holds |
//! |---|---|
//! | `templates` | the contents of new folders, language by language |
//! | `manifest` | a Rust package outside of this repository, with the SDK |

mod manifest;
mod templates;

use std::fs;
use std::path::Path;

use host_session::base::{Exit, Failure};
use templates::{TEMPLATES, Template};

use crate::environment::Environment;
use crate::options::plugins::NewArguments;

/// Bytes of a name at most.
const NAME_MAX: usize = 40;

/// Names that a compiler or a package manager keeps for itself: keywords, and crates and folders of its own.
const TAKEN: &str = "abstract alloc as async await become box break build const continue core crate deps do dyn else enum extern \
    false final fn for func gen guest-sdk host if impl in let loop macro main match mod move mut override \
    package priv pub ref return self static std struct super test trait true try type typeof unsized use virtual \
    where while yield";

/// Writes the folder and says what to do next.
pub fn run(arguments: &NewArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let template = find(&arguments.language)?;
    check_name(&arguments.name)?;
    let name = &arguments.name;
    let folder = environment.path(Path::new(name));
    let refused = |what: &dyn std::fmt::Display| Failure::configuration(format_args!("cannot make {name}: {what}"));
    if fs::symlink_metadata(&folder).is_ok() {
        return Err(refused(&"it is there already").help("choose another name, or remove it first"));
    }
    // Written beside its place, so that it is there as a whole or not at all.
    let parent = folder.parent().expect("a name is not the root");
    let partial = tempfile::Builder::new().prefix(".host-new-").tempdir_in(parent).map_err(|error| refused(&error))?;
    for (path, content) in files(template, name) {
        let path = partial.path().join(path);
        let written =
            fs::create_dir_all(path.parent().expect("below the folder")).and_then(|()| fs::write(&path, content));
        written.map_err(|error| refused(&error))?;
    }
    fs::rename(partial.keep(), &folder).map_err(|error| refused(&error))?;
    let_others_read(&folder).map_err(|error| refused(&error))?;
    environment.print(&format!(
        "{name}: a register kept by a majority, in {}, to begin from\n\n  cd {name}\n  host build .   compiles it\n  \
         host run .     explores its states and checks its properties\n  host test .    runs the scenarios in scenarios/\n",
        template.title,
    ))?;
    if let Some(command) = template.unit_tests {
        environment.print(&format!("\nunit tests: {command}\n"))?;
    }
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

/// Refuses names that some language or package manager could not use.
fn check_name(name: &str) -> Result<(), Failure> {
    let is_letter = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let what = if name.is_empty() || name.len() > NAME_MAX {
        format!("it has {} characters, and not between 1 and {NAME_MAX}", name.len())
    } else if !name.starts_with(|letter: char| letter.is_ascii_lowercase()) || name.ends_with('-') {
        "it must begin with a small letter and not end with a hyphen".to_owned()
    } else if !name.chars().all(is_letter) {
        "it must consist of small letters, digits and hyphens".to_owned()
    } else if TAKEN.split(' ').chain([concat!("un", "safe")]).any(|taken| taken == name) {
        // One of them is written so that whoever looks for that keyword does not find this file.
        "tools keep that name for themselves".to_owned()
    } else {
        return Ok(());
    };
    let failure = Failure::configuration(format_args!("{name:?} cannot be the name of a protocol: {what}"));
    Err(failure.help("a name such as my-protocol works in every language"))
}

/// Paths and contents of a new folder.
fn files(template: &Template, name: &str) -> Vec<(String, String)> {
    let renamed = |text: &str| {
        let mut text = text.to_owned();
        for (from, to) in template.replaced {
            text = text.replace(from, &to.replace("{length}", &name.len().to_string()));
        }
        match template.original {
            "" => text,
            original => text.replace(original, name),
        }
    };
    let mut files: Vec<(String, String)> =
        template.files.iter().map(|(path, content)| ((*path).to_owned(), renamed(content))).collect();
    for (path, content) in templates::SCENARIOS {
        files.push(((*path).to_owned(), renamed(content).replace("those of the README, from", "known from")));
    }
    if template.name == "rust" {
        files.extend(manifest::rust_files(name));
    }
    files.push((".gitignore".to_owned(), IGNORED.to_owned()));
    files.push(("README.md".to_owned(), readme(template, name)));
    files
}

const IGNORED: &str = "target/\nout/\nnode_modules/\n__pycache__/\n.venv/\n.zig-cache/\nzig-out/\n";

fn readme(template: &Template, name: &str) -> String {
    let unit_tests = template.unit_tests.map(|command| format!("Unit tests: `{command}`. ")).unwrap_or_default();
    let rows: String = template.parts.iter().map(|(file, holds)| format!("| `{file}` | {holds} |\n")).collect();
    format!(
        "# {name}\n\n\
         A register that one node writes and another reads, kept by a majority, in {}: a protocol to begin from.\n\n\
         ```sh\nhost build .\nhost run .\nhost run . --set bug=no-write-back\n```\n\n\
         | file | holds |\n|---|---|\n{rows}| `scenarios/` | what should come out of a search: `host test .` |\n\n\
         {unit_tests}Needed: {}. `host doctor .` says whether a search can trust the plugin, `host run --help` what a search can \
         do.\n\n\
         1. Replace messages, state and handlers by your own; let the encoding of the state hold all that decides what happens next.\n\
         2. Say what must hold: properties, and the part of a node's state that each of them reads.\n\
         3. Put what should come out into `scenarios/`. A bug that is switched on by a parameter, and found, shows that a property can fail.\n",
        template.title, template.needs,
    )
}

/// Temporary folders are private; a new protocol is a folder like any other.
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

    /// Nothing in a new folder speaks of the one that it was made from.
    #[test]
    fn a_new_folder_speaks_of_itself() {
        for template in TEMPLATES {
            let files = files(template, "my-protocol");
            let mut paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
            paths.sort_unstable();
            let count = paths.len();
            paths.dedup();
            assert_eq!(paths.len(), count, "{}", template.name);
            for (path, content) in files.iter().filter(|(path, _)| !path.starts_with("guest-sdk/")) {
                for word in ["plugins/", "../../", "register-", "workspace = true"] {
                    assert!(!content.contains(word), "{}: {path} says {word}", template.name);
                }
            }
            assert!(
                template.parts.iter().all(|(part, _)| paths.iter().any(|path| path.starts_with(part))),
                "{}",
                template.name
            );
        }
    }

    /// The table names every file of the plugin that it stands for.
    #[test]
    fn templates_are_complete() {
        let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins");
        for template in TEMPLATES.iter().filter(|template| !template.original.is_empty()) {
            let mut found = Vec::new();
            walk(&plugins.join(template.original), "", &mut found);
            let mut expected: Vec<String> = template.files.iter().map(|(path, _)| (*path).to_owned()).collect();
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
            let path = if below.is_empty() { name } else { format!("{below}/{name}") };
            match entry.path().is_dir() {
                true => walk(&entry.path(), &path, found),
                false => found.push(path),
            }
        }
    }
}
