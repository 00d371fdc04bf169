//! The mistakes and the ways to search.

use std::path::{Path, PathBuf};

/// A mistake on purpose, or one of a library.
#[derive(Debug)]
pub struct Mistake {
    /// In a table, and as `--rows`.
    pub name: &'static str,
    /// The folder of the plugin or wrapper in the repository.
    pub folder: &'static str,
    /// The options of `host run` that are enough to reach it.
    pub options: &'static str,
    /// The events of a shortest execution, where an exact search has the answer: no run may report fewer.
    pub shortest: Option<u64>,
}

impl Mistake {
    /// The folder of the plugin or wrapper.
    pub fn path(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(self.folder)
    }
}

/// All mistakes. W1, W2 and W4 of SandTable are the first ones of their names.
pub const MISTAKES: [Mistake; 22] = [
    Mistake {
        name: "previous-zero",
        folder: "plugins/raft-compaction",
        options: "--set bug=previous-zero --set terms=1 --set commands=3 --set heartbeats=3",
        shortest: None,
    },
    Mistake {
        name: "next-equals-snapshot",
        folder: "plugins/raft-compaction",
        options: "--set bug=next-equals-snapshot",
        shortest: None,
    },
    Mistake {
        name: "snapshot-term",
        folder: "plugins/raft-compaction",
        options: "--set bug=snapshot-term",
        shortest: None,
    },
    Mistake {
        name: "snapshot-term, two leaders",
        folder: "plugins/raft-compaction",
        options: "--set bug=snapshot-term --property election-safety",
        shortest: None,
    },
    Mistake {
        name: "snapshot-drops-log",
        folder: "plugins/raft-compaction",
        options: "--set bug=snapshot-drops-log --set commands=3 --set heartbeats=2",
        shortest: None,
    },
    Mistake {
        name: "commit-older-term, both commits",
        folder: "plugins/raft-compaction",
        options: "--set bug=commit-older-term --set terms=4 --set commands=1",
        shortest: None,
    },
    Mistake {
        name: "commit-older-term",
        folder: "plugins/raft",
        options: "--set bug=commit-older-term",
        shortest: None,
    },
    Mistake {
        name: "uncommitted",
        folder: "plugins/one-acceptor",
        options: "--set bug=uncommitted --set rival=1",
        shortest: Some(18),
    },
    Mistake { name: "different entries", folder: "examples/raftbare", options: "", shortest: None },
    Mistake {
        name: "different entries, three time-outs",
        folder: "examples/raftbare",
        options: "--set timeouts=3",
        shortest: None,
    },
    Mistake {
        name: "last-response, five nodes",
        folder: "plugins/multi-paxos",
        options: "--nodes 5 --set bug=last-response",
        shortest: None,
    },
    Mistake {
        name: "no-log-check, five nodes",
        folder: "plugins/raft",
        options: "--nodes 5 --set bug=no-log-check",
        shortest: None,
    },
    Mistake {
        name: "previous-zero, five nodes",
        folder: "plugins/raft-compaction",
        options: "--nodes 5 --set bug=previous-zero --set terms=1 --set commands=3 --set heartbeats=3",
        shortest: None,
    },
    Mistake {
        name: "next-equals-snapshot, five nodes",
        folder: "plugins/raft-compaction",
        options: "--nodes 5 --set bug=next-equals-snapshot",
        shortest: None,
    },
    Mistake {
        name: "snapshot-drops-log, five nodes",
        folder: "plugins/raft-compaction",
        options: "--nodes 5 --set bug=snapshot-drops-log --set commands=3 --set heartbeats=2",
        shortest: None,
    },
    Mistake {
        name: "previous-zero, more terms and commands",
        folder: "plugins/raft-compaction",
        options: "--set bug=previous-zero --set terms=3 --set commands=4 --set heartbeats=4",
        shortest: None,
    },
    Mistake {
        name: "snapshot-term, more terms and commands",
        folder: "plugins/raft-compaction",
        options: "--set bug=snapshot-term --set terms=3 --set commands=4 --set heartbeats=4",
        shortest: None,
    },
    Mistake {
        name: "a removal that is not applied",
        folder: "examples/etcd-raft",
        options: "--set late=true --set change=v2 --set timeouts=2 --set removals=2 --set proposals=2 --property election-safety",
        shortest: None,
    },
    Mistake {
        name: "commit index falls",
        folder: "examples/pysyncobj",
        options: "--set timeouts=2 --set ticks=2 --property commit-rises",
        shortest: None,
    },
    Mistake {
        name: "match index falls",
        folder: "examples/pysyncobj",
        options: "--set ticks=6 --breaks 1 --property match-rises",
        shortest: None,
    },
    Mistake {
        name: "entries of older terms",
        folder: "examples/pysyncobj",
        options: "--set timeouts=2 --set ticks=2 --property commits-own-term",
        shortest: None,
    },
    Mistake {
        name: "late answers, five nodes",
        folder: "examples/pysyncobj",
        options: "--nodes 5 --set timeouts=2 --set ticks=1 --set commands=0 --property matched-is-stored",
        shortest: None,
    },
];

/// A way to search.
#[derive(Debug)]
pub struct Way {
    /// In a table, and as `--columns`.
    pub name: &'static str,
    /// The options of `host run`.
    pub options: &'static str,
    /// Whether it takes a seed; if not, one run tells all.
    pub is_seeded: bool,
}

/// All ways.
pub const WAYS: [Way; 13] = [
    Way { name: "uniform", options: "--algo walk --schedule uniform --walks 1000000000", is_seeded: true },
    Way { name: "pct:3", options: "--algo walk --schedule pct:3 --walks 1000000000", is_seeded: true },
    Way { name: "pct:5", options: "--algo walk --schedule pct:5 --walks 1000000000", is_seeded: true },
    Way { name: "pos", options: "--algo walk --schedule pos --walks 1000000000", is_seeded: true },
    Way { name: "fresh", options: "--algo walk --schedule fresh --walks 1000000000", is_seeded: true },
    Way { name: "swarm", options: "--algo walk --schedule swarm --walks 1000000000", is_seeded: true },
    Way { name: "phases", options: "--algo walk --schedule phases --walks 1000000000", is_seeded: true },
    Way { name: "mix", options: "--algo walk --schedule mix --walks 1000000000", is_seeded: true },
    Way { name: "guided", options: "--algo guided --walks 1000000000", is_seeded: true },
    Way { name: "auto", options: "--algo auto", is_seeded: true },
    Way { name: "bdfs --reduce", options: "--algo bdfs --reduce", is_seeded: false },
    Way { name: "unfold", options: "--algo unfold", is_seeded: false },
    Way { name: "prefix", options: "--algo prefix", is_seeded: true },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_folders_are_there() {
        let names: BTreeSet<&str> =
            MISTAKES.iter().map(|mistake| mistake.name).chain(WAYS.iter().map(|way| way.name)).collect();
        assert_eq!(names.len(), MISTAKES.len() + WAYS.len());
        assert!(MISTAKES.iter().all(|mistake| mistake.path().is_dir()));
    }
}
