//! Mistakes in the durable map of a node: in the map itself, in searches and simulations with outages, in data files, and in the store that is
//! kept in it.

use super::Mutant;

/// A mistake that a test of one package notices.
const fn of(
    package: &'static str,
    what: &'static str,
    file: &'static str,
    [from, to]: [&'static str; 2],
    tests: &'static [&'static str],
) -> Mutant {
    Mutant { what, file, from, to, package, tests, says: "" }
}

/// A mistake that tests of the model notice.
const fn of_model(
    what: &'static str,
    file: &'static str,
    change: [&'static str; 2],
    tests: &'static [&'static str],
) -> Mutant {
    of("host-model", what, file, change, tests)
}

/// A mistake that the comparison of strategies with the naive reference notices.
const fn of_outages(what: &'static str, file: &'static str, change: [&'static str; 2]) -> Mutant {
    of("host-agreement", what, file, change, OUTAGES)
}

const MAP: &str = "host/model/src/contract/durable_map.rs";
const NODE_MAP: &str = "host/model/src/contract/node_map.rs";
const UNSYNCED: &str = "host/model/src/scenario/unsynced.rs";
const LOOSE_ENTRIES: &str = "host/model/src/scenario/loose_entries.rs";
const MAP_LIST: &str = "host/model/src/scenario/map_list.rs";
const FAULT_STATE: &str = "host/model/src/scenario/fault_state.rs";
const CHANGES: &str = "host/live/src/disk/changes.rs";
const LOG: &str = "host/live/src/disk/log.rs";
const TABLES: &str = "plugins/raft-kv/src/tables.rs";
const MACHINE: &str = "host/sandbox/src/machine.rs";

/// Random writes against a `BTreeMap`.
const NAIVE: &[&str] = &["a_map_is_one_and_its_copies_never_change"];

/// Random toys with outages against the naive reference.
const OUTAGES: &[&str] = &["outages_are_explored_exactly"];

/// The same where an outage can lose any entries.
const LOOSE: &[&str] = &["outages_that_lose_any_entries_are_explored_exactly"];

/// The disks that an outage can leave against all subsets of the writes.
const SUBSETS: &[&str] = &["an_outage_leaves_any_subset_of_the_writes"];

/// The maps that an outage can leave, by hand.
const LEAVES: &[&str] = &["an_outage_leaves_a_map_since_the_last_sync"];

/// Data files with maps against a `BTreeMap`.
const READ_BACK: &[&str] = &["the_map_of_each_record_is_read_back"];

/// A start with more entries, and with more bytes, than the fuel of a call is for.
const STARTS: &[&str] = &["a_start_has_fuel_for_what_it_restores"];

/// Resets after each of many random steps.
const KEPT: &[&str] = &["what_a_node_has_is_what_it_finds_after_a_reset"];

/// All of them.
pub(super) const MUTANTS: &[Mutant] = &[
    of_model(
        "a value in place of another one leaves the sum of both",
        MAP,
        ["self.forget(key);\n        self.fingerprint.add", "self.fingerprint.add"],
        NAIVE,
    ),
    of_model(
        "a range has its end",
        MAP,
        ["end.map_or(Bound::Unbounded, Bound::Excluded)", "end.map_or(Bound::Unbounded, Bound::Included)"],
        NAIVE,
    ),
    of_model(
        "keys in any order are the bytes of a map",
        MAP,
        ["if last.is_some_and(|last| key <= last) {", "if last.is_some_and(|last| key == last) {"],
        &["a_map_survives_its_bytes"],
    ),
    of_model(
        "nothing separates a key from its value",
        MAP,
        ["hasher.update(&(key.len() as u64).to_le_bytes()).update(key)", "hasher.update(key)"],
        &["different_maps_have_different_fingerprints"],
    ),
    of_model(
        "a sum has two halves that know nothing of each other",
        MAP,
        [".wrapping_add(carries.into())", ""],
        &["sums_are_those_of_256_bits"],
    ),
    of_model(
        "a write counts the whole map as its own",
        MAP,
        ["self.allocated += self.path_bytes() + ENTRY_BYTES", "self.allocated += self.whole_bytes() + ENTRY_BYTES"],
        &["a_write_shares_what_it_does_not_change"],
    ),
    of_model(
        "a map alone is no durable state",
        MAP,
        ["(persisted.is_some() || !map.is_empty())", "persisted.is_some()"],
        &["nothing_left_is_no_durable_state"],
    ),
    of_model(
        "an outage can leave the present map as an earlier one",
        UNSYNCED,
        ["        self.0.remove(after);\n", ""],
        LEAVES,
    ),
    of_model(
        "a sync leaves what was written before it",
        UNSYNCED,
        ["self.clear();\n                self.0.push(map.clone());", "self.0.push(map.clone());"],
        LEAVES,
    ),
    of_model(
        "the place of a map does not count those before it",
        MAP_LIST,
        ["                before += 1;\n", ""],
        &["a_list_is_one_and_its_copies_never_change", "random_handlers_leave_the_maps_of_the_definition"],
    ),
    of_model(
        "lists that differ in their last maps are equal",
        MAP_LIST,
        [".update(&hash(&right));", ";"],
        &["different_lists_have_different_words"],
    ),
    of_model(
        "a list is copied as a whole at each change",
        MAP_LIST,
        [
            "self.root = merge(&self.root, &Some(Node::leaf(map, ticket)));",
            "self.root = merge(&copied(&self.root), &Some(Node::leaf(map, ticket)));\n        fn copied(tree: &Tree) -> Tree {\n            tree.as_ref().map(|node| node.with(copied(&node.left), copied(&node.right)))\n        }",
        ],
        &["successive_lists_share_their_maps"],
    ),
    of_model(
        "a fault that is counted is one more than there are",
        "host/model/src/lts/own_faults.rs",
        ["(loss <= self.losing && self", "(loss <= self.losing + 1 && self"],
        &["faults_that_are_counted_are_those_that_would_be_listed"],
    ),
    of_outages(
        "a sync is durable with all that its handler writes behind it",
        UNSYNCED,
        ["                self.0.push(map.clone());\n", ""],
    ),
    of_outages(
        "writes can be lost where no outage is left",
        FAULT_STATE,
        [
            "Some(writes) if self.counts.outages < rules.max.outages",
            "Some(writes) if self.counts.outages <= rules.max.outages",
        ],
    ),
    of_outages(
        "what an outage has left can be lost by the next one, too",
        FAULT_STATE,
        ["if fault.loses_writes() {", "if fault.loses_writes() && self.counts.outages > 9 {"],
    ),
    of_outages(
        "states that differ in what an outage can leave are one",
        FAULT_STATE,
        ["self.unsynced.words().chain(self.loose.words())", "self.loose.words()"],
    ),
    of_outages(
        "an outage loses nothing",
        "host/model/src/lts/jobs.rs",
        [
            "let map = state.fault_state.map_left(fault, self.map_of(state.protocol_id));",
            "let map: Option<crate::contract::DurableMap> = None;",
        ],
    ),
    of_outages(
        "an outage loses nothing where a finding is confirmed",
        "host/model/src/trace/held.rs",
        [
            "    fault_state.map_left(fault, present.as_ref())",
            "    present.filter(|_| fault_state.map_left(fault, None).is_none())",
        ],
    ),
    of(
        "host-agreement",
        "states that differ in the values that an outage can leave are one",
        FAULT_STATE,
        ["self.unsynced.words().chain(self.loose.words())", "self.unsynced.words()"],
        LOOSE,
    ),
    of_model(
        "an outage can leave the present value as another one",
        LOOSE_ENTRIES,
        ["            values.remove(&now);\n", "            let _ = &now;\n"],
        SUBSETS,
    ),
    of_model(
        "a sync leaves the other values of entries",
        LOOSE_ENTRIES,
        ["                self.clear();\n                map\n", "                map\n"],
        SUBSETS,
    ),
    of_model(
        "an outage never leaves an entry out",
        LOOSE_ENTRIES,
        ["Some(None) => map.delete(key),", "Some(None) => {}"],
        SUBSETS,
    ),
    of_model(
        "the number of disks has no limit",
        LOOSE_ENTRIES,
        ["filter(|disks| *disks <= DISKS_MAX.into())", "filter(|_| true)"],
        &["too_many_disks_are_a_fault"],
    ),
    of(
        "host-agreement",
        "writes of a handler are not noted where an outage can lose any",
        "host/model/src/lts/handler.rs",
        ["if !lts.rules.loses_any_writes() {", "if true {"],
        LOOSE,
    ),
    of_outages(
        "a sync is durable with what was there before its handler",
        NODE_MAP,
        ["self.synced = Some(self.map.clone());", "self.synced = Some(self.before.clone());"],
    ),
    of(
        "host-live",
        "a node sends before the disk has what it has synced",
        "host/live/src/node/handler.rs",
        ["synced == Synced::Nothing && next.as_ref()", "next.as_ref()"],
        &["nothing_that_was_acknowledged_is_lost"],
    ),
    of(
        "host-live",
        "a kill of a simulated node loses nothing",
        "host/live/src/simulator/run.rs",
        ["restarts[self.chance.below(Purpose::Outages, restarts.len() as u64) as usize]", "restarts[0]"],
        &["a_restart_begins_with_what_can_be_on_the_disk", "a_write_that_was_synced_is_never_lost"],
    ),
    of(
        "host-live",
        "a simulated node that ships starts with what it had and not with what is on its disk",
        "host/live/src/world/memo.rs",
        ["FaultEvent::outage(state.fault_state.changes_behind(&map))", "FaultEvent::outage(0)"],
        &["a_world_in_which_handlers_are_looked_up_is_the_same"],
    ),
    of(
        "host-sandbox",
        "a start has no fuel for the entries that it restores",
        MACHINE,
        ["const ENTRY_FUEL: u64 = 10_000;", "const ENTRY_FUEL: u64 = 0;"],
        STARTS,
    ),
    of(
        "host-sandbox",
        "a start has no fuel for the bytes that it restores",
        MACHINE,
        ["const BYTE_FUEL: u64 = 100;", "const BYTE_FUEL: u64 = 0;"],
        STARTS,
    ),
    of(
        "host-live",
        "a deleted key is not reported",
        NODE_MAP,
        ["self.map.delete(key);\n        self.written.add(key);", "self.map.delete(key);"],
        READ_BACK,
    ),
    of(
        "host-live",
        "a deleted key stays in the data file",
        CHANGES,
        ["None => map.delete(key),", "None => {}"],
        READ_BACK,
    ),
    of(
        "host-live",
        "a record is a change of one without a map",
        LOG,
        [
            "DurableState { persisted: record.protocol.clone(), map: record.map.clone() }",
            "DurableState { persisted: record.protocol.clone(), map: DurableMap::default() }",
        ],
        READ_BACK,
    ),
    of(
        "host-live",
        "a map is written as a whole at each change",
        LOG,
        ["(leads_there && (self.changes_always ||", "(leads_there && record.map.is_empty() && (self.changes_always ||"],
        &["a_write_of_a_map_costs_what_has_changed"],
    ),
    of(
        "raft-kv",
        "what a log forgets stays on the disk",
        TABLES,
        ["    LOG.delete_range(ctx, ..=log.base().index);\n", "    let _ = (ctx, log.base());\n"],
        KEPT,
    ),
    of(
        "raft-kv",
        "entries in place of others leave the others behind them",
        TABLES,
        ["    LOG.delete_range(ctx, from..);\n", ""],
        KEPT,
    ),
    of("raft-kv", "a deleted key stays on the disk", TABLES, ["None => ITEMS.delete(ctx, key),", "None => {}"], KEPT),
    of(
        "guest-sdk",
        "a table has the keys of those whose names begin like its own",
        "guest-sdk/src/storage.rs",
        [
            "        let mut bytes = self.name.as_bytes().to_vec();\n        bytes.push(0);\n",
            "        let bytes = self.name.as_bytes().to_vec();\n",
        ],
        &["tables_are_maps"],
    ),
    of(
        "guest-sdk",
        "states that differ in the map alone are one",
        "guest-sdk/src/test/explore.rs",
        ["(identity, map).encode", "(identity, &map[..0]).encode"],
        &["states_that_differ_in_the_map_are_different"],
    ),
];
