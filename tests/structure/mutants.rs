//! Mistakes made on purpose, each as a change of one place of the sources, and the tests that must notice it.
//!
//! Code that ships has no switches for them. `.ci/run` compares the places with the sources; `.ci/run long mutants` makes each change in a
//! copy of the tree, where its tests must fail.

/// A mistake.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// The mistake, in words.
    pub what: &'static str,
    /// The source, from the root of the repository.
    pub file: &'static str,
    /// The text that stands there once.
    pub from: &'static str,
    /// The text in its place.
    pub to: &'static str,
    /// The package of the tests.
    pub package: &'static str,
    /// The names of the tests, functions of that package: each must fail.
    pub tests: &'static [&'static str],
}

/// The comparison of random graphs with the definitions.
const GRAPHS: &str = "random_graphs_are_judged_by_the_definitions";

/// The comparison of what searches report with the definitions.
const REPORTS: &str = "bdfs_reports_of_promises_what_the_reference_says";

/// The same with fewer states than there are.
const BOUNDED: &str = "a_bound_on_states_hides_answers_and_makes_none_up";

/// A system whose rounds are counted by hand.
const ROUNDS: &str = "a_message_that_is_lost_in_each_round_is_delivered_in_some";

/// Findings of guided walks are paths from a start state, and there are some that only an archive reaches.
const ARCHIVE_LEADS: &str = "an_archive_leads_where_walks_from_the_start_do_not";

/// Guided walks in little memory.
const ARCHIVE_FORGETS: &str = "guided_walks_that_forget_find_the_same";

/// A mistake that tests against the naive reference notice.
const fn of_search(
    what: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
    tests: &'static [&'static str],
) -> Mutant {
    Mutant { what, file, from, to, package: "host-agreement", tests }
}

const ARENA: &str = "host/search/src/liveness/fair/arena.rs";

/// All of them.
pub const MUTANTS: &[Mutant] = &[
    of_search(
        "what a bound suppresses counts as not possible",
        ARENA,
        "self.graph.row(state).filter_map(|(_, label)| self.graph.label(label).action)",
        "self.graph.row(state).filter(|(_, label)| self.graph.class(*label) != EventClass::Suppressed)\
         .filter_map(|(_, label)| self.graph.label(label).action)",
        &[GRAPHS, REPORTS],
    ),
    of_search(
        "a timer that waits for deliveries counts as not possible",
        ARENA,
        "self.graph.row(state).filter_map(|(_, label)| self.graph.label(label).action)",
        "let is_busy = self.busy.as_ref().is_some_and(|busy| busy.contains(state));\
         self.graph.row(state).filter(move |(_, label)| !is_busy || self.graph.class(*label) != EventClass::Timer)\
         .filter_map(|(_, label)| self.graph.label(label).action)",
        &[GRAPHS, REPORTS],
    ),
    of_search(
        "messages are lost in cycles, whatever the fairness",
        ARENA,
        "EventClass::Loss => self.rules.fairness != Fairness::Stable,",
        "EventClass::Loss => true,",
        &[GRAPHS, REPORTS, ROUNDS, "retries_live_through_losses"],
    ),
    of_search(
        "a delivery that is possible infinitely often need not happen",
        ARENA,
        "self.rules.fairness == Fairness::FairLossy\n",
        "false && self.rules.fairness == Fairness::FairLossy\n",
        &[GRAPHS, REPORTS, ROUNDS],
    ),
    of_search(
        "an action is taken also on edges that leave the component",
        "host/search/src/liveness/fair/fairness.rs",
        "arena.lasting(members[place as usize], inside, edges);",
        "arena.lasting(members[place as usize], &|_: &Edge| true, edges);",
        &[GRAPHS, REPORTS],
    ),
    of_search(
        "a cycle is any way through the component and back",
        "host/search/src/liveness/fair/lasso.rs",
        "while let Some(need) = need(arena, &cycle) {",
        "while let Some(need) = need(arena, &cycle).filter(|_| false) {",
        &[GRAPHS],
    ),
    of_search(
        "states with unknown successors count as if all were known",
        "host/search/src/liveness/decide/dead.rs",
        "match graph.has_truncated() {",
        "match graph.has_truncated() && states == 0 {",
        &[GRAPHS, REPORTS, BOUNDED],
    ),
    Mutant {
        what: "the unfolding makes large events first, which is no adequate order",
        file: "host/search/src/unfolding/growth.rs",
        from: "while self.queue.get(self.size).is_none_or(Vec::is_empty) {",
        to: "self.size = self.queue.iter().rposition(|extensions| !extensions.is_empty()).unwrap_or(usize::MAX - 1);\n\
             while self.queue.get(self.size).is_none_or(Vec::is_empty) {",
        package: "host-agreement",
        tests: &["a_system_that_needs_the_adequate_order_is_covered"],
    },
    Mutant {
        what: "dpor reverses only races between executed events",
        file: "host/search/src/strategy/dpor.rs",
        from: "for (index, trigger) in &found {",
        to: "let events = self.exploration.execution.events().iter().filter(|event| event.step.node == node);\n\
             let executed: Vec<Trigger> = events.map(|event| event.step.trigger).collect();\n\
             found.retain(|(_, trigger)| executed.contains(trigger));\n\
             for (index, trigger) in &found {",
        package: "host-agreement",
        tests: &["dpor_explores_each_happens_before_once"],
    },
    of_search(
        "a way has the steps of its last walk only",
        "host/search/src/strategy/random_walk/ground.rs",
        "let state = self.walk_again(from, taken)?;",
        "let state = self.walk_again(from, &mut |_| {})?;",
        &[ARCHIVE_LEADS, ARCHIVE_FORGETS],
    ),
    of_search(
        "an archive keeps ids of a local transition system that walks have left",
        "host/search/src/strategy/random_walk/mod.rs",
        "self.archive.iter_mut().for_each(Archive::move_over);",
        "",
        &[ARCHIVE_FORGETS],
    ),
    of_search(
        "each walk of a way has as many steps as there may be on the whole way",
        "host/search/src/strategy/random_walk/ground.rs",
        "|| walk.depth >= self.length_max()",
        "",
        &["a_way_ends_at_the_bound"],
    ),
    of_search(
        "an archive looks at nothing in a state",
        "host/search/src/strategy/random_walk/abstraction.rs",
        "key = key.wrapping_add(mixed(local.fixed, node.into()));",
        "",
        &[ARCHIVE_LEADS],
    ),
    of_search(
        "walks begin in the most frequent of the cells drawn",
        "host/search/src/strategy/random_walk/archive.rs",
        "drawn.min_by_key(|place| self.cells[*place].rank())?",
        "drawn.max_by_key(|place| self.cells[*place].rank())?",
        &[ARCHIVE_LEADS],
    ),
];

/// What keeps a mistake from being made: its place is not there, or there twice, or it changes nothing.
pub fn misplaced(mutant: &Mutant, source: &str) -> Option<String> {
    let times = source.matches(mutant.from).count();
    let Mutant { what, file, .. } = mutant;
    (times != 1).then(|| format!("{file} has the place of \"{what}\" {times} times; it must be there once"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_there_once() {
        let mutant = Mutant { what: "w", file: "f.rs", from: "a", to: "b", package: "p", tests: &["t"] };
        assert_eq!(misplaced(&mutant, "x a y"), None);
        assert_eq!(
            misplaced(&mutant, "x").as_deref(),
            Some("f.rs has the place of \"w\" 0 times; it must be there once")
        );
        assert!(misplaced(&mutant, "a a").is_some());
    }
}
