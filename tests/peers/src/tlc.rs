//! Liveness by TLC: the models in `tlc/`, checked by the `tla2tools.jar` at the absolute path in `TLA2TOOLS`.

use std::path::Path;
use std::process::Command;

use crate::measure;

/// The result of TLC for a model.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    is_violated: bool,
    states: usize,
    transitions: usize,
}

/// Parses the output of TLC.
fn understood(printed: &str) -> Option<Said> {
    let is_violated =
        match (printed.contains("Temporal properties were violated"), printed.contains("No error has been found")) {
            (true, false) => true,
            (false, true) => false,
            _ => return None,
        };
    let counts = printed.lines().rev().find(|line| line.contains(" distinct states found"))?;
    let mut numbers = counts.split(' ').filter_map(|word| word.parse::<usize>().ok());
    // The start state is generated as well.
    let transitions = numbers.next()?.checked_sub(1)?;
    Some(Said { is_violated, states: numbers.next()?, transitions })
}

/// Checks a model with a configuration. Both have to be where TLC runs.
fn check(tools: &str, model: &str, configuration: &str) -> Said {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scratch = here.join("target/tlc");
    std::fs::create_dir_all(&scratch).expect("the target folder can be written");
    let source = format!("{model}.tla");
    std::fs::copy(here.join("tlc").join(&source), scratch.join(&source)).expect("the model can be copied");
    std::fs::write(scratch.join(format!("{model}.cfg")), configuration).expect("the target folder can be written");
    let mut command = Command::new("java");
    command.args(["-cp", tools, "tlc2.TLC", "-workers", "1", "-deadlock"]).arg(source).current_dir(&scratch);
    let done = measure::run(&mut command).expect("Java runs");
    understood(&done.stdout).unwrap_or_else(|| panic!("{}", done.stdout))
}

/// The column of TLC in docs/benchmarks.md.
#[test]
fn fairness_of_actions_is_that_of_host() {
    let Ok(tools) = std::env::var("TLA2TOOLS") else {
        eprintln!("TLC is left out; docs/benchmarks.md says where to get it");
        return;
    };
    let cases = [
        ("drop", "{0}", [8, 9], [true, true]),
        ("deny", "{0, 1}", [51, 102], [true, true]),
        ("queue", "{0, 1}", [36, 72], [true, false]),
    ];
    for (locked, clients, [states, transitions], violated) in cases {
        for (fairness, is_violated) in ["ByNode", "ByAction"].into_iter().zip(violated) {
            let configuration = format!(
                "CONSTANTS Clients = {clients} Locked = \"{locked}\"\nSPECIFICATION {fairness}\nPROPERTY Served\n"
            );
            assert_eq!(
                check(&tools, "lock", &configuration),
                Said { is_violated, states, transitions },
                "{locked} {fairness}"
            );
        }
    }
    for (acceptors, states, transitions) in [("{2}", 244, 396), ("{2, 3}", 20_284, 57_108)] {
        for (promise, is_violated) in [("Served", true), ("ServedLate", false)] {
            let configuration = format!(
                "CONSTANT Acceptors = {acceptors}\nSPECIFICATION Fair\nINVARIANT Agreement\nPROPERTY {promise}\n"
            );
            assert_eq!(
                check(&tools, "synod", &configuration),
                Said { is_violated, states, transitions },
                "{acceptors} {promise}"
            );
        }
    }
}

#[test]
fn what_tlc_prints_is_understood() {
    let printed = "Model checking completed. No error has been found.\n73 states generated, 36 distinct states found, 0 states left on queue.\n";
    let said = Said { is_violated: false, states: 36, transitions: 72 };
    assert_eq!(understood(printed), Some(said));
    assert_eq!(understood("Error: Parsing or semantic analysis failed."), None);
}
