//! The results that a scenario expects of its run.

use std::collections::BTreeMap;

use serde_json::Value;

/// The keys of `[expect]`.
pub const KEYS: [&str; 13] = [
    "result",
    "end",
    "property",
    "fault",
    "class",
    "critical",
    "loop",
    "deadlock",
    "length",
    "length-max",
    "depth",
    "counts",
    "properties",
];

/// The values of `class`.
pub const CLASSES: [&str; 3] = ["dead", "stuck", "lasso"];

/// The values of `deadlock`.
pub const DEADLOCKS: [&str; 3] = ["found", "none", "unknown"];

/// The values of `result`.
pub const RESULTS: [&str; 5] = ["ok", "violation", "never-reached", "incomplete", "error"];

/// The values for a property.
pub const STATUSES: [&str; 7] = ["holds", "violated", "reached", "never-reached", "broken", "unknown", "not-checked"];

/// The counts of a run.
pub const COUNTS: [&str; 9] = [
    "global_states",
    "transitions",
    "local_states",
    "system_states",
    "messages",
    "events",
    "handler_calls",
    "preliminary_violations",
    "soundness_checks",
];

/// An expectation; a part that is none, or not named, may be anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expectation {
    /// The verdict.
    pub result: Option<String>,
    /// The reason why the search ended.
    pub end: Option<String>,
    /// The property that the first violation is about.
    pub property: Option<String>,
    /// The kind of the first violation, where it is a fault.
    pub fault: Option<String>,
    /// The way in which the first violation breaks a promise of progress.
    pub class: Option<String>,
    /// The critical step of the first violation.
    pub critical: Option<u64>,
    /// The step after which the loop of the first violation begins.
    pub loop_start: Option<u64>,
    /// Whether there is a deadlock.
    pub deadlock: Option<String>,
    /// Events of the first violation, those of a prefix included.
    pub length: Option<u64>,
    /// The maximum of the same.
    pub length_max: Option<u64>,
    /// The depth of the search.
    pub depth: Option<u64>,
    /// Counts by name.
    pub counts: BTreeMap<String, u64>,
    /// The status of each property that is named.
    pub properties: BTreeMap<String, String>,
}

impl Expectation {
    /// Whether it determines the end of a run, good or bad: by its result, or by a violation.
    pub fn says_how_it_ends(&self) -> bool {
        let Self { result, end: _, property, fault, class, critical, loop_start, deadlock, length, length_max, .. } =
            self;
        let names = [result, property, fault, class].into_iter().any(Option::is_some);
        let counts = [critical, loop_start, length, length_max].into_iter().any(Option::is_some);
        let is_bad = |status: &String| ["violated", "broken", "never-reached"].contains(&status.as_str());
        names || counts || deadlock.as_deref() == Some("found") || self.properties.values().any(is_bad)
    }

    /// The parts of it that the JSON object of a run does not meet, a phrase each.
    pub fn unmet(&self, run: &Value) -> Vec<String> {
        let mut unmet = Vec::new();
        let mut compare = |what: &str, found: &Value, expected: Option<Value>| {
            if let Some(expected) = expected.filter(|expected| expected != found) {
                unmet.push(format!("{what} is {}, expected {}", plain(found), plain(&expected)));
            }
        };
        let text = |text: &Option<String>| text.as_ref().map(|text| Value::from(text.as_str()));
        let first = &run["violations"][0];
        compare("the result", &run["result"], text(&self.result));
        compare("the end", &run["end"], text(&self.end));
        compare("the violated property", &first["property"], text(&self.property));
        compare("the kind of violation", &first["kind"], text(&self.fault));
        compare("the class of the violation", &first["class"], text(&self.class));
        compare("the critical step", &first["critical"], self.critical.map(Value::from));
        compare("the loop", &first["loop"], self.loop_start.map(Value::from));
        compare("deadlock", &run["deadlock"], text(&self.deadlock));
        compare("the length of the violation", &first["length"], self.length.map(Value::from));
        compare("the depth", &run["depth"], self.depth.map(Value::from));
        for (name, number) in &self.counts {
            compare(&name.replace('_', " "), &run["counts"][name.as_str()], Some(Value::from(*number)));
        }
        for (name, status) in &self.properties {
            let found = run["properties"].as_array().into_iter().flatten().find(|property| property["name"] == **name);
            compare(name, found.map_or(&Value::Null, |found| &found["status"]), Some(Value::from(status.as_str())));
        }
        if let Some(max) = self.length_max
            && first["length"].as_u64().is_none_or(|length| length > max)
        {
            unmet.push(format!("the length of the violation is {}, expected at most {max}", plain(&first["length"])));
        }
        unmet
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "not there".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_are_named() {
        let run = json!({
            "result": "ok", "end": "space-exhausted", "depth": 3, "counts": { "global_states": 7, "events": null },
            "properties": [{ "name": "agreement", "status": "holds" }], "deadlock": "none", "violations": [],
        });
        let expect = |change: &dyn Fn(&mut Expectation)| {
            let mut expectation = Expectation::default();
            change(&mut expectation);
            expectation.unmet(&run)
        };
        assert_eq!(expect(&|_| {}), [""; 0]);
        assert_eq!(expect(&|expect| expect.result = Some("ok".into())), [""; 0]);
        assert_eq!(expect(&|expect| expect.end = Some("time-bound".into())).len(), 1);
        assert_eq!(expect(&|expect| expect.depth = Some(4)), ["the depth is 3, expected 4"]);
        assert_eq!(expect(&|expect| expect.deadlock = Some("none".into())), [""; 0]);
        assert_eq!(expect(&|expect| expect.deadlock = Some("found".into())), ["deadlock is none, expected found"]);
        let counts = |name: &str, number| expect(&|expect| expect.counts = BTreeMap::from([(name.to_owned(), number)]));
        assert_eq!(counts("global_states", 7), [""; 0]);
        assert_eq!(counts("global_states", 8), ["global states is 7, expected 8"]);
        assert_eq!(counts("events", 0), ["events is not there, expected 0"]);
        let property = |name: &str, status: &str| {
            expect(&|expect| expect.properties = BTreeMap::from([(name.to_owned(), status.to_owned())]))
        };
        assert_eq!(property("agreement", "holds"), [""; 0]);
        assert_eq!(property("agreement", "violated"), ["agreement is holds, expected violated"]);
        assert_eq!(property("safety", "holds"), ["safety is not there, expected holds"]);
        assert_eq!(expect(&|expect| expect.length_max = Some(3)).len(), 1);
    }

    #[test]
    fn statuses_and_results_are_those_of_the_verdict() {
        use host_search::verdict::{Status, Verdict};
        let sorted = |mut names: Vec<&'static str>| {
            names.sort_unstable();
            names
        };
        assert_eq!(sorted(STATUSES.to_vec()), sorted(Status::ALL.map(Status::name).to_vec()));
        assert_eq!(sorted(RESULTS.to_vec()), sorted(Verdict::ALL.map(Verdict::name).to_vec()));
    }
}
