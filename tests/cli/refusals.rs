//! Every refused combination of options, through the command line: refused before any exploration, and the reason
//! names all options that exclude each other.

use host_agreement::options::{Axis, Refusal, refusals};
use host_sandbox::fixtures;
use host_search::strategy::STRATEGIES;

use super::{Place, bundled};

/// The words that give an option a value, and the words of the reason: one of these.
type Given = (Vec<String>, Vec<&'static str>);

/// The words of a user for a value of an option; empty for defaults and for values that the plugin decides.
fn given(axis: Axis, value: usize) -> Given {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    match (axis, value) {
        (Axis::Strategy, _) => (words(&["--algo", STRATEGIES[value].name]), vec![STRATEGIES[value].name]),
        (Axis::Network, _) => (words(&["--network", axis.values()[value]]), vec!["network"]),
        (Axis::Depth, _) => (words(&["--depth", "3"]), vec!["--depth"]),
        (Axis::LocalEvents, _) => (words(&["--local-events", "1"]), vec!["--local-events"]),
        (Axis::States, _) => (words(&["--states", "100"]), vec!["--states"]),
        (Axis::Violations, _) => (words(&["--max-violations", "3"]), vec!["--max-violations"]),
        (Axis::Deadlock, _) => (words(&["--deadlock"]), vec!["--deadlock"]),
        (Axis::Reduce, 1) => (words(&["--reduce"]), vec!["--reduce"]),
        (Axis::NoSymmetry, _) => (words(&["--no-symmetry"]), vec!["--no-symmetry", "--reduce"]),
        (Axis::Duplicates, many) => {
            (words(&["--duplicates", &many.to_string()]), vec!["--duplicates", "delivered again"])
        }
        // Connections that can break have an order, and the order excludes other options.
        (Axis::Breaks, many) => (words(&["--breaks", &many.to_string()]), vec!["--breaks", "ordered"]),
        (Axis::Counted, 1) => (words(&["--count-system-states"]), vec!["--count-system-states"]),
        (Axis::Walks, 1) => (words(&["--walks", "5", "--seed", "3"]), vec!["--walks", "--seed"]),
        (Axis::Schedule, _) => (words(&["--schedule", axis.values()[value]]), vec!["--schedule"]),
        (Axis::Goals, 1) => (words(&["--goal", "any"]), vec!["--goal"]),
        (Axis::Goals, _) => (words(&["--avoid", "any"]), vec!["--avoid"]),
        (Axis::Walks, 2) => (words(&["--weights", "fault=3"]), vec!["--weights"]),
        (Axis::Stop, 2 | 4) => (words(&["--checkpoint", "kept"]), vec!["checkpoint"]),
        (Axis::Quorums, 1) => (Vec::new(), vec!["quorum"]),
        (Axis::Losses, 1) => (words(&["--losses", "1"]), vec!["--losses"]),
        (Axis::Losses, 2) => (words(&["--losses", "unlimited"]), vec!["--losses"]),
        (Axis::Losses, 0) => (Vec::new(), vec!["--losses"]),
        (Axis::Fairness, 2) => (words(&["--fairness", "fair-lossy"]), vec!["--fairness"]),
        (Axis::Fairness, 3) => (words(&["--fairness", "none"]), vec!["--fairness"]),
        (Axis::Fairness, 0) => (Vec::new(), vec!["no `eventually` property"]),
        (Axis::Timers, 1) => (words(&["--timers", "late"]), vec!["--timers"]),
        (Axis::Recovery, 1) => (words(&["--recover-by", "resets"]), vec!["--recover-by"]),
        (Axis::Resets, 0) => (Vec::new(), vec!["--resets"]),
        (Axis::Crashes, many) => (words(&["--crashes", &many.to_string()]), vec!["nodes can crash"]),
        (Axis::Reduce | Axis::Links, 0) => (Vec::new(), vec![""]),
        other => panic!("no words for {other:?}"),
    }
}

/// All combinations of the values of a refusal.
fn combinations(refusal: &Refusal) -> Vec<Vec<(Axis, usize)>> {
    refusal.values.iter().fold(vec![Vec::new()], |before, (axis, values)| {
        let with = |row: &Vec<(Axis, usize)>, value: usize| [row.as_slice(), &[(*axis, value)]].concat();
        before.iter().flat_map(|row| values.iter().map(move |value| with(row, *value))).collect()
    })
}

#[test]
fn what_does_not_go_together_is_refused_with_all_its_names() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::ping_pong()).put("pairs.wasm", fixtures::pairs());
    let mut tried = 0;
    for refusal in refusals() {
        for row in combinations(&refusal) {
            let has = |axis| row.iter().any(|(other, _)| *other == axis);
            // Unless it has no promise.
            let is_promised = [Axis::Fairness, Axis::Timers, Axis::Recovery].into_iter().any(has);
            let promises = is_promised && !row.contains(&(Axis::Fairness, 0));
            let guest = match (has(Axis::Quorums), promises) {
                (true, _) => "pairs.wasm",
                (false, true) => bundled("lock"),
                (false, false) => "guest.wasm",
            };
            let mut command: Vec<String> = ["run", guest, "--nodes", "2"].map(str::to_owned).to_vec();
            let given: Vec<Given> = row.iter().map(|(axis, value)| given(*axis, *value)).collect();
            given.iter().for_each(|(words, _)| command.extend_from_slice(words));
            if !has(Axis::Strategy) {
                command.extend(["--algo", "bdfs"].map(str::to_owned));
            }
            if promises && has(Axis::Duplicates) {
                command.extend(["--network", "unordered-duplicating"].map(str::to_owned));
            }
            if has(Axis::Breaks) && !has(Axis::Network) {
                command.extend(["--network", "ordered"].map(str::to_owned));
            }
            let ran = place.host(&command);
            // Options that always exclude each other are no command line; a conflict of values is a configuration that does not fit.
            assert!([2, 151].contains(&ran.code), "{command:?}, since {}: {ran:?}", refusal.why);
            assert_eq!((ran.out.as_str(), place.path("kept").exists()), ("", false), "{command:?}");
            for (_, names) in &given {
                let is_named = names.iter().any(|name| ran.err.contains(name));
                assert!(is_named, "{command:?}, since {}: none of {names:?} in {}", refusal.why, ran.err);
            }
            tried += 1;
        }
    }
    assert!(tried > 60, "{tried}");
}
