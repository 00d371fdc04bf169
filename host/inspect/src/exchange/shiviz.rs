//! Logs with vector clocks for ShiViz.
//!
//! Source: Beschastnikh, Wang, Brun, Ernst, "Debugging distributed systems", CACM 2016; bestchai.bitbucket.io/shiviz.

use std::fmt::Write;

use crate::exchange::TooLarge;
use crate::explain;
use crate::graph::clocks;
use crate::recording::Recording;
use crate::words;

/// The regular expression for the field "Log parsing regular expression" of ShiViz; it is the default there.
pub const SHIVIZ_PARSER: &str = r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})";

/// The maximum size in bytes of a log: each line has a clock with a number per node.
pub const SHIVIZ_BYTES_MAX: usize = 64 << 20;

/// Two lines per event: the event; and the node with its vector clock.
///
/// # Errors
///
/// The log would exceed [`SHIVIZ_BYTES_MAX`].
pub fn shiviz(recording: &Recording) -> Result<String, TooLarge> {
    let mut log = String::new();
    let nodes = recording.nodes();
    // Each number takes eight bytes.
    if recording.steps.len().saturating_mul(nodes as usize) > SHIVIZ_BYTES_MAX {
        return Err(TooLarge(SHIVIZ_BYTES_MAX));
    }
    for node in 0..nodes {
        let clock = (0..nodes).map(|other| u64::from(other == node)).collect::<Vec<_>>();
        line(&mut log, node, &format!("start: {}", explain::state(&recording.init[node as usize])), &clock);
    }
    for (number, clock) in (1..).zip(clocks(recording)) {
        if log.len() > SHIVIZ_BYTES_MAX {
            return Err(TooLarge(SHIVIZ_BYTES_MAX));
        }
        let node = recording.trace.steps[number - 1].node;
        let mut text = format!("{number}. {}", recording.event(number));
        let changes = explain::changes(recording, number).join(", ");
        if !changes.is_empty() {
            let _ = write!(text, " [{changes}]");
        }
        line(&mut log, node, &text, &clock);
    }
    match log.len() <= SHIVIZ_BYTES_MAX {
        true => Ok(log),
        false => Err(TooLarge(SHIVIZ_BYTES_MAX)),
    }
}

fn line(log: &mut String, node: u32, text: &str, clock: &[u64]) {
    // The clock omits nodes without known events.
    let known = clock.iter().enumerate().filter(|(_, count)| **count > 0);
    let known: Vec<String> = known.map(|(node, count)| format!("\"node{node}\": {count}")).collect();
    let _ = writeln!(log, "{}\nnode{node} {{{}}}", words::on_one_line(text), known.join(", "));
}
