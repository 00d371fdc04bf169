//! `host new wrap CRATE@VERSION`: a folder with the beginning of a wrapper of a third-party library.

use host_build::sdk;
use host_session::base::{Exit, Failure};

use super::{check_name, make, with_sdk};
use crate::environment::Environment;

/// The word in place of a language.
pub const WORD: &str = "wrap";

const FILES: &[(&str, &str)] = wrap_template![
    "lib.rs" => "src/lib.rs",
    "README.md" => "README.md",
    "scenarios/three-nodes.toml" => "scenarios/three-nodes.toml",
];

/// Creates the folder and prints the next steps.
pub fn run(library: &str, given: Option<&str>, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let (library, version) = parse(library)?;
    let name = given.map_or_else(|| format!("{}-checked", library.to_lowercase().replace('_', "-")), str::to_owned);
    check_name(&name).map_err(|failure| match given {
        Some(_) => failure,
        None => failure
            .help(format_args!("name the folder yourself: `host new wrap {library}@{version} --name my-wrapper`")),
    })?;
    make(&name, &files(&name, library, version), environment, |folder, environment| {
        environment.tell(&format!("asking cargo for {library} {version}"));
        let notes = sdk::resolve_wrapper(folder).map_err(|error| {
            let why = error.to_string();
            let why: Vec<&str> = why.lines().skip(1).map(str::trim).filter(|line| !line.is_empty()).collect();
            Failure::configuration(format_args!("cannot make {name}: {}", why.join("; ")))
        })?;
        notes.iter().for_each(|note| environment.tell(&format!("note: {note}")));
        Ok(())
    })?;
    environment.print(&format!(
        "{name}: a wrapper of {library} {version}, with a stand-in where the library comes in\n\n  cd {name}\n  \
         host run .     runs it as it is\n\nREADME.md has the questions to answer on the way; src/lib.rs has a place for each answer\n"
    ))?;
    Ok(Exit::Ok)
}

/// The crate and the version in `CRATE@VERSION`.
fn parse(text: &str) -> Result<(&str, &str), Failure> {
    let is_of = |text: &str, more: &str| {
        text.starts_with(|letter: char| letter.is_ascii_alphanumeric())
            && text.chars().all(|letter| letter.is_ascii_alphanumeric() || more.contains(letter))
    };
    let parts = text.split_once('@').filter(|(library, version)| is_of(library, "-_") && is_of(version, ".-+"));
    parts.ok_or_else(|| {
        let failure = Failure::configuration(format_args!("{text:?} is no crate with its version"));
        if text.contains('/') {
            return failure.help(format_args!("a package in Go is wrapped by `host new wrap --go {text}`"));
        }
        failure.help("write the version that is to be checked, as in `host new wrap raft@0.7.0`")
    })
}

/// Paths and contents of the folder.
fn files(name: &str, library: &str, version: &str) -> Vec<(String, String)> {
    let filled = |text: &str| {
        let text = text.replace("{crate}", library).replace("{version}", version).replace("{name}", name);
        text.replace("the_library", &library.replace('-', "_"))
    };
    let mut files: Vec<(String, String)> =
        FILES.iter().map(|(path, text)| ((*path).to_owned(), filled(text))).collect();
    files.push(("Cargo.toml".to_owned(), sdk::wrapper_manifest(name, library, version)));
    with_sdk("rust", files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_has_a_name_and_a_version() {
        for (text, expected) in [("raft@0.7.0", ("raft", "0.7.0")), ("a_b-c@1.0.0-rc.1", ("a_b-c", "1.0.0-rc.1"))] {
            assert_eq!(parse(text).expect("a crate"), expected);
        }
        for text in ["raft", "raft@", "@1", "../raft@1", "raft@1 || 2", "raft@=1", "a b@1", "raft@1@2"] {
            assert!(parse(text).is_err_and(|failure| failure.help.is_some()), "{text}");
        }
    }

    #[test]
    fn nothing_in_a_new_folder_is_left_to_be_filled_in() {
        let files = files("little-raft-checked", "little_raft", "0.2.0");
        let own = files.iter().filter(|(path, _)| !path.starts_with("guest-sdk"));
        for (path, content) in own {
            for mark in ["{crate}", "{version}", "{name}", "the_library"] {
                assert!(!content.contains(mark), "{path} has {mark}");
            }
        }
        let source = files.iter().find(|(path, _)| path == "src/lib.rs").map(|(_, content)| content.as_str());
        assert!(source.is_some_and(|source| source.contains("use little_raft as _;")));
    }
}
