//! `host live status`: the nodes of a cluster, from outside.
//!
//! A protocol describes itself by a JSON object, whose members are shown as they are; the host knows none of them. A member that the
//! file of the cluster names as the progress is also compared between the nodes: the node that is behind lags.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::thread;

use host_live_net::{Answers, Asking, Status};
use host_session::base::text::json_text;
use host_session::base::{Exit, Failure};
use host_session::live::RunningSpec;
use serde_json::{Map, Value, json};

use crate::environment::Environment;
use crate::options::live::StatusArguments;

/// Members of a protocol's answer that are shown to people.
const MEMBERS_MAX: usize = 16;
/// Letters of the name or of the value of a member that are shown to people.
const LETTERS_MAX: usize = 64;

/// A node as the command has found it.
struct Found {
    id: usize,
    address: String,
    status: Status,
    /// The answer of the protocol, or the reason why there is none.
    protocol: Option<Result<Map<String, Value>, String>>,
    /// The distance to the node with the most progress.
    lag: Option<f64>,
}

pub(super) fn status(arguments: &StatusArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let spec = RunningSpec::read(&arguments.cluster, &environment.context())?;
    arguments.id.map(|id| spec.node(id)).transpose()?;
    let mut all = ask(&spec, environment);
    if let Some(progress) = &spec.operations.progress {
        compare(&mut all, progress);
    }
    all.retain(|found| arguments.id.is_none_or(|id| id as usize == found.id));
    let text = match arguments.json {
        true => json_text(&json!({ "nodes": all.iter().map(Found::json).collect::<Vec<_>>() })),
        false => all.iter().map(Found::line).collect(),
    };
    environment.print(&text)?;
    let is_well = |found: &Found| match &found.status {
        Status::Up(answers) => !arguments.ready || !matches!(answers.readiness, Some(Err(_))),
        Status::Down | Status::Silent => false,
    };
    Ok(if all.iter().all(is_well) { Exit::Ok } else { Exit::Unexpected })
}

/// The running node whose protocol has the most progress, the first of several ones; none if none says it.
pub(super) fn furthest(spec: &RunningSpec, environment: &Environment<'_>) -> Option<u32> {
    let mut all = ask(spec, environment);
    compare(&mut all, spec.operations.progress.as_deref()?);
    all.iter().find(|found| found.lag == Some(0.0)).map(|found| found.id as u32)
}

