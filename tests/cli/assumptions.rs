//! Consistency of faults, progress and gaps: three texts of one report that must match the options and each other.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Place, bundled};

/// Values of one kind of option.
type Axis = &'static [&'static [&'static str]];

const NETWORKS: Axis = &[
    &[],
    &["--network", "ordered"],
    &["--network", "unordered-duplicating"],
    &["--link", "0-1=ordered"],
    &["--network", "ordered", "--link", "0-1=unordered"],
];
const FAULTS: Axis = &[
    &[],
    &["--resets", "1"],
    &["--breaks", "1"],
    &["--crashes", "1"],
    &["--refusals", "1"],
    &["--duplicates", "0"],
    &["--duplicates", "2"],
    &["--partitions", "1"],
];
const LOSSES: Axis = &[&[], &["--losses", "1"], &["--losses", "unlimited"]];
const RULES: Axis = &[
    &[],
    &["--fairness", "fair-lossy"],
    &["--fairness", "none"],
    &["--timers", "late"],
    &["--recover-by", "resets"],
    &["--safety-only"],
];
const ENDS: Axis = &[&[], &["--deadlock"]];
const STRATEGIES: Axis = &[
    &["--algo", "bdfs"],
    &["--algo", "auto"],
    &["--algo", "walk", "--walks", "5"],
    &["--algo", "unfold"],
    &["--algo", "bdfs", "--reduce"],
];
const AXES: [Axis; 6] = [NETWORKS, FAULTS, LOSSES, RULES, ENDS, STRATEGIES];

/// The step through all combinations: one of 59 is tried. It is prime, so that it is no multiple of a period.
const STRIDE: usize = 59;

/// The budgets with the noun of each, as it stands in the text.
const NOUNS: [(&str, &str); 7] = [
    ("resets", "reset"),
    ("duplicates", "duplicate"),
    ("breaks", "broken connection"),
    ("refusals", "refused message"),
    ("crashes", "crashed node"),
    ("losses", "lost message"),
    ("partitions", "partition"),
];

/// A bound that ends each search soon.
fn bound(options: &[&str]) -> &'static [&'static str] {
    if ["unfold", "--reduce"].iter().any(|it| options.contains(it)) { &["--states", "500"] } else { &["--depth", "4"] }
}

/// A combination: a value of each axis.
fn row(number: usize) -> [&'static [&'static str]; 6] {
    let mut rest = number;
    AXES.map(|axis| {
        let value = axis[rest % axis.len()];
        rest /= axis.len();
        value
    })
}

/// A row of the assumptions of a report in words: those between its name and that of a following one.
fn said<'t>(text: &'t str, name: &str, following: &[&str]) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!(" {name} "))?;
    let end = following.iter().filter_map(|next| rest.find(&format!(" {next} "))).min().unwrap_or(rest.len());
    Some(rest[..end].trim_end_matches(';'))
}

/// Holds the three texts of a report against the options and against one another.
fn check(options: &[&str], text: &str, run: &Value) {
    let shown = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = &shown[shown.find(" assumed ").expect("every report has assumptions")..];
    let faults = said(shown, "faults", &["progress", "limits", "identity", "platform"]).expect("every report has it");
    let progress = said(shown, "progress", &["limits", "identity", "platform"]);
    let fits = |holds: bool, what: &str| assert!(holds, "{options:?}: {what}: faults {faults}; progress {progress:?}");
    let budgets = &run["assumed"]["faults"];
    let advised: Vec<&str> =
        run["not_covered"].as_array().expect("a list").iter().map(|it| it["what"].as_str().expect("a name")).collect();
    for (name, noun) in NOUNS {
        let is_given = budgets[name] != 0;
        let number = budgets[name].as_u64().map_or_else(|| "any number of".to_owned(), |number| number.to_string());
        fits(faults.contains(&format!("{number} {noun}")) == is_given, name);
        fits(!is_given || !advised.contains(&name), "a budget is given and called not covered");
        let asked = options.iter().position(|option| *option == format!("--{name}")).map(|at| options[at + 1]);
        if let Some(asked) = asked {
            fits(budgets[name].to_string().trim_matches('"') == asked, "the budget is the one asked for");
        }
    }
    let is_none = NOUNS.iter().all(|(name, _)| budgets[*name] == 0);
    fits(faults.starts_with("none") == is_none, "none where there is no budget");
    // The network decides whether a message can arrive twice.
    let travels = said(shown, "network", &["links", "faults"]).expect("every report has a network");
    fits(!travels.contains("also again") || budgets["duplicates"] != 0, "what comes again is a duplicate");
    let rules = &run["assumed"]["progress"];
    assert_eq!(progress.is_some(), !rules.is_null(), "{options:?}: {shown}");
    let Some(progress) = progress else { return };
    for part in ["fairness", "timers"] {
        let rule = rules[part].as_str().expect("a name");
        fits(progress.contains(&format!("{part} {rule}")), part);
    }
    fits(progress.contains("resets count") == (rules["recover_by"] == "resets"), "recovery");
    // The faults must not contradict the assumptions of progress.
    let arrives = progress.contains("finally arrives");
    let has_connections = run["assumed"]["network"] == "ordered" || !run["assumed"]["links"].is_null();
    let breaks = has_connections && ["breaks", "resets"].iter().any(|name| budgets[*name] != 0);
    let can_lose = budgets["losses"] != 0 || breaks;
    fits(!faults.contains("messages of broken connections") || breaks, "no connection breaks");
    fits(arrives == (rules["fairness"] == "stable"), "only under `stable` each message arrives");
    fits(!arrives || can_lose == progress.contains("each message that is not lost"), "a lost message never arrives");
    fits(
        !arrives || !faults.contains("never arrive") || faults.contains("for always and sometimes properties, "),
        "arrives or never arrives",
    );
}

