//! `host new wrap --go PACKAGE`: a folder with the beginning of a wrapper of a library in Go.

use std::path::Path;

use host_build::sdk::go::{self, GoError, Library};
use host_session::base::{Exit, Failure};

use super::{check_name, make, with_sdk};
use crate::environment::Environment;

const FILES: &[(&str, &str)] = wrap_template![
    "go/main.go" => "main.go",
    "go/node.go" => "node.go",
    "go/README.md" => "README.md",
    "scenarios/three-nodes.toml" => "scenarios/three-nodes.toml",
];

/// The maximum number of absent packages that are named.
const NAMED_MAX: usize = 5;

/// Creates the folder and prints the next steps.
pub fn run(
    package: &str,
    from: Option<&Path>,
    given: Option<&str>,
    environment: &mut Environment<'_>,
) -> Result<Exit, Failure> {
    check_path(package)?;
    let name = given.map_or_else(|| likely_name(package), str::to_owned);
    check_name(&name).map_err(|failure| match given {
        Some(_) => failure,
        None => {
            failure.help(format_args!("name the folder yourself: `host new wrap --go {package} --name my-wrapper`"))
        }
    })?;
    let sources = from.map_or_else(|| go::DEBIAN.into(), |from| environment.path(from));
    let library = go::library(&sources, package).map_err(|error| refused(&name, package, &error))?;
    make(&name, &files(&name, package, &library), environment, |folder, _| {
        library.copy_into(folder).map_err(|error| refused(&name, package, &error))
    })?;
    if let Some(note) = absent(&library, &sources) {
        environment.tell(&note);
    }
    environment.print(&format!(
        "{name}: a wrapper of {package}, with a stand-in where the library comes in\n\n  cd {name}\n  \
         host run .     runs it as it is\n\nREADME.md has the questions to answer on the way; node.go has a place for each answer\n"
    ))?;
    Ok(Exit::Ok)
}

/// Refuses paths by which no package is imported.
fn check_path(package: &str) -> Result<(), Failure> {
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.~+".contains(c))
    };
    if package.contains('@') {
        let failure = Failure::configuration(format_args!("{package:?} has a version"));
        return Err(failure.help("what is wrapped is the version that is installed: leave `@` and what follows out"));
    }
    let host = package.split('/').next().unwrap_or_default();
    if host.contains('.') && package.split('/').all(is_part) {
        return Ok(());
    }
    let failure = Failure::configuration(format_args!("{package:?} is no path by which a library in Go is imported"));
    Err(failure.help("it begins with a domain, as in `host new wrap --go go.etcd.io/etcd/raft`"))
}

/// The last component of the path that is no version, and `-checked`.
fn likely_name(package: &str) -> String {
    let is_version =
        |part: &str| part.strip_prefix('v').is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    let part = package.rsplit('/').find(|part| !is_version(part)).unwrap_or(package);
    format!("{}-checked", part.to_lowercase().replace(['.', '_', '~', '+'], "-"))
}

fn refused(name: &str, package: &str, error: &GoError) -> Failure {
    let failure = Failure::configuration(format_args!("cannot make {name}: {error}"));
    match error {
        GoError::NoPackage { sources, .. } if sources == Path::new(go::DEBIAN) => failure.help(format_args!(
            "`apt-get install --no-install-recommends {}` may install it, `apt-cache search '^golang-.*-dev$'` lists all packages of \
             Debian with libraries in Go, and --from names another folder",
            likely_debian_package(package)
        )),
        GoError::NoPackage { .. } => failure.help("the folder given by --from has each module in a folder of its path"),
        _ => failure,
    }
}

/// The name of a module's package in Debian: `golang-github-hashicorp-raft-dev` for github.com/hashicorp/raft.
fn likely_debian_package(package: &str) -> String {
    let mut parts = package.split('/');
    let host = parts.next().unwrap_or_default();
    let host = if host == "golang.org" { "golang" } else { host.split_once('.').map_or(host, |(name, _)| name) };
    let rest: Vec<&str> = parts.take(2).collect();
    format!("golang-{host}-{}-dev", rest.join("-")).to_lowercase().replace(['.', '_'], "-")
}

/// A notice about packages that were not found.
fn absent(library: &Library, sources: &Path) -> Option<String> {
    let absent = &library.absent;
    let more = absent.len().saturating_sub(NAMED_MAX);
    let named = absent[..absent.len() - more].join(", ");
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!absent.is_empty()).then(|| {
        format!(
            "note: not in {}, and imported: {named}{more}; a package that imports what is absent does not compile",
            sources.display()
        )
    })
}

/// Paths and contents of the folder.
fn files(name: &str, package: &str, library: &Library) -> Vec<(String, String)> {
    let filled = |text: &str| {
        let text = text.replace("the/library", package).replace("{package}", package).replace("{name}", name);
        text.replace("\"wrapper/host\"", &format!("\"{name}/host\"")).replace("\"wrapper\"", &format!("\"{name}\""))
    };
    let mut files: Vec<(String, String)> =
        FILES.iter().map(|(path, text)| ((*path).to_owned(), filled(text))).collect();
    files.push(("go.mod".to_owned(), library.manifest(name)));
    with_sdk("go", files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_have_paths_and_names() {
        for (package, name, debian) in [
            ("go.etcd.io/etcd/raft", "raft-checked", "golang-go-etcd-raft-dev"),
            ("github.com/hashicorp/raft", "raft-checked", "golang-github-hashicorp-raft-dev"),
            ("github.com/hashicorp/golang-lru/v2", "golang-lru-checked", "golang-github-hashicorp-golang-lru-dev"),
            ("gopkg.in/yaml.v3", "yaml-v3-checked", "golang-gopkg-yaml-v3-dev"),
            ("golang.org/x/text/unicode", "unicode-checked", "golang-golang-x-text-dev"),
        ] {
            assert!(check_path(package).is_ok(), "{package}");
            assert_eq!((&*likely_name(package), &*likely_debian_package(package)), (name, debian));
        }
        for package in
            ["raft", "fmt", "net/http", "a.org//b", "a.org/../b", "/a.org/b", "a.org/b c", "a.org/b@v1.0.0", ""]
        {
            assert!(check_path(package).is_err_and(|failure| failure.help.is_some()), "{package}");
        }
    }
}
