//! The identity of a search, as facts that can be compared: two searches with equal facts explore the same.
//!
//! The facts are the results of command line, scenario, prefix and plugin, not their words.

use std::collections::BTreeMap;

use host_inspect::words;
use host_model::contract::{Outside, Property};
use host_model::lts::Lts;
use host_model::scenario::{OutageWrites, Scenario, faults};
use host_model::trace::start::Start;
use host_model::trace::{Expressed, PluginRef};
use host_search::kernel::SearchBounds;
use serde::{Deserialize, Serialize};

use crate::cluster::Cluster;
use crate::cluster::placement;
use crate::spec::limits;

/// The fact that follows from the others.
const STARTS: &str = "start states";

/// Maximum letters of a fact.
const LETTERS_MAX: usize = 100;

/// The facts of a search, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity(BTreeMap<String, String>);

impl Identity {
    /// The facts of a search that is about to begin: the local transition system has only the start states.
    pub fn new(algo: &str, bounds: SearchBounds, cluster: &Cluster, lts: &Lts<'_>, starts: &[Start]) -> Self {
        let mut identity = Self::default();
        identity.add("the strategy", &algo);
        identity.add("the plugin", &cluster.plugin.reference.digest.as_deref().unwrap_or_default());
        identity.add_cluster(lts.scenario());
        for (name, value) in cluster.plugin.effective_parameters(lts.scenario()) {
            identity.add(&format!("the parameter {name}"), &value);
        }
        for placement in cluster.placements() {
            identity.add(&format!("on node {}", placement.node), &placement::describe(placement));
            let digest = placement.plugin.as_ref().and_then(|plugin| plugin.digest.clone());
            identity.add(&format!("the plugin of node {}", placement.node), &digest.unwrap_or_default());
        }
        for (name, value) in limits::changed(&cluster.plugin.limits) {
            identity.add(&format!("the limit {name}"), &value);
        }
        for Expressed { name, kind, expression } in &cluster.expressed {
            identity.add(&format!("the property {name}"), &format_args!("{} {expression}", words::name(kind)));
        }
        for spec in &cluster.specs {
            let PluginRef { name: file, version: _, digest } = &spec.reference;
            for Property { name, .. } in spec.properties() {
                let digest = digest.as_deref().unwrap_or_default();
                identity.add(&format!("the property {name}"), &format_args!("of the spec {file} {digest}"));
            }
        }
        if cluster.judged.is_some() {
            let names: Vec<&str> = lts.properties().iter().map(|property| property.name.as_str()).collect();
            identity.add("the judged properties", &names.join(", "));
        }
        identity.add_bounds(bounds);
        identity.add(STARTS, &start_digest(lts, starts));
        identity
    }

    fn add(&mut self, name: &str, value: &dyn std::fmt::Display) {
        self.0.insert(name.to_owned(), value.to_string());
    }

    /// All fields are named, so that none is forgotten.
    fn add_cluster(&mut self, scenario: &Scenario) {
        let Scenario { nodes, parameters: _, network, links, faults, outage_writes, absent } = scenario;
        self.add("nodes", nodes);
        self.add("the network", network);
        if !links.is_empty() {
            self.add("links", &words::links(links).join(", "));
        }
        for node in absent {
            self.add(&format!("absent node {node}"), &"absent");
        }
        for (fault, count) in faults.iter() {
            self.add(fault.name(), &faults::budget::words(count));
        }
        if *outage_writes != OutageWrites::default() {
            self.add("the writes that an outage loses", &outage_writes.name());
        }
    }

    fn add_bounds(&mut self, bounds: SearchBounds) {
        let SearchBounds {
            depth,
            local_events,
            states,
            seed,
            walks,
            weights,
            schedule,
            // Only guided walks have them, which keep no checkpoint.
            goals: _,
            avoided: _,
            violations,
            // No checkpoint is kept where several violations are collected.
            variants: _,
            reduce,
            count_system_states,
            deadlock,
            no_symmetry,
            // No checkpoint is kept where they are decided.
            promises: _,
        } = bounds;
        let numbers = [
            ("--depth", depth.map(u64::from)),
            ("--local-events", local_events.map(u64::from)),
            ("--states", states),
            ("--seed", seed),
            ("--walks", walks),
            ("--max-violations", violations),
        ];
        for (name, number) in numbers.into_iter().filter_map(|(name, number)| Some((name, number?))) {
            self.add(name, &number);
        }
        if let Some(weights) = weights {
            self.add("--weights", &weights);
        }
        if let Some(schedule) = schedule {
            self.add("--schedule", &schedule);
        }
        let flags = [
            ("--reduce", reduce),
            ("--count-system-states", count_system_states),
            ("--deadlock", deadlock),
            ("--no-symmetry", no_symmetry),
        ];
        for (name, _) in flags.into_iter().filter(|(_, is_set)| *is_set) {
            self.add(name, &"on");
        }
    }

    /// The first difference, such as `resets 1, now 2`; none if the identities are equal.
    pub fn difference(&self, now: &Self) -> Option<String> {
        // Start states follow from everything else, so another fact is the better reason.
        let names = self.0.keys().chain(now.0.keys()).filter(|name| *name != STARTS);
        let mut names = names.map(String::as_str).chain([STARTS]);
        let name = names.find(|name| self.0.get(*name) != now.0.get(*name))?;
        let value = |identity: &Self| identity.0.get(name).map(|value| words::clipped(value, LETTERS_MAX));
        let now = value(now).unwrap_or_else(|| "not set".to_owned());
        Some(match value(self) {
            Some(there) => format!("{name} {there}, now {now}"),
            None => format!("{name} not set, now {now}"),
        })
    }
}

/// A digest of the start states of the search: their content, and which of them begin together.
fn start_digest(lts: &Lts<'_>, starts: &[Start]) -> String {
    const DIGITS: usize = 16;
    let mut hasher = blake3::Hasher::new();
    hasher.update(&lts.contents().to_le_bytes());
    for start in starts {
        let locals: Vec<u32> = start.locals.iter().map(|id| id.0).collect();
        let in_flight: Vec<u32> = start.in_flight.iter().map(|id| id.0).collect();
        for list in [locals, in_flight, vec![start.path.len() as u32]] {
            hasher.update(&(list.len() as u64).to_le_bytes());
            for id in list {
                hasher.update(&id.to_le_bytes());
            }
        }
    }
    hasher.finalize().to_hex()[..DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(facts: &[(&str, &str)]) -> Identity {
        Identity(facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn the_first_difference_is_named() {
        let made = identity(&[("resets", "1"), ("start states", "ab")]);
        let cases: [(&[(&str, &str)], _); 5] = [
            (&[("resets", "1"), ("start states", "ab")], None),
            (&[("resets", "2"), ("start states", "cd")], Some("resets 1, now 2")),
            (&[("start states", "ab")], Some("resets 1, now not set")),
            (&[("--depth", "3"), ("resets", "1"), ("start states", "cd")], Some("--depth not set, now 3")),
            (&[("resets", "1"), ("start states", "cd")], Some("start states ab, now cd")),
        ];
        for (now, expected) in cases {
            assert_eq!(made.difference(&identity(now)).as_deref(), expected, "{now:?}");
        }
    }
}
