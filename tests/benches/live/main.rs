//! The cost of checking for the nodes of a running cluster: unwatched, watched and steered in one run.
//!
//! | module | what it holds |
//! |---|---|
//! | `memory` | nodes in one thread, which exchange frames in memory |
//! | `node` | a node alone: events per second, and how long effects are held |
//! | `sockets` | a cluster over loopback with disks and clients |
//! | `bytes` | the length of checkpoints |
//! | `tables` | medians, shares, and rows of tables |
//!
//! `cargo bench -p host-tests --bench live [-- node | sockets | bytes]`
#![allow(clippy::print_stdout, reason = "the tables are what a bench is for")]

mod bytes;
/// The one of the tests of running clusters.
#[expect(dead_code, reason = "the tests read heads and bodies")]
#[path = "../../cli/live/http.rs"]
mod http;
mod memory;
mod node;
mod sockets;
mod tables;

use std::path::{Path, PathBuf};

/// Unwatched, watched and steered; the last also with effects that are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Off,
    Observe,
    Steer,
    Hold,
}

/// In memory nothing is held, since looking ahead takes another thread.
const MODES: [Mode; 3] = [Mode::Off, Mode::Observe, Mode::Steer];

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Observe => "observe",
            Self::Steer => "steer",
            Self::Hold => "steer, hold",
        }
    }
}

fn main() {
    let wanted = std::env::args().nth(1).filter(|argument| !argument.starts_with('-')).unwrap_or_default();
    let parts: [(&str, fn()); 3] = [("node", node::table), ("sockets", sockets::table), ("bytes", bytes::table)];
    for (_, table) in parts.iter().filter(|(name, _)| name.contains(&wanted)) {
        table();
        println!();
    }
}

/// The component of a bundled plugin, built before anything is measured.
fn component(plugin: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins").join(plugin);
    let built = host_build::build(&folder, &host_build::Options::default(), &mut |_| {});
    built.unwrap_or_else(|error| panic!("{error}")).wasm
}
