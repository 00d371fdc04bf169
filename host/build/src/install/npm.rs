//! Programs of npm packages: the plugin's own, or one version in the host's cache.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::BuildError;
use crate::install::{cached, upward};
use crate::job::{Job, Say};
use crate::tool::{Tool, finish, on_path, tool};

/// A program of an npm package.
pub(crate) struct Package {
    /// The package.
    pub name: &'static str,
    /// The version that the host installs. Another version in the plugin is used as it is.
    pub version: &'static str,
    /// The program.
    pub program: &'static str,
}

/// Finds or installs a program.
pub(crate) fn find(job: &Job<'_>, package: &Package, say: Say<'_>) -> Result<Tool, BuildError> {
    let Package { name, version, program } = package;
    let missing = |reason: String| BuildError::NoTool {
        what: format!("`{program}` (npm package {name})"),
        reason,
        remedy: format!("npm install {name}@{version}"),
    };
    let Some(node) = on_path(&["node", "nodejs"]) else {
        return Err(BuildError::NoTool {
            what: "Node.js".to_owned(),
            reason: "there is no `node` on the path".to_owned(),
            remedy: "apt-get install nodejs npm".to_owned(),
        });
    };
    let binary = Path::new("node_modules/.bin").join(program);
    // Scripts are started by the interpreter's name, which their first line would look up on the path. Some programs are native.
    let run = |file: &Path, found: &str| match is_native(file) {
        true => Tool::program(file, found),
        false => Tool::program(&node, found).with_words(&[&file.display().to_string()]),
    };
    if let Some(own) = upward(&job.source.folder, &binary) {
        return Ok(run(&real(&own), &format!("{program} of the plugin's node_modules")));
    }
    let place = cached(&format!("{name}-{version}"), job.options, |folder| {
        if on_path(&["npm"]).is_none() {
            return Ok(Err("there is no npm to install it".to_owned()));
        }
        say(&format!("installing {name} {version} (once, into the cache): npm install {name}@{version}"));
        let mut npm = tool("npm", folder);
        npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", "."]);
        npm.arg(format!("{name}@{version}"));
        let output = finish(npm)?;
        Ok(if output.success { Ok(()) } else { Err(format!("npm cannot install it ({})", output.last_line())) })
    })?;
    let place = place.map_err(missing)?;
    Ok(run(&real(&place.join(binary)), &format!("{name} {version} from npm")))
}

/// Links in `.bin` lead to scripts that look for files next to them.
fn real(link: &Path) -> PathBuf {
    link.canonicalize().unwrap_or_else(|_| link.to_owned())
}

/// Whether a file is a program for this machine.
fn is_native(file: &Path) -> bool {
    let mut head = [0; 4];
    let read = std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head == *b"\x7fELF"
}
