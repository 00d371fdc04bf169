//! Logs with vector clocks, as ShiViz draws them.
//!
//! Source: Beschastnikh, Wang, Brun, Ernst, "Debugging distributed systems", CACM 2016; bestchai.bitbucket.io/shiviz.

use std::fmt::Write;

use crate::explain;
use crate::graph::clocks;
use crate::recording::Recording;
use crate::words;

/// The regular expression for the field "Log parsing regular expression" of ShiViz; it is the one that stands there.
pub const SHIVIZ_PARSER: &str = r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})";

/// Two lines an event: what happened; and the node with its vector clock.
pub fn shiviz(recording: &Recording) -> String {
    let mut log = String::new();
    let nodes = recording.nodes();
    for node in 0..nodes {
        let clock = (0..nodes).map(|other| u64::from(other == node)).collect::<Vec<_>>();
        line(&mut log, node, &format!("start: {}", explain::state(&recording.init[node as usize])), &clock);
    }
    for (number, clock) in (1..).zip(clocks(recording)) {
        let node = recording.trace.steps[number - 1].node;
        let mut text = format!("{number}. {}", recording.event(number));
        let changes = explain::changes(recording, number).join(", ");
        if !changes.is_empty() {
            let _ = write!(text, " [{changes}]");
        }
        line(&mut log, node, &text, &clock);
    }
    log
}

fn line(log: &mut String, node: u32, text: &str, clock: &[u64]) {
    // A node that nothing is known of is left out of the clock.
    let known = clock.iter().enumerate().filter(|(_, count)| **count > 0);
    let known: Vec<String> = known.map(|(node, count)| format!("\"node{node}\": {count}")).collect();
    let _ = writeln!(log, "{}\nnode{node} {{{}}}", words::on_one_line(text), known.join(", "));
}
