//! Mistakes made on purpose, each as a change of one place of the sources, and the tests that must notice it.
//!
//! Code that ships has no switches for them. `.ci/run` compares the places with the sources; `.ci/run long mutants` makes each change in a
//! copy of the tree, where its tests must fail.
//!
//! | module | what it holds |
//! |---|---|
//! | `stored` | mistakes in the durable map of a node |
//! | `tasks` | mistakes in asynchronous nodes |

mod stored;
mod tasks;

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
    /// The output of each of them when it fails: it must notice this mistake and not stumble over another thing.
    pub says: &'static str,
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

/// Walks in little memory.
const FORGETS: &str = "plain_walks_that_forget_find_the_same";

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
    Mutant { what, file, from, to, package: "host-agreement", tests, says: "" }
}

/// A mistake in the judgement of histories that its reference notices.
const fn of_linearizable(what: &'static str, file: &'static str, from: &'static str, to: &'static str) -> Mutant {
    let tests = &["small_histories_have_the_verdict_the_operation_and_the_values_of_the_reference"];
    Mutant { what, file, from, to, package: "host-linearizable", tests, says: "" }
}

/// A mistake in following logs that the reference notices.
const fn of_follow(what: &'static str, file: &'static str, from: &'static str, to: &'static str) -> Mutant {
    let tests = &["the_verdict_is_that_of_all_executions", "no_log_of_an_execution_is_refused"];
    Mutant { what, file, from, to, package: "host-agreement", tests, says: "" }
}

/// A mistake in comparing systems that the reference notices.
const fn of_refine(what: &'static str, file: &'static str, from: &'static str, to: &'static str) -> Mutant {
    let tests = &["refinement_is_that_of_all_sequences"];
    Mutant { what, file, from, to, package: "host-agreement", tests, says: "" }
}

/// A mistake of a running node; a seed of a test of worlds shows it.
const fn of_live(
    what: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
    shown: &'static (&'static [&'static str], &'static str),
) -> Mutant {
    Mutant { what, file, from, to, package: "host-live", tests: shown.0, says: shown.1 }
}

/// A cluster snapshot that is not consistent with what has happened.
const INCONSISTENT: (&[&str], &str) = (&["snapshots_are_consistent_with_what_has_happened"], "snapshot");

/// The steps of nodes under faults are a path of the model.
const TRACE: &[&str] = &["whatever_goes_wrong_is_a_trace_of_the_model"];

/// The steps of nodes with connections are a path of the model, without a loss.
const CONNECTED: &[&str] = &["nothing_is_lost_over_a_connection"];

/// The steps of nodes with checkers, over connections that break in place of messages, are a path of the model.
const LINKED: &[&str] = &["each_run_with_checkers_over_connections_is_one_of_the_model"];

const LOST_DISKS: &[&str] = &["a_node_that_lost_its_disk_is_not_taken_whatever_the_number_of_its_starts"];
const STEERED: &[&str] = &["steering_takes_away_nothing_that_is_owed"];

const ARENA: &str = "host/search/src/liveness/fair/arena.rs";
const WALKS: &str = "host/search/src/strategy/random_walk/mod.rs";
const CURSOR: &str = "host/search/src/global/cursor.rs";
const RUNTIME: &str = "host/live/src/node/runtime.rs";
const MANAGER: &str = "host/live/src/checkpoint/manager.rs";
const RECORDS: &str = "host/live/src/disk/records.rs";
const FILES: &str = "host/live/src/world/files.rs";
const LINKS: &str = "host/live/src/world/links.rs";
const PASSAGE: &str = "host/live/src/world/passage.rs";

/// All of them.
pub fn mutants() -> impl Iterator<Item = &'static Mutant> {
    MUTANTS.iter().chain(stored::MUTANTS).chain(tasks::MUTANTS)
}

