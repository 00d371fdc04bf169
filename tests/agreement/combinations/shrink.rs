//! Shrinks a failing case: rules, messages and options are removed as long as a claim is still false.

use host_model::scenario::Network;
use host_model::toys::{Toy, ToyOutcome};
use host_search::kernel::SearchBounds;

use crate::combinations::case::{Case, Stop};
use crate::combinations::claims;
use crate::combinations::run::run_all;

/// The maximum number of runs to shrink a case.
const TRIALS_MAX: usize = 400;

/// The false claim about a case, with the reason. None if no claim is false, or the case cannot be judged.
pub fn wrong(case: &Case) -> Option<(String, String)> {
    let truth = case.truth()?;
    match run_all(case) {
        Ok(runs) => claims::check(case, &truth, &runs).err(),
        Err(error) => Some(("the search runs".to_owned(), error)),
    }
}

/// The smallest case found for which the same claim is false.
pub fn shrink(case: &Case, claim: &str) -> Case {
    let mut best = case.clone();
    let mut trials = 0;
    loop {
        let mut is_smaller = false;
        let mut at = 0;
        // The number of ways to be smaller changes with the case.
        while let Some(smaller) = nth_smaller(&best, at) {
            trials += 1;
            if trials > TRIALS_MAX {
                return best;
            }
            if wrong(&smaller).is_some_and(|(other, _)| other == claim) {
                best = smaller;
                is_smaller = true;
            } else {
                at += 1;
            }
        }
        if !is_smaller {
            return best;
        }
    }
}

/// One of the slightly smaller cases; none after the last one.
fn nth_smaller(case: &Case, at: usize) -> Option<Case> {
    let mut found = with_fewer_options(case);
    if at < found.len() {
        return Some(found.swap_remove(at));
    }
    let toys = smaller_toys(&case.system.toy);
    let mut smaller = case.clone();
    smaller.system.toy = toys.into_iter().nth(at - found.len())?;
    Some(smaller)
}

fn with_fewer_options(case: &Case) -> Vec<Case> {
    let mut found = Vec::new();
    let mut try_with = |is_set: bool, change: &dyn Fn(&mut Case)| {
        if is_set {
            let mut other = case.clone();
            change(&mut other);
            found.push(other);
        }
    };
    let bounds = case.bounds;
    try_with(case.stop != Stop::Never, &|case| case.stop = Stop::Never);
    try_with(case.prefix.is_some(), &|case| case.prefix = None);
    try_with(case.is_exported, &|case| case.is_exported = false);
    try_with(case.workers > 1, &|case| case.workers = 1);
    try_with(!case.unjudged.is_empty(), &|case| case.unjudged.clear());
    try_with(case.collects, &|case| case.collects = false);
    try_with(bounds.depth.is_some(), &|case| case.bounds = SearchBounds { depth: None, ..case.bounds });
    try_with(bounds.local_events.is_some(), &|case| case.bounds = SearchBounds { local_events: None, ..case.bounds });
    try_with(bounds.states.is_some(), &|case| case.bounds = SearchBounds { states: None, ..case.bounds });
    try_with(bounds.violations.is_some(), &|case| case.bounds = SearchBounds { violations: None, ..case.bounds });
    try_with(bounds.variants.is_some(), &|case| case.bounds = SearchBounds { variants: None, ..case.bounds });
    try_with(bounds.reduce, &|case| case.bounds = SearchBounds { reduce: false, ..case.bounds });
    try_with(bounds.no_symmetry, &|case| case.bounds = SearchBounds { no_symmetry: false, ..case.bounds });
    try_with(bounds.promises.is_some(), &|case| case.bounds = SearchBounds { promises: None, ..case.bounds });
    try_with(bounds.deadlock, &|case| case.bounds = SearchBounds { deadlock: false, ..case.bounds });
    try_with(bounds.count_system_states, &|case| {
        case.bounds = SearchBounds { count_system_states: false, ..case.bounds }
    });
    try_with(!case.system.links.is_empty(), &|case| case.system.links = Vec::new());
    try_with(case.system.network != Network::Unordered, &|case| case.system.network = Network::Unordered);
    for (fault, budget) in case.system.faults.iter() {
        try_with(budget > 0, &|case| *case.system.faults.of_mut(fault) = budget.min(2) - 1);
    }
    for index in 0..case.prefix.as_ref().map_or(0, |prefix| prefix.steps.len()) {
        try_with(true, &|case| _ = case.prefix.as_mut().expect("it has one").steps.remove(index));
    }
    found
}

