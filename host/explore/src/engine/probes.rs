//! Expressions along a branch.

use std::collections::BTreeMap;
use std::time::Duration;

use host_inspect::debug::Place;
use host_inspect::page::clean;
use host_inspect::page::shapes::Probe;
use host_inspect::words;
use host_model::contract::NodeId;
use host_model::lts::LocalStateId;
use host_session::expression::Expression;
use serde_json::{Value, json};

use super::{Engine, STEPS_MAX};
use crate::refused::{Answer, Refused};

/// Expressions of a session, and values that are kept of each.
pub(super) const PROBES_MAX: usize = 64;
const VALUES_MAX: usize = 50_000;

/// The time for the values of one answer: the engine answers nothing else meanwhile, and the page shows them as they come.
const TIME_MAX: Duration = Duration::from_secs(1);

/// Letters of a value.
const LETTERS_MAX: usize = 240;

/// An expression that is asked along branches.
pub(super) struct Asked {
    text: String,
    expression: Expression,
    /// By the local states, which decide it.
    values: BTreeMap<Vec<LocalStateId>, Option<String>>,
}

impl Engine<'_> {
    /// Adds an expression.
    pub fn probe(&mut self, text: &str) -> Answer {
        let expression = Expression::parse(text).map_err(Refused::wrong)?;
        if self.probes.len() >= PROBES_MAX {
            let refused = Refused::conflict(format_args!("there are {PROBES_MAX} expressions, the most of a session"));
            return Err(refused.help("take one away"));
        }
        let number = self.number();
        self.probes.insert(number, Asked { text: text.to_owned(), expression, values: BTreeMap::new() });
        Ok(json!({ "probe": number }).to_string())
    }

    /// Takes an expression away.
    pub fn forget(&mut self, probe: usize) -> Answer {
        match self.probes.remove(&probe) {
            Some(_) => Ok("{}".to_owned()),
            None => Err(no_probe(probe)),
        }
    }

    /// Its values along the branch to a place, from a step on. The answer has at least one, and as many as there is time for.
    pub fn values(&mut self, probe: usize, to: Place, from: usize) -> Answer {
        let line = self.moments.line_to(self.place(to)?);
        let mut asked = self.probes.remove(&probe).ok_or_else(|| no_probe(probe))?;
        let ends = (self.explored.clock)() + TIME_MAX;
        let mut values = Vec::new();
        for place in line.into_iter().skip(from).take(STEPS_MAX) {
            values.push(self.value(&mut asked, place));
            if (self.explored.clock)() > ends {
                break;
            }
        }
        let expression = clean(&asked.text);
        self.probes.insert(probe, asked);
        super::json(&Probe { probe, expression, values })
    }

    fn value(&mut self, asked: &mut Asked, place: Place) -> Option<String> {
        let locals = self.moments.traced(place).locals().to_vec();
        if let Some(value) = asked.values.get(&locals) {
            return value.clone();
        }
        let absent = self.moments.stepper().lts().scenario().absent.clone();
        let is_there = |node: NodeId| !absent.contains(&node);
        let states: Vec<Option<Value>> =
            (0..self.moments.nodes()).map(|node| is_there(node).then(|| self.moments.state(place, node))).collect();
        let states: Vec<Option<&Value>> = states.iter().map(Option::as_ref).collect();
        let value = asked.expression.value(&states).ok();
        let value = value.map(|json| words::clipped(&words::compact(&json), LETTERS_MAX));
        if asked.values.len() >= VALUES_MAX {
            asked.values.clear();
        }
        asked.values.insert(locals, value.clone());
        value
    }
}

fn no_probe(probe: usize) -> Refused {
    Refused::missing(format_args!("there is no expression {probe} in this session"))
}