/// Asks all nodes at the same time, since each may take some seconds.
fn ask(spec: &RunningSpec, environment: &Environment<'_>) -> Vec<Found> {
    let path = spec.operations.status.as_deref();
    let disks: Vec<_> = (0..spec.nodes.len() as u32).map(|id| environment.path(&spec.disk(id))).collect();
    thread::scope(|scope| {
        let nodes = spec.nodes.iter().zip(&disks).enumerate();
        let asked: Vec<_> = nodes
            .map(|(id, (node, disk))| {
                scope.spawn(move || {
                    let asking = Asking { disk, metrics: node.metrics, clients: node.clients, path };
                    let status = host_live_net::status(&asking);
                    let protocol = match &status {
                        Status::Up(answers) => {
                            answers.protocol.clone().map(|answer| answer.and_then(|text| object(&text)))
                        }
                        Status::Down | Status::Silent => None,
                    };
                    Found { id, address: node.address.to_string(), status, protocol, lag: None }
                })
            })
            .collect();
        asked.into_iter().map(|found| found.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

/// The JSON object that a protocol answers with.
fn object(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|_| "the answer is no JSON object".to_owned())
}

/// Sets how far each node is behind the one with the most progress.
fn compare(all: &mut [Found], progress: &str) {
    let of = |found: &Found| found.protocol.as_ref()?.as_ref().ok()?.get(progress)?.as_f64();
    let most = all.iter().filter_map(of).fold(f64::MIN, f64::max);
    for found in all {
        found.lag = of(found).map(|own| most - own);
    }
}

impl Found {
    fn json(&self) -> Value {
        let none = Answers::default();
        let (status, answers) = match &self.status {
            Status::Down => ("down", &none),
            Status::Silent => ("silent", &none),
            Status::Up(answers) => ("up", answers),
        };
        json!({
            "address": self.address,
            "id": self.id,
            "lag": self.lag,
            "metrics": answers.metrics,
            "protocol": self.protocol.as_ref().and_then(|protocol| protocol.as_ref().ok()),
            "ready": answers.readiness.as_ref().map(Result::is_ok),
            "status": status,
        })
    }

    /// The node, for people.
    fn line(&self) -> String {
        let Self { id, address, .. } = self;
        let Status::Up(answers) = &self.status else {
            let words = match self.status {
                Status::Down => "does not run",
                _ => "has its file, but does not answer: it is still starting, or hangs",
            };
            return format!("node {id} at {address}: {words}\n");
        };
        let ready = match &answers.readiness {
            None => String::new(),
            Some(Ok(())) => "; ready".to_owned(),
            Some(Err(why)) => format!("; not ready: {}", cut(why)),
        };
        let protocol = match &self.protocol {
            None => String::new(),
            Some(Err(why)) => format!("; no status of the protocol: {}", cut(why)),
            Some(Ok(members)) => members_words(members, self.lag),
        };
        format!("node {id} at {address}: {}{ready}{protocol}\n", counts(&answers.metrics))
    }
}

/// The members of an answer that are one value each, and the lag.
fn members_words(members: &Map<String, Value>, lag: Option<f64>) -> String {
    let shown = members.iter().filter_map(|(name, value)| match value {
        Value::String(text) => Some(format!("{} {}", cut(name), cut(text))),
        Value::Number(_) | Value::Bool(_) => Some(format!("{} {value}", cut(name))),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    });
    let lag = lag.map(|lag| format!("lag {lag}"));
    let words: Vec<String> = shown.take(MEMBERS_MAX).chain(lag).collect();
    if words.is_empty() { String::new() } else { format!("; {}", words.join(", ")) }
}

/// The beginning of a text, on one line.
fn cut(text: &str) -> String {
    text.chars().take(LETTERS_MAX).map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// The counts of a node, for people.
fn counts(metrics: &BTreeMap<String, f64>) -> String {
    let value = |name: &str| metrics.get(&format!("host_live_{name}")).copied();
    let Some(seconds) = value("up_seconds") else { return "runs".to_owned() };
    let of = |name| value(name).unwrap_or_default();
    let cut = of("check_rounds_cut_total");
    let cut =
        if cut > 0.0 { format!("; {cut} of {} rounds cut short", of("check_rounds_total")) } else { String::new() };
    format!(
        "runs for {seconds:.0} s, start {}; {} messages, {} local events, {} requests{cut}",
        of("incarnation"),
        of("messages_total"),
        of("local_events_total"),
        of("requests_total")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The status of a node without a checker, or whose rounds end in time, does not mention rounds.
    #[test]
    fn the_status_says_how_many_rounds_were_cut_short() {
        let said = |metrics: &[(&str, f64)]| {
            let metrics = [("up_seconds", 7.0)].iter().chain(metrics);
            counts(&metrics.map(|(name, value)| (format!("host_live_{name}"), *value)).collect())
        };
        let usual = "runs for 7 s, start 0; 0 messages, 0 local events, 0 requests";
        assert_eq!(said(&[]), usual);
        assert_eq!(said(&[("check_rounds_cut_total", 0.0), ("check_rounds_total", 9.0)]), usual);
        let cut = said(&[("check_rounds_cut_total", 2.0), ("check_rounds_total", 9.0)]);
        assert_eq!(cut, format!("{usual}; 2 of 9 rounds cut short"));
    }

    fn found(id: usize, readiness: Result<(), String>, answer: &str) -> Found {
        let (protocol, readiness) = (Some(object(answer)), Some(readiness));
        let status = Status::Up(Answers { readiness, ..Answers::default() });
        Found { id, address: "here".to_owned(), status, protocol, lag: None }
    }

    /// Nodes lag behind the one with the most progress; members that are no single value, and text that is no object, are not shown.
    #[test]
    fn a_line_has_what_the_protocol_says_and_the_lag() {
        let long = format!("{{\"role\": \"{}\\u0007\"}}", "x".repeat(63) + "\u{1b}y");
        let mut all = [
            found(0, Ok(()), r#"{"at": 19, "nodes": [0, 1], "none": null, "role": "leader", "up": true}"#),
            found(1, Err("there is no leader now".to_owned()), r#"{"at": 7.5}"#),
            found(2, Ok(()), "[]"),
            found(3, Ok(()), &long.replace('\u{1b}', "\\u001b")),
        ];
        compare(&mut all, "at");
        let lines: Vec<String> = all.iter().map(Found::line).collect();
        assert_eq!(lines[0], "node 0 at here: runs; ready; at 19, role leader, up true, lag 0\n");
        assert_eq!(lines[1], "node 1 at here: runs; not ready: there is no leader now; at 7.5, lag 11.5\n");
        assert_eq!(lines[2], "node 2 at here: runs; ready; no status of the protocol: the answer is no JSON object\n");
        assert_eq!(lines[3], format!("node 3 at here: runs; ready; role {} \n", "x".repeat(63)));
        assert_eq!(all[1].json()["lag"], json!(11.5));
        assert_eq!((&all[1].json()["ready"], &all[2].json()["protocol"]), (&json!(false), &Value::Null));
    }

    /// A line stays short for each answer of a protocol.
    #[test]
    fn a_line_is_bounded() {
        let members: Map<String, Value> =
            (0..10_000).map(|number| (format!("{number}{}", "n".repeat(500)), json!("v".repeat(500)))).collect();
        assert!(members_words(&members, None).len() < MEMBERS_MAX * (2 * LETTERS_MAX + 4));
    }
}
