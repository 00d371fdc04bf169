//! Debian's packages, with apt-get: the only installation outside the cache.

use std::path::Path;

use crate::BuildError;
use crate::tool::{Output, finish, on_path, tool};

/// Installs packages; `what` names them for people. The inner error is the reason for a failure, a phrase.
pub(crate) fn install(
    packages: &[&str],
    what: &str,
    say: &mut dyn FnMut(&str),
) -> Result<Result<(), String>, BuildError> {
    if on_path(&["apt-get"]).is_none() {
        return Ok(Err("there is no apt-get to install it".to_owned()));
    }
    let Some(become_root) = root()? else {
        return Ok(Err("installing it needs root (or sudo without a password)".to_owned()));
    };
    let apt = |arguments: &[&str]| -> Result<Output, BuildError> {
        let mut words = become_root.iter().copied().chain(["apt-get"]);
        let mut command = tool(words.next().expect("the words end with apt-get"), Path::new("/"));
        command.args(words).args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        finish(command)
    };
    let mut wanted = vec!["install", "--yes", "--no-install-recommends"];
    wanted.extend(packages);
    say(&format!("installing {what}: apt-get install {}", packages.join(" ")));
    let mut output = apt(&wanted)?;
    if !output.success {
        // The package lists may be old or empty.
        say("reading the package lists again: apt-get update");
        apt(&["update"])?;
        output = apt(&wanted)?;
    }
    Ok(if output.success { Ok(()) } else { Err(format!("apt-get cannot install it ({})", output.last_line())) })
}

/// The words before a command that make it run as root: none for root itself; `None` if that is impossible.
fn root() -> Result<Option<Vec<&'static str>>, BuildError> {
    let mut id = tool("id", Path::new("/"));
    id.arg("-u");
    if finish(id)?.stdout.trim() == "0" {
        return Ok(Some(Vec::new()));
    }
    if on_path(&["sudo"]).is_none() {
        return Ok(None);
    }
    let mut sudo = tool("sudo", Path::new("/"));
    sudo.args(["-n", "true"]);
    Ok(finish(sudo)?.success.then(|| vec!["sudo", "-n"]))
}