fn smaller_toys(toy: &Toy) -> Vec<Toy> {
    let mut found = Vec::new();
    let mut add = |change: &dyn Fn(&mut Toy)| {
        let mut other = toy.clone();
        change(&mut other);
        found.push(other);
    };
    // Everything of a kind first.
    for clear in [
        (|toy| toy.properties.clear()) as fn(&mut Toy),
        |toy| toy.forbidden.clear(),
        |toy| toy.starts.clear(),
        |toy| toy.durable.clear(),
        |toy| toy.restarts.clear(),
        |toy| (toy.roles.clear(), toy.quorums.clear()).1,
        |toy| toy.refused.clear(),
        |toy| toy.is_careful = false,
        |toy| toy.is_stepwise = false,
        |toy| toy.done.clear(),
        |toy| toy.interchangeable.clear(),
        |toy| toy.initial.clear(),
    ] {
        let mut other = toy.clone();
        clear(&mut other);
        if format!("{other:?}") != format!("{toy:?}") {
            add(&|toy| clear(toy));
        }
    }
    // Then half of the rules, a quarter, an eighth, and one by one.
    let keys: Vec<_> = toy.rules.keys().copied().collect();
    for parts in [2, 4, 8].into_iter().filter(|parts| keys.len() > 2 * parts) {
        for part in keys.chunks(keys.len().div_ceil(parts)) {
            add(&|toy| toy.rules.retain(|key, _| !part.contains(key)));
        }
    }
    for key in toy.rules.keys() {
        add(&|toy| _ = toy.rules.remove(key));
    }
    for index in 0..toy.initial.len() {
        add(&|toy| _ = toy.initial.remove(index));
    }
    for index in 0..toy.properties.len() {
        add(&|toy| _ = toy.properties.remove(index));
    }
    for index in 0..toy.forbidden.len() {
        add(&|toy| _ = toy.forbidden.remove(index));
    }
    for key in toy.starts.keys() {
        add(&|toy| _ = toy.starts.remove(key));
    }
    for key in toy.durable.keys() {
        add(&|toy| _ = toy.durable.remove(key));
    }
    for key in toy.restarts.keys() {
        add(&|toy| _ = toy.restarts.remove(key));
    }
    for key in toy.roles.keys() {
        add(&|toy| _ = toy.roles.remove(key));
    }
    for key in toy.quorums.keys() {
        add(&|toy| _ = toy.quorums.remove(key));
    }
    for key in toy.done.iter() {
        add(&|toy| _ = toy.done.remove(key));
    }
    for (key, outcomes) in &toy.rules {
        for index in 0..if outcomes.len() > 1 { outcomes.len() } else { 0 } {
            add(&|toy| _ = toy.rules.get_mut(key).expect("it is there").remove(index));
        }
        for (index, outcome) in outcomes.iter().enumerate() {
            let (ToyOutcome::Go(_, sent) | ToyOutcome::Trap(sent)) = outcome;
            for message in 0..sent.len() {
                add(&|toy| {
                    let outcome = &mut toy.rules.get_mut(key).expect("it is there")[index];
                    let (ToyOutcome::Go(_, sent) | ToyOutcome::Trap(sent)) = outcome;
                    sent.remove(message);
                });
            }
        }
    }
    for (node, outcomes) in &toy.starts {
        for index in 0..if outcomes.len() > 1 { outcomes.len() } else { 0 } {
            add(&|toy| _ = toy.starts.get_mut(node).expect("it is there").remove(index));
        }
    }
    found
}