const MUTANTS: &[Mutant] = &[
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
        says: "",
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
        says: "",
    },
    of_search(
        "a way has the steps of its last walk only",
        "host/search/src/strategy/random_walk/ground.rs",
        "let state = self.walk_again(from, taken)?;",
        "let state = self.walk_again(from, &mut |_, _| {})?;",
        &[ARCHIVE_LEADS, ARCHIVE_FORGETS],
    ),
    of_search(
        "a path is walked again without the events that its walks repeat",
        "host/search/src/strategy/random_walk/ground.rs",
        "walk.script = Arc::clone(&way.leg.script);",
        "",
        &[ARCHIVE_LEADS, ARCHIVE_FORGETS],
    ),
    of_search(
        "an archive keeps ids of a local transition system that walks have left",
        WALKS,
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
    of_search(
        "a walk begins its draws again where handlers are forgotten",
        "host/search/src/strategy/random_walk/ground.rs",
        "walk.drawn = None;",
        "walk.drawn = None;\nif self.events.is_empty() {\nwalk.dice = self.dice(walk.number);\n}",
        &[FORGETS],
    ),
    of_search(
        "walks take as many steps again where handlers are forgotten",
        WALKS,
        "walk.cursor.move_over(&mut mover);",
        "walk.cursor.move_over(&mut mover);\nwalk.depth = 0;",
        &[FORGETS],
    ),
    of_search(
        "walks in progress end where handlers are forgotten",
        WALKS,
        "drop(mover);",
        "drop(mover);\nself.walks.clear();",
        &[FORGETS],
    ),
    of_search(
        "the local events of a walk are counted again from 0 where handlers are forgotten",
        CURSOR,
        "self.state.in_flight = mover.in_flight(&self.state.in_flight);",
        "self.state.in_flight = mover.in_flight(&self.state.in_flight);\nself.state.local_events.fill(0);",
        &[FORGETS],
    ),
    of_search(
        "the messages in flight are lost where handlers are forgotten",
        CURSOR,
        "self.state.in_flight = mover.in_flight(&self.state.in_flight);",
        "self.state.in_flight = InFlight::default();",
        &[FORGETS],
    ),
    of_live(
        "checkpoints are numbered, and requests answered, as it is published",
        RUNTIME,
        "Manager::new(node, Rule::SOUND, settings.limits()",
        "Manager::new(node, Rule::PUBLISHED, settings.limits()",
        &INCONSISTENT,
    ),
    of_live(
        "a request that a discarded checkpoint might have answered is answered by the next one",
        MANAGER,
        "if self.rule.refuses_discarded && number <= self.numbers.discarded {",
        "if false && number <= self.numbers.discarded {",
        &INCONSISTENT,
    ),
    of_live(
        "a start does not count as having discarded the checkpoints before it",
        "host/live/src/checkpoint/numbers.rs",
        "current, discarded: last, reserved }",
        "current, discarded: 0, reserved }",
        &INCONSISTENT,
    ),
    of_live(
        "a checkpoint that is discarded for want of room does not count",
        MANAGER,
        "self.numbers.discarded = discarded.number;",
        "drop(discarded);",
        &INCONSISTENT,
    ),
    of_live(
        "a torn record counts",
        RECORDS,
        "() if is_intact && end == END =>",
        "() if is_intact || end != END_OF_CHANGE =>",
        &(TRACE, "was acknowledged"),
    ),
    of_live(
        "any torn record counts as damage",
        RECORDS,
        "() if is_zero(&end[END.len() - 1..]) && is_zero(behind) => Next::Torn,",
        "",
        &(TRACE, "damaged"),
    ),
    of_live(
        "what is torn stays in the file, and the next record follows it",
        "host/live/src/disk/log.rs",
        "let Content { owner: found, is_current, mut last, hash, moved, end } = content;",
        "let Content { owner: found, is_current, mut last, hash, moved, end } = content;\n\
         let end = there.as_ref().map_or(end, Vec::len);",
        &(TRACE, "damaged"),
    ),
    of_live(
        "a change names the record that its file began with",
        "host/live/src/disk/log.rs",
        "self.base.hash = hash_of(&bytes);",
        "",
        &(TRACE, "damaged"),
    ),
    of_live(
        "outputs do not wait for the disk",
        "host/live/src/node/outbox.rs",
        "if self.waiting.is_some() {",
        "if false {",
        &(TRACE, "before record"),
    ),
    of_live(
        "a local event happens though it is not possible any more",
        "host/live/src/node/timers.rs",
        "self.due.retain(|event, _| events.contains(event) || self.requested.contains(event));",
        "let _ = events;",
        &(TRACE, "the model does not do"),
    ),
    of_live(
        "a local event that happens again gets no time",
        "host/live/src/node/arming.rs",
        "draws.into_iter().for_each(|(event, at)| self.timers.set(event, at, true));",
        // `init` arms all the same.
        "let draws = draws.into_iter().filter(|_| self.counts.local == 0);\n\
         draws.for_each(|(event, at)| self.timers.set(event, at, true));",
        &(TRACE, "without a time"),
    ),
    of_live(
        "a disk says that what was appended is on it, and it is not",
        FILES,
        "fn sync(&mut self) -> Result<(), FileError> {\n        self.operate()?;\n        self.file()?.sync();",
        "fn sync(&mut self) -> Result<(), FileError> {\n        self.operate()?;",
        &(TRACE, ""),
    ),
    of_live(
        "a disk says that what replaces a file is on it, and it is not",
        FILES,
        "self.names.next.iter_mut().for_each(Content::sync);",
        "",
        &(TRACE, ""),
    ),
    of_live(
        "a message after a broken connection is for the start of the peer that was there before",
        MANAGER,
        "self.strangers.insert(peer);\n        self.change_gather(outputs, |gather| gather.lose(peer));",
        "self.change_gather(outputs, |gather| gather.lose(peer));",
        &(CONNECTED, "is lost over a connection"),
    ),
    of_live(
        "what waits for the disk where a connection breaks leaves over the next one",
        RUNTIME,
        "self.outbox.discard(peer);",
        "",
        &(CONNECTED, "is next"),
    ),
    of_live(
        "a protocol hears of a broken connection over which only packets of snapshots have travelled",
        RUNTIME,
        "let was_open = self.manager.lose(peer, &mut outputs);",
        "let was_open = self.manager.lose(peer, &mut outputs) || true;",
        &(CONNECTED, "cannot break"),
    ),
    of_live(
        "a message that was on its way while its destination was killed is for the former start",
        LINKS,
        "header.addressee != 0 && header.addressee < start",
        "header.addressee != 0 && header.addressee + 1 < start",
        &(LINKED, "nothing is broken"),
    ),
    of_live(
        "a node that refuses a connection takes what comes over it",
        LINKS,
        "is_known && !self.connections.is_refused(to, over)",
        "is_known",
        &(LINKED, "their connection stays"),
    ),
    of_live(
        "a node loses a message and breaks no connection",
        LINKS,
        "Some(Breaking::Here) => self.disconnect(model, me, peer),",
        "Some(Breaking::Here) => Ok(()),",
        &(LINKED, "their connection stays"),
    ),
    of_live(
        "a node loses a message behind which its peer has broken the connection",
        LINKS,
        "Some(Breaking::Told) => self.take_notice(model, me, peer, number + 1),",
        "Some(Breaking::Told) => Ok(()),",
        &(&["a_notice_takes_the_place_of_a_message_before_it_that_the_node_refuses"], "their connection stays"),
    ),
    of_live(
        "a break that the protocol does not hear of does not happen",
        LINKS,
        "model.break_unheard(me, peer);",
        "",
        &(
            &["a_connection_breaks_in_place_of_a_message_whether_the_protocol_hears_of_it_or_not"],
            "their connection stays",
        ),
    ),
    of_live(
        "a snapshot begins with unused connections",
        "host/live/src/checkpoint/beginning.rs",
        "if open.is_empty() {",
        "if !open.is_empty() {",
        &(&["the_error_of_a_peer_after_a_reset_is_predicted_long_after_the_last_message"], "predicting: 0"),
    ),
    of_live(
        "a snapshot begins with each connection open over which a packet has ever travelled",
        "host/live/src/checkpoint/beginning.rs",
        "snapshot.is_open(node, *peer)",
        "snapshot.checkpoints[&node].channels.contains_key(peer)",
        &(&["no_error_is_predicted_over_a_connection_that_has_broken_and_is_not_in_use"], "predicting"),
    ),
    of_live(
        "a connection that has broken stays open",
        MANAGER,
        "std::mem::take(&mut channel.is_open)",
        "channel.is_open",
        &(LINKED, "the model has no outcome of TransportError"),
    ),
    of_live(
        "a snapshot has a connection open that a start of the peer has broken",
        "host/live/src/checkpoint/snapshot.rs",
        "!has_started && (is_open",
        "(is_open",
        &(&["an_end_is_open_unless_the_peer_has_broken_the_connection"], "snapshot.rs"),
    ),
    of_live(
        "a snapshot has a connection open that its peer has broken",
        "host/live/src/checkpoint/snapshot.rs",
        "(is_open || !self.contents(node, peer).in_flight.is_empty())",
        "(is_open || true)",
        &(&["an_end_is_open_unless_the_peer_has_broken_the_connection"], "snapshot.rs"),
    ),
    of_live(
        "a filter discards a message over a connection that cannot break",
        "host/live/src/filter/table.rs",
        "(filter, event.substitute())",
        "(filter, Substitute::of(event.cause))",
        &(LINKED, "their connection stays"),
    ),
    of_live(
        "what has waited for the end of a cut leaves last first",
        PASSAGE,
        "for input in self.held.remove(&(from, to)).into_iter().flatten() {",
        "for input in self.held.remove(&(from, to)).into_iter().flatten().rev() {",
        &(LINKED, "nothing is broken"),
    ),
    of_live(
        "what has waited for the end of a cut stays if another one has begun",
        PASSAGE,
        "Some(end) => self.agenda.add(end, Input::Leave { from, to }),",
        "Some(_) => {}",
        &(&["each_run_over_connections_is_one_of_the_model"], "in flight"),
    ),
    of_live(
        "a node that comes back with another disk is taken for the one that it was",
        "host/live/src/node/disks.rs",
        "if !known.is_none_or(|known| ends.sender.succeeds(known)) {",
        "if ends.sender.drawn > 0 {\nreturn Ok(());\n}\n\
         if !known.is_none_or(|known| ends.sender.succeeds(known)) {",
        &(LOST_DISKS, "lost its disk"),
    ),
    of_live(
        "filters are used whatever they lead to",
        "host/live/src/checker/safety.rs",
        "let (is_complete, mut work) = (ahead.is_complete, ahead.work);",
        "let (is_complete, mut work) = (ahead.is_complete, ahead.work);\n\
         if work < u64::MAX { return Ok(Checked { refused: None, is_complete, work }); }",
        &(STEERED, "owes"),
    ),
    Mutant {
        what: "connections are polled for, so that each waits until the next poll",
        file: "host/live-net/src/accept.rs",
        from: "let listener = TcpListener::bind(address)?;",
        to: "let listener = TcpListener::bind(address)?;\nlistener.set_nonblocking(true)?;",
        package: "host-live-net",
        tests: &["a_port_waits_once_for_each_connection_and_is_free_at_the_end"],
        says: "right: 11",
    },
    of_follow(
        "a message that the last event has sent counts as older than it",
        "host/follow/src/moves.rs",
        "if ends || known.taken(step.trigger).any(|message| last.sent.contains(&message)) {",
        "if ends {",
    ),
    of_follow(
        "an event has all lines that it can have",
        "host/follow/src/moves.rs",
        "for lines in (1..=lines_max).rev() {",
        "for lines in [lines_max].into_iter().filter(|lines| *lines > 0) {",
    ),
    of_follow(
        "a message without effect hides none behind it",
        "host/follow/src/moves.rs",
        "!changes && !found.is_notice && !is_in_order(stepper, found.from, node)",
        "!changes && !found.is_notice",
    ),
    of_follow(
        "a candidate is refused however many hidden events led to it",
        "host/follow/src/search.rs",
        "met.iter().any(|known| is_at_least(known))",
        "met.iter().any(|_| true)",
    ),
    of_refine(
        "the old component takes no event without a change",
        "host/refine/src/search.rs",
        "if self.old.view(*next) == view && members.insert(*next) {",
        "if false && members.insert(*next) {",
    ),
    of_refine(
        "a pair is left out if its set is a part of one before",
        "host/refine/src/search.rs",
        "if sets.iter().any(|known| self.sets.is_subset(*known, pair.set)) {",
        "if sets.iter().any(|known| self.sets.is_subset(pair.set, *known)) {",
    ),
    of_refine(
        "the old component is in the first of the states that it can be in",
        "host/refine/src/search.rs",
        "for member in self.sets.members(set).iter() {",
        "for member in self.sets.members(set).iter().take(1) {",
    ),
    of_linearizable(
        "a write that was overwritten while it ran can no longer be seen",
        "host/linearizable/src/candidates.rs",
        "found.insert(if is_needed { found.len() } else { 0 }, HIDDEN);",
        "return vec![HIDDEN];",
    ),
    of_linearizable(
        "a write that a read has seen counts as unseen",
        "host/linearizable/src/search.rs",
        "config.is_unseen &= !action.only_reads();",
        "",
    ),
    of_linearizable(
        "more open calls are worth more",
        "host/linearizable/src/memo.rs",
        "is_part(&smallest.first, used) ||",
        "is_part(used, &smallest.first) ||",
    ),
    of_linearizable(
        "an open cas is not needed for what its product is needed for",
        "host/linearizable/src/timeline.rs",
        "*before = horizon.max(*before);",
        "",
    ),
];

/// The reason why a mistake cannot be made: its place is not there, or there twice, or it changes nothing.
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
        let mutant = Mutant { what: "w", file: "f.rs", from: "a", to: "b", package: "p", tests: &["t"], says: "" };
        assert_eq!(misplaced(&mutant, "x a y"), None);
        assert_eq!(
            misplaced(&mutant, "x").as_deref(),
            Some("f.rs has the place of \"w\" 0 times; it must be there once")
        );
        assert!(misplaced(&mutant, "a a").is_some());
    }
}