/// For combinations of all options about faults and promises: a report contradicts neither them nor itself, and its
/// advice is accepted.
#[test]
fn faults_progress_and_what_is_not_covered_fit_together() {
    let all: usize = AXES.iter().map(|axis| axis.len()).product();
    let (mut met, mut advisor) = (BTreeSet::new(), Advisor::default());
    for number in (0..all).step_by(STRIDE) {
        let row = row(number);
        let options = [&row.concat()[..], bound(&row.concat())].concat();
        if let Some(json) = advisor.accepted(&["lock"], &options) {
            met.extend(row.into_iter().enumerate());
            check(&options, &advisor.run(&["lock"], &options).out, &json);
            advisor.follow(&["lock"], &options, &json);
        }
    }
    assert!(advisor.refused.is_empty(), "{}", advisor.refused.join("\n"));
    for (axis, values) in AXES.iter().enumerate() {
        assert!(values.iter().all(|value| met.contains(&(axis, *value))), "{axis}: {met:?}");
    }
}

/// All networks with all rules, losses and reductions, of plugins with promises, with quorums, with an ordered network of their own, and
/// from a prefix: each advised option is accepted when it is added to the command line.
#[test]
fn all_that_is_advised_is_accepted() {
    const PREFIX: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../plugins/paxos/scenarios/live-state.json");
    let plugins: [&[&str]; 4] = [
        &["lock"],
        &["paxos", "--set", "quorum=on"],
        &["two-phase-commit"],
        &["paxos", "--any-plugin", "--prefix", PREFIX],
    ];
    let mut advisor = Advisor::default();
    for plugin in plugins {
        let before = advisor.tried.len();
        for network in NETWORKS {
            for rules in RULES.iter().chain(REDUCTIONS) {
                for losses in if plugin == ["lock"] { LOSSES } else { &LOSSES[..1] } {
                    let options = [*network, *rules, *losses, &["--algo", "bdfs", "--states", "5"]].concat();
                    if let Some(json) = advisor.accepted(plugin, &options) {
                        advisor.follow(plugin, &options, &json);
                    }
                }
            }
        }
        assert!(advisor.tried.len() > before, "{plugin:?} is advised nothing");
    }
    assert!(advisor.refused.is_empty(), "{}", advisor.refused.join("\n"));
    assert!(advisor.tried.len() > 100 && advisor.exclusions > 20, "{}, {}", advisor.tried.len(), advisor.exclusions);
}

/// Options that an advised network or fault can be refused with.
const REDUCTIONS: Axis = &[&["--reduce"], &["--deadlock"], &["--deadlock", "--fairness", "none"]];

/// Runs, and the results of following their advice.
#[derive(Default)]
struct Advisor {
    place: Option<Place>,
    /// Advised command lines.
    tried: BTreeSet<Vec<String>>,
    /// The refused options.
    refused: Vec<String>,
    /// Pieces of advice that name options to leave out.
    exclusions: usize,
}

impl Advisor {
    fn run(&mut self, plugin: &[&str], options: &[&str]) -> super::Ran {
        let place = self.place.get_or_insert_with(Place::new);
        place.host(&[&["run", bundled(plugin[0]), "--quiet"][..], &plugin[1..], options].concat())
    }

    /// The result of a run; none if its options are refused.
    fn accepted(&mut self, plugin: &[&str], options: &[&str]) -> Option<Value> {
        let ran = self.run(plugin, &[options, &["--json"]].concat());
        (ran.code < 150 && ran.code != 2).then(|| ran.json())
    }

    /// Follows each piece of advice of a run.
    fn follow(&mut self, plugin: &[&str], options: &[&str], result: &Value) {
        for advice in result["not_covered"].as_array().expect("a list") {
            let words = |value: &Value| value.as_str().expect("options").to_owned();
            let advised = words(&advice["option"]);
            let advised: Vec<&str> = advised.split(' ').collect();
            let without: Vec<String> = advice["without"].as_array().into_iter().flatten().map(words).collect();
            self.exclusions += without.len();
            let asked = with(&[&plugin[1..], options].concat(), &advised, &without);
            if !self.tried.insert([plugin[0]].iter().chain(&asked).map(|word| (*word).to_owned()).collect()) {
                continue;
            }
            let ran = self.run(&plugin[..1], &asked);
            if ran.code == 2 || ran.code >= 150 {
                self.refused.push(format!("{plugin:?} {options:?} is advised {advice}: {}", ran.err));
            }
        }
    }
}

/// Options with others added, which replace those of the same name, and without some.
pub(super) fn with<'o>(options: &[&'o str], advised: &[&'o str], without: &[String]) -> Vec<&'o str> {
    let is_replaced = |option: &str| without.iter().any(|it| it == option) || advised.contains(&option);
    let mut kept = Vec::new();
    let mut is_kept = true;
    for option in options {
        if option.starts_with("--") {
            is_kept = !is_replaced(option);
        }
        if is_kept {
            kept.push(*option);
        }
    }
    [&kept, advised].concat()
}
