//! One specification over another: what the upper one says counts.

use std::collections::BTreeSet;
use std::path::PathBuf;

use host_model::contract::NodeId;

use crate::spec::placement::PlacementSpec;
use crate::spec::run::{ClusterSpec, FaultSpec, ProcessSpec, RunSpec, SearchSpec};

impl RunSpec {
    /// This over another one. All fields are named, so that none is forgotten.
    #[must_use]
    pub fn over(self, below: Self) -> Self {
        let Self { cluster, search, process } = self;
        Self {
            cluster: cluster.over(below.cluster),
            search: search.over(below.search),
            process: process.over(below.process),
        }
    }
}

impl ClusterSpec {
    fn over(self, below: Self) -> Self {
        let Self { plugin, nodes, parameters, network, mut links, faults, placement, limits, prefix, any_plugin } =
            self;
        let mut below_links = below.links;
        for link in &mut below_links {
            link.ways.retain(|way| !links.iter().any(|upper| upper.ways.contains(way)));
        }
        below_links.retain(|link| !link.ways.is_empty());
        below_links.append(&mut links);
        Self {
            plugin: if plugin.as_os_str().is_empty() { below.plugin } else { plugin },
            nodes: nodes.or(below.nodes),
            parameters: keyed(parameters, below.parameters, |(key, _)| key.clone()),
            network: network.or(below.network),
            links: below_links,
            faults: faults.over(below.faults),
            placement: placement.over(below.placement),
            limits: below.limits.into_iter().chain(limits).collect(),
            prefix: prefix.or(below.prefix),
            any_plugin: any_plugin || below.any_plugin,
        }
    }
}

impl FaultSpec {
    fn over(self, below: Self) -> Self {
        let Self { resets, duplicates, breaks, refusals, crashes, partitions } = self;
        Self {
            resets: resets.or(below.resets),
            duplicates: duplicates.or(below.duplicates),
            breaks: breaks.or(below.breaks),
            refusals: refusals.or(below.refusals),
            crashes: crashes.or(below.crashes),
            partitions: partitions.or(below.partitions),
        }
    }
}

impl PlacementSpec {
    fn over(self, below: Self) -> Self {
        let Self { node, adversary, parameters, twins } = self;
        // A node has one component, honest or not.
        let placed: BTreeSet<NodeId> = node.iter().chain(&adversary).map(|(id, _)| *id).collect();
        let over = |upper: Vec<(NodeId, PathBuf)>, below: Vec<(NodeId, PathBuf)>| {
            below.into_iter().filter(|(id, _)| !placed.contains(id)).chain(upper).collect()
        };
        Self {
            node: over(node, below.node),
            adversary: over(adversary, below.adversary),
            parameters: keyed(parameters, below.parameters, |(node, key, _)| (*node, key.clone())),
            twins: if twins.is_empty() { below.twins } else { twins },
        }
    }
}

impl SearchSpec {
    fn over(self, below: Self) -> Self {
        let Self {
            algo,
            reduce,
            no_symmetry,
            deadlock,
            count_system_states,
            depth,
            local_events,
            states,
            walks,
            seed,
            weights,
            go_on,
            max_violations,
        } = self;
        Self {
            algo: algo.or(below.algo),
            reduce: reduce || below.reduce,
            no_symmetry: no_symmetry || below.no_symmetry,
            deadlock: deadlock || below.deadlock,
            count_system_states: count_system_states || below.count_system_states,
            depth: depth.or(below.depth),
            local_events: local_events.or(below.local_events),
            states: states.or(below.states),
            walks: walks.or(below.walks),
            seed: seed.or(below.seed),
            weights: weights.or(below.weights),
            go_on: go_on || below.go_on,
            max_violations: max_violations.or(below.max_violations),
        }
    }
}

impl ProcessSpec {
    fn over(self, below: Self) -> Self {
        let Self { time, memory, workers, audit, no_minimize, require_complete, keep, source } = self;
        Self {
            time: time.or(below.time),
            memory: memory.or(below.memory),
            workers: workers.or(below.workers),
            audit: audit.or(below.audit),
            no_minimize: no_minimize || below.no_minimize,
            require_complete: require_complete || below.require_complete,
            keep: keep.or(below.keep),
            source,
        }
    }
}

/// What stands below and has no key of the upper ones, and then those.
fn keyed<T, K: PartialEq>(upper: Vec<T>, below: Vec<T>, key: impl Fn(&T) -> K) -> Vec<T> {
    let kept = below.into_iter().filter(|entry| !upper.iter().any(|other| key(other) == key(entry)));
    let mut all: Vec<T> = kept.collect();
    all.extend(upper);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::links;

    fn spec(change: impl Fn(&mut RunSpec)) -> RunSpec {
        let mut spec = RunSpec::default();
        change(&mut spec);
        spec
    }

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn the_upper_layer_counts_and_the_lower_one_stays_where_nothing_is_said() {
        let below = spec(|spec| {
            (spec.cluster.nodes, spec.cluster.faults.resets) = (Some(3), Some(1));
            spec.cluster.parameters = vec![pair("a", "1"), pair("b", "1")];
            spec.cluster.links = vec![links::link("0-1=ordered").expect("a link")];
            spec.cluster.placement.node = vec![(1, "x".into())];
            (spec.search.deadlock, spec.search.depth) = (true, Some(5));
        });
        let upper = spec(|spec| {
            (spec.cluster.nodes, spec.search.depth) = (Some(4), Some(6));
            spec.cluster.parameters = vec![pair("b", "2"), pair("c", "2")];
            spec.cluster.links = vec![links::link("1>0=unordered").expect("a link")];
            spec.cluster.placement.adversary = vec![(1, "y".into())];
        });
        let all = upper.over(below.clone());
        assert_eq!((all.cluster.nodes, all.cluster.faults.resets), (Some(4), Some(1)));
        assert_eq!(all.cluster.parameters, [pair("a", "1"), pair("b", "2"), pair("c", "2")]);
        assert_eq!((all.search.deadlock, all.search.depth), (true, Some(6)));
        let ways: Vec<_> = all.cluster.links.iter().map(|link| link.ways.clone()).collect();
        assert_eq!(ways, [vec![(0, 1)], vec![(1, 0)]]);
        assert!(all.cluster.placement.node.is_empty() && all.cluster.placement.adversary.len() == 1);
        assert_eq!(RunSpec::default().over(below.clone()), below);
    }
}
