//! One specification over another: the settings of the upper one count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use host_model::contract::NodeId;
use host_model::trace::Expressed;

use crate::spec::links::LinkOption;
use crate::spec::placement::PlacementSpec;
use crate::spec::run::{ClusterSpec, ProcessSpec, RunSpec, SearchSpec};
use crate::spec::source::Source;

impl RunSpec {
    /// This over another one.
    #[must_use]
    pub fn over(self, below: Self) -> Self {
        Layer::over(self, below)
    }
}

/// A layer that can lie over another one of its kind.
trait Layer {
    /// This layer, with the settings of the lower one where this has none.
    fn over(self, below: Self) -> Self;
}

/// Field by field. All are named, so that none is forgotten.
macro_rules! layers {
    ($($spec:ident { $($field:ident),+ })+) => {$(
        impl Layer for $spec {
            fn over(self, below: Self) -> Self {
                let Self { $($field),+ } = self;
                Self { $($field: $field.over(below.$field)),+ }
            }
        }
    )+};
}

layers! {
    RunSpec { cluster, search, process }
    ClusterSpec { plugin, nodes, parameters, network, links, faults, outage_writes, placement, limits, prefix, any_plugin, expressed, specs, property, ignore }
    SearchSpec {
        algo, reduce, no_symmetry, deadlock, count_system_states, depth, local_events, states, walks, seed, weights, schedule, goal, avoid,
        fairness, timers, recover_by, safety_only, continues, max_violations
    }
    ProcessSpec { time, memory, workers, audit, no_minimize, require_complete, keep, source }
}

impl<T> Layer for Option<T> {
    fn over(self, below: Self) -> Self {
        self.or(below)
    }
}

impl Layer for bool {
    fn over(self, below: Self) -> Self {
        self || below
    }
}

impl Layer for PathBuf {
    fn over(self, below: Self) -> Self {
        if self.as_os_str().is_empty() { below } else { self }
    }
}

/// The loader of plugins decides about it.
impl Layer for Source {
    fn over(self, _: Self) -> Self {
        self
    }
}

impl<T> Layer for BTreeMap<String, T> {
    fn over(self, below: Self) -> Self {
        below.into_iter().chain(self).collect()
    }
}

impl Layer for Vec<(String, String)> {
    fn over(self, below: Self) -> Self {
        keyed(self, below, |(key, _)| key.clone())
    }
}

impl Layer for Vec<Expressed> {
    fn over(self, below: Self) -> Self {
        keyed(self, below, |one| (one.kind, one.name.clone()))
    }
}

/// A list of names is one setting.
impl Layer for Vec<String> {
    fn over(self, below: Self) -> Self {
        if self.is_empty() { below } else { self }
    }
}

/// So are paths.
impl Layer for Vec<PathBuf> {
    fn over(self, below: Self) -> Self {
        if self.is_empty() { below } else { self }
    }
}

impl Layer for Vec<LinkOption> {
    fn over(mut self, mut below: Self) -> Self {
        for link in &mut below {
            link.ways.retain(|way| !self.iter().any(|upper| upper.ways.contains(way)));
        }
        below.retain(|link| !link.ways.is_empty());
        below.append(&mut self);
        below
    }
}

impl Layer for PlacementSpec {
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

/// The lower entries whose keys the upper ones do not have, and then the upper ones.
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
    fn the_upper_layer_takes_precedence_where_it_has_a_value() {
        let below = spec(|spec| {
            spec.cluster.nodes = Some(3);
            spec.cluster.faults = [("resets".to_owned(), 1), ("breaks".to_owned(), 1)].into();
            spec.cluster.parameters = vec![pair("a", "1"), pair("b", "1")];
            spec.cluster.links = vec![links::link("0-1=ordered").expect("a link")];
            spec.cluster.placement.node = vec![(1, "x".into())];
            (spec.search.deadlock, spec.search.depth) = (true, Some(5));
            (spec.cluster.property, spec.cluster.ignore) = (vec!["p".to_owned()], vec!["q".to_owned()]);
        });
        let upper = spec(|spec| {
            (spec.cluster.nodes, spec.search.depth) = (Some(4), Some(6));
            spec.cluster.faults = [("breaks".to_owned(), 2)].into();
            spec.cluster.parameters = vec![pair("b", "2"), pair("c", "2")];
            spec.cluster.links = vec![links::link("1>0=unordered").expect("a link")];
            spec.cluster.placement.adversary = vec![(1, "y".into())];
            spec.cluster.property = vec!["r".to_owned()];
        });
        let all = upper.over(below.clone());
        assert_eq!(all.cluster.nodes, Some(4));
        assert_eq!(all.cluster.faults, [("resets".to_owned(), 1), ("breaks".to_owned(), 2)].into());
        assert_eq!(all.cluster.parameters, [pair("a", "1"), pair("b", "2"), pair("c", "2")]);
        assert_eq!((all.search.deadlock, all.search.depth), (true, Some(6)));
        assert_eq!((&*all.cluster.property, &*all.cluster.ignore), (&["r".to_owned()][..], &["q".to_owned()][..]));
        let ways: Vec<_> = all.cluster.links.iter().map(|link| link.ways.clone()).collect();
        assert_eq!(ways, [vec![(0, 1)], vec![(1, 0)]]);
        assert!(all.cluster.placement.node.is_empty() && all.cluster.placement.adversary.len() == 1);
        assert_eq!(RunSpec::default().over(below.clone()), below);
    }
}
