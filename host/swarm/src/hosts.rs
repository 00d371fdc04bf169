//! The file with the other machines.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::error::SwarmError;

/// Maximum number of processes on a machine.
const PROCESSES_MAX: usize = 4_096;

/// The machines of a swarm.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// The program that reaches a machine, with its options; the address and one command for a shell follow.
    #[serde(default = "ssh")]
    pub ssh: Vec<String>,
    /// The machines.
    pub host: Vec<Host>,
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Its name for `ssh`.
    pub address: String,
    /// The number of processes there.
    #[serde(default = "one")]
    pub processes: usize,
    /// The program there.
    #[serde(default = "program")]
    pub program: String,
}

fn ssh() -> Vec<String> {
    ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"].map(str::to_owned).to_vec()
}

fn one() -> usize {
    1
}

fn program() -> String {
    "host".to_owned()
}

impl Hosts {
    /// The machines in a file. Relative paths begin in the directory.
    ///
    /// # Errors
    ///
    /// It cannot be read, or names no machine.
    pub fn read(path: &Path, directory: &Path) -> Result<Self, SwarmError> {
        let help = "write a table for each machine: [[host]], address = \"user@machine\", processes = 8";
        let wrong = |what: String| SwarmError::configuration(format_args!("{}: {what}", path.display()), help);
        let text = fs::read_to_string(directory.join(path)).map_err(|error| wrong(error.to_string()))?;
        let hosts: Self = toml::from_str(&text).map_err(|error| wrong(error.to_string().trim_end().to_owned()))?;
        if hosts.ssh.is_empty() {
            return Err(wrong("`ssh` names no program".to_owned()));
        }
        for host in &hosts.host {
            // A word with a hyphen first would be an option of ssh, not an address.
            if host.address.is_empty() || host.address.starts_with('-') {
                return Err(wrong(format!("\"{}\" is no address", host.address)));
            }
            if !(1..=PROCESSES_MAX).contains(&host.processes) {
                return Err(wrong(format!("{}: `processes` is between 1 and {PROCESSES_MAX}", host.address)));
            }
        }
        let names: std::collections::BTreeSet<&str> = hosts.host.iter().map(|host| host.address.as_str()).collect();
        if names.len() != hosts.host.len() || names.is_empty() {
            return Err(wrong("it names no machine, or one twice".to_owned()));
        }
        Ok(hosts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_have_an_address_and_processes() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let read = |text: &str| {
            fs::write(place.path().join("hosts.toml"), text).expect("writable");
            Hosts::read(Path::new("hosts.toml"), place.path()).map_err(|error| error.to_string())
        };
        let hosts =
            read("[[host]]\naddress = \"a\"\n[[host]]\naddress = \"b\"\nprocesses = 8\n").expect("two machines");
        assert_eq!((hosts.host[0].processes, hosts.host[1].processes), (1, 8));
        assert_eq!((hosts.host[0].program.as_str(), hosts.ssh[0].as_str()), ("host", "ssh"));
        for (text, words) in [
            ("", "missing field `host`"),
            ("host = []", "it names no machine, or one twice"),
            ("[[host]]\naddress = \"a\"\n[[host]]\naddress = \"a\"\n", "it names no machine, or one twice"),
            ("[[host]]\naddress = \"-oProxyCommand=x\"\n", "is no address"),
            ("[[host]]\naddress = \"a\"\nprocesses = 0\n", "a: `processes` is between 1 and 4096"),
            ("[[host]]\naddress = \"a\"\ncores = 2\n", "unknown field `cores`"),
            ("ssh = []\n[[host]]\naddress = \"a\"\n", "`ssh` names no program"),
        ] {
            let refused = read(text).expect_err(text);
            assert!(refused.starts_with("hosts.toml: ") && refused.contains(words), "{refused}");
        }
        assert!(Hosts::read(Path::new("other.toml"), place.path()).is_err());
    }
}
