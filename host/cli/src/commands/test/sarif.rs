//! The results of `host test` for code scanning: SARIF 2.1.0.
//!
//! Only failures are results. One that is a violation has its events as a code flow, each at the file of the test, since code scanning
//! shows no location without a file.

use std::path::Path;

use host_session::base::text::{json_text, on_one_line, shortened};
use host_session::base::{Failure, files};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::commands::test::outcome::Outcome;
use crate::environment::Environment;

/// The schema of the format.
const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The rules, by their index: each has an id and its description.
const RULES: [(&str, &str); 2] =
    [("unexpected-result", "A test has another result than it expects"), ("not-run", "A test cannot run")];

/// Characters that a path in a URI does not contain as they are.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Writes all failures to a file.
///
/// # Errors
///
/// The file cannot be written.
pub fn write(path: &Path, outcomes: &[Outcome], environment: &Environment<'_>) -> Result<(), Failure> {
    files::write(path, &json_text(&log(outcomes)), &environment.directory)
}

fn log(outcomes: &[Outcome]) -> Value {
    let rule = |(id, description): (&str, &str)| json!({ "id": id, "shortDescription": { "text": description } });
    let driver = json!({
        "name": "host",
        "semanticVersion": env!("CARGO_PKG_VERSION"),
        "rules": RULES.map(rule),
    });
    let failed = outcomes.iter().filter(|outcome| !outcome.wrong.is_empty());
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{ "tool": { "driver": driver }, "results": failed.map(result).collect::<Vec<Value>>() }],
    })
}

fn result(outcome: &Outcome) -> Value {
    let rule = usize::from(outcome.is_error);
    let uri = uri(&outcome.name);
    let location = |text: &str| {
        json!({
            "physicalLocation": { "artifactLocation": { "uri": &uri }, "region": { "startLine": 1 } },
            "message": { "text": text },
        })
    };
    let wrong: Vec<String> = outcome.wrong.iter().map(|wrong| shortened(wrong.clone())).collect();
    let mut result = json!({
        "ruleId": RULES[rule].0,
        "ruleIndex": rule,
        "level": "error",
        "message": { "text": wrong.join("\n") },
        "locations": [location(&outcome.name)],
        "partialFingerprints": { "test/v1": &outcome.name },
    });
    if !outcome.events.is_empty() {
        let events = (1..).zip(&outcome.events);
        let locations = events.map(
            |(number, event)| json!({ "location": location(&shortened(on_one_line(&format!("{number}. {event}")))) }),
        );
        result["codeFlows"] = json!([{ "threadFlows": [{ "locations": locations.collect::<Vec<Value>>() }] }]);
    }
    result
}

/// A path as a relative or absolute URI.
fn uri(path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    format!("{scheme}{}", utf8_percent_encode(path, ESCAPED))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn failures_are_results_and_events_a_code_flow() {
        let outcome = |name: &str, wrong: &[&str], is_error, events: &[&str]| Outcome {
            name: name.to_owned(),
            wrong: wrong.iter().map(|wrong| (*wrong).to_owned()).collect(),
            is_error,
            events: events.iter().map(|event| (*event).to_owned()).collect(),
            time: Duration::ZERO,
        };
        let log = log(&[
            outcome("good.toml", &[], false, &[]),
            outcome("./a b/ä.toml", &["violated\u{1b}", "more"], false, &["node 0: start", "node 1\nstops"]),
            outcome("/no.toml", &["no plugin"], true, &[]),
        ]);
        let results = log["runs"][0]["results"].as_array().expect("a list");
        assert_eq!(results.len(), 2);
        assert_eq!(results[0]["ruleId"], "unexpected-result");
        assert_eq!(results[0]["message"]["text"], "violated\u{1b}\nmore");
        let place = &results[0]["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "a%20b/%C3%A4.toml");
        let flow = &results[0]["codeFlows"][0]["threadFlows"][0]["locations"];
        assert_eq!(flow[0]["location"]["message"]["text"], "1. node 0: start");
        assert_eq!(flow[1]["location"]["physicalLocation"], *place);
        assert!(!flow[1]["location"]["message"]["text"].as_str().expect("a text").contains('\n'));
        assert_eq!((&results[1]["ruleId"], &results[1]["ruleIndex"]), (&json!("not-run"), &json!(1)));
        assert_eq!(results[1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "file:///no.toml");
        assert!(results[1].get("codeFlows").is_none());
        for result in results {
            let index = result["ruleIndex"].as_u64().expect("a number") as usize;
            assert_eq!(log["runs"][0]["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
        }
    }
}
