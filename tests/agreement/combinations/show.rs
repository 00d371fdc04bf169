//! A case as text that reproduces it.

use std::fmt::Write;

use host_model::toys::{Toy, ToyOutcome};

use crate::combinations::case::Case;

/// The whole case.
pub fn show(case: &Case) -> String {
    let Case { strategy, turns, system, bounds, prefix, is_exported, workers, stop, collects, unjudged } = case;
    let mut text = format!("strategy {}, {workers} workers, stop {stop:?}, system states {collects}\n", strategy.name);
    if strategy.name == "auto" {
        writeln!(text, "turns    {turns:?}").expect("text grows");
    }
    let all = format!("{bounds:?}");
    writeln!(text, "bounds   {}", all.replace("None", "-")).expect("text grows");
    writeln!(text, "network  {} {:?}", system.network, system.links).expect("text grows");
    writeln!(text, "faults   {:?}", system.faults).expect("text grows");
    for property in unjudged {
        writeln!(text, "unjudged {property:?}").expect("text grows");
    }
    if let Some(prefix) = prefix {
        writeln!(text, "prefix   exported {is_exported}, init {:?}", prefix.init_choices).expect("text grows");
        for step in &prefix.steps {
            writeln!(text, "         node {}: {:?} {:?}", step.node, step.event, step.choices).expect("text grows");
        }
    }
    text + &toy(&system.toy)
}

fn toy(toy: &Toy) -> String {
    let mut text = format!("toy      {} nodes", toy.nodes);
    for (is_set, name) in [(toy.is_careful, "is_careful"), (toy.is_stepwise, "is_stepwise")] {
        text += if is_set { ", " } else { "" };
        text += if is_set { name } else { "" };
    }
    let mut line = |name: &str, what: String| write!(text, "\n  {name:<15} {what}").expect("text grows");
    for (from, to, content) in &toy.initial {
        line("in flight", format!("{content} from {from} to {to}"));
    }
    for (node, found) in &toy.starts {
        line("begins", format!("node {node}: {}", outcomes(found)));
    }
    for ((node, state, on), found) in &toy.rules {
        line("rule", format!("node {node} in {state} on {on:?}: {}", outcomes(found)));
    }
    for ((node, state), durable) in &toy.durable {
        line("durable", format!("node {node} in {state}: {durable}"));
    }
    for ((node, durable), found) in &toy.restarts {
        line("restart", format!("node {node} with {durable}: {}", outcomes(found)));
    }
    for ((node, state, content), role) in &toy.roles {
        line("role", format!("node {node} in {state} for {content}: {role:?}"));
    }
    for ((node, state, name), lists) in &toy.quorums {
        let lists: Vec<String> = lists.iter().map(|list| outcomes(list)).collect();
        line("quorum", format!("node {node} in {state} named {name}: {}", lists.join(" | ")));
    }
    for ((node, state), instead) in &toy.refused {
        line("refused", format!("node {node} on the way to {state}: {instead}"));
    }
    for forbidden in &toy.forbidden {
        line("forbidden", format!("{forbidden:?}"));
    }
    for property in &toy.properties {
        line("property", format!("{property:?}"));
    }
    if !toy.done.is_empty() {
        line("done", format!("{:?}", toy.done));
    }
    if !toy.interchangeable.is_empty() {
        line("interchangeable", format!("{:?}", toy.interchangeable));
    }
    text
}

fn outcomes(outcomes: &[ToyOutcome]) -> String {
    let sent = |sent: &[(u32, u8)]| sent.iter().map(|(to, it)| format!(" {it}>{to}")).collect::<String>();
    let one = |outcome: &ToyOutcome| match outcome {
        ToyOutcome::Go(next, messages) => format!("go {next}{}", sent(messages)),
        ToyOutcome::Trap(messages) => format!("trap{}", sent(messages)),
    };
    let all: Vec<String> = outcomes.iter().map(one).collect();
    all.join(", or ")
}
