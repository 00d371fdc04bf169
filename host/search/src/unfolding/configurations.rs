//! The configurations of an unfolding, one by one.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use host_model::contract::ClassId;
use host_model::lts::LocalStateId;
use rustc_hash::FxHashSet;

use crate::kernel::poll::StopPoll;
use crate::unfolding::{EventId, Unfolding};

/// The cost of a configuration, in steps.
const COSTLY: u32 = 8;

/// For each tuple of local states at the end of some configuration, a smallest such configuration.
pub type SystemStates = BTreeMap<Box<[LocalStateId]>, Box<[EventId]>>;

/// The system states at the ends of all configurations of at most `size_max` events, and whether some are larger. Calls `may_continue`
/// every few thousand configurations, with the steps since the last call; the result is partial once it has returned false.
///
/// Enumerates all configurations, so it costs as much as a global search; for few tuples of classes use
/// [`ReachableTuples`](crate::unfolding::reachable_tuples::ReachableTuples).
pub fn system_states(
    unfolding: &Unfolding<'_, '_>,
    size_max: u32,
    mut may_continue: impl FnMut(u32) -> bool,
) -> (SystemStates, bool) {
    let mut is_cut = false;
    let roots: Box<[EventId]> = unfolding.past(EventId(0)).into();
    let mut states = SystemStates::new();
    let mut walked: FxHashSet<Box<[EventId]>> = FxHashSet::default();
    let mut stack = vec![roots];
    let mut poll = StopPoll::new(&mut may_continue);
    while let Some(config) = stack.pop() {
        if walked.contains(&config) {
            continue;
        }
        if poll.is_over_after(COSTLY) {
            break;
        }
        let locals: Box<[LocalStateId]> = config.iter().map(|last| unfolding.event(*last).state).collect();
        let size = unfolding.chains().config_size(&config);
        match states.entry(locals) {
            Entry::Vacant(entry) => {
                entry.insert(config.clone());
            }
            Entry::Occupied(mut entry) if unfolding.chains().config_size(entry.get()) > size => {
                entry.insert(config.clone());
            }
            Entry::Occupied(_) => {}
        }
        // A trap can come last in each configuration that it is in.
        let is_over = config.iter().any(|last| unfolding.event(*last).class == ClassId::STUCK);
        if !is_over {
            let known = stack.len();
            push_successors(unfolding, &config, &mut stack);
            if size >= size_max {
                is_cut |= stack.len() > known;
                stack.truncate(known);
            }
        }
        walked.insert(config);
    }
    (states, is_cut)
}

/// The configurations with one more event.
fn push_successors(unfolding: &Unfolding<'_, '_>, config: &[EventId], stack: &mut Vec<Box<[EventId]>>) {
    for (node, last) in config.iter().enumerate() {
        for next in unfolding.children(*last) {
            let past = unfolding.past(next);
            let is_enabled = (0..config.len())
                .all(|other| other == node || unfolding.chains().is_ancestor(past[other], config[other]));
            if is_enabled {
                let mut longer: Box<[EventId]> = config.into();
                longer[node] = next;
                stack.push(longer);
            }
        }
    }
}
