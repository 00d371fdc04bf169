//! The list of jobs.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the file with a plan, and of the folders next to it.
pub const FORMAT: u32 = 1;

/// All jobs of a swarm: each target with each seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// [`FORMAT`].
    pub format: u32,
    /// The version of the program that runs the jobs, as it prints it.
    pub host: String,
    /// The components and scenarios to search.
    pub targets: Vec<Target>,
    /// The first seed.
    pub first_seed: u64,
    /// The number of seeds for each target.
    pub seeds: u64,
}

/// A component or a scenario, with options of `host run`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// For people.
    pub name: String,
    /// The component, relative to the folder of the swarm; or the scenario, as the user named it.
    pub path: String,
    /// A component, not a scenario.
    pub is_component: bool,
    /// The digest of the component.
    pub digest: String,
    /// The cluster, as results and traces have it.
    pub scenario: Value,
    /// Options of `host run`, without `--seed` and those of the output.
    pub options: Vec<String>,
}

/// A job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job<'p> {
    /// Its position in the list, from 0.
    pub number: usize,
    /// The component or scenario that it searches.
    pub target: &'p Target,
    /// The seed of its walks.
    pub seed: u64,
}

impl Plan {
    /// The number of jobs.
    pub fn len(&self) -> usize {
        self.targets.len() * self.seeds as usize
    }

    /// No jobs at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The job at a position: all targets with the first seed, then all with the second one.
    pub fn job(&self, number: usize) -> Job<'_> {
        let target = &self.targets[number % self.targets.len()];
        Job { number, target, seed: self.first_seed + (number / self.targets.len()) as u64 }
    }
}

impl Job<'_> {
    /// Its name for people.
    pub fn name(&self) -> String {
        format!("{}, seed {}", self.target.name, self.seed)
    }
}
